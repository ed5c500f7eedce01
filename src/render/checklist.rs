//! The checklist of a passing run, each item ticked from evidence.

use serde::Serialize;

use super::verdict::Subject;
use loopgate_core::{
    evidence::CheckResults,
    verdict::{CheckStanding, EvaluationVerdict, RuleOutcome, evaluate::COVERAGE_RULE},
};

#[derive(Clone, Debug, Serialize)]
pub struct Tick {
    pub done: bool,
    pub what: &'static str,
    pub because: Option<String>,
}

/// What happened on the way; empty unless the run passed. The numbers stand with the checks.
pub fn ticks(subject: &Subject<'_>) -> Vec<Tick> {
    if !matches!(subject.decision.view.evaluation.verdict, EvaluationVerdict::Passed(_)) {
        return Vec::new();
    }
    let CheckResults { total, failed, errors, skipped, .. } = results(subject);
    let of_tests = |what, missed: u64, how: &str| {
        let because = (missed > 0).then(|| format!("{missed} of {total} {how}"));
        (total > 0).then_some(Tick { done: missed == 0, what, because })
    };
    let ticks = [
        rule(subject, "tests_added").map(|done| Tick { done, what: "tests for new code", because: None }),
        of_tests("executed, not skipped", skipped, "skipped"),
        of_tests("all passing", failed + errors, "fail"),
        analysed(subject),
        recorded(subject).map(|_| Tick { done: true, what: "memory updated", because: None }),
        recorded(subject).map(learned),
        rule(subject, COVERAGE_RULE).map(|done| Tick { done, what: "coverage met", because: None }),
    ];
    ticks.into_iter().flatten().collect()
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

/// How many cards the run has taught, once it was written to the debug memory.
fn recorded(subject: &Subject<'_>) -> Option<u32> {
    let next = &subject.decision.next;
    next.attempt_of(next.head_sha)?.recorded
}

fn learned(cards: u32) -> Tick {
    let fixes = super::words::plural(usize::try_from(cards).unwrap_or(usize::MAX), "fix", "fixes");
    let because = if cards > 0 { format!("{fixes} remembered") } else { "no fix that could be remembered".to_owned() };
    Tick { done: cards > 0, what: "learnings recorded", because: Some(because) }
}

fn analysed(subject: &Subject<'_>) -> Option<Tick> {
    let known = subject.decision.next.failures.history.len();
    let because = Some(format!("{known} recorded with their cause"));
    (known > 0).then_some(Tick { done: true, what: "failures analysed", because })
}
