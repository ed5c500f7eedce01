//! What the evidence of a head amounts to: how each check stands, which rules fail, whose failures they are, who turns
//! the head down, and the score.

pub mod blame;
pub mod coverage;
pub mod evaluate;
pub mod external;
pub mod feedback;
pub mod filters;
pub mod gather;
pub mod lost_results;
pub mod matrix_jobs;
mod queue;
pub mod review;
pub mod reviewers;
pub mod silence;
pub mod tamper;

pub use self::{
    evaluate::{
        CheckFailure, DistanceToSuccess, Evaluation, EvaluationVerdict, RuleFailure, RuleOutcome,
        RuleView,
    },
    feedback::FeedbackFact,
    filters::{SkippedJob, StartFilter},
    matrix_jobs::{JobName, LossCause, LostJob},
    queue::LeftQueue,
    silence::Silence,
};
use std::collections::BTreeSet;

use self::{blame::CheckBlame, gather::HeadEvidence, review::ReviewStanding};
use crate::{
    evidence::{Analysis, CheckEvidence, Failure},
    failure::{Blame, FeedbackLine},
    ids::{CheckName, FailureId, Login},
    memory::MemoryMatch,
    policy::Rule,
    state::Rejection,
};

/// The head, verified as far as its evidence goes.
pub struct Verification {
    pub evidence: HeadEvidence,
    /// Names of tests that failed and passed on this very commit.
    pub flaky: BTreeSet<String>,
    pub blames: Vec<CheckBlame>,
    pub rules: Vec<Rule>,
    pub evaluation: Evaluation,
    pub review: ReviewStanding,
    /// Who turns the head down, and did not cost an earlier attempt with the same words.
    pub rejections: Vec<Rejection>,
}

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

/// One failure with its analysis.
#[derive(Clone, Debug, PartialEq)]
pub struct FailureView {
    pub check: CheckName,
    pub failure: Failure,
    pub blame: Blame,
    /// 0–1; 0.5 where nothing is known of the base.
    pub blame_confidence: f64,
    /// Its feedback, in the same words wherever it is shown.
    pub feedback: FeedbackLine,
    /// Its cause and action only repeat the two sides of its assertion.
    pub repeats_sides: bool,
    /// The id of the first failure with its cause: its own, where it is the first.
    pub cause: FailureId,
    /// Its test passed before.
    pub regressed: bool,
    /// Its cause as it was found; `feedback` is what is shown of it.
    pub analysis: Analysis,
    /// What the debug memory says of its error.
    pub memory: Vec<MemoryMatch>,
}
