//! What is remembered of gates.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{CommentId, Login, ReviewId, Timestamp, UserId};

words! {
    /// The status of a gate, as the state keeps it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum GateStatus {
        /// Triggered, not asked for yet (`request: after_checks`).
        #[default]
        Pending = "pending",
        NotApplicable = "not_applicable",
        Requested = "requested",
        Approved = "approved",
        Rejected = "rejected",
    }
}

/// A rejection that stands until the same person approves or revokes, or a maintainer dismisses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Objection {
    pub by: Login,
    pub by_id: UserId,
    pub at: Timestamp,
    pub source: WordSource,
    pub words: String,
    pub url: String,
}

/// An approver took their approval back: what they approved before that stays taken back, whatever becomes of the
/// comment that says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revocation {
    pub by_id: UserId,
    pub at: Timestamp,
    pub source: WordSource,
    /// There was something to take back.
    pub took_back: bool,
}

/// What approvers ticked of a gate's checklist. What others tick counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ticks {
    /// The request that holds it.
    pub comment: CommentId,
    pub boxes: BTreeSet<String>,
}

/// A time in which the pull request was closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClosedPeriod {
    pub from: Timestamp,
    /// None while it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
}

/// Where a word was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WordSource {
    Comment(CommentId),
    Review(ReviewId),
    /// On a line of the diff; these ids are counted apart from those of comments.
    Inline(CommentId),
}
