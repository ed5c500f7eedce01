//! The reaction each comment about gates deserves (github.md: 👍 done, 😕 not accepted).

use std::collections::BTreeMap;

use super::{
    assess::Assessment,
    report::{Considered, Refusal, WordOutcome, WordSource},
};
use crate::core::{decision::ReactionKind, ids::CommentId};

impl Assessment {
    /// Reactions to words about gates, by comment. Where one comment says several things, what was not accepted shows:
    /// its writer has something left to do.
    pub fn reactions(&self) -> BTreeMap<CommentId, ReactionKind> {
        let mut reactions = BTreeMap::new();
        let considered = self.gates.iter().flat_map(|gate| &gate.considered).chain(&self.strays);
        for word in considered {
            let (WordSource::Comment(comment), Some(reaction)) = (word.source, reaction(word)) else { continue };
            let shown = reactions.entry(comment).or_insert(reaction);
            *shown = (*shown).max(reaction);
        }
        reactions
    }
}

fn reaction(word: &Considered) -> Option<ReactionKind> {
    match &word.outcome {
        WordOutcome::Counted => Some(ReactionKind::Done),
        WordOutcome::Superseded => None,
        // Bots are not answered: two of them might never stop.
        WordOutcome::Refused(Refusal::IsBot | Refusal::ViaApp | Refusal::NotOpen) => None,
        // Asked again at the next reconcile, and said in the status comment meanwhile.
        WordOutcome::Refused(
            Refusal::AuthorityUnknown { .. } | Refusal::NotAllRead { .. } | Refusal::HeadUnsettled,
        ) => Some(ReactionKind::Seen),
        WordOutcome::Refused(_) => Some(ReactionKind::NotAccepted),
    }
}
