//! `decide` takes what was observed, what is remembered, the policy and the time, and returns one [`Decision`].
//!
//! No I/O, no clock, no randomness: the same snapshot gives the same decision, in whatever order and however often
//! events led to it. It reads top down, in the order of decisions.md.

use super::{run::Run, surface};
use crate::{
    attempts::{rerun, retry},
    deciding::{
        AttemptRecord, CheckView, Decision, DecisionWord, NextAction, Provenance, View, Warning, command_execution,
    },
    escalation::{escalation_call, fix_request, senior_fixer},
    evidence::CheckKind,
    failure::{Blame, Changes},
    gate::{self, Assessment, GateReport, gate_transitions, waiting},
    ids::{CheckName, GateName, Timestamp},
    observed::{Lifecycle, ObservationProblem, ReceivedEvidence, Snapshot},
    policy::{Baseline, Policy, PolicyOrigin},
    stage::Stage,
    stages::{
        Blocker,
        walk::{self, Configuration, Walk, WalkMode},
    },
    state::{AttemptDigest, GateStatus, LoopState, LostRecord, RunStatus, StopReason},
    verdict::{
        Evaluation,
        blame::{self, CheckBlame},
        evaluate, feedback,
        gather::{self, HeadEvidence},
        rejection, review, tamper,
    },
};

/// Decides what comes next for one pull request.
///
/// ```text
/// gates and words → commands → evidence → evaluation → attempt → walks → action → surface
/// ```
pub fn decide(snapshot: &Snapshot, state: &LoopState, policy: &Policy, now: Timestamp) -> Decision {
    let mut run = Run::continuing(snapshot, state, policy, now);
    let findings = gather::findings(snapshot);
    let assessment = gate::assess(snapshot, state, policy, &findings, now);
    run.see(assessment.sighting.clone());
    run.next.edited_words.clone_from(&assessment.edited);
    run.describe_pull_request();
    rerun::forget_others(&mut run.next);
    let mut evidence = run.gather();
    if command_execution::carry_out(&mut run, &assessment.commands, &evidence) == command_execution::Affected::Evidence
    {
        evidence = run.gather();
    }
    let flaky = run.note_flaky(&evidence);
    let changes = Changes::of(&snapshot.files);
    let blames = blame::blames(&evidence, &changes, snapshot.base_evidence.as_ref(), &flaky);
    let tampering = tamper::findings(&snapshot.files);
    if policy.retry.baseline == Baseline::New {
        let known = blames.iter().filter(|blame| blame.blame == Blame::Base);
        evidence.excuse(known.map(|blame| &blame.check));
    }
    let rules = evaluate::rules(policy, run.next.code_artifact.code_type);
    let evaluation = evaluate::evaluate(&snapshot.files, &evidence, policy, &rules, run.next.phase);
    run.switch_phase(&evaluation);
    let review = review::standing(snapshot, &policy.retry);
    let rejections = rejection::of_head(&run.next, &assessment.gates, &review);
    let counted = run.count_attempt(&evidence, &evaluation, &blames, rejections, &flaky);

    let inputs = walk::StageInputs {
        configuration: match policy.origin {
            PolicyOrigin::Presets { .. } => Configuration::Unusable,
            _ => Configuration::Usable,
        },
        evidence: &evidence,
        evaluation: &evaluation,
        gates: &assessment.gates,
        capabilities: &run.next.capabilities,
        capability_mode: policy.retry.capabilities,
        readiness: snapshot.pull_request.readiness,
        review: &review,
        lifecycle: &snapshot.pull_request.lifecycle,
    };
    let evidence_walk = walk::walk(&inputs, WalkMode::EvidenceOnly);
    let stage_walk = walk::walk(&inputs, WalkMode::Gates);

    let judgement = retry::judge(&run.next.attempts, &run.next.resumes, &policy.retry);
    let (failures, examined) = feedback::failures(&evidence, &blames, &judgement.regressed);
    run.remember_failures(&judgement, &failures, evidence_walk.reached);
    run.note_outage(&evidence, &blames);
    let gatekeeping =
        gate_transitions::follow_up(&assessment, snapshot, &run.next, &policy.gates, evidence_walk.reached, now);
    run.keep_gates(&gatekeeping);
    let causes = run.causes(&judgement, &tampering);
    let fresh_block = run.call_or_release(&causes);
    let next_rerun = run.repeat_outside();

    let action = next_action(&run, &evidence, &blames, &stage_walk, fresh_block);
    run.settle(&action, &evaluation, &evidence, &stage_walk, &evidence_walk, &assessment.gates, &rules);

    let rejections = run.rejections(&assessment.gates, &review);
    let feedback = feedback::feedback(&failures, &examined, &blames, &evaluation, &rejections, policy);
    let fixing = fix_request::turn(snapshot, &run.next, policy, action.retried(), now);
    let view = View {
        origin: policy.origin.clone(),
        stage: run.next.state,
        evidence_stage: evidence_walk.reached,
        held_by: stage_walk.held_by.clone(),
        evidence_held_by: evidence_walk.held_by.clone(),
        attempt: run.next.iteration,
        max_attempts: policy.retry.max_attempts,
        distance: has_stopped_short(&run.next, &evaluation).then(|| evaluate::distance(&evaluation)),
        escalation: run
            .next
            .blocked
            .as_ref()
            .map(|blocked| escalation_call::describe(blocked, &causes, &run.next, snapshot, policy, &failures)),
        checks: check_views(&evidence, &blames),
        capabilities: run.next.capabilities.clone(),
        compare: counted.as_ref().map(|counted| counted.compare.clone()),
        coverage: evidence.coverage.clone(),
        skips: run.next.skips.clone(),
        reruns: run.next.reruns.clone(),
        next_rerun: next_rerun.clone(),
        flags: escalation_call::flagged(&causes, &policy.escalation),
        tampering,
        replies: run.replies(),
        warnings: warnings(snapshot, policy, &assessment, &evidence, run.next.lost_record()),
        unmatched: assessment.unmatched.clone(),
        bypassed: run.next.bypassed.clone(),
        feedback: feedback.clone(),
        fixing: fixing.clone(),
        evaluation,
        failures: failures.clone(),
        gates: assessment.gates.clone(),
    };
    let record = counted.filter(|counted| counted.is_news).map(|counted| AttemptRecord {
        decision: verdict_on(&counted.digest, &action),
        digest: counted.digest,
        provenance: Provenance::of(snapshot, run.next.pull_request),
        checks: blame::recorded(&evidence, &blames),
        coverage: evidence.coverage.clone(),
        compare: counted.compare,
        analysis: failures,
        feedback,
    });
    let surface = surface::surface(
        &surface::SurfaceInputs {
            snapshot,
            policy,
            next: &run.next,
            action: &action,
            evidence_walk: &evidence_walk,
            assessment: &assessment,
            replies: &view.replies,
            feedback: &view.feedback,
            fixing: fixing.as_ref(),
            now,
        },
        gatekeeping,
    );
    let due = [next_rerun.map(|next| next.at), fixing.map(|turn| turn.at)];
    let revisit_at = revisit(&run, &evidence, &assessment.gates, due);
    let (next, events) = run.finish();
    Decision { action, next, events, attempt: record, view, surface, revisit_at }
}

/// The verdict on the attempt itself: it passed or it did not, although gates and people may still be waited for.
fn verdict_on(attempt: &AttemptDigest, action: &NextAction) -> DecisionWord {
    match action.word() {
        _ if attempt.passes() => DecisionWord::Proceed,
        DecisionWord::Escalate => DecisionWord::Escalate,
        _ => DecisionWord::Retry,
    }
}

/// What comes next: the first row that fits wins (decisions.md, A).
fn next_action(
    run: &Run<'_>,
    evidence: &HeadEvidence,
    blames: &[CheckBlame],
    stage_walk: &Walk,
    fresh_block: bool,
) -> NextAction {
    match run.snapshot.pull_request.lifecycle {
        Lifecycle::Merged { .. } => return NextAction::Complete,
        Lifecycle::Closed => return NextAction::Stopped,
        Lifecycle::Open => {}
    }
    if run.next.stop.reason == Some(StopReason::UserStop) {
        return NextAction::Stopped;
    }
    if let Some(blocked) = &run.next.blocked {
        let cause = blocked.trigger;
        return if fresh_block { NextAction::Escalate { cause } } else { NextAction::WaitForHuman { cause } };
    }
    let attempt = run.next.iteration;
    match &stage_walk.held_by {
        None => NextAction::Complete,
        Some(Blocker::Gate(gate)) if stage_walk.reached <= Stage::Implement && is_rejected(run, gate) => {
            run.retry_or_give_up(attempt)
        }
        Some(Blocker::Gate(gate)) => NextAction::WaitForApproval { gate: gate.clone() },
        // Also when something failed already: an attempt ends when all its evidence is there.
        Some(Blocker::MissingEvidence(_)) => NextAction::WaitForEvidence { missing: evidence.missing() },
        Some(Blocker::Failing(_)) if !evidence.missing().is_empty() => {
            NextAction::WaitForEvidence { missing: evidence.missing() }
        }
        Some(Blocker::Failing(_) | Blocker::Evaluation(_)) if is_nothing_to_mend(blames) => {
            NextAction::WaitForEvidence { missing: evidence.failing() }
        }
        Some(Blocker::Failing(_) | Blocker::Evaluation(_) | Blocker::ChangesRequested(_) | Blocker::Configuration) => {
            run.retry_or_give_up(attempt)
        }
        Some(Blocker::Capability(capability)) => NextAction::WaitForPush { capability: capability.clone() },
        Some(Blocker::Draft) => NextAction::WaitForReady,
        Some(Blocker::Review { .. }) => NextAction::WaitForReview,
        Some(Blocker::Merge) => NextAction::WaitForMerge,
    }
}

fn is_rejected(run: &Run<'_>, gate: &GateName) -> bool {
    run.next.gates.get(gate).is_some_and(|state| state.status == GateStatus::Rejected)
}

/// Whether no failing check fails because of this change. Asking the author for pushes would then never end.
fn is_nothing_to_mend(blames: &[CheckBlame]) -> bool {
    !blames.is_empty() && blames.iter().all(|blame| blame.blame != Blame::PrCode)
}

/// Whether a run stopped, or called a human, without passing.
fn has_stopped_short(state: &LoopState, evaluation: &Evaluation) -> bool {
    !evaluation.passed() && matches!(state.status, RunStatus::Escalated | RunStatus::Failed | RunStatus::Aborted)
}

fn check_views(evidence: &HeadEvidence, blames: &[CheckBlame]) -> Vec<CheckView> {
    let blame = |name: &CheckName| blames.iter().find(|blame| &blame.check == name).map(|blame| blame.blame);
    evidence
        .checks
        .iter()
        .map(|(name, check)| CheckView {
            name: name.clone(),
            kind: check.kind,
            standing: check.standing.clone(),
            blame: blame(name),
        })
        .collect()
}

fn warnings(
    snapshot: &Snapshot,
    policy: &Policy,
    assessment: &Assessment,
    evidence: &HeadEvidence,
    lost: Option<LostRecord>,
) -> Vec<Warning> {
    let configured = |kind: CheckKind| policy.verify.checks.values().any(|check| check.kind == kind);
    let mut warnings: Vec<Warning> = [CheckKind::Build, CheckKind::Test]
        .into_iter()
        .filter(|kind| !configured(*kind))
        .map(Warning::NoCheckOfKind)
        .collect();
    warnings.extend(lost.map(Warning::RecordLost));
    warnings.extend(snapshot.problems.iter().cloned().map(Warning::NotObserved));
    warnings.extend(policy.overruled.iter().cloned().map(Warning::Overruled));
    warnings.extend(evidence.coverage_refused.iter().map(|reason| {
        let (what, reason) = ("coverage in the evidence".to_owned(), reason.to_string());
        Warning::NotObserved(ObservationProblem { what, reason })
    }));
    warnings.extend(
        assessment
            .tampered
            .iter()
            .map(|tampered| Warning::TamperedComment { by: tampered.by.login.clone(), url: tampered.url.clone() }),
    );
    warnings.extend(snapshot.forged_checks.iter().cloned().map(Warning::Forged));
    warnings.extend(snapshot.evidence.iter().filter_map(|received| match received {
        ReceivedEvidence::Refused { artifact, reason, .. } => {
            Some(Warning::EvidenceRefused { artifact: artifact.clone(), reason: reason.clone() })
        }
        ReceivedEvidence::Accepted(_) => None,
    }));
    warnings
}

/// When time alone changes the decision next: evidence becomes overdue, an outside failure escalates, something is due
/// to be repeated or a fixer to be asked, an open gate is read again (hiding a comment sends no event).
fn revisit(
    run: &Run<'_>,
    evidence: &HeadEvidence,
    gates: &[GateReport],
    due: [Option<Timestamp>; 2],
) -> Option<Timestamp> {
    if run.snapshot.pull_request.lifecycle != Lifecycle::Open {
        return None;
    }
    let overdue = evidence.missing().iter().map(|check| run.waiting_since(check)).min();
    let overdue = overdue.map(|since| since + run.policy.retry.evidence_timeout);
    let external = run.external_deadline();
    let triggered =
        gates.iter().any(|gate| gate.holding == gate::Holding::Holds && gate.status() != GateStatus::NotApplicable);
    let again = triggered.then_some(run.now + chrono::TimeDelta::minutes(15));
    let waits = waiting::next(&run.next, &run.policy.gates, run.now);
    let senior = senior_fixer::revisit(&run.next, run.policy);
    let moments = [overdue, external, again, waits, senior].into_iter().chain(due);
    moments.flatten().filter(|at| *at > run.now).min()
}

/// The word a script sees.
impl Decision {
    pub const fn word(&self) -> DecisionWord {
        self.action.word()
    }
}

#[cfg(test)]
#[path = "decide_tests/mod.rs"]
mod tests;
