//! Looks that are repeated soon, because what was read cannot be the whole truth yet.
//!
//! What GitHub's API answers may be older than the event that led to the look: then the fact that the event told does
//! not show. Somebody's rights may not have been readable, or a change may have been refused for a moment. Each of
//! these heals by looking again, without any further event.
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
    observed::{CheckProgress, Hint, Lifecycle, NamedAccount, Snapshot, Standing, TeamStanding},
};

/// The pauses between the looks.
const PAUSES: [TimeDelta; 4] =
    [TimeDelta::seconds(2), TimeDelta::seconds(5), TimeDelta::seconds(15), TimeDelta::seconds(60)];
/// A change that was refused is tried again after the later ones of them only: most refusals last.
const FIRST_AFTER_A_REFUSAL: usize = 2;
/// How long somebody's rights are asked for again every minute.
const UNANSWERED_FOR: TimeDelta = TimeDelta::hours(1);
/// Pull requests remembered at most.
const MOST: usize = 10_000;

/// Which pull requests are looked at again soon, and why.
#[derive(Debug, Default)]
pub(super) struct LookAgain(Mutex<BTreeMap<(RepoName, PrNumber), Waiting>>);

#[derive(Debug)]
struct Waiting {
    since: Timestamp,
    looks: usize,
    /// What events told and the API did not show.
    unseen: Vec<Hint>,
}

/// What a look leaves in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    None,
    /// A change was refused.
    Refused,
    /// GitHub did not say who somebody is, or what they may do.
    Unanswered,
}

impl Doubt {
    pub fn of(snapshot: &Snapshot, refused: bool) -> Self {
        let authority = &snapshot.authority;
        let unanswered = authority.people.values().any(|it| matches!(it, Standing::Unknown(_)))
            || authority.logins.values().any(|it| matches!(it, NamedAccount::Unknown(_)))
            || authority.teams.values().any(|it| matches!(it, TeamStanding::Unknown(_)));
        match (unanswered, refused) {
            (true, _) => Self::Unanswered,
            (false, true) => Self::Refused,
            (false, false) => Self::None,
        }
    }
}

impl LookAgain {
    /// What events told, now or before an earlier look, that this observation does not show.
    pub fn unseen(&self, job: &ReconcileRequest, observation: &Observation) -> Vec<Hint> {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = waiting.get(&key(job)).map(|waiting| waiting.unseen.as_slice()).unwrap_or_default();
        let told: Vec<&Hint> = before.iter().chain(&job.hints).collect();
        let is_replaced = |at: usize| told[at + 1..].iter().any(|later| replaces(later, told[at]));
        let unseen =
            told.iter().enumerate().filter(|(at, hint)| !shows(&observation.snapshot, hint) && !is_replaced(*at));
        unseen.map(|(_, hint)| (*hint).clone()).collect()
    }

    /// When to look again, if there is a reason. Everything in doubt has its turns counted together.
    pub fn after(&self, job: &ReconcileRequest, unseen: Vec<Hint>, doubt: Doubt, now: Timestamp) -> Option<Timestamp> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if unseen.is_empty() && doubt == Doubt::None {
            all.remove(&key(job));
            return None;
        }
        if all.len() >= MOST {
            all.clear();
        }
        let is_news = unseen.iter().any(|hint| job.hints.contains(hint));
        let waiting = all.entry(key(job)).or_insert(Waiting { since: now, looks: 0, unseen: Vec::new() });
        if is_news && waiting.looks >= PAUSES.len() {
            *waiting = Waiting { since: now, looks: 0, unseen: Vec::new() };
        }
        if unseen.is_empty() && doubt == Doubt::Refused {
            waiting.looks = waiting.looks.max(FIRST_AFTER_A_REFUSAL);
        }
        waiting.unseen = unseen;
        let pause = PAUSES.get(waiting.looks).copied();
        waiting.looks += 1;
        if pause.is_none() {
            // It was waited for long enough: what is read is taken for what is.
            waiting.unseen.clear();
        }
        let patient = doubt == Doubt::Unanswered && now - waiting.since < UNANSWERED_FOR;
        pause.or(patient.then_some(PAUSES[PAUSES.len() - 1])).map(|pause| now + pause)
    }

    /// Whether what cannot be taken back waits for what is unseen.
    pub fn holds(&self, job: &ReconcileRequest, unseen: &[Hint]) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !unseen.is_empty() && all.get(&key(job)).is_none_or(|waiting| waiting.looks < PAUSES.len())
    }
}

/// Takes out what cannot be taken back: it waits until the observation shows what the events told.
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
fn shows(snapshot: &Snapshot, hint: &Hint) -> bool {
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
        Hint::Closed => snapshot.pull_request.lifecycle != Lifecycle::Open,
        Hint::Reopened => snapshot.pull_request.lifecycle == Lifecycle::Open,
        _ => true,
    }
}
