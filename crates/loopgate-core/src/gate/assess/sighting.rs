//! Which head a person saw: the record of heads and of each gate's diff, as first seen.
//!
//! A comment carries no commit. It is bound to the head that was first seen before it was written, so that a push that
//! lands in between never inherits an approval.

use std::collections::BTreeMap;

use crate::{
    ids::{GateName, Sha, Timestamp},
    observed::{Hint, Snapshot},
    state::HeadObservation,
};

/// The entry to append to the state's record, when what is seen now differs from the last entry.
pub(super) fn next(
    snapshot: &Snapshot,
    record: &[HeadObservation],
    gates: BTreeMap<GateName, String>,
    now: Timestamp,
) -> Option<HeadObservation> {
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
    Some(HeadObservation { sha, at, gates, base })
}

/// When the present head was first seen.
///
/// An event says it best. Without one (it was lost, or this is the first look), the time at which GitHub first knew the
/// commit counts, unless it is earlier than that of the head it replaced. Then the commit was known from elsewhere, or
/// the branch returned to it, and only *now* is certain.
fn first_seen(snapshot: &Snapshot, last: Option<&HeadObservation>, now: Timestamp) -> Timestamp {
    let head = &snapshot.pull_request.head;
    let known_since = head.known_since.filter(|&since| last.is_none_or(|last| since > last.at));
    // The last unbroken row of events that name it: a head that was left and returned to is seen anew.
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
pub(super) fn at(record: &[HeadObservation], moment: Timestamp) -> Option<&HeadObservation> {
    record.iter().rev().find(|seen| seen.at < moment)
}

/// The entry of a commit that somebody named or reviewed: as it stood at that moment, else as it was first seen.
pub(super) fn of(record: &[HeadObservation], commit: Sha, moment: Timestamp) -> Option<&HeadObservation> {
    let of_commit = || record.iter().filter(|seen| seen.sha == commit);
    of_commit().rfind(|seen| seen.at < moment).or_else(|| of_commit().next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::assess::world::{World, minute, seen, sha};

    /// The time at which the present head (2) is entered, given what was told and when GitHub first knew it.
    fn entered(record: &[HeadObservation], told: &[(u8, i64)], known_since: Option<i64>) -> Option<Timestamp> {
        let mut world = World::new();
        world.snapshot.pull_request.head.sha = sha(2);
        world.snapshot.pull_request.head.known_since = known_since.map(minute);
        let hint = |&(digit, at): &(u8, i64)| Hint::HeadSeen { sha: sha(digit), at: minute(at) };
        world.snapshot.hints = told.iter().map(hint).collect();
        next(&world.snapshot, record, BTreeMap::new(), minute(100)).map(|seen| seen.at)
    }

    #[test]
    fn a_head_is_entered_when_it_was_first_seen() {
        let record = [seen(1, 0)];
        for (record, told, known_since, at) in [
            // At the first look: the earliest that is certain.
            (&[][..], &[][..], None, 100),
            (&[], &[], Some(-5), -5),
            (&[], &[(2, 3)], Some(1), 1),
            (&[], &[(2, 3)], None, 3),
            // The event, although GitHub knew the commit before.
            (&record, &[(2, 7)], Some(5), 7),
            // Events that came more than once: the first of the last run.
            (&record, &[(2, 7), (2, 9)], None, 7),
            (&record, &[(2, 3), (1, 5), (2, 9)], None, 9),
            // No event: GitHub's time, unless the commit was known before the head it replaced.
            (&record, &[], Some(5), 5),
            (&record, &[], Some(-5), 100),
            (&record, &[], None, 100),
        ] {
            assert_eq!(entered(record, told, known_since), Some(minute(at)), "{record:?} {told:?} {known_since:?}");
        }
    }

    #[test]
    fn the_record_stays_in_order() {
        assert_eq!(entered(&[seen(1, 50)], &[(2, 7)], None), Some(minute(50)));
    }

    #[test]
    fn what_did_not_change_is_not_entered_again() {
        assert_eq!(entered(&[seen(1, 0), seen(2, 5)], &[(2, 50)], Some(1)), None);
        // Nor is a record of a time when no base was kept.
        let old = HeadObservation { base: None, ..seen(2, 5) };
        assert_eq!(entered(&[old], &[], None), None);
        let retargeted = HeadObservation { base: Some("release".into()), ..seen(2, 5) };
        assert_eq!(entered(&[retargeted], &[], None), Some(minute(100)));
    }
}
