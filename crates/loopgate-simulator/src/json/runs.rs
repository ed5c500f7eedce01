//! Workflow runs and artifacts.

use serde_json::{Value, json};

use super::{
    checks::pulls_at, commit::head_commit, node_id, people::user, quoted, repo::repository,
    repo_page, repo_url, time,
};
use crate::world::{
    World,
    checks::{CheckRun, Progress},
    repo::Repo,
    runs::{Artifact, WorkflowRun},
};

pub fn workflow_run(world: &World, repo: &Repo, run: &WorkflowRun) -> Value {
    let api = repo_url(world, repo);
    let (url, suite) = (format!("{api}/actions/runs/{}", run.id), run.suite);
    let head_repo = world.repos.get(&run.head_repo).unwrap_or(repo);
    let pulls = if run.head_repo == repo.id {
        pulls_at(world, repo, run.sha)
    } else {
        Vec::new()
    };
    json!({
        "id": run.id, "name": run.name, "node_id": node_id("WorkflowRun", run.id), "check_suite_id": suite,
        "check_suite_node_id": node_id("CheckSuite", suite), "head_branch": run.branch, "head_sha": run.sha,
        "path": run.path, "display_title": run.name, "run_number": run.run_number, "event": run.event,
        "status": run.progress.status(), "conclusion": run.progress.conclusion().map(|c| c.as_str()),
        "workflow_id": run.workflow_id, "url": url,
        "html_url": format!("{}/actions/runs/{}", repo_page(world, repo), run.id), "pull_requests": pulls,
        "created_at": time(run.created_at), "updated_at": time(run.updated_at), "actor": user(world, run.actor),
        "run_attempt": run.attempt, "referenced_workflows": [], "run_started_at": time(run.created_at),
        "triggering_actor": user(world, run.actor), "jobs_url": format!("{url}/jobs"),
        "logs_url": format!("{url}/logs"), "check_suite_url": format!("{api}/check-suites/{suite}"),
        "artifacts_url": format!("{url}/artifacts"), "cancel_url": format!("{url}/cancel"),
        "rerun_url": format!("{url}/rerun"), "previous_attempt_url": null,
        "workflow_url": format!("{api}/actions/workflows/{}", run.workflow_id),
        "head_commit": head_commit(world, repo, run.sha), "repository": repository(world, repo),
        "head_repository": repository(world, head_repo),
    })
}

/// `job`.
pub fn job(
    world: &World,
    repo: &Repo,
    run: &WorkflowRun,
    (job, attempt): (&CheckRun, u32),
) -> Value {
    let api = repo_url(world, repo);
    let run_url = format!("{api}/actions/runs/{}", run.id);
    let check = super::check_run(world, repo, job);
    // What GitHub shows of a job whose runner is gone: it has ended, and a step of it has not.
    let step =
        json!({ "name": "Run loopgate", "number": 2, "status": "in_progress", "conclusion": null });
    let mut steps: Vec<_> = run
        .cut_off
        .contains(&job.id)
        .then_some(step)
        .into_iter()
        .collect();
    if let (Some(log), Progress::Completed { at, .. }) = (repo.job_logs.get(&job.id), job.progress)
    {
        steps.extend((0..).zip(&log.steps).map(|(number, step)| {
            json!({
                "name": step.name, "number": number + 1, "status": "completed", "conclusion": step.conclusion.as_str(),
                "started_at": time(log.start_of(number, at)), "completed_at": time(log.start_of(number + 1, at)),
            })
        }));
    }
    json!({
        "id": job.id, "run_id": run.id, "workflow_name": run.name, "head_branch": run.branch, "run_url": run_url,
        "run_attempt": attempt, "node_id": node_id("CheckRun", job.id), "head_sha": run.sha,
        "url": format!("{api}/actions/jobs/{}", job.id),
        "html_url": format!("{}/actions/runs/{}/job/{}", repo_page(world, repo), run.id, job.id),
        "status": check["status"], "conclusion": check["conclusion"], "created_at": check["started_at"],
        "started_at": check["started_at"], "completed_at": check["completed_at"], "name": job.name, "steps": steps,
        "check_run_url": check["url"], "labels": ["ubuntu-latest"], "runner_id": null, "runner_name": null,
        "runner_group_id": null, "runner_group_name": null,
    })
}

/// `workflow`, as payloads carry it.
pub fn workflow(world: &World, repo: &Repo, run: &WorkflowRun) -> Value {
    let (url, page) = (repo_url(world, repo), repo_page(world, repo));
    json!({
        "id": run.workflow_id, "node_id": node_id("Workflow", run.workflow_id), "name": run.name, "path": run.path,
        "state": "active", "created_at": time(repo.created_at), "updated_at": time(repo.created_at),
        "url": format!("{url}/actions/workflows/{}", run.workflow_id),
        "html_url": format!("{page}/blob/{}/{}", repo.default_branch, quoted(&run.path)),
        "badge_url": format!("{page}/workflows/{}/badge.svg", quoted(&run.name)),
    })
}

pub fn artifact(world: &World, repo: &Repo, artifact: &Artifact) -> Value {
    let url = format!(
        "{}/actions/artifacts/{}",
        repo_url(world, repo),
        artifact.id
    );
    let run = repo.workflow_runs.get(&artifact.run);
    json!({
        "id": artifact.id, "node_id": node_id("Artifact", artifact.id), "name": artifact.name,
        "size_in_bytes": artifact.zip.len(), "url": url, "archive_download_url": format!("{url}/zip"),
        "expired": world.now() >= artifact.expires_at, "created_at": time(artifact.created_at),
        "updated_at": time(artifact.created_at), "expires_at": time(artifact.expires_at),
        "workflow_run": run.map(|run| json!({
            "id": run.id, "repository_id": repo.id, "head_repository_id": run.head_repo, "head_branch": run.branch,
            "head_sha": run.sha,
        })),
    })
}
