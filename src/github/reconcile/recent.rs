//! What this process remembers of a pull request from one turn to the next: what events stated, what GitHub did not
//! answer or refused, and which state was saved here.
//!
//! One rule for stale reads: what GitHub's API answers may be older than the event that led to the turn. So each fact
//! that an event states must show in what is read; else the pull request is looked at again ([`next_look`]), and what
//! cannot be undone is not posted. The same holds while somebody's rights cannot be read. Refusals and absences are the
//! client's: `Client::doubts`.
//!
//! All of it is in memory: what a process forgets by ending, the next event or the next resync brings.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use parking_lot::Mutex;

use crate::github::{
    act::{Effect, Problem},
    client::next_look,
    observe::Observation,
    reconcile::request::ReconcileRequest,
};
use loopgate_core::{
    PrNumber, RepoName, Sha, Timestamp,
    concerns::gates::ReactionKind,
    observed::{CheckProgress, Hint, Lifecycle},
};
use loopgate_refs::LoadedRun;

/// How long somebody's rights are asked for again, every minute after the last of the usual looks.
const UNANSWERED_FOR: TimeDelta = TimeDelta::hours(1);

/// How long the process that saved a state has to make the posts that follow from it.
const CONCURRENT_WRITER_TIME: TimeDelta = TimeDelta::seconds(10);

/// By how much two times that GitHub gives for one event may differ.
const CLOCK_SKEW: TimeDelta = TimeDelta::minutes(1);

/// Pull requests remembered at most.
const MOST: usize = 10_000;

/// Facts remembered of each at most, the newest.
const MOST_FACTS: usize = 100;

/// What is remembered, by pull request.
#[derive(Debug)]
pub(super) struct RecentMemory {
    /// When this process began: who saved before that has most likely ended.
    pub since: Timestamp,
    pub pulls: Mutex<BTreeMap<(RepoName, PrNumber), Recent>>,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Recent {
    facts: Vec<Fact>,
    /// Since when GitHub does not answer look-ups of people and logs.
    unanswered: Option<Timestamp>,
    /// The state commit that this process made last.
    pub saved: Option<Sha>,
    /// What GitHub refused at the last turn. It is shown in the status comment.
    pub problems: Vec<Problem>,
}

/// What an event stated a short while ago. Each observation must show it: one that does may be followed by one that is
/// answered by another server, which lags behind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact {
    hint: Hint,
    since: Timestamp,
}

impl RecentMemory {
    pub fn change<T>(&self, job: &ReconcileRequest, change: impl FnOnce(&mut Recent) -> T) -> T {
        let mut pulls = self.pulls.lock();
        let key = (job.repository.clone(), job.number);
        let mut recent = pulls.remove(&key).unwrap_or_default();
        let answer = change(&mut recent);
        if recent != Recent::default() {
            if pulls.len() >= MOST {
                pulls.clear();
            }
            pulls.insert(key, recent);
        }
        answer
    }

    /// What events stated, now or before an earlier turn. What is older than the last look is no longer among it: from
    /// then on what is read is believed.
    pub fn facts(&self, job: &ReconcileRequest, now: Timestamp) -> Vec<Fact> {
        self.change(job, |recent| {
            for (at, hint) in job.hints.iter().enumerate() {
                let is_history = job.hints[at + 1..]
                    .iter()
                    .any(|later| replaces(later, hint));
                if !is_history && recent.facts.iter().all(|fact| fact.hint != *hint) {
                    recent.facts.retain(|fact| !replaces(hint, &fact.hint));
                    recent.facts.push(Fact {
                        hint: hint.clone(),
                        since: now,
                    });
                }
            }
            recent
                .facts
                .retain(|fact| next_look(fact.since, now).is_some());
            recent
                .facts
                .drain(..recent.facts.len().saturating_sub(MOST_FACTS));
            recent.facts.clone()
        })
    }

    /// Notes whether something was not answered; since when it is not.
    pub fn unanswered(
        &self,
        job: &ReconcileRequest,
        is_unanswered: bool,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.change(job, |recent| {
            recent.unanswered = is_unanswered.then(|| recent.unanswered.unwrap_or(now));
            recent.unanswered
        })
    }

    /// When another process saved the state that was loaded, if it did so a moment ago and is about to show what
    /// follows from it. Clocks of two processes may differ: a time in the future is taken for now.
    pub fn concurrent_save(
        &self,
        job: &ReconcileRequest,
        loaded: &LoadedRun,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let saved_at = loaded.intact()?.run.updated_at.min(now);
        let is_recent = saved_at > self.since && now < saved_at + CONCURRENT_WRITER_TIME;
        (is_recent && self.change(job, |recent| recent.saved != loaded.tip)).then_some(saved_at)
    }
}

impl Fact {
    /// When a pull request that reads as open is to be looked at again, because it was closed. Its base may have what
    /// was merged already, and against that it would change nothing.
    pub fn awaits_end(&self, now: Timestamp) -> Option<Timestamp> {
        next_look(self.since, now).filter(|_| self.hint == Hint::Closed)
    }

    /// When to look again, unless what was read is at least as new as the event.
    pub fn awaited(&self, observation: &Observation, now: Timestamp) -> Option<Timestamp> {
        let pull_request = &observation.snapshot.pull_request;
        let is_open = pull_request.lifecycle == Lifecycle::Open;
        let comment = |id| {
            observation
                .snapshot
                .comments
                .items
                .iter()
                .find(|comment| comment.id == id)
        };
        let is_shown = match &self.hint {
            Hint::HeadSeen { sha, .. } => *sha == pull_request.head.sha,
            Hint::CommentWritten { comment: id } => comment(*id).is_some(),
            Hint::CommentEdited {
                comment: id, at, ..
            } => comment(*id).is_none_or(|comment| comment.updated_at >= *at),
            Hint::CommentDeleted { comment: id, .. } => comment(*id).is_none(),
            Hint::ReviewWritten { review } => observation
                .snapshot
                .reviews
                .items
                .iter()
                .any(|it| it.id == *review),
            Hint::CheckRunCompleted { check_run, head } => {
                let run = observation
                    .snapshot
                    .checks
                    .iter()
                    .find(|check| check.id == Some(*check_run));
                *head != pull_request.head.sha
                    || run
                        .is_some_and(|run| matches!(run.progress, CheckProgress::Completed { .. }))
            }
            Hint::BaseMoved { from } => observation.base_head != *from || !is_open,
            Hint::Closed => !is_open,
            Hint::Dequeued { at } => {
                !is_open
                    || observation.snapshot.queue.as_ref().is_some_and(|queue| {
                        queue.is_queued
                            || queue
                                .removal
                                .as_ref()
                                .is_some_and(|removal| removal.at + CLOCK_SKEW >= *at)
                    })
            }
            Hint::Enqueued => {
                let queue = observation.snapshot.queue.as_ref();
                !is_open || queue.is_some_and(|queue| queue.is_queued)
            }
            Hint::Reopened => is_open,
            _ => true,
        };
        next_look(self.since, now).filter(|_| !is_shown)
    }
}

/// Whether the later of two facts makes the earlier one history.
fn replaces(later: &Hint, earlier: &Hint) -> bool {
    match (later, earlier) {
        (Hint::HeadSeen { .. }, Hint::HeadSeen { .. } | Hint::CheckRunCompleted { .. }) => true,
        (
            Hint::CommentDeleted { comment: later, .. },
            Hint::CommentWritten { comment } | Hint::CommentEdited { comment, .. },
        )
        | (Hint::CommentEdited { comment: later, .. }, Hint::CommentEdited { comment, .. }) => {
            later == comment
        }
        (Hint::Dequeued { .. } | Hint::Enqueued, Hint::Dequeued { .. } | Hint::Enqueued) => true,
        (Hint::Reopened, Hint::Closed) | (Hint::Closed, Hint::Reopened) => true,
        _ => false,
    }
}

/// When to ask again for what is not answered since then.
pub(super) fn next_question(since: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let is_patient = now - since < UNANSWERED_FOR;
    next_look(since, now).or(is_patient.then_some(now + TimeDelta::minutes(1)))
}

/// Takes out what cannot be undone. It waits for an observation that shows what events stated, and is left to a process
/// that saved a moment ago, with the status comment; then this returns when to look whether it was made. Nobody's words
/// are refused by a reaction while something that was read is in doubt.
pub(super) fn hold_back(
    effects: &mut Vec<Effect>,
    is_stale: bool,
    is_in_doubt: bool,
    concurrent_save: Option<Timestamp>,
) -> Option<Timestamp> {
    let is_post =
        |effect: &Effect| matches!(effect, Effect::PostComment { .. } | Effect::Announce { .. });
    let is_left = |effect: &Effect| {
        concurrent_save.is_some()
            && (is_post(effect) || matches!(effect, Effect::CreateStatusComment { .. }))
    };
    let again_at = concurrent_save
        .filter(|_| effects.iter().any(is_left))
        .map(|saved_at| saved_at + CONCURRENT_WRITER_TIME);
    effects.retain(|effect| {
        let is_held = match effect {
            Effect::Rerun(_)
            | Effect::ApproveRun(_)
            | Effect::DeleteBranch(_)
            | Effect::RequestReviewer(_) => is_stale,
            Effect::React {
                kind: ReactionKind::NotAccepted,
                ..
            } => is_stale || is_in_doubt,
            effect => is_stale && is_post(effect),
        };
        !is_held && !is_left(effect)
    });
    again_at
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{CommentId, observed::Actor};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    fn job(hints: &[Hint]) -> ReconcileRequest {
        let (repository, number) = ("acme/widgets".parse().unwrap(), PrNumber::new(12));
        ReconcileRequest {
            installation: None,
            repository,
            number,
            hints: hints.to_vec(),
        }
    }

    #[test]
    fn what_an_event_stated_is_awaited_after_2_8_30_and_90_seconds() {
        let memory = RecentMemory {
            since: at(0),
            pulls: Mutex::default(),
        };
        let mut looks = Vec::new();
        let mut now = at(0);
        while let Some(next) = memory
            .facts(&job(&[Hint::Closed]), now)
            .first()
            .and_then(|fact| fact.awaits_end(now))
        {
            looks.push((next - at(0)).num_seconds());
            now = next;
        }
        assert_eq!(looks, [2, 8, 30, 90]);
        assert!(
            memory.facts(&job(&[]), now).is_empty(),
            "what is read then is believed"
        );
    }

    #[test]
    fn a_later_fact_makes_an_earlier_one_history_however_often_it_is_looked() {
        let memory = RecentMemory {
            since: at(0),
            pulls: Mutex::default(),
        };
        let comment = CommentId::new(7);
        let by = Actor {
            id: loopgate_core::UserId::new(1),
            login: "alice".parse().unwrap(),
        };
        let written = Hint::CommentWritten { comment };
        let deleted = Hint::CommentDeleted { comment, by };
        for now in [at(0), at(1)] {
            let facts = memory.facts(&job(&[written.clone(), deleted.clone()]), now);
            assert_eq!(
                facts,
                [Fact {
                    hint: deleted.clone(),
                    since: at(0)
                }]
            );
        }
        assert_eq!(
            memory
                .facts(&job(&[Hint::Reopened, Hint::Closed, Hint::Reopened]), at(2))
                .len(),
            2
        );
    }
}
