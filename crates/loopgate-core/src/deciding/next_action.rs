//! What comes next, and who acts.

use std::collections::BTreeSet;

use super::{blocking::Call, opening::Inputs};
use crate::{
    attempts::retry::{self, Judgement},
    deciding::NextAction,
    failure::Blame,
    gate::GateStanding,
    ids::{GateName, Login, UserId, WorkflowRunId},
    observed::Lifecycle,
    policy::GateRole,
    stage::Stage,
    stages::{Blocker, walk::Walk},
    state::{GateStatus, LoopState, StopReason},
    verdict::{Verification, blame::CheckBlame, gather::HeadEvidence},
};

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
    if next.stop.reason == Some(StopReason::UserStop) {
        return NextAction::Stopped;
    }
    if let Some(blocked) = &next.blocked {
        let cause = blocked.trigger;
        return if call == Call::Human { NextAction::Escalate { cause } } else { NextAction::WaitForHuman { cause } };
    }
    let retry_or_give_up = || match retry::has_given_up(judgement, &inputs.policy.retry) {
        true => NextAction::Stopped,
        false => NextAction::Retry { attempt: next.iteration },
    };
    match &stage_walk.held_by {
        None => NextAction::Complete,
        Some(Blocker::Gate(gate)) if stage_walk.reached <= Stage::Implement && is_rejected(next, gate) => {
            retry_or_give_up()
        }
        Some(Blocker::Gate(gate)) => NextAction::WaitForApproval { gate: gate.clone() },
        // Also when something failed already: an attempt ends when all its evidence is there.
        Some(Blocker::MissingEvidence(_)) => what_is_missing(evidence),
        Some(Blocker::Failing(_)) if !evidence.missing().is_empty() => what_is_missing(evidence),
        Some(Blocker::Failing(_) | Blocker::Evaluation(_)) if is_nothing_to_mend(&verification.blames) => {
            NextAction::WaitForEvidence { missing: evidence.failing() }
        }
        Some(Blocker::Failing(_) | Blocker::Evaluation(_) | Blocker::ChangesRequested(_) | Blocker::Configuration) => {
            retry_or_give_up()
        }
        Some(Blocker::Capability(capability)) => NextAction::WaitForPush { capability: capability.clone() },
        Some(Blocker::Draft) => NextAction::WaitForReady,
        Some(Blocker::Review { .. }) => NextAction::WaitForReview,
        Some(Blocker::Merge) => NextAction::WaitForMerge,
    }
}

fn what_is_missing(evidence: &HeadEvidence) -> NextAction {
    let missing = evidence.missing();
    match evidence.awaits_run_approval() {
        true => NextAction::WaitForRunApproval { missing },
        false => NextAction::WaitForEvidence { missing },
    }
}

fn is_rejected(next: &LoopState, gate: &GateName) -> bool {
    next.gates.get(gate).is_some_and(|state| state.status == GateStatus::Rejected)
}

/// Whether no failing check fails through this change: asking its author for a push would go on for ever.
fn is_nothing_to_mend(blames: &[CheckBlame]) -> bool {
    !blames.is_empty() && blames.iter().all(|blame| blame.blame != Blame::PrCode)
}

/// Runs that are let go, and whose approvals let them.
pub(super) struct ApprovedRuns {
    pub(super) by: Vec<Login>,
    pub(super) runs: BTreeSet<WorkflowRunId>,
}

/// The runs that GitHub holds back on the head and that are let go: of a fork, since GitHub refuses it of others
/// (<https://docs.github.com/en/rest/actions/workflow-runs#approve-a-workflow-run-for-a-fork-pull-request>), and if the
/// approvals of this very commit are enough by themselves. An approval that was kept over a push lets nothing run that
/// its author did not see.
pub(super) fn approved_runs(inputs: &Inputs<'_>) -> Option<ApprovedRuns> {
    let Inputs { snapshot, policy, assessment, .. } = inputs;
    let by_gate = policy.approve_runs && snapshot.is_from_fork() && inputs.is_open();
    let (name, gate) = policy.gate_with_role(GateRole::Security).filter(|_| by_gate)?;
    let report = assessment.gates.iter().find(|report| report.name == *name)?;
    let GateStanding::Approved { by } = &report.standing else { return None };
    let (of_head, kept): (Vec<_>, Vec<_>) =
        by.iter().partition(|approval| approval.head == snapshot.pull_request.head.sha);
    let people: BTreeSet<UserId> = of_head.iter().map(|approval| approval.by_id).collect();
    let enough = people.len() >= report.needed as usize;
    let alone = kept.is_empty() || !gate.approvers.codeowners;
    let runs: BTreeSet<_> = snapshot.held_runs.iter().map(|run| run.id).collect();
    let by = of_head.iter().map(|approval| approval.by.clone()).collect();
    (enough && alone && !runs.is_empty()).then_some(ApprovedRuns { by, runs })
}
