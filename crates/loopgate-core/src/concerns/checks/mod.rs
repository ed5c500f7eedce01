//! The checks of a head: how each stands, from evidence documents, check runs, statuses and jobs.

pub mod commands;
pub mod external;
pub mod filters;
pub mod gather;
pub mod lost_results;
pub mod matrix_jobs;
pub mod silence;

pub use self::{
    filters::{SkippedJob, StartFilter},
    matrix_jobs::{JobName, LossCause, LostJob},
    silence::Silence,
};
use crate::{concerns::reviewers::ReviewerStanding, evidence::CheckEvidence, ids::Login};

/// Where a check of the head commit stands.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStanding {
    /// Nothing is known of it yet.
    Missing,
    /// It has begun and not ended, or waits for a runner or its turn.
    Running {
        url: Option<String>,
        is_queued: bool,
    },
    /// Its workflow starts once somebody with write has pressed *Approve and run*.
    AwaitsApproval { url: Option<String> },
    /// It has ended, with this evidence.
    Done(#[serde(skip)] Box<CheckEvidence>),
    /// Nothing was heard of it in the time that it has, or something is known to keep it from starting.
    NoReport { silence: Silence },
    /// Its job was skipped, although it should have run: it waits until it runs, or a person releases it.
    AwaitsRelease { job: SkippedJob, cause: SkipCause },
    /// Its job was skipped by its own condition or the filter of its workflow: nothing is expected of it, and nothing
    /// passed.
    NotApplicable { job: SkippedJob },
    /// An AI reviewer that wrote nothing on the head within its time-out: nothing is expected of it, and nothing
    /// passed.
    Absent { minutes: u64 },
    /// Skipped by a person, with a reason.
    Skipped { by: Login, reason: String },
    /// An artifact was there and refused.
    Refused { reason: String },
    /// Jobs that execute it ended without evidence.
    Lost { jobs: Vec<LostJob> },
    /// GitHub could not start the workflow: no code was run. An invalid workflow file cannot start, so those that the
    /// change edits are named.
    NotStarted {
        url: Option<String>,
        edited_workflows: Vec<String>,
    },
}

impl From<ReviewerStanding> for CheckStanding {
    fn from(standing: ReviewerStanding) -> Self {
        match standing {
            ReviewerStanding::Awaited => Self::Running {
                url: None,
                is_queued: false,
            },
            ReviewerStanding::Reviewed(evidence) => Self::Done(evidence),
            ReviewerStanding::Unread => Self::Refused {
                reason: "not all review threads were read".to_owned(),
            },
            ReviewerStanding::Absent { minutes } => Self::Absent { minutes },
        }
    }
}

/// Why a skipped job is waited for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipCause {
    /// A job of the same workflow run failed or was cancelled.
    Needs { failed: String },
    /// Code, a manifest, CI or configuration changes, and no check of its kind ran on the head.
    NothingRan,
    /// `when_skipped: wait`.
    Configured,
}
