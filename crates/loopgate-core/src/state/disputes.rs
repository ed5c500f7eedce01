//! Failures of which somebody said that they are not theirs to mend, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ids::{CheckName, FailureId, Login, Sha, Timestamp, UserId},
    memory::Settlement,
    state::WordSource,
};

/// One dispute. It is open until a person settles it, or a push ends what it is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dispute {
    pub failure: FailureId,
    pub kind: DisputeKind,
    /// At most 500 characters.
    pub reason: String,
    pub by: Login,
    pub by_id: UserId,
    pub at: Timestamp,
    pub source: DisputeSource,
    pub check: CheckName,
    pub test: Option<String>,
    /// The test's file, as it was reported.
    pub file: Option<String>,
    /// The head that failed so.
    pub head_sha: Sha,
    /// Digest of what the pull request changes in that file; empty where it leaves it alone.
    #[serde(default)]
    pub test_diff: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<DisputeEnd>,
}

impl Dispute {
    pub const fn is_open(&self) -> bool {
        self.end.is_none()
    }

    /// Whether a person said that the failure is the author's to mend.
    pub const fn is_turned_down(&self) -> bool {
        matches!(self.end, Some(DisputeEnd::Settled { outcome: Settlement::Test, .. }))
    }
}

/// Where it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeSource {
    Words(WordSource),
    /// The message of a commit, in its trailer `Loopgate-Dispute`.
    Commit(Sha),
    /// A local loop: its fixer's answer, or the command line.
    LocalLoop,
}

words! {
    /// Why the fixer is not to mend a failure.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum DisputeKind {
        /// The code is right, and the test asks for something else.
        #[default]
        TestWrong = "test_wrong",
        RequirementUnclear = "requirement_unclear",
        /// What is asked for cannot be had.
        Impossible = "impossible",
        /// The change has nothing to do with it.
        NotMine = "not_mine",
        Environment = "environment",
    }
}

/// How a dispute ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisputeEnd {
    Settled {
        outcome: Settlement,
        by: Login,
        by_id: UserId,
        at: Timestamp,
    },
    /// A push mended the failure and left the test as it was.
    Mended {
        head_sha: Sha,
    },
}
