//! Sorts of tests that a type of change must come with: there, missing, or not known.

use std::collections::{BTreeMap, BTreeSet};

use super::test_names::added_tests;
use crate::{
    evidence::{CheckEvidence, CheckKind, OutcomesExtent, ProofVerdict, RegressionTrial, TestId, TestState},
    observed::{BaseEvidence, ChangedFiles},
    policy::{CoveragePolicy, RequiredTest},
};

/// What is known of a required sort of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestStanding {
    There,
    /// What is missing, as one instruction.
    Missing(String),
}

/// Most names in an instruction.
const MOST_NAMES: usize = 3;

/// Judges the sorts of tests of which something is known; the others are unknown, which never fails (decisions.md, V11
/// to V14).
///
/// - `regression_test` and `original_bug_reproduction` by the proof, where one was tried;
/// - `existing_tests_pass` by comparison with the base: none of its tests fails now, none is gone;
/// - the others by `coverage.test_names`: an added test has a name that matches. Judged on the diff, since a test that
///   was there before did not come with the change.
pub fn standings<'a>(
    policy: &CoveragePolicy,
    files: &ChangedFiles,
    head: impl IntoIterator<Item = &'a CheckEvidence>,
    base: Option<&BaseEvidence>,
    proof: Option<&RegressionTrial>,
) -> BTreeMap<RequiredTest, TestStanding> {
    let mut standings = BTreeMap::new();
    if let Some(standing) = proof.and_then(proved) {
        standings.insert(RequiredTest::RegressionTest, standing.clone());
        standings.insert(RequiredTest::OriginalBugReproduction, standing);
    }
    if let Some(standing) = base.and_then(|base| existing(head, base)) {
        standings.insert(RequiredTest::ExistingTestsPass, standing);
    }
    if !policy.test_names.is_empty()
        && let Some(names) = added_tests(files)
    {
        for (sort, patterns) in &policy.test_names {
            let is_there = names.iter().any(|name| patterns.iter().any(|pattern| pattern.matches(name)));
            let standing = if is_there {
                TestStanding::There
            } else {
                let wanted: Vec<String> = patterns.iter().map(|pattern| format!("`{}`", pattern.as_str())).collect();
                TestStanding::Missing(format!("add a test whose name matches {}", wanted.join(" or ")))
            };
            standings.entry(*sort).or_insert(standing);
        }
    }
    standings
}

fn proved(proof: &RegressionTrial) -> Option<TestStanding> {
    match proof.verdict {
        ProofVerdict::Proved => Some(TestStanding::There),
        ProofVerdict::NotProved => Some(TestStanding::Missing(format!(
            "add a test that fails without the fix and passes with it: {}",
            proof.reason.trim_end_matches('.')
        ))),
        ProofVerdict::Unknown => None,
    }
}

/// Compares tests by their identity; a check without one on either side tells nothing.
fn existing<'a>(head: impl IntoIterator<Item = &'a CheckEvidence>, base: &BaseEvidence) -> Option<TestStanding> {
    let (mut compared, mut broken, mut gone) = (false, BTreeSet::new(), 0_usize);
    for check in head.into_iter().filter(|check| matches!(check.kind, CheckKind::Test | CheckKind::Integration)) {
        let before = base.checks.get(&check.name).and_then(|before| before.tests.as_ref());
        let (Some(before), Some(now)) = (before, &check.tests) else { continue };
        compared = true;
        let was_green = |id: TestId| matches!(before.state(id), Some(TestState::Passed | TestState::Flaky));
        let failing = now.iter().filter(|entry| entry.state().is_failure() && was_green(entry.id()));
        broken.extend(failing.map(|entry| name_of(check, entry.id())));
        if before.extent() == OutcomesExtent::Whole && now.extent() == OutcomesExtent::Whole {
            gone += before.iter().filter(|entry| now.state(entry.id()).is_none()).count();
        }
    }
    let broken_names = || {
        let named: Vec<String> = broken.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
        format!("make the tests pass that pass on the base: {} of them fail, {}", broken.len(), named.join(", "))
    };
    let gone_words = || format!("bring back the {gone} tests that the base has and this change has not");
    match (compared, broken.is_empty(), gone) {
        (false, ..) => None,
        (true, true, 0) => Some(TestStanding::There),
        (true, true, _) => Some(TestStanding::Missing(gone_words())),
        (true, false, 0) => Some(TestStanding::Missing(broken_names())),
        (true, false, _) => Some(TestStanding::Missing(format!("{}; {}", broken_names(), gone_words()))),
    }
}

/// Failures have names; what is only listed has its identity.
fn name_of(check: &CheckEvidence, id: TestId) -> String {
    let failure = check.failures.iter().find(|failure| failure.test_id == Some(id));
    failure.and_then(|failure| failure.test_name.clone()).unwrap_or_else(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evidence::{Outcome, TestOutcome, TestOutcomes},
        fixtures,
        observed::ReceivedEvidence,
        policy::Pattern,
    };

    fn unit(failing: &[&str], passing: &[&str]) -> CheckEvidence {
        let ReceivedEvidence::Accepted(evidence) = fixtures::evidence(fixtures::sha(1), failing, passing) else {
            panic!("accepted")
        };
        evidence.checks[1].clone()
    }

    fn on_base(check: CheckEvidence) -> BaseEvidence {
        BaseEvidence { sha: fixtures::sha(9), checks: [(check.name.clone(), check)].into(), coverage: None }
    }

    #[test]
    fn existing_tests_are_compared_with_the_base() {
        let missing = |words: &str| Some(TestStanding::Missing(words.to_owned()));
        let none = CheckEvidence::bare("unit".parse().unwrap(), CheckKind::Test, Outcome::Passed);
        let table = [
            (unit(&[], &["a", "b"]), unit(&[], &["a", "b", "c"]), Some(TestStanding::There)),
            (unit(&["a"], &["b"]), unit(&["a"], &["b"]), Some(TestStanding::There)),
            (
                unit(&[], &["a", "b"]),
                unit(&["a"], &["b"]),
                missing("make the tests pass that pass on the base: 1 of them fail, `a`"),
            ),
            (
                unit(&[], &["a", "b"]),
                unit(&[], &["a"]),
                missing("bring back the 1 tests that the base has and this change has not"),
            ),
            (none.clone(), unit(&["a"], &[]), None),
            (unit(&[], &["a"]), none, None),
        ];
        for (base, head, expected) in table {
            assert_eq!(existing([&head], &on_base(base.clone())), expected, "{base:?}");
        }
        let whole = unit(&[], &["a", "b"]);
        let mut part = unit(&[], &["a"]);
        let entry = TestOutcome::new(TestId::of("", "", "a"), TestState::Passed);
        part.tests = Some(TestOutcomes::new(vec![entry], OutcomesExtent::Partial));
        assert_eq!(existing([&part], &on_base(whole)), Some(TestStanding::There));
    }

    #[test]
    fn a_proof_and_names_judge_the_other_sorts() {
        use RequiredTest::{EdgeCases, ErrorHandling, OriginalBugReproduction, RegressionTest};
        let mut policy = CoveragePolicy::default();
        let mut files = fixtures::snapshot().files;
        if let ChangedFiles::Complete(files) = &mut files {
            files[1].patch = Some("@@ -0,0 +1,2 @@\n+#[test]\n+fn an_empty_cart_costs_nothing() {}".to_owned());
        }
        let judge = |policy: &CoveragePolicy, proof| standings(policy, &files, [], None, proof);
        assert!(judge(&policy, None).is_empty());
        policy.test_names = [(EdgeCases, "empty|zero"), (ErrorHandling, "fails|refuses")]
            .map(|(sort, text)| (sort, vec![Pattern::parse(text).unwrap()]))
            .into();
        let trial = |verdict| RegressionTrial {
            verdict,
            tests: Vec::new(),
            reason: "tests/round.rs passes on the base too.".to_owned(),
        };
        let [not, proved, unknown] = [ProofVerdict::NotProved, ProofVerdict::Proved, ProofVerdict::Unknown].map(trial);
        let judged = judge(&policy, Some(&not));
        assert_eq!(judged[&EdgeCases], TestStanding::There);
        assert_eq!(
            judged[&ErrorHandling],
            TestStanding::Missing("add a test whose name matches `fails|refuses`".to_owned())
        );
        assert!(matches!(&judged[&RegressionTest], TestStanding::Missing(why) if why.ends_with("on the base too")));
        assert_eq!(judge(&policy, Some(&proved))[&OriginalBugReproduction], TestStanding::There);
        assert!(!judge(&policy, Some(&unknown)).contains_key(&RegressionTest));
    }
}
