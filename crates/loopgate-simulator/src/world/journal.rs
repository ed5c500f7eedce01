//! What a person who watches would see happen, in order. The demo tells its story from it.

use serde_json::Value;

use super::RepoId;
use loopgate_core::{
    CheckRunId, CommentId, PrNumber, ReviewId, Sha, Timestamp, UserId, WorkflowRunId,
};

/// One visible happening.
#[derive(Clone, Debug)]
pub struct Happening {
    pub at: Timestamp,
    pub actor: UserId,
    pub repo: RepoId,
    /// None for what belongs to no pull request alone: refs, check runs of a commit.
    pub number: Option<PrNumber>,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Opened,
    Closed,
    Reopened,
    Merged {
        commit: Sha,
    },
    Edited,
    Retargeted {
        from: String,
        to: String,
    },
    Drafted,
    MadeReady,
    Pushed {
        before: Sha,
        after: Sha,
        force: Force,
    },
    Assigned(UserId),
    Unassigned(UserId),
    Labeled(String),
    Unlabeled(String),
    ReviewRequested(String),
    ReviewRequestRemoved(String),
    Reviewed(ReviewId),
    ReviewDismissed(ReviewId),
    Commented(CommentId),
    CommentEdited(CommentId),
    CommentDeleted(CommentId),
    Reacted {
        comment: CommentId,
        content: String,
    },
    CheckRun {
        id: CheckRunId,
        sha: Sha,
        name: String,
        state: String,
    },
    Status {
        sha: Sha,
        context: String,
        state: String,
    },
    /// A ref outside branches and tags moved, for example `refs/loopgate/pr/1`.
    HiddenRef {
        name: String,
        sha: Option<Sha>,
    },
    Workflow {
        id: WorkflowRunId,
        sha: Sha,
        name: String,
        state: String,
    },
    /// Somebody asked for a `repository_dispatch` or `workflow_dispatch`.
    Dispatched {
        event: String,
        payload: Value,
    },
}

/// Whether a push rewrote history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    FastForward,
    Forced,
}
