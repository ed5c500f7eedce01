//! The story's CI: a workflow that runs the checks of a push and uploads their evidence, as the Action does.
//!
//! The output of each command is what the real tool prints, and it is read by the same parsers.

use std::io::{Cursor, Write};

use minijinja::{context, value::Serde};
use serde::Serialize;
use zip::{ZipWriter, write::SimpleFileOptions};

use super::DemoWorld;
use crate::{
    cli::{CliError, working_tree},
    render,
};
use loopgate_core::{
    WorkflowRunId,
    evidence::{CheckEvidence, CheckKind, Environment, Evidence, Outcome, TestFramework, WorkflowOrigin},
    failure,
};
use loopgate_reports::{self, ReadOptions};
use loopgate_simulator::{Conclusion, Pr, RunSpec};

pub(super) const WORKFLOW: &str = ".github/workflows/ci.yml";

/// One test of the widgets' test suite, as it ends on some commit.
#[derive(Serialize)]
pub(super) struct Test {
    pub name: &'static str,
    /// Where and how it fails; none when it passes.
    pub failure: Option<Failing>,
}

#[derive(Clone, Copy, Serialize)]
pub(super) struct Failing {
    pub file: &'static str,
    pub line: u32,
    pub left: &'static str,
    pub right: &'static str,
}

/// Tests, of which these fail.
pub(super) fn suite(names: impl Iterator<Item = &'static str>, failing: &[(&'static str, Failing)]) -> Vec<Test> {
    let failure = |name| failing.iter().find(|(test, _)| *test == name).map(|(_, failure)| *failure);
    names.map(|name| Test { name, failure: failure(name) }).collect()
}

/// Runs the workflow on the head of a pull request.
pub(super) fn run(demo_world: &DemoWorld, pr: &Pr, tests: &[Test]) -> Result<(), CliError> {
    let sha = demo_world.github.head(pr)?;
    let id = demo_world.github.start_workflow(&demo_world.repo, RunSpec::new(sha, WORKFLOW))?;
    finish(demo_world, pr, (id, 1), tests)
}

/// Ends an attempt of a run on the head with what these tests say.
pub(super) fn finish(
    demo_world: &DemoWorld,
    pr: &Pr,
    (id, attempt): (WorkflowRunId, u32),
    tests: &[Test],
) -> Result<(), CliError> {
    let failing = tests.iter().any(|test| test.failure.is_some());
    let conclusion = if failing { Conclusion::Failure } else { Conclusion::Success };
    let evidence = zipped(&evidence(demo_world, pr, (id, attempt), tests)?)?;
    let artifacts = vec![(format!("loopgate-evidence-test-00000000-{attempt}"), evidence.into())];
    demo_world.github.finish_workflow(&demo_world.repo, id, conclusion, artifacts)?;
    Ok(())
}

fn evidence(
    demo_world: &DemoWorld,
    pr: &Pr,
    (run_id, run_attempt): (WorkflowRunId, u32),
    tests: &[Test],
) -> Result<Evidence, CliError> {
    let sha = demo_world.github.head(pr)?;
    let now = demo_world.github.clock().now();
    let passed = |name: &str, kind: CheckKind, duration_ms: u64| -> Result<CheckEvidence, CliError> {
        let mut check = CheckEvidence::bare(name.parse()?, kind, Outcome::Passed);
        check.exit_code = Some(0);
        check.duration_ms = duration_ms;
        Ok(check)
    };
    let checks = vec![passed("build", CheckKind::Build, 5_210)?, unit(tests)?, passed("lint", CheckKind::Lint, 3_480)?];
    let job = "test".to_owned();
    Ok(Evidence {
        pull_request: Some(pr.number),
        workflow: Some(WorkflowOrigin { path: WORKFLOW.to_owned(), run_id, run_attempt, job, matrix: None, leg: None }),
        environment: Environment {
            os: "linux".to_owned(),
            runtime: Some("rustc 1.95.0".to_owned()),
            framework: Some(TestFramework::CargoTest),
        },
        started_at: now,
        ended_at: now,
        ..working_tree::evidence(demo_world.repo.clone(), sha, sha, checks)
    })
}

fn unit(tests: &[Test]) -> Result<CheckEvidence, CliError> {
    let text = render::text("demo/cargo_test.txt", context! { tests => Serde(tests) });
    let options = ReadOptions { test_outcomes: true, ..ReadOptions::default() };
    let report = loopgate_reports::read("output of unit", text.as_bytes(), &options);
    let outcome = if report.failures.is_empty() { Outcome::Passed } else { Outcome::Failed };
    let mut check = CheckEvidence::bare("unit".parse()?, CheckKind::Test, outcome);
    check.exit_code = Some(if outcome == Outcome::Passed { 0 } else { 101 });
    check.duration_ms = 1_940;
    check.log_head = text;
    check.results = report.results;
    check.reports = vec![report.note()];
    check.tests = report.test_outcomes;
    check.failures = report.failures;
    check.retry_class = (outcome == Outcome::Failed).then(|| failure::retry_class(&check));
    Ok(check)
}

fn zipped(evidence: &Evidence) -> Result<Vec<u8>, CliError> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("evidence.json", SimpleFileOptions::default())?;
    zip.write_all(&serde_json::to_vec(evidence)?)?;
    Ok(zip.finish()?.into_inner())
}
