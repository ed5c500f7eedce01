//! How much is asked of GitHub: counted, and kept within what it tolerates.

use std::{
    collections::VecDeque,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use chrono::TimeDelta;
use http::StatusCode;

use loopgate_core::Timestamp;

/// Requests sent so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Usage {
    pub total: u64,
    /// Reads answered 304, which cost nothing of the rate limit.
    pub not_modified: u64,
    /// Everything but reads.
    pub writes: u64,
}

/// How GitHub's answers are counted, by the first digit of their status; 304, 403 and 429 apart.
pub const STATUSES: [&str; 7] = ["2xx", "304", "3xx", "403", "429", "4xx", "5xx"];

#[derive(Debug, Default)]
pub(crate) struct Meter {
    total: AtomicU64,
    not_modified: AtomicU64,
    writes: AtomicU64,
    answers: [AtomicU64; STATUSES.len()],
}

impl Meter {
    pub(crate) fn read(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn write(&self) {
        self.total.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn not_modified(&self) {
        self.not_modified.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn answered(&self, status: StatusCode) {
        let class = match status.as_u16() {
            200..=299 => "2xx",
            304 => "304",
            300..=399 => "3xx",
            403 => "403",
            429 => "429",
            400..=499 => "4xx",
            _ => "5xx",
        };
        for (_, count) in STATUSES.iter().zip(&self.answers).filter(|(status, _)| **status == class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Answers by [`STATUSES`].
    pub(crate) fn answers(&self) -> [u64; STATUSES.len()] {
        std::array::from_fn(|at| self.answers[at].load(Ordering::Relaxed))
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage {
            total: self.total.load(Ordering::Relaxed),
            not_modified: self.not_modified.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
        }
    }
}

/// Keeps content-creating requests under 80 a minute and 500 an hour
/// (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits>).
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// When content was created within the last hour, oldest first.
    created: VecDeque<Timestamp>,
}

/// What the pace allows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    Now,
    After(Duration),
    /// A limit would be broken before this moment.
    NotBefore(Timestamp),
}

impl Pace {
    const PER_MINUTE: usize = 80;
    const PER_HOUR: usize = 500;
    /// From here on requests are spaced.
    const NEAR: usize = 60;

    /// Asks to create content now, and books it when that is granted.
    pub(crate) fn book(&mut self, now: Timestamp) -> Permit {
        let (minute, hour) = (TimeDelta::minutes(1), TimeDelta::hours(1));
        while self.created.front().is_some_and(|at| *at + hour <= now) {
            self.created.pop_front();
        }
        if self.created.len() >= Self::PER_HOUR
            && let Some(oldest) = self.created.front()
        {
            return Permit::NotBefore(*oldest + hour);
        }
        let recent = self.created.iter().rev().take_while(|at| **at + minute > now).count();
        if recent >= Self::PER_MINUTE
            && let Some(first) = self.created.get(self.created.len() - recent)
        {
            return Permit::NotBefore(*first + minute);
        }
        self.created.push_back(now);
        if recent >= Self::NEAR { Permit::After(Duration::from_secs(1)) } else { Permit::Now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_spaced_near_the_limit_and_refused_at_it() {
        let mut pace = Pace::default();
        let start = Timestamp::from_timestamp(1_800_000_000, 0).unwrap();
        for nth in 0..80 {
            let expected = if nth < 60 { Permit::Now } else { Permit::After(Duration::from_secs(1)) };
            assert_eq!(pace.book(start), expected, "{nth}");
        }
        assert_eq!(pace.book(start), Permit::NotBefore(start + TimeDelta::minutes(1)));
        assert_eq!(pace.book(start + TimeDelta::minutes(1)), Permit::Now);
    }

    #[test]
    fn an_hour_holds_five_hundred() {
        let mut pace = Pace::default();
        let start = Timestamp::from_timestamp(1_800_000_000, 0).unwrap();
        for nth in 0..500 {
            assert_eq!(pace.book(start + TimeDelta::seconds(nth * 5)), Permit::Now);
        }
        let full = start + TimeDelta::seconds(2_500);
        assert_eq!(pace.book(full), Permit::NotBefore(start + TimeDelta::hours(1)));
        assert_eq!(pace.book(start + TimeDelta::hours(1)), Permit::Now);
    }
}
