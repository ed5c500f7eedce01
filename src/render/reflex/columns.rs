//! `status`, `list` and `history`: tables for a terminal.

use std::fmt::Write;

use minijinja::value::{Serde, Value};

use super::{score, status_word, time};
use crate::render::{
    messages::{self, word},
    plain::aligned,
    sanitize::{clip, line},
};
use loopgate_core::state::{
    LoopState, RunStatus,
    history::{Event, EventStatus, HistoryLine},
};

const COLUMNS: [&str; 7] = ["alias", "status", "iteration", "phase", "current_step", "last_score", "updated_at"];

/// A loop in its [`COLUMNS`].
fn row(state: &LoopState) -> [String; COLUMNS.len()] {
    [
        state.task_alias.clone(),
        status_word(state.status).to_owned(),
        format!("{}/{}", state.iteration, state.max_iterations),
        format!("{:?}", state.phase),
        state.current_step.as_str().to_owned(),
        score(state),
        time(state.updated_at),
    ]
}

/// `status`: one loop with everything in its columns.
pub fn loop_status(state: &LoopState) -> String {
    table(&COLUMNS, &[row(state).to_vec()])
}

/// `list`: all loops, and below them which is active where more than one goes on.
pub fn loop_list(states: &[LoopState], active: Option<&str>) -> String {
    let short = |state: &LoopState| {
        let [alias, status, iteration, _, _, score, at] = row(state);
        vec![alias, status, iteration, score, at]
    };
    let rows: Vec<Vec<String>> = states.iter().map(short).collect();
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
    let rows = rows.iter().map(|row| format!("\n{}", row.join("\t")));
    aligned(&(head.join("\t") + &rows.collect::<String>()))
}
