//! What a look-up found, as lines and states keep it: the cards that were shown, whether their fixes were followed,
//! whether the errors were gone after them, and how people settled disputes.

use serde::{Deserialize, Serialize};

use crate::ids::{FailureId, Fingerprint, Login, PrNumber, Sha, Timestamp};

/// How like a card is to a failure, the surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum Tier {
    /// The card has the failure's fingerprint.
    SameError,
    /// The card has the failure's test, and its message but for values.
    SameTest,
}

impl From<Tier> for u8 {
    fn from(tier: Tier) -> Self {
        if tier == Tier::SameError { 1 } else { 2 }
    }
}

impl TryFrom<u8> for Tier {
    type Error = &'static str;
    fn try_from(number: u8) -> Result<Self, &'static str> {
        [Self::SameError, Self::SameTest]
            .into_iter()
            .find(|tier| u8::from(*tier) == number)
            .ok_or("no such tier")
    }
}

/// What was found for one failure, and the result of the next attempt. Texts come from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryMatch {
    pub fingerprint: Fingerprint,
    /// The card that fits; none where the error was only seen.
    pub card: Option<FailureId>,
    pub tier: Option<Tier>,
    pub outcome: MatchOutcome,
    /// How often the error was seen before.
    pub seen: u32,
    pub last_pull_request: Option<PrNumber>,
    /// Whether the next change was made where the card shows; none until there is one, or if that is not known.
    pub followed: Option<bool>,
    /// Whether the error was gone in the next counted attempt.
    pub went_green: Option<bool>,
    /// What is shown of the card, as long as its attempt is the newest.
    #[serde(rename = "told")]
    pub fix: Option<ShownFix>,
    /// Who was right when another run disputed it.
    pub settled: Option<SettledDispute>,
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
pub struct ShownFix {
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
    pub fn shown(&self) -> Option<(&ShownFix, Tier, FailureId)> {
        let shown = (self.fix.as_ref()?, self.tier?, self.card?);
        (self.outcome == MatchOutcome::Shown).then_some(shown)
    }
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
        self.add(Self {
            retries: 1,
            gone: u32::from(gone),
        });
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
pub struct SettledDispute {
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
    /// The word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Code => "code",
            Self::Neither(_) => "neither",
        }
    }
}
