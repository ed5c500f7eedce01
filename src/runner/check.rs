//! What a finished command is evidence of: its exit, its output and its report files together.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::{
    command::{Ending, Finished},
    coverage_files, report_files,
};
use crate::{
    core::{
        self, CheckName,
        evidence::{
            CheckEvidence, CheckKind, CheckResults, ErrorType, Failure, FileCoverage, Outcome, ReportNote,
            ReportQuality, RetryClass,
        },
        failure,
        policy::{CheckPresence, CommandCheck, EmptyTests},
        roster::Roster,
        snapshot::ChangedFiles,
    },
    reports::{self, Coverage, ReadOptions, Report, RosterMode},
};

/// Failures kept of one check; the rest are counted.
const KEPT_FAILURES: usize = 200;

/// How a check's output and reports are read.
pub fn read_options(command: &CommandCheck) -> ReadOptions {
    let pattern = command.report_pattern.as_ref().and_then(|pattern| reports::Pattern::new(pattern.as_str()).ok());
    ReadOptions { pattern, keep: KEPT_FAILURES, roster: RosterMode::Build, ..ReadOptions::default() }
}

/// The check a command was run for.
pub struct Ran<'a> {
    pub name: &'a CheckName,
    pub kind: CheckKind,
    pub presence: CheckPresence,
    pub command: &'a CommandCheck,
    /// The directory the command ran in, and the top of the repository.
    pub directory: &'a Path,
    pub root: &'a Path,
    /// Report files older than this are of an earlier run.
    pub started: SystemTime,
}

/// Turns a finished command into evidence, and the coverage its reports hold.
pub fn to_evidence(ran: &Ran<'_>, finished: Finished<Report>) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
    let mut gathered = Gathered::default();
    gather_files(ran, &mut gathered);
    gather_usual_coverage(ran, &mut gathered);
    // The output itself is a report where no file was promised: `cargo test` prints what others write down.
    if let Some(mut output) = finished.read.filter(|output| output.format.is_some() && gathered.results.is_none()) {
        gathered.add_coverage(ran, ran.directory, output.coverage.take());
        gathered.add(output);
    }
    let outcome = outcome(ran, &finished.ending, &mut gathered);
    for failure in &mut gathered.failures {
        failure.fingerprint = Some(failure::fingerprint(failure));
    }
    let coverage = gathered.coverage.take();
    if let (Some(results), Some(coverage)) = (&mut gathered.results, &coverage) {
        results.coverage_percent = core::coverage::measure(&ChangedFiles::Complete(Vec::new()), coverage).percent();
    }
    let not_kept = gathered.failures.len().saturating_sub(KEPT_FAILURES);
    gathered.failures.truncate(KEPT_FAILURES);
    let mut evidence = CheckEvidence {
        exit_code: match finished.ending {
            Ending::Exited(code) => Some(code),
            _ => None,
        },
        signal: match finished.ending {
            Ending::Signalled(signal) => Some(signal),
            _ => None,
        },
        duration_ms: millis(finished.wall),
        cpu_ms: finished.cpu.map(millis),
        peak_rss_kb: finished.peak_rss_kb,
        log_head: finished.output.head,
        log_tail: finished.output.tail,
        log_cut_bytes: finished.output.cut_bytes,
        results: gathered.results,
        reports: gathered.notes,
        failures: gathered.failures,
        failures_not_kept: gathered.failures_not_kept + not_kept as u64,
        flaky_tests: gathered.flaky_tests,
        findings: gathered.findings,
        tests: gathered.tests,
        ..CheckEvidence::bare(ran.name.clone(), ran.kind, outcome)
    };
    if outcome.is_failure() || outcome == Outcome::Cancelled {
        evidence.retry_class = Some(match outcome {
            Outcome::TimedOut => RetryClass::Logic,
            Outcome::Cancelled => RetryClass::External,
            _ => failure::retry_class(&evidence),
        });
    }
    (evidence, coverage)
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Everything the reports of a check say.
#[derive(Default)]
struct Gathered {
    results: Option<CheckResults>,
    notes: Vec<ReportNote>,
    failures: Vec<Failure>,
    failures_not_kept: u64,
    findings: Vec<crate::core::evidence::Finding>,
    tests: Option<Roster>,
    flaky_tests: Vec<String>,
    /// With paths of the repository; none without a coverage report.
    coverage: Option<Vec<FileCoverage>>,
    /// A report was cut short or malformed: a check must not pass on it.
    has_partial: bool,
}

impl Gathered {
    fn add(&mut self, report: Report) {
        self.notes.push(report.note());
        self.has_partial |= !report.is_whole;
        if let Some(results) = &report.results {
            self.results.get_or_insert_default().add(results);
        }
        self.failures.extend(report.failures);
        self.failures_not_kept += report.failures_not_kept;
        self.findings.extend(report.findings);
        let room = KEPT_FAILURES.saturating_sub(self.flaky_tests.len());
        self.flaky_tests.extend(report.flaky_tests.into_iter().take(room));
        match (&mut self.tests, report.roster) {
            (Some(tests), Some(more)) => tests.merge(more),
            (tests @ None, more) => *tests = more,
            (Some(_), None) => {}
        }
    }

    fn add_coverage(&mut self, ran: &Ran<'_>, report: &Path, coverage: Option<Coverage>) {
        let Some(coverage) = coverage else { return };
        let places = coverage_files::Places::new(ran.root, ran.directory, report, &coverage.sources);
        let files = coverage.files.into_iter().map(|file| FileCoverage { path: places.resolve(&file.path), ..file });
        self.coverage.get_or_insert_default().extend(files);
    }

    fn problem(&mut self, message: String) {
        self.failures.insert(
            0,
            Failure {
                error_type: ErrorType::Other,
                error_class: Some("report".to_owned()),
                error_message: message,
                ..Failure::default()
            },
        );
    }
}

/// Reads the report files that were promised. A promised report that is missing, old or unreadable is a problem of the
/// check, never "0 tests, passed".
fn gather_files(ran: &Ran<'_>, gathered: &mut Gathered) {
    let options = read_options(ran.command);
    for promised in &ran.command.reports {
        let found = report_files::find(promised, ran.directory, ran.root);
        let (fresh, old): (Vec<PathBuf>, Vec<PathBuf>) =
            found.into_iter().partition(|path| report_files::is_newer(path, ran.started));
        if fresh.is_empty() {
            let message = match old.first() {
                None => format!("the report `{promised}` was promised and is not there"),
                Some(path) => format!(
                    "the report `{}` is older than this run: the command did not write it",
                    shown(path, ran.root)
                ),
            };
            let note = ReportNote {
                path: promised.clone(),
                format: None,
                quality: ReportQuality::Invalid,
                notes: vec![message.clone()],
            };
            gathered.notes.push(note);
            gathered.problem(message);
        }
        for path in fresh {
            let mut report = reports::read_file(&path, &options);
            report.path = shown(&path, ran.root);
            if report.quality == ReportQuality::Invalid {
                let reason = report.notes.first().cloned().unwrap_or_else(|| "it is in no known format".to_owned());
                gathered.problem(format!("the report `{}` cannot be read: {reason}", report.path));
            }
            gathered.add_coverage(ran, &path, report.coverage.take());
            gathered.add(report);
        }
    }
}

/// A coverage report that was not promised is read from where the tools usually put it. What is wrong with one costs
/// nothing: nobody relied on it.
fn gather_usual_coverage(ran: &Ran<'_>, gathered: &mut Gathered) {
    let measures = matches!(ran.kind, CheckKind::Test | CheckKind::Integration | CheckKind::Coverage);
    if !measures || gathered.coverage.is_some() {
        return;
    }
    let options = ReadOptions { keep: 0, ..ReadOptions::default() };
    for path in coverage_files::usual(ran.directory, |path| report_files::is_newer(path, ran.started)) {
        let mut report = reports::read_file(&path, &options);
        if report.is_whole && report.coverage.is_some() {
            gathered.add_coverage(ran, &path, report.coverage.take());
            report.path = shown(&path, ran.root);
            gathered.notes.push(report.note());
        }
    }
}

fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

fn outcome(ran: &Ran<'_>, ending: &Ending, gathered: &mut Gathered) -> Outcome {
    match ending {
        Ending::TimedOut => return Outcome::TimedOut,
        Ending::Interrupted => return Outcome::Cancelled,
        Ending::NotStarted(reason) => {
            gathered.problem(format!("`{}` could not be started: {reason}", ran.command.run));
            return Outcome::Failed;
        }
        Ending::Exited(0) => {}
        Ending::Exited(_) | Ending::Signalled(_) => return Outcome::Failed,
    }
    let is_test = matches!(ran.kind, CheckKind::Test | CheckKind::Integration);
    let promised_broken = gathered.failures.iter().any(|failure| failure.error_class.as_deref() == Some("report"));
    if promised_broken || gathered.has_partial || is_test && !gathered.failures.is_empty() {
        return Outcome::Failed;
    }
    let executed = gathered.results.map(|results| results.total);
    let may_be_empty = ran.command.empty_tests == EmptyTests::Allow || ran.presence == CheckPresence::Detected;
    if is_test && executed == Some(0) && !may_be_empty {
        return Outcome::NoTestsExecuted;
    }
    Outcome::Passed
}
