//! What a tool says of its run as a whole, held against what it says of each test.
//!
//! Each parser fills a [`RunWord`] where its format has a place for it. [`Collector::reconcile`] is the one rule for all:
//! what a tool counts and does not name is a failure, and so is a run that the tool itself calls failed where nothing
//! that failed was read.

use loopgate_core::evidence::{CheckResults, ErrorType, Failure, Reconciled};

use crate::{Collector, Flaw, text};

/// Reasons that are kept: a report may hold as many as it likes.
const MAX_REASONS: usize = 5;
/// Parts of a report that are named where no test is.
const MAX_PARTS: usize = 50;
/// Failing tests that a count may add at most, so that sums of hostile counts do not overflow.
const MOST: u64 = 1_000_000_000;

/// The run's own word.
#[derive(Default)]
pub(super) struct RunWord {
    /// All failing tests, by the tool's own count.
    failing: u64,
    /// Failing tests of parts of the report that count them, and name none.
    unnamed: u64,
    /// How many of those are in which part, where that has a name.
    unnamed_in: Vec<(String, u64)>,
    /// The tool says that the run failed, or did not end.
    has_failed: bool,
    /// Its text ends before it sums the run up.
    ended_early: bool,
    /// The programs one of which a command runs that must print that sum.
    begun: Vec<&'static str>,
    /// The test in which it ends.
    unended: Option<Failure>,
    /// How many tests passed and were skipped by the sum that ends the text, where that counts none that failed.
    closing: Option<(u64, u64)>,
    /// The sums so far, of a tool that prints several.
    summed: (u64, u64),
    /// What it says for that.
    reasons: Vec<Failure>,
    /// Failures that only lines show which other programs write too.
    doubtful: u64,
    /// Errors that it tells of a run which it does not call failed.
    complaints: u64,
}

impl RunWord {
    /// How many tests failed in all, by the tool's own count.
    pub fn count_failing(&mut self, tests: usize) {
        self.failing = (tests as u64).min(MOST);
    }

    /// A part of the report counts so many failing tests, and names none.
    pub fn add_unnamed(&mut self, tests: u64) {
        self.unnamed = self.unnamed.saturating_add(tests).min(MOST);
    }

    /// The same, of a part of that name.
    pub fn add_unnamed_in(&mut self, part: &str, tests: u64) {
        self.add_unnamed(tests);
        if self.unnamed_in.len() < MAX_PARTS {
            self.unnamed_in.push((text::name(part), tests.min(MOST)));
        }
    }

    /// The text of a tool that sums each run up ends before it does. Where it has names of `programs`, only a command
    /// that runs one of them must print the sum.
    pub fn end_early(&mut self, programs: &'static [String]) {
        self.ended_early |= programs.is_empty();
        self.begun.extend(programs.iter().map(String::as_str));
    }

    /// The text ends within a test, with no word of what became of that.
    pub fn end_in(&mut self, test: Failure) {
        self.unended = Some(test);
    }

    /// The sum that ends the text counts none that failed.
    pub fn close(&mut self, passed: u64, skipped: u64) {
        self.closing = Some((passed.min(MOST), skipped.min(MOST)));
    }

    /// One of several sums, which count each a part: all of them hold, as long as the last one counts none that failed.
    pub fn add_closing(&mut self, passed: u64, skipped: u64, is_clean: bool) {
        let (passed_before, skipped_before) = self.summed;
        self.summed = (
            passed_before.saturating_add(passed).min(MOST),
            skipped_before.saturating_add(skipped).min(MOST),
        );
        self.closing = Some(self.summed).filter(|_| is_clean);
    }

    /// So many failures only lines show which other programs write too, in a text in which their tool shows no run.
    pub fn doubt(&mut self, failures: u64) {
        self.doubtful = failures;
    }

    /// The tool says that the run failed, and perhaps why. It may be the failing tests that it means.
    pub fn fail(&mut self, reasons: impl IntoIterator<Item = Failure>) {
        self.has_failed = true;
        let room = MAX_REASONS.saturating_sub(self.reasons.len());
        self.reasons.extend(reasons.into_iter().take(room));
    }
}

impl Collector {
    /// The tool tells of an error of its own in a run that it calls a success: it may not have looked at everything.
    pub fn complains(&mut self, error: &Failure) {
        self.run.complaints = self.run.complaints.saturating_add(1).min(MOST);
        self.notes.flaw(Flaw::TOOL_COMPLAINED, || error.reported());
    }

    /// Adds the failures that only the run's own word shows.
    pub fn reconcile(&mut self) {
        let RunWord {
            failing,
            unnamed,
            unnamed_in,
            has_failed,
            ended_early,
            begun,
            unended,
            closing,
            doubtful,
            complaints,
            reasons,
            ..
        } = std::mem::take(&mut self.run);
        let kept = self.report.failures.len() as u64 + self.report.failures_not_kept;
        let counted = self
            .report
            .results
            .map_or(0, |results| results.failed + results.errors);
        let unnamed = unnamed.max(failing.saturating_sub(counted.max(kept)));
        let run_failed = has_failed && kept == 0 && counted == 0;
        self.report.reconciled = Reconciled {
            unnamed,
            run_failed,
            ended_early,
            complaints,
        };
        self.report.begun = begun;
        self.report.unended = unended.filter(|_| ended_early && kept + counted == 0);
        self.report.is_doubtful = doubtful > 0 && doubtful == kept && unnamed == 0;
        self.report.closing_sum =
            closing
                .filter(|_| kept + counted + unnamed > 0)
                .map(|(passed, skipped)| CheckResults {
                    total: passed + skipped,
                    passed,
                    skipped,
                    ..CheckResults::default()
                });
        if unnamed > 0 {
            let results = self.report.results.get_or_insert_default();
            results.failed += unnamed;
            results.total += unnamed;
            let in_parts: u64 = unnamed_in.iter().map(|(_, tests)| tests).sum();
            for (part, tests) in &unnamed_in {
                let file = Some(part).filter(|part| text::looks_like_path(part));
                self.problem(|| Failure {
                    test_file: file.map(|file| text::path(file)),
                    ..Failure::of(
                        ErrorType::Other,
                        unnamed_text(*tests, &format!(" in `{part}`"), counted > 0),
                    )
                });
            }
            let rest = unnamed.saturating_sub(in_parts);
            if rest > 0 {
                let has_others = counted + in_parts > 0;
                self.problem(|| Failure::of(ErrorType::Other, unnamed_text(rest, "", has_others)));
            }
        } else if run_failed {
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

/// What a count says that names no test.
const BY_COUNT: &str = "by the tool's own count";

/// Whether all that is known of a failure is that a tool counts it.
pub fn is_count_alone(failure: &Failure) -> bool {
    failure.named_place().is_none() && failure.error_message.contains(BY_COUNT)
}

fn unnamed_text(tests: u64, part: &str, has_others: bool) -> String {
    let more = if has_others { " more" } else { "" };
    let are = if tests == 1 { "is" } else { "are" };
    format!("{tests}{more} failed{part}, {BY_COUNT}, and {are} not told by name")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read};

    #[test]
    fn a_try_before_a_pass_may_be_counted() {
        let flaky = "<testsuite failures='1'><testcase name='a' time='1'>\
                     <flakyFailure message='late'/></testcase></testsuite>";
        let results = read("junit.xml", flaky.as_bytes(), &ReadOptions::default()).results;
        assert_eq!(
            results.map(|results| (results.flaky, results.failed)),
            Some((1, 0))
        );
    }

    #[test]
    fn a_hostile_count_stays_a_count_and_reasons_are_few() {
        let ctrf =
            r#"{"results":{"summary":{"failed":1e300},"tests":[{"name":"a","status":"passed"}]}}"#;
        let results = read("ctrf.json", ctrf.as_bytes(), &ReadOptions::default()).results;
        assert_eq!(
            results.map(|results| (results.passed, results.failed)),
            Some((1, MOST))
        );
        let most = u64::MAX;
        let suite = format!(
            "<testsuite failures='{most}' errors='{most}'><testcase name='a'/></testsuite>"
        );
        let junit = format!("<testsuites>{}</testsuites>", suite.repeat(3));
        let results = read("junit.xml", junit.as_bytes(), &ReadOptions::default()).results;
        assert_eq!(results.map(|results| results.failed), Some(MOST));
        let mut run = RunWord::default();
        for _ in 0..1_000 {
            run.fail(Some(Failure::default()));
        }
        assert_eq!(run.reasons.len(), MAX_REASONS);
    }
}
