//! `status`, `list` and `history`: tables for a terminal.

use std::fmt::Write;

use super::{score, status_word, time};
use crate::render::sanitize::{clip, line};
use loopgate_core::{
    Score,
    state::{
        LoopState, RunStatus, StopReason,
        history::{
            ArtifactCreated, CommandRun, Completed, Escalated, Event, EventStatus, Failed, HistoryLine, OwnCommand,
            RunStarted, Stopped,
        },
    },
};

/// `status`: one loop with everything in its columns.
pub fn loop_status(state: &LoopState) -> String {
    table(
        &["alias", "status", "iteration", "phase", "current_step", "last_score", "updated_at"],
        &[vec![
            state.task_alias.clone(),
            status_word(state.status).to_owned(),
            format!("{}/{}", state.iteration, state.max_iterations),
            format!("{:?}", state.phase),
            state.current_step.as_str().to_owned(),
            score(state),
            time(state.updated_at),
        ]],
    )
}

/// `list`: all loops, and below them which is active where more than one goes on.
pub fn loop_list(states: &[LoopState], active: Option<&str>) -> String {
    let rows: Vec<Vec<String>> = states
        .iter()
        .map(|state| {
            vec![
                state.task_alias.clone(),
                status_word(state.status).to_owned(),
                format!("{}/{}", state.iteration, state.max_iterations),
                score(state),
                time(state.updated_at),
            ]
        })
        .collect();
    let mut text = table(&["alias", "status", "iteration", "last_score", "updated_at"], &rows);
    let going = states.iter().filter(|state| matches!(state.status, RunStatus::InProgress | RunStatus::Escalated));
    if let (Some(active), true) = (active, going.count() > 1) {
        let _ = writeln!(text, "\nThe active one is {active}: commands without an alias mean it.");
    }
    text
}

/// `history`: one line for each event.
pub fn loop_history(lines: &[HistoryLine]) -> String {
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|entry| {
            let event = entry.event.name();
            vec![
                time(entry.ts),
                entry.iteration.to_string(),
                format!("{:?}", entry.phase),
                entry.step.as_str().to_owned(),
                match entry.status {
                    EventStatus::Ok => event,
                    EventStatus::Fail => format!("{event} ✗"),
                },
                clip(&line(&told(&entry.event)), 90).into_owned(),
            ]
        })
        .collect();
    table(&["time (UTC)", "it.", "phase", "step", "event", "what"], &rows)
}

/// The one thing of an event that people look for.
pub(in crate::render) fn told(event: &Event) -> String {
    match event {
        Event::RunStarted(RunStarted::LocalLoop(begun)) => begun.title.clone(),
        Event::RunStarted(RunStarted::AfterLostRecord { title, .. } | RunStarted::PullRequest { title }) => {
            title.clone()
        }
        Event::PlanCreated { plan } => plan.join(", "),
        // As much of a hash as is shown elsewhere.
        Event::ArtifactCreated(ArtifactCreated::Produced { hash, .. }) => hash.chars().take(8).collect(),
        Event::ChecksPrepared { checks } => listed(checks),
        Event::EvaluationDone { score, failed_rules, .. } if failed_rules.is_empty() => points(*score),
        Event::EvaluationDone { score, failed_rules, .. } => format!("{}, {}", points(*score), listed(failed_rules)),
        Event::RefinementDone { subject, .. } => subject.clone(),
        Event::PhaseSwitched { to } => format!("{to:?}"),
        Event::IterationAdvanced { to } => to.to_string(),
        Event::CheckSkipped(skip) => skip.reason.clone(),
        Event::Disputed(dispute) => format!("{} {}", dispute.failure, dispute.reason),
        Event::CommandRun(CommandRun::Own(OwnCommand::Rerun { checks, .. })) => listed(checks),
        Event::Escalated(Escalated::LocalLoop { trigger, .. }) => trigger.as_str().to_owned(),
        Event::PhaseError { why, .. } => why.clone(),
        Event::Stopped(Stopped::ByPerson { reason, words, .. }) => {
            words.clone().filter(|words| !words.is_empty()).unwrap_or_else(|| reason.as_str().to_owned())
        }
        Event::Stopped(Stopped::ShortOfPassing { reason, .. }) => reason.as_str().to_owned(),
        Event::Failed(Failed::Aborted { reason }) => reason.as_str().to_owned(),
        Event::Failed(Failed::Broken { .. }) => StopReason::PhaseError.as_str().to_owned(),
        Event::Completed(Completed::LocalLoop { reason, .. }) => reason.as_str().to_owned(),
        Event::Stopped(Stopped::PullRequest(change))
        | Event::Failed(Failed::PullRequest(change))
        | Event::Completed(Completed::PullRequest(change)) => {
            let reason = change.reason.map_or("", StopReason::as_str);
            change.words.clone().filter(|words| !words.is_empty()).unwrap_or_else(|| reason.to_owned())
        }
        _ => String::new(),
    }
}

/// `score 0.5`
fn points(score: Score) -> String {
    format!("score {:?}", score.as_f64())
}

fn listed<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ")
}

/// Columns as wide as their widest cell; the last one is not padded.
pub(in crate::render) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let wide = |column: usize| {
        std::iter::once(&head).chain(rows).filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..head.len()).map(|column| wide(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in std::iter::once(&head).chain(rows) {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
