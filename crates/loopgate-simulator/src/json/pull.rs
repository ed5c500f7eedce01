//! Pull requests, reviews and review comments.

use serde_json::{Value, json};

use super::{
    conversation::{labels, reactions_of, rollup},
    maybe_time, node_id,
    people::{merge, team, user},
    repo::repository,
    repo_page, repo_url, time,
};
use crate::world::{
    RepoId, RestVersion, World,
    issue::{Issue, Pull, Readiness, Review, ReviewComment},
    repo::{Repo, Stack},
};
use loopgate_core::{PrNumber, Sha, UserId};

/// One end of a pull request.
fn end(world: &World, owner: UserId, repo: Option<RepoId>, branch: &str, sha: Sha) -> Value {
    let repo = repo.and_then(|repo| world.repos.get(&repo));
    json!({
        "label": format!("{}:{branch}", world.login(owner)), "ref": branch, "sha": sha, "user": user(world, owner),
        "repo": repo.map(|repo| repository(world, repo)),
    })
}

/// `pull-request-simple`, the form of lists. Null for an issue that is no pull request.
pub fn pull_brief(world: &World, repo: &Repo, issue: &Issue) -> Value {
    let Some(pull) = &issue.pull else {
        return Value::Null;
    };
    let (api, number) = (repo_url(world, repo), issue.number);
    let (url, page) = (
        format!("{api}/pulls/{number}"),
        format!("{}/pull/{number}", repo_page(world, repo)),
    );
    let issue_url = format!("{api}/issues/{number}");
    let (comments, commits) = (format!("{issue_url}/comments"), format!("{url}/commits"));
    let (reviews, review) = (
        format!("{url}/comments"),
        format!("{api}/pulls/comments{{/number}}"),
    );
    let statuses = format!("{api}/statuses/{}", pull.head.sha);
    let href = |url: &str| json!({ "href": url });
    let mut object = json!({
        "url": url, "id": pull.id, "node_id": node_id("PullRequest", pull.id), "html_url": page,
        "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"), "issue_url": issue_url,
        "number": number, "state": if issue.is_open() { "open" } else { "closed" }, "locked": false,
        "title": issue.title, "user": user(world, issue.author), "body": issue.body,
        "created_at": time(issue.created_at), "updated_at": time(issue.updated_at),
        "closed_at": maybe_time(issue.closed.map(|closed| closed.at)),
        "merged_at": maybe_time(pull.merge.map(|merge| merge.at)),
        "merge_commit_sha": pull.merge.map(|merge| merge.commit).or(pull.standing.test_merge),
        "assignee": issue.assignees.first().map(|one| user(world, *one)),
        "assignees": issue.assignees.iter().map(|one| user(world, *one)).collect::<Vec<_>>(),
        "milestone": null, "draft": pull.readiness == Readiness::Draft,
        "commits_url": commits, "review_comments_url": reviews, "review_comment_url": review,
        "comments_url": comments, "statuses_url": statuses,
    });
    merge(
        &mut object,
        json!({
            "requested_reviewers": pull.requested_reviewers.iter().map(|id| user(world, *id)).collect::<Vec<_>>(),
            "requested_teams": pull.requested_teams.iter().filter_map(|id| world.teams.get(id))
                .map(|found| team(world, found)).collect::<Vec<_>>(),
            "labels": labels(world, repo, &issue.labels),
            "head": end(world, pull.head.owner, pull.head.repo, &pull.head.branch, pull.head.sha),
            "base": end(world, repo.owner, Some(repo.id), &pull.base_branch, pull.base_sha),
            "_links": {
                "self": href(&url), "html": href(&page), "issue": href(&issue_url), "comments": href(&comments),
                "review_comments": href(&reviews), "review_comment": href(&review), "commits": href(&commits),
                "statuses": href(&statuses),
            },
            "author_association": world.association(issue.author, repo), "auto_merge": null,
            "active_lock_reason": null,
        }),
    );
    if let (RestVersion::V2026, Some(fields)) = (world.rest, object.as_object_mut()) {
        fields.retain(|key, _| !matches!(key.as_str(), "merge_commit_sha" | "assignee"));
    }
    if let Some(stack) = repo.stack_of(issue.number) {
        object["stack"] = in_stack(repo, stack, issue.number);
    }
    object
}

/// `pull-request-stack`: the stack as its layers name it.
fn in_stack(repo: &Repo, stack: &Stack, number: PrNumber) -> Value {
    let position = stack
        .layers
        .iter()
        .position(|layer| *layer == number)
        .map(|place| place + 1);
    json!({
        "id": stack.id, "number": stack.number, "size": stack.layers.len(), "position": position,
        "base": { "ref": stack.base, "sha": repo.branch(&stack.base) },
    })
}

/// `pull-request-stack-minimal`.
pub fn stack(world: &World, repo: &Repo, stack: &Stack) -> Value {
    let layer = |number: &PrNumber| {
        let issue = repo.issue(*number)?;
        let pull = issue.pull.as_ref()?;
        Some(json!({
            "number": number, "state": if issue.is_open() { "open" } else { "closed" },
            "draft": pull.readiness == Readiness::Draft, "merged_at": maybe_time(pull.merge.map(|merge| merge.at)),
            "head": { "ref": pull.head.branch, "sha": pull.head.sha },
        }))
    };
    json!({
        "id": stack.id, "number": stack.number, "node_id": node_id("PullRequestStack", stack.id),
        "url": format!("{}/stacks/{}", repo_url(world, repo), stack.number), "base": { "ref": stack.base },
        "open": stack.layers.iter().filter_map(|layer| repo.issue(*layer)).any(Issue::is_open),
        "created_at": time(stack.created_at), "pull_requests": stack.layers.iter().filter_map(layer).collect::<Vec<_>>(),
    })
}

/// `pull-request`, with what follows from its commits.
pub fn pull(world: &World, repo: &Repo, issue: &Issue) -> Value {
    let mut object = pull_brief(world, repo, issue);
    let Some(pull) = &issue.pull else {
        return object;
    };
    let merged = pull.merge.is_some();
    let mergeable = (issue.is_open()).then_some(pull.standing.test_merge.is_some());
    merge(
        &mut object,
        json!({
            "merged": merged, "mergeable": mergeable, "rebaseable": mergeable,
            "mergeable_state": mergeable_state(world, repo, issue, pull),
            "merged_by": pull.merge.map(|merge| user(world, merge.by)),
            "comments": repo.comments_of(issue.number).count(), "review_comments": pull.review_comments.len(),
            "maintainer_can_modify": false, "commits": pull.standing.commits, "additions": pull.standing.additions,
            "deletions": pull.standing.deletions, "changed_files": pull.standing.changed_files,
        }),
    );
    object
}

fn mergeable_state(world: &World, repo: &Repo, issue: &Issue, pull: &Pull) -> &'static str {
    if !issue.is_open() {
        "unknown"
    } else if pull.standing.test_merge.is_none() {
        "dirty"
    } else if pull.readiness == Readiness::Draft {
        "draft"
    } else if world.merge_blocker(repo, issue).is_some() {
        "blocked"
    } else {
        "clean"
    }
}

/// `pull-request-minimal`, as check runs and workflow runs name the pull requests of their commit.
pub fn pull_stub(world: &World, repo: &Repo, issue: &Issue) -> Value {
    let Some(pull) = &issue.pull else {
        return Value::Null;
    };
    let end = |repo: Option<&Repo>, branch: &str, sha: Sha| {
        let repo = repo
            .map(|repo| json!({ "id": repo.id, "url": repo_url(world, repo), "name": repo.name }));
        json!({ "ref": branch, "sha": sha, "repo": repo })
    };
    let head_repo = pull.head.repo.and_then(|id| world.repos.get(&id));
    json!({
        "id": pull.id, "number": issue.number, "url": format!("{}/pulls/{}", repo_url(world, repo), issue.number),
        "head": end(head_repo, &pull.head.branch, pull.head.sha),
        "base": end(Some(repo), &pull.base_branch, pull.base_sha),
    })
}

/// `pull-request-review`.
pub fn review(world: &World, repo: &Repo, issue: &Issue, review: &Review) -> Value {
    let url = format!("{}/pulls/{}", repo_url(world, repo), issue.number);
    let page = format!(
        "{}/pull/{}#pullrequestreview-{}",
        repo_page(world, repo),
        issue.number,
        review.id
    );
    let mut object = json!({
        "id": review.id, "node_id": node_id("PullRequestReview", review.id), "user": user(world, review.author),
        "body": review.body, "state": review.state.as_str(), "html_url": page, "pull_request_url": url,
        "author_association": world.association(review.author, repo),
        "_links": { "html": { "href": page }, "pull_request": { "href": url } },
        "commit_id": review.commit,
    });
    // Pending reviews have no such key.
    if let Some(at) = review.submitted_at {
        object["submitted_at"] = time(at);
    }
    object
}

/// `pull-request-review-comment`.
pub fn review_comment(world: &World, repo: &Repo, issue: &Issue, comment: &ReviewComment) -> Value {
    let api = repo_url(world, repo);
    let (url, pull) = (
        format!("{api}/pulls/comments/{}", comment.id),
        format!("{api}/pulls/{}", issue.number),
    );
    let page = format!(
        "{}/pull/{}#discussion_r{}",
        repo_page(world, repo),
        issue.number,
        comment.id
    );
    let mut object = json!({
        "id": comment.id, "node_id": node_id("PullRequestReviewComment", comment.id), "url": url,
        "pull_request_review_id": comment.review, "diff_hunk": "", "path": comment.path, "position": comment.line,
        "original_position": comment.line, "line": comment.line, "original_line": comment.line, "side": "RIGHT",
        "start_line": null, "original_start_line": null, "start_side": null, "subject_type": "line",
        "commit_id": comment.commit, "original_commit_id": comment.commit, "user": user(world, comment.author),
        "body": comment.body, "created_at": time(comment.created_at), "updated_at": time(comment.updated_at),
        "html_url": page, "pull_request_url": pull, "author_association": world.association(comment.author, repo),
        "_links": { "self": { "href": url }, "html": { "href": page }, "pull_request": { "href": pull } },
        "reactions": rollup(&url, &reactions_of(repo, comment.id).map(|given| given.content).collect::<Vec<_>>()),
    });
    if let Some(parent) = comment.in_reply_to {
        object["in_reply_to_id"] = parent.get().into();
    }
    object
}
