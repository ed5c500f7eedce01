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
        checks::{CheckRun, Conclusion, Progress},
        issue::Pull,
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
    /// The names of its jobs, which become check runs of GitHub Actions.
    pub jobs: Vec<String>,
}

/// What another attempt of a run executes.
#[derive(Clone, Copy, Debug)]
pub enum Again<'a> {
    All,
    /// The jobs that did not succeed.
    Failed,
    Job(&'a str),
}

/// The slug of the App in whose name Actions works.
pub const ACTIONS: &str = "github-actions";

impl World {
    /// Starts a run: a check run in progress for each job, then `workflow_run.requested` and `.in_progress`.
    pub fn start_run(&mut self, repo: RepoId, new: NewRun) -> Result<WorkflowRunId, Refused> {
        let actions = self.app_by_slug(ACTIONS)?.id;
        let actor = Actor::Person(new.actor);
        let suite = self.suite_for(repo, actions, new.sha, Some(&new.branch))?;
        let (id, now) = (WorkflowRunId::new(self.sequence.number()), self.now());
        let siblings: Vec<_> = self
            .repo(repo)?
            .workflow_runs
            .values()
            .filter(|run| run.path == new.path)
            .collect();
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
            jobs: new.jobs,
            executions: Vec::new(),
            cut_off: Vec::new(),
            run_number,
            attempt: 1,
            progress: Progress::Queued,
            created_at: now,
            updated_at: now,
        };
        self.repo_mut(repo)?.workflow_runs.insert(id, run);
        self.begin_attempt(actor, repo, id, Again::All)?;
        Ok(id)
    }

    pub fn workflow_run(&self, repo: RepoId, id: WorkflowRunId) -> Result<&WorkflowRun, Refused> {
        self.repo(repo)?
            .workflow_runs
            .get(&id)
            .ok_or_else(Refused::not_found)
    }

    pub fn run_mut(
        &mut self,
        repo: RepoId,
        id: WorkflowRunId,
    ) -> Result<&mut WorkflowRun, Refused> {
        self.repo_mut(repo)?
            .workflow_runs
            .get_mut(&id)
            .ok_or_else(Refused::not_found)
    }

    fn begin_attempt(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: WorkflowRunId,
        again: Again<'_>,
    ) -> Result<(), Refused> {
        let actions = self.app_by_slug(ACTIONS)?.id;
        let jobs = self.jobs_to_execute(repo, id, again)?;
        self.run_event("requested", actor, repo, id)?;
        // A run that waits for its turn has no jobs yet.
        if jobs.is_empty() {
            return Ok(());
        }
        let run = self.run_mut(repo, id)?;
        run.progress = Progress::InProgress;
        let (sha, attempt) = (run.sha, run.attempt);
        for job in jobs {
            let change = CheckChange {
                name: Some(job),
                progress: Some(Progress::InProgress),
                ..CheckChange::default()
            };
            let check = self.create_check_run(actor, repo, (actions, sha), change)?;
            self.run_mut(repo, id)?.executions.push((check, attempt));
        }
        self.run_event("in_progress", actor, repo, id)
    }

    fn jobs_to_execute(
        &self,
        repo: RepoId,
        id: WorkflowRunId,
        again: Again<'_>,
    ) -> Result<Vec<String>, Refused> {
        let (found, run) = (self.repo(repo)?, self.workflow_run(repo, id)?);
        let succeeded = |name: &String| {
            let executions = run
                .executions
                .iter()
                .rev()
                .filter_map(|(check, _)| found.check_runs.get(check));
            let newest = executions.into_iter().find(|check| &check.name == name);
            newest.is_some_and(|check| check.progress.conclusion() == Some(Conclusion::Success))
        };
        let chosen = |name: &&String| match again {
            Again::All => true,
            Again::Failed => !succeeded(name),
            Again::Job(job) => name.as_str() == job,
        };
        Ok(run.jobs.iter().filter(chosen).cloned().collect())
    }

    /// Ends one job of a run that goes on.
    pub fn finish_job(
        &mut self,
        repo: RepoId,
        id: WorkflowRunId,
        job: &str,
        conclusion: Conclusion,
    ) -> Result<(), Refused> {
        let actions = self.app_by_slug(ACTIONS)?.id;
        let actor = Actor::Person(self.workflow_run(repo, id)?.actor);
        let check = self
            .running_jobs(repo, id)?
            .find(|check| check.name == job)
            .map(|check| check.id);
        let progress = Some(Progress::Completed {
            conclusion,
            at: self.now(),
        });
        let change = CheckChange {
            progress,
            ..CheckChange::default()
        };
        self.update_check_run(
            actor,
            repo,
            actions,
            check.ok_or_else(Refused::not_found)?,
            change,
        )
        .map(drop)
    }

    fn running_jobs(
        &self,
        repo: RepoId,
        id: WorkflowRunId,
    ) -> Result<impl Iterator<Item = &CheckRun>, Refused> {
        let (found, run) = (self.repo(repo)?, self.workflow_run(repo, id)?);
        let executions = run
            .executions
            .iter()
            .filter_map(|(check, _)| found.check_runs.get(check));
        Ok(executions.filter(|check| check.progress.conclusion().is_none()))
    }

    /// Ends a run that goes on, and the jobs that still do, in the same way: its artifacts are there before anybody
    /// hears of its end.
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
            let entry = Artifact {
                id: artifact,
                run: id,
                name,
                zip,
                created_at: now,
                expires_at,
            };
            self.repo_mut(repo)?.artifacts.insert(artifact, entry);
        }
        let progress = Progress::Completed {
            conclusion,
            at: now,
        };
        let run = self.run_mut(repo, id)?;
        (run.progress, run.updated_at) = (progress, now);
        let actor = Actor::Person(run.actor);
        let running: Vec<_> = self.running_jobs(repo, id)?.map(|check| check.id).collect();
        for check in running {
            let change = CheckChange {
                progress: Some(progress),
                ..CheckChange::default()
            };
            self.update_check_run(actor, repo, actions, check, change)?;
        }
        self.run_event("completed", actor, repo, id)
    }

    /// Lets a run go that waits for it. GitHub refuses it of branches of the repository itself.
    pub fn approve_run(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: WorkflowRunId,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let now = self.now();
        let sha = self.workflow_run(repo, id)?.sha;
        let of_fork = |pull: &Pull| pull.head.sha == sha && pull.head.repo != Some(repo);
        let from_fork = self
            .repo(repo)?
            .open_pulls()
            .filter_map(|issue| issue.pull.as_ref())
            .any(of_fork);
        let run = self.run_mut(repo, id)?;
        if run.progress.conclusion() != Some(Conclusion::ActionRequired) || !from_fork {
            return Err(Refused::forbidden(
                "This run is not from a fork pull request or does not wait for approval",
            ));
        }
        (run.progress, run.updated_at) = (Progress::Queued, now);
        self.begin_attempt(actor, repo, id, Again::All)
    }

    /// Starts another attempt of a finished run.
    pub fn rerun(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: WorkflowRunId,
        again: Again<'_>,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let now = self.now();
        let run = self.run_mut(repo, id)?;
        if run.progress.conclusion().is_none() {
            return Err(Refused::forbidden("The workflow run is already running"));
        }
        (run.progress, run.attempt, run.updated_at) = (Progress::Queued, run.attempt + 1, now);
        self.begin_attempt(actor, repo, id, again)
    }

    /// Asks for workflows to be started; here nothing runs, but the journal says so.
    pub fn dispatch(
        &mut self,
        actor: Actor,
        repo: RepoId,
        event: &str,
        payload: Value,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        self.record(
            actor,
            repo,
            None,
            What::Dispatched {
                event: event.to_owned(),
                payload,
            },
        );
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
        let state = run
            .progress
            .conclusion()
            .map_or(action, Conclusion::as_str)
            .to_owned();
        let what = What::Workflow {
            id,
            sha: run.sha,
            name: run.name.clone(),
            state,
        };
        let (payload, workflow) = (
            json::workflow_run(self, found, run),
            json::workflow(self, found, run),
        );
        self.record(actor, repo, None, what);
        let event =
            Event::in_repo("workflow_run", action, repo, actor).with("workflow_run", payload);
        self.emit(event.with("workflow", workflow));
        Ok(())
    }
}
