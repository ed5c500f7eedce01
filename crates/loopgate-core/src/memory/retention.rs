//! How long what is remembered stays, and in which part of the memory it stands; what is never written there: secrets,
//! e-mail addresses, home directories.

use std::{borrow::Cow, fmt, str::FromStr};

use chrono::{Days, NaiveDate, NaiveTime, TimeDelta, Weekday};
use serde::Serialize;
use serde_json::Value;

use crate::{
    ids::{Malformed, Timestamp},
    policy::MemoryPolicy,
    untrusted::without_secrets,
};

/// An ISO week by its Monday, written `2026-W47`: the lines of a week are one ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Week(NaiveDate);

impl Week {
    /// The week of a moment, in UTC.
    pub fn of(at: Timestamp) -> Self {
        let day = at.date_naive();
        Self(day.week(Weekday::Mon).checked_first_day().unwrap_or(day))
    }

    /// The week before it.
    pub fn before(self) -> Option<Self> {
        Some(Self(self.0.checked_sub_days(Days::new(7))?))
    }
}

impl fmt::Display for Week {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.format("%G-W%V"))
    }
}

impl FromStr for Week {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let monday = NaiveDate::parse_from_str(&format!("{text}-1"), "%G-W%V-%u")
            .ok()
            .filter(|_| text.len() == 8);
        monday
            .map(Self)
            .ok_or_else(|| Malformed::new(text, "an ISO week, such as 2026-W47"))
    }
}

serde_as_text!(Week);

words! {
    /// A folder of a week: what stands in it shows how long it stays.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    pub enum Folder {
        Failures = "failures",
        /// Runs that taught a card.
        Taught = "taught",
        /// Runs in which a human was called.
        Escalated = "escalated",
    }
}

/// How long lines stay, from the days of `memory.retention_days`: what taught twice as long, what was escalated three
/// times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    pub days: u32,
}

impl From<&MemoryPolicy> for Retention {
    fn from(policy: &MemoryPolicy) -> Self {
        Self {
            days: policy.retention_days,
        }
    }
}

impl Retention {
    /// How long a line of a folder stays.
    pub fn of(self, folder: Folder) -> TimeDelta {
        let times = match folder {
            Folder::Failures => 1,
            Folder::Taught => 2,
            Folder::Escalated => 3,
        };
        TimeDelta::days(i64::from(self.days) * times)
    }

    /// Whether all ordinary lines of a week are old enough to go, and the week's ref with them.
    pub fn is_over(self, week: Week, now: Timestamp) -> bool {
        let next = week
            .0
            .checked_add_days(Days::new(7))
            .map(|monday| monday.and_time(NaiveTime::MIN).and_utc());
        next.is_some_and(|next| next <= now - self.of(Folder::Failures))
    }

    /// Whether what was seen at a moment is young enough for its folder.
    pub fn keeps(self, folder: Folder, seen_at: Timestamp, now: Timestamp) -> bool {
        seen_at > now - self.of(folder)
    }
}

/// The text without secrets, e-mail addresses and home directories.
///
/// ```
/// use loopgate_core::memory::redact;
///
/// assert_eq!(redact("password=hunter2hunter2 at /home/ann/a.rs"), "password=[secret] at ~/a.rs");
/// ```
pub fn redact(text: &str) -> Cow<'_, str> {
    let forms = [
        (
            pattern!(
                r"\b[\w.%+-]+(?::[^\s/@]+)?@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b"
            ),
            "[address]",
        ),
        (
            pattern!(r#"(?i)(?:/home/|/users/|\b[a-z]:[\\/]+users[\\/]+)[^/\\\s:"'<>|]+|/root\b"#),
            "~",
        ),
    ];
    let mut clean = without_secrets(text);
    for (form, instead) in forms {
        if let Cow::Owned(changed) = form.replace_all(&clean, instead) {
            clean = Cow::Owned(changed);
        }
    }
    clean
}

/// Redacts every text of a document; its keys are ours.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(fields) => fields.values_mut().for_each(redact_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
