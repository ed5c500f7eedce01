//! How a run stands, and why it stopped.

use serde::{Deserialize, Serialize};

use crate::ids::Login;

/// Status of a run (decisions.md, A).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    #[default]
    InProgress,
    Passed,
    Failed,
    Escalated,
    Aborted,
    Stopped,
    Completed,
}

impl RunStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Escalated => "escalated",
            Self::Aborted => "aborted",
            Self::Stopped => "stopped",
            Self::Completed => "completed",
        }
    }
}

/// Step of the reflex loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Step {
    Plan,
    ProducePrepare,
    Prepare,
    #[default]
    Evaluate,
    Critique,
    Refine,
}

impl Step {
    /// The word of the contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "PLAN",
            Self::ProducePrepare => "PRODUCE_PREPARE",
            Self::Prepare => "PREPARE",
            Self::Evaluate => "EVALUATE",
            Self::Critique => "CRITIQUE",
            Self::Refine => "REFINE",
        }
    }
}

/// Whether and why the run stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    pub passed: bool,
    #[serde(with = "optional_word")]
    pub reason: Option<StopReason>,
    /// The words of the person who stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Login>,
}

/// Why a run stopped (decisions.md, L for local loops).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    ThresholdReached,
    NoMajorIssues,
    IterationLimit,
    UserStop,
    Stagnation,
    PhaseError,
}

impl StopReason {
    /// The word of the contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ThresholdReached => "threshold_reached",
            Self::NoMajorIssues => "no_major_issues",
            Self::IterationLimit => "iteration_limit",
            Self::UserStop => "user_stop",
            Self::Stagnation => "stagnation",
            Self::PhaseError => "phase_error",
        }
    }
}

/// The contract writes "no reason" as an empty string.
mod optional_word {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
    use serde_json::Value;

    pub fn serialize<T: Serialize, S: Serializer>(word: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        match word {
            Some(word) => word.serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }

    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(None),
            Value::String(text) if text.is_empty() => Ok(None),
            value => T::deserialize(value).map(Some).map_err(serde::de::Error::custom),
        }
    }
}
