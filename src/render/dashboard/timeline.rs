//! The history of a loop in sentences.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::{
    reflex::happened,
    sanitize::{clip, line},
    words,
};
use loopgate_core::state::history::{EventStatus, HistoryLine};

/// Something that happened.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Moment {
    pub at: String,
    pub event: String,
    pub what: String,
    /// Whether it went well.
    pub ok: bool,
}

/// What happened last, the newest first.
pub(super) fn moments(history: &[HistoryLine], most: usize) -> Vec<Moment> {
    let moment = |entry: &HistoryLine| Moment {
        at: words::moment(entry.ts),
        event: line(&entry.event.name()).replace('_', " "),
        what: clip(&line(&happened(&entry.event)), 300).into_owned(),
        ok: entry.status == EventStatus::Ok,
    };
    history.iter().rev().take(most).map(moment).collect()
}
