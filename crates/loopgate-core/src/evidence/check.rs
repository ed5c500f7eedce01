//! What one check is evidence of: how it ended, and what its tools and its output show.

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{CheckResults, Failure, Finding, Reconciled, ReportNote, SlowestTests, TestOutcomes};
use crate::{
    ids::{CheckName, Timestamp},
    untrusted::quote,
    words::is_default,
};

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
    /// What the output of each failed job shows of the failure: at most [`MOST_EXCERPTS`].
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
