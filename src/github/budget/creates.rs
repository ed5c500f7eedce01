//! Content-creating requests, by need.
//!
//! The platform takes 80 a minute and 500 an hour
//! (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits>).
//! What may not go yet is left out of its look, with the time to come back. Each such promise counts for the next one,
//! so that many that wait come back one after the other.

use std::collections::{BTreeMap, VecDeque};

use chrono::TimeDelta;

use loopgate_core::{Sha, Timestamp};

/// What content is created for, the most needed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// The check run that shows the verdict.
    Verify,
    /// What else belongs to the verdict: the gates' check run.
    Verdict,
    /// The status comment.
    Status,
    /// Other comments for people.
    Comment,
    /// Labels, and who is asked for a review.
    Mark,
    Reaction,
}

const MINUTE: TimeDelta = TimeDelta::minutes(1);
const HOUR: TimeDelta = TimeDelta::hours(1);

/// How many may be created within a time, by need. What is used up of a minute comes back soon; of an hour so much is kept
/// for verdicts that they appear of two hundred pull requests, long after comments wait.
const LIMITS: [(TimeDelta, [usize; 6]); 2] =
    [(MINUTE, [80, 80, 76, 72, 68, 64]), (HOUR, [500, 400, 300, 260, 240, 220])];

/// How many may be created within a minute and an hour for a need.
pub(crate) fn limits(need: Need) -> Vec<(TimeDelta, usize)> {
    LIMITS.map(|(window, limits)| (window, limits[need as usize])).into()
}

/// The shortest pause before a promise comes due.
const SHORTEST: TimeDelta = TimeDelta::seconds(1);

/// How long somebody may wait for their turn after a promise comes due.
const LATE: TimeDelta = TimeDelta::seconds(15);

/// Promises kept at most.
const MOST: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Creates {
    /// Answered within the last hour, oldest first: the platform counted them before that.
    created: VecDeque<Timestamp>,
    under_way: usize,
    /// Who comes back when, and for what, by the head of the pull request.
    promised: BTreeMap<Sha, (Timestamp, Need)>,
}

impl Creates {
    /// Asks to create something now, and books it when that is granted, until it is [`answered`](Self::answered). `behind` pull requests wait for a verdict that
    /// have not been looked at.
    ///
    /// # Errors
    /// When to ask again.
    pub fn book(&mut self, need: Need, of: Sha, behind: usize, now: Timestamp) -> Result<(), Timestamp> {
        // A clock that was set back leaves times that are still to come: they are let go.
        self.created.retain(|at| *at <= now + MINUTE && *at + HOUR > now);
        // Who does not come soon when it is time came to another process.
        self.promised.retain(|_, (at, _)| *at + LATE > now);
        let behind = if need == Need::Verify { 0 } else { behind };
        let is_free = |(window, limits): &(TimeDelta, [usize; 6])| {
            let used = self.created.iter().rev().take_while(|at| **at + *window > now).count();
            let ahead = self
                .promised
                .iter()
                .filter(|(other, (at, known))| **other != of && *known < need && *at < now + *window)
                .count();
            self.under_way + used + ahead + behind < limits[need as usize]
        };
        if LIMITS.iter().all(is_free) {
            self.under_way += 1;
            self.promised.remove(&of);
            return Ok(());
        }
        let known = self.promised.get(&of).filter(|(at, known)| *known <= need && *at > now);
        let at = known.map_or_else(|| self.next(need, of, behind, now), |(at, _)| *at);
        if self.promised.len() < MOST {
            self.promised.insert(of, (at, need));
        }
        Err(at)
    }

    /// What all processes created, this one's last booking with it: that is no longer counted apart.
    pub fn booked_with_others(&mut self, taken: &[(Timestamp, u32)]) {
        self.under_way = self.under_way.saturating_sub(1);
        self.created = taken.iter().flat_map(|(at, amount)| std::iter::repeat_n(*at, *amount as usize)).collect();
    }

    /// Books what must go at once.
    pub fn begin(&mut self) {
        self.under_way += 1;
    }

    /// What was booked is over.
    pub fn answered(&mut self, now: Timestamp) {
        self.under_way = self.under_way.saturating_sub(1);
        self.created.push_back(now);
    }

    /// When everybody else has had their turn who waits for the same or for more.
    fn next(&self, need: Need, of: Sha, behind: usize, now: Timestamp) -> Timestamp {
        let others = self.promised.iter().filter(|(other, (_, known))| **other != of && *known <= need);
        let ahead = others.map(|(_, (at, _))| (*at).max(now));
        let under_way = std::iter::repeat_n(now, self.under_way);
        let mut taken: Vec<Timestamp> = self.created.iter().copied().chain(under_way).chain(ahead).collect();
        taken.sort_unstable();
        for _ in 0..behind {
            let at = slot(&taken, Need::Verify, now);
            taken.insert(taken.partition_point(|other| *other <= at), at);
        }
        slot(&taken, need, now).max(now + SHORTEST)
    }
}

/// The first moment after those taken at which all limits have room.
fn slot(taken: &[Timestamp], need: Need, now: Timestamp) -> Timestamp {
    let room = LIMITS.iter().filter_map(|(window, limits)| {
        let before = taken.len().checked_sub(limits[need as usize])?;
        Some(*taken.get(before)? + *window)
    });
    room.fold(now, Timestamp::max)
}
