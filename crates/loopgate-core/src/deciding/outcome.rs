//! What a decision comes to: whether a person is called, what is repeated by itself, what comes next and who acts, and
//! what that makes of the state.

use std::collections::BTreeSet;

use super::{inputs::Inputs, verification::Counting};
use crate::{
    concerns::{
        attempts::{Judgement, NextRerun, rerun},
        checks::{CheckStanding, gather::CheckView},
        escalation::{
            cause::{self, Causes},
            escalation_call,
        },
        fixer::senior_fixer,
        gates::GateReport,
        tampering,
        verdict::{Evaluation, EvaluationVerdict, RuleOutcome, Verification, outside},
    },
    deciding::{
        NextAction,
        stages::{Blocker, Walk, Walks},
    },
    failure::Blame,
    ids::{CheckName, GateName},
    observed::Lifecycle,
    policy::{EscalationAction, Severity, Trigger},
    stage::Stage,
    state::{GateState, GateStatus, LoopState, RunStatus, StopReason, Unreported},
};

/// What stands in the way of going on by itself.
pub(super) struct Blocking {
    /// All causes for calling a human, the most urgent first, with what was recognised.
    pub(super) causes: Causes,
    pub(super) call: Call,
    /// Checks that are asked for again now, because they failed for reasons outside the code.
    pub(super) repeated: BTreeSet<CheckName>,
    /// The next repetition that comes by itself.
    pub(super) next_rerun: Option<NextRerun>,
}

/// Whether this decision calls somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Nobody,
    SeniorFixer,
    Human,
}

/// Finds the causes, calls or releases, and repeats what failed for reasons outside the code.
pub(super) fn block(
    inputs: &Inputs<'_>,
    next: &mut LoopState,
    verification: &Verification,
    counting: &Counting,
) -> Blocking {
    next.concerns.checks.outage = outside::outage(next, verification, inputs.now);
    next.concerns.checks.unreported = outside::unreported(next, verification);
    // Evidence may still show that the tests pass as they were.
    let weakened = tampering::not_accepted(inputs.tampering, &next.concerns.tampering)
        .filter(|_| counting.counted.is_some())
        .map(|first| (first, inputs.tampering.len() - 1));
    let causes = cause::causes(inputs.cx(), next, &counting.judgement, weakened);
    let call = call_or_release(inputs, next, &causes);
    // Where a person has to decide first, nothing is repeated.
    let held = next.people.blocked.is_some() || next.run.stop.reason == Some(StopReason::UserStop);
    let (repeated, next_rerun) = match next
        .concerns
        .checks
        .outage
        .clone()
        .filter(|_| inputs.is_open() && !held)
    {
        Some(outage) => rerun::repeat_outside(inputs.cx(), next, &outage.checks, outage.since),
        None => (BTreeSet::new(), None),
    };
    Blocking {
        causes,
        call,
        repeated,
        next_rerun,
    }
}

/// Releases a cause that no longer stands and records a new one.
fn call_or_release(inputs: &Inputs<'_>, next: &mut LoopState, causes: &Causes) -> Call {
    if !inputs.is_open() || next.run.stop.reason == Some(StopReason::UserStop) {
        return Call::Nobody;
    }
    if let Some(blocked) = &next.people.blocked
        && !escalation_call::still_stands(inputs.cx(), blocked, next)
    {
        next.people
            .past_causes
            .push((blocked.trigger, blocked.attempt));
        next.people.blocked = None;
    }
    if next.people.blocked.is_some() {
        return Call::Nobody;
    }
    let mut stopping = escalation_call::stopping(causes.keys(), &inputs.policy.escalation);
    let Unreported {
        of_head,
        called_for,
    } = &next.concerns.checks.unreported;
    if of_head.is_subset(called_for) {
        stopping.retain(|trigger| *trigger != Trigger::NoReport);
    }
    if let Some(call) = senior_fixer::at_work(inputs.cx(), next) {
        stopping.retain(|trigger| *trigger != call.trigger && !call.also.contains(trigger));
    } else if let Some(call) = senior_fixer::call_for(inputs.cx(), &stopping, next) {
        next.concerns.fixer = Some(call);
        return Call::SeniorFixer;
    }
    if stopping.is_empty() {
        return Call::Nobody;
    }
    if stopping.contains(&Trigger::NoReport) {
        let told = next.concerns.checks.unreported.of_head.iter().cloned();
        next.concerns.checks.unreported.called_for.extend(told);
    }
    next.people.blocked = next.call_for(&stopping, inputs.now);
    Call::Human
}

/// The first that matches wins.
pub(super) fn next_action(
    inputs: &Inputs<'_>,
    next: &LoopState,
    verification: &Verification,
    stage_walk: &Walk,
    judgement: &Judgement,
    call: Call,
) -> NextAction {
    let evidence = &verification.evidence;
    match inputs.snapshot.pull_request.lifecycle {
        Lifecycle::Merged { .. } => return NextAction::Complete,
        Lifecycle::Closed => return NextAction::Stopped,
        Lifecycle::Open => {}
    }
    if next.run.stop.reason == Some(StopReason::UserStop) {
        return NextAction::Stopped;
    }
    if let Some(blocked) = &next.people.blocked {
        let cause = blocked.trigger;
        return if call == Call::Human {
            NextAction::Escalate { cause }
        } else {
            NextAction::WaitForHuman { cause }
        };
    }
    let is_rejected = |gate: &GateName| {
        next.concerns
            .gates
            .get(gate)
            .is_some_and(|state| state.status == GateStatus::Rejected)
    };
    // Whether no failing check fails through this change: asking its author for a push would go on for ever.
    let blames = &verification.blames;
    let is_nothing_to_mend =
        !blames.is_empty() && blames.iter().all(|blame| blame.blame != Blame::PrCode);
    let awaits_approval =
        |check: &CheckView| matches!(check.standing, CheckStanding::AwaitsApproval { .. });
    let wait_for_missing = || match evidence.checks.values().any(awaits_approval) {
        true => NextAction::WaitForRunApproval {
            missing: evidence.missing(),
        },
        false => NextAction::WaitForEvidence {
            missing: evidence.missing(),
        },
    };
    let retry_or_give_up = || match judgement.has_given_up {
        true => NextAction::Stopped,
        false => NextAction::Retry {
            attempt: next.run.iteration,
        },
    };
    match &stage_walk.held_by {
        None => NextAction::Complete,
        Some(Blocker::Gate(gate))
            if stage_walk.reached <= Stage::Implement && is_rejected(gate) =>
        {
            retry_or_give_up()
        }
        Some(Blocker::Gate(gate)) => NextAction::WaitForApproval { gate: gate.clone() },
        // Also when something failed already: an attempt ends when all its evidence is there.
        Some(Blocker::MissingEvidence(_)) => wait_for_missing(),
        Some(Blocker::Failing(_)) if !evidence.missing().is_empty() => wait_for_missing(),
        Some(Blocker::Failing(_) | Blocker::Evaluation(_)) if is_nothing_to_mend => {
            NextAction::WaitForEvidence {
                missing: evidence.names(CheckView::has_failed),
            }
        }
        Some(
            Blocker::Failing(_)
            | Blocker::Evaluation(_)
            | Blocker::ChangesRequested(_)
            | Blocker::Configuration,
        ) => retry_or_give_up(),
        Some(Blocker::Capability(capability)) => NextAction::WaitForPush {
            capability: capability.clone(),
        },
        Some(Blocker::Draft) => NextAction::WaitForReady,
        Some(Blocker::Review { .. }) => NextAction::WaitForReview,
        Some(Blocker::Merge) => NextAction::WaitForMerge,
    }
}

/// Writes the outcome into the state: stage, status, stop reason, summary of the evaluation.
pub(super) fn settle(
    inputs: &Inputs<'_>,
    next: &mut LoopState,
    evaluation: &Evaluation,
    walks: &Walks,
    judgement: &Judgement,
    action: &NextAction,
) {
    let stage = match action {
        NextAction::Complete => Stage::Complete,
        _ => walks.stage.reached,
    };
    if stage != next.run.stage {
        next.run.stage = stage;
        next.run.stage_entered_at = inputs.now;
    }
    next.head.evaluation = Some(evaluation.summary());
    if matches!(action, NextAction::Complete) {
        complete(inputs, next, evaluation);
    } else {
        next.run.status = status(inputs, next, action, judgement, &walks.evidence);
    }
    settle_stop(next, evaluation);
}

fn status(
    inputs: &Inputs<'_>,
    next: &LoopState,
    action: &NextAction,
    judgement: &Judgement,
    evidence_walk: &Walk,
) -> RunStatus {
    let aborts = next.people.blocked.as_ref().is_some_and(|blocked| {
        inputs.policy.escalation.action_of(blocked.trigger) == EscalationAction::AbortWithReport
    });
    match action {
        NextAction::Stopped if judgement.has_given_up => RunStatus::Failed,
        NextAction::Stopped => RunStatus::Stopped,
        _ if aborts => RunStatus::Aborted,
        NextAction::Escalate { .. } | NextAction::WaitForHuman { .. } => RunStatus::Escalated,
        _ if evidence_walk.reached >= Stage::Document => RunStatus::Passed,
        _ => RunStatus::InProgress,
    }
}

/// Merged: names once the gates that were closed. Only those count that are known to have been closed: by the last look
/// at the merged head, or without one, by this look if nothing was unread.
fn complete(inputs: &Inputs<'_>, next: &mut LoopState, evaluation: &Evaluation) {
    if inputs.before.run.status == RunStatus::Completed {
        return;
    }
    next.run.status = RunStatus::Completed;
    next.people.blocked = None;
    // What the last look saved of the merged head is what held at the merge.
    let held = Some(inputs.before)
        .filter(|before| before.head.sha == next.head.sha && before.head.evaluation.is_some());
    let snapshot = inputs.snapshot;
    let is_whole = snapshot.problems.is_empty()
        && matches!(snapshot.files, crate::observed::ChangedFiles::Complete(_));
    if held.is_none() && !is_whole {
        return;
    }
    let was_closed = |gate: &GateReport| {
        let closed = |state: &GateState| {
            state.required
                && !matches!(
                    state.status,
                    GateStatus::Approved | GateStatus::NotApplicable
                )
        };
        held.is_none_or(|before| before.concerns.gates.get(&gate.name).is_some_and(closed))
    };
    let open_gates = inputs
        .assessment
        .gates
        .iter()
        .filter(|gate| gate.is_closed() && was_closed(gate));
    let failing = evaluation
        .rules
        .iter()
        .filter(|rule| rule.severity == Severity::Fail)
        .filter(|rule| {
            match held.and_then(|before| before.head.evaluation.as_ref()) {
                // What has come in since counts for it.
                Some(then) => {
                    then.failed_rules.contains(&rule.id) && rule.outcome != RuleOutcome::Passed
                }
                None => matches!(rule.outcome, RuleOutcome::Failed(_)),
            }
        });
    let open_gates = open_gates.map(|gate| format!("{} gate", gate.name));
    next.run.bypassed = open_gates
        .chain(failing.map(|rule| format!("{} rule", rule.id)))
        .collect();
}

fn settle_stop(next: &mut LoopState, evaluation: &Evaluation) {
    if next.run.stop.reason == Some(StopReason::UserStop) {
        return;
    }
    use EvaluationVerdict::Passed;
    next.run.stop.passed = evaluation.passed();
    next.run.stop.reason = match (
        &evaluation.verdict,
        next.people.blocked.as_ref().map(|blocked| blocked.trigger),
    ) {
        (Passed(reason), _)
            if matches!(next.run.status, RunStatus::Passed | RunStatus::Completed) =>
        {
            Some(*reason)
        }
        (_, Some(Trigger::Stagnation)) => Some(StopReason::Stagnation),
        (_, Some(Trigger::MaxAttemptsReached | Trigger::SameError | Trigger::TotalFailures)) => {
            Some(StopReason::IterationLimit)
        }
        _ if next.run.status == RunStatus::Failed => Some(StopReason::IterationLimit),
        _ => None,
    };
}
