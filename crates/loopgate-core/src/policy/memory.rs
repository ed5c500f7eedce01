//! The `memory:` section: what is to be remembered of failures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Whole;

/// What is remembered of failures, and what is made of it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryPolicy {
    /// Days an ordinary failure is remembered.
    #[serde(with = "Whole::<1, 3650>")]
    pub retention_days: u32,
    /// How many earlier runs are looked at.
    #[serde(with = "Whole::<0, 1000>")]
    pub lookback: u32,
    /// Look up known failures before and after an attempt.
    pub check_history: bool,
    /// Offer fixes that have worked before.
    pub apply_learnings: bool,
    /// Save after each iteration of a local loop.
    pub persist_per_iteration: bool,
    /// What one iteration found out is known to the next.
    pub cross_iteration_learning: bool,
    /// Where earlier failures are looked for. Default: all.
    pub patterns_to_check: Vec<PatternSource>,
}

impl Default for MemoryPolicy {
    fn default() -> Self {
        use PatternSource as P;
        Self {
            retention_days: 30,
            lookback: 10,
            check_history: true,
            apply_learnings: true,
            persist_per_iteration: true,
            cross_iteration_learning: true,
            patterns_to_check: vec![
                P::SimilarFileEdits,
                P::SameTestFailures,
                P::RecurringErrorTypes,
            ],
        }
    }
}

/// Where earlier failures are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatternSource {
    /// Failures of changes to the same files.
    SimilarFileEdits,
    /// Failures of the same tests.
    SameTestFailures,
    /// Failures of the same error type.
    RecurringErrorTypes,
}
