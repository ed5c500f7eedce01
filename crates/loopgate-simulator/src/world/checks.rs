//! Check runs, check suites and commit statuses.

use super::SuiteId;
use loopgate_core::{AppId, CheckRunId, Sha, Timestamp, UserId};

/// All check runs of one App on one commit.
#[derive(Clone, Debug)]
pub struct CheckSuite {
    pub id: SuiteId,
    pub app: AppId,
    pub sha: Sha,
    pub branch: Option<String>,
    /// Made when GitHub saw the push: a time that no author of commits can choose.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct CheckRun {
    pub id: CheckRunId,
    pub suite: SuiteId,
    pub app: AppId,
    pub sha: Sha,
    pub name: String,
    pub progress: Progress,
    pub started_at: Timestamp,
    pub external_id: String,
    pub details_url: Option<String>,
    pub output: Output,
    pub actions: Vec<Button>,
}

/// How far a check run or workflow run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Queued,
    InProgress,
    Completed {
        conclusion: Conclusion,
        at: Timestamp,
    },
}

impl Progress {
    pub const fn status(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed { .. } => "completed",
        }
    }

    pub const fn conclusion(self) -> Option<Conclusion> {
        match self {
            Self::Completed { conclusion, .. } => Some(conclusion),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    Success,
    Failure,
    Neutral,
    Cancelled,
    Skipped,
    TimedOut,
    ActionRequired,
    /// Only GitHub itself concludes so.
    Stale,
}

impl Conclusion {
    pub const ALL: [Self; 8] = [
        Self::Success,
        Self::Failure,
        Self::Neutral,
        Self::Cancelled,
        Self::Skipped,
        Self::TimedOut,
        Self::ActionRequired,
        Self::Stale,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::TimedOut => "timed_out",
            Self::ActionRequired => "action_required",
            Self::Stale => "stale",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|conclusion| conclusion.as_str() == text)
    }

    /// Whether branch protection takes it for a pass.
    pub const fn passes(self) -> bool {
        matches!(self, Self::Success | Self::Neutral | Self::Skipped)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub path: String,
    pub start_line: u64,
    pub end_line: u64,
    pub start_column: Option<u64>,
    pub end_column: Option<u64>,
    pub level: AnnotationLevel,
    pub message: String,
    pub title: Option<String>,
    pub raw_details: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnotationLevel {
    Notice,
    Warning,
    Failure,
}

impl AnnotationLevel {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Notice, Self::Warning, Self::Failure]
            .into_iter()
            .find(|level| level.as_str() == text)
    }
}

/// A button on a check run's page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    pub label: String,
    pub description: String,
    pub identifier: String,
}

/// A commit status, the older sibling of the check run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitStatus {
    pub id: u64,
    pub sha: Sha,
    pub context: String,
    pub state: StatusState,
    pub description: Option<String>,
    pub target_url: Option<String>,
    pub creator: UserId,
    pub created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusState {
    Error,
    Failure,
    Pending,
    Success,
}

impl StatusState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Failure => "failure",
            Self::Pending => "pending",
            Self::Success => "success",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Error, Self::Failure, Self::Pending, Self::Success]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}
