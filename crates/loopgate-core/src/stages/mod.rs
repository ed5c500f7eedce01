//! The stages of a run: which one the evidence and the gates let it reach, and what holds it there.

pub mod capability;
pub mod walk;
pub use self::walk::Blocker;
