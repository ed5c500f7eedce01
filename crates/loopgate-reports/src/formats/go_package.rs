//! The tests of one package of Go, until it is over.
//!
//! A test that has subtests is not counted, nor is its `--- FAIL` a second failure, unless it failed while none of them
//! did. A test without an end failed if its package did: the process ended before it.

use std::{collections::HashMap, iter};

use indexmap::IndexMap;
use loopgate_core::evidence::{ErrorType, Failure, TestId, TestState};

use super::go_text;
use crate::{Case, Clip, Collector, Flaw, Title};

/// Packages and tests held at a time.
pub(super) const MAX_RUNNING: usize = 200_000;

/// A package of tests that has not ended.
#[derive(Default)]
pub(super) struct GoPackage {
    /// Its name, where that is known before its end.
    pub name: String,
    /// Tests that have begun and are not counted.
    pub tests: IndexMap<String, RunningTest>,
    /// What stands outside of tests.
    pub output: Clip,
    a_test_failed: bool,
    pub parents: Parents,
}

#[derive(Default)]
pub(super) struct RunningTest {
    /// How it ended.
    pub state: Option<TestState>,
    pub output: Clip,
}

/// How a package ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PackageEnd {
    Passed,
    Failed,
    NotBuilt,
}

impl GoPackage {
    /// A test that has begun; none if there are too many to follow.
    pub fn test(&mut self, name: &str, most: usize) -> Option<&mut RunningTest> {
        let has_room = self.tests.len() < most || self.tests.contains_key(name);
        has_room.then(|| self.tests.entry(name.to_owned()).or_default())
    }

    pub fn record(&mut self, test: &str, state: TestState) {
        self.a_test_failed |= state == TestState::Failed;
        self.parents.record("", test, state == TestState::Failed);
    }

    /// Counts a test, unless it only sums its subtests up.
    pub fn count(
        &self,
        package: &str,
        test: &str,
        running: &RunningTest,
        state: TestState,
        seconds: f64,
        out: &mut Collector,
    ) {
        let a_subtest_failed = self.parents.a_subtest_failed("", test);
        if a_subtest_failed.is_some_and(|failed| failed || state != TestState::Failed) {
            return;
        }
        let is_unfinished = running.state.is_none() && state == TestState::Failed;
        if is_unfinished {
            out.notes
                .flaw(Flaw::UNFINISHED_TEST, || format!("{package} {test}"));
        }
        out.case(
            Case {
                seconds,
                ..Case::new(package, test, state)
            },
            || {
                let is_silent = is_unfinished && running.output.held() == 0;
                let output = if is_silent {
                    &self.output
                } else {
                    &running.output
                };
                let mut failure = go_text::failure(&output.text(), package);
                // A panic explains the end; anything else the test logged does not.
                if is_unfinished && failure.error_class.is_none() {
                    failure.error_message =
                        "unfinished: the process ended before this test did".to_owned();
                }
                failure
            },
        );
    }

    /// Counts what is left of a package that is over. Its name is empty where it is not known.
    pub fn end(mut self, name: &str, end: PackageEnd, out: &mut Collector) {
        let unfinished = if end == PackageEnd::Passed {
            TestState::Passed
        } else {
            TestState::Failed
        };
        let tests = std::mem::take(&mut self.tests);
        let tests = || {
            tests
                .iter()
                .map(|(test, running)| (test, running, running.state.unwrap_or(unfinished)))
        };
        tests().for_each(|(test, _, state)| self.record(test, state));
        tests().for_each(|(test, running, state)| self.count(name, test, running, state, 0.0, out));
        if end == PackageEnd::Passed || self.a_test_failed {
            return;
        }
        let output = self.output.text();
        let mut errors = output.lines().filter_map(go_text::compile_error);
        let package = Case {
            title: Title::Hidden,
            ..Case::new(name, "(the package)", TestState::Errored)
        };
        let panic = output
            .find("panic: ")
            .filter(|at| *at == 0 || output[..*at].ends_with('\n'));
        if let Some(test) = panic.and_then(|at| go_text::test_in_trace(&output[at..])) {
            out.case(Case::new(name, test, TestState::Failed), || {
                go_text::failure(&output, name)
            });
        } else if let Some(error) = errors.next() {
            // What `go build` prints is about no tests.
            match name {
                "" => out.problem(|| error),
                _ => drop(out.case(package, || error)),
            }
        } else {
            // Why a package failed without a failing test.
            let (error_type, message) = match end {
                PackageEnd::NotBuilt => (ErrorType::CompileError, "the package did not build"),
                _ => (
                    ErrorType::RuntimeError,
                    "the package failed outside of its tests",
                ),
            };
            out.case(
                Case {
                    title: Title::WithClass,
                    ..package
                },
                || {
                    let mut failure = go_text::failure(&output, name);
                    failure.stack_trace =
                        Some(output.trim().to_owned()).filter(|output| !output.is_empty());
                    if failure.error_message.is_empty() {
                        failure.error_message = message.to_owned();
                    }
                    if failure.error_type == ErrorType::Other {
                        failure.error_type = error_type;
                    }
                    Failure {
                        test_file: None,
                        ..failure
                    }
                },
            );
        }
        errors.for_each(|error| out.problem(|| error));
    }
}

/// Tests that have subtests, and whether one of these failed.
#[derive(Default)]
pub(super) struct Parents(HashMap<TestId, bool>);

impl Parents {
    /// Records on the tests above this one that they have subtests, and whether this one failed.
    pub fn record(&mut self, class: &str, test: &str, failed: bool) {
        for parent in ancestors(test).map(|parent| TestId::of("", class, parent)) {
            if self.0.len() < MAX_RUNNING || self.0.contains_key(&parent) {
                *self.0.entry(parent).or_default() |= failed;
            }
        }
    }

    /// Whether a subtest of this test failed; none if it has no subtests.
    pub fn a_subtest_failed(&self, class: &str, test: &str) -> Option<bool> {
        self.0.get(&TestId::of("", class, test)).copied()
    }
}

/// Levels of tests above a test that are looked at: each costs as much as its name is long.
const MOST_LEVELS: usize = 20;

/// `TestA/b/c` has the ancestors `TestA/b` and `TestA`.
fn ancestors(test: &str) -> impl Iterator<Item = &str> {
    iter::successors(Some(test), |name| Some(name.rsplit_once('/')?.0))
        .skip(1)
        .take(MOST_LEVELS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_ancestors_are_looked_at() {
        let all = |test: &'static str| ancestors(test).collect::<Vec<_>>();
        assert_eq!(all("TestA/b/c"), ["TestA/b", "TestA"]);
        assert_eq!(all("TestA"), [""; 0]);
        // Each ancestor of a long name is hashed: all of them would take the square of its length.
        assert_eq!(ancestors(&"/".repeat(1_000_000)).count(), MOST_LEVELS);
    }
}
