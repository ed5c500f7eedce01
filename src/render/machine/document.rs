//! The shape of the document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::render::{fit::Shown, memory::Remembered};
use loopgate_core::{
    CheckName, FailureId, GateName, Login, PrNumber, RepoName, RuleId, Score, Sha, Timestamp,
    deciding::{DecisionWord, NextAction},
    evidence::{CheckKind, RootCauseCategory},
    failure::{Blame, Excerpt, FeedbackLine},
    policy::Phase,
    stage::Stage,
    state::{CapabilityProgress, GateStatus, RunStatus, VerificationResult},
    verdict::DistanceToSuccess,
};

/// Decision and feedback for agents and scripts.
#[derive(Debug, Serialize)]
pub struct Status {
    pub schema: &'static str,
    pub repository: RepoName,
    /// None in a local loop.
    pub pull_request: Option<PrNumber>,
    pub head_sha: Sha,
    /// Whether everything that was waited for has ended.
    pub r#final: bool,
    pub decision: DecisionWord,
    pub action: NextAction,
    /// Who acts next; nobody once it is over.
    pub who_acts: Option<Actor>,
    pub status: RunStatus,
    pub stage: Stage,
    pub attempt: u32,
    pub max_attempts: u32,
    pub score: Score,
    pub evaluation: Evaluation,
    pub checks: List<Check>,
    pub gates: List<Gate>,
    pub capabilities: CapabilityProgress,
    /// One for each cause, in the words of every other surface.
    pub failures: List<Failure>,
    /// Failures that are not among them.
    pub more_failures: u64,
    /// Lines of the failed jobs' output.
    #[serde(skip_serializing_if = "List::is_empty")]
    pub excerpts: List<QuotedOutput>,
    /// What else is to be done: rules that fail, and what people objected to.
    pub feedback: List<FeedbackLine>,
    pub rules: [&'static str; 2],
    /// What changed since the attempt before.
    pub compare: Option<Compare>,
    /// What was tried, oldest first.
    pub attempts: List<Attempt>,
    pub distance_to_success: Option<DistanceToSuccess>,
    pub links: Links,
    /// None where the state is kept elsewhere.
    pub state_ref: Option<String>,
    /// How many items of which list were left out for the size limit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub omitted: BTreeMap<&'static str, usize>,
}

/// A list whose end may be left out; the document's `omitted` says of which lists, and how much.
#[derive(Debug, Default)]
pub struct List<T>(pub Shown<T>);

impl<T> List<T> {
    pub fn is_empty(&self) -> bool {
        self.0.items.is_empty()
    }
}

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
pub struct Actor {
    /// `person`, `bot` or `agent` where the account is known; else the part that somebody plays.
    pub kind: &'static str,
    pub login: Option<Login>,
    pub action: &'static str,
    /// Since when it is their turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

#[derive(Debug, Serialize)]
pub struct Evaluation {
    pub phase: Phase,
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
    pub outcome: String,
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
    /// Who can open it: people, teams, and whoever has a permission.
    pub who: Vec<String>,
    /// How many of them are needed.
    pub needed: u32,
    /// What they write, where a comment opens it.
    pub write: Option<String>,
    pub approved_by: Vec<Login>,
}

#[derive(Debug, Serialize)]
pub struct Failure {
    pub id: FailureId,
    pub check: CheckName,
    pub test: Option<String>,
    /// Not known from an earlier attempt, nor from the base.
    pub new: bool,
    /// Its test passed before.
    pub regression: bool,
    /// Failures beside it with the same cause.
    pub also: usize,
    pub place: Option<Place>,
    pub message: String,
    pub expected: Option<String>,
    pub actual: Option<String>,
    /// What is wrong, where a rule is certain of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    pub category: RootCauseCategory,
    pub confidence: f64,
    pub blame: Blame,
    /// The one thing to do, where a rule is certain of it, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#do: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    pub reproduce: Option<String>,
    /// The excerpt of its job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Changes of this run that did not fix it, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// What fixed this error, or this test when it failed alike, in earlier runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Remembered>,
    /// What a person said when another run disputed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<String>,
    /// What the tool traced: for fixers alone, who have no page to read it on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Excerpt>,
}

/// Lines that the code under test wrote: data, and no instructions.
#[derive(Debug, Serialize)]
pub struct QuotedOutput {
    pub id: String,
    /// Always true.
    pub untrusted: bool,
    pub job: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    pub text: String,
    pub cut_lines: u64,
}

/// A change between two attempts of which the earlier had this failure.
#[derive(Debug, Serialize)]
pub struct Tried {
    /// The attempt that it led to.
    pub attempt: u32,
    pub head_sha: Sha,
    /// What a fixer said of it, and its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    pub outcome: TriedOutcome,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TriedOutcome {
    /// It failed in the same way.
    Same,
    /// It was gone, and is back.
    CameBack,
}

/// Where more stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Links {
    pub status: Option<String>,
    /// The newest record: a page, or the command that shows it.
    pub report: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    pub file: String,
    pub line: Option<u32>,
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
