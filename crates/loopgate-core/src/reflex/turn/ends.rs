//! How a loop ends, is blocked, and goes on at a person's word.

use std::collections::BTreeMap;

use super::{Breach, Turn};
use crate::{
    UserId,
    concerns::{
        disputes,
        tampering::Tampering,
        verdict::{Evaluation, EvaluationVerdict, evaluate},
    },
    deciding::Decision,
    evidence::CheckEvidence,
    ids::{FailureId, Login},
    observed::{Account, AccountKind},
    policy::{EscalationAction, Fixer, Phase, Policy, Trigger},
    state::{
        Broken, CommandRefusal, CritiqueItem, Dispute, DisputeEnd, LoopCall, RunStatus, Senior,
        Settlement, Step, Stop, StopReason,
        history::{Escalated, Event, EventStatus, HistoryLine, Resumed, RunEnd},
    },
    text,
};

impl Turn {
    /// Something only a person can decide, found outside an evaluation: refused edits, no edits, nothing to spend.
    pub fn refused(mut self, triggers: &[Trigger], call: LoopCall, policy: &Policy) -> Self {
        self.state.people.blocked = self.state.call_for(triggers, self.now);
        self.ask(call);
        if let Some(cause) = triggers.first() {
            self.call_somebody(*cause, policy);
        }
        self
    }

    /// What the person who is called reads.
    pub(in crate::reflex) fn ask(&mut self, call: LoopCall) {
        let reflex = self.reflex();
        (reflex.calling, reflex.notes, reflex.ask) = (None, call.notes, Some(call.ask));
    }

    /// The loop has ended and waits for no person.
    pub(in crate::reflex) fn end(
        &mut self,
        status: RunStatus,
        reason: StopReason,
        words: Option<String>,
    ) {
        self.state.people.blocked = None;
        self.state.run.status = status;
        self.state.run.stop = Stop {
            passed: status == RunStatus::Completed,
            reason: Some(reason),
            words,
            by: None,
        };
    }

    /// This end with the beginning of the refused diff, of `most` lines at most.
    #[must_use]
    pub fn with_diff(mut self, diff: &str, most: usize) -> Self {
        let mut shown: Vec<&str> = diff.lines().take(most).collect();
        let more = format!("… {} more lines", diff.lines().count().saturating_sub(most));
        if diff.lines().count() > most {
            shown.push(&more);
        }
        let shown = text::start(&shown.join("\n"), 8_000);
        self.reflex().refused_diff = Some(shown);
        self
    }

    /// A step's output broke its contract, as `why` says: once more, or the end.
    pub fn broke(mut self, why: String) -> Self {
        let (step, iteration) = (self.state.run.step, self.state.run.iteration);
        let again = self
            .reflex()
            .broken
            .as_ref()
            .is_some_and(|broken| (broken.step, broken.iteration) == (step, iteration));
        let reflex = self.reflex();
        reflex.calling = None;
        reflex.broken = Some(Broken {
            step,
            iteration,
            why: why.clone(),
        });
        self.happened(
            Event::PhaseError {
                step,
                why: why.clone(),
                retried: again,
            },
            EventStatus::Fail,
        );
        if !again {
            return self;
        }
        self.end(RunStatus::Failed, StopReason::PhaseError, Some(why));
        self.happened(
            Event::Failed(RunEnd::Broken {
                reason: StopReason::PhaseError,
            }),
            EventStatus::Fail,
        );
        self
    }

    /// A person stops the loop.
    pub fn stopped(mut self, words: Option<String>, by: Login) -> Self {
        self.state.run.status = RunStatus::Stopped;
        self.state.people.blocked = None;
        let stopped = RunEnd::ByPerson {
            reason: StopReason::UserStop,
            words: words.clone(),
            by: by.clone(),
        };
        self.happened(Event::Stopped(stopped), EventStatus::Ok);
        self.state.run.stop = Stop {
            passed: false,
            reason: Some(StopReason::UserStop),
            words,
            by: Some(by),
        };
        self
    }

    /// A person lets a blocked loop go on: a new streak, and as many iterations again where none are left. `accepted`
    /// counts what weakens tests, where the person accepts that; `settled` is the dispute whose settling it is, if any.
    pub fn resumed(
        mut self,
        by: Login,
        accepted: Option<BTreeMap<String, u32>>,
        settled: Option<FailureId>,
    ) -> Self {
        let now = self.now;
        let cause = self
            .state
            .people
            .blocked
            .take()
            .map(|blocked| blocked.trigger);
        let newly_accepted = accepted
            .clone()
            .map(|found| self.state.accept_tampering(found));
        let person = Account {
            id: UserId::new(0),
            login: by.clone(),
            kind: AccountKind::User,
        };
        self.state
            .resume(&person, now, settled, newly_accepted.unwrap_or_default());
        self.state.run.status = RunStatus::InProgress;
        self.state.run.stop = Stop::default();
        let reflex = self.reflex();
        (reflex.notes, reflex.refused_diff, reflex.ask, reflex.broken) = Default::default();
        let limit = reflex.settings.limit;
        if self.state.run.iteration >= self.state.run.max_iterations {
            self.state.run.max_iterations = self.state.run.iteration + limit;
        }
        // What passed is evaluated once more, as a person sees it now. So is what something outside kept from passing,
        // since no fixer can mend that.
        let passed = self
            .state
            .head
            .evaluation
            .as_ref()
            .is_some_and(|evaluation| evaluation.passed);
        let again = passed || cause == Some(Trigger::ExternalDependencyDown);
        if self.state.run.step == Step::Evaluate && !again {
            self.state.run.step = Step::Critique;
        }
        let resumed = Resumed::LocalLoop {
            by,
            cause,
            accepted: accepted.as_ref().map(|_| Trigger::Tampering),
            accepted_tampering: accepted.unwrap_or_default(),
        };
        self.happened(Event::Resumed(resumed), EventStatus::Ok);
        self
    }

    /// Somebody says that a failure is not theirs to mend: the state with the dispute, which a person settles.
    #[must_use]
    pub fn disputed(self, dispute: Dispute, call: LoopCall, policy: &Policy) -> Self {
        let mut turn = self.refused(&[Trigger::Disputed], call, policy);
        let line = HistoryLine::of(
            &turn.state,
            turn.now,
            Event::Disputed(Box::new(dispute)),
            EventStatus::Ok,
        );
        turn.lines.insert(0, line);
        turn
    }

    /// A person says who is right, and the loop goes on once nothing is disputed any more. `weakened` is how the change
    /// weakens what checks it.
    ///
    /// # Errors
    /// When nothing is disputed, or several failures and the words name none.
    pub fn settled(
        mut self,
        failure: Option<FailureId>,
        outcome: Settlement,
        by: Login,
        weakened: &[Tampering],
    ) -> Result<Self, CommandRefusal> {
        let dispute = disputes::meant(&self.state, failure)?.clone();
        let failure = dispute.failure;
        let end = DisputeEnd::Settled {
            outcome,
            by: by.clone(),
            by_id: UserId::new(0),
            at: self.now,
        };
        let (dispute, _) = disputes::settle(&mut self.state, dispute, end, weakened);
        self.happened(Event::Disputed(Box::new(dispute)), EventStatus::Ok);
        let is_over = disputes::open(&self.state).next().is_none();
        Ok(if is_over {
            self.resumed(by, None, Some(failure))
        } else {
            self
        })
    }

    pub(super) fn complete(&mut self, reason: StopReason) {
        let reflex = self.reflex();
        reflex.distance_to_success = None;
        reflex.ask = None;
        self.end(RunStatus::Completed, reason, None);
        let completed = RunEnd::LocalLoop {
            reason,
            iterations: self.state.run.iteration,
        };
        self.happened(Event::Completed(completed), EventStatus::Ok);
    }

    pub(super) fn stop(&mut self, reason: StopReason, evaluation: &Evaluation) {
        self.end(RunStatus::Stopped, reason, None);
        let stopped = RunEnd::ShortOfPassing {
            reason,
            distance_to_success: evaluate::distance(evaluation),
        };
        self.happened(Event::Stopped(stopped), EventStatus::Ok);
    }

    /// A cause that stops the loop: the senior fixer first where that is wished for, else a person, else the end.
    pub(super) fn call_somebody(&mut self, cause: Trigger, policy: &Policy) {
        let action = policy.escalation.action_of(cause);
        let has_senior = matches!(policy.escalation.senior, Some(Fixer::Command(_)));
        if action == EscalationAction::SeniorAgent
            && has_senior
            && self.reflex().senior == Senior::NotAsked
        {
            self.state.people.blocked = None;
            self.reflex().senior = Senior::Next;
            if self.state.run.step == Step::Evaluate {
                self.state.run.step = Step::Critique;
            }
            self.state.run.max_iterations = self
                .state
                .run
                .max_iterations
                .max(self.state.run.iteration + 1);
            self.senior_for = Some(cause);
            return;
        }
        self.senior_for = None;
        let also = self
            .state
            .people
            .blocked
            .as_ref()
            .map(|blocked| blocked.also.clone())
            .unwrap_or_default();
        let notes = self.reflex().notes.clone();
        let escalated = Escalated::LocalLoop {
            trigger: cause,
            also,
            notes,
        };
        self.happened(Event::Escalated(escalated), EventStatus::Fail);
        if action == EscalationAction::AbortWithReport {
            self.state.run.status = RunStatus::Aborted;
            self.happened(
                Event::Failed(RunEnd::Aborted { reason: cause }),
                EventStatus::Fail,
            );
        } else {
            self.state.run.status = RunStatus::Escalated;
        }
    }
}

/// What EVALUATE found out in the phase the loop is in.
#[derive(Clone, Copy, Debug)]
pub enum Evaluated<'a> {
    /// Phase A passes: phase B follows on the same head.
    PhaseA(&'a Evaluation),
    /// The head is judged. `critique` lists what is wrong. `call` is the text for a called person, if any.
    Head {
        decision: &'a Decision,
        critique: &'a [CritiqueItem],
        call: Option<&'a LoopCall>,
    },
}

impl Turn {
    /// EVALUATE: phase B, CRITIQUE, or the end.
    ///
    /// # Errors
    /// When a prepared check has no end, or the checks edited what they evaluate.
    pub fn evaluated(
        mut self,
        evaluated: Evaluated<'_>,
        evidence: &[CheckEvidence],
        edited: &[String],
        policy: &Policy,
    ) -> Result<Self, Breach> {
        super::evaluated(&self.state.concerns.checks.prepared, evidence, edited)?;
        self.reflex().broken = None;
        match evaluated {
            Evaluated::PhaseA(evaluation) => {
                self.evaluation_done(evaluation);
                self.state.run.phase = Phase::B;
                self.happened(Event::PhaseSwitched { to: Phase::B }, EventStatus::Ok);
                self.state.run.step = Step::Prepare;
            }
            Evaluated::Head {
                decision,
                critique,
                call,
            } => self.judged(decision, critique, call, policy),
        }
        Ok(self)
    }

    fn judged(
        &mut self,
        decision: &Decision,
        critique: &[CritiqueItem],
        call: Option<&LoopCall>,
        policy: &Policy,
    ) {
        let before = std::mem::replace(&mut self.state, decision.next.clone());
        // What a loop keeps itself; everything else is as a pull request's.
        self.state.run.title = before.run.title;
        self.state.run.task = before.run.task;
        self.state.head.branch = before.head.branch;
        self.state.run.iteration = before.run.iteration;
        self.state.run.max_iterations = before.run.max_iterations;
        self.state.run.plan = before.run.plan;
        self.state.concerns.checks.prepared = before.concerns.checks.prepared;
        self.state.run.step = before.run.step;
        self.state.run.phase = before.run.phase;
        self.state.run.status = RunStatus::InProgress;
        self.state.run.stop = Stop::default();
        self.state.run.updated_at = self.now;
        let evaluation = &decision.view.evaluation;
        self.evaluation_done(evaluation);
        let needs_a_person = self
            .state
            .people
            .blocked
            .as_ref()
            .is_some_and(|blocked| blocked.trigger.needs_a_decision());
        if let (EvaluationVerdict::Passed(reason), false) = (evaluation.verdict, needs_a_person) {
            self.state.run.critique = None;
            return self.complete(reason);
        }
        self.reflex().distance_to_success = Some(evaluate::distance(evaluation));
        self.reflex().ask = call.map(|call| call.ask.clone());
        self.reflex().notes = call.map(|call| call.notes.clone()).unwrap_or_default();
        // For the report of a loop that ends here; CRITIQUE writes its own.
        self.state.run.critique = Some(critique.iter().map(CritiqueItem::line).collect());
        let at_limit = self.state.run.iteration >= self.state.run.max_iterations;
        let cause = self
            .state
            .people
            .blocked
            .as_ref()
            .map(|blocked| blocked.trigger);
        match cause {
            Some(Trigger::MaxAttemptsReached) if at_limit => {
                self.stop(StopReason::IterationLimit, evaluation)
            }
            Some(Trigger::Stagnation) => self.stop(StopReason::Stagnation, evaluation),
            Some(cause) => self.call_somebody(cause, policy),
            None if at_limit => self.stop(StopReason::IterationLimit, evaluation),
            None => {
                self.state.run.critique = None;
                self.state.run.step = Step::Critique;
            }
        }
    }

    fn evaluation_done(&mut self, evaluation: &Evaluation) {
        let passed = evaluation.passed();
        self.state.head.evaluation = Some(evaluation.summary());
        let status = if passed {
            EventStatus::Ok
        } else {
            EventStatus::Fail
        };
        let done = Event::EvaluationDone {
            attempt: self.state.run.iteration,
            head: self.state.head.sha,
            score: evaluation.score,
            passed,
            failed_rules: evaluation.failed_rules(),
        };
        self.happened(done, status);
    }
}
