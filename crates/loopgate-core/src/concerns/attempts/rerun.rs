//! Running checks again: what on the head can be repeated, who asked for it, and when it happens by itself.
//!
//! Evidence of a check comes from a run of a workflow, from a job of one, or from somebody's check run, and GitHub can
//! be asked for each of them again. What was asked is remembered together with the very attempt it was asked of, so
//! that any number of events, comments and looks leads to one repetition of an attempt. Asking itself is an effect that
//! follows from the state for [`WINDOW`], so a process that dies between saving and asking loses nothing. It ends as
//! soon as GitHub shows another attempt.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use crate::{
    evidence::{CheckEvidence, Outcome},
    ids::{CheckName, Login, Timestamp},
    observed::{CheckProgress, Conclusion, Snapshot, WorkflowRun},
    policy::{CheckSource, Context, ExternalSource},
    state::{AnswerOutcome, AskedBy, LoopState, Repeatable, Rerun},
};

/// How long one request is carried out; after that it may be made again. Not longer than the executor remembers what it
/// has asked for.
pub const WINDOW: TimeDelta = TimeDelta::minutes(5);

/// A request to make now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RerunRequest {
    pub what: Repeatable,
    /// Of a workflow run: the jobs that passed need not be paid for twice.
    pub only_failed_jobs: bool,
}

/// A repetition that comes by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextRerun {
    pub at: Timestamp,
    pub checks: BTreeSet<CheckName>,
    /// Counts from 1.
    pub nth: u32,
    pub times: u32,
}

/// Where a check's evidence comes from on this head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sources {
    /// What has ended, and when.
    ended: BTreeMap<Repeatable, Option<Timestamp>>,
    running: bool,
}

/// Wishes for these checks again, in a person's name. Records what is to be asked for.
pub fn wish(
    cx: Context<'_>,
    state: &mut LoopState,
    checks: BTreeSet<CheckName>,
    by: &Login,
) -> AnswerOutcome {
    let (mut asked, mut underway) = (BTreeSet::new(), BTreeSet::new());
    // One run may bring several checks, so what this request has just recorded must not refuse its next check.
    let before = state.concerns.checks.reruns.clone();
    for check in &checks {
        let sources = sources(cx, check);
        let is_fresh = |what: &Repeatable| {
            before
                .iter()
                .all(|rerun| rerun.what != *what || cx.now >= rerun.at + WINDOW)
        };
        let fresh: Vec<Repeatable> = sources.ended.into_keys().filter(is_fresh).collect();
        let is_asked = |rerun: &Rerun| rerun.checks.contains(check) && is_current(rerun, cx);
        if !fresh.is_empty() {
            asked.insert(check.clone());
        } else if sources.running || before.iter().any(is_asked) {
            underway.insert(check.clone());
        }
        for what in fresh {
            record(cx, state, what, check, AskedBy::Person(by.clone()));
        }
    }
    match (asked.is_empty(), underway.is_empty()) {
        (false, _) => AnswerOutcome::RunAgain { checks: asked },
        (true, false) => AnswerOutcome::Underway { checks: underway },
        (true, true) => AnswerOutcome::NothingToRun { checks },
    }
}

/// Repeats what failed for reasons outside the code when its time has come, and says when the next time is.
///
/// `since` is when the trouble began, for what does not say when it ended.
pub fn repeat_outside(
    cx: Context<'_>,
    state: &mut LoopState,
    failing: &BTreeSet<CheckName>,
    since: Timestamp,
) -> (BTreeSet<CheckName>, Option<NextRerun>) {
    let (waits, head) = (
        &cx.policy.retry.external_retry.workflows,
        cx.snapshot.pull_request.head.sha,
    );
    let mut asked = BTreeSet::new();
    let mut waiting: BTreeMap<Timestamp, NextRerun> = BTreeMap::new();
    for check in failing {
        // How often the check was repeated by itself on this head.
        let of_check = |rerun: &&Rerun| rerun.head_sha == head && rerun.checks.contains(check);
        let nth = |rerun: &Rerun| {
            if let AskedBy::Backoff { nth } = rerun.by {
                Some(nth)
            } else {
                None
            }
        };
        let tries = state
            .concerns
            .checks
            .reruns
            .iter()
            .filter(of_check)
            .filter_map(nth)
            .max()
            .unwrap_or(0);
        if tries >= waits.times {
            continue;
        }
        for (what, ended) in sources(cx, check).ended {
            let before = state
                .concerns
                .checks
                .reruns
                .iter()
                .filter(|rerun| rerun.what == what)
                .map(|rerun| rerun.at + WINDOW)
                .max();
            let due = (ended.unwrap_or(since) + waits.after(tries)).max(before.unwrap_or(since));
            if due <= cx.now || asked.contains(check) {
                record(cx, state, what, check, AskedBy::Backoff { nth: tries + 1 });
                asked.insert(check.clone());
            } else {
                let next = NextRerun {
                    at: due,
                    checks: BTreeSet::new(),
                    nth: tries + 1,
                    times: waits.times,
                };
                waiting
                    .entry(due)
                    .or_insert(next)
                    .checks
                    .insert(check.clone());
            }
        }
    }
    (asked, waiting.into_values().next())
}

/// What to ask GitHub for, as long as it still shows the attempts that are to be repeated.
pub fn asks(cx: Context<'_>, state: &LoopState) -> BTreeSet<RerunRequest> {
    let current = state
        .concerns
        .checks
        .reruns
        .iter()
        .filter(|rerun| is_current(rerun, cx));
    let shown = |rerun: &&Rerun| {
        rerun
            .checks
            .iter()
            .any(|check| sources(cx, check).ended.contains_key(&rerun.what))
    };
    // A run without a failed job, or that never started, is repeated whole.
    let has_failed_jobs = |run: &WorkflowRun| {
        matches!(
            run.progress.conclusion(),
            Some(Conclusion::Failure | Conclusion::TimedOut | Conclusion::Cancelled)
        )
    };
    let request = |&Rerun { what, .. }: &Rerun| {
        let is_asked =
            |run: &&WorkflowRun| matches!(what, Repeatable::WorkflowRun { id, .. } if id == run.id);
        let only_failed_jobs = cx
            .snapshot
            .workflow_runs
            .iter()
            .filter(is_asked)
            .any(has_failed_jobs);
        RerunRequest {
            what,
            only_failed_jobs,
        }
    };
    current.filter(shown).map(request).collect()
}

/// When waiting for a check's evidence began: when the head was first seen, when its workflows were let run, or when
/// the check was last asked for again.
pub fn waiting_since(cx: Context<'_>, state: &LoopState, check: &CheckName) -> Timestamp {
    let head = cx.snapshot.pull_request.head.sha;
    let seen = state
        .head
        .sightings
        .iter()
        .find(|seen| seen.sha == head)
        .map_or(cx.now, |seen| seen.at);
    let let_run = state
        .head
        .hold
        .as_ref()
        .filter(|hold| hold.head == head)
        .and_then(|hold| hold.ended_at);
    let asked = state
        .concerns
        .checks
        .reruns
        .iter()
        .filter(|rerun| rerun.head_sha == head && rerun.checks.contains(check));
    asked
        .map(|rerun| rerun.at)
        .chain(let_run)
        .chain([seen])
        .max()
        .unwrap_or(seen)
}

fn is_current(rerun: &Rerun, cx: Context<'_>) -> bool {
    rerun.head_sha == cx.snapshot.pull_request.head.sha && cx.now < rerun.at + WINDOW
}

/// Several checks of one workflow run are one request.
fn record(
    cx: Context<'_>,
    state: &mut LoopState,
    what: Repeatable,
    check: &CheckName,
    by: AskedBy,
) {
    let same = state
        .concerns
        .checks
        .reruns
        .iter_mut()
        .find(|rerun| rerun.what == what && rerun.at == cx.now && rerun.by == by);
    match same {
        Some(rerun) => drop(rerun.checks.insert(check.clone())),
        None => state.concerns.checks.reruns.push(Rerun {
            what,
            head_sha: cx.snapshot.pull_request.head.sha,
            checks: BTreeSet::from([check.clone()]),
            by,
            at: cx.now,
        }),
    }
}

fn sources(cx: Context<'_>, check: &CheckName) -> Sources {
    match cx
        .policy
        .verify
        .checks
        .get(check)
        .map(|check| &check.source)
    {
        Some(CheckSource::Command(_)) => workflow_runs(cx.snapshot, check),
        Some(CheckSource::External(source)) => check_runs(cx.snapshot, source),
        Some(CheckSource::Reviewer(_)) | None => Sources::default(),
    }
}

/// The runs that brought the check's evidence; where none did, the newest of each workflow that may.
fn workflow_runs(snapshot: &Snapshot, check: &CheckName) -> Sources {
    let of_check = |found: &&CheckEvidence| &found.name == check;
    let failed =
        |found: &CheckEvidence| found.outcome.is_failure() || found.outcome == Outcome::Cancelled;
    let brought = snapshot
        .evidence_of_head()
        .filter(|evidence| evidence.checks.iter().filter(of_check).any(failed));
    let brought: BTreeSet<_> = brought
        .filter_map(|evidence| Some(evidence.workflow.as_ref()?.run_id))
        .collect();
    let runs = &snapshot.workflow_runs;
    let mut bringing: Vec<&WorkflowRun> = runs
        .iter()
        .filter(|run| brought.contains(&run.id))
        .collect();
    if bringing.is_empty() {
        bringing.extend(runs.iter().filter(|run| run.is_newest_of(runs)));
    }
    let mut sources = Sources::default();
    for run in bringing {
        match run.progress {
            CheckProgress::Completed { at, .. } => {
                sources.ended.insert(
                    Repeatable::WorkflowRun {
                        id: run.id,
                        attempt: run.attempt,
                    },
                    at,
                );
            }
            CheckProgress::Queued | CheckProgress::InProgress => sources.running = true,
        }
    }
    sources
}

/// The check runs that did not succeed. Commit statuses cannot be asked for again.
fn check_runs(snapshot: &Snapshot, source: &ExternalSource) -> Sources {
    let mut sources = Sources::default();
    let matching = snapshot.checks.iter().filter(|check| source.takes(check));
    for check in matching {
        let CheckProgress::Completed { at, .. } = check.progress else {
            sources.running = true;
            continue;
        };
        if check.progress.succeeded() {
            continue;
        }
        if let Some(id) = check.id {
            let what = if check.is_job() {
                Repeatable::Job { id }
            } else {
                Repeatable::CheckRun { id, ended: at }
            };
            sources.ended.insert(what, at);
        }
    }
    sources
}

#[cfg(test)]
#[path = "rerun_tests.rs"]
mod tests;
