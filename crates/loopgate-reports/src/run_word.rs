//! What a tool says of its run as a whole, held against what it says of each test.
//!
//! Each parser fills a [`RunWord`] where its format has a place for it. [`Collector::reconcile`] is the one rule for all:
//! what a tool counts and does not name is a failure, and so is a run that the tool itself calls failed where nothing
//! that failed was read.

use loopgate_core::evidence::{ErrorType, Failure};

use crate::Collector;

/// The run's own word.
#[derive(Default)]
pub(super) struct RunWord {
    /// All failing tests, by the tool's own count.
    failing: u64,
    /// Failing tests of parts of the report that count them, and name none.
    unnamed: u64,
    /// The tool says that the run failed, or did not end.
    has_failed: bool,
    /// What it says for that.
    reasons: Vec<Failure>,
}

impl RunWord {
    /// How many tests failed in all, by the tool's own count.
    pub fn count_failing(&mut self, tests: usize) {
        self.failing = tests as u64;
    }

    /// A part of the report counts so many failing tests, and names none.
    pub fn add_unnamed(&mut self, tests: u64) {
        self.unnamed = self.unnamed.saturating_add(tests);
    }

    /// The tool says that the run failed, and perhaps why. It may be the failing tests that it means.
    pub fn fail(&mut self, reasons: impl IntoIterator<Item = Failure>) {
        self.has_failed = true;
        self.reasons.extend(reasons);
    }
}

impl Collector {
    /// Adds the failures that only the run's own word shows.
    pub fn reconcile(&mut self) {
        let RunWord {
            failing,
            unnamed,
            has_failed,
            reasons,
        } = std::mem::take(&mut self.run);
        let kept = self.report.failures.len() as u64 + self.report.failures_not_kept;
        let counted = self
            .report
            .results
            .map_or(0, |results| results.failed + results.errors);
        let unnamed = unnamed.max(failing.saturating_sub(counted.max(kept)));
        if unnamed > 0 {
            let results = self.report.results.get_or_insert_default();
            results.failed += unnamed;
            results.total += unnamed;
            self.problem(|| Failure::of(ErrorType::Other, unnamed_text(unnamed, counted > 0)));
        } else if has_failed && kept == 0 && counted == 0 {
            if reasons.is_empty() {
                self.problem(|| {
                    let text = "the run failed, by the tool's own word; the report has no reason";
                    Failure::of(ErrorType::Other, text)
                });
            }
            for reason in reasons {
                self.problem(|| reason);
            }
        }
    }
}

fn unnamed_text(tests: u64, has_others: bool) -> String {
    let more = if has_others { " more" } else { "" };
    match tests {
        1 => format!("1{more} failed, by the tool's own count, and is not told by name"),
        tests => format!("{tests}{more} failed, by the tool's own count, and are not told by name"),
    }
}
