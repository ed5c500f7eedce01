//! What the stages of a decision returned, for those who put it together.

use super::{
    action::NextAction, inputs::Inputs, outcome::Blocking, stages::Walks, verification::Counting,
};
use crate::{
    concerns::{gates::ApprovedRuns, verdict::Verification},
    state::LoopState,
};

/// What the stages of a decision returned.
pub(super) struct Stages<'a> {
    pub(super) inputs: &'a Inputs<'a>,
    /// The state as it will be saved.
    pub(super) next: &'a LoopState,
    pub(super) verification: &'a Verification,
    pub(super) walks: &'a Walks,
    pub(super) counting: &'a Counting,
    pub(super) blocking: &'a Blocking,
    pub(super) approved_runs: Option<&'a ApprovedRuns>,
    pub(super) action: &'a NextAction,
}
