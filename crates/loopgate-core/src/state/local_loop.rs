//! The parts of the state and the history that only a local loop has.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{CheckName, Score, Sha, Timestamp},
    observed::CodeType,
    state::{DistanceToSuccess, Step},
};

/// What only a local loop keeps, in `loop-state.json` under `reflex`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReflexState {
    pub settings: Settings,
    /// The commit the loop began on: where there is no base branch, its change is measured from here.
    pub began_at: Sha,
    /// A step whose output broke its contract: it is executed once more, and the second time ends the loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<Broken>,
    /// The task command or fixer that is at work, or was when the process died.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calling: Option<Calling>,
    /// What was changed between iterations, oldest first.
    #[serde(default)]
    pub fixes: Vec<FixRecord>,
    #[serde(default)]
    pub spent: Spent,
    #[serde(default)]
    pub senior: Senior,
    /// What a person has to know about the cause that called them: findings, and where the refused edits are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The beginning of the diff that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_diff: Option<String>,
    /// The one decision a person is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Ask>,
    /// How far the last evaluation is from passing, where the loop stopped short of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance_to_success: Option<DistanceToSuccess>,
}

impl ReflexState {
    /// Whether a program wrote a part of the change.
    pub fn has_fixer(&self) -> bool {
        self.fixes.iter().any(|fix| fix.by != FixMaker::Person)
    }
}

/// What was confirmed when the loop was set up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub task_type: CodeType,
    /// Checks that must pass whatever their kind.
    #[serde(default)]
    pub mandatory: Vec<CheckName>,
    pub threshold_a: Score,
    pub threshold_b: Score,
    #[serde(default)]
    pub major: Major,
    /// How many iterations were confirmed; a resume after an escalation grants as many again.
    pub limit: u32,
    /// Checks given on the command line, as `name` and shell line; empty: those of the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<(CheckName, String)>,
    /// The task command, one shell line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub produce: Option<String>,
    /// The one document the task produces, relative to the top of the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// A fixer given on the command line instead of the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix_command: Option<String>,
    /// A configuration other than the repository's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// The branch the change is measured against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// What a person sees whom a local loop calls. The state keeps the words as the caller wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopCall {
    /// What happened, a line each.
    pub notes: Vec<String>,
    pub ask: Ask,
}

/// One decision for a person, with its numbered options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub question: String,
    pub options: Vec<String>,
}

words! {
    /// What counts as a major issue.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Major {
        /// Rules of severity fail.
        #[default]
        Fail = "fail",
        /// Those of severity warn too.
        Warn = "warn",
    }
}

/// A step that broke its contract once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Broken {
    pub step: Step,
    pub iteration: u32,
    pub why: String,
}

/// A program that may edit the working tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calling {
    /// The head commit it was called on.
    pub head: Sha,
    /// The whole working tree before the call, so that half-made edits can be distinguished from what was there.
    pub tree: Sha,
    pub since: Timestamp,
}

/// What one refinement changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FixRecord {
    /// The iteration whose failures it answers.
    pub iteration: u32,
    pub by: FixMaker,
    /// The head it led to.
    pub head_sha: Sha,
    /// The subject of its commit.
    pub subject: String,
    pub description: String,
    /// `+5/-2`
    pub diff_summary: String,
    pub files_modified: Vec<String>,
    /// Files outside what the failures and the change itself point at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside_scope: Vec<String>,
    /// Files that are no reason why it passes: the checks passed with each of them as it was before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proven: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Who made a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixMaker {
    Fixer,
    SeniorFixer,
    /// Somebody who edited or committed between two iterations.
    Person,
}

/// What the fixers of a run have used of their budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spent {
    pub calls: u32,
    pub wall_ms: u64,
    pub cost_usd: f64,
}

/// The second, stronger fixer: once, then a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Senior {
    #[default]
    NotAsked,
    /// The next refinement is its.
    Next,
    Used,
}

/// One thing to mend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CritiqueItem {
    /// The rule that failed.
    pub rule: String,
    /// Where and what.
    pub issue: String,
    /// The one thing to do.
    pub fix: String,
}

impl CritiqueItem {
    /// As one line.
    pub fn line(&self) -> String {
        format!("{}: {} → {}", self.rule, self.issue, self.fix)
    }
}
