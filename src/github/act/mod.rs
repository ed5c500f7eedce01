//! Makes a pull request look as it should: the difference between what was observed and what is wished, as data, and
//! the one place that carries it out.
//!
//! Every effect is idempotent, or is looked up before it is made. So after a crash the next reconcile observes what is
//! there and plans the rest. Two writers at once can both find no status comment and both write one; the next reconcile
//! keeps the older and deletes the other. Two writers can make one post only before the state of either was saved, and
//! the state ref lets one of them save.

mod check_run;
mod execute;
mod plan;

use crate::github::{
    client::budget::Need,
    observe::{LeftCheckRun, ObservedSurface},
};
use loopgate_core::{
    CheckRunId, CommentId, WorkflowRunId,
    concerns::{
        attempts::rerun::RerunRequest,
        gates::{Reacted, ReactionKind},
    },
    deciding::{CheckRunPlan, MergedBranch},
    observed::{OwnCheck, PullRequest},
    policy::{Channel, DispatchFixer},
    state::{Repeatable, Reviewer},
};
use loopgate_render::{Announcement, CheckAnnotation, CheckRunText, Dispatch};

pub use execute::{Execution, Executor, Problem};
pub use plan::plan;

/// One change to make.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A check run on the head, complete with its text and annotations.
    CreateCheckRun(CheckRunWrite),
    /// A check run of ours whose text, state or annotations differ.
    UpdateCheckRun {
        id: CheckRunId,
        write: CheckRunWrite,
    },
    /// A check run whose result no longer holds.
    CancelCheckRun(LeftCheckRun),
    /// The sticky comment, where there is none.
    CreateStatusComment { body: String },
    /// A comment of ours whose text differs.
    UpdateComment { comment: CommentId, body: String },
    /// A second status comment.
    DeleteComment(CommentId),
    /// Colour and description, where the repository does not have it yet.
    CreateLabel {
        name: String,
        color: String,
        description: String,
    },
    /// Labels of ours that are not on the pull request.
    AddLabels(Vec<String>),
    /// A label of ours that is to go.
    RemoveLabel(String),
    /// Somebody, or a team, who is asked for a review.
    RequestReviewer(Reviewer),
    /// Takes back the request for a review that is not needed any more.
    WithdrawReviewer(Reviewer),
    /// A comment, then the fixer's workflow that it announces, if there is one: without its marker nothing is started.
    PostComment {
        key: String,
        body: String,
        dispatch: Option<Dispatch>,
    },
    /// A reaction to a comment. If somebody has given the same one already, it may be ours.
    React {
        to: Reacted,
        kind: ReactionKind,
        may_be_ours: bool,
    },
    /// Our reaction goes, if it is there.
    TakeBackReaction { to: Reacted, kind: ReactionKind },
    /// A call for a human on a channel beside the pull request. The key is that of the post.
    Announce {
        channel: Channel,
        key: String,
        announcement: Announcement,
    },
    /// A workflow run, a job or somebody's check run is to run again.
    Rerun(RerunRequest),
    /// A run that GitHub holds back may run.
    ApproveRun(WorkflowRunId),
    /// The head branch of a merged pull request, if nothing uses it any more.
    DeleteBranch(MergedBranch),
}

/// The kinds of effects that may have to wait.
const KINDS: [&str; 5] = [
    "check_run",
    "comment",
    "label",
    "review_request",
    "reaction",
];

impl Effect {
    /// What it creates content for, and which of the [`KINDS`] it is; `None` where it creates none.
    fn need(&self, surface: &ObservedSurface) -> Option<(Need, &'static str)> {
        match self {
            Self::CreateCheckRun(write) => Some((write.need(surface), KINDS[0])),
            Self::CreateStatusComment { .. } => Some((Need::Status, KINDS[1])),
            Self::PostComment { .. } => Some((Need::Comment, KINDS[1])),
            Self::CreateLabel { .. } | Self::AddLabels(_) => Some((Need::Mark, KINDS[2])),
            Self::RequestReviewer(_) => Some((Need::Mark, KINDS[3])),
            Self::React { .. } => Some((Need::Reaction, KINDS[4])),
            _ => None,
        }
    }

    /// The effect that was due, in the words of the problem that people read.
    fn describe(&self) -> String {
        let name = |reviewer: &Reviewer| match reviewer {
            Reviewer::User(login) => login.to_string(),
            Reviewer::Team(team) => team.to_string(),
        };
        match self {
            Self::CreateCheckRun(write) | Self::UpdateCheckRun { write, .. } => {
                format!("write the check run {}", write.name)
            }
            Self::CancelCheckRun(_) => "cancel a check run of what was left".to_owned(),
            Self::CreateStatusComment { .. } | Self::UpdateComment { .. } => {
                "write a comment of ours".to_owned()
            }
            Self::DeleteComment(_) => "delete a second status comment".to_owned(),
            Self::CreateLabel { name, .. } => format!("create the label {name}"),
            Self::AddLabels(names) => format!("add the labels {}", names.join(", ")),
            Self::RemoveLabel(name) => format!("remove the label {name}"),
            Self::RequestReviewer(reviewer) => format!("request a review by {}", name(reviewer)),
            Self::WithdrawReviewer(reviewer) => {
                format!("withdraw the review request to {}", name(reviewer))
            }
            Self::PostComment { key, dispatch, .. } => {
                match dispatch.as_ref().map(|dispatch| &dispatch.to) {
                    None => format!("post the comment {key}"),
                    Some(DispatchFixer::Repository { event_type }) => {
                        format!("send the event {event_type} to the fixer")
                    }
                    Some(DispatchFixer::Workflow { file }) => {
                        format!("start the fixer's workflow {file}")
                    }
                }
            }
            Self::React { .. } => "react to a comment".to_owned(),
            Self::TakeBackReaction { .. } => "take a reaction back".to_owned(),
            Self::Announce { channel, .. } => format!("call for a human by {}", channel.as_str()),
            Self::DeleteBranch(merged) => format!("delete the branch {}", merged.name),
            Self::Rerun(ask) => match ask.what {
                Repeatable::WorkflowRun { id, .. } => format!("run workflow run {id} again"),
                Repeatable::Job { id } => format!("run job {id} again"),
                Repeatable::CheckRun { id, .. } => format!("ask for check run {id} again"),
            },
            Self::ApproveRun(run) => format!("let workflow run {run} run"),
        }
    }

    /// Does to what was read what it did.
    fn mark(&self, pull_request: &mut PullRequest) {
        let PullRequest {
            labels,
            requested_users: users,
            requested_teams: teams,
            ..
        } = pull_request;
        match self {
            Self::AddLabels(names) => labels.extend(names.iter().cloned()),
            Self::RemoveLabel(name) => labels.retain(|label| label != name),
            Self::RequestReviewer(Reviewer::User(login)) => users.extend([login.clone()]),
            Self::RequestReviewer(Reviewer::Team(team)) => teams.extend([team.clone()]),
            Self::WithdrawReviewer(Reviewer::User(login)) => users.retain(|it| it != login),
            Self::WithdrawReviewer(Reviewer::Team(team)) => teams.retain(|it| it != team),
            _ => {}
        }
    }
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

impl CheckRunWrite {
    fn need(&self, surface: &ObservedSurface) -> Need {
        // The verdict itself first; what the gates wait for is next.
        if self.name == OwnCheck::Verify.name(&surface.pull_request.base.scope) {
            Need::Verify
        } else {
            Need::Verdict
        }
    }
}
