//! Issues and pull requests, and what people write on them.

use super::{RepoId, TeamId};
use loopgate_core::{CommentId, PrNumber, ReviewId, Sha, Timestamp, UserId};

/// An issue; a pull request is one with a [`Pull`].
#[derive(Clone, Debug)]
pub struct Issue {
    pub id: u64,
    pub number: PrNumber,
    pub title: String,
    pub body: Option<String>,
    pub author: UserId,
    /// When it was closed or merged; none while it is open.
    pub closed: Option<Closed>,
    /// Names of labels as the repository spells them.
    pub labels: Vec<String>,
    pub assignees: Vec<UserId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub pull: Option<Pull>,
}

impl Issue {
    pub const fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    pub fn has_label(&self, name: &str) -> bool {
        self.labels
            .iter()
            .any(|label| label.to_lowercase() == name.to_lowercase())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    pub by: UserId,
    pub at: Timestamp,
}

/// The part of an issue that makes it a pull request.
#[derive(Clone, Debug)]
pub struct Pull {
    pub id: u64,
    pub head: Head,
    pub base_branch: String,
    /// The base branch's head when the pull request was last pushed to or retargeted.
    pub base_sha: Sha,
    pub readiness: Readiness,
    pub merge: Option<Merged>,
    pub requested_reviewers: Vec<UserId>,
    pub requested_teams: Vec<TeamId>,
    pub reviews: Vec<Review>,
    pub review_comments: Vec<ReviewComment>,
    pub standing: MergeState,
    pub is_queued: bool,
    /// The last time that it left the merge queue.
    pub removal: Option<QueueRemoval>,
}

/// How a pull request left the merge queue.
#[derive(Clone, Debug)]
pub struct QueueRemoval {
    pub at: Timestamp,
    pub by: UserId,
    /// As `pull_request.dequeued` gives it.
    pub reason: String,
}

/// What follows from head and base; computed again whenever one of them moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeState {
    pub commits: usize,
    pub changed_files: usize,
    pub additions: usize,
    pub deletions: usize,
    /// The merge of head into base that GitHub keeps at `refs/pull/N/merge`; none if the two conflict.
    pub test_merge: Option<Sha>,
}

#[derive(Clone, Debug)]
pub struct Head {
    /// None once the fork was deleted.
    pub repo: Option<RepoId>,
    pub owner: UserId,
    pub branch: String,
    pub sha: Sha,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Draft,
    Ready,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    pub by: UserId,
    pub at: Timestamp,
    pub commit: Sha,
}

#[derive(Clone, Debug)]
pub struct Review {
    pub id: ReviewId,
    pub author: UserId,
    pub state: ReviewState,
    pub body: String,
    /// The commit that was looked at; none after it was garbage-collected.
    pub commit: Option<Sha>,
    /// None while it is pending.
    pub submitted_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    Pending,
    Commented,
    Approved,
    ChangesRequested,
    Dismissed,
}

impl ReviewState {
    /// As the REST API writes it; webhooks write it in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Commented => "COMMENTED",
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

/// What a submitted review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewEvent {
    Approve,
    RequestChanges,
    Comment,
}

impl ReviewEvent {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "APPROVE" => Some(Self::Approve),
            "REQUEST_CHANGES" => Some(Self::RequestChanges),
            "COMMENT" => Some(Self::Comment),
            _ => None,
        }
    }

    pub const fn state(self) -> ReviewState {
        match self {
            Self::Approve => ReviewState::Approved,
            Self::RequestChanges => ReviewState::ChangesRequested,
            Self::Comment => ReviewState::Commented,
        }
    }
}

/// An inline comment on the diff.
#[derive(Clone, Debug)]
pub struct ReviewComment {
    pub id: CommentId,
    pub review: ReviewId,
    pub author: UserId,
    pub body: String,
    pub path: String,
    /// Line of the new file.
    pub line: u64,
    pub commit: Sha,
    pub in_reply_to: Option<CommentId>,
    /// Who resolved the thread that it begins.
    pub resolved_by: Option<UserId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// A comment in the conversation.
#[derive(Clone, Debug)]
pub struct Comment {
    pub id: CommentId,
    pub issue: PrNumber,
    pub author: UserId,
    pub body: String,
    pub created_at: Timestamp,
    /// Second granularity, so an edit within the same second cannot be told from none.
    pub updated_at: Timestamp,
    /// GitHub's reason (`off-topic`, `spam`, …) if a moderator hid it.
    pub hidden: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Reaction {
    pub id: u64,
    pub comment: CommentId,
    pub author: UserId,
    pub content: ReactionContent,
    pub created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReactionContent {
    PlusOne,
    MinusOne,
    Laugh,
    Confused,
    Heart,
    Hooray,
    Rocket,
    Eyes,
}

impl ReactionContent {
    pub const ALL: [Self; 8] = [
        Self::PlusOne,
        Self::MinusOne,
        Self::Laugh,
        Self::Confused,
        Self::Heart,
        Self::Hooray,
        Self::Rocket,
        Self::Eyes,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PlusOne => "+1",
            Self::MinusOne => "-1",
            Self::Laugh => "laugh",
            Self::Confused => "confused",
            Self::Heart => "heart",
            Self::Hooray => "hooray",
            Self::Rocket => "rocket",
            Self::Eyes => "eyes",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|content| content.as_str() == text)
    }
}
