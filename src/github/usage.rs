//! How many requests are sent to GitHub.

use std::sync::{Mutex, MutexGuard, PoisonError};

use http::{Method, StatusCode};

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

/// What was done for whom, by [`WorkClass::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spending {
    /// Requests that cost something of the hour's quota.
    pub spent: [u64; WorkClass::ALL.len()],
    /// What was put off so that something more urgent may go: requests and effects.
    pub deferred: [u64; WorkClass::ALL.len()],
}

#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Counts>);

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub usage: Usage,
    /// By [`STATUSES`].
    pub answers: [u64; STATUSES.len()],
    pub spending: Spending,
}

impl Meter {
    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn sent(&self, method: &Method) {
        let usage = &mut self.counts().usage;
        usage.total += 1;
        usage.writes += u64::from(method != Method::GET);
    }

    pub(crate) fn answered(&self, class: WorkClass, status: StatusCode) {
        let mut counts = self.counts();
        counts.spending.spent[class as usize] += u64::from(status != StatusCode::NOT_MODIFIED);
        let place = match status.as_u16() {
            200..=299 => 0,
            304 => 1,
            300..=399 => 2,
            403 => 3,
            429 => 4,
            400..=499 => 5,
            _ => 6,
        };
        counts.answers[place] += 1;
    }
}
