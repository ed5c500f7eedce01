//! Trouble outside the code: how long it lasts, and what is repeated because of it.

use std::collections::BTreeSet;

use chrono::TimeDelta;

use super::Run;
use crate::{
    attempts::rerun::{self, NextRerun},
    failure::Blame,
    ids::{CheckName, Timestamp},
    observed::Lifecycle,
    state::{
        Outage, StopReason,
        history::{ByNobody, CommandRun, Event, OwnCommand},
    },
    verdict::{blame::CheckBlame, gather::HeadEvidence},
};

/// How long something may be down before a person is called (loop.md, Retry policy).
const TOLERATED: TimeDelta = TimeDelta::hours(1);

impl Run<'_> {
    /// An outage begins with the first check that fails for outside reasons or ends without a result, and ends when all
    /// checks have ended and none does. While a check is repeated nothing is known, so it goes on.
    pub(crate) fn note_outage(&mut self, evidence: &HeadEvidence, blames: &[CheckBlame]) {
        let blamed = |wanted: Blame| -> BTreeSet<CheckName> {
            blames.iter().filter(|blame| blame.blame == wanted).map(|blame| blame.check.clone()).collect()
        };
        let (checks, unclear) = (blamed(Blame::Infrastructure), blamed(Blame::Inconclusive));
        if !(checks.is_empty() && unclear.is_empty()) {
            let since = self.next.outage.as_ref().map_or(self.now, |outage| outage.since);
            self.next.outage = Some(Outage { since, checks, unclear });
        } else if evidence.missing().is_empty() {
            self.next.outage = None;
        }
    }

    /// When trouble outside calls a person, if there is any: counted anew from a resume.
    pub(crate) fn external_deadline(&self) -> Option<Timestamp> {
        let outage = self.next.outage.as_ref()?;
        let resumed = self.next.resumes.iter().map(|resume| resume.at).max();
        Some(resumed.map_or(outage.since, |resumed| resumed.max(outage.since)) + TOLERATED)
    }

    /// Asks for what failed for outside reasons again when its time has come, and says when the next time is. Where a
    /// person has to decide first, nothing is repeated.
    pub(crate) fn repeat_outside(&mut self) -> Option<NextRerun> {
        let open = self.snapshot.pull_request.lifecycle == Lifecycle::Open;
        let held = self.next.blocked.is_some() || self.next.stop.reason == Some(StopReason::UserStop);
        let outage = self.next.outage.clone().filter(|_| open && !held)?;
        let (asked, next) =
            rerun::repeat_outside(self.snapshot, self.policy, &mut self.next, &outage.checks, outage.since, self.now);
        if !asked.is_empty() {
            let asked = OwnCommand::Rerun { by: ByNobody, checks: asked };
            self.happened(Event::CommandRun(CommandRun::Own(asked)));
        }
        next
    }
}
