//! The logs of failed jobs of GitHub Actions behind checks that the policy follows.

use chrono::TimeDelta;

use super::checks::{Checks, has_failed, is_mapped, progress};
use crate::github::{
    Client, Error, Repo,
    client::LONGEST_LOG,
    transport::Accept,
    wire::{CheckRun, WireStep},
};
use loopgate_core::{
    CheckRunId, Timestamp,
    observed::{CheckProgress, Conclusion, ExternalCheck, JobOutput, ObservationProblem},
    policy::{ReadLogs, VerifyPolicy},
};
use loopgate_reports::{
    ReadOptions,
    joblog::{GreenLog, Job, JobLog, JobStep, Kept},
};

/// Failed jobs of one head whose logs are read.
const MOST_LOGS: usize = 4;
/// The App whose check runs are jobs.
const ACTIONS: &str = "github-actions";
/// How long GitHub may not show the log of a job that has ended.
const STORED_WITHIN: TimeDelta = TimeDelta::minutes(5);
/// Steps of a job that are looked at.
const MOST_STEPS: usize = 1_000;

/// The outcome of reading one log.
enum Log {
    Read(Box<JobOutput>),
    /// GitHub does not show it yet.
    NotYet,
    /// It is never read, and why.
    Never(String),
}

impl Checks {
    /// Reads the logs of failed jobs into their checks, compared with those of the same jobs that passed among `others`.
    /// Whether one is not there yet: then it is asked for again.
    pub(super) async fn read_logs(
        &mut self,
        repo: Repo<'_>,
        verify: &VerifyPolicy,
        is_private: bool,
        others: &[ExternalCheck],
    ) -> Result<bool, Error> {
        let is_read = match verify.logs {
            ReadLogs::On => true,
            ReadLogs::Private => is_private,
            ReadLogs::Off => false,
        };
        let is_job = |check: &ExternalCheck| check.app.as_deref() == Some(ACTIONS) && check.id.is_some();
        let is_wanted =
            |check: &ExternalCheck| is_read && is_job(check) && has_failed(check) && is_mapped(check, verify);
        let mut wanted: Vec<usize> = (0..self.external.len()).filter(|at| is_wanted(&self.external[*at])).collect();
        // Of jobs with one name the newest speaks.
        wanted.sort_by_key(|at| (self.external[*at].name.clone(), std::cmp::Reverse(self.external[*at].id)));
        wanted.dedup_by_key(|at| self.external[*at].name.clone());
        let rest = wanted.split_off(wanted.len().min(MOST_LOGS));
        if !rest.is_empty() {
            let names: Vec<&str> = rest.iter().map(|at| self.external[*at].name.as_str()).collect();
            let reason = format!("the logs of {MOST_LOGS} failed jobs of a head are read, and there are more");
            self.problems.push(ObservationProblem { what: format!("the logs of {}", names.join(", ")), reason });
        }
        let mut is_awaited = false;
        // One after the other: each may take as much memory as all others.
        for at in wanted {
            let check = &mut self.external[at];
            let has_passed = |it| matches!(it, CheckProgress::Completed { conclusion: Conclusion::Success, .. });
            let green =
                others.iter().find(|other| other.name == check.name && has_passed(other.progress) && is_job(other));
            match output(repo, check, green.and_then(|green| green.id)).await? {
                Log::Read(output) => {
                    if output.is_cut {
                        let what = format!("all of the log of {}", check.name);
                        let reason = format!("it is longer than {} MB", LONGEST_LOG >> 20);
                        self.problems.push(ObservationProblem { what, reason });
                    }
                    check.output = Some(*output);
                }
                Log::NotYet => is_awaited = true,
                Log::Never(reason) => {
                    let what = format!("the log of {}", check.name);
                    self.problems.push(ObservationProblem { what, reason });
                }
            }
        }
        Ok(is_awaited)
    }
}

/// What a job printed. Only an answer that was read is remembered, by the job's id: a log never changes.
async fn output(repo: Repo<'_>, check: &ExternalCheck, green: Option<CheckRunId>) -> Result<Log, Error> {
    let Some(id) = check.id else { return Ok(Log::Never("it is no job".to_owned())) };
    let jobs = repo.path("actions/jobs");
    let path = format!("{jobs}/{id}");
    let known = format!("{path}/output{}", green.map(|green| format!("-since-{green}")).unwrap_or_default());
    let remembered = repo.recall(&known, Accept::Json).and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(output) = remembered {
        return Ok(Log::Read(Box::new(output)));
    }
    let read = match repo.get(&path).await {
        Ok(job) => {
            let green = match green {
                Some(green) => green_log(&repo, &format!("{jobs}/{green}/logs")).await,
                None => None,
            };
            read_job(&repo, &path, check, job, green).await
        }
        Err(error) => Err(error),
    };
    match read {
        Ok(output) => {
            if let Ok(bytes) = serde_json::to_vec(&output) {
                repo.remember(&known, Accept::Json, bytes.into());
            }
            Ok(Log::Read(Box::new(output)))
        }
        Err(Error::NotFound { .. }) if is_young(check, repo.now()) => Ok(Log::NotYet),
        Err(Error::NotFound { .. }) => Ok(Log::Never("GitHub has it no longer".to_owned())),
        // A log is welcome, and not needed.
        Err(error @ (Error::Unavailable { .. } | Error::Unreadable { .. })) => Ok(Log::Never(error.to_string())),
        Err(error) => error.refusal().map(|error| Log::Never(error.to_string())),
    }
}

/// What a job printed when it passed; none if that cannot be read.
async fn green_log(client: &Client, path: &str) -> Option<GreenLog> {
    let mut kept = Kept::default();
    client.read_log(path, &mut kept).await.ok()?;
    tokio::task::spawn_blocking(move || GreenLog::of(&kept.into_text())).await.ok()
}

async fn read_job(
    client: &Client,
    path: &str,
    check: &ExternalCheck,
    wire: CheckRun,
    green: Option<GreenLog>,
) -> Result<JobOutput, Error> {
    let steps: Vec<JobStep> = wire.steps.into_iter().take(MOST_STEPS).map(step).collect();
    let name = check.name.clone();
    let mut kept = Kept::within(Job { steps: &steps, ..Job::default() }.bounds());
    let is_longer = client.read_log(&format!("{path}/logs"), &mut kept).await?;
    let read = tokio::task::spawn_blocking(move || {
        let job = Job { name: &name, log: wire.html_url.as_deref(), steps: &steps };
        job.read(kept, green.as_ref(), &ReadOptions::default())
    });
    let unreadable =
        |error: tokio::task::JoinError| Error::Unreadable { path: path.to_owned(), message: error.to_string() };
    Ok(of_log(read.await.map_err(unreadable)?, is_longer))
}

fn of_log(log: JobLog, is_longer: bool) -> JobOutput {
    let (failures, findings, not_kept) = match log.report {
        Some(report) => (report.failures, report.findings, report.failures_not_kept),
        None => Default::default(),
    };
    let failures = if failures.is_empty() { log.failure.into_iter().collect() } else { failures };
    JobOutput { failures, failures_not_kept: not_kept, findings, excerpt: log.excerpt, is_cut: is_longer }
}

fn step(wire: WireStep) -> JobStep {
    let ended = match progress(wire.status.as_deref().unwrap_or("queued"), wire.conclusion.as_deref(), None) {
        CheckProgress::Completed { conclusion, .. } => wire.conclusion.is_some().then_some(conclusion),
        CheckProgress::Queued | CheckProgress::InProgress => None,
    };
    JobStep { name: wire.name, conclusion: ended, started_at: wire.started_at, completed_at: wire.completed_at }
}

/// Whether the job has ended so short a while ago that its log may still come.
fn is_young(check: &ExternalCheck, now: Timestamp) -> bool {
    matches!(check.progress, CheckProgress::Completed { at: Some(at), .. } if now - at < STORED_WITHIN)
}
