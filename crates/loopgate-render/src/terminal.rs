//! The same facts for a terminal: plain lines, with colour where the terminal has it.

use minijinja::{Value, context, value::Serde};

use super::{
    CAUTION, Iteration, Links, Subject, block, check_table, clip, clip_lines,
    failure_card::{self, Cause, ShownTexts},
    line, messages,
    messages::entry,
    place, plain, verdict, warning, word, words,
};
use loopgate_core::{
    concerns::{
        checks::CheckStanding,
        verdict::{FailureView, RuleFailure, RuleOutcome, RuleView},
    },
    deciding::{CheckView, Decision},
    evidence::CheckEvidence,
    observed::Snapshot,
    policy::Policy,
    result::CheckState,
};

/// Causes of failures shown; the rest is counted.
const FAILURES: usize = 10;
/// Those of them shown whole, so that the report is one screen.
const OPEN: usize = 3;

/// The report printed after an evaluation; a whole one has the iteration summary, too. Whether to colour is known to
/// the caller, by the terminal and `NO_COLOR`.
pub fn report(
    decision: &Decision,
    snapshot: &Snapshot,
    policy: &Policy,
    is_whole: bool,
    colour: bool,
) -> String {
    let subject = Subject::new(decision, snapshot, policy);
    let view = &decision.view;
    let (causes, mut shown) = (failure_card::causes(&view.failures), ShownTexts::new());
    let mut iteration = Iteration::of(&subject);
    if let Some(iteration) = &mut iteration {
        // Checks that fail stand above; here stands what is short beside them.
        let is_check = |rule: &str| {
            subject
                .checks()
                .any(|(_, check)| check.name.as_str() == rule)
        };
        iteration
            .issues
            .retain(|(rule, _)| iteration.passes || !is_check(rule));
    }
    let whole = iteration.iter().filter(|_| is_whole);
    let model = context! {
        colour,
        caution => CAUTION,
        failures => causes.iter().take(FAILURES).map(|cause| failure(cause, &mut shown)).collect::<Vec<_>>(),
        open => OPEN,
        more => causes.len().saturating_sub(FAILURES),
        checks => subject.checks().map(|(state, view)| check(state, view)).collect::<Vec<_>>(),
        notes => warning::notes(decision, snapshot),
        coverage => coverage(&subject),
        ends => subject.checks().filter_map(|(state, check)| last_output(state, check, &view.failures)).collect::<Vec<_>>(),
        issues => iteration.iter().flat_map(Iteration::issue_lines).collect::<Vec<_>>(),
        iteration => whole.flat_map(|iteration| iteration.head.clone()).collect::<Vec<_>>(),
        passes => iteration.as_ref().is_some_and(|iteration| iteration.passes),
        distance => Serde(subject.distance()),
        outcome => outcome(&subject),
    };
    messages::text("report.txt", model)
}

/// How it ended; of a verification that passed also what passed.
fn outcome(subject: &Subject<'_>) -> String {
    if !subject.is_single() || !verdict::has_passed(&subject.decision.action) {
        return line(&verdict::verdict(subject).1);
    }
    let passed: Vec<&CheckView> = subject
        .checks()
        .filter(|(state, _)| *state == CheckState::Passed)
        .map(|(_, check)| check)
        .collect();
    let tests: u64 = passed
        .iter()
        .filter_map(|check| check.evidence()?.results.as_ref())
        .map(|results| results.passed)
        .sum();
    let tests = if tests > 0 {
        format!(", {}", words::count(tests, "test"))
    } else {
        String::new()
    };
    format!(
        "Passed: {}{tests}{}",
        words::count(passed.len(), "check"),
        verdict::with_warnings(&subject.decision.view)
    )
}

/// The coverage of the changed lines, where some are not covered or not measured and no rule says so.
fn coverage(subject: &Subject<'_>) -> Option<String> {
    let view = &subject.decision.view;
    let found = view.coverage.as_ref()?;
    let is_short = !found.uncovered.is_empty() || !found.unmeasured.is_empty();
    let says_so = |rule: &RuleView| {
        use RuleFailure::{ChangedCoverage, NotMeasured};
        matches!(
            rule.outcome,
            RuleOutcome::Failed(ChangedCoverage { .. } | NotMeasured { .. })
        )
    };
    if !is_short || subject.rules().any(says_so) {
        return None;
    }
    let said = check_table::coverage_line(view, &Links::of(subject.snapshot))?;
    Some(plain(said.as_str()))
}

/// The line of a check.
fn check(state: CheckState, check: &CheckView) -> Value {
    let evidence = check.evidence();
    let tests = match evidence {
        Some(CheckEvidence {
            results: Some(results),
            ..
        }) => format!("  {}", check_table::tests(results)),
        Some(evidence) if evidence.has_unread_tests() => "  no per-test results read".to_owned(),
        _ => String::new(),
    };
    context! {
        mark => word(entry::CheckMark(&state)),
        name => check.name.as_str(),
        kind => check.kind.as_str(),
        ended => format!("{}{tests}", standing(state, check)),
        duration => evidence.map(|evidence| evidence.duration_ms).filter(|ms| *ms > 0).map(words::duration),
    }
}

/// Lines of output shown for a check if nothing else shows why it did not pass.
const LAST_LINES: usize = 8;

/// The end of the output of a check that ran out of time, or that failed and names no failure.
fn last_output(state: CheckState, check: &CheckView, failures: &[FailureView]) -> Option<Value> {
    let evidence = check.evidence()?;
    let is_explained =
        state != CheckState::TimedOut && failures.iter().any(|failure| failure.check == check.name);
    if is_explained || !state.is_failure() {
        return None;
    }
    let log = if evidence.log_tail.trim().is_empty() {
        &evidence.log_head
    } else {
        &evidence.log_tail
    };
    let last: Vec<&str> = log
        .lines()
        .rev()
        .filter(|line| !line.trim().is_empty())
        .take(LAST_LINES)
        .collect();
    let lines = last
        .into_iter()
        .rev()
        .map(|text| clip(&line(text), 200).into_owned());
    Some(context! { name => check.name.as_str(), lines => lines.collect::<Vec<_>>() })
}

/// How a check stands, with what else is known of that.
fn standing(state: CheckState, check: &CheckView) -> String {
    let beside = match &check.standing {
        CheckStanding::AwaitsRelease { job, cause } => {
            return line(&words::awaited_job(job, cause));
        }
        CheckStanding::NotApplicable { job } if job.filter.is_some() => {
            return line(&words::skipped_job(job));
        }
        CheckStanding::Done(evidence) => {
            let because = evidence.skipped_because.as_deref();
            let because = because.filter(|_| state == CheckState::NotRun).map(line);
            let beside = because.or_else(|| check_table::complaints(evidence));
            beside.map(|text| format!(": {text}")).unwrap_or_default()
        }
        CheckStanding::Skipped { by, reason } => format!(" by {by}: {}", line(reason)),
        CheckStanding::Lost { jobs } => format!(": {}", line(&messages::lost_jobs(jobs))),
        CheckStanding::Refused { reason } => format!(": {}", line(reason)),
        CheckStanding::NoReport { silence } => {
            format!(": {}", line(&messages::reason(entry::Silence(silence))))
        }
        _ => String::new(),
    };
    format!("{}{beside}", word(entry::CheckWord(&state)))
}

fn failure<'a>(cause: &Cause<'a>, shown: &mut ShownTexts<'a>) -> Value {
    let view = cause.first;
    let place = view
        .failure
        .location()
        .map(|(file, number)| line(&place(file, number)));
    let (title, message) = failure_card::title_and_message(view);
    let message = clip_lines(&block(&message), 8);
    let message = message
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| format!("    {line}"));
    let advice = failure_card::advice_lines(view, shown).map(|line| format!("  {line}"));
    let others = cause
        .others(str::to_owned)
        .map(|others| format!("  {}", clip(&line(&others), 300)));
    context! {
        name => clip(&line(&title), 160),
        place,
        blame => words::blame(view.blame),
        id => view.cause.to_string(),
        lines => message.chain(advice).chain(others).collect::<Vec<_>>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::{
        deciding::NextAction,
        evidence::{ChangedCoverage, Outcome},
        policy::Severity,
    };

    #[test]
    fn a_failing_run() {
        let (decision, snapshot, policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        insta::assert_snapshot!(report(&decision, &snapshot, &policy, false, false));
    }

    #[test]
    fn what_a_tool_tells_of_its_own_run_stands_beside_the_pass() {
        let mut decision = fixtures::green(NextAction::WaitForMerge);
        let (snapshot, policy) = (fixtures::snapshot(), fixtures::policy());
        let check = &mut decision.view.checks[0];
        assert!(check_table::passes(CheckState::of(check), check));
        let CheckStanding::Done(evidence) = &mut check.standing else {
            panic!("it passed");
        };
        evidence.reconciled.complaints = 2;
        let check = &decision.view.checks[0];
        assert!(!check_table::passes(CheckState::of(check), check));
        let said =
            "the tool tells 2 errors of its own run, so it may not have looked at everything";
        let note = check_table::note(check).map(|note| note.to_string());
        assert_eq!(note.as_deref(), Some(said));
        let text = report(&decision, &snapshot, &policy, false, false);
        assert!(text.contains(&format!("passed: {said}")), "{text}");
    }

    #[test]
    fn what_tests_leave_out_is_said_while_something_else_fails() {
        let (mut decision, snapshot, policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        let last_line = |decision: &Decision| {
            let text = report(decision, &snapshot, &policy, false, false);
            let said = text.lines().find(|line| line.starts_with("! "));
            said.map(str::to_owned)
        };
        decision.view.feedback.clear();
        decision.view.evaluation.rules.clear();
        decision.view.coverage = Some(ChangedCoverage {
            changed_covered: 1,
            changed_total: 2,
            uncovered: vec!["src/a.rs:3".to_owned()],
            ..ChangedCoverage::default()
        });
        assert_eq!(
            last_line(&decision).as_deref(),
            Some(
                "! 50 % of the changed lines are covered by tests (1 of 2); not covered: `src/a.rs:3`."
            )
        );
        let uncovered = fixtures::failed_rule("coverage", Severity::Warn, fixtures::uncovered());
        decision.view.evaluation.rules.push(uncovered);
        assert_eq!(last_line(&decision), None, "the rule says it");
    }

    #[test]
    fn a_single_run_that_passes_says_what_is_short_and_speaks_of_nobody_else() {
        let (mut decision, snapshot, policy) = (
            fixtures::green(NextAction::WaitForMerge),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        decision.next.run.pull_request = None;
        decision.next.run.alias.clear();
        let uncovered = fixtures::failed_rule("coverage", Severity::Warn, fixtures::uncovered());
        decision.view.evaluation.rules.push(uncovered);
        insta::assert_snapshot!(report(&decision, &snapshot, &policy, false, false));
        decision.action = fixtures::first_failure().action;
        decision.view.checks = fixtures::first_failure().view.checks;
        let last = |decision| {
            report(&decision, &snapshot, &policy, false, false)
                .lines()
                .last()
                .map(str::to_owned)
        };
        assert_eq!(last(decision).as_deref(), Some("Failed: unit"));
        let (mut called, _) = fixtures::regression_escalated();
        called.next.run.pull_request = None;
        called.next.run.alias.clear();
        let said = last(called).unwrap();
        assert!(
            said.starts_with("For a person to decide: tests that passed before fail now ("),
            "{said}"
        );
        assert!(said.ends_with(". Failed: unit"), "{said}");
    }

    #[test]
    fn the_iteration_summary_is_a_detail() {
        let (decision, snapshot, policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        let shown = |detail| report(&decision, &snapshot, &policy, detail, false);
        assert!(shown(true).contains("── Iteration 1/3"), "{}", shown(true));
        assert!(!shown(false).contains("Iteration"), "{}", shown(false));
    }

    #[test]
    fn failures_that_are_only_named_are_found_by_feedback() {
        let (mut decision, snapshot, policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        let shown = |decision: &Decision| report(decision, &snapshot, &policy, false, false);
        assert!(!shown(&decision).contains("`loopgate feedback`"));
        decision.view.failures = (0..4_u64)
            .map(|number| {
                let mut view = fixtures::failure();
                view.cause =
                    loopgate_core::Fingerprint::from_bytes((number << 32).to_be_bytes()).into();
                view
            })
            .collect();
        assert!(
            shown(&decision).contains("\n`loopgate feedback` says what to do"),
            "{}",
            shown(&decision)
        );
    }

    #[test]
    fn a_check_that_ran_out_of_time_shows_the_end_of_its_output() {
        let (mut decision, snapshot, policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        for check in &mut decision.view.checks {
            if let CheckStanding::Done(evidence) = &mut check.standing
                && check.name.as_str() == "unit"
            {
                evidence.outcome = Outcome::TimedOut;
                evidence.log_tail = (1..20).map(|number| format!("line {number}\n\n")).collect();
            }
        }
        let shown = report(&decision, &snapshot, &policy, false, false);
        assert!(
            shown.contains("The output of unit ended with:\n    line 12\n"),
            "{shown}"
        );
        assert!(shown.contains("    line 19\n"), "{shown}");
        decision.view.checks.iter_mut().for_each(|check| {
            if let CheckStanding::Done(evidence) = &mut check.standing {
                evidence.outcome = Outcome::Failed;
            }
        });
        decision
            .view
            .failures
            .iter_mut()
            .for_each(|failure| failure.check = "unit".parse().unwrap());
        let shown = report(&decision, &snapshot, &policy, false, false);
        assert!(
            !shown.contains("The output of unit"),
            "what a failure tells is not said twice: {shown}"
        );
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let (decision, snapshot, policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        let coloured = report(&decision, &snapshot, &policy, false, true);
        assert!(coloured.contains("\u{1b}[31m"));
        let plain = regex::Regex::new("\u{1b}\\[[0-9]+m")
            .unwrap()
            .replace_all(&coloured, "")
            .into_owned();
        assert_eq!(plain, report(&decision, &snapshot, &policy, false, false));
    }

    #[test]
    fn hostile_texts_cannot_drive_the_terminal() {
        let (mut decision, snapshot, policy) = (
            fixtures::first_failure(),
            fixtures::snapshot(),
            fixtures::policy(),
        );
        decision.view.failures[0].failure.test_name = Some("a\u{1b}[2J\r\nb\u{202e}".into());
        decision.view.failures[0].failure.error_message = "x\u{1b}]0;title\u{7}y\u{9b}31mz".into();
        let shown = report(&decision, &snapshot, &policy, false, false);
        assert!(
            !shown.chars().any(|c| c.is_control() && c != '\n') && shown.contains("a b"),
            "{shown}"
        );
    }
}
