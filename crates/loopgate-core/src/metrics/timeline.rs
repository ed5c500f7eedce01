//! What the history of a run tells of time: who was waited for, how long gates waited, when attempts passed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::line::{GateUse, seconds};
use crate::{
    ids::{GateName, Timestamp},
    policy::Trigger,
    state::{
        AttemptDigest, LoopState, VerificationResult,
        history::{ArtifactCreated, Escalated, Event, GateInvalidated, HistoryLine},
    },
};

/// Who was to act next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waited {
    /// The checks of a head.
    Ci,
    /// Whoever mends a failing head, a person or an agent.
    Author,
    /// Those who may approve a gate.
    Approver,
    /// The person who was called.
    Human,
}

/// The history of a run, in time.
#[derive(Default)]
pub(super) struct Timeline {
    pub(super) calls: BTreeMap<Trigger, u32>,
    pub(super) waited: BTreeMap<Waited, u64>,
    pub(super) gates: BTreeMap<GateName, GateUse>,
    /// Each evaluation of an attempt: its number, when, and how it ended.
    evaluations: Vec<(u32, Timestamp, VerificationResult)>,
}

/// Where the sweep over the lines stands.
struct Sweep {
    at: Timestamp,
    waiting: Option<Waited>,
    /// Gates that were asked for, and since when.
    open: BTreeMap<GateName, Timestamp>,
    passed: bool,
}

impl Timeline {
    /// `until` is when the run ended, or when it was last looked at.
    pub(super) fn of(state: &LoopState, history: &[HistoryLine], until: Timestamp) -> Self {
        let mut told = Self::default();
        let mut sweep = Sweep { at: state.created_at, waiting: Some(Waited::Ci), open: BTreeMap::new(), passed: false };
        for line in history.iter().filter(|line| line.run_id == state.run_id) {
            told.pass_time(&mut sweep, line.ts);
            told.take(&mut sweep, &line.event, line.ts);
        }
        told.pass_time(&mut sweep, until);
        let open: BTreeSet<GateName> = sweep.open.keys().cloned().collect();
        open.iter().for_each(|gate| told.close(&mut sweep, gate, until));
        told
    }

    fn pass_time(&mut self, sweep: &mut Sweep, to: Timestamp) {
        if let Some(waited) = sweep.waiting {
            let total = self.waited.entry(waited).or_default();
            *total = total.saturating_add(seconds(sweep.at, to));
        }
        sweep.at = sweep.at.max(to);
    }

    fn take(&mut self, sweep: &mut Sweep, event: &Event, at: Timestamp) {
        match event {
            Event::RunStarted(_) | Event::ChecksPrepared { .. } => sweep.waiting = Some(Waited::Ci),
            Event::ArtifactCreated(ArtifactCreated::HeadSeen { .. } | ArtifactCreated::Head { .. }) => {
                sweep.passed = false;
                sweep.waiting = Some(Waited::Ci);
            }
            Event::EvaluationDone { attempt, passed, .. } => {
                let result = if *passed { VerificationResult::Pass } else { VerificationResult::Fail };
                self.evaluations.push((*attempt, at, result));
                sweep.passed = *passed;
                sweep.waiting = if *passed { sweep.approvers() } else { Some(Waited::Author) };
            }
            Event::GateRequested { gate, .. } => {
                let used = self.gates.entry(gate.clone()).or_default();
                used.rounds = used.rounds.saturating_add(1);
                sweep.open.entry(gate.clone()).or_insert(at);
                if sweep.passed {
                    sweep.waiting = sweep.approvers();
                }
            }
            Event::GateApproved { gate, .. } => self.decided(sweep, gate, at),
            Event::GateInvalidated(
                GateInvalidated::Unbound { gate, .. } | GateInvalidated::CommentChanged { gate, .. },
            ) => self.decided(sweep, gate, at),
            Event::GateRejected { gate, .. } => {
                self.decided(sweep, gate, at);
                let used = self.gates.entry(gate.clone()).or_default();
                used.rejections = used.rejections.saturating_add(1);
                sweep.waiting = Some(Waited::Author);
            }
            Event::Escalated(called) => {
                let trigger = match called {
                    Escalated::PullRequest { triggers, .. } => triggers.first().copied(),
                    Escalated::LocalLoop { trigger, .. } => Some(*trigger),
                };
                if let Some(trigger) = trigger {
                    let calls = self.calls.entry(trigger).or_default();
                    *calls = calls.saturating_add(1);
                }
                sweep.waiting = Some(Waited::Human);
            }
            Event::Resumed(_) if sweep.waiting == Some(Waited::Human) => sweep.waiting = Some(Waited::Author),
            Event::Stopped(_) | Event::Failed(_) | Event::Completed(_) => sweep.waiting = None,
            _ => {}
        }
    }

    fn decided(&mut self, sweep: &mut Sweep, gate: &GateName, at: Timestamp) {
        self.close(sweep, gate, at);
        if sweep.waiting == Some(Waited::Approver) {
            sweep.waiting = sweep.approvers();
        }
    }

    fn close(&mut self, sweep: &mut Sweep, gate: &GateName, at: Timestamp) {
        if let Some(since) = sweep.open.remove(gate) {
            let used = self.gates.entry(gate.clone()).or_default();
            used.waited_seconds = used.waited_seconds.saturating_add(seconds(since, at));
        }
    }

    /// How an attempt was recorded first.
    pub(super) fn first_recorded(&self, attempt: u32) -> Option<VerificationResult> {
        self.evaluations.iter().find(|(number, ..)| *number == attempt).map(|(.., result)| *result)
    }

    /// When an attempt was first recorded as passing.
    pub(super) fn passed_at(&self, attempt: u32) -> Option<Timestamp> {
        let passed = |(number, _, result): &&(u32, _, _)| *number == attempt && *result == VerificationResult::Pass;
        self.evaluations.iter().find(passed).map(|(_, at, _)| *at)
    }

    /// Whether a failure of the attempt's head went away without another head.
    pub(super) fn was_a_flake(&self, attempt: &AttemptDigest) -> bool {
        !attempt.flaky.is_empty() || self.first_recorded(attempt.number) == Some(VerificationResult::Fail)
    }
}

impl Sweep {
    fn approvers(&self) -> Option<Waited> {
        (!self.open.is_empty()).then_some(Waited::Approver)
    }
}
