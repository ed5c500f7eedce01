//! What coverage does to a decision.

use crate::{
    concerns::{
        coverage::MissingTests,
        verdict::{RuleFailure, RuleOutcome},
    },
    deciding::{Decision, Warning},
    evidence::{ChangedCoverage, LineTally},
    fixtures::*,
    observed::{BaseEvidence, CodeType, ReceivedEvidence},
    policy::{Pattern, RequiredTest, Severity},
    state::VerificationResult,
};

fn measured(covered: u64, total: u64) -> ChangedCoverage {
    ChangedCoverage {
        lines_covered: 800 + covered,
        lines_total: 1_000,
        changed_covered: covered,
        changed_total: total,
        files: [("src/lib.rs".to_owned(), LineTally { covered, total })].into(),
        ..ChangedCoverage::default()
    }
}

/// A head whose tests pass and whose evidence has this coverage, decided on.
fn decided(
    title: &str,
    coverage: Option<ChangedCoverage>,
    prepare: impl FnOnce(&mut Story),
) -> Decision {
    let mut story = Story::opened();
    title.clone_into(&mut story.snapshot.pull_request.title);
    let mut received = evidence(sha(1), &[], &["rounds"]);
    if let ReceivedEvidence::Accepted(evidence) = &mut received {
        evidence.coverage = coverage;
    }
    story.snapshot.evidence = vec![received];
    prepare(&mut story);
    story.decide().clone()
}

fn outcome(decision: &Decision, rule: &str) -> Option<RuleOutcome> {
    let rules = &mut decision.view.evaluation.rules.iter();
    rules
        .find(|view| view.id.as_str() == rule)
        .map(|view| view.outcome.clone())
}

fn failed(decision: &Decision, rule: &str) -> RuleFailure {
    match outcome(decision, rule) {
        Some(RuleOutcome::Failed(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn changed_lines_are_held_against_the_type_of_the_change() {
    // The diff adds two lines in all.
    let half = || Some(measured(1, 2));
    let feature = decided("feat: a", half(), |_| {});
    let short = RuleFailure::ChangedCoverage {
        percent: 50.0,
        least: 80.0,
        uncovered: Vec::new(),
    };
    assert_eq!(failed(&feature, "coverage"), short);
    assert_eq!(
        feature.view.evaluation.warnings().len(),
        1,
        "coverage alone fails nothing"
    );
    assert_eq!(
        feature.next.attempts.counted[0].result,
        VerificationResult::Pass
    );
    let halved = decided("feat: a", half(), |story| {
        let row = story
            .policy
            .coverage
            .by_type
            .entry(crate::observed::CodeType::NewFunction)
            .or_default();
        row.target = crate::policy::CoverageTarget::Percent(50.0);
    });
    assert_eq!(outcome(&halved, "coverage"), Some(RuleOutcome::Passed));
    let strict = decided("feat: a", half(), |story| {
        story.policy.coverage.below_minimum = Severity::Fail
    });
    assert_eq!(
        strict.next.attempts.counted[0].result,
        VerificationResult::Fail
    );
    assert_eq!(
        outcome(&decided("fix: a", Some(measured(2, 2)), |_| {}), "coverage"),
        Some(RuleOutcome::Passed)
    );
}

#[test]
fn a_file_that_is_in_no_report_does_not_meet_a_rule_that_has_to_hold() {
    let unmeasured = || {
        Some(ChangedCoverage {
            unmeasured: vec!["src/lib.rs".to_owned()],
            ..measured(0, 0)
        })
    };
    let strict = |story: &mut Story| story.policy.coverage.below_minimum = Severity::Fail;
    let decision = decided("feat: a", unmeasured(), strict);
    let why = RuleFailure::NotMeasured {
        files: vec!["src/lib.rs".to_owned()],
    };
    assert_eq!(failed(&decision, "coverage"), why);
    assert_eq!(
        decision.next.attempts.counted[0].result,
        VerificationResult::Fail
    );
    let advised = decided("feat: a", unmeasured(), |_| {});
    assert_eq!(outcome(&advised, "coverage"), Some(RuleOutcome::Passed));
}

#[test]
fn unknown_coverage_weighs_nothing_and_a_change_without_code_passes() {
    assert_eq!(
        outcome(&decided("feat: a", None, |_| {}), "coverage"),
        Some(RuleOutcome::Unknown)
    );
    assert_eq!(
        outcome(&decided("fix: a", Some(measured(0, 0)), |_| {}), "coverage"),
        Some(RuleOutcome::Passed)
    );
}

#[test]
fn a_refactoring_keeps_the_coverage_of_the_base() {
    let on_base = |covered: u64| {
        move |story: &mut Story| {
            let coverage = ChangedCoverage {
                lines_covered: covered,
                lines_total: 1_000,
                ..ChangedCoverage::default()
            };
            let checks = Default::default();
            story.snapshot.base_evidence = Some(BaseEvidence {
                sha: sha(0xba),
                checks,
                coverage: Some(coverage),
            });
        }
    };
    let head = || Some(measured(1, 2));
    assert_eq!(
        outcome(&decided("refactor: a", head(), |_| {}), "coverage"),
        Some(RuleOutcome::Unknown)
    );
    assert_eq!(
        outcome(&decided("refactor: a", head(), on_base(802)), "coverage"),
        Some(RuleOutcome::Passed),
        "0.1"
    );
    let lost = decided("refactor: a", head(), on_base(803));
    assert_eq!(
        failed(&lost, "coverage"),
        RuleFailure::CoverageLost {
            head: 80.1,
            base: 80.3
        }
    );
}

#[test]
fn figures_that_cannot_be_are_unknown_and_told() {
    let decision = decided("feat: a", Some(measured(3, 3)), |_| {});
    assert_eq!(decision.view.coverage, None);
    assert_eq!(outcome(&decision, "coverage"), Some(RuleOutcome::Unknown));
    let told = decision
        .view
        .warnings
        .iter()
        .find_map(|warning| match warning {
            Warning::NotObserved(problem) => Some(problem.reason.as_str()),
            _ => None,
        });
    assert_eq!(
        told,
        Some("it counts 3 changed lines, and the pull request adds 2")
    );
}

#[test]
fn a_sort_of_tests_is_judged_only_where_something_tells_it() {
    let plain = decided("feat: a", None, |_| {});
    assert_eq!(outcome(&plain, "edge_cases"), None);
    let asked = decided("feat: a", None, |story| {
        let patterns = vec![Pattern::parse("edge").unwrap()];
        story
            .policy
            .coverage
            .test_names
            .insert(RequiredTest::EdgeCases, patterns);
    });
    let named = MissingTests::Named {
        patterns: vec!["edge".to_owned()],
    };
    assert_eq!(
        failed(&asked, "edge_cases"),
        RuleFailure::RequiredTest(named)
    );
    assert_eq!(asked.next.head.artifact.code_type, CodeType::NewFunction);
    assert_eq!(
        asked.next.attempts.counted[0].result,
        VerificationResult::Pass,
        "a warning only"
    );
}
