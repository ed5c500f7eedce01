//! What the checks of a head commit brought: documents, results, failures, findings, tests and coverage.
//!
//! These are data with a written form. [`verdict`](crate::verdict) says what they amount to, and
//! [`failure`](crate::failure) what a failure means.

mod analysis;
mod contradiction;
mod document;
mod excerpt;
pub mod matrix_jobs;
mod test_outcomes;

pub use self::{
    analysis::{Analysis, Confidence, RootCauseCategory},
    contradiction::{Contradiction, check_consistent, consistent},
    document::{
        BaseTestRun, ChangedCoverage, CheckEvidence, CheckKind, CheckResults, EVIDENCE_SCHEMA, Environment, ErrorType,
        Evidence, EvidenceExtent, Failure, FileCoverage, Finding, FindingSeverity, Leg, LineTally, Outcome, ProofEnd,
        ProofRun, ProofVerdict, RegressionTrial, RepeatedTest, RepetitionGap, ReportFormat, ReportNote, ReportQuality,
        RetryClass, SourceLocation, TestFramework, WorkflowOrigin, framework_of, tree_hash,
    },
    excerpt::{LogExcerpt, MOST_EXCERPTS},
    test_outcomes::{Against, Compare, Comparison, OutcomesExtent, TestId, TestOutcome, TestOutcomes, TestState},
};
