//! What type of change a pull request declares itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// What kind of change a pull request is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum CodeType {
        NewFunction = "new_function",
        BugFix = "bug_fix",
        Refactor = "refactor",
        ApiEndpoint = "api_endpoint",
        Integration = "integration",
    }
}
