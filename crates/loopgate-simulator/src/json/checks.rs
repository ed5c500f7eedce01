//! Check runs, check suites, commit statuses.

use serde_json::{Value, json};

use super::{
    app::app,
    commit::head_commit,
    maybe_time, node_id,
    people::user,
    pull::pull_stub,
    quoted,
    repo::{repository, repository_links},
    repo_page, repo_url, time,
};
use crate::world::{
    World,
    checks::{Annotation, CheckRun, CheckSuite, CommitStatus, Progress, StatusState},
    repo::Repo,
};
use loopgate_core::Sha;

/// Open pull requests of this very repository with that head: those of forks are not named
/// (docs.github.com, REST, Check suites: "pull_requests" is empty for pushes to forks).
pub(super) fn pulls_at(world: &World, repo: &Repo, sha: Sha) -> Vec<Value> {
    repo.open_pulls()
        .filter(|issue| {
            issue
                .pull
                .as_ref()
                .is_some_and(|p| p.head.sha == sha && p.head.repo == Some(repo.id))
        })
        .map(|issue| pull_stub(world, repo, issue))
        .collect()
}

pub fn check_run(world: &World, repo: &Repo, run: &CheckRun) -> Value {
    let url = format!("{}/check-runs/{}", repo_url(world, repo), run.id);
    let page = format!("{}/runs/{}", repo_page(world, repo), run.id);
    let completed_at = match run.progress {
        Progress::Completed { at, .. } => Some(at),
        _ => None,
    };
    json!({
        "id": run.id, "node_id": node_id("CheckRun", run.id), "head_sha": run.sha, "external_id": run.external_id,
        "url": url, "html_url": page, "details_url": run.details_url.as_deref().unwrap_or(&page),
        "status": run.progress.status(), "conclusion": run.progress.conclusion().map(|c| c.as_str()),
        "started_at": time(run.started_at), "completed_at": maybe_time(completed_at), "name": run.name,
        "output": {
            "title": run.output.title, "summary": run.output.summary, "text": run.output.text,
            "annotations_count": run.output.annotations.len(), "annotations_url": format!("{url}/annotations"),
        },
        "check_suite": { "id": run.suite }, "app": world.apps.get(&run.app).map(|found| app(world, found)),
        "pull_requests": pulls_at(world, repo, run.sha),
    })
}

pub fn annotation(world: &World, repo: &Repo, sha: Sha, annotation: &Annotation) -> Value {
    json!({
        "path": annotation.path, "start_line": annotation.start_line, "end_line": annotation.end_line,
        "start_column": annotation.start_column, "end_column": annotation.end_column,
        "annotation_level": annotation.level.as_str(), "message": annotation.message, "title": annotation.title,
        "raw_details": annotation.raw_details,
        "blob_href": format!("{}/contents/{}?ref={sha}", repo_url(world, repo), quoted(&annotation.path)),
    })
}

/// `check-suite`, its status and conclusion drawn from its runs.
pub fn check_suite(world: &World, repo: &Repo, suite: &CheckSuite) -> Value {
    let url = format!("{}/check-suites/{}", repo_url(world, repo), suite.id);
    let (status, conclusion) = world.suite_state(repo, suite);
    let parent = world
        .objects(repo)
        .commit(suite.sha)
        .and_then(|commit| commit.parents.first().copied());
    json!({
        "id": suite.id, "node_id": node_id("CheckSuite", suite.id), "head_branch": suite.branch,
        "head_sha": suite.sha, "status": status, "conclusion": conclusion.map(|c| c.as_str()), "url": url,
        "before": parent, "after": suite.sha, "pull_requests": pulls_at(world, repo, suite.sha),
        "app": world.apps.get(&suite.app).map(|found| app(world, found)), "created_at": time(suite.created_at),
        "updated_at": time(suite.updated_at),
        "latest_check_runs_count": repo.check_runs.values().filter(|run| run.suite == suite.id).count(),
        "check_runs_url": format!("{url}/check-runs"), "head_commit": head_commit(world, repo, suite.sha),
        "repository": repository(world, repo), "rerequestable": true, "runs_rerequestable": true,
    })
}

/// `status`.
pub fn status(world: &World, repo: &Repo, status: &CommitStatus) -> Value {
    json!({
        "url": format!("{}/statuses/{}", repo_url(world, repo), status.sha), "id": status.id,
        "avatar_url": format!("{}/avatars/{}", world.pages_url, status.creator),
        "node_id": node_id("StatusContext", status.id), "state": status.state.as_str(),
        "description": status.description, "target_url": status.target_url, "context": status.context,
        "created_at": time(status.created_at), "updated_at": time(status.created_at),
        "creator": user(world, status.creator),
    })
}

/// `combined-commit-status`, over the newest status of each context.
pub fn combined_status(world: &World, repo: &Repo, sha: Sha, latest: &[&CommitStatus]) -> Value {
    let any = |wanted: &[StatusState]| latest.iter().any(|status| wanted.contains(&status.state));
    let state = if any(&[StatusState::Error, StatusState::Failure]) {
        "failure"
    } else if latest.is_empty() || any(&[StatusState::Pending]) {
        "pending"
    } else {
        "success"
    };
    let url = format!("{}/commits/{sha}", repo_url(world, repo));
    json!({
        "state": state, "sha": sha, "total_count": latest.len(),
        "statuses": latest.iter().map(|found| status(world, repo, found)).collect::<Vec<_>>(),
        "repository": repository_links(world, repo), "commit_url": url, "url": format!("{url}/status"),
    })
}
