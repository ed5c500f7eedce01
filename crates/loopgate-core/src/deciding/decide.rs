//! `decide` takes what was observed, what is remembered, the policy and the time, and returns one [`Decision`].
//!
//! No I/O, no clock, no randomness: the same snapshot gives the same decision, in whatever order and however often
//! events led to it. Each stage takes what the stages before it returned, and changes the part of the state that is its
//! own; what is shown, recorded and remembered is assembled once, at the end.

use super::{
    blocking::block,
    command_execution,
    counting::count,
    history_lines,
    next_action::{approved_runs, next_action},
    opening::{Inputs, open},
    settling::settle,
    surface::surface,
    verification::verify,
    viewing::Stages,
};
use crate::{
    deciding::{Decision, DecisionWord},
    gate::{self, gate_transitions},
    ids::Timestamp,
    observed::Snapshot,
    policy::{Look, Policy},
    stages::walk::{StageInputs, Walks},
    state::{LoopState, history::HistoryLine},
    verdict::{gather, tamper},
};

/// Decides what comes next for one pull request.
///
/// ```text
/// gates and words → commands → evidence → evaluation → walks → attempt → causes → action → surface
/// ```
pub fn decide(snapshot: &Snapshot, state: &LoopState, policy: &Policy, now: Timestamp) -> Decision {
    let look = Look { snapshot, policy, now };
    let assessment = &gate::assess(look, state, &gather::findings(snapshot));
    let tampering = &tamper::findings(&tamper::Change::of_head(snapshot, state));
    let inputs = &Inputs { snapshot, before: state, policy, now, assessment, tampering };
    let mut next = open(inputs);
    let commands = command_execution::carry_out(inputs, &mut next);
    let verification = &verify(inputs, &next, commands.evidence);
    next.phase = verification.evaluation.phase;
    let walks = &Walks::over(&StageInputs {
        snapshot,
        policy,
        verification,
        gates: &assessment.gates,
        capabilities: &next.capabilities,
    });
    let counting = &count(inputs, &mut next, verification, walks.evidence.reached);
    let gates = gate_transitions::follow_up(look, assessment, &next, walks.evidence.reached);
    if inputs.is_open() {
        next.gates.extend(gates.states.iter().cloned());
    }
    let blocking = &block(inputs, &mut next, verification, counting);
    let action = next_action(inputs, &next, verification, &walks.stage, &counting.judgement, blocking.call);
    let approved_runs = approved_runs(inputs);
    next.approved_runs.extend(approved_runs.iter().flat_map(|approved| &approved.runs));
    settle(inputs, &mut next, verification, walks, &counting.judgement, &action);
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
    let events = history_lines::lines(&stages, commands.events, &gates.events);
    let view = stages.view();
    let attempt = stages.record(&view);
    let surface = surface(&stages, &view, gates);
    let revisit_at = stages.revisit_at(&view);
    let (next, events) = saved(inputs, next, events);
    Decision { action, next, events, attempt, view, surface, revisit_at }
}

/// The state to save and its lines. A run that had ended stays as it ended, and a decision that changed nothing leaves
/// the time of change alone.
fn saved(inputs: &Inputs<'_>, mut next: LoopState, events: Vec<HistoryLine>) -> (LoopState, Vec<HistoryLine>) {
    if inputs.had_ended() {
        return (inputs.before.clone(), Vec::new());
    }
    if next != *inputs.before || !events.is_empty() {
        next.updated_at = inputs.now;
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
