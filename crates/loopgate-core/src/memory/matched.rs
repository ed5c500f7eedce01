//! What a look-up found for a failure of an attempt, as the state keeps it.

use serde::{Deserialize, Serialize};

use super::{Settled, Tier};
use crate::{
    ids::{FailureId, Fingerprint, PrNumber, Sha},
    text,
};

/// What was found for one failure, and the result of the next attempt. Texts come from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryMatch {
    pub fingerprint: Fingerprint,
    /// The card that fits; none where the error was only seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<FailureId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    pub outcome: MatchOutcome,
    /// How often the error was seen before.
    #[serde(default)]
    pub seen: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_pull_request: Option<PrNumber>,
    /// Whether the next change was made where the card says; none until there is one, or if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<bool>,
    /// Whether the error was gone in the next counted attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub went_green: Option<bool>,
    /// What is shown of the card, as long as its attempt is the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<ToldFix>,
    /// Who was right when another run disputed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// What was made of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchOutcome {
    Shown,
    /// Its place is not there any more: it is no advice.
    Stale,
    /// The error was seen before, and nothing is known to have mended it.
    Seen,
    /// The error was seen before, and a person decided that it stays.
    WontFix,
}

/// What is shown of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldFix {
    pub pull_request: Option<PrNumber>,
    pub commit: Sha,
    pub description: String,
    pub diff_summary: String,
    pub path: String,
    /// Where its lines were found; `None` if the file was not read.
    pub line: Option<u32>,
    /// At most 800 bytes.
    pub hunk: String,
    pub cause: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_before: Vec<String>,
}

impl MemoryMatch {
    /// The card that is shown, and how like it is.
    pub fn shown(&self) -> Option<(&ToldFix, Tier, FailureId)> {
        let shown = (self.told.as_ref()?, self.tier?, self.card?);
        (self.outcome == MatchOutcome::Shown).then_some(shown)
    }
}

impl ToldFix {
    /// What is shown of a card whose place was found at `line`.
    pub fn of(card: &super::Card, line: Option<u32>) -> Option<Self> {
        let hunk = card.fix.hunks.first()?;
        let mut text = String::new();
        for line in hunk.text.lines().map(|line| text::start(line, 200)) {
            if text.len() + line.len() >= 800 {
                break;
            }
            text.push_str(&line);
            text.push('\n');
        }
        Some(Self {
            pull_request: card.fix_pull_request,
            commit: card.fix.commit,
            description: text::start(&card.fix.description, 200),
            diff_summary: text::start(&card.fix.diff_summary, 40),
            path: hunk.path.clone(),
            line,
            hunk: text,
            cause: text::start(&card.cause, 300),
            failed_before: card.tried_and_failed.iter().take(3).map(|tried| text::start(tried, 200)).collect(),
        })
    }
}
