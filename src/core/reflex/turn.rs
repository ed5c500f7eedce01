//! One transition of a loop in the making: the state as it becomes, and what is told of it.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{
    ask,
    contract::{self, Breach, Produced},
    critique::{CritiqueItem, critique},
    state::{Ask, Broken, Calling, FixMaker, FixRecord, ReflexState, Senior},
};
use crate::core::{
    UserId, call,
    decision::{Decision, Evaluation, EvaluationVerdict},
    escalation::{EscalationAction, Trigger},
    evidence::CheckEvidence,
    history::{Event, EventStatus, HistoryLine},
    ids::{CheckName, Login, Timestamp},
    policy::{Fixer, Phase, Policy},
    state::{Checkpoint, EvaluationSummary, LoopState, Resume, RunStatus, Step, Stop, StopReason},
};

/// A transition: what the current step brought goes in, what is to be saved comes out.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The state to save.
    pub state: LoopState,
    /// Lines to append to the history.
    pub lines: Vec<HistoryLine>,
    /// The subject of the commit.
    pub subject: String,
    now: Timestamp,
}

/// What EVALUATE found out in the phase the loop is in.
#[derive(Clone, Copy, Debug)]
pub enum Evaluated<'a> {
    /// Phase A passes: phase B follows on the same head.
    PhaseA(&'a Evaluation),
    /// The head is judged.
    Head(&'a Decision),
}

impl Turn {
    fn on(state: &LoopState, now: Timestamp) -> Self {
        let mut state = state.clone();
        state.updated_at = now;
        Self { state, lines: Vec::new(), subject: String::new(), now }
    }

    /// A new run, confirmed.
    pub fn begun(state: LoopState, now: Timestamp) -> Self {
        let mut turn = Self::on(&state, now);
        turn.state.current_step = Step::Plan;
        let task = turn.state.task.prompt.clone();
        let limit = turn.state.max_iterations;
        turn.happened(
            Event::RunStarted,
            EventStatus::Ok,
            json!({ "title": turn.state.title, "task": task, "max_iterations": limit }),
        );
        turn.subject = format!("begin: {}", one_line(&turn.state.title));
        turn
    }

    /// PLAN: what this iteration will do.
    ///
    /// # Errors
    /// When the plan is empty.
    pub fn planned(state: &LoopState, plan: Vec<String>, now: Timestamp) -> Result<Self, Breach> {
        contract::plan(&plan)?;
        let mut turn = Self::on(state, now);
        turn.happened(Event::PlanCreated, EventStatus::Ok, json!({ "plan": plan }));
        turn.state.plan = plan;
        turn.go_to(Step::ProducePrepare);
        turn.subject = turn.said("plan");
        Ok(turn)
    }

    /// A program begins that may edit the working tree. Saved before it is started, so that what it leaves half-made
    /// when the process dies can be told from what was there.
    pub fn calling(state: &LoopState, calling: Calling, now: Timestamp) -> Self {
        let mut turn = Self::on(state, now);
        turn.reflex().calling = Some(calling);
        let who = match turn.state.current_step {
            Step::Refine => "the fixer is called",
            _ => "the task command is run",
        };
        turn.subject = turn.said(who);
        turn
    }

    /// PRODUCE and PREPARE, in iteration's first half; PREPARE alone (`produced: None`) after the switch to phase B.
    ///
    /// # Errors
    /// When there is no check to run at all.
    pub fn prepared(
        state: &LoopState,
        produced: Option<&Produced>,
        checks: Vec<CheckName>,
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Self, Breach> {
        contract::prepared(&checks, policy.verify.checks.len())?;
        let mut turn = Self::on(state, now);
        if let Some(produced) = produced {
            let is_new = turn.state.code_artifact.content_hash != produced.hash || turn.state.attempts.is_empty();
            turn.state.head_sha = produced.head;
            turn.state.code_artifact.content_hash.clone_from(&produced.hash);
            if is_new {
                turn.happened(
                    Event::ArtifactCreated,
                    EventStatus::Ok,
                    json!({ "head": produced.head, "hash": produced.hash }),
                );
            }
        }
        turn.happened(Event::ChecksPrepared, EventStatus::Ok, json!({ "checks": checks }));
        turn.state.prepared_checks = checks;
        turn.go_to(Step::Evaluate);
        let count = turn.state.prepared_checks.len();
        let checks = if count == 1 { "1 check".to_owned() } else { format!("{count} checks") };
        turn.subject = turn.said(&match produced {
            Some(produced) => format!("produced {}, prepared {checks}", produced.hash.get(..8).unwrap_or_default()),
            None => format!("prepared {checks} for phase B"),
        });
        Ok(turn)
    }

    /// EVALUATE: phase B, CRITIQUE, or the end.
    ///
    /// # Errors
    /// When a prepared check has no end, or the checks edited what they evaluate.
    pub fn evaluated(
        state: &LoopState,
        evaluated: Evaluated<'_>,
        evidence: &[CheckEvidence],
        edited: &[String],
        policy: &Policy,
        now: Timestamp,
    ) -> Result<Self, Breach> {
        contract::evaluated(&state.prepared_checks, evidence, edited)?;
        let mut turn = Self::on(state, now);
        turn.reflex().broken = None;
        match evaluated {
            Evaluated::PhaseA(evaluation) => turn.passed_phase_a(evaluation),
            Evaluated::Head(decision) => turn.judged(decision, policy),
        }
        Ok(turn)
    }

    fn passed_phase_a(&mut self, evaluation: &Evaluation) {
        self.evaluation_done(evaluation);
        self.state.phase = Phase::B;
        self.happened(Event::PhaseSwitched, EventStatus::Ok, json!({ "to": Phase::B }));
        self.state.current_step = Step::Prepare;
        self.subject = self.said(&format!("phase A passes, {}", evaluation.score));
    }

    fn judged(&mut self, decision: &Decision, policy: &Policy) {
        let before = std::mem::replace(&mut self.state, decision.next.clone());
        // What a loop keeps itself; everything else is as a pull request's.
        self.state.title = before.title;
        self.state.task = before.task;
        self.state.branch = before.branch;
        self.state.iteration = before.iteration;
        self.state.max_iterations = before.max_iterations;
        self.state.plan = before.plan;
        self.state.prepared_checks = before.prepared_checks;
        self.state.current_step = before.current_step;
        self.state.phase = before.phase;
        self.state.status = RunStatus::InProgress;
        self.state.stop = Stop::default();
        self.state.updated_at = self.now;
        let evaluation = &decision.view.evaluation;
        self.evaluation_done(evaluation);
        let needs_a_person = self.state.blocked.as_ref().is_some_and(|blocked| blocked.trigger.needs_a_decision());
        if let (EvaluationVerdict::Passed(reason), false) = (evaluation.verdict, needs_a_person) {
            self.state.blocked = None;
            self.state.critique = None;
            return self.complete(reason);
        }
        self.reflex().distance_to_success = Some(crate::core::evaluate::distance(evaluation));
        self.reflex().ask = decision.view.escalation.as_ref().map(|escalation| Ask {
            question: escalation.question.text.clone(),
            options: escalation.question.options.clone(),
        });
        let pattern =
            decision.view.escalation.as_ref().map(|escalation| format!("What was seen: {}.", escalation.pattern));
        self.reflex().notes = pattern.into_iter().collect();
        // For the report of a loop that ends here; CRITIQUE writes its own.
        self.state.critique = Some(critique(&decision.view).iter().map(CritiqueItem::line).collect());
        let at_limit = self.state.iteration >= self.state.max_iterations;
        let cause = self.state.blocked.as_ref().map(|blocked| blocked.trigger);
        match cause {
            Some(Trigger::MaxAttemptsReached) if at_limit => self.stop(StopReason::IterationLimit, evaluation),
            Some(Trigger::Stagnation) => self.stop(StopReason::Stagnation, evaluation),
            Some(cause) => self.call_somebody(cause, policy),
            None if at_limit => self.stop(StopReason::IterationLimit, evaluation),
            None => {
                self.state.critique = None;
                self.state.current_step = Step::Critique;
                self.subject = self.said(&failed(evaluation));
            }
        }
    }

    fn evaluation_done(&mut self, evaluation: &Evaluation) {
        let passed = evaluation.passed();
        self.state.evaluation = Some(EvaluationSummary {
            score: evaluation.score,
            passed,
            failed_rules: evaluation.failed_rules(),
            warnings: evaluation.warnings(),
        });
        let status = if passed { EventStatus::Ok } else { EventStatus::Fail };
        self.happened(
            Event::EvaluationDone,
            status,
            json!({ "attempt": self.state.iteration, "head": self.state.head_sha, "score": evaluation.score,
                    "passed": passed, "failed_rules": evaluation.failed_rules() }),
        );
    }

    /// CRITIQUE: what REFINE is to mend.
    ///
    /// # Errors
    /// When a failed rule is not spoken of.
    pub fn critiqued(
        state: &LoopState,
        items: &[CritiqueItem],
        evaluation: &Evaluation,
        now: Timestamp,
    ) -> Result<Self, Breach> {
        contract::critiqued(&evaluation.failed_rules(), items)?;
        let mut turn = Self::on(state, now);
        turn.reflex().broken = None;
        turn.state.critique = Some(items.iter().map(CritiqueItem::line).collect());
        turn.happened(Event::CritiqueDone, EventStatus::Ok, json!({ "items": items }));
        turn.go_to(Step::Refine);
        let count = items.len();
        turn.subject =
            turn.said(&if count == 1 { "critique, 1 item".to_owned() } else { format!("critique, {count} items") });
        Ok(turn)
    }

    /// REFINE: the tree has changed, so the next iteration begins.
    pub fn refined(state: &LoopState, fix: FixRecord, now: Timestamp) -> Self {
        let mut turn = Self::on(state, now);
        let previous = turn.state.code_artifact.content_hash.clone();
        turn.happened(
            Event::RefinementDone,
            EventStatus::Ok,
            json!({ "previous_artifact_hash": previous, "by": fix.by, "head": fix.head_sha, "subject": fix.subject,
                    "diff_summary": fix.diff_summary, "files_modified": fix.files_modified,
                    "outside_scope": fix.outside_scope, "cost_usd": fix.cost_usd }),
        );
        turn.subject = turn.said(&one_line(&fix.subject));
        if fix.by != FixMaker::Person {
            turn.state.checkpoints.push(Checkpoint {
                kind: "commit".to_owned(),
                hash: fix.head_sha,
                message: fix.subject.clone(),
                at: now,
            });
        }
        let reflex = turn.reflex();
        reflex.calling = None;
        reflex.broken = None;
        if fix.by == FixMaker::SeniorFixer {
            reflex.senior = Senior::Used;
        }
        reflex.fixes.push(fix);
        turn.state.iteration += 1;
        turn.state.current_step = Step::Plan;
        let to = turn.state.iteration;
        turn.happened(Event::IterationAdvanced, EventStatus::Ok, json!({ "to": to }));
        turn
    }

    /// The fixer's call is over, whatever came of it: what it used of the budget. Goes before the outcome.
    #[must_use]
    pub fn spend(mut state: LoopState, wall: TimeDelta, cost_usd: Option<f64>) -> LoopState {
        if let Some(reflex) = state.reflex.as_mut() {
            reflex.spent.calls += 1;
            reflex.spent.wall_ms += u64::try_from(wall.num_milliseconds()).unwrap_or(0);
            reflex.spent.cost_usd += cost_usd.unwrap_or(0.0);
        }
        state
    }

    /// Something only a person can decide, found outside an evaluation: refused edits, no edits, nothing to spend.
    /// `notes` tell what it is.
    pub fn refused(
        state: &LoopState,
        triggers: &[Trigger],
        notes: Vec<String>,
        policy: &Policy,
        now: Timestamp,
    ) -> Self {
        let mut turn = Self::on(state, now);
        turn.state.blocked = call::block(triggers, &turn.state, now);
        let reflex = turn.reflex();
        reflex.calling = None;
        reflex.notes = notes;
        if let Some(cause) = triggers.first() {
            turn.reflex().ask = Some(ask::about(*cause));
            turn.call_somebody(*cause, policy);
        }
        turn
    }

    /// The same with the beginning of the refused diff, at most so many lines of it.
    #[must_use]
    pub fn with_diff(mut self, diff: &str, most: usize) -> Self {
        let mut shown: Vec<&str> = diff.lines().take(most).collect();
        let more = format!("… {} more lines", diff.lines().count().saturating_sub(most));
        if diff.lines().count() > most {
            shown.push(&more);
        }
        let shown: String = shown.join("\n").chars().take(8_000).collect();
        self.reflex().refused_diff = Some(shown);
        self
    }

    /// An evaluation that came out as it did because a fixer took tests away: a person is called, whatever else holds.
    #[must_use]
    pub fn tampered(mut self, words: String, policy: &Policy) -> Self {
        let now = self.now;
        self.lines.retain(|line| line.event == Event::EvaluationDone);
        self.state.stop = Stop::default();
        self.state.current_step = Step::Evaluate;
        self.state.blocked = call::block(&[Trigger::Tampering], &self.state, now);
        let reflex = self.reflex();
        reflex.notes = vec![words];
        reflex.ask = Some(ask::about(Trigger::Tampering));
        self.call_somebody(Trigger::Tampering, policy);
        self
    }

    /// A step's output broke its contract: once more, or the end.
    pub fn broke(state: &LoopState, breach: &Breach, now: Timestamp) -> Self {
        let mut turn = Self::on(state, now);
        let (step, iteration) = (turn.state.current_step, turn.state.iteration);
        let again =
            turn.reflex().broken.as_ref().is_some_and(|broken| (broken.step, broken.iteration) == (step, iteration));
        let reflex = turn.reflex();
        reflex.calling = None;
        reflex.broken = Some(Broken { step, iteration, why: breach.to_string() });
        let why = breach.to_string();
        let payload = json!({ "step": step, "why": why, "retried": again });
        turn.happened(Event::PhaseError, EventStatus::Fail, payload);
        if !again {
            turn.subject = turn.said(&format!("{} went wrong, once more: {}", word(step), one_line(&why)));
            return turn;
        }
        turn.state.status = RunStatus::Failed;
        turn.state.stop = Stop { passed: false, reason: Some(StopReason::PhaseError), words: Some(why), by: None };
        turn.happened(Event::Failed, EventStatus::Fail, json!({ "reason": StopReason::PhaseError }));
        turn.subject = turn.said(&format!("failed, {} went wrong twice", word(step)));
        turn
    }

    /// A person stops the loop.
    pub fn stopped(state: &LoopState, words: Option<String>, by: Login, now: Timestamp) -> Self {
        let mut turn = Self::on(state, now);
        turn.state.status = RunStatus::Stopped;
        turn.state.blocked = None;
        turn.happened(
            Event::Stopped,
            EventStatus::Ok,
            json!({ "reason": StopReason::UserStop, "words": words, "by": by }),
        );
        turn.subject = format!("stopped: {}", words.as_deref().map_or_else(|| "by a person".to_owned(), one_line));
        turn.state.stop = Stop { passed: false, reason: Some(StopReason::UserStop), words, by: Some(by) };
        turn
    }

    /// A person lets a blocked loop go on: a new streak, and as many iterations again where none are left. `accepted`
    /// counts what weakens tests, where the person accepts that.
    pub fn resumed(state: &LoopState, by: Login, accepted: Option<BTreeMap<String, u32>>, now: Timestamp) -> Self {
        let mut turn = Self::on(state, now);
        let cause = turn.state.blocked.take().map(|blocked| blocked.trigger);
        let after_attempt = turn.state.attempts.last().map_or(0, |last| last.number);
        turn.state.resumes.push(Resume { after_attempt, by: by.clone(), by_id: UserId::new(0), at: now });
        if let Some(accepted) = &accepted {
            turn.state.accepted.insert(Trigger::Tampering);
            turn.state.accepted_tampering.clone_from(accepted);
        }
        turn.state.status = RunStatus::InProgress;
        turn.state.stop = Stop::default();
        let reflex = turn.reflex();
        reflex.notes.clear();
        reflex.refused_diff = None;
        reflex.ask = None;
        reflex.broken = None;
        let limit = reflex.settings.limit;
        if turn.state.iteration >= turn.state.max_iterations {
            turn.state.max_iterations = turn.state.iteration + limit;
        }
        // What passed is evaluated once more, as a person sees it now; so is what something outside kept from passing,
        // which no fixer mends.
        let passed = turn.state.evaluation.as_ref().is_some_and(|evaluation| evaluation.passed);
        let again = passed || cause == Some(Trigger::ExternalDependencyDown);
        if turn.state.current_step == Step::Evaluate && !again {
            turn.state.current_step = Step::Critique;
        }
        let accepted = accepted.map(|_| Trigger::Tampering);
        turn.happened(Event::Resumed, EventStatus::Ok, json!({ "by": by, "cause": cause, "accepted": accepted }));
        turn.subject = turn.said("resumed by a person");
        turn
    }

    fn complete(&mut self, reason: StopReason) {
        let reflex = self.reflex();
        reflex.distance_to_success = None;
        reflex.ask = None;
        self.state.status = RunStatus::Completed;
        self.state.stop = Stop { passed: true, reason: Some(reason), words: None, by: None };
        let attempts = self.state.iteration;
        self.happened(Event::Completed, EventStatus::Ok, json!({ "reason": reason, "iterations": attempts }));
        self.subject = self.said(&format!("completed, {}", reason_word(reason)));
    }

    fn stop(&mut self, reason: StopReason, evaluation: &Evaluation) {
        self.state.blocked = None;
        self.state.status = RunStatus::Stopped;
        self.state.stop = Stop { passed: false, reason: Some(reason), words: None, by: None };
        let distance = crate::core::evaluate::distance(evaluation);
        self.happened(Event::Stopped, EventStatus::Ok, json!({ "reason": reason, "distance_to_success": distance }));
        self.subject = self.said(&format!("stopped, {}: {}", reason_word(reason), failed(evaluation)));
    }

    /// A cause that stops the loop: the senior fixer first where that is wished for, else a person, else the end.
    fn call_somebody(&mut self, cause: Trigger, policy: &Policy) {
        let action = call::action_of(cause, &policy.escalation);
        let has_senior = matches!(policy.escalation.senior, Some(Fixer::Command(_)));
        if action == EscalationAction::SeniorAgent && has_senior && self.reflex().senior == Senior::NotAsked {
            self.state.blocked = None;
            self.reflex().senior = Senior::Next;
            if self.state.current_step == Step::Evaluate {
                self.state.current_step = Step::Critique;
            }
            self.state.max_iterations = self.state.max_iterations.max(self.state.iteration + 1);
            self.subject = self.said(&format!("{}: the senior fixer is next", cause.as_str()));
            return;
        }
        let also = self.state.blocked.as_ref().map(|blocked| blocked.also.clone()).unwrap_or_default();
        let notes = self.reflex().notes.clone();
        let payload = json!({ "trigger": cause, "also": also, "notes": notes });
        self.happened(Event::Escalated, EventStatus::Fail, payload);
        if action == EscalationAction::AbortWithReport {
            self.state.status = RunStatus::Aborted;
            self.happened(Event::Failed, EventStatus::Fail, json!({ "reason": cause }));
            self.subject = self.said(&format!("aborted, {}", cause.as_str()));
        } else {
            self.state.status = RunStatus::Escalated;
            self.subject = self.said(&format!("escalate, {}", cause.as_str()));
        }
    }

    /// On to the next step; what was broken is mended.
    fn go_to(&mut self, step: Step) {
        self.state.current_step = step;
        let reflex = self.reflex();
        reflex.broken = None;
        reflex.calling = None;
    }

    fn reflex(&mut self) -> &mut ReflexState {
        self.state.reflex.as_mut().expect("a turn is made on a local loop, which has it from its beginning")
    }

    fn said(&self, what: &str) -> String {
        format!("iteration {}: {what}", self.state.iteration)
    }

    fn happened(&mut self, event: Event, status: EventStatus, payload: Value) {
        let Value::Object(payload) = payload else { return };
        self.lines.push(HistoryLine {
            ts: self.now,
            run_id: self.state.run_id.clone(),
            iteration: self.state.iteration,
            phase: self.state.phase,
            step: self.state.current_step,
            event,
            status,
            payload,
        });
    }
}

/// `fail, 0.33 — 1 failed rule (unit)`.
fn failed(evaluation: &Evaluation) -> String {
    let rules = evaluation.failed_rules();
    let names = rules.iter().take(3).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match rules.len() {
        0 => format!("fail, {}", evaluation.score),
        1 => format!("fail, {} — 1 failed rule ({names})", evaluation.score),
        count => format!("fail, {} — {count} failed rules ({names})", evaluation.score),
    }
}

const fn word(step: Step) -> &'static str {
    match step {
        Step::Plan => "PLAN",
        Step::ProducePrepare => "PRODUCE_PREPARE",
        Step::Prepare => "PREPARE",
        Step::Evaluate => "EVALUATE",
        Step::Critique => "CRITIQUE",
        Step::Refine => "REFINE",
    }
}

const fn reason_word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::ThresholdReached => "threshold_reached",
        StopReason::NoMajorIssues => "no_major_issues",
        StopReason::IterationLimit => "iteration_limit",
        StopReason::UserStop => "user_stop",
        StopReason::Stagnation => "stagnation",
        StopReason::PhaseError => "phase_error",
    }
}

/// Subjects of commits are one line.
fn one_line(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect()
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
