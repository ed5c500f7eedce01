//! Why a human is called, and what is done about it (decisions.md, J and E).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The causes of an escalation, the most urgent first: when several hold, the first of this order is *the* cause and
/// the others are listed with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    SecurityIssueFound,
    Tampering,
    Disputed,
    RegressionDetected,
    CircularFailure,
    SameError,
    TotalFailures,
    MaxAttemptsReached,
    Stagnation,
    TimeoutExceeded,
    ExternalDependencyDown,
    AmbiguousRequirement,
    BudgetExhausted,
    GateTimeout,
    CoverageThresholdUnmet,
    NoChange,
    UnknownErrorType,
}

impl Trigger {
    /// The name used in configuration, history and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SecurityIssueFound => "security_issue_found",
            Self::Tampering => "tampering",
            Self::Disputed => "disputed",
            Self::RegressionDetected => "regression_detected",
            Self::CircularFailure => "circular_failure",
            Self::SameError => "same_error",
            Self::TotalFailures => "total_failures",
            Self::MaxAttemptsReached => "max_attempts_reached",
            Self::Stagnation => "stagnation",
            Self::TimeoutExceeded => "timeout_exceeded",
            Self::ExternalDependencyDown => "external_dependency_down",
            Self::AmbiguousRequirement => "ambiguous_requirement",
            Self::BudgetExhausted => "budget_exhausted",
            Self::GateTimeout => "gate_timeout",
            Self::CoverageThresholdUnmet => "coverage_threshold_unmet",
            Self::NoChange => "no_change",
            Self::UnknownErrorType => "unknown_error_type",
        }
    }

    /// Whether a later passing push is not enough: a person must say `/loop resume` (decisions.md, E5).
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
