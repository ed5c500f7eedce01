//! Pull requests that ended, or are open, put through [`decide`](crate::deciding::decide) once more.
//!
//! A [`PastPullRequest`] is what GitHub and the state ref still show of one. `loopgate try` decides it as if Loopgate had been
//! there, [`WhatIf`] under two configurations.

mod past;
mod what_if;

pub use self::{
    past::{Judged, PastHead, PastPullRequest, RecordedAttempt, Waited},
    what_if::{Mean, Unknown, VerdictChange, WhatIf},
};

#[cfg(test)]
mod tests;
