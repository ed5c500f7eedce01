//! How many tests there were, as tools sum up: `2 failed, 5 passed`, `Tests: 3, Failures: 1`, `4 examples, 1 failure`.

use std::collections::BTreeSet;

use loopgate_core::evidence::TestState;

use crate::{Collector, Flaw};

/// The sums of all runs in a text.
#[derive(Default)]
pub(super) struct Counts {
    has_sums: bool,
    /// The tools that have begun and sum up what they ran.
    pub opened: BTreeSet<usize>,
    /// Sums that are over, and the last one: lines that follow each other.
    earlier: Sum,
    last: Sum,
    /// A line that sums nothing up stands behind the last sum.
    is_interrupted: bool,
    /// Failing tests and errors that were reported one by one.
    pub failures_found: u64,
    pub errors_found: u64,
    /// Tests that unittest reported one by one and has not summed up yet.
    pub unsummed: u64,
    /// Tests that passed when they were tried again, which a sum counts among those that passed.
    pub flaky_found: u64,
    /// The last sum of a tool whose sums count what the sums before them did.
    running: Option<String>,
    /// Failures that one tool sums up and a tool run by it reports.
    pub reported_inside: u64,
}

/// What one or several lines sum up.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// Tests of which no more is said.
    total: u64,
    /// Of each kind in [`WORDS`].
    of_kind: [u64; WORDS.len()],
}

impl Sum {
    fn plus(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            of_kind: std::array::from_fn(|kind| self.of_kind[kind] + other.of_kind[kind]),
        }
    }
}

/// The words for tests that failed, errors, tests that passed, tests that were skipped, and tries after the first (as
/// pytest-rerunfailures counts them).
const WORDS: [&str; 5] = [
    "failed failures failure failing fail interrupted cancelled aborted undefined ambiguous timeout invalid",
    "errors error",
    "passed passing pass successful successes xpassed unexpectedsuccesses flaky ok",
    "skipped skip skips pending pendings omissions todo xfailed expectedfailures incomplete risky disabled excluded ignored not",
    "rerun",
];
/// Where those skipped stand in [`WORDS`].
const SKIPPED: usize = 3;
const TOTAL: &str = "tests test examples example specs spec doctests doctest properties property total completed run runs";

impl Counts {
    /// Adds what a line sums up: numbers in front of their words, or words in front of their numbers.
    pub fn add(&mut self, text: &str) {
        self.has_sums = true;
        if std::mem::take(&mut self.is_interrupted) {
            self.earlier = self.earlier.plus(std::mem::take(&mut self.last));
        }
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let number = |word: &String| word.parse::<u64>().ok();
        let starts_with_number = words.first().and_then(number).is_some();
        let mut total = None;
        let mut parts = 0;
        for (at, count) in words
            .iter()
            .enumerate()
            .filter_map(|(at, word)| Some((at, number(word)?.min(1 << 40))))
        {
            let meant: Vec<&str> = match starts_with_number {
                true => words[at + 1..]
                    .iter()
                    .take_while(|word| number(word).is_none())
                    .map(String::as_str)
                    .collect(),
                false => words[..at].last().map(String::as_str).into_iter().collect(),
            };
            let is = |known: &str| known.split(' ').any(|word| meant.contains(&word));
            match WORDS.iter().position(|known| is(known)) {
                Some(kind) => {
                    self.last.of_kind[kind] += count;
                    parts += count;
                }
                // `out of 3` and `3 tests` are all of them.
                None if meant.is_empty() || is(TOTAL) => total = Some(total.unwrap_or(0) + count),
                None => {}
            }
        }
        if let Some(total) = total {
            // A tool that prints the sum may leave out how many passed or were skipped, and unittest how many failed.
            let parts = parts + std::mem::take(&mut self.unsummed);
            self.last.total += total.saturating_sub(parts);
        }
    }

    /// So many of the tests in the last sum, of which no more is said there, were skipped.
    pub fn skip(&mut self, tests: &str) {
        let skipped = tests.parse::<u64>().unwrap_or(0).min(self.last.total);
        self.last.total -= skipped;
        self.last.of_kind[SKIPPED] += skipped;
    }

    /// A sum of all tests so far: it takes the place of the one before.
    pub fn sum_up(&mut self, text: &str) {
        self.has_sums = true;
        self.running = Some(text.to_owned());
    }

    /// A line that sums nothing up.
    pub fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    /// How many tests passed and were skipped by the last sum, if that counts none that failed.
    pub fn closing(&self) -> Option<(u64, u64)> {
        let [failed, errors, passed, skipped, _] = self.last.of_kind;
        let is_clean = self.has_sums && failed + errors == 0;
        is_clean.then_some((passed + self.last.total, skipped))
    }

    /// Counts the tests that were summed up and not reported one by one; false if nothing was summed up.
    pub fn count_rest(&mut self, out: &mut Collector) -> bool {
        if let Some(sum) = self.running.take() {
            self.add(&sum);
        }
        if !self.has_sums {
            return false;
        }
        let Sum { total, of_kind } = self.earlier.plus(self.last);
        let [failed, errors, passed, skipped, reruns] = of_kind;
        // Which test was tried again is not known: where nothing fails, at least one of those that passed.
        let flaky = u64::from(reruns > 0 && failed + errors == 0).min(passed);
        let passed = (passed + total - flaky).saturating_sub(self.flaky_found);
        out.anonymous_cases(TestState::Passed, passed);
        out.anonymous_cases(TestState::Flaky, flaky);
        out.anonymous_cases(TestState::Skipped, skipped);
        let failed = failed.saturating_sub(self.reported_inside);
        // Blocks do not always show which of both a failing test is.
        let errors_found = self.errors_found + self.failures_found.saturating_sub(failed);
        let failures_found = self.failures_found.min(failed);
        let (more_failed, more_errors) =
            (failed - failures_found, errors.saturating_sub(errors_found));
        // Where none is told, what stands beside the sum may say more than a count.
        if out.failed() > 0 {
            out.run.add_unnamed(more_failed + more_errors);
        } else {
            out.anonymous_cases(TestState::Failed, more_failed);
            out.anonymous_cases(TestState::Errored, more_errors);
        }
        if more_failed + more_errors > 0 {
            let (announced, found) = (failed + errors, failures_found + errors_found);
            out.notes.flaw(Flaw::WRONG_TOTAL, || {
                format!("{announced} failures, of which {found} are told of")
            });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_many_tools() {
        let cases = [
            (
                "2 failed, 5 passed, 1 skipped, 3 warnings, 1 error",
                (2, 1, 5, 1),
            ),
            ("1 failed, 2 passed, 21 total", (1, 0, 20, 0)),
            ("17 failed | 2 passed | 2 skipped", (17, 0, 2, 2)),
            ("4 examples, 1 failure, 1 pending", (1, 0, 2, 1)),
            (
                "Tests: 5, Assertions: 9, Errors: 1, Failures: 1, Skipped: 1",
                (1, 1, 2, 1),
            ),
            ("1 tests failed out of 3", (1, 0, 2, 0)),
            ("3 tests completed, 1 failed", (1, 0, 2, 0)),
            (
                "Tests run: 3, Failures: 1, Errors: 1, Skipped: 0",
                (1, 1, 1, 0),
            ),
            ("2 did not run", (0, 0, 0, 2)),
            ("no tests ran", (0, 0, 0, 0)),
            ("fail 7", (7, 0, 0, 0)),
            ("FAILED  ] 2", (2, 0, 0, 0)),
            (
                "5 runs, 5 assertions, 3 failures, 1 errors, 0 skips",
                (3, 1, 1, 0),
            ),
            ("2 doctests, 5 tests, 4 failures, 1 excluded", (4, 0, 2, 1)),
            ("1 passed | 3 failed (1 step) (81ms)", (3, 0, 1, 0)),
            ("4 | 1 passed | 3 failed", (3, 0, 1, 0)),
            (
                "skips=1, expectedFailures=1, errors=2, unexpectedSuccesses=1, successes=3",
                (0, 2, 4, 2),
            ),
            (
                "Failed:     1, Passed:     3, Skipped:     0, Total:     4",
                (1, 0, 3, 0),
            ),
        ];
        for (text, (failed, errors, passed, skipped)) in cases {
            let mut counts = Counts::default();
            counts.add(text);
            let [f, e, p, s, _] = counts.last.of_kind;
            assert_eq!(
                (f, e, p + counts.last.total, s),
                (failed, errors, passed, skipped),
                "{text}"
            );
        }
    }
}
