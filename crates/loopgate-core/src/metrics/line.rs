//! The line of one run, and the times that it takes from the run's history: who was waited for, how long gates waited,
//! when attempts passed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SlowTest;
use crate::{
    evidence::CheckEvidence,
    ids::{CheckName, GateName, PrNumber, Timestamp},
    memory::{MatchOutcome, Offers},
    policy::Trigger,
    state::{
        AttemptDigest, AuthorKind, CoverageMet, Dispute, DisputeEnd, LoopState, QueueExit,
        ReflexState, Settlement, VerificationResult,
        history::{ArtifactCreated, Escalated, Event, GateInvalidated, HistoryLine},
    },
};

/// `schema` of a run's line.
pub const RUN_SCHEMA: &str = "loopgate.run/v1";
/// Names of checks, and of gates, that a line has at most.
const MOST_NAMES: usize = 50;

/// What is kept of a run. A few kilobytes at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLine {
    pub schema: String,
    pub run_id: String,
    /// None for a local loop.
    pub pull_request: Option<PrNumber>,
    pub author: AuthorKind,
    /// The agent's name, where one wrote the change.
    pub agent: Option<String>,
    pub started_at: Timestamp,
    /// None while the run is open.
    pub ended_at: Option<Timestamp>,
    /// Attempts, those blamed on the base left out.
    pub attempts: u32,
    /// Attempts after one that failed.
    pub retries: u32,
    /// How the first attempt stands: a re-run of its head replaces it.
    pub first_result: Option<VerificationResult>,
    /// The number of the first attempt that passes, counted as `attempts` are.
    pub first_pass: Option<u32>,
    /// From the beginning of the run until an attempt passed.
    pub seconds_to_green: Option<u64>,
    /// Calls for a human, by their cause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<Trigger, u32>,
    /// Whether the last attempt met its coverage, where that is known.
    pub coverage: Option<CoverageMet>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disputes: BTreeMap<DisputeOutcome, u32>,
    /// Why it left its merge queue without being merged, and how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queue_exits: BTreeMap<QueueExit, u32>,
    /// `None` if the run recorded no memory look-ups.
    pub memory: Option<MemoryUse>,
    /// Attempts that pass because a test that failed and passed on one head was recognised.
    #[serde(default)]
    pub saved_by_flakes: u32,
    /// Seconds for which each was waited for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waited: BTreeMap<Waited, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gates: BTreeMap<GateName, GateUse>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<CheckName, CheckUse>,
    /// The slowest tests of its attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slow_tests: Vec<SlowTest>,
}

/// The use of the debug memory in the retries of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Retries whose feedback carried a verified card.
    pub carried: u32,
    /// What came after cards that were shown.
    #[serde(default)]
    pub offers: Offers,
}

impl MemoryUse {
    /// Of attempts that failed, each with the one after it. None where none was looked up.
    fn of(retries: &[(&AttemptDigest, &AttemptDigest)]) -> Option<Self> {
        let mut used = None;
        for (failed, next) in retries {
            let Some(found) = &failed.memory_matches else {
                continue;
            };
            let use_of: &mut Self = used.get_or_insert_default();
            use_of.carried += u32::from(found.iter().any(|it| it.outcome == MatchOutcome::Shown));
            found.iter().for_each(|found| use_of.offers.count(found));
            let gone = |error| !next.fingerprints.contains(error);
            failed
                .fingerprints
                .iter()
                .for_each(|error| use_of.offers.all.count(gone(error)));
        }
        used
    }
}

words! {
    /// How a dispute stands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum DisputeOutcome {
        Open = "open",
        /// The test was right.
        Test = "test",
        Code = "code",
        Neither = "neither",
        /// A push mended the failure.
        Mended = "mended",
    }
}

impl DisputeOutcome {
    const fn of(dispute: &Dispute) -> Self {
        match &dispute.end {
            None => Self::Open,
            Some(DisputeEnd::Mended { .. }) => Self::Mended,
            Some(DisputeEnd::Settled { outcome, .. }) => match outcome {
                Settlement::Test => Self::Test,
                Settlement::Code => Self::Code,
                Settlement::Neither(_) => Self::Neither,
            },
        }
    }
}

/// What a gate cost a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateUse {
    /// How often it was asked for.
    pub rounds: u32,
    pub rejections: u32,
    pub waited_seconds: u64,
}

/// What a check did in the attempts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckUse {
    pub runs: u32,
    pub failed: u32,
    pub total_ms: u64,
    pub longest_ms: u64,
}

impl CheckUse {
    pub(crate) fn of(check: &CheckEvidence) -> Self {
        let failed = u32::from(check.outcome.is_failure());
        Self {
            runs: 1,
            failed,
            total_ms: check.duration_ms,
            longest_ms: check.duration_ms,
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.failed = self.failed.saturating_add(other.failed);
        self.total_ms = self.total_ms.saturating_add(other.total_ms);
        self.longest_ms = self.longest_ms.max(other.longest_ms);
    }
}

impl RunLine {
    /// The line of a run as it stands. `checks` are those that its attempts recorded; `ended` is none while it is open.
    pub fn of(
        state: &LoopState,
        history: &[HistoryLine],
        checks: &[CheckEvidence],
        ended: Option<Timestamp>,
    ) -> Self {
        let timeline = Timeline::of(state, history, ended.unwrap_or(state.run.updated_at));
        let counted: Vec<&AttemptDigest> = state
            .attempts
            .counted
            .iter()
            .filter(|it| it.spent() || it.passes())
            .collect();
        // What was lost counts as failed.
        let number = |index: usize| {
            u32::try_from(index + 1)
                .unwrap_or(u32::MAX)
                .saturating_add(state.attempts.lost)
        };
        let result = |passes| {
            if passes {
                VerificationResult::Pass
            } else {
                VerificationResult::Fail
            }
        };
        let first = counted.first().filter(|_| state.attempts.lost == 0);
        let lost = (state.attempts.lost > 0).then_some(VerificationResult::Fail);
        let pairs = counted
            .windows(2)
            .filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
        let retries: Vec<_> = pairs.filter(|(failed, _)| !failed.passes()).collect();
        let mut disputes: BTreeMap<DisputeOutcome, u32> = BTreeMap::new();
        state
            .concerns
            .disputes
            .iter()
            .for_each(|dispute| *disputes.entry(DisputeOutcome::of(dispute)).or_default() += 1);
        let mut queue_exits: BTreeMap<QueueExit, u32> = BTreeMap::new();
        for exit in state
            .concerns
            .queue
            .departures
            .iter()
            .filter_map(|departure| departure.exit)
        {
            *queue_exits.entry(exit).or_default() += 1;
        }
        let mut check_uses: BTreeMap<CheckName, CheckUse> = BTreeMap::new();
        checks.iter().for_each(|one| {
            check_uses
                .entry(one.name.clone())
                .or_default()
                .add(&CheckUse::of(one))
        });
        let is_of_an_agent = state.run.agent.is_some()
            || state
                .run
                .reflex
                .as_ref()
                .is_some_and(ReflexState::has_fixer);
        let pass = counted.iter().find(|it| it.passes());
        let green_at = pass.map(|pass| timeline.passed_at(pass.number).unwrap_or(pass.at));
        let saved = counted
            .iter()
            .filter(|it| it.passes() && timeline.was_a_flake(it))
            .count();
        Self {
            schema: RUN_SCHEMA.to_owned(),
            run_id: state.run.id.clone(),
            pull_request: state.run.pull_request,
            author: state.run.author.unwrap_or(if is_of_an_agent {
                AuthorKind::Agent
            } else {
                AuthorKind::Person
            }),
            agent: state.run.agent.as_ref().map(|agent| agent.name.clone()),
            started_at: state.run.created_at,
            ended_at: ended,
            attempts: number(counted.len()) - 1,
            retries: count(retries.len()),
            first_result: first.map(|first| result(first.passes())).or(lost),
            first_pass: counted.iter().position(|it| it.passes()).map(number),
            seconds_to_green: green_at.map(|at| seconds(state.run.created_at, at)),
            coverage: counted.last().and_then(|last| last.coverage),
            disputes,
            queue_exits,
            memory: MemoryUse::of(&retries),
            saved_by_flakes: count(saved),
            calls: timeline.calls,
            waited: timeline.waited,
            gates: timeline.gates.into_iter().take(MOST_NAMES).collect(),
            checks: check_uses.into_iter().take(MOST_NAMES).collect(),
            slow_tests: SlowTest::of_run(checks),
        }
    }

    /// Whether a person was called for what the attempts came to. What is no one's failure calls, too, and
    /// is counted apart.
    pub fn escalated(&self) -> bool {
        self.calls.keys().any(|trigger| trigger.is_of_attempts())
    }
}

/// One line of each run: the one of its last end. A run that was opened again has a line for each of its ends; the line
/// of an open run counts as newer than any of them.
pub fn newest(lines: impl IntoIterator<Item = RunLine>) -> Vec<RunLine> {
    let mut runs: BTreeMap<String, RunLine> = BTreeMap::new();
    for line in lines {
        let rank = |line: &RunLine| line.ended_at.unwrap_or(Timestamp::MAX_UTC);
        if runs
            .get(&line.run_id)
            .is_none_or(|known| rank(known) <= rank(&line))
        {
            runs.insert(line.run_id.clone(), line);
        }
    }
    runs.into_values().collect()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Whole seconds from one moment to a later one; 0 where it is not later.
fn seconds(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from((to - from).num_seconds()).unwrap_or(0)
}

/// Who was to act next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waited {
    /// The checks of a head.
    Ci,
    /// The fixer of a failing head, a person or an agent.
    Author,
    /// Those who may approve a gate.
    Approver,
    /// The person who was called.
    Human,
}

/// The history of a run, in time, up to the line that was read last.
#[derive(Default)]
struct Timeline {
    calls: BTreeMap<Trigger, u32>,
    waited: BTreeMap<Waited, u64>,
    gates: BTreeMap<GateName, GateUse>,
    /// Each evaluation of an attempt: its number, when, and whether it passed.
    evaluations: Vec<(u32, Timestamp, bool)>,
    at: Timestamp,
    waiting: Option<Waited>,
    /// Gates that were asked for, and since when.
    open: BTreeMap<GateName, Timestamp>,
    /// Whether the last evaluation passed.
    passed: bool,
}

impl Timeline {
    /// `until` is when the run ended, or when it was last looked at.
    fn of(state: &LoopState, history: &[HistoryLine], until: Timestamp) -> Self {
        let mut run = Self {
            at: state.run.created_at,
            waiting: Some(Waited::Ci),
            ..Self::default()
        };
        for line in history.iter().filter(|line| line.run_id == state.run.id) {
            run.pass_time(line.ts);
            run.take(&line.event, line.ts);
        }
        run.pass_time(until);
        while let Some((gate, since)) = run.open.pop_first() {
            run.gates.entry(gate).or_default().waited_seconds += seconds(since, until);
        }
        run
    }

    fn pass_time(&mut self, to: Timestamp) {
        if let Some(waited) = self.waiting {
            *self.waited.entry(waited).or_default() += seconds(self.at, to);
        }
        self.at = self.at.max(to);
    }

    fn take(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::RunStarted(_) | Event::ChecksPrepared { .. } => self.waiting = Some(Waited::Ci),
            Event::ArtifactCreated(
                ArtifactCreated::HeadSeen { .. } | ArtifactCreated::Head { .. },
            ) => {
                self.passed = false;
                self.waiting = Some(Waited::Ci);
            }
            Event::EvaluationDone {
                attempt, passed, ..
            } => {
                self.evaluations.push((*attempt, at, *passed));
                self.passed = *passed;
                self.waiting = if *passed {
                    self.approvers()
                } else {
                    Some(Waited::Author)
                };
            }
            Event::GateRequested { gate, .. } => {
                self.gates.entry(gate.clone()).or_default().rounds += 1;
                self.open.entry(gate.clone()).or_insert(at);
                if self.passed {
                    self.waiting = self.approvers();
                }
            }
            Event::GateApproved { gate, .. }
            | Event::GateInvalidated(
                GateInvalidated::Unbound { gate, .. }
                | GateInvalidated::CommentChanged { gate, .. },
            ) => self.decided(gate, at),
            Event::GateRejected { gate, .. } => {
                self.decided(gate, at);
                self.gates.entry(gate.clone()).or_default().rejections += 1;
                self.waiting = Some(Waited::Author);
            }
            Event::Escalated(called) => {
                let trigger = match called {
                    Escalated::PullRequest { triggers, .. } => triggers.first().copied(),
                    Escalated::LocalLoop { trigger, .. } => Some(*trigger),
                };
                trigger
                    .into_iter()
                    .for_each(|trigger| *self.calls.entry(trigger).or_default() += 1);
                self.waiting = Some(Waited::Human);
            }
            Event::Resumed(_) if self.waiting == Some(Waited::Human) => {
                self.waiting = Some(Waited::Author)
            }
            Event::Stopped(_) | Event::Failed(_) | Event::Completed(_) => self.waiting = None,
            _ => {}
        }
    }

    /// A gate is decided: the others that are open are waited for now.
    fn decided(&mut self, gate: &GateName, at: Timestamp) {
        if let Some(since) = self.open.remove(gate) {
            self.gates.entry(gate.clone()).or_default().waited_seconds += seconds(since, at);
        }
        if self.waiting == Some(Waited::Approver) {
            self.waiting = self.approvers();
        }
    }

    fn approvers(&self) -> Option<Waited> {
        (!self.open.is_empty()).then_some(Waited::Approver)
    }

    /// When an attempt passed, where that is in the history.
    fn passed_at(&self, attempt: u32) -> Option<Timestamp> {
        let passed = |(number, _, passed): &&(u32, _, bool)| *number == attempt && *passed;
        self.evaluations.iter().find(passed).map(|(_, at, _)| *at)
    }

    /// Whether an attempt that passes now did not at first, or has a test that failed and passed on its head.
    fn was_a_flake(&self, attempt: &AttemptDigest) -> bool {
        let first = self
            .evaluations
            .iter()
            .find(|(number, ..)| *number == attempt.number);
        !attempt.flaky.is_empty() || first.is_some_and(|(.., passed)| !passed)
    }
}
