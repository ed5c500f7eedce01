//! Explaining: what is wrong, whose failure it is, whether trying again can help, and what would mend it.

mod analysis;
mod blame;
mod diagnosis;
mod examined;
mod known;

pub use analysis::analyse_all;
pub use blame::{Blame, BlameVerdict, Circumstances, ExaminedCheck, fails_as_on_base, retry_class};
pub use examined::ExaminedFailure;

pub use diagnosis::Touch;

#[cfg(test)]
pub(super) use known::tests::sentences;
