//! How a run stands, and why it stopped.

use serde::{Deserialize, Serialize};

use crate::ids::Login;

words! {
    /// Status of a run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum RunStatus {
        #[default]
        InProgress = "in_progress",
        Passed = "passed",
        Failed = "failed",
        Escalated = "escalated",
        Aborted = "aborted",
        Stopped = "stopped",
        Completed = "completed",
    }
}

words! {
    /// Step of the reflex loop.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Step {
        Plan = "PLAN",
        ProducePrepare = "PRODUCE_PREPARE",
        Prepare = "PREPARE",
        #[default]
        Evaluate = "EVALUATE",
        Critique = "CRITIQUE",
        Refine = "REFINE",
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

words! {
    /// Why a run stopped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum StopReason {
        ThresholdReached = "threshold_reached",
        NoMajorIssues = "no_major_issues",
        IterationLimit = "iteration_limit",
        UserStop = "user_stop",
        Stagnation = "stagnation",
        PhaseError = "phase_error",
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

/// What is known of a record that was there before this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LostRecord {
    /// Attempts made on heads other than the present one, as far as traces show them.
    pub attempts: u32,
    pub trace: Trace,
}

/// What shows that a record was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trace {
    /// Our status comment.
    StatusComment,
    /// A comment of ours that notified somebody.
    Post,
    /// A check run of ours that ended on the head.
    CheckRun,
}
