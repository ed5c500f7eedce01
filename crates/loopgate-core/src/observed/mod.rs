//! What was observed of one pull request, and what only events state.
//!
//! A [`Snapshot`] is what GitHub stated at one moment; a [`Hint`] is what only an event states. Nothing here decides.

mod checks;
mod contents;
mod hint;
mod patch;
mod people;
mod queue;
mod readings;
mod snapshot;

pub use self::{
    checks::*, contents::*, hint::*, patch::*, people::*, queue::*, readings::*, snapshot::*,
};
