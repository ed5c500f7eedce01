//! EVALUATE: phase B, CRITIQUE, the end, or somebody who is called.

use super::Turn;
use crate::{
    deciding::Decision,
    escalation::escalation_call,
    evidence::CheckEvidence,
    ids::Timestamp,
    policy::{Phase, Policy, Trigger},
    reflex::contract::{self, Breach},
    state::{
        CritiqueItem, EvaluationSummary, LoopCall, LoopState, RunStatus, Step, Stop, StopReason,
        history::{Event, EventStatus},
    },
    verdict::{Evaluation, EvaluationVerdict, evaluate},
};

/// What EVALUATE found out in the phase the loop is in.
#[derive(Clone, Copy, Debug)]
pub enum Evaluated<'a> {
    /// Phase A passes: phase B follows on the same head.
    PhaseA(&'a Evaluation),
    /// The head is judged. `critique` says what is wrong, and `call` what a person is told where the decision calls one.
    Head { decision: &'a Decision, critique: &'a [CritiqueItem], call: Option<&'a LoopCall> },
}

impl Turn {
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
            Evaluated::Head { decision, critique, call } => turn.judged(decision, critique, call, policy),
        }
        Ok(turn)
    }

    fn passed_phase_a(&mut self, evaluation: &Evaluation) {
        self.evaluation_done(evaluation);
        self.state.phase = Phase::B;
        self.happened(Event::PhaseSwitched { to: Phase::B }, EventStatus::Ok);
        self.state.current_step = Step::Prepare;
    }

    fn judged(&mut self, decision: &Decision, critique: &[CritiqueItem], call: Option<&LoopCall>, policy: &Policy) {
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
        self.reflex().distance_to_success = Some(evaluate::distance(evaluation));
        self.reflex().ask = call.map(|call| call.ask.clone());
        self.reflex().notes = call.map(|call| call.notes.clone()).unwrap_or_default();
        // For the report of a loop that ends here; CRITIQUE writes its own.
        self.state.critique = Some(critique.iter().map(CritiqueItem::line).collect());
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
        let done = Event::EvaluationDone {
            attempt: self.state.iteration,
            head: self.state.head_sha,
            score: evaluation.score,
            passed,
            failed_rules: evaluation.failed_rules(),
        };
        self.happened(done, status);
    }

    /// An evaluation that came out as it did because a fixer took tests away: a person is called, whatever else holds.
    #[must_use]
    pub fn tampered(mut self, call: LoopCall, policy: &Policy) -> Self {
        let now = self.now;
        self.lines.retain(|line| matches!(line.event, Event::EvaluationDone { .. }));
        self.state.stop = Stop::default();
        self.state.current_step = Step::Evaluate;
        self.state.blocked = escalation_call::block(&[Trigger::Tampering], &self.state, now);
        let reflex = self.reflex();
        reflex.notes = call.notes;
        reflex.ask = Some(call.ask);
        self.call_somebody(Trigger::Tampering, policy);
        self
    }
}
