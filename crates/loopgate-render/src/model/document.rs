//! The view model: `loopgate.feedback/v1`, as it is written and as it is read again. What a reader may find missing in
//! a document of another version has a default; a document without `schema`, `head_sha` and `decision` is none.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{PlantedSettings, excerpts::QuotedOutput};
use loopgate_core::{
    Login, PrNumber, RepoName, Score, Sha, Timestamp,
    concerns::verdict::DistanceToSuccess,
    deciding::DecisionWord,
    failure::{Excerpt, FeedbackLine},
    stage::Stage,
    state::{CapabilityProgress, GateStatus, RunStatus, VerificationResult},
};

/// Decision and feedback for agents and scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Feedback {
    #[schemars(extend("const" = super::FEEDBACK_SCHEMA))]
    pub schema: String,
    pub repository: Option<RepoName>,
    /// `None` in a local loop.
    pub pull_request: Option<PrNumber>,
    pub head_sha: Sha,
    /// Whether everything that was waited for has ended.
    #[serde(default)]
    pub r#final: bool,
    pub decision: DecisionWord,
    /// The next action with what it waits for.
    #[serde(default)]
    pub action: Value,
    /// Who acts next; `None` once it is over.
    pub who_acts: Option<Actor>,
    pub status: Option<RunStatus>,
    pub stage: Option<Stage>,
    pub attempt: Option<u32>,
    pub max_attempts: Option<u32>,
    pub score: Option<Score>,
    pub evaluation: Option<Value>,
    #[serde(default)]
    pub checks: Vec<Value>,
    #[serde(default)]
    pub gates: Vec<Gate>,
    pub capabilities: Option<CapabilityProgress>,
    /// One for each cause, in the words of every other surface.
    #[serde(default)]
    pub failures: Vec<Failure>,
    /// Failures that are not among them.
    #[serde(default)]
    pub more_failures: u64,
    /// Lines of the failed jobs' output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excerpts: Vec<QuotedOutput>,
    /// What else is to be done: rules that fail, and what people objected to.
    #[serde(default)]
    pub feedback: Vec<FeedbackLine>,
    #[serde(default)]
    pub rules: Vec<String>,
    /// What changed since the attempt before.
    pub compare: Option<Value>,
    /// What was tried, oldest first.
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    pub distance_to_success: Option<DistanceToSuccess>,
    #[serde(default)]
    pub links: Links,
    /// `None` if the state is kept elsewhere.
    pub state_ref: Option<String>,
    /// How many items of which list were left out for the size limit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub omitted: BTreeMap<String, usize>,
    /// The working tree that a local verification left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub working_tree: Option<Sha>,
    /// What came into git's configuration while code of the change ran here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<PlantedSettings>,
    /// How the pull request ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// Fields of a newer version.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

loopgate_core::words! {
    /// How a pull request that is not open any more ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Ended {
        Merged = "merged",
        Closed = "closed",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Actor {
    /// `person`, `bot` or `agent` where the account is known; else the part that somebody plays.
    pub kind: String,
    pub login: Option<Login>,
    pub action: String,
    /// Since when it is their turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gate {
    pub name: String,
    pub status: GateStatus,
    /// The stage that it holds.
    pub holds: Option<Stage>,
    pub advisory: bool,
    pub approve_by: Vec<String>,
    /// Who can open it: people, teams, and everybody with a permission.
    pub who: Vec<String>,
    /// How many of them are needed.
    pub needed: u32,
    /// What they write, if a comment opens it.
    pub write: Option<String>,
    pub approved_by: Vec<Login>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Failure {
    pub id: String,
    pub check: Option<String>,
    pub test: Option<String>,
    /// Not known from an earlier attempt, nor from the base.
    pub new: bool,
    /// Its test passed before.
    pub regression: bool,
    /// Failures beside it with the same cause.
    pub also: usize,
    /// What the first ones of those are called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    pub place: Option<Place>,
    pub message: Option<String>,
    pub expected: Option<String>,
    pub actual: Option<String>,
    /// What is wrong, if a rule is certain of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    pub category: Option<String>,
    pub confidence: Option<f64>,
    pub blame: Option<String>,
    /// What the analyzer of its check proposes, as the evidence has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The one thing to do, if a rule is certain of it, and why.
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
    pub memory: Vec<Value>,
    /// What a person said when another run disputed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<String>,
    /// What the tool traced: for fixers alone, who have no page to read it on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub trace: Option<Excerpt>,
}

/// A change between two attempts of which the earlier had this failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// The attempt that it led to.
    pub attempt: u32,
    #[schemars(with = "Option<String>")]
    pub head_sha: Option<Sha>,
    /// What a fixer printed about it, and its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// `same` if it failed in the same way, `came_back` if it was gone and is back.
    pub outcome: String,
}

/// Where more stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Links {
    pub status: Option<String>,
    /// The newest record: a page, or the command that shows it.
    pub report: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    pub file: String,
    pub line: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    pub attempt: u32,
    pub head_sha: Sha,
    pub result: VerificationResult,
    pub score: Score,
    pub summary: String,
}
