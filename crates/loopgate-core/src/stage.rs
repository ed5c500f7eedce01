//! The stages every pull request walks, and where it stands.

use serde::{Deserialize, Serialize};

words! {
    /// The stages of a pull request, in order.
    #[derive(
        Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
    )]
    pub enum Stage {
        #[default]
        Init = "INIT",
        Scaffold = "SCAFFOLD",
        Implement = "IMPLEMENT",
        Test = "TEST",
        Verify = "VERIFY",
        Validate = "VALIDATE",
        Document = "DOCUMENT",
        Review = "REVIEW",
        Ship = "SHIP",
        Complete = "COMPLETE",
    }
}

impl Stage {
    /// The stage after this one; COMPLETE is the last.
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self as usize + 1).copied()
    }
}
