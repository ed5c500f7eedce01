//! Rejections of one gate: which of them stand, and what ends them. Deleting, hiding or editing a comment ends none.

use super::{
    messages::{Vote, What},
    weighing::Weighing,
};
use crate::{
    concerns::gates::report::{Refusal, WordOutcome},
    ids::Login,
    state::{Objection, WordSource},
};

impl Weighing<'_> {
    /// A rejection stands whatever others approve, until its writer takes it back or a maintainer ends it.
    pub(super) fn objection(&mut self, at: usize, words: &str) -> WordOutcome {
        let vote = &self.votes[at];
        // Naming somebody as co-author must not silence their objection: exclusions are for approvals.
        let granted = self.authority.grant(&vote.by);
        // A rejection stands after its writer lost their rights: a maintainer may dismiss it.
        let known = self
            .gate
            .remembered
            .objections
            .iter()
            .any(|known| known.source == vote.source);
        let is_dismissed = || {
            self.votes[at + 1..]
                .iter()
                .any(|later| self.dismisses(later, &vote.by.login))
        };
        let taken_back = self.later(at).any(lifts) || is_dismissed();
        match granted {
            _ if taken_back => WordOutcome::Superseded,
            _ if granted.is_ok() || known => {
                let objection = Objection {
                    by: vote.by.login.clone(),
                    by_id: vote.by.id,
                    at: vote.at,
                    source: vote.source,
                    words: words.to_owned(),
                    url: vote.url.clone(),
                };
                self.objections
                    .retain(|earlier| earlier.by_id != objection.by_id);
                self.objections.push(objection);
                WordOutcome::Counted
            }
            Ok(_) => WordOutcome::Superseded,
            Err(refusal) => {
                self.doubtful_objection |= matches!(refusal, Refusal::AuthorityUnknown { .. });
                WordOutcome::Refused(refusal)
            }
        }
    }

    fn dismisses(&self, vote: &Vote, login: &Login) -> bool {
        let named = matches!(&vote.what, What::Dismiss { of } if of == login);
        named && vote.void.is_none() && self.authority.may_dismiss(&vote.by).is_ok()
    }

    pub(super) fn dismissal(&self, at: usize, of: &Login) -> WordOutcome {
        let vote = &self.votes[at];
        if let Err(refusal) = self.authority.may_dismiss(&vote.by) {
            return WordOutcome::Refused(refusal);
        }
        let has_objected = self.votes[..at]
            .iter()
            .any(|earlier| earlier.by.login == *of && matches!(earlier.what, What::Reject { .. }));
        let known = self
            .gate
            .remembered
            .objections
            .iter()
            .any(|objection| objection.by == *of);
        if has_objected || known {
            WordOutcome::Counted
        } else {
            WordOutcome::Refused(Refusal::NothingToDismiss { of: of.clone() })
        }
    }

    /// Objections whose comment is gone, hidden or edited stand: only their writer can take them back, not the account
    /// that removed the comment.
    pub(super) fn remember_objections(&mut self) {
        // Whether its own words still stand there, and were weighed with the others.
        let is_present = |objection: &Objection| {
            let mut own = self
                .votes
                .iter()
                .filter(|vote| vote.source == objection.source && vote.void.is_none());
            own.any(|vote| matches!(vote.what, What::Reject { .. }))
        };
        let remembered = self.gate.remembered.objections.iter();
        let stands = |objection: &&Objection| !is_present(objection) && !self.is_ended(objection);
        let standing: Vec<Objection> = remembered.filter(stands).cloned().collect();
        self.objections.extend(standing);
    }

    /// Whether somebody ended it since. Dismissing a review takes no more than write, so that ends it only by the hand
    /// of somebody who may dismiss it here too.
    pub(super) fn is_ended(&self, objection: &Objection) -> bool {
        let by_writer = |vote: &Vote| {
            vote.by.id == objection.by_id
                && (lifts(vote) || matches!(vote.what, What::Reject { .. }))
        };
        // GitHub's times have a granularity of seconds: of two comments in one second the one with the higher id is
        // later.
        let ends = |vote: &Vote| {
            (vote.at, vote.source) > (objection.at, objection.source)
                && vote.void.is_none()
                && (by_writer(vote) || self.dismisses(vote, &objection.by))
        };
        let dismissed = matches!(objection.source, WordSource::Review(id)
            if self.gate.snapshot.dismissed_by.get(&id).is_some_and(|by| self.authority.may_dismiss(by).is_ok()));
        dismissed || self.votes.iter().any(ends)
    }
}

/// Whether it takes back a person's own rejection. The dismissal of a review does not.
const fn lifts(vote: &Vote) -> bool {
    matches!(vote.what, What::Approve { .. })
        || matches!(vote.what, What::Revoke) && !vote.is_verdict
}
