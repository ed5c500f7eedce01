//! The story's CI: a workflow that runs the checks of a push and uploads their evidence, as the Action does.
//!
//! The output of each command is what the real tool prints, and it is read by the same parsers.

use std::io::{Cursor, Write};

use zip::{ZipWriter, write::SimpleFileOptions};

use super::{DemoError, demo_world::DemoWorld};
use loopgate_core::{
    WorkflowRunId,
    evidence::{
        CheckEvidence, CheckKind, EVIDENCE_SCHEMA, Environment, Evidence, EvidenceExtent, Outcome, TestFramework,
        WorkflowOrigin,
    },
    failure,
};
use loopgate_reports::{self, OutcomesMode, ReadOptions};
use loopgate_simulator::{Conclusion, Pr, RunSpec};

pub(super) const WORKFLOW: &str = ".github/workflows/ci.yml";

/// One test of the widgets' test suite, as it ends on some commit.
pub(super) struct Test {
    pub name: &'static str,
    /// Where and how it fails; none when it passes.
    pub failure: Option<Failing>,
}

#[derive(Clone, Copy)]
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
pub(super) fn run(demo_world: &DemoWorld, pr: &Pr, tests: &[Test]) -> Result<(), DemoError> {
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
) -> Result<(), DemoError> {
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
) -> Result<Evidence, DemoError> {
    let sha = demo_world.github.head(pr)?;
    let now = demo_world.github.clock().now();
    let passed = |name: &str, kind: CheckKind, duration_ms: u64| -> Result<CheckEvidence, DemoError> {
        let mut check = CheckEvidence::bare(name.parse()?, kind, Outcome::Passed);
        check.exit_code = Some(0);
        check.duration_ms = duration_ms;
        Ok(check)
    };
    Ok(Evidence {
        schema: EVIDENCE_SCHEMA.to_owned(),
        repository: demo_world.repo.clone(),
        head_sha: sha,
        tree_hash: loopgate_core::evidence::tree_hash(sha),
        base_sha: None,
        pull_request: Some(pr.number),
        workflow: Some(WorkflowOrigin {
            path: WORKFLOW.to_owned(),
            run_id,
            run_attempt,
            job: "test".to_owned(),
            matrix: None,
            leg: None,
        }),
        environment: Environment {
            os: "linux".to_owned(),
            runtime: Some("rustc 1.95.0".to_owned()),
            framework: Some(TestFramework::CargoTest),
        },
        started_at: now,
        ended_at: now,
        checks: vec![passed("build", CheckKind::Build, 5_210)?, unit(tests)?, passed("lint", CheckKind::Lint, 3_480)?],
        coverage: None,
        regression_proof: None,
        base_tests: Vec::new(),
        burn_in: Vec::new(),
        extent: EvidenceExtent::Whole,
    })
}

fn unit(tests: &[Test]) -> Result<CheckEvidence, DemoError> {
    let text = cargo_test(tests);
    let options = ReadOptions { test_outcomes: OutcomesMode::Build, ..ReadOptions::default() };
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

/// What `cargo test` prints.
fn cargo_test(tests: &[Test]) -> String {
    let mut text =
        format!("     Running unittests src/lib.rs (target/debug/deps/widgets)\n\nrunning {} tests\n", tests.len());
    for test in tests {
        let word = if test.failure.is_some() { "FAILED" } else { "ok" };
        text += &format!("test {} ... {word}\n", test.name);
    }
    let failed: Vec<(&str, &Failing)> =
        tests.iter().filter_map(|test| Some((test.name, test.failure.as_ref()?))).collect();
    if !failed.is_empty() {
        text += "\nfailures:\n";
    }
    for (name, Failing { file, line, left, right }) in &failed {
        text += &format!(
            "\n---- {name} stdout ----\n\nthread '{name}' (1) panicked at {file}:{line}:9:\n\
             assertion `left == right` failed\n  left: {left}\n right: {right}\n\
             note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
        );
    }
    if !failed.is_empty() {
        text += "\n\nfailures:\n";
        for (name, _) in &failed {
            text += &format!("    {name}\n");
        }
    }
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    let passed = tests.len() - failed.len();
    text + &format!(
        "\ntest result: {verdict}. {passed} passed; {} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
        failed.len()
    )
}

fn zipped(evidence: &Evidence) -> Result<Vec<u8>, DemoError> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("evidence.json", SimpleFileOptions::default())?;
    zip.write_all(&serde_json::to_vec(evidence)?)?;
    Ok(zip.finish()?.into_inner())
}
