//! What was observed of one pull request, and what events alone tell.
//!
//! A [`Snapshot`] is all that GitHub said at one moment; a [`Hint`] is what only an event says. Nothing here decides.

mod checks;
mod contents;
mod hint;
mod patch;
mod people;
mod queue;
mod snapshot;

pub use self::{checks::*, contents::*, hint::*, patch::*, people::*, queue::*, snapshot::*};
