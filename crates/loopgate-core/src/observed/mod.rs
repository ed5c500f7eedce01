//! What was observed of one pull request, and what events alone tell.
//!
//! A [`Snapshot`] is all that GitHub said at one moment; a [`Hint`] is what only an event says. Nothing here decides.

mod authority;
mod changed_files;
mod checks;
mod contents;
mod conversation;
mod hint;
mod makers;
mod own_check;
mod patch;
mod pull_request;
mod queue;
mod snapshot;

pub use self::{
    authority::*, changed_files::*, checks::*, contents::*, conversation::*, hint::*, makers::*, own_check::*,
    patch::*, pull_request::*, queue::*, snapshot::*,
};
