//! One check from its start to its evidence: again where something outside fails it, and its few failing tests once
//! more.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tempfile::TempDir;

use super::{
    check::{self, Job},
    command::{self, CommandLine},
    interrupt::Interrupt,
    observer::Observer,
    plan::Planned,
    report_files, rerun,
};
use loopgate_core::{
    CheckName,
    evidence::{CheckEvidence, Failure, FileCoverage, Outcome, RetryClass},
    failure::{Changes, ExaminedFailure},
    policy::{REPORTS_VARIABLE, Waits},
};

/// Runs it to its evidence, and to the coverage it reported.
pub async fn execute(
    name: CheckName,
    planned: Planned,
    root: PathBuf,
    repeats: Waits,
    interrupt: Interrupt,
    observer: Arc<dyn Observer>,
) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
    let directory = planned.command.working_directory.as_ref().map_or_else(|| root.clone(), |inner| root.join(inner));
    let job = Job { name: &name, planned: &planned, root: &root, directory: &directory };
    let (mut evidence, coverage) = job.run_repeatedly(repeats, &interrupt, &observer).await;
    if let Some(again) = rerun::worth_another_run(&evidence, &planned.command)
        && !interrupt.is_cancelled()
    {
        observer.again(&name, evidence.failures.len());
        // The second run writes its reports where the first did; those are the ones that people upload.
        let kept = rerun::KeptReports::of(&evidence, &root);
        let (second, _) = job.run(&again, interrupt, &observer).await;
        drop(kept);
        rerun::settle(&mut evidence, &second);
    }
    (evidence, coverage)
}

/// Whether a check failed through a service, the network or the machine, as its output shows.
fn may_pass_later(evidence: &CheckEvidence) -> bool {
    let lacks_program = |failure: &Failure| ExaminedFailure::new(failure, &Changes::default()).lacks_program();
    evidence.outcome == Outcome::Failed
        && evidence.retry_class == Some(RetryClass::External)
        && !evidence.failures.iter().any(lacks_program)
}

impl Job<'_> {
    /// Runs it, and again while it fails for reasons outside the code. The last run counts.
    async fn run_repeatedly(
        &self,
        repeats: Waits,
        interrupt: &Interrupt,
        observer: &Arc<dyn Observer>,
    ) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
        let (shell, began) = (&self.planned.command.run, Instant::now());
        let mut ran = self.run(shell, interrupt.clone(), observer).await;
        for tries in 0..repeats.times {
            let wait = repeats.after(tries).to_std().unwrap_or_default();
            let in_time = began.elapsed() + wait < self.timeout();
            if !may_pass_later(&ran.0) || !in_time || interrupt.is_cancelled() {
                break;
            }
            observer.repeating(self.name, tries + 1, wait);
            if interrupt.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                break;
            }
            ran = self.run(shell, interrupt.clone(), observer).await;
        }
        ran
    }

    fn timeout(&self) -> Duration {
        self.planned.command.timeout.to_std().unwrap_or(Duration::from_secs(120))
    }

    async fn run(
        &self,
        shell: &str,
        interrupt: Interrupt,
        observer: &Arc<dyn Observer>,
    ) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
        let command = &self.planned.command;
        let written = report_files::directory();
        let mut environment = command.environment.clone();
        if let Some(written) = &written {
            environment.insert(REPORTS_VARIABLE.to_owned(), written.path().to_string_lossy().into_owned());
        }
        let line = CommandLine { environment, ..CommandLine::new(shell, self.directory, self.timeout()) };
        let options = check::read_options(command);
        let verbose = command.verbose;
        let started = SystemTime::now();
        let (shown, watched, observer) = (format!("output of {}", self.name), self.name.clone(), Arc::clone(observer));
        let finished = command::run(
            line,
            interrupt,
            move |output| loopgate_reports::joblog::read_output(&shown, output, &options),
            move |bytes| {
                if verbose {
                    observer.output(&watched, bytes);
                }
            },
        )
        .await;
        let ran = check::Ran { job: *self, written: written.as_ref().map(TempDir::path), started };
        check::to_evidence(&ran, finished)
    }
}
