//! A native stack: pull requests of one repository, each on the branch of the one beneath it. GitHub governs all of
//! them by the stack's base, and merges them from the bottom
//! (<https://docs.github.com/en/pull-requests/reference/stacked-pull-requests>).

use std::collections::BTreeMap;

use super::{CheckProgress, Conclusion, OwnCheck};
use crate::ids::PrNumber;

/// Where a pull request stands in its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Counted from 1, the bottom; 0 where it could not be read.
    pub position: usize,
    pub size: usize,
    /// The open layers beneath, the lowest first. None where they could not be read: then the files are the whole
    /// difference from the stack's base, and no other layer is asked.
    pub beneath: Vec<Layer>,
    /// The next open layer: what changes here concerns it.
    pub above: Option<PrNumber>,
}

/// An open layer, and how our checks stand on its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub number: PrNumber,
    /// What is missing has not begun.
    pub checks: BTreeMap<OwnCheck, CheckProgress>,
}

impl Stack {
    /// The lowest layer whose check does not pass, and how that one stands.
    pub fn waits_for(&self, check: OwnCheck) -> Option<(PrNumber, CheckProgress)> {
        let standing = |layer: &Layer| layer.checks.get(&check).copied().unwrap_or(CheckProgress::Queued);
        let passes = |progress| matches!(progress, CheckProgress::Completed { conclusion: Conclusion::Success, .. });
        let layers = self.beneath.iter().map(|layer| (layer.number, standing(layer)));
        layers.into_iter().find(|(_, progress)| !passes(*progress))
    }
}
