//! What the head's evidence amounts to: whose its failures are, which rules fail, and who turns the head down. Once its
//! verification has ended, the head is counted as an attempt and judged with those before it.

use std::collections::BTreeSet;

use super::inputs::Inputs;
use crate::{
    commands::Acceptable,
    concerns::{
        attempts::{Judgement, attempt, comparison, rerun, retry},
        checks::{
            filters,
            gather::{self, CheckView, HeadEvidence},
            lost_results,
        },
        disputes, gates, review,
        tampering::{self, Tampering},
        verdict::{FailureView, Verification, blame, evaluate, feedback},
    },
    evidence::{CheckEvidence, CheckKind, Compare, Outcome, RetryClass},
    failure::{self, Blame},
    ids::{CheckName, Login, RuleId, Timestamp},
    memory::MemoryMatch,
    observed::{FilesToRead, Snapshot},
    policy::{Baseline, Context, Policy},
    stage::Stage,
    state::{
        AttemptDigest, Dispute, FailureLog, FailureRecord, LastVerification, LoopState, Release,
        VerificationResult,
    },
    text,
};

/// Evidence of the head, as it is known with the skips and repetitions so far.
pub(super) fn gather(inputs: &Inputs<'_>, next: &LoopState) -> HeadEvidence {
    let since = |check: &CheckName| rerun::waiting_since(inputs.cx(), next, check);
    let head = inputs.snapshot.pull_request.head.sha;
    let let_go = |what: Acceptable| -> BTreeSet<CheckName> {
        let of_head = |one: &&Release| what != Acceptable::Skipped || one.head == head;
        let released = next
            .people
            .releases
            .iter()
            .filter(|one| one.what == what.as_str())
            .filter(of_head);
        released
            .flat_map(|one| one.checks.iter().cloned())
            .collect()
    };
    let skipped = let_go(Acceptable::Skipped);
    let mut evidence = gather::gather(inputs.cx(), &next.people.skips, &skipped, since);
    if !inputs.policy.retry.execution_gate.require_passing_tests {
        let fails = |found: &CheckEvidence| found.outcome == Outcome::Failed;
        let failing = |check: &CheckView| {
            check.kind == CheckKind::Test && check.evidence().is_some_and(fails)
        };
        evidence.excuse(&evidence.names(failing));
    }
    evidence.overrule_reviewers(inputs.policy, &next.concerns.disputes);
    lost_results::fail(
        &mut evidence,
        inputs.cx(),
        &next.attempts.counted,
        &let_go(Acceptable::ResultsLost),
    );
    if next.run.reflex.is_some() {
        evidence.compare_with_iterations(&next.attempts.counted);
    }
    evidence
}

/// Judges the evidence of the head.
pub(super) fn verify(
    inputs: &Inputs<'_>,
    next: &LoopState,
    mut evidence: HeadEvidence,
) -> Verification {
    let Inputs {
        snapshot, policy, ..
    } = inputs;
    let flaky = flaky(next, &evidence);
    let blames = blame::blames(snapshot, &evidence, &flaky);
    if policy.retry.baseline == Baseline::New {
        let known = blames.iter().filter(|blame| blame.blame == Blame::Base);
        evidence.excuse(known.map(|blame| &blame.check));
    }
    for found in &blames {
        evidence.checks[&found.check].blame = Some(found.blame);
    }
    let rules = evaluate::rules(policy, next.head.artifact.code_type);
    let evaluation = evaluate::evaluate(inputs.cx(), &evidence, &rules, next.run.phase);
    let review = review::standing(snapshot, &policy.retry);
    let rejections = review::new_rejections(next, &inputs.assessment.gates, &review);
    Verification {
        evidence,
        flaky,
        blames,
        rules,
        evaluation,
        review,
        rejections,
    }
}

/// Names the tests that flipped since the head was counted: a run of the same checks on the same code ended otherwise.
fn flaky(next: &LoopState, evidence: &HeadEvidence) -> BTreeSet<String> {
    match next
        .attempts
        .counted
        .last()
        .filter(|last| last.head_sha == next.head.sha)
    {
        None => comparison::flaky(None, evidence),
        Some(counted) if evidence.missing().is_empty() => {
            comparison::flaky(Some(counted), evidence)
        }
        Some(counted) => counted.flaky.clone(),
    }
}

/// The files that a decision about the snapshot lacks. What they say may ask for further files. `state` is that of the
/// last reconcile, if any.
pub fn files_to_read(
    snapshot: &Snapshot,
    state: Option<&LoopState>,
    policy: &Policy,
    now: Timestamp,
) -> FilesToRead {
    let mut wanted = FilesToRead::default();
    wanted
        .texts
        .extend(gates::trigger::files_to_read(snapshot, policy));
    wanted
        .texts
        .extend(filters::files_to_read(snapshot, policy));
    wanted.texts.extend(tampering::files_to_read(
        &snapshot.files,
        snapshot.merge_base,
        snapshot.pull_request.head.sha,
    ));
    if let Some(state) = state {
        let findings = gather::findings(snapshot);
        wanted.extend(gates::files_of_approvals(
            Context {
                snapshot,
                policy,
                now,
            },
            state,
            &findings,
        ));
    }
    wanted.missing_in(&snapshot.contents)
}

/// Failures of one attempt that the state remembers at most.
const REMEMBERED_OF_AN_ATTEMPT: usize = 20;

/// The head's attempt, when its verification has ended.
pub(super) struct CountedAttempt {
    pub(super) digest: AttemptDigest,
    pub(super) compare: Compare,
    /// Whether it is new, or its evidence was replaced.
    pub(super) is_news: bool,
}

/// What the attempts of the run amount to with the head.
pub(super) struct Counting {
    pub(super) counted: Option<CountedAttempt>,
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
    inputs: &Inputs<'_>,
    next: &mut LoopState,
    verification: &Verification,
    reached: Stage,
) -> Counting {
    let head = next.head.sha;
    if let Some(last) = next
        .attempts
        .counted
        .last_mut()
        .filter(|last| last.head_sha == head)
    {
        last.flaky.clone_from(&verification.flaky);
    }
    let counted = inputs
        .is_open()
        .then(|| attempt_of_head(inputs, next, verification))
        .flatten();
    let judgement = retry::judge(
        &next.attempts.counted,
        &next.people.resumes,
        &inputs.policy.retry,
    );
    let Verification {
        evidence, blames, ..
    } = verification;
    let mut failures = feedback::failures(evidence, blames, &judgement.regressed, inputs.policy);
    if let Some(attempt) = next.attempt_of(head) {
        attach(&mut failures, attempt);
    }
    remember(inputs, next, &judgement, &failures, reached);
    let has_ended = inputs.is_open() && evidence.missing().is_empty();
    let mended = if has_ended {
        disputes::end_mended(next, inputs.snapshot, &failures)
    } else {
        Vec::new()
    };
    Counting {
        counted,
        judgement,
        failures,
        mended,
    }
}

/// Counts the head as an attempt once its verification has ended, or replaces the evidence of a head that was counted
/// before.
fn attempt_of_head(
    inputs: &Inputs<'_>,
    next: &mut LoopState,
    verification: &Verification,
) -> Option<CountedAttempt> {
    let evidence = &verification.evidence;
    let mut digest = attempt::digest(inputs.cx(), next, verification)?;
    mark_weakened(&mut digest, next, inputs.tampering);
    digest.disputed =
        digest.rejections.is_empty() && is_disputed(inputs, next, verification, &digest);
    digest.with_results = lost_results::with_results(evidence, inputs.policy);
    digest.tests = digest
        .tests
        .filter(|tests| tests.len() <= inputs.policy.state.most_tests());
    let previous = next
        .attempts
        .counted
        .iter()
        .rev()
        .find(|attempt| attempt.number < digest.number);
    let (compare, regressed) = comparison::compare(
        previous,
        &digest,
        evidence,
        inputs.snapshot.base_evidence.as_ref(),
        inputs.tampering,
    );
    digest.regressed = regressed;
    let is_news = next.attempt_of(digest.head_sha) != Some(&digest);
    if is_news {
        attempt::record(&mut next.attempts.counted, digest.clone());
        next.run.iteration = digest.number;
        next.head.last_verification = Some(LastVerification {
            at: inputs.now,
            result: digest.result,
            head_sha: digest.head_sha,
        });
    }
    Some(CountedAttempt {
        digest,
        compare,
        is_news,
    })
}

/// Marks an attempt that weakens what checks it, and says in its summary who accepted that.
fn mark_weakened(digest: &mut AttemptDigest, next: &LoopState, tampering: &[Tampering]) {
    let found = tampering::counts(tampering);
    let is_found = |(_, what): &(&Login, &str)| found.contains_key(*what);
    let accepted: Vec<String> = next
        .people
        .accepted_by()
        .filter(is_found)
        .take(3)
        .map(|(by, what)| format!("{by} accepted that {what}"))
        .collect();
    let is_open = tampering::not_accepted(tampering, &next.concerns.tampering).is_some();
    digest.weakened = is_open || !accepted.is_empty();
    let passes = digest.result == VerificationResult::Pass;
    if passes && is_open {
        digest.summary = "checks pass, but tests or thresholds were weakened".to_owned();
    } else if passes && digest.weakened {
        digest.summary = format!("{}; {}", digest.summary, accepted.join(", "));
    }
}

/// Whether the head fails by nothing but failures that are disputed.
fn is_disputed(
    inputs: &Inputs<'_>,
    next: &LoopState,
    verification: &Verification,
    digest: &AttemptDigest,
) -> bool {
    if next.concerns.disputes.is_empty() {
        return false;
    }
    let Verification {
        evidence, blames, ..
    } = verification;
    let failures = feedback::failures(evidence, blames, &BTreeSet::new(), inputs.policy);
    let own: Vec<&FailureView> = failures
        .iter()
        .filter(|view| view.blame == Blame::PrCode)
        .collect();
    let explained: BTreeSet<&str> = own.iter().map(|view| view.check.as_str()).collect();
    let silent = blames
        .iter()
        .filter(|blame| blame.blame == Blame::PrCode)
        .map(|blame| blame.check.as_str());
    let rules = digest.failed_rules.iter().map(RuleId::as_str);
    silent.chain(rules).all(|name| explained.contains(name))
        && disputes::cover(next, own.iter().map(|view| view.cause))
}

/// What failed in the head's attempt, which earlier failures it is rid of, and where the run stands.
fn remember(
    inputs: &Inputs<'_>,
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
        max_retries: inputs.policy.retry.max_attempts,
        history,
    };
}

/// Puts what was found for an attempt beside the failures it is about.
pub(super) fn attach(failures: &mut [FailureView], attempt: &AttemptDigest) {
    for view in failures {
        let of_error = |found: &&MemoryMatch| view.failure.fingerprint == Some(found.fingerprint);
        view.memory = attempt
            .memory_matches
            .iter()
            .flatten()
            .filter(of_error)
            .cloned()
            .collect();
    }
}
