//! A run: what it is about, who made the change, how far it has come, how it stands and why it stopped.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::{
    ids::{Login, PrNumber, RepoName, RuleId, Score, Timestamp},
    policy::Phase,
    stage::Stage,
    state::{ClosedPeriod, ReflexState},
};

/// What a run is about, how far it has come, how it stands and why it stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Run {
    /// `<alias>-<UTC yyyymmdd-hhmmss>`.
    pub id: String,
    pub repository: RepoName,
    /// None in a local loop.
    pub pull_request: Option<PrNumber>,
    /// `pr-12`, or the name of a local loop.
    pub alias: String,
    pub title: String,
    pub task: Task,
    pub agent: Option<Agent>,
    /// None in states written before it was kept, and in local loops.
    pub author: Option<AuthorKind>,
    /// The stage the stage walk reached.
    pub stage: Stage,
    pub stage_entered_at: Timestamp,
    pub status: RunStatus,
    pub phase: Phase,
    pub step: Step,
    /// The attempt the head is, or will be once verified. Counts from 1.
    pub iteration: u32,
    pub max_iterations: u32,
    pub plan: Vec<String>,
    pub critique: Option<Vec<String>>,
    pub stop: Stop,
    /// What was merged over: open gates and failing required rules.
    pub bypassed: Vec<String>,
    /// When the pull request was closed: nothing that was approved then counts.
    pub closed_periods: Vec<ClosedPeriod>,
    /// What only a local loop keeps.
    pub reflex: Option<ReflexState>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Fields of newer writers.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Run {
    /// Its id among the runs of all repositories: UUIDv5 of repository and run id.
    pub fn workflow_id(&self) -> Uuid {
        let name = format!("{}/{}", self.repository, self.id);
        Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes())
    }

    /// Whether it has ended with its pull request, or as a local loop.
    pub fn has_ended(&self) -> bool {
        match self.pull_request {
            Some(_) => {
                let closed = self
                    .closed_periods
                    .last()
                    .is_some_and(|period| period.to.is_none());
                self.status == RunStatus::Completed || closed
            }
            None => !matches!(self.status, RunStatus::InProgress | RunStatus::Escalated),
        }
    }
}

/// The coding agent that wrote the pull request, when one did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub version: Option<String>,
}

words! {
    /// Who opened a pull request, or works on a task here.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum AuthorKind {
        Person = "person",
        /// A coding agent: its account is one of `coding_agents`, or the description has an `Agent:` line.
        Agent = "agent",
        /// Another bot, such as one that updates dependencies.
        Bot = "bot",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub prompt: String,
    pub ideal_result: Option<String>,
}

/// How far a run that stopped is from passing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DistanceToSuccess {
    pub threshold: Score,
    pub score: Score,
    pub gap: Score,
    pub failed_fail_rules: usize,
    pub blocking_rule_ids: Vec<RuleId>,
    pub passed_rules: usize,
    pub total_rules: usize,
}

words! {
    /// Status of a run.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
    pub words: Option<String>,
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
    use serde::{Deserialize as _, Deserializer, Serializer, de::IntoDeserializer as _};

    use super::StopReason;

    #[expect(clippy::ref_option, reason = "serde hands a field over like this")]
    pub fn serialize<S: Serializer>(
        word: &Option<StopReason>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(word.map_or("", StopReason::as_str))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<StopReason>, D::Error> {
        let word = Option::<String>::deserialize(deserializer)?.filter(|word| !word.is_empty());
        word.map(|word| StopReason::deserialize(word.into_deserializer()))
            .transpose()
    }
}
