//! Which head a person had before them: the record of heads and of each gate's diff, as first seen.
//!
//! A comment carries no commit. It is bound to the head that had been seen before it was written, so that a push that
//! lands in between never inherits an approval (gates.md, What an approval is bound to).

use std::collections::BTreeMap;

use crate::core::{
    hint::Hint,
    ids::{GateName, Sha, Timestamp},
    snapshot::Snapshot,
    state::SeenHead,
};

/// The entry to append to the state's record, when what is seen now differs from the last entry.
pub(super) fn next(
    snapshot: &Snapshot,
    record: &[SeenHead],
    gates: BTreeMap<GateName, String>,
    now: Timestamp,
) -> Option<SeenHead> {
    let pull_request = &snapshot.pull_request;
    let (sha, base) = (pull_request.head.sha, Some(pull_request.base.branch.clone()));
    let at = match record.last() {
        Some(last) if last.sha == sha => {
            // Entries of older writers know no base.
            let same_base = last.base.is_none() || last.base == base;
            if last.gates == gates && same_base {
                return None;
            }
            now
        }
        last => first_seen(snapshot, last, now),
    };
    // The record is in order whatever clocks say: an entry never begins before the one it ends.
    let at = record.last().map_or(at, |last| at.max(last.at));
    Some(SeenHead { sha, at, gates, base })
}

/// When the present head was first seen.
///
/// An event says it best. Without one (it was lost, or this is the first look) GitHub's own time of first knowing the
/// commit serves, unless it lies before the head it replaced: then the commit was known from elsewhere, or is being
/// returned to, and only *now* is certain.
fn first_seen(snapshot: &Snapshot, last: Option<&SeenHead>, now: Timestamp) -> Timestamp {
    let head = &snapshot.pull_request.head;
    let known_since = head.known_since.filter(|&since| last.is_none_or(|last| since > last.at));
    // The last run of events that name it: a head that was left and returned to is a new sight.
    let told = told(snapshot).into_iter().rev().take_while(|(_, sha)| *sha == head.sha).last();
    match (told, last) {
        (Some((told, _)), Some(_)) => told,
        (Some((told, _)), None) => known_since.map_or(told, |since| since.min(told)),
        (None, _) => known_since.unwrap_or(now),
    }
}

/// The heads that events told of, oldest first.
fn told(snapshot: &Snapshot) -> Vec<(Timestamp, Sha)> {
    let told = snapshot.hints.iter().filter_map(|hint| match hint {
        Hint::HeadSeen { sha, at } => Some((*at, *sha)),
        _ => None,
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    told
}

/// Whether the newest event and the API agree about the head. They may not for a moment after a push.
pub(super) fn is_settled(snapshot: &Snapshot) -> bool {
    told(snapshot).last().is_none_or(|(_, sha)| *sha == snapshot.pull_request.head.sha)
}

/// The entry in force at a moment: the last one that began before it.
pub(super) fn at(record: &[SeenHead], moment: Timestamp) -> Option<&SeenHead> {
    record.iter().rev().find(|seen| seen.at < moment)
}

/// The entry of a commit that somebody named or reviewed: as it stood at that moment, else as it was first seen.
pub(super) fn of(record: &[SeenHead], commit: Sha, moment: Timestamp) -> Option<&SeenHead> {
    let of_commit = || record.iter().filter(|seen| seen.sha == commit);
    of_commit().rfind(|seen| seen.at < moment).or_else(|| of_commit().next())
}
