//! The `evaluate:` section: rules, weights, phases.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{NameGlob, Pattern, RequiredTest, UpTo};
use crate::{
    evidence::{CheckKind, FindingSeverity},
    ids::{CheckName, RuleId, Score},
};

/// The `evaluate:` section.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatePolicy {
    pub thresholds: PhaseThresholds,
    /// Phases in which "no fail rule failed" is good enough although the score is short.
    pub no_major_issues: Vec<Phase>,
    /// Rules written in the configuration; rules of the configured checks are added by
    /// [`evaluate`](crate::verdict::evaluate).
    pub rules: Vec<Rule>,
}

impl Default for EvaluatePolicy {
    fn default() -> Self {
        Self { thresholds: PhaseThresholds::default(), no_major_issues: vec![Phase::B], rules: Vec::new() }
    }
}

/// The score each phase must reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PhaseThresholds {
    /// Default: 0.8.
    #[serde(rename = "A", deserialize_with = "threshold")]
    #[schemars(with = "UpTo<1>")]
    pub a: Score,
    /// Default: 0.9.
    #[serde(rename = "B", deserialize_with = "threshold")]
    #[schemars(with = "UpTo<1>")]
    pub b: Score,
}

fn threshold<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Score, D::Error> {
    UpTo::<1>::value(deserializer).map(|share| Score::from_ratio(share, 1.0))
}

impl Default for PhaseThresholds {
    fn default() -> Self {
        Self { a: Score::from_ratio(0.8, 1.0), b: Score::from_ratio(0.9, 1.0) }
    }
}

impl PhaseThresholds {
    pub const fn of(&self, phase: Phase) -> Score {
        match phase {
            Phase::A => self.a,
            Phase::B => self.b,
        }
    }
}

/// The phase of the evaluation: A activates rules of level A, B those of A and B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    #[default]
    A,
    B,
}

/// One rule of the evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub id: RuleId,
    pub description: String,
    pub severity: Severity,
    /// Share in the score; by default 2, 1 or 0 by severity.
    pub weight: f64,
    pub phase: Phase,
    pub check: RuleCheck,
}

/// How much a rule matters; shown as High, Medium, Low.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warn,
    Fail,
}

impl Severity {
    pub const fn default_weight(self) -> f64 {
        match self {
            Self::Fail => 2.0,
            Self::Warn => 1.0,
            Self::Info => 0.0,
        }
    }
}

impl CheckKind {
    /// Severity of the own rule of a check of this kind.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Build | Self::Types | Self::Test | Self::Integration | Self::Security | Self::Lint => Severity::Fail,
            Self::Performance | Self::Coverage | Self::Custom => Severity::Warn,
            Self::Docs => Severity::Info,
        }
    }
}

/// What a rule looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleCheck {
    /// The check passed.
    Check(CheckName),
    /// The share of passed tests over all checks is at least this.
    PassedRatio(Score),
    /// Coverage of the changed lines, in percent, is at least this.
    ChangedCoverage(f64),
    /// Coverage of all lines has not fallen against the base by more than the tolerated loss.
    CoverageKept,
    /// The change comes with this sort of tests.
    RequiredTest(RequiredTest),
    /// No more findings of this severity or worse than `most`.
    Findings { severity: FindingSeverity, most: u64 },
    /// Code changed, so a test was added or changed too.
    TestsAdded,
    /// When a file matching `changed` is touched, one matching `also` is touched too.
    ChangeTogether { changed: Vec<NameGlob>, also: Vec<NameGlob> },
    /// The pattern appears in an added line.
    MustAppear { pattern: Pattern, paths: Vec<NameGlob> },
    /// The pattern appears in no added line.
    MustNotAppear { pattern: Pattern, paths: Vec<NameGlob> },
    /// At most so many changed lines and files.
    Size { max_lines: Option<u64>, max_files: Option<u64> },
}
