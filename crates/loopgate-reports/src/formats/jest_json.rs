//! The JSON of `jest --json`, which Vitest's `json` reporter writes too: files, each with its tests.

use loopgate_core::evidence::{Failure, TestFramework, TestState};
use serde::Deserialize;

use crate::{
    Unreadable,
    collect::{Case, Collector},
    json::{Few, Number, Text, read_each},
    mark::Mark,
    notes::Flaw,
    text::{self, MAX_MESSAGE, MAX_TRACE},
    window::Window,
};

pub(super) const MARK: Mark = Mark::Object(|_, keys| {
    keys.contains(&"testResults") || (keys.contains(&"numTotalTests") && keys.contains(&"success"))
});

/// Tests of one file at most.
const MOST_TESTS: usize = 100_000;

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.expect_tests();
    // Only jest counts these; Vitest writes the rest alike.
    if window.text().contains("\"numRuntimeErrorTestSuites\"") {
        out.framework = Some(TestFramework::Jest);
    }
    read_each(window, &["testResults[]"], |file: File| file.report(out))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    name: Text,
    /// Why the file could not be run; beside failing tests, only a rendering of them.
    message: Text,
    assertion_results: Few<Test, MOST_TESTS, true>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Test {
    ancestor_titles: Few<Text, 64>,
    title: Text,
    status: Text,
    duration: Number,
    failure_messages: Few<Text, 16>,
    invocations: Number,
}

impl File {
    fn report(self, out: &mut Collector<'_>) {
        if self.name.0.is_none() {
            out.notes.flaw(Flaw::NoLocation, || "a file without name");
        }
        let path = self.name.0.map(|path| text::path(&path)).unwrap_or_default();
        let stopped = self.assertion_results.0.is_empty();
        self.assertion_results.0.into_iter().for_each(|test| count(test, &path, out));
        if let Some(message) = self.message.0.filter(|message| stopped && !message.trim().is_empty()) {
            out.problem(|| not_run(&message, path));
        }
    }
}

fn count(test: Test, path: &str, out: &mut Collector<'_>) {
    let status = test.status.0.as_deref().unwrap_or_default();
    let state = match status {
        "passed" if test.invocations.0.is_some_and(|times| times > 1.0) => TestState::Flaky,
        "passed" => TestState::Passed,
        "failed" => TestState::Failed,
        "pending" | "skipped" | "disabled" | "todo" | "focused" => TestState::Skipped,
        _ => {
            out.notes.flaw(Flaw::UnknownResult, || format!("`{}`", text::name(status)));
            TestState::Skipped
        }
    };
    let titles = test.ancestor_titles.0.iter().chain([&test.title]).filter_map(|title| title.0.as_deref());
    let name = titles.collect::<Vec<_>>().join(" > ");
    let seconds = test.duration.0.unwrap_or_default().max(0.0) / 1000.0;
    let case = Case { seconds, ..Case::in_file(path, &name, state) };
    let messages = test.failure_messages.0;
    out.case(case, || {
        let whole = messages.iter().filter_map(|message| message.0.as_deref()).collect::<Vec<_>>().join("\n\n");
        let (message, trace) = split(&whole);
        Failure {
            error_message: text::clipped(message, MAX_MESSAGE),
            stack_trace: (!trace.is_empty()).then(|| text::clipped(trace, MAX_TRACE)),
            ..Failure::default()
        }
    });
}

/// A message, and the frames below it.
fn split(whole: &str) -> (&str, &str) {
    let mut at = 0;
    for line in whole.split_inclusive('\n') {
        let is_frame = line.starts_with(' ') && ["at ", "❯ "].iter().any(|mark| line.trim_start().starts_with(mark));
        if is_frame && at > 0 {
            break;
        }
        at += line.len();
    }
    let (message, trace) = whole.split_at(at);
    (message.trim(), trace.trim_end())
}

/// A file that stopped before any of its tests: a syntax error, a missing module.
fn not_run(message: &str, path: String) -> Failure {
    // Jest heads it with its own sentence, and sometimes with a page of advice that ends in `Details:`.
    let text = text::clean(message);
    let text = text.trim().trim_start_matches("● Test suite failed to run");
    let text = text.split_once("\n    Details:\n").map_or(text, |(_, details)| details);
    let text = text.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let (message, trace) = split(text.trim());
    Failure {
        error_message: text::clipped(message, MAX_MESSAGE),
        stack_trace: (!trace.is_empty()).then(|| text::clipped(trace, MAX_TRACE)),
        test_file: (!path.is_empty()).then_some(path),
        ..Failure::default()
    }
}
