//! Workflow runs of GitHub Actions.

use bytes::Bytes;
use chrono::TimeDelta;
use serde_json::Value;

use super::checks::CheckChange;
use crate::{
    hooks::Event,
    json,
    refused::Refused,
    world::{
        ArtifactId, RepoId, World,
        account::Role,
        app::Actor,
        checks::{Conclusion, Progress},
        journal::What,
        runs::{Artifact, WorkflowRun},
    },
};
use loopgate_core::{Sha, UserId, WorkflowRunId};

/// What a workflow run is started with.
#[derive(Clone, Debug)]
pub struct NewRun {
    pub name: String,
    pub path: String,
    pub event: String,
    pub sha: Sha,
    pub branch: String,
    pub head_repo: RepoId,
    pub actor: UserId,
    /// The name of its one job, which becomes a check run of GitHub Actions.
    pub job: String,
}

/// The slug of the App in whose name Actions works.
pub const ACTIONS: &str = "github-actions";

impl World {
    /// Starts a run: a check run in progress for its job, then `workflow_run.requested` and `.in_progress`.
    pub fn start_run(&mut self, repo: RepoId, new: NewRun) -> Result<WorkflowRunId, Refused> {
        let actions = self.app_by_slug(ACTIONS)?.id;
        let actor = Actor::Person(new.actor);
        let suite = self.suite_for(repo, actions, new.sha, Some(&new.branch))?;
        let (id, now) = (WorkflowRunId::new(self.sequence.number()), self.now());
        let siblings: Vec<_> = self.repo(repo)?.workflow_runs.values().filter(|run| run.path == new.path).collect();
        let run_number = siblings.len() as u64 + 1;
        let workflow_id = siblings.first().map(|run| run.workflow_id);
        let run = WorkflowRun {
            id,
            workflow_id: workflow_id.unwrap_or_else(|| self.sequence.number()),
            name: new.name,
            path: new.path,
            event: new.event,
            sha: new.sha,
            branch: new.branch,
            head_repo: new.head_repo,
            actor: new.actor,
            suite,
            job: new.job,
            run_number,
            attempt: 1,
            progress: Progress::Queued,
            created_at: now,
            updated_at: now,
        };
        self.repo_mut(repo)?.workflow_runs.insert(id, run);
        self.begin_attempt(actor, repo, id)?;
        Ok(id)
    }

    pub fn workflow_run(&self, repo: RepoId, id: WorkflowRunId) -> Result<&WorkflowRun, Refused> {
        self.repo(repo)?.workflow_runs.get(&id).ok_or_else(Refused::not_found)
    }

    fn run_mut(&mut self, repo: RepoId, id: WorkflowRunId) -> Result<&mut WorkflowRun, Refused> {
        self.repo_mut(repo)?.workflow_runs.get_mut(&id).ok_or_else(Refused::not_found)
    }

    fn begin_attempt(&mut self, actor: Actor, repo: RepoId, id: WorkflowRunId) -> Result<(), Refused> {
        let actions = self.app_by_slug(ACTIONS)?.id;
        self.run_event("requested", actor, repo, id)?;
        let run = self.run_mut(repo, id)?;
        run.progress = Progress::InProgress;
        let (sha, job) = (run.sha, run.job.clone());
        let change = CheckChange { name: Some(job), progress: Some(Progress::InProgress), ..CheckChange::default() };
        self.create_check_run(actor, repo, (actions, sha), change)?;
        self.run_event("in_progress", actor, repo, id)
    }

    /// Ends a run that goes on: its artifacts are there before anybody hears of its end.
    pub fn finish_run(
        &mut self,
        repo: RepoId,
        id: WorkflowRunId,
        conclusion: Conclusion,
        artifacts: Vec<(String, Bytes)>,
    ) -> Result<(), Refused> {
        let now = self.now();
        let actions = self.app_by_slug(ACTIONS)?.id;
        for (name, zip) in artifacts {
            let artifact = ArtifactId(self.sequence.number());
            let expires_at = now + TimeDelta::days(90);
            let entry = Artifact { id: artifact, run: id, name, zip, created_at: now, expires_at };
            self.repo_mut(repo)?.artifacts.insert(artifact, entry);
        }
        let progress = Progress::Completed { conclusion, at: now };
        let run = self.run_mut(repo, id)?;
        (run.progress, run.updated_at) = (progress, now);
        let (actor, suite, job) = (Actor::Person(run.actor), run.suite, run.job.clone());
        let check = self.repo(repo)?.check_runs.values().rfind(|check| check.suite == suite && check.name == job);
        if let Some(check) = check.map(|check| check.id) {
            let change = CheckChange { progress: Some(progress), ..CheckChange::default() };
            self.update_check_run(actor, repo, actions, check, change)?;
        }
        self.run_event("completed", actor, repo, id)
    }

    /// Starts another attempt of a finished run.
    pub fn rerun(&mut self, actor: Actor, repo: RepoId, id: WorkflowRunId) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let now = self.now();
        let run = self.run_mut(repo, id)?;
        if run.progress.conclusion().is_none() {
            return Err(Refused::forbidden("The workflow run is already running"));
        }
        (run.progress, run.attempt, run.updated_at) = (Progress::Queued, run.attempt + 1, now);
        self.begin_attempt(actor, repo, id)
    }

    /// Asks for workflows to be started; here nothing runs, but the journal says so.
    pub fn dispatch(&mut self, actor: Actor, repo: RepoId, event: &str, payload: Value) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        self.record(actor, repo, None, What::Dispatched { event: event.to_owned(), payload });
        Ok(())
    }

    fn run_event(
        &mut self,
        action: &'static str,
        actor: Actor,
        repo: RepoId,
        id: WorkflowRunId,
    ) -> Result<(), Refused> {
        let (found, run) = (self.repo(repo)?, self.workflow_run(repo, id)?);
        let state = run.progress.conclusion().map_or(action, Conclusion::as_str).to_owned();
        let what = What::Workflow { id, sha: run.sha, name: run.name.clone(), state };
        let (told, workflow) = (json::workflow_run(self, found, run), json::workflow(self, found, run));
        self.record(actor, repo, None, what);
        let event = Event::in_repo("workflow_run", action, repo, actor).with("workflow_run", told);
        self.emit(event.with("workflow", workflow));
        Ok(())
    }
}
