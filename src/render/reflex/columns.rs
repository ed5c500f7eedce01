//! `status`, `list` and `history`: tables for a terminal.

use std::fmt::Write;

use minijinja::value::{Serde, Value};

use super::{score, status_word, time};
use crate::render::{
    messages::{self, word},
    sanitize::{clip, line},
};
use loopgate_core::state::{
    LoopState, RunStatus,
    history::{Event, EventStatus, HistoryLine},
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
                clip(&line(&happened(&entry.event)), 90).into_owned(),
            ]
        })
        .collect();
    table(&["time (UTC)", "it.", "phase", "step", "event", "what"], &rows)
}

/// The one thing of an event that people look for: empty of an event that a newer version wrote.
pub(in crate::render) fn happened(event: &Event) -> String {
    let written = Value::from(Serde(event));
    let name = event.name();
    let payload = written.get_attr("payload").unwrap_or_default();
    if word("event", &name).is_empty() { String::new() } else { messages::plain("event", &name, payload) }
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
