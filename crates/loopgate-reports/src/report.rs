//! What a report turns into, and how it is to be read.

use loopgate_core::evidence::{
    CheckResults, Failure, Finding, Reconciled, ReportFormat, ReportNote, ReportQuality,
    SlowestTests, TestFramework, TestOutcomes,
};

use super::{coverage::Coverage, pattern::Pattern};

/// How to read a report.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format, if it is known. None: recognised by content.
    pub format: Option<ReportFormat>,
    /// Reads the report as lines of plain text with this expression, whatever else it looks like.
    pub pattern: Option<Pattern>,
    /// Failures kept with their details, and as many findings and flaky names; the rest are counted.
    pub keep: usize,
    /// Whether every test's identity and result are wanted, for comparing attempts: eight bytes a test.
    pub test_outcomes: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            pattern: None,
            keep: 200,
            test_outcomes: false,
        }
    }
}

/// A report of a tool, normalised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The path as it was given, for people.
    pub path: String,
    /// None: not readable, or in no format that is read.
    pub format: Option<ReportFormat>,
    /// The framework that ran the tests, as far as the report shows it.
    pub framework: Option<TestFramework>,
    pub quality: ReportQuality,
    /// What is missing, was mended or made the report invalid, with a path to the place.
    pub notes: Vec<String>,
    /// False if the reading ended before the report did (cut short, malformed, refused): what is here is true, but may
    /// not be all, so a check must not pass on it.
    pub is_whole: bool,
    /// Only reports of tests have results; none of them is `Some` of zeros.
    pub results: Option<CheckResults>,
    /// Failing tests, compile errors, and what a linter calls an error.
    pub failures: Vec<Failure>,
    pub failures_not_kept: u64,
    /// Everything linters, scanners and compilers report, errors included; the most severe are kept.
    pub findings: Vec<Finding>,
    pub findings_not_kept: u64,
    /// What the tool says of its run as a whole, where its single tests do not show it.
    pub reconciled: Reconciled,
    /// What the sum that ends the text counts, where that is no failure although some were read
    /// ([`Report::trust_closing_sum`]).
    pub closing_sum: Option<CheckResults>,
    /// Only lines that other programs write too show its failures ([`Report::trust_status`]).
    pub is_doubtful: bool,
    /// The programs whose tests have begun and are not summed up: a command that runs one of them did not end its run.
    pub begun: Vec<&'static str>,
    /// The test in which the text ends before it sums the run up: what failed, where the command did.
    pub unended: Option<Failure>,
    /// Names of tests that failed and passed.
    pub flaky_tests: Vec<String>,
    /// Of the tests whose duration the report gives.
    pub slowest_tests: SlowestTests,
    pub coverage: Option<Coverage>,
    /// Present if asked for.
    pub test_outcomes: Option<TestOutcomes>,
}

impl Report {
    /// Takes the sum that ends the text for the whole, where it counts no failure: for the output of one runner that
    /// ended with 0 by itself. What else looks like a failure there, a test printed.
    pub fn trust_closing_sum(&mut self) {
        let Some(sum) = self.closing_sum.take() else {
            return;
        };
        self.drop_failures("the runner's own sum, which comes last, counts none");
        self.results = Some(CheckResults {
            flaky: self.results.map_or(0, |results| results.flaky),
            duration_ms: self.results.map_or(0, |results| results.duration_ms),
            ..sum
        });
    }

    /// Takes failures for none that only lines show which other programs write too: for the output of a command that
    /// ended with 0 by itself. A list may look like the names of tests.
    pub fn trust_status(&mut self) {
        if std::mem::take(&mut self.is_doubtful) {
            self.drop_failures("the command ended with 0, and no test runner shows a run");
            self.framework = None;
            self.results = self.results.and_then(|results| {
                let total = results.total - results.failed - results.errors;
                let (failed, errors) = (0, 0);
                (total > 0).then_some(CheckResults {
                    total,
                    failed,
                    errors,
                    ..results
                })
            });
        }
    }

    fn drop_failures(&mut self, since: &str) {
        let printed = self
            .results
            .map_or(0, |results| results.failed + results.errors);
        let printed = printed.max(self.failures.len() as u64 + self.failures_not_kept);
        self.notes
            .push(format!("{printed} printed as failed; {since}"));
        self.quality = ReportQuality::SubOptimal;
        (self.failures, self.failures_not_kept) = Default::default();
        self.reconciled = Reconciled::default();
        if let Some(tests) = &mut self.test_outcomes {
            tests.retain(|test| !test.state().is_failure());
        }
    }

    /// The report's entry in `evidence.json`.
    pub fn note(&self) -> ReportNote {
        ReportNote {
            path: self.path.clone(),
            format: self.format,
            quality: self.quality,
            notes: self.notes.clone(),
        }
    }
}

/// Why the reading of a report ended early; becomes a note of the report.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("does not exist")]
    Missing,
    #[error("is empty")]
    Empty,
    #[error("is in no format that is read here")]
    Unrecognised,
    #[error("is {what}, which is not read: {instead}")]
    Unsupported {
        what: &'static str,
        instead: &'static str,
    },
    #[error("ends inside {place}: cut short")]
    CutShort { place: String },
    #[error("{what}, at {place}")]
    Malformed { what: String, place: String },
    #[error("is to be read with an expression, but none is configured")]
    NoPattern,
    #[error("declares a document type of its own, which is refused: reports need none, attacks do")]
    OwnEntities,
}
