//! Two attempts beside each other.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Set algebra against the previous attempt and the base, in names of tests (else of checks).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    pub new: BTreeSet<String>,
    pub still: BTreeSet<String>,
    pub fixed: BTreeSet<String>,
    pub flaky: BTreeSet<String>,
    pub added: BTreeSet<String>,
    pub removed: BTreeSet<String>,
    #[serde(default)]
    pub against: Against,
}

/// What an attempt is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    #[default]
    AttemptBefore,
    /// The first attempt has none before it.
    Base,
}

/// An attempt compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    pub compare: Compare,
    /// Tests that fail now and passed before: in the attempt before, or, where that did not run them, on the base.
    pub regressed: BTreeSet<String>,
}
