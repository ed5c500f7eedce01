//! `history.jsonl`: what happened, one line per event, append-only.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ids::Timestamp, policy::Phase, state::Step};

/// One line of the history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryLine {
    pub ts: Timestamp,
    pub run_id: String,
    pub iteration: u32,
    pub phase: Phase,
    pub step: Step,
    pub event: Event,
    pub status: EventStatus,
    #[serde(default)]
    pub payload: Map<String, Value>,
}

/// What a line of the history tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    RunStarted,
    PlanCreated,
    ArtifactCreated,
    ChecksPrepared,
    EvaluationDone,
    CritiqueDone,
    RefinementDone,
    PhaseSwitched,
    IterationAdvanced,
    GateRequested,
    GateApproved,
    GateRejected,
    GateInvalidated,
    CheckSkipped,
    CommandRun,
    Escalated,
    Resumed,
    MergedWithOpenGates,
    PhaseError,
    Stopped,
    Failed,
    Completed,
}

/// Whether the event went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventStatus {
    Ok,
    Fail,
}
