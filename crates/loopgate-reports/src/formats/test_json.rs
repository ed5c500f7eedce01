//! The JSON of Playwright, mocha, RSpec and CTRF, and the lines of JSON that Dart's and Flutter's runner writes.

use std::collections::HashMap;

use loopgate_core::evidence::{Failure, TestFramework, TestState};
use serde::{Deserialize, Deserializer};

use crate::{
    Unreadable,
    collect::{Case, Collector, Title},
    json::{Elements, Number, Text, read},
    mark::Mark,
    notes::Flaw,
    text::{self, MAX_MESSAGE, MAX_TRACE},
    window::Window,
};

pub(super) const PLAYWRIGHT: Mark =
    Mark::Object(|head, keys| keys.contains(&"config") && (keys.contains(&"suites") || head.contains("\"projects\"")));
pub(super) const MOCHA: Mark =
    Mark::Object(|head, keys| keys.contains(&"stats") && (keys.contains(&"tests") || head.contains("\"passPercent\"")));
pub(super) const RSPEC: Mark = Mark::Object(|head, keys| {
    keys.contains(&"examples") || keys.contains(&"version") && head.contains("\"examples\":[")
});
pub(super) const CTRF: Mark = Mark::Object(|head, keys| keys.contains(&"results") && head.contains("\"summary\""));
pub(super) const DART: Mark = Mark::JsonLines(|keys| {
    keys.contains(&"protocolVersion") && keys.contains(&"runnerVersion")
        || keys.contains(&"testID") && keys.contains(&"type")
});

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.expect_tests();
    read(window, &mut Document { out })
}

/// The document of any of the four; which key holds the tests tells which it is.
struct Document<'c, 'o> {
    out: &'c mut Collector<'o>,
}

impl Elements for Document<'_, '_> {
    fn paths(&self) -> &'static [&'static str] {
        &["suites[]", "tests[]", "examples[]", "results.tests[]"]
    }

    fn take<'de, D: Deserializer<'de>>(&mut self, path: usize, value: D) -> Result<(), D::Error> {
        match path {
            0 => Suite::deserialize(value).map(|suite| suite.report("", "", self.out)),
            _ => Test::deserialize(value).map(|test| test.report(self.out)),
        }
    }
}

/// A test of mocha, RSpec or CTRF.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Test {
    #[serde(alias = "fullTitle", alias = "full_description")]
    name: Text,
    suite: Text,
    #[serde(alias = "filePath", alias = "file_path")]
    file: Text,
    #[serde(alias = "line_number")]
    line: Number,
    status: Text,
    flaky: Option<bool>,
    /// Milliseconds.
    duration: Number,
    /// Seconds.
    run_time: Number,
    message: Text,
    trace: Text,
    #[serde(alias = "exception")]
    err: Option<Thrown>,
}

/// What was thrown.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Thrown {
    #[serde(alias = "name")]
    class: Text,
    message: Text,
    stack: Text,
    backtrace: Option<Vec<Text>>,
    expected: Text,
    actual: Text,
}

impl Test {
    fn report(self, out: &mut Collector<'_>) {
        let thrown = self.err.filter(|thrown| thrown.message.0.is_some() || thrown.stack.0.is_some());
        let state = match self.status.0.as_deref() {
            Some("passed") if self.flaky == Some(true) => TestState::Flaky,
            Some("passed") => TestState::Passed,
            Some("failed") => TestState::Failed,
            Some("pending" | "skipped" | "other") => TestState::Skipped,
            // Mocha says nothing but what was thrown, and how long a test took that ran.
            None if thrown.is_some() => TestState::Failed,
            None if self.duration.0.is_some() => TestState::Passed,
            None => TestState::Skipped,
            Some(other) => {
                out.notes.flaw(Flaw::UnknownResult, || format!("status {other:?}"));
                TestState::Errored
            }
        };
        let [name, suite, file] = [self.name, self.suite, self.file].map(|text| text.0.unwrap_or_default());
        let seconds = self.run_time.0.or(self.duration.0.map(|millis| millis / 1000.0)).unwrap_or(0.0).max(0.0);
        let file = text::path(&file);
        out.case(Case { file: &file, class: &suite, name: &name, state, seconds, title: Title::NameOnly }, || {
            let mut failure = thrown.map(failure).unwrap_or_default();
            if let Some(message) = self.message.0 {
                failure.error_message = text::clipped(&message, MAX_MESSAGE);
            }
            failure.stack_trace = self.trace.0.map(|trace| text::clipped(&trace, MAX_TRACE)).or(failure.stack_trace);
            // The line of the test's beginning; a trace says better.
            failure.line_number = self.line.line().filter(|_| failure.stack_trace.is_none());
            failure
        });
    }
}

fn failure(thrown: Thrown) -> Failure {
    let lines = thrown.backtrace.unwrap_or_default().into_iter().filter_map(|line| line.0);
    let backtrace = lines.map(|line| format!("# {line}")).collect::<Vec<_>>().join("\n");
    let stack = thrown.stack.0.filter(|stack| !stack.is_empty()).unwrap_or(backtrace);
    let value = |text: Text| text.0.map(|value| text::clipped(&value, MAX_MESSAGE));
    Failure {
        error_class: thrown.class.0.map(|class| text::name(&class)),
        error_message: text::clipped(thrown.message.0.unwrap_or_default().trim(), MAX_MESSAGE),
        stack_trace: (!stack.is_empty()).then(|| text::clipped(&stack, MAX_TRACE)),
        expected: value(thrown.expected),
        actual: value(thrown.actual),
        ..Failure::default()
    }
}

/// A file or a `describe` of Playwright.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Suite {
    title: Text,
    file: Text,
    suites: Vec<Suite>,
    specs: Vec<Spec>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    title: Text,
    line: Number,
    tests: Vec<Run>,
}

/// A spec in one project.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Run {
    project_name: Text,
    status: Text,
    results: Vec<Try>,
}

#[derive(Deserialize)]
struct Try {
    #[serde(default)]
    duration: Number,
    error: Option<Thrown>,
}

impl Suite {
    fn report(self, above: &str, file: &str, out: &mut Collector<'_>) {
        let title = self.title.0.unwrap_or_default();
        let file = self.file.0.unwrap_or_else(|| file.to_owned());
        // The outermost suite bears the file's name.
        let path = if title == file { String::new() } else { joined(above, &title) };
        for spec in self.specs {
            let name = joined(&path, spec.title.0.as_deref().unwrap_or_default());
            for run in spec.tests {
                run.report(&file, &name, spec.line.line(), out);
            }
        }
        self.suites.into_iter().for_each(|suite| suite.report(&path, &file, out));
    }
}

fn joined(above: &str, title: &str) -> String {
    if above.is_empty() { title.to_owned() } else { format!("{above} › {title}") }
}

impl Run {
    fn report(self, file: &str, name: &str, line: Option<u32>, out: &mut Collector<'_>) {
        let state = match self.status.0.as_deref() {
            Some("expected") => TestState::Passed,
            Some("flaky") => TestState::Flaky,
            Some("skipped") => TestState::Skipped,
            _ => TestState::Failed,
        };
        let seconds: f64 = self.results.iter().filter_map(|tried| tried.duration.0).sum::<f64>() / 1000.0;
        let (class, seconds) = (self.project_name.0.unwrap_or_default(), seconds.max(0.0));
        out.case(Case { file, class: &class, name, state, seconds, title: Title::NameOnly }, || {
            let thrown = self.results.into_iter().find_map(|tried| tried.error);
            Failure { line_number: line, ..thrown.map(failure).unwrap_or_default() }
        });
    }
}

/// Tests of Dart that have begun and not ended.
const MAX_RUNNING: usize = 100_000;

pub(super) fn dart(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.expect_tests();
    out.framework = Some(TestFramework::Other);
    let mut suites: HashMap<u64, String> = HashMap::new();
    let mut running: HashMap<u64, Running> = HashMap::new();
    let (mut number, mut is_done) = (0_u64, false);
    while let Some(line) = window.line()? {
        number += 1;
        let event = match serde_json::from_str::<Event>(line) {
            Ok(event) => event,
            Err(_) if line.trim_start().starts_with('{') => {
                out.notes.flaw(Flaw::BadLine, || format!("line {number}"));
                continue;
            }
            Err(_) => continue,
        };
        match event.kind.0.as_deref().unwrap_or_default() {
            "suite" if suites.len() < MAX_RUNNING => {
                if let Some(suite) = event.suite {
                    suites.insert(suite.id, text::path(suite.path.0.as_deref().unwrap_or_default()));
                }
            }
            "testStart" if running.len() < MAX_RUNNING => {
                if let Some(test) = event.test {
                    let file = suites.get(&test.suite_id).cloned().unwrap_or_default();
                    running.insert(
                        test.id,
                        Running { name: test.name.0.unwrap_or_default(), file, begun: event.time, failure: None },
                    );
                }
            }
            "error" => {
                if let Some(test) = event.test_id.and_then(|id| running.get_mut(&id)) {
                    test.failure.get_or_insert_with(|| Failure {
                        error_message: text::clipped(event.error.0.as_deref().unwrap_or_default().trim(), MAX_MESSAGE),
                        stack_trace: event.stack_trace.0.map(|trace| text::clipped(&trace, MAX_TRACE)),
                        ..Failure::default()
                    });
                }
            }
            "testDone" => {
                let test = event.test_id.and_then(|id| running.remove(&id));
                let state = match event.result.0.as_deref() {
                    Some("failure") => TestState::Failed,
                    Some("error") => TestState::Errored,
                    _ if event.skipped == Some(true) => TestState::Skipped,
                    _ => TestState::Passed,
                };
                // Loading a file is a hidden test, which counts only where it fails.
                if let Some(test) = test.filter(|_| event.hidden != Some(true) || state.is_failure()) {
                    test.end(state, event.time, out);
                }
            }
            "done" => is_done = true,
            _ => {}
        }
    }
    for (_, test) in running {
        out.notes.flaw(Flaw::UnfinishedTest, || test.name.clone());
        test.end(TestState::Failed, 0.0, out);
    }
    if is_done { Ok(()) } else { Err(Unreadable::CutShort { place: format!("line {number}") }) }
}

struct Running {
    name: String,
    file: String,
    begun: f64,
    failure: Option<Failure>,
}

impl Running {
    fn end(self, state: TestState, time: f64, out: &mut Collector<'_>) {
        let (file, name, seconds) = (&self.file, &self.name, ((time - self.begun) / 1000.0).max(0.0));
        let case = Case { seconds, ..Case::in_file(file, name, state) };
        out.case(case, || self.failure.unwrap_or_default());
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Event {
    #[serde(rename = "type")]
    kind: Text,
    time: f64,
    suite: Option<DartSuite>,
    test: Option<DartTest>,
    #[serde(rename = "testID")]
    test_id: Option<u64>,
    error: Text,
    stack_trace: Text,
    result: Text,
    hidden: Option<bool>,
    skipped: Option<bool>,
}

#[derive(Deserialize)]
struct DartSuite {
    id: u64,
    #[serde(default)]
    path: Text,
}

#[derive(Deserialize)]
struct DartTest {
    id: u64,
    #[serde(default)]
    name: Text,
    #[serde(default, rename = "suiteID")]
    suite_id: u64,
}
