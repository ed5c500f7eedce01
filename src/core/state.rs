//! `loop-state.json`: the only truth about where a loop stands, carried from one reconcile to the next.
//!
//! Written in camelCase (contracts.md). Fields this version does not know survive in the `extra` maps, so an older
//! writer never drops what a newer one wrote. Everything derivable is derived again at each reconcile; what is kept is
//! what only the past knows: attempts, first sightings of heads, skips, blocks, what was acknowledged.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{
    escalation::Trigger,
    evidence::{RetryClass, TestFramework},
    failure::Blame,
    gate::{GateStatus, Objection, WordSource},
    ids::{
        CheckName, CommentId, Fingerprint, GateName, Login, PrNumber, RepoName, RuleId, Score, Sha, Timestamp, UserId,
    },
    policy::{Backoff, CodeType, Phase},
    roster::{Roster, TestId},
    stage::{Stage, StageStatus},
};

/// `schema` of a loop state.
pub const LOOP_STATE_SCHEMA: &str = "loopgate.loop-state/v1";

/// The state of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopState {
    pub schema: String,
    /// `<alias>-<UTC yyyymmdd-hhmmss>`.
    pub run_id: String,
    /// UUIDv5 of repository and run id.
    pub workflow_id: Uuid,
    pub repository: RepoName,
    pub pull_request: Option<PrNumber>,
    pub title: String,
    #[serde(default)]
    pub linked_issues: Vec<u64>,
    pub branch: String,
    pub head_sha: Sha,
    pub base_ref: String,
    pub base_sha: Sha,
    /// The commit whose configuration governed the last decision.
    pub policy_sha: Option<Sha>,
    /// Every head in the order it was first seen.
    #[serde(default)]
    pub first_seen_heads: Vec<SeenHead>,
    pub agent: Option<Agent>,
    pub code_artifact: CodeArtifact,
    pub execution_config: ExecutionConfig,
    pub retry_policy: RetryPolicySummary,
    pub debug_memory_ref: String,
    /// The stage the stage walk reached.
    pub state: Stage,
    pub state_entered_at: Timestamp,
    pub status: RunStatus,
    pub phase: Phase,
    pub current_step: Step,
    /// The attempt the head is, or will be once verified. Counts from 1.
    pub iteration: u32,
    pub max_iterations: u32,
    pub task_alias: String,
    pub task: Task,
    #[serde(default)]
    pub plan: Vec<String>,
    #[serde(default)]
    pub prepared_checks: Vec<CheckName>,
    pub critique: Option<Vec<String>>,
    pub criteria: Criteria,
    pub capabilities: CapabilityProgress,
    #[serde(default)]
    pub stages: BTreeMap<Stage, StageRecord>,
    #[serde(default)]
    pub stage_evidence: BTreeMap<Stage, StageEvidence>,
    pub last_verification: Option<LastVerification>,
    pub failures: FailureLog,
    #[serde(default)]
    pub gates: BTreeMap<GateName, GateState>,
    #[serde(default)]
    pub skips: Vec<Skip>,
    #[serde(default)]
    pub prerequisites: BTreeMap<String, String>,
    pub evaluation: Option<EvaluationSummary>,
    pub last_score: Option<Score>,
    pub stagnation_count: u32,
    pub best_attempt: Option<BestAttempt>,
    #[serde(default)]
    pub check_log: Vec<CheckLogEntry>,
    #[serde(default)]
    pub check_usage: BTreeMap<CheckName, u32>,
    #[serde(default)]
    pub checkpoints: Vec<Checkpoint>,
    /// What was merged over: open gates and failing required rules.
    #[serde(default)]
    pub bypassed: Vec<String>,
    pub stop: Stop,
    /// One digest per counted attempt, oldest first; the whole record is in `attempts/NNN.json`.
    #[serde(default)]
    pub attempts: Vec<AttemptDigest>,
    /// The cause that called a human, while it stands.
    pub blocked: Option<Blocked>,
    /// Where streaks were started anew by `/loop resume`.
    #[serde(default)]
    pub resumes: Vec<Resume>,
    /// Causes released by a person, such as `tampering`.
    #[serde(default)]
    pub accepted: BTreeSet<Trigger>,
    /// Comments and reviews whose commands were carried out or refused, with what was answered: never twice.
    #[serde(default)]
    pub answered: Vec<Answered>,
    /// Comments and reviews that speak and of which an event told that they were edited: the API may not show it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub edited_words: BTreeSet<WordSource>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Fields of newer writers.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl LoopState {
    /// Number of failing attempts in the run; never resets.
    pub fn total_failures(&self) -> u32 {
        self.failures.total
    }

    /// The digest of the last attempt, if it was made of this head. A head that comes back after another one was tried
    /// is a new attempt: going round in a circle costs attempts too.
    pub fn attempt_of(&self, head: Sha) -> Option<&AttemptDigest> {
        self.attempts.last().filter(|attempt| attempt.head_sha == head)
    }

    /// The head commit that was known when something was written at `moment`: the last one first seen before it.
    pub fn head_at(&self, moment: Timestamp) -> Option<&SeenHead> {
        self.first_seen_heads.iter().rev().find(|seen| seen.at < moment)
    }
}

/// A head commit, when it was first seen, and what each gate's diff looked like then.
///
/// The same commit is entered again when it is seen with another base or with other gates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenHead {
    pub sha: Sha,
    pub at: Timestamp,
    /// Digest of the diff that triggers each gate, for telling whether an approval still covers it.
    #[serde(default)]
    pub gates: BTreeMap<GateName, String>,
    /// The base branch at that time; none in states written before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// The coding agent that wrote the pull request, when one did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: AgentKind,
    pub version: Option<String>,
}

/// Agent types of contracts.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    SoftwareImplementer,
    TestEngineer,
    Debugger,
    CodeReviewer,
}

/// What is being looped over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeArtifact {
    /// The file with most changed lines.
    pub path: Option<String>,
    pub language: Language,
    pub code_type: CodeType,
    /// SHA-256 over the head's tree id, in hex.
    pub content_hash: String,
    #[serde(default)]
    pub test_files: Vec<String>,
    #[serde(default)]
    pub requirements_ref: Vec<String>,
}

/// Languages of contracts.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    Typescript,
    Javascript,
    Python,
    Go,
    Rust,
    Java,
    #[default]
    Other,
}

/// How the tests are executed, as far as the configuration says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionConfig {
    pub test_framework: TestFramework,
    pub test_command: Option<String>,
    pub timeout_seconds: u64,
    pub fail_fast: bool,
    pub verbose: bool,
    pub working_directory: String,
}

/// The retry numbers in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryPolicySummary {
    pub max_attempts: u32,
    pub same_error: u32,
    pub total_failures: u32,
    pub backoff: Backoff,
    pub escalation_on_max: bool,
    pub abort_on_regression: bool,
}

/// Status of a run (loop.md).
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub prompt: String,
    pub ideal_result: Option<String>,
}

/// What the evaluation asks for, written down with the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    pub name: String,
    pub version: u32,
    pub phase: BTreeMap<Phase, PhaseCriteria>,
    pub rules: Vec<CriteriaRule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseCriteria {
    pub threshold: Score,
    pub active_levels: Vec<Phase>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriteriaRule {
    pub id: RuleId,
    pub description: String,
    pub severity: super::policy::Severity,
    pub weight: f64,
    pub phase: Phase,
}

/// Task-list items under the `Capabilities` heading of the pull request's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityProgress {
    pub total: usize,
    pub completed: usize,
    /// The first unticked one.
    pub current: Option<String>,
    #[serde(default)]
    pub remaining: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageRecord {
    pub status: StageStatus,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

/// Evidence a stage asks for, and which of it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageEvidence {
    pub required: Vec<CheckName>,
    pub completed: Vec<CheckName>,
    pub skipped: Vec<CheckName>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastVerification {
    pub at: Timestamp,
    pub result: VerificationResult,
    pub head_sha: Sha,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationResult {
    Pass,
    Fail,
}

/// Counters of failures and their history; the counters are derived from the attempts, never incremented.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureLog {
    /// Failing attempts of the current streak.
    pub count: u32,
    /// Consecutive attempts that hold the most persistent fingerprint.
    pub same_error: u32,
    /// Failing attempts of the run.
    pub total: u32,
    pub max_retries: u32,
    #[serde(default)]
    pub history: Vec<FailureRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureRecord {
    pub attempt: u32,
    pub stage: Stage,
    pub capability: Option<String>,
    pub error: String,
    /// Root-cause category (evidence.md).
    pub category: super::failure::RootCauseCategory,
    pub retry_class: RetryClass,
    pub blame: Blame,
    pub fingerprint: Fingerprint,
    pub timestamp: Timestamp,
    pub resolution: Option<String>,
    pub resolved_at: Option<Timestamp>,
}

/// What is remembered of a gate. Never evidence of an approval: gates are derived anew at each reconcile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GateState {
    pub required: bool,
    pub status: GateStatus,
    pub requested_at: Option<Timestamp>,
    pub approved_by: Option<Vec<Login>>,
    pub approved_at: Option<Timestamp>,
    pub head_sha: Option<Sha>,
    pub fingerprint: Option<String>,
    pub evidence_url: Option<String>,
    pub notes: Option<String>,
    /// How many times it has been requested: an approval that a push invalidated starts a new round.
    #[serde(default)]
    pub round: u32,
    /// Reviewers Loopgate asked for on behalf of this gate, to be withdrawn with it.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// Comments that counted, with the SHA-256 of their body when they did: a later difference is tampering.
    #[serde(default)]
    pub counted: BTreeMap<CommentId, String>,
    #[serde(default)]
    pub reminded_at: Option<Timestamp>,
    /// Labels that opened it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// Rejections that stood when it was last looked at. They can only keep the gate closed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<Objection>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A check skipped by a person with a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    pub check: CheckName,
    pub reason: String,
    pub by: Login,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationSummary {
    pub score: Score,
    pub passed: bool,
    pub failed_rules: Vec<RuleId>,
    pub warnings: Vec<RuleId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestAttempt {
    pub attempt: u32,
    pub sha: Sha,
    pub score: Score,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckLogEntry {
    pub check: CheckName,
    pub reason: String,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub duration_ms: u64,
    pub status: super::evidence::Outcome,
    #[serde(default)]
    pub deliverables: Vec<String>,
    #[serde(default)]
    pub children: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    #[serde(rename = "type")]
    pub kind: String,
    pub hash: Sha,
    pub message: String,
    pub at: Timestamp,
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

/// Stop reasons (loop.md).
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

/// What later decisions need to know of a counted attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptDigest {
    /// Counts from 1.
    pub number: u32,
    pub head_sha: Sha,
    /// SHA-256 over the head's tree id, in hex.
    pub tree_hash: String,
    pub at: Timestamp,
    pub result: VerificationResult,
    /// The worst blame among its failing checks: only `pr_code` consumes an attempt.
    pub blame: Option<Blame>,
    pub score: Score,
    pub phase: Phase,
    pub failed_rules: Vec<RuleId>,
    pub failed_checks: Vec<CheckName>,
    /// Fingerprints of the failures that are the pull request's own.
    pub fingerprints: BTreeSet<Fingerprint>,
    /// Failing tests by name, at most 200, with their identity where the report gave one.
    pub failing_tests: BTreeMap<String, Option<TestId>>,
    /// How every test ended; kept for the two newest attempts only, and for at most 2,500 tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Roster>,
    /// What kind of failure it was, for the classes that are not simply retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_class: Option<RetryClass>,
    /// One line for retry tables: "unit: assertion failed at src/a.rs:12".
    pub summary: String,
}

impl AttemptDigest {
    /// Whether it failed through the pull request's own code.
    pub fn spent(&self) -> bool {
        self.result == VerificationResult::Fail && matches!(self.blame, None | Some(Blame::PrCode))
    }
}

/// Why a human was called, while the cause stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Blocked {
    pub trigger: Trigger,
    /// Further triggers that held at the same time.
    #[serde(default)]
    pub also: Vec<Trigger>,
    pub attempt: u32,
    pub head_sha: Sha,
    pub since: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resume {
    /// The last attempt made before it: streaks count from the next one.
    pub after_attempt: u32,
    pub by: Login,
    pub by_id: UserId,
    pub at: Timestamp,
}

/// A comment or review whose commands were answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub source: WordSource,
    pub answers: Vec<Answer>,
}

/// What was answered to one command of a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    pub by: Login,
    /// The command as understood, `resume`.
    pub verb: String,
    pub outcome: AnswerOutcome,
    /// The head the answer was given on.
    pub head_sha: Sha,
}

/// What came of a command. [`render`](crate::render) has the sentence for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The status comment shows what was asked for.
    Shown,
    /// Looked at everything again, now.
    LookedAgain,
    Resumed,
    Stopped,
    Skipped {
        check: CheckName,
    },
    Refused(CommandRefusal),
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandRefusal {
    NeedsWrite,
    /// The author of the pull request, or somebody with write.
    NeedsAuthorOrWrite,
    NeedsApproverOf {
        gate: GateName,
    },
    /// Whoever wrote the code does not skip its checks, nor accept weakened tests.
    OwnWork,
    /// Their rights could not be looked up.
    RightsUnknown,
    /// The comment was edited: whose words it holds is not known.
    Edited,
    NothingToResume,
    /// The cause is released only with `--accept`.
    NeedsAccept {
        cause: Trigger,
    },
    UnknownCheck {
        check: CheckName,
        nearest: Option<CheckName>,
    },
    /// `build` and `test` are not skipped here.
    NeverSkipped {
        check: CheckName,
    },
    UnknownCommand {
        typed: String,
        nearest: Option<String>,
    },
    Usage {
        usage: String,
    },
}
