//! The checklist of a passing run, each item ticked from evidence.

use serde::Serialize;

use super::{summary, verdict::Subject};
use loopgate_core::{
    evidence::CheckResults,
    state::VerificationResult,
    verdict::{CheckStanding, EvaluationVerdict, RuleOutcome, evaluate::COVERAGE_RULE},
};

#[derive(Clone, Debug, Serialize)]
pub struct Tick {
    pub done: bool,
    pub what: &'static str,
    pub because: String,
}

/// Empty unless the run passed.
pub fn ticks(subject: &Subject<'_>) -> Vec<Tick> {
    if !matches!(subject.decision.view.evaluation.verdict, EvaluationVerdict::Passed(_)) {
        return Vec::new();
    }
    let results = results(subject);
    vec![
        tests_for_new_code(subject),
        executed(&results),
        all_passing(&results),
        recorded(subject),
        analysed(subject),
        coverage(subject),
        learned(subject),
    ]
}

fn tick(what: &'static str, done: bool, because: impl Into<String>) -> Tick {
    Tick { done, what, because: because.into() }
}

/// The sum over every check that reports tests.
fn results(subject: &Subject<'_>) -> CheckResults {
    let mut sum = CheckResults::default();
    for check in &subject.decision.view.checks {
        if let CheckStanding::Done(evidence) = &check.standing
            && let Some(results) = &evidence.results
        {
            sum.add(results);
        }
    }
    sum
}

fn rule(subject: &Subject<'_>, id: &str) -> Option<bool> {
    let rule = subject.decision.view.evaluation.rules.iter().find(|rule| rule.id.as_str() == id)?;
    match rule.outcome {
        RuleOutcome::Passed => Some(true),
        RuleOutcome::Failed(_) => Some(false),
        RuleOutcome::Unknown => None,
    }
}

fn has_rule(subject: &Subject<'_>, id: &str) -> bool {
    subject.decision.view.evaluation.rules.iter().any(|rule| rule.id.as_str() == id)
}

fn tests_for_new_code(subject: &Subject<'_>) -> Tick {
    match rule(subject, "tests_added") {
        Some(true) => tick("tests for new code", true, "tests were added or changed"),
        Some(false) => tick("tests for new code", false, "no test was added or changed"),
        None => tick("tests for new code", false, "not known"),
    }
}

fn executed(results: &CheckResults) -> Tick {
    match (results.total, results.skipped) {
        (0, _) => tick("executed, not skipped", false, "no test results were reported"),
        (total, 0) => tick("executed, not skipped", true, format!("{total} executed")),
        (total, skipped) => tick("executed, not skipped", false, format!("{skipped} of {total} skipped")),
    }
}

fn all_passing(results: &CheckResults) -> Tick {
    let failed = results.failed + results.errors;
    match (results.total, failed) {
        (0, _) => tick("all passing", false, "no test results were reported"),
        (_, 0) => tick("all passing", true, format!("{} passed", results.passed)),
        (total, failed) => tick("all passing", false, format!("{failed} of {total} fail")),
    }
}

fn recorded(subject: &Subject<'_>) -> Tick {
    let head = subject.snapshot.pull_request.head.sha;
    match subject.decision.next.attempts.iter().rev().find(|attempt| attempt.head_sha == head) {
        Some(attempt) => tick(
            "memory updated",
            true,
            format!("attempt {} is recorded in {}", attempt.number, summary::state_place(subject).in_plain_words()),
        ),
        None => tick("memory updated", false, "this head is not recorded yet"),
    }
}

fn failed_attempts(subject: &Subject<'_>) -> usize {
    subject.decision.next.attempts.iter().filter(|attempt| attempt.result == VerificationResult::Fail).count()
}

fn analysed(subject: &Subject<'_>) -> Tick {
    let known = subject.decision.next.failures.history.len();
    match (failed_attempts(subject), known) {
        (0, _) => tick("failures analysed", true, "there were none"),
        (_, 0) => tick("failures analysed", false, "no analysis is recorded"),
        (_, known) => tick("failures analysed", true, format!("{known} recorded with their cause")),
    }
}

fn coverage(subject: &Subject<'_>) -> Tick {
    let percent = subject.decision.view.coverage.as_ref().and_then(|coverage| coverage.changed_percent());
    match (rule(subject, COVERAGE_RULE), percent) {
        (Some(true), Some(percent)) => tick("coverage met", true, format!("{percent:.0} % of the changed lines")),
        (Some(true), None) => tick("coverage met", true, "no changed line is one that tests can cover"),
        (Some(false), _) => tick("coverage met", false, "too few of the changed lines"),
        (None, Some(percent)) if !has_rule(subject, COVERAGE_RULE) => {
            tick("coverage met", true, format!("{percent:.0} % of the changed lines, none required"))
        }
        (None, Some(_)) => tick("coverage met", false, "unknown: nothing is known of the base's coverage"),
        (None, None) => tick("coverage met", false, "unknown: no coverage report"),
    }
}

fn learned(subject: &Subject<'_>) -> Tick {
    let history = &subject.decision.next.failures.history;
    let resolved = history.iter().filter(|failure| failure.resolution.is_some()).count();
    match (failed_attempts(subject), resolved) {
        (0, _) => tick("learnings recorded", true, "nothing failed"),
        (_, 0) => tick("learnings recorded", false, "no fix is recorded"),
        (_, resolved) => tick("learnings recorded", true, format!("{resolved} fixes recorded")),
    }
}
