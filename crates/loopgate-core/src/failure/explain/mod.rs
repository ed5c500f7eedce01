//! Explaining: what is wrong, whose failure it is, whether trying again can help, and what would mend it.

mod analysis;
mod blame;
mod conclusion;
mod diagnosis;
mod error_kind;
mod examined;
mod known;

pub use analysis::analyse_all;
pub use blame::{Blame, BlameVerdict, Circumstances, ExaminedCheck, retry_class};
pub use examined::ExaminedFailure;

pub(super) use diagnosis::{Diagnosis, Touch};

/// Every sentence of the data that people read, for the test that no vague word is among them.
#[cfg(test)]
pub(super) fn sentences() -> impl Iterator<Item = &'static str> {
    known::sentences().filter(|sentence| !sentence.is_empty())
}
