use schemars::JsonSchema;
use serde::Serialize;

use crate::{concerns::checks::CheckStanding, deciding::CheckView, evidence::Outcome};

words! {
    /// How a check stands, in one word for every surface: by what it waits for, or how it ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    pub enum CheckState {
        Passed = "check.passed",
        Failed = "check.failed",
        TimedOut = "check.timed-out",
        /// A scanner that found nothing grave.
        MinorFindings = "check.minor-findings",
        NoTests = "check.no-tests",
        ResultsLost = "check.results-lost",
        Cancelled = "check.cancelled",
        /// A check that it needs failed.
        NotRun = "check.not-run",
        Missing = "check.missing",
        Running = "check.running",
        /// It waits for a runner or its turn.
        Queued = "check.queued",
        AwaitsApproval = "check.awaits-approval",
        NeverReported = "check.never-reported",
        /// By the author's own doing.
        CannotStart = "check.cannot-start",
        AwaitsRelease = "check.awaits-release",
        /// By its own condition.
        NotApplicable = "check.not-applicable",
        /// By a filter of its workflow.
        Filtered = "check.filtered",
        ReviewerAbsent = "check.reviewer-absent",
        Skipped = "check.skipped",
        EvidenceRefused = "check.evidence-refused",
        Lost = "check.lost",
        NotStarted = "check.not-started",
    }
}

impl CheckState {
    pub fn of(check: &CheckView) -> Self {
        match &check.standing {
            CheckStanding::Done(evidence) => match evidence.outcome {
                // A scanner that ended with 0 fails by its findings.
                Outcome::Passed if check.ended_badly() => Self::Failed,
                Outcome::Passed => Self::Passed,
                Outcome::Failed if !check.ended_badly() => Self::MinorFindings,
                Outcome::Failed => Self::Failed,
                Outcome::TimedOut => Self::TimedOut,
                Outcome::NoTestsExecuted => Self::NoTests,
                Outcome::ResultsLost => Self::ResultsLost,
                Outcome::Cancelled => Self::Cancelled,
                Outcome::Skipped => Self::NotRun,
            },
            CheckStanding::Missing => Self::Missing,
            CheckStanding::Running {
                is_queued: true, ..
            } => Self::Queued,
            CheckStanding::Running { .. } => Self::Running,
            CheckStanding::AwaitsApproval { .. } => Self::AwaitsApproval,
            CheckStanding::NoReport { silence } if silence.is_authors() => Self::CannotStart,
            CheckStanding::NoReport { .. } => Self::NeverReported,
            CheckStanding::AwaitsRelease { .. } => Self::AwaitsRelease,
            CheckStanding::NotApplicable { job } if job.filter.is_some() => Self::Filtered,
            CheckStanding::NotApplicable { .. } => Self::NotApplicable,
            CheckStanding::Absent { .. } => Self::ReviewerAbsent,
            CheckStanding::Skipped { .. } => Self::Skipped,
            CheckStanding::Refused { .. } => Self::EvidenceRefused,
            CheckStanding::Lost { .. } => Self::Lost,
            CheckStanding::NotStarted { .. } => Self::NotStarted,
        }
    }

    /// Whether it has ended and is not good: one of which nothing is heard has not failed.
    pub const fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Failed
                | Self::TimedOut
                | Self::NoTests
                | Self::ResultsLost
                | Self::EvidenceRefused
                | Self::Lost
                | Self::NotStarted
        )
    }

    /// Whether nothing is expected of it, and nothing passed.
    pub const fn is_without_verdict(self) -> bool {
        matches!(
            self,
            Self::NotRun | Self::NotApplicable | Self::Filtered | Self::ReviewerAbsent
        )
    }
}

/// The kind of an [`Item`](super::Item): what it is about, and how that stands. It is written as one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum ItemId {
    #[serde(rename = "configuration.read")]
    ConfigurationRead,
    /// The newest older file governs.
    #[serde(rename = "configuration.last-good")]
    ConfigurationLastGood,
    /// No file can be read: the presets govern.
    #[serde(rename = "configuration.unreadable")]
    ConfigurationUnreadable,
    #[serde(rename = "score.reached")]
    ScoreReached,
    #[serde(rename = "score.short")]
    ScoreShort,
    #[serde(rename = "score.unknown")]
    ScoreUnknown,
    #[serde(rename = "rule.met")]
    RuleMet,
    #[serde(rename = "rule.unmet")]
    RuleUnmet,
    #[serde(rename = "rule.unknown")]
    RuleUnknown,
    #[serde(rename = "gate.not-needed")]
    GateNotNeeded,
    #[serde(rename = "gate.approved")]
    GateApproved,
    #[serde(rename = "gate.waits")]
    GateWaits,
    #[serde(rename = "gate.rejected")]
    GateRejected,
    #[serde(rename = "capability.open")]
    CapabilityOpen,
    #[serde(rename = "capability.done")]
    CapabilityDone,
    #[serde(rename = "draft.ready")]
    DraftReady,
    #[serde(rename = "draft.not-ready")]
    DraftNotReady,
    #[serde(rename = "review.not-required")]
    ReviewNotRequired,
    #[serde(rename = "review.approved")]
    ReviewApproved,
    #[serde(rename = "review.missing")]
    ReviewMissing,
    #[serde(rename = "review.changes-requested")]
    ReviewChangesRequested,
    #[serde(rename = "stack.beneath")]
    StackBeneath,
    #[serde(rename = "merge.open")]
    MergeOpen,
    #[serde(rename = "merge.done")]
    MergeDone,
    #[serde(rename = "call.open")]
    CallOpen,
    #[serde(rename = "call.flagged")]
    CallFlagged,
    #[serde(rename = "tampering.found")]
    TamperingFound,
    /// It decides nothing and must be known.
    #[serde(rename = "note")]
    Note,
    #[serde(untagged)]
    Check(CheckState),
}
