//! Comments, reviews, and the review threads of the AI reviewers that the configuration names.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{AppId, CommentId, Login, ReviewId, Sha, Timestamp},
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

/// Characters that are kept of what a thread begins with.
pub const MOST_OF_A_FINDING: usize = 8_000;
/// Characters that are kept of an answer.
pub const MOST_OF_AN_ANSWER: usize = 500;

/// One thread on a line of the diff. All text in it is somebody else's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewThread {
    /// Who began it, by the slug of an App.
    pub app: String,
    pub path: String,
    /// None for a whole file.
    pub line: Option<u32>,
    /// At most [`MOST_OF_A_FINDING`] characters.
    pub finding: String,
    /// The head on which it was begun.
    pub begun_on: Option<Sha>,
    /// The newest word of somebody else than the reviewer, at most [`MOST_OF_AN_ANSWER`] characters.
    pub answer: Option<(Login, String)>,
    pub resolution: Resolution,
    /// The lines it is about were changed since.
    pub is_outdated: bool,
    pub url: String,
}

/// Whether somebody called a thread done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    Open,
    ByReviewer,
    By(Account),
    /// GitHub names no account that resolved it.
    Unknown,
}
