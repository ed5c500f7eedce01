//! The stages every pull request walks, and where it stands.

use serde::{Deserialize, Serialize};

/// The stages of a pull request, in order.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Stage {
    #[default]
    Init,
    Scaffold,
    Implement,
    Test,
    Verify,
    Validate,
    Document,
    Review,
    Ship,
    Complete,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Self; 10] = [
        Self::Init,
        Self::Scaffold,
        Self::Implement,
        Self::Test,
        Self::Verify,
        Self::Validate,
        Self::Document,
        Self::Review,
        Self::Ship,
        Self::Complete,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Init => "INIT",
            Self::Scaffold => "SCAFFOLD",
            Self::Implement => "IMPLEMENT",
            Self::Test => "TEST",
            Self::Verify => "VERIFY",
            Self::Validate => "VALIDATE",
            Self::Document => "DOCUMENT",
            Self::Review => "REVIEW",
            Self::Ship => "SHIP",
            Self::Complete => "COMPLETE",
        }
    }

    /// The stage after this one; COMPLETE is the last.
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }
}

/// How far a stage is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StageStatus {
    #[default]
    Pending,
    InProgress,
    Complete,
    Skipped,
}
