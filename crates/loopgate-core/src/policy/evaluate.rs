//! The `evaluate:` section: rules, weights, phases.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{FileGlob, NonEmpty, Pattern, RequiredTest, UpTo, Whole, Yes};
use crate::{
    evidence::{CheckKind, FindingSeverity},
    ids::{CheckName, RuleId, Score},
};

/// Rules, weights and thresholds.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "EvaluateSection")]
pub struct EvaluatePolicy {
    /// The score each phase must reach, from 0 to 1.
    #[serde(rename = "phases")]
    pub thresholds: PhaseThresholds,
    /// Phases in which it is enough that no rule of severity fail failed.
    pub no_major_issues: Vec<Phase>,
    /// Rules beside those that each check brings.
    pub rules: Vec<Rule>,
}

impl Default for EvaluatePolicy {
    fn default() -> Self {
        Self {
            thresholds: PhaseThresholds::default(),
            no_major_issues: vec![Phase::B],
            rules: Vec::new(),
        }
    }
}

impl EvaluatePolicy {
    /// Whether the configuration says what score is needed: only then it is of interest to those who review.
    pub fn sets_thresholds(&self) -> bool {
        let usual = Self::default();
        self.thresholds != usual.thresholds || self.no_major_issues != usual.no_major_issues
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
    UpTo::<1>::deserialize(deserializer).map(|share| Score::from_ratio(share, 1.0))
}

impl Default for PhaseThresholds {
    fn default() -> Self {
        Self {
            a: Score::from_ratio(0.8, 1.0),
            b: Score::from_ratio(0.9, 1.0),
        }
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
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
pub enum Phase {
    #[default]
    A,
    B,
}

/// A rule of the evaluation.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RuleSection")]
pub struct Rule {
    /// A short name, used once.
    pub id: RuleId,
    /// What it asks for, in a sentence. Default: its id.
    #[serde(default)]
    pub description: String,
    /// fail stops the pull request, warn costs score, info is shown.
    pub severity: Severity,
    /// Share in the score. Default: 2, 1 or 0 by severity.
    pub weight: Option<UpTo<1000>>,
    /// The phase that activates it. Default: A.
    #[serde(default)]
    pub phase: Phase,
    /// What it looks at.
    pub check: RuleCheck,
}

impl Rule {
    /// Its share in the score.
    pub fn weight(&self) -> f64 {
        let usual = match self.severity {
            Severity::Fail => 2.0,
            Severity::Warn => 1.0,
            Severity::Info => 0.0,
        };
        self.weight.map_or(usual, |own| own.0)
    }
}

/// How much a rule matters; shown as High, Medium, Low.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warn,
    Fail,
}

impl CheckKind {
    /// Severity of the own rule of a check of this kind.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Build
            | Self::Types
            | Self::Test
            | Self::Integration
            | Self::Security
            | Self::Coverage
            | Self::Lint => Severity::Fail,
            Self::Performance | Self::Custom => Severity::Warn,
            Self::Docs => Severity::Info,
        }
    }
}

/// What a rule looks at: exactly one of these.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RuleCheck {
    /// This check passed.
    #[serde(rename = "passed")]
    Check(CheckName),
    /// At least this share of all tests passed, from 0 to 1.
    PassedRatio(UpTo<1>),
    /// At least this percentage of the changed lines is covered.
    ChangedCoverage(UpTo<100>),
    /// Coverage of all lines has not fallen against the base by more than the tolerated loss.
    #[serde(skip)]
    CoverageKept,
    /// The change comes with this sort of tests.
    #[serde(skip)]
    RequiredTest(RequiredTest),
    /// Findings of linters and scanners.
    Findings {
        /// Counted from this severity up.
        severity: FindingSeverity,
        /// How many are tolerated. Default: 0.
        most: Option<Whole<0, 1_000_000>>,
    },
    /// When code changed, a test was added or changed.
    TestsAdded(Yes),
    /// Paths that change together.
    ChangeTogether {
        /// When one of these is touched …
        changed: NonEmpty<FileGlob<false>>,
        /// … one of these is touched too.
        also: NonEmpty<FileGlob<false>>,
    },
    /// A pattern that an added line must match.
    MustAppear(AddedPattern),
    /// A pattern that no added line may match.
    MustNotAppear(AddedPattern),
    /// The size of the change.
    Size {
        /// At most so many changed lines.
        max_lines: Option<Whole<1, 10_000_000>>,
        /// At most so many changed files.
        max_files: Option<Whole<1, 1_000_000>>,
    },
}

/// A pattern over added lines.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedPattern {
    /// A regular expression.
    pub pattern: Pattern,
    /// Only in files that match. Default: all.
    #[serde(default)]
    pub paths: Vec<FileGlob<false>>,
}
