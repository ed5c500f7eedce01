//! An attempt that weakens what checks it.

use crate::{
    concerns::tampering::{Tampering, counts, not_accepted},
    ids::Login,
    state::{AttemptDigest, LoopState, VerificationResult},
};

/// Marks an attempt that weakens what checks it, and says in its summary who accepted that.
pub fn mark(digest: &mut AttemptDigest, state: &LoopState, found: &[Tampering]) {
    let counted = counts(found);
    let is_found = |(_, what): &(&Login, &str)| counted.contains_key(*what);
    let accepted: Vec<String> = state
        .people
        .accepted_by()
        .filter(is_found)
        .take(3)
        .map(|(by, what)| format!("{by} accepted that {what}"))
        .collect();
    let is_open = not_accepted(found, &state.concerns.tampering).is_some();
    digest.weakened = is_open || !accepted.is_empty();
    let passes = digest.result == VerificationResult::Pass;
    if passes && is_open {
        digest.summary = "checks pass, but tests or thresholds were weakened".to_owned();
    } else if passes && digest.weakened {
        digest.summary = format!("{}; {}", digest.summary, accepted.join(", "));
    }
}
