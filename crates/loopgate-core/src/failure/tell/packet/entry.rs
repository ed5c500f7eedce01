//! One error in a packet, and the same error of the past.

use serde::{Deserialize, Serialize};

use super::super::feedback::FeedbackItem;
use crate::{
    PrNumber, Sha,
    failure::read::{Excerpt, text},
};

/// What kind of failure an entry is; the order of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    CompileError,
    Regression,
    Failure,
}

impl EntryKind {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::CompileError => "compile error",
            Self::Regression => "regression: passed before",
            Self::Failure => "failure",
        }
    }
}

/// One error and the tests that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub kind: EntryKind,
    #[serde(flatten)]
    pub item: FeedbackItem,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Tests with this error beyond those in `tests`.
    #[serde(default)]
    pub more_tests: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub trace: Excerpt,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similar: Option<PastFailure>,
}

/// The same or a similar failure of the past, from the debug memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastFailure {
    pub times_seen: u32,
    pub last_in: Option<PrNumber>,
    pub fixed_by: Option<Sha>,
    /// What the fix was: `+5/-2 in src/auth.rs: added a null check`.
    pub fix: Option<String>,
}

impl PastFailure {
    pub(super) fn bounded(&self) -> Self {
        Self { fix: self.fix.as_deref().map(|fix| text::one_line(fix, 240)), ..self.clone() }
    }
}
