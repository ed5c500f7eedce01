//! Which workflow runs of a fork's pull request are approved once the security gate is.

use std::collections::BTreeSet;

use super::opening::Given;
use crate::{
    gate::{Assessment, GateStanding},
    ids::{Login, UserId, WorkflowRunId},
    policy::{ApproveRuns, Codeowners, GateRole},
};

/// Runs that are let go, and whose approvals let them.
pub(super) struct ApprovedRuns {
    pub(super) by: Vec<Login>,
    pub(super) runs: BTreeSet<WorkflowRunId>,
}

/// The runs that GitHub holds back on the head and that are let go: of a fork, since GitHub refuses it of others
/// (<https://docs.github.com/en/rest/actions/workflow-runs#approve-a-workflow-run-for-a-fork-pull-request>), and if the
/// approvals of this very commit are enough by themselves. An approval that was kept over a push lets nothing run that
/// its author did not see.
pub(super) fn approved_runs(given: &Given<'_>, assessment: &Assessment) -> Option<ApprovedRuns> {
    let Given { snapshot, policy, .. } = given;
    let by_gate = policy.approve_runs == ApproveRuns::WithSecurityGate && snapshot.is_from_fork() && given.is_open();
    let (name, gate) = policy.gate_with_role(GateRole::Security).filter(|_| by_gate)?;
    let report = assessment.gates.iter().find(|report| report.name == *name)?;
    let GateStanding::Approved { by } = &report.standing else { return None };
    let (of_head, kept): (Vec<_>, Vec<_>) =
        by.iter().partition(|approval| approval.head == snapshot.pull_request.head.sha);
    let people: BTreeSet<UserId> = of_head.iter().map(|approval| approval.by_id).collect();
    let enough = people.len() >= report.needed as usize;
    let alone = kept.is_empty() || gate.approvers.codeowners == Codeowners::Ignored;
    let runs: BTreeSet<_> = snapshot.held_runs.iter().map(|run| run.id).collect();
    let by = of_head.iter().map(|approval| approval.by.clone()).collect();
    (enough && alone && !runs.is_empty()).then_some(ApprovedRuns { by, runs })
}
