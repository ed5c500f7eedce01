//! Repositories, branches and their rules.

use serde_json::{Value, json};

use super::{
    node_id,
    people::{merge, permissions, user},
    repo_page, repo_url, time,
};
use crate::world::{
    World,
    account::Role,
    repo::{Activity, Creations, Protection, ProtectionSource, Repo, StaleReviews, Visibility},
};
use loopgate_core::{AppId, Sha};

/// `repository`, as payloads and pull requests carry it.
pub fn repository(world: &World, repo: &Repo) -> Value {
    let mut object = repository_links(world, repo);
    merge(&mut object, facts(world, repo, &repo_page(world, repo)));
    object
}

/// `minimal-repository` as it stands in a combined status: nothing in it changes with a push
/// (<https://docs.github.com/en/rest/commits/statuses#get-the-combined-status-for-a-specific-reference>, its example).
pub fn repository_links(world: &World, repo: &Repo) -> Value {
    let (url, page) = (repo_url(world, repo), repo_page(world, repo));
    let mut object = json!({
        "id": repo.id, "node_id": node_id("Repository", repo.id), "name": repo.name,
        "full_name": world.full_name(repo), "private": repo.visibility == Visibility::Private,
        "owner": user(world, repo.owner), "html_url": page, "description": null, "fork": repo.fork_of.is_some(),
        "url": url,
    });
    for (key, path) in LINKS {
        object[*key] = format!("{url}{path}").into();
    }
    object
}

/// Keys of a repository that are its URL and a path (or URI template).
const LINKS: &[(&str, &str)] = &[
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    (
        "notifications_url",
        "/notifications{?since,all,participating}",
    ),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
];

fn facts(world: &World, repo: &Repo, page: &str) -> Value {
    let open = repo.issues.values().filter(|issue| issue.is_open()).count();
    let forks = world
        .repos
        .values()
        .filter(|other| other.fork_of == Some(repo.id))
        .count();
    let visibility = match repo.visibility {
        Visibility::Public => "public",
        Visibility::Private => "private",
    };
    json!({
        "git_url": format!("{page}.git"), "ssh_url": format!("git@localhost:{}.git", world.full_name(repo)),
        "clone_url": format!("{page}.git"), "svn_url": page, "mirror_url": null, "homepage": null, "language": null,
        "forks_count": forks, "stargazers_count": 0, "watchers_count": 0, "size": 0,
        "default_branch": repo.default_branch, "open_issues_count": open, "is_template": false, "topics": [],
        "has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false, "has_downloads": true,
        "has_discussions": false, "archived": repo.is_archived, "disabled": false, "visibility": visibility,
        "pushed_at": time(repo.pushed_at), "created_at": time(repo.created_at), "updated_at": time(repo.updated_at),
        "license": null, "forks": forks, "open_issues": open, "watchers": 0, "allow_forking": true,
        "web_commit_signoff_required": false,
    })
}

/// `full-repository`, with the caller's own permissions.
pub fn repo_full(world: &World, repo: &Repo, role: Option<Role>) -> Value {
    let mut full = repository(world, repo);
    let forks = full["forks_count"].clone();
    merge(
        &mut full,
        json!({
            "permissions": permissions(role), "allow_rebase_merge": true, "allow_squash_merge": true,
            "allow_merge_commit": true, "allow_auto_merge": false, "delete_branch_on_merge": false,
            "allow_update_branch": false, "network_count": forks, "subscribers_count": 0,
        }),
    );
    if let Some(owner) = world
        .accounts
        .get(&repo.owner)
        .filter(|owner| owner.org().is_some())
    {
        // Here GitHub gives the organisation in the form of a user.
        full["organization"] = user(world, owner.id);
    }
    if let Some(parent) = repo.fork_of.and_then(|parent| world.repos.get(&parent)) {
        full["parent"] = repository(world, parent);
        full["source"] = repository(world, parent);
    }
    full
}

/// `branch-with-protection`.
pub fn branch(world: &World, repo: &Repo, name: &str, sha: Sha) -> Value {
    let url = repo_url(world, repo);
    let protected = repo.protections.contains_key(name);
    json!({
        "name": name, "commit": super::commit(world, repo, sha), "protected": protected,
        "_links": { "self": format!("{url}/branches/{name}"), "html": format!("{}/tree/{name}", repo_page(world, repo)) },
        "protection": { "enabled": protected }, "protection_url": format!("{url}/branches/{name}/protection"),
    })
}

/// `branch-protection` of classic protection.
pub fn protection(world: &World, repo: &Repo, branch: &str, protection: &Protection) -> Value {
    let url = format!("{}/branches/{branch}/protection", repo_url(world, repo));
    let mut object = json!({
        "url": url, "enforce_admins": { "url": format!("{url}/enforce_admins"), "enabled": true },
        "required_linear_history": { "enabled": false }, "allow_force_pushes": { "enabled": false },
        "allow_deletions": { "enabled": false }, "block_creations": { "enabled": false },
        "required_conversation_resolution": { "enabled": false }, "lock_branch": { "enabled": false },
        "allow_fork_syncing": { "enabled": false },
    });
    if protection.required_approvals > 0 {
        object["required_pull_request_reviews"] = json!({
            "url": format!("{url}/required_pull_request_reviews"),
            "dismiss_stale_reviews": protection.stale_reviews == StaleReviews::Dismiss,
            "require_code_owner_reviews": false, "require_last_push_approval": false,
            "required_approving_review_count": protection.required_approvals,
        });
    }
    if !protection.required_checks.is_empty() {
        let contexts: Vec<_> = protection
            .required_checks
            .iter()
            .map(|check| &check.context)
            .collect();
        let checks: Vec<_> = protection
            .required_checks
            .iter()
            .map(|check| json!({ "context": check.context, "app_id": check.app.map(AppId::get) }))
            .collect();
        object["required_status_checks"] = json!({
            "url": format!("{url}/required_status_checks"), "strict": false, "contexts": contexts,
            "contexts_url": format!("{url}/required_status_checks/contexts"), "checks": checks,
        });
    }
    object
}

/// `repository-ruleset`.
pub fn ruleset(world: &World, repo: &Repo, branch: &str) -> Value {
    json!({
        "id": repo.id, "name": branch, "target": "branch", "source_type": "Repository",
        "source": world.full_name(repo), "enforcement": "active",
    })
}

/// The active rules of a branch, from rulesets only: classic protection is not among them
/// (docs.github.com, REST, Get rules for a branch).
pub fn rules(world: &World, repo: &Repo, branch: &str) -> Value {
    let Some(protection) = repo
        .protections
        .get(branch)
        .filter(|p| p.source == ProtectionSource::Ruleset)
    else {
        return json!([]);
    };
    let mut rules = Vec::new();
    let mut rule = |kind: &str, parameters: Value| {
        let mut rule = json!({
            "type": kind, "ruleset_source_type": "Repository", "ruleset_source": world.full_name(repo),
            "ruleset_id": repo.id,
        });
        if !parameters.is_null() {
            rule["parameters"] = parameters;
        }
        rules.push(rule);
    };
    if protection.creations == Creations::Restricted {
        rule("creation", Value::Null);
    }
    if protection.required_approvals > 0 {
        rule(
            "pull_request",
            json!({
                "required_approving_review_count": protection.required_approvals,
                "dismiss_stale_reviews_on_push": protection.stale_reviews == StaleReviews::Dismiss,
                "require_code_owner_review": false, "require_last_push_approval": false,
                "required_review_thread_resolution": false, "allowed_merge_methods": ["merge", "squash", "rebase"],
            }),
        );
    }
    if !protection.required_checks.is_empty() {
        let check = |context: &str, app: Option<AppId>| match app {
            Some(app) => json!({ "context": context, "integration_id": app }),
            None => json!({ "context": context }),
        };
        let checks: Vec<_> = protection
            .required_checks
            .iter()
            .map(|c| check(&c.context, c.app))
            .collect();
        rule(
            "required_status_checks",
            json!({
                "required_status_checks": checks, "strict_required_status_checks_policy": false,
                "do_not_enforce_on_create": false,
            }),
        );
    }
    rules.into()
}

/// `activity`.
pub fn activity(world: &World, activity: &Activity) -> Value {
    let sha = |sha: Option<Sha>| sha.map_or_else(|| "0".repeat(40), |sha| sha.to_string());
    json!({
        "id": activity.id, "node_id": node_id("Push", activity.id), "before": sha(activity.before),
        "after": sha(activity.after), "ref": format!("refs/heads/{}", activity.branch), "timestamp": time(activity.at),
        "activity_type": activity.kind.as_str(), "actor": user(world, activity.by),
    })
}
