//! What a change of the configuration would have made of earlier runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ids::{GateName, Sha},
    policy::Trigger,
};

/// A configuration that a pull request proposes, tried on recorded runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedConfiguration {
    /// The file's blob at the head.
    pub blob: Sha,
    /// Runs that were judged again.
    pub runs: usize,
    pub gates: BTreeMap<GateName, Changes>,
    /// Calls for a human, by their cause.
    pub calls: BTreeMap<Trigger, Changes>,
}

/// Runs that have something more, or lack it. `#12`, or the alias of a local loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    #[serde(default)]
    pub more: Vec<String>,
    #[serde(default)]
    pub fewer: Vec<String>,
}
