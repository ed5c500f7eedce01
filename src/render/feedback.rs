//! Feedback as lines: where, what, do what, why.

use super::{disputes, words};
use loopgate_core::{
    failure::{FeedbackLine, cut_at_sentence},
    state::RejectedIn,
    verdict::{FeedbackFact, feedback::sentence},
};

/// Each item in words. What is observed and what is to be done are at most `most` characters each, cut at a sentence:
/// reviewers may write a page.
pub fn feedback(items: &[FeedbackFact], most: usize) -> Vec<FeedbackLine> {
    let cut = |line: FeedbackLine| FeedbackLine {
        problem: cut_at_sentence(&line.problem, most),
        action: cut_at_sentence(&line.action, most),
        ..line
    };
    items.iter().map(|item| cut(line(item))).collect()
}

fn line(item: &FeedbackFact) -> FeedbackLine {
    match item {
        FeedbackFact::Failure(line) => line.clone(),
        FeedbackFact::Rule { id, description, why } => FeedbackLine {
            id: None,
            location: id.to_string(),
            problem: format!("The rule “{description}” does not hold."),
            action: sentence(&words::fix(why)),
            reason: "It counts in the score that the loop asks for.".to_owned(),
            reproduce: None,
        },
        FeedbackFact::Settled(dispute) => FeedbackLine {
            id: None,
            location: dispute.test.clone().unwrap_or_else(|| dispute.check.to_string()),
            problem: disputes::settled(dispute),
            action: disputes::to_do(dispute),
            reason: "It was disputed, and settled by a person.".to_owned(),
            reproduce: None,
        },
        FeedbackFact::Objection { by, of, words } => FeedbackLine {
            id: None,
            location: match of {
                RejectedIn::Gate(gate) => format!("@{by} ({gate} gate)"),
                RejectedIn::Review => format!("@{by} (review)"),
            },
            problem: words.clone(),
            action: "Change what is objected to and push, or answer them and ask for another look.".to_owned(),
            reason: "Their objection stands until they approve or revoke it.".to_owned(),
            reproduce: None,
        },
    }
}
