//! Review threads of the AI reviewers that the configuration names.

use crate::{
    ids::{Login, Sha},
    observed::Account,
};

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
