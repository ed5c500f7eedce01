//! JUnit XML, which is a family: pytest, jest-junit, vitest, mocha, nextest, gotestsum, Surefire, Gradle, PHPUnit,
//! RSpec, the .NET converters and many others write what they need and leave out what they like.
//!
//! What they agree on is little: `testcase` elements somewhere below, and in them `error`, `failure` or `skipped`. Only
//! these elements are believed; declared totals are compared with them, and a difference is noted.

mod details;
mod dialect;

use loopgate_core::evidence::{ErrorType, Failure, FindingSeverity, TestFramework, TestState};

use self::{
    details::{Details, describe, place_of_class},
    dialect::Dialect,
};
use super::{go_package::Parents, go_text, tap_yaml};
use crate::markup::decode;
use crate::{
    Case, Clip, Collector, Flaw, Mark, Notes, Tag, Title, Token, Unreadable, Window, Xml, numbers,
    severity, text,
};

/// Elements of one case that are told.
const MAX_DETAILS: usize = 10;
/// Suites directly inside one that are remembered.
const MAX_INNER: usize = 1_000;

/// Check, a framework for C, calls its root as JUnit does, and nothing else.
pub(super) const MARK: Mark = Mark::Root(|name, tag| {
    matches!(name, "testsuites" | "testsuite" | "testcase")
        && !tag.contains("//check.sourceforge.net/")
});

/// Reads a report, of which `head` is the beginning.
pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    let mut junit = Junit {
        dialect: Dialect::of_head(window.text()),
        ..Junit::default()
    };
    let ended = junit.read(&mut Xml::new(window), out);
    if !junit.dialect.is_linter {
        out.expect_tests();
    }
    ended
}

#[derive(Default)]
struct Junit {
    dialect: Dialect,
    suites: Vec<OpenSuite>,
    case: OpenCase,
    /// Depth of the open `testcase`.
    case_depth: Option<usize>,
    /// The element whose text is being recorded.
    recording: Option<Details>,
    /// Depth of the element with what the test printed.
    printing: Option<usize>,
    /// A suite-level failure, which no `testcase` will report.
    suite_state: Option<TestState>,
    /// gotestsum writes a `testcase` for a test of Go and one for each of its subtests.
    parents: Parents,
    has_cases: bool,
    /// The first element that no JUnit has.
    foreign: Option<String>,
    /// The suite just opened, for the paths of messages.
    label: Option<String>,
}

#[derive(Default)]
struct OpenSuite {
    depth: usize,
    /// A test of this name in another suite is another test.
    number: u16,
    name: String,
    package: String,
    file: String,
    /// A case of it has more than one failure, each of which its totals may count.
    has_several: bool,
    declared: Option<u64>,
    cases_inside: u64,
    /// Not counting those of suites inside this one.
    cases_direct: u64,
    skipped_inside: u64,
    /// Cases that were tries of a test that passed at last.
    reruns_inside: u64,
    /// Cases that failed, if only in a try before they passed.
    failing_inside: u64,
    /// Failures and errors, by the suite's own attributes.
    declared_failing: u64,
    /// The suites directly inside that are over.
    inner: Vec<InnerSuite>,
}

/// A suite that is over.
struct InnerSuite {
    name: String,
    has_cases: bool,
    has_failed: bool,
}

/// The `testcase` being read. Its strings are used again for the next one.
#[derive(Default)]
struct OpenCase {
    name: String,
    class: String,
    file: String,
    line: Option<u32>,
    seconds: Option<f64>,
    ending: Option<Ending>,
    /// Of the highest rank first.
    details: Vec<Details>,
    /// What the test printed.
    printed: Clip,
    /// How bad its linter calls it.
    level: Option<FindingSeverity>,
    /// What the attributes show, for dialects that have no child element for it.
    status: Option<TestState>,
}

/// What an element in a `testcase` shows of how the test ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ending {
    /// Of several the highest counts: error > failure > flaky pass > skipped. A `rerunFailure` alone is a failure,
    /// once.
    rank: u8,
    state: TestState,
}

impl Ending {
    /// Held against no run: node:test's test that need not pass yet, and its test that asks to be skipped while it runs,
    /// which does not end it (`<skipped type="todo">`, `<skipped type="skipped">`). A failure beside is none.
    const EXEMPT: Self = Self {
        rank: 7,
        state: TestState::Skipped,
    };
    /// The rank of a `failure`, above which only an error stands, and below which tries do.
    const FAILURE: u8 = 5;

    /// Of a test that was not run. CTest calls it so where the program or what it needs is not there, and fails.
    fn of_skipped(tag: &Tag<'_>) -> Self {
        const FAILING: [&str; 2] = ["Unable to find executable", "Fixture dependency failed"];
        if matches!(tag.attribute("type").as_deref(), Some("todo" | "skipped")) {
            return Self::EXEMPT;
        }
        let message = tag.attribute("message").unwrap_or_default();
        match FAILING.iter().any(|start| message.starts_with(start)) {
            true => Self {
                rank: 6,
                state: TestState::Errored,
            },
            false => Self {
                rank: 1,
                state: TestState::Skipped,
            },
        }
    }

    fn of(name: &str) -> Option<Self> {
        let (rank, state) = match name {
            "error" => (6, TestState::Errored),
            "failure" => (Self::FAILURE, TestState::Failed),
            "rerunError" => (4, TestState::Errored),
            "rerunFailure" | "rerun" => (3, TestState::Failed),
            "flakyFailure" | "flakyError" => (2, TestState::Flaky),
            "skipped" | "skip" | "ignored" | "disabled" => (1, TestState::Skipped),
            _ => return None,
        };
        Some(Self { rank, state })
    }
}

impl Junit {
    fn read(&mut self, xml: &mut Xml<'_, '_>, out: &mut Collector) -> Result<(), Unreadable> {
        loop {
            match xml.next(&mut out.notes)? {
                Token::Open(tag) => self.open(&tag, out),
                Token::Text(text) => {
                    match &mut self.recording {
                        Some(details) if details.muted.is_none() => details.trace.push(&text),
                        None if self.printing.is_some() => self.case.printed.push(&text),
                        _ => {}
                    }
                    continue;
                }
                Token::Close(place) => self.close(place.depth, || place.to_string(), out),
                Token::End => {
                    let foreign = self.foreign.take().filter(|_| !self.has_cases);
                    let what = "no test, but an element that is not JUnit's".into();
                    return foreign
                        .map_or(Ok(()), |place| Err(Unreadable::Malformed { what, place }));
                }
            }
            if let Some(label) = self.label.take() {
                xml.place.label(&label);
            }
        }
    }

    fn open(&mut self, tag: &Tag<'_>, out: &mut Collector) {
        let depth = tag.place.depth;
        if let Some(details) = &mut self.recording {
            if matches!(tag.name, "system-out" | "system-err") {
                details.muted.get_or_insert(depth);
            }
            return;
        }
        match (tag.name, self.case_depth) {
            ("testcase", outer) => {
                // A case inside a case: the outer one is known by now.
                if outer.is_some() {
                    self.end_case(|| tag.place.to_string(), out);
                }
                (self.case_depth, self.has_cases) = (Some(depth), true);
                self.case.begin(tag, &mut out.notes);
                if self.case.class == "pylint" {
                    self.dialect.is_linter = true;
                }
            }
            ("testsuite" | "testsuites", None) => self.begin_suite(tag, out),
            ("property", None)
                if tag
                    .attribute("name")
                    .is_some_and(|name| name.starts_with("go.version")) =>
            {
                out.framework = out.framework.or(Some(TestFramework::GoTest));
            }
            ("system-out" | "system-err", Some(case))
                if depth == case + 1 && out.wants_failures() =>
            {
                self.printing = Some(depth);
            }
            (name, Some(case)) if depth == case + 1 => {
                let Some(ending) = Ending::of(name) else {
                    return;
                };
                let ending = match ending.state {
                    TestState::Skipped => {
                        let reason = tag.attribute("message").unwrap_or_default();
                        if text::tells_of_failure(&reason) {
                            let name = || self.case.name.clone();
                            out.notes.flaw(Flaw::SKIPPED_FAILURE, name);
                        }
                        Ending::of_skipped(tag)
                    }
                    _ => ending,
                };
                self.case.ending = self.case.ending.max(Some(ending));
                if out.wants_failures()
                    && ending.state.is_failure()
                    && self.case.details.len() < MAX_DETAILS
                {
                    self.recording = Some(Details::begin(tag, ending.rank));
                }
            }
            ("failure" | "error", None)
                if self
                    .suites
                    .last()
                    .is_some_and(|suite| suite.depth + 1 == depth) =>
            {
                self.suite_state = Ending::of(tag.name).map(|ending| ending.state);
                self.recording = Some(Details::begin(tag, 1));
            }
            ("property", Some(_))
                if self.dialect.is_linter
                    && tag.attribute("name").as_deref() == Some("severity") =>
            {
                let word = tag.attribute("value").unwrap_or_default();
                self.case.level = severity::of_word(&word);
            }
            // tap's marks.
            ("property", Some(_)) if self.dialect.has_yaml => {
                let ending = match tag.attribute("name").as_deref() {
                    Some("todo") => Some(Ending::EXEMPT),
                    Some("skip") => Ending::of("skip"),
                    _ => None,
                };
                self.case.ending = self.case.ending.max(ending);
            }
            ("properties" | "property" | "system-out" | "system-err", _) => {}
            (name, None) if !self.has_cases && Ending::of(name).is_none() => {
                self.foreign = self.foreign.take().or_else(|| Some(tag.place.to_string()))
            }
            _ => {}
        }
    }

    fn close(&mut self, depth: usize, place: impl Fn() -> String, out: &mut Collector) {
        if let Some(details) = &mut self.recording {
            if details.muted == Some(depth) {
                details.muted = None;
            }
            if details.depth == depth {
                let details = self.recording.take();
                let Some(state) = self.suite_state.take() else {
                    self.case.keep(details);
                    return;
                };
                // The set-up of the suite broke, and no case will show it.
                let mut suite = self.suites.last_mut();
                if let Some(suite) = &mut suite {
                    suite.failing_inside += 1;
                }
                let suite = suite.as_deref();
                let (class, file) = suite.map_or(("", ""), |suite| (&suite.name, &suite.file));
                out.suite = suite.map_or(0, |suite| suite.number);
                let case = Case {
                    file,
                    ..Case::new(class, "(the suite itself)", state)
                };
                let none = Clip::default();
                out.case(case, || describe(details.as_ref(), &none, &case, None));
            }
            return;
        }
        if self.printing == Some(depth) {
            self.printing = None;
            return;
        }
        if self.case_depth == Some(depth) {
            self.case_depth = None;
            self.end_case(place, out);
        } else if self.suites.last().is_some_and(|suite| suite.depth == depth) {
            self.end_suite(place, out);
        }
    }

    fn begin_suite(&mut self, tag: &Tag<'_>, out: &mut Collector) {
        let mut suite = OpenSuite {
            depth: tag.place.depth,
            number: out.begin_suite(),
            ..OpenSuite::default()
        };
        for (key, value) in tag.attributes() {
            match key {
                "name" => suite.name = decode(value).into_owned(),
                "file" | "filepath" => suite.file = decode(value).into_owned(),
                "package" => suite.package = decode(value).into_owned(),
                "failures" | "errors" => {
                    let count = numbers::count(value).unwrap_or(0);
                    suite.declared_failing = suite.declared_failing.saturating_add(count);
                }
                "tests" => match numbers::count(value) {
                    Ok(count) => suite.declared = Some(count),
                    Err(_) => out
                        .notes
                        .flaw(Flaw::BAD_NUMBER, || tag.place.attribute("tests")),
                },
                _ => {}
            }
        }
        if suite.file.is_empty() {
            suite.file = self
                .suites
                .last()
                .map(|outer| outer.file.clone())
                .unwrap_or_default();
        }
        self.dialect.learn(&suite.name, &suite.package);
        out.framework = out.framework.or(self.dialect.framework);
        self.label = Some(suite.name.clone());
        self.suites.push(suite);
    }

    fn end_suite(&mut self, place: impl Fn() -> String, out: &mut Collector) {
        let Some(suite) = self.suites.pop() else {
            return;
        };
        // Dialects differ in what they count, but none counts failures where nothing failed; some count a try after which
        // the test passed.
        let is_silent = suite.failing_inside == 0 && suite.reruns_inside == 0;
        let is_counted = is_silent && !self.dialect.is_linter;
        let unnamed = if is_counted {
            suite.declared_failing
        } else {
            0
        };
        // Nothing is told of a suite without a case: where there are as many of them as failures, each is one.
        let untold = || suite.inner.iter().filter(|inner| !inner.has_cases);
        match (untold().count() as u64, unnamed) {
            (_, 0) => {}
            (0, _) if !suite.name.is_empty() && !self.suites.is_empty() => {
                out.run.add_unnamed_in(&suite.name, unnamed);
            }
            (1, _) => untold().for_each(|inner| out.run.add_unnamed_in(&inner.name, unnamed)),
            (suites, _) if suites == unnamed => {
                untold().for_each(|inner| out.run.add_unnamed_in(&inner.name, 1));
            }
            _ => out.run.add_unnamed(unnamed),
        }
        if let Some(outer) = self.suites.last_mut() {
            if outer.inner.len() < MAX_INNER {
                outer.inner.push(InnerSuite {
                    name: suite.name.clone(),
                    has_cases: suite.cases_inside > 0,
                    has_failed: suite.failing_inside > 0,
                });
            }
            outer.cases_inside += suite.cases_inside;
            outer.skipped_inside += suite.skipped_inside;
            outer.reruns_inside += suite.reruns_inside;
            let failing = suite.failing_inside.max(unnamed);
            outer.failing_inside = outer.failing_inside.saturating_add(failing);
        }
        // Some count skipped tests apart, some count a suite's own tests only, some leave out reruns.
        let without_skipped = suite.cases_inside - suite.skipped_inside;
        let without_reruns = suite.cases_inside.saturating_sub(suite.reruns_inside);
        let there = [
            suite.cases_inside,
            suite.cases_direct,
            without_skipped,
            without_reruns,
        ];
        if let Some(declared) = suite
            .declared
            .filter(|declared| !there.contains(declared) && !suite.has_several)
            .filter(|_| !self.dialect.is_linter)
        {
            let counted = suite.cases_inside;
            out.notes.flaw(Flaw::WRONG_TOTAL, || {
                format!("{}/@tests: {declared}, but there are {counted}", place())
            });
        }
    }

    fn end_case(&mut self, place: impl Fn() -> String, out: &mut Collector) {
        self.printing = None;
        if self.dialect.is_linter {
            return self.end_finding(out);
        }
        let is_cut_off = self.dialect.has_cut_off
            && self.case.ending.is_none()
            && self.case.seconds == Some(0.0)
            && self
                .suites
                .last()
                .is_some_and(|suite| suite.declared_failing > 0);
        let ended = match is_cut_off {
            true => Some(TestState::Skipped),
            false => self
                .case
                .ending
                .map(|ending| ending.state)
                .or(self.case.status),
        };
        let state = ended.unwrap_or(TestState::Passed);
        for suite in self.suites.iter_mut().rev().take(1) {
            suite.cases_direct += 1;
            suite.cases_inside += 1;
            suite.skipped_inside += u64::from(state == TestState::Skipped);
            let has_failed = state.is_failure() || state == TestState::Flaky;
            suite.failing_inside += u64::from(has_failed);
            suite.has_several |= self.case.details.len() > 1;
        }
        let suite = self.suites.last();
        let case = &self.case;
        // tap writes a suite for a test with points in it, and a case too.
        let is_parent = |inner: &InnerSuite| {
            inner.name == case.name && (inner.has_failed || !state.is_failure())
        };
        if self.dialect.has_yaml && suite.is_some_and(|suite| suite.inner.iter().any(is_parent)) {
            return;
        }
        // busted writes the place where others write a class.
        let of_class = place_of_class(&case.class);
        let file = match (case.file.as_str(), of_class) {
            ("", Some((file, _))) => file,
            ("", None) => suite.map_or("", |suite| &suite.file),
            (file, _) => file,
        };
        if case.name.is_empty() {
            out.notes.flaw(Flaw::NAMELESS_TEST, &place);
        }
        if case.class.is_empty() && file.is_empty() {
            out.notes.flaw(Flaw::NO_CLASS_OR_FILE, &place);
        }
        if case.seconds.is_none() && state != TestState::Skipped {
            out.notes.flaw(Flaw::NO_TIME, &place);
        }
        // Without a class, the suite distinguishes tests of one name.
        let class = match (case.class.as_str(), of_class) {
            ("", _) => suite.map_or("", |suite| &suite.name),
            (_, Some((file, _))) => file,
            (class, None) => class,
        };
        let turned = self.outermost_first(class);
        let class = turned.as_deref().unwrap_or(class);
        let seconds = case.seconds.unwrap_or(0.0);
        // minitest numbers the tests of a spec by their order.
        let name = without_number(&case.name);
        let counted = Case {
            file,
            class,
            name,
            state,
            seconds,
            title: self.dialect.title.unwrap_or(Title::WithClass),
        };
        let framework = out.framework;
        let (details, others) = match case.details.split_first() {
            Some((first, others)) => (Some(first), others),
            None => (None, &[][..]),
        };
        if framework == Some(TestFramework::GoTest) && state.is_failure() {
            self.parents.record(class, &case.name, true);
            // A test for which nothing but Go's own lines stands there failed with its subtest.
            let is_chatter =
                |details: &Details| details.trace.text().lines().all(go_text::is_chatter);
            let a_subtest_failed = self.parents.a_subtest_failed(class, &case.name).is_some();
            if a_subtest_failed && details.is_none_or(is_chatter) {
                return;
            }
        }
        let paths = [file, class, suite.map_or("", |suite| &suite.name)];
        let line = case.line.or(of_class.and_then(|(_, line)| line));
        let has_yaml = self.dialect.has_yaml;
        let described = |details: Option<&Details>| {
            let mut failure = match details.filter(|_| has_yaml) {
                Some(details) => tap_yaml::failure_of(&details.trace.text(), counted.name),
                None => describe(details, &case.printed, &counted, framework),
            };
            place_failure(&mut failure, line, paths);
            failure
        };
        out.suite = match self.dialect.has_rows {
            true => out.begin_suite(),
            false => suite.map_or(0, |suite| suite.number),
        };
        let tries = out.case(counted, || described(details));
        // Each of a test's failures has a text of its own; the test is counted once.
        if state.is_failure() {
            for other in others {
                out.problem(|| Failure {
                    test_name: Some(counted.title()),
                    ..described(Some(other))
                });
            }
        }
        if let Some(suite) = self.suites.last_mut() {
            suite.reruns_inside += tries;
        }
    }

    /// A class that names the groups around a test from within, as they are nested: bun's are.
    fn outermost_first(&self, class: &str) -> Option<String> {
        const BETWEEN: &str = " > ";
        let groups: Vec<&str> = class.split(BETWEEN).collect();
        let around = self.suites.iter().rev().map(|suite| suite.name.as_str());
        let is_from_within =
            groups.len() > 1 && around.take(groups.len()).eq(groups.iter().copied());
        is_from_within.then(|| groups.into_iter().rev().collect::<Vec<_>>().join(BETWEEN))
    }

    /// What a linter found.
    fn end_finding(&mut self, out: &mut Collector) {
        let suite = self.suites.last();
        let (name, package) = suite.map_or(("", ""), |suite| (&suite.name, &suite.package));
        let case = &self.case;
        let of_class = place_of_class(&case.class);
        let of_package = case
            .name
            .strip_prefix(package)
            .and_then(|rest| rest.strip_prefix('.'))
            .filter(|_| !package.is_empty());
        let rule = of_package.unwrap_or(&case.name);
        let file = match of_class {
            Some((file, _)) => file,
            None => [&case.file, name, &case.class]
                .into_iter()
                .find(|path| path.contains('.') && !path.contains(char::is_whitespace))
                .unwrap_or(&case.file),
        };
        let line = case.line.or(of_class.and_then(|(_, line)| line));
        for details in &case.details {
            if let Some(held) = details.held(&out.options) {
                out.add_held(held);
                continue;
            }
            let finding = details.finding(rule, file, line, case.level);
            // Whatever other linters call a failure of a case, they end with an error for.
            let fails = !self.dialect.warns || finding.severity >= FindingSeverity::High;
            out.diagnostic(finding, fails.then_some(ErrorType::LintError), None);
        }
    }
}

impl OpenCase {
    fn begin(&mut self, tag: &Tag<'_>, notes: &mut Notes) {
        for text in [&mut self.name, &mut self.class, &mut self.file] {
            text.clear();
        }
        (self.line, self.seconds, self.ending, self.status) = Default::default();
        self.level = None;
        self.details.clear();
        if self.printed.held() > 0 {
            self.printed = Clip::default();
        }
        for (key, value) in tag.attributes() {
            match key {
                "name" => self.name.push_str(&decode(value)),
                "classname" | "class" if self.class.is_empty() => {
                    self.class.push_str(&decode(value))
                }
                "file" | "filepath" => self.file.push_str(&decode(value)),
                "line" | "lineno" => self.line = numbers::line(value),
                "time" | "duration" if self.seconds.is_none() => {
                    let seconds = numbers::seconds(value);
                    self.seconds = Some(notes.usable(seconds, || tag.place.attribute(key)));
                }
                "status" | "result" => self.status = self.status.or_else(|| declared_state(value)),
                _ => {}
            }
        }
    }
}

impl OpenCase {
    /// Keeps what an element shows, the highest rank first.
    fn keep(&mut self, details: Option<Details>) {
        let Some(details) = details else { return };
        // A try before the last one shows nothing more.
        let is_try = details.rank < Ending::FAILURE;
        if !self.details.is_empty() && (is_try || details.repeats(&self.details)) {
            return;
        }
        let at = self
            .details
            .iter()
            .position(|known| known.rank < details.rank)
            .unwrap_or(self.details.len());
        self.details.insert(at, details);
    }
}

/// `sums the prices` of `test_0001_sums the prices`.
fn without_number(name: &str) -> &str {
    let numbered = name
        .strip_prefix("test_")
        .and_then(|rest| rest.split_at_checked(4))
        .filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
    let own = numbered.and_then(|(_, rest)| rest.strip_prefix('_'));
    own.unwrap_or(name)
}

/// The result that a `status` or `result` attribute declares, of the words that are not just "it ran".
fn declared_state(word: &str) -> Option<TestState> {
    match word.to_ascii_lowercase().as_str() {
        "failed" | "failure" | "fail" => Some(TestState::Failed),
        "error" | "errored" | "broken" => Some(TestState::Errored),
        "skipped" | "disabled" | "notrun" | "ignored" | "suppressed" | "pending" => {
            Some(TestState::Skipped)
        }
        _ => None,
    }
}

/// Says where the test stands, from whichever attribute holds a path. The line is that of the test's beginning, so it
/// is used only if there is no trace that could show better.
fn place_failure(failure: &mut Failure, line: Option<u32>, paths: [&str; 3]) {
    let [file, ..] = paths;
    let known = paths
        .into_iter()
        .find(|path| text::looks_like_path(path))
        .or(Some(file));
    let known = known.filter(|path| !path.is_empty()).map(text::path);
    failure.test_file = failure.test_file.take().or(known);
    if failure.stack_trace.is_none() && failure.line_number.is_none() {
        failure.line_number = line;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn groups_are_named_as_they_are_nested() {
        let named = |class: &str| {
            let report = format!(
                "<testsuites name='bun test'><testsuite name='a.test.js' file='a.test.js'><testsuite name='shop'>\
                 <testsuite name='cart'><testcase name='adds' classname='{class}'><failure message='no'/></testcase>\
                 </testsuite></testsuite></testsuite></testsuites>"
            );
            let read = crate::read(
                "unit.xml",
                report.as_bytes(),
                &crate::ReadOptions::default(),
            );
            read.failures[0].test_name.clone().unwrap()
        };
        assert_eq!(named("cart &gt; shop"), "shop > cart adds");
        assert_eq!(named("shop &gt; cart"), "shop > cart adds");
        assert_eq!(named("cart"), "cart adds");
    }

    #[test]
    fn a_class_that_the_name_holds_or_goes_on_is_named_once() {
        for (class, name, title) in [
            ("A", "t.py:A.test_adds", "t.py:A.test_adds"),
            (
                "setUpClass (test_cart",
                "Cart)",
                "setUpClass (test_cart.Cart)",
            ),
            ("cart (shop)", "adds (all)", "cart (shop) adds (all)"),
        ] {
            let report = format!(
                "<testsuite><testcase classname='{class}' name='{name}'><failure message='no'/></testcase></testsuite>"
            );
            let read = crate::read(
                "unit.xml",
                report.as_bytes(),
                &crate::ReadOptions::default(),
            );
            assert_eq!(read.failures[0].test_name.as_deref(), Some(title));
        }
    }

    #[test]
    fn what_a_suite_counts_and_does_not_name_is_told_by_the_suite() {
        let table = [
            (
                "<testsuites name='TAP Tests' failures='1'><testsuite name='top.test.js' failures='0'/></testsuites>",
                vec![
                    "top.test.js | 1 failed in `top.test.js`, by the tool's own count, and is not told by name",
                ],
            ),
            (
                "<testsuites failures='2'><testsuite name='a' failures='2'/></testsuites>",
                vec![" | 2 failed in `a`, by the tool's own count, and are not told by name"],
            ),
            (
                "<testsuites failures='2'><testsuite name='a.js'/><testsuite name='b.js'/></testsuites>",
                vec![
                    "a.js | 1 failed in `a.js`, by the tool's own count, and is not told by name",
                    "b.js | 1 failed in `b.js`, by the tool's own count, and is not told by name",
                ],
            ),
            // Of a suite whose cases passed it is not said.
            (
                "<testsuites failures='1'><testsuite name='a.js'><testcase name='t'/></testsuite></testsuites>",
                vec![" | 1 failed, by the tool's own count, and is not told by name"],
            ),
            // Which of them it is, nothing says.
            (
                "<testsuites failures='1'><testsuite name='a.js'/><testsuite name='b.js'/></testsuites>",
                vec![" | 1 failed, by the tool's own count, and is not told by name"],
            ),
        ];
        for (report, told) in table {
            let read = crate::read(
                "unit.xml",
                report.as_bytes(),
                &crate::ReadOptions::default(),
            );
            let said: Vec<String> = read
                .failures
                .iter()
                .map(|it| {
                    format!(
                        "{} | {}",
                        it.test_file.as_deref().unwrap_or(""),
                        it.error_message
                    )
                })
                .collect();
            assert_eq!(said, told);
            let failed = read.results.map(|results| results.failed);
            assert!(failed.is_some_and(|failed| failed > 0), "{report}");
        }
    }

    #[test]
    fn taps_points_are_told_by_their_yaml_and_its_parents_not_at_all() {
        let point = |name: &str, line: u32, more: &str| {
            format!(
                "<testcase name='{name}'><failure><![CDATA[\n{more}at:\n  fileName: a.test.js\n  lineNumber: {line}\nsource: |\n  \
                 t.test('{name}')\n]]></failure></testcase>"
            )
        };
        let diff = "diff: |\n  --- expected\n  +++ actual\n  @@ -1,1 +1,1 @@\n  -2\n  +1\n";
        let report = format!(
            "<testsuites name='TAP Tests' failures='5'><testsuite name='a.test.js' failures='5'><testsuite name='bad'>{}</testsuite>\
             <testsuite name='good'><testcase name='is'/></testsuite><testsuite name='after'><testcase name='is'/></testsuite>{}\
             <testcase name='good'/>{}{}<testcase name='later'><properties><property name='todo' value=''/></properties></testcase>\
             <testcase name='no'><properties><property name='skip' value='no'/></properties></testcase></testsuite></testsuites>",
            point("should be equal", 3, diff),
            point("bad", 2, ""),
            point("after", 7, ""),
            point("no stop", 8, ""),
        );
        let read = crate::read(
            "unit.xml",
            report.as_bytes(),
            &crate::ReadOptions::default(),
        );
        let told: Vec<_> = read
            .failures
            .iter()
            .map(|it| {
                let at = it.source.as_ref().and_then(|at| at.line);
                let name = it.test_name.as_deref().unwrap_or_default();
                (name, at, it.error_message.as_str(), it.expected.as_deref())
            })
            .collect();
        assert_eq!(
            told,
            [
                (
                    "bad > should be equal",
                    Some(3),
                    "should be equal",
                    Some("2")
                ),
                ("after", Some(7), "after", None),
                ("no stop", Some(8), "no stop", None),
            ]
        );
        let results = read.results;
        let results = results.map(|it| (it.total, it.passed, it.failed, it.skipped));
        assert_eq!(results, Some((7, 2, 3, 2)));
    }

    #[test]
    fn precedence_of_children() {
        // Counts of tests, passed, failed, errors, skipped and flaky.
        let table = [
            ("<failure/><error/>", [1, 0, 0, 1, 0, 0]),
            ("<failure/><flakyFailure/>", [1, 0, 1, 0, 0, 0]),
            ("<failure/><rerunError/>", [1, 0, 1, 0, 0, 0]),
            ("<rerunFailure/><rerunError/>", [1, 0, 0, 1, 0, 0]),
            ("<rerunFailure/>", [1, 0, 1, 0, 0, 0]),
            ("<failure/><skipped type='todo'/>", [1, 0, 0, 0, 1, 0]),
            ("<skipped type='skipped'/><failure/>", [1, 0, 0, 0, 1, 0]),
            (
                "<skipped type='pytest.skip'/><failure/>",
                [1, 0, 1, 0, 0, 0],
            ),
            ("<skipped/><flakyError/>", [1, 1, 0, 0, 0, 1]),
            ("<skipped/>", [1, 0, 0, 0, 1, 0]),
            ("", [1, 1, 0, 0, 0, 0]),
        ];
        for (children, counts) in table {
            let cases = [
                ("", counts),
                (
                    " status='failed'",
                    if children.is_empty() {
                        [1, 0, 1, 0, 0, 0]
                    } else {
                        counts
                    },
                ),
            ];
            for (status, expected) in cases {
                let report = format!(
                    "<testsuite><testcase name='adds'{status}>{children}</testcase></testsuite>"
                );
                let read = crate::read(
                    "unit.xml",
                    report.as_bytes(),
                    &crate::ReadOptions::default(),
                );
                let it = read.results.unwrap();
                assert_eq!(
                    [
                        it.total, it.passed, it.failed, it.errors, it.skipped, it.flaky
                    ],
                    expected,
                    "{report}"
                );
            }
        }
    }
}
