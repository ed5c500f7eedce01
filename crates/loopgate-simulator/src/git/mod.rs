//! The git underneath: real objects with real ids, in memory.
//!
//! Object ids are the SHA-1 of git's own encodings, so that a tree or commit made through the API has the id that git
//! would give it. Repositories of one fork network share one [`Objects`], as on GitHub.

mod diff;
mod history;
mod merge;
mod object;
mod patch;
mod store;
mod unified;

pub use diff::FileChange;
pub use history::Comparison;
pub use merge::Merge;
pub use object::{Commit, Entry, Kind, Mode, Object, Signature};
pub use store::{Files, Objects};
