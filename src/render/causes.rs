//! Why a human is called: what was recognised, as one clause. Names from outside stand in it as they are; who shows it
//! makes it safe.

use super::{
    disputes,
    tampering::tampering,
    words::{count, moment, plural},
};
use loopgate_core::{
    CheckName,
    attempts::{AttemptsEnd, Cause, Circle},
    deciding::Decision,
    escalation::EscalationView,
    gate::waiting::OverdueGate,
    policy::Trigger,
    state::{
        Outage,
        history::{Escalated, Event, HistoryLine},
    },
};

/// What was recognised, by the cause itself.
pub(super) fn cause_in_words(cause: &Cause) -> String {
    match cause {
        Cause::SecurityIssueFound => "a security check fails".to_owned(),
        Cause::Tampering { first, more: 0 } => tampering(first),
        Cause::Tampering { first, more } => format!("{} (and {more} more)", tampering(first)),
        Cause::Disputed { first, more } => {
            let more = if *more > 0 { format!(" (and {more} more)") } else { String::new() };
            format!("`{}` is disputed: {}{more}", disputes::subject(first), disputes::claim(first))
        }
        Cause::ManyDisputes { disputes } => {
            format!("{disputes} failures of this run were disputed, so it is unclear what is wanted")
        }
        Cause::RegressionDetected { tests } => regression(tests),
        Cause::CircularFailure { circle } => circular(*circle),
        Cause::SameError { attempts, last } => format!("the same failure in {attempts} attempts in a row: {last}"),
        Cause::TotalFailures { attempts } => format!("{} in this run", count(*attempts, "failing attempt")),
        Cause::MaxAttemptsReached { reason } => attempts_end(reason),
        Cause::Stagnation => "the score gained less than 0.02, twice in a row".to_owned(),
        Cause::TimeoutExceeded { last } => {
            format!("does not end by itself, so trying again would not either: {last}")
        }
        Cause::ExternalDependencyDown { outage } => outage_in_words(outage),
        Cause::BudgetExhausted { attempts } => {
            let failed = plural(*attempts as usize, "attempt has failed", "attempts have failed");
            format!("{failed}, more than the fixer's budget allows")
        }
        Cause::GateTimeout { gates } => gates.iter().map(overdue_gate).collect::<Vec<_>>().join("; "),
        Cause::CoverageThresholdUnmet { last } => format!("nothing but coverage is missing: {last}"),
        Cause::NoChange => "the same code as the attempt before fails again".to_owned(),
        Cause::UnknownErrorType { last } => format!(
            "two attempts in a row failed without saying how: {last}. A report would: name it under `report:` of the check"
        ),
    }
}

/// Whether the sentence tells more than the cause's name and the failures beside it.
pub(super) const fn says_more(cause: &Cause) -> bool {
    use AttemptsEnd::{Rejected, UsedUp};
    match cause {
        Cause::CircularFailure { .. }
        | Cause::TotalFailures { .. }
        | Cause::Stagnation
        | Cause::ExternalDependencyDown { .. }
        | Cause::BudgetExhausted { .. }
        | Cause::GateTimeout { .. }
        | Cause::ManyDisputes { .. }
        | Cause::UnknownErrorType { .. } => true,
        Cause::MaxAttemptsReached { reason } => matches!(reason, Rejected { .. } | UsedUp { .. }),
        Cause::SecurityIssueFound
        | Cause::Disputed { .. }
        | Cause::Tampering { .. }
        | Cause::RegressionDetected { .. }
        | Cause::SameError { .. }
        | Cause::TimeoutExceeded { .. }
        | Cause::CoverageThresholdUnmet { .. }
        | Cause::NoChange => false,
    }
}

/// The lines of the history as they are saved: a call for a human says in words what was recognised.
pub fn history_lines(decision: &Decision) -> Vec<HistoryLine> {
    let mut lines = decision.events.clone();
    let cause = decision.view.escalation.as_ref().and_then(|escalation| escalation.cause.as_ref());
    for line in &mut lines {
        if let Event::Escalated(Escalated::PullRequest { pattern, .. }) = &mut line.event {
            *pattern = cause.map(cause_in_words);
        }
    }
    lines
}

/// What was recognised, or the trigger alone where nothing of it is known any more.
pub(super) fn recognised(escalation: &EscalationView) -> String {
    match &escalation.cause {
        Some(cause) => cause_in_words(cause),
        None => trigger_alone(escalation.trigger).to_owned(),
    }
}

fn regression(tests: &[String]) -> String {
    let names: Vec<String> = tests.iter().map(|name| format!("`{name}`")).collect();
    format!("passed before and fails now: {}", names.join(", "))
}

fn circular(circle: Circle) -> String {
    match circle {
        Circle::Failure { first, gone, back } => {
            format!("the failure of attempt {first} was gone in attempt {gone} and is back in attempt {back}")
        }
        Circle::Code { first, again } => format!("attempt {again} is the code of attempt {first} again"),
    }
}

fn attempts_end(reason: &AttemptsEnd) -> String {
    match reason {
        AttemptsEnd::Rejected { last } => last.clone(),
        AttemptsEnd::NotRetried { last } => format!("1 failing attempt, and none is retried: {last}"),
        AttemptsEnd::UsedUp { attempts, errors: 1 } => {
            format!("{} in a row, always the same error", count(*attempts, "failing attempt"))
        }
        AttemptsEnd::UsedUp { attempts, errors } => {
            format!("{attempts} failing attempts in a row, {errors} different errors")
        }
    }
}

fn outage_in_words(outage: &Outage) -> String {
    let since = moment(outage.since);
    let listed = |checks: &std::collections::BTreeSet<CheckName>| {
        checks.iter().map(CheckName::as_str).collect::<Vec<_>>().join(", ")
    };
    let fail = if outage.checks.len() == 1 { "fails" } else { "fail" };
    let failing = (!outage.checks.is_empty())
        .then(|| format!("{} {fail} for reasons outside the code since {since}", listed(&outage.checks)));
    let unclear = (!outage.unclear.is_empty()).then(|| {
        format!(
            "{} ended without a result (cancelled, not started, or with evidence that was refused) since {since}",
            listed(&outage.unclear)
        )
    });
    failing.into_iter().chain(unclear).collect::<Vec<_>>().join("; ")
}

fn overdue_gate(overdue: &OverdueGate) -> String {
    format!("the {} gate has waited for its approvers since {}", overdue.gate, moment(overdue.since))
}

const fn trigger_alone(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::SecurityIssueFound => "a security check found an issue",
        Trigger::Tampering => "tests or thresholds were weakened",
        Trigger::Disputed => "a failure is disputed",
        Trigger::RegressionDetected => "tests that passed before fail now",
        Trigger::CircularFailure => "the attempts go round in a circle",
        Trigger::SameError => "the same error keeps coming back",
        Trigger::TotalFailures => "the run has failed too often",
        Trigger::MaxAttemptsReached => "the attempts are used up",
        Trigger::Stagnation => "the score stands still",
        Trigger::TimeoutExceeded => "a check does not end",
        Trigger::ExternalDependencyDown => "something outside the pull request is down",
        Trigger::AmbiguousRequirement => "it is unclear what is wanted",
        Trigger::BudgetExhausted => "the budget for fixes is used up",
        Trigger::GateTimeout => "a gate has waited too long for its approval",
        Trigger::CoverageThresholdUnmet => "only the coverage is missing",
        Trigger::NoChange => "the same code was tried again",
        Trigger::UnknownErrorType => "the error is of no known kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;
    use loopgate_core::fixtures::Story;

    #[test]
    fn the_history_says_why_a_human_was_called() {
        let mut story = Story::opened();
        (1..=3).for_each(|head| drop(story.push(head, &["rounds"], &[]).clone()));
        let decision = story.last.as_ref().unwrap();
        let lines = serde_json::to_value(history_lines(decision)).unwrap();
        let called = lines.as_array().unwrap().iter().find(|line| line["event"] == "escalated").unwrap();
        let pattern = "the same failure in 3 attempts in a row: unit: assertion failed in rounds";
        let triggers = ["same_error", "max_attempts_reached"];
        let blocked = serde_json::to_value(&decision.next.blocked).unwrap();
        assert_eq!(
            called["payload"].to_string(),
            serde_json::json!({ "kind": "pull_request", "triggers": triggers, "pattern": pattern, "blocked": blocked })
                .to_string()
        );
    }

    /// The sentences of causes that no story of `decided_tests` meets.
    #[test]
    fn what_is_rarely_recognised() {
        let end = |errors| Cause::MaxAttemptsReached { reason: AttemptsEnd::UsedUp { attempts: 3, errors } };
        assert_eq!(cause_in_words(&end(2)), "3 failing attempts in a row, 2 different errors");
        let unit = || [fixtures::check("unit")].into();
        let outage = Outage { since: fixtures::at(0), checks: unit(), unclear: unit() };
        assert_eq!(
            cause_in_words(&Cause::ExternalDependencyDown { outage }),
            "unit fails for reasons outside the code since 20 Nov 2026, 10:15 UTC; unit ended without a result \
             (cancelled, not started, or with evidence that was refused) since 20 Nov 2026, 10:15 UTC"
        );
    }
}
