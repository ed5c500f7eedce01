//! Commands that run one failing test alone, each executed before it is told: one that runs nothing is green, and an agent
//! believes that it is done.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{
    check::{self, Job},
    command::{self, CommandLine, Ending, Interrupt},
    rerun::executed,
};
use loopgate_core::{
    evidence::{CheckEvidence, Failure, Outcome, ReproduceProof},
    failure,
    policy::REPORTS_VARIABLE,
};
use loopgate_reports::Report;

/// Failures of a check whose commands are executed.
const MOST: usize = 10;
/// The time that all of them may take together: twice that of the check, within these bounds.
const LEAST_TIME: Duration = Duration::from_secs(20);
const MOST_TIME: Duration = Duration::from_secs(120);

/// The commands that are to be executed, by the places of their failures; empty where nothing is to be proven.
pub fn to_prove(job: &Job<'_>, evidence: &CheckEvidence) -> Vec<(usize, String)> {
    if !evidence.kind.is_of_tests() || evidence.outcome != Outcome::Failed {
        return Vec::new();
    }
    let planned = &job.planned.command;
    let directory = planned.working_directory.as_deref().unwrap_or_default();
    let command = |(at, failure): (usize, &Failure)| {
        Some((at, failure::to_prove(failure, &planned.run, directory)?))
    };
    evidence
        .failures
        .iter()
        .enumerate()
        .filter_map(command)
        .collect()
}

/// Executes them, and writes down what became of each. What there is no time for stands as the check's own command.
pub async fn prove(
    job: &Job<'_>,
    evidence: &mut CheckEvidence,
    commands: Vec<(usize, String)>,
    interrupt: &Interrupt,
) {
    let took = Duration::from_millis(evidence.duration_ms);
    let deadline = Instant::now() + (took * 2).clamp(LEAST_TIME, MOST_TIME);
    let mut ran: HashMap<String, Option<Shown>> = HashMap::new();
    for (nth, (at, command)) in commands.into_iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        if !ran.contains_key(&command) {
            let may_run = nth < MOST && !left.is_zero() && !interrupt.is_cancelled();
            let shown = match may_run {
                true => Some(run(job, &command, left, interrupt.clone()).await),
                false => None,
            };
            ran.insert(command.clone(), shown);
        }
        let failure = &mut evidence.failures[at];
        let shown = ran.get(&command).and_then(Option::as_ref);
        let is_proven = shown.is_some_and(|shown| shown.fails_in(failure));
        evidence.reproduce_dropped += u64::from(shown.is_some() && !is_proven);
        failure.reproduce = Some(match is_proven {
            true => ReproduceProof::Proven,
            false => ReproduceProof::Dropped,
        });
    }
}

/// What a command showed.
struct Shown {
    has_failed: bool,
    report: Report,
    output: String,
}

impl Shown {
    /// Whether it failed in this test. Where its reporter names no tests, it says what the failure said.
    fn fails_in(&self, failure: &Failure) -> bool {
        let said = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
        let message = said(&failure.error_message);
        let name = failure.test_name.as_deref().unwrap_or_default();
        let last = name.rsplit(['>', '›', '»']).next().unwrap_or(name).trim();
        let is_it = |told: &Failure| {
            let its = told.test_name.as_deref().unwrap_or_default();
            !last.is_empty() && (its.ends_with(last) || name.ends_with(its) && !its.is_empty())
                || !message.is_empty() && said(&told.error_message) == message
        };
        let is_told = self.report.failures.iter().any(is_it)
            || self.report.failures.is_empty()
                && !message.is_empty()
                && self.output.contains(&message);
        // Alone, a test that a worker crashed in ends the process, which then names no more than the file.
        let ends_there = |unended: &Failure| {
            failure.error_message.contains(" crashed while running ")
                && unended.test_file.is_some()
                && unended.test_file == failure.test_file
        };
        let is_told = is_told || self.report.unended.as_ref().is_some_and(ends_there);
        self.has_failed && executed(self.report.results) != Some(0) && is_told
    }
}

async fn run(job: &Job<'_>, command: &str, left: Duration, interrupt: Interrupt) -> Shown {
    let planned = &job.planned.command;
    let written = tempfile::Builder::new()
        .prefix("loopgate-reports-")
        .tempdir()
        .ok();
    let mut environment = planned.environment.clone();
    if let Some(written) = &written {
        let path = written.path().to_string_lossy().into_owned();
        environment.insert(REPORTS_VARIABLE.to_owned(), path);
    }
    let timeout = planned.timeout.to_std().unwrap_or(left).min(left);
    let line = CommandLine {
        environment,
        ..CommandLine::new(command, job.root, timeout)
    };
    let options = check::read_options(planned);
    let read = move |output| loopgate_reports::joblog::read_output("output", output, &options);
    let finished = command::run(line, interrupt, read, |_| {}).await;
    let (report, kept) = finished.read.unzip();
    Shown {
        // Of what a shell cannot find or start nothing ran.
        has_failed: matches!(finished.ending, Ending::Exited(code) if !matches!(code, 0 | 126 | 127))
            || matches!(finished.ending, Ending::Signalled(_)),
        report: report.unwrap_or_default(),
        output: kept.map(|kept| kept.into_text()).unwrap_or_default(),
    }
}
