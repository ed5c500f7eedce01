//! The shape of the document.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::render::fit::Shown;
use loopgate_core::{
    CheckName, GateName, Login, PrNumber, RepoName, RuleId, Score, Sha,
    deciding::DecisionWord,
    evidence::{CheckKind, RootCauseCategory},
    failure::Blame,
    observed::Permission,
    policy::{Phase, Trigger},
    stage::Stage,
    state::{CapabilityProgress, GateStatus, RunStatus, VerificationResult},
    verdict::DistanceToSuccess,
};

/// Decision and feedback for agents and scripts.
#[derive(Debug, Serialize)]
pub struct Status {
    pub schema: &'static str,
    pub repository: RepoName,
    pub pull_request: PrNumber,
    pub head_sha: Sha,
    pub decision: DecisionWord,
    pub action: Action,
    pub status: RunStatus,
    pub stage: Stage,
    pub attempt: u32,
    pub max_attempts: u32,
    pub evaluation: Evaluation,
    pub checks: List<Check>,
    pub gates: List<Gate>,
    pub capabilities: CapabilityProgress,
    pub failures: List<Failure>,
    pub feedback: List<Feedback>,
    /// The same in a few lines, `loop.feedback_max_length` characters at most.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub feedback_summary: String,
    /// What changed since the attempt before.
    pub compare: Option<Compare>,
    /// What was tried, oldest first.
    pub attempts: List<Attempt>,
    pub distance_to_success: Option<DistanceToSuccess>,
    /// None where the state is kept elsewhere.
    pub state_ref: Option<String>,
    /// How many items of which list were left out for the size limit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub omitted: BTreeMap<&'static str, usize>,
}

/// A list whose end may be left out; the document's `omitted` says of which lists, and how much.
#[derive(Debug, Default)]
pub struct List<T>(pub Shown<T>);

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.items.serialize(serializer)
    }
}

impl<T> FromIterator<T> for List<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

#[derive(Debug, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Action {
    Complete,
    Stopped,
    WaitForHuman { cause: Trigger },
    WaitForApproval { gate: GateName },
    WaitForEvidence { missing: Vec<CheckName> },
    Retry { attempt: u32 },
    Escalate { cause: Trigger },
    WaitForPush { capability: String },
    WaitForReady,
    WaitForReview,
    WaitForMerge,
}

#[derive(Debug, Serialize)]
pub struct Evaluation {
    pub phase: Phase,
    pub score: Score,
    pub threshold: Score,
    pub progress: Score,
    /// Absent while undecided.
    pub passed: Option<bool>,
    pub failed_rules: Vec<RuleId>,
    pub warnings: Vec<RuleId>,
}

#[derive(Debug, Serialize)]
pub struct Check {
    pub name: CheckName,
    pub kind: CheckKind,
    pub outcome: &'static str,
    pub blame: Option<Blame>,
    pub tests: Option<Tests>,
    pub duration_ms: Option<u64>,
    pub url: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Tests {
    pub total: u64,
    pub passed: u64,
    pub failed: u64,
    pub errors: u64,
    pub skipped: u64,
    pub flaky: u64,
}

#[derive(Debug, Serialize)]
pub struct Gate {
    pub name: GateName,
    pub status: GateStatus,
    pub holds: Stage,
    pub advisory: bool,
    pub approve_by: Vec<&'static str>,
    pub phrase: String,
    pub approvers: Approvers,
    pub approved_by: Vec<Login>,
}

#[derive(Debug, Serialize)]
pub struct Approvers {
    pub people: Vec<Login>,
    pub teams: Vec<String>,
    pub permission: Option<Permission>,
    pub needed: u32,
}

#[derive(Debug, Serialize)]
pub struct Failure {
    pub check: CheckName,
    pub test: Option<String>,
    pub error_type: &'static str,
    pub message: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub blame: Blame,
    pub category: RootCauseCategory,
    pub root_cause: String,
    pub fix_strategy: String,
    pub confidence: f64,
    pub fingerprint: Option<loopgate_core::Fingerprint>,
}

#[derive(Debug, Serialize)]
pub struct Compare {
    pub new: Vec<String>,
    pub still: Vec<String>,
    pub fixed: Vec<String>,
    pub flaky: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Attempt {
    pub attempt: u32,
    pub head_sha: Sha,
    pub result: VerificationResult,
    pub score: Score,
    pub summary: String,
}

#[derive(Debug, Serialize)]
pub struct Feedback {
    pub location: String,
    pub problem: String,
    pub action: String,
    pub reason: String,
    pub reproduce: Option<String>,
}
