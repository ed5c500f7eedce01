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
    use serde::{
        Deserialize, Deserializer, Serializer,
        de::{Error, Unexpected},
    };

    use super::StopReason;

    pub fn serialize<S: Serializer>(word: &Option<StopReason>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(word.map_or("", StopReason::as_str))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StopReason>, D::Error> {
        let word = Option::<String>::deserialize(deserializer)?.filter(|word| !word.is_empty());
        let refused = |word: &str| D::Error::invalid_value(Unexpected::Str(word), &"a reason to stop");
        word.map(|word| StopReason::of_word(&word).ok_or_else(|| refused(&word))).transpose()
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
