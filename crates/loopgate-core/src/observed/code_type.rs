//! What type of change a pull request declares itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of change a pull request is (decisions.md, V).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodeType {
    NewFunction,
    BugFix,
    Refactor,
    ApiEndpoint,
    Integration,
}
