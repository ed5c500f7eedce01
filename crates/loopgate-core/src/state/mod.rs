//! `loop-state.json`: the only truth about where a loop stands, carried from one reconcile to the next.
//!
//! It has parts: the run, its head, its attempts, what people decided, and what each concern keeps. It is written in
//! camelCase ([`LOOP_STATE_SCHEMA`]). Fields that this version does not know survive, in the document and in each part,
//! so an older writer never drops them. Everything derivable is derived again at each reconcile. The state keeps what
//! only the past knows: attempts, first sightings of heads, skips, blocks, what was answered.

mod attempts;
mod concerns;
mod head;
pub mod history;
mod local_loop;
mod people;
mod queue;
mod run;
mod run_document;
mod schema;
mod shown;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use self::{
    attempts::*,
    concerns::*,
    head::*,
    local_loop::*,
    people::*,
    queue::*,
    run::*,
    run_document::{MEMORY_REF, RUN_DOCUMENT_SCHEMA, RunDocument},
    schema::{LOOP_STATE_SCHEMA, UnreadableState},
    shown::*,
};
pub use super::memory::Settlement;
use super::{
    ids::{FailureId, Sha, Timestamp},
    observed::Account,
    policy::Trigger,
};

/// The state of one run, in parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopState {
    pub run: Run,
    pub head: HeadRecord,
    pub attempts: Attempts,
    pub people: People,
    pub concerns: Concerns,
    pub shown: Shown,
    /// Fields of newer writers.
    pub extra: Map<String, Value>,
}

impl LoopState {
    /// The call to record where these triggers hold, the most urgent first, and none did before.
    pub fn call_for(&self, triggers: &[Trigger], now: Timestamp) -> Option<Blocked> {
        let (first, also) = triggers.split_first()?;
        let attempt = self.attempts.counted.last().map_or(0, |last| last.number);
        let is_same = |cause: &&(Trigger, u32)| **cause == (*first, attempt);
        let before = self.people.past_causes.iter().filter(is_same).count();
        Some(Blocked {
            trigger: *first,
            also: also.to_vec(),
            attempt,
            call: u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1),
            head_sha: self.head.sha,
            since: now,
        })
    }

    /// Lets the run go on as a person says, with streaks that count from the next attempt.
    pub fn resume(
        &mut self,
        by: &Account,
        at: Timestamp,
        settled: Option<FailureId>,
        accepted: Vec<String>,
    ) -> Resume {
        self.people.blocked = None;
        let after_attempt = self.attempts.counted.last().map_or(0, |last| last.number);
        let resume = Resume {
            after_attempt,
            by: by.login.clone(),
            by_id: by.id,
            at,
            settled,
            accepted,
        };
        self.people.resumes.push(resume.clone());
        resume
    }

    /// Accepts what weakens the checks, how many of each; returns what was not accepted before.
    pub fn accept_tampering(&mut self, found: BTreeMap<String, u32>) -> Vec<String> {
        self.people.accepted.insert(Trigger::Tampering);
        let before = std::mem::replace(&mut self.concerns.tampering, found);
        let is_new =
            |(key, count): &(&String, &u32)| before.get(*key).is_none_or(|before| before < *count);
        self.concerns
            .tampering
            .iter()
            .filter(is_new)
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// What was answered on this head, each with where it was asked.
    pub fn replies(&self) -> impl DoubleEndedIterator<Item = (&Asked, &Answer)> {
        let all = self
            .people
            .answered
            .iter()
            .flat_map(|of| of.answers.iter().map(|answer| (&of.source, answer)));
        all.filter(|(_, answer)| answer.head_sha == self.head.sha)
    }

    /// The number of the attempt that this head is, or will be once it is counted.
    pub fn attempt_number(&self, head: Sha) -> u32 {
        let next = || {
            self.attempts
                .counted
                .last()
                .map_or(self.attempts.lost, |last| last.number)
                + 1
        };
        self.attempt_of(head)
            .map_or_else(next, |attempt| attempt.number)
    }

    /// The digest of the last attempt, if it was made of this head. A head that comes back after another one was tried
    /// is a new attempt: going round in a circle costs attempts too.
    pub fn attempt_of(&self, head: Sha) -> Option<&AttemptDigest> {
        self.attempts
            .counted
            .last()
            .filter(|attempt| attempt.head_sha == head)
    }
}
