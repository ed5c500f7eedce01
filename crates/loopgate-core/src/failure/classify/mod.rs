//! Classifying: what makes two failures the same one, and what a report left out of a failure.

mod complete;
pub(super) mod fingerprint;
pub(super) mod normalise;

pub use complete::{complete, read_block, read_failure, says_why};
pub use fingerprint::{fingerprint, template};
