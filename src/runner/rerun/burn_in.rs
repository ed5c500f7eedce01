//! Burn-in: each test that the change adds runs several times more, alone, on the head. One that passes and fails there is
//! flaky, and named before it is merged.
//!
//! Nothing but single tests runs again: where a test cannot be chosen, that is said. All of it together takes at most a
//! quarter of the time limit of the test check, round by round, so that each test ran about as often as any other.

use std::{fs, path::Path, time::Instant};

use super::{Rerun, Trial};
use crate::runner::Interrupt;
use loopgate_core::{
    evidence::{Failure, ProofEnd, RepeatedTest, RepetitionGap},
    verdict::coverage::{Declared, new_tests},
};

/// Added tests that are run again; the evidence holds each one's result.
const MOST_TESTS: usize = 200;
/// The share of the check's time limit that all runs together may take: one in so many.
const SHARE: u32 = 4;

/// Runs each test that the change adds up to `times` more. Never fails: what did not run says why.
pub async fn burn_in(trial: &Trial<'_>, times: u32, interrupt: Interrupt) -> Vec<RepeatedTest> {
    let limit = trial.checks.iter().filter_map(|(_, check)| check.timeout.to_std().ok()).max().unwrap_or_default();
    let deadline = Instant::now() + limit / SHARE;
    let (mut tests, reruns): (Vec<RepeatedTest>, Vec<Option<Rerun>>) =
        new_tests(trial.files).iter().take(MOST_TESTS).map(|test| planned(trial, test)).unzip();
    for _ in 0..times {
        let open = tests.iter_mut().zip(&reruns).filter(|(test, _)| test.gap.is_none());
        for (test, rerun) in open.filter_map(|(test, rerun)| Some((test, rerun.as_ref()?))) {
            let timeout = deadline.saturating_duration_since(Instant::now());
            if timeout.is_zero() {
                test.gap = Some(RepetitionGap::OutOfTime);
                continue;
            }
            let (end, _) = rerun.run(trial.root, timeout, interrupt.clone()).await;
            if interrupt.is_cancelled() {
                return Vec::new();
            }
            match end {
                ProofEnd::Passed => test.runs += 1,
                ProofEnd::Failed => (test.runs, test.failed) = (test.runs + 1, test.failed + 1),
                ProofEnd::Broken if Instant::now() >= deadline => test.gap = Some(RepetitionGap::OutOfTime),
                ProofEnd::Broken => test.gap = Some(RepetitionGap::Broken),
            }
        }
    }
    tests
}

/// A test before its first run, and what runs it.
fn planned(trial: &Trial<'_>, test: &Declared<'_>) -> (RepeatedTest, Option<Rerun>) {
    let rerun = Rerun::of(trial, trial.root, |directory| Failure {
        test_name: Some(qualified(trial.root, test, directory)),
        test_file: Some(test.file.to_owned()),
        line_number: Some(test.line),
        ..Failure::default()
    });
    let command = rerun.as_ref().map(|rerun| rerun.line.shell.clone());
    let gap = command.is_none().then_some(RepetitionGap::NotAlone);
    let (name, file) = (test.name.to_owned(), test.file.to_owned());
    (RepeatedTest { test: name, file, command, runs: 0, failed: 0, gap }, rerun)
}

/// Python's tools want a test's module and class, which its declaration does not name; others find it by its name.
fn qualified(root: &Path, test: &Declared<'_>, directory: &str) -> String {
    let inside = test.file.strip_prefix(directory).unwrap_or(test.file).trim_start_matches('/');
    let Some(module) = inside.strip_suffix(".py") else { return test.name.to_owned() };
    let text = fs::read_to_string(root.join(test.file)).unwrap_or_default();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().take(test.line as usize).collect();
    let own = lines.last().map_or(0, |line| indent(line));
    let mut above = lines.iter().rev().filter(|line| indent(line) < own);
    let class = above.find_map(|line| line.trim_start().strip_prefix("class ")?.split([':', '(', ' ']).next());
    let module = module.replace('/', ".");
    [Some(module.as_str()), class, Some(test.name)].into_iter().flatten().collect::<Vec<_>>().join(".")
}
