//! Issues, comments, labels, reactions.

use serde_json::{Value, json};

use super::{app::app, maybe_time, node_id, people::user, quoted, repo_page, repo_url, time};
use crate::world::{
    World,
    issue::{Comment, Issue, Reaction, ReactionContent},
    journal::{Force, Happening, What},
    repo::{Label, Repo},
};
use loopgate_core::{CommentId, ReviewId};

pub fn label(world: &World, repo: &Repo, label: &Label) -> Value {
    json!({
        "id": label.id, "node_id": node_id("Label", label.id),
        "url": format!("{}/labels/{}", repo_url(world, repo), quoted(&label.name)), "name": label.name,
        "color": label.color, "default": false, "description": label.description,
    })
}

pub(super) fn labels(world: &World, repo: &Repo, names: &[String]) -> Vec<Value> {
    names
        .iter()
        .filter_map(|name| repo.label(name))
        .map(|found| label(world, repo, found))
        .collect()
}

/// `labeled-issue-event`, `unlabeled-issue-event` and `review-dismissed-issue-event`; none for what else happened. `id`
/// counts happenings.
pub fn issue_event(world: &World, repo: &Repo, id: usize, happening: &Happening) -> Option<Value> {
    // Labels that are gone keep their name here.
    let label = |name: &str| {
        let color = repo
            .label(name)
            .map_or("ededed", |label| label.color.as_str());
        json!({ "name": name, "color": color })
    };
    let dismissed = |review: &ReviewId| {
        json!({
            "state": "dismissed", "review_id": review, "dismissal_message": null, "dismissal_commit_id": null,
        })
    };
    let (event, key, about) = match &happening.what {
        What::Labeled(name) => ("labeled", "label", label(name)),
        What::Unlabeled(name) => ("unlabeled", "label", label(name)),
        What::ReviewDismissed(review) => {
            ("review_dismissed", "dismissed_review", dismissed(review))
        }
        What::Pushed {
            force: Force::Forced,
            ..
        } => (
            "head_ref_force_pushed",
            "performed_via_github_app",
            Value::Null,
        ),
        What::Assigned(whom) => ("assigned", "assignee", user(world, *whom)),
        What::Unassigned(whom) => ("unassigned", "assignee", user(world, *whom)),
        _ => return None,
    };
    let mut json_event = json!({
        "id": id, "node_id": node_id("IssueEvent", id), "url": format!("{}/issues/events/{id}", repo_url(world, repo)),
        "actor": user(world, happening.actor), "event": event, "commit_id": null, "commit_url": null,
        "created_at": time(happening.at), "performed_via_github_app": null, key: about,
    });
    if let What::Pushed { after, .. } = happening.what {
        json_event["commit_id"] = json!(after);
        json_event["commit_url"] = format!("{}/commits/{after}", repo_url(world, repo)).into();
    }
    // docs.github.com, Issue event types: of these the actor is the assignee.
    if let What::Assigned(whom) | What::Unassigned(whom) = happening.what {
        json_event["assigner"] = user(world, happening.actor);
        json_event["actor"] = user(world, whom);
    }
    Some(json_event)
}

/// `issue`, of an issue or of the issue side of a pull request.
pub fn issue(world: &World, repo: &Repo, issue: &Issue) -> Value {
    let (api, number) = (repo_url(world, repo), issue.number);
    let url = format!("{api}/issues/{number}");
    let kind = if issue.pull.is_some() {
        "pull"
    } else {
        "issues"
    };
    let page = format!("{}/{kind}/{number}", repo_page(world, repo));
    let mut object = json!({
        "id": issue.id, "node_id": node_id("Issue", issue.id), "url": url, "repository_url": api,
        "labels_url": format!("{url}/labels{{/name}}"), "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"), "html_url": page, "number": number, "title": issue.title,
        "user": user(world, issue.author), "labels": labels(world, repo, &issue.labels),
        "state": if issue.is_open() { "open" } else { "closed" }, "locked": false, "assignee": issue.assignees.first().map(|one| user(world, *one)),
        "assignees": issue.assignees.iter().map(|one| user(world, *one)).collect::<Vec<_>>(),
        "milestone": null, "comments": repo.comments_of(number).count(), "created_at": time(issue.created_at),
        "updated_at": time(issue.updated_at), "closed_at": maybe_time(issue.closed.map(|closed| closed.at)),
        "author_association": world.association(issue.author, repo), "active_lock_reason": null, "body": issue.body,
        "closed_by": issue.closed.map(|closed| user(world, closed.by)), "reactions": rollup(&url, &[]),
        "timeline_url": format!("{url}/timeline"), "performed_via_github_app": null, "state_reason": null,
    });
    if let Some(pull) = &issue.pull {
        object["draft"] = (pull.readiness == crate::world::issue::Readiness::Draft).into();
        object["pull_request"] = json!({
            "url": format!("{api}/pulls/{number}"), "html_url": page, "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"), "merged_at": maybe_time(pull.merge.map(|merge| merge.at)),
        });
    }
    object
}

/// `issue-comment`.
pub fn comment(world: &World, repo: &Repo, comment: &Comment) -> Value {
    let api = repo_url(world, repo);
    let url = format!("{api}/issues/comments/{}", comment.id);
    let kind = if repo.issue(comment.issue).is_some_and(|i| i.pull.is_some()) {
        "pull"
    } else {
        "issues"
    };
    let reactions: Vec<_> = reactions_of(repo, comment.id)
        .map(|reaction| reaction.content)
        .collect();
    json!({
        "id": comment.id, "node_id": node_id("IssueComment", comment.id), "url": url,
        "html_url": format!("{}/{kind}/{}#issuecomment-{}", repo_page(world, repo), comment.issue, comment.id),
        "issue_url": format!("{api}/issues/{}", comment.issue), "user": user(world, comment.author),
        "created_at": time(comment.created_at), "updated_at": time(comment.updated_at), "body": comment.body,
        "author_association": world.association(comment.author, repo), "reactions": rollup(&url, &reactions),
        "performed_via_github_app": world.app_of_account(comment.author).map(|found| app(world, found)),
        "pin": null, "minimized": comment.hidden.as_ref().map(|reason| json!({ "reason": reason })),
    })
}

/// Reactions to one comment, oldest first.
pub(super) fn reactions_of(repo: &Repo, comment: CommentId) -> impl Iterator<Item = &Reaction> {
    repo.reactions
        .values()
        .filter(move |reaction| reaction.comment == comment)
}

/// `reaction-rollup`.
pub(super) fn rollup(url: &str, reactions: &[ReactionContent]) -> Value {
    let mut object = json!({ "url": format!("{url}/reactions"), "total_count": reactions.len() });
    for content in ReactionContent::ALL {
        object[content.as_str()] = reactions
            .iter()
            .filter(|given| **given == content)
            .count()
            .into();
    }
    object
}

pub fn reaction(world: &World, reaction: &Reaction) -> Value {
    json!({
        "id": reaction.id, "node_id": node_id("Reaction", reaction.id), "user": user(world, reaction.author),
        "content": reaction.content.as_str(), "created_at": time(reaction.created_at),
    })
}
