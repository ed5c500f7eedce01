//! What a decision is made from, and its first stage: the state is continued with the pull request as it is now.

use super::new_run;
use crate::{
    attempts::attempt,
    gate::Assessment,
    ids::Timestamp,
    observed::{Hint, Lifecycle, Snapshot},
    policy::{Look, Policy},
    stages::capability,
    state::{ClosedPeriod, LoopState, QueueRecord, RunHold, RunStatus},
    verdict::{LeftQueue, tamper::Tampering},
};

/// What was observed, what is remembered, what governs, and the time: the same for every stage of a decision.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The state as it was saved last.
    pub(super) before: &'a LoopState,
    pub(super) policy: &'a Policy,
    pub(super) now: Timestamp,
    /// The standing of the gates, and the commands and approvals of comments.
    pub(super) assessment: &'a Assessment,
    /// How the head weakens what checks it.
    pub(super) tampering: &'a [Tampering],
}

impl<'a> Inputs<'a> {
    pub(super) const fn look(&self) -> Look<'a> {
        Look { snapshot: self.snapshot, policy: self.policy, now: self.now }
    }

    pub(super) fn is_open(&self) -> bool {
        self.snapshot.pull_request.lifecycle == Lifecycle::Open
    }

    /// Whether the run had ended before, with its pull request: later events do not change it.
    pub(super) fn had_ended(&self) -> bool {
        match self.snapshot.pull_request.lifecycle {
            Lifecycle::Open => false,
            Lifecycle::Closed => self.before.status == RunStatus::Stopped,
            Lifecycle::Merged { .. } => self.before.status == RunStatus::Completed,
        }
    }
}

/// Notes when the pull request was closed, and when it was first seen open again.
fn note_closing(inputs: &Inputs<'_>, periods: &mut Vec<ClosedPeriod>) {
    let pull_request = &inputs.snapshot.pull_request;
    let last = periods.last_mut().filter(|period| period.to.is_none());
    match (&pull_request.lifecycle, last) {
        (Lifecycle::Open, Some(period)) => period.to = Some(inputs.now),
        (Lifecycle::Closed, None) => {
            periods.push(ClosedPeriod { from: pull_request.closed_at.unwrap_or(inputs.now), to: None });
        }
        _ => {}
    }
}

/// Takes in news of the merge queue, and explains its last departure by all groups that are known now.
fn follow_queue(inputs: &Inputs<'_>, queue: &mut QueueRecord) {
    queue.follow(inputs.snapshot, inputs.now);
    let number = inputs.snapshot.pull_request.number;
    let QueueRecord { groups, departures } = queue;
    if let Some(last) = departures.last_mut() {
        last.exit = LeftQueue::explain(number, groups, &last.removal).map(|left| left.exit());
    }
}

/// The state of before, on the head that was observed and with what the gates saw of it.
pub(super) fn open(inputs: &Inputs<'_>) -> LoopState {
    let assessment = inputs.assessment;
    let pull_request = &inputs.snapshot.pull_request;
    let mut next = inputs.before.clone();
    assessment.sighting.iter().cloned().for_each(|seen| seen.enter(&mut next.first_seen_heads));
    for hint in &inputs.snapshot.hints {
        if let Hint::Pushed(push) = hint {
            next.note_push(push);
        }
    }
    next.edited_words.clone_from(&assessment.edited);
    next.edited_by_others.clone_from(&assessment.edited_by_others);
    note_closing(inputs, &mut next.closed_periods);
    next.left_heads.clone_from(&inputs.snapshot.left_heads);
    let held = !inputs.snapshot.held_runs.is_empty();
    next.hold = match next.hold.take().filter(|hold| hold.head == pull_request.head.sha) {
        Some(hold) if !held => Some(RunHold { ended_at: hold.ended_at.or(Some(inputs.now)), ..hold }),
        _ if held => Some(RunHold { head: pull_request.head.sha, ended_at: None }),
        _ => None,
    };
    follow_queue(inputs, &mut next.queue);
    next.above = inputs.snapshot.stack.as_ref().and_then(|stack| stack.above);
    next.describe(inputs.snapshot, inputs.policy);
    next.author = next.pull_request.map(|_| new_run::author(pull_request, inputs.policy));
    next.capabilities = capability::read(&pull_request.body);
    next.iteration =
        next.attempt_of(pull_request.head.sha).map_or_else(|| attempt::next_number(&next), |attempt| attempt.number);
    next.reruns.retain(|rerun| rerun.head_sha == pull_request.head.sha);
    next
}
