//! What the head's evidence amounts to: whose its failures are, which rules fail, and who turns the head down.

use std::collections::BTreeSet;

use super::opening::Given;
use crate::{
    attempts::{comparison, rerun},
    commands::Acceptable,
    failure::{Blame, Changes},
    gate::GateReport,
    ids::{CheckName, Timestamp},
    policy::{Baseline, PassingTests, Rule},
    state::{LoopState, Rejection, Release},
    verdict::{
        Evaluation,
        blame::{self, CheckBlame},
        evaluate,
        gather::{self, HeadEvidence},
        lost_results, rejection,
        review::{self, ReviewStanding},
    },
};

/// The head, verified as far as its evidence goes.
pub(super) struct Verification {
    pub(super) evidence: HeadEvidence,
    /// Names of tests that failed and passed on this very commit.
    pub(super) flaky: BTreeSet<String>,
    pub(super) blames: Vec<CheckBlame>,
    pub(super) rules: Vec<Rule>,
    pub(super) evaluation: Evaluation,
    pub(super) review: ReviewStanding,
    /// Who turns the head down, and did not cost an earlier attempt with the same words.
    pub(super) rejections: Vec<Rejection>,
}

/// Evidence of the head, as it is known with the skips and repetitions so far.
pub(super) fn gather(given: &Given<'_>, next: &LoopState) -> HeadEvidence {
    let since = |check: &CheckName| waiting_since(given, next, check);
    let head = given.snapshot.pull_request.head.sha;
    let let_go = |what: Acceptable| -> BTreeSet<CheckName> {
        let of_head = |one: &&Release| what != Acceptable::Skipped || one.head == head;
        let released = next.releases.iter().filter(|one| one.what == what.as_str()).filter(of_head);
        released.flat_map(|one| one.checks.iter().cloned()).collect()
    };
    let skipped = let_go(Acceptable::Skipped);
    let mut evidence = gather::gather(given.snapshot, given.policy, &next.skips, &skipped, since, given.now);
    if given.policy.retry.execution_gate.require_passing_tests == PassingTests::Shown {
        evidence.excuse(&evidence.failing_tests());
    }
    let (base, accepted) = (given.snapshot.base_evidence.as_ref(), let_go(Acceptable::ResultsLost));
    lost_results::fail(&mut evidence, given.policy, base, &next.attempts, &accepted);
    evidence.compare_with_attempt_of_base(given.snapshot.pull_request.base.sha, &next.attempts);
    evidence
}

/// Since when a check of the head is waited for.
pub(super) fn waiting_since(given: &Given<'_>, next: &LoopState, check: &CheckName) -> Timestamp {
    let head = given.snapshot.pull_request.head.sha;
    let seen = next.first_seen_heads.iter().find(|seen| seen.sha == head).map_or(given.now, |seen| seen.at);
    let let_run = next.hold.as_ref().filter(|hold| hold.head == head).and_then(|hold| hold.ended_at);
    rerun::waiting_since(next, let_run.map_or(seen, |at| at.max(seen)), check)
}

/// Judges the evidence of the head.
pub(super) fn verify(
    given: &Given<'_>,
    next: &LoopState,
    mut evidence: HeadEvidence,
    gates: &[GateReport],
) -> Verification {
    let Given { snapshot, policy, .. } = given;
    let flaky = flaky(next, &evidence);
    let base = snapshot.base_evidence.as_ref();
    let blames = blame::blames(&evidence, &Changes::of(&snapshot.files), base, &flaky);
    if policy.retry.baseline == Baseline::New {
        let known = blames.iter().filter(|blame| blame.blame == Blame::Base);
        evidence.excuse(known.map(|blame| &blame.check));
    }
    let rules = evaluate::rules(policy, next.code_artifact.code_type);
    let evaluation = evaluate::evaluate(&snapshot.files, &evidence, policy, &rules, next.phase);
    let review = review::standing(snapshot, &policy.retry);
    let rejections = rejection::of_head(next, gates, &review);
    Verification { evidence, flaky, blames, rules, evaluation, review, rejections }
}

/// Names the tests that flipped since the head was counted: a run of the same checks on the same code ended otherwise.
fn flaky(next: &LoopState, evidence: &HeadEvidence) -> BTreeSet<String> {
    match next.attempts.last().filter(|last| last.head_sha == next.head_sha) {
        None => comparison::flaky(None, evidence),
        Some(counted) if evidence.missing().is_empty() => comparison::flaky(Some(counted), evidence),
        Some(counted) => counted.flaky.clone(),
    }
}
