//! Where parsers put what they find: counts, and of failures and findings as many as are to be kept.

use std::collections::HashSet;

use loopgate_core::{
    evidence::{
        CheckResults, ErrorType, Failure, Finding, FindingSeverity, ReportFormat, ReportQuality,
        SourceLocation, TestDuration, TestFramework, TestId, TestState,
    },
    failure,
};

use crate::coverage::CoverageTable;
use crate::identities::{Identities, Recorded};
use crate::notes::CountedFlaw;
use crate::{
    Flaw, Notes, ReadOptions, Report, RunWord, Speaker, Unreadable, Window, numbers, text,
};

/// Compile errors remembered to recognise one that is printed again.
const MAX_COMPILE_ERRORS: usize = 20_000;

/// One test of a report.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    /// Path of the test's file, empty if not given.
    pub file: &'a str,
    /// Class, module, binary: whatever groups tests. Empty if not given.
    pub class: &'a str,
    /// Empty if not given; such a test is never taken for a rerun of another.
    pub name: &'a str,
    pub state: TestState,
    pub seconds: f64,
    pub title: Title,
}

/// How people are to be shown a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Title {
    /// Behind the class, as most tools join them.
    WithClass,
    /// Behind the class, with this between them.
    Joined(&'static str),
    /// The class only distinguishes tests; it is not shown.
    NameOnly,
    /// What failed is no test, but counts among them: a package that did not build.
    Hidden,
}

impl<'a> Case<'a> {
    /// A test of a class, whose file and time are not known.
    pub fn new(class: &'a str, name: &'a str, state: TestState) -> Self {
        Self {
            file: "",
            class,
            name,
            state,
            seconds: 0.0,
            title: Title::WithClass,
        }
    }

    /// A test of a file that is shown by its name alone.
    pub fn in_file(file: &'a str, name: &'a str, state: TestState) -> Self {
        Self {
            file,
            title: Title::NameOnly,
            ..Self::new("", name, state)
        }
    }

    /// The name people know the test by.
    pub fn title(&self) -> String {
        let (class, name) = (self.class.trim(), self.name.trim());
        if self.title == Title::NameOnly {
            return text::name(name);
        }
        if name.is_empty() {
            return if class.is_empty() {
                "a test without name".into()
            } else {
                text::name(class)
            };
        }
        if class.is_empty()
            || name.starts_with(class)
            || name.ends_with(class)
            // `t.py:CartTest.test_adds` of avocado
            || name.contains(&format!(":{class}."))
            || text::looks_like_path(class)
        {
            return text::name(name);
        }
        // Words join as a sentence: `cart adds`, `com.acme.CartTest returns 404`, `crate::binary tests::adds`; the parts of
        // a path of Java, Python or .NET by a dot: `com.acme.CartTest.adds`.
        let plain = |part: &str| !part.contains("::") && !part.contains(char::is_whitespace);
        let is_path = class.contains(['.', '\\', '$', '/'])
            || class.starts_with(|c: char| c.is_uppercase())
            || name.starts_with("test");
        let is_dotted = is_path && plain(class) && plain(name);
        // nose2 cuts `setUpClass (test_cart.Cart)` at its last dot.
        let is_cut_in_brackets = |class: &str| {
            name.ends_with(')')
                && !name.contains('(')
                && class.contains('(')
                && !class.contains(')')
        };
        let between = match self.title {
            _ if is_cut_in_brackets(class) => ".",
            // A parameter of several words is no part of a sentence, but other readers know such a name with a blank.
            Title::Joined(".") if !plain(name) => " ",
            Title::Joined(between) => between,
            _ if is_dotted => ".",
            _ => " ",
        };
        text::name(&format!("{class}{between}{name}"))
    }
}

/// What a report holds, as far as it is to be kept.
#[derive(Default)]
pub(super) struct Collector {
    pub options: ReadOptions,
    pub notes: Notes,
    pub framework: Option<TestFramework>,
    /// Grows with what is read. It has results once it turned out to be one of tests, even of none.
    pub report: Report,
    pub seconds: f64,
    identities: Identities,
    /// The suites begun so far, and the one that the cases which follow belong to.
    suites: u16,
    pub suite: u16,
    unnamed: u64,
    /// Tests ran of which neither the names nor the number is known.
    pub has_uncounted: bool,
    pub coverage: CoverageTable,
    /// Who printed what is read now.
    pub speaker: Speaker,
    /// What the tool says of its run as a whole.
    pub run: RunWord,
    /// Compile errors so far.
    compile_errors: HashSet<TestId>,
}

impl Collector {
    pub fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            ..Self::default()
        }
    }

    /// Says that this report is about tests, so that none is a result too.
    pub fn expect_tests(&mut self) {
        self.report.results.get_or_insert_default();
    }

    /// Whether the details of one more failure would be kept.
    pub fn wants_failures(&self) -> bool {
        self.report.failures.len() < self.options.keep
    }

    /// A suite whose tests are no reruns of any other's begins; gives its number.
    pub fn begin_suite(&mut self) -> u16 {
        self.suites = self.suites.saturating_add(1);
        self.suites
    }

    /// Counts a test. `failure` gives the details of a failing one and is asked only if they are kept. Gives how many
    /// cases before it turned out to be tries of the same test.
    pub fn case(&mut self, case: Case<'_>, failure: impl FnOnce() -> Failure) -> u64 {
        let seconds = case.seconds.clamp(0.0, numbers::MAX_SECONDS);
        self.seconds += seconds;
        let duration_ms = millis(seconds);
        let is_test = case.title != Title::Hidden && !case.name.is_empty();
        if is_test && self.report.slowest_tests.takes(duration_ms) {
            self.report.slowest_tests.add(TestDuration {
                test: case.title(),
                duration_ms,
            });
        }
        let file = self.speaker.file(case.file);
        let case = Case {
            file: &file,
            ..case
        };
        let id = (!case.name.is_empty()).then(|| TestId::of(case.file, case.class, case.name));
        // pytest and Go name each test once. So does Jest what it could not load, which it writes down twice.
        let names_once = matches!(
            self.framework,
            Some(TestFramework::Pytest | TestFramework::GoTest)
        ) || case.class == "Test suite failed to run";
        let recorded = match id {
            Some(id) => self
                .identities
                .record(id, self.suite, names_once, case.state),
            None => {
                self.unnamed += 1;
                Recorded::Another
            }
        };
        let results = self.report.results.get_or_insert_default();
        let (state, tries) = match recorded {
            Recorded::Another => (case.state, 0),
            Recorded::Continued { before, now } => {
                count(results, before, |count| *count -= 1);
                count(results, now, |count| *count += 1);
                if !before.is_failure() && now.is_failure() {
                    self.keep_case(&case, id, failure);
                }
                return 1;
            }
            Recorded::Rerun { tries, worst } => {
                let errors = if worst == TestState::Errored {
                    tries.min(results.errors)
                } else {
                    0
                };
                results.errors -= errors;
                results.failed = results.failed.saturating_sub(tries - errors);
                results.total -= tries;
                // The test passed when it was tried again.
                for _ in 0..tries {
                    match self
                        .report
                        .failures
                        .iter()
                        .rposition(|kept| kept.test_id == id)
                    {
                        Some(at) => drop(self.report.failures.remove(at)),
                        None => {
                            self.report.failures_not_kept =
                                self.report.failures_not_kept.saturating_sub(1)
                        }
                    }
                }
                (TestState::Flaky, tries)
            }
        };
        count(
            self.report.results.get_or_insert_default(),
            state,
            |count| *count += 1,
        );
        if state.is_failure() {
            self.keep_case(&case, id, failure);
        }
        if state == TestState::Flaky && self.report.flaky_tests.len() < self.options.keep {
            self.report.flaky_tests.push(case.title());
        }
        tries
    }

    fn keep_case(
        &mut self,
        case: &Case<'_>,
        id: Option<TestId>,
        failure: impl FnOnce() -> Failure,
    ) {
        self.problem(|| {
            let mut failure = failure();
            failure.test_name = failure
                .test_name
                .or_else(|| (case.title != Title::Hidden).then(|| case.title()));
            failure.test_file = failure
                .test_file
                .or_else(|| (!case.file.is_empty()).then(|| text::path(case.file)));
            failure.test_id = id;
            failure
        });
    }

    /// Counts tests of which nothing but the result is known.
    pub fn anonymous_cases(&mut self, state: TestState, tests: u64) {
        self.unnamed += tests;
        count(
            self.report.results.get_or_insert_default(),
            state,
            |count| *count += tests,
        );
    }

    /// Whether a compile error is new: a library and its tests are compiled apart and print the same ones.
    pub fn is_new(&mut self, place: Option<&SourceLocation>, code: &str, message: &str) -> bool {
        let place = place
            .map(|place| format!("{}:{:?}", place.file, place.line))
            .unwrap_or_default();
        self.compile_errors.len() >= MAX_COMPILE_ERRORS
            || self
                .compile_errors
                .insert(TestId::of(&place, code, message))
    }

    /// What a linter, scanner or compiler reports. What is an error by its tool's own level fails its check, so it is a
    /// failure too.
    pub fn diagnostic(
        &mut self,
        finding: Finding,
        error_type: Option<ErrorType>,
        trace: Option<String>,
    ) {
        let mut finding = finding;
        if let Some(at) = &mut finding.location {
            at.file = self.speaker.file(&at.file).into_owned();
        }
        if let Some(error_type) = error_type {
            self.problem(|| Failure {
                error_type,
                stack_trace: trace,
                ..finding.as_failure()
            });
        }
        if self.report.findings.len() < self.options.keep {
            self.report.findings.push(finding);
            return;
        }
        self.report.findings_not_kept += 1;
        // A critical finding after hundreds of notes is the one to keep.
        let kept = self
            .report
            .findings
            .iter()
            .enumerate()
            .rev()
            .map(|(at, kept)| (kept.severity, at));
        if let Some((severity, at)) = kept.min_by_key(|(severity, _)| *severity)
            && severity < finding.severity
        {
            self.report.findings.remove(at);
            self.report.findings.push(finding);
        }
    }

    /// Adds the findings of a text inside of the report, and which of them fail.
    pub fn add_held(&mut self, held: Report) {
        held.failures
            .into_iter()
            .for_each(|failure| self.problem(|| failure));
        held.findings
            .into_iter()
            .for_each(|finding| self.diagnostic(finding, None, None));
        self.report.failures_not_kept += held.failures_not_kept;
        self.report.findings_not_kept += held.findings_not_kept;
    }

    /// The tool ends with an error for its warnings: each is a failure.
    pub fn fail_for_warnings(&mut self) {
        let warnings: Vec<Failure> = self
            .report
            .findings
            .iter()
            .filter(|finding| finding.severity == FindingSeverity::Medium)
            .map(Finding::as_failure)
            .collect();
        for warning in warnings {
            if self.wants_failures() {
                self.report.failures.push(warning);
            } else {
                self.report.failures_not_kept += 1;
            }
        }
    }

    /// What a linter reports; from [`FindingSeverity::High`] on it is an error.
    pub fn lint(&mut self, finding: Finding) {
        let is_error = finding.severity >= FindingSeverity::High;
        self.diagnostic(finding, is_error.then_some(ErrorType::LintError), None);
    }

    /// Failures so far.
    pub fn failed(&self) -> u64 {
        self.report.failures.len() as u64 + self.report.failures_not_kept
    }

    /// The last failure of a test of that name.
    pub fn failure_of(&self, name: &str) -> Option<Failure> {
        let is_it = |failure: &&Failure| failure.test_name.as_deref() == Some(name);
        self.report.failures.iter().rev().find(is_it).cloned()
    }

    /// The file of a failing test whose own text does not name it.
    pub fn place_test(&mut self, name: &str, file: &str) {
        // It may have been seen in another file: that of the class from which it is inherited.
        let is_elsewhere = |known: &str| !known.ends_with(file) && !file.ends_with(known);
        let is_it = |failure: &&mut Failure| {
            failure.test_name.as_deref() == Some(name)
                && failure.test_file.as_deref().is_none_or(is_elsewhere)
        };
        if let Some(failure) = self.report.failures.iter_mut().rev().find(is_it)
            && !file.is_empty()
        {
            failure.line_number.take_if(|_| failure.test_file.is_some());
            failure.test_file = Some(self.speaker.file(file).into_owned());
        }
    }

    /// Whether nothing was found at all.
    pub fn holds_nothing(&self) -> bool {
        self.report.results.is_none()
            && self.report.failures.is_empty()
            && self.report.findings.is_empty()
    }

    /// Keeps a failure: a test's, a compile error, a crash between tests.
    pub fn problem(&mut self, failure: impl FnOnce() -> Failure) {
        if !self.wants_failures() {
            self.report.failures_not_kept += 1;
            return;
        }
        let mut failure = failure();
        // Values that are equal were to differ (`assert_ne!`, `notEqual` of TAP): neither is what was expected.
        if failure.expected == failure.actual {
            (failure.expected, failure.actual) = (None, None);
        }
        self.speaker.settle(&mut failure);
        self.report.failures.push(failure);
    }

    /// The report: what was collected, and how the reading ended.
    pub fn finish(
        mut self,
        path: &str,
        format: Option<ReportFormat>,
        ended: Result<(), Unreadable>,
    ) -> Report {
        let left_out = self.identities.left_out;
        self.notes.flaws(
            Flaw::TOO_MANY_TESTS,
            left_out,
            || "after some 780,000 others",
        );
        self.reconcile();
        let mut report = self.report;
        report.coverage = self.coverage.finish(&mut self.notes);
        let Notes { flaws, remark } = self.notes;
        report.quality = if flaws.is_empty() {
            ReportQuality::Valid
        } else {
            ReportQuality::SubOptimal
        };
        report.is_whole = ended.is_ok();
        if let Err(reason) = ended {
            let has_tests = report.results.is_some_and(|results| results.total > 0);
            let is_empty = report.failures.is_empty()
                && report.findings.is_empty()
                && report.coverage.is_none();
            report.quality = if is_empty && !has_tests {
                ReportQuality::Invalid
            } else {
                ReportQuality::SubOptimal
            };
            report.notes.push(reason.to_string());
        }
        // That none is counted does not show that none ran.
        report.results = report
            .results
            .filter(|results| results.total > 0 || !self.has_uncounted);
        // Where a part has no end, more may have run than the report names.
        let is_cut_off = flaws.iter().any(|known| known.flaw == Flaw::NO_END);
        let unnamed = self.unnamed + u64::from(is_cut_off || self.has_uncounted);
        let note = |CountedFlaw {
                        flaw: Flaw(one, several),
                        first,
                        count,
                    }: &CountedFlaw| match count {
            1 => format!("1 {one}: {first}"),
            count => format!("{count} {several}, first {first}"),
        };
        report
            .notes
            .extend(flaws.iter().map(note).chain(remark.map(str::to_owned)));
        // The table's memory is given back before the tables of failures are built.
        let identities = self.identities;
        report.test_outcomes = self
            .options
            .test_outcomes
            .then(|| identities.into_test_outcomes(unnamed));
        // What a report leaves out, its texts show: type, both sides of an assertion, the place in the repository.
        report.failures.iter_mut().for_each(failure::complete);
        if let Some(results) = &mut report.results {
            results.duration_ms = millis(self.seconds);
        }
        Report {
            path: path.to_owned(),
            format,
            framework: self.framework,
            ..report
        }
    }
}

/// Reads lines and gives their number. `take` gives whether it understands one; a note names the first that it does
/// not.
pub(super) fn each_line(
    window: &mut Window<'_>,
    out: &mut Collector,
    mut take: impl FnMut(&str, &mut Collector) -> bool,
) -> Result<u64, Unreadable> {
    let mut number = 0;
    while let Some(line) = window.line()? {
        number += 1;
        if !take(line, out) {
            out.notes.flaw(Flaw::BAD_LINE, || format!("line {number}"));
        }
    }
    Ok(number)
}

/// The nearest whole milliseconds of seconds that are not negative.
fn millis(seconds: f64) -> u64 {
    (seconds * 1000.0 + 0.5) as u64
}

fn count(results: &mut CheckResults, state: TestState, change: impl Fn(&mut u64)) {
    change(&mut results.total);
    match state {
        TestState::Passed => change(&mut results.passed),
        TestState::Flaky => {
            change(&mut results.passed);
            change(&mut results.flaky);
        }
        TestState::Failed => change(&mut results.failed),
        TestState::Errored => change(&mut results.errors),
        TestState::Skipped => change(&mut results.skipped),
    }
}
