//! What only the readers of a run's document see.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    ids::CheckName,
    policy::{EvaluatePolicy, Phase, Rule},
    stage::Stage,
};

/// What a run's document shows and no decision reads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Shown {
    pub linked_issues: Vec<u64>,
    /// How the tests are executed, as far as the configuration says.
    pub execution_config: Value,
    /// The retry numbers in force.
    pub retry_policy: Value,
    /// What the evaluation asks for ([`criteria`]).
    pub criteria: Value,
    /// Whether each stage is pending, in progress or complete, and since when.
    pub stages: BTreeMap<Stage, Value>,
    /// Evidence that the stage asks for, and which of it is there.
    pub stage_evidence: BTreeMap<Stage, Value>,
    pub prerequisites: BTreeMap<String, String>,
    pub stagnation_count: u32,
    /// What ran on each head, the newest heads last.
    pub check_log: Vec<Value>,
    /// How many attempts each check ended in.
    pub check_usage: BTreeMap<CheckName, u32>,
    /// The commits of attempts, and of fixers in a local loop.
    pub checkpoints: Vec<Value>,
}

/// What the evaluation asks for now, as it is written down with the run.
pub fn criteria(policy: &EvaluatePolicy, rules: &[Rule]) -> Value {
    let phase = |phase: Phase, active: &[Phase]| json!({ "threshold": policy.thresholds.of(phase), "activeLevels": active });
    let rules = rules.iter().map(|rule @ Rule { id, description, severity, phase, .. }| {
        json!({ "id": id, "description": description, "severity": severity, "weight": rule.weight(), "phase": phase })
    });
    json!({
        "name": "loopgate_default_v1",
        "version": 1,
        "phase": { "A": phase(Phase::A, &[Phase::A]), "B": phase(Phase::B, &[Phase::A, Phase::B]) },
        "rules": rules.collect::<Vec<_>>(),
    })
}
