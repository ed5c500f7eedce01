//! The XML of .NET's test runners: TRX (Visual Studio, `dotnet test`), NUnit 3 and xUnit.net v2. All of them write
//! elements of a test with its result, and in them one with a message and a stack trace.
//!
//! TRX lists results first, which name their tests by id only; classes follow in the definitions, so the failures kept
//! are completed when these arrive.

use std::collections::HashMap;

use loopgate_core::evidence::{ErrorType, Failure, TestId, TestState};

use crate::{
    Case, Clip, Collector, Flaw, MAX_MESSAGE, Mark, Place, Tag, Title, Token, Unreadable, Window,
    Xml, numbers, text,
};

pub(super) const TRX: Mark = Mark::Root(|name, tag| {
    name == "TestRun" && (tag.contains(" id=") || tag.contains("/TeamTest/"))
});
/// A whole run, or the part of one assembly.
pub(super) const NUNIT: Mark = Mark::Root(|name, tag| {
    name == "test-run" || (name == "test-suite" && tag.contains(" testcasecount="))
});
pub(super) const XUNIT: Mark = Mark::Root(|name, _| name == "assemblies");

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    let mut xml = Xml::new(window);
    out.expect_tests();
    let mut run = DotnetRun::default();
    loop {
        match xml.next(&mut out.notes)? {
            Token::Open(tag) => run.begin(&tag, out),
            Token::Text(text) => {
                if let Some((_, clip)) = &mut run.recording {
                    clip.push(&text);
                }
            }
            Token::Close(place) => run.end(place, out),
            Token::End => return Ok(()),
        }
    }
}

#[derive(Default)]
struct DotnetRun {
    /// The open suites, and in them the test. Data-driven tests of TRX hold one inside the other.
    open: Vec<Open>,
    /// Depth of the open element that shows why a test failed.
    failure: Option<usize>,
    /// The element whose text is wanted, by its depth.
    recording: Option<(usize, Clip)>,
    /// Failures kept, by the id that TRX gives their test.
    by_test: HashMap<String, Vec<TestId>>,
    /// Failures of the test whose definition is open.
    defining: Vec<TestId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ElementKind {
    Test,
    /// Of xUnit.net: a clean-up that broke.
    Error,
    /// What stands in another one is another test.
    Suite,
}

/// A test or suite that is being read.
struct Open {
    kind: ElementKind,
    depth: usize,
    /// Of the suite, or of that around the test.
    number: u16,
    name: String,
    /// The id of the test in TRX.
    class: String,
    state: TestState,
    seconds: f64,
    failure: Failure,
    /// How many tests it declares to hold, and where it does.
    declared: Option<(u64, String)>,
    /// Where a suite of NUnit failed.
    site: String,
    /// Tests inside; those of them that stand in no other test; and tries of tests that passed at last.
    cases: u64,
    outermost: u64,
    reruns: u64,
    a_case_failed: bool,
}

impl DotnetRun {
    fn begin(&mut self, tag: &Tag<'_>, out: &mut Collector) {
        let depth = tag.place.depth;
        let is_in_failure = self.failure.is_some_and(|failure| failure + 1 == depth);
        match tag.name {
            "UnitTestResult"
            | "TestResultAggregation"
            | "GenericTestResult"
            | "test-case"
            | "test" => {
                self.open(tag, ElementKind::Test, out);
            }
            "error" => self.open(tag, ElementKind::Error, out),
            "TestRun" | "test-run" | "test-suite" | "assembly" | "collection" => {
                self.open(tag, ElementKind::Suite, out)
            }
            "failure" | "reason" | "ErrorInfo" => {
                self.failure = Some(depth);
                if let Some(open) = self.open.last_mut() {
                    let thrown = tag
                        .attribute("exception-type")
                        .map(|class| text::name(class.trim()));
                    open.failure.error_class = thrown.filter(|class| !class.is_empty());
                }
            }
            // An assertion of NUnit's has its own message, and the failure's message holds all of them.
            "message" | "Message" if is_in_failure => {
                self.recording = Some((depth, Clip::new(MAX_MESSAGE)))
            }
            "stack-trace" | "StackTrace" if is_in_failure => {
                self.recording = Some((depth, Clip::default()))
            }
            "RunInfo" if tag.attribute("outcome").as_deref() == Some("Error") => {
                self.recording = Some((depth, Clip::new(MAX_MESSAGE)));
            }
            "ResultSummary" => {
                let outcome = tag.attribute("outcome").unwrap_or_default();
                if matches!(outcome.as_ref(), "Failed" | "Aborted" | "Timeout" | "Error") {
                    out.run.fail(None);
                }
            }
            "Counters" => {
                if let Some(run) = self.open.last_mut() {
                    run.declared = declared(tag);
                }
            }
            "UnitTest" => {
                let known = tag.attribute("id").and_then(|id| self.by_test.remove(&id));
                self.defining = known.unwrap_or_default();
            }
            "TestMethod" => {
                let class = tag.attribute("className").unwrap_or_default();
                // Older versions write the assembly behind the class.
                let class = class.split(',').next().unwrap_or_default();
                let defined = std::mem::take(&mut self.defining);
                let is_defined = |failure: &&mut Failure| {
                    failure.test_id.is_some_and(|id| defined.contains(&id))
                };
                let failures = out.report.failures.iter_mut().filter(is_defined);
                let names = failures.filter_map(|failure| failure.test_name.as_mut());
                // Names that lack the class, as MSTest's do.
                for name in names.filter(|name| !class.is_empty() && !name.contains(class)) {
                    *name = text::name(&format!("{class}.{name}"));
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, tag: &Tag<'_>, kind: ElementKind, out: &mut Collector) {
        let first = |names: [&str; 3]| {
            names
                .iter()
                .find_map(|name| tag.attribute(name))
                .unwrap_or_default()
        };
        let number = match kind {
            ElementKind::Suite => out.begin_suite(),
            _ => self.open.last().map_or(0, |outer| outer.number),
        };
        let time = ["duration", "time"]
            .into_iter()
            .find_map(|name| Some((name, tag.attribute(name)?)));
        let seconds = time
            .filter(|_| kind == ElementKind::Test)
            .map(|(name, time)| {
                out.notes
                    .usable(clock_time(&time).ok_or(0.0), || tag.place.attribute(name))
            });
        self.failure = None;
        self.open.push(Open {
            kind,
            depth: tag.place.depth,
            number,
            name: first(["testName", "fullname", "name"]),
            class: first(["testId", "classname", "type"]),
            state: state_of(tag, kind, out),
            seconds: seconds.unwrap_or(0.0),
            failure: Failure::default(),
            declared: declared(tag),
            site: tag.attribute("site").unwrap_or_default(),
            cases: 0,
            outermost: 0,
            reruns: 0,
            a_case_failed: false,
        });
    }

    fn end(&mut self, place: &Place, out: &mut Collector) {
        let depth = place.depth;
        if let Some((_, clip)) = self.recording.take_if(|(recorded, _)| *recorded == depth) {
            let text = clip.text();
            match (place.name(), self.open.last_mut()) {
                ("RunInfo", _) => {
                    let message = text.trim();
                    // xUnit.net's adapter writes such a line for each failing test, the platform's runner one for all.
                    let is_test = message.starts_with("[xUnit.net ") && message.ends_with("[FAIL]");
                    if !is_test && !message.starts_with("Exit code indicates failure: '2'") {
                        out.notes
                            .flaw(Flaw::TOOL_FAILED, || text::first_line(message).to_owned());
                        out.run.fail(Some(Failure::of(ErrorType::Other, message)));
                    }
                }
                ("message" | "Message", Some(open)) => {
                    // It may begin with the class of what was thrown: `System.NullReferenceException : Object …`.
                    let class = text.trim().split([':', ' ']).next();
                    let class =
                        class.filter(|word| word.contains('.') && word.ends_with("Exception"));
                    open.failure.error_class =
                        open.failure.error_class.take().or(class.map(text::name));
                    open.failure.error_message = text.trim().to_owned();
                }
                (_, Some(open)) => {
                    open.failure.stack_trace = Some(text.trim_matches('\n').trim_end().to_owned())
                }
                _ => {}
            }
        } else if self.failure == Some(depth) {
            self.failure = None;
        } else if let Some(mut ended) = self.open.pop_if(|open| open.depth == depth) {
            // The failure of a suite mostly shows that a test in it failed, or is what these show.
            let failed = ended.state.is_failure();
            let is_counted = match ended.site.as_str() {
                _ if ended.kind != ElementKind::Suite => true,
                "TearDown" => failed,
                "Parent" => false,
                _ => failed && !ended.a_case_failed,
            };
            // A data-driven test sums up its rows, which are counted themselves.
            let is_test = ended.kind == ElementKind::Test && ended.cases == 0;
            out.suite = self.open.last().map_or(ended.number, |outer| outer.number);
            if is_counted && (is_test || ended.kind != ElementKind::Test) {
                if ended.name.is_empty() && is_test {
                    out.notes
                        .flaw(Flaw::NAMELESS_TEST, || format!("a test {:?}", ended.class));
                }
                let error = format!("({} error)", ended.class);
                let (class, name, title) = match ended.kind {
                    ElementKind::Test => (&*ended.class, &*ended.name, Title::NameOnly),
                    ElementKind::Error => (&*ended.name, &*error, Title::WithClass),
                    ElementKind::Suite => (&*ended.name, "(the suite itself)", Title::WithClass),
                };
                let before = out.report.failures.len();
                let case = Case {
                    file: "",
                    class,
                    name,
                    state: ended.state,
                    seconds: ended.seconds,
                    title,
                };
                ended.reruns += out.case(case, || ended.failure.clone());
                if let Some(id) = out
                    .report
                    .failures
                    .get(before)
                    .and_then(|failure| failure.test_id)
                {
                    self.by_test
                        .entry(ended.class.clone())
                        .or_default()
                        .push(id);
                }
            }
            let there = [
                ended.cases,
                ended.outermost,
                ended.cases.saturating_sub(ended.reruns),
            ];
            if let Some((declared, place)) = ended
                .declared
                .as_ref()
                .filter(|(declared, _)| !there.contains(declared))
            {
                out.notes.flaw(Flaw::WRONG_TOTAL, || {
                    format!("{place}: {declared}, but there are {}", ended.cases)
                });
            }
            if let Some(outer) = self.open.last_mut() {
                outer.cases += ended.cases + u64::from(is_test);
                outer.outermost += if ended.kind == ElementKind::Test {
                    1
                } else {
                    ended.outermost
                };
                outer.reruns += ended.reruns;
                outer.a_case_failed |= ended.a_case_failed || is_counted && failed;
            }
        }
    }
}

/// How many tests an element declares, and where it does.
fn declared(tag: &Tag<'_>) -> Option<(u64, String)> {
    let total = numbers::count(&tag.attribute("total")?).ok()?;
    Some((total, tag.place.attribute("total")))
}

/// The result of a test, in the words of the three formats' schemas.
fn state_of(tag: &Tag<'_>, kind: ElementKind, out: &mut Collector) -> TestState {
    let key = if tag.attribute("outcome").is_some() {
        "outcome"
    } else {
        "result"
    };
    let word = tag.attribute(key);
    match (word.as_deref().unwrap_or_default(), kind) {
        ("Passed" | "PassedButRunAborted" | "Warning" | "Completed" | "Pass", _) => {
            TestState::Passed
        }
        ("Failed" | "Fail", _) if tag.attribute("label").as_deref() == Some("Error") => {
            TestState::Errored
        }
        ("Failed" | "Fail", _) => TestState::Failed,
        ("Error" | "Timeout" | "Aborted" | "NotRunnable" | "Disconnected" | "InProgress", _) => {
            TestState::Errored
        }
        ("NotExecuted" | "Inconclusive" | "Pending" | "Skipped" | "Skip" | "NotRun", _) => {
            TestState::Skipped
        }
        (_, ElementKind::Suite) => TestState::Passed,
        // The outcome that TRX does not write is the first of its enumeration, `Error`.
        ("", ElementKind::Error) => TestState::Errored,
        ("", ElementKind::Test) if !matches!(tag.name, "test-case" | "test") => TestState::Errored,
        _ => {
            out.notes
                .flaw(Flaw::UNKNOWN_RESULT, || tag.place.attribute(key));
            TestState::Errored
        }
    }
}

/// Seconds, or `00:01:02.5000000`; days stand before a point.
fn clock_time(text: &str) -> Option<f64> {
    let mut parts = text.trim().rsplitn(3, ':');
    let seconds = numbers::seconds(parts.next()?).ok()?;
    let minutes = parts
        .next()
        .map_or(Some(0), |part| numbers::count(part).ok())?;
    let hours = parts.next().unwrap_or("0");
    let (days, hours) = hours.split_once('.').unwrap_or(("0", hours));
    let (days, hours) = (numbers::count(days).ok()?, numbers::count(hours).ok()?);
    let whole = (days.min(400) * 24 + hours.min(10_000)) * 60 + minutes.min(100_000);
    Some(whole as f64 * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_times() {
        let table = [
            ("00:00:00.1234567", Some(0.1234567)),
            ("00:01:02.5", Some(62.5)),
            ("1.02:00:00", Some(93_600.0)),
            ("7", Some(7.0)),
            ("soon", None),
            ("aa:00:00", None),
        ];
        for (text, expected) in table {
            assert_eq!(clock_time(text), expected, "{text}");
        }
    }
}
