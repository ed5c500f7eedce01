//! One check from its start to its evidence: again where something outside fails it. Before an attempt is spent its few
//! failing tests run once more on the same commit: one that passes now is flaky.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tempfile::TempDir;

use super::{
    check::{self, Job, Planned},
    command::{self, CommandLine, Interrupt},
    reproduction, rerun,
};
use loopgate_core::{
    CheckName,
    evidence::{
        CheckEvidence, CheckResults, Failure, FileCoverage, Outcome, OutcomesExtent, RetryClass,
        TestOutcome, TestOutcomes, TestState,
    },
    failure::{self, Changes, ExaminedFailure},
    policy::{CommandCheck, FlakyTests, REPORTS_VARIABLE, Waits},
    source_files::language_of,
};
use loopgate_git::Git;

/// Called with what happens to a check, as it happens; from several threads at once.
pub type Observer = Arc<dyn Fn(&CheckName, CheckEvent<'_>) + Send + Sync>;

/// What happens to a check.
#[derive(Debug)]
pub enum CheckEvent<'a> {
    Started,
    /// Its failing tests, so many, are run once more, to find flaky ones.
    Again(usize),
    /// So many commands that run a failing test alone are executed, so that none is told that runs nothing.
    Proving(usize),
    /// It failed for reasons outside the code, and runs for the `nth` time again after a wait.
    Repeating(u32, Duration),
    Output(&'a [u8]),
    Ended(&'a CheckEvidence),
}

/// Runs it to its evidence, and to the coverage it reported.
pub async fn execute(
    name: CheckName,
    planned: Planned,
    git: Git,
    repeats: Waits,
    interrupt: Interrupt,
    observer: Observer,
) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
    let root = git.directory();
    let directory = planned
        .command
        .working_directory
        .as_ref()
        .map_or_else(|| root.to_owned(), |inner| root.join(inner));
    let job = Job {
        name: &name,
        planned: &planned,
        git: &git,
        root,
        directory: &directory,
    };
    let (mut evidence, coverage) = job.run_repeatedly(repeats, &interrupt, &observer).await;
    if let Some(again) = worth_another_run(&evidence, &planned.command)
        && !interrupt.is_cancelled()
    {
        observer(&name, CheckEvent::Again(evidence.failures.len()));
        // The second run writes its reports where the first did; those are the ones that people upload.
        let kept = kept_reports(&evidence, root);
        let (second, _) = job.run(&again, interrupt.clone(), &observer).await;
        for (path, bytes) in kept {
            // What cannot be put back is as the second run left it, which is true as well.
            let _ = fs::write(path, bytes);
        }
        settle(&mut evidence, &second);
    }
    let commands = reproduction::to_prove(&job, &evidence);
    if !commands.is_empty() && !interrupt.is_cancelled() {
        observer(&name, CheckEvent::Proving(commands.len()));
        let kept = kept_reports(&evidence, root);
        reproduction::prove(&job, &mut evidence, commands, &interrupt).await;
        for (path, bytes) in kept {
            let _ = fs::write(path, bytes);
        }
    }
    if planned.command.flaky == FlakyTests::Pass {
        forget_flaky(&mut evidence);
    }
    (evidence, coverage)
}

/// A pass on another try is a pass as any: nothing says that it was one.
fn forget_flaky(evidence: &mut CheckEvidence) {
    evidence.flaky_tests.clear();
    if let Some(results) = &mut evidence.results {
        results.flaky = 0;
    }
}

impl Job<'_> {
    /// The directory in which the tool starts, where its command goes first.
    pub fn tool_directory(&self) -> PathBuf {
        let command = &self.planned.command;
        let directory = command.working_directory.as_deref().unwrap_or_default();
        self.root
            .join(failure::tool_directory(&command.run, directory))
    }

    /// Runs it, and again while it fails for reasons outside the code. The last run counts.
    async fn run_repeatedly(
        &self,
        repeats: Waits,
        interrupt: &Interrupt,
        observer: &Observer,
    ) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
        let (shell, began) = (&self.planned.command.run, Instant::now());
        let mut ran = self.run(shell, interrupt.clone(), observer).await;
        for tries in 0..repeats.times {
            let wait = repeats.after(tries).to_std().unwrap_or_default();
            let lacks_program = |failure: &Failure| {
                ExaminedFailure::new(failure, &Changes::default())
                    .conclusion
                    .missing_program
            };
            // It failed through a service, the network or the machine, as its output shows.
            let may_pass_later = ran.0.outcome == Outcome::Failed
                && ran.0.retry_class == Some(RetryClass::External)
                && !ran.0.failures.iter().any(lacks_program);
            let in_time = began.elapsed() + wait < self.timeout();
            if !may_pass_later || !in_time || interrupt.is_cancelled() {
                break;
            }
            observer(self.name, CheckEvent::Repeating(tries + 1, wait));
            if interrupt
                .run_until_cancelled(tokio::time::sleep(wait))
                .await
                .is_none()
            {
                break;
            }
            ran = self.run(shell, interrupt.clone(), observer).await;
        }
        ran
    }

    fn timeout(&self) -> Duration {
        self.planned
            .command
            .timeout
            .to_std()
            .unwrap_or(Duration::from_secs(120))
    }

    async fn run(
        &self,
        shell: &str,
        interrupt: Interrupt,
        observer: &Observer,
    ) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
        let command = &self.planned.command;
        // A new, empty directory; where nothing can be written, the command fails by itself where it needs it.
        let written = tempfile::Builder::new()
            .prefix("loopgate-reports-")
            .tempdir()
            .ok();
        let mut environment = command.environment.clone();
        if let Some(written) = &written {
            environment.insert(
                REPORTS_VARIABLE.to_owned(),
                written.path().to_string_lossy().into_owned(),
            );
        }
        let line = CommandLine {
            environment,
            ..CommandLine::new(shell, self.directory, self.timeout())
        };
        let options = check::read_options(command);
        let verbose = command.verbose;
        let started = SystemTime::now();
        let (shown, watched, observer) = (
            format!("output of {}", self.name),
            self.name.clone(),
            Arc::clone(observer),
        );
        let finished = command::run(
            line,
            interrupt,
            move |output| loopgate_reports::joblog::read_output(&shown, output, &options),
            move |bytes| {
                if verbose {
                    observer(&watched, CheckEvent::Output(bytes));
                }
            },
        )
        .await;
        check::to_evidence(self, written.as_ref().map(TempDir::path), started, finished)
    }
}

/// More failing tests than these are no flakiness.
const MOST_TESTS: usize = 10;
/// Bytes of report files kept aside for the time of the second run.
const MOST_BYTES: u64 = 64 << 20;

/// The command that runs the failing tests once more; none where they are not known one by one, or too many.
fn worth_another_run(evidence: &CheckEvidence, command: &CommandCheck) -> Option<String> {
    let may_pass_later = evidence.kind.is_of_tests()
        && evidence.outcome == Outcome::Failed
        && command.flaky != FlakyTests::Fail;
    let suspects = suspects(evidence).filter(|_| may_pass_later)?;
    failure::rerun(&command.run, &suspects)
}

/// The failing tests, where each is known by a name that no other test of the run has; where none fails, those that
/// failed and passed in the one run of a tool that repeats them itself and fails all the same. A file that fails as a
/// whole is no test: by its name nothing of it is chosen.
fn suspects(evidence: &CheckEvidence) -> Option<Vec<Failure>> {
    let is_known = |failure: &Failure| {
        let listed = failure
            .test_id
            .zip(evidence.tests.as_ref())
            .and_then(|(id, tests)| tests.state(id));
        let is_test = |name: &String| language_of(name).is_none();
        failure.test_name.as_ref().is_some_and(is_test) && listed.is_some_and(TestState::is_failure)
    };
    let is_namesake = |(tests, results): (&TestOutcomes, CheckResults)| {
        tests.is_whole() && (tests.len() as u64) < results.total
    };
    let named = |name: &String| Failure {
        test_name: Some(name.clone()),
        ..Failure::default()
    };
    let no_test_fails = evidence
        .results
        .is_some_and(|results| results.failed + results.errors == 0);
    let suspects: Vec<Failure> =
        match no_test_fails && evidence.failures.iter().all(|one| one.test_id.is_none()) {
            true => evidence.flaky_tests.iter().map(named).collect(),
            false => evidence
                .failures
                .clone()
                .into_iter()
                .take_while(is_known)
                .collect(),
        };
    let are_all = no_test_fails || suspects.len() == evidence.failures.len();
    let few = (1..=MOST_TESTS).contains(&suspects.len()) && evidence.failures_not_kept == 0;
    let have_namesakes = evidence
        .tests
        .as_ref()
        .zip(evidence.results)
        .is_some_and(is_namesake);
    (are_all && few && !have_namesakes).then_some(suspects)
}

/// Puts what the second run showed into the evidence of the first: any success makes a test pass, as a flaky one. Where
/// nothing but flaky tests failed, and the second run as a whole passed, the check passed; where that failed in another
/// way, its failures stay, with the tests known as flaky.
///
/// A test has passed where the second run lists it as passed. One that lists no test has passed them where it ran so
/// many and ended with 0. Where it lists others, the choice met those: node:test counts a file in which nothing was
/// chosen as a test that passes.
fn settle(evidence: &mut CheckEvidence, second: &CheckEvidence) {
    let Some(suspects) = suspects(evidence) else {
        return;
    };
    let names: BTreeSet<Option<&str>> = suspects
        .iter()
        .map(|failure| failure.test_name.as_deref())
        .collect();
    let exactly = rerun::executed(second.results) == u64::try_from(names.len()).ok();
    let lists_none = second.tests.as_ref().is_none_or(TestOutcomes::is_empty);
    let passes_whole = exactly && lists_none && second.outcome == Outcome::Passed;
    let is_green = |id| {
        let state = second.tests.as_ref().and_then(|again| again.state(id));
        matches!(state, Some(TestState::Passed | TestState::Flaky))
    };
    let passes = |failure: &Failure| passes_whole || failure.test_id.is_some_and(is_green);
    let (flaky, stay): (Vec<Failure>, Vec<Failure>) = suspects.into_iter().partition(passes);
    if flaky.is_empty() {
        return;
    }
    let known: BTreeSet<String> = evidence.flaky_tests.iter().cloned().collect();
    let new = flaky
        .iter()
        .filter_map(|failure| failure.test_name.clone())
        .filter(|name| !known.contains(name));
    evidence.flaky_tests.extend(new);
    if stay.is_empty() && second.outcome != Outcome::Passed {
        return;
    }
    let states = flaky
        .iter()
        .filter_map(|failure| Some(TestOutcome::new(failure.test_id?, TestState::Passed)));
    if let Some(tests) = &mut evidence.tests {
        tests.merge(TestOutcomes::new(states.collect(), OutcomesExtent::Whole));
    }
    if let Some(results) = &mut evidence.results {
        let (failed, errors) = (results.failed, results.errors);
        let count = (flaky.len() as u64).min(failed + errors);
        results.failed = failed.saturating_sub(count);
        results.errors = errors.saturating_sub(count.saturating_sub(failed));
        results.passed += count;
        results.flaky = (results.flaky + count).max(evidence.flaky_tests.len() as u64);
    }
    if stay.is_empty() {
        evidence.outcome = Outcome::Passed;
        evidence.first_exit_code = std::mem::replace(&mut evidence.exit_code, second.exit_code);
        evidence.retry_class = None;
    }
    evidence.failures = stay;
}

/// Copies of report files.
fn kept_reports(evidence: &CheckEvidence, root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut room = MOST_BYTES;
    let files = evidence.reports.iter().filter_map(|report| {
        let path = root.join(&report.path);
        room = room.checked_sub(path.metadata().ok().filter(fs::Metadata::is_file)?.len())?;
        let bytes = fs::read(&path).ok()?;
        Some((path, bytes))
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::evidence::{CheckKind, TestId};

    fn id(name: &str) -> TestId {
        TestId::of("", "", name)
    }

    fn check(outcome: Outcome, failing: &[&str], passing: &[&str]) -> CheckEvidence {
        let mut check = CheckEvidence::bare("unit".parse().unwrap(), CheckKind::Test, outcome);
        let entry = |state| move |name: &&str| TestOutcome::new(id(name), state);
        let failed = failing.iter().map(entry(TestState::Failed));
        let entries = failed
            .chain(passing.iter().map(entry(TestState::Passed)))
            .collect();
        check.tests = Some(TestOutcomes::new(entries, OutcomesExtent::Whole));
        check.failures = failing
            .iter()
            .map(|name| Failure {
                test_name: Some((*name).to_owned()),
                test_id: Some(id(name)),
                ..Failure::default()
            })
            .collect();
        let (failed, passed) = (failing.len() as u64, passing.len() as u64);
        check.results = Some(CheckResults {
            total: failed + passed,
            failed,
            passed,
            ..CheckResults::default()
        });
        check
    }

    fn counts(check: &CheckEvidence) -> (u64, u64, u64) {
        let results = check.results.unwrap();
        (results.passed, results.failed, results.flaky)
    }

    #[test]
    fn only_a_few_failing_tests_that_are_known_run_again() {
        let again =
            |check: &CheckEvidence| worth_another_run(check, &CommandCheck::new("cargo test"));
        let failed = check(Outcome::Failed, &["a"], &["b"]);
        assert_eq!(again(&failed).as_deref(), Some("cargo test -- --exact a"));
        let many: Vec<String> = (0..11).map(|n| format!("t{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(again(&check(Outcome::Failed, &many, &[])), None);
        assert_eq!(again(&check(Outcome::TimedOut, &["a"], &[])), None);
        assert_eq!(
            again(&CheckEvidence {
                failures_not_kept: 1,
                ..failed.clone()
            }),
            None
        );
        assert_eq!(
            again(&CheckEvidence {
                kind: CheckKind::Lint,
                ..failed.clone()
            }),
            None
        );
        // Two tests bear a name, and a file is none.
        let mut namesakes = failed.clone();
        namesakes.results.as_mut().unwrap().total += 1;
        assert_eq!(again(&namesakes), None);
        let file = check(Outcome::Failed, &["late.test.cjs"], &["b"]);
        assert_eq!(again(&file), None);
        let mut report_missing = failed;
        report_missing.failures.push(Failure::default());
        assert_eq!(again(&report_missing), None);
    }

    #[test]
    fn a_test_that_passes_the_second_time_is_flaky() {
        let mut first = check(Outcome::Failed, &["a", "b"], &["c"]);
        settle(&mut first, &check(Outcome::Passed, &[], &["a", "b"]));
        assert_eq!(
            (first.outcome, counts(&first), first.failures.len()),
            (Outcome::Passed, (3, 0, 2), 0)
        );
        assert_eq!(first.flaky_tests, ["a", "b"]);
        assert_eq!(first.tests.unwrap().state(id("a")), Some(TestState::Flaky));

        let mut first = check(Outcome::Failed, &["a", "b"], &["c"]);
        settle(&mut first, &check(Outcome::Failed, &["b"], &["a"]));
        assert_eq!(
            (first.outcome, counts(&first), first.failures.len()),
            (Outcome::Failed, (2, 1, 1), 1)
        );
        assert_eq!(first.flaky_tests, ["a"]);
    }

    #[test]
    fn a_second_run_of_exactly_these_tests_that_ends_well_passed_them() {
        let mut first = check(Outcome::Failed, &["a", "b"], &["c"]);
        let mut second = check(Outcome::Passed, &[], &["x", "y"]);
        second.tests = None;
        (first.exit_code, second.exit_code) = (Some(1), Some(0));
        settle(&mut first, &second);
        assert_eq!((first.exit_code, first.first_exit_code), (Some(0), Some(1)));
        assert_eq!(
            (first.outcome, counts(&first)),
            (Outcome::Passed, (3, 0, 2))
        );
        assert_eq!(first.flaky_tests, ["a", "b"]);
    }

    #[test]
    fn a_second_run_that_says_nothing_changes_nothing() {
        let first = check(Outcome::Failed, &["a"], &["b"]);
        for second in [
            check(Outcome::Passed, &[], &[]),
            check(Outcome::Passed, &[], &["other", "more"]),
            // So many as were chosen, and another one.
            check(Outcome::Passed, &[], &["a.test.js"]),
            check(Outcome::Failed, &["a"], &[]),
        ] {
            let mut settled = first.clone();
            settle(&mut settled, &second);
            assert_eq!(settled, first);
        }
        // The tests pass, and the command fails for another reason: that stays a failure.
        let mut settled = first.clone();
        settle(&mut settled, &check(Outcome::Failed, &[], &["a"]));
        assert_eq!(
            (settled.outcome, settled.failures.len()),
            (Outcome::Failed, 1)
        );
        assert_eq!(settled.flaky_tests, ["a"]);
    }

    #[test]
    fn reports_of_the_first_run_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("junit.xml");
        fs::write(&path, "first").unwrap();
        let mut evidence = check(Outcome::Failed, &["a"], &[]);
        evidence.reports = vec![loopgate_core::evidence::ReportNote {
            path: "junit.xml".to_owned(),
            format: None,
            quality: loopgate_core::evidence::ReportQuality::Valid,
            notes: Vec::new(),
        }];
        assert_eq!(
            kept_reports(&evidence, folder.path()),
            [(path, b"first".to_vec())]
        );
    }
}
