//! The sections of the file: for each, how it is written (types that are also its schema) and what it means (its part
//! of the [`Policy`](loopgate_core::policy::Policy)). Doc comments of the written types are what editors show.

pub(super) mod coverage;
pub(super) mod escalation;
pub(super) mod evaluate;
pub(super) mod file;
pub(super) mod fixer;
pub(super) mod gates;
pub(super) mod labels;
mod reviewers;
pub(super) mod trigger;
pub(super) mod verify;
