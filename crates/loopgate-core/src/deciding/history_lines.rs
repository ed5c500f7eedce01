//! What happened, as lines of the history: told once, from what the stages of a decision returned.

use serde_json::{Value, json};

use super::{
    blocking::{Blocking, Call},
    command_execution::Happened,
    counting::Counting,
    given::Given,
    verification::Verification,
};
use crate::{
    gate::gate_transitions,
    ids::Sha,
    observed::Lifecycle,
    policy::Phase,
    state::{
        LoopState, RunStatus,
        history::{Event, EventStatus, HistoryLine},
    },
};

/// The lines of one decision, in the order of its stages.
pub(super) fn lines(
    given: &Given<'_>,
    next: &LoopState,
    commands: Vec<Happened>,
    verification: &Verification,
    counting: &Counting<'_>,
    gates: &gate_transitions::Outcome,
    blocking: &Blocking,
) -> Vec<HistoryLine> {
    let mut history = Lines { given, next, lines: Vec::new() };
    history.opening();
    for (event, payload) in commands {
        history.add(event, payload, next.iteration, given.before.phase);
    }
    history.verified(verification, counting);
    if given.is_open() {
        for (event, payload) in &gates.events {
            history.happened(*event, Value::Object(payload.clone()));
        }
    }
    history.called(blocking);
    history.ended();
    history.lines
}

struct Lines<'a> {
    given: &'a Given<'a>,
    next: &'a LoopState,
    lines: Vec<HistoryLine>,
}

impl Lines<'_> {
    fn happened(&mut self, event: Event, payload: Value) {
        self.add(event, payload, self.next.iteration, self.next.phase);
    }

    fn add(&mut self, event: Event, payload: Value, iteration: u32, phase: Phase) {
        let Value::Object(payload) = payload else { return };
        let status = match event {
            Event::Escalated | Event::Failed | Event::PhaseError | Event::GateRejected => EventStatus::Fail,
            _ => EventStatus::Ok,
        };
        self.lines.push(HistoryLine {
            ts: self.given.now,
            run_id: self.next.run_id.clone(),
            iteration,
            phase,
            step: self.next.current_step,
            event,
            status,
            payload,
        });
    }

    /// A run that begins, and a head that is seen for the first time.
    fn opening(&mut self) {
        let (before, snapshot) = (self.given.before, self.given.snapshot);
        if before.first_seen_heads.is_empty() {
            let mut payload = json!({ "title": snapshot.pull_request.title });
            if let (Some(trace), Value::Object(payload)) = (before.lost_trace, &mut payload) {
                payload.insert("lost_attempts".to_owned(), json!(before.lost_attempts));
                payload.insert("lost_trace".to_owned(), json!(trace));
            }
            self.add(Event::RunStarted, payload, before.iteration, before.phase);
        }
        for seen in &self.next.first_seen_heads[before.first_seen_heads.len()..] {
            if before.first_seen_heads.iter().any(|known| known.sha == seen.sha) {
                continue;
            }
            let mut payload = json!({ "head": seen.sha, "base": seen.base, "gates": seen.gates, "at": seen.at });
            if let Some(stale) = self.superseded_unjudged(seen.sha) {
                payload["stale_head"] = json!(stale);
            }
            self.add(Event::ArtifactCreated, payload, before.iteration, before.phase);
        }
    }

    /// The previous head, if a new one replaced it before its verification ended. Its result is noted as `stale_head`
    /// and never judged (decisions.md, O11).
    fn superseded_unjudged(&self, head: Sha) -> Option<Sha> {
        let old = self.given.before.first_seen_heads.last()?.sha;
        (old != head && self.given.before.attempt_of(old).is_none()).then_some(old)
    }

    fn verified(&mut self, verification: &Verification, counting: &Counting<'_>) {
        let evaluation = &verification.evaluation;
        if self.given.before.phase != evaluation.phase {
            self.happened(Event::PhaseSwitched, json!({ "to": evaluation.phase }));
        }
        if let Some(counted) = counting.counted.as_ref().filter(|counted| counted.is_news) {
            let digest = &counted.digest;
            self.happened(
                Event::EvaluationDone,
                json!({ "attempt": digest.number, "head": digest.head_sha, "score": evaluation.score,
                        "passed": digest.passes(), "failed_rules": digest.failed_rules }),
            );
        }
    }

    fn called(&mut self, blocking: &Blocking) {
        match (blocking.call, &self.next.blocked) {
            (Call::SeniorFixer, _) => {
                let payload = json!({ "command": "senior_fixer", "by": null, "senior": self.next.senior });
                self.happened(Event::CommandRun, payload);
            }
            (Call::Human, Some(blocked)) => {
                let triggers: Vec<_> = std::iter::once(&blocked.trigger).chain(&blocked.also).collect();
                let pattern = blocking.causes.values().next();
                self.happened(
                    Event::Escalated,
                    json!({ "triggers": triggers, "pattern": pattern, "blocked": blocked }),
                );
            }
            _ => {}
        }
        if !blocking.repeated.is_empty() {
            let payload = json!({ "command": "rerun", "by": null, "checks": blocking.repeated });
            self.happened(Event::CommandRun, payload);
        }
    }

    /// What was merged over, and how the run ended.
    fn ended(&mut self) {
        let (was, is) = (self.given.before.status, self.next.status);
        if was == is {
            return;
        }
        if let (RunStatus::Completed, Lifecycle::Merged { by, .. }) = (is, &self.given.snapshot.pull_request.lifecycle)
            && !self.next.bypassed.is_empty()
        {
            let payload = json!({ "bypassed": self.next.bypassed, "by": by });
            self.happened(Event::MergedWithOpenGates, payload);
        }
        let event = match is {
            RunStatus::Completed => Event::Completed,
            RunStatus::Stopped => Event::Stopped,
            RunStatus::Failed | RunStatus::Aborted => Event::Failed,
            RunStatus::InProgress | RunStatus::Passed | RunStatus::Escalated => return,
        };
        let stop = &self.next.stop;
        self.happened(event, json!({ "from": was, "reason": stop.reason, "words": stop.words }));
    }
}
