//! How far a run has come: criteria, stages, capabilities.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ids::{CheckName, RuleId, Score, Timestamp},
    policy::{EvaluatePolicy, Phase, Rule, Severity},
    stage::StageStatus,
};

/// What the evaluation asks for, written down with the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    pub name: String,
    pub version: u32,
    pub phase: BTreeMap<Phase, PhaseCriteria>,
    pub rules: Vec<CriteriaRule>,
}

impl Criteria {
    /// Writes down what is asked for now.
    pub fn set(&mut self, policy: &EvaluatePolicy, rules: &[Rule]) {
        self.phase = [(Phase::A, vec![Phase::A]), (Phase::B, vec![Phase::A, Phase::B])]
            .map(|(phase, active_levels)| {
                (phase, PhaseCriteria { threshold: policy.thresholds.of(phase), active_levels })
            })
            .into();
        self.rules = rules
            .iter()
            .map(|Rule { id, description, severity, weight, phase, check: _ }| CriteriaRule {
                id: id.clone(),
                description: description.clone(),
                severity: *severity,
                weight: *weight,
                phase: *phase,
            })
            .collect();
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseCriteria {
    pub threshold: Score,
    pub active_levels: Vec<Phase>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CriteriaRule {
    pub id: RuleId,
    pub description: String,
    pub severity: Severity,
    pub weight: f64,
    pub phase: Phase,
}

/// Task-list items under the `Capabilities` heading of the pull request's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityProgress {
    pub total: usize,
    pub completed: usize,
    /// The first unticked one.
    pub current: Option<String>,
    /// Those after it.
    #[serde(default)]
    pub remaining: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageRecord {
    pub status: StageStatus,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

/// Evidence a stage asks for, and which of it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageEvidence {
    pub required: Vec<CheckName>,
    pub completed: Vec<CheckName>,
    pub skipped: Vec<CheckName>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluationSummary {
    pub score: Score,
    pub passed: bool,
    pub failed_rules: Vec<RuleId>,
    pub warnings: Vec<RuleId>,
}

/// How far a run that stopped is from passing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DistanceToSuccess {
    pub threshold: Score,
    pub score: Score,
    pub gap: Score,
    pub failed_fail_rules: usize,
    pub blocking_rule_ids: Vec<RuleId>,
    pub passed_rules: usize,
    pub total_rules: usize,
}
