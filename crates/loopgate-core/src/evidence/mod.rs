//! What the checks of a head commit brought: documents, results, failures, findings, tests and coverage.
//!
//! These are data with a written form. [`verdict`](crate::concerns::verdict) shows what they amount to, and
//! [`failure`](crate::failure) what a failure means.

mod check;
mod contradiction;
mod coverage;
mod document;
mod results;
mod slowest_tests;
mod test_outcomes;
mod trials;

pub use self::{
    check::*, contradiction::*, coverage::*, document::*, results::*, slowest_tests::*,
    test_outcomes::*, trials::*,
};
