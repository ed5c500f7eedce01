//! What every stage of a decision is given.

use crate::{
    concerns::{gates::Assessment, tampering::Tampering},
    ids::Timestamp,
    observed::{Lifecycle, Snapshot},
    policy::{Context, Policy},
    state::LoopState,
};

/// What was observed, what is remembered, what governs, and the time: the same for every stage of a decision.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The state as it was saved last.
    pub(super) before: &'a LoopState,
    pub(super) policy: &'a Policy,
    pub(super) now: Timestamp,
    /// The standing of the gates, and the commands and approvals of comments.
    pub(super) assessment: &'a Assessment,
    /// How the head weakens what checks it.
    pub(super) tampering: &'a [Tampering],
}

impl<'a> Inputs<'a> {
    pub(super) const fn cx(&self) -> Context<'a> {
        Context {
            snapshot: self.snapshot,
            policy: self.policy,
            now: self.now,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.snapshot.pull_request.lifecycle == Lifecycle::Open
    }
}
