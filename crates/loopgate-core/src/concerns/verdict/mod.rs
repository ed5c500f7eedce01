//! The verdict on a head: which rules fail, whose failures they are, and the score.

pub mod blame;
pub mod evaluate;
pub mod feedback;
pub mod outside;

pub use self::{
    evaluate::{
        CheckFailure, DistanceToSuccess, Evaluation, EvaluationVerdict, RuleFailure, RuleOutcome,
        RuleView,
    },
    feedback::FeedbackFact,
};
use std::collections::BTreeSet;

use self::blame::CheckBlame;
use crate::{
    concerns::{checks::gather::HeadEvidence, review::ReviewStanding},
    evidence::{Analysis, Failure},
    failure::{Blame, FeedbackLine},
    ids::{CheckName, FailureId},
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
