//! `memory:`, what is remembered of failures.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::config::{leaf::Whole, lower::switch};
use loopgate_core::policy::{MemoryPolicy, PatternSource};

/// What is remembered of failures, and what is made of it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::config) struct MemorySection {
    /// Days an ordinary failure is remembered.
    retention_days: Option<Whole<1, 3650>>,
    /// How many earlier runs are looked at.
    lookback: Option<Whole<0, 1000>>,
    /// Look up known failures before and after an attempt.
    check_history: Option<bool>,
    /// Offer fixes that have worked before.
    apply_learnings: Option<bool>,
    /// Save after each iteration of a local loop.
    persist_per_iteration: Option<bool>,
    /// What one iteration found out is known to the next.
    cross_iteration_learning: Option<bool>,
    /// Where earlier failures are looked for. Default: all.
    patterns_to_check: Option<Vec<PatternSource>>,
}

impl MemorySection {
    pub fn lower(self) -> MemoryPolicy {
        let default = MemoryPolicy::default();
        MemoryPolicy {
            retention_days: self.retention_days.map_or(default.retention_days, |days| days.0),
            lookback: self.lookback.map_or(default.lookback, |runs| runs.0),
            check_history: switch(self.check_history, default.check_history),
            apply_learnings: switch(self.apply_learnings, default.apply_learnings),
            persist_per_iteration: switch(self.persist_per_iteration, default.persist_per_iteration),
            cross_iteration_learning: switch(self.cross_iteration_learning, default.cross_iteration_learning),
            patterns_to_check: self.patterns_to_check.unwrap_or(default.patterns_to_check),
        }
    }
}
