//! The matrix jobs that execute a check. It is done when the newest execution of each of them has ended.
//!
//! Evidence names the execution it comes from ([`MatrixJob`]), GitHub names the jobs of a
//! run. A matrix job whose newest execution brought nothing is *lost*: neither others nor its own older executions
//! replace it.

use std::collections::{BTreeMap, BTreeSet};

use super::CheckStanding;
use crate::{
    evidence::{CheckEvidence, Evidence, EvidenceExtent, MatrixJob, Outcome, WorkflowOrigin},
    ids::{CheckName, CheckRunId, WorkflowRunId},
    observed::{CheckProgress, Conclusion, ReceivedEvidence, WorkflowJob, WorkflowRun},
};

/// Lost matrix jobs that are shown at most.
const MOST_LOST: usize = 20;

/// A matrix job whose newest execution ended without evidence.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LostJob {
    pub name: JobName,
    pub end: LossCause,
    pub url: Option<String>,
}

/// What is known of the name of a matrix job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobName {
    /// The job's name, as people see it.
    Job(String),
    /// Its place among the matrix jobs of a job that the workflow file calls so, from 0.
    Place { job: String, index: u32, total: u32 },
    /// Some job of this workflow file.
    Workflow(String),
}

/// How a matrix job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossCause {
    As(Conclusion),
    /// GitHub lost the connection to its runner.
    RunnerLost,
    /// Its evidence says that the check had not ended.
    Interrupted,
    Unknown,
}

impl LossCause {
    /// Whether GitHub says that no code is the cause.
    pub const fn is_outside(self) -> bool {
        matches!(
            self,
            Self::RunnerLost | Self::As(Conclusion::StartupFailure | Conclusion::Stale)
        )
    }
}

/// The documents that hold a check, all runs of which have ended, and its matrix jobs that are lost.
pub fn reporting<'a>(
    runs: &[WorkflowRun],
    received: &[ReceivedEvidence],
    documents: &[&'a Evidence],
    check: &CheckName,
) -> (Vec<&'a Evidence>, Vec<LostJob>) {
    let matrix = MatrixJobs::new(runs, received, documents);
    let (mut lost, mut reporting, mut jobs) = (Vec::new(), Vec::new(), BTreeSet::new());
    for &document in documents
        .iter()
        .filter(|document| of(document, check).is_some())
    {
        jobs.extend(
            document
                .workflow
                .as_ref()
                .map(|origin| (origin.path.as_str(), origin.job.as_str())),
        );
        let losses = matrix.loss_of(document);
        // One that was interrupted does not know how all checks ended.
        let outcome = of(document, check).map(|found| found.outcome);
        let ends_early = document.extent == EvidenceExtent::Interrupted
            && matches!(outcome, Some(Outcome::Cancelled | Outcome::Skipped));
        if !losses.is_empty() {
            lost.extend(losses);
        } else if ends_early || matrix.is_cut_off(document, documents, check) {
            lost.extend(matrix.interrupted(document));
        } else {
            reporting.push(document);
        }
    }
    for job in jobs {
        lost.extend(matrix.missing(job));
    }
    // A sibling's failure cancels the other jobs of a matrix: only the failure is shown.
    let is_cancelled = |end: LossCause| {
        matches!(
            end,
            LossCause::As(Conclusion::Cancelled) | LossCause::Interrupted
        )
    };
    if lost.iter().any(|job: &LostJob| !is_cancelled(job.end)) {
        lost.retain(|job| !is_cancelled(job.end));
    }
    let by_name: BTreeMap<JobName, LostJob> = lost
        .into_iter()
        .map(|job| (job.name.clone(), job))
        .collect();
    (reporting, by_name.into_values().take(MOST_LOST).collect())
}

/// Documents of one execution of a job that contradict each other on a check: which of them is true is not known. Those
/// of an older Action do not say which execution they are of.
pub fn contradiction(documents: &[&Evidence], check: &CheckName) -> Option<String> {
    let mut outcomes = BTreeMap::new();
    for document in documents {
        let (Some(origin), Some(found)) = (&document.workflow, of(document, check)) else {
            continue;
        };
        let Some(place) = origin.matrix_job else {
            continue;
        };
        let execution = (
            &origin.path,
            origin.run_id,
            origin.run_attempt,
            &origin.job,
            place.index,
            place.check_run_id,
        );
        let before = *outcomes.entry(execution).or_insert(found.outcome);
        if before != found.outcome {
            let (one, other) = (before.as_str(), found.outcome.as_str());
            return Some(format!(
                "two artifacts of the job {} in attempt {} contradict each other: one says {one}, the other {other}",
                origin.job, origin.run_attempt
            ));
        }
    }
    None
}

/// The refusal of evidence that a newer run uploaded than those that brought the check's: an older pass does not stand
/// in for it. Where matrix jobs are lost (`has_lost`), that of the same run too: it may be theirs.
pub fn refused_since(
    received: &[ReceivedEvidence],
    documents: &[&Evidence],
    check: &CheckName,
    has_lost: bool,
) -> Option<CheckStanding> {
    let brought = documents
        .iter()
        .filter(|document| of(document, check).is_some());
    let origins: Vec<_> = brought
        .filter_map(|document| document.workflow.as_ref())
        .collect();
    received.iter().find_map(|received| {
        let ReceivedEvidence::Refused {
            workflow: Some(path),
            run: Some(id),
            reason,
            ..
        } = received
        else {
            return None;
        };
        let of_workflow = origins.iter().filter(|origin| origin.path == *path);
        let newest = of_workflow.map(|origin| origin.run_id).max()?;
        (*id > newest || (has_lost && *id == newest)).then(|| CheckStanding::Refused {
            reason: reason.clone(),
        })
    })
}

fn of<'a>(document: &'a Evidence, check: &CheckName) -> Option<&'a CheckEvidence> {
    document.checks.iter().find(|found| &found.name == check)
}

/// What is known of the matrix jobs of a head.
struct MatrixJobs<'a> {
    runs: &'a [WorkflowRun],
    received: &'a [ReceivedEvidence],
    /// Where each document comes from, and whether a check fails in it.
    origins: Vec<(&'a WorkflowOrigin, bool)>,
    /// The check runs of executions that brought evidence.
    reported: BTreeSet<CheckRunId>,
}

impl<'a> MatrixJobs<'a> {
    fn new(
        runs: &'a [WorkflowRun],
        received: &'a [ReceivedEvidence],
        documents: &[&'a Evidence],
    ) -> Self {
        let fails = |document: &Evidence| {
            document
                .checks
                .iter()
                .any(|check| check.outcome.is_failure())
        };
        let origins: Vec<_> = documents
            .iter()
            .filter_map(|document| Some((document.workflow.as_ref()?, fails(document))))
            .collect();
        let reported = origins
            .iter()
            .filter_map(|(origin, _)| origin.matrix_job?.check_run_id)
            .collect();
        Self {
            runs,
            received,
            origins,
            reported,
        }
    }

    /// What is lost although this document is there: the newer execution of its matrix job. Where it does not name one,
    /// the job that made its run end without success.
    fn loss_of(&self, document: &Evidence) -> Vec<LostJob> {
        let Some(origin) = &document.workflow else {
            return Vec::new();
        };
        if let Some(name) = origin
            .matrix_job
            .and_then(|job| job.check_run_id)
            .and_then(|id| self.name(&origin.path, id))
        {
            let newest = self
                .executions(&origin.path)
                .filter(|(_, job)| job.name == name)
                .max_by_key(|(run, job)| (run.id, job.started_at, job.attempt, job.check_run));
            let is_lost = |(run, job): &(&WorkflowRun, &WorkflowJob)| {
                !self.has_reported(run, job) && (!job.progress.succeeded() || self.has_refusal(run))
            };
            return newest
                .filter(is_lost)
                .map(|(_, job)| loss(job))
                .into_iter()
                .collect();
        }
        let was_run = |run: &&WorkflowRun| run.progress.conclusion() != Some(Conclusion::Skipped);
        let of_workflow = self
            .runs
            .iter()
            .filter(|run| run.path == origin.path)
            .filter(was_run);
        let Some(newest) = of_workflow.max_by_key(|run| run.id) else {
            return Vec::new();
        };
        let is_its_own = newest.id == origin.run_id && newest.attempt == origin.run_attempt;
        let fails = document
            .checks
            .iter()
            .any(|check| check.outcome.is_failure());
        if fails
            || run_succeeded(newest)
            || (origin.matrix_job.is_some() && is_its_own)
            || self.is_explained(newest)
        {
            return Vec::new();
        }
        let lost: Vec<_> = self
            .unreported(newest)
            .filter(|job| !job.progress.succeeded())
            .map(loss)
            .collect();
        if !lost.is_empty() {
            return lost;
        }
        let name = match origin.matrix_job {
            Some(MatrixJob { index, total, .. }) => JobName::Place {
                job: origin.job.clone(),
                index,
                total,
            },
            None => JobName::Workflow(newest.path.clone()),
        };
        let end = newest
            .progress
            .conclusion()
            .map_or(LossCause::Unknown, LossCause::As);
        vec![LostJob {
            name,
            end,
            url: newest.url.clone(),
        }]
    }

    /// Whether the job was cancelled, or ran out of time, that uploaded this: its steps with `if: always()` still ran,
    /// and the evidence does not know of it. What fails is believed all the same.
    fn is_cut_off(&self, document: &Evidence, documents: &[&Evidence], check: &CheckName) -> bool {
        let Some(origin) = document
            .workflow
            .as_ref()
            .filter(|_| document.extent == EvidenceExtent::Whole)
        else {
            return false;
        };
        let id = origin.matrix_job.and_then(|job| job.check_run_id);
        let job = id.and_then(|id| {
            self.executions(&origin.path)
                .find(|(_, job)| job.check_run == id)
        });
        // Where no job is known, its run says it, unless the evidence of another job does.
        let execution = |origin: &WorkflowOrigin| (origin.run_id, origin.run_attempt);
        let mut others = documents
            .iter()
            .filter(|other| other.extent == EvidenceExtent::Interrupted);
        let is_of_another =
            others.any(|other| other.workflow.as_ref().map(execution) == Some(execution(origin)));
        let of_run =
            |run: &&WorkflowRun| !is_of_another && (run.id, run.attempt) == execution(origin);
        let run = self.runs.iter().find(of_run);
        let progress = job
            .map(|(_, job)| job.progress)
            .or(run.map(|run| run.progress));
        let is_cut_off = matches!(
            progress.and_then(CheckProgress::conclusion),
            Some(Conclusion::Cancelled | Conclusion::TimedOut)
        );
        is_cut_off && of(document, check).is_some_and(|found| !found.outcome.is_failure())
    }

    /// The matrix job whose evidence says that it was interrupted.
    fn interrupted(&self, document: &Evidence) -> Option<LostJob> {
        let origin = document.workflow.as_ref()?;
        let url = self
            .runs
            .iter()
            .find(|run| run.id == origin.run_id)
            .and_then(|run| run.url.clone());
        let known = origin
            .matrix_job
            .and_then(|job| job.check_run_id)
            .and_then(|id| self.name(&origin.path, id));
        let name = match (known, origin.matrix_job) {
            (Some(name), _) => JobName::Job(name.to_owned()),
            (None, Some(MatrixJob { index, total, .. })) if total > 1 => JobName::Place {
                job: origin.job.clone(),
                index,
                total,
            },
            (None, _) => JobName::Job(origin.job.clone()),
        };
        Some(LostJob {
            name,
            end: LossCause::Interrupted,
            url,
        })
    }

    /// The matrix jobs of a job that never reported: there are fewer that did than its evidence counts.
    fn missing(&self, (path, job): (&str, &str)) -> Vec<LostJob> {
        let of_job = self
            .origins
            .iter()
            .filter(|(origin, _)| origin.path == path && origin.job == job);
        let reporting: Vec<_> = of_job
            .filter_map(|(origin, _)| Some((*origin, origin.matrix_job?)))
            .collect();
        let Some((newest, newest_job)) = reporting
            .iter()
            .max_by_key(|(origin, _)| (origin.run_id, origin.run_attempt))
        else {
            return Vec::new();
        };
        let total = newest_job.total;
        let indices: BTreeSet<u32> = reporting
            .iter()
            .filter(|(_, job)| job.total == total && job.index < total)
            .map(|(_, job)| job.index)
            .collect();
        let missing = (total as usize).saturating_sub(indices.len());
        let Some(run) = self
            .runs
            .iter()
            .find(|run| run.id == newest.run_id)
            .filter(|_| missing > 0)
        else {
            return Vec::new();
        };
        let has_died = self.unreported(run).any(|job| !job.progress.succeeded());
        let may_be_silent = !self.has_refusal(run);
        if may_be_silent
            && (if run.jobs.is_empty() {
                run_succeeded(run)
            } else {
                !has_died
            })
        {
            // The step is not in every matrix job: those without it succeeded and report nothing.
            return Vec::new();
        }
        let names: BTreeSet<&str> = reporting
            .iter()
            .filter_map(|(origin, job)| self.name(&origin.path, job.check_run_id?))
            .collect();
        let stems: BTreeSet<&str> = names.iter().map(|name| stem(name)).collect();
        let is_alike = |job: &&WorkflowJob| stems.contains(stem(&job.name));
        let unnamed = self
            .unreported(run)
            .filter(|job| !names.contains(job.name.as_str()));
        let (succeeded, failed): (Vec<_>, Vec<_>) =
            unnamed.partition(|job| job.progress.succeeded());
        let (alike, others): (Vec<_>, Vec<_>) = failed.into_iter().partition(is_alike);
        let beside = succeeded
            .iter()
            .filter(|job| is_alike(job) && may_be_silent)
            .count();
        let mut lost: Vec<_> = alike.into_iter().take(missing).map(loss).collect();
        let unnamed = missing.saturating_sub(lost.len() + beside);
        if unnamed > 0 && others.len() == unnamed {
            lost.extend(others.into_iter().map(loss));
        } else {
            let places = (0..total)
                .filter(|index| !indices.contains(index))
                .take(unnamed.min(MOST_LOST));
            lost.extend(places.map(|index| {
                let name = JobName::Place {
                    job: job.to_owned(),
                    index,
                    total,
                };
                LostJob {
                    name,
                    end: LossCause::Unknown,
                    url: run.url.clone(),
                }
            }));
        }
        lost
    }

    /// Whether a run's end without success is what its evidence says.
    fn is_explained(&self, run: &WorkflowRun) -> bool {
        let of_run =
            |origin: &WorkflowOrigin| origin.run_id == run.id && origin.run_attempt == run.attempt;
        self.origins
            .iter()
            .any(|(origin, fails)| *fails && of_run(origin))
    }

    /// Whether evidence was refused, or not read, that a matrix job of this run may have brought.
    fn has_refusal(&self, run: &WorkflowRun) -> bool {
        let may_be_of = |of: Option<WorkflowRunId>| of.is_none_or(|of| of == run.id);
        self.received
            .iter()
            .any(|one| matches!(one, ReceivedEvidence::Refused { run: of, .. } if may_be_of(*of)))
    }

    /// What was executed of a workflow; a job that was skipped was not.
    fn executions(&self, path: &str) -> impl Iterator<Item = (&'a WorkflowRun, &'a WorkflowJob)> {
        let runs = self.runs.iter().filter(move |run| run.path == path);
        runs.flat_map(|run| run.jobs.iter().map(move |job| (run, job)))
            .filter(|(_, job)| job.progress.conclusion() != Some(Conclusion::Skipped))
    }

    fn name(&self, path: &str, id: CheckRunId) -> Option<&'a str> {
        self.executions(path)
            .find(|(_, job)| job.check_run == id)
            .map(|(_, job)| job.name.as_str())
    }

    /// Whether evidence of this execution is there. What a later attempt lists again began when the first one did.
    fn has_reported(&self, run: &WorkflowRun, job: &WorkflowJob) -> bool {
        let same = |other: &&WorkflowJob| {
            other.name == job.name
                && other.started_at.is_some()
                && other.started_at == job.started_at
        };
        self.reported.contains(&job.check_run)
            || run
                .jobs
                .iter()
                .filter(same)
                .any(|other| self.reported.contains(&other.check_run))
    }

    /// The newest execution of each job of a run, if it brought no evidence.
    fn unreported(&self, run: &'a WorkflowRun) -> impl Iterator<Item = &'a WorkflowJob> {
        let mut jobs: Vec<&WorkflowJob> = run.jobs.iter().collect();
        jobs.sort_by_key(|job| (job.started_at, job.attempt, job.check_run));
        let newest: BTreeMap<&str, &WorkflowJob> = jobs
            .into_iter()
            .map(|job| (job.name.as_str(), job))
            .collect();
        newest
            .into_values()
            .filter(move |job| !self.has_reported(run, job))
    }
}

/// `test` of `test (ubuntu-latest, 3.12)`, as GitHub names the jobs of a matrix.
fn stem(name: &str) -> &str {
    name.split_once(" (").map_or(name, |(stem, _)| stem)
}

fn loss(job: &WorkflowJob) -> LostJob {
    let end = match job.progress.conclusion() {
        Some(_) if job.cut_off => LossCause::RunnerLost,
        Some(conclusion) => LossCause::As(conclusion),
        None => LossCause::Unknown,
    };
    LostJob {
        name: JobName::Job(job.name.clone()),
        end,
        url: job.url.clone(),
    }
}

fn run_succeeded(run: &WorkflowRun) -> bool {
    matches!(
        run.progress.conclusion(),
        Some(Conclusion::Success | Conclusion::Neutral)
    )
}

/// Whether the documents leave open which matrix jobs of a workflow's newest run reported, so that its jobs have to be
/// asked for.
pub fn is_open(newest: &WorkflowRun, documents: &[&Evidence]) -> bool {
    if newest.progress.conclusion().is_none() {
        return false;
    }
    let matrix = MatrixJobs::new(std::slice::from_ref(newest), &[], documents);
    let of_path = || {
        matrix
            .origins
            .iter()
            .map(|(origin, _)| *origin)
            .filter(|origin| origin.path == newest.path)
    };
    let cut_short = documents
        .iter()
        .filter(|document| document.extent == EvidenceExtent::Interrupted);
    let cut_short: Vec<_> = cut_short
        .filter_map(|document| document.workflow.as_ref())
        .collect();
    let mut jobs: BTreeMap<&str, (u32, BTreeSet<u32>)> = BTreeMap::new();
    for (origin, matrix_job) in of_path().filter_map(|origin| Some((origin, origin.matrix_job?))) {
        let (total, reported) = jobs.entry(&origin.job).or_default();
        *total = matrix_job.total.max(*total);
        if origin.run_id == newest.id
            && origin.run_attempt == newest.attempt
            && !cut_short.contains(&origin)
        {
            reported.insert(matrix_job.index);
        }
    }
    jobs.values()
        .any(|(total, reported)| reported.len() < *total as usize)
        || (of_path().next().is_some() && !run_succeeded(newest) && !matrix.is_explained(newest))
}

#[cfg(test)]
#[path = "matrix_jobs_tests.rs"]
mod tests;
