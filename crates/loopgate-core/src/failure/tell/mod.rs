//! Telling: one failure as something to act on, and the command that shows it again.

mod feedback;
mod feedback_line;
mod inspect;
mod reproduce;
mod summary;

pub use feedback::{FeedbackItem, Place, Priority};
pub use feedback_line::FeedbackLine;
pub use inspect::{FailureInspection, inspect_failure};
pub use reproduce::{CheckContext, alone, quoted_word, reproduce, rerun};
pub use summary::cut_at_sentence;
