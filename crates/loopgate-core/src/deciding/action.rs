//! What comes next, the word for it, and the record of an attempt.

use serde::{Deserialize, Serialize};

use crate::{
    concerns::verdict::FailureView,
    evidence::{ChangedCoverage, CheckEvidence, Compare, Environment, WorkflowOrigin},
    ids::{CheckName, GateName, PrNumber, RepoName, Sha, Timestamp},
    memory::AppliedFix,
    observed::Snapshot,
    policy::Trigger,
    state::AttemptDigest,
};

/// What happens next, and who acts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum NextAction {
    /// Merged.
    Complete,
    /// Closed unmerged.
    Stopped,
    /// Blocked, and the cause still stands.
    WaitForHuman { cause: Trigger },
    /// The approvers of a gate decide.
    WaitForApproval { gate: GateName },
    /// Checks run.
    WaitForEvidence { missing: Vec<CheckName> },
    /// GitHub holds workflows back until somebody with write lets them run; these checks come of them, or miss too.
    WaitForRunApproval { missing: Vec<CheckName> },
    /// The author (or fixer) mends the head and pushes.
    Retry { attempt: u32 },
    /// A human is called now.
    Escalate { cause: Trigger },
    /// More capabilities are to come.
    WaitForPush { capability: String },
    /// The author calls the draft ready.
    WaitForReady,
    /// Required reviews are missing.
    WaitForReview,
    /// All is there.
    WaitForMerge,
}

impl NextAction {
    /// The attempt that its author or a fixer is to mend, where this is what comes next.
    pub const fn retried(&self) -> Option<u32> {
        match self {
            Self::Retry { attempt } => Some(*attempt),
            _ => None,
        }
    }

    /// Whether the head's verification has not ended.
    pub const fn awaits_evidence(&self) -> bool {
        matches!(
            self,
            Self::WaitForEvidence { .. } | Self::WaitForRunApproval { .. }
        )
    }

    /// The word that scripts see.
    pub const fn word(&self) -> DecisionWord {
        match self {
            Self::Retry { .. } => DecisionWord::Retry,
            Self::Escalate { .. } | Self::WaitForHuman { .. } => DecisionWord::Escalate,
            Self::Complete | Self::WaitForMerge => DecisionWord::Proceed,
            Self::Stopped
            | Self::WaitForApproval { .. }
            | Self::WaitForEvidence { .. }
            | Self::WaitForRunApproval { .. }
            | Self::WaitForPush { .. }
            | Self::WaitForReady
            | Self::WaitForReview => DecisionWord::Wait,
        }
    }
}

words! {
    /// The four words every action folds into.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum DecisionWord {
        Proceed = "proceed",
        Retry = "retry",
        Escalate = "escalate",
        Wait = "wait",
    }
}

/// The whole record of an attempt, as written to `attempts/NNN.json` beside the digest of its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptRecord {
    pub digest: AttemptDigest,
    pub decision: DecisionWord,
    pub provenance: AttemptOrigin,
    pub checks: Vec<CheckEvidence>,
    pub coverage: Option<ChangedCoverage>,
    pub compare: Compare,
    pub analysis: Vec<FailureView>,
    /// What changed since the failing attempt before it, where that is known.
    pub fix_applied: Option<AppliedFix>,
}

/// The origin of an attempt in `attempts/NNN.json`, with the keys of `evidence.json`. Where the evidence comes from
/// several jobs, the first names the workflow and the environment, and the times span all of them. Checks that were
/// read from GitHub alone have neither.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptOrigin {
    pub repository: RepoName,
    pub base_sha: Sha,
    /// None in a local loop.
    pub pull_request: Option<PrNumber>,
    pub workflow: Option<WorkflowOrigin>,
    pub environment: Option<Environment>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

impl AttemptOrigin {
    /// That of the head's evidence.
    pub fn of(snapshot: &Snapshot, pull_request: Option<PrNumber>) -> Self {
        let evidence = snapshot.evidence_of_head();
        let first = evidence.clone().next();
        Self {
            repository: snapshot.repository.clone(),
            base_sha: snapshot.pull_request.base.sha,
            pull_request,
            workflow: first.and_then(|evidence| evidence.workflow.clone()),
            environment: first.map(|evidence| evidence.environment.clone()),
            started_at: evidence.clone().map(|evidence| evidence.started_at).min(),
            ended_at: evidence.map(|evidence| evidence.ended_at).max(),
        }
    }
}
