//! The end of a decision: what the walks and the action make of the state.

use super::Run;
use crate::{
    attempts::retry,
    deciding::NextAction,
    escalation::escalation_call,
    gate::GateReport,
    ids::CheckName,
    observed::Lifecycle,
    policy::{EscalationAction, Phase, Rule, Severity, Trigger},
    stage::{Stage, StageStatus},
    stages::walk::Walk,
    state::{
        CriteriaRule, EvaluationSummary, PhaseCriteria, RunStatus, StageEvidence, StopReason,
        history::{Completed, Event, Failed, StatusChange, Stopped},
    },
    verdict::{
        CheckStanding, Evaluation, EvaluationVerdict, RuleOutcome,
        gather::{self, HeadEvidence},
    },
};

impl Run<'_> {
    /// Writes the outcome into the state: stage, status, stop reason, summary of the evaluation.
    #[expect(clippy::too_many_arguments, reason = "the one place where everything derived comes together")]
    pub(crate) fn settle(
        &mut self,
        action: &NextAction,
        evaluation: &Evaluation,
        evidence: &HeadEvidence,
        stage_walk: &Walk,
        evidence_walk: &Walk,
        gates: &[GateReport],
        rules: &[Rule],
    ) {
        let stage = match action {
            NextAction::Complete => Stage::Complete,
            _ => stage_walk.reached,
        };
        if stage != self.next.state {
            self.next.state = stage;
            self.next.state_entered_at = self.now;
        }
        self.settle_stages(stage, evidence);
        self.next.evaluation = Some(EvaluationSummary {
            score: evaluation.score,
            passed: evaluation.passed(),
            failed_rules: evaluation.failed_rules(),
            warnings: evaluation.warnings(),
        });
        self.settle_criteria(rules);
        let given_up = retry::has_given_up(
            &retry::judge(&self.next.attempts, &self.next.resumes, &self.policy.retry),
            &self.policy.retry,
        );
        if matches!(action, NextAction::Complete) {
            self.complete(evaluation, gates);
        } else {
            self.next.status = self.status(action, given_up, evidence_walk);
        }
        self.settle_stop(action, evaluation, given_up);
        self.status_events();
    }

    fn status(&self, action: &NextAction, given_up: bool, evidence_walk: &Walk) -> RunStatus {
        let aborts = self.next.blocked.as_ref().is_some_and(|blocked| {
            escalation_call::action_of(blocked.trigger, &self.policy.escalation) == EscalationAction::AbortWithReport
        });
        match action {
            NextAction::Stopped if given_up => RunStatus::Failed,
            NextAction::Stopped => RunStatus::Stopped,
            _ if aborts => RunStatus::Aborted,
            NextAction::Escalate { .. } | NextAction::WaitForHuman { .. } => RunStatus::Escalated,
            _ if evidence_walk.reached >= Stage::Document => RunStatus::Passed,
            _ => RunStatus::InProgress,
        }
    }

    fn settle_stages(&mut self, reached: Stage, evidence: &HeadEvidence) {
        let now = self.now;
        for stage in Stage::ALL {
            let record = self.next.stages.entry(stage).or_default();
            let status = match stage.cmp(&reached) {
                std::cmp::Ordering::Less => StageStatus::Complete,
                std::cmp::Ordering::Equal if stage == Stage::Complete => StageStatus::Complete,
                std::cmp::Ordering::Equal => StageStatus::InProgress,
                std::cmp::Ordering::Greater => StageStatus::Pending,
            };
            if record.status == status {
                continue;
            }
            record.status = status;
            match status {
                StageStatus::Pending => (record.started_at, record.completed_at) = (None, None),
                StageStatus::InProgress => (record.started_at, record.completed_at) = (Some(now), None),
                StageStatus::Complete | StageStatus::Skipped => {
                    record.started_at = record.started_at.or(Some(now));
                    record.completed_at = Some(now);
                }
            }
        }
        let names = |wanted: fn(&gather::GatheredCheck) -> bool| -> Vec<CheckName> {
            evidence.checks.iter().filter(|(_, check)| wanted(check)).map(|(name, _)| name.clone()).collect()
        };
        self.next.stage_evidence.clear();
        self.next.stage_evidence.insert(
            reached,
            StageEvidence {
                required: evidence.checks.keys().cloned().collect(),
                completed: names(|check| check.evidence().is_some_and(|found| !found.outcome.is_failure())),
                skipped: names(|check| matches!(check.standing, CheckStanding::Skipped { .. })),
            },
        );
    }

    fn settle_criteria(&mut self, rules: &[Rule]) {
        let thresholds = self.policy.evaluate.thresholds;
        let criteria = &mut self.next.criteria;
        criteria.phase = [(Phase::A, vec![Phase::A]), (Phase::B, vec![Phase::A, Phase::B])]
            .map(|(phase, active_levels)| (phase, PhaseCriteria { threshold: thresholds.of(phase), active_levels }))
            .into();
        criteria.rules = rules
            .iter()
            .map(|rule| CriteriaRule {
                id: rule.id.clone(),
                description: rule.description.clone(),
                severity: rule.severity,
                weight: rule.weight,
                phase: rule.phase,
            })
            .collect();
    }

    /// Merged: what was merged over is named, once.
    fn complete(&mut self, evaluation: &Evaluation, gates: &[GateReport]) {
        if self.before.status == RunStatus::Completed {
            return;
        }
        let open_gates = gates.iter().filter(|gate| gate.is_closed()).map(|gate| format!("{} gate", gate.name));
        let failing = evaluation
            .rules
            .iter()
            .filter(|rule| rule.severity == Severity::Fail && matches!(rule.outcome, RuleOutcome::Failed { .. }));
        self.next.bypassed = open_gates.chain(failing.map(|rule| format!("{} rule", rule.id))).collect();
        self.next.status = RunStatus::Completed;
        self.next.blocked = None;
        if !self.next.bypassed.is_empty() {
            let by = match &self.snapshot.pull_request.lifecycle {
                Lifecycle::Merged { by, .. } => by.clone(),
                _ => None,
            };
            self.happened(Event::MergedWithOpenGates { bypassed: self.next.bypassed.clone(), by });
        }
    }

    fn settle_stop(&mut self, action: &NextAction, evaluation: &Evaluation, given_up: bool) {
        if self.next.stop.reason == Some(StopReason::UserStop) {
            return;
        }
        use EvaluationVerdict::Passed;
        self.next.stop.passed = evaluation.passed();
        self.next.stop.reason = match (&evaluation.verdict, self.next.blocked.as_ref().map(|blocked| blocked.trigger)) {
            (Passed(reason), _) if matches!(self.next.status, RunStatus::Passed | RunStatus::Completed) => {
                Some(*reason)
            }
            (_, Some(Trigger::Stagnation)) => Some(StopReason::Stagnation),
            (_, Some(Trigger::MaxAttemptsReached | Trigger::SameError | Trigger::TotalFailures)) => {
                Some(StopReason::IterationLimit)
            }
            _ if given_up && matches!(action, NextAction::Stopped) => Some(StopReason::IterationLimit),
            _ => None,
        };
    }

    fn status_events(&mut self) {
        let (was, is) = (self.before.status, self.next.status);
        if was == is {
            return;
        }
        let change = StatusChange { from: was, reason: self.next.stop.reason, words: self.next.stop.words.clone() };
        self.happened(match is {
            RunStatus::Completed => Event::Completed(Completed::PullRequest(change)),
            RunStatus::Stopped => Event::Stopped(Stopped::PullRequest(change)),
            RunStatus::Failed | RunStatus::Aborted => Event::Failed(Failed::PullRequest(change)),
            RunStatus::InProgress | RunStatus::Passed | RunStatus::Escalated => return,
        });
    }
}
