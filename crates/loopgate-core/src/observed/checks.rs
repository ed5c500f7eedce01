//! Check runs, workflow runs and the evidence of a head.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    evidence::{ChangedCoverage, CheckEvidence, Evidence, Failure, Finding, LogExcerpt},
    ids::{CheckName, CheckRunId, Sha, Timestamp, WorkflowRunId},
};

/// Somebody else's check run or commit status on the head commit.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalCheck {
    /// None for commit statuses.
    pub id: Option<CheckRunId>,
    pub name: String,
    /// The slug of the App that owns it; none for statuses.
    pub app: Option<String>,
    pub progress: CheckProgress,
    pub started_at: Option<Timestamp>,
    pub url: Option<String>,
    /// Read only for finished, failing checks that the policy maps to a kind.
    pub annotations: Vec<Annotation>,
    /// The output's title, summary and text, as the check gives them.
    pub summary: Option<String>,
    /// What its job printed; read of failed jobs of GitHub Actions that the policy maps to a kind.
    pub output: Option<JobOutput>,
}

/// What the log of a failed job says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobOutput {
    pub failures: Vec<Failure>,
    /// Failures counted but not kept.
    pub failures_not_kept: u64,
    pub findings: Vec<Finding>,
    pub excerpt: LogExcerpt,
    /// The log is longer than what is read of one.
    pub is_cut: bool,
}

/// Where an external check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckProgress {
    Queued,
    InProgress,
    Completed { conclusion: Conclusion, at: Option<Timestamp> },
}

impl CheckProgress {
    /// How it ended, if it has.
    pub const fn conclusion(self) -> Option<Conclusion> {
        match self {
            Self::Completed { conclusion, .. } => Some(conclusion),
            Self::Queued | Self::InProgress => None,
        }
    }

    /// Whether it ended with a green mark.
    pub const fn succeeded(self) -> bool {
        matches!(self.conclusion(), Some(Conclusion::Success | Conclusion::Neutral | Conclusion::Skipped))
    }
}

words! {
    /// How a check run ended, in GitHub's words.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Conclusion {
        Success = "success",
        Failure = "failure",
        Neutral = "neutral",
        Cancelled = "cancelled",
        Skipped = "skipped",
        TimedOut = "timed_out",
        ActionRequired = "action_required",
        Stale = "stale",
        StartupFailure = "startup_failure",
    }
}

/// An annotation of a check run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub path: String,
    pub line: u32,
    pub level: AnnotationLevel,
    pub title: Option<String>,
    pub message: String,
}

words! {
    /// How much an annotation weighs, in GitHub's words.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum AnnotationLevel {
        Notice = "notice",
        Warning = "warning",
        Failure = "failure",
    }
}

/// A check run that uses our name and is not ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForgedCheck {
    pub name: String,
    pub app: Option<String>,
    pub url: Option<String>,
}

/// An evidence artifact found for the head commit.
#[derive(Clone, Debug, PartialEq)]
pub enum ReceivedEvidence {
    Accepted(Box<Evidence>),
    /// Refused, with the reason that is shown: wrong head, unknown workflow, too large, not the schema.
    Refused {
        artifact: String,
        workflow: Option<String>,
        /// The run that uploaded it, where it is about one.
        run: Option<WorkflowRunId>,
        reason: String,
    },
}

/// A run on the head commit of a workflow that may bring evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowRun {
    pub id: WorkflowRunId,
    /// Path of the workflow file, without `@ref`.
    pub path: String,
    pub attempt: u32,
    pub progress: CheckProgress,
    pub url: Option<String>,
    pub started_at: Option<Timestamp>,
    /// Executions of its jobs in all attempts; read only where the evidence leaves open which of them spoke.
    pub jobs: Vec<WorkflowJob>,
}

impl WorkflowRun {
    /// Whether none of these is a newer run of its workflow.
    pub fn is_newest_of(&self, runs: &[Self]) -> bool {
        !runs.iter().any(|other| other.path == self.path && other.id > self.id)
    }
}

/// One execution of a job. A job that a later attempt did not repeat may be listed in it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowJob {
    pub check_run: CheckRunId,
    /// As people see it: `test (ubuntu-latest)`.
    pub name: String,
    pub attempt: u32,
    pub progress: CheckProgress,
    /// It ended while a step of it still ran: its runner stopped reporting.
    pub cut_off: bool,
    pub started_at: Option<Timestamp>,
    pub url: Option<String>,
}

/// What is known of the base.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseEvidence {
    pub sha: Sha,
    pub checks: BTreeMap<CheckName, CheckEvidence>,
    pub coverage: Option<ChangedCoverage>,
}
