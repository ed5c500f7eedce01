//! The log of every API request, and what each caller has left.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use chrono::TimeDelta;
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
        let count = |wanted: &dyn Fn(&RequestRecord) -> bool| {
            self.0.iter().filter(|record| wanted(record)).count()
        };
        RequestCounts {
            total: self.0.len(),
            writes: count(&RequestRecord::is_write),
            conditional: count(&|record| record.conditional == Conditional::Yes),
            not_modified: count(&RequestRecord::not_modified),
            failed: count(&|record| record.status.is_none_or(|status| status.as_u16() >= 400)),
        }
    }
}

/// The secondary limits of the platform that are kept
/// (docs.github.com, Rate limits for the REST API: About secondary rate limits). None is unless a test says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondaryLimits {
    /// A read costs 1, any other request 5.
    pub points_a_minute: Option<u32>,
    pub creates_a_minute: Option<u32>,
    pub creates_an_hour: Option<u32>,
}

impl SecondaryLimits {
    /// 900 points.
    pub const POINTS: Self = Self {
        points_a_minute: Some(900),
        creates_a_minute: None,
        creates_an_hour: None,
    };
    /// 80 requests that create content a minute, and 500 an hour.
    pub const CREATES: Self = Self {
        points_a_minute: None,
        creates_a_minute: Some(80),
        creates_an_hour: Some(500),
    };
    pub const ALL: Self = Self {
        points_a_minute: Self::POINTS.points_a_minute,
        ..Self::CREATES
    };
}

/// A request as the secondary limits count it.
#[derive(Clone, Copy, Debug)]
struct Cost {
    at: Timestamp,
    points: u32,
    creates: u32,
}

/// Requests left to each caller in the running hour.
#[derive(Debug)]
pub struct RateLimits {
    pub per_hour: u32,
    pub secondary: SecondaryLimits,
    used: HashMap<String, (u32, Timestamp)>,
    costs: HashMap<String, VecDeque<Cost>>,
}

impl RateLimits {
    pub fn new(per_hour: u32) -> Self {
        Self {
            per_hour,
            secondary: SecondaryLimits::default(),
            used: HashMap::new(),
            costs: HashMap::new(),
        }
    }

    /// Counts a request for the secondary limits, if none is broken by it. What creates git objects or reads is no
    /// content.
    pub fn admits(&mut self, caller: &str, method: &Method, path: &str, now: Timestamp) -> bool {
        if self.secondary == SecondaryLimits::default() {
            return true;
        }
        let is_read = *method == Method::GET || path == "/graphql";
        let creates = [
            "/check-runs",
            "/comments",
            "/labels",
            "/reactions",
            "/requested_reviewers",
        ];
        let is_content = *method == Method::POST && creates.iter().any(|end| path.ends_with(end));
        let cost = Cost {
            at: now,
            points: if is_read { 1 } else { 5 },
            creates: u32::from(is_content),
        };
        let costs = self.costs.entry(caller.to_owned()).or_default();
        costs.retain(|cost| cost.at + TimeDelta::hours(1) > now);
        let within = |window: TimeDelta, limit: Option<u32>, of: fn(&Cost) -> u32| {
            let used: u32 = costs
                .iter()
                .rev()
                .take_while(|cost| cost.at + window > now)
                .map(of)
                .sum();
            of(&cost) == 0 || limit.is_none_or(|limit| used + of(&cost) <= limit)
        };
        let (minute, hour) = (TimeDelta::minutes(1), TimeDelta::hours(1));
        let admits = within(minute, self.secondary.points_a_minute, |cost| cost.points)
            && within(minute, self.secondary.creates_a_minute, |cost| cost.creates)
            && within(hour, self.secondary.creates_an_hour, |cost| cost.creates);
        if admits {
            costs.push_back(cost);
        }
        admits
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
