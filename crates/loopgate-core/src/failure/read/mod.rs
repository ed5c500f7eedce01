//! Reading: the texts of a failure made small and plain, and what stands in them: headline, frames, both sides, paths.

pub(super) mod changes;
pub(super) mod error_type;
pub(super) mod expected;
pub(super) mod message;
pub(super) mod paths;
pub(super) mod patterns;
pub(super) mod reading;
pub(super) mod stack;
pub(super) mod text;

pub use changes::{ChangedFile, Changes, Origin};
pub use stack::{Frame, frames};
pub use text::Excerpt;
