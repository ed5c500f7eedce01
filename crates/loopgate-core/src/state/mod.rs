//! `loop-state.json`: the only truth about where a loop stands, carried from one reconcile to the next.
//!
//! It is written in camelCase. Top-level fields that this version does not know survive ([`LoopState::extra`]), so an
//! older writer never drops them. Everything derivable is derived again at each reconcile. The state keeps what only
//! the past knows: attempts, first sightings of heads, skips, blocks, what was answered. What nothing reads but the
//! readers of the document is plain JSON.

pub mod history;
mod local_loop;
mod people;
mod queue;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

pub use self::{local_loop::*, people::*, queue::*, run::*};
pub use super::memory::Settlement;
use super::{
    ids::{
        CheckName, FailureId, GateName, Login, PrNumber, RepoName, Score, Sha, Timestamp,
        WorkflowRunId,
    },
    memory::ShownFix,
    observed::{Account, AnnouncedPush},
    policy::{Phase, Trigger},
    stage::Stage,
};

/// `schema` of a loop state.
pub const LOOP_STATE_SCHEMA: &str = "loopgate.loop-state/v1";

/// The state of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LoopState {
    pub schema: String,
    /// `<alias>-<UTC yyyymmdd-hhmmss>`.
    pub run_id: String,
    /// UUIDv5 of repository and run id.
    pub workflow_id: Uuid,
    pub repository: RepoName,
    pub pull_request: Option<PrNumber>,
    pub title: String,
    pub linked_issues: Vec<u64>,
    pub branch: String,
    pub head_sha: Sha,
    pub base_ref: String,
    pub base_sha: Sha,
    /// The commit whose configuration governed the last decision.
    pub policy_sha: Option<Sha>,
    /// Every head in the order it was first seen.
    pub first_seen_heads: Vec<HeadObservation>,
    /// Pushes from events, oldest first, at most [`MOST_PUSHES`](Self::MOST_PUSHES).
    pub pushes: Vec<AnnouncedPush>,
    pub agent: Option<Agent>,
    /// None in states written before it was kept, and in local loops.
    pub author: Option<AuthorKind>,
    pub code_artifact: CodeArtifact,
    /// How the tests are executed, as far as the configuration says.
    pub execution_config: Value,
    /// The retry numbers in force.
    pub retry_policy: Value,
    pub debug_memory_ref: String,
    /// The stage the stage walk reached.
    pub state: Stage,
    pub state_entered_at: Timestamp,
    pub status: RunStatus,
    pub phase: Phase,
    pub current_step: Step,
    /// The attempt the head is, or will be once verified. Counts from 1.
    pub iteration: u32,
    pub max_iterations: u32,
    pub task_alias: String,
    pub task: Task,
    pub plan: Vec<String>,
    pub prepared_checks: Vec<CheckName>,
    pub critique: Option<Vec<String>>,
    /// What the evaluation asks for ([`criteria`]).
    pub criteria: Value,
    pub capabilities: CapabilityProgress,
    /// Whether each stage is pending, in progress or complete, and since when.
    pub stages: BTreeMap<Stage, Value>,
    /// Evidence that the stage asks for, and which of it is there.
    pub stage_evidence: BTreeMap<Stage, Value>,
    pub last_verification: Option<LastVerification>,
    pub failures: FailureLog,
    pub gates: BTreeMap<GateName, GateState>,
    pub skips: Vec<Skip>,
    /// Held workflow runs that GitHub was asked to let go, as far as that is in the history.
    pub approved_runs: BTreeSet<WorkflowRunId>,
    pub prerequisites: BTreeMap<String, String>,
    pub evaluation: Option<EvaluationSummary>,
    pub last_score: Option<Score>,
    pub stagnation_count: u32,
    pub best_attempt: Option<BestAttempt>,
    /// What ran on each head, the newest heads last.
    pub check_log: Vec<Value>,
    pub check_usage: BTreeMap<CheckName, u32>,
    /// The commits of attempts, and of fixers in a local loop.
    pub checkpoints: Vec<Value>,
    /// What was merged over: open gates and failing required rules.
    pub bypassed: Vec<String>,
    pub stop: Stop,
    /// One digest per counted attempt, oldest first; the whole record is in `attempts/NNN.json`.
    pub attempts: Vec<AttemptDigest>,
    /// How many attempts were made before this run whose record is gone with its ref. Numbers go on from here, and
    /// these count as failed: deleting a record wins no attempt.
    pub lost_attempts: u32,
    /// What showed that there was a record before this run.
    pub lost_trace: Option<Trace>,
    /// The cause that called a human, while it stands.
    pub blocked: Option<Blocked>,
    /// Causes that went away by themselves, each with the attempt it called a human at. One that comes back calls
    /// again.
    pub past_causes: Vec<(Trigger, u32)>,
    /// The cause that the senior fixer was asked to mend instead of a human: once in a run.
    pub senior: Option<Blocked>,
    /// Failures of which somebody said that they are not theirs to mend, oldest first.
    pub disputes: Vec<Dispute>,
    /// Where streaks were started anew by `/loop resume`.
    pub resumes: Vec<Resume>,
    /// Weakened checks that a person took responsibility for, and how many of each.
    pub accepted_tampering: BTreeMap<String, u32>,
    /// Checks that a person let go although nothing shows that they ran, oldest first.
    pub releases: Vec<Release>,
    /// Causes released by a person, such as `tampering`.
    pub accepted: BTreeSet<Trigger>,
    /// What was asked for again on this head, oldest first.
    pub reruns: Vec<Rerun>,
    /// Checks that fail for reasons outside the code, while they do.
    pub outage: Option<Outage>,
    #[serde(skip_serializing_if = "crate::words::is_default")]
    pub unreported: Unreported,
    /// Comments and reviews whose commands were carried out or refused, with what was answered: never twice.
    pub answered: Vec<Answered>,
    /// Comments and reviews with words for us that an event reports as edited: the API may not show it.
    pub edited_words: BTreeSet<WordSource>,
    /// Those of them that somebody else edited.
    pub edited_by_others: BTreeSet<WordSource>,
    /// When the pull request was closed: nothing that was approved then counts.
    pub closed_periods: Vec<ClosedPeriod>,
    /// Earlier heads on which check runs of ours may still show an outdated result.
    pub left_heads: BTreeSet<Sha>,
    /// Whether its workflows wait to be let run.
    pub hold: Option<RunHold>,
    /// The layer of its stack above it, which is notified also once the stack is dissolved.
    pub above: Option<PrNumber>,
    /// Its merge queue.
    pub queue: QueueRecord,
    /// What mended errors in the files it edits before, as of its first look; none until that was looked up.
    pub known_here: Option<Vec<ShownFix>>,
    /// What earlier runs would have come to under the configuration that it proposes.
    pub proposed: Option<ProposedConfiguration>,
    /// What only a local loop keeps.
    pub reflex: Option<ReflexState>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Fields of newer writers.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl LoopState {
    /// The call to record where these triggers hold, the most urgent first, and none did before.
    pub fn call_for(&self, triggers: &[Trigger], now: Timestamp) -> Option<Blocked> {
        let (first, also) = triggers.split_first()?;
        let attempt = self.attempts.last().map_or(0, |last| last.number);
        let is_same = |cause: &&(Trigger, u32)| **cause == (*first, attempt);
        let before = self.past_causes.iter().filter(is_same).count();
        Some(Blocked {
            trigger: *first,
            also: also.to_vec(),
            attempt,
            call: u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1),
            head_sha: self.head_sha,
            since: now,
        })
    }

    /// What is known of a record that was there before this run and is gone.
    pub fn lost_record(&self) -> Option<LostRecord> {
        // Before traces were kept, a lost record was recognised by the status comment only.
        let trace = self
            .lost_trace
            .or((self.lost_attempts > 0).then_some(Trace::StatusComment))?;
        Some(LostRecord {
            attempts: self.lost_attempts,
            trace,
        })
    }

    /// Whether it has ended with its pull request, or as a local loop.
    pub fn has_ended(&self) -> bool {
        match self.pull_request {
            Some(_) => {
                let closed = self
                    .closed_periods
                    .last()
                    .is_some_and(|period| period.to.is_none());
                self.status == RunStatus::Completed || closed
            }
            None => !matches!(self.status, RunStatus::InProgress | RunStatus::Escalated),
        }
    }

    /// Who took responsibility for what weakens the checks: the person, and a clause for each.
    pub fn accepted_by(&self) -> impl Iterator<Item = (&Login, &str)> {
        self.resumes.iter().flat_map(|resume| {
            resume
                .accepted
                .iter()
                .map(move |what| (&resume.by, what.as_str()))
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
        self.blocked = None;
        let after_attempt = self.attempts.last().map_or(0, |last| last.number);
        let resume = Resume {
            after_attempt,
            by: by.login.clone(),
            by_id: by.id,
            at,
            settled,
            accepted,
        };
        self.resumes.push(resume.clone());
        resume
    }

    /// Accepts what weakens the checks, how many of each; returns what was not accepted before.
    pub fn accept_tampering(&mut self, found: BTreeMap<String, u32>) -> Vec<String> {
        self.accepted.insert(Trigger::Tampering);
        let before = std::mem::replace(&mut self.accepted_tampering, found);
        let is_new =
            |(key, count): &(&String, &u32)| before.get(*key).is_none_or(|before| before < *count);
        self.accepted_tampering
            .iter()
            .filter(is_new)
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Of each person's pushes at least one is kept.
    pub const MOST_PUSHES: usize = 200;

    /// Notes a push, once.
    pub fn note_push(&mut self, push: &AnnouncedPush) {
        if !self.pushes.contains(push) {
            self.pushes.push(push.clone());
        }
        if self.pushes.len() > Self::MOST_PUSHES {
            let has_later = |at: usize| {
                self.pushes[at + 1..]
                    .iter()
                    .any(|later| later.by.id == self.pushes[at].by.id)
            };
            let repeated = (0..self.pushes.len())
                .find(|at| has_later(*at))
                .unwrap_or(0);
            self.pushes.remove(repeated);
        }
    }

    /// What was answered on this head, each with where it was asked.
    pub fn replies(&self) -> impl DoubleEndedIterator<Item = (&Asked, &Answer)> {
        let all = self
            .answered
            .iter()
            .flat_map(|of| of.answers.iter().map(|answer| (&of.source, answer)));
        all.filter(|(_, answer)| answer.head_sha == self.head_sha)
    }

    /// The number of the attempt that this head is, or will be once it is counted.
    pub fn attempt_number(&self, head: Sha) -> u32 {
        let next = || {
            self.attempts
                .last()
                .map_or(self.lost_attempts, |last| last.number)
                + 1
        };
        self.attempt_of(head)
            .map_or_else(next, |attempt| attempt.number)
    }

    /// The digest of the last attempt, if it was made of this head. A head that comes back after another one was tried
    /// is a new attempt: going round in a circle costs attempts too.
    pub fn attempt_of(&self, head: Sha) -> Option<&AttemptDigest> {
        self.attempts
            .last()
            .filter(|attempt| attempt.head_sha == head)
    }
}

/// A head commit, when it was first seen, and what each gate's diff looked like then.
///
/// A commit is entered again when it is seen with another base or with other gates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeadObservation {
    pub sha: Sha,
    pub at: Timestamp,
    /// Digests of the diff that triggers each gate, for telling whether an approval still covers it.
    #[serde(default)]
    pub gates: BTreeMap<GateName, String>,
    /// The base branch at that time; none in states written before it was kept.
    pub base: Option<String>,
    /// The commit that the diff was taken from; none in states written before it was kept.
    pub merge_base: Option<Sha>,
}

impl HeadObservation {
    /// Enters what was seen: at the end of the record, or instead of its only entry, if that is now known to be older.
    pub fn enter(self, record: &mut Vec<Self>) {
        if matches!(record.as_slice(), [only] if self.at < only.at) {
            record.clear();
        }
        record.push(self);
    }
}
