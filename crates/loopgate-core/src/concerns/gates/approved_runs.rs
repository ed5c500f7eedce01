//! Workflow runs of a fork that GitHub holds back, and that the approvals of the security gate let go.

use std::collections::BTreeSet;

use crate::{
    concerns::gates::Assessment,
    ids::{Login, UserId, WorkflowRunId},
    observed::{Lifecycle, Snapshot},
    policy::{GateRole, Policy},
    state::GateStatus,
};

/// Runs that are let go, and whose approvals let them.
pub struct ApprovedRuns {
    pub by: Vec<Login>,
    pub runs: BTreeSet<WorkflowRunId>,
}

/// The runs that GitHub holds back on the head and that are let go: of a fork, since GitHub refuses it of others
/// (<https://docs.github.com/en/rest/actions/workflow-runs#approve-a-workflow-run-for-a-fork-pull-request>), and if the
/// approvals of this very commit are enough by themselves. An approval that was kept over a push lets nothing run that
/// its author did not see.
pub fn approved_runs(
    snapshot: &Snapshot,
    policy: &Policy,
    assessment: &Assessment,
) -> Option<ApprovedRuns> {
    let is_open = snapshot.pull_request.lifecycle == Lifecycle::Open;
    let by_gate = policy.approve_runs && snapshot.is_from_fork() && is_open;
    let (name, gate) = policy
        .gate_with_role(GateRole::Security)
        .filter(|_| by_gate)?;
    let report = assessment
        .gates
        .iter()
        .find(|report| report.name == *name)?;
    let approvals = report
        .approvals
        .iter()
        .filter(|_| report.status == GateStatus::Approved);
    let (of_head, kept): (Vec<_>, Vec<_>) =
        approvals.partition(|approval| approval.head == snapshot.pull_request.head.sha);
    let people: BTreeSet<UserId> = of_head.iter().map(|approval| approval.by_id).collect();
    let enough = people.len() >= report.needed as usize;
    let alone = kept.is_empty() || !gate.approvers.codeowners;
    let runs: BTreeSet<_> = snapshot.held_runs.iter().map(|run| run.id).collect();
    let by = of_head.iter().map(|approval| approval.by.clone()).collect();
    (enough && alone && !runs.is_empty()).then_some(ApprovedRuns { by, runs })
}
