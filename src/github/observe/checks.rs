//! Check runs and commit statuses of a commit: ours, other people's, and other people's with our names; and the logs of
//! failed jobs of GitHub Actions behind checks that the policy follows.

use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::Value;

use super::surface::OwnCheckRun;
use crate::github::{
    client::marker::Digest,
    client::{
        Client, LONGEST_LOG,
        error::{Error, OrAbsent as _, Result},
        repo::Repo,
        wire::{CheckRun, WireStep},
    },
};
use loopgate_core::{
    CheckName, CheckRunId, Sha, Timestamp,
    concerns::checks::{CheckStanding, external},
    evidence::{CheckEvidence, CheckKind},
    observed::{
        Annotation, AnnotationLevel, AppIdentity, ChangedFiles, CheckProgress, Conclusion,
        ExternalCheck, ForgedCheck, JobOutput, Listing, ObservationProblem, OwnCheck,
    },
    policy::{CheckSource, ExternalSource, ReadLogs, VerifyPolicy},
};
use loopgate_reports::{
    ReadOptions,
    joblog::{GreenLog, Job, JobStep, LogTail},
};

/// Pages of check runs and of statuses read at most.
const MOST_PAGES: usize = 10;
/// Failing checks whose annotations are read, and pages of each.
pub(super) const MOST_ANNOTATED: usize = 10;
const ANNOTATION_PAGES: usize = 2;

#[derive(Deserialize)]
struct WireStatus {
    context: String,
    state: String,
    target_url: Option<String>,
    description: Option<String>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
}

/// What is on one commit.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub own: Vec<OwnCheckRun>,
    pub external: Vec<ExternalCheck>,
    pub forged: Vec<ForgedCheck>,
    pub problems: Vec<ObservationProblem>,
    /// Annotations that can be read, by the external check's place in the list.
    annotated: Vec<(usize, u64)>,
}

/// Reads both kinds of check of a commit.
pub(super) async fn read(repo: Repo<'_>, commit: Sha, us: &AppIdentity) -> Result<Checks> {
    let base = repo.path(format!("commits/{commit}"));
    let (runs_path, status_path) = (format!("{base}/check-runs"), format!("{base}/status"));
    let runs = repo.list_with_created::<CheckRun>(&runs_path, MOST_PAGES, |run| run.id.get());
    let statuses = repo.list::<WireStatus>(&status_path, MOST_PAGES);
    let (runs, statuses) = futures::join!(runs, statuses);
    let mut checks = Checks::default();
    for run in checks.tolerated("check runs", runs)? {
        checks.add_run(run, us);
    }
    for status in checks.tolerated("commit statuses", statuses)? {
        checks.add_status(status);
    }
    Ok(checks)
}

/// Reads the check runs of a commit, without its statuses.
pub(super) async fn read_runs(repo: Repo<'_>, commit: Sha, us: &AppIdentity) -> Result<Checks> {
    let path = repo.path(format!("commits/{commit}/check-runs"));
    let mut checks = Checks::default();
    for run in repo
        .list_with_created::<CheckRun>(&path, MOST_PAGES, |run| run.id.get())
        .await?
        .items
    {
        checks.add_run(run, us);
    }
    Ok(checks)
}

impl Checks {
    /// A list, or nothing and the reason where it may not be read.
    fn tolerated<T>(&mut self, what: &str, listing: Result<Listing<T>>) -> Result<Vec<T>> {
        let Some(listing) = listing.or_noted(what, &mut self.problems)? else {
            return Ok(Vec::new());
        };
        if !listing.is_complete {
            self.problems.push(too_many(what));
        }
        Ok(listing.items)
    }

    fn add_run(&mut self, run: CheckRun, us: &AppIdentity) {
        let progress = progress(&run.status, run.conclusion.as_deref(), run.completed_at);
        let annotations = run
            .output
            .as_ref()
            .and_then(|output| output.annotations_count);
        // The jobs of all workflows are check runs of the same App, and theirs have an `external_id` of GitHub's
        // making.
        let is_signed = run.external_id.as_deref().and_then(Digest::parse).is_some();
        let is_of_our_app = run.app.as_ref().is_some_and(|app| app.id == us.id);
        let is_ours = is_of_our_app && (!us.is_actions() || is_signed);
        match OwnCheck::named(&run.name) {
            Some(_) if is_ours => self.own.push(OwnCheckRun {
                id: run.id,
                name: run.name,
                progress,
                external_id: run.external_id,
                annotations: annotations.unwrap_or(0),
            }),
            Some(_) => {
                let app = run.app.and_then(|app| app.slug);
                self.forged.push(ForgedCheck {
                    name: run.name,
                    app,
                    url: run.html_url,
                });
            }
            None => {
                if annotations != Some(0) {
                    self.annotated
                        .push((self.external.len(), annotations.unwrap_or(0)));
                }
                let output = run
                    .output
                    .map(|output| [output.title, output.summary, output.text]);
                let summary: Vec<_> = output
                    .into_iter()
                    .flatten()
                    .flatten()
                    .filter(|text| !text.is_empty())
                    .collect();
                self.external.push(ExternalCheck {
                    id: Some(run.id),
                    name: run.name,
                    app: run.app.and_then(|app| app.slug),
                    progress,
                    started_at: run.started_at,
                    url: run.html_url,
                    annotations: Vec::new(),
                    summary: (!summary.is_empty()).then(|| summary.join("\n\n")),
                    output: None,
                });
            }
        }
    }

    fn add_status(&mut self, status: WireStatus) {
        if OwnCheck::named(&status.context).is_some() {
            // We never write statuses: a status with our name is forged.
            self.forged.push(ForgedCheck {
                name: status.context,
                app: None,
                url: status.target_url,
            });
            return;
        }
        let conclusion = match status.state.as_str() {
            "success" => Some(Conclusion::Success),
            "failure" | "error" => Some(Conclusion::Failure),
            _ => None,
        };
        let at = status.updated_at;
        self.external.push(ExternalCheck {
            id: None,
            name: status.context,
            app: None,
            progress: conclusion.map_or(CheckProgress::InProgress, |conclusion| {
                CheckProgress::Completed { conclusion, at }
            }),
            started_at: status.created_at,
            url: status.target_url,
            annotations: Vec::new(),
            summary: status.description.filter(|text| !text.is_empty()),
            output: None,
        });
    }

    /// Whether something that the policy maps is here, of which this holds.
    pub(super) fn has_mapped(
        &self,
        verify: &VerifyPolicy,
        is_so: impl Fn(&ExternalCheck) -> bool,
    ) -> bool {
        self.external
            .iter()
            .any(|check| is_so(check) && is_mapped(check, verify))
    }

    /// What is known of a check of the policy here, once all of it has ended.
    pub(super) fn evidence(
        &self,
        name: &CheckName,
        kind: CheckKind,
        source: &ExternalSource,
    ) -> Option<CheckEvidence> {
        let unchanged = ChangedFiles::Complete(Vec::new());
        match external::standing(&self.external, name, kind, source, &unchanged) {
            CheckStanding::Done(evidence) => Some(*evidence),
            _ => None,
        }
    }

    /// Reads the annotations of failing checks that the policy maps to a kind: they are its failures, unless a job's
    /// log names them.
    pub(super) async fn annotate(
        &mut self,
        repo: Repo<'_>,
        verify: &VerifyPolicy,
        most: usize,
    ) -> Result<()> {
        let wanted = |check: &ExternalCheck| {
            let is_explained = check
                .output
                .as_ref()
                .is_some_and(|output| !output.failures.is_empty());
            has_failed(check) && is_mapped(check, verify) && !is_explained
        };
        let places = self
            .annotated
            .iter()
            .filter(|(place, _)| self.external.get(*place).is_some_and(wanted));
        let reads = places.take(most).filter_map(|(place, count)| {
            let check = self.external.get(*place)?;
            Some(async move { Ok::<_, Error>((*place, annotations(repo, check, *count).await?)) })
        });
        for (place, annotations) in futures::future::try_join_all(reads).await? {
            if let Some(check) = self.external.get_mut(place) {
                check.annotations = annotations;
            }
        }
        Ok(())
    }
}

pub(super) const fn has_failed(check: &ExternalCheck) -> bool {
    use Conclusion::{ActionRequired, Failure, StartupFailure, TimedOut};
    let CheckProgress::Completed { conclusion, .. } = check.progress else {
        return false;
    };
    matches!(
        conclusion,
        Failure | TimedOut | ActionRequired | StartupFailure
    )
}

/// That a list is longer than what is read of it.
pub(super) fn too_many(what: &str) -> ObservationProblem {
    ObservationProblem {
        what: what.to_owned(),
        reason: "there are too many to read them all".to_owned(),
    }
}

/// Whether the policy takes this check for one of its own.
pub(super) fn is_mapped(check: &ExternalCheck, verify: &VerifyPolicy) -> bool {
    verify.checks.values().any(|policy| match &policy.source {
        CheckSource::External(source) => source.takes(check),
        CheckSource::Command(_) | CheckSource::Reviewer(_) => false,
    })
}

/// The annotations of a check run that has ended: kept for as long as it ended then, with so many.
async fn annotations(repo: Repo<'_>, check: &ExternalCheck, count: u64) -> Result<Vec<Annotation>> {
    let Some(id) = check.id else {
        return Ok(Vec::new());
    };
    let ended = match check.progress {
        CheckProgress::Completed { at: Some(at), .. } => at.timestamp(),
        _ => 0,
    };
    let path = repo.path(format!("check-runs/{id}/annotations"));
    let read = async || {
        // The annotations of a failing check are useful, but not required.
        let listed = repo
            .list::<Value>(&path, ANNOTATION_PAGES)
            .await
            .or_refused()?;
        Ok(listed.map(|listed| listed.items).unwrap_or_default())
    };
    let listed = repo
        .once(&format!("{path}@{ended}-{count}"), |_| true, read)
        .await?;
    let annotation = |wire: &Value| {
        let text = |key: &str| wire[key].as_str().unwrap_or_default().to_owned();
        Some(Annotation {
            path: wire["path"].as_str()?.to_owned(),
            line: wire["start_line"].as_u64()?.try_into().ok()?,
            level: AnnotationLevel::of_word(&text("annotation_level"))
                .unwrap_or(AnnotationLevel::Notice),
            title: Some(text("title")).filter(|title| !title.is_empty()),
            message: text("message"),
        })
    };
    Ok(listed.iter().filter_map(annotation).collect())
}

/// A status and conclusion in GitHub's words. Unknown ones count as the weakest: still running, or neutral.
pub(super) fn progress(
    status: &str,
    conclusion: Option<&str>,
    at: Option<Timestamp>,
) -> CheckProgress {
    match status {
        "completed" => {
            let conclusion = conclusion
                .and_then(Conclusion::of_word)
                .unwrap_or(Conclusion::Neutral);
            CheckProgress::Completed { conclusion, at }
        }
        "queued" | "waiting" | "requested" | "pending" => CheckProgress::Queued,
        _ => CheckProgress::InProgress,
    }
}

/// Failed jobs of one head whose logs are read.
const MOST_LOGS: usize = 4;
/// The App whose check runs are jobs.
const ACTIONS: &str = "github-actions";
/// How long GitHub may not show the log of a job that has ended.
const STORED_WITHIN: TimeDelta = TimeDelta::minutes(5);
/// Steps of a job that are looked at.
const MOST_STEPS: usize = 1_000;

impl Checks {
    /// Reads the logs of failed jobs into their checks, compared with those of the same jobs that passed among
    /// `others`. Whether one is not there yet: then it is asked for again.
    pub(super) async fn read_logs(
        &mut self,
        repo: Repo<'_>,
        verify: &VerifyPolicy,
        is_private: bool,
        others: &[ExternalCheck],
    ) -> Result<bool> {
        let is_read = match verify.logs {
            ReadLogs::On => true,
            ReadLogs::Private => is_private,
            ReadLogs::Off => false,
        };
        let is_job =
            |check: &ExternalCheck| check.app.as_deref() == Some(ACTIONS) && check.id.is_some();
        let is_wanted = |check: &ExternalCheck| {
            is_read && is_job(check) && has_failed(check) && is_mapped(check, verify)
        };
        let mut wanted: Vec<usize> = (0..self.external.len())
            .filter(|at| is_wanted(&self.external[*at]))
            .collect();
        // Of jobs with one name the newest counts.
        wanted.sort_by_key(|at| {
            (
                self.external[*at].name.clone(),
                std::cmp::Reverse(self.external[*at].id),
            )
        });
        wanted.dedup_by_key(|at| self.external[*at].name.clone());
        let rest = wanted.split_off(wanted.len().min(MOST_LOGS));
        if !rest.is_empty() {
            let names: Vec<&str> = rest
                .iter()
                .map(|at| self.external[*at].name.as_str())
                .collect();
            let reason = format!(
                "the logs of {MOST_LOGS} failed jobs of a head are read, and there are more"
            );
            self.problems.push(ObservationProblem {
                what: format!("the logs of {}", names.join(", ")),
                reason,
            });
        }
        let mut is_awaited = false;
        // One after the other: each may take as much memory as all others.
        for at in wanted {
            let check = &mut self.external[at];
            let has_passed = |it| {
                matches!(
                    it,
                    CheckProgress::Completed {
                        conclusion: Conclusion::Success,
                        ..
                    }
                )
            };
            let green = others.iter().find(|other| {
                other.name == check.name && has_passed(other.progress) && is_job(other)
            });
            match output(repo, check, green.and_then(|green| green.id)).await? {
                Ok(Some(output)) => {
                    if output.is_cut {
                        let what = format!("all of the log of {}", check.name);
                        let reason = format!("it is longer than {} MB", LONGEST_LOG >> 20);
                        self.problems.push(ObservationProblem { what, reason });
                    }
                    check.output = Some(output);
                }
                Ok(None) => is_awaited = true,
                Err(reason) => {
                    let what = format!("the log of {}", check.name);
                    self.problems.push(ObservationProblem { what, reason });
                }
            }
        }
        Ok(is_awaited)
    }
}

/// What a job printed, as soon as GitHub shows it, or why it is never read. Only an answer that was read is remembered,
/// by the job's id: a log never changes.
async fn output(
    repo: Repo<'_>,
    check: &ExternalCheck,
    green: Option<CheckRunId>,
) -> Result<Result<Option<JobOutput>, String>> {
    let Some(id) = check.id else {
        return Ok(Err("it is no job".to_owned()));
    };
    let jobs = repo.path("actions/jobs");
    let path = format!("{jobs}/{id}");
    let key = format!(
        "{path}/output{}",
        green
            .map(|green| format!("-since-{green}"))
            .unwrap_or_default()
    );
    let read = async || {
        let job = repo.get(&path).await?;
        // What it printed when it passed; none if that cannot be read.
        let passed = async {
            let mut kept = LogTail::default();
            repo.read_log(&format!("{jobs}/{}/logs", green?), &mut kept)
                .await
                .ok()?;
            tokio::task::spawn_blocking(move || GreenLog::of(&kept.into_text()))
                .await
                .ok()
        };
        read_job(&repo, &path, check, job, passed.await).await
    };
    match repo.once(&key, |_| true, read).await {
        Ok(output) => Ok(Ok(Some(output))),
        Err(Error::NotFound { .. }) => match check.progress {
            CheckProgress::Completed { at: Some(at), .. } if repo.now() - at < STORED_WITHIN => {
                Ok(Ok(None))
            }
            _ => Ok(Err("GitHub has it no longer".to_owned())),
        },
        // A log is welcome, and not needed.
        Err(error @ (Error::Unavailable { .. } | Error::Unreadable { .. })) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => error.refusal().map(|error| Err(error.to_string())),
    }
}

async fn read_job(
    client: &Client,
    path: &str,
    check: &ExternalCheck,
    wire: CheckRun,
    green: Option<GreenLog>,
) -> Result<JobOutput> {
    let step = |wire: WireStep| {
        let ended = match progress(
            wire.status.as_deref().unwrap_or("queued"),
            wire.conclusion.as_deref(),
            None,
        ) {
            CheckProgress::Completed { conclusion, .. } => {
                wire.conclusion.is_some().then_some(conclusion)
            }
            CheckProgress::Queued | CheckProgress::InProgress => None,
        };
        JobStep {
            name: wire.name,
            conclusion: ended,
            started_at: wire.started_at,
            completed_at: wire.completed_at,
        }
    };
    let steps: Vec<JobStep> = wire.steps.into_iter().take(MOST_STEPS).map(step).collect();
    let name = check.name.clone();
    let mut kept = LogTail::within(
        Job {
            steps: &steps,
            ..Job::default()
        }
        .bounds(),
    );
    let is_longer = client.read_log(&format!("{path}/logs"), &mut kept).await?;
    let read = tokio::task::spawn_blocking(move || {
        let job = Job {
            name: &name,
            log: wire.html_url.as_deref(),
            steps: &steps,
        };
        job.read(kept, green.as_ref(), &ReadOptions::default())
    });
    let unreadable = |error: tokio::task::JoinError| Error::Unreadable {
        path: path.to_owned(),
        message: error.to_string(),
    };
    let log = read.await.map_err(unreadable)?;
    let (mut failures, findings, not_kept) = match log.report {
        Some(report) => (report.failures, report.findings, report.failures_not_kept),
        None => Default::default(),
    };
    failures.extend(log.tasks);
    if failures.is_empty() {
        failures.extend(log.failure);
    }
    Ok(JobOutput {
        failures,
        failures_not_kept: not_kept,
        findings,
        excerpt: log.excerpt,
        is_cut: is_longer,
    })
}
