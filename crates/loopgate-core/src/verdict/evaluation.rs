//! What the rules came to on one head.

pub use crate::state::DistanceToSuccess;
use crate::{
    ids::{CheckName, RuleId, Score},
    policy::{Phase, Severity},
    state::{EvaluationSummary, StopReason},
    verdict::LostLeg,
    verdict::coverage::MissingTests,
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

    /// What the state keeps of it.
    pub fn summary(&self) -> EvaluationSummary {
        EvaluationSummary {
            score: self.score,
            passed: self.passed(),
            failed_rules: self.failed_rules(),
            warnings: self.warnings(),
        }
    }

    fn failed(&self, severity: Severity) -> Vec<RuleId> {
        let failed = |rule: &&RuleView| rule.severity == severity && matches!(rule.outcome, RuleOutcome::Failed(_));
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
    Failed(RuleFailure),
    /// What it looks at is not known yet, or does not exist here: it has no weight.
    Unknown,
}

/// Why a rule does not hold, with what shows it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleFailure {
    /// A check did not pass.
    Check { check: CheckName, how: CheckFailure },
    /// Fewer tests pass than are to.
    PassedRatio { ratio: Score, least: Score },
    /// Percent of the changed lines, and places of those that no test executes.
    ChangedCoverage { percent: f64, least: f64, uncovered: Vec<String> },
    /// Percent of all lines, here and on the base.
    CoverageLost { head: f64, base: f64 },
    /// Tests of a required sort are missing.
    RequiredTest(MissingTests),
    /// More findings than are allowed.
    Findings { count: u64, most: u64 },
    /// Code changed, and no test.
    NoTestsAdded,
    /// None of the paths that these globs match is changed, too.
    NotTogether { also: Vec<String> },
    /// No added line matches the pattern.
    NotFound { pattern: String },
    /// An added line matches the pattern.
    Found { path: String, line: u32, pattern: String },
    /// So much is changed.
    TooLarge { lines: u64, files: usize },
}

/// How a check ended without passing.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckFailure {
    /// No evidence came in time.
    NoEvidence,
    /// GitHub did not start it.
    NotStarted,
    /// Jobs that execute it ended without evidence.
    Lost { legs: Vec<LostLeg> },
    /// Its evidence was refused.
    EvidenceRefused { reason: String },
    /// It ran into its timeout.
    TimedOut,
    /// It executed no test.
    NoTests,
    /// It passed without results by test, which it had before.
    ResultsLost,
    /// It failed, with so many failures in its reports.
    Failed { failures: u64 },
}
