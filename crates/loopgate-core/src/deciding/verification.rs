//! What the head's evidence amounts to: whose its failures are, which rules fail, and who turns the head down.

use std::collections::BTreeSet;

use super::opening::Inputs;
use crate::{
    attempts::{comparison, rerun},
    commands::Acceptable,
    failure::Blame,
    gate,
    ids::{CheckName, Timestamp},
    observed::{FilesToRead, Snapshot},
    policy::{Baseline, Look, Policy},
    state::{LoopState, Release},
    verdict::{
        Verification, blame, evaluate,
        gather::{self, HeadEvidence},
        lost_results, review, reviewers, tamper,
    },
};

/// Evidence of the head, as it is known with the skips and repetitions so far.
pub(super) fn gather(inputs: &Inputs<'_>, next: &LoopState) -> HeadEvidence {
    let since = |check: &CheckName| waiting_since(inputs, next, check);
    let head = inputs.snapshot.pull_request.head.sha;
    let let_go = |what: Acceptable| -> BTreeSet<CheckName> {
        let of_head = |one: &&Release| what != Acceptable::Skipped || one.head == head;
        let released = next.releases.iter().filter(|one| one.what == what.as_str()).filter(of_head);
        released.flat_map(|one| one.checks.iter().cloned()).collect()
    };
    let skipped = let_go(Acceptable::Skipped);
    let mut evidence = gather::gather(inputs.look(), &next.skips, &skipped, since);
    if !inputs.policy.retry.execution_gate.require_passing_tests {
        evidence.excuse(&evidence.failing_tests());
    }
    reviewers::overrule(&mut evidence, inputs.policy, &next.disputes);
    lost_results::fail(&mut evidence, inputs.look(), &next.attempts, &let_go(Acceptable::ResultsLost));
    evidence.compare_with_attempt_of_base(inputs.snapshot.pull_request.base.sha, &next.attempts);
    evidence
}

/// Since when a check of the head is waited for.
pub(super) fn waiting_since(inputs: &Inputs<'_>, next: &LoopState, check: &CheckName) -> Timestamp {
    let head = inputs.snapshot.pull_request.head.sha;
    let seen = next.first_seen_heads.iter().find(|seen| seen.sha == head).map_or(inputs.now, |seen| seen.at);
    let let_run = next.hold.as_ref().filter(|hold| hold.head == head).and_then(|hold| hold.ended_at);
    rerun::waiting_since(next, let_run.map_or(seen, |at| at.max(seen)), check)
}

/// Judges the evidence of the head.
pub(super) fn verify(inputs: &Inputs<'_>, next: &LoopState, mut evidence: HeadEvidence) -> Verification {
    let Inputs { snapshot, policy, .. } = inputs;
    let flaky = flaky(next, &evidence);
    let blames = blame::blames(snapshot, &evidence, &flaky);
    if policy.retry.baseline == Baseline::New {
        let known = blames.iter().filter(|blame| blame.blame == Blame::Base);
        evidence.excuse(known.map(|blame| &blame.check));
    }
    let rules = evaluate::rules(policy, next.code_artifact.code_type);
    let evaluation = evaluate::evaluate(inputs.look(), &evidence, &rules, next.phase);
    let review = review::standing(snapshot, &policy.retry);
    let rejections = review::new_rejections(next, &inputs.assessment.gates, &review);
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

/// The files that a decision about the snapshot lacks. What they say may ask for further files. `state` is that of the last
/// reconcile, if any.
pub fn files_to_read(snapshot: &Snapshot, state: Option<&LoopState>, policy: &Policy, now: Timestamp) -> FilesToRead {
    let mut wanted = FilesToRead::default();
    wanted.texts.extend(gate::trigger::files_to_read(snapshot, policy));
    wanted.texts.extend(tamper::files_to_read(&snapshot.files, snapshot.merge_base, snapshot.pull_request.head.sha));
    if let Some(state) = state {
        let findings = gather::findings(snapshot);
        wanted.extend(gate::files_of_approvals(Look { snapshot, policy, now }, state, &findings));
    }
    wanted.missing_in(&snapshot.contents)
}
