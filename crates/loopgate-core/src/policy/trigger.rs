//! Why a human is called, and what is done about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The causes of an escalation, the most urgent first: when several hold, the first of this order is *the* cause and
    /// the others are listed with it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
    pub enum Trigger {
        SecurityIssueFound = "security_issue_found",
        Tampering = "tampering",
        Disputed = "disputed",
        RegressionDetected = "regression_detected",
        CircularFailure = "circular_failure",
        SameError = "same_error",
        TotalFailures = "total_failures",
        MaxAttemptsReached = "max_attempts_reached",
        Stagnation = "stagnation",
        TimeoutExceeded = "timeout_exceeded",
        ExternalDependencyDown = "external_dependency_down",
        AmbiguousRequirement = "ambiguous_requirement",
        BudgetExhausted = "budget_exhausted",
        GateTimeout = "gate_timeout",
        CoverageThresholdUnmet = "coverage_threshold_unmet",
        NoChange = "no_change",
        UnknownErrorType = "unknown_error_type",
    }
}

impl Trigger {
    /// Whether a later passing push is not enough: a person must say `/loop resume`.
    pub const fn needs_a_decision(self) -> bool {
        matches!(self, Self::SecurityIssueFound | Self::Tampering | Self::Disputed | Self::AmbiguousRequirement)
    }

    pub const fn default_action(self) -> EscalationAction {
        match self {
            // A report helps a check that says nothing, and a person does not. So a person is called at the limit, not
            // at the second attempt.
            Self::CoverageThresholdUnmet | Self::NoChange | Self::UnknownErrorType => EscalationAction::FlagAndContinue,
            _ => EscalationAction::HumanReview,
        }
    }
}

/// What an escalation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EscalationAction {
    HumanReview,
    /// A second, stronger fixer once, then a human.
    SeniorAgent,
    /// The run ends as `aborted`.
    AbortWithReport,
    /// Said in the status comment; the loop goes on.
    FlagAndContinue,
}
