//! The reaction to each comment about gates: 👍 done, 😕 not accepted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    assess::Assessment,
    report::{AnswerExtent, GateStanding, Refusal, Word, WordOutcome},
};
use crate::{ids::CommentId, state::WordSource};

impl Assessment {
    /// Reactions to words about gates, by comment. Where one comment says several things, what was not accepted shows:
    /// its writer has something left to do.
    pub fn reactions(&self) -> BTreeMap<Reacted, ReactionKind> {
        let mut reactions = BTreeMap::new();
        let considered = self.gates.iter().flat_map(|gate| {
            // An approved gate needs no advice on how to approve it.
            let is_approved = matches!(gate.standing, GateStanding::Approved { .. });
            gate.considered.iter().filter(move |word| !(is_approved && word.word == Word::NearMiss))
        });
        let considered = considered.chain(&self.unmatched);
        for word in considered.filter(|word| word.answer != AnswerExtent::Silence) {
            let reaction = match &word.outcome {
                WordOutcome::Counted => ReactionKind::Done,
                // Bots are not answered: two of them might never stop.
                WordOutcome::Superseded | WordOutcome::Refused(Refusal::IsBot | Refusal::ViaApp | Refusal::NotOpen) => {
                    continue;
                }
                // Asked again at the next reconcile, and said in the status comment meanwhile.
                WordOutcome::Refused(
                    Refusal::AuthorityUnknown { .. } | Refusal::NotAllRead { .. } | Refusal::HeadUnsettled,
                ) => ReactionKind::Seen,
                WordOutcome::Refused(_) => ReactionKind::NotAccepted,
            };
            let Some(place) = Reacted::at(word.source) else { continue };
            let shown = reactions.entry(place).or_insert(reaction);
            *shown = (*shown).max(reaction);
        }
        reactions
    }
}

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
