//! Times from the history of a run: who was waited for, how long gates waited, when attempts passed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::line::{GateUse, seconds};
use crate::{
    ids::{GateName, Timestamp},
    policy::Trigger,
    state::{
        AttemptDigest, LoopState,
        history::{ArtifactCreated, Escalated, Event, GateInvalidated, HistoryLine},
    },
};

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
pub(super) struct Timeline {
    pub(super) calls: BTreeMap<Trigger, u32>,
    pub(super) waited: BTreeMap<Waited, u64>,
    pub(super) gates: BTreeMap<GateName, GateUse>,
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
    pub(super) fn of(state: &LoopState, history: &[HistoryLine], until: Timestamp) -> Self {
        let mut run = Self { at: state.created_at, waiting: Some(Waited::Ci), ..Self::default() };
        for line in history.iter().filter(|line| line.run_id == state.run_id) {
            run.pass_time(line.ts);
            run.take(&line.event, line.ts);
        }
        run.pass_time(until);
        while let Some((gate, since)) = run.open.pop_first() {
            run.count_wait(gate, since, until);
        }
        run
    }

    fn pass_time(&mut self, to: Timestamp) {
        if let Some(waited) = self.waiting {
            let total = self.waited.entry(waited).or_default();
            *total = total.saturating_add(seconds(self.at, to));
        }
        self.at = self.at.max(to);
    }

    fn take(&mut self, event: &Event, at: Timestamp) {
        match event {
            Event::RunStarted(_) | Event::ChecksPrepared { .. } => self.waiting = Some(Waited::Ci),
            Event::ArtifactCreated(ArtifactCreated::HeadSeen { .. } | ArtifactCreated::Head { .. }) => {
                self.passed = false;
                self.waiting = Some(Waited::Ci);
            }
            Event::EvaluationDone { attempt, passed, .. } => {
                self.evaluations.push((*attempt, at, *passed));
                self.passed = *passed;
                self.waiting = if *passed { self.approvers() } else { Some(Waited::Author) };
            }
            Event::GateRequested { gate, .. } => {
                let used = self.gates.entry(gate.clone()).or_default();
                used.rounds = used.rounds.saturating_add(1);
                self.open.entry(gate.clone()).or_insert(at);
                if self.passed {
                    self.waiting = self.approvers();
                }
            }
            Event::GateApproved { gate, .. }
            | Event::GateInvalidated(
                GateInvalidated::Unbound { gate, .. } | GateInvalidated::CommentChanged { gate, .. },
            ) => self.decided(gate, at),
            Event::GateRejected { gate, .. } => {
                self.decided(gate, at);
                let used = self.gates.entry(gate.clone()).or_default();
                used.rejections = used.rejections.saturating_add(1);
                self.waiting = Some(Waited::Author);
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
                self.waiting = Some(Waited::Human);
            }
            Event::Resumed(_) if self.waiting == Some(Waited::Human) => self.waiting = Some(Waited::Author),
            Event::Stopped(_) | Event::Failed(_) | Event::Completed(_) => self.waiting = None,
            _ => {}
        }
    }

    /// A gate is decided: the others that are open are waited for now.
    fn decided(&mut self, gate: &GateName, at: Timestamp) {
        if let Some(since) = self.open.remove(gate) {
            self.count_wait(gate.clone(), since, at);
        }
        if self.waiting == Some(Waited::Approver) {
            self.waiting = self.approvers();
        }
    }

    fn count_wait(&mut self, gate: GateName, since: Timestamp, until: Timestamp) {
        let used = self.gates.entry(gate).or_default();
        used.waited_seconds = used.waited_seconds.saturating_add(seconds(since, until));
    }

    fn approvers(&self) -> Option<Waited> {
        (!self.open.is_empty()).then_some(Waited::Approver)
    }

    /// When an attempt passed, where that is in the history.
    pub(super) fn passed_at(&self, attempt: u32) -> Option<Timestamp> {
        let passed = |(number, _, passed): &&(u32, _, bool)| *number == attempt && *passed;
        self.evaluations.iter().find(passed).map(|(_, at, _)| *at)
    }

    /// Whether an attempt that passes now did not at first, or has a test that failed and passed on its head.
    pub(super) fn was_a_flake(&self, attempt: &AttemptDigest) -> bool {
        let first = self.evaluations.iter().find(|(number, ..)| *number == attempt.number);
        !attempt.flaky.is_empty() || first.is_some_and(|(.., passed)| !passed)
    }
}
