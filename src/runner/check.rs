//! What a finished command is evidence of: its exit, its output and its report files together.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use chrono::SubsecRound as _;

use super::{
    command::{Ending, Finished},
    places::{self, Places},
    plan::Planned,
    report_files,
};
use loopgate_core::{
    self, CheckName, Timestamp,
    evidence::{
        CheckEvidence, CheckKind, ErrorType, Failure, FileCoverage, Outcome, ReportNote, ReportQuality, RetryClass,
    },
    failure,
    observed::ChangedFiles,
    policy::{CommandCheck, REPORTS_VARIABLE},
};
use loopgate_reports::{
    self, Coverage, Pattern, PatternError, ReadOptions, Report,
    joblog::{self, Kept},
};

/// Failures kept of one check; the rest are counted.
const KEPT_FAILURES: usize = 200;

/// How a check's output is read.
pub fn read_options(command: &CommandCheck) -> ReadOptions {
    ReadOptions { pattern: pattern(command).and_then(Result::ok), ..file_options() }
}

/// How report files are read: as what they are. Only one in no known format is read with the check's expression.
fn file_options() -> ReadOptions {
    ReadOptions { keep: KEPT_FAILURES, test_outcomes: true, ..ReadOptions::default() }
}

fn pattern(command: &CommandCheck) -> Option<Result<Pattern, PatternError>> {
    command.report_pattern.as_ref().map(|pattern| Pattern::new(pattern.as_str()))
}

/// One check, to be run once or more.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub name: &'a CheckName,
    pub planned: &'a Planned,
    /// The top of the repository, and the directory the command runs in.
    pub root: &'a Path,
    pub directory: &'a Path,
}

/// A check whose command has ended.
pub struct Ran<'a> {
    pub job: Job<'a>,
    /// Every file in it is a report that this run has written; none if no such directory could be made.
    pub written: Option<&'a Path>,
    /// Report files older than this are of an earlier run.
    pub started: SystemTime,
}

/// Turns a finished command into evidence, and the coverage its reports hold.
pub fn to_evidence(ran: &Ran<'_>, finished: Finished<(Report, Kept)>) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
    let (kind, command) = (ran.job.planned.kind, &ran.job.planned.command);
    let bare = CheckEvidence::bare(ran.job.name.clone(), kind, Outcome::Passed);
    let mut gathered = Gathered { evidence: bare, problems: Vec::new(), coverage: None, has_partial: false };
    if let Some(written) = ran.written {
        for path in report_files::find("**/*", written, written) {
            let name = format!("${REPORTS_VARIABLE}/{}", shown(&path, written));
            gathered.read(ran, &path, name);
        }
    }
    gather_promised(ran, &mut gathered);
    gather_usual_coverage(ran, &mut gathered);
    if let Some(Err(error)) = pattern(command) {
        gathered.problem(format!("`report_pattern` cannot be used: {error}"));
    }
    let (report, kept) = finished.read.unzip();
    let job = joblog::Job { name: ran.job.name.as_str(), ..joblog::Job::default() };
    let kept = kept.filter(|_| finished.ending != Ending::Exited(0));
    let mut log = kept.map(|kept| job.read(kept, None, &read_options(command)));
    let of_step = log.as_mut().and_then(|log| log.report.take());
    // The output itself is a report where no file was promised: `cargo test` prints what others write down.
    let report = of_step.or(report).filter(|output| output.format.is_some() && gathered.evidence.results.is_none());
    if let Some(mut output) = report {
        gathered.add_coverage(ran, ran.job.directory, output.coverage.take());
        gathered.add(output);
    }
    let outcome = outcome(ran, &finished.ending, &mut gathered);
    let Gathered { mut evidence, problems, coverage, .. } = gathered;
    let has_ended_well = finished.ending == Ending::Exited(0);
    if outcome == Outcome::Failed && evidence.failures.is_empty() && !has_ended_well {
        evidence.failures.extend(log.as_mut().and_then(|log| log.failure.take()));
    }
    // A command that failed by itself says why. That its report is missing then adds nothing.
    if has_ended_well || evidence.failures.is_empty() {
        evidence.failures.splice(0..0, problems);
    }
    let places = Places::new(ran.job.root, ran.job.directory, ran.job.directory, &[]);
    for failure in &mut evidence.failures {
        failure.error_type = type_in(kind, failure.error_type);
        places.settle(failure);
        failure.fingerprint = Some(failure::fingerprint(failure));
    }
    let found = evidence.findings.iter_mut().filter_map(|finding| finding.location.as_mut());
    found.for_each(|at| at.file = places.resolve(&at.file));
    if let (Some(results), Some(coverage)) = (&mut evidence.results, &coverage) {
        results.coverage_percent =
            loopgate_core::verdict::coverage::measure(&ChangedFiles::Complete(Vec::new()), coverage).percent();
    }
    evidence.failures_not_kept += evidence.failures.len().saturating_sub(KEPT_FAILURES) as u64;
    evidence.failures.truncate(KEPT_FAILURES);
    let (exit_code, signal) = match finished.ending {
        Ending::Exited(code) => (Some(code), None),
        Ending::Signalled(signal) => (None, Some(signal)),
        _ => (None, None),
    };
    let mut evidence = CheckEvidence {
        outcome,
        exit_code,
        signal,
        started_at: Some(Timestamp::from(ran.started).trunc_subsecs(3)),
        duration_ms: millis(finished.wall),
        cpu_ms: finished.cpu.map(millis),
        peak_rss_kb: finished.peak_rss_kb,
        log_head: finished.output.head,
        log_tail: finished.output.tail,
        log_cut_bytes: finished.output.cut_bytes,
        excerpts: log.filter(|_| outcome.is_failure()).map(|log| log.excerpt).into_iter().collect(),
        ..evidence
    };
    if evidence.has_unread_tests() {
        evidence.reports.push(unread(ran.job.name));
    }
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

/// A test check about whose single tests nothing is known, said where people look.
fn unread(name: &CheckName) -> ReportNote {
    let note = format!(
        "no per-test results read: the output is in no known format; let the command write JUnit XML into the \
         directory `${REPORTS_VARIABLE}`, or name its report under `report:`"
    );
    ReportNote {
        path: format!("output of {name}"),
        format: None,
        quality: ReportQuality::SubOptimal,
        notes: vec![note],
    }
}

const fn is_test(kind: CheckKind) -> bool {
    matches!(kind, CheckKind::Test | CheckKind::Integration)
}

/// A compiler's findings in plain text read like a linter's; the check's kind distinguishes them.
const fn type_in(kind: CheckKind, error_type: ErrorType) -> ErrorType {
    match (kind, error_type) {
        (CheckKind::Build | CheckKind::Types, ErrorType::LintError | ErrorType::Other) => ErrorType::CompileError,
        (CheckKind::Lint, ErrorType::Other) => ErrorType::LintError,
        (_, error_type) => error_type,
    }
}

/// Everything the reports of a check say.
struct Gathered {
    evidence: CheckEvidence,
    /// What is wrong with the check's reports, or kept it from starting: a check does not pass with any.
    problems: Vec<Failure>,
    /// With paths of the repository; none without a coverage report.
    coverage: Option<Vec<FileCoverage>>,
    /// A report was cut short or malformed: a check must not pass on it.
    has_partial: bool,
}

impl Gathered {
    fn add(&mut self, report: Report) {
        self.has_partial |= !report.is_whole;
        let evidence = &mut self.evidence;
        evidence.reports.push(report.note());
        if let Some(results) = &report.results {
            evidence.results.get_or_insert_default().add(results);
        }
        for failure in report.failures {
            // Some tools say a compile error twice, the second time in their summary.
            let is_repeated = failure.test_id.is_none() && evidence.failures.contains(&failure);
            if !is_repeated {
                evidence.failures.push(failure);
            }
        }
        evidence.failures_not_kept += report.failures_not_kept;
        evidence.findings.extend(report.findings);
        let room = KEPT_FAILURES.saturating_sub(evidence.flaky_tests.len());
        evidence.flaky_tests.extend(report.flaky_tests.into_iter().take(room));
        match (&mut evidence.tests, report.test_outcomes) {
            (Some(tests), Some(more)) => tests.merge(more),
            (tests @ None, more) => *tests = more,
            (Some(_), None) => {}
        }
    }

    fn add_coverage(&mut self, ran: &Ran<'_>, report: &Path, coverage: Option<Coverage>) {
        let Some(coverage) = coverage else { return };
        let places = Places::new(ran.job.root, ran.job.directory, report, &coverage.sources);
        let files = coverage.files.into_iter().map(|file| FileCoverage { path: places.resolve(&file.path), ..file });
        self.coverage.get_or_insert_default().extend(files);
    }

    fn problem(&mut self, message: String) {
        self.problems.push(Failure {
            error_type: ErrorType::Other,
            error_class: Some("report".to_owned()),
            error_message: message,
            ..Failure::default()
        });
    }

    /// Reads a report file, which is shown by that name.
    fn read(&mut self, ran: &Ran<'_>, path: &Path, name: String) {
        let mut report = loopgate_reports::read_file(path, &file_options());
        if report.format.is_none() && ran.job.planned.command.report_pattern.is_some() {
            report = loopgate_reports::read_file(path, &read_options(&ran.job.planned.command));
        }
        report.path = name;
        if report.quality == ReportQuality::Invalid {
            let reason = report.notes.first().cloned().unwrap_or_else(|| "it is in no known format".to_owned());
            self.problem(format!("the report `{}` cannot be read: {reason}", report.path));
        }
        self.add_coverage(ran, path, report.coverage.take());
        self.add(report);
    }
}

/// Reads the report files that were promised. A promised report that is missing, old or unreadable is a problem of the
/// check, never "0 tests, passed". Those of a detected check were only expected.
fn gather_promised(ran: &Ran<'_>, gathered: &mut Gathered) {
    for promised in &ran.job.planned.command.reports {
        let found = report_files::find(promised, ran.job.directory, ran.job.root);
        let (fresh, old): (Vec<PathBuf>, Vec<PathBuf>) =
            found.into_iter().partition(|path| report_files::is_newer(path, ran.started));
        if fresh.is_empty() && !ran.job.planned.is_detected {
            let message = match old.first() {
                None => format!("the report `{promised}` was promised and is not there"),
                Some(path) => format!(
                    "the report `{}` is older than this run: the command did not write it",
                    shown(path, ran.job.root)
                ),
            };
            let note = ReportNote {
                path: promised.clone(),
                format: None,
                quality: ReportQuality::Invalid,
                notes: vec![message.clone()],
            };
            gathered.evidence.reports.push(note);
            gathered.problem(message);
        }
        for path in fresh {
            let name = shown(&path, ran.job.root);
            gathered.read(ran, &path, name);
        }
    }
}

/// A coverage report that was not promised is read from where the tools usually put it. An error in it changes
/// nothing, since the configuration does not ask for it.
fn gather_usual_coverage(ran: &Ran<'_>, gathered: &mut Gathered) {
    let measures = matches!(ran.job.planned.kind, CheckKind::Test | CheckKind::Integration | CheckKind::Coverage);
    if !measures || gathered.coverage.is_some() {
        return;
    }
    let options = ReadOptions { keep: 0, ..ReadOptions::default() };
    for path in report_files::usual_coverage(ran.job.directory, |path| report_files::is_newer(path, ran.started)) {
        let mut report = loopgate_reports::read_file(&path, &options);
        if report.is_whole && report.coverage.is_some() {
            gathered.add_coverage(ran, &path, report.coverage.take());
            report.path = shown(&path, ran.job.root);
            gathered.evidence.reports.push(report.note());
        }
    }
}

fn shown(path: &Path, root: &Path) -> String {
    places::shown(path.strip_prefix(root).unwrap_or(path))
}

fn outcome(ran: &Ran<'_>, ending: &Ending, gathered: &mut Gathered) -> Outcome {
    let Planned { kind, is_detected, command } = ran.job.planned;
    let (is_test, results) = (is_test(*kind), gathered.evidence.results);
    let executed = results.map(|results| results.total);
    let counted = results.is_some_and(|results| results.failed > 0 || results.errors > 0);
    let has_failed = counted || !gathered.evidence.failures.is_empty();
    match ending {
        Ending::TimedOut => return Outcome::TimedOut,
        Ending::Interrupted => return Outcome::Cancelled,
        Ending::NotStarted(reason) => {
            gathered.problem(format!("`{}` could not be started: {reason}", command.run));
            return Outcome::Failed;
        }
        Ending::Exited(0) => {}
        // Runners end with an error where they find no test, each with a code of its own.
        Ending::Exited(_) if is_test && executed == Some(0) && !has_failed && gathered.problems.is_empty() => {
            return Outcome::NoTestsExecuted;
        }
        Ending::Exited(_) | Ending::Signalled(_) => return Outcome::Failed,
    }
    if !gathered.problems.is_empty() || gathered.has_partial || is_test && has_failed {
        return Outcome::Failed;
    }
    let may_be_empty = command.allow_empty || *is_detected;
    if is_test && executed == Some(0) && !may_be_empty {
        return Outcome::NoTestsExecuted;
    }
    Outcome::Passed
}
