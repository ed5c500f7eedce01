//! Examines a failure: which failures are the same error, where it comes from, and what would fix it.
//!
//! A failure comes in as the text of some tool. [`complete`] fills in what its report left out. [`fingerprint()`]
//! identifies the same error in other failures. [`ExaminedCheck`] and [`retry_class`] decide whose it is and whether
//! another try can help. [`analyse_all`] finds the root cause, and [`FeedbackLine`] states what to do about it. A
//! caller that needs more than one of these examines the failure once ([`ExaminedFailure`]). All of it is pure, bounded
//! whatever the text, and rests on tables: one row per form of stack frame, headline, comparison or known message.

mod classify;
mod explain;
mod feedback;
mod read;

pub use classify::{complete, fingerprint, read_block, read_failure, says_why, template};
pub use explain::{
    Blame, BlameVerdict, Circumstances, ExaminedCheck, ExaminedFailure, Touch, analyse_all,
    fails_as_on_base, retry_class,
};
pub use feedback::{
    CheckContext, FeedbackLine, Priority, alone, cut_at_sentence, ends_as_its_program,
    ends_as_its_runner, inspect_failure, prints_its_sum, prints_sum_of, reproduce, rerun, to_prove,
    tool_directory,
};
pub use read::{
    Changes, Excerpt, Frame, FrameOrigin, asks_equality, is_foreign, is_outcome, names_failure,
    sides, without_stamp,
};
