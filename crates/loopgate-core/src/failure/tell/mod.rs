//! Telling: one failure as something to act on, and the command that shows it again.

mod feedback;
mod inspect;
mod reproduce;
mod summary;

pub use feedback::{FeedbackLine, Priority};
pub use inspect::inspect_failure;
pub use reproduce::{CheckContext, alone, reproduce, rerun};
pub use summary::cut_at_sentence;
