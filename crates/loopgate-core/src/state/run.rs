//! What a run is about (the change, who made it, how it is tested), how far it has come, how it stands and why it
//! stopped; its attempts and their failures.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    evidence::{RetryClass, RootCauseCategory, TestId, TestOutcomes},
    failure::Blame,
    ids::{
        CheckName, CheckRunId, Fingerprint, GateName, Login, RuleId, Score, Sha, Timestamp, UserId,
        WorkflowRunId,
    },
    memory::MemoryMatch,
    observed::CodeType,
    policy::{EvaluatePolicy, Phase, Rule, Trigger},
    stage::Stage,
};

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

/// What is being looped over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CodeArtifact {
    /// The file with most changed lines.
    pub path: Option<String>,
    pub language: String,
    pub code_type: CodeType,
    /// SHA-256 over the head's tree id, in hex.
    pub content_hash: String,
    pub test_files: Vec<String>,
    pub requirements_ref: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub prompt: String,
    pub ideal_result: Option<String>,
}

/// A configuration that a pull request proposes, tried on recorded runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedConfiguration {
    /// The file's blob at the head.
    pub blob: Sha,
    /// Runs that were judged again.
    pub runs: usize,
    pub gates: BTreeMap<GateName, RunChanges>,
    /// Calls for a human, by their cause.
    pub calls: BTreeMap<Trigger, RunChanges>,
}

/// Runs that have something more, or lack it. `#12`, or the alias of a local loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunChanges {
    pub more: Vec<String>,
    pub fewer: Vec<String>,
}

/// What the evaluation asks for now, as it is written down with the run.
pub fn criteria(policy: &EvaluatePolicy, rules: &[Rule]) -> Value {
    let phase = |phase: Phase, active: &[Phase]| json!({ "threshold": policy.thresholds.of(phase), "activeLevels": active });
    let rules = rules.iter().map(|rule @ Rule { id, description, severity, phase, .. }| {
        json!({ "id": id, "description": description, "severity": severity, "weight": rule.weight(), "phase": phase })
    });
    json!({
        "name": "loopgate_default_v1",
        "version": 1,
        "phase": { "A": phase(Phase::A, &[Phase::A]), "B": phase(Phase::B, &[Phase::A, Phase::B]) },
        "rules": rules.collect::<Vec<_>>(),
    })
}

/// Task-list items under the `Capabilities` heading of the pull request's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CapabilityProgress {
    pub total: usize,
    pub completed: usize,
    /// The first unticked one.
    pub current: Option<String>,
    /// Those after it.
    #[serde(default)]
    pub remaining: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationSummary {
    pub score: Score,
    pub passed: bool,
    pub failed_rules: Vec<RuleId>,
    pub warnings: Vec<RuleId>,
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastVerification {
    pub at: Timestamp,
    pub result: VerificationResult,
    pub head_sha: Sha,
}

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum VerificationResult {
    Pass,
    #[default]
    Fail,
}

/// Counters of failures and their history; the counters are derived from the attempts, never incremented.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FailureLog {
    /// Failing attempts of the current streak.
    pub count: u32,
    /// Consecutive attempts that hold the most persistent fingerprint.
    pub same_error: u32,
    /// Failing attempts of the run.
    pub total: u32,
    pub max_retries: u32,
    pub history: Vec<FailureRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureRecord {
    pub attempt: u32,
    pub stage: Stage,
    pub capability: Option<String>,
    pub error: String,
    /// Root-cause category.
    pub category: RootCauseCategory,
    pub retry_class: RetryClass,
    pub blame: Blame,
    pub fingerprint: Fingerprint,
    pub timestamp: Timestamp,
    pub resolution: Option<String>,
    pub resolved_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestAttempt {
    pub attempt: u32,
    pub sha: Sha,
    pub score: Score,
}

/// What later decisions need to know of a counted attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
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
    /// Where its findings lie that are no tests' failures, as `file:line`, at most 50.
    pub named_places: BTreeSet<String>,
    /// Checks that had results by test, each with a digest of its command and reports.
    pub with_results: BTreeMap<CheckName, String>,
    /// Tests that ran, over all checks with results.
    pub total_tests: Option<u64>,
    /// How every test ended; kept for the two newest attempts only, and for at most 2,500 tests.
    pub tests: Option<TestOutcomes>,
    /// Tests that fail and passed before, as they were when the attempt was counted.
    pub regressed: BTreeSet<String>,
    /// What kind of failure it was, for the classes that are not simply retried.
    pub retry_class: Option<RetryClass>,
    /// Set where only one thing is missing.
    pub lacking: Option<Lacking>,
    /// Whether its coverage was what its type of change needs; none where that is unknown.
    pub coverage: Option<CoverageMet>,
    /// Tests that failed and passed on this very head, in runs of the same checks.
    pub flaky: BTreeSet<String>,
    /// People who turned it down, and the attempt with it. The same words cost one attempt, whatever follows them.
    pub rejections: Vec<Rejection>,
    /// It fails by nothing but what is disputed.
    pub disputed: bool,
    /// It weakens tests or thresholds, whether or not a person accepted that. It is never the best attempt, is marked
    /// wherever it is listed, and teaches the memory nothing.
    pub weakened: bool,
    /// What was found in the debug memory for its failures; none until it was looked up.
    pub memory_matches: Option<Vec<MemoryMatch>>,
    /// One line for retry tables: "unit: assertion failed at src/a.rs:12".
    pub summary: String,
}

/// The one thing that a failing attempt lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lacking {
    /// Everything but coverage is there.
    Coverage,
    /// What failed does not say how.
    Explanation,
}

/// What the rule on coverage came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoverageMet {
    Met,
    Short,
}

/// A person's no to a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rejection {
    pub by: Login,
    pub by_id: UserId,
    pub of: RejectedIn,
    pub at: Timestamp,
}

/// Where a head was turned down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectedIn {
    /// An approver rejected this gate.
    Gate(GateName),
    /// A required review that asks for changes.
    Review,
}

impl AttemptDigest {
    /// Whether it failed through the pull request's own code, or a person turned it down.
    pub fn spent(&self) -> bool {
        let own = matches!(self.blame, None | Some(Blame::PrCode)) && !self.disputed;
        self.result == VerificationResult::Fail && own || !self.rejections.is_empty()
    }

    /// Whether its code passed and no review rejected it.
    pub fn passes(&self) -> bool {
        self.result == VerificationResult::Pass && self.rejections.is_empty()
    }
}

/// A head whose workflows wait, or waited, for somebody to let them run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHold {
    pub head: Sha,
    /// When that was seen to be over: its checks are waited for since then.
    pub ended_at: Option<Timestamp>,
}

/// Trouble outside the code: a service, the network, a lost runner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// When it was first seen. It goes on while checks are repeated, also over pushes, until they end otherwise.
    pub since: Timestamp,
    /// What failed, and is repeated.
    pub checks: BTreeSet<CheckName>,
    /// Checks that were cancelled, whose evidence was refused, or which an edited workflow file may keep from starting:
    /// their result is unknown, and repeating them is a person's choice.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unclear: BTreeSet<CheckName>,
}

/// Checks that did not report in their time, for a reason that is not the author's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Unreported {
    /// Those of the head, while nothing else of it is to be mended.
    pub of_head: BTreeSet<CheckName>,
    /// Those for which a person was called: no one is called for them again before they report.
    pub called_for: BTreeSet<CheckName>,
}

/// Something GitHub can be asked to run again, as it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeatable {
    /// A run of a workflow that brings evidence.
    WorkflowRun { id: WorkflowRunId, attempt: u32 },
    /// A job of GitHub Actions; each attempt of one has its own number, which is that of its check run.
    Job { id: CheckRunId },
    /// A check run of another App, and when it ended: the App may use the same one again.
    CheckRun {
        id: CheckRunId,
        ended: Option<Timestamp>,
    },
}

/// What was asked for again on a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rerun {
    pub what: Repeatable,
    pub head_sha: Sha,
    /// The checks it was asked for.
    pub checks: BTreeSet<CheckName>,
    pub by: AskedBy,
    pub at: Timestamp,
}

/// Who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedBy {
    /// A person.
    Person(Login),
    /// No one: it failed for reasons outside the code. The first repetition is number 1.
    Backoff { nth: u32 },
}
