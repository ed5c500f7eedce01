//! Comments and reviews.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{AppId, CommentId, ReviewId, Sha, Timestamp},
    observed::Account,
};

/// An issue comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub id: CommentId,
    pub author: Account,
    /// The App it was written through, if any: such a comment is not a person's own word.
    pub via_app: Option<AppId>,
    pub body: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub visibility: Visibility,
    pub url: String,
}

/// Whether readers of the page see a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    Shown,
    /// Minimised by a moderator.
    Hidden,
}

/// A pull-request review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub id: ReviewId,
    pub author: Account,
    pub verdict: ReviewVerdict,
    pub body: String,
    /// The commit it was given on; none after garbage collection.
    pub commit: Option<Sha>,
    pub submitted_at: Timestamp,
    pub url: String,
}

/// The state of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
    Pending,
}
