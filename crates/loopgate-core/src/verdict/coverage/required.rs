//! Sorts of tests that a type of change must come with: there, missing, or not known.

use std::collections::{BTreeMap, BTreeSet};

use super::test_names::added_tests;
use crate::{
    evidence::{CheckEvidence, OutcomesExtent, ProofVerdict, RegressionTrial, TestId, TestState},
    observed::{BaseEvidence, ChangedFiles},
    policy::{CoveragePolicy, RequiredTest},
};

/// What is known of a required sort of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TestStanding {
    There,
    Missing(MissingTests),
}

impl TestStanding {
    pub const fn is_there(&self) -> bool {
        matches!(self, Self::There)
    }
}

/// What is missing of a required sort of tests.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingTests {
    /// An added test whose name matches one of these patterns.
    Named { patterns: Vec<String> },
    /// A test that fails without the fix and passes with it; why none is proved to.
    Proof { reason: String },
    /// Tests of the base: so many fail now, the first of them by name, and so many are gone.
    OfBase { broken: usize, named: Vec<String>, gone: usize },
}

/// Most names that are kept.
const MOST_NAMES: usize = 3;

/// Judges the sorts of tests of which something is known; the others are unknown, which never fails.
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
                let patterns = patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect();
                TestStanding::Missing(MissingTests::Named { patterns })
            };
            standings.entry(*sort).or_insert(standing);
        }
    }
    standings
}

fn proved(proof: &RegressionTrial) -> Option<TestStanding> {
    match proof.verdict {
        ProofVerdict::Proved => Some(TestStanding::There),
        ProofVerdict::NotProved => Some(TestStanding::Missing(MissingTests::Proof { reason: proof.reason.clone() })),
        ProofVerdict::Unknown => None,
    }
}

/// Compares tests by their identity; a check without identities on either side is skipped.
fn existing<'a>(head: impl IntoIterator<Item = &'a CheckEvidence>, base: &BaseEvidence) -> Option<TestStanding> {
    let (mut compared, mut broken, mut gone) = (false, BTreeSet::new(), 0_usize);
    for check in head.into_iter().filter(|check| check.kind.is_of_tests()) {
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
    compared.then(|| match (broken.len(), gone) {
        (0, 0) => TestStanding::There,
        (count, gone) => {
            let named = broken.into_iter().take(MOST_NAMES).collect();
            TestStanding::Missing(MissingTests::OfBase { broken: count, named, gone })
        }
    })
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
        evidence::{CheckKind, Outcome, TestOutcome, TestOutcomes},
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
        let missing = |broken: &[&str], gone| {
            let named = broken.iter().map(ToString::to_string).collect();
            Some(TestStanding::Missing(MissingTests::OfBase { broken: broken.len(), named, gone }))
        };
        let none = CheckEvidence::bare("unit".parse().unwrap(), CheckKind::Test, Outcome::Passed);
        let table = [
            (unit(&[], &["a", "b"]), unit(&[], &["a", "b", "c"]), Some(TestStanding::There)),
            (unit(&["a"], &["b"]), unit(&["a"], &["b"]), Some(TestStanding::There)),
            (unit(&[], &["a", "b"]), unit(&["a"], &["b"]), missing(&["a"], 0)),
            (unit(&[], &["a", "b"]), unit(&[], &["a"]), missing(&[], 1)),
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
            TestStanding::Missing(MissingTests::Named { patterns: vec!["fails|refuses".to_owned()] })
        );
        assert!(matches!(&judged[&RegressionTest], TestStanding::Missing(MissingTests::Proof { .. })));
        assert_eq!(judge(&policy, Some(&proved))[&OriginalBugReproduction], TestStanding::There);
        assert!(!judge(&policy, Some(&unknown)).contains_key(&RegressionTest));
    }
}
