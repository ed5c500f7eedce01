//! What a run is about: the change, who made it, and how it is tested.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    evidence::TestFramework,
    ids::{GateName, Sha},
    observed::CodeType,
    policy::{Backoff, Trigger},
};

/// The coding agent that wrote the pull request, when one did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: AgentKind,
    pub version: Option<String>,
}

words! {
    /// Who opened a pull request, or works on a task here.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum AuthorKind {
        Person = "person",
        /// A coding agent: its account is one of `coding_agents`, or the description has an `Agent:` line.
        Agent = "agent",
        /// Another bot, such as one that updates dependencies.
        Bot = "bot",
    }
}

/// What a coding agent is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    SoftwareImplementer,
    TestEngineer,
    Debugger,
    CodeReviewer,
}

/// What is being looped over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeArtifact {
    /// The file with most changed lines.
    pub path: Option<String>,
    pub language: Language,
    pub code_type: CodeType,
    /// SHA-256 over the head's tree id, in hex.
    pub content_hash: String,
    #[serde(default)]
    pub test_files: Vec<String>,
    #[serde(default)]
    pub requirements_ref: Vec<String>,
}

words! {
    /// The language of a change, as far as the state distinguishes languages.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Language {
        Typescript = "typescript",
        Javascript = "javascript",
        Python = "python",
        Go = "go",
        Rust = "rust",
        Java = "java",
        #[default]
        Other = "other",
    }
}

/// How the tests are executed, as far as the configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutionConfig {
    pub test_framework: TestFramework,
    pub test_command: Option<String>,
    pub timeout_seconds: u64,
    pub fail_fast: bool,
    pub verbose: bool,
    pub working_directory: String,
}

/// The retry numbers in force.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryPolicySummary {
    pub max_attempts: u32,
    pub same_error: u32,
    pub total_failures: u32,
    pub backoff: Backoff,
    pub escalation_on_max: bool,
    pub abort_on_regression: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub prompt: String,
    pub ideal_result: Option<String>,
}

/// A configuration that a pull request proposes, tried on recorded runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedConfiguration {
    /// The file's blob at the head.
    pub blob: Sha,
    /// Runs that were judged again.
    pub runs: usize,
    pub gates: BTreeMap<GateName, Changes>,
    /// Calls for a human, by their cause.
    pub calls: BTreeMap<Trigger, Changes>,
}

/// Runs that have something more, or lack it. `#12`, or the alias of a local loop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    #[serde(default)]
    pub more: Vec<String>,
    #[serde(default)]
    pub fewer: Vec<String>,
}
