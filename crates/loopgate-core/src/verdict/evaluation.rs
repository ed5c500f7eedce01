//! What the rules came to on one head.

pub use crate::state::DistanceToSuccess;
use crate::{
    ids::{RuleId, Score},
    policy::{Phase, Severity},
    state::StopReason,
};

/// The outcome of evaluating the rules on one head.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    pub phase: Phase,
    pub score: Score,
    pub threshold: Score,
    pub verdict: EvaluationVerdict,
    /// Active rules with their outcome, in their order.
    pub rules: Vec<RuleView>,
    /// 0.3 × test pass rate + 0.7 × score, as `progress.weight` says.
    pub progress: Score,
}

impl Evaluation {
    pub fn passed(&self) -> bool {
        matches!(self.verdict, EvaluationVerdict::Passed(_))
    }

    /// Ids of the active rules that failed with severity fail or warn.
    pub fn failed_rules(&self) -> Vec<RuleId> {
        self.failed(Severity::Fail)
    }

    pub fn warnings(&self) -> Vec<RuleId> {
        self.failed(Severity::Warn)
    }

    fn failed(&self, severity: Severity) -> Vec<RuleId> {
        let failed = |rule: &&RuleView| rule.severity == severity && matches!(rule.outcome, RuleOutcome::Failed { .. });
        self.rules.iter().filter(failed).map(|rule| rule.id.clone()).collect()
    }
}

/// How an evaluation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluationVerdict {
    /// Some evidence is still missing.
    Undecided,
    Passed(StopReason),
    Failed,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RuleView {
    pub id: RuleId,
    pub description: String,
    pub severity: Severity,
    pub weight: f64,
    pub phase: Phase,
    pub outcome: RuleOutcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RuleOutcome {
    Passed,
    Failed {
        /// One line: what to do about it.
        fix: String,
    },
    /// What it looks at is not known yet, or does not exist here: it has no weight.
    Unknown,
}
