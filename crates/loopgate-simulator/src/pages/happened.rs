//! What happened on a pull request, in a line each.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::world::{
    World,
    journal::{Force, Happening, What},
    repo::Repo,
};
use loopgate_core::{PrNumber, Sha, Timestamp};

#[derive(Serialize)]
pub(super) struct Happened {
    who: String,
    what: String,
    /// Where on the page it is seen; empty: nowhere more than here.
    to: String,
    at: String,
}

pub(super) fn at(time: Timestamp) -> String {
    time.format("%Y-%m-%d %H:%M").to_string()
}

pub(super) fn short(sha: Sha) -> String {
    sha.to_string()[..7].to_owned()
}

/// GitHub's picture for a reaction.
pub(super) fn face(reaction: &str) -> &str {
    match reaction {
        "+1" => "👍",
        "-1" => "👎",
        "confused" => "😕",
        "eyes" => "👀",
        "heart" => "❤️",
        "hooray" => "🎉",
        "rocket" => "🚀",
        "laugh" => "😄",
        other => other,
    }
}

pub(super) fn happened(world: &World, repo: &Repo, happening: &Happening) -> Option<Happened> {
    let subject = |sha: Sha| {
        let message = world
            .objects(repo)
            .commit(sha)
            .map(|commit| commit.message.as_str())
            .unwrap_or_default();
        format!(
            "{} “{}”",
            short(sha),
            message.lines().next().unwrap_or_default()
        )
    };
    let of_comment = |id: &dyn std::fmt::Display| format!("#issuecomment-{id}");
    let (what, to) = match &happening.what {
        What::Opened => (
            "opened this pull request".to_owned(),
            "#description".to_owned(),
        ),
        What::Closed => ("closed this".to_owned(), String::new()),
        What::Reopened => ("reopened this".to_owned(), String::new()),
        What::Merged { commit } => (format!("merged it as {}", short(*commit)), String::new()),
        What::Edited => (
            "edited the title or the description".to_owned(),
            "#description".to_owned(),
        ),
        What::Retargeted { from, to } => (
            format!("changed the base from {from} to {to}"),
            String::new(),
        ),
        What::Drafted => ("made it a draft".to_owned(), String::new()),
        What::MadeReady => ("marked it ready for review".to_owned(), String::new()),
        What::Pushed { after, force, .. } => {
            let how = if *force == Force::Forced {
                "force-pushed"
            } else {
                "pushed"
            };
            (format!("{how} {}", subject(*after)), "#files".to_owned())
        }
        What::Assigned(whom) => (format!("assigned {}", world.login(*whom)), String::new()),
        What::Unassigned(whom) => (format!("unassigned {}", world.login(*whom)), String::new()),
        What::Labeled(label) => (format!("added the label {label}"), "#labels".to_owned()),
        What::Unlabeled(label) => (format!("removed the label {label}"), "#labels".to_owned()),
        What::ReviewRequested(whom) => (
            format!("requested a review from {whom}"),
            "#reviewers".to_owned(),
        ),
        What::ReviewRequestRemoved(whom) => (
            format!("took back the request for a review from {whom}"),
            "#reviewers".to_owned(),
        ),
        What::Reviewed(id) => ("reviewed".to_owned(), format!("#pullrequestreview-{id}")),
        What::ReviewDismissed(_) => ("dismissed a review".to_owned(), String::new()),
        What::Commented(id) => ("commented".to_owned(), of_comment(id)),
        What::CommentEdited(id) => ("edited a comment".to_owned(), of_comment(id)),
        What::CommentDeleted(_) => ("deleted a comment".to_owned(), String::new()),
        What::Reacted { comment, content } => (
            format!("reacted with {} to a comment", face(content)),
            of_comment(comment),
        ),
        What::CheckRun {
            id, name, state, ..
        } => (
            format!("{name}: {}", state.replace('_', " ")),
            format!("#check-{id}"),
        ),
        What::HiddenRef {
            name,
            sha: Some(sha),
        } => (
            format!("saved {} in {name}", subject(*sha)),
            "#saved".to_owned(),
        ),
        What::HiddenRef { .. }
        | What::Status { .. }
        | What::Workflow { .. }
        | What::Dispatched { .. } => return None,
    };
    // Of a check its App is named, not the cause of its run.
    let app = match &happening.what {
        What::CheckRun { id, .. } => repo
            .check_runs
            .get(id)
            .and_then(|run| world.apps.get(&run.app)),
        _ => None,
    };
    let who = app
        .map_or(world.login(happening.actor), |app| &app.name)
        .to_owned();
    Some(Happened {
        who,
        what,
        to,
        at: at(happening.at),
    })
}

/// What happened on a pull request after the first `seen` happenings: of one thing that changed several times, the
/// last.
pub(super) fn since(world: &World, repo: &Repo, number: PrNumber, seen: usize) -> Vec<Happened> {
    let heads: BTreeSet<Sha> = world
        .repo(repo.id)
        .ok()
        .and_then(|repo| repo.issue(number)?.pull.as_ref())
        .map(|pull| pull.head.sha)
        .into_iter()
        .collect();
    let state_ref = format!("refs/loopgate/pr/{number}");
    let mut keys = BTreeSet::new();
    let mut news = Vec::new();
    for happening in world
        .journal
        .iter()
        .skip(seen)
        .filter(|it| it.repo == repo.id)
        .rev()
    {
        let key = match &happening.what {
            What::CheckRun { id, sha, .. } if heads.contains(sha) => Some(format!("check {id}")),
            What::HiddenRef { name, .. } if *name == state_ref => Some("saved".to_owned()),
            What::Commented(id) | What::CommentEdited(id) => Some(format!("comment {id}")),
            What::Labeled(label) | What::Unlabeled(label) => Some(format!("label {label}")),
            _ => None,
        };
        let is_of_this = happening.number == Some(number)
            || matches!(
                happening.what,
                What::CheckRun { .. } | What::HiddenRef { .. }
            ) && key.is_some();
        if is_of_this && key.is_none_or(|key| keys.insert(key)) {
            news.extend(happened(world, repo, happening));
        }
    }
    news.reverse();
    news
}
