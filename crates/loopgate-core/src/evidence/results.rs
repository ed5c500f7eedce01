//! What the reports of a check contain: formats, counts, failures and findings, which `reports` reads; and why code
//! fails, in one of thirteen words.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    evidence::TestId,
    ids::{Fingerprint, Score},
    text::one_line,
    untrusted::{harmless, without_secrets},
    words::is_default,
};

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
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum ReportQuality {
    #[default]
    Valid,
    /// Usable, with something missing or mended; the notes show what.
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
        /// What other linters, type checkers and scanners write: pyright, pylint, RuboCop, oxlint, stylelint, shellcheck,
        /// bandit, semgrep, PHPStan, GitLab's code quality, rdjson.
        LinterJson = "linter_json",
        /// What the test runner of Dart and Flutter writes for machines.
        DartJson = "dart_json",
        PlaywrightJson = "playwright_json",
        MochaJson = "mocha_json",
        RspecJson = "rspec_json",
        /// What Cucumber of any language and behave write as JSON.
        CucumberJson = "cucumber_json",
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

/// What a tool says of its run as a whole, where its single tests do not show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reconciled {
    /// Failing tests that it counts and does not name.
    #[serde(skip_serializing_if = "is_default")]
    pub unnamed: u64,
    /// It calls the run failed, though no test that it lists did.
    #[serde(skip_serializing_if = "is_default")]
    pub run_failed: bool,
    /// Its text ends before it sums the run up.
    #[serde(skip_serializing_if = "is_default")]
    pub ended_early: bool,
    /// Errors that it tells of its own run, and calls it a success all the same.
    #[serde(skip_serializing_if = "is_default")]
    pub complaints: u64,
}

impl Reconciled {
    /// Of two reports of one check.
    pub fn add(&mut self, other: Self) {
        self.unnamed = self.unnamed.saturating_add(other.unnamed);
        self.run_failed |= other.run_failed;
        self.ended_early |= other.ended_early;
        self.complaints = self.complaints.saturating_add(other.complaints);
    }
}

words! {
    /// What became of the command that runs a failing test alone, when it was executed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum ReproduceProof {
        /// It failed in this test.
        Proven = "proven",
        /// It ran nothing or something else, or was not executed in time: the check's own command stands in its place.
        Dropped = "dropped",
    }
}

/// One failure: a test, a compile error, a lint finding that fails its check.
///
/// Everything but the enums is text from outside; `render` makes it safe to show.
#[derive(Clone, Debug, Default, PartialEq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    pub test_name: Option<String>,
    pub test_file: Option<String>,
    pub error_type: ErrorType,
    /// The tool's own name for it: `panic`, `AssertionError`, `E0308`.
    pub error_class: Option<String>,
    pub error_message: String,
    pub stack_trace: Option<String>,
    /// The line of the failing assertion in `test_file`, from 1.
    pub line_number: Option<u32>,
    pub expected: Option<String>,
    pub actual: Option<String>,
    /// The place in the repository's own code the failure points at.
    pub source: Option<SourceLocation>,
    /// The directory, from the top of the repository, in which the test's tool ran it, where that is another one than
    /// the check's: a package of a workspace, a module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Whether the command that runs it alone was executed; none where nobody could.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<ReproduceProof>,
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

    /// A failure of which only the type and the message are known.
    pub fn of(error_type: ErrorType, error_message: impl Into<String>) -> Self {
        Self {
            error_type,
            error_message: error_message.into(),
            ..Self::default()
        }
    }

    /// What the tool reports, as it may be shown ([`harmless`]): its own name for the failure (`F841`, `TypeError`),
    /// where that shows something that its message does not, and the message.
    pub fn reported(&self) -> Cow<'_, str> {
        let says_more = |class: &&str| {
            self.error_type != ErrorType::AssertionError
                && !matches!(
                    *class,
                    "" | "panic"
                        | "Error"
                        | "report"
                        | "rejected"
                        | Self::OF_WORKFLOW
                        | Self::OF_REVIEWER
                )
                && !self.error_message.contains(class)
        };
        match self.error_class.as_deref().filter(says_more) {
            Some(class) => harmless(&format!("{class}: {}", self.error_message.trim_start()))
                .into_owned()
                .into(),
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

    /// The best place to look at: where the code failed, else where the test stands. What leads out of the repository
    /// is no place.
    pub fn location(&self) -> Option<(&str, Option<u32>)> {
        self.named_places().find(|(file, _)| stays_inside(file))
    }

    /// The best place as its tool names it, wherever that is.
    pub fn named_place(&self) -> Option<(&str, Option<u32>)> {
        self.named_places().next()
    }

    fn named_places(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        let source = self.source.as_ref();
        let source = source.map(|source| (source.file.as_str(), source.line));
        let of_test = self.test_file.as_deref();
        let of_test = of_test.map(|file| (file, self.line_number));
        [source, of_test].into_iter().flatten()
    }
}

/// Adds to a message where its tool says that it belongs, unless it says so itself: words, where there is no place.
pub fn mention_place(message: &mut String, file: &str, line: Option<u32>) {
    if file.is_empty() || message.contains(file) {
        return;
    }
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    let file = one_line(file, LONGEST_MENTIONED);
    message.push_str(&format!("\n(reported at {file}{line})"));
}

/// Longest path that a message mentions, in bytes.
const LONGEST_MENTIONED: usize = 200;

/// Whether a path, followed from the top of a repository, stays below it.
pub fn stays_inside(path: &str) -> bool {
    let leads_out = |part| part == "..";
    let begins_elsewhere =
        path.starts_with(['/', '\\', '~']) || path.contains(":/") || path.contains(":\\");
    !path.is_empty()
        && !begins_elsewhere
        && !path.split(['/', '\\']).any(leads_out)
        && !path.contains(char::is_control)
}

/// A place in a file, lines counted from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceLocation {
    pub file: String,
    pub line: Option<u32>,
    pub function: Option<String>,
}

/// How bad a finding of a linter or scanner is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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

impl Finding {
    /// The failure that it is, where its tool ends with an error for it.
    pub fn as_failure(&self) -> Failure {
        Failure {
            error_class: Some(self.rule.clone()).filter(|rule| !rule.is_empty()),
            source: self.location.clone(),
            ..Failure::of(ErrorType::LintError, self.message.clone())
        }
    }
}

words! {
    /// Category of a failure's root cause.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum RootCauseCategory {
        NullUndefinedAccess = "null_undefined_access",
        TypeMismatch = "type_mismatch",
        MissingValidation = "missing_validation",
        LogicError = "logic_error",
        OffByOne = "off_by_one",
        RaceCondition = "race_condition",
        ResourceLeak = "resource_leak",
        MissingErrorHandling = "missing_error_handling",
        ApiMisuse = "api_misuse",
        ConfigurationError = "configuration_error",
        DependencyIssue = "dependency_issue",
        Environment = "environment",
        #[default]
        Other = "other",
    }
}

/// How sure a conclusion is, between 0 and 1.
pub type Confidence = Score;

/// Why something failed and how to mend it. The texts hold names and values from outside, as code spans.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Analysis {
    pub root_cause: String,
    pub category: RootCauseCategory,
    pub fix_strategy: String,
    pub confidence: Confidence,
    /// Names of the known messages that were found; the one that explains the failure first.
    #[serde(default, alias = "patterns_matched")]
    pub rules_matched: Vec<String>,
    /// Other failures with the same root cause, by test name or place.
    #[serde(default)]
    pub related: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_documents() {
        for category in [
            RootCauseCategory::NullUndefinedAccess,
            RootCauseCategory::OffByOne,
            RootCauseCategory::Other,
        ] {
            assert_eq!(serde_json::to_value(category).unwrap(), category.as_str());
        }
    }

    #[test]
    fn confidence_stays_between_zero_and_one() {
        assert_eq!(
            serde_json::to_string(&Confidence::percent(85)).unwrap(),
            "0.85"
        );
        assert_eq!(
            serde_json::from_str::<Confidence>("0.29").unwrap(),
            Confidence::percent(29)
        );
        for wrong in ["1.01", "-0.1", "\"x\"", "null"] {
            assert!(
                serde_json::from_str::<Confidence>(wrong).is_err(),
                "{wrong}"
            );
        }
        assert_eq!(Confidence::percent(90).shifted(20), Confidence::percent(98));
        assert_eq!(Confidence::percent(10).shifted(-20), Confidence::percent(5));
    }
}
