//! Workflow runs of GitHub Actions and their artifacts.

use bytes::Bytes;
use chrono::TimeDelta;

use super::{
    ArtifactId, RepoId, SuiteId,
    checks::{Conclusion, Progress},
};
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

/// What a job printed.
#[derive(Clone, Debug, Default)]
pub struct JobLog {
    pub steps: Vec<LoggedStep>,
    /// How long after the job's end its log is not there.
    pub late: TimeDelta,
    /// Whether it was deleted.
    pub is_gone: bool,
}

/// A step of a job; each takes a second.
#[derive(Clone, Debug)]
pub struct LoggedStep {
    pub name: String,
    pub conclusion: Conclusion,
    /// What it runs, one line.
    pub command: String,
    /// What it prints.
    pub text: String,
}

impl JobLog {
    /// When a step begins in a job that ends then.
    pub fn start_of(&self, step: usize, end: Timestamp) -> Timestamp {
        end - TimeDelta::seconds((self.steps.len() - step) as i64)
    }

    /// The log as GitHub stores it: each line with its time, each step headed by what it runs.
    pub fn text(&self, end: Timestamp) -> String {
        let mut text = String::new();
        for (number, step) in self.steps.iter().enumerate() {
            let stamp = self
                .start_of(number, end)
                .format("%Y-%m-%dT%H:%M:%S.0000000Z");
            let command = &step.command;
            let header = [
                format!("##[group]Run {command}"),
                format!("\u{1b}[36;1m{command}\u{1b}[0m"),
                "##[endgroup]".to_owned(),
            ];
            let failed = step.conclusion == Conclusion::Failure;
            let exit = failed.then(|| "##[error]Process completed with exit code 1.".to_owned());
            for line in header
                .into_iter()
                .chain(step.text.lines().map(str::to_owned))
                .chain(exit)
            {
                text.push_str(&format!("{stamp} {line}\n"));
            }
        }
        text
    }
}
