//! Writes the history lines of a decision, each once, from what its stages returned.

use std::collections::BTreeSet;

use super::{
    blocking::{Blocking, Call},
    counting::Counting,
    next_action::ApprovedRuns,
    opening::Inputs,
    viewing::Stages,
};
use crate::{
    ids::Sha,
    observed::Lifecycle,
    policy::Phase,
    state::{
        LoopState, RunStatus,
        history::{
            ArtifactCreated, ByNobody, CommandRun, Completed, Escalated, Event, EventStatus, Failed, HistoryLine,
            OwnCommand, RunStarted, StatusChange, Stopped,
        },
    },
    verdict::Verification,
};

/// The lines of one decision, in the order of its stages.
pub(super) fn lines(stages: &Stages<'_>, commands: Vec<Event>, gates: &[Event]) -> Vec<HistoryLine> {
    let Stages { inputs, next, verification, counting, blocking, .. } = *stages;
    let mut history = Lines { inputs, next, lines: Vec::new() };
    history.opening();
    for event in commands {
        history.add(event, next.iteration, inputs.before.phase);
    }
    history.verified(verification, counting);
    for event in gates.iter().filter(|_| inputs.is_open()) {
        history.happened(event.clone());
    }
    history.let_go(stages.approved_runs);
    for dispute in &counting.mended {
        history.happened(Event::Disputed(Box::new(dispute.clone())));
    }
    history.called(blocking);
    history.ended();
    history.lines
}

struct Lines<'a> {
    inputs: &'a Inputs<'a>,
    next: &'a LoopState,
    lines: Vec<HistoryLine>,
}

impl Lines<'_> {
    fn happened(&mut self, event: Event) {
        self.add(event, self.next.iteration, self.next.phase);
    }

    fn add(&mut self, event: Event, iteration: u32, phase: Phase) {
        let status = match event {
            Event::Escalated(_) | Event::Failed(_) | Event::GateRejected { .. } => EventStatus::Fail,
            _ => EventStatus::Ok,
        };
        let line = HistoryLine::of(self.next, self.inputs.now, event, status);
        self.lines.push(HistoryLine { iteration, phase, ..line });
    }

    /// A run that begins, and a head that is seen for the first time.
    fn opening(&mut self) {
        let (before, snapshot) = (self.inputs.before, self.inputs.snapshot);
        if before.first_seen_heads.is_empty() {
            let title = snapshot.pull_request.title.clone();
            let started = match before.lost_trace {
                Some(lost_trace) => {
                    RunStarted::AfterLostRecord { title, lost_attempts: before.lost_attempts, lost_trace }
                }
                None => RunStarted::PullRequest { title },
            };
            self.add(Event::RunStarted(started), before.iteration, before.phase);
        }
        for seen in &self.next.first_seen_heads[before.first_seen_heads.len()..] {
            if before.first_seen_heads.iter().any(|known| known.sha == seen.sha) {
                continue;
            }
            let created = ArtifactCreated::HeadSeen {
                head: seen.sha,
                base: seen.base.clone(),
                gates: seen.gates.clone(),
                merge_base: seen.merge_base,
                at: seen.at,
                stale_head: self.superseded_unjudged(seen.sha),
            };
            self.add(Event::ArtifactCreated(created), before.iteration, before.phase);
        }
    }

    /// The previous head, if a new one replaced it before its verification ended. Its result is noted as `stale_head`
    /// and never judged.
    fn superseded_unjudged(&self, head: Sha) -> Option<Sha> {
        let old = self.inputs.before.first_seen_heads.last()?.sha;
        (old != head && self.inputs.before.attempt_of(old).is_none()).then_some(old)
    }

    fn verified(&mut self, verification: &Verification, counting: &Counting) {
        let evaluation = &verification.evaluation;
        if self.inputs.before.phase != evaluation.phase {
            self.happened(Event::PhaseSwitched { to: evaluation.phase });
        }
        if let Some(counted) = counting.counted.as_ref().filter(|counted| counted.is_news) {
            let digest = &counted.digest;
            self.happened(Event::EvaluationDone {
                attempt: digest.number,
                head: digest.head_sha,
                score: evaluation.score,
                passed: digest.passes(),
                failed_rules: digest.failed_rules.clone(),
            });
        }
    }

    /// Records each approved workflow run once.
    fn let_go(&mut self, approved: Option<&ApprovedRuns>) {
        let Some(ApprovedRuns { by, runs }) = approved else { return };
        let runs: BTreeSet<_> = runs.difference(&self.inputs.before.approved_runs).copied().collect();
        if !runs.is_empty() {
            let head = self.inputs.snapshot.pull_request.head.sha;
            self.own_command(OwnCommand::ApproveRuns { by: by.clone(), head, runs });
        }
    }

    fn called(&mut self, blocking: &Blocking) {
        match (blocking.call, &self.next.blocked, &self.next.senior) {
            (Call::SeniorFixer, _, Some(senior)) => {
                self.own_command(OwnCommand::SeniorFixer { by: ByNobody, senior: senior.clone() });
            }
            (Call::Human, Some(blocked), _) => {
                let triggers = std::iter::once(blocked.trigger).chain(blocked.also.iter().copied()).collect();
                let blocked = Some(blocked.clone());
                self.happened(Event::Escalated(Escalated::PullRequest { triggers, pattern: None, blocked }));
            }
            _ => {}
        }
        if !blocking.repeated.is_empty() {
            self.own_command(OwnCommand::Rerun { by: ByNobody, checks: blocking.repeated.clone() });
        }
    }

    fn own_command(&mut self, command: OwnCommand) {
        self.happened(Event::CommandRun(CommandRun::Own(command)));
    }

    /// What was merged over, and how the run ended.
    fn ended(&mut self) {
        let (was, is) = (self.inputs.before.status, self.next.status);
        if was == is {
            return;
        }
        if let (RunStatus::Completed, Lifecycle::Merged { by, .. }) = (is, &self.inputs.snapshot.pull_request.lifecycle)
            && !self.next.bypassed.is_empty()
        {
            self.happened(Event::MergedWithOpenGates { bypassed: self.next.bypassed.clone(), by: by.clone() });
        }
        let stop = &self.next.stop;
        let change = StatusChange { from: was, reason: stop.reason, words: stop.words.clone() };
        self.happened(match is {
            RunStatus::Completed => Event::Completed(Completed::PullRequest(change)),
            RunStatus::Stopped => Event::Stopped(Stopped::PullRequest(change)),
            RunStatus::Failed | RunStatus::Aborted => Event::Failed(Failed::PullRequest(change)),
            RunStatus::InProgress | RunStatus::Passed | RunStatus::Escalated => return,
        });
    }
}
