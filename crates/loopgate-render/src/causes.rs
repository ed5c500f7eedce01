//! Why a person is called, the one question put to them, and disputed failures: what is disputed, whom a person called
//! right, and what follows. Names and reasons from outside stand in these texts as they are; who shows them makes them
//! safe.

use minijinja::context;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    messages::{self, entry, reason},
    words,
};
use loopgate_core::{
    concerns::escalation::{AttemptsEnd, Cause, EscalationView, Question},
    deciding::{Decision, View},
    policy::Trigger,
    state::{
        Dispute, DisputeEnd,
        history::{Escalated, Event, HistoryLine},
    },
};

/// Whether the sentence adds to the cause's name and the failures beside it.
pub(super) const fn adds_to_trigger(cause: &Cause) -> bool {
    !matches!(
        cause,
        Cause::SecurityIssueFound
            | Cause::Disputed { .. }
            | Cause::Tampering { .. }
            | Cause::RegressionDetected { .. }
            | Cause::SameError { .. }
            | Cause::TimeoutExceeded { .. }
            | Cause::CoverageThresholdUnmet { .. }
            | Cause::NoChange
            | Cause::NoReport { .. }
            | Cause::MaxAttemptsReached {
                reason: AttemptsEnd::NotRetried { .. }
            }
    )
}

/// The lines of the history as they are saved: a call for a human has in words what was recognised.
pub fn history_lines(decision: &Decision) -> Vec<HistoryLine> {
    let mut lines = decision.events.clone();
    let cause = decision
        .view
        .escalation
        .as_ref()
        .and_then(|escalation| escalation.cause.as_ref());
    for line in &mut lines {
        if let Event::Escalated(Escalated::PullRequest { pattern, .. }) = &mut line.event {
            *pattern = cause.map(|cause| reason(entry::Cause(cause)));
        }
    }
    lines
}

/// Why a person is called, as a title. A check of which nothing is heard is named.
pub(super) fn blocked(view: &View, trigger: Trigger) -> String {
    match view
        .escalation
        .as_ref()
        .filter(|open| open.trigger == trigger)
    {
        Some(open) if trigger == Trigger::NoReport => why(open),
        _ => format!("Blocked: {}", words::trigger(trigger)),
    }
}

/// Why a person is called, in a clause.
pub(super) fn why(escalation: &EscalationView) -> String {
    match &escalation.cause {
        Some(silent @ Cause::NoReport { .. }) => reason(entry::Cause(silent)),
        _ => words::trigger(escalation.trigger).to_owned(),
    }
}

/// What was recognised, or the trigger alone where nothing of it is known any more.
pub(super) fn recognised(escalation: &EscalationView) -> String {
    let trigger = || words::trigger(escalation.trigger).to_owned();
    escalation
        .cause
        .as_ref()
        .map_or_else(trigger, |cause| reason(entry::Cause(cause)))
}

/// The answers that the question offers, in their order.
pub(super) fn options(question: &Question) -> Vec<String> {
    match question {
        Question::Disputed { dispute, .. } => {
            options_by(question, &format!("/loop settle {}", dispute.failure))
        }
        _ => options_by(question, "/loop settle"),
    }
}

/// The answers if `settle` is the command by which a person settles who is right.
pub(super) fn options_by(question: &Question, settle: &str) -> Vec<String> {
    lines(&messages::plain(
        entry::Answers(question),
        context! { settle },
    ))
}

/// The lines of an entry that has several.
pub(super) fn lines(entry: &str) -> Vec<String> {
    entry.lines().map(|line| line.trim().to_owned()).collect()
}

/// Where a dispute was said, or is to be said.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "said_in", rename_all = "snake_case")]
#[schemars(extend("type" = "object"))]
pub enum Disputed {
    /// A comment of the caller's own.
    Comment { url: String, answer: DisputeAnswer },
    /// The loop here, which waits for a person.
    Loop { alias: String },
    /// Nowhere yet: the line belongs into the message of the next commit.
    Trailer { line: String },
    /// Nowhere: the caller does what `do` says.
    Nowhere {
        comment: String,
        line: String,
        r#do: &'static str,
    },
}

/// Whether Loopgate has answered a comment.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisputeAnswer {
    CarriedOut,
    NoneYet,
}

/// How to dispute a failure with an account of one's own; `words` are those of the command.
pub fn dispute_to_say(words: &str) -> Value {
    json!(Disputed::Nowhere {
        comment: format!("/loop dispute {words}"),
        line: format!("Loopgate-Dispute: {words}"),
        r#do: "Nothing was written: this server has no token of yours for GitHub. Post `comment` on the pull request with \
               your own account, or put `line` into the message of the next commit that you push.",
    })
}

/// "bob settled it: the test is right."
pub(super) fn settled(dispute: &Dispute) -> String {
    match &dispute.end {
        Some(DisputeEnd::Settled { outcome, by, .. }) => {
            format!("{by} settled it: {}.", reason(entry::Settlement(outcome)))
        }
        Some(DisputeEnd::Mended { .. }) => {
            "A push fixed it and left the test as it was.".to_owned()
        }
        None => "It is not settled yet.".to_owned(),
    }
}

/// What a fixer or author does next.
pub(super) fn to_do(dispute: &Dispute) -> String {
    match &dispute.end {
        Some(DisputeEnd::Settled { outcome, .. }) => reason(entry::SettlementToDo(outcome)),
        Some(DisputeEnd::Mended { .. }) | None => "Wait until it is settled.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::{fixtures::Story, state::Outage};

    #[test]
    fn the_history_says_why_a_human_was_called() {
        let mut story = Story::opened();
        (1..=3).for_each(|head| drop(story.push(head, &["rounds"], &[]).clone()));
        let decision = story.last.as_ref().unwrap();
        let lines = serde_json::to_value(history_lines(decision)).unwrap();
        let called = lines
            .as_array()
            .unwrap()
            .iter()
            .find(|line| line["event"] == "escalated")
            .unwrap();
        let pattern = "the same failure in 3 attempts in a row: unit: assertion failed in rounds";
        let triggers = ["same_error", "max_attempts_reached"];
        let blocked = serde_json::to_value(&decision.next.people.blocked).unwrap();
        assert_eq!(
            called["payload"].to_string(),
            serde_json::json!({ "kind": "pull_request", "triggers": triggers, "pattern": pattern, "blocked": blocked })
                .to_string()
        );
    }

    /// The sentences of causes that no story of `decided_tests` meets.
    #[test]
    fn what_is_rarely_recognised() {
        let end = |errors| Cause::MaxAttemptsReached {
            reason: AttemptsEnd::UsedUp {
                attempts: 3,
                errors,
            },
        };
        assert_eq!(
            reason(entry::Cause(&end(2))),
            "3 failing attempts in a row, 2 different errors"
        );
        let unit = || [fixtures::check("unit")].into();
        let outage = Outage {
            since: fixtures::at(0),
            checks: unit(),
            unclear: unit(),
        };
        assert_eq!(
            reason(entry::Cause(&Cause::ExternalDependencyDown { outage })),
            "unit fails for reasons outside the code since 20 Nov 2026, 10:15 UTC; unit ended without a result \
             (cancelled, not started, or with evidence that was refused) since 20 Nov 2026, 10:15 UTC"
        );
    }
}
