//! How many requests are sent to GitHub.

use std::sync::atomic::{AtomicU64, Ordering};

use http::StatusCode;

use super::work_class::WorkClass;

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
    spent: [AtomicU64; WorkClass::ALL.len()],
    deferred: [AtomicU64; WorkClass::ALL.len()],
}

/// What was done for whom, by [`WorkClass::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spending {
    /// Requests that cost something of the hour's quota.
    pub spent: [u64; WorkClass::ALL.len()],
    /// What was put off so that something more urgent may go: requests and effects.
    pub deferred: [u64; WorkClass::ALL.len()],
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

    pub(crate) fn deferred(&self, class: WorkClass) {
        self.deferred[class as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn spending(&self) -> Spending {
        let read =
            |counts: &[AtomicU64; WorkClass::ALL.len()]| std::array::from_fn(|at| counts[at].load(Ordering::Relaxed));
        Spending { spent: read(&self.spent), deferred: read(&self.deferred) }
    }

    pub(crate) fn answered(&self, class: WorkClass, status: StatusCode) {
        if status != StatusCode::NOT_MODIFIED {
            self.spent[class as usize].fetch_add(1, Ordering::Relaxed);
        }
        let first = match status.as_u16() {
            200..=299 => "2xx",
            304 => "304",
            300..=399 => "3xx",
            403 => "403",
            429 => "429",
            400..=499 => "4xx",
            _ => "5xx",
        };
        for (_, count) in STATUSES.iter().zip(&self.answers).filter(|(status, _)| **status == first) {
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
