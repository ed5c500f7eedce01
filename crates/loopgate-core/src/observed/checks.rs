//! Check runs, workflow runs and the evidence of a head; the two check runs that are ours, and the branches they speak
//! for.
//!
//! Check runs belong to a commit, and GitHub merges every pull request with that head on them. So the names of ours say
//! which base the commit was judged against: the plain names are the default branch's alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{
    evidence::{ChangedCoverage, CheckEvidence, Evidence, Failure, Finding, LogExcerpt},
    ids::{CheckName, CheckRunId, PrNumber, Sha, Timestamp, WorkflowRunId},
    text,
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

/// The App in whose name GitHub Actions reports its jobs.
pub const ACTIONS: &str = "github-actions";

impl ExternalCheck {
    /// Whether it is a job of GitHub Actions.
    pub fn is_job(&self) -> bool {
        self.app.as_deref() == Some(ACTIONS)
    }

    /// The workflow run in the address of a job, `…/actions/runs/7/job/9`.
    pub fn workflow_run(&self) -> Option<WorkflowRunId> {
        let (_, rest) = self.url.as_deref()?.split_once("/actions/runs/")?;
        let id = rest.split('/').next()?.parse().ok()?;
        Some(WorkflowRunId::new(id))
    }
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
    Completed {
        conclusion: Conclusion,
        at: Option<Timestamp>,
    },
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
        matches!(
            self.conclusion(),
            Some(Conclusion::Success | Conclusion::Neutral | Conclusion::Skipped)
        )
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
    /// It is about the head, and comes from where evidence may come.
    Accepted(Box<Evidence>),
    /// Refused, with the reason that is shown: wrong head, unknown workflow, too large, not the schema. `run` uploaded
    /// it, where it is about one.
    Refused {
        artifact: String,
        workflow: Option<String>,
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
    /// Executions of its jobs in all attempts; read only where the evidence leaves open which of them reported.
    pub jobs: Vec<WorkflowJob>,
}

impl WorkflowRun {
    /// Whether none of these is a newer run of its workflow.
    pub fn is_newest_of(&self, runs: &[Self]) -> bool {
        !runs
            .iter()
            .any(|other| other.path == self.path && other.id > self.id)
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

words! {
    /// One of our check runs, by its plain name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum OwnCheck {
        Verify = "loopgate / verify",
        Gates = "loopgate / gates",
    }
}

/// Characters of a name at most.
const LONGEST_NAME: usize = 100;

impl OwnCheck {
    /// The name people see, and branch rules ask for. A name that would be too long ends in a digest of the whole.
    pub fn name(self, scope: &CheckScope) -> String {
        let (CheckScope::Branch(base) | CheckScope::Pattern(base)) = scope else {
            return self.as_str().to_owned();
        };
        let name = format!("{} ({base})", self.as_str());
        if name.chars().count() <= LONGEST_NAME {
            return name;
        }
        let digest = hex::encode(&Sha256::digest(base.as_bytes())[..8]);
        let room = LONGEST_NAME - self.as_str().len() - digest.len() - " (… )".chars().count();
        let start = text::start(base, room);
        format!("{} ({start}… {digest})", self.as_str())
    }

    /// The check that a name stands for, whatever the base.
    pub fn named(name: &str) -> Option<Self> {
        // A name that differs in case or blanks only would be taken for ours by a reader.
        let folded = |name: &str| name.split_whitespace().collect::<String>().to_lowercase();
        let name = folded(name);
        Self::ALL.into_iter().find(|check| {
            let rest = name.strip_prefix(&folded(check.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('(') && rest.ends_with(')'))
        })
    }
}

/// The branches that check runs speak for.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckScope {
    /// The default branch: the names are plain.
    #[default]
    DefaultBranch,
    /// One other branch.
    Branch(String),
    /// The branches that match a pattern of `branches:`, none of which people can make or push to by themselves.
    Pattern(String),
}

/// Where a pull request stands in its stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Counted from 1, the bottom; 0 where it could not be read.
    pub position: usize,
    pub size: usize,
    /// The open layers beneath, the lowest first. None where they could not be read: then the files are the whole
    /// difference from the stack's base, and no other layer is asked.
    pub beneath: Vec<Layer>,
    /// The next open layer: what changes here concerns it.
    pub above: Option<PrNumber>,
}

/// An open layer, and how our checks stand on its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub number: PrNumber,
    /// What is missing has not begun.
    pub checks: BTreeMap<OwnCheck, CheckProgress>,
}

impl Stack {
    /// The lowest layer whose check does not pass, and how that one stands.
    pub fn waits_for(&self, check: OwnCheck) -> Option<(PrNumber, CheckProgress)> {
        let standing = |layer: &Layer| {
            layer
                .checks
                .get(&check)
                .copied()
                .unwrap_or(CheckProgress::Queued)
        };
        let passes = |progress: CheckProgress| progress.conclusion() == Some(Conclusion::Success);
        let layers = self
            .beneath
            .iter()
            .map(|layer| (layer.number, standing(layer)));
        layers.into_iter().find(|(_, progress)| !passes(*progress))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_like_ours_are_recognised() {
        assert_eq!(OwnCheck::named("loopgate / verify"), Some(OwnCheck::Verify));
        assert_eq!(OwnCheck::named("Loopgate/Gates"), Some(OwnCheck::Gates));
        assert_eq!(
            OwnCheck::named("loopgate / gates (release/1)"),
            Some(OwnCheck::Gates)
        );
        for other in ["verify", "loopgate / gatesX", "loopgate / gates x"] {
            assert_eq!(OwnCheck::named(other), None, "{other}");
        }
    }

    #[test]
    fn names_carry_their_base() {
        let branch = |name: &str| CheckScope::Branch(name.to_owned());
        assert_eq!(
            OwnCheck::Gates.name(&CheckScope::DefaultBranch),
            "loopgate / gates"
        );
        assert_eq!(
            OwnCheck::Verify.name(&branch("release/1")),
            "loopgate / verify (release/1)"
        );
        let pattern = CheckScope::Pattern("release/*".into());
        assert_eq!(
            OwnCheck::Gates.name(&pattern),
            "loopgate / gates (release/*)"
        );
        let [one, other] = ["a", "b"]
            .map(|end| OwnCheck::Gates.name(&branch(&format!("{}{end}", "ü/".repeat(120)))));
        assert!(
            one.chars().count() == LONGEST_NAME && OwnCheck::named(&one) == Some(OwnCheck::Gates),
            "{one}"
        );
        assert_ne!(one, other, "two long names stay two");
    }
}
