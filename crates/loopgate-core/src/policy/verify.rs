//! The `verify:` section: which checks there are and whose evidence counts.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{NameGlob, Pattern, Severity};
use crate::{
    evidence::{CheckKind, FindingSeverity},
    ids::CheckName,
    observed::{Conclusion, ExternalCheck},
};

/// The `verify:` section: which checks there are and whose evidence counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VerifyPolicy {
    /// Workflow files whose evidence artifacts are accepted, without `@ref`.
    pub workflows: Vec<String>,
    /// In the order they were written.
    pub checks: IndexMap<CheckName, CheckPolicy>,
    /// A command that is asked what it makes of the failures: JSON in, JSON out. Only `verify` runs it.
    pub analyzer: Option<String>,
    pub logs: ReadLogs,
}

impl VerifyPolicy {
    /// The AI reviewers among the checks.
    pub fn reviewers(&self) -> impl Iterator<Item = (&CheckName, &ReviewerSource)> {
        self.checks
            .iter()
            .filter_map(|(name, check)| Some((name, check.reviewer()?)))
    }
}

words! {
    /// Whether the logs of failed jobs are read and lines of them quoted: always, in private repositories alone, never.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum ReadLogs {
        #[default]
        On = "on",
        Private = "private",
        Off = "off",
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckPolicy {
    pub kind: CheckKind,
    pub source: CheckSource,
    /// It was found by looking at the project; else it was written in the configuration.
    pub is_detected: bool,
}

impl CheckPolicy {
    const fn reviewer(&self) -> Option<&ReviewerSource> {
        if let CheckSource::Reviewer(reviewer) = &self.source {
            Some(reviewer)
        } else {
            None
        }
    }

    /// How much its failure matters.
    pub fn severity(&self) -> Severity {
        self.reviewer()
            .map_or(self.kind.severity(), |reviewer| reviewer.severity)
    }

    /// Whether it is only shown: it holds no verdict and costs no attempt.
    pub fn is_opinion(&self) -> bool {
        self.reviewer()
            .is_some_and(|reviewer| reviewer.severity != Severity::Fail)
    }
}

/// Where a check's evidence comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckSource {
    Command(CommandCheck),
    External(ExternalSource),
    Reviewer(ReviewerSource),
}

/// An AI reviewer, whose review threads are a check (`reviewers`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewerSource {
    /// The App's slug.
    pub app: String,
    /// Only with [`Severity::Fail`] it holds the verdict, is waited for and costs attempts.
    pub severity: Severity,
    /// Findings that say they are less than this are left out.
    pub at_least: FindingSeverity,
    /// A reviewer who says nothing on a head for so long is absent.
    pub timeout: TimeDelta,
}

/// The environment variable that names a new, empty directory to each command: every file that the command leaves
/// there is read as a report. So a tool can be asked for a report without a place for it in the working tree.
pub const REPORTS_VARIABLE: &str = "LOOPGATE_REPORTS";

/// A command executed by the Action or the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandCheck {
    /// One shell line.
    pub run: String,
    /// Relative to the repository's root.
    pub working_directory: Option<String>,
    pub environment: BTreeMap<String, String>,
    /// 5–600 s by default 120 s; up to 21,600 s where `verify.max_timeout_seconds` allows it.
    pub timeout: TimeDelta,
    /// Globs of report files, relative to the working directory.
    pub reports: Vec<String>,
    pub needs: Vec<CheckName>,
    /// It passes although it is a test check and executed no test.
    pub allow_empty: bool,
    /// What fails it besides its exit status: findings of a tool that ends with 0. Where it is not said, an error of a
    /// type checker does, and none of a linter or scanner.
    pub fail_on: Option<FailOn>,
    /// What tests mean that passed when they were tried again.
    pub flaky: FlakyTests,
    /// Stop the other checks as soon as this one fails.
    pub fail_fast: bool,
    /// Its output is shown while it runs; else only its outcome.
    pub verbose: bool,
    /// Reads failures out of output that has no known format: the named groups `test`, `file`, `line` and `message`
    /// of each match are a failure's.
    pub report_pattern: Option<Pattern>,
}

impl CommandCheck {
    /// A command with every other setting at its default.
    pub fn new(run: impl Into<String>) -> Self {
        Self {
            run: run.into(),
            working_directory: None,
            environment: BTreeMap::new(),
            timeout: TimeDelta::seconds(120),
            reports: Vec::new(),
            needs: Vec::new(),
            allow_empty: false,
            fail_on: None,
            flaky: FlakyTests::default(),
            fail_fast: false,
            verbose: true,
            report_pattern: None,
        }
    }
}

words! {
    /// What fails a check of kind lint, types or security (`fail_on`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum FailOn {
        /// The exit status of its command.
        Exit = "exit",
        /// That, or a finding that its tool calls an error.
        Error = "error",
        /// That, or a finding that its tool calls a warning or more.
        Warning = "warning",
    }
}

words! {
    /// What tests mean that passed when they were tried again (`flaky`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum FlakyTests {
        /// They pass, and nothing is said of them.
        Pass = "pass",
        /// They pass, and are named.
        #[default]
        Warn = "warn",
        /// They fail the check, which tries none of them again.
        Fail = "fail",
    }
}

/// An existing check run or commit status that feeds the loop.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalSource {
    pub name: NameGlob,
    /// Slug of the App that must own it; any App when absent.
    pub app: Option<String>,
    /// What a skipped job means; of checks of kind build and test only.
    pub when_skipped: WhenSkipped,
}

words! {
    /// What the skipped job of a followed check means (`when_skipped`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum WhenSkipped {
        /// It waits where a job that it needs failed, or where nothing of its kind ran although it usually does.
        #[default]
        Auto = "auto",
        /// It waits for a person.
        Wait = "wait",
        /// Nothing is expected of it.
        Pass = "pass",
    }
}

impl ExternalSource {
    /// Whether it is fed by this check run or status.
    pub fn takes(&self, check: &ExternalCheck) -> bool {
        let app = check.app.as_deref();
        let is_skipped = check.progress.conclusion() == Some(Conclusion::Skipped);
        self.is_of(&check.name, app) || is_skipped && self.may_take(&check.name, app)
    }

    /// Whether a check run or status of this name and App may feed it, however it ends.
    pub fn may_take(&self, name: &str, app: Option<&str>) -> bool {
        self.is_of(name, app) || self.is_of_app(app) && self.is_unexpanded(name)
    }

    fn is_of(&self, name: &str, app: Option<&str>) -> bool {
        self.is_of_app(app) && self.name.matches(name)
    }

    fn is_of_app(&self, app: Option<&str>) -> bool {
        self.app.as_deref().is_none_or(|wanted| app == Some(wanted))
    }

    /// Whether it may be the one check run of a job that is skipped before its matrix is expanded, or before the
    /// workflow that it calls is read: it has the job's own name, in which expressions stand as they are written.
    fn is_unexpanded(&self, name: &str) -> bool {
        let pattern = self.name.as_str();
        let mut ends = [" (", " / "]
            .iter()
            .flat_map(|end| pattern.match_indices(end));
        let is_job = |job: &str| {
            let is_plain = !job.contains(['*', '?', '[', '{', '\\']);
            job == name || !is_plain && NameGlob::parse(job).is_ok_and(|glob| glob.matches(name))
        };
        ends.any(|(at, _)| is_job(&pattern[..at])) || is_written_as(pattern, name)
    }
}

/// Whether a name with unexpanded expressions may become this one.
fn is_written_as(expanded: &str, name: &str) -> bool {
    let Some((start, rest)) = name.split_once("${{") else {
        return false;
    };
    // The texts behind the expressions.
    let mut texts: Vec<&str> = Vec::new();
    for part in rest.split("${{") {
        texts.push(part.split_once("}}").map_or("", |(_, text)| text));
    }
    // One of expressions alone may become everybody's.
    let says = |text: &&str| text.contains(char::is_alphanumeric);
    if !texts.iter().chain([&start]).any(says) {
        return false;
    }
    let end = texts.pop().unwrap_or_default();
    let inner = expanded.strip_prefix(start);
    let Some(mut inner) = inner.and_then(|rest| rest.strip_suffix(end)) else {
        return false;
    };
    texts.into_iter().all(|text| {
        let after = inner.split_once(text).map(|(_, after)| after);
        inner = after.unwrap_or_default();
        after.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_job_is_taken_by_its_unexpanded_name() {
        let takes = |pattern: &str, name: &str| {
            let source = ExternalSource {
                name: NameGlob::parse(pattern).unwrap(),
                app: None,
                when_skipped: WhenSkipped::default(),
            };
            source.may_take(name, None)
        };
        for (pattern, name) in [
            ("CLI test / *", "CLI test"),
            ("test (*)", "test"),
            ("test (ubuntu-*, 22)", "test"),
            ("ci / unit (*)", "ci"),
            ("ci / unit (*)", "ci / unit"),
            ("*-tests / *", "unit-tests"),
            (
                "React 18 on linux",
                "React ${{ matrix.react }} on ${{ matrix.os }}",
            ),
            ("ci / PHP 8.3", "ci / PHP ${{ matrix.php }}"),
        ] {
            assert!(takes(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("test", "tests"),
            ("test (*)", "tests"),
            ("CLI test / *", "CLI"),
            (
                "Vue 3 on linux",
                "React ${{ matrix.react }} on ${{ matrix.os }}",
            ),
            (
                "React 18 for linux",
                "React ${{ matrix.react }} on ${{ matrix.os }}",
            ),
            ("ab", "ab${{ x }}b"),
            ("unit", "${{ matrix.name }}"),
            ("ci / unit", "${{ matrix.a }} / ${{ matrix.b }}"),
        ] {
            assert!(!takes(pattern, name), "{pattern} {name}");
        }
    }
}
