//! The head as an attempt: counted once its verification has ended, and judged with those before it.

use std::collections::BTreeSet;

use chrono::TimeDelta;

use super::{opening::Given, remembering, verification::Verification};
use crate::{
    attempts::{
        attempt, comparison,
        retry::{self, Judgement},
    },
    escalation::disputes,
    evidence::{CheckEvidence, Compare, Comparison, RetryClass},
    failure::{self, Blame},
    ids::{CheckName, Login, RuleId, Sha},
    stage::Stage,
    state::{
        AttemptDigest, BestAttempt, CheckLogEntry, Checkpoint, Dispute, FailureLog, FailureRecord, LastVerification,
        LoopState, VerificationResult,
    },
    verdict::{
        FailureView, feedback,
        gather::HeadEvidence,
        lost_results,
        tamper::{self, Tampering},
    },
};

/// Failures of one attempt that the state remembers at most.
const REMEMBERED_OF_AN_ATTEMPT: usize = 20;

/// Heads, and ends of checks, that the state remembers at most.
const MOST_CHECKPOINTS: usize = 20;
const MOST_LOGGED: usize = 30;

/// The head's attempt, when its verification has ended.
pub(super) struct Counted {
    pub(super) digest: AttemptDigest,
    pub(super) compare: Compare,
    /// Whether it is new, or its evidence was replaced.
    pub(super) is_news: bool,
}

/// What the attempts of the run amount to with the head.
pub(super) struct Counting {
    pub(super) counted: Option<Counted>,
    pub(super) judgement: Judgement,
    /// The head's failures, the most telling first.
    pub(super) failures: Vec<FailureView>,
    /// Disputes that the head ended.
    pub(super) mended: Vec<Dispute>,
}

/// Counts the head, judges the run of attempts, and remembers what failed.
///
/// `reached` is how far the evidence carries the head.
pub(super) fn count(
    given: &Given<'_>,
    next: &mut LoopState,
    verification: &Verification,
    tampering: &[Tampering],
    reached: Stage,
) -> Counting {
    let head = next.head_sha;
    if let Some(last) = next.attempts.last_mut().filter(|last| last.head_sha == head) {
        last.flaky.clone_from(&verification.flaky);
    }
    let counted = given.is_open().then(|| attempt_of_head(given, next, verification, tampering)).flatten();
    let judgement = retry::judge(&next.attempts, &next.resumes, &given.policy.retry);
    let Verification { evidence, blames, .. } = verification;
    let mut failures = feedback::failures(evidence, blames, &judgement.regressed, given.policy);
    if let Some(attempt) = next.attempt_of(head) {
        remembering::attach(&mut failures, attempt);
    }
    remember(given, next, &judgement, &failures, reached);
    let has_ended = given.is_open() && evidence.missing().is_empty();
    let mended = if has_ended { disputes::end_mended(next, given.snapshot, &failures) } else { Vec::new() };
    Counting { counted, judgement, failures, mended }
}

/// Counts the head as an attempt once its verification has ended, or replaces the evidence of a head that was counted
/// before.
fn attempt_of_head(
    given: &Given<'_>,
    next: &mut LoopState,
    verification: &Verification,
    tampering: &[Tampering],
) -> Option<Counted> {
    let Verification { evidence, evaluation, blames, flaky, rejections, .. } = verification;
    let result = attempt::result(evidence, evaluation, blames)?;
    let mut digest =
        attempt::digest(given.snapshot, next, evidence, evaluation, result, blames, rejections.clone(), given.now);
    digest.flaky.clone_from(flaky);
    mark_weakened(&mut digest, next, tampering);
    digest.disputed = digest.rejections.is_empty() && is_disputed(given, next, verification, &digest);
    digest.with_results = lost_results::with_results(evidence, given.policy);
    digest.tests = digest.tests.filter(|tests| tests.len() <= given.policy.state.most_tests());
    let previous = next.attempts.iter().rev().find(|attempt| attempt.number < digest.number);
    let Comparison { compare, regressed } =
        comparison::compare(previous, &digest, evidence, given.snapshot.base_evidence.as_ref(), tampering);
    digest.regressed = regressed;
    let is_news = next.attempt_of(digest.head_sha) != Some(&digest);
    if is_news {
        attempt::record(&mut next.attempts, digest.clone());
        next.iteration = digest.number;
        next.last_verification =
            Some(LastVerification { at: given.now, result: digest.result, head_sha: digest.head_sha });
        log_checks(next, evidence, &digest.head_sha.short());
        if next.pull_request.is_some() {
            checkpoint(next, given, digest.head_sha);
        }
        for (check, _) in ended(evidence) {
            *next.check_usage.entry(check.clone()).or_default() += 1;
        }
    }
    Some(Counted { digest, compare, is_news })
}

/// Marks an attempt that weakens what checks it, and says in its summary who accepted that.
fn mark_weakened(digest: &mut AttemptDigest, next: &LoopState, tampering: &[Tampering]) {
    let found = tamper::counts(tampering);
    let is_found = |(_, what): &(&Login, &str)| found.contains_key(*what);
    let accepted: Vec<String> =
        next.accepted_by().filter(is_found).take(3).map(|(by, what)| format!("{by} accepted that {what}")).collect();
    let is_open = tamper::not_accepted(tampering, &next.accepted_tampering).is_some();
    digest.weakened = is_open || !accepted.is_empty();
    let passes = digest.result == VerificationResult::Pass;
    if passes && is_open {
        digest.summary = "checks pass, but tests or thresholds were weakened".to_owned();
    } else if passes && digest.weakened {
        digest.summary = format!("{}; {}", digest.summary, accepted.join(", "));
    }
}

/// Whether the head fails by nothing but failures that are disputed.
fn is_disputed(given: &Given<'_>, next: &LoopState, verification: &Verification, digest: &AttemptDigest) -> bool {
    if next.disputes.is_empty() {
        return false;
    }
    let Verification { evidence, blames, .. } = verification;
    let failures = feedback::failures(evidence, blames, &BTreeSet::new(), given.policy);
    let own: Vec<&FailureView> = failures.iter().filter(|view| view.blame == Blame::PrCode).collect();
    let told: BTreeSet<&str> = own.iter().map(|view| view.check.as_str()).collect();
    let silent = blames.iter().filter(|blame| blame.blame == Blame::PrCode).map(|blame| blame.check.as_str());
    let rules = digest.failed_rules.iter().map(RuleId::as_str);
    silent.chain(rules).all(|name| told.contains(name)) && disputes::cover(next, own.iter().map(|view| view.cause))
}

/// What failed in the head's attempt, which earlier failures it is rid of, and where the run stands.
fn remember(given: &Given<'_>, next: &mut LoopState, judgement: &Judgement, failures: &[FailureView], stage: Stage) {
    let mut history = std::mem::take(&mut next.failures.history);
    let last = next.attempts.last().filter(|last| last.head_sha == next.head_sha).cloned();
    if let Some(last) = last {
        history.retain(|record| record.attempt != last.number);
        if last.spent() {
            history.extend(
                failures.iter().filter(|view| view.blame == Blame::PrCode).take(REMEMBERED_OF_AN_ATTEMPT).map(|view| {
                    FailureRecord {
                        attempt: last.number,
                        stage,
                        capability: next.capabilities.current.clone(),
                        error: view.failure.reported().chars().take(300).collect(),
                        category: view.category,
                        retry_class: last.retry_class.unwrap_or(RetryClass::Code),
                        blame: view.blame,
                        fingerprint: view.failure.fingerprint.unwrap_or_else(|| failure::fingerprint(&view.failure)),
                        timestamp: last.at,
                        resolution: None,
                        resolved_at: None,
                    }
                }),
            );
        }
        for record in history.iter_mut().filter(|record| record.attempt < last.number && record.resolved_at.is_none()) {
            if !last.fingerprints.contains(&record.fingerprint) {
                record.resolution = Some(format!("gone in attempt {} ({})", last.number, last.head_sha.short()));
                record.resolved_at = Some(last.at);
            }
        }
    }
    next.failures = FailureLog {
        count: judgement.streak,
        same_error: judgement.same_error,
        total: judgement.total,
        max_retries: given.policy.retry.max_attempts,
        history,
    };
    next.stagnation_count = judgement.stagnation;
    next.best_attempt = retry::best(&next.attempts).map(|best| BestAttempt {
        attempt: best.number,
        sha: best.head_sha,
        score: best.score,
    });
    next.last_score = retry::previous_score(&next.attempts);
}

fn milliseconds(count: u64) -> TimeDelta {
    TimeDelta::try_milliseconds(i64::try_from(count).unwrap_or(i64::MAX)).unwrap_or(TimeDelta::MAX)
}

/// The attempt's head, by the first line of its message.
fn checkpoint(next: &mut LoopState, given: &Given<'_>, head: Sha) {
    if next.checkpoints.iter().any(|known| known.hash == head) {
        return;
    }
    let commit = given.snapshot.commits.items.iter().find(|commit| commit.sha == head);
    let subject = commit.and_then(|commit| commit.message.lines().next()).unwrap_or_default();
    let message = subject.chars().take(200).collect();
    next.checkpoints.push(Checkpoint { kind: "commit".to_owned(), hash: head, message, at: given.now });
    next.checkpoints.drain(..next.checkpoints.len().saturating_sub(MOST_CHECKPOINTS));
}

/// What ran on each head, the newest heads last.
fn log_checks(next: &mut LoopState, evidence: &HeadEvidence, head: &str) {
    let of_head = check_log(evidence, head);
    next.check_log.retain(|entry| of_head.iter().all(|new| new.reason != entry.reason));
    next.check_log.extend(of_head);
    next.check_log.drain(..next.check_log.len().saturating_sub(MOST_LOGGED));
}

fn check_log(evidence: &HeadEvidence, head: &str) -> Vec<CheckLogEntry> {
    ended(evidence)
        .map(|(name, found)| CheckLogEntry {
            check: name.clone(),
            reason: format!("head {head}"),
            started_at: found.started_at,
            completed_at: found.started_at.and_then(|at| at.checked_add_signed(milliseconds(found.duration_ms))),
            duration_ms: found.duration_ms,
            status: found.outcome,
            deliverables: found.reports.iter().map(|report| report.path.clone()).collect(),
            children: Vec::new(),
        })
        .collect()
}

/// The checks of which there is evidence.
fn ended(evidence: &HeadEvidence) -> impl Iterator<Item = (&CheckName, &CheckEvidence)> {
    evidence.checks.iter().filter_map(|(name, check)| Some((name, check.evidence()?)))
}
