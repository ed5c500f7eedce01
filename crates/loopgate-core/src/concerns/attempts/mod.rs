//! The attempts of a run: what one attempt is, how it compares with the one before, what the run of them amounts to,
//! and what is run again.

pub mod attempt;
pub mod commands;
pub mod comparison;
pub mod failure_log;
pub mod rerun;
pub mod retry;

pub use self::{rerun::NextRerun, retry::Judgement};
