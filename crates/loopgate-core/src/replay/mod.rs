//! Recorded runs under another configuration: each attempt is judged again by the same functions that
//! judged it, from what it kept.
//!
//! Pull requests of before Loopgate was there are judged from what GitHub still shows of them ([`PastPullRequest`]).
//!
//! What only people and time bring is not replayed of recorded runs: approvals, reviews, services that were down, gates that waited.

mod compare;
mod past;
mod run;

pub use self::{
    compare::{DroppedCheck, Mean, VerdictChange, WhatIf, what_if},
    past::{Judged, PastHead, PastPullRequest, Waited},
    run::{RecordedAttempt, RecordedRun, Replayed, Unreplayable, replay},
};

#[cfg(test)]
mod tests;
