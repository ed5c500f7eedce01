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
    evidence::Outcome,
    ids::{CheckName, Login, Sha, Timestamp},
    observed::{CheckProgress, Conclusion, ReceivedEvidence, Snapshot, WorkflowRun},
    policy::{CheckSource, ExternalSource, Policy},
    state::{AskedBy, LoopState, Repeatable, Rerun},
};

/// How long one request is carried out; after that it may be made again. Not longer than the executor remembers what it
/// has asked for.
pub const WINDOW: TimeDelta = TimeDelta::minutes(5);

/// The App in whose name GitHub Actions reports its jobs.
const ACTIONS: &str = "github-actions";

/// A request to make now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RerunRequest {
    pub what: Repeatable,
    pub extent: Extent,
}

/// How much of a workflow run to repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    FailedJobs,
    Whole,
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

/// The answer to a request to run checks again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wished {
    /// Asked for now.
    pub asked: BTreeSet<CheckName>,
    /// Asked for a moment ago already, or going on.
    pub underway: BTreeSet<CheckName>,
    /// Nothing on the head brings them that could be repeated.
    pub impossible: BTreeSet<CheckName>,
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
    snapshot: &Snapshot,
    policy: &Policy,
    state: &mut LoopState,
    checks: impl IntoIterator<Item = CheckName>,
    by: &Login,
    now: Timestamp,
) -> Wished {
    let mut wished = Wished::default();
    // One run may bring several checks, so what this request has just recorded must not refuse its next check.
    let before = state.reruns.clone();
    for check in checks {
        let sources = sources(snapshot, policy, &check);
        let fresh: Vec<Repeatable> = sources
            .ended
            .into_keys()
            .filter(|what| before.iter().all(|rerun| rerun.what != *what || now >= rerun.at + WINDOW))
            .collect();
        let asked = |rerun: &Rerun| rerun.checks.contains(&check) && is_current(rerun, snapshot, now);
        let known = sources.running || before.iter().any(asked);
        match (fresh.is_empty(), known) {
            (false, _) => {
                for what in fresh {
                    record(state, what, snapshot, &check, AskedBy::Person(by.clone()), now);
                }
                wished.asked.insert(check);
            }
            (true, true) => drop(wished.underway.insert(check)),
            (true, false) => drop(wished.impossible.insert(check)),
        }
    }
    wished
}

/// Repeats what failed for reasons outside the code when its time has come, and says when the next time is.
///
/// `since` is when the trouble began, for what does not say when it ended.
pub fn repeat_outside(
    snapshot: &Snapshot,
    policy: &Policy,
    state: &mut LoopState,
    failing: &BTreeSet<CheckName>,
    since: Timestamp,
    now: Timestamp,
) -> (BTreeSet<CheckName>, Option<NextRerun>) {
    let waits = &policy.retry.external_retry.workflows;
    let mut asked = BTreeSet::new();
    let mut next: Option<NextRerun> = None;
    for check in failing {
        let tries = tries(state, snapshot.pull_request.head.sha, check);
        if tries >= waits.times {
            continue;
        }
        for (what, ended) in sources(snapshot, policy, check).ended {
            let before = state.reruns.iter().filter(|rerun| rerun.what == what).map(|rerun| rerun.at + WINDOW).max();
            let due = (ended.unwrap_or(since) + waits.after(tries)).max(before.unwrap_or(since));
            if due <= now || asked.contains(check) {
                record(state, what, snapshot, check, AskedBy::Backoff { nth: tries + 1 }, now);
                asked.insert(check.clone());
            } else {
                next = Some(earlier(next, due, check, tries + 1, waits.times));
            }
        }
    }
    (asked, next)
}

fn earlier(next: Option<NextRerun>, at: Timestamp, check: &CheckName, nth: u32, times: u32) -> NextRerun {
    match next {
        Some(mut next) if next.at == at => {
            next.checks.insert(check.clone());
            next
        }
        Some(next) if next.at < at => next,
        _ => NextRerun { at, checks: BTreeSet::from([check.clone()]), nth, times },
    }
}

/// What to ask GitHub for, as long as it still shows the attempts that are to be repeated.
pub fn asks(snapshot: &Snapshot, policy: &Policy, state: &LoopState, now: Timestamp) -> BTreeSet<RerunRequest> {
    let current = state.reruns.iter().filter(|rerun| is_current(rerun, snapshot, now));
    let shown = |rerun: &&Rerun| {
        rerun.checks.iter().any(|check| sources(snapshot, policy, check).ended.contains_key(&rerun.what))
    };
    current.filter(shown).map(|rerun| RerunRequest { what: rerun.what, extent: extent(snapshot, rerun.what) }).collect()
}

/// When waiting for a check's evidence began: when the head was first seen, or when the check was last asked for again.
pub fn waiting_since(state: &LoopState, head_since: Timestamp, check: &CheckName) -> Timestamp {
    let asked = state.reruns.iter().filter(|rerun| rerun.head_sha == state.head_sha && rerun.checks.contains(check));
    asked.map(|rerun| rerun.at).max().map_or(head_since, |asked| asked.max(head_since))
}

fn is_current(rerun: &Rerun, snapshot: &Snapshot, now: Timestamp) -> bool {
    rerun.head_sha == snapshot.pull_request.head.sha && now < rerun.at + WINDOW
}

/// How often a check was repeated by itself on this head.
fn tries(state: &LoopState, head: Sha, check: &CheckName) -> u32 {
    let of_check = state.reruns.iter().filter(|rerun| rerun.head_sha == head && rerun.checks.contains(check));
    let nth = |rerun: &Rerun| match rerun.by {
        AskedBy::Backoff { nth } => Some(nth),
        AskedBy::Person(_) => None,
    };
    of_check.filter_map(nth).max().unwrap_or(0)
}

/// Several checks of one workflow run are one request.
fn record(
    state: &mut LoopState,
    what: Repeatable,
    snapshot: &Snapshot,
    check: &CheckName,
    by: AskedBy,
    now: Timestamp,
) {
    let same = state.reruns.iter_mut().find(|rerun| rerun.what == what && rerun.at == now && rerun.by == by);
    match same {
        Some(rerun) => drop(rerun.checks.insert(check.clone())),
        None => state.reruns.push(Rerun {
            what,
            head_sha: snapshot.pull_request.head.sha,
            checks: BTreeSet::from([check.clone()]),
            by,
            at: now,
        }),
    }
}

fn sources(snapshot: &Snapshot, policy: &Policy, check: &CheckName) -> Sources {
    match policy.verify.checks.get(check).map(|check| &check.source) {
        Some(CheckSource::Command(_)) => workflow_runs(snapshot, check),
        Some(CheckSource::External(source)) => check_runs(snapshot, source),
        Some(CheckSource::Reviewer(_)) | None => Sources::default(),
    }
}

/// The runs that brought the check's evidence; where none did, the newest of each workflow that may.
fn workflow_runs(snapshot: &Snapshot, check: &CheckName) -> Sources {
    let mut brought = BTreeSet::new();
    for received in &snapshot.evidence {
        if let ReceivedEvidence::Accepted(evidence) = received
            && evidence.checks.iter().any(|found| {
                &found.name == check && (found.outcome.is_failure() || found.outcome == Outcome::Cancelled)
            })
        {
            brought.extend(evidence.workflow.as_ref().map(|workflow| workflow.run_id));
        }
    }
    let mut newest: BTreeMap<&str, &WorkflowRun> = BTreeMap::new();
    for run in &snapshot.workflow_runs {
        let known = newest.entry(&run.path).or_insert(run);
        if run.id > known.id {
            *known = run;
        }
    }
    let bringing: Vec<&WorkflowRun> = snapshot.workflow_runs.iter().filter(|run| brought.contains(&run.id)).collect();
    let bringing = if bringing.is_empty() { newest.into_values().collect() } else { bringing };
    let mut sources = Sources::default();
    for run in bringing {
        match run.progress {
            CheckProgress::Completed { at, .. } => {
                sources.ended.insert(Repeatable::WorkflowRun { id: run.id, attempt: run.attempt }, at);
            }
            CheckProgress::Queued | CheckProgress::InProgress => sources.running = true,
        }
    }
    sources
}

/// The check runs that did not succeed. Commit statuses cannot be asked for again.
fn check_runs(snapshot: &Snapshot, source: &ExternalSource) -> Sources {
    let mut sources = Sources::default();
    let matching = snapshot.checks.iter().filter(|check| source.is_of(&check.name, check.app.as_deref()));
    for check in matching {
        let CheckProgress::Completed { conclusion, at } = check.progress else {
            sources.running = true;
            continue;
        };
        if matches!(conclusion, Conclusion::Success | Conclusion::Neutral | Conclusion::Skipped) {
            continue;
        }
        if let Some(id) = check.id {
            let what = match check.app.as_deref() {
                Some(ACTIONS) => Repeatable::Job { id },
                _ => Repeatable::CheckRun { id, ended: at },
            };
            sources.ended.insert(what, at);
        }
    }
    sources
}

/// Jobs that passed need not be paid for twice. A run without a failed job, or that never started, is repeated whole.
fn extent(snapshot: &Snapshot, what: Repeatable) -> Extent {
    let Repeatable::WorkflowRun { id, .. } = what else { return Extent::Whole };
    let run = snapshot.workflow_runs.iter().find(|run| run.id == id);
    match run.map(|run| run.progress) {
        Some(CheckProgress::Completed {
            conclusion: Conclusion::Failure | Conclusion::TimedOut | Conclusion::Cancelled,
            ..
        }) => Extent::FailedJobs,
        _ => Extent::Whole,
    }
}

#[cfg(test)]
#[path = "rerun_tests.rs"]
mod tests;
