//! What a finished command is evidence of: its exit, its output and its report files together, those that it promised
//! and coverage reports where tools put them unasked.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use chrono::SubsecRound as _;
use globset::GlobBuilder;
use walkdir::{DirEntry, WalkDir};

use super::{
    beside,
    command::{Ending, Finished},
    places::{self, Places},
};
use loopgate_core::{
    CheckName, Timestamp,
    concerns::coverage,
    evidence::{
        CheckEvidence, CheckKind, CheckResults, ErrorType, Failure, FileCoverage, Finding,
        FindingSeverity, Outcome, ReportNote, ReportQuality, RetryClass,
    },
    failure,
    observed::ChangedFiles,
    policy::{CommandCheck, FailOn, FlakyTests, REPORTS_VARIABLE},
};
use loopgate_git::Git;
use loopgate_reports::{
    Coverage, Pattern, PatternError, ReadOptions, Report,
    joblog::{self, JobLog, LogTail},
};

/// Failures kept of one check; the rest are counted.
const KEPT_FAILURES: usize = 200;

/// How a check's output is read.
pub fn read_options(command: &CommandCheck) -> ReadOptions {
    ReadOptions {
        pattern: pattern(command).and_then(Result::ok),
        ..file_options()
    }
}

/// How report files are read: as what they are. Only one in no known format is read with the check's expression.
fn file_options() -> ReadOptions {
    ReadOptions {
        keep: KEPT_FAILURES,
        test_outcomes: true,
        ..ReadOptions::default()
    }
}

fn pattern(command: &CommandCheck) -> Option<Result<Pattern, PatternError>> {
    command
        .report_pattern
        .as_ref()
        .map(|pattern| Pattern::new(pattern.as_str()))
}

/// A check that is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    pub kind: CheckKind,
    pub is_detected: bool,
    pub command: CommandCheck,
}

/// One check, to be run once or more.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub name: &'a CheckName,
    pub planned: &'a Planned,
    pub git: &'a Git,
    /// The top of the repository, and the directory the command runs in.
    pub root: &'a Path,
    pub directory: &'a Path,
}

/// Turns a finished command into evidence, and the coverage its reports hold. Every file in `written` is a report of
/// this run; other report files count where they are no older than `started`.
pub fn to_evidence(
    job: &Job<'_>,
    written: Option<&Path>,
    started: SystemTime,
    finished: Finished<(Report, LogTail)>,
) -> (CheckEvidence, Option<Vec<FileCoverage>>) {
    let evidence = CheckEvidence::bare(job.name.clone(), job.planned.kind, Outcome::Passed);
    let mut gathered = Gathered {
        job,
        started,
        evidence,
        problems: Vec::new(),
        coverage: None,
        has_partial: false,
        unended: None,
        begun: Vec::new(),
    };
    if let Some(written) = written {
        for path in find("**/*", written, written) {
            let name = format!("${REPORTS_VARIABLE}/{}", shown(&path, written));
            gathered.read(&path, name);
        }
    }
    gathered.read_promised();
    gathered.read_usual_coverage();
    if let Some(Err(error)) = pattern(&job.planned.command) {
        gathered.problem(format!("`report_pattern` cannot be used: {error}"));
    }
    let mut log = gathered.read_output(finished.read, &finished.ending);
    let outcome = gathered.outcome(&finished.ending);
    let failure = log.as_mut().and_then(|log| log.failure.take());
    gathered.settle_failures(outcome, &finished.ending, failure);
    let Gathered {
        evidence, coverage, ..
    } = gathered;
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut evidence = CheckEvidence {
        outcome,
        exit_code: if let Ending::Exited(code) = finished.ending {
            Some(code)
        } else {
            None
        },
        signal: if let Ending::Signalled(signal) = finished.ending {
            Some(signal)
        } else {
            None
        },
        started_at: Some(Timestamp::from(started).trunc_subsecs(3)),
        duration_ms: millis(finished.wall),
        cpu_ms: finished.cpu.map(millis),
        peak_rss_kb: finished.peak_rss_kb,
        log_head: finished.output.head,
        log_tail: finished.output.tail,
        log_cut_bytes: finished.output.cut_bytes,
        excerpts: log
            .filter(|_| outcome.is_failure())
            .map(|log| log.excerpt)
            .into_iter()
            .collect(),
        ..evidence
    };
    if evidence.has_unread_tests() {
        // Among the reports, where people look.
        let note = format!(
            "no per-test results read: the output is in no known format; let the command write JUnit XML into the \
             directory `${REPORTS_VARIABLE}`, or name its report under `report:`"
        );
        let (path, quality) = (format!("output of {}", job.name), ReportQuality::SubOptimal);
        evidence.reports.push(ReportNote {
            path,
            format: None,
            quality,
            notes: vec![note],
        });
    }
    evidence.retry_class = match outcome {
        Outcome::TimedOut => Some(RetryClass::Logic),
        Outcome::Cancelled => Some(RetryClass::External),
        _ => outcome
            .is_failure()
            .then(|| failure::retry_class(&evidence)),
    };
    (evidence, coverage)
}

/// A compiler's findings in plain text read like a linter's; the check's kind distinguishes them.
const fn type_in(kind: CheckKind, error_type: ErrorType) -> ErrorType {
    match (kind, error_type) {
        (CheckKind::Build | CheckKind::Types, ErrorType::LintError | ErrorType::Other) => {
            ErrorType::CompileError
        }
        (CheckKind::Lint, ErrorType::Other) => ErrorType::LintError,
        (_, error_type) => error_type,
    }
}

/// Everything the reports of a check contain.
struct Gathered<'a> {
    job: &'a Job<'a>,
    started: SystemTime,
    evidence: CheckEvidence,
    /// What is wrong with the check's reports, or kept it from starting: a check does not pass with any.
    problems: Vec<Failure>,
    /// With paths of the repository; none without a coverage report.
    coverage: Option<Vec<FileCoverage>>,
    /// A report was cut short or malformed: a check must not pass on it.
    has_partial: bool,
    /// The test in which the output ends.
    unended: Option<Failure>,
    /// The programs whose tests the output has not summed up.
    begun: Vec<&'static str>,
}

impl Gathered<'_> {
    fn add(&mut self, report: Report) {
        self.has_partial |= !report.is_whole;
        let evidence = &mut self.evidence;
        evidence.reports.push(report.note());
        if let Some(results) = &report.results {
            evidence.results.get_or_insert_default().add(results);
        }
        for failure in report.failures {
            // Some tools print a compile error twice, the second time in their summary, or beside their report.
            let says_it = |known: &Failure| {
                let one = |it: &Failure| {
                    (
                        it.test_name.clone(),
                        it.source.clone(),
                        it.error_class.clone(),
                    )
                };
                known.error_message == failure.error_message && one(known) == one(&failure)
            };
            let is_finding = failure.test_id.is_none() && failure.source.is_some();
            let is_repeated = match is_finding {
                true => evidence.failures.iter().any(says_it),
                false => failure.test_id.is_none() && evidence.failures.contains(&failure),
            };
            if !is_repeated {
                evidence.failures.push(failure);
            }
        }
        evidence.failures_not_kept += report.failures_not_kept;
        evidence.reconciled.add(report.reconciled);
        for finding in report.findings {
            if !evidence.findings.contains(&finding) {
                evidence.findings.push(finding);
            }
        }
        let room = KEPT_FAILURES.saturating_sub(evidence.flaky_tests.len());
        evidence
            .flaky_tests
            .extend(report.flaky_tests.into_iter().take(room));
        evidence.slowest_tests.merge(report.slowest_tests);
        match (&mut evidence.tests, report.test_outcomes) {
            (Some(tests), Some(more)) => tests.merge(more),
            (tests @ None, more) => *tests = more,
            (Some(_), None) => {}
        }
    }

    fn add_coverage(&mut self, report: &Path, coverage: Option<Coverage>) {
        let Some(coverage) = coverage else { return };
        let places = Places::new(
            self.job.git,
            &self.job.tool_directory(),
            report,
            &coverage.sources,
        );
        let files = coverage.files.into_iter().map(|file| FileCoverage {
            path: places.resolve(&file.path),
            ..file
        });
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
    fn read(&mut self, path: &Path, name: String) {
        let mut report = loopgate_reports::read_file(path, &file_options());
        if report.format.is_none() && self.job.planned.command.report_pattern.is_some() {
            report = loopgate_reports::read_file(path, &read_options(&self.job.planned.command));
        }
        report.path = name;
        if report.quality == ReportQuality::Invalid {
            let reason = report
                .notes
                .first()
                .cloned()
                .unwrap_or_else(|| "it is in no known format".to_owned());
            self.problem(format!(
                "the report `{}` cannot be read: {reason}",
                report.path
            ));
        }
        self.add_coverage(path, report.coverage.take());
        self.add(report);
    }

    /// Reads the report files that were promised. A promised report that is missing, old or unreadable is a problem of
    /// the check, never "0 tests, passed". Those of a detected check were only expected.
    fn read_promised(&mut self) {
        for promised in &self.job.planned.command.reports {
            let found = find(promised, self.job.directory, self.job.root);
            let (fresh, old): (Vec<PathBuf>, Vec<PathBuf>) = found
                .into_iter()
                .partition(|path| is_newer(path, self.started));
            if fresh.is_empty() && !self.job.planned.is_detected {
                let message = match old.first() {
                    None => format!("the report `{promised}` was promised and is not there"),
                    Some(path) => format!(
                        "the report `{}` is older than this run: the command did not write it",
                        shown(path, self.job.root)
                    ),
                };
                let (path, quality, notes) = (
                    promised.clone(),
                    ReportQuality::Invalid,
                    vec![message.clone()],
                );
                self.evidence.reports.push(ReportNote {
                    path,
                    format: None,
                    quality,
                    notes,
                });
                self.problem(message);
            }
            for path in fresh {
                let name = shown(&path, self.job.root);
                self.read(&path, name);
            }
        }
    }

    /// A coverage report that was not promised is read from where the tools usually put it. An error in it changes
    /// nothing, since the configuration does not ask for it.
    fn read_usual_coverage(&mut self) {
        let kind = self.job.planned.kind;
        let measures = kind.is_of_tests() || kind == CheckKind::Coverage;
        if !measures || self.coverage.is_some() {
            return;
        }
        let options = ReadOptions {
            keep: 0,
            ..ReadOptions::default()
        };
        for path in usual_coverage(self.job.directory, |path| is_newer(path, self.started)) {
            let mut report = loopgate_reports::read_file(&path, &options);
            if report.is_whole && report.coverage.is_some() {
                self.add_coverage(&path, report.coverage.take());
                report.path = shown(&path, self.job.root);
                self.evidence.reports.push(report.note());
            }
        }
    }

    /// Reads the output as a report where no file was promised: `cargo test` prints what others write down. Of a
    /// command that failed, the log with its failure and excerpt is returned.
    fn read_output(&mut self, read: Option<(Report, LogTail)>, ending: &Ending) -> Option<JobLog> {
        let has_report = self.evidence.results.is_some();
        let (mut report, kept) = read.unzip();
        if let Some(report) = report.as_mut().filter(|_| !has_report) {
            self.begun = std::mem::take(&mut report.begun);
        }
        let logged = joblog::Job {
            name: self.job.name.as_str(),
            ..joblog::Job::default()
        };
        let kept = kept.filter(|_| *ending != Ending::Exited(0));
        let mut log =
            kept.map(|kept| logged.read(kept, None, &read_options(&self.job.planned.command)));
        let of_step = log.as_mut().and_then(|log| log.report.take());
        let report = of_step.or(report).filter(|output| output.format.is_some());
        if has_report {
            let failed = report.filter(|_| *ending != Ending::Exited(0));
            failed
                .into_iter()
                .for_each(|output| self.add_failures_of_console(output));
        } else if let Some(mut output) = report {
            let command = &self.job.planned.command;
            if *ending == Ending::Exited(0)
                && self.job.planned.kind.is_of_tests()
                && failure::ends_as_its_runner(&command.run)
            {
                output.trust_closing_sum();
            }
            if *ending == Ending::Exited(0) && failure::ends_as_its_program(&command.run) {
                output.trust_status();
            }
            self.add_coverage(self.job.directory, output.coverage.take());
            self.unended = output.unended.take();
            self.add(output);
        }
        // A report tells what failed in its tasks.
        if let Some(log) = log.as_mut().filter(|_| !has_report) {
            self.evidence.failures.append(&mut log.tasks);
        }
        log
    }

    /// Adds the failures of which only the console tells: some reports leave out what fails outside the tests.
    fn add_failures_of_console(&mut self, output: Report) {
        let evidence = &mut self.evidence;
        let (Some(results), Some(shown)) = (&mut evidence.results, output.results) else {
            return;
        };
        let are_all_kept = evidence.failures_not_kept + output.failures_not_kept == 0;
        let (told, counted) = (results.failed + results.errors, shown.failed + shown.errors);
        let unnamed = evidence.reconciled.unnamed + output.reconciled.unnamed;
        if told == 0 || counted <= told || !are_all_kept || unnamed > 0 {
            return;
        }
        let alone = beside::told_by_console_alone(&evidence.failures, output.failures);
        let more = alone.len() as u64;
        if more <= counted - told {
            results.errors += more;
            results.total += more;
            evidence.failures.extend(alone);
        }
    }

    /// The failures in their final form: with the log's own where no report has one, and with the problems, paths of
    /// the repository and fingerprints; no more than are kept.
    fn settle_failures(&mut self, outcome: Outcome, ending: &Ending, of_log: Option<Failure>) {
        let (evidence, has_ended_well) = (&mut self.evidence, *ending == Ending::Exited(0));
        if outcome == Outcome::Failed && evidence.failures.is_empty() && !has_ended_well {
            let shown = self.unended.take().or(of_log);
            // What the output ends with is what a linter found and does not call an error.
            let words = shown
                .as_ref()
                .map_or("", |shown| shown.error_message.as_str());
            let words = words.lines().next().unwrap_or_default();
            let is_shown = |finding: &Finding| {
                let message = finding.message.lines().next().unwrap_or_default();
                !message.is_empty() && words.contains(message)
            };
            // Nor may its warnings, of which a report tells.
            let is_silent = shown.as_ref().is_none_or(|shown| {
                !failure::says_why(shown, 1)
                    || loopgate_reports::fails_for_warnings(&shown.error_message)
            });
            let are_found = is_silent || evidence.findings.iter().any(is_shown);
            if !self.job.planned.kind.is_of_tests() && are_found {
                let worst = evidence.findings.iter().map(|it| it.severity).max();
                let of_worst = evidence.findings.iter();
                let of_worst = of_worst.filter(|it| Some(it.severity) == worst);
                evidence.failures.extend(of_worst.map(Finding::as_failure));
            }
            let sum = evidence.results.and_then(all_passed).filter(|_| {
                let says_why = |shown| failure::says_why(shown, usize::MAX);
                !shown.as_ref().is_some_and(says_why)
            });
            let ended = ending.problem("the command", Duration::ZERO);
            let of_sum = sum
                .zip(ended)
                .map(|(sum, ended)| Failure::of(ErrorType::Other, format!("{sum}, and {ended}")));
            if evidence.failures.is_empty() {
                evidence.failures.extend(of_sum.or(shown));
            }
        }
        // A command that failed by itself prints why. That its report is missing then adds nothing.
        if has_ended_well || evidence.failures.is_empty() {
            evidence.failures.splice(0..0, self.problems.drain(..));
        }
        // No test failed: what a linter calls an error beside them stays a finding.
        if outcome == Outcome::Passed && self.job.planned.kind.is_of_tests() {
            evidence.failures.clear();
            evidence.failures_not_kept = 0;
        }
        let directory = self.job.tool_directory();
        let places = Places::new(self.job.git, &directory, &directory, &[]);
        for failure in &mut evidence.failures {
            failure.error_type = type_in(self.job.planned.kind, failure.error_type);
            places.settle(failure);
            // A count is the same in every check.
            let of_check = loopgate_reports::is_count_alone(failure).then(|| Failure {
                test_name: Some(self.job.name.to_string()),
                ..failure.clone()
            });
            failure.fingerprint = Some(failure::fingerprint(of_check.as_ref().unwrap_or(failure)));
        }
        for finding in &mut evidence.findings {
            places.settle_finding(finding);
        }
        if let (Some(results), Some(files)) = (&mut evidence.results, &self.coverage) {
            results.coverage_percent =
                coverage::measure(&ChangedFiles::Complete(Vec::new()), files).percent();
        }
        evidence.failures_not_kept += evidence.failures.len().saturating_sub(KEPT_FAILURES) as u64;
        evidence.failures.truncate(KEPT_FAILURES);
    }

    fn outcome(&mut self, ending: &Ending) -> Outcome {
        let Planned {
            kind,
            is_detected,
            command,
        } = self.job.planned;
        let (is_test, results) = (kind.is_of_tests(), self.evidence.results);
        let executed = results.map(|results| results.total);
        let counted = results.is_some_and(|results| results.failed > 0 || results.errors > 0);
        let has_failed = counted || !self.evidence.failures.is_empty();
        match ending {
            Ending::TimedOut => return Outcome::TimedOut,
            Ending::Interrupted => return Outcome::Cancelled,
            Ending::NotStarted(reason) => {
                self.problem(format!("`{}` could not be started: {reason}", command.run));
                return Outcome::Failed;
            }
            Ending::Exited(0) => {}
            // Runners end with an error where they find no test, each with a code of its own.
            Ending::Exited(_)
                if is_test && executed == Some(0) && !has_failed && self.problems.is_empty() =>
            {
                return Outcome::NoTestsExecuted;
            }
            Ending::Exited(_) | Ending::Signalled(_) => return Outcome::Failed,
        }
        // What a linter would call an error is no test that failed.
        let has_failed = counted
            || self
                .evidence
                .failures
                .iter()
                .any(|failure| failure.error_type != ErrorType::LintError);
        let has_failed = is_test && has_failed || self.evidence.reconciled.run_failed;
        if !self.problems.is_empty() || self.has_partial || has_failed {
            return Outcome::Failed;
        }
        let has_begun = failure::prints_sum_of(&command.run, &self.begun);
        let ended_early = &mut self.evidence.reconciled.ended_early;
        if is_test && (has_begun || *ended_early && failure::prints_its_sum(&command.run)) {
            *ended_early = true;
            self.problem(format!(
                "the run did not end: `{}` printed no sum of its tests, though it ended with 0",
                command.run
            ));
            return Outcome::Failed;
        }
        if let Some(problem) = self.flaky_problem() {
            self.problem(problem);
            return Outcome::Failed;
        }
        if self.fails_on_findings() {
            return Outcome::Failed;
        }
        let may_be_empty = command.allow_empty || *is_detected;
        if is_test && executed == Some(0) && !may_be_empty {
            return Outcome::NoTestsExecuted;
        }
        Outcome::Passed
    }
}

impl Gathered<'_> {
    /// What is wrong where tests must pass at once.
    fn flaky_problem(&self) -> Option<String> {
        let results = self.evidence.results?;
        let fails = self.job.planned.command.flaky == FlakyTests::Fail;
        let names = self.evidence.flaky_tests.join(", ");
        (fails && results.flaky > 0).then(|| match names.as_str() {
            "" => format!(
                "{} tests passed only when they were tried again",
                results.flaky
            ),
            names => format!("passed only when they were tried again: {names}"),
        })
    }

    /// Whether findings fail the check although its tool ended with 0; where they do not, a note says how many there are.
    fn fails_on_findings(&mut self) -> bool {
        let planned = self.job.planned;
        let usual = match planned.kind {
            CheckKind::Lint | CheckKind::Security => FailOn::Exit,
            CheckKind::Types => FailOn::Error,
            kind if kind.is_of_tests() => FailOn::Exit,
            _ => return false,
        };
        let count = |least| {
            let of_level = |finding: &&Finding| finding.severity >= least;
            self.evidence.findings.iter().filter(of_level).count()
        };
        let (errors, warnings) = (count(FindingSeverity::High), count(FindingSeverity::Medium));
        let fails = match planned.command.fail_on.unwrap_or(usual) {
            FailOn::Exit => false,
            FailOn::Error => errors > 0,
            FailOn::Warning => warnings > 0,
        };
        let said = match errors {
            1 => "1 finding of level error; the tool ended with 0".to_owned(),
            errors => format!("{errors} findings of level error; the tool ended with 0"),
        };
        if fails && self.evidence.failures.is_empty() {
            self.problem(format!(
                "{warnings} findings of level warning; the tool ended with 0"
            ));
        } else if errors > 0 && !fails {
            self.evidence.reports.push(ReportNote {
                path: format!("output of {}", self.job.name),
                format: None,
                quality: ReportQuality::SubOptimal,
                notes: vec![format!("{said} (`fail_on: error` makes it a failure)")],
            });
        }
        fails
    }
}

/// That no test failed, where some passed: an output that says no more shows nothing but that.
fn all_passed(results: CheckResults) -> Option<String> {
    let all = match results.passed {
        1 => "the only test".to_owned(),
        passed => format!("all {passed} tests"),
    };
    let that_ran = if results.skipped > 0 { " that ran" } else { "" };
    let is_so = results.passed > 0 && results.failed + results.errors == 0;
    is_so.then(|| format!("{all}{that_ran} passed"))
}

fn shown(path: &Path, root: &Path) -> String {
    places::shown(path.strip_prefix(root).unwrap_or(path))
}

/// Most files taken for one glob, and most directory entries looked at.
const FILE_LIMIT: usize = 2_000;
const ENTRY_LIMIT: usize = 500_000;
/// Clocks of file systems may lag a little behind the clock of the system.
const CLOCK_LAG: Duration = Duration::from_secs(2);

/// The files that match a glob, relative to the directory the command ran in or, failing that, to the top of the
/// repository. Never one outside the repository.
fn find(glob: &str, directory: &Path, root: &Path) -> Vec<PathBuf> {
    let found = below(glob, directory, root);
    if found.is_empty() && directory != root {
        below(glob, root, root)
    } else {
        found
    }
}

/// Whether a file was written since a moment.
fn is_newer(path: &Path, than: SystemTime) -> bool {
    let written = path.metadata().and_then(|metadata| metadata.modified());
    written.is_ok_and(|written| written + CLOCK_LAG >= than)
}

fn below(glob: &str, directory: &Path, root: &Path) -> Vec<PathBuf> {
    let Ok(matcher) = GlobBuilder::new(glob)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
    else {
        return Vec::new();
    };
    // The part without wildcards is where the search begins: `target/nextest/**/*.xml` never looks at `src`.
    let is_fixed = |part: &&OsStr| !part.to_string_lossy().contains(['*', '?', '[', '{']);
    let fixed: PathBuf = Path::new(glob).iter().take_while(is_fixed).collect();
    let start = directory.join(&fixed);
    if start.is_file() {
        return if is_inside(&start, root) {
            vec![start]
        } else {
            Vec::new()
        };
    }
    // Symbolic links are not followed: they may lead out, or round in a circle.
    let entries = WalkDir::new(start)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != ".git")
        .take(ENTRY_LIMIT);
    let files = entries
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .map(DirEntry::into_path);
    let is_meant = |path: &PathBuf| {
        matcher.is_match(path.strip_prefix(directory).unwrap_or(path)) && is_inside(path, root)
    };
    let mut found: Vec<PathBuf> = files.filter(is_meant).take(FILE_LIMIT).collect();
    found.sort();
    found
}

fn is_inside(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    }
}

/// The usual places of coverage reports, by what is written there. Of a folder's reports only the first counts: the
/// others hold the same again.
const USUAL_COVERAGE: [&[&str]; 9] = [
    // Jest, vitest, c8, nyc.
    &[
        "coverage/lcov.info",
        "coverage/cobertura-coverage.xml",
        "coverage/clover.xml",
    ],
    &["coverage.xml", "coverage.lcov", "lcov.info"],
    &["cobertura.xml"],
    &[
        "target/llvm-cov/lcov.info",
        "target/llvm-cov/cobertura.xml",
        "target/llvm-cov/coverage.json",
    ],
    &[
        "target/tarpaulin/lcov.info",
        "target/tarpaulin/cobertura.xml",
    ],
    &["target/site/jacoco/jacoco.xml"],
    &["build/reports/jacoco/test/jacocoTestReport.xml"],
    &["coverage.out", "cover.out", "coverage.txt"],
    &["build/logs/clover.xml", "clover.xml"],
];

/// Coverage reports in the usual places below a directory that a predicate takes for fresh.
fn usual_coverage(directory: &Path, is_fresh: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let is_there = |path: &PathBuf| path.is_file() && is_fresh(path);
    USUAL_COVERAGE
        .iter()
        .filter_map(|names| names.iter().map(|name| directory.join(name)).find(is_there))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_find_files_below_the_directory_and_never_outside_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("repo");
        for file in [
            "a/target/one.xml",
            "a/target/deep/two.xml",
            "b/other.txt",
            "../secret.xml",
        ] {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let names = |glob: &str, directory: &str| -> Vec<String> {
            let found = find(glob, &root.join(directory), &root);
            found
                .iter()
                .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
                .collect()
        };
        assert_eq!(names("target/*.xml", "a"), ["a/target/one.xml"]);
        assert_eq!(
            names("target/**/*.xml", "a"),
            ["a/target/deep/two.xml", "a/target/one.xml"]
        );
        assert_eq!(
            names("b/other.txt", "a"),
            ["b/other.txt"],
            "relative to the top where not in the directory"
        );
        assert_eq!(names("../secret.xml", "."), Vec::<String>::new());
        assert_eq!(names("**/none.xml", "."), Vec::<String>::new());
    }

    #[test]
    fn the_first_report_of_a_place_counts_if_it_is_fresh() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["coverage/clover.xml", "coverage/lcov.info", "coverage.xml"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let found = usual_coverage(folder.path(), |path| !path.ends_with("coverage.xml"));
        assert_eq!(found, [folder.path().join("coverage/lcov.info")]);
        assert_eq!(usual_coverage(folder.path(), |_| true).len(), 2);
    }
}
