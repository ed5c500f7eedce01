//! What changed between two runs of the checks: set algebra over tests and fingerprints (loop.md, Retry policy).
//!
//! A check that did not run says nothing: what failed in it before is neither fixed nor failing still, and what it
//! never ran was not green.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{analysis, fingerprint::fingerprint, test_key::TestKey};
use crate::core::{
    CheckName, Fingerprint,
    decision::Compare,
    evidence::{CheckEvidence, Outcome},
    roster::{Roster, RosterExtent, TestId, TestState},
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
    failing: BTreeMap<TestKey, Failing>,
    /// Names of tests that failed and passed.
    flaky: BTreeSet<String>,
    executed: Executed,
}

/// What fails, and the errors it fails with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Failing {
    name: String,
    fingerprints: BTreeSet<Fingerprint>,
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
    Listed(Roster),
    Counted(u64),
}

impl Executed {
    fn count(&self) -> u64 {
        match self {
            Self::Listed(roster) => roster.iter().filter(|entry| entry.state() != TestState::Skipped).count() as u64,
            Self::Counted(count) => *count,
        }
    }
}

impl TestRun {
    /// Reads a run from its evidence. Without a roster in it, tests that pass are only counted.
    pub fn of(checks: &[CheckEvidence]) -> Self {
        Self { checks: checks.iter().map(|check| (check.name.clone(), CheckRun::of(check))).collect() }
    }

    /// Names tests that failed and passed on this commit: they do not count as failing.
    #[must_use]
    pub fn with_flaky(mut self, check: &CheckName, flaky: BTreeSet<String>) -> Self {
        if let Some(run) = self.checks.get_mut(check) {
            run.failing.retain(|_, failing| !flaky.contains(&failing.name));
            run.flaky.extend(flaky);
        }
        self
    }

    /// The fingerprints of everything that fails.
    pub fn fingerprints(&self) -> BTreeSet<Fingerprint> {
        self.checks.values().flat_map(CheckRun::errors).collect()
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
        let executed = check.results.map_or(0, |results| results.total.saturating_sub(results.skipped));
        let mut failing: BTreeMap<TestKey, Failing> = BTreeMap::new();
        for failure in &check.failures {
            let fingerprint = failure.fingerprint.unwrap_or_else(|| fingerprint(failure));
            let name = failure.test_name.clone().unwrap_or_else(|| analysis::name(failure, fingerprint));
            let new = || Failing { name, fingerprints: BTreeSet::new() };
            failing.entry(TestKey::of(failure, fingerprint)).or_insert_with(new).fingerprints.insert(fingerprint);
        }
        let executed = check.tests.clone().map_or(Executed::Counted(executed), Executed::Listed);
        Self { reach, failing, flaky: BTreeSet::new(), executed }
    }

    fn errors(&self) -> impl Iterator<Item = Fingerprint> + '_ {
        self.failing.values().flat_map(|failing| failing.fingerprints.iter().copied())
    }

    /// Whether the test is known to have passed; `later` is the run it fails in.
    fn was_green(&self, test: &TestKey, later: &Self) -> bool {
        match (&self.executed, test) {
            _ if self.failing.contains_key(test) => false,
            (Executed::Listed(roster), TestKey::Test(id)) => {
                matches!(roster.state(*id), Some(TestState::Passed | TestState::Flaky))
            }
            _ => {
                // With no test added since, this one was there; and it did not fail.
                let count = later.executed.count();
                self.reach == Reach::Whole && count > 0 && self.executed.count() >= count
            }
        }
    }

    /// Whether what failed before was run here, so that its absence among the failures means that it passed.
    fn ran(&self, key: &TestKey) -> bool {
        match (&self.executed, key) {
            (Executed::Listed(roster), TestKey::Test(id)) => match (roster.state(*id), roster.extent()) {
                (Some(state), _) => state != TestState::Skipped,
                (None, RosterExtent::Whole) => false,
                (None, RosterExtent::Partial) => self.reach == Reach::Whole,
            },
            _ => self.reach == Reach::Whole,
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
    /// Known between two rosters only; by name if it fails, else by its [`TestId`].
    pub added: BTreeSet<String>,
    /// As `added`.
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

impl From<Comparison> for Compare {
    fn from(comparison: Comparison) -> Self {
        let Comparison { new, still, fixed, flaky, added, removed, .. } = comparison;
        Self { new, still, fixed, flaky, added, removed }
    }
}

/// Compares a run with the previous attempt, or with the base when there is none; the base also tells what regressed.
pub fn compare(previous: Option<&TestRun>, current: &TestRun, base: Option<&TestRun>) -> Comparison {
    let nothing = TestRun::default();
    let before = previous.or(base).unwrap_or(&nothing);
    let mut comparison = Comparison::default();
    for (name, now) in &current.checks {
        compare_check(before.checks.get(name), now, &mut comparison);
        let green = |run: Option<&TestRun>, test: &TestKey| {
            run.and_then(|run| run.checks.get(name)).is_some_and(|check| check.was_green(test, now))
        };
        let tests = now.failing.iter().filter(|(key, _)| key.is_test());
        let regressed = tests.filter(|(key, _)| green(previous, key) || green(base, key));
        comparison.regressed.extend(regressed.map(|(_, failing)| failing.name.clone()));
    }
    comparison
}

fn compare_check(before: Option<&CheckRun>, now: &CheckRun, comparison: &mut Comparison) {
    let empty = BTreeMap::new();
    let failed_before = before.map_or(&empty, |check| &check.failing);
    for (key, failing) in &now.failing {
        let set = if failed_before.contains_key(key) { &mut comparison.still } else { &mut comparison.new };
        set.insert(failing.name.clone());
    }
    let over = failed_before
        .iter()
        .filter(|(key, failing)| !now.failing.contains_key(*key) && !now.flaky.contains(&failing.name) && now.ran(key));
    comparison.fixed.extend(over.map(|(_, failing)| failing.name.clone()));
    comparison.flaky.extend(now.flaky.iter().cloned());
    if let (Some(Executed::Listed(earlier)), Executed::Listed(later)) = (before.map(|c| &c.executed), &now.executed) {
        let changes = later.changes_since(earlier);
        comparison.added.extend(changes.added.into_iter().map(|id| name_of(id, &now.failing)));
        comparison.removed.extend(changes.removed.into_iter().map(|id| name_of(id, failed_before)));
    }
    let errors_before: BTreeSet<Fingerprint> = before.into_iter().flat_map(CheckRun::errors).collect();
    let errors_now: BTreeSet<Fingerprint> = now.errors().collect();
    comparison.errors.new.extend(errors_now.difference(&errors_before));
    comparison.errors.still.extend(errors_now.intersection(&errors_before));
    if now.reach == Reach::Whole {
        comparison.errors.fixed.extend(errors_before.difference(&errors_now));
    }
}

/// Passing tests are known by their identity alone.
fn name_of(id: TestId, failing: &BTreeMap<TestKey, Failing>) -> String {
    failing.get(&TestKey::Test(id)).map_or_else(|| id.to_string(), |failing| failing.name.clone())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::{
        evidence::{CheckKind, CheckResults, Failure},
        roster::RosterEntry,
    };

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

    /// Gives every failure the identity its test has in a roster.
    fn listed(mut check: CheckEvidence, roster: &[(&str, TestState)]) -> TestRun {
        let id = |name: &str| TestId::of("", "", name);
        for failure in &mut check.failures {
            failure.test_id = failure.test_name.as_deref().map(id);
        }
        let entries = roster.iter().map(|(name, state)| RosterEntry::new(id(name), *state)).collect();
        check.tests = Some(Roster::new(entries, RosterExtent::Whole));
        TestRun::of(&[check])
    }

    #[test]
    fn an_added_test_that_fails_is_no_regression() {
        use TestState::{Failed, Passed, Skipped};
        let green = || evidence(Outcome::Passed, 5, &[]);
        let red = || evidence(Outcome::Failed, 6, &[("f", "Error: left")]);
        let counted = |before, now| compare(Some(&TestRun::of(&[before])), &TestRun::of(&[now]), None);
        assert!(counted(green(), red()).regressed.is_empty());
        let before = listed(green(), &[("a", Passed), ("b", Passed)]);
        let comparison = compare(Some(&before), &listed(red(), &[("a", Passed), ("c", Passed), ("f", Failed)]), None);
        let id = |name: &str| TestId::of("", "", name).to_string();
        assert_eq!(comparison.added, BTreeSet::from(["f".to_owned(), id("c")]));
        assert_eq!(comparison.removed, BTreeSet::from([id("b")]));
        assert!(comparison.regressed.is_empty());
        for (state, regressed) in [(Passed, vec!["f"]), (Skipped, vec![])] {
            let before = listed(green(), &[("a", Passed), ("f", state)]);
            let comparison = compare(Some(&before), &listed(red(), &[("a", Passed), ("f", Failed)]), None);
            assert_eq!(names(&comparison.regressed), regressed);
        }
    }

    #[test]
    fn a_removed_or_skipped_test_is_not_fixed() {
        use TestState::{Failed, Passed, Skipped};
        let before = listed(evidence(Outcome::Failed, 2, &[("a", "Error: x")]), &[("a", Failed), ("b", Passed)]);
        let after = |roster: &[(&str, TestState)]| {
            compare(Some(&before), &listed(evidence(Outcome::Passed, 1, &[]), roster), None)
        };
        let removed = after(&[("b", Passed)]);
        assert_eq!((names(&removed.fixed), names(&removed.removed)), (vec![], vec!["a"]));
        assert_eq!(names(&after(&[("a", Skipped), ("b", Passed)]).fixed), Vec::<&str>::new());
        assert_eq!(names(&after(&[("a", Passed), ("b", Passed)]).fixed), ["a"]);
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
