//! What was observed of a commit's checks: outcomes, test results, failures, coverage, findings.
//!
//! These are the types of `evidence.json`. The runner writes them, and they are read back from artifacts that a pull
//! request's own code may have produced. So they are hostile until `github::artifacts` has checked their origin.
//! Reports of tools are turned into [`CheckResults`], [`Failure`]s, [`Finding`]s and [`FileCoverage`] by `reports`.

use std::{borrow::Cow, collections::BTreeMap};

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    evidence::{Analysis, LogExcerpt, TestId, TestOutcomes},
    ids::{CheckName, CheckRunId, Fingerprint, PrNumber, RepoName, Sha, Timestamp, WorkflowRunId},
    untrusted::{harmless, without_secrets},
    words::is_default,
};

/// `schema` of an evidence document.
pub const EVIDENCE_SCHEMA: &str = "loopgate.evidence/v1";

/// Everything one execution of the checks found out about one head commit: `evidence.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// Which workflow run, job and matrix job an evidence document says it comes from.
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
    /// Which leg of the job it is; none where an older Action wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leg: Option<Leg>,
}

impl WorkflowOrigin {
    /// `test (ubuntu-latest, 3.12)`, as GitHub names the jobs of a matrix; its place where the values are not known.
    pub fn job_name(&self) -> String {
        let values: Option<BTreeMap<String, serde_json::Value>> =
            self.matrix.as_deref().and_then(|matrix| serde_json::from_str(matrix).ok());
        let values: Vec<String> = values
            .into_iter()
            .flatten()
            .map(|(_, value)| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        match (values.is_empty(), self.leg) {
            (false, _) => format!("{} ({})", self.job, values.join(", ")),
            (true, Some(leg)) if leg.total > 1 => format!("{} {}/{}", self.job, leg.index + 1, leg.total),
            (true, _) => self.job.clone(),
        }
    }
}

/// One execution of a job: of a matrix, one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leg {
    /// Counts from 0.
    pub index: u32,
    /// Legs of the job.
    pub total: u32,
    /// The check run that the execution is; none where GitHub does not tell its steps (Enterprise Server).
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
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
        Custom = "custom",
    }
}

impl CheckKind {
    /// What a check is for, by a word in its name: the first of the table that is found counts.
    pub fn of_name(name: &str) -> Option<Self> {
        const WORDS: [(&str, CheckKind); 20] = [
            ("continuous-integration", CheckKind::Custom),
            ("integration", CheckKind::Integration),
            ("test", CheckKind::Test),
            ("spec", CheckKind::Test),
            ("cov", CheckKind::Coverage),
            ("codeql", CheckKind::Security),
            ("audit", CheckKind::Security),
            ("security", CheckKind::Security),
            ("lint", CheckKind::Lint),
            ("clippy", CheckKind::Lint),
            ("fmt", CheckKind::Lint),
            ("format", CheckKind::Lint),
            ("types", CheckKind::Types),
            ("typecheck", CheckKind::Types),
            ("mypy", CheckKind::Types),
            ("bench", CheckKind::Performance),
            ("docs", CheckKind::Docs),
            ("build", CheckKind::Build),
            ("compile", CheckKind::Build),
            ("doc", CheckKind::Docs),
        ];
        let name = name.to_ascii_lowercase();
        WORDS.iter().find(|(word, _)| name.contains(word)).map(|(_, kind)| *kind)
    }
}

words! {
    /// How a check ended. Of several jobs of one check, the greatest counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Outcome {
        /// Not run: a needed check failed, or a person skipped it; [`CheckEvidence::skipped_because`] says which.
        Skipped = "skipped",
        Passed = "passed",
        /// Ended from outside (Ctrl-C, a cancelled workflow): says nothing about the code.
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
        matches!(self, Self::Failed | Self::TimedOut | Self::NoTestsExecuted | Self::ResultsLost)
    }
}

/// How a failing check may be retried. Of several failing checks, the greatest decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// How every test ended, so that a later failure of one that passed is known to be a regression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestOutcomes>,
    /// Where people can read the full log (the check run's page).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What the output of each failed job says of the failure: at most [`MOST_EXCERPTS`](super::MOST_EXCERPTS).
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
            exit_code: None,
            first_exit_code: None,
            signal: None,
            started_at: None,
            duration_ms: 0,
            cpu_ms: None,
            peak_rss_kb: None,
            skipped_because: None,
            retry_class: None,
            log_head: String::new(),
            log_tail: String::new(),
            log_cut_bytes: 0,
            results: None,
            reports: Vec::new(),
            failures: Vec::new(),
            failures_not_kept: 0,
            flaky_tests: Vec::new(),
            findings: Vec::new(),
            tests: None,
            url: None,
            excerpts: Vec::new(),
        }
    }

    /// Whether tests were run here whose single results are not known, so that only the exit status counts. Of checks
    /// that others ran, single results are never known.
    pub fn has_unread_tests(&self) -> bool {
        let is_test = matches!(self.kind, CheckKind::Test | CheckKind::Integration);
        let ended = matches!(self.outcome, Outcome::Passed | Outcome::Failed);
        is_test && ended && self.exit_code.is_some() && self.results.is_none()
    }

    /// A check of tests that reported, and none was there.
    pub fn ran_no_test(&self) -> bool {
        let is_test = matches!(self.kind, CheckKind::Test | CheckKind::Integration);
        is_test && self.results.is_some_and(|results| results.total == 0)
    }

    pub fn duration(&self) -> TimeDelta {
        TimeDelta::milliseconds(i64::try_from(self.duration_ms).unwrap_or(i64::MAX / 1_000_000))
    }
}

/// Counts over the tests of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckResults {
    pub total: u64,
    pub passed: u64,
    pub failed: u64,
    pub errors: u64,
    pub skipped: u64,
    /// Counted among `passed` too: they failed and passed on the same code.
    pub flaky: u64,
    pub duration_ms: u64,
    pub coverage_percent: Option<f64>,
}

impl CheckResults {
    /// Adds another report's counts; the coverage of the first that has one stays.
    pub fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.errors = self.errors.saturating_add(other.errors);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.flaky = self.flaky.saturating_add(other.flaky);
        self.duration_ms = self.duration_ms.saturating_add(other.duration_ms);
        self.coverage_percent = self.coverage_percent.or(other.coverage_percent);
    }
}

/// A report file that was read, and how well it could be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportNote {
    pub path: String,
    pub format: Option<ReportFormat>,
    pub quality: ReportQuality,
    /// What is missing or wrong, with a path to the place.
    pub notes: Vec<String>,
}

/// How much of a report could be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportQuality {
    #[default]
    Valid,
    /// Usable, with something missing or mended; the notes say what.
    SubOptimal,
    Invalid,
}

words! {
    /// The report formats Loopgate reads.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum ReportFormat {
        Junit = "junit",
        GoTestJson = "go_test_json",
        CargoTest = "cargo_test",
        LibtestJson = "libtest_json",
        CargoMessages = "cargo_messages",
        Tap = "tap",
        Trx = "trx",
        EslintJson = "eslint_json",
        Sarif = "sarif",
        Checkstyle = "checkstyle",
        Lcov = "lcov",
        Cobertura = "cobertura",
        Jacoco = "jacoco",
        Clover = "clover",
        LlvmCovJson = "llvm_cov_json",
        GoCover = "go_cover",
        GithubAnnotations = "github_annotations",
        /// What `jest --json` and Vitest's `json` reporter write.
        JestJson = "jest_json",
        /// The text of Python's `unittest`, and of Django's tests.
        PythonUnittest = "python_unittest",
        /// NUnit 3.
        NunitXml = "nunit_xml",
        /// xUnit.net v2.
        XunitXml = "xunit_xml",
        RuffJson = "ruff_json",
        GolangciJson = "golangci_json",
        MypyJson = "mypy_json",
        /// What the test runner of Dart and Flutter writes for machines.
        DartJson = "dart_json",
        PlaywrightJson = "playwright_json",
        MochaJson = "mocha_json",
        RspecJson = "rspec_json",
        /// The Common Test Report Format.
        Ctrf = "ctrf",
        /// What test runners, compilers and linters print for people, read block by block.
        Console = "console",
        /// Plain text read with a configured regular expression.
        Regex = "regex",
    }
}

words! {
    /// The normalised type of an error; the tool's own class is kept in [`Failure::error_class`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum ErrorType {
        AssertionError = "AssertionError",
        TypeError = "TypeError",
        ReferenceError = "ReferenceError",
        SyntaxError = "SyntaxError",
        RuntimeError = "RuntimeError",
        TimeoutError = "TimeoutError",
        NetworkError = "NetworkError",
        ValidationError = "ValidationError",
        CompileError = "CompileError",
        LintError = "LintError",
        #[default]
        Other = "Other",
    }
}

/// One failure: a test, a compile error, a lint finding that fails its check.
///
/// Everything but the enums is text from outside; `render` makes it safe to show.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    pub test_name: Option<String>,
    pub test_file: Option<String>,
    pub error_type: ErrorType,
    /// The tool's own word for it: `panic`, `AssertionError`, `E0308`.
    pub error_class: Option<String>,
    pub error_message: String,
    pub stack_trace: Option<String>,
    /// The line of the failing assertion in `test_file`, from 1.
    pub line_number: Option<u32>,
    pub expected: Option<String>,
    pub actual: Option<String>,
    /// The place in the repository's own code the failure points at.
    pub source: Option<SourceLocation>,
    /// The directory, from the top of the repository, in which the test's tool ran it, where that is another one than the
    /// check's: a package of a workspace, a module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The matrix job that brought it, known where evidence is gathered.
    #[serde(skip)]
    pub job: Option<String>,
    /// Absent until [`failure::fingerprint`](crate::failure) has been computed.
    pub fingerprint: Option<Fingerprint>,
    /// Finds the test in the [`TestOutcomes`](crate::evidence::TestOutcomes) of another attempt; none for what is not a
    /// test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_id: Option<TestId>,
    /// What was answered to it in its review thread, and by whom. Nothing else depends on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What an analyzer command made of it: advice, which decides nothing about blame, retries or gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
}

impl Failure {
    /// The class of a failure that is about the workflow and not about the code: an action could not do its work.
    pub const OF_WORKFLOW: &str = "workflow";
    /// The class of an AI reviewer's finding.
    pub const OF_REVIEWER: &str = "review";

    /// What the tool reports, as it may be shown ([`harmless`]): its own word for the failure (`F841`, `TypeError`), where
    /// that says something that its message does not, and the message.
    pub fn reported(&self) -> Cow<'_, str> {
        let says_more = |class: &&str| {
            self.error_type != ErrorType::AssertionError
                && !matches!(
                    *class,
                    "" | "panic" | "Error" | "report" | "rejected" | Self::OF_WORKFLOW | Self::OF_REVIEWER
                )
                && !self.error_message.contains(class)
        };
        match self.error_class.as_deref().filter(says_more) {
            Some(class) => harmless(&format!("{class}: {}", self.error_message.trim_start())).into_owned().into(),
            None => harmless(&self.error_message),
        }
    }

    /// The trace as it may be shown.
    pub fn shown_trace(&self) -> Option<Cow<'_, str>> {
        self.stack_trace.as_deref().map(harmless)
    }

    /// What was expected and what came, without secrets: for comparing, nothing else in them changes.
    pub fn shown_sides(&self) -> [Option<Cow<'_, str>>; 2] {
        [&self.expected, &self.actual].map(|side| side.as_deref().map(without_secrets))
    }

    /// The best place to look at: where the code failed, else where the test stands.
    pub fn location(&self) -> Option<(&str, Option<u32>)> {
        match (&self.source, &self.test_file) {
            (Some(source), _) => Some((&source.file, source.line)),
            (None, Some(file)) => Some((file, self.line_number)),
            (None, None) => None,
        }
    }
}

/// A place in a file, lines counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceLocation {
    pub file: String,
    pub line: Option<u32>,
    pub function: Option<String>,
}

/// How bad a finding of a linter or scanner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    Note,
    Low,
    Medium,
    High,
    Critical,
}

/// A finding of a linter or scanner (SARIF, ESLint, checkstyle, annotations).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub rule: String,
    pub severity: FindingSeverity,
    pub message: String,
    pub location: Option<SourceLocation>,
}

/// Coverage of the lines a pull request changed, as kept in `evidence.json`.
///
/// Figures from a document are claims until [`coverage::believe`](crate::verdict::coverage::believe) has checked them.
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

/// Execution counts of one file's executable lines, as a coverage report gives them: line (from 1) → hits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCoverage {
    pub path: String,
    pub lines: BTreeMap<u32, u64>,
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
    WORDS.iter().find(|(word, _)| command.contains(word)).map_or(TestFramework::Other, |(_, framework)| *framework)
}

/// SHA-256 over a tree id, in hex: what every document calls the *hash* of an artifact.
pub fn tree_hash(tree: Sha) -> String {
    hex::encode(Sha256::digest(tree.to_string().as_bytes()))
}
