//! What the checks of a head commit brought: documents, results, failures, findings, tests and coverage.
//!
//! These are data with a written form. [`verdict`](crate::verdict) says what they amount to, and
//! [`failure`](crate::failure) what a failure means.

mod analysis;
mod contradiction;
mod coverage;
mod document;
mod excerpt;
mod repeats;
mod results;
mod test_outcomes;

pub use self::{
    analysis::*, contradiction::*, coverage::*, document::*, excerpt::*, repeats::*, results::*, test_outcomes::*,
};
