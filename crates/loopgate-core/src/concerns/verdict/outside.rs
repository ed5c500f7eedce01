//! Checks that say nothing of the code: those that fail for reasons outside of it, and those that did not report.

use std::collections::BTreeSet;

use crate::{
    concerns::{
        checks::{CheckStanding, gather::CheckView},
        verdict::Verification,
    },
    failure::Blame,
    ids::{CheckName, Timestamp},
    state::{LoopState, Outage, Unreported},
};

/// An outage begins with the first check that fails for outside reasons or ends without a result, and ends when all
/// checks have ended and none does. While a check is repeated nothing is known, so the outage goes on.
pub fn outage(next: &LoopState, verification: &Verification, now: Timestamp) -> Option<Outage> {
    let blamed = |wanted: Blame| -> BTreeSet<CheckName> {
        verification
            .blames
            .iter()
            .filter(|blame| blame.blame == wanted)
            .filter(|blame| {
                verification.evidence.checks[&blame.check]
                    .silence()
                    .is_none()
            })
            .map(|blame| blame.check.clone())
            .collect()
    };
    let (checks, unclear) = (blamed(Blame::Infrastructure), blamed(Blame::Inconclusive));
    if !(checks.is_empty() && unclear.is_empty()) {
        let since = next
            .concerns
            .checks
            .outage
            .as_ref()
            .map_or(now, |outage| outage.since);
        Some(Outage {
            since,
            checks,
            unclear,
        })
    } else if verification.evidence.missing().is_empty() {
        None
    } else {
        next.concerns.checks.outage.clone()
    }
}

/// The checks of the head that did not report, and those of them for which a person was called and which have not
/// reported since. Where something else fails through this change, its author comes first.
pub fn unreported(next: &LoopState, verification: &Verification) -> Unreported {
    let checks = &verification.evidence.checks;
    let is_mended_first = verification
        .blames
        .iter()
        .any(|blame| blame.blame == Blame::PrCode);
    let is_silent = |check: &CheckView| check.silence().is_some_and(|why| !why.is_authors());
    let silent = checks.values().filter(|check| is_silent(check));
    // A skipped job is heard of, too.
    let is_heard = |check: &CheckView| {
        matches!(
            check.standing,
            CheckStanding::Done(_)
                | CheckStanding::NotApplicable { .. }
                | CheckStanding::AwaitsRelease { .. }
        )
    };
    let reported = |name: &CheckName| checks.get(name).is_none_or(is_heard);
    let mut called_for = next.concerns.checks.unreported.called_for.clone();
    called_for.retain(|name| !reported(name));
    Unreported {
        of_head: silent
            .filter(|_| !is_mended_first)
            .map(|check| check.name.clone())
            .collect(),
        called_for,
    }
}
