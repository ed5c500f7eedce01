//! Whose fault a failing check is. Only the pull request's own failures consume an attempt.

use serde::{Deserialize, Serialize};

/// Blame classes (contracts.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    PrCode,
    /// Fails on the base too.
    Base,
    Flaky,
    Infrastructure,
    Inconclusive,
}
