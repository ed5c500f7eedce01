//! Compares an attempt with the attempt before it, or with the base.
//! A test is identified by its identity if the report gives one, otherwise by its name.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    concerns::{checks::gather::HeadEvidence, tampering::Tampering},
    evidence::{Against, CheckEvidence, Compare, TestId, TestOutcomes, TestState, is_declared},
    observed::BaseEvidence,
    state::AttemptDigest,
};

/// Most names in one set: the record of an attempt stays small.
const MOST_NAMES: usize = 200;

/// Failing tests by name, with every test's end where it is known.
struct ComparedTests<'a> {
    failing: BTreeMap<String, Option<TestId>>,
    tests: Option<&'a TestOutcomes>,
}

/// Names of tests that failed and passed on this very commit: in one run of their check, or in two. `before` is the
/// attempt that was counted of this head earlier.
pub fn flaky(before: Option<&AttemptDigest>, evidence: &HeadEvidence) -> BTreeSet<String> {
    let checks = || evidence.ended();
    let mut flaky: BTreeSet<String> = checks()
        .flat_map(|check| check.flaky_tests.iter().cloned())
        .collect();
    if let Some(before) = before {
        flaky.extend(before.flaky.iter().cloned());
        let now = CheckEvidence::all_tests(checks());
        let passes_now = |id: TestId| now.as_ref().is_some_and(|now| now.is_green(id));
        let mended = before
            .failing_tests
            .iter()
            .filter(|(_, id)| id.is_some_and(passes_now));
        flaky.extend(mended.map(|(name, _)| name.clone()));
        let passed_before =
            |id: TestId| before.tests.as_ref().is_some_and(|then| then.is_green(id));
        let broken = checks()
            .flat_map(|check| &check.failures)
            .filter(|one| one.test_id.is_some_and(passed_before));
        flaky.extend(broken.filter_map(|failure| failure.test_name.clone()));
    }
    while flaky.len() > MOST_NAMES {
        flaky.pop_last();
    }
    flaky
}

/// Compares the head with the attempt before it, else with the base.
///
/// The first attempt is compared with the base, and nothing in it is called a regression, since no fix came before it.
/// From the second attempt on, a failing test counts as regressed if it did not fail in the attempt before. A test that
/// `tampering` lists as removed or marked is not fixed. Returns beside it the tests that fail now and passed before: in
/// the attempt before, or, where that did not run them, on the base.
pub fn compare(
    previous: Option<&AttemptDigest>,
    digest: &AttemptDigest,
    evidence: &HeadEvidence,
    base: Option<&BaseEvidence>,
    tampering: &[Tampering],
) -> (Compare, BTreeSet<String>) {
    let all = CheckEvidence::all_tests(evidence.ended());
    let now = ComparedTests {
        failing: digest.failing_tests.clone(),
        tests: all.as_ref(),
    };
    let base_tests =
        CheckEvidence::all_tests(base.into_iter().flat_map(|base| base.checks.values()));
    let (before, against, total_before) = match (previous, base) {
        (Some(previous), _) => {
            let failing = previous.failing_tests.clone();
            (
                ComparedTests {
                    failing,
                    tests: previous.tests.as_ref(),
                },
                Against::AttemptBefore,
                previous.total_tests,
            )
        }
        (None, Some(base)) => {
            let failures = base
                .checks
                .values()
                .flat_map(|check| &check.failures)
                .take(MOST_NAMES);
            let failing = failures
                .filter_map(|failure| Some((failure.test_name.clone()?, failure.test_id)))
                .collect();
            let total = CheckEvidence::sum(base.checks.values(), |results| results.total);
            (
                ComparedTests {
                    failing,
                    tests: base_tests.as_ref(),
                },
                Against::Base,
                total,
            )
        }
        (None, None) => {
            return (
                Compare {
                    flaky: digest.flaky.clone(),
                    ..Compare::default()
                },
                BTreeSet::new(),
            );
        }
    };
    // A test that is taken away or marked does not pass.
    let passes = |name: &str, id: Option<TestId>| {
        let mut gone = tampering.iter().filter_map(|one| one.gone.as_deref());
        !gone.any(|gone| is_declared(name, gone))
            && evidence.sees_pass(now.tests, total_before, name, id)
    };
    let compare = sets(&before, &now, &passes, digest, against);
    let regressed = match against {
        Against::Base => BTreeSet::new(),
        Against::AttemptBefore => {
            let fails_newly = |name: &str, id: Option<TestId>| !fails(&before, name, id);
            let was_green = |id: TestId| match before.tests.and_then(|tests| tests.state(id)) {
                Some(state) => matches!(state, TestState::Passed | TestState::Flaky),
                None => base_tests.as_ref().is_some_and(|tests| tests.is_green(id)),
            };
            let regressed = now
                .failing
                .iter()
                .filter(|(name, id)| fails_newly(name, **id) && id.is_some_and(was_green));
            regressed.map(|(name, _)| name.clone()).collect()
        }
    };
    (compare, regressed)
}

fn sets(
    before: &ComparedTests<'_>,
    now: &ComparedTests<'_>,
    passes: &dyn Fn(&str, Option<TestId>) -> bool,
    digest: &AttemptDigest,
    against: Against,
) -> Compare {
    let split = |wanted: bool| -> BTreeSet<String> {
        let is_wanted =
            |(name, id): &(&String, &Option<TestId>)| fails(before, name, **id) == wanted;
        now.failing
            .iter()
            .filter(is_wanted)
            .map(|(name, _)| name.clone())
            .collect()
    };
    let fixed = before
        .failing
        .iter()
        .filter(|(name, id)| passes(name, **id));
    let (mut added, mut removed) = (BTreeSet::new(), BTreeSet::new());
    if let (Some(then), Some(tests)) = (before.tests, now.tests)
        && then.is_whole()
        && tests.is_whole()
    {
        let missing_in = |other: &TestOutcomes,
                          here: &TestOutcomes,
                          names: &BTreeMap<String, Option<TestId>>| {
            let missing = here
                .iter()
                .map(|entry| entry.id())
                .filter(|id| other.state(*id).is_none());
            let named = |id: TestId| {
                names
                    .iter()
                    .find(|(_, known)| **known == Some(id))
                    .map(|(name, _)| name.clone())
            };
            // Passing tests are known by their identity alone.
            let name = |id: TestId| named(id).unwrap_or_else(|| id.to_string());
            missing
                .take(MOST_NAMES)
                .map(name)
                .collect::<BTreeSet<String>>()
        };
        added = missing_in(then, tests, &now.failing);
        removed = missing_in(tests, then, &before.failing);
    }
    Compare {
        new: split(false),
        still: split(true),
        fixed: fixed.map(|(name, _)| name.clone()).collect(),
        flaky: digest.flaky.clone(),
        added,
        removed,
        against,
    }
}

/// Whether a test is known to fail there.
fn fails(side: &ComparedTests<'_>, name: &str, id: Option<TestId>) -> bool {
    let listed = id.zip(side.tests).and_then(|(id, tests)| tests.state(id));
    side.failing.contains_key(name) || listed.is_some_and(TestState::is_failure)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::{
        concerns::checks::gather,
        deciding::NextAction,
        evidence::{Against, CheckEvidence, Compare, Evidence},
        failure::Blame,
        fixtures::*,
        observed::{BaseEvidence, ReceivedEvidence},
        policy::{Baseline, Trigger},
    };

    fn document(failing: &[&str], passing: &[&str]) -> Evidence {
        match evidence(sha(0xba), failing, passing) {
            ReceivedEvidence::Accepted(evidence) => *evidence,
            ReceivedEvidence::Refused { .. } => panic!("accepted"),
        }
    }

    fn base(failing: &[&str], passing: &[&str]) -> Option<BaseEvidence> {
        Some(gather::base(sha(0xba), vec![document(failing, passing)]))
    }

    fn names(set: &BTreeSet<String>) -> Vec<&str> {
        set.iter().map(String::as_str).collect()
    }

    fn compared(story: &Story) -> Compare {
        story.last.as_ref().unwrap().view.compare.clone().unwrap()
    }

    #[test]
    fn the_first_attempt_is_compared_with_the_base_and_breaks_no_loop() {
        let mut story = Story::opened();
        story.snapshot.base_evidence = base(&["old"], &["rounds", "gone"]);
        let decision = story.push(1, &["rounds", "old"], &["fresh"]);
        assert_eq!(decision.action, NextAction::Retry { attempt: 1 });
        let compare = compared(&story);
        assert_eq!(compare.against, Against::Base);
        assert_eq!(
            (names(&compare.new), names(&compare.still)),
            (vec!["rounds"], vec![])
        );
        assert_eq!((compare.added.len(), compare.removed.len()), (1, 1));
        assert_eq!(
            names(&story.state.attempts.counted[0].regressed),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn what_the_base_shows_green_and_the_attempt_before_did_not_run_regresses() {
        let mut story = Story::opened();
        story.snapshot.base_evidence = base(&[], &["rounds", "parses"]);
        story.push(1, &["rounds"], &[]);
        let decision = story.push(2, &["rounds", "parses"], &[]);
        assert_eq!(
            decision.action,
            NextAction::Escalate {
                cause: Trigger::RegressionDetected
            }
        );
        assert_eq!(
            names(&story.state.attempts.counted[1].regressed),
            ["parses"],
            "`rounds` failed before already"
        );
    }

    #[test]
    fn failures_of_the_base_are_told_apart_from_the_pull_requests_own() {
        let mut story = Story::opened();
        story.snapshot.base_evidence = base(&["old"], &["rounds"]);
        let decision = story.push(1, &["old"], &["rounds"]);
        let blamed: Vec<_> = decision
            .view
            .failures
            .iter()
            .map(|view| view.blame)
            .collect();
        assert_eq!(blamed, [Blame::Base]);
        assert!(!story.state.attempts.counted[0].spent());
        // With another failure beside it, each keeps its own blame, and only the new one counts.
        let decision = story.push(2, &["old", "rounds"], &[]);
        let blamed: Vec<_> = decision
            .view
            .failures
            .iter()
            .map(|view| view.blame)
            .collect();
        assert_eq!(blamed, [Blame::PrCode, Blame::Base]);
        assert_eq!(
            story.state.attempts.counted[1]
                .failing_tests
                .keys()
                .collect::<Vec<_>>(),
            ["rounds"]
        );
        assert_eq!(story.state.attempts.counted[1].fingerprints.len(), 1);
        story.policy.retry.baseline = Baseline::New;
        assert_eq!(
            story.push(3, &["old"], &["rounds"]).action,
            NextAction::WaitForMerge
        );
    }

    #[test]
    fn unknown_and_green_bases_differ_in_confidence() {
        let mut story = Story::opened();
        assert_eq!(
            story.push(1, &["rounds"], &[]).view.failures[0].blame_confidence,
            0.5
        );
        story.snapshot.base_evidence = base(&[], &["rounds"]);
        assert_eq!(story.decide().view.failures[0].blame_confidence, 0.95);
    }

    #[test]
    fn a_rerun_that_passes_makes_the_test_flaky_and_one_that_fails_spends_nothing() {
        let mut story = Story::opened();
        story.push(1, &["rounds"], &["parses"]);
        assert_eq!(
            story.push(1, &[], &["rounds", "parses"]).action,
            NextAction::WaitForMerge
        );
        assert_eq!(names(&story.state.attempts.counted[0].flaky), ["rounds"]);
        assert_eq!(names(&compared(&story).flaky), ["rounds"]);
        // Passed, and fails when run again: that is the test's doing.
        let decision = story.push(1, &["parses"], &["rounds"]);
        assert!(
            matches!(decision.action, NextAction::WaitForEvidence { .. }),
            "{:?}",
            decision.action
        );
        assert_eq!(decision.view.failures[0].blame, Blame::Flaky);
        assert_eq!(story.state.attempts.failures.total, 0);
        assert_eq!(story.state.attempts.counted.len(), 1);
    }

    #[test]
    fn what_is_gone_is_not_fixed() {
        let mut story = Story::opened();
        story.push(1, &["rounds", "parses"], &["adds"]);
        story.push(2, &["adds"], &["rounds"]);
        let compare = compared(&story);
        assert_eq!(compare.against, Against::AttemptBefore);
        assert_eq!(
            (names(&compare.new), names(&compare.fixed)),
            (vec!["adds"], vec!["rounds"])
        );
        assert_eq!(names(&compare.removed), ["parses"]);
    }

    #[test]
    fn a_test_that_fails_on_one_platform_only_is_no_regression_the_next_time() {
        let mut story = Story::opened();
        let push_two_matrix_jobs = |story: &mut Story, head: u8| {
            story.push(head, &["rounds"], &["parses"]);
            story
                .snapshot
                .evidence
                .push(evidence(sha(head), &[], &["rounds", "parses"]));
            story.decide().action.clone()
        };
        assert_eq!(
            push_two_matrix_jobs(&mut story, 1),
            NextAction::Retry { attempt: 1 }
        );
        assert_eq!(
            push_two_matrix_jobs(&mut story, 2),
            NextAction::Retry { attempt: 2 }
        );
        assert!(
            story.state.attempts.counted[1].regressed.is_empty()
                && story.state.attempts.counted[1].flaky.is_empty()
        );
    }

    #[test]
    fn documents_of_the_base_are_put_together() {
        let mut broken = document(&["x"], &[]);
        broken
            .checks
            .retain(|check: &CheckEvidence| check.name.as_str() == "unit");
        let base = gather::base(sha(1), vec![document(&[], &["x"]), broken]);
        assert_eq!(base.checks.len(), 2);
        let unit = base
            .checks
            .values()
            .find(|check| check.name.as_str() == "unit")
            .unwrap();
        assert!(unit.outcome.is_failure());
    }

    proptest::proptest! {
        #[test]
        fn the_sets_are_those_of_the_algebra(before in any_tests(), now in any_tests()) {
            let all: Vec<&str> = ALL.to_vec();
            let split = |failing: &BTreeSet<&'static str>| -> (Vec<&str>, Vec<&str>) {
                all.iter().partition(|name| failing.contains(*name))
            };
            let mut story = Story::opened();
            for (head, failing) in [(1, &before), (2, &now)] {
                let (failing, passing) = split(failing);
                story.push(head, &failing, &passing);
            }
            let compare = compared(&story);
            let same = |set: &BTreeSet<String>, expected: BTreeSet<&str>| {
                set.iter().map(String::as_str).eq(expected.into_iter())
            };
            proptest::prop_assert!(same(&compare.new, now.difference(&before).copied().collect()));
            proptest::prop_assert!(same(&compare.still, now.intersection(&before).copied().collect()));
            proptest::prop_assert!(same(&compare.fixed, before.difference(&now).copied().collect()));
            proptest::prop_assert!(compare.added.is_empty() && compare.removed.is_empty() && compare.flaky.is_empty());
            let regressed = &story.state.attempts.counted[1].regressed;
            proptest::prop_assert_eq!(regressed, &compare.new, "all of them were green before");
        }
    }

    const ALL: [&str; 5] = ["a", "b", "c", "d", "e"];

    fn any_tests() -> impl proptest::strategy::Strategy<Value = BTreeSet<&'static str>> {
        proptest::collection::btree_set(proptest::sample::select(ALL.to_vec()), 0..5)
    }
}
