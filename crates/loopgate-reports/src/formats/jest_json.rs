//! The JSON of `jest --json`, which Vitest's `json` reporter writes too: files, each with its tests.
//!
//! A file's path stands behind its tests, so the tests of one file wait for it.

use loopgate_core::evidence::{Failure, TestFramework, TestState};
use serde::{Deserialize, de::MapAccess};

use crate::{
    Unreadable,
    collect::{Case, Collector, Title},
    json::{Keys, Member, Number, Text, read_object},
    mark::Mark,
    notes::Flaw,
    text::{self, MAX_MESSAGE, MAX_TRACE},
    window::Window,
};

pub(super) const MARK: Mark = Mark::Object(|_, keys| {
    keys.contains(&"testResults") || (keys.contains(&"numTotalTests") && keys.contains(&"success"))
});

/// Tests of one file that wait for its path; further ones are counted without it.
const MAX_WAITING: usize = 20_000;

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    out.expect_tests();
    read_object(window, &mut Top { out })
}

struct Top<'c, 'o> {
    out: &'c mut Collector<'o>,
}

impl Keys for Top<'_, '_> {
    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        match key {
            // Only jest counts these; Vitest writes the rest alike.
            "numRuntimeErrorTestSuites" => {
                self.out.framework = Some(TestFramework::Jest);
                member.skip()
            }
            "testResults" => member.objects(&mut File { out: self.out, path: None, message: None, tests: Vec::new() }),
            _ => member.skip(),
        }
    }
}

struct File<'c, 'o> {
    out: &'c mut Collector<'o>,
    path: Option<String>,
    /// Why the file could not be run; beside failing tests, only a rendering of them.
    message: Option<String>,
    tests: Vec<Test>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Test {
    ancestor_titles: Vec<Text>,
    title: Text,
    status: Text,
    duration: Number,
    failure_messages: Vec<Text>,
    invocations: Number,
}

impl Keys for File<'_, '_> {
    fn begin(&mut self) {
        self.path = None;
        self.message = None;
        self.tests.clear();
    }

    fn key<'de, A: MapAccess<'de>>(&mut self, key: &str, member: Member<'_, A>) -> Result<(), A::Error> {
        match key {
            "name" => self.path = member.get::<Text>()?.0.map(|path| text::path(&path)),
            "message" => self.message = member.get::<Text>()?.0,
            "assertionResults" => return member.each(|test| self.test(test)),
            _ => return member.skip(),
        }
        Ok(())
    }

    fn end(&mut self) {
        if self.path.is_none() {
            self.out.notes.flaw(Flaw::NoLocation, || "a file without name");
        }
        let tests = std::mem::take(&mut self.tests);
        let stopped = tests.is_empty();
        let path = self.path.take().unwrap_or_default();
        tests.into_iter().for_each(|test| count(test, &path, self.out));
        let message = self.message.take().filter(|message| stopped && !message.trim().is_empty());
        if let Some(message) = message {
            self.out.problem(|| not_run(&message, path));
        }
    }
}

impl File<'_, '_> {
    fn test(&mut self, mut test: Test) {
        if !self.out.wants_failures() {
            test.failure_messages.clear();
        }
        if self.tests.len() < MAX_WAITING {
            self.tests.push(test);
        } else {
            count(test, "", self.out);
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
    let titles = test.ancestor_titles.iter().chain([&test.title]).filter_map(|title| title.0.as_deref());
    let name = titles.collect::<Vec<_>>().join(" > ");
    let case = Case {
        file: path,
        class: "",
        name: &name,
        state,
        seconds: test.duration.0.unwrap_or_default().max(0.0) / 1000.0,
        title: Title::NameOnly,
    };
    let messages = test.failure_messages;
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
