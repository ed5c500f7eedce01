//! The failures of a run: what failed in which attempt, and which attempt was rid of it.

use crate::{
    concerns::{attempts::Judgement, verdict::FailureView},
    evidence::RetryClass,
    failure::{self, Blame},
    policy::Policy,
    stage::Stage,
    state::{FailureLog, FailureRecord, LoopState},
    text,
};

/// Failures of one attempt that the state remembers at most.
const REMEMBERED_OF_AN_ATTEMPT: usize = 20;

/// What failed in the head's attempt, which earlier failures it is rid of, and where the run stands.
pub fn remember(
    policy: &Policy,
    next: &mut LoopState,
    judgement: &Judgement,
    failures: &[FailureView],
    stage: Stage,
) {
    let mut history = std::mem::take(&mut next.attempts.failures.history);
    let last = next
        .attempts
        .counted
        .last()
        .filter(|last| last.head_sha == next.head.sha)
        .cloned();
    if let Some(last) = last {
        history.retain(|record| record.attempt != last.number);
        if last.spent() {
            let own = failures
                .iter()
                .filter(|view| view.blame == Blame::PrCode)
                .take(REMEMBERED_OF_AN_ATTEMPT);
            history.extend(own.map(|view| {
                FailureRecord {
                    attempt: last.number,
                    stage,
                    capability: next.concerns.capabilities.current.clone(),
                    error: text::start(&view.failure.reported(), 300),
                    category: view.analysis.category,
                    retry_class: last.retry_class.unwrap_or(RetryClass::Code),
                    blame: view.blame,
                    fingerprint: view
                        .failure
                        .fingerprint
                        .unwrap_or_else(|| failure::fingerprint(&view.failure)),
                    timestamp: last.at,
                    resolution: None,
                    resolved_at: None,
                }
            }));
        }
        for record in history
            .iter_mut()
            .filter(|record| record.attempt < last.number && record.resolved_at.is_none())
        {
            if !last.fingerprints.contains(&record.fingerprint) {
                record.resolution = Some(format!(
                    "gone in attempt {} ({})",
                    last.number,
                    last.head_sha.short()
                ));
                record.resolved_at = Some(last.at);
            }
        }
    }
    next.attempts.failures = FailureLog {
        count: judgement.streak,
        same_error: judgement.same_error,
        total: judgement.total,
        max_retries: policy.retry.max_attempts,
        history,
    };
}
