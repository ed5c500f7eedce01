//! Reading: the texts of a failure made small and plain, and what stands in them: headline, frames, both sides, paths.

mod asserted;
mod cause;
mod changes;
mod comparisons;
mod difference;
mod error_type;
mod expected;
mod labelled;
mod message;
pub(super) mod paths;
mod reading;
mod stack;
pub(super) mod text;
mod value;

pub use changes::Changes;
pub use expected::{asks_equality, sides};
pub use paths::{FrameOrigin, is_foreign};
pub use stack::Frame;
pub use text::{Excerpt, is_outcome, names_failure, without_stamp};

pub(super) use comparisons::Sides;
pub(super) use message::is_source_excerpt;
pub(super) use reading::Reading;
pub(super) use stack::{describes_place, is_trace_line};
