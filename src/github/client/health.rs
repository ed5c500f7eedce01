//! What is read from GitHub's answers beside what was asked for: whether it takes our key, how far our clock is from
//! its clock, and requests by installation.
//!
//! No request is made for it. That GitHub does not answer is no fault of ours: deliveries are taken and kept meanwhile.

use chrono::{DateTime, TimeDelta};
use http::{Method, StatusCode};
use parking_lot::Mutex;

use crate::github::client::{transport::Incoming, work_class::WorkClass};
use loopgate_core::Timestamp;

/// GitHub takes tokens that were signed up to this long ahead of its own clock
/// (<https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>).
const CLOCKS_DIFFER_BY: TimeDelta = TimeDelta::seconds(60);

/// The health as of the last answers, and requests so far.
#[derive(Debug, Default)]
pub(in crate::github) struct Health {
    /// Why GitHub does not take what our key signs.
    pub(in crate::github) key_refused: Mutex<Option<String>>,
    /// GitHub's time less ours.
    ahead: Mutex<TimeDelta>,
    pub(in crate::github) counts: Mutex<RequestCounts>,
}

impl Health {
    /// Notes a request that is about to be sent.
    pub(in crate::github) fn sent(&self, method: &Method) {
        let usage = &mut self.counts.lock().usage;
        usage.total += 1;
        usage.writes += u64::from(method != Method::GET);
    }

    /// Notes the status and the `Date` of an answer that came at `now`.
    pub(in crate::github) fn answered(&self, answer: &Incoming, class: WorkClass, now: Timestamp) {
        if let Some(date) = answer
            .header("date")
            .and_then(|date| DateTime::parse_from_rfc2822(date).ok())
        {
            *self.ahead.lock() = date.to_utc() - now;
        }
        let mut counts = self.counts.lock();
        counts.spent[class as usize] += u64::from(answer.status != StatusCode::NOT_MODIFIED);
        let place = match answer.status.as_u16() {
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

    /// # Errors
    /// What is wrong with the key, in one line.
    pub(in crate::github) fn key(&self) -> Result<(), String> {
        let refused = self.key_refused.lock().clone();
        let problem = |message| {
            format!("GitHub does not take the App's key ({message}): has it been replaced?")
        };
        refused.map_or(Ok(()), |message| Err(problem(message)))
    }

    /// # Errors
    /// What is wrong with the clock, in one line.
    pub(in crate::github) fn clock(&self) -> Result<(), String> {
        let ahead = *self.ahead.lock();
        if ahead.abs() <= CLOCKS_DIFFER_BY {
            return Ok(());
        }
        let way = if ahead > TimeDelta::zero() {
            "behind"
        } else {
            "ahead of"
        };
        Err(format!(
            "this machine is {} min {way} GitHub: set its clock",
            ahead.num_minutes().abs()
        ))
    }
}

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

/// Requests and their answers so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestCounts {
    pub usage: Usage,
    /// By [`STATUSES`].
    pub answers: [u64; STATUSES.len()],
    /// Requests that cost something of the hour's quota, by [`WorkClass::ALL`].
    pub spent: [u64; WorkClass::ALL.len()],
    /// What was put off so that something more urgent may go, requests and effects, by [`WorkClass::ALL`].
    pub deferred: [u64; WorkClass::ALL.len()],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_differs_by_more_than_a_minute_is_told() {
        let now = Timestamp::from_timestamp(1_800_000_000, 0).unwrap();
        let health = Health::default();
        assert_eq!(
            (health.clock(), health.key()),
            (Ok(()), Ok(())),
            "nothing is known against us"
        );
        for (date, said) in [
            ("Fri, 15 Jan 2027 08:00:59 GMT", None),
            (
                "Fri, 15 Jan 2027 08:02:00 GMT",
                Some("this machine is 2 min behind GitHub: set its clock"),
            ),
            (
                "Fri, 15 Jan 2027 07:00:00 GMT",
                Some("this machine is 60 min ahead of GitHub: set its clock"),
            ),
            (
                "yesterday",
                Some("this machine is 60 min ahead of GitHub: set its clock"),
            ),
            ("Fri, 15 Jan 2027 08:00:00 GMT", None),
        ] {
            let headers = [(http::header::DATE, date.parse().unwrap())]
                .into_iter()
                .collect();
            let (status, body) = (http::StatusCode::OK, bytes::Bytes::new());
            health.answered(
                &Incoming {
                    status,
                    headers,
                    body,
                },
                WorkClass::Author,
                now,
            );
            assert_eq!(health.clock().err().as_deref(), said, "{date}");
        }
    }

    #[test]
    fn a_refused_key_is_told_until_one_is_taken() {
        let health = Health::default();
        *health.key_refused.lock() = Some("A JSON web token could not be decoded".into());
        assert!(health.key().unwrap_err().contains("could not be decoded"));
        *health.key_refused.lock() = None;
        assert_eq!(health.key(), Ok(()));
    }
}
