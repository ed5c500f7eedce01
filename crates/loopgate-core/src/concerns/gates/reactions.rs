//! The reaction to each comment about gates: 👍 done, 😕 not accepted.
//!
//! Somebody who floods a pull request with words about gates is answered less and less. Only the answers are limited:
//! every word is weighed.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use super::report::{AnswerExtent, Considered};
use crate::{
    ids::{CommentId, Timestamp, UserId},
    state::WordSource,
};

/// What bears a reaction. The ids of the two are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reacted {
    Comment(CommentId),
    /// On a line of the diff.
    Inline(CommentId),
}

impl Reacted {
    /// Where a word was written; `None` for a review, since GitHub allows no reactions on reviews.
    pub const fn at(source: WordSource) -> Option<Self> {
        match source {
            WordSource::Comment(id) => Some(Self::Comment(id)),
            WordSource::Inline(id) => Some(Self::Inline(id)),
            WordSource::Review(_) => None,
        }
    }
}

words! {
    /// Reactions on commands and approvals: seen, done, not accepted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum ReactionKind {
        Seen = "eyes",
        Done = "+1",
        NotAccepted = "confused",
    }
}

/// Comments and reviews of one person that are answered in full.
const FULL_ANSWERS: usize = 10;
/// Beyond these, comments that get a reaction in an hour; the first of them gets a sentence too.
const REACTIONS_AN_HOUR: usize = 3;

/// Sets how much of an answer each word gets that does not count. Who may approve is always answered.
pub(super) fn limit_answers(words: Vec<&mut Considered>) {
    let mut answers: BTreeMap<UserId, BTreeMap<(Timestamp, WordSource), AnswerExtent>> =
        BTreeMap::new();
    for word in words
        .iter()
        .filter(|word| !word.by_approver && word.refusal().is_some())
    {
        answers
            .entry(word.by_id)
            .or_default()
            .insert((word.at, word.source), AnswerExtent::Sentence);
    }
    for of_person in answers.values_mut() {
        let mut hour: Option<(Timestamp, usize)> = None;
        for ((at, _), answer) in of_person.iter_mut().skip(FULL_ANSWERS) {
            let (began, nth) = match hour {
                Some((began, nth)) if *at - began < TimeDelta::hours(1) => (began, nth + 1),
                _ => (*at, 0),
            };
            hour = Some((began, nth));
            *answer = match nth {
                0 => AnswerExtent::Sentence,
                nth if nth < REACTIONS_AN_HOUR => AnswerExtent::Reaction,
                _ => AnswerExtent::Silence,
            };
        }
    }
    for word in words {
        let answer = answers
            .get(&word.by_id)
            .and_then(|of_person| of_person.get(&(word.at, word.source)));
        word.answer = answer.copied().unwrap_or_default();
    }
}
