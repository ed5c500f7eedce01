//! Rebuilds a local loop whose state is damaged, from its history.

use chrono::TimeDelta;

use super::turn::Turn;
use crate::{
    escalation::escalation_call,
    policy::Trigger,
    state::{
        CritiqueItem, EvaluationSummary, FixMaker, FixRecord, LoopCall, LoopState, RunStatus, Step, Stop, StopReason,
        history::{ArtifactCreated, Completed, Escalated, Event, Failed, HistoryLine, Resumed, Stopped},
    },
};

/// Does to the state what the turn did that wrote this line, as far as the line holds it. A line without data on where
/// the loop stands changes nothing. `call` makes the call to a person for a cause, with the notes of the line.
pub fn replay(state: &mut LoopState, line: &HistoryLine, call: impl FnOnce(Trigger, Vec<String>) -> LoopCall) {
    if state.reflex.is_none() {
        return;
    }
    (state.iteration, state.phase) = (line.iteration, line.phase);
    match &line.event {
        Event::PlanCreated { plan } => {
            if let Ok(turn) = Turn::planned(state, plan.clone(), line.ts) {
                *state = turn.state;
            }
        }
        Event::ArtifactCreated(ArtifactCreated::Produced { head, hash }) => {
            state.head_sha = *head;
            state.code_artifact.content_hash.clone_from(hash);
        }
        Event::ChecksPrepared { checks } => {
            state.prepared_checks.clone_from(checks);
            go_to(state, Step::Evaluate);
        }
        Event::EvaluationDone { score, passed, failed_rules, .. } => {
            let (score, passed, failed_rules) = (*score, *passed, failed_rules.clone());
            state.evaluation = Some(EvaluationSummary { score, passed, failed_rules, warnings: Vec::new() });
            state.critique = None;
            // Each call of a person, and each end, is a line of its own after this one.
            go_to(state, Step::Critique);
        }
        Event::PhaseSwitched { .. } => go_to(state, Step::Prepare),
        Event::CritiqueDone { items } => {
            state.critique = Some(items.iter().map(CritiqueItem::line).collect());
            go_to(state, Step::Refine);
        }
        Event::RefinementDone { .. } => refine(state, line),
        Event::IterationAdvanced { .. } => go_to(state, Step::Plan),
        Event::Escalated(Escalated::LocalLoop { trigger, also, notes }) => {
            block(state, line, *trigger, also);
            if let Some(reflex) = state.reflex.as_mut() {
                let call = call(*trigger, notes.clone());
                (reflex.calling, reflex.notes, reflex.ask) = (None, call.notes, Some(call.ask));
            }
        }
        Event::Resumed(Resumed::LocalLoop { by, accepted, accepted_tampering, .. }) => {
            let accepted = accepted.map(|_| accepted_tampering.clone());
            *state = Turn::resumed(state, by.clone(), accepted, line.ts).state;
            state.current_step = line.step;
        }
        Event::PhaseError { step, why, .. } => {
            state.current_step = *step;
            *state = Turn::broke(state, why.clone(), line.ts).state;
        }
        Event::Stopped(_) | Event::Failed(_) | Event::Completed(_) => end(state, line),
        _ => {}
    }
}

/// On to the next step: what was broken is mended, and no program is at work.
fn go_to(state: &mut LoopState, step: Step) {
    state.current_step = step;
    if let Some(reflex) = state.reflex.as_mut() {
        (reflex.broken, reflex.calling) = (None, None);
    }
}

fn refine(state: &mut LoopState, line: &HistoryLine) {
    let Event::RefinementDone { by, head, subject, diff_summary, files_modified, outside_scope, cost_usd, .. } =
        &line.event
    else {
        return;
    };
    let fix = FixRecord {
        iteration: line.iteration,
        by: *by,
        head_sha: *head,
        subject: subject.clone(),
        // The fixer's own words are not in the history.
        description: subject.clone(),
        diff_summary: diff_summary.clone(),
        files_modified: files_modified.clone(),
        outside_scope: outside_scope.clone(),
        proven: Vec::new(),
        cost_usd: *cost_usd,
    };
    if fix.by != FixMaker::Person {
        // How long it took is not in the history either; that it was called, and what it cost, is not won back.
        *state = Turn::spend(state.clone(), TimeDelta::zero(), fix.cost_usd);
    }
    if fix.by == FixMaker::SeniorFixer {
        state.max_iterations = state.max_iterations.max(line.iteration + 1);
    }
    *state = Turn::refined(state, fix, line.ts).state;
}

fn block(state: &mut LoopState, line: &HistoryLine, trigger: Trigger, also: &[Trigger]) {
    let triggers: Vec<Trigger> = std::iter::once(trigger).chain(also.iter().copied()).collect();
    state.blocked = escalation_call::block(&triggers, state, line.ts);
    state.status = RunStatus::Escalated;
    state.current_step = line.step;
}

fn end(state: &mut LoopState, line: &HistoryLine) {
    state.current_step = line.step;
    let (status, passed, reason) = match &line.event {
        Event::Stopped(Stopped::ByPerson { words, by, .. }) => {
            *state = Turn::stopped(state, words.clone(), by.clone(), line.ts).state;
            return;
        }
        // What the cause was stays beside it, for the report.
        Event::Failed(Failed::Aborted { .. }) => {
            state.status = RunStatus::Aborted;
            return;
        }
        Event::Stopped(Stopped::ShortOfPassing { reason, distance_to_success }) => {
            if let Some(reflex) = state.reflex.as_mut() {
                reflex.distance_to_success = Some(distance_to_success.clone());
            }
            (RunStatus::Stopped, false, *reason)
        }
        Event::Failed(Failed::Broken { .. }) => (RunStatus::Failed, false, StopReason::PhaseError),
        Event::Completed(Completed::LocalLoop { reason, .. }) => (RunStatus::Completed, true, *reason),
        _ => return,
    };
    let words = state.stop.words.take();
    state.blocked = None;
    state.status = status;
    state.stop = Stop { passed, reason: Some(reason), words, by: None };
}
