//! How disputed failures were settled. Another run with the same failure shows it.

use serde::{Deserialize, Serialize};

use crate::ids::{FailureId, Login, PrNumber, Timestamp};

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
