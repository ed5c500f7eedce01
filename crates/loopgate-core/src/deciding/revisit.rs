//! When a pull request is looked at again although nothing happens.

use chrono::TimeDelta;

use super::{returned::Stages, view::View};
use crate::{
    concerns::{
        attempts::rerun, checks::gather::CheckView, escalation::cause, fixer::senior_fixer,
        gates::waiting,
    },
    ids::{CheckName, Timestamp},
    policy::CheckSource,
    state::GateStatus,
};

/// How often a triggered gate is read again: hiding a comment sends no event.
const GATES_ARE_READ_AGAIN: TimeDelta = TimeDelta::minutes(15);

/// How soon GitHub has found out whether a pull request merges without a conflict, mostly.
const MERGEABILITY_IS_FOUND_OUT: TimeDelta = TimeDelta::minutes(2);

/// When time alone changes the decision next: evidence becomes overdue, an outside failure escalates, a retry or a
/// fixer's turn is due, an open gate is read again (GitHub sends no event when a comment is hidden).
pub(super) fn revisit_at(stages: &Stages<'_>, view: &View) -> Option<Timestamp> {
    let Stages {
        inputs,
        next,
        verification,
        ..
    } = *stages;
    if !inputs.is_open() {
        return None;
    }
    let asks_again = inputs.now + GATES_ARE_READ_AGAIN;
    let overdue = |check: &CheckName| {
        let timeout = match &inputs.policy.verify.checks.get(check)?.source {
            CheckSource::Reviewer(reviewer) => reviewer.timeout,
            CheckSource::Command(_) | CheckSource::External(_) => {
                inputs.policy.retry.evidence_timeout
            }
        };
        let due = rerun::waiting_since(inputs.cx(), next, check) + timeout;
        // A run that outlasts it brings the check or ends without, and then no event names the check.
        Some(if due > inputs.now { due } else { asks_again })
    };
    // No event tells of it either, and a conflict keeps every check from starting.
    let pull_request = &inputs.snapshot.pull_request;
    let mergeable =
        pull_request.is_mergeable.is_none() && !verification.evidence.missing().is_empty();
    let mergeable = mergeable.then_some(inputs.now + MERGEABILITY_IS_FOUND_OUT);
    let open = verification.evidence.names(CheckView::is_open);
    let external = cause::external_deadline(next);
    let gates = &inputs.assessment.gates;
    let triggered = gates
        .iter()
        .any(|gate| !gate.is_advisory && gate.status != GateStatus::NotApplicable);
    // No event arrives when the verdict of another pull request ends, or when a stack is dissolved.
    let depends = inputs.snapshot.judged_on.is_some() || inputs.snapshot.stack.is_some();
    let again = (triggered || depends).then_some(asks_again);
    let waits = waiting::next(inputs.cx(), next);
    let due = [
        view.next_rerun.as_ref().map(|next| next.at),
        view.fixing.as_ref().map(|turn| turn.at),
    ];
    // Then waiting for the senior fixer ends by itself.
    let senior = next
        .concerns
        .fixer
        .as_ref()
        .filter(|call| call.head_sha == next.head.sha);
    let senior = senior.map(|call| senior_fixer::deadline(call, inputs.policy));
    let moments = [external, again, waits, senior, mergeable]
        .into_iter()
        .chain(due)
        .flatten();
    moments
        .chain(open.iter().filter_map(overdue))
        .filter(|at| *at > inputs.now)
        .min()
}
