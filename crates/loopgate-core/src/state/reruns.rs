//! What was asked for again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{CheckName, CheckRunId, Login, Sha, Timestamp, WorkflowRunId};

/// Something GitHub can be asked to run again, as it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeatable {
    /// A run of a workflow that brings evidence.
    WorkflowRun { id: WorkflowRunId, attempt: u32 },
    /// A job of GitHub Actions; each attempt of one has its own number, which is that of its check run.
    Job { id: CheckRunId },
    /// A check run of another App, and when it ended: the App may use the same one again.
    CheckRun { id: CheckRunId, ended: Option<Timestamp> },
}

/// What was asked for again on a head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rerun {
    pub what: Repeatable,
    pub head_sha: Sha,
    /// The checks it was asked for.
    pub checks: BTreeSet<CheckName>,
    pub by: AskedBy,
    pub at: Timestamp,
}

/// Who asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedBy {
    Person(Login),
    /// Nobody: it failed for reasons outside the code. The first repetition is number 1.
    Backoff {
        nth: u32,
    },
}
