//! What a run keeps of its merge queue: the results of groups, and when it left the queue.

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::{
    ids::{PrNumber, Sha, Timestamp},
    observed::{
        GroupResult, Hint, Lifecycle, QueueGroup, QueueRemoval, QueueStanding, RemovalReason,
        Snapshot,
    },
};

/// Groups that are kept at most, the newest.
const MOST_GROUPS: usize = 20;
/// Departures that are kept at most, the newest.
const MOST_DEPARTURES: usize = 20;
const KEPT_FOR: TimeDelta = TimeDelta::days(30);

/// The merge queue of a run's pull request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueRecord {
    /// Groups with the pull request, and groups that share a pull request with those: the oldest first.
    pub groups: Vec<QueueGroup>,
    /// When it left the queue without being merged, the oldest first.
    pub departures: Vec<QueueDeparture>,
}

/// Once that a pull request left its queue without being merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueDeparture {
    #[serde(flatten)]
    pub removal: QueueRemoval,
    /// The head that was in the queue.
    pub head: Sha,
    /// Why, as far as the groups known now show it.
    pub exit: Option<QueueExit>,
    /// Whether it is in the queue again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_over: bool,
}

words! {
    /// Why a pull request left the queue, in one word: what says most about it first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum QueueExit {
        Culprit = "culprit",
        /// It failed with others, and nothing distinguishes them.
        Together = "together",
        Bystander = "bystander",
        BaseBroken = "base_broken",
        Flake = "flake",
        /// Checks were cancelled, did not start or did not end.
        Unfinished = "unfinished",
        Person = "person",
        Conflict = "conflict",
        Other = "other",
    }
}

impl QueueRecord {
    /// Whether GitHub is to be asked if the pull request is still in the queue.
    pub fn is_unsettled(&self) -> bool {
        let left_at = self
            .departures
            .last()
            .filter(|last| !last.is_over)
            .map(|last| last.removal.at);
        self.groups
            .iter()
            .any(|group| left_at.is_none_or(|left_at| group.made_at > left_at))
    }

    /// Pull requests that were in a group with this one, at most 100.
    pub fn companions(&self, number: PrNumber) -> Vec<PrNumber> {
        let own = self
            .groups
            .iter()
            .filter(|group| group.entries.contains(&number));
        let mut others: Vec<PrNumber> = own
            .flat_map(|group| group.entries.iter().copied())
            .collect();
        others.sort_unstable();
        others.dedup();
        others.truncate(100);
        others
    }

    /// Takes in what events and GitHub say of the queue.
    pub fn follow(&mut self, snapshot: &Snapshot, now: Timestamp) {
        let pull_request = &snapshot.pull_request;
        for hint in &snapshot.hints {
            if let Hint::QueueGroup(group) = hint {
                self.note_group(pull_request.number, group);
            }
        }
        self.groups.retain(|group| now - group.made_at < KEPT_FOR);
        self.departures
            .retain(|left| now - left.removal.at < KEPT_FOR);
        let Some(QueueStanding { is_queued, removal }) = &snapshot.queue else {
            return;
        };
        if *is_queued || pull_request.lifecycle != Lifecycle::Open {
            self.departures
                .iter_mut()
                .for_each(|left| left.is_over = true);
            return;
        }
        let removal = removal
            .as_ref()
            .filter(|removal| removal.reason != RemovalReason::Merged);
        if let Some(removal) = removal
            && self
                .departures
                .iter()
                .all(|left| left.removal.at < removal.at)
        {
            let head = pull_request.head.sha;
            self.departures.push(QueueDeparture {
                removal: removal.clone(),
                head,
                exit: None,
                is_over: false,
            });
            self.departures
                .drain(..self.departures.len().saturating_sub(MOST_DEPARTURES));
        }
    }

    fn note_group(&mut self, number: PrNumber, group: &QueueGroup) {
        let companions = self.companions(number);
        let concerns = |entry: &PrNumber| *entry == number || companions.contains(entry);
        if !group.entries.iter().any(concerns) {
            return;
        }
        let mut group = group.clone();
        if let Some(at) = self
            .groups
            .iter()
            .position(|known| known.head == group.head)
        {
            let earlier = self.groups.remove(at);
            // What a group that has ended shows is not taken back by one that was thrown away meanwhile.
            if group.result == GroupResult::Running && earlier.result != GroupResult::Running {
                group = earlier;
            } else {
                group.follow(&earlier);
            }
        }
        let place = self
            .groups
            .partition_point(|known| known.made_at <= group.made_at);
        self.groups.insert(place, group);
        self.groups
            .drain(..self.groups.len().saturating_sub(MOST_GROUPS));
    }
}
