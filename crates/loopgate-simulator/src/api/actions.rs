//! Workflow runs and their artifacts.

use chrono::TimeDelta;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::Needs,
    get, post,
};
use crate::{
    json,
    operations::runs::Again,
    refused::Refused,
    world::{
        ArtifactId, World,
        app::{Area, Level},
        checks::Progress,
        runs::{Artifact, WorkflowRun},
    },
};
use loopgate_core::{CheckRunId, Timestamp, WorkflowRunId};

pub const ROUTES: &[Route] = &[
    get("/repos/{owner}/{repo}/actions/permissions", permissions),
    get(
        "/repos/{owner}/{repo}/actions/permissions/workflow",
        workflow_permissions,
    ),
    get("/repos/{owner}/{repo}/actions/runs", list),
    get("/repos/{owner}/{repo}/actions/runs/{id}", show),
    post("/repos/{owner}/{repo}/actions/runs/{id}/approve", approve),
    post("/repos/{owner}/{repo}/actions/runs/{id}/rerun", rerun),
    post(
        "/repos/{owner}/{repo}/actions/runs/{id}/rerun-failed-jobs",
        rerun_failed_jobs,
    ),
    post("/repos/{owner}/{repo}/actions/jobs/{id}/rerun", rerun_job),
    get(
        "/repos/{owner}/{repo}/actions/runs/{id}/artifacts",
        artifacts_of_run,
    ),
    get("/repos/{owner}/{repo}/actions/runs/{id}/jobs", jobs),
    get("/repos/{owner}/{repo}/actions/jobs/{id}", job),
    get("/repos/{owner}/{repo}/actions/jobs/{id}/logs", job_log),
    post(
        "/repos/{owner}/{repo}/actions/workflows/{workflow}/dispatches",
        dispatch_workflow,
    ),
    post("/repos/{owner}/{repo}/dispatches", dispatch_repository),
    get("/repos/{owner}/{repo}/actions/artifacts", artifacts),
    get(
        "/repos/{owner}/{repo}/actions/artifacts/{id}",
        show_artifact,
    ),
    get("/repos/{owner}/{repo}/actions/artifacts/{id}/zip", download),
    get("/_storage/artifacts/{repo_id}/{id}", storage),
    get("/_storage/logs/{repo_id}/{id}", log_storage),
];

const READ: Needs = &[(Area::Actions, Level::Read)];
const WRITE: Needs = &[(Area::Actions, Level::Write)];
/// "The archive download URL expires after 1 minute" (docs.github.com, REST, Download an artifact).
const LINK_LIFE: TimeDelta = TimeDelta::minutes(1);

const ADMINISTRATION: Needs = &[(Area::Administration, Level::Read)];

/// Every repository has the settings that GitHub gives new ones.
fn permissions(world: &mut World, call: &Call) -> Answer {
    call.read(world, ADMINISTRATION)?;
    Ok(Reply::ok(
        json!({ "enabled": true, "allowed_actions": "all", "sha_pinning_required": false }),
    ))
}

fn workflow_permissions(world: &mut World, call: &Call) -> Answer {
    call.read(world, ADMINISTRATION)?;
    Ok(Reply::ok(
        json!({ "default_workflow_permissions": "read", "can_approve_pull_request_reviews": false }),
    ))
}

fn list(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let wanted = |run: &&WorkflowRun| {
        let state = |word: &str| {
            run.progress.status() == word
                || run
                    .progress
                    .conclusion()
                    .is_some_and(|conclusion| conclusion.as_str() == word)
        };
        call.query("head_sha")
            .is_none_or(|sha| run.sha.to_string() == sha)
            && call
                .query("branch")
                .is_none_or(|branch| run.branch == branch)
            && call.query("event").is_none_or(|event| run.event == event)
            && call.query("status").is_none_or(state)
    };
    let runs = repo.workflow_runs.values().rev().filter(wanted).collect();
    Ok(call.counted_list("workflow_runs", runs, |run| {
        json::workflow_run(world, repo, run)
    }))
}

fn run_id(call: &Call) -> Result<WorkflowRunId, Refused> {
    Ok(WorkflowRunId::new(call.id("id")?))
}

fn show(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    Ok(Reply::ok(json::workflow_run(
        world,
        repo,
        world.workflow_run(repo.id, run_id(call)?)?,
    )))
}

fn approve(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    world.approve_run(actor, repo, run_id(call)?)?;
    Ok(Reply::created(json!({})))
}

fn rerun(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    world.rerun(actor, repo, run_id(call)?, Again::All)?;
    Ok(Reply::created(json!({})))
}

fn rerun_failed_jobs(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    world.rerun(actor, repo, run_id(call)?, Again::Failed)?;
    Ok(Reply::created(json!({})))
}

/// Jobs have the ids of their check runs.
fn rerun_job(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let job = world.check_run(repo, CheckRunId::new(call.id("id")?))?;
    let (id, name) = (job.id, job.name.clone());
    let mut runs = world.repo(repo)?.workflow_runs.values();
    let run = runs
        .find(|run| run.executions.iter().any(|(check, _)| *check == id))
        .map(|run| run.id);
    world.rerun(
        actor,
        repo,
        run.ok_or_else(Refused::not_found)?,
        Again::Job(&name),
    )?;
    Ok(Reply::created(json!({})))
}

/// The jobs of the run's last attempt, or of all attempts, whose ids are those of their check runs.
fn jobs(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let run = world.workflow_run(repo.id, run_id(call)?)?;
    let all = call.query("filter").is_some_and(|filter| filter == "all");
    let executions = run
        .executions
        .iter()
        .filter(|(_, attempt)| all || *attempt == run.attempt);
    let jobs = executions
        .filter_map(|(check, attempt)| Some((repo.check_runs.get(check)?, *attempt)))
        .collect();
    Ok(call.counted_list("jobs", jobs, |(job, attempt)| {
        json::job(world, repo, run, (job, attempt))
    }))
}

/// A job of any attempt.
fn job(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let id = CheckRunId::new(call.id("id")?);
    let of_runs = repo.workflow_runs.values().find_map(|run| {
        let (check, attempt) = run.executions.iter().find(|(check, _)| *check == id)?;
        Some((run, repo.check_runs.get(check)?, *attempt))
    });
    let (run, check, attempt) = of_runs.ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json::job(world, repo, run, (check, attempt))))
}

/// 302 to a place outside the API once the job has ended and its log is stored.
fn job_log(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let check = repo
        .check_runs
        .get(&CheckRunId::new(call.id("id")?))
        .ok_or_else(Refused::not_found)?;
    let log = repo.job_logs.get(&check.id).cloned().unwrap_or_default();
    if log.is_gone {
        return Err(Refused::new(StatusCode::GONE, "Server Error"));
    }
    match check.progress {
        Progress::Completed { at, .. } if world.now() >= at + log.late => {}
        _ => return Err(Refused::not_found()),
    }
    let until = (world.now() + LINK_LIFE).timestamp();
    // The store is no part of the API: it has a host of its own, where a client does not send its token.
    let store = world.base_url.replacen("//127.0.0.1", "//localhost", 1);
    Ok(Reply::found(format!(
        "{store}/_storage/logs/{}/{}?se={until}",
        repo.id, check.id
    )))
}

/// The store of logs takes its own signature and no other credentials.
fn log_storage(world: &mut World, call: &Call) -> Answer {
    if !call.token.is_empty() {
        return Err(Refused::new(
            StatusCode::BAD_REQUEST,
            "InvalidAuthenticationInfo",
        ));
    }
    link_is_alive(world, call)?;
    let repo = world.repo(crate::world::RepoId(call.id("repo_id")?))?;
    let check = repo
        .check_runs
        .get(&CheckRunId::new(call.id("id")?))
        .ok_or_else(Refused::not_found)?;
    let text = match (repo.job_logs.get(&check.id), check.progress) {
        (Some(log), Progress::Completed { at, .. }) => log.text(at),
        _ => String::new(),
    };
    Ok(Reply::raw("text/plain", text.into()))
}

#[derive(Deserialize)]
struct WorkflowDispatch {
    #[serde(rename = "ref")]
    reference: String,
    #[serde(default)]
    inputs: Value,
    #[serde(default)]
    return_run_details: bool,
}

fn dispatch_workflow(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    let wish: WorkflowDispatch = call.json()?;
    world
        .resolve(repo, &wish.reference)
        .ok_or_else(|| Refused::unprocessable(format!("No ref found for: {}", wish.reference)))?;
    let payload =
        json!({ "workflow": call.param("workflow"), "ref": wish.reference, "inputs": wish.inputs });
    world.dispatch(actor, repo, "workflow_dispatch", payload)?;
    if !wish.return_run_details {
        return Ok(Reply::no_content());
    }
    // The run itself is not played: what it does is up to the test.
    let id = world.sequence.number();
    let repo = world.repo(repo)?;
    let name = world.full_name(repo);
    Ok(Reply::ok(json!({
        "workflow_run_id": id,
        "run_url": format!("{}/repos/{name}/actions/runs/{id}", world.base_url),
        "html_url": format!("{}/{name}/actions/runs/{id}", world.pages_url),
    })))
}

#[derive(Deserialize)]
struct RepositoryDispatch {
    event_type: String,
    #[serde(default)]
    client_payload: Value,
}

fn dispatch_repository(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, &[(Area::Contents, Level::Write)])?;
    let wish: RepositoryDispatch = call.json()?;
    let payload = json!({ "event_type": wish.event_type, "client_payload": wish.client_payload });
    world.dispatch(actor, repo, "repository_dispatch", payload)?;
    Ok(Reply::no_content())
}

fn artifacts_of_run(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let run = world.workflow_run(repo.id, run_id(call)?)?.id;
    named(
        world,
        call,
        repo.artifacts
            .values()
            .filter(|artifact| artifact.run == run)
            .collect(),
    )
}

fn artifacts(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    named(world, call, repo.artifacts.values().collect())
}

/// Newest first, of one name if that is asked for.
fn named(world: &World, call: &Call, mut artifacts: Vec<&Artifact>) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    artifacts.retain(|artifact| call.query("name").is_none_or(|name| artifact.name == name));
    artifacts.reverse();
    Ok(call.counted_list("artifacts", artifacts, |artifact| {
        json::artifact(world, repo, artifact)
    }))
}

fn show_artifact(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let artifact = repo
        .artifacts
        .get(&ArtifactId(call.id("id")?))
        .ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json::artifact(world, repo, artifact)))
}

/// 302 to a place outside the API, where no token is needed.
fn download(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let artifact = repo
        .artifacts
        .get(&ArtifactId(call.id("id")?))
        .ok_or_else(Refused::not_found)?;
    if world.now() >= artifact.expires_at {
        return Err(Refused::new(StatusCode::GONE, "Artifact has expired"));
    }
    let until = (world.now() + LINK_LIFE).timestamp();
    Ok(Reply::found(format!(
        "{}/_storage/artifacts/{}/{}?se={until}",
        world.base_url, repo.id, artifact.id
    )))
}

fn link_is_alive(world: &World, call: &Call) -> Result<(), Refused> {
    let until = call
        .query("se")
        .and_then(|se| se.parse().ok())
        .and_then(|se| Timestamp::from_timestamp(se, 0));
    match until {
        Some(until) if world.now() < until => Ok(()),
        _ => Err(Refused::forbidden(
            "Signature not valid in the specified time frame",
        )),
    }
}

fn storage(world: &mut World, call: &Call) -> Answer {
    link_is_alive(world, call)?;
    let repo = world.repo(crate::world::RepoId(call.id("repo_id")?))?;
    let artifact = repo
        .artifacts
        .get(&ArtifactId(call.id("id")?))
        .ok_or_else(Refused::not_found)?;
    Ok(Reply::raw("application/zip", artifact.zip.clone()))
}
