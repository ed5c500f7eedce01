//! Workflow runs of GitHub Actions and their artifacts.

use bytes::Bytes;

use super::{ArtifactId, RepoId, SuiteId, checks::Progress};
use loopgate_core::{CheckRunId, Sha, Timestamp, UserId, WorkflowRunId};

#[derive(Clone, Debug)]
pub struct WorkflowRun {
    pub id: WorkflowRunId,
    pub workflow_id: u64,
    /// The workflow's `name:`.
    pub name: String,
    /// `.github/workflows/ci.yml`.
    pub path: String,
    /// What started it: `pull_request`, `push`, `merge_group`, …
    pub event: String,
    pub sha: Sha,
    pub branch: String,
    /// The fork, for pull requests from one.
    pub head_repo: RepoId,
    pub actor: UserId,
    pub suite: SuiteId,
    /// The names of its jobs, which are check runs too.
    pub jobs: Vec<String>,
    /// The check runs of its jobs in all attempts, each with its attempt.
    pub executions: Vec<(CheckRunId, u32)>,
    /// Those of them whose runner was not heard from again.
    pub cut_off: Vec<CheckRunId>,
    pub run_number: u64,
    /// Counts from 1.
    pub attempt: u32,
    pub progress: Progress,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct Artifact {
    pub id: ArtifactId,
    pub run: WorkflowRunId,
    pub name: String,
    pub zip: Bytes,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}
