//! What may still be sent for an installation, and for whom. Pure; the time is passed in.
//!
//! - The **quota** of the hour is read from GitHub's answers; its last tenth is kept for people.
//! - **Points** are the platform's limit for a minute: 900, of which a read costs 1 and any other request 5
//!   (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#calculating-points-for-the-secondary-rate-limit>).
//!   A request waits for them, the most urgent first, and among equals the earliest. GitHub Enterprise Server has this limit switched off by
//!   default, so there it is kept only once an answer met it.
//! - **Content** is created by need ([`Creates`]).
//!
//! Several processes of one App share the quota by GitHub's answers, and points and content by a [`SharedBudget`] where
//! there is one.

mod creates;

use std::collections::{BTreeMap, VecDeque};

use chrono::TimeDelta;
use futures::future::BoxFuture;
use http::HeaderMap;

use crate::github::client::work_class::WorkClass;
pub(crate) use creates::Creates;
pub use creates::{COUNTS_FOR, LATE, Ledger, MOST_PROMISED, Need, Promise, Want};
use loopgate_core::{InstallationId, Timestamp};

/// The platform's points in a minute.
const POINTS: u32 = 900;
/// Points of a request that reads, and of any other.
pub(crate) const READ: u32 = 1;
pub(crate) const WRITE: u32 = 5;
/// So many of them are people's: what a look after an approval costs, and the changes that follow from it.
const POINTS_OF_PEOPLE: u32 = 80;
const POINTS_FOR: TimeDelta = TimeDelta::minutes(1);
/// A request that waits for points and has not asked for so long is not awaited by others: what makes it may be waiting
/// for one of theirs.
const ASKS_AGAIN_WITHIN: TimeDelta = TimeDelta::seconds(3);

/// So many points may be used within a minute for work of a class.
pub(crate) const fn points_of(class: WorkClass) -> u32 {
    if matches!(class, WorkClass::Person) {
        POINTS
    } else {
        POINTS - POINTS_OF_PEOPLE
    }
}

/// The hour's quota, as of GitHub's last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    pub limit: u32,
    pub remaining: u32,
    pub reset: Timestamp,
}

/// Why a request is not sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldReason {
    /// For a moment.
    Points,
    /// What is left of the hour is people's.
    ForPeople { until: Timestamp },
}

#[derive(Debug, Default)]
pub(crate) struct Budget {
    pub creates: Creates,
    /// Whether the platform's points are counted.
    pub has_points_limit: bool,
    quota: Option<Quota>,
    /// Points of what was answered within the last minute, oldest first: the platform counted them before that.
    spent: VecDeque<(Timestamp, u32)>,
    /// Points of what is under way.
    pub under_way: u32,
    /// Requests that wait for points, and when each asked last. Only the first gets any: else a write, which costs
    /// five, would find none among reads that take each point as it comes.
    waiting: BTreeMap<WaitingPlace, Timestamp>,
    next_place: u64,
}

/// Where a request stands among those that wait for points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WaitingPlace {
    pub class: WorkClass,
    nth: u64,
}

impl Budget {
    pub fn new(has_points_limit: bool) -> Self {
        Self {
            has_points_limit,
            ..Self::default()
        }
    }

    /// Asks to send a request, and counts it when that is granted, until it is [`answered`](Self::answered). One that
    /// waits asks from its `place`.
    ///
    /// # Errors
    /// Why it is not sent now.
    pub fn ask(
        &mut self,
        class: WorkClass,
        place: Option<WaitingPlace>,
        points: u32,
        now: Timestamp,
    ) -> Result<(), HoldReason> {
        let is_people = class == WorkClass::Person;
        if let Some(Quota {
            limit,
            remaining,
            reset,
        }) = self.quota.filter(|quota| quota.reset > now)
            && !is_people
            && remaining <= limit / 10
        {
            return Err(HoldReason::ForPeople { until: reset });
        }
        self.spent
            .retain(|(at, _)| *at <= now && *at + POINTS_FOR > now);
        if self.has_points_limit {
            let most = points_of(class);
            let used: u32 = self.spent.iter().map(|(_, points)| points).sum();
            let own = place.unwrap_or(WaitingPlace {
                class,
                nth: u64::MAX,
            });
            self.waiting.entry(own).and_modify(|asked| *asked = now);
            let is_first = self
                .waiting
                .range(..own)
                .all(|(_, asked)| *asked + ASKS_AGAIN_WITHIN <= now);
            if self.under_way + used + points > most || !is_first {
                return Err(HoldReason::Points);
            }
        }
        self.under_way += points;
        Ok(())
    }

    /// A request is over that was granted.
    pub fn answered(&mut self, points: u32, now: Timestamp) {
        self.under_way = self.under_way.saturating_sub(points);
        self.spent.push_back((now, points));
    }

    /// A request is sent once more.
    pub fn repeats(&mut self, points: u32, now: Timestamp) {
        self.spent.push_back((now, points));
    }

    /// A request waits for points, behind all of its class, until it [leaves](Self::leaves) its place.
    pub fn waits(&mut self, class: WorkClass, now: Timestamp) -> WaitingPlace {
        let place = WaitingPlace {
            class,
            nth: self.next_place,
        };
        self.next_place += 1;
        self.waiting.insert(place, now);
        place
    }

    pub fn leaves(&mut self, place: WaitingPlace) {
        self.waiting.remove(&place);
    }

    /// Reads the hour's quota from an answer. Search and GraphQL have limits of their own.
    pub fn update(&mut self, headers: &HeaderMap) {
        let text = |name: &str| headers.get(name)?.to_str().ok();
        let number = |name: &str| text(name)?.parse::<u32>().ok();
        if text("x-ratelimit-resource").is_some_and(|resource| resource != "core") {
            return;
        }
        let reset =
            text("x-ratelimit-reset").and_then(|at| Timestamp::from_timestamp(at.parse().ok()?, 0));
        if let (Some(limit), Some(remaining), Some(reset)) = (
            number("x-ratelimit-limit"),
            number("x-ratelimit-remaining"),
            reset,
        ) {
            // Answers come out of order: within one hour the lowest is the newest.
            let lowest = self
                .quota
                .filter(|known| known.reset == reset)
                .map_or(remaining, |it| it.remaining);
            self.quota = Some(Quota {
                limit,
                remaining: remaining.min(lowest),
                reset,
            });
        }
    }

    pub fn quota(&self, now: Timestamp) -> Option<Quota> {
        self.quota.filter(|quota| quota.reset > now)
    }
}

/// What a process books of an installation's limits, among what all processes take of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetClaim {
    pub installation: InstallationId,
    pub now: Timestamp,
    pub what: BudgetUse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetUse {
    /// Points of a request. At most `most` may be used within a minute; less than `points` is nothing. GitHub may count
    /// them until `takes` after they were booked.
    Points {
        points: u32,
        most: u32,
        takes: TimeDelta,
    },
    /// Something to create, which GitHub may count until `takes` after it was booked. Without a `want` it waits for
    /// nothing.
    Creation {
        want: Option<Want>,
        takes: TimeDelta,
    },
    /// A creation that was booked until then is answered: GitHub counted it before now.
    CreationEnd { booked_until: Timestamp },
}

/// Until when a claim is booked; else when to ask again. For a creation a turn is kept until then.
pub type BookingAnswer = Result<Timestamp, Timestamp>;

/// Where the processes of one App book what they take.
pub trait SharedBudget: Send + Sync {
    /// None if the place cannot be reached: then each process counts for itself.
    fn book(&self, claim: BudgetClaim) -> BoxFuture<'_, Option<BookingAnswer>>;

    /// Books without an answer, soon. Without the end of a creation it counts from the end of its booking.
    fn note(&self, claim: BudgetClaim);
}

#[cfg(test)]
mod tests;
