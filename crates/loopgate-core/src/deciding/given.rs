//! What a decision is made from.

use crate::{
    ids::Timestamp,
    observed::{Lifecycle, Snapshot},
    policy::Policy,
    state::{LoopState, RunStatus},
};

/// What was observed, what is remembered, what governs, and the time: the same for every stage of a decision.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The state as it was saved last.
    pub(super) before: &'a LoopState,
    pub(super) policy: &'a Policy,
    pub(super) now: Timestamp,
}

impl Given<'_> {
    pub(super) fn is_open(&self) -> bool {
        self.snapshot.pull_request.lifecycle == Lifecycle::Open
    }

    /// Whether the run had ended before, with its pull request: later events do not change it.
    pub(super) fn had_ended(&self) -> bool {
        match self.snapshot.pull_request.lifecycle {
            Lifecycle::Open => false,
            Lifecycle::Closed => self.before.status == RunStatus::Stopped,
            Lifecycle::Merged { .. } => self.before.status == RunStatus::Completed,
        }
    }
}
