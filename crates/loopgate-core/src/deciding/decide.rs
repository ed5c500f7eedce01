//! `decide` takes what was observed, what is remembered, the policy and the time, and returns one [`Decision`].
//!
//! No I/O, no clock, no randomness: the same snapshot gives the same decision, in whatever order and however often
//! events led to it. Each stage takes what the stages before it returned, and changes the part of the state that is its
//! own; what is shown, recorded and remembered is assembled once, at the end. The first stage continues the state with
//! the pull request as it is now.

use super::{
    command_execution, history_lines,
    inputs::Inputs,
    new_run,
    outcome::{block, next_action, settle},
    returned::Stages,
    revisit::revisit_at,
    shown,
    surface::surface,
    verification::{count, verify},
};
use crate::{
    concerns::{
        capabilities,
        checks::gather,
        gates::{self, gate_transitions},
        queue::LeftQueue,
        tampering,
    },
    deciding::{Decision, DecisionWord, stages::Walks},
    ids::Timestamp,
    observed::{Hint, Lifecycle, Snapshot},
    policy::{CapabilityMode, Context, Policy},
    state::{
        CapabilityProgress, ClosedPeriod, LoopState, QueueRecord, RunHold, RunStatus,
        history::HistoryLine,
    },
};

/// The previous state, on the head that was observed and with what the gates saw of it.
pub(super) fn open(inputs: &Inputs<'_>) -> LoopState {
    let assessment = inputs.assessment;
    let pull_request = &inputs.snapshot.pull_request;
    let mut next = inputs.before.clone();
    assessment
        .sighting
        .iter()
        .cloned()
        .for_each(|seen| seen.enter(&mut next.head.sightings));
    for hint in &inputs.snapshot.hints {
        if let Hint::Pushed(push) = hint {
            next.head.note_push(push);
        }
    }
    next.people.edited_words.clone_from(&assessment.edited);
    next.people
        .edited_by_others
        .clone_from(&assessment.edited_by_others);
    // When it was closed, and when it was first seen open again.
    let closed = next
        .run
        .closed_periods
        .last_mut()
        .filter(|period| period.to.is_none());
    match (&pull_request.lifecycle, closed) {
        (Lifecycle::Open, Some(period)) => period.to = Some(inputs.now),
        (Lifecycle::Closed, None) => {
            let from = pull_request.closed_at.unwrap_or(inputs.now);
            next.run
                .closed_periods
                .push(ClosedPeriod { from, to: None });
        }
        _ => {}
    }
    next.head.left.clone_from(&inputs.snapshot.left_heads);
    let held = !inputs.snapshot.held_runs.is_empty();
    next.head.hold = match next
        .head
        .hold
        .take()
        .filter(|hold| hold.head == pull_request.head.sha)
    {
        Some(hold) if !held => Some(RunHold {
            ended_at: hold.ended_at.or(Some(inputs.now)),
            ..hold
        }),
        _ if held => Some(RunHold {
            head: pull_request.head.sha,
            ended_at: None,
        }),
        _ => None,
    };
    next.concerns.queue.follow(inputs.snapshot, inputs.now);
    // All groups that are known now explain the last departure.
    let QueueRecord { groups, departures } = &mut next.concerns.queue;
    if let Some(last) = departures.last_mut() {
        last.exit =
            LeftQueue::explain(pull_request.number, groups, &last.removal).map(|left| left.exit());
    }
    next.concerns.stack = inputs.snapshot.stack.as_ref().and_then(|stack| stack.above);
    next.describe(inputs.snapshot, inputs.policy);
    next.run.author = next
        .run
        .pull_request
        .map(|_| new_run::author(pull_request, inputs.policy));
    next.concerns.capabilities = match inputs.policy.retry.capabilities {
        CapabilityMode::Off => CapabilityProgress::default(),
        CapabilityMode::Report | CapabilityMode::Hold => capabilities::read(&pull_request.body),
    };
    next.run.iteration = next.attempt_number(pull_request.head.sha);
    next.concerns
        .checks
        .reruns
        .retain(|rerun| rerun.head_sha == pull_request.head.sha);
    next
}

/// Decides what comes next for one pull request.
///
/// ```text
/// gates and words → commands → evidence → evaluation → walks → attempt → causes → action → surface
/// ```
pub fn decide(snapshot: &Snapshot, state: &LoopState, policy: &Policy, now: Timestamp) -> Decision {
    let cx = Context {
        snapshot,
        policy,
        now,
    };
    let assessment = &gates::assess(cx, state, &gather::findings(snapshot));
    let change = &tampering::Change::of_head(snapshot, state, policy);
    let tampering = &snapshot
        .readings
        .recall(change, || tampering::findings(change));
    let inputs = &Inputs {
        snapshot,
        before: state,
        policy,
        now,
        assessment,
        tampering,
    };
    let mut next = open(inputs);
    let (evidence, commands) = command_execution::carry_out(inputs, &mut next);
    let verification = &verify(inputs, &next, evidence);
    next.run.phase = verification.evaluation.phase;
    let walks = &Walks::over(
        cx,
        verification,
        &assessment.gates,
        next.concerns.capabilities.current.as_ref(),
    );
    let counting = &count(inputs, &mut next, verification, walks.evidence.reached);
    let gates = gate_transitions::follow_up(cx, assessment, &next, walks.evidence.reached);
    if inputs.is_open() {
        next.concerns.gates.extend(gates.states.iter().cloned());
    }
    let blocking = &block(inputs, &mut next, verification, counting);
    let action = next_action(
        inputs,
        &next,
        verification,
        &walks.stage,
        &counting.judgement,
        blocking.call,
    );
    let approved_runs = gates::approved_runs(snapshot, policy, assessment);
    next.head
        .approved_runs
        .extend(approved_runs.iter().flat_map(|approved| &approved.runs));
    settle(
        inputs,
        &mut next,
        &verification.evaluation,
        walks,
        &counting.judgement,
        &action,
    );
    shown::write_down(inputs, &mut next, verification, counting);
    let stages = Stages {
        inputs,
        next: &next,
        verification,
        walks,
        counting,
        blocking,
        approved_runs: approved_runs.as_ref(),
        action: &action,
    };
    let events = history_lines::lines(&stages, commands, &gates.events);
    let view = stages.view();
    let attempt = stages.record(&view);
    let surface = surface(&stages, &view, gates);
    let revisit_at = revisit_at(&stages, &view);
    let (next, events) = saved(inputs, next, events);
    Decision {
        action,
        next,
        events,
        attempt,
        view,
        surface,
        revisit_at,
    }
}

/// The state to save and its lines. A run that had ended stays as it ended, and a decision that changed nothing leaves
/// the time of change alone.
fn saved(
    inputs: &Inputs<'_>,
    mut next: LoopState,
    events: Vec<HistoryLine>,
) -> (LoopState, Vec<HistoryLine>) {
    let ended_as = match inputs.snapshot.pull_request.lifecycle {
        Lifecycle::Open => None,
        Lifecycle::Closed => Some(RunStatus::Stopped),
        Lifecycle::Merged { .. } => Some(RunStatus::Completed),
    };
    if ended_as == Some(inputs.before.run.status) {
        return (inputs.before.clone(), Vec::new());
    }
    if next != *inputs.before || !events.is_empty() {
        next.run.updated_at = inputs.now;
    }
    (next, events)
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
