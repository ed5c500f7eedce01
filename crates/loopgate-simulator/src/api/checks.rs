//! Check runs, check suites, commit statuses.

use serde::Deserialize;
use serde_json::json;

use super::{
    Answer, Route,
    call::{Call, Reply},
    caller::{Caller, Needs},
    get, patch, post,
};
use crate::{
    json,
    operations::checks::{CheckChange, latest},
    refused::Refused,
    world::{
        SuiteId, World,
        app::{Area, Level},
        checks::{
            Annotation, AnnotationLevel, Button, CheckRun, CommitStatus, Conclusion, Output,
            Progress, StatusState,
        },
    },
};
use loopgate_core::{AppId, CheckRunId, Sha, Timestamp};

pub const ROUTES: &[Route] = &[
    post("/repos/{owner}/{repo}/check-runs", create),
    get("/repos/{owner}/{repo}/check-runs/{id}", show),
    patch("/repos/{owner}/{repo}/check-runs/{id}", update),
    get(
        "/repos/{owner}/{repo}/check-runs/{id}/annotations",
        annotations,
    ),
    post("/repos/{owner}/{repo}/check-runs/{id}/rerequest", rerequest),
    get("/repos/{owner}/{repo}/check-suites/{id}", show_suite),
    get(
        "/repos/{owner}/{repo}/check-suites/{id}/check-runs",
        runs_of_suite,
    ),
    post(
        "/repos/{owner}/{repo}/check-suites/{id}/rerequest",
        rerequest_suite,
    ),
    post("/repos/{owner}/{repo}/statuses/{sha}", create_status),
];

const READ: Needs = &[(Area::Checks, Level::Read)];
const WRITE: Needs = &[(Area::Checks, Level::Write)];
const READ_STATUS: Needs = &[(Area::Statuses, Level::Read)];
const WRITE_STATUS: Needs = &[(Area::Statuses, Level::Write)];

/// The App that writes: check runs belong to Apps alone.
fn app_of(world: &World, call: &Call) -> Result<AppId, Refused> {
    match &call.caller {
        Caller::Installation { id, .. } => world
            .app_of(*id)
            .map(|app| app.id)
            .ok_or_else(Refused::not_found),
        _ => Err(Refused::forbidden(
            "You must authenticate via a GitHub App.",
        )),
    }
}

#[derive(Deserialize)]
struct Given {
    name: Option<String>,
    head_sha: Option<Sha>,
    status: Option<String>,
    conclusion: Option<String>,
    completed_at: Option<Timestamp>,
    external_id: Option<String>,
    details_url: Option<String>,
    output: Option<GivenOutput>,
    actions: Option<Vec<GivenButton>>,
}

#[derive(Deserialize)]
struct GivenOutput {
    title: Option<String>,
    summary: String,
    text: Option<String>,
    #[serde(default)]
    annotations: Vec<GivenAnnotation>,
}

#[derive(Deserialize)]
struct GivenAnnotation {
    path: String,
    start_line: u64,
    end_line: u64,
    start_column: Option<u64>,
    end_column: Option<u64>,
    annotation_level: String,
    message: String,
    title: Option<String>,
    raw_details: Option<String>,
}

#[derive(Deserialize)]
struct GivenButton {
    label: String,
    description: String,
    identifier: String,
}

fn unknown(field: &str, value: &str) -> Refused {
    Refused::unprocessable(format!(
        "Invalid request.\n\n{value} is not a valid {field}."
    ))
}

impl Given {
    fn change(self, now: Timestamp) -> Result<CheckChange, Refused> {
        let progress = self.progress(now)?;
        let output = self.output.map(GivenOutput::read).transpose()?;
        let button = |GivenButton {
                          label,
                          description,
                          identifier,
                      }| Button {
            label,
            description,
            identifier,
        };
        let actions = self
            .actions
            .map(|actions| actions.into_iter().map(button).collect());
        let (name, external_id, details_url) = (self.name, self.external_id, self.details_url);
        Ok(CheckChange {
            name,
            progress,
            external_id,
            details_url,
            output,
            actions,
        })
    }

    /// A conclusion completes a run whatever status is given (docs.github.com, REST, Create a check run).
    fn progress(&self, now: Timestamp) -> Result<Option<Progress>, Refused> {
        let at = self.completed_at.unwrap_or(now);
        if let Some(word) = &self.conclusion {
            let conclusion =
                Conclusion::parse(word).filter(|conclusion| *conclusion != Conclusion::Stale);
            let conclusion = conclusion.ok_or_else(|| unknown("conclusion", word))?;
            return Ok(Some(Progress::Completed { conclusion, at }));
        }
        match self.status.as_deref() {
            None => Ok(None),
            Some("queued") => Ok(Some(Progress::Queued)),
            Some("in_progress") => Ok(Some(Progress::InProgress)),
            Some("completed") => Err(Refused::unprocessable(
                "Invalid request.\n\nMissing required key: conclusion",
            )),
            Some(word) => Err(unknown("status", word)),
        }
    }
}

impl GivenOutput {
    fn read(self) -> Result<Output, Refused> {
        let annotation = |given: GivenAnnotation| {
            let level = AnnotationLevel::parse(&given.annotation_level);
            Ok(Annotation {
                level: level.ok_or_else(|| unknown("annotation_level", &given.annotation_level))?,
                path: given.path,
                start_line: given.start_line,
                end_line: given.end_line,
                start_column: given.start_column,
                end_column: given.end_column,
                message: given.message,
                title: given.title,
                raw_details: given.raw_details,
            })
        };
        let annotations = self
            .annotations
            .into_iter()
            .map(annotation)
            .collect::<Result<_, Refused>>()?;
        Ok(Output {
            title: self.title,
            summary: Some(self.summary),
            text: self.text,
            annotations,
        })
    }
}

fn missing(field: &str) -> Refused {
    Refused::unprocessable(format!("Invalid request.\n\n\"{field}\" wasn't supplied."))
}

fn create(world: &mut World, call: &Call) -> Answer {
    let app = app_of(world, call)?;
    let (actor, repo) = call.write(world, WRITE)?;
    let given: Given = call.json()?;
    let sha = given.head_sha.ok_or_else(|| missing("head_sha"))?;
    if given.name.is_none() {
        return Err(missing("name"));
    }
    let change = given.change(world.now())?;
    let id = world.create_check_run(actor, repo, (app, sha), change)?;
    Ok(Reply::created(json::check_run(
        world,
        world.repo(repo)?,
        world.check_run(repo, id)?,
    )))
}

fn run_id(call: &Call) -> Result<CheckRunId, Refused> {
    Ok(CheckRunId::new(call.id("id")?))
}

fn show(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    Ok(Reply::ok(json::check_run(
        world,
        repo,
        world.check_run(repo.id, run_id(call)?)?,
    )))
}

fn update(world: &mut World, call: &Call) -> Answer {
    let app = app_of(world, call)?;
    let (actor, repo) = call.write(world, WRITE)?;
    let (id, given): (_, Given) = (run_id(call)?, call.json()?);
    let change = given.change(world.now())?;
    world.update_check_run(actor, repo, app, id, change)?;
    Ok(Reply::ok(json::check_run(
        world,
        world.repo(repo)?,
        world.check_run(repo, id)?,
    )))
}

fn annotations(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let run = world.check_run(repo.id, run_id(call)?)?;
    let all = run.output.annotations.iter().collect();
    Ok(call.list(all, |annotation| {
        json::annotation(world, repo, run.sha, annotation)
    }))
}

fn rerequest(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    world.rerequest_check_run(actor, repo, run_id(call)?)?;
    Ok(Reply::created(json!({})))
}

/// What the lists of check runs are filtered by; the newest run of each name unless `filter=all`.
fn filtered<'r>(call: &Call, runs: impl Iterator<Item = &'r CheckRun>) -> Vec<&'r CheckRun> {
    let wanted = |run: &&CheckRun| {
        call.query("check_name").is_none_or(|name| run.name == name)
            && call
                .query("status")
                .is_none_or(|status| run.progress.status() == status)
            && call
                .query("app_id")
                .is_none_or(|app| run.app.to_string() == app)
    };
    let runs = runs.filter(wanted);
    if call.query("filter") == Some("all") {
        runs.collect()
    } else {
        latest(runs)
    }
}

pub(super) fn runs_of_ref(world: &mut World, call: &Call, name: &str) -> Answer {
    let id = call.read(world, READ)?;
    let (repo, sha) = (world.repo(id)?, world.commit_named(id, name)?);
    let runs = filtered(call, repo.check_runs.values().filter(|run| run.sha == sha));
    Ok(call.counted_list("check_runs", runs, |run| json::check_run(world, repo, run)))
}

fn runs_of_suite(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let suite = SuiteId(call.id("id")?);
    let runs = filtered(
        call,
        repo.check_runs.values().filter(|run| run.suite == suite),
    );
    Ok(call.counted_list("check_runs", runs, |run| json::check_run(world, repo, run)))
}

pub(super) fn suites_of_ref(world: &mut World, call: &Call, name: &str) -> Answer {
    let id = call.read(world, READ)?;
    let (repo, sha) = (world.repo(id)?, world.commit_named(id, name)?);
    let by_app = |app: AppId| {
        call.query("app_id")
            .is_none_or(|wanted| app.to_string() == wanted)
    };
    let suites = repo
        .suites
        .values()
        .filter(|suite| suite.sha == sha && by_app(suite.app))
        .collect();
    Ok(call.counted_list("check_suites", suites, |suite| {
        json::check_suite(world, repo, suite)
    }))
}

fn show_suite(world: &mut World, call: &Call) -> Answer {
    let repo = world.repo(call.read(world, READ)?)?;
    let suite = repo
        .suites
        .get(&SuiteId(call.id("id")?))
        .ok_or_else(Refused::not_found)?;
    Ok(Reply::ok(json::check_suite(world, repo, suite)))
}

fn rerequest_suite(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE)?;
    world.rerequest_suite(actor, repo, SuiteId(call.id("id")?))?;
    Ok(Reply::created(json!({})))
}

#[derive(Deserialize)]
struct NewStatus {
    state: String,
    #[serde(default = "default_context")]
    context: String,
    description: Option<String>,
    target_url: Option<String>,
}

fn default_context() -> String {
    "default".to_owned()
}

fn create_status(world: &mut World, call: &Call) -> Answer {
    let (actor, repo) = call.write(world, WRITE_STATUS)?;
    let (sha, new): (_, NewStatus) = (call.sha("sha")?, call.json()?);
    let state = StatusState::parse(&new.state)
        .ok_or_else(|| Refused::invalid("Status", "state", "invalid"))?;
    let status = world.set_status(
        actor,
        repo,
        sha,
        (&new.context, state),
        (new.description, new.target_url),
    )?;
    Ok(Reply::created(json::status(
        world,
        world.repo(repo)?,
        &status,
    )))
}

pub(super) fn combined(world: &mut World, call: &Call, name: &str) -> Answer {
    let id = call.read(world, READ_STATUS)?;
    let (repo, sha) = (world.repo(id)?, world.commit_named(id, name)?);
    let mut newest: Vec<&CommitStatus> = Vec::new();
    for status in repo
        .statuses
        .iter()
        .rev()
        .filter(|status| status.sha == sha)
    {
        if newest.iter().all(|seen| seen.context != status.context) {
            newest.push(status);
        }
    }
    Ok(Reply::ok(json::combined_status(world, repo, sha, &newest)))
}

pub(super) fn statuses(world: &mut World, call: &Call, name: &str) -> Answer {
    let id = call.read(world, READ_STATUS)?;
    let (repo, sha) = (world.repo(id)?, world.commit_named(id, name)?);
    let all = repo
        .statuses
        .iter()
        .rev()
        .filter(|status| status.sha == sha)
        .collect();
    Ok(call.list(all, |status| json::status(world, repo, status)))
}
