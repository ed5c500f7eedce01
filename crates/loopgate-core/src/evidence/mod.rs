//! What the checks of a head commit brought: documents, results, failures, findings, tests and coverage.
//!
//! These are data with a written form. [`verdict`](crate::concerns::verdict) shows what they amount to, and
//! [`failure`](crate::failure) what a failure means.

mod contradiction;
mod document;
mod results;
mod slowest_tests;
mod test_outcomes;

pub use self::{contradiction::*, document::*, results::*, slowest_tests::*, test_outcomes::*};
