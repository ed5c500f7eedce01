//! Why a person is called, and the one question put to them. Names from outside stand in these texts as they are; who
//! shows them makes them safe.

use super::{
    disputes,
    messages::{self, word_or_else},
    words,
};
use loopgate_core::{
    attempts::{AttemptsEnd, Cause},
    deciding::Decision,
    escalation::{EscalationView, Question},
    state::history::{Escalated, Event, HistoryLine},
};
use minijinja::{Value, context};

/// What was recognised, by the cause itself.
pub(super) fn cause_in_words(cause: &Cause) -> String {
    let beside = match cause {
        Cause::Disputed { first, .. } => {
            context! { subject => disputes::subject(first), claim => disputes::claim(first) }
        }
        _ => context! {},
    };
    messages::plain("cause", cause, beside)
}

/// Whether the sentence adds to the cause's name and the failures beside it.
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
        None => words::trigger(escalation.trigger).to_owned(),
    }
}

/// The question to a person.
pub(super) fn question(question: &Question) -> String {
    messages::plain("question", question, beside(question))
}

/// The answers that the question offers, in their order.
pub(super) fn options(question: &Question) -> Vec<String> {
    match question {
        Question::Disputed { dispute, .. } => options_by(question, &format!("/loop settle {}", dispute.failure)),
        _ => options_by(question, "/loop settle"),
    }
}

/// The answers if `settle` is the command by which a person says who is right.
pub(super) fn options_by(question: &Question, settle: &str) -> Vec<String> {
    let beside = context! { settle, ..beside(question) };
    lines(&messages::plain("answers", question, beside))
}

/// The lines of an entry that has several.
pub(super) fn lines(entry: &str) -> Vec<String> {
    entry.lines().map(|line| line.trim().to_owned()).collect()
}

fn beside(question: &Question) -> Value {
    match question {
        Question::Disputed { dispute, .. } => {
            context! { subject => disputes::subject(dispute), claim => disputes::claim(dispute) }
        }
        Question::OfRun { about, .. } => context! {
            of_run_question => word_or_else("question_of_run", about.as_str()),
            of_run_answers => word_or_else("answers_of_run", about.as_str()),
        },
        Question::WhoDecides | Question::WhichSide { .. } => context! {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixtures;
    use loopgate_core::{fixtures::Story, state::Outage};

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
