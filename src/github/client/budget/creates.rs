//! Content-creating requests, by need.
//!
//! The platform takes 80 a minute and 500 an hour
//! (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits>).
//! What may not go yet is left out of its look, with the time to come back. Each such promise keeps a turn, so that
//! many that wait come back one after the other.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use loopgate_core::{Sha, Timestamp};

/// What content is created for, the most needed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
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

impl Need {
    pub const ALL: [Self; 6] = [
        Self::Verify,
        Self::Verdict,
        Self::Status,
        Self::Comment,
        Self::Mark,
        Self::Reaction,
    ];
}

const MINUTE: TimeDelta = TimeDelta::minutes(1);
const HOUR: TimeDelta = TimeDelta::hours(1);

/// How many may be created within a time, by need. What is used up of a minute comes back soon; of an hour so much is
/// kept for verdicts that they appear of two hundred pull requests, long after comments wait.
const LIMITS: [(TimeDelta, [usize; 6]); 2] = [
    (MINUTE, [80, 80, 76, 72, 68, 64]),
    (HOUR, [500, 400, 300, 260, 240, 220]),
];

/// The shortest pause before a promise comes due.
const SHORTEST: TimeDelta = TimeDelta::seconds(1);

/// How long after its turn has come a pull request has been looked at, and something is created.
const LOOK: TimeDelta = TimeDelta::seconds(4);

/// How long a turn is kept for somebody who does not come.
pub const LATE: TimeDelta = TimeDelta::seconds(15);

/// How long what was created counts.
pub const COUNTS_FOR: TimeDelta = HOUR;

/// Turns kept at most.
pub const MOST_PROMISED: usize = 4_096;

/// A turn that is kept: when, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promise {
    pub at: Timestamp,
    pub need: Need,
}

/// A pull request that wants to create something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// By which its turn is kept.
    pub head: Sha,
    pub need: Need,
    /// Pull requests that wait for a verdict and have not been looked at.
    pub behind: usize,
}

/// What counts when somebody asks for a turn.
#[derive(Debug, Default)]
pub struct Ledger {
    /// When each thing was created, or may be at the latest: GitHub counts it before that.
    pub created: Vec<Timestamp>,
    pub promised: BTreeMap<Sha, Promise>,
}

impl Ledger {
    /// Whether it is the turn of who asks, after all that is needed more, and after those who waited for as much
    /// before.
    ///
    /// # Errors
    /// The turn that is to be kept.
    pub fn ask(&self, want: &Want, now: Timestamp) -> Result<(), Promise> {
        let Want { head, need, behind } = *want;
        let kept = |promise: &&Promise| promise.at + LATE > now && promise.at <= now + HOUR;
        let own = self.promised.get(&head).filter(kept).copied();
        // What is needed more waits until then, and this with it.
        if let Some(own) = own.filter(|own| own.need < need && own.at > now) {
            return Err(own);
        }
        let until = own
            .filter(|own| own.need == need)
            .map(|own| own.at.max(now));
        let is_ahead = |other: &&Promise| {
            other.need < need || other.need == need && until.is_none_or(|until| other.at <= until)
        };
        let others = self
            .promised
            .iter()
            .filter(|(of, _)| **of != head)
            .map(|(_, promise)| promise);
        let ahead = others
            .filter(kept)
            .filter(is_ahead)
            .map(|other| other.at.max(now) + LOOK);
        let mut taken: Vec<Timestamp> = self.created.iter().copied().chain(ahead).collect();
        taken.sort_unstable();
        for _ in 0..if need == Need::Verify { 0 } else { behind } {
            let at = slot(&taken, Need::Verify, now);
            taken.insert(taken.partition_point(|other| *other <= at), at);
        }
        match slot(&taken, need, now) {
            at if at <= now => Ok(()),
            // Who asks before its turn loses nothing.
            at => {
                let at = until
                    .filter(|until| *until > now)
                    .map_or(at, |until| until.min(at))
                    .max(now + SHORTEST);
                Err(Promise { at, need })
            }
        }
    }
}

/// What is created by one process that shares its ledger with no other.
#[derive(Debug, Default)]
pub(crate) struct Creates {
    ledger: Ledger,
    under_way: usize,
}

impl Creates {
    /// Asks to create something now, and books it when that is granted, until it is [`answered`](Self::answered). What
    /// waits for nothing is granted.
    ///
    /// # Errors
    /// When to ask again.
    pub fn book(&mut self, want: Option<&Want>, now: Timestamp) -> Result<(), Timestamp> {
        let Some(want) = want else {
            self.under_way += 1;
            return Ok(());
        };
        let ledger = &mut self.ledger;
        // A clock that was set back leaves times that are still to come: they are let go.
        ledger
            .created
            .retain(|at| *at <= now + MINUTE && *at + HOUR > now);
        ledger.promised.retain(|_, promise| promise.at + LATE > now);
        let answered = ledger.created.len();
        ledger
            .created
            .extend(std::iter::repeat_n(now, self.under_way));
        let asked = ledger.ask(want, now);
        ledger.created.truncate(answered);
        match asked {
            Ok(()) => {
                ledger.promised.remove(&want.head);
                self.under_way += 1;
            }
            Err(promise) if ledger.promised.len() < MOST_PROMISED => {
                ledger.promised.insert(want.head, promise);
            }
            Err(_) => {}
        }
        asked.map_err(|promise| promise.at)
    }

    /// What was booked is over.
    pub fn answered(&mut self, now: Timestamp) {
        self.under_way = self.under_way.saturating_sub(1);
        self.ledger.created.push(now);
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
