//! A run that follows on one whose record is gone.

use serde::{Deserialize, Serialize};

/// What is known of a record that was there before this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LostRecord {
    /// Attempts made on other heads than the present one, as far as anything tells.
    pub attempts: u32,
    pub trace: Trace,
}

/// What shows that a record was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trace {
    /// Our status comment.
    StatusComment,
    /// A comment of ours that notified somebody.
    Post,
    /// A check run of ours that ended on the head.
    CheckRun,
}
