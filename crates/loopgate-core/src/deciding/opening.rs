//! What a decision is made from, and its first stage: the state is continued with the pull request as it is now.

use super::{describe, new_run};
use crate::{
    attempts::{attempt, rerun},
    gate::Assessment,
    ids::Timestamp,
    observed::{Hint, Lifecycle, Snapshot},
    policy::Policy,
    stages::capability,
    state::{ClosedPeriod, LoopState, RunHold, RunStatus},
};

/// What was observed, what is remembered, what governs, and the time: the same for every stage of a decision.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The state as it was saved last.
    pub(super) before: &'a LoopState,
    pub(super) policy: &'a Policy,
    pub(super) now: Timestamp,
}

impl Given<'_> {
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
fn note_closing(given: &Given<'_>, periods: &mut Vec<ClosedPeriod>) {
    let pull_request = &given.snapshot.pull_request;
    let last = periods.last_mut().filter(|period| period.to.is_none());
    match (&pull_request.lifecycle, last) {
        (Lifecycle::Open, Some(period)) => period.to = Some(given.now),
        (Lifecycle::Closed, None) => {
            periods.push(ClosedPeriod { from: pull_request.closed_at.unwrap_or(given.now), to: None });
        }
        _ => {}
    }
}

/// The state of before, on the head that was observed and with what the gates saw of it.
pub(super) fn open(given: &Given<'_>, assessment: &Assessment) -> LoopState {
    let pull_request = &given.snapshot.pull_request;
    let mut next = given.before.clone();
    assessment.sighting.iter().cloned().for_each(|seen| seen.enter(&mut next.first_seen_heads));
    for hint in &given.snapshot.hints {
        if let Hint::Pushed(push) = hint {
            next.note_push(push);
        }
    }
    next.edited_words.clone_from(&assessment.edited);
    next.edited_by_others.clone_from(&assessment.edited_by_others);
    note_closing(given, &mut next.closed_periods);
    next.left_heads.clone_from(&given.snapshot.left_heads);
    let held = !given.snapshot.held_runs.is_empty();
    next.hold = match next.hold.take().filter(|hold| hold.head == pull_request.head.sha) {
        Some(hold) if !held => Some(RunHold { ended_at: hold.ended_at.or(Some(given.now)), ..hold }),
        _ if held => Some(RunHold { head: pull_request.head.sha, ended_at: None }),
        _ => None,
    };
    next.above = given.snapshot.stack.as_ref().and_then(|stack| stack.above);
    next.title.clone_from(&pull_request.title);
    next.branch.clone_from(&pull_request.head.branch);
    next.base_ref.clone_from(&pull_request.base.branch);
    next.head_sha = pull_request.head.sha;
    next.base_sha = pull_request.base.sha;
    next.policy_sha = given.policy.origin.commit();
    next.prerequisites = describe::prerequisites(given.policy);
    next.linked_issues = describe::linked_issues(&pull_request.body);
    next.agent = describe::agent(pull_request);
    next.author = next.pull_request.map(|_| describe::author(pull_request, given.policy));
    next.code_artifact = describe::artifact(given.snapshot, given.policy);
    next.capabilities = capability::read(&pull_request.body);
    next.execution_config = new_run::execution_config(given.policy);
    next.retry_policy = new_run::retry_policy(given.policy);
    next.max_iterations = given.policy.retry.max_attempts;
    next.prepared_checks = given.policy.verify.checks.keys().cloned().collect();
    next.iteration =
        next.attempt_of(pull_request.head.sha).map_or_else(|| attempt::next_number(&next), |attempt| attempt.number);
    rerun::forget_others(&mut next);
    next
}
