//! Feedback as lines: where, what, do what, why.

use super::{disputes, words};
use loopgate_core::{
    failure::{FeedbackLine, cut_at_sentence},
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
    let (location, problem, action, reason) = match item {
        FeedbackFact::Failure(line) => return line.clone(),
        FeedbackFact::Rule { id, description, why } => (
            id.to_string(),
            format!("The rule “{description}” does not hold."),
            sentence(&words::fix(why)),
            "It counts in the score that the loop asks for.",
        ),
        FeedbackFact::Settled(dispute) => (
            disputes::subject(dispute).to_owned(),
            disputes::settled(dispute),
            disputes::to_do(dispute),
            "It was disputed, and settled by a person.",
        ),
        FeedbackFact::Objection { by, of, words: objection } => (
            format!("@{by} ({})", words::place_of(of)),
            objection.clone(),
            "Change what is objected to and push, or answer them and ask for another look.".to_owned(),
            "Their objection stands until they approve or revoke it.",
        ),
    };
    FeedbackLine { id: None, location, problem, action, reason: reason.to_owned(), reproduce: None }
}
