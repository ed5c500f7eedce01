//! What a packet is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::entry::PastFailure;
use crate::{
    Fingerprint,
    evidence::{CheckEvidence, Comparison, TestFramework},
    failure::read::{Changes, text},
};

/// A failing check and what is known of how it is run.
#[derive(Clone, Copy, Debug)]
pub struct FailingCheck<'a> {
    pub evidence: &'a CheckEvidence,
    pub framework: Option<TestFramework>,
    pub command: Option<&'a str>,
    /// Where it runs, relative to the top of the repository; none for the top.
    pub directory: Option<&'a str>,
}

/// What a packet is made of.
#[derive(Clone, Debug)]
pub struct PacketInput<'a> {
    pub attempt: u32,
    pub max_attempts: u32,
    pub checks: &'a [FailingCheck<'a>],
    pub changes: &'a Changes,
    pub comparison: Option<&'a Comparison>,
    pub since_last: Option<SinceLast>,
    pub tried: Vec<Tried>,
    pub past: &'a BTreeMap<Fingerprint, PastFailure>,
    pub full_text: Option<String>,
}

/// What changed since the last attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinceLast {
    /// `+5/-2`
    pub diff_summary: String,
    pub files_modified: Vec<String>,
}

/// A fix that an earlier attempt tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    pub attempt: u32,
    pub description: String,
    /// How that attempt ended: `same error`, `other tests broke`.
    pub outcome: String,
}

impl SinceLast {
    pub(super) fn bounded(&self) -> Self {
        Self {
            diff_summary: text::one_line(&self.diff_summary, 40),
            files_modified: self.files_modified.iter().take(20).map(|file| text::one_line(file, 120)).collect(),
        }
    }
}

impl Tried {
    pub(super) fn bounded(&self) -> Self {
        Self {
            attempt: self.attempt,
            description: text::one_line(&self.description, 240),
            outcome: text::one_line(&self.outcome, 120),
        }
    }
}
