//! One transition of a local loop: the new state, and its history lines.

mod ends;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use chrono::TimeDelta;
use serde_json::json;

pub use self::ends::Evaluated;
use crate::{
    concerns::verdict::Evaluation,
    evidence::{CheckEvidence, Outcome},
    ids::{CheckName, RuleId, Sha, Timestamp},
    policy::{Policy, Trigger},
    state::{
        Calling, CritiqueItem, FixMaker, FixRecord, LoopState, ReflexState, Senior, Step,
        history::{
            ArtifactCreated, Confirmed, Event, EventStatus, HistoryLine, LocalLoopStarted,
            RunStarted,
        },
    },
};

/// How the output of a step broke its contract. The step is executed once more with the same inputs; the second time
/// ends the loop with `phase_error`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Breach {
    /// The plan says nothing.
    EmptyPlan,
    /// There is no check.
    NothingToRun,
    /// The checks edited these files.
    Edited(Vec<String>),
    /// The check has two results.
    TwoResults(CheckName),
    /// The check has none.
    NoResult(CheckName),
    /// The check did not come to an end.
    NoEnd(CheckName),
    /// The critique says nothing about the failed rule.
    Silent(RuleId),
    /// It says what is wrong with a rule, and not what to do.
    NoInstruction { rule: String },
    /// It says nothing at all.
    NoCritique,
}

/// What PRODUCE brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Produced {
    /// The commit that stands for the tree: HEAD, or one made of the working tree where that differs.
    pub head: Sha,
    /// SHA-256 over the tree id, in hex.
    pub hash: String,
    /// The document the task produces, if it produces one.
    pub document: Option<String>,
}

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
    /// Begins a transition of a state.
    pub fn on(state: &LoopState, now: Timestamp) -> Self {
        let mut state = state.clone();
        state.run.updated_at = now;
        Self {
            state,
            lines: Vec::new(),
            senior_for: None,
            now,
        }
    }

    /// Goes on to the next step, and forgets that a step broke its contract.
    pub(super) fn go_to(&mut self, step: Step) {
        self.state.run.step = step;
        let reflex = self.reflex();
        reflex.broken = None;
        reflex.calling = None;
    }

    pub(super) fn reflex(&mut self) -> &mut ReflexState {
        self.state
            .run
            .reflex
            .as_mut()
            .expect("a turn is made on a local loop, which has it from its beginning")
    }

    fn happened(&mut self, event: Event, status: EventStatus) {
        self.lines
            .push(HistoryLine::of(&self.state, self.now, event, status));
    }

    /// A new run, confirmed.
    pub fn begun(mut self) -> Self {
        self.state.run.step = Step::Plan;
        let reflex = self.reflex();
        let (began_at, settings) = (reflex.began_at, reflex.settings.clone());
        let begun = LocalLoopStarted {
            title: self.state.run.title.clone(),
            task: self.state.run.task.prompt.clone(),
            max_iterations: self.state.run.max_iterations,
            confirmed: Some(Confirmed {
                ideal_result: self.state.run.task.ideal_result.clone(),
                began_at,
                base_sha: self.state.head.base_sha,
                settings,
            }),
        };
        self.happened(
            Event::RunStarted(RunStarted::LocalLoop(Box::new(begun))),
            EventStatus::Ok,
        );
        self
    }

    /// PLAN: what this iteration will do.
    ///
    /// # Errors
    /// When the plan is empty.
    pub fn planned(mut self, plan: Vec<String>) -> Result<Self, Breach> {
        if plan.iter().all(|line| line.trim().is_empty()) {
            return Err(Breach::EmptyPlan);
        }
        self.happened(Event::PlanCreated { plan: plan.clone() }, EventStatus::Ok);
        self.state.run.plan = plan;
        self.go_to(Step::ProducePrepare);
        Ok(self)
    }

    /// A program begins that may edit the working tree. Saved before it starts, so that edits it leaves half-made when
    /// the process dies are distinguished from what was there.
    pub fn calling(mut self, calling: Calling) -> Self {
        self.reflex().calling = Some(calling);
        self
    }

    /// PRODUCE and PREPARE, in iteration's first half; PREPARE alone (`produced: None`) after the switch to phase B.
    ///
    /// # Errors
    /// When there is no check to run at all.
    pub fn prepared(
        mut self,
        produced: Option<&Produced>,
        checks: Vec<CheckName>,
        policy: &Policy,
    ) -> Result<Self, Breach> {
        // A loop without a check could only pass by chance.
        if checks.is_empty() && policy.verify.checks.is_empty() {
            return Err(Breach::NothingToRun);
        }
        if let Some(produced) = produced {
            let is_new = self.state.head.artifact.content_hash != produced.hash
                || self.state.attempts.counted.is_empty();
            self.state.head.sha = produced.head;
            self.state
                .head
                .artifact
                .content_hash
                .clone_from(&produced.hash);
            if is_new {
                let (head, hash) = (produced.head, produced.hash.clone());
                self.happened(
                    Event::ArtifactCreated(ArtifactCreated::Produced { head, hash }),
                    EventStatus::Ok,
                );
            }
        }
        self.happened(
            Event::ChecksPrepared {
                checks: checks.clone(),
            },
            EventStatus::Ok,
        );
        self.state.concerns.checks.prepared = checks;
        self.go_to(Step::Evaluate);
        Ok(self)
    }

    /// CRITIQUE: what REFINE is to mend.
    ///
    /// # Errors
    /// When it names no cause for a failed rule.
    pub fn critiqued(
        mut self,
        items: &[CritiqueItem],
        evaluation: &Evaluation,
    ) -> Result<Self, Breach> {
        critiqued(&evaluation.failed_rules(), items)?;
        self.state.run.critique = Some(items.iter().map(CritiqueItem::line).collect());
        self.happened(
            Event::CritiqueDone {
                items: items.to_vec(),
            },
            EventStatus::Ok,
        );
        self.go_to(Step::Refine);
        Ok(self)
    }

    /// REFINE: the tree has changed, so the next iteration begins.
    pub fn refined(mut self, fix: FixRecord) -> Self {
        let refined = Event::RefinementDone {
            previous_artifact_hash: self.state.head.artifact.content_hash.clone(),
            by: fix.by,
            head: fix.head_sha,
            subject: fix.subject.clone(),
            diff_summary: fix.diff_summary.clone(),
            files_modified: fix.files_modified.clone(),
            outside_scope: fix.outside_scope.clone(),
            cost_usd: fix.cost_usd,
        };
        self.happened(refined, EventStatus::Ok);
        if fix.by != FixMaker::Person {
            let checkpoint = json!({ "type": "commit", "hash": fix.head_sha, "message": fix.subject, "at": self.now });
            self.state.shown.checkpoints.push(checkpoint);
        }
        self.go_to(Step::Plan);
        let reflex = self.reflex();
        if fix.by == FixMaker::SeniorFixer {
            reflex.senior = Senior::Used;
        }
        reflex.fixes.push(fix);
        self.state.run.iteration += 1;
        let to = self.state.run.iteration;
        self.happened(Event::IterationAdvanced { to }, EventStatus::Ok);
        self
    }

    /// The fixer's call is over, with any outcome: adds what it used of the budget. Goes before the outcome.
    #[must_use]
    pub fn spend(mut state: LoopState, wall: TimeDelta, cost_usd: Option<f64>) -> LoopState {
        if let Some(reflex) = state.run.reflex.as_mut() {
            reflex.spent.calls += 1;
            reflex.spent.wall_ms += u64::try_from(wall.num_milliseconds()).unwrap_or(0);
            reflex.spent.cost_usd += cost_usd.unwrap_or(0.0);
        }
        state
    }
}

/// EVALUATE has an end for each prepared check, exactly one, and edited nothing.
fn evaluated(
    prepared: &[CheckName],
    evidence: &[CheckEvidence],
    edited: &[String],
) -> Result<(), Breach> {
    if !edited.is_empty() {
        return Err(Breach::Edited(edited.to_vec()));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = evidence.iter().find(|check| !seen.insert(&check.name)) {
        return Err(Breach::TwoResults(twice.name.clone()));
    }
    if let Some(missing) = prepared.iter().find(|name| !seen.contains(name)) {
        return Err(Breach::NoResult(missing.clone()));
    }
    match evidence
        .iter()
        .find(|check| check.outcome == Outcome::Cancelled)
    {
        Some(check) => Err(Breach::NoEnd(check.name.clone())),
        None => Ok(()),
    }
}

/// CRITIQUE says what to do about each failed rule.
fn critiqued(failed: &[RuleId], items: &[CritiqueItem]) -> Result<(), Breach> {
    if let Some(silent) = failed
        .iter()
        .find(|rule| items.iter().all(|item| item.rule != rule.as_str()))
    {
        return Err(Breach::Silent(silent.clone()));
    }
    match items.iter().find(|item| item.fix.trim().is_empty()) {
        Some(item) => Err(Breach::NoInstruction {
            rule: item.rule.clone(),
        }),
        None if items.is_empty() => Err(Breach::NoCritique),
        None => Ok(()),
    }
}

#[cfg(test)]
mod contract_tests {
    use super::*;
    use crate::evidence::CheckKind;

    fn check(name: &str, outcome: Outcome) -> CheckEvidence {
        CheckEvidence::bare(name.parse().unwrap(), CheckKind::Test, outcome)
    }

    fn names(names: &[&str]) -> Vec<CheckName> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    #[test]
    fn an_evaluation_must_be_whole_and_edit_nothing() {
        use Outcome::{Cancelled, Failed, Passed, Skipped};
        let whole = [
            check("build", Passed),
            check("unit", Failed),
            check("lint", Skipped),
        ];
        assert_eq!(evaluated(&names(&["build", "unit"]), &whole, &[]), Ok(()));
        let said = |prepared: &[&str], evidence: &[CheckEvidence], edited: &[&str]| {
            let edited: Vec<String> = edited.iter().map(ToString::to_string).collect();
            evaluated(&names(prepared), evidence, &edited).unwrap_err()
        };
        assert_eq!(
            said(&["docs"], &whole, &[]),
            Breach::NoResult("docs".parse().unwrap())
        );
        let a = || "a".parse().unwrap();
        assert_eq!(
            said(&[], &[check("a", Passed), check("a", Passed)], &[]),
            Breach::TwoResults(a())
        );
        assert_eq!(said(&[], &[check("a", Cancelled)], &[]), Breach::NoEnd(a()));
        assert_eq!(
            said(&[], &whole, &["src/a.rs"]),
            Breach::Edited(vec!["src/a.rs".to_owned()])
        );
    }

    #[test]
    fn a_critique_speaks_of_every_failed_rule() {
        let item = |rule: &str, fix: &str| CritiqueItem {
            rule: rule.into(),
            issue: "it fails".into(),
            fix: fix.into(),
        };
        let failed: Vec<RuleId> = vec!["unit".parse().unwrap()];
        assert_eq!(critiqued(&failed, &[item("unit", "mend it")]), Ok(()));
        for (items, breach) in [
            (vec![], Breach::Silent(failed[0].clone())),
            (
                vec![item("unit", " ")],
                Breach::NoInstruction {
                    rule: "unit".into(),
                },
            ),
        ] {
            assert_eq!(critiqued(&failed, &items), Err(breach));
        }
        assert_eq!(critiqued(&[], &[]), Err(Breach::NoCritique));
    }
}
