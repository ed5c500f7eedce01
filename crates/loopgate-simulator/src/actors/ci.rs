//! What CI systems do: check runs, statuses, workflow runs.

use super::spec::{CheckSpec, RunSpec};
use crate::{
    Refused, Simulator,
    config::OWNER,
    hooks::Webhooks,
    operations::{checks::CheckChange, runs::NewRun},
    world::{
        RepoId, World,
        app::Actor,
        checks::{Conclusion, Output, Progress, StatusState},
        runs::JobLog,
    },
};
use loopgate_core::{CheckRunId, RepoName, Sha, WorkflowRunId};

/// An App that reports on commits.
#[derive(Clone)]
pub struct Ci {
    sim: Simulator,
    slug: String,
}

impl Ci {
    pub(super) fn new(sim: Simulator, slug: &str) -> Self {
        Self {
            sim,
            slug: slug.to_owned(),
        }
    }

    fn act<T>(
        &self,
        repo: &RepoName,
        operation: impl FnOnce(&mut World, Actor, RepoId) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        self.sim.operation(Webhooks::Sent, |world| {
            let repo = world.repo_named(repo)?;
            let app = world.app_by_slug(&self.slug)?.id;
            let actor = Actor::App(world.installation_for(app, repo)?.id);
            operation(world, actor, repo)
        })
    }

    /// Makes a check run on a commit.
    pub fn check_run(
        &self,
        repo: &RepoName,
        sha: Sha,
        spec: CheckSpec,
    ) -> Result<CheckRunId, Refused> {
        self.act(repo, |world, actor, repo| {
            let app = world.app_by_slug(&self.slug)?.id;
            let progress = match spec.conclusion {
                Some(conclusion) => Some(Progress::Completed {
                    conclusion,
                    at: world.now(),
                }),
                None => spec.progress,
            };
            let output = Output {
                title: spec.title,
                summary: spec.summary,
                text: None,
                annotations: spec.annotations,
            };
            let change = CheckChange {
                name: Some(spec.name),
                progress,
                output: Some(output),
                actions: Some(spec.actions),
                ..CheckChange::default()
            };
            world.create_check_run(actor, repo, (app, sha), change)
        })
    }

    /// Ends a check run that goes on.
    pub fn conclude(
        &self,
        repo: &RepoName,
        check_run: CheckRunId,
        conclusion: Conclusion,
    ) -> Result<(), Refused> {
        self.act(repo, |world, actor, repo| {
            let app = world.app_by_slug(&self.slug)?.id;
            let progress = Some(Progress::Completed {
                conclusion,
                at: world.now(),
            });
            world.update_check_run(
                actor,
                repo,
                app,
                check_run,
                CheckChange {
                    progress,
                    ..CheckChange::default()
                },
            )
        })
    }

    pub fn status(
        &self,
        repo: &RepoName,
        sha: Sha,
        context: &str,
        state: StatusState,
    ) -> Result<(), Refused> {
        self.act(repo, |world, actor, repo| {
            world
                .set_status(actor, repo, sha, (context, state), (None, None))
                .map(drop)
        })
    }
}

impl Simulator {
    /// Runs a workflow from start to end: `requested`, `in_progress`, its job's check run, artifacts, `completed`.
    pub fn workflow_run(
        &self,
        repo: &RepoName,
        spec: RunSpec,
        conclusion: Conclusion,
    ) -> Result<WorkflowRunId, Refused> {
        let artifacts = spec.artifacts.clone();
        let id = self.start_workflow(repo, spec)?;
        self.finish_workflow(repo, id, conclusion, artifacts)?;
        Ok(id)
    }

    /// Starts a workflow run and leaves it in progress; without jobs it stays queued.
    pub fn start_workflow(&self, repo: &RepoName, spec: RunSpec) -> Result<WorkflowRunId, Refused> {
        self.operation(Webhooks::Sent, |world| {
            let id = world.repo_named(repo)?;
            let found = world.repo(id)?;
            let pull = found.issues.values().find_map(|issue| {
                issue
                    .pull
                    .as_ref()
                    .filter(|pull| pull.head.sha == spec.sha)
                    .map(|pull| (issue.author, pull))
            });
            let (actor, branch, head_repo) = match pull {
                Some((author, pull)) => (
                    author,
                    pull.head.branch.clone(),
                    pull.head.repo.unwrap_or(id),
                ),
                None => {
                    let at = |(name, sha): (&String, &Sha)| {
                        (*sha == spec.sha)
                            .then(|| name.strip_prefix("refs/heads/").map(str::to_owned))
                            .flatten()
                    };
                    let branch = found
                        .refs
                        .iter()
                        .find_map(at)
                        .unwrap_or_else(|| found.default_branch.clone());
                    (world.user_id(OWNER)?, branch, id)
                }
            };
            let RunSpec {
                sha,
                path,
                name,
                event,
                jobs,
                ..
            } = spec;
            world.start_run(
                id,
                NewRun {
                    name,
                    path,
                    event,
                    sha,
                    branch,
                    head_repo,
                    actor,
                    jobs,
                },
            )
        })
    }

    /// Ends one job of a workflow run that goes on.
    pub fn finish_job(
        &self,
        repo: &RepoName,
        run: WorkflowRunId,
        job: &str,
        conclusion: Conclusion,
    ) -> Result<(), Refused> {
        self.operation(Webhooks::Sent, |world| {
            let repo = world.repo_named(repo)?;
            world.finish_job(repo, run, job, conclusion)
        })
    }

    /// The runner of a job is not heard from again: GitHub gives the job up.
    pub fn lose_runner(
        &self,
        repo: &RepoName,
        run: WorkflowRunId,
        job: &str,
    ) -> Result<(), Refused> {
        let check = self.job(repo, run, job)?;
        self.operation(Webhooks::Sent, |world| {
            let repo = world.repo_named(repo)?;
            world.run_mut(repo, run)?.cut_off.push(check);
            world.finish_job(repo, run, job, Conclusion::Failure)
        })
    }

    /// What a job printed; its log is served with it.
    pub fn print(&self, repo: &RepoName, check: CheckRunId, log: JobLog) -> Result<(), Refused> {
        self.operation(Webhooks::Sent, |world| {
            let repo = world.repo_named(repo)?;
            world.repo_mut(repo)?.job_logs.insert(check, log);
            Ok(())
        })
    }

    /// The newest check run of a job: what `job.check_run_id` is to its steps.
    pub fn job(
        &self,
        repo: &RepoName,
        run: WorkflowRunId,
        job: &str,
    ) -> Result<CheckRunId, Refused> {
        self.operation(Webhooks::Sent, |world| {
            let repo = world.repo_named(repo)?;
            let (found, run) = (world.repo(repo)?, world.workflow_run(repo, run)?);
            let mut newest = run
                .executions
                .iter()
                .rev()
                .filter_map(|(check, _)| found.check_runs.get(check));
            newest
                .find(|check| check.name == job)
                .map(|check| check.id)
                .ok_or_else(Refused::not_found)
        })
    }

    /// Ends a workflow run, or another attempt of it after a re-run.
    pub fn finish_workflow(
        &self,
        repo: &RepoName,
        run: WorkflowRunId,
        conclusion: Conclusion,
        artifacts: Vec<(String, bytes::Bytes)>,
    ) -> Result<(), Refused> {
        self.operation(Webhooks::Sent, |world| {
            let repo = world.repo_named(repo)?;
            world.finish_run(repo, run, conclusion, artifacts)
        })
    }
}
