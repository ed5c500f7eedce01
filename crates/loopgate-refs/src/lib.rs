//! Loop state in hidden git refs: load, recover, save.
//!
//! A run lives in one ref, `refs/loopgate/pr/12` or `refs/loopgate/task/fix-login`, whose commits are its audit trail
//! and whose compare-and-swap is the only lock there is: any number of servers, workflow runs and terminals may work on
//! one run. [`StateStore`] knows the documents; [`GitObjects`] is what it needs of a git database, implemented over
//! GitHub's API by the program and over a local repository by [`LocalRepository`]. Where no ref may be
//! written, [`PackedObjects`] keeps the same documents in a [`Slot`]: a place that holds one text. [`RunLines`] has a
//! line of each run that ended, and [`archived`] finds what was folded long after.
//!
//! Races: two writers that load the same tip both write a commit on it, and one of them moves the ref; the other gets
//! [`RefsError::RefMoved`], loads again and decides again. A writer that dies between commit and ref leaves an
//! unreachable commit, which git forgets. A reader that sees an old tip (reads may lag a write) decides on an old state
//! and is refused when it saves.

#![cfg_attr(
    not(test),
    warn(
        clippy::print_stderr,
        clippy::print_stdout,
        clippy::unwrap_used,
        clippy::use_debug
    )
)]

mod archive;
mod attempt;
mod documents;
mod local;
mod memory;
mod name;
mod objects;
mod packed;
mod recover;
mod run_lines;
mod seal;
mod store;
mod subject;

#[cfg(test)]
pub(crate) mod fixtures;

pub use archive::{ARCHIVE, all_runs, archive_entry, archived, each_run};
pub use attempt::attempt_document;
pub use documents::{HISTORY_FILE, StateStore};
pub use local::LocalRepository;
pub use memory::{MemoryNotes, MemoryStore};
pub use name::RefName;
pub use objects::{GitObjects, ListObjects, NewCommit, RefsError, Result, Retry, TreeFile};
pub use packed::{PackedObjects, Slot, ended_before, packed_state};
pub use run_lines::RunLines;
pub use seal::{Seal, SealOf};
pub use store::{LoadedRun, Save};
pub use subject::{loop_subject, subject};
