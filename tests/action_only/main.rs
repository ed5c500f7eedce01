//! Action-only mode: the events of a story, each given to a `loopgate reconcile` process as GitHub Actions would, leave
//! the pull request as the server leaves it for the same story.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start what their users would"
)]

mod actions;
mod alone;
mod elsewhere;
mod hostile;
mod look;
mod matrix_jobs;
#[path = "../fixtures/packed.rs"]
mod packed;
mod server;
mod stories;
#[path = "../fixtures/unpacked.rs"]
mod unpacked;

use std::{future::Future, io::Write as _};

use loopgate_core::{RepoName, Sha};
use loopgate_simulator::{Clock, Conclusion, Config, Pr, RunSpec, Simulator};
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

/// Between two things that people do, this much time passes.
const PACE: chrono::TimeDelta = chrono::TimeDelta::seconds(20);

pub const CI: &str = ".github/workflows/ci.yml";
pub const CONFIGURATION: &str = "\
version: 1
labels: { state: true }
verify:
  workflows: [.github/workflows/ci.yml]
  checks:
    unit: { kind: test, run: cargo test }
gates:
  security: { approvers: { users: [bob] } }
  architecture: off
  external: off
  deploy: off
";

/// What looks after the pull requests: lets everything happen that what people did leads to.
pub trait Keeper {
    fn settle(&self) -> impl Future<Output = ()> + Send;

    /// The state of a pull request as it is packed into an artifact, where it is.
    fn kept(&self, _: &Pr) -> Option<String> {
        None
    }
}

/// A GitHub, far enough in the past that the story ends before now: the processes have the machine's clock.
pub async fn github() -> Simulator {
    let start = chrono::Utc::now() - chrono::TimeDelta::minutes(30);
    let config = Config {
        clock: Clock::fixed(start),
        pace: PACE,
        ..Config::default()
    };
    Simulator::start(config).await.expect("a simulator")
}

pub fn repository(github: &Simulator) -> RepoName {
    let files = [
        ("README.md", "# Widgets\n"),
        (CI, "on: pull_request\n"),
        (".github/loopgate.yml", CONFIGURATION),
    ];
    github
        .create_repo("acme/widgets", &files)
        .expect("a repository")
}

/// What a job of the workflow found out.
pub struct Job<'a> {
    pub name: &'a str,
    pub matrix: Option<&'a str>,
    pub checks: Value,
}

/// The tests, with the names of those that fail.
pub fn unit(failing: &[&str]) -> Value {
    let failures: Vec<_> = failing
        .iter()
        .map(|test| {
            json!({ "test_name": test, "test_file": "src/auth/login.rs", "line_number": 7,
                "error_type": "AssertionError", "error_message": format!("{test}: expected 2, got 3") })
        })
        .collect();
    let (failed, outcome) = (
        failing.len(),
        if failing.is_empty() {
            "passed"
        } else {
            "failed"
        },
    );
    json!([{ "name": "unit", "kind": "test", "outcome": outcome, "exit_code": i32::from(failed > 0),
        "duration_ms": 1200, "failures": failures,
        "results": { "total": 12, "passed": 12 - failed, "failed": failed, "errors": 0, "skipped": 0, "flaky": 0,
            "duration_ms": 1100, "coverage_percent": null } }])
}

/// An evidence document as `verify` writes it in a job.
pub fn evidence(head: Sha, run: u64, job: &Job<'_>) -> Value {
    json!({
        "schema": "loopgate.evidence/v1", "repository": "acme/widgets", "head_sha": head, "tree_hash": "1a",
        "workflow": { "path": CI, "run_id": run, "run_attempt": 1, "job": job.name, "matrix": job.matrix },
        "environment": { "os": "linux", "runtime": null, "framework": null },
        "started_at": "2026-11-20T10:15:00Z", "ended_at": "2026-11-20T10:16:00Z",
        "checks": job.checks,
    })
}

/// An archive with these files.
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in files {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .expect("a name");
        writer.write_all(content).expect("in memory");
    }
    writer.finish().expect("in memory").into_inner()
}

/// The workflow runs on the head: one artifact for each job, then its end.
pub fn ci(github: &Simulator, pr: &Pr, jobs: &[Job<'_>]) {
    let head = github.head(pr).expect("a head");
    let run = github
        .start_workflow(&pr.repo, RunSpec::new(head, CI))
        .expect("a run");
    let failed = jobs
        .iter()
        .any(|job| job.checks.to_string().contains("\"outcome\":\"failed\""));
    let artifacts = jobs.iter().enumerate().map(|(nth, job)| {
        let document = evidence(head, run.get(), job).to_string();
        let zip = archive(&[("evidence.json", document.as_bytes())]);
        (
            format!("loopgate-evidence-{}-0000000{nth}-1", job.name),
            zip.into(),
        )
    });
    let end = if failed {
        Conclusion::Failure
    } else {
        Conclusion::Success
    };
    github
        .finish_workflow(&pr.repo, run, end, artifacts.collect())
        .expect("its end");
}

/// [`ci`] with one job that runs the tests.
pub fn ci_with(github: &Simulator, pr: &Pr, failing: &[&str]) {
    ci(
        github,
        pr,
        &[Job {
            name: "test",
            matrix: None,
            checks: unit(failing),
        }],
    );
}
