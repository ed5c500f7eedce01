//! What an approval is bound to, and whether it still covers the present head: a commit, the gate's own diff, and the
//! base.

use chrono::TimeDelta;

use super::{
    messages::{Vote, What},
    sighting,
    weighing::OneGate,
};
use crate::{
    concerns::gates::report::Refusal,
    ids::{Sha, Timestamp},
    observed::FilesToRead,
    policy::InvalidateOnPush,
    state::{HeadObservation, WordSource},
};

/// A page that is loaded may show the previous head for so long.
const YOUNG: TimeDelta = TimeDelta::seconds(60);

impl OneGate<'_> {
    /// Binds a comment that names no commit to the head seen before it was written.
    fn bind_comment(&self, written: Timestamp) -> Result<Sha, Refusal> {
        let at = self
            .record
            .iter()
            .rposition(|seen| seen.at < written)
            .ok_or(Refusal::NoHeadSeenBefore)?;
        let seen = &self.record[at];
        let bound = self.covers(seen)?;
        let before = self.record[..at]
            .iter()
            .rposition(|earlier| earlier.sha != seen.sha);
        let Some(before) = before else {
            return Ok(bound);
        };
        if written - self.record[before + 1].at >= YOUNG {
            return Ok(bound);
        }
        match self.covers(&self.record[before]) {
            Ok(_) => Ok(bound),
            Err(unread @ Refusal::DiffUnread { .. }) => Err(unread),
            Err(_) => Err(Refusal::HeadTooYoung { head: seen.sha }),
        }
    }

    /// Binds an approval: a review to the commit it was given on, a line that names a commit to that, any other comment
    /// to the head seen before it was written.
    pub(super) fn bind(&self, vote: &Vote) -> Result<Sha, Refusal> {
        let entry = |commit: &Sha| sighting::entry(self.record, *commit, vote.at);
        match (&vote.what, vote.source) {
            (What::Approve { commit }, _) if vote.is_verdict => {
                let seen = commit
                    .as_ref()
                    .and_then(entry)
                    .ok_or(Refusal::ReviewStale { seen: *commit })?;
                self.covers(seen).map_err(|refusal| match refusal {
                    Refusal::DiffChanged { seen } => Refusal::ReviewStale { seen: Some(seen) },
                    other => other,
                })
            }
            (
                What::Approve {
                    commit: Some(commit),
                },
                _,
            ) => self.covers(entry(commit).ok_or(Refusal::OtherCommit { named: *commit })?),
            (_, WordSource::Review(_)) => Err(Refusal::ReviewStale { seen: None }),
            (_, WordSource::Comment(_)) => self.bind_comment(vote.at),
            (_, WordSource::Inline(_)) => Err(Refusal::OnTheDiff),
        }
    }

    /// Whether what was seen then is what stands there now.
    fn covers(&self, seen: &HeadObservation) -> Result<Sha, Refusal> {
        let base = &self.snapshot.pull_request.base;
        if let Some(then) = seen.base.as_ref().filter(|then| !base.is_named(then)) {
            return Err(Refusal::BaseChanged { seen: then.clone() });
        }
        let Some(then) = seen.gates.get(self.name) else {
            return Err(Refusal::BeforeTrigger { seen: seen.sha });
        };
        let stands = match self.policy.invalidate_on_push {
            InvalidateOnPush::Matching => self.is_same_diff(seen, then)?,
            InvalidateOnPush::Any => {
                seen.sha == self.snapshot.pull_request.head.sha && self.is_same_diff(seen, then)?
            }
            InvalidateOnPush::Never => true,
        };
        if stands {
            Ok(seen.sha)
        } else {
            Err(Refusal::DiffChanged { seen: seen.sha })
        }
    }

    /// Whether the gate's own diff is the one that was seen with `then` as its digests.
    fn is_same_diff(&self, seen: &HeadObservation, then: &str) -> Result<bool, Refusal> {
        let files = |digests: &str| digests.split_once('/').map(|(files, _)| files.to_owned());
        let is_head = seen.sha == self.snapshot.pull_request.head.sha;
        let (Some(files_then), Some(base_then), Some(base_now)) =
            (files(then), seen.merge_base, self.snapshot.merge_base)
        else {
            // Written before contents were compared, or between repositories that GitHub does not compare.
            return Ok(is_head && (then == self.fingerprint || files(then).is_none()));
        };
        if base_then == base_now {
            return Ok(then == self.fingerprint);
        }
        if files(self.fingerprint) != Some(files_then) {
            return Ok(false);
        }
        // Every file is what the three-way merge gives: of the base and the head as they were seen, and the base now.
        let (mut missing, mut doubt) = (FilesToRead::default(), false);
        for path in &self.paths {
            let (sides, head) = (
                [base_then, seen.sha, base_now],
                self.snapshot.pull_request.head.sha,
            );
            match self
                .snapshot
                .contents
                .is_merged(sides, head, path, &mut missing)
            {
                Some(true) => {}
                Some(false) => return Ok(false),
                None => doubt = true,
            }
        }
        if doubt {
            Err(Refusal::DiffUnread {
                seen: seen.sha,
                missing,
            })
        } else {
            Ok(true)
        }
    }
}
