//! What the head's evidence amounts to: whose its failures are, which rules fail, and who turns the head down. Once its
//! verification has ended, the head is counted as an attempt and judged with those before it.

use std::collections::BTreeSet;

use super::inputs::Inputs;
use crate::{
    commands::Acceptable,
    concerns::{
        attempts::{Judgement, attempt, comparison, failure_log, rerun, retry},
        checks::{
            filters,
            gather::{self, CheckView, HeadEvidence},
            lost_results,
        },
        disputes, gates, review, tampering,
        verdict::{FailureView, Verification, blame, evaluate, feedback},
    },
    evidence::{CheckEvidence, CheckKind, Compare, Outcome},
    failure::Blame,
    ids::{CheckName, Timestamp},
    memory::MemoryMatch,
    observed::{FilesToRead, Snapshot},
    policy::{Baseline, Context, Policy},
    stage::Stage,
    state::{AttemptDigest, Dispute, LastVerification, LoopState, Release},
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
    failure_log::remember(inputs.policy, next, &judgement, &failures, reached);
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
    tampering::attempt::mark(&mut digest, next, inputs.tampering);
    digest.disputed = digest.rejections.is_empty()
        && disputes::explain_head(inputs.policy, next, verification, &digest);
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
