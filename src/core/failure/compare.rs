//! What changed between two runs of the checks: set algebra over tests and fingerprints (loop.md, Retry policy).
//!
//! A check that did not run says nothing: what failed in it before is neither fixed nor failing still, and what it
//! never ran was not green.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{analysis, fingerprint::fingerprint};
use crate::core::{
    CheckName, Fingerprint,
    evidence::{CheckEvidence, Outcome},
};

/// What one run of the checks showed of its tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestRun {
    checks: BTreeMap<CheckName, CheckRun>,
}

/// One check of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CheckRun {
    reach: Reach,
    /// By test, or by place for what is no test.
    failing: BTreeMap<String, BTreeSet<Fingerprint>>,
    /// Those of `failing` that are tests.
    failing_tests: BTreeSet<String>,
    flaky: BTreeSet<String>,
    executed: Executed,
}

/// How much of a check was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Whole,
    /// Stopped at its timeout, or with more failures than are kept: what it does not name is unknown.
    Part,
    Nothing,
}

/// The tests that a check executed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Executed {
    Named(BTreeSet<String>),
    Counted(u64),
}

impl TestRun {
    /// Reads a run from its evidence. Which tests passed is told there by their number alone; see
    /// [`with_tests`](Self::with_tests).
    pub fn of(checks: &[CheckEvidence]) -> Self {
        Self { checks: checks.iter().map(|check| (check.name.clone(), CheckRun::of(check))).collect() }
    }

    /// Names all tests that a check executed, so that added, removed and regressed ones are known exactly.
    #[must_use]
    pub fn with_tests(mut self, check: &CheckName, executed: BTreeSet<String>) -> Self {
        if let Some(run) = self.checks.get_mut(check) {
            run.executed = Executed::Named(executed);
        }
        self
    }

    /// Names tests that failed and passed on this commit: they do not count as failing.
    #[must_use]
    pub fn with_flaky(mut self, check: &CheckName, flaky: BTreeSet<String>) -> Self {
        if let Some(run) = self.checks.get_mut(check) {
            run.failing.retain(|name, _| !flaky.contains(name));
            run.failing_tests.retain(|name| !flaky.contains(name));
            run.flaky.extend(flaky);
        }
        self
    }

    /// The fingerprints of everything that fails.
    pub fn fingerprints(&self) -> BTreeSet<Fingerprint> {
        self.checks.values().flat_map(|check| check.failing.values().flatten().copied()).collect()
    }
}

impl CheckRun {
    fn of(check: &CheckEvidence) -> Self {
        let reach = match check.outcome {
            Outcome::Passed | Outcome::Failed | Outcome::NoTestsExecuted if check.failures_not_kept == 0 => {
                Reach::Whole
            }
            Outcome::Skipped | Outcome::Cancelled => Reach::Nothing,
            _ => Reach::Part,
        };
        let mut run = Self {
            reach,
            failing: BTreeMap::new(),
            failing_tests: BTreeSet::new(),
            flaky: BTreeSet::new(),
            executed: Executed::Counted(
                check.results.map_or(0, |results| results.total - results.skipped.min(results.total)),
            ),
        };
        for failure in &check.failures {
            let fingerprint = failure.fingerprint.unwrap_or_else(|| fingerprint(failure));
            let name = match &failure.test_name {
                Some(test) => {
                    run.failing_tests.insert(test.clone());
                    test.clone()
                }
                None => analysis::name(failure, fingerprint),
            };
            run.failing.entry(name).or_default().insert(fingerprint);
        }
        run
    }

    /// Whether `test` is known to have passed; `now` is the later run that it is compared with.
    fn was_green(&self, test: &str, now: &Self) -> bool {
        if self.failing.contains_key(test) {
            return false;
        }
        match (&self.executed, &now.executed) {
            (Executed::Named(tests), _) => tests.contains(test),
            // No test was added since, so this one was there, and it did not fail.
            (Executed::Counted(before), Executed::Counted(after)) => {
                self.reach == Reach::Whole && *before >= *after && *after > 0
            }
            (Executed::Counted(before), Executed::Named(after)) => {
                self.reach == Reach::Whole
                    && usize::try_from(*before).is_ok_and(|before| before >= after.len())
                    && !after.is_empty()
            }
        }
    }
}

/// Two runs compared: tests by name, errors by fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Failing now and not before.
    pub new: BTreeSet<String>,
    pub still: BTreeSet<String>,
    /// Failing before, run now and not failing.
    pub fixed: BTreeSet<String>,
    /// Failed and passed on the current commit.
    pub flaky: BTreeSet<String>,
    pub added: BTreeSet<String>,
    pub removed: BTreeSet<String>,
    /// Tests that fail now and passed in the previous attempt or on the base.
    #[serde(default)]
    pub regressed: BTreeSet<String>,
    #[serde(default)]
    pub errors: ErrorSets,
}

/// The same over fingerprints: what the decisions on progress, same error and circles are made on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSets {
    /// current \ previous
    pub new: BTreeSet<Fingerprint>,
    /// current ∩ previous
    pub still: BTreeSet<Fingerprint>,
    /// previous \ current
    pub fixed: BTreeSet<Fingerprint>,
}

impl Comparison {
    /// Whether an error of the previous attempt is present still: the streak goes on.
    pub fn same_error(&self) -> bool {
        !self.errors.still.is_empty()
    }

    /// Whether an error went away and no test that passed before fails now.
    pub fn is_progress(&self) -> bool {
        !self.errors.fixed.is_empty() && self.regressed.is_empty()
    }
}

/// Compares a run with the previous attempt, or with the base when there is none; the base also tells what regressed.
pub fn compare(previous: Option<&TestRun>, current: &TestRun, base: Option<&TestRun>) -> Comparison {
    let nothing = TestRun::default();
    let before = previous.or(base).unwrap_or(&nothing);
    let mut comparison = Comparison::default();
    for (name, now) in &current.checks {
        comparison.flaky.extend(now.flaky.iter().cloned());
        let earlier = before.checks.get(name);
        compare_check(earlier, now, &mut comparison);
        let green = |run: Option<&TestRun>, test: &str| {
            run.and_then(|run| run.checks.get(name)).is_some_and(|check| check.was_green(test, now))
        };
        let regressed = now.failing_tests.iter().filter(|test| green(previous, test) || green(base, test));
        comparison.regressed.extend(regressed.cloned());
    }
    comparison
}

fn compare_check(before: Option<&CheckRun>, now: &CheckRun, comparison: &mut Comparison) {
    let empty = BTreeMap::new();
    let failed_before = before.map_or(&empty, |check| &check.failing);
    for name in now.failing.keys() {
        let set = if failed_before.contains_key(name) { &mut comparison.still } else { &mut comparison.new };
        set.insert(name.clone());
    }
    let was_test = |name: &String| before.is_some_and(|check| check.failing_tests.contains(name));
    // A test that is gone was removed, not fixed.
    let ran = |name: &String| match &now.executed {
        Executed::Named(tests) if was_test(name) => tests.contains(name),
        _ => now.reach == Reach::Whole,
    };
    let fixed =
        failed_before.keys().filter(|name| !now.failing.contains_key(*name) && !now.flaky.contains(*name) && ran(name));
    comparison.fixed.extend(fixed.cloned());
    if let (Some(Executed::Named(earlier)), Executed::Named(later)) =
        (before.map(|check| &check.executed), &now.executed)
    {
        comparison.added.extend(later.difference(earlier).cloned());
        comparison.removed.extend(earlier.difference(later).cloned());
    }
    let all = |failing: &BTreeMap<String, BTreeSet<Fingerprint>>| -> BTreeSet<Fingerprint> {
        failing.values().flatten().copied().collect()
    };
    let (errors_before, errors_now) = (all(failed_before), all(&now.failing));
    comparison.errors.new.extend(errors_now.difference(&errors_before));
    comparison.errors.still.extend(errors_now.intersection(&errors_before));
    if now.reach == Reach::Whole {
        comparison.errors.fixed.extend(errors_before.difference(&errors_now));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::evidence::{CheckKind, CheckResults, Failure};

    fn unit() -> CheckName {
        "unit".parse().unwrap()
    }

    /// A check of `total` tests of which `failing` (test, message) fail.
    fn evidence(outcome: Outcome, total: u64, failing: &[(&str, &str)]) -> CheckEvidence {
        let failures = failing.iter().map(|(test, message)| Failure {
            test_name: Some((*test).to_owned()),
            error_message: (*message).to_owned(),
            ..Failure::default()
        });
        CheckEvidence {
            results: Some(CheckResults { total, failed: failing.len() as u64, ..CheckResults::default() }),
            failures: failures.collect(),
            ..CheckEvidence::bare(unit(), CheckKind::Test, outcome)
        }
    }

    fn run(total: u64, failing: &[(&str, &str)]) -> TestRun {
        TestRun::of(&[evidence(Outcome::Failed, total, failing)])
    }

    fn names(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    #[test]
    fn new_still_fixed() {
        let before = run(5, &[("a", "Error: left"), ("b", "Error: right")]);
        let now = run(5, &[("b", "Error: right"), ("c", "Error: up")]);
        let comparison = compare(Some(&before), &now, None);
        assert_eq!(names(&comparison.new), ["c"]);
        assert_eq!(names(&comparison.still), ["b"]);
        assert_eq!(names(&comparison.fixed), ["a"]);
        assert_eq!(names(&comparison.regressed), ["c"]);
        assert!(comparison.same_error() && !comparison.is_progress());
    }

    #[test]
    fn another_error_in_the_same_test() {
        let comparison = compare(Some(&run(5, &[("a", "Error: left")])), &run(5, &[("a", "Error: right")]), None);
        assert_eq!(
            (names(&comparison.still), comparison.errors.new.len(), comparison.errors.fixed.len()),
            (vec!["a"], 1, 1)
        );
        assert!(!comparison.same_error() && comparison.is_progress());
    }

    #[test]
    fn what_did_not_run_is_neither_fixed_nor_green() {
        let before = run(5, &[("a", "Error: left")]);
        for outcome in [Outcome::Skipped, Outcome::Cancelled, Outcome::TimedOut] {
            let now = TestRun::of(&[evidence(outcome, 0, &[])]);
            let comparison = compare(Some(&before), &now, None);
            assert!(comparison.fixed.is_empty() && comparison.errors.fixed.is_empty(), "{outcome:?}");
            let after = compare(Some(&now), &run(5, &[("b", "Error: up")]), None);
            assert!(after.regressed.is_empty() && names(&after.new) == ["b"], "{outcome:?}");
        }
    }

    #[test]
    fn an_added_test_that_fails_is_no_regression() {
        let green = TestRun::of(&[evidence(Outcome::Passed, 5, &[])]);
        let now = run(6, &[("f", "Error: left")]);
        assert!(compare(Some(&green), &now, None).regressed.is_empty());
        let named =
            |run: TestRun, tests: &[&str]| run.with_tests(&unit(), tests.iter().map(|t| (*t).to_owned()).collect());
        let comparison = compare(Some(&named(green.clone(), &["a", "b"])), &named(now.clone(), &["a", "c", "f"]), None);
        assert_eq!((names(&comparison.added), names(&comparison.removed)), (vec!["c", "f"], vec!["b"]));
        assert!(comparison.regressed.is_empty());
        let comparison = compare(Some(&named(green, &["a", "f"])), &named(now, &["a", "f"]), None);
        assert_eq!(names(&comparison.regressed), ["f"]);
    }

    #[test]
    fn a_removed_test_is_not_fixed() {
        let named =
            |run: TestRun, tests: &[&str]| run.with_tests(&unit(), tests.iter().map(|t| (*t).to_owned()).collect());
        let comparison =
            compare(Some(&named(run(2, &[("a", "Error: x")]), &["a", "b"])), &named(run(1, &[]), &["b"]), None);
        assert_eq!((names(&comparison.fixed), names(&comparison.removed)), (vec![], vec!["a"]));
    }

    #[test]
    fn the_base_tells_what_regressed() {
        let base = TestRun::of(&[evidence(Outcome::Passed, 5, &[])]);
        let first = compare(None, &run(5, &[("a", "Error: x")]), Some(&base));
        assert_eq!((names(&first.new), names(&first.regressed)), (vec!["a"], vec!["a"]));
        let red_base = run(5, &[("a", "Error: x")]);
        let first = compare(None, &run(5, &[("a", "Error: x")]), Some(&red_base));
        assert_eq!((names(&first.still), names(&first.regressed)), (vec!["a"], vec![]));
    }

    #[test]
    fn flaky_tests_do_not_count() {
        let flaky = BTreeSet::from(["a".to_owned()]);
        let now = run(5, &[("a", "Error: x"), ("b", "Error: y")]).with_flaky(&unit(), flaky);
        let comparison = compare(Some(&run(5, &[])), &now, None);
        assert_eq!((names(&comparison.new), names(&comparison.flaky)), (vec!["b"], vec!["a"]));
        assert_eq!(comparison.errors.new.len(), 1);
    }

    #[test]
    fn errors_without_a_test_have_a_name_too() {
        let failure =
            Failure { error_message: "error[E0308]: mismatched types\n --> src/a.rs:3:5".into(), ..Failure::default() };
        let check = CheckEvidence { failures: vec![failure], ..evidence(Outcome::Failed, 0, &[]) };
        let comparison = compare(None, &TestRun::of(&[check]), None);
        assert_eq!((comparison.new.len(), comparison.regressed.len()), (1, 0));
    }

    proptest! {
        #[test]
        fn the_sets_are_those_of_the_algebra(before in proptest::collection::btree_set("[a-f]", 0..6), now in proptest::collection::btree_set("[a-f]", 0..6)) {
            let make = |tests: &BTreeSet<String>| {
                let failing: Vec<(&str, String)> = tests.iter().map(|t| (t.as_str(), format!("Error: {}", t.repeat(3)))).collect();
                let failing: Vec<(&str, &str)> = failing.iter().map(|(t, m)| (*t, m.as_str())).collect();
                run(6, &failing)
            };
            let (one, two) = (make(&before), make(&now));
            let comparison = compare(Some(&one), &two, None);
            prop_assert_eq!(&comparison.new, &now.difference(&before).cloned().collect());
            prop_assert_eq!(&comparison.still, &now.intersection(&before).cloned().collect());
            prop_assert_eq!(&comparison.fixed, &before.difference(&now).cloned().collect());
            prop_assert_eq!(&comparison.errors.new, &two.fingerprints().difference(&one.fingerprints()).copied().collect());
            let same = compare(Some(&one), &one, None);
            prop_assert!(same.new.is_empty() && same.fixed.is_empty() && same.regressed.is_empty());
        }
    }
}
