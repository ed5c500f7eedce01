//! Makes a pull request look as it should: the difference between what was observed and what is wished, as data, and
//! the one place that carries it out.
//!
//! Every effect is idempotent, or is looked up before it is made. So after a crash the next reconcile observes what is
//! there and plans the rest. Two writers at once can both find no status comment and both write one; the next reconcile
//! keeps the older and deletes the other. Two writers can make one post only before the state of either was saved, and
//! the state ref lets one of them save.

mod branch;
mod check_run;
mod effect;
mod execute;
mod plan;

use crate::{
    channels::Message,
    github::observe::LeftCheckRun,
    render::{CheckAnnotation, CheckRunText, Dispatch},
};
use loopgate_core::{
    CheckRunId, CommentId, WorkflowRunId,
    attempts::rerun::RerunRequest,
    deciding::{CheckRunPlan, MergedBranch},
    gate::{Reacted, ReactionKind, Reviewer},
    policy::Channel,
};

pub(in crate::github) use check_run::{Digest, is_signed};
pub use execute::{Executed, Executor, Problem};
pub use plan::plan;

/// One change to make.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A check run on the head, complete with its text and annotations.
    CreateCheckRun(CheckRunWrite),
    UpdateCheckRun {
        id: CheckRunId,
        write: CheckRunWrite,
    },
    /// A check run whose result no longer holds.
    CancelCheckRun(LeftCheckRun),
    CreateStatusComment {
        body: String,
    },
    UpdateComment {
        comment: CommentId,
        body: String,
    },
    DeleteComment(CommentId),
    /// Colour and description, where the repository does not have it yet.
    CreateLabel {
        name: String,
        color: String,
        description: String,
    },
    AddLabels(Vec<String>),
    RemoveLabel(String),
    RequestReviewer(Reviewer),
    WithdrawReviewer(Reviewer),
    PostComment {
        key: String,
        body: String,
    },
    /// The comment that announces the fix, then the workflow it names: without its marker nothing is started.
    AskFixer {
        key: String,
        body: String,
        dispatch: Dispatch,
    },
    React {
        to: Reacted,
        kind: ReactionKind,
        presence: Presence,
    },
    /// Our reaction goes, if it is there.
    TakeBackReaction {
        to: Reacted,
        kind: ReactionKind,
    },
    /// A call for a human on a channel beside the pull request. The key is that of the post.
    Announce {
        channel: Channel,
        key: String,
        message: Message,
    },
    /// A workflow run, a job or somebody's check run is to run again.
    Rerun(RerunRequest),
    /// A run that GitHub holds back may run.
    ApproveRun(WorkflowRunId),
    /// The head branch of a merged pull request, if nothing uses it any more.
    DeleteBranch(MergedBranch),
}

/// Whether somebody has given a comment the same reaction already; it may have been us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Absent,
    PerhapsOurs,
}

/// A check run as it should be.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckRunWrite {
    pub name: String,
    pub state: CheckRunPlan,
    pub text: CheckRunText,
    /// Those to send: none when the run shows the same ones already.
    pub annotations: Vec<CheckAnnotation>,
    /// Kept in the check run's `external_id`: what it shows, to be compared with what it should show.
    pub digest: String,
}
