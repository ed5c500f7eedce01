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

/// The entry for the state's record ([`HeadObservation::enter`]), when what is seen now differs from the last entry.
pub(super) fn next(
    snapshot: &Snapshot,
    record: &[HeadObservation],
    gates: BTreeMap<GateName, String>,
    now: Timestamp,
) -> Option<HeadObservation> {
    let pull_request = &snapshot.pull_request;
    let (sha, base) = (
        pull_request.head.sha,
        Some(pull_request.base.branch.clone()),
    );
    let at = match record.last() {
        Some(last) if last.sha == sha => {
            // Entries of older writers know no base.
            let same_base = last.base.is_none() || last.base == base;
            if last.gates == gates && same_base && last.merge_base == snapshot.merge_base {
                // The only entry, as of the moment that a late event names: looks that had no event could not know it.
                let is_earlier = |at: &Timestamp| record.len() == 1 && *at < last.at;
                let at = announced_since(snapshot, sha).filter(is_earlier)?;
                return Some(HeadObservation { at, ..last.clone() });
            }
            now
        }
        last => first_seen(snapshot, last, now),
    };
    // The record is in order whatever clocks say: an entry never begins before the one it ends.
    let at = record.last().map_or(at, |last| at.max(last.at));
    Some(HeadObservation {
        sha,
        at,
        gates,
        base,
        merge_base: snapshot.merge_base,
    })
}

/// When the present head was first seen.
///
/// An event says it best. Without one (it was lost, or this is the first look), the time at which GitHub first knew the
/// commit counts, unless it is earlier than that of the head it replaced. Then the commit was known from elsewhere, or
/// the branch returned to it, and only *now* is certain.
fn first_seen(snapshot: &Snapshot, last: Option<&HeadObservation>, now: Timestamp) -> Timestamp {
    let head = &snapshot.pull_request.head;
    let known_since = head
        .known_since
        .filter(|&since| last.is_none_or(|last| since > last.at));
    match (announced_since(snapshot, head.sha), last) {
        (Some(announced), Some(_)) => announced,
        (Some(announced), None) => known_since.map_or(announced, |since| since.min(announced)),
        (None, _) => known_since.unwrap_or(now),
    }
}

/// The beginning of the last unbroken row of events that name a head: one that was left and returned to is seen anew.
fn announced_since(snapshot: &Snapshot, head: Sha) -> Option<Timestamp> {
    announced(snapshot)
        .into_iter()
        .rev()
        .take_while(|(_, sha)| *sha == head)
        .last()
        .map(|(at, _)| at)
}

/// The heads that events name, oldest first. What was opened into another branch says nothing of this one.
fn announced(snapshot: &Snapshot) -> Vec<(Timestamp, Sha)> {
    let announced = snapshot.hints.iter().filter_map(|hint| match hint {
        Hint::HeadSeen { sha, at } => Some((*at, *sha)),
        Hint::Opened { sha, base, at } if *base == snapshot.pull_request.base.branch => {
            Some((*at, *sha))
        }
        _ => None,
    });
    let mut announced: Vec<_> = announced.collect();
    announced.sort();
    announced
}

/// Whether the newest event and the API agree about the head. They may not for a moment after a push.
pub(super) fn is_settled(snapshot: &Snapshot) -> bool {
    announced(snapshot)
        .last()
        .is_none_or(|(_, sha)| *sha == snapshot.pull_request.head.sha)
}

/// The entry of a commit that somebody named or reviewed: as it stood at that moment, else as it was first seen.
pub(super) fn entry(
    record: &[HeadObservation],
    commit: Sha,
    moment: Timestamp,
) -> Option<&HeadObservation> {
    let of_commit = || record.iter().filter(|seen| seen.sha == commit);
    of_commit()
        .rfind(|seen| seen.at < moment)
        .or_else(|| of_commit().next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::concerns::gates::assess::world::{World, minute, seen, sha};

    /// The time at which the present head (2) is entered, given what was announced and when GitHub first knew it.
    fn entered(
        record: &[HeadObservation],
        announced: &[(u8, i64)],
        known_since: Option<i64>,
    ) -> Option<Timestamp> {
        let mut world = World::new();
        world.snapshot.pull_request.head.sha = sha(2);
        world.snapshot.pull_request.head.known_since = known_since.map(minute);
        let hint = |&(digit, at): &(u8, i64)| Hint::HeadSeen {
            sha: sha(digit),
            at: minute(at),
        };
        world.snapshot.hints = announced.iter().map(hint).collect();
        next(&world.snapshot, record, BTreeMap::new(), minute(100)).map(|seen| seen.at)
    }

    #[test]
    fn a_head_is_entered_when_it_was_first_seen() {
        let record = [seen(1, 0)];
        for (record, announced, known_since, at) in [
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
            assert_eq!(
                entered(record, announced, known_since),
                Some(minute(at)),
                "{record:?} {announced:?} {known_since:?}"
            );
        }
    }

    #[test]
    fn a_late_event_tells_since_when_the_only_head_was_there() {
        let entered = |record: &[HeadObservation], branch: &str, at: i64| {
            let mut world = World::new();
            world.snapshot.pull_request.head.sha = sha(2);
            world.snapshot.pull_request.head.known_since = None;
            world.snapshot.hints = vec![
                Hint::Opened {
                    sha: sha(2),
                    base: branch.into(),
                    at: minute(at),
                },
                Hint::HeadSeen {
                    sha: sha(2),
                    at: minute(90),
                },
            ];
            let seen = next(&world.snapshot, record, BTreeMap::new(), minute(100))?;
            let mut record = record.to_vec();
            seen.enter(&mut record);
            Some(
                record
                    .iter()
                    .map(|seen| (seen.sha, seen.at))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(entered(&[], "main", 3), Some(vec![(sha(2), minute(3))]));
        assert_eq!(
            entered(&[seen(2, 50)], "main", 3),
            Some(vec![(sha(2), minute(3))])
        );
        // Nothing is older than what it was opened into, nor than the head before it.
        assert_eq!(entered(&[], "release", 3), Some(vec![(sha(2), minute(90))]));
        assert_eq!(entered(&[seen(2, 50)], "release", 3), None);
        assert_eq!(entered(&[seen(2, 2)], "main", 3), None);
        assert_eq!(entered(&[seen(1, 2), seen(2, 50)], "main", 3), None);
    }

    #[test]
    fn the_record_stays_in_order() {
        assert_eq!(entered(&[seen(1, 50)], &[(2, 7)], None), Some(minute(50)));
    }

    #[test]
    fn what_did_not_change_is_not_entered_again() {
        assert_eq!(
            entered(&[seen(1, 0), seen(2, 5)], &[(2, 50)], Some(1)),
            None
        );
        // Nor is a record of a time when no base was kept.
        let old = HeadObservation {
            base: None,
            ..seen(2, 5)
        };
        assert_eq!(entered(&[old], &[], None), None);
        let retargeted = HeadObservation {
            base: Some("release".into()),
            ..seen(2, 5)
        };
        assert_eq!(entered(&[retargeted], &[], None), Some(minute(100)));
    }
}
