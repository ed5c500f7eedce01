//! What the evidence of a head amounts to: how each check stands, which rules fail, whose failures they are, who turns
//! the head down, and the score.

pub mod blame;
pub mod coverage;
pub mod evaluate;
pub mod external;
pub mod feedback;
pub mod gather;
pub mod legs;
pub mod lost_results;
mod queue;
pub mod review;
pub mod reviewers;
mod standing;
pub mod tamper;

pub use self::{
    evaluate::{CheckFailure, DistanceToSuccess, Evaluation, EvaluationVerdict, RuleFailure, RuleOutcome, RuleView},
    feedback::FeedbackFact,
    legs::{LegEnd, LegName, LostLeg},
    queue::LeftQueue,
    standing::{CheckStanding, FailureView, SkipCause, Verification},
};
