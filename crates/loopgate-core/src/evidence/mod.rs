//! What the checks of a head commit brought: documents, results, failures, findings, tests and coverage.
//!
//! These are data with a written form. [`verdict`](crate::verdict) says what they amount to, and
//! [`failure`](crate::failure) what a failure means.

mod analysis;
mod contradiction;
mod coverage;
mod document;
mod excerpt;
pub mod matrix_jobs;
mod repeats;
mod results;
mod test_outcomes;

pub(crate) use self::test_outcomes::words;
pub use self::{
    analysis::{Analysis, Confidence, RootCauseCategory},
    contradiction::{Contradiction, check_consistent, consistent},
    coverage::{ChangedCoverage, FileCoverage, LineTally},
    document::{
        CheckEvidence, CheckKind, EVIDENCE_SCHEMA, Environment, Evidence, EvidenceExtent, Leg, Outcome, RetryClass,
        TestFramework, WorkflowOrigin, framework_of, tree_hash,
    },
    excerpt::{LogExcerpt, MOST_EXCERPTS},
    repeats::{BaseTestRun, ProofEnd, ProofRun, ProofVerdict, RegressionTrial, RepeatedTest, RepetitionGap},
    results::{
        CheckResults, ErrorType, Failure, Finding, FindingSeverity, ReportFormat, ReportNote, ReportQuality,
        SourceLocation,
    },
    test_outcomes::{
        Against, Compare, Comparison, OutcomesExtent, TestId, TestOutcome, TestOutcomes, TestState, is_declared,
    },
};
