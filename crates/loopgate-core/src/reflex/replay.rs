//! Rebuilds a local loop whose state is damaged, from its history.

use chrono::TimeDelta;

use super::turn::Turn;
use crate::{
    policy::Trigger,
    state::{
        CritiqueItem, EvaluationSummary, FixMaker, FixRecord, LoopCall, LoopState, RunStatus, Step,
        StopReason,
        history::{ArtifactCreated, Escalated, Event, HistoryLine, Resumed, RunEnd},
    },
};

/// Does to the state what the turn did that wrote this line, as far as the line holds it. A line without data on where
/// the loop stands changes nothing. `call` makes the call to a person for a cause, with the notes of the line.
pub fn replay(
    state: &mut LoopState,
    line: &HistoryLine,
    call: impl FnOnce(Trigger, Vec<String>) -> LoopCall,
) {
    if state.run.reflex.is_none() {
        return;
    }
    (state.run.iteration, state.run.phase) = (line.iteration, line.phase);
    let mut turn = Turn::on(state, line.ts);
    match &line.event {
        Event::PlanCreated { plan } => turn = turn.clone().planned(plan.clone()).unwrap_or(turn),
        Event::ArtifactCreated(ArtifactCreated::Produced { head, hash }) => {
            turn.state.head.sha = *head;
            turn.state.head.artifact.content_hash.clone_from(hash);
        }
        Event::ChecksPrepared { checks } => {
            turn.state.concerns.checks.prepared.clone_from(checks);
            turn.go_to(Step::Evaluate);
        }
        Event::EvaluationDone {
            score,
            passed,
            failed_rules,
            ..
        } => {
            let (score, passed, failed_rules) = (*score, *passed, failed_rules.clone());
            turn.state.head.evaluation = Some(EvaluationSummary {
                score,
                passed,
                failed_rules,
                warnings: Vec::new(),
            });
            turn.state.run.critique = None;
            // Each call of a person, and each end, is a line of its own after this one.
            turn.go_to(Step::Critique);
        }
        Event::PhaseSwitched { .. } => turn.go_to(Step::Prepare),
        Event::CritiqueDone { items } => {
            turn.state.run.critique = Some(items.iter().map(CritiqueItem::line).collect());
            turn.go_to(Step::Refine);
        }
        Event::RefinementDone { .. } => turn = refined(turn, line),
        Event::IterationAdvanced { .. } => turn.go_to(Step::Plan),
        Event::Escalated(Escalated::LocalLoop {
            trigger,
            also,
            notes,
        }) => {
            let triggers: Vec<Trigger> = std::iter::once(*trigger)
                .chain(also.iter().copied())
                .collect();
            turn.state.people.blocked = state.call_for(&triggers, line.ts);
            turn.state.run.status = RunStatus::Escalated;
            turn.state.run.step = line.step;
            turn.ask(call(*trigger, notes.clone()));
        }
        Event::Resumed(Resumed::LocalLoop {
            by,
            accepted,
            accepted_tampering,
            ..
        }) => {
            let accepted = accepted.map(|_| accepted_tampering.clone());
            turn = turn.resumed(by.clone(), accepted, None);
            turn.state.run.step = line.step;
        }
        Event::PhaseError { step, why, .. } => {
            turn.state.run.step = *step;
            turn = turn.broke(why.clone());
        }
        Event::Stopped(_) | Event::Failed(_) | Event::Completed(_) => {
            turn.state.run.step = line.step;
            turn = ended(turn, line);
        }
        _ => return,
    }
    *state = turn.state;
}

fn refined(mut turn: Turn, line: &HistoryLine) -> Turn {
    let Event::RefinementDone {
        by,
        head,
        subject,
        diff_summary,
        files_modified,
        outside_scope,
        cost_usd,
        ..
    } = &line.event
    else {
        return turn;
    };
    if *by != FixMaker::Person {
        // How long it took is not in the history; that it was called, and what it cost, is not won back.
        turn.state = Turn::spend(turn.state, TimeDelta::zero(), *cost_usd);
    }
    if *by == FixMaker::SeniorFixer {
        turn.state.run.max_iterations = turn.state.run.max_iterations.max(line.iteration + 1);
    }
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
    turn.refined(fix)
}

fn ended(mut turn: Turn, line: &HistoryLine) -> Turn {
    match &line.event {
        Event::Stopped(RunEnd::ByPerson { words, by, .. }) => {
            return turn.stopped(words.clone(), by.clone());
        }
        // What the cause was stays beside it, for the report.
        Event::Failed(RunEnd::Aborted { .. }) => turn.state.run.status = RunStatus::Aborted,
        Event::Stopped(RunEnd::ShortOfPassing {
            reason,
            distance_to_success,
        }) => {
            turn.reflex().distance_to_success = Some(distance_to_success.clone());
            turn.end(RunStatus::Stopped, *reason, None);
        }
        Event::Failed(RunEnd::Broken { .. }) => {
            let words = turn.state.run.stop.words.take();
            turn.end(RunStatus::Failed, StopReason::PhaseError, words);
        }
        Event::Completed(RunEnd::LocalLoop { reason, .. }) => {
            turn.end(RunStatus::Completed, *reason, None)
        }
        _ => {}
    }
    turn
}
