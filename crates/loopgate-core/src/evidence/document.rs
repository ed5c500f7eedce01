//! The evidence document of a commit: which checks ran, where, and how each ended.
//!
//! These are the types of `evidence.json`. The runner writes them, and they are read back from artifacts that a pull
//! request's own code may have produced. So they are hostile until `github::artifacts` has checked their origin.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{BaseTestRun, ChangedCoverage, CheckEvidence, RegressionTrial, RepeatedTest};
use crate::{
    ids::{CheckRunId, PrNumber, RepoName, Sha, Timestamp, WorkflowRunId},
    words::is_default,
};

/// `schema` of an evidence document.
pub const EVIDENCE_SCHEMA: &str = "loopgate.evidence/v1";

/// Everything one execution of the checks found out about one head commit: `evidence.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// [`EVIDENCE_SCHEMA`].
    pub schema: String,
    pub repository: RepoName,
    pub head_sha: Sha,
    /// SHA-256 over the head's tree id, in hex.
    pub tree_hash: String,
    pub base_sha: Option<Sha>,
    pub pull_request: Option<PrNumber>,
    /// The workflow run that produced it; none when executed locally.
    pub workflow: Option<WorkflowOrigin>,
    pub environment: Environment,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub checks: Vec<CheckEvidence>,
    pub coverage: Option<ChangedCoverage>,
    /// The result of the change's tests without the change; only if the configuration asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression_proof: Option<RegressionTrial>,
    /// The results of tests that the change edits, as they were before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base_tests: Vec<BaseTestRun>,
    /// The results of repeated runs of the tests that the change adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub burn_in: Vec<RepeatedTest>,
    /// Left out where it is whole.
    #[serde(default, skip_serializing_if = "is_default")]
    pub extent: EvidenceExtent,
}

/// Whether the execution got to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceExtent {
    #[default]
    Whole,
    /// It was interrupted or killed: of checks that had not ended nothing is known, whatever else is written.
    Interrupted,
}

/// Which workflow run, job and matrix job an evidence document names as its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowOrigin {
    /// Path of the workflow file, `.github/workflows/ci.yml`.
    pub path: String,
    pub run_id: WorkflowRunId,
    /// Counts from 1.
    pub run_attempt: u32,
    pub job: String,
    /// The values of the matrix as JSON, if the job has a matrix.
    pub matrix: Option<String>,
    /// Which job of its matrix it is; none where an older Action wrote it.
    #[serde(rename = "leg", default, skip_serializing_if = "Option::is_none")]
    pub matrix_job: Option<MatrixJob>,
}

impl WorkflowOrigin {
    /// `test (ubuntu-latest, 3.12)`, as GitHub names the jobs of a matrix; its place where the values are not known.
    pub fn job_name(&self) -> String {
        let values: Option<BTreeMap<String, serde_json::Value>> = self
            .matrix
            .as_deref()
            .and_then(|matrix| serde_json::from_str(matrix).ok());
        let shown = |value: serde_json::Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let values: Vec<String> = values
            .into_iter()
            .flatten()
            .map(|(_, value)| shown(value))
            .collect();
        match (values.is_empty(), self.matrix_job) {
            (false, _) => format!("{} ({})", self.job, values.join(", ")),
            (true, Some(place)) if place.total > 1 => {
                format!("{} {}/{}", self.job, place.index + 1, place.total)
            }
            (true, _) => self.job.clone(),
        }
    }
}

/// One execution of a job: of a matrix, one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatrixJob {
    /// Counts from 0.
    pub index: u32,
    /// Jobs of the matrix.
    pub total: u32,
    /// The check run that the execution is; none where GitHub does not show its steps (Enterprise Server).
    pub check_run_id: Option<CheckRunId>,
}

/// Where the checks ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    pub os: String,
    /// The tool chain's own version line, `rustc 1.95.0`.
    pub runtime: Option<String>,
    pub framework: Option<TestFramework>,
}

/// Test frameworks that Loopgate distinguishes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum TestFramework {
    Jest,
    Vitest,
    Pytest,
    GoTest,
    CargoTest,
    Junit,
    Mocha,
    #[default]
    Other,
}

/// The framework a test command runs, by the word that names it.
pub fn framework_of(command: &str) -> TestFramework {
    const WORDS: [(&str, TestFramework); 9] = [
        ("vitest", TestFramework::Vitest),
        ("jest", TestFramework::Jest),
        ("mocha", TestFramework::Mocha),
        ("pytest", TestFramework::Pytest),
        // Before "go test", which the word "cargo test" ends in.
        ("cargo test", TestFramework::CargoTest),
        ("cargo nextest", TestFramework::CargoTest),
        ("go test", TestFramework::GoTest),
        ("mvn", TestFramework::Junit),
        ("gradle", TestFramework::Junit),
    ];
    WORDS
        .iter()
        .find(|(word, _)| command.contains(word))
        .map_or(TestFramework::Other, |(_, framework)| *framework)
}

/// SHA-256 over a tree id, in hex: what every document calls the *hash* of an artifact.
pub fn tree_hash(tree: Sha) -> String {
    hex::encode(Sha256::digest(tree.to_string().as_bytes()))
}
