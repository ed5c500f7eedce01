//! Looks that are repeated soon, because what was read cannot be the whole truth yet.
//!
//! What GitHub's API answers may be older than the event that led to the look: then the fact that the event told does
//! not show. Somebody's rights may not have been readable. Each of these heals by looking again, without any further
//! event. Refusals that may pass are the client's: `Client::doubts`.
//!
//! All of it is kept in memory: what a process forgets by ending, the next event or the next resync brings.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use chrono::TimeDelta;

use super::ReconcileRequest;
use crate::github::{Effect, Observation};
use loopgate_core::{
    PrNumber, RepoName, Timestamp,
    observed::{CheckProgress, Hint, Lifecycle, Snapshot},
};

/// When it is looked again, after something was first in doubt. Looks that events lead to in between change nothing of it.
const OFFSETS: [TimeDelta; 4] =
    [TimeDelta::seconds(2), TimeDelta::seconds(7), TimeDelta::seconds(22), TimeDelta::seconds(82)];
/// How long somebody's rights are asked for again, every minute after the last of these.
const UNANSWERED_FOR: TimeDelta = TimeDelta::hours(1);
/// Pull requests remembered at most.
const MOST: usize = 10_000;
/// Facts remembered of each at most, the newest.
const MOST_TOLD: usize = 100;

/// Which pull requests are looked at again soon, and why.
#[derive(Debug, Default)]
pub(super) struct LookAgain(Mutex<BTreeMap<(RepoName, PrNumber), Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    told: Vec<Told>,
    /// Since when GitHub does not say who somebody is, or what they may do.
    unanswered: Option<Timestamp>,
}

/// What an event told a short while ago. Each look must show it: one that does may be followed by one that is answered by
/// another server, which lags behind.
#[derive(Debug, Clone)]
pub(super) struct Told {
    hint: Hint,
    since: Timestamp,
    pub is_shown: bool,
}

impl LookAgain {
    /// What events told, now or before an earlier look, and whether this observation shows it. What is older than the last
    /// of the repeated looks is no longer among it: what is read is taken for what is.
    pub fn told(&self, job: &ReconcileRequest, observation: &Observation, now: Timestamp) -> Vec<Told> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = waiting.get(&key(job)).map(|waiting| waiting.told.as_slice()).unwrap_or_default();
        let known = |hint: &&Hint| before.iter().all(|told| told.hint != **hint);
        let news = job.hints.iter().filter(known).map(|hint| (hint, now));
        let all: Vec<_> = before.iter().map(|told| (&told.hint, told.since)).chain(news).collect();
        let all = &all[all.len().saturating_sub(MOST_TOLD)..];
        let stands = |at: usize| !all[at + 1..].iter().any(|(later, _)| replaces(later, all[at].0));
        let young = all.iter().enumerate().filter(|(at, (_, since))| stands(*at) && next(*since, now).is_some());
        let tell = |hint: &Hint, since| Told { is_shown: shows(observation, hint), hint: hint.clone(), since };
        young.map(|(_, (hint, since))| tell(hint, *since)).collect()
    }

    /// When to look again at what reads as open, though an event told a short while ago that it was closed. Its base may
    /// have what was merged already, and against that it would change nothing.
    pub fn awaits_end(&self, job: &ReconcileRequest, now: Timestamp) -> Option<Timestamp> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(&key(job)).map(|waiting| waiting.told.as_slice()).unwrap_or_default();
        let since = known.iter().find(|told| told.hint == Hint::Closed).map(|told| told.since);
        let is_news = job.hints.contains(&Hint::Closed);
        let is_open = known.iter().map(|told| &told.hint).chain(&job.hints).any(|hint| *hint == Hint::Reopened);
        let since = since.or(is_news.then_some(now)).filter(|_| !is_open)?;
        let at = next(since, now)?;
        let news = job.hints.iter().filter(|hint| known.iter().all(|told| told.hint != **hint));
        let news: Vec<_> = news.map(|hint| Told { hint: hint.clone(), since: now, is_shown: false }).collect();
        all.entry(key(job)).or_default().told.extend(news);
        Some(at)
    }

    /// Whether GitHub does not say who somebody is, or what they may do, and soon may.
    pub fn awaits_answer(&self, job: &ReconcileRequest, now: Timestamp) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = all.get(&key(job)).and_then(|waiting| waiting.unanswered);
        next(since.unwrap_or(now), now).is_some()
    }

    /// When to look again, if there is a reason.
    pub fn after(
        &self,
        job: &ReconcileRequest,
        told: Vec<Told>,
        unanswered: bool,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = all.remove(&key(job)).unwrap_or_default();
        let unanswered = unanswered.then(|| before.unanswered.unwrap_or(now));
        let for_answer = unanswered.and_then(|since| {
            let patient = now - since < UNANSWERED_FOR;
            next(since, now).or(patient.then_some(now + TimeDelta::minutes(1)))
        });
        let unseen = told.iter().filter(|told| !told.is_shown);
        let at = unseen.filter_map(|told| next(told.since, now)).chain(for_answer).min();
        if !told.is_empty() || unanswered.is_some() {
            if all.len() >= MOST {
                all.clear();
            }
            all.insert(key(job), Waiting { told, unanswered });
        }
        at
    }
}

/// The first of the looks after something came into doubt that is still to come.
fn next(since: Timestamp, now: Timestamp) -> Option<Timestamp> {
    OFFSETS.iter().map(|offset| since + *offset).find(|at| *at > now)
}

/// Takes out what cannot be taken back: it waits until the observation shows what the events told, and who is who.
pub(super) fn without_irrevocable(effects: &mut Vec<Effect>) {
    effects.retain(|effect| {
        !matches!(
            effect,
            Effect::PostComment { .. }
                | Effect::AskFixer { .. }
                | Effect::Announce { .. }
                | Effect::Rerun(_)
                | Effect::ApproveRun(_)
                | Effect::DeleteBranch(_)
                | Effect::RequestReviewer(_)
        )
    });
}

fn key(job: &ReconcileRequest) -> (RepoName, PrNumber) {
    (job.repository.clone(), job.number)
}

/// Whether the later of two facts makes the earlier one history.
fn replaces(later: &Hint, earlier: &Hint) -> bool {
    match (later, earlier) {
        (Hint::HeadSeen { .. }, Hint::HeadSeen { .. } | Hint::CheckRunCompleted { .. }) => true,
        (Hint::CommentDeleted { comment: later, .. }, Hint::CommentWritten { comment, .. })
        | (Hint::CommentDeleted { comment: later, .. }, Hint::CommentEdited { comment, .. })
        | (Hint::CommentEdited { comment: later, .. }, Hint::CommentEdited { comment, .. }) => later == comment,
        (Hint::Reopened, Hint::Closed) | (Hint::Closed, Hint::Reopened) => true,
        _ => later == earlier,
    }
}

/// Whether what was read is at least as new as what an event told.
fn shows(observation: &Observation, hint: &Hint) -> bool {
    let snapshot: &Snapshot = &observation.snapshot;
    let head = snapshot.pull_request.head.sha;
    let comment = |id| snapshot.comments.items.iter().find(|comment| comment.id == id);
    match hint {
        Hint::HeadSeen { sha, .. } => *sha == head,
        Hint::CommentWritten { comment: id } => comment(*id).is_some(),
        Hint::CommentEdited { comment: id, at, .. } => comment(*id).is_none_or(|comment| comment.updated_at >= *at),
        Hint::CommentDeleted { comment: id, .. } => comment(*id).is_none(),
        Hint::ReviewWritten { review } => snapshot.reviews.items.iter().any(|it| it.id == *review),
        Hint::CheckRunCompleted { check_run, head: of } => {
            let run = snapshot.checks.iter().find(|check| check.id == Some(*check_run));
            *of != head || run.is_some_and(|run| matches!(run.progress, CheckProgress::Completed { .. }))
        }
        Hint::BaseMoved { from } => {
            observation.base_head != *from || snapshot.pull_request.lifecycle != Lifecycle::Open
        }
        Hint::Closed => snapshot.pull_request.lifecycle != Lifecycle::Open,
        Hint::Reopened => snapshot.pull_request.lifecycle == Lifecycle::Open,
        _ => true,
    }
}
