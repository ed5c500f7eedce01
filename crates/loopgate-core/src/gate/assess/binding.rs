//! What an approval is bound to, and whether it still covers the present head: a commit, the gate's own diff, and the
//! base.

use super::sighting;
use crate::{
    gate::report::Refusal,
    ids::{GateName, Sha, Timestamp},
    observed::PullRequest,
    policy::InvalidateOnPush,
    state::HeadObservation,
};

/// One gate's diff now, and the record of what it looked like before.
pub(super) struct Binding<'a> {
    pub(super) gate: &'a GateName,
    pub(super) fingerprint: &'a str,
    pub(super) mode: InvalidateOnPush,
    pub(super) pull_request: &'a PullRequest,
    /// Ends with the present head.
    pub(super) record: &'a [HeadObservation],
}

impl Binding<'_> {
    /// Binds a comment that names no commit to the head seen before it was written.
    pub(super) fn of_comment(&self, written: Timestamp) -> Result<Sha, Refusal> {
        let seen = sighting::at(self.record, written).ok_or(Refusal::NoHeadSeenBefore)?;
        self.covers(seen)
    }

    /// Binds words that name a commit to it.
    pub(super) fn of_commit(&self, commit: Sha, written: Timestamp) -> Result<Sha, Refusal> {
        let seen = sighting::of(self.record, commit, written).ok_or(Refusal::OtherCommit { named: commit })?;
        self.covers(seen)
    }

    /// Binds a review to the commit it was given on.
    pub(super) fn of_review(&self, commit: Option<Sha>, submitted: Timestamp) -> Result<Sha, Refusal> {
        let seen = commit.and_then(|commit| sighting::of(self.record, commit, submitted));
        self.covers(seen.ok_or(Refusal::ReviewStale)?).map_err(|refusal| match refusal {
            Refusal::DiffChanged { .. } => Refusal::ReviewStale,
            other => other,
        })
    }

    /// Whether what was seen then is what stands there now.
    fn covers(&self, seen: &HeadObservation) -> Result<Sha, Refusal> {
        let base = &self.pull_request.base.branch;
        if let Some(then) = seen.base.as_ref().filter(|then| *then != base) {
            return Err(Refusal::BaseChanged { seen: then.clone() });
        }
        let Some(then) = seen.gates.get(self.gate) else { return Err(Refusal::BeforeTrigger { seen: seen.sha }) };
        let same_diff = then == self.fingerprint;
        let stands = match self.mode {
            InvalidateOnPush::Matching => same_diff,
            InvalidateOnPush::Any => same_diff && seen.sha == self.pull_request.head.sha,
            InvalidateOnPush::Never => true,
        };
        if stands { Ok(seen.sha) } else { Err(Refusal::DiffChanged { seen: seen.sha }) }
    }
}
