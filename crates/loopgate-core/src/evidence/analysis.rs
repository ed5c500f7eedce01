//! The analysis of a failure, as records and comments carry it.

use serde::{Deserialize, Serialize};

use crate::evidence::{Confidence, RootCauseCategory};

/// Why something failed and how to mend it. The texts hold names and values from outside, as code spans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    pub root_cause: String,
    pub category: RootCauseCategory,
    pub fix_strategy: String,
    pub confidence: Confidence,
    /// Names of the known messages that were found; the one that explains the failure first.
    #[serde(default, alias = "patterns_matched")]
    pub rules_matched: Vec<String>,
    /// Other failures with the same root cause, by test name or place.
    #[serde(default)]
    pub related: Vec<String>,
}
