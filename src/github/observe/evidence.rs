//! Workflow runs of the head, and the evidence artifacts they uploaded.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::checks::progress;
use crate::github::{
    client::{
        error::{Error, OrAbsent as _, Result},
        repo::Repo,
        transport::Accept,
        wire::{Artifact, CheckRun, WireRun, WireStep},
    },
    observe::{artifacts, evidence_memory},
};
use loopgate_core::{
    RepoName, Sha, WorkflowRunId,
    concerns::checks::{gather, matrix_jobs},
    evidence::Evidence,
    observed::{
        BaseEvidence, CheckProgress, Conclusion, ExternalCheck, ReceivedEvidence, WorkflowJob,
        WorkflowRun,
    },
    policy::VerifyPolicy,
};

/// Pages of workflow runs, and of artifacts of one run, read at most.
const MOST_PAGES: usize = 3;
/// Pages of a run's jobs, of all attempts, read at most.
const MOST_JOB_PAGES: usize = 5;
/// Characters of a job's name that are kept.
const LONGEST_NAME: usize = 200;
/// Evidence artifacts read of one head at most.
const MOST_ARTIFACTS: usize = 60;
/// Refused artifacts that are reported at most.
const MOST_REFUSALS: usize = 10;
/// Archives of one head downloaded at the same time: each may be 8 MB.
const DOWNLOADS_AT_ONCE: usize = 3;
/// Runs of workflows that are not listed whose artifacts are looked at, where nothing else brings evidence.
const MOST_UNLISTED: usize = 5;

/// A workflow run on the head, with the commit that GitHub names as its head.
#[derive(Debug, Clone)]
pub(super) struct HeadRun {
    pub run: WorkflowRun,
    head: Sha,
    event: Option<String>,
}

/// The documents that are accepted.
pub(super) fn accepted(received: &[ReceivedEvidence]) -> impl Iterator<Item = &Evidence> {
    received.iter().filter_map(|received| match received {
        ReceivedEvidence::Accepted(evidence) => Some(evidence.as_ref()),
        ReceivedEvidence::Refused { .. } => None,
    })
}

/// The workflow runs on a commit, of all workflows.
pub(super) async fn runs(repo: Repo<'_>, head: Sha) -> Result<Vec<HeadRun>> {
    let path = repo.path(format!("actions/runs?head_sha={head}"));
    let listing = repo.list::<WireRun>(&path, MOST_PAGES).await?;
    let run = |wire: WireRun| {
        let status = wire.status.as_deref().unwrap_or("queued");
        let run = WorkflowRun {
            id: wire.id,
            path: artifacts::normalise(&wire.path, repo.name),
            attempt: wire.run_attempt.unwrap_or(1),
            progress: progress(status, wire.conclusion.as_deref(), wire.updated_at),
            url: wire.html_url,
            started_at: wire.run_started_at.or(wire.created_at),
            jobs: Vec::new(),
        };
        HeadRun {
            run,
            head: wire.head_sha,
            event: wire.event,
        }
    };
    Ok(listing.items.into_iter().map(run).collect())
}

/// The runs that were cancelled and have a successor: a newer run of their workflow, for the same event on this head. It
/// decides in their place, also while it runs.
fn superseded(runs: &[HeadRun]) -> BTreeSet<WorkflowRunId> {
    let is_cancelled =
        |one: &&HeadRun| one.run.progress.conclusion() == Some(Conclusion::Cancelled);
    let follows = |one: &HeadRun, other: &HeadRun| {
        other.run.path == one.run.path && other.event == one.event && other.run.id > one.run.id
    };
    let cancelled = runs.iter().filter(is_cancelled);
    let left = cancelled.filter(|one| runs.iter().any(|other| follows(one, other)));
    left.map(|one| one.run.id).collect()
}

/// Takes away the cancelled jobs of runs that have a successor. What failed in them before stays: only a re-run of that
/// run says otherwise.
pub(super) fn drop_superseded(checks: &mut Vec<ExternalCheck>, runs: &[HeadRun]) {
    let superseded = superseded(runs);
    let is_left = |check: &ExternalCheck| {
        check.progress.conclusion() == Some(Conclusion::Cancelled)
            && check
                .workflow_run()
                .is_some_and(|run| superseded.contains(&run))
    };
    checks.retain(|check| !is_left(check));
}

/// The runs themselves.
pub(super) fn all(runs: &[HeadRun]) -> Vec<WorkflowRun> {
    runs.iter().map(|one| one.run.clone()).collect()
}

/// The runs that wait for *Approve and run*, and are the newest of their workflow.
pub(super) fn held(runs: &[HeadRun]) -> Vec<WorkflowRun> {
    let is_newest = |one: &HeadRun| {
        !runs
            .iter()
            .any(|other| other.run.path == one.run.path && other.run.id > one.run.id)
    };
    let is_held = |one: &HeadRun| {
        matches!(
            one.run.progress,
            CheckProgress::Completed {
                conclusion: Conclusion::ActionRequired,
                ..
            }
        )
    };
    runs.iter()
        .filter(|one| is_held(one) && is_newest(one))
        .map(|one| one.run.clone())
        .collect()
}

/// The runs whose workflows may bring evidence, and the others.
pub(super) fn listed<'r>(
    runs: &'r [HeadRun],
    repository: &RepoName,
    verify: &VerifyPolicy,
) -> (Vec<&'r HeadRun>, Vec<&'r HeadRun>) {
    let listed: Vec<_> = verify
        .workflows
        .iter()
        .map(|workflow| artifacts::normalise(workflow, repository))
        .collect();
    runs.iter().partition(|run| listed.contains(&run.run.path))
}

/// Events whose runs execute what is in the branch, and nothing that a pull request brings along.
const EVENTS_OF_BRANCHES: [&str; 4] = ["push", "schedule", "workflow_dispatch", "merge_group"];

/// The newest evidence on the first of these commits that has any: the merge base, else the base's head.
/// Only runs for the branch itself count: a fork's pull request can have the same commit as its head.
pub(super) async fn of_base(
    repo: Repo<'_>,
    commits: &[Sha],
    verify: &VerifyPolicy,
) -> Result<Option<BaseEvidence>> {
    for &commit in commits {
        let mut found = runs(repo, commit).await.or_refused()?.unwrap_or_default();
        found.retain(|run| {
            run.event
                .as_deref()
                .is_some_and(|event| EVENTS_OF_BRANCHES.contains(&event))
        });
        let received = read(repo, commit, &listed(&found, repo.name, verify).0).await?;
        let accepted: Vec<Evidence> = accepted(&received).cloned().collect();
        if !accepted.is_empty() {
            return Ok(Some(gather::base(commit, accepted)));
        }
    }
    Ok(None)
}

/// Reads the evidence of listed runs. Artifacts never change, and those of a run that has ended are all there are: both
/// are asked for once.
pub(super) async fn read(
    repo: Repo<'_>,
    head: Sha,
    runs: &[&HeadRun],
) -> Result<Vec<ReceivedEvidence>> {
    let mut found = uploaded(repo, runs).await?;
    // The newest first, so that a flood of artifacts cannot hide them.
    found.sort_by_key(|(run, artifact)| std::cmp::Reverse((run.run.id, artifact.id)));
    let flooded = found.len() > MOST_ARTIFACTS;
    found.truncate(MOST_ARTIFACTS);
    let (mut accepted, mut received, mut cost) = (Vec::new(), Vec::new(), 0);
    'all: for some in found.chunks(DOWNLOADS_AT_ONCE) {
        let archives = some.iter().map(|(_, artifact)| download(repo, artifact));
        let archives = futures::future::try_join_all(archives).await?;
        // One after the other: each may take as much memory as all that were read before it.
        for ((run, artifact), archive) in some.iter().zip(archives) {
            let read = match archive {
                Ok(archive) => read_archive(&archive, repo, head, run).await,
                Err(reason) => Err(reason),
            };
            match read {
                Ok((_, more)) if cost + more > artifacts::HEAD_LIMIT => {
                    let limit = artifacts::HEAD_LIMIT >> 20;
                    let reason = format!(
                        "the head's evidence takes more than {limit} MB of memory in all; the oldest was not read"
                    );
                    received.push(refused(artifacts::PREFIX, None, reason));
                    break 'all;
                }
                Ok((evidence, more)) => {
                    cost += more;
                    accepted.push(evidence);
                }
                Err(reason) => received.push(refused(&artifact.name, Some(&run.run), reason)),
            }
        }
    }
    received.truncate(MOST_REFUSALS);
    if flooded {
        let reason = format!(
            "the head has more than {MOST_ARTIFACTS} evidence artifacts; the oldest were not read"
        );
        received.push(refused(artifacts::PREFIX, None, reason));
    }
    let newest = artifacts::newest_of_each(accepted).into_iter();
    received.extend(newest.map(|evidence| ReceivedEvidence::Accepted(Box::new(evidence))));
    Ok(received)
}

/// The workflow runs that may have brought evidence, with the jobs of those whose evidence leaves open which matrix jobs
/// reported: the newest run of a workflow, and the older ones that some evidence is of.
pub(super) async fn with_jobs(
    repo: Repo<'_>,
    runs: &[&HeadRun],
    received: &[ReceivedEvidence],
) -> Result<Vec<WorkflowRun>> {
    let documents: Vec<&Evidence> = accepted(received).collect();
    let is_asked = |run: &WorkflowRun| {
        let of_file = runs.iter().filter(|other| other.run.path == run.path);
        let mut origins = documents
            .iter()
            .filter_map(|document| document.workflow.as_ref());
        of_file
            .max_by_key(|other| other.run.id)
            .is_some_and(|newest| {
                let counts =
                    newest.run.id == run.id || origins.any(|origin| origin.run_id == run.id);
                matrix_jobs::is_open(&newest.run, &documents) && counts
            })
    };
    let read = runs.iter().map(|run| async move {
        let run = &run.run;
        let mut jobs = Vec::new();
        if is_asked(run) {
            // The executions of its jobs, of all its attempts; none where they may not be listed.
            let path = repo.path(format!("actions/runs/{}/jobs?filter=all", run.id));
            let list = async || Ok(repo.list::<CheckRun>(&path, MOST_JOB_PAGES).await?.items);
            let listed = repo
                .once(&format!("{path}@{}", run.attempt), |_| has_ended(run), list)
                .await;
            jobs.extend(listed.or_refused()?.into_iter().flatten().map(job));
        }
        Ok::<_, Error>(WorkflowRun {
            jobs,
            ..run.clone()
        })
    });
    futures::future::try_join_all(read).await
}

fn job(wire: CheckRun) -> WorkflowJob {
    let progress = progress(&wire.status, wire.conclusion.as_deref(), wire.completed_at);
    let has_ended = matches!(progress, CheckProgress::Completed { .. });
    let goes_on = |step: &WireStep| {
        step.status
            .as_deref()
            .is_some_and(|status| status == "in_progress")
    };
    WorkflowJob {
        check_run: wire.id,
        name: wire.name.chars().take(LONGEST_NAME).collect(),
        attempt: wire.run_attempt.unwrap_or(1),
        progress,
        cut_off: has_ended && wire.steps.iter().any(goes_on),
        started_at: wire.started_at,
        url: wire.html_url,
    }
}

/// Evidence that workflows uploaded which are not listed: refused, and reported. Only where no listed workflow runs at
/// all, since people need the reason then.
pub(super) async fn refuse_unlisted(
    repo: Repo<'_>,
    unlisted: &[&HeadRun],
) -> Result<Vec<ReceivedEvidence>> {
    let ended = |run: &&&HeadRun| matches!(run.run.progress, CheckProgress::Completed { .. });
    let ended: Vec<_> = unlisted
        .iter()
        .filter(ended)
        .copied()
        .take(MOST_UNLISTED)
        .collect();
    let found = uploaded(repo, &ended).await?;
    let unlisted = |path: &str| format!("its workflow {path} is not listed in verify.workflows");
    let refusal = |(run, it): &(&HeadRun, Artifact)| {
        refused(&it.name, Some(&run.run), unlisted(&run.run.path))
    };
    Ok(found.iter().take(MOST_REFUSALS).map(refusal).collect())
}

/// The evidence artifacts of runs; none of a run whose artifacts may not be listed.
async fn uploaded<'r>(
    repo: Repo<'_>,
    runs: &[&'r HeadRun],
) -> Result<Vec<(&'r HeadRun, Artifact)>> {
    let lists = runs.iter().map(|run| async move {
        let path = repo.path(format!("actions/runs/{}/artifacts", run.run.id));
        let list = async || -> Result<Vec<Artifact>> {
            let listing = repo.list::<Artifact>(&path, MOST_PAGES).await?;
            Ok(listing
                .items
                .into_iter()
                .filter(|artifact| artifact.name.starts_with(artifacts::PREFIX))
                .collect())
        };
        let artifacts = repo
            .once(
                &format!("{path}@{}", run.run.attempt),
                |_| has_ended(&run.run),
                list,
            )
            .await;
        Ok(artifacts
            .or_refused()?
            .into_iter()
            .flatten()
            .map(|artifact| (*run, artifact))
            .collect())
    });
    let lists: Vec<Vec<_>> = futures::future::try_join_all(lists).await?;
    Ok(lists.into_iter().flatten().collect())
}

fn refused(artifact: &str, run: Option<&WorkflowRun>, reason: String) -> ReceivedEvidence {
    let artifact = artifact.chars().take(100).collect();
    ReceivedEvidence::Refused {
        artifact,
        workflow: run.map(|run| run.path.clone()),
        run: run.map(|run| run.id),
        reason,
    }
}

/// Whether this attempt brings nothing more. A run that waits for approval is shown as completed, and goes on as the
/// same attempt once a person approves it.
fn has_ended(run: &WorkflowRun) -> bool {
    matches!(run.progress, CheckProgress::Completed { conclusion, .. } if conclusion != Conclusion::ActionRequired)
}

/// An artifact's archive, or a sentence why it is not read.
async fn download(repo: Repo<'_>, artifact: &Artifact) -> Result<Result<Bytes, String>> {
    if artifact.expired {
        return Ok(Err("it has expired".into()));
    }
    let limit = artifacts::ARCHIVE_LIMIT;
    if artifact.size_in_bytes > limit as u64 {
        return Ok(Err(format!("it is larger than {} MB", limit >> 20)));
    }
    let path = repo.path(format!("actions/artifacts/{}/zip", artifact.id));
    evidence_memory::room_for(usize::try_from(artifact.size_in_bytes).unwrap_or(limit)).await;
    if let Some(archive) = repo.recall(&path, Accept::Raw) {
        return Ok(Ok(archive));
    }
    let archive = repo.download(&path, limit).await.or_reason()?;
    if let Ok(archive) = &archive {
        repo.remember(&path, Accept::Raw, archive.clone());
    }
    Ok(archive)
}

/// An archive's evidence and the bytes that it takes, or a sentence why it is refused.
async fn read_archive(
    archive: &[u8],
    repo: Repo<'_>,
    head: Sha,
    run: &HeadRun,
) -> Result<(Evidence, usize), String> {
    let packed = artifacts::PackedEvidence::of(archive)?;
    evidence_memory::room_for(packed.size).await;
    let (document, cost) = packed.unpack()?;
    evidence_memory::room_for(cost).await;
    // Only runs of listed workflows come this far.
    let evidence = artifacts::read(&document, (repo.name, head), (&run.run, run.head))?;
    Ok((evidence, cost))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::fixtures;

    fn run(id: u64, event: &str, conclusion: Option<Conclusion>) -> HeadRun {
        let progress = conclusion.map_or(CheckProgress::InProgress, |conclusion| {
            CheckProgress::Completed {
                conclusion,
                at: None,
            }
        });
        HeadRun {
            run: WorkflowRun {
                id: WorkflowRunId::new(id),
                ..fixtures::workflow(progress)
            },
            head: fixtures::sha(1),
            event: Some(event.to_owned()),
        }
    }

    /// `filter=latest` leaves jobs of one name in several runs as they are.
    #[test]
    fn a_cancelled_run_does_not_outvote_its_successor() {
        use Conclusion::{Cancelled, Failure, Success};
        let left = |runs: &[HeadRun], jobs: &[(u64, Conclusion)]| -> Vec<u64> {
            let job = |(run, end): &(u64, Conclusion)| fixtures::job_of(*run, 9, "unit", *end);
            let mut checks = jobs.iter().map(job).collect();
            drop_superseded(&mut checks, runs);
            let runs = checks.iter().filter_map(ExternalCheck::workflow_run);
            runs.map(WorkflowRunId::get).collect()
        };
        let cancelled = run(1, "pull_request", Some(Cancelled));
        let both = [(1, Cancelled), (2, Success)];
        let newer = |event, conclusion| [cancelled.clone(), run(2, event, conclusion)];
        assert_eq!(left(&newer("pull_request", Some(Success)), &both), [2]);
        let begun = &both[..1];
        let none: [u64; 0] = [];
        assert_eq!(left(&newer("pull_request", None), begun), none, "it runs");
        // For another event it is another run, and without a successor it decides.
        assert_eq!(left(&newer("push", Some(Success)), &both), [1, 2]);
        assert_eq!(left(std::slice::from_ref(&cancelled), begun), [1]);
        // What failed before it was cancelled, failed.
        let failed = [(1, Failure), (2, Success)];
        assert_eq!(left(&newer("pull_request", Some(Success)), &failed), [1, 2]);
    }
}
