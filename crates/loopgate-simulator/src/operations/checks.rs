//! Check runs, their buttons, commit statuses.

use serde_json::json;

use crate::{
    hooks::Event,
    json,
    refused::Refused,
    world::{
        RepoId, SuiteId, World,
        account::Role,
        app::Actor,
        checks::{
            Button, CheckRun, CheckSuite, CommitStatus, Conclusion, Output, Progress, StatusState,
        },
        journal::What,
        repo::Repo,
    },
};
use loopgate_core::{AppId, CheckRunId, Sha};

/// What a check run is created or updated with; what is none stays as it was.
#[derive(Clone, Debug, Default)]
pub struct CheckChange {
    pub name: Option<String>,
    pub progress: Option<Progress>,
    pub external_id: Option<String>,
    pub details_url: Option<String>,
    pub output: Option<Output>,
    pub actions: Option<Vec<Button>>,
}

/// Limits of docs.github.com, REST, Check runs.
const MAX_ANNOTATIONS: usize = 50;
const MAX_ACTIONS: usize = 3;
const MAX_TEXT: usize = 65_535;

impl CheckChange {
    fn validate(&self) -> Result<(), Refused> {
        let wrong = |what: String| {
            Err(Refused::unprocessable(format!(
                "Invalid request.\n\n{what}"
            )))
        };
        if let Some(actions) = &self.actions {
            if actions.len() > MAX_ACTIONS {
                return wrong(format!(
                    "No more than {MAX_ACTIONS} items are allowed; {} were supplied.",
                    actions.len()
                ));
            }
            for (text, limit) in actions
                .iter()
                .flat_map(|a| [(&a.label, 20), (&a.identifier, 20), (&a.description, 40)])
            {
                if text.chars().count() > limit {
                    return wrong(format!(
                        "Only {limit} characters are allowed; {} were supplied.",
                        text.chars().count()
                    ));
                }
            }
        }
        let Some(output) = &self.output else {
            return Ok(());
        };
        if output.annotations.len() > MAX_ANNOTATIONS {
            let given = output.annotations.len();
            return wrong(format!(
                "No more than {MAX_ANNOTATIONS} items are allowed; {given} were supplied."
            ));
        }
        for text in [&output.summary, &output.text].into_iter().flatten() {
            if text.chars().count() > MAX_TEXT {
                return wrong(format!(
                    "Only {MAX_TEXT} characters are allowed; {} were supplied.",
                    text.chars().count()
                ));
            }
        }
        Ok(())
    }
}

impl World {
    /// The App's suite for a commit, made if there is none.
    pub fn suite_for(
        &mut self,
        repo: RepoId,
        app: AppId,
        sha: Sha,
        branch: Option<&str>,
    ) -> Result<SuiteId, Refused> {
        let now = self.now();
        if let Some(there) = self
            .repo(repo)?
            .suites
            .values()
            .find(|suite| suite.app == app && suite.sha == sha)
        {
            return Ok(there.id);
        }
        let id = SuiteId(self.sequence.number());
        let found = self.repo_mut(repo)?;
        let guess = || {
            found
                .refs
                .iter()
                .find(|(name, at)| **at == sha && name.starts_with("refs/heads/"))
        };
        let branch = branch
            .or_else(|| guess()?.0.strip_prefix("refs/heads/"))
            .map(str::to_owned);
        found.suites.insert(
            id,
            CheckSuite {
                id,
                app,
                sha,
                branch,
                created_at: now,
                updated_at: now,
            },
        );
        Ok(id)
    }

    /// A suite's status and conclusion follow from the newest run of each name in it.
    pub fn suite_state(
        &self,
        repo: &Repo,
        suite: &CheckSuite,
    ) -> (&'static str, Option<Conclusion>) {
        let runs = latest(repo.check_runs.values().filter(|run| run.suite == suite.id));
        let conclusions: Option<Vec<_>> =
            runs.iter().map(|run| run.progress.conclusion()).collect();
        match conclusions {
            _ if runs.is_empty() => ("queued", None),
            None if runs.iter().all(|run| run.progress == Progress::Queued) => ("queued", None),
            None => ("in_progress", None),
            Some(conclusions) => (
                "completed",
                WORST_FIRST
                    .into_iter()
                    .find(|worst| conclusions.contains(worst)),
            ),
        }
    }

    pub fn create_check_run(
        &mut self,
        actor: Actor,
        repo: RepoId,
        (app, sha): (AppId, Sha),
        change: CheckChange,
    ) -> Result<CheckRunId, Refused> {
        change.validate()?;
        let found = self.repo(repo)?;
        if self.objects(found).commit(sha).is_none() {
            return Err(Refused::unprocessable(format!(
                "No commit found for SHA: {sha}"
            )));
        }
        let suite = self.suite_for(repo, app, sha, None)?;
        let (id, now) = (CheckRunId::new(self.sequence.number()), self.now());
        let run = CheckRun {
            id,
            suite,
            app,
            sha,
            name: String::new(),
            progress: Progress::Queued,
            started_at: now,
            external_id: String::new(),
            details_url: None,
            output: Output::default(),
            actions: Vec::new(),
        };
        self.repo_mut(repo)?.check_runs.insert(id, run);
        self.apply_check_change(repo, id, change)?;
        self.record_check(actor, repo, id)?;
        self.check_event("created", actor, repo, id)?;
        self.check_completed(actor, repo, id)?;
        Ok(id)
    }

    /// Only the App that made a check run may change it.
    pub fn update_check_run(
        &mut self,
        actor: Actor,
        repo: RepoId,
        app: AppId,
        id: CheckRunId,
        change: CheckChange,
    ) -> Result<(), Refused> {
        change.validate()?;
        let run = self.check_run(repo, id)?;
        if run.app != app {
            let message = format!(
                "Invalid app_id `{app}` - check run can only be modified by the GitHub App that created it."
            );
            return Err(Refused::forbidden(message));
        }
        let was_completed = run.progress.conclusion().is_some();
        self.apply_check_change(repo, id, change)?;
        self.record_check(actor, repo, id)?;
        if was_completed {
            return Ok(());
        }
        self.check_completed(actor, repo, id)
    }

    pub fn check_run(&self, repo: RepoId, id: CheckRunId) -> Result<&CheckRun, Refused> {
        self.repo(repo)?
            .check_runs
            .get(&id)
            .ok_or_else(Refused::not_found)
    }

    fn apply_check_change(
        &mut self,
        repo: RepoId,
        id: CheckRunId,
        change: CheckChange,
    ) -> Result<(), Refused> {
        let now = self.now();
        let found = self.repo_mut(repo)?;
        let run = found
            .check_runs
            .get_mut(&id)
            .ok_or_else(Refused::not_found)?;
        let CheckChange {
            name,
            progress,
            external_id,
            details_url,
            output,
            actions,
        } = change;
        run.name = name.unwrap_or_else(|| std::mem::take(&mut run.name));
        run.progress = progress.unwrap_or(run.progress);
        run.external_id = external_id.unwrap_or_else(|| std::mem::take(&mut run.external_id));
        run.details_url = details_url.or_else(|| run.details_url.take());
        run.actions = actions.unwrap_or_else(|| std::mem::take(&mut run.actions));
        if let Some(output) = output {
            // Annotations are added to those of earlier requests (docs.github.com, REST, Update a check run).
            let mut annotations = std::mem::take(&mut run.output.annotations);
            annotations.extend(output.annotations);
            let text = output.text.or_else(|| run.output.text.take());
            let (title, summary) = (
                output.title.or_else(|| run.output.title.take()),
                output.summary,
            );
            run.output = Output {
                title,
                summary,
                text,
                annotations,
            };
        }
        let suite = run.suite;
        if let Some(suite) = found.suites.get_mut(&suite) {
            suite.updated_at = now;
        }
        Ok(())
    }

    fn record_check(&mut self, actor: Actor, repo: RepoId, id: CheckRunId) -> Result<(), Refused> {
        let run = self.check_run(repo, id)?;
        let (name, state) = (
            run.name.clone(),
            run.progress
                .conclusion()
                .map_or(run.progress.status(), Conclusion::as_str),
        );
        let what = What::CheckRun {
            id,
            sha: run.sha,
            name,
            state: state.to_owned(),
        };
        self.record(actor, repo, None, what);
        Ok(())
    }

    /// Sends a `check_run` event.
    fn check_event(
        &mut self,
        action: &'static str,
        actor: Actor,
        repo: RepoId,
        id: CheckRunId,
    ) -> Result<(), Refused> {
        let payload = self.check_payload(repo, id)?;
        self.emit(Event::in_repo("check_run", action, repo, actor).with("check_run", payload));
        Ok(())
    }

    /// A check run as payloads carry it: with its whole suite.
    fn check_payload(&self, repo: RepoId, id: CheckRunId) -> Result<serde_json::Value, Refused> {
        let (found, run) = (self.repo(repo)?, self.check_run(repo, id)?);
        let mut payload = json::check_run(self, found, run);
        if let Some(suite) = found.suites.get(&run.suite) {
            let mut suite = json::check_suite(self, found, suite);
            if let Some(suite) = suite.as_object_mut() {
                // The repository stands beside it already.
                suite.shift_remove("repository");
            }
            payload["check_suite"] = suite;
        }
        Ok(payload)
    }

    /// `check_run.completed`, and `check_suite.completed` once nothing in the suite is left to do.
    fn check_completed(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: CheckRunId,
    ) -> Result<(), Refused> {
        let run = self.check_run(repo, id)?;
        let suite = run.suite;
        if run.progress.conclusion().is_none() {
            return Ok(());
        }
        self.check_event("completed", actor, repo, id)?;
        let found = self.repo(repo)?;
        let Some(suite) = found.suites.get(&suite) else {
            return Ok(());
        };
        if self.suite_state(found, suite).1.is_some() {
            let payload = json::check_suite(self, found, suite);
            self.emit(
                Event::in_repo("check_suite", "completed", repo, actor)
                    .with("check_suite", payload),
            );
        }
        Ok(())
    }

    /// "Re-run" on a check run's page: its App is asked to do it again.
    pub fn rerequest_check_run(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: CheckRunId,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let app = self.check_run(repo, id)?.app;
        let payload = self.check_payload(repo, id)?;
        self.emit(
            Event::in_repo("check_run", "rerequested", repo, actor)
                .with("check_run", payload)
                .only(app),
        );
        Ok(())
    }

    pub fn rerequest_suite(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: SuiteId,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let found = self.repo(repo)?;
        let suite = found.suites.get(&id).ok_or_else(Refused::not_found)?;
        let (app, payload) = (suite.app, json::check_suite(self, found, suite));
        self.emit(
            Event::in_repo("check_suite", "rerequested", repo, actor)
                .with("check_suite", payload)
                .only(app),
        );
        Ok(())
    }

    /// Somebody with write access presses a check run's button.
    pub fn press_button(
        &mut self,
        actor: Actor,
        repo: RepoId,
        id: CheckRunId,
        identifier: &str,
    ) -> Result<(), Refused> {
        self.need(actor, repo, Role::Write)?;
        let run = self.check_run(repo, id)?;
        let app = run.app;
        if !run
            .actions
            .iter()
            .any(|button| button.identifier == identifier)
        {
            return Err(Refused::not_found());
        }
        let payload = self.check_payload(repo, id)?;
        let event =
            Event::in_repo("check_run", "requested_action", repo, actor).with("check_run", payload);
        self.emit(
            event
                .with("requested_action", json!({ "identifier": identifier }))
                .only(app),
        );
        Ok(())
    }

    pub fn set_status(
        &mut self,
        actor: Actor,
        repo: RepoId,
        sha: Sha,
        (context, state): (&str, StatusState),
        (description, target_url): (Option<String>, Option<String>),
    ) -> Result<CommitStatus, Refused> {
        self.need(actor, repo, Role::Write)?;
        let found = self.repo(repo)?;
        if self.objects(found).commit(sha).is_none() {
            return Err(Refused::unprocessable(format!(
                "No commit found for SHA: {sha}"
            )));
        }
        let (id, created_at, creator) =
            (self.sequence.number(), self.now(), self.account_of(actor));
        let context = context.to_owned();
        let status = CommitStatus {
            id,
            sha,
            context,
            state,
            description,
            target_url,
            creator,
            created_at,
        };
        self.repo_mut(repo)?.statuses.push(status.clone());
        let what = What::Status {
            sha,
            context: status.context.clone(),
            state: state.as_str().to_owned(),
        };
        self.record(actor, repo, None, what);
        self.emit_status(actor, repo, &status)?;
        Ok(status)
    }

    fn emit_status(
        &mut self,
        actor: Actor,
        repo: RepoId,
        status: &CommitStatus,
    ) -> Result<(), Refused> {
        let found = self.repo(repo)?;
        let branches: Vec<_> = found
            .refs
            .iter()
            .filter(|(_, at)| **at == status.sha)
            .filter_map(|(name, sha)| {
                Some(json!({ "name": name.strip_prefix("refs/heads/")?, "commit": { "sha": sha }, "protected": false }))
            })
            .collect();
        let event = Event::plain("status", repo, actor)
            .with("id", status.id)
            .with("sha", status.sha.to_string())
            .with("name", self.full_name(found))
            .with("target_url", status.target_url.clone())
            .with("context", status.context.as_str())
            .with("description", status.description.clone())
            .with("state", status.state.as_str())
            .with("commit", json::commit(self, found, status.sha))
            .with("branches", branches)
            .with("created_at", json::time(status.created_at))
            .with("updated_at", json::time(status.created_at));
        self.emit(event);
        Ok(())
    }
}

/// GitHub shows a suite as its worst run.
const WORST_FIRST: [Conclusion; 8] = [
    Conclusion::Failure,
    Conclusion::TimedOut,
    Conclusion::ActionRequired,
    Conclusion::Cancelled,
    Conclusion::Stale,
    Conclusion::Success,
    Conclusion::Neutral,
    Conclusion::Skipped,
];

/// The newest run of each name and App, in the order of their ids.
pub fn latest<'r>(runs: impl Iterator<Item = &'r CheckRun>) -> Vec<&'r CheckRun> {
    let newest: std::collections::BTreeMap<_, _> = runs
        .map(|run| ((run.app, run.name.as_str()), run))
        .collect();
    let mut newest: Vec<_> = newest.into_values().collect();
    newest.sort_by_key(|run| run.id);
    newest
}
