//! The evidence document of a commit: which checks ran, where, and how each ended.
//!
//! These are the types of `evidence.json`. The runner writes them, and they are read back from artifacts that a pull
//! request's own code may have produced. So they are hostile until `github::artifacts` has checked their origin.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    evidence::{
        CheckResults, Failure, Finding, Reconciled, ReportNote, SlowestTests, TestOutcomes,
    },
    ids::{CheckName, CheckRunId, PrNumber, RepoName, Sha, Timestamp, WorkflowRunId},
    untrusted::quote,
    words::is_default,
};

/// `schema` of an evidence document.
pub const EVIDENCE_SCHEMA: &str = "loopgate.evidence/v1";

/// Everything one execution of the checks found out about one head commit: `evidence.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// [`EVIDENCE_SCHEMA`].
    pub schema: String,
    pub repository: RepoName,
    pub head_sha: Sha,
    /// SHA-256 over the head's tree id, in hex.
    pub tree_hash: String,
    pub base_sha: Option<Sha>,
    pub pull_request: Option<PrNumber>,
    /// The workflow run that produced it; none when executed locally.
    pub workflow: Option<WorkflowOrigin>,
    pub environment: Environment,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub checks: Vec<CheckEvidence>,
    pub coverage: Option<ChangedCoverage>,
    /// The result of the change's tests without the change; only if the configuration asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression_proof: Option<RegressionTrial>,
    /// The results of tests that the change edits, as they were before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_tests: Vec<BaseTestRun>,
    /// The results of repeated runs of the tests that the change adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub burn_in: Vec<RepeatedTest>,
    /// Left out where it is whole.
    #[serde(default, skip_serializing_if = "is_default")]
    pub extent: EvidenceExtent,
}

/// Whether the execution got to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceExtent {
    #[default]
    Whole,
    /// It was interrupted or killed: of checks that had not ended nothing is known, whatever else is written.
    Interrupted,
}

/// Which workflow run, job and matrix job an evidence document names as its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowOrigin {
    /// Path of the workflow file, `.github/workflows/ci.yml`.
    pub path: String,
    pub run_id: WorkflowRunId,
    /// Counts from 1.
    pub run_attempt: u32,
    pub job: String,
    /// The values of the matrix as JSON, if the job has a matrix.
    pub matrix: Option<String>,
    /// Which job of its matrix it is; none where an older Action wrote it.
    #[serde(rename = "leg", default, skip_serializing_if = "Option::is_none")]
    pub matrix_job: Option<MatrixJob>,
}

impl WorkflowOrigin {
    /// `test (ubuntu-latest, 3.12)`, as GitHub names the jobs of a matrix; its place where the values are not known.
    pub fn job_name(&self) -> String {
        let values: Option<BTreeMap<String, serde_json::Value>> = self
            .matrix
            .as_deref()
            .and_then(|matrix| serde_json::from_str(matrix).ok());
        let shown = |value: serde_json::Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let values: Vec<String> = values
            .into_iter()
            .flatten()
            .map(|(_, value)| shown(value))
            .collect();
        match (values.is_empty(), self.matrix_job) {
            (false, _) => format!("{} ({})", self.job, values.join(", ")),
            (true, Some(place)) if place.total > 1 => {
                format!("{} {}/{}", self.job, place.index + 1, place.total)
            }
            (true, _) => self.job.clone(),
        }
    }
}

/// One execution of a job: of a matrix, one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixJob {
    /// Counts from 0.
    pub index: u32,
    /// Jobs of the matrix.
    pub total: u32,
    /// The check run that the execution is; none where GitHub does not show its steps (Enterprise Server).
    pub check_run_id: Option<CheckRunId>,
}

/// Where the checks ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    pub os: String,
    /// The tool chain's own version line, `rustc 1.95.0`.
    pub runtime: Option<String>,
    pub framework: Option<TestFramework>,
}

/// Test frameworks that Loopgate distinguishes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum TestFramework {
    Jest,
    Vitest,
    Pytest,
    GoTest,
    CargoTest,
    Junit,
    Mocha,
    #[default]
    Other,
}

words! {
    /// What a check is evidence of.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum CheckKind {
        Build = "build",
        Test = "test",
        Lint = "lint",
        Types = "types",
        Integration = "integration",
        Security = "security",
        Performance = "performance",
        Coverage = "coverage",
        Docs = "docs",
        #[default]
        Custom = "custom",
    }
}

impl CheckKind {
    /// Whether its checks run tests.
    pub const fn is_of_tests(self) -> bool {
        matches!(self, Self::Test | Self::Integration)
    }

    /// What a check is for, by a word in its name: the first of the table that is found counts.
    pub fn of_name(name: &str) -> Option<Self> {
        use CheckKind::{
            Build, Coverage, Custom, Docs, Integration, Lint, Performance, Security, Test, Types,
        };
        const WORDS: [(CheckKind, &[&str]); 11] = [
            (Custom, &["continuous-integration"]),
            (Integration, &["integration"]),
            (Test, &["test", "spec"]),
            (Coverage, &["cov"]),
            (Security, &["codeql", "audit", "security"]),
            (Lint, &["lint", "clippy", "fmt", "format"]),
            (Types, &["types", "typecheck", "mypy"]),
            (Performance, &["bench"]),
            (Docs, &["docs"]),
            (Build, &["build", "compile"]),
            (Docs, &["doc"]),
        ];
        // `ubuntu-latest`, the label of a runner, names no test.
        let name = name.to_ascii_lowercase().replace("-latest", "");
        WORDS
            .iter()
            .find(|(_, words)| words.iter().any(|word| name.contains(word)))
            .map(|(kind, _)| *kind)
    }
}

words! {
    /// How a check ended. Of several jobs of one check, the greatest counts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Outcome {
        /// Not run: a needed check failed, or a person skipped it; [`CheckEvidence::skipped_because`] shows which.
        #[default]
        Skipped = "skipped",
        Passed = "passed",
        /// Ended from outside (Ctrl-C, a cancelled workflow): shows nothing about the code.
        Cancelled = "cancelled",
        /// A test check whose report holds no test, without `allow_empty`.
        NoTestsExecuted = "no_tests_executed",
        /// A test check that passed without results by test, although it had them on the base or in an earlier attempt.
        ResultsLost = "results_lost",
        /// Killed at its timeout.
        TimedOut = "timed_out",
        Failed = "failed",
    }
}

impl Outcome {
    /// Whether the check ended and did not pass.
    pub const fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::TimedOut | Self::NoTestsExecuted | Self::ResultsLost
        )
    }
}

/// How a failing check may be retried. Of several failing checks, the greatest decides.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum RetryClass {
    /// Service, network or runner: re-run with back-off, consumes no attempt.
    External,
    /// Retried once.
    Performance,
    /// An ordinary failure of the code: retried.
    #[default]
    Code,
    /// Infinite loop, deadlock, the check's own timeout: never retried automatically.
    Logic,
    /// Never retried; escalates.
    Security,
}

/// One check of an evidence document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckEvidence {
    pub name: CheckName,
    pub kind: CheckKind,
    pub outcome: Outcome,
    pub exit_code: Option<i32>,
    /// Of the run before, where tests that had failed passed when they were run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_exit_code: Option<i32>,
    /// The signal that ended it, on Unix.
    pub signal: Option<i32>,
    /// Of several jobs the earliest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    pub duration_ms: u64,
    pub cpu_ms: Option<u64>,
    pub peak_rss_kb: Option<u64>,
    pub skipped_because: Option<String>,
    pub retry_class: Option<RetryClass>,
    /// Head and tail of the output, standard output and error in the order they were written.
    #[serde(default)]
    pub log_head: String,
    #[serde(default)]
    pub log_tail: String,
    /// Bytes cut out between head and tail.
    #[serde(default)]
    pub log_cut_bytes: u64,
    /// Only checks that report tests have results.
    pub results: Option<CheckResults>,
    #[serde(default)]
    pub reports: Vec<ReportNote>,
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// Failures counted but not kept (default cap: 200 per check).
    #[serde(default)]
    pub failures_not_kept: u64,
    /// Names of tests that failed and passed on this commit, at most 200: retried by their framework, or run once more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky_tests: Vec<String>,
    /// Of the reports that give durations.
    #[serde(default, skip_serializing_if = "SlowestTests::is_empty")]
    pub slowest_tests: SlowestTests,
    /// What the tools say of their runs as wholes, where their single tests do not show it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reconciled: Reconciled,
    /// Commands to reproduce a failure that were left out, since they ran nothing or something else.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reproduce_dropped: u64,
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// How every test ended, so that a later failure of one that passed is known to be a regression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestOutcomes>,
    /// Where people can read the full log (the check run's page).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What the output of each failed job shows of the failure: at most [`MOST_EXCERPTS`](super::MOST_EXCERPTS).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excerpts: Vec<LogExcerpt>,
}

impl CheckEvidence {
    /// A check of which only the outcome is known, as an external check run gives it.
    pub fn bare(name: CheckName, kind: CheckKind, outcome: Outcome) -> Self {
        Self {
            name,
            kind,
            outcome,
            ..Self::default()
        }
    }

    /// One check of two jobs, of a matrix, of several workflows or check runs of one name: it passed only if both did.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let (mut worse, better) = if other.outcome > self.outcome {
            (other, self)
        } else {
            (self, other)
        };
        worse.started_at = worse.started_at.into_iter().chain(better.started_at).min();
        worse.duration_ms = worse.duration_ms.max(better.duration_ms);
        if let Some(more) = &better.results {
            worse.results.get_or_insert_default().add(more);
        }
        worse.reports.extend(better.reports);
        worse.failures.extend(better.failures);
        worse.failures_not_kept = worse
            .failures_not_kept
            .saturating_add(better.failures_not_kept);
        worse.findings.extend(better.findings);
        worse.flaky_tests.extend(better.flaky_tests);
        worse.slowest_tests.merge(better.slowest_tests);
        worse.reconciled.add(better.reconciled);
        worse.reproduce_dropped = worse
            .reproduce_dropped
            .saturating_add(better.reproduce_dropped);
        worse.excerpts.extend(better.excerpts);
        worse.excerpts.truncate(MOST_EXCERPTS);
        worse.tests = worse
            .tests
            .into_iter()
            .chain(better.tests)
            .reduce(TestOutcomes::join);
        worse
    }

    /// Whether tests were run here whose single results are not known, so that only the exit status counts. Of checks
    /// that others ran, single results are never known.
    pub fn has_unread_tests(&self) -> bool {
        let ended = matches!(self.outcome, Outcome::Passed | Outcome::Failed);
        self.kind.is_of_tests() && ended && self.exit_code.is_some() && self.results.is_none()
    }

    /// Every test of these checks, where one of them has results by test.
    pub fn all_tests<'c>(checks: impl Iterator<Item = &'c Self>) -> Option<TestOutcomes> {
        checks
            .filter_map(|check| check.tests.clone())
            .reduce(TestOutcomes::join)
    }

    /// The sum of a number of their results; `None` if none of these checks has any.
    pub fn sum<'c>(
        checks: impl Iterator<Item = &'c Self>,
        of: fn(CheckResults) -> u64,
    ) -> Option<u64> {
        checks
            .filter_map(|check| check.results.map(of))
            .reduce(u64::saturating_add)
    }

    pub fn duration(&self) -> TimeDelta {
        TimeDelta::milliseconds(i64::try_from(self.duration_ms).unwrap_or(i64::MAX / 1_000_000))
    }
}

/// The framework a test command runs, by the word that names it.
pub fn framework_of(command: &str) -> TestFramework {
    const WORDS: [(&str, TestFramework); 9] = [
        ("vitest", TestFramework::Vitest),
        ("jest", TestFramework::Jest),
        ("mocha", TestFramework::Mocha),
        ("pytest", TestFramework::Pytest),
        // Before "go test", which the word "cargo test" ends in.
        ("cargo test", TestFramework::CargoTest),
        ("cargo nextest", TestFramework::CargoTest),
        ("go test", TestFramework::GoTest),
        ("mvn", TestFramework::Junit),
        ("gradle", TestFramework::Junit),
    ];
    WORDS
        .iter()
        .find(|(word, _)| command.contains(word))
        .map_or(TestFramework::Other, |(_, framework)| *framework)
}

/// SHA-256 over a tree id, in hex: what every document calls the *hash* of an artifact.
pub fn tree_hash(tree: Sha) -> String {
    hex::encode(Sha256::digest(tree.to_string().as_bytes()))
}

/// Coverage of the lines a pull request changed, as kept in `evidence.json`.
///
/// Figures from a document are claims until [`coverage::believe`](crate::concerns::coverage::believe) has checked them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedCoverage {
    /// Over all measured files.
    pub lines_covered: u64,
    pub lines_total: u64,
    /// Added executable lines that were executed.
    pub changed_covered: u64,
    /// Added executable lines.
    pub changed_total: u64,
    /// Added executable lines that were not executed, as `file:first-last`, or `file:line` for a single one.
    pub uncovered: Vec<String>,
    /// Lines of further ranges, which are counted only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub uncovered_not_listed: u64,
    /// The changed lines by file, where several jobs' figures can be put together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, LineTally>,
    /// Changed code that no report mentions although others of its language are measured: nothing is known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<String>,
}

/// Executable lines, and how many of them were executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineTally {
    pub covered: u64,
    pub total: u64,
}

impl ChangedCoverage {
    /// Percentage of the changed lines that were executed; none when no changed line is executable.
    pub fn changed_percent(&self) -> Option<f64> {
        percent(self.changed_covered, self.changed_total)
    }

    /// Percentage of all lines that were executed; none when there is no executable line.
    pub fn percent(&self) -> Option<f64> {
        percent(self.lines_covered, self.lines_total)
    }
}

fn percent(covered: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| covered as f64 * 100.0 / total as f64)
}

/// Execution counts of one file's executable lines, as a coverage report gives them: line (from 1) → hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCoverage {
    pub path: String,
    pub lines: BTreeMap<u32, u64>,
}

/// Excerpts of one check that are kept.
pub const MOST_EXCERPTS: usize = 2;

/// Lines of a failed job's output, chosen by what they show of the failure. Data and never advice: the code under test,
/// its packages and servers wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogExcerpt {
    /// The job's name; of a command the check's.
    pub job: String,
    /// The step that failed, if the log shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Where people read the whole log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// What [`quote`] leaves of the lines.
    pub text: String,
    /// Lines of the step that are not shown.
    pub cut_lines: u64,
    /// SHA-256 of the text in hex, where the text itself is not written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl LogExcerpt {
    /// The excerpt without its text, as it stands in refs, in the debug memory and in channels beside GitHub.
    #[must_use]
    pub fn reference(&self) -> Self {
        let sha256 = Some(hex::encode(Sha256::digest(&self.text)));
        Self {
            text: String::new(),
            sha256,
            ..self.clone()
        }
    }

    /// The excerpt as it may be shown: it comes from the same source as the evidence.
    #[must_use]
    pub fn quoted(&self) -> Self {
        let name = |text: &str| quote(text.lines().next().unwrap_or_default());
        let (job, step) = (name(&self.job), self.step.as_deref().map(name));
        Self {
            job,
            step,
            text: quote(&self.text),
            sha256: None,
            ..self.clone()
        }
    }
}

/// Whether the tests a change adds or changes fail without it and pass with it (`coverage.prove_regression`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegressionTrial {
    pub verdict: ProofVerdict,
    /// The test files that were run, and how each ended.
    pub tests: Vec<ProofRun>,
    /// One sentence for people.
    pub reason: String,
}

/// What the runs on the base and on the head show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofVerdict {
    /// A test fails on the base and passes on the head.
    Proved,
    /// None does.
    NotProved,
    /// They could not be run.
    Unknown,
}

/// One test file, run on both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofRun {
    pub file: String,
    /// The command both were run with.
    pub command: String,
    pub on_base: ProofEnd,
    pub on_head: ProofEnd,
}

/// A test file that the change edits or removes, run on the head as it was on the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseTestRun {
    /// Where it was on the base.
    pub file: String,
    pub command: String,
    pub on_head: ProofEnd,
    /// Tests that fail so, at most 20; none where the tool names none.
    #[serde(default)]
    pub failing: Vec<String>,
}

/// A test that the change adds, run alone several times on the head after the checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatedTest {
    /// As it is declared.
    pub test: String,
    pub file: String,
    /// What runs it alone; none where that is not known.
    pub command: Option<String>,
    /// How often it ran to its end, and how often it failed then.
    pub runs: u32,
    pub failed: u32,
    /// Why it did not run as often as was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<RepetitionGap>,
}

impl RepeatedTest {
    /// Whether it both passed and failed on the same code.
    pub const fn is_flaky(&self) -> bool {
        0 < self.failed && self.failed < self.runs
    }
}

/// Why a test did not run as often as was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepetitionGap {
    /// It is not known how to run it alone.
    NotAlone,
    /// Run alone it ended without a word on it.
    Broken,
    OutOfTime,
}

/// How a run of a test file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofEnd {
    Passed,
    Failed,
    /// It ended without a word on any test: it could not be built, or was cut off.
    Broken,
}
