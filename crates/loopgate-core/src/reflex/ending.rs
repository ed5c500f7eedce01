//! Where a loop stands: whether it may go on, needs a person, or is over.

use crate::state::{LoopState, RunStatus};

/// Whether a loop may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopStanding {
    /// The current step is to be executed, for the first time or again.
    Going,
    /// A person was called: `resume` goes on.
    Blocked,
    /// Over: only a new loop goes on.
    Ended,
}

/// Where this loop stands.
pub const fn standing(state: &LoopState) -> LoopStanding {
    match state.status {
        RunStatus::InProgress => LoopStanding::Going,
        RunStatus::Escalated => LoopStanding::Blocked,
        RunStatus::Passed | RunStatus::Completed | RunStatus::Failed | RunStatus::Aborted | RunStatus::Stopped => {
            LoopStanding::Ended
        }
    }
}
