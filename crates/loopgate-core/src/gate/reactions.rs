//! The reaction each comment about gates deserves (github.md: 👍 done, 😕 not accepted).

use std::collections::BTreeMap;

use super::{
    assess::Assessment,
    report::{Considered, GateReport, GateStanding, Refusal, Word, WordOutcome},
};
use crate::decision::{Reacted, ReactionKind};

impl Assessment {
    /// Reactions to words about gates, by comment. Where one comment says several things, what was not accepted shows:
    /// its writer has something left to do.
    pub fn reactions(&self) -> BTreeMap<Reacted, ReactionKind> {
        let mut reactions = BTreeMap::new();
        let considered = self.gates.iter().flat_map(worth_answering).chain(&self.strays);
        for word in considered {
            let (Some(place), Some(reaction)) = (Reacted::at(word.source), reaction(word)) else { continue };
            let shown = reactions.entry(place).or_insert(reaction);
            *shown = (*shown).max(reaction);
        }
        reactions
    }
}

/// Nobody needs to be told how to approve what is approved.
fn worth_answering(gate: &GateReport) -> impl Iterator<Item = &Considered> {
    let approved = matches!(gate.standing, GateStanding::Approved { .. });
    gate.considered.iter().filter(move |word| !(approved && word.word == Word::NearMiss))
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
