//! What an effect is to those who carry it out: what it creates content for, of which kind it is, how it is called, and
//! what it does to a pull request that was read before.

use super::{CheckRunWrite, Effect};
use crate::github::{ObservedSurface, budget::Need};
use loopgate_core::{
    gate::Reviewer,
    observed::{OwnCheck, PullRequest},
    policy::DispatchFixer,
    state::Repeatable,
};

/// What an effect creates content for; `None` where it creates none.
pub(super) fn need(surface: &ObservedSurface, effect: &Effect) -> Option<Need> {
    match effect {
        Effect::CreateCheckRun(write) => Some(need_of_run(surface, write)),
        Effect::CreateStatusComment { .. } => Some(Need::Status),
        Effect::PostComment { .. } | Effect::AskFixer { .. } => Some(Need::Comment),
        Effect::CreateLabel { .. } | Effect::AddLabels(_) | Effect::RequestReviewer(_) => Some(Need::Mark),
        Effect::React { .. } => Some(Need::Reaction),
        _ => None,
    }
}

/// The kinds of effects that may have to wait.
pub(super) const KINDS: [&str; 5] = ["check_run", "comment", "label", "review_request", "reaction"];

/// Which of them an effect is.
pub(super) const fn kind(effect: &Effect) -> &'static str {
    match effect {
        Effect::CreateCheckRun(_) | Effect::UpdateCheckRun { .. } | Effect::CancelCheckRun(_) => KINDS[0],
        Effect::CreateLabel { .. } | Effect::AddLabels(_) | Effect::RemoveLabel(_) => KINDS[2],
        Effect::RequestReviewer(_) | Effect::WithdrawReviewer(_) => KINDS[3],
        Effect::React { .. } | Effect::TakeBackReaction { .. } => KINDS[4],
        _ => KINDS[1],
    }
}

/// The path of the post of ours that an effect changes, below the repository's.
pub(super) fn changed_post(effect: &Effect) -> Option<String> {
    match effect {
        Effect::UpdateComment { comment, .. } => Some(format!("issues/comments/{comment}")),
        Effect::UpdateCheckRun { id, .. } => Some(format!("check-runs/{id}")),
        _ => None,
    }
}

pub(super) fn need_of_run(surface: &ObservedSurface, write: &CheckRunWrite) -> Need {
    // The verdict itself first; what the gates wait for is next.
    if write.name == OwnCheck::Verify.name(&surface.pull_request.base.scope) { Need::Verify } else { Need::Verdict }
}

/// The effect that was due, in the words of the problem that people read.
pub(super) fn describe(effect: &Effect) -> String {
    let name = |reviewer: &Reviewer| match reviewer {
        Reviewer::User(login) => login.to_string(),
        Reviewer::Team(team) => team.to_string(),
    };
    match effect {
        Effect::CreateCheckRun(write) | Effect::UpdateCheckRun { write, .. } => {
            format!("write the check run {}", write.name)
        }
        Effect::CancelCheckRun(_) => "cancel a check run of what was left".to_owned(),
        Effect::CreateStatusComment { .. } | Effect::UpdateComment { .. } => "write a comment of ours".to_owned(),
        Effect::DeleteComment(_) => "delete a second status comment".to_owned(),
        Effect::CreateLabel { name, .. } => format!("create the label {name}"),
        Effect::AddLabels(names) => format!("add the labels {}", names.join(", ")),
        Effect::RemoveLabel(name) => format!("remove the label {name}"),
        Effect::RequestReviewer(reviewer) => format!("request a review by {}", name(reviewer)),
        Effect::WithdrawReviewer(reviewer) => format!("withdraw the review request to {}", name(reviewer)),
        Effect::PostComment { key, .. } => format!("post the comment {key}"),
        Effect::AskFixer { dispatch, .. } => match &dispatch.to {
            DispatchFixer::Repository { event_type } => format!("send the event {event_type} to the fixer"),
            DispatchFixer::Workflow { file } => format!("start the fixer's workflow {file}"),
        },
        Effect::React { .. } => "react to a comment".to_owned(),
        Effect::TakeBackReaction { .. } => "take a reaction back".to_owned(),
        Effect::Announce { channel, .. } => format!("call for a human by {}", channel.as_str()),
        Effect::DeleteBranch(merged) => format!("delete the branch {}", merged.name),
        Effect::Rerun(ask) => match ask.what {
            Repeatable::WorkflowRun { id, .. } => format!("run workflow run {id} again"),
            Repeatable::Job { id } => format!("run job {id} again"),
            Repeatable::CheckRun { id, .. } => format!("ask for check run {id} again"),
        },
        Effect::ApproveRun(run) => format!("let workflow run {run} run"),
    }
}

/// Does to what was read what an effect did.
pub(super) fn mark(effect: &Effect, pull_request: &mut PullRequest) {
    let PullRequest { labels, requested_users: users, requested_teams: teams, .. } = pull_request;
    match effect {
        Effect::AddLabels(names) => labels.extend(names.iter().cloned()),
        Effect::RemoveLabel(name) => labels.retain(|label| label != name),
        Effect::RequestReviewer(Reviewer::User(login)) => users.extend([login.clone()]),
        Effect::RequestReviewer(Reviewer::Team(team)) => teams.extend([team.clone()]),
        Effect::WithdrawReviewer(Reviewer::User(login)) => users.retain(|it| it != login),
        Effect::WithdrawReviewer(Reviewer::Team(team)) => teams.retain(|it| it != team),
        _ => {}
    }
}
