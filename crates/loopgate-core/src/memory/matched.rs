//! What a look-up found for a failure of an attempt, as the state keeps it; whether the fix that it shows was followed,
//! and whether the error was gone after it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Card, Tier, line::added};
use crate::{
    ids::{FailureId, Fingerprint, Login, PrNumber, Sha, Timestamp},
    observed::{ChangedFile, Patch},
    text,
};

/// Lines from a card's place within which a change follows it.
const NEAR: u32 = 20;

/// What was found for one failure, and the result of the next attempt. Texts come from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchOutcome {
    Shown,
    /// Its place is not there any more: it is no advice.
    Stale,
    /// The error was seen before, and nothing is known to have mended it.
    #[default]
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
    pub fn of(card: &Card, line: Option<u32>) -> Option<Self> {
        let hunk = card.fix.hunks.first()?;
        Some(Self {
            pull_request: card.fix_pull_request,
            commit: card.fix.commit,
            description: text::start(&card.fix.description, 200),
            diff_summary: text::start(&card.fix.diff_summary, 40),
            path: hunk.path.clone(),
            line,
            hunk: text::whole_lines(hunk.text.lines().map(|line| text::start(line, 200)), 801),
            cause: text::start(&card.cause, 300),
            failed_before: card.tried_and_failed.iter().take(3).map(|tried| text::start(tried, 200)).collect(),
        })
    }
}

/// Whether a change was made where a card says: within 20 lines of its place, or by adding its hunk. None where a patch
/// of that file is not known.
pub fn followed(told: &ToldFix, files: &[ChangedFile]) -> Option<bool> {
    let line = told.line?;
    let last = line.saturating_add(u32::try_from(added(&told.hunk).count()).unwrap_or(u32::MAX)).saturating_sub(1);
    let near = |at: u32| at.saturating_add(NEAR) >= line && at <= last.saturating_add(NEAR);
    let of_path = files.iter().filter(|file| file.paths().any(|path| path == told.path));
    let of_path: Option<Vec<Patch<'_>>> = of_path.map(ChangedFile::read_patch).collect();
    let is_near = of_path.iter().flatten().flat_map(Patch::lines).any(|line| line.is_changed() && near(line.new));
    let patches: Vec<Patch<'_>> = files.iter().filter_map(ChangedFile::read_patch).collect();
    let brought: BTreeSet<&str> = patches.iter().flat_map(Patch::added).map(|line| line.text.trim()).collect();
    let adds = added(&told.hunk).next().is_some() && added(&told.hunk).all(|line| brought.contains(line));
    (of_path.is_some() || adds).then_some(is_near || adds)
}

/// What came after cards that were shown, beside what comes without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offers {
    pub shown: Rate,
    /// Of the shown ones those that the next change followed.
    pub followed: Rate,
    /// Errors of all failing attempts that were followed by another attempt: the base rate.
    pub all: Rate,
}

/// How often an error was gone in the next counted attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    pub retries: u32,
    pub gone: u32,
}

impl Rate {
    pub(crate) fn add(&mut self, other: Self) {
        self.retries = self.retries.saturating_add(other.retries);
        self.gone = self.gone.saturating_add(other.gone);
    }

    pub(crate) fn count(&mut self, gone: bool) {
        self.add(Self { retries: 1, gone: u32::from(gone) });
    }

    /// The share, where there is any.
    pub fn share(self) -> Option<f64> {
        (self.retries > 0).then(|| f64::from(self.gone) / f64::from(self.retries))
    }
}

impl Offers {
    pub(crate) fn count(&mut self, found: &MemoryMatch) {
        if let (MatchOutcome::Shown, Some(gone)) = (found.outcome, found.went_green) {
            self.shown.count(gone);
            if found.followed == Some(true) {
                self.followed.count(gone);
            }
        }
    }
}

/// How a person settled a dispute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub failure: FailureId,
    pub outcome: Settlement,
    pub by: Login,
    pub at: Timestamp,
    /// The run of the dispute, whose own state shows it.
    pub run_id: String,
    pub pull_request: Option<PrNumber>,
}

/// Who is right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// The loop goes on, and the failure is the author's to mend.
    Test,
    /// What the pull request does to the test, as it stands, is meant.
    Code,
    /// What should happen instead, at most 500 characters.
    Neither(String),
}

impl Settlement {
    /// The word that says so.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Code => "code",
            Self::Neither(_) => "neither",
        }
    }
}
