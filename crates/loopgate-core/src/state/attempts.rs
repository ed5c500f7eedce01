//! The attempts of a run, and how they failed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    evidence::{RetryClass, RootCauseCategory, TestId, TestOutcomes},
    failure::Blame,
    ids::{CheckName, Fingerprint, GateName, Login, RuleId, Score, Sha, Timestamp, UserId},
    memory::MemoryMatch,
    policy::Phase,
    stage::Stage,
};

/// What was tried: one digest for each counted attempt, and what their failures come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Attempts {
    /// Oldest first; the whole record of each is in `attempts/NNN.json`.
    pub counted: Vec<AttemptDigest>,
    /// How many attempts were made before this run whose record is gone with its ref. Numbers go on from here, and
    /// these count as failed: deleting a record wins no attempt.
    pub lost: u32,
    /// What showed that there was a record before this run.
    pub lost_trace: Option<Trace>,
    pub failures: FailureLog,
    /// Fields of newer writers.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Attempts {
    /// What is known of a record that was there before this run and is gone.
    pub fn lost_record(&self) -> Option<LostRecord> {
        // Before traces were kept, a lost record was recognised by the status comment only.
        let trace = self
            .lost_trace
            .or((self.lost > 0).then_some(Trace::StatusComment))?;
        Some(LostRecord {
            attempts: self.lost,
            trace,
        })
    }

    /// The [best](best_attempt) of this run.
    pub fn best(&self) -> Option<&AttemptDigest> {
        best_attempt(&self.counted)
    }

    /// The score of the attempt before the last.
    pub fn score_before(&self) -> Option<Score> {
        self.counted.iter().rev().nth(1).map(|before| before.score)
    }
}

/// The attempt with the highest score that weakens nothing; the earliest of equals.
pub fn best_attempt(attempts: &[AttemptDigest]) -> Option<&AttemptDigest> {
    let rank =
        |attempt: &AttemptDigest| (attempt.result == VerificationResult::Pass, attempt.score);
    let honest = attempts.iter().filter(|attempt| !attempt.weakened);
    honest.reduce(|best, next| if rank(next) > rank(best) { next } else { best })
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

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum VerificationResult {
    Pass,
    #[default]
    Fail,
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

impl BestAttempt {
    pub(super) fn of(attempt: &AttemptDigest) -> Self {
        Self {
            attempt: attempt.number,
            sha: attempt.head_sha,
            score: attempt.score,
        }
    }
}
