//! One failure as something to act on, and the command that shows it again.

mod inspect;
mod line;
mod reproduce;
mod summary;

pub use inspect::inspect_failure;
pub use line::{FeedbackLine, Priority};
pub use reproduce::{
    CheckContext, alone, ends_as_its_program, ends_as_its_runner, prints_its_sum, prints_sum_of,
    reproduce, rerun, to_prove, tool_directory,
};
pub use summary::cut_at_sentence;
