//! The end of a decision: what the walks and the action make of the state.

use super::opening::Inputs;
use crate::{
    attempts::retry::{self, Judgement},
    deciding::NextAction,
    escalation::escalation_call,
    gate::GateReport,
    ids::CheckName,
    policy::{EscalationAction, Severity, Trigger},
    stage::{Stage, StageStatus},
    stages::walk::{Walk, Walks},
    state::{GateState, GateStatus, LoopState, RunStatus, StageEvidence, StopReason},
    verdict::{
        CheckStanding, Evaluation, EvaluationVerdict, RuleOutcome, Verification,
        gather::{self, HeadEvidence},
    },
};

/// Writes the outcome into the state: stage, status, stop reason, summary of the evaluation.
pub(super) fn settle(
    inputs: &Inputs<'_>,
    next: &mut LoopState,
    verification: &Verification,
    walks: &Walks,
    judgement: &Judgement,
    action: &NextAction,
) {
    let Verification { evidence, evaluation, rules, .. } = verification;
    let stage = match action {
        NextAction::Complete => Stage::Complete,
        _ => walks.stage.reached,
    };
    if stage != next.state {
        next.state = stage;
        next.state_entered_at = inputs.now;
    }
    settle_stages(inputs, next, stage, evidence);
    next.evaluation = Some(evaluation.summary());
    next.criteria.set(&inputs.policy.evaluate, rules);
    if matches!(action, NextAction::Complete) {
        complete(inputs, next, evaluation);
    } else {
        next.status = status(inputs, next, action, judgement, &walks.evidence);
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
    let aborts = next.blocked.as_ref().is_some_and(|blocked| {
        escalation_call::action_of(blocked.trigger, &inputs.policy.escalation) == EscalationAction::AbortWithReport
    });
    match action {
        NextAction::Stopped if retry::has_given_up(judgement, &inputs.policy.retry) => RunStatus::Failed,
        NextAction::Stopped => RunStatus::Stopped,
        _ if aborts => RunStatus::Aborted,
        NextAction::Escalate { .. } | NextAction::WaitForHuman { .. } => RunStatus::Escalated,
        _ if evidence_walk.reached >= Stage::Document => RunStatus::Passed,
        _ => RunStatus::InProgress,
    }
}

fn settle_stages(inputs: &Inputs<'_>, next: &mut LoopState, reached: Stage, evidence: &HeadEvidence) {
    let now = inputs.now;
    for stage in Stage::ALL {
        let record = next.stages.entry(stage).or_default();
        let status = match stage.cmp(&reached) {
            std::cmp::Ordering::Less => StageStatus::Complete,
            std::cmp::Ordering::Equal if stage == Stage::Complete => StageStatus::Complete,
            std::cmp::Ordering::Equal => StageStatus::InProgress,
            std::cmp::Ordering::Greater => StageStatus::Pending,
        };
        if record.status == status {
            continue;
        }
        record.status = status;
        match status {
            StageStatus::Pending => (record.started_at, record.completed_at) = (None, None),
            StageStatus::InProgress => (record.started_at, record.completed_at) = (Some(now), None),
            StageStatus::Complete | StageStatus::Skipped => {
                record.started_at = record.started_at.or(Some(now));
                record.completed_at = Some(now);
            }
        }
    }
    let names = |wanted: fn(&gather::GatheredCheck) -> bool| -> Vec<CheckName> {
        evidence.checks.iter().filter(|(_, check)| wanted(check)).map(|(name, _)| name.clone()).collect()
    };
    next.stage_evidence.clear();
    next.stage_evidence.insert(
        reached,
        StageEvidence {
            required: evidence.checks.keys().cloned().collect(),
            completed: names(|check| check.evidence().is_some_and(|found| !found.outcome.is_failure())),
            skipped: names(|check| matches!(check.standing, CheckStanding::Skipped { .. })),
        },
    );
}

/// Merged: what was merged over is named, once. Said is only what is known to have stood in the way: the last look's word
/// of the merged head, or where there is none, what was derived with nothing unread.
fn complete(inputs: &Inputs<'_>, next: &mut LoopState, evaluation: &Evaluation) {
    if inputs.before.status == RunStatus::Completed {
        return;
    }
    next.status = RunStatus::Completed;
    next.blocked = None;
    // What the last look saved of the merged head is what held at the merge.
    let held = Some(inputs.before).filter(|before| before.head_sha == next.head_sha && before.evaluation.is_some());
    let snapshot = inputs.snapshot;
    let is_whole = snapshot.problems.is_empty() && matches!(snapshot.files, crate::observed::ChangedFiles::Complete(_));
    if held.is_none() && !is_whole {
        return;
    }
    let was_closed = |gate: &GateReport| {
        let closed = |state: &GateState| {
            state.required && !matches!(state.status, GateStatus::Approved | GateStatus::NotApplicable)
        };
        held.is_none_or(|before| before.gates.get(&gate.name).is_some_and(closed))
    };
    let open_gates = inputs.assessment.gates.iter().filter(|gate| gate.is_closed() && was_closed(gate));
    let failing = evaluation.rules.iter().filter(|rule| rule.severity == Severity::Fail).filter(|rule| {
        match held.and_then(|before| before.evaluation.as_ref()) {
            // What has come in since counts for it.
            Some(then) => then.failed_rules.contains(&rule.id) && rule.outcome != RuleOutcome::Passed,
            None => matches!(rule.outcome, RuleOutcome::Failed(_)),
        }
    });
    let open_gates = open_gates.map(|gate| format!("{} gate", gate.name));
    next.bypassed = open_gates.chain(failing.map(|rule| format!("{} rule", rule.id))).collect();
}

fn settle_stop(next: &mut LoopState, evaluation: &Evaluation) {
    if next.stop.reason == Some(StopReason::UserStop) {
        return;
    }
    use EvaluationVerdict::Passed;
    next.stop.passed = evaluation.passed();
    next.stop.reason = match (&evaluation.verdict, next.blocked.as_ref().map(|blocked| blocked.trigger)) {
        (Passed(reason), _) if matches!(next.status, RunStatus::Passed | RunStatus::Completed) => Some(*reason),
        (_, Some(Trigger::Stagnation)) => Some(StopReason::Stagnation),
        (_, Some(Trigger::MaxAttemptsReached | Trigger::SameError | Trigger::TotalFailures)) => {
            Some(StopReason::IterationLimit)
        }
        _ if next.status == RunStatus::Failed => Some(StopReason::IterationLimit),
        _ => None,
    };
}
