//! Burn-in: each test that the change adds runs several times more, alone, on the head. One that passes and fails there is
//! flaky, and named before it is merged.
//!
//! Nothing but single tests runs again: where a test cannot be chosen, that is said. All of it together takes at most a
//! quarter of the time limit of the test check, round by round, so that each test ran about as often as any other.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{Single, Trial};
use crate::runner::{
    command::{self, CommandLine, Ending},
    interrupt::Interrupt,
};
use loopgate_core::{
    evidence::{CheckKind, Failure, ProofEnd, RepeatedTest, RepetitionGap, framework_of},
    failure::{self, CheckContext},
    verdict::coverage::{Declared, new_tests},
};
use loopgate_reports::ReadOptions;

/// Added tests that are looked at; the evidence says of each what became of it.
const MOST_TESTS: usize = 200;
/// The share of the check's time limit that all runs together may take: one in so many.
const SHARE: u32 = 4;

/// Runs each test that the change adds up to `times` more. Never fails: what did not run says why.
pub async fn burn_in(trial: &Trial<'_>, times: u32, interrupt: Interrupt) -> Vec<RepeatedTest> {
    let limit = trial.checks.iter().filter_map(|(_, check)| check.timeout.to_std().ok()).max().unwrap_or_default();
    let deadline = Instant::now() + limit / SHARE;
    let (mut tests, lines): (Vec<RepeatedTest>, Vec<Option<CommandLine>>) =
        new_tests(trial.files).iter().take(MOST_TESTS).map(|test| planned(trial, test)).unzip();
    for _ in 0..times {
        for (test, line) in tests.iter_mut().zip(&lines).filter(|(test, _)| test.gap.is_none()) {
            let timeout = deadline.saturating_duration_since(Instant::now());
            let end = match line {
                Some(line) if !timeout.is_zero() => {
                    once(CommandLine { timeout, ..line.clone() }, &test.test, interrupt.clone()).await
                }
                _ => Err(RepetitionGap::OutOfTime),
            };
            if interrupt.is_interrupted() {
                return Vec::new();
            }
            match end {
                Ok(end) => (test.runs, test.failed) = (test.runs + 1, test.failed + u32::from(end == ProofEnd::Failed)),
                Err(gap) => test.gap = Some(gap),
            }
        }
    }
    tests
}

/// A test before its first run, and what runs it: the tool of the first check that takes such a choice, else the one that
/// its file is known by, since a script of a package hides what it calls.
fn planned(trial: &Trial<'_>, test: &Declared<'_>) -> (RepeatedTest, Option<CommandLine>) {
    let own = trial.checks.iter().map(|(name, check)| {
        (check.run.clone(), PathBuf::from(check.working_directory.as_deref().unwrap_or_default()), *name, *check)
    });
    let of_file = trial.checks.first().zip(Single::of(trial, test.file));
    let of_file = of_file.map(|((name, check), single)| (single.shell, single.directory, *name, *check));
    let found = own.chain(of_file).find_map(|(run, directory, name, check)| {
        let (command, directory) = (Some(run.as_str()), directory.to_str());
        let framework = command.map(framework_of);
        let context = CheckContext { name, kind: CheckKind::Test, framework, command, directory };
        let test = Failure {
            test_name: Some(qualified(trial.root, test, directory.unwrap_or_default())),
            test_file: Some(test.file.to_owned()),
            line_number: Some(test.line),
            ..Failure::default()
        };
        let line = CommandLine::new(failure::alone(&test, &context)?, trial.root, Duration::ZERO);
        Some(CommandLine { environment: check.environment.clone(), ..line })
    });
    let (command, gap) = match &found {
        Some(line) => (Some(line.shell.clone()), None),
        None => (None, Some(RepetitionGap::NotAlone)),
    };
    let (name, file) = (test.name.to_owned(), test.file.to_owned());
    (RepeatedTest { test: name, file, command, runs: 0, failed: 0, gap }, found)
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

/// One run of one test. A failure counts where the output names the test among those that failed: a build that broke, or a
/// tool that is not there, is none.
async fn once(line: CommandLine, name: &str, interrupt: Interrupt) -> Result<ProofEnd, RepetitionGap> {
    let read = |output| loopgate_reports::read("output", output, &ReadOptions::default());
    let finished = command::run(line, interrupt, read, |_| {}).await;
    let report = finished.read.ok_or(RepetitionGap::Broken)?;
    let executed = report.results.map(|results| results.total.saturating_sub(results.skipped));
    let fails = |failure: &Failure| failure.test_name.as_deref().is_some_and(|test| test.contains(name));
    match finished.ending {
        Ending::TimedOut => Err(RepetitionGap::OutOfTime),
        Ending::Exited(0) if executed != Some(0) => Ok(ProofEnd::Passed),
        Ending::Exited(1..) if report.failures.iter().any(fails) => Ok(ProofEnd::Failed),
        _ => Err(RepetitionGap::Broken),
    }
}
