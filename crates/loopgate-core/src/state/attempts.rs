//! What is kept of attempts and their failures.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    evidence::{Outcome, RetryClass, RootCauseCategory, TestId, TestOutcomes},
    failure::Blame,
    ids::{CheckName, CheckRunId, Fingerprint, GateName, Login, RuleId, Score, Sha, Timestamp, UserId, WorkflowRunId},
    memory::MemoryMatch,
    policy::Phase,
    stage::Stage,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastVerification {
    pub at: Timestamp,
    pub result: VerificationResult,
    pub head_sha: Sha,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerificationResult {
    Pass,
    #[default]
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckLogEntry {
    pub check: CheckName,
    pub reason: String,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub duration_ms: u64,
    pub status: Outcome,
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

/// What later decisions need to know of a counted attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Where its findings lie that are no tests' failures, as `file:line`, at most 50.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub named_places: BTreeSet<String>,
    /// Checks that had results by test, each with a digest of its command and reports.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with_results: BTreeMap<CheckName, String>,
    /// Tests that ran, over all checks with results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tests: Option<u64>,
    /// How every test ended; kept for the two newest attempts only, and for at most 2,500 tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestOutcomes>,
    /// Tests that fail and passed before, as they were when the attempt was counted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub regressed: BTreeSet<String>,
    /// What kind of failure it was, for the classes that are not simply retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_class: Option<RetryClass>,
    /// Set where only one thing is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking: Option<Lacking>,
    /// Whether its coverage was what its type of change needs; none where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<CoverageMet>,
    /// Tests that failed and passed on this very head, in runs of the same checks.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub flaky: BTreeSet<String>,
    /// People who turned it down, and the attempt with it. The same words cost one attempt, whatever follows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejections: Vec<Rejection>,
    /// It fails by nothing but what is disputed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disputed: bool,
    /// It weakens tests or thresholds, whether or not a person accepted that. It is never the best attempt, is marked
    /// wherever it is listed, and teaches the memory nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weakened: bool,
    /// What was found in the debug memory for its failures; none until it was looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

    /// Whether a required review turned it down.
    pub fn review_rejects(&self) -> bool {
        self.rejections.iter().any(|rejection| rejection.of == RejectedIn::Review)
    }
}

/// A head whose workflows wait, or waited, for somebody to let them run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHold {
    pub head: Sha,
    /// When that was seen to be over: its checks are waited for since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

/// Something GitHub can be asked to run again, as it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeatable {
    /// A run of a workflow that brings evidence.
    WorkflowRun { id: WorkflowRunId, attempt: u32 },
    /// A job of GitHub Actions; each attempt of one has its own number, which is that of its check run.
    Job { id: CheckRunId },
    /// A check run of another App, and when it ended: the App may use the same one again.
    CheckRun { id: CheckRunId, ended: Option<Timestamp> },
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
    Person(Login),
    /// No one: it failed for reasons outside the code. The first repetition is number 1.
    Backoff {
        nth: u32,
    },
}
