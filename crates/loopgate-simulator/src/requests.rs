//! The log of every API request, and what each caller has left.

use std::collections::HashMap;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

use loopgate_core::Timestamp;

/// One request that was answered, or whose connection was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    pub at: Timestamp,
    pub method: Method,
    pub path: String,
    pub query: Option<String>,
    /// None if no answer was given.
    pub status: Option<StatusCode>,
    /// Whether it carried `If-None-Match`.
    pub conditional: Conditional,
    /// `app/loopgate`, `loopgate[bot]`, `alice`, or `anonymous`.
    pub actor: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditional {
    No,
    Yes,
}

impl RequestRecord {
    pub fn is_write(&self) -> bool {
        self.method != Method::GET && self.method != Method::HEAD
    }

    pub fn not_modified(&self) -> bool {
        self.status == Some(StatusCode::NOT_MODIFIED)
    }
}

/// All requests so far.
#[derive(Clone, Debug, Default)]
pub struct RequestLog(pub Vec<RequestRecord>);

/// Totals over a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    pub total: usize,
    /// Everything but GET and HEAD.
    pub writes: usize,
    pub conditional: usize,
    /// Answered 304, and so free.
    pub not_modified: usize,
    /// Answered 4xx or 5xx, or not at all.
    pub failed: usize,
}

impl RequestLog {
    pub fn counts(&self) -> RequestCounts {
        let count = |wanted: &dyn Fn(&RequestRecord) -> bool| self.0.iter().filter(|record| wanted(record)).count();
        RequestCounts {
            total: self.0.len(),
            writes: count(&RequestRecord::is_write),
            conditional: count(&|record| record.conditional == Conditional::Yes),
            not_modified: count(&RequestRecord::not_modified),
            failed: count(&|record| record.status.is_none_or(|status| status.as_u16() >= 400)),
        }
    }
}

/// Requests left to each caller in the running hour.
#[derive(Debug)]
pub struct RateLimits {
    pub per_hour: u32,
    used: HashMap<String, (u32, Timestamp)>,
}

impl RateLimits {
    pub fn new(per_hour: u32) -> Self {
        Self { per_hour, used: HashMap::new() }
    }

    /// How many were used of the window, and when it ends.
    pub fn window(&mut self, caller: &str, now: Timestamp) -> (u32, Timestamp) {
        let fresh = (0, now + chrono::TimeDelta::hours(1));
        let window = self.used.entry(caller.to_owned()).or_insert(fresh);
        if now >= window.1 {
            *window = fresh;
        }
        *window
    }

    /// Counts one request. Those answered 304 are free
    /// (docs.github.com, Best practices for using the REST API: Use conditional requests).
    pub fn spend(&mut self, caller: &str) {
        if let Some((used, _)) = self.used.get_mut(caller) {
            *used += 1;
        }
    }
}

/// Answers that were given, by caller and URL, for [`Harm::Stale`](super::Harm::Stale).
pub type Remembered = HashMap<(String, String), (HeaderMap, Bytes)>;
