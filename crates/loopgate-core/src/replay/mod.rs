//! Recorded runs under another configuration (decisions.md, R): each attempt is judged again by the same functions that
//! judged it, from what it kept.
//!
//! What only people and time bring is not replayed: approvals, reviews, services that were down, gates that waited.

mod compare;
mod run;

pub use self::{
    compare::{Changes, DroppedCheck, Mean, VerdictChange, WhatIf, what_if},
    run::{RecordedAttempt, RecordedRun, Replayed, Unreplayable, replay},
};

#[cfg(test)]
mod tests;
