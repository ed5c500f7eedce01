//! JUnit XML, which is a family: pytest, jest-junit, vitest, mocha, nextest, gotestsum, Surefire, Gradle, PHPUnit,
//! RSpec, the .NET converters and many others write what they need and leave out what they like.
//!
//! What they agree on is little: `testcase` elements somewhere below, and in them `error`, `failure` or `skipped`. That
//! is what is believed (evidence.md, Rules for the ugly cases); declared totals are only compared.

use crate::core::{
    evidence::{Failure, SourceLocation, TestFramework},
    roster::TestState,
};

use super::{
    Unreadable, classify,
    collect::{Case, Collector},
    notes::{Flaw, Notes},
    numbers, rust_panic,
    text::{self, Clip, MAX_MESSAGE, MAX_TRACE},
    xml::{Tag, Token, Xml},
};

pub(super) fn parse(xml: &mut Xml<'_, '_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.expect_tests();
    let mut junit = Junit::default();
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) => junit.open(&tag, out),
            Token::Text(text) => {
                if let Some(details) = &mut junit.recording {
                    details.text(|| text.decode());
                }
                continue;
            }
            Token::Close(place) => junit.close(place.depth(), || place.to_string(), out),
            Token::End => return Ok(()),
        }
        if let Some(label) = junit.label.take() {
            xml.label(&label);
        }
    }
}

#[derive(Default)]
struct Junit {
    suites: Vec<Suite>,
    case: OpenCase,
    /// Depth of the open `testcase`.
    case_depth: Option<usize>,
    /// The element whose text is being recorded.
    recording: Option<Details>,
    /// A suite-level failure, which no `testcase` will report.
    suite_state: Option<TestState>,
    /// The suite just opened, for the paths of messages.
    label: Option<String>,
}

#[derive(Default)]
struct Suite {
    depth: usize,
    name: String,
    file: String,
    declared: Option<u64>,
    cases_inside: u64,
    /// Not counting those of suites inside this one.
    cases_direct: u64,
    skipped_inside: u64,
}

/// The `testcase` being read. Its strings are used again for the next one.
#[derive(Default)]
struct OpenCase {
    name: String,
    class: String,
    file: String,
    line: Option<u32>,
    seconds: Option<f64>,
    children: Children,
    details: Option<Details>,
    /// What the attributes say, for dialects that have no child element for it.
    status: Option<TestState>,
}

/// Which of the telling children a `testcase` has had.
#[derive(Clone, Copy, Default)]
struct Children {
    error: bool,
    failure: bool,
    rerun: Option<TestState>,
    flaky: bool,
    skipped: bool,
}

impl Children {
    /// Precedence: error > failure > flaky pass > success > skipped. A `rerunFailure` alone is a failure, once.
    fn state(self, status: Option<TestState>) -> TestState {
        match (self.rerun, status) {
            _ if self.error => TestState::Errored,
            _ if self.failure => TestState::Failed,
            (Some(rerun), _) => rerun,
            _ if self.flaky => TestState::Flaky,
            _ if self.skipped => TestState::Skipped,
            (None, status) => status.unwrap_or(TestState::Passed),
        }
    }
}

/// What a `failure` or `error` says.
struct Details {
    rank: u8,
    depth: usize,
    /// Depth of an element inside whose text is not the failure's (captured output).
    muted: Option<usize>,
    class: String,
    message: String,
    trace: Clip,
}

impl Details {
    fn text<'a>(&mut self, piece: impl FnOnce() -> std::borrow::Cow<'a, str>) {
        if self.muted.is_none() {
            self.trace.push(&piece());
        }
    }
}

/// A child of `testcase` that tells how it ended.
#[derive(Clone, Copy)]
enum Telling {
    Error,
    Failure,
    RerunError,
    RerunFailure,
    Flaky,
    Skipped,
}

impl Telling {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "error" => Self::Error,
            "failure" => Self::Failure,
            "rerunError" => Self::RerunError,
            "rerunFailure" | "rerun" => Self::RerunFailure,
            "flakyFailure" | "flakyError" => Self::Flaky,
            "skipped" | "skip" | "ignored" | "disabled" => Self::Skipped,
            _ => return None,
        })
    }

    /// Whose details describe the test best; none need to be recorded for what is no failure.
    fn rank(self) -> Option<u8> {
        match self {
            Self::Error => Some(3),
            Self::Failure => Some(2),
            Self::RerunError | Self::RerunFailure => Some(1),
            Self::Flaky | Self::Skipped => None,
        }
    }
}

impl Junit {
    fn open(&mut self, tag: &Tag<'_>, out: &mut Collector<'_>) {
        let depth = tag.place.depth();
        if let Some(details) = &mut self.recording {
            if matches!(tag.name, "system-out" | "system-err") {
                details.muted.get_or_insert(depth);
            }
            return;
        }
        match (tag.name, self.case_depth) {
            ("testcase", None) => {
                self.case_depth = Some(depth);
                self.case.begin(tag, &mut out.notes);
            }
            ("testcase", Some(_)) => {
                // A case inside a case: the outer one has said what it is by now.
                self.end_case(|| tag.place.to_string(), out);
                self.case_depth = Some(depth);
                self.case.begin(tag, &mut out.notes);
            }
            ("testsuite" | "testsuites", None) => self.begin_suite(tag, out),
            ("property", None) if tag.attribute("name").is_some_and(|name| name.starts_with("go.version")) => {
                out.framework = out.framework.or(Some(TestFramework::GoTest));
            }
            (name, Some(case)) if depth == case + 1 => {
                if let Some(telling) = Telling::of(name) {
                    self.tell(telling, tag, out.wants_failures());
                }
            }
            ("failure" | "error", None) if self.suites.last().is_some_and(|suite| suite.depth + 1 == depth) => {
                let telling = if tag.name == "error" { Telling::Error } else { Telling::Failure };
                self.suite_state = Some(if tag.name == "error" { TestState::Errored } else { TestState::Failed });
                self.recording = telling.rank().map(|rank| Details::begin(tag, rank));
            }
            _ => {}
        }
    }

    fn tell(&mut self, telling: Telling, tag: &Tag<'_>, wants_details: bool) {
        let children = &mut self.case.children;
        match telling {
            Telling::Error => children.error = true,
            Telling::Failure => children.failure = true,
            Telling::RerunError => children.rerun = Some(TestState::Errored),
            Telling::RerunFailure => children.rerun = children.rerun.or(Some(TestState::Failed)),
            Telling::Flaky => children.flaky = true,
            Telling::Skipped => children.skipped = true,
        }
        let known = self.case.details.as_ref().map_or(0, |details| details.rank);
        if let Some(rank) = telling.rank().filter(|rank| wants_details && *rank > known) {
            self.recording = Some(Details::begin(tag, rank));
        }
    }

    fn close(&mut self, depth: usize, place: impl Fn() -> String, out: &mut Collector<'_>) {
        if let Some(details) = &mut self.recording {
            if details.muted == Some(depth) {
                details.muted = None;
            }
            if details.depth == depth {
                let details = self.recording.take();
                match self.suite_state.take() {
                    Some(state) => self.end_suite_failure(state, details, out),
                    None => self.case.details = details,
                }
            }
            return;
        }
        if self.case_depth == Some(depth) {
            self.case_depth = None;
            self.end_case(place, out);
        } else if self.suites.last().is_some_and(|suite| suite.depth == depth) {
            self.end_suite(place, out);
        }
    }

    fn begin_suite(&mut self, tag: &Tag<'_>, out: &mut Collector<'_>) {
        let mut suite = Suite { depth: tag.place.depth(), ..Suite::default() };
        for (key, value) in tag.attributes() {
            match key {
                "name" => suite.name = value.decode().into_owned(),
                "file" | "filepath" => suite.file = value.decode().into_owned(),
                "tests" => match numbers::count(value.raw()) {
                    Ok(count) => suite.declared = Some(count),
                    Err(_) => out.notes.flaw(Flaw::BadNumber, || tag.place.attribute("tests")),
                },
                _ => {}
            }
        }
        if suite.file.is_empty() {
            suite.file = self.suites.last().map(|outer| outer.file.clone()).unwrap_or_default();
        }
        out.framework = out.framework.or_else(|| dialect(&suite.name));
        self.label = Some(suite.name.clone());
        self.suites.push(suite);
    }

    fn end_suite(&mut self, place: impl Fn() -> String, out: &mut Collector<'_>) {
        let Some(suite) = self.suites.pop() else { return };
        if let Some(outer) = self.suites.last_mut() {
            outer.cases_inside += suite.cases_inside;
            outer.skipped_inside += suite.skipped_inside;
        }
        // Some count skipped tests apart, some count only a suite's own tests.
        let without_skipped = suite.cases_inside - suite.skipped_inside;
        let there = [suite.cases_inside, suite.cases_direct, without_skipped];
        if let Some(declared) = suite.declared.filter(|declared| !there.contains(declared)) {
            let counted = suite.cases_inside;
            out.notes.flaw(Flaw::WrongTotal, || format!("{}/@tests: {declared}, but there are {counted}", place()));
        }
    }

    fn end_case(&mut self, place: impl Fn() -> String, out: &mut Collector<'_>) {
        let state = self.case.children.state(self.case.status);
        for suite in self.suites.iter_mut().rev().take(1) {
            suite.cases_direct += 1;
            suite.cases_inside += 1;
            suite.skipped_inside += u64::from(state == TestState::Skipped);
        }
        let suite = self.suites.last();
        let case = &self.case;
        let file = if case.file.is_empty() { suite.map_or("", |suite| &suite.file) } else { &case.file };
        if case.name.is_empty() {
            out.notes.flaw(Flaw::NamelessTest, &place);
        }
        if case.class.is_empty() && file.is_empty() {
            out.notes.flaw(Flaw::NoClassOrFile, &place);
        }
        if case.seconds.is_none() && state != TestState::Skipped {
            out.notes.flaw(Flaw::NoTime, &place);
        }
        // Without a class, the suite is what tells tests of one name apart.
        let class = if case.class.is_empty() { suite.map_or("", |suite| &suite.name) } else { &case.class };
        let seconds = case.seconds.unwrap_or(0.0);
        out.case(Case { file, class, name: &case.name, state, seconds }, || {
            let mut failure = describe(case.details.as_ref(), &case.name, state);
            place_failure(&mut failure, case, class, file, suite.map_or("", |suite| &suite.name));
            failure
        });
    }

    /// A `failure` or `error` directly in a suite: its set-up broke, and no case will say so.
    fn end_suite_failure(&mut self, state: TestState, details: Option<Details>, out: &mut Collector<'_>) {
        let suite = self.suites.last();
        let (name, file) = suite.map_or(("", ""), |suite| (&suite.name, &suite.file));
        out.case(Case { file, class: name, name: "(the suite itself)", state, seconds: 0.0 }, || {
            describe(details.as_ref(), "", state)
        });
    }
}

impl Details {
    fn begin(tag: &Tag<'_>, rank: u8) -> Self {
        let mut details = Self {
            rank,
            depth: tag.place.depth(),
            muted: None,
            class: String::new(),
            message: String::new(),
            trace: Clip::new(MAX_TRACE),
        };
        for (key, value) in tag.attributes() {
            match key {
                "type" => details.class = text::name(&value.decode()),
                "message" => details.message = text::clipped(&value.decode(), MAX_MESSAGE),
                _ => {}
            }
        }
        details
    }
}

impl OpenCase {
    fn begin(&mut self, tag: &Tag<'_>, notes: &mut Notes) {
        for text in [&mut self.name, &mut self.class, &mut self.file] {
            text.clear();
        }
        (self.line, self.seconds, self.children, self.details, self.status) = Default::default();
        for (key, value) in tag.attributes() {
            match key {
                "name" => self.name.push_str(&value.decode()),
                "classname" | "class" if self.class.is_empty() => self.class.push_str(&value.decode()),
                "file" | "filepath" => self.file.push_str(&value.decode()),
                "line" | "lineno" => self.line = numbers::line(value.raw()),
                "time" | "duration" if self.seconds.is_none() => {
                    self.seconds = Some(numbers::seconds(value.raw()).unwrap_or_else(|clamped| {
                        notes.flaw(Flaw::BadNumber, || tag.place.attribute(key));
                        clamped
                    }));
                }
                "status" | "result" => self.status = self.status.or_else(|| declared_state(value.raw())),
                _ => {}
            }
        }
    }
}

/// The result that a `status` or `result` attribute declares, of the words that are not just "it ran".
fn declared_state(word: &str) -> Option<TestState> {
    match word.to_ascii_lowercase().as_str() {
        "failed" | "failure" | "fail" => Some(TestState::Failed),
        "error" | "errored" | "broken" => Some(TestState::Errored),
        "skipped" | "disabled" | "notrun" | "ignored" | "suppressed" | "pending" => Some(TestState::Skipped),
        _ => None,
    }
}

/// The framework, where the name of the outermost suite gives it away.
fn dialect(name: &str) -> Option<TestFramework> {
    match name {
        "jest tests" => Some(TestFramework::Jest),
        "vitest tests" => Some(TestFramework::Vitest),
        "Mocha Tests" => Some(TestFramework::Mocha),
        "pytest" | "pytest tests" => Some(TestFramework::Pytest),
        "nextest-run" => Some(TestFramework::CargoTest),
        _ => None,
    }
}

/// The failure, from what its element says.
fn describe(details: Option<&Details>, test: &str, state: TestState) -> Failure {
    let Some(details) = details else { return Failure::default() };
    let trace = details.trace.text();
    let trace = trace.trim();
    let message = match details.message.trim() {
        "" => text::first_line(without_title(trace, test)),
        message => message,
    };
    let class = Some(details.class.trim()).filter(|class| !class.is_empty());
    let mut failure = Failure {
        error_type: classify::error_type(class, message, trace, state),
        error_class: class.map(str::to_owned),
        error_message: text::clipped(message, MAX_MESSAGE),
        stack_trace: (!trace.is_empty() && trace != message).then(|| trace.to_owned()),
        ..Failure::default()
    };
    if let Some(panic) = rust_panic::find(trace, None).or_else(|| rust_panic::find(message, None)) {
        panic.fill(&mut failure);
    }
    failure
}

/// PHPUnit's texts begin with the test's own name.
fn without_title<'a>(trace: &'a str, test: &str) -> &'a str {
    match trace.split_once('\n') {
        Some((title, rest)) if !test.is_empty() && title.rsplit("::").next() == Some(test) => rest,
        _ => trace,
    }
}

/// Says where the test stands, from whichever attribute holds a path.
fn place_failure(failure: &mut Failure, case: &OpenCase, class: &str, file: &str, suite: &str) {
    let candidates = [file, class, suite];
    let known = candidates.into_iter().find(|path| text::looks_like_path(path)).or(Some(file));
    let known = known.filter(|path| !path.is_empty()).map(text::path);
    let trace = failure.stack_trace.as_deref().unwrap_or_default();
    match (known, place_in_trace(trace)) {
        (Some(known), _) => {
            failure.line_number = line_in_trace(trace, &known).or(case.line);
            failure.test_file = Some(known);
        }
        (None, Some((path, line))) => {
            failure.line_number = Some(line);
            failure.test_file = Some(text::path(path));
        }
        (None, None) => failure.line_number = case.line,
    }
    if failure.source.is_none() {
        let place = |file: &String| SourceLocation { file: file.clone(), line: failure.line_number, function: None };
        failure.source = failure.test_file.as_ref().filter(|_| failure.line_number.is_some()).map(place);
    }
}

/// The place a line of the trace begins with, as pytest (`tests/test_cart.py:7: ValueError`, the innermost last) and
/// Go (`cart_test.go:12: got 1`, the first) write it.
fn place_in_trace(trace: &str) -> Option<(&str, u32)> {
    let place = |line: &'_ str| -> Option<(usize, u32)> {
        let (path, rest) = line.split_once(':')?;
        let (number, _) = rest.split_once(':')?;
        let known = text::looks_like_path(path) && !path.contains(char::is_whitespace);
        Some((path.len(), numbers::line(number).filter(|_| known)?))
    };
    let mut found = None;
    for line in trace.lines().map(str::trim_start) {
        if let Some((length, number)) = place(line) {
            found = Some((&line[..length], number));
            if !line[..length].ends_with(".py") {
                break;
            }
        }
    }
    found
}

/// The first line number that the trace gives right behind the file's name: `cart.test.ts:12:5`, `cart_test.py:12: in`.
fn line_in_trace(trace: &str, file: &str) -> Option<u32> {
    let name = file.rsplit(['/', '\\']).next().filter(|name| !name.is_empty())?;
    let after = |(at, _): (usize, &str)| {
        let rest = trace[at + name.len()..].strip_prefix(':')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        numbers::line(&rest[..digits])
    };
    trace.match_indices(name).filter_map(after).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_of_children() {
        let none = Children::default();
        let table = [
            (Children { error: true, failure: true, ..none }, None, TestState::Errored),
            (Children { failure: true, flaky: true, ..none }, None, TestState::Failed),
            (Children { failure: true, rerun: Some(TestState::Errored), ..none }, None, TestState::Failed),
            (Children { rerun: Some(TestState::Failed), ..none }, None, TestState::Failed),
            (Children { flaky: true, skipped: true, ..none }, None, TestState::Flaky),
            (Children { skipped: true, ..none }, None, TestState::Skipped),
            (none, None, TestState::Passed),
            (none, Some(TestState::Failed), TestState::Failed),
            (Children { skipped: true, ..none }, Some(TestState::Failed), TestState::Skipped),
        ];
        for (children, status, expected) in table {
            assert_eq!(children.state(status), expected);
        }
    }

    #[test]
    fn lines_in_traces() {
        let table = [
            ("at x (/repo/src/cart.test.ts:12:5)\nat cart.test.ts:40:1", "src/cart.test.ts", Some(12)),
            ("tests/test_cart.py:7: AssertionError", "tests/test_cart.py", Some(7)),
            ("CartTest.java has no line", "CartTest.java", None),
            ("cart.rs:0", "cart.rs", None),
            ("", "", None),
        ];
        let places = [
            ("def test():\n\ntests/test_cart.py:7: in f\nsrc/cart.py:3: ValueError\n", Some(("src/cart.py", 3))),
            ("    cart_test.go:12: got 1\n    cart_test.go:13: got 2", Some(("cart_test.go", 12))),
            ("note: 12:30: late", None),
        ];
        for (trace, expected) in places {
            assert_eq!(place_in_trace(trace), expected, "{trace}");
        }
        for (trace, file, expected) in table {
            assert_eq!(line_in_trace(trace, file), expected, "{trace}");
        }
    }
}
