//! `history.jsonl`: what happened, one line per event, append-only.
//!
//! A line is `ts`, `run_id`, `iteration`, `phase`, `step`, `event`, `status` and `payload`. The name in
//! `event` says what `payload` holds: each [`Event`] is read and written with its data. A state that is damaged is
//! rebuilt from these lines, so what a person decided must be found again in what any version of ours wrote. Events and
//! fields of newer writers survive being read and written.

mod event;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::{Map, Value};

pub use self::event::{
    ArtifactCreated, ByNobody, CommandRun, Completed, Confirmed, Escalated, Event, Failed, GateInvalidated,
    LocalLoopStarted, OwnCommand, PhaseFailure, Resumed, RunStarted, StatusChange, Stopped,
};
use super::{LoopState, Step, UnknownFields};
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
    /// Fields of newer writers, wherever in the line they stand.
    pub unknown: UnknownFields,
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
            unknown: UnknownFields::default(),
        }
    }

    /// The line as this version writes it.
    fn known(&self) -> serde_json::Result<Value> {
        let NameAndPayload { event, payload } = self.event.name_and_payload()?;
        serde_json::to_value(WrittenLine {
            ts: self.ts,
            run_id: self.run_id.clone(),
            iteration: self.iteration,
            phase: self.phase,
            step: self.step,
            event,
            status: self.status,
            payload,
        })
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
        let mut line = self.known().map_err(ser::Error::custom)?;
        self.unknown.put_back(&mut line);
        line.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HistoryLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Value::deserialize(deserializer)?;
        let written = WrittenLine::deserialize(&read).map_err(de::Error::custom)?;
        let WrittenLine { ts, run_id, iteration, phase, step, event, status, payload } = written;
        let event = serde_json::to_value(NameAndPayload { event, payload }).map_err(de::Error::custom)?;
        let event = Event::deserialize(event).map_err(de::Error::custom)?;
        let unknown = UnknownFields::default();
        let mut line = Self { ts, run_id, iteration, phase, step, event, status, unknown };
        line.unknown = UnknownFields::of(&read, &line.known().map_err(de::Error::custom)?);
        Ok(line)
    }
}
