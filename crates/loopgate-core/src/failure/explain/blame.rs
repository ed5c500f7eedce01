//! Whose failure it is, and whether trying again can help.
//!
//! The texts come from checks that run the pull request's code, which can print what it likes. So words alone never
//! free a change of blame: a check counts as an outage only if *all* of its failures do, and the policy limits the
//! re-runs.

use std::{cmp::Reverse, collections::BTreeSet};

use serde::{Deserialize, Serialize};

use super::{examined::ExaminedFailure, known};
use crate::{
    evidence::{CheckEvidence, CheckKind, Confidence, Failure, Outcome, RetryClass},
    failure::{classify::fingerprint, read::Changes},
    observed::Readings,
};

words! {
    /// Whose failure it is, the worst first. Only [`PrCode`](Self::PrCode) consumes an attempt or calls a fixer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Blame {
        PrCode = "pr_code",
        /// The check was cut off before it could show.
        Inconclusive = "inconclusive",
        /// Fails on the base too.
        Base = "base",
        /// Fails and passes on the same commit.
        Flaky = "flaky",
        /// A service, the network, the runner.
        Infrastructure = "infrastructure",
    }
}

/// A blame and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlameVerdict {
    pub blame: Blame,
    pub confidence: Confidence,
}

impl BlameVerdict {
    const fn new(blame: Blame, hundredths: u8) -> Self {
        Self {
            blame,
            confidence: Confidence::percent(hundredths),
        }
    }
}

/// What is known beside the check itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances<'a> {
    /// This check on the merge base, else on the base head; none when it is not known.
    pub base: Option<&'a CheckEvidence>,
    /// Tests that failed and passed on the same commit.
    pub flaky: Option<&'a BTreeSet<String>>,
}

/// A check whose failures have been read: reading is most of the work, and everything here rests on it.
#[derive(Debug)]
pub struct ExaminedCheck<'a> {
    check: &'a CheckEvidence,
    /// Of each failure the check kept, in their order.
    pub failures: Vec<ExaminedFailure>,
}

impl<'a> ExaminedCheck<'a> {
    /// Reads the failures of a check, or recalls what was read of the same ones.
    pub fn new(check: &'a CheckEvidence, changes: &Changes, readings: &Readings) -> Self {
        let examine = || {
            let failures = check.failures.iter();
            failures
                .map(|failure| ExaminedFailure::new(failure, changes))
                .collect::<Vec<_>>()
        };
        let failures = readings.recall(&(&check.failures, changes), examine);
        Self {
            check,
            failures: Vec::clone(&failures),
        }
    }

    /// The blame for the check; none if it did not fail.
    pub fn blame(&self, circumstances: &Circumstances<'_>) -> Option<BlameVerdict> {
        let Self { check, failures } = self;
        match check.outcome {
            Outcome::Passed | Outcome::Skipped => return None,
            Outcome::Cancelled => return Some(BlameVerdict::new(Blame::Inconclusive, 90)),
            Outcome::Failed
            | Outcome::TimedOut
            | Outcome::NoTestsExecuted
            | Outcome::ResultsLost => {}
        }
        if self.retry_class() == RetryClass::External {
            return Some(BlameVerdict::new(Blame::Infrastructure, 80));
        }
        if failures.is_empty() || check.outcome != Outcome::Failed {
            // Nothing more than the outcome is there to compare.
            return Some(match circumstances.base.map(|base| base.outcome) {
                Some(Outcome::Passed) => BlameVerdict::new(Blame::PrCode, 90),
                Some(outcome) if outcome == check.outcome => BlameVerdict::new(Blame::Base, 70),
                Some(outcome) if outcome.is_failure() => BlameVerdict::new(Blame::PrCode, 60),
                Some(_) | None => BlameVerdict::new(Blame::PrCode, 50),
            });
        }
        let verdicts = self.blame_failures(circumstances);
        let innocent = verdicts
            .iter()
            .all(|verdict| verdict.blame != Blame::PrCode);
        if innocent && check.failures_not_kept > 0 {
            // The failures that were only counted can be anyone's.
            return Some(BlameVerdict::new(Blame::PrCode, 50));
        }
        // The worst of them decides; among equals the surest.
        verdicts
            .into_iter()
            .min_by_key(|verdict| (verdict.blame, Reverse(verdict.confidence)))
    }

    /// The blame for each failure, in their order.
    pub fn blame_failures(&self, circumstances: &Circumstances<'_>) -> Vec<BlameVerdict> {
        let Circumstances { base, flaky } = circumstances;
        let (mut fingerprints, mut tests) = (BTreeSet::new(), BTreeSet::new());
        for failure in base.iter().flat_map(|base| &base.failures) {
            fingerprints.insert(failure.fingerprint.unwrap_or_else(|| fingerprint(failure)));
            tests.extend(test_key(failure));
        }
        let is_flaky = |test: &String| flaky.is_some_and(|flaky| flaky.contains(test));
        let of = |(failure, examined): (&Failure, &ExaminedFailure)| {
            if failure.test_name.as_ref().is_some_and(is_flaky) {
                BlameVerdict::new(Blame::Flaky, 90)
            } else if examined.retry == RetryClass::External {
                BlameVerdict::new(Blame::Infrastructure, 80)
            } else if fingerprints.contains(&examined.fingerprint) {
                BlameVerdict::new(Blame::Base, if names_its_place(failure) { 95 } else { 70 })
            } else if test_key(failure).is_some_and(|test| tests.contains(&test)) {
                // Red on the base too, though in another way.
                BlameVerdict::new(Blame::Base, 70)
            } else {
                let hundredths = match base.map(|base| (base.outcome, base)) {
                    // Red there too, and the two show too little to compare them.
                    Some((Outcome::Failed, base))
                        if base.failures.is_empty() || !names_its_place(failure) =>
                    {
                        60
                    }
                    Some((Outcome::Passed | Outcome::Failed, base))
                        if base.failures_not_kept == 0 =>
                    {
                        95
                    }
                    _ => 50,
                };
                BlameVerdict::new(Blame::PrCode, hundredths)
            }
        };
        self.check
            .failures
            .iter()
            .zip(&self.failures)
            .map(of)
            .collect()
    }

    /// How the check, failing, may be retried.
    pub fn retry_class(&self) -> RetryClass {
        let Self { check, failures } = self;
        // The system kills what uses up the memory of the machine; of its tests nothing is known then.
        let was_killed = check.signal == Some(9) || check.exit_code == Some(137);
        if was_killed
            && check
                .failures
                .iter()
                .all(|failure| failure.test_name.is_none() && failure.source.is_none())
        {
            return RetryClass::External;
        }
        let logged = known::retry_class_of_log(check);
        let every = |class: RetryClass| {
            logged == Some(class)
                || (!failures.is_empty() && failures.iter().all(|one| one.retry == class))
        };
        if every(RetryClass::External) {
            return RetryClass::External;
        }
        match (check.kind, check.outcome) {
            (CheckKind::Security, _) => RetryClass::Security,
            (_, Outcome::TimedOut) => RetryClass::Logic,
            (CheckKind::Performance, _) => RetryClass::Performance,
            _ if every(RetryClass::Logic) => RetryClass::Logic,
            _ if every(RetryClass::Performance) => RetryClass::Performance,
            _ => RetryClass::Code,
        }
    }
}

/// Whether a failure shows which test or line it is of. A check's summary, or the annotation that GitHub Actions puts
/// on `.github` (“Process completed with exit code 1.”), can be the same for two errors.
fn names_its_place(failure: &Failure) -> bool {
    let in_code = |file: &str| file != ".github" && !file.is_empty();
    failure.test_name.is_some()
        || failure
            .source
            .as_ref()
            .is_some_and(|source| in_code(&source.file))
}

/// Whether checks fail as the same checks do on the base, and in no other way: in the same tests, by the same
/// fingerprints. What names neither a test nor a line, and what was only counted, can be anyone's.
pub fn fails_as_on_base(checks: &[CheckEvidence], base: &[CheckEvidence]) -> bool {
    let fails_so = |check: &CheckEvidence| {
        let same = base.iter().find(|other| other.name == check.name);
        same.is_some_and(|base| has_failures_of(check, base))
    };
    let mut failing = checks
        .iter()
        .filter(|check| check.outcome.is_failure())
        .peekable();
    failing.peek().is_some() && failing.all(fails_so)
}

/// Whether every failure of a check is among those that it has on the base.
fn has_failures_of(check: &CheckEvidence, base: &CheckEvidence) -> bool {
    let known = |failure: &Failure| {
        let key = failure.fingerprint.unwrap_or_else(|| fingerprint(failure));
        (test_key(failure), key)
    };
    let on_base: BTreeSet<_> = base.failures.iter().map(known).collect();
    let is_on_base =
        |failure: &Failure| names_its_place(failure) && on_base.contains(&known(failure));
    check.outcome == Outcome::Failed
        && check.failures_not_kept == 0
        && !check.failures.is_empty()
        && check.failures.iter().all(is_on_base)
}

/// What a test that failed is recognised by in another run: the id that a report gives it, otherwise its name. None of
/// a failure that is no test's: a compile error, a lint finding.
fn test_key(failure: &Failure) -> Option<String> {
    failure
        .test_id
        .map(|id| format!("#{id}"))
        .or_else(|| failure.test_name.clone())
}

/// How a failing check may be retried.
pub fn retry_class(check: &CheckEvidence) -> RetryClass {
    ExaminedCheck::new(check, &Changes::default(), &Readings::default()).retry_class()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blame_check(
        check: &CheckEvidence,
        circumstances: &Circumstances<'_>,
    ) -> Option<BlameVerdict> {
        ExaminedCheck::new(check, &Changes::default(), &Readings::default()).blame(circumstances)
    }

    fn check(kind: CheckKind, outcome: Outcome, messages: &[&str]) -> CheckEvidence {
        let failures = messages.iter().enumerate().map(|(index, message)| Failure {
            test_name: Some(format!(
                "test_{}",
                char::from(b'a' + u8::try_from(index).unwrap())
            )),
            error_message: (*message).to_owned(),
            ..Failure::default()
        });
        CheckEvidence {
            failures: failures.collect(),
            ..CheckEvidence::bare("unit".parse().unwrap(), kind, outcome)
        }
    }

    /// A failure that names neither test nor place.
    fn unplaced(kind: CheckKind, message: &str) -> CheckEvidence {
        let mut check = check(kind, Outcome::Failed, &[message]);
        check
            .failures
            .iter_mut()
            .for_each(|failure| failure.test_name = None);
        check
    }

    #[test]
    fn a_check_fails_as_on_the_base_by_the_same_tests_and_errors_alone() {
        let failing = |messages: &[&str]| check(CheckKind::Test, Outcome::Failed, messages);
        let two = failing(&["expected 1, got 2", "expected red, got blue"]);
        let one = failing(&["expected 1, got 2"]);
        let counted = CheckEvidence {
            failures_not_kept: 1,
            ..one.clone()
        };
        let passed = check(CheckKind::Test, Outcome::Passed, &[]);
        let cases = [
            (&one, Some(&two), true),
            (&two, Some(&two), true),
            (&two, Some(&one), false),
            (&failing(&["the server gave up"]), Some(&two), false),
            (&counted, Some(&counted), false),
            (&passed, Some(&two), false),
            (&one, None, false),
            (
                &unplaced(CheckKind::Build, "exit code 1"),
                Some(&unplaced(CheckKind::Build, "exit code 1")),
                false,
            ),
        ];
        for (here, base, expected) in cases {
            let base: Vec<CheckEvidence> = base.into_iter().cloned().collect();
            let found = fails_as_on_base(std::slice::from_ref(here), &base);
            assert_eq!(found, expected, "{:?}", here.failures);
        }
        assert!(!fails_as_on_base(&[one, passed.clone()], &[passed]));
    }

    #[test]
    fn the_retry_class_follows_the_kind_of_check_and_failure() {
        use CheckKind::{Build, Performance, Security, Test};
        use Outcome::{Failed, TimedOut};
        let refused = "Error: connect ECONNREFUSED 10.0.0.3:5432";
        let cases = [
            (
                check(Test, Failed, &["AssertionError: expected 3 to be 4"]),
                RetryClass::Code,
            ),
            (
                check(
                    Test,
                    Failed,
                    &["thrown: \"Exceeded timeout of 5000 ms for a test.\""],
                ),
                RetryClass::Code,
            ),
            (
                check(
                    Test,
                    Failed,
                    &["fatal error: all goroutines are asleep - deadlock!"],
                ),
                RetryClass::Logic,
            ),
            (check(Test, TimedOut, &[]), RetryClass::Logic),
            (
                check(Test, Failed, &[refused, refused]),
                RetryClass::External,
            ),
            (
                check(
                    Test,
                    Failed,
                    &[refused, "AssertionError: expected 3 to be 4"],
                ),
                RetryClass::Code,
            ),
            (
                check(
                    Test,
                    Failed,
                    &["AssertionError: expected 'connection refused' to be 'ok'"],
                ),
                RetryClass::Code,
            ),
            (check(Security, Failed, &[]), RetryClass::Security),
            (
                check(
                    Security,
                    Failed,
                    &["getaddrinfo ENOTFOUND registry.example"],
                ),
                RetryClass::External,
            ),
            (check(Performance, Failed, &[]), RetryClass::Performance),
            (
                check(
                    Build,
                    Failed,
                    &["FATAL ERROR: JavaScript heap out of memory"],
                ),
                RetryClass::Performance,
            ),
            (
                CheckEvidence {
                    log_tail: "The runner has received a shutdown signal.".into(),
                    ..check(Build, Failed, &[])
                },
                RetryClass::External,
            ),
            (
                CheckEvidence {
                    log_tail: "connection refused".into(),
                    ..check(Build, Failed, &["error[E0308]: x"])
                },
                RetryClass::Code,
            ),
        ];
        for (check, class) in cases {
            assert_eq!(retry_class(&check), class, "{check:?}");
        }
    }

    #[test]
    fn a_killed_check_is_the_machine_s_unless_a_test_of_it_failed() {
        let ended = |mut check: CheckEvidence, exit_code, signal| {
            (check.exit_code, check.signal) = (exit_code, signal);
            retry_class(&check)
        };
        let silent = || check(CheckKind::Test, Outcome::Failed, &[]);
        assert_eq!(ended(silent(), Some(137), None), RetryClass::External);
        assert_eq!(ended(silent(), None, Some(9)), RetryClass::External);
        assert_eq!(ended(silent(), Some(1), None), RetryClass::Code);
        let failing = check(
            CheckKind::Test,
            Outcome::Failed,
            &["AssertionError: expected 20 to be 40"],
        );
        assert_eq!(ended(failing, Some(137), None), RetryClass::Code);
    }

    #[test]
    fn blame_is_found_by_comparison_with_the_base() {
        use CheckKind::{Build, Test};
        use Outcome::{Cancelled, Failed, Passed, TimedOut};
        let wrong = "AssertionError: expected 20 to be 40";
        let other = "TypeError: x is not a function";
        let flaky = BTreeSet::from(["test_a".to_owned()]);
        let none = BTreeSet::new();
        let cases = [
            (
                "unknown base",
                check(Test, Failed, &[wrong]),
                None,
                &none,
                Some((Blame::PrCode, 50)),
            ),
            (
                "green base",
                check(Test, Failed, &[wrong]),
                Some(check(Test, Passed, &[])),
                &none,
                Some((Blame::PrCode, 95)),
            ),
            (
                "same error on the base",
                check(Test, Failed, &[wrong]),
                Some(check(Test, Failed, &[wrong])),
                &none,
                Some((Blame::Base, 95)),
            ),
            (
                "other error on the base",
                check(Test, Failed, &[other]),
                Some(check(Test, Failed, &[wrong])),
                &none,
                Some((Blame::Base, 70)),
            ),
            (
                "one of two on the base",
                check(Test, Failed, &[wrong, other]),
                Some(check(Test, Failed, &[wrong])),
                &none,
                Some((Blame::PrCode, 95)),
            ),
            (
                "flaky",
                check(Test, Failed, &[wrong]),
                None,
                &flaky,
                Some((Blame::Flaky, 90)),
            ),
            (
                "outage",
                check(Test, Failed, &["read ECONNRESET"]),
                None,
                &none,
                Some((Blame::Infrastructure, 80)),
            ),
            (
                "cut off",
                check(Test, Cancelled, &[]),
                None,
                &none,
                Some((Blame::Inconclusive, 90)),
            ),
            (
                "bare, red base",
                check(Build, Failed, &[]),
                Some(check(Build, Failed, &[])),
                &none,
                Some((Blame::Base, 70)),
            ),
            (
                "timeout, green base",
                check(Test, TimedOut, &[wrong]),
                Some(check(Test, Passed, &[])),
                &none,
                Some((Blame::PrCode, 90)),
            ),
            (
                "cancelled base",
                check(Test, Failed, &[wrong]),
                Some(check(Test, Cancelled, &[])),
                &none,
                Some((Blame::PrCode, 50)),
            ),
            (
                "a summary, the same on the base",
                unplaced(Test, "2 of 40 tests failed in 3 min"),
                Some(unplaced(Test, "2 of 40 tests failed in 4 min")),
                &none,
                Some((Blame::Base, 70)),
            ),
            (
                "a summary, another one on the base",
                unplaced(Test, "npm is not installed"),
                Some(unplaced(Test, "2 of 40 tests failed in 4 min")),
                &none,
                Some((Blame::PrCode, 60)),
            ),
            (
                "a summary, a silent base",
                unplaced(Test, "2 of 40 tests failed in 3 min"),
                Some(check(Test, Failed, &[])),
                &none,
                Some((Blame::PrCode, 60)),
            ),
            ("passed", check(Test, Passed, &[]), None, &none, None),
        ];
        for (name, check, base, flaky, expected) in cases {
            let verdict = blame_check(
                &check,
                &Circumstances {
                    base: base.as_ref(),
                    flaky: Some(flaky),
                },
            );
            let expected = expected.map(|(blame, hundredths)| BlameVerdict::new(blame, hundredths));
            assert_eq!(verdict, expected, "{name}");
        }
    }

    #[test]
    fn failures_that_were_only_counted_are_no_excuse() {
        let wrong = "AssertionError: expected 20 to be 40";
        let base = check(CheckKind::Test, Outcome::Failed, &[wrong]);
        let head = CheckEvidence {
            failures_not_kept: 3,
            ..base.clone()
        };
        let verdict = blame_check(
            &head,
            &Circumstances {
                base: Some(&base),
                flaky: None,
            },
        );
        assert_eq!(verdict, Some(BlameVerdict::new(Blame::PrCode, 50)));
    }
}
