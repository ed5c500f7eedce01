//! Root-cause categories (evidence.md).

use serde::{Deserialize, Serialize};

/// What kind of mistake a failure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootCauseCategory {
    NullUndefinedAccess,
    TypeMismatch,
    MissingValidation,
    LogicError,
    OffByOne,
    RaceCondition,
    ResourceLeak,
    MissingErrorHandling,
    ApiMisuse,
    ConfigurationError,
    DependencyIssue,
    Environment,
    Other,
}
