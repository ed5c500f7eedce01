//! Where a loop stands: whether it may go on, needs a person, or is over.

use crate::state::{LoopState, RunStatus};

/// Whether a loop may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The current step is to be executed, for the first time or again.
    Going,
    /// A person was called: `resume` goes on.
    Blocked,
    /// Over: only a new loop goes on.
    Ended,
}

/// Where this loop stands.
pub const fn standing(state: &LoopState) -> Standing {
    match state.status {
        RunStatus::InProgress => Standing::Going,
        RunStatus::Escalated => Standing::Blocked,
        RunStatus::Passed | RunStatus::Completed | RunStatus::Failed | RunStatus::Aborted | RunStatus::Stopped => {
            Standing::Ended
        }
    }
}
