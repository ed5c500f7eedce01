//! One transition of a local loop: the new state, and its history lines.

mod ends;
#[cfg(test)]
mod tests;

use chrono::TimeDelta;
use serde_json::json;

pub use self::ends::Evaluated;
use crate::{
    ids::{CheckName, Timestamp},
    policy::{Policy, Trigger},
    reflex::contract::{self, Breach, Produced},
    state::{
        Calling, CritiqueItem, FixMaker, FixRecord, LoopState, ReflexState, Senior, Step,
        history::{ArtifactCreated, Confirmed, Event, EventStatus, HistoryLine, LocalLoopStarted, RunStarted},
    },
    verdict::Evaluation,
};

/// A transition: what the current step brought goes in, what is to be saved comes out.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The state to save.
    pub state: LoopState,
    /// Lines to append to the history.
    pub lines: Vec<HistoryLine>,
    /// The cause that the senior fixer is to mend before a person is called.
    pub senior_for: Option<Trigger>,
    now: Timestamp,
}

impl Turn {
    pub(super) fn on(state: &LoopState, now: Timestamp) -> Self {
        let mut state = state.clone();
        state.updated_at = now;
        Self { state, lines: Vec::new(), senior_for: None, now }
    }

    /// Goes on to the next step, and forgets that a step broke its contract.
    pub(super) fn go_to(&mut self, step: Step) {
        self.state.current_step = step;
        let reflex = self.reflex();
        reflex.broken = None;
        reflex.calling = None;
    }

    pub(super) fn reflex(&mut self) -> &mut ReflexState {
        self.state.reflex.as_mut().expect("a turn is made on a local loop, which has it from its beginning")
    }

    fn happened(&mut self, event: Event, status: EventStatus) {
        self.lines.push(HistoryLine::of(&self.state, self.now, event, status));
    }

    /// A new run, confirmed.
    pub fn begun(state: LoopState, now: Timestamp) -> Self {
        let mut turn = Self::on(&state, now);
        turn.state.current_step = Step::Plan;
        let reflex = turn.reflex();
        let (began_at, settings) = (reflex.began_at, reflex.settings.clone());
        let begun = LocalLoopStarted {
            title: turn.state.title.clone(),
            task: turn.state.task.prompt.clone(),
            max_iterations: turn.state.max_iterations,
            confirmed: Some(Confirmed {
                ideal_result: turn.state.task.ideal_result.clone(),
                began_at,
                base_sha: turn.state.base_sha,
                settings,
            }),
        };
        turn.happened(Event::RunStarted(RunStarted::LocalLoop(Box::new(begun))), EventStatus::Ok);
        turn
    }

    /// PLAN: what this iteration will do.
    ///
    /// # Errors
    /// When the plan is empty.
    pub fn planned(state: &LoopState, plan: Vec<String>, now: Timestamp) -> Result<Self, Breach> {
        contract::plan(&plan)?;
        let mut turn = Self::on(state, now);
        turn.happened(Event::PlanCreated { plan: plan.clone() }, EventStatus::Ok);
        turn.state.plan = plan;
        turn.go_to(Step::ProducePrepare);
        Ok(turn)
    }

    /// A program begins that may edit the working tree. Saved before it starts, so that edits it leaves half-made when
    /// the process dies are distinguished from what was there.
    pub fn calling(state: &LoopState, calling: Calling, now: Timestamp) -> Self {
        let mut turn = Self::on(state, now);
        turn.reflex().calling = Some(calling);
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
                let (head, hash) = (produced.head, produced.hash.clone());
                turn.happened(Event::ArtifactCreated(ArtifactCreated::Produced { head, hash }), EventStatus::Ok);
            }
        }
        turn.happened(Event::ChecksPrepared { checks: checks.clone() }, EventStatus::Ok);
        turn.state.prepared_checks = checks;
        turn.go_to(Step::Evaluate);
        Ok(turn)
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
        turn.state.critique = Some(items.iter().map(CritiqueItem::line).collect());
        turn.happened(Event::CritiqueDone { items: items.to_vec() }, EventStatus::Ok);
        turn.go_to(Step::Refine);
        Ok(turn)
    }

    /// REFINE: the tree has changed, so the next iteration begins.
    pub fn refined(state: &LoopState, fix: FixRecord, now: Timestamp) -> Self {
        let mut turn = Self::on(state, now);
        let refined = Event::RefinementDone {
            previous_artifact_hash: turn.state.code_artifact.content_hash.clone(),
            by: fix.by,
            head: fix.head_sha,
            subject: fix.subject.clone(),
            diff_summary: fix.diff_summary.clone(),
            files_modified: fix.files_modified.clone(),
            outside_scope: fix.outside_scope.clone(),
            cost_usd: fix.cost_usd,
        };
        turn.happened(refined, EventStatus::Ok);
        if fix.by != FixMaker::Person {
            let checkpoint = json!({ "type": "commit", "hash": fix.head_sha, "message": fix.subject, "at": now });
            turn.state.checkpoints.push(checkpoint);
        }
        turn.go_to(Step::Plan);
        let reflex = turn.reflex();
        if fix.by == FixMaker::SeniorFixer {
            reflex.senior = Senior::Used;
        }
        reflex.fixes.push(fix);
        turn.state.iteration += 1;
        let to = turn.state.iteration;
        turn.happened(Event::IterationAdvanced { to }, EventStatus::Ok);
        turn
    }

    /// The fixer's call is over, with any outcome: adds what it used of the budget. Goes before the outcome.
    #[must_use]
    pub fn spend(mut state: LoopState, wall: TimeDelta, cost_usd: Option<f64>) -> LoopState {
        if let Some(reflex) = state.reflex.as_mut() {
            reflex.spent.calls += 1;
            reflex.spent.wall_ms += u64::try_from(wall.num_milliseconds()).unwrap_or(0);
            reflex.spent.cost_usd += cost_usd.unwrap_or(0.0);
        }
        state
    }
}
