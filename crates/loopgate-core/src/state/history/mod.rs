//! `history.jsonl`: what happened, one line per event, append-only.
//!
//! A line is `ts`, `run_id`, `iteration`, `phase`, `step`, `event`, `status` and `payload`. The name in
//! `event`, and `kind` in `payload` where an event is of several, say what `payload` holds: each [`Event`] is read and
//! written with its data. A state that is damaged is
//! rebuilt from these lines, so what a person decided must be found again in what any version of ours wrote. Lines are
//! only appended: the file keeps what newer writers wrote, and an event of theirs is read as [`Event::Other`].

mod event;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value};

pub use self::event::{
    ArtifactCreated, ByNobody, CommandRun, Completed, Confirmed, Escalated, Event, Failed, GateInvalidated,
    LocalLoopStarted, OwnCommand, PhaseFailure, Resumed, RunStarted, StatusChange, Stopped,
};
use super::{LoopState, Step};
use crate::{ids::Timestamp, policy::Phase};

/// One line of the history.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryLine {
    pub ts: Timestamp,
    pub run_id: String,
    pub iteration: u32,
    pub phase: Phase,
    pub step: Step,
    pub event: Event,
    pub status: EventStatus,
}

/// Whether the event went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventStatus {
    Ok,
    Fail,
}

impl HistoryLine {
    /// A line on what happened at `ts` to a run, where it stands.
    pub fn of(state: &LoopState, ts: Timestamp, event: Event, status: EventStatus) -> Self {
        Self {
            ts,
            run_id: state.run_id.clone(),
            iteration: state.iteration,
            phase: state.phase,
            step: state.current_step,
            event,
            status,
        }
    }
}

/// A line as it stands in the file: `status` stands between the event and its payload.
#[derive(Serialize, Deserialize)]
struct WrittenLine {
    ts: Timestamp,
    run_id: String,
    iteration: u32,
    phase: Phase,
    step: Step,
    event: String,
    status: EventStatus,
    #[serde(default)]
    payload: Map<String, Value>,
}

/// An event as it is written.
#[derive(Serialize, Deserialize)]
struct NameAndPayload {
    event: String,
    payload: Map<String, Value>,
}

impl Event {
    /// The name of the event, as the file has it.
    pub fn name(&self) -> String {
        self.name_and_payload().map(|written| written.event).unwrap_or_default()
    }

    fn name_and_payload(&self) -> serde_json::Result<NameAndPayload> {
        serde_json::from_value(serde_json::to_value(self)?)
    }
}

impl Serialize for HistoryLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let NameAndPayload { event, payload } = self.event.name_and_payload().map_err(ser::Error::custom)?;
        let Self { ts, iteration, phase, step, status, .. } = *self;
        WrittenLine { ts, run_id: self.run_id.clone(), iteration, phase, step, event, status, payload }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HistoryLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenLine::deserialize(deserializer)?;
        let WrittenLine { ts, run_id, iteration, phase, step, event, status, mut payload } = written;
        let kind = event::kind_of_old(&event, &payload);
        payload.extend(kind.map(|kind| ("kind".to_owned(), kind.into())));
        let event = serde_json::to_value(NameAndPayload { event, payload }).map_err(de::Error::custom)?;
        let mut event = Event::deserialize(event).map_err(de::Error::custom)?;
        if let (Event::Other { payload, .. }, Some(_)) = (&mut event, kind) {
            payload.shift_remove("kind");
        }
        Ok(Self { ts, run_id, iteration, phase, step, event, status })
    }
}
