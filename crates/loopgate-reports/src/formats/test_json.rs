//! The JSON of Playwright, mocha, RSpec and CTRF; that of `jest --json`, which Vitest's `json` reporter writes too; and
//! the lines of JSON that Dart's and Flutter's runner writes.

use std::{borrow::Cow, collections::HashMap};

use loopgate_core::{
    evidence::{ErrorType, Failure, SourceLocation, TestFramework, TestState},
    failure::asks_equality,
};

use crate::json::{read, read_each, read_lines};
use crate::{
    Case, Collector, Flaw, Json, MAX_MESSAGE, MAX_TRACE, Mark, Step, Title, Unreadable, Window,
    text,
};

pub(super) const PLAYWRIGHT: Mark = Mark::Object(|head, keys| {
    keys.contains(&"config") && (keys.contains(&"suites") || head.contains("\"projects\""))
});
pub(super) const MOCHA: Mark = Mark::Object(|head, keys| {
    keys.contains(&"stats") && (keys.contains(&"tests") || head.contains("\"passPercent\""))
});
pub(super) const MOCHA_STREAM: Mark =
    Mark::Array(|head, _| head.trim_start().starts_with(r#"["start",{"total":"#));
pub(super) const RSPEC: Mark = Mark::Object(|head, keys| {
    keys.contains(&"examples") || keys.contains(&"version") && head.contains("\"examples\":[")
});
pub(super) const CTRF: Mark =
    Mark::Object(|head, keys| keys.contains(&"results") && head.contains("\"summary\""));
pub(super) const DART: Mark = Mark::JsonLines(|keys| {
    keys.contains(&"protocolVersion") && keys.contains(&"runnerVersion")
        || keys.contains(&"testID") && keys.contains(&"type")
});
pub(super) const JEST: Mark = Mark::Object(|_, keys| {
    keys.contains(&"testResults") || (keys.contains(&"numTotalTests") && keys.contains(&"success"))
});

/// Reads any of the first four; the key that holds the tests decides which it is.
pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.expect_tests();
    let mut rspec = RspecRun::default();
    let ended = read(
        window,
        &[
            "suites[]",
            "errors[]",
            "messages[]",
            "summary.errors_outside_of_examples_count",
            "summary.failure_count",
            "results.summary.failed",
            "stats.failures",
            "failures[]",
            "tests[]",
            "examples[]",
            "results.tests[]",
        ],
        &mut |step| match step {
            Step::Value(0, suite, _) => playwright_suite(&suite, "", "", out),
            Step::Value(1, error, _) => out.problem(|| playwright_error(&error)),
            Step::Value(2, message, _) => rspec.hear(&message),
            Step::Value(3, count, _) => rspec.errors = count.index("").unwrap_or(0),
            Step::Value(4..=6, count, _) => out.run.count_failing(count.index("").unwrap_or(0)),
            Step::Value(7, failed, _) => {
                mocha_hook(&failed, &failed.text("file").unwrap_or_default(), out);
            }
            Step::Value(_, test, _) => {
                // A test of mocha, RSpec or CTRF.
                let thrown = test.at("err|exception");
                let has_thrown = thrown.text("message").is_some() || thrown.text("stack").is_some();
                let state = match state_of(&test, out) {
                    Some(state) => state,
                    // Mocha shows nothing but what was thrown, and how long a test took that ran.
                    None if has_thrown => TestState::Failed,
                    None if test.number("duration").is_some() => passed(&test),
                    None => TestState::Skipped,
                };
                let [name, suite, file] = [
                    "name|fullTitle|full_description",
                    "suite",
                    "file|filePath|file_path",
                ]
                .map(|key| test.text(key).unwrap_or_default());
                // RSpec writes seconds, the others milliseconds.
                let seconds = test
                    .number("run_time")
                    .or_else(|| Some(test.number("duration")? / 1000.0));
                let (file, seconds) = (text::path(&file), seconds.unwrap_or(0.0).max(0.0));
                out.case(
                    Case {
                        file: &file,
                        class: &suite,
                        name: &name,
                        state,
                        seconds,
                        title: Title::NameOnly,
                    },
                    || {
                        let mut failure = if has_thrown {
                            thrown_failure(thrown)
                        } else {
                            Failure::default()
                        };
                        if let Some(message) = test.text("message") {
                            failure.error_message = text::clipped(&message, MAX_MESSAGE);
                        }
                        failure.stack_trace = test
                            .text("trace")
                            .map(|trace| text::clipped(&trace, MAX_TRACE))
                            .or(failure.stack_trace);
                        // The line of the test's beginning; a trace shows better.
                        failure.line_number = test
                            .line("line|line_number")
                            .filter(|_| failure.stack_trace.is_none());
                        failure
                    },
                );
            }
            Step::End(_) => {}
        },
    );
    rspec.end(out);
    ended
}

/// Reads mocha's own JSON, whole or in lines, or what its reporter mochawesome writes of the same run, suite by suite.
pub(super) fn mocha(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    if window.text().trim_start().starts_with('[') {
        return mocha_stream(window, out);
    }
    if !window.text().contains("\"passPercent\"") {
        return parse(window, out);
    }
    out.expect_tests();
    read_each(window, &["results[]"], |file| mochawesome_suite(&file, out))
}

/// A line for each test, as it ends: `["fail",{…}]`. What the tests print stands between the lines.
fn mocha_stream(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.expect_tests();
    // The run that has begun: of how many tests, and how many have ended.
    let mut begun: Option<(usize, usize)> = None;
    while let Some(line) = window.line()? {
        let event = serde_json::from_str::<Json>(line).unwrap_or(Json::Null);
        let [kind, shown] = event.list() else {
            continue;
        };
        let state = match kind.text("").as_deref() {
            Some("pass") => passed(shown),
            Some("fail") => TestState::Failed,
            Some("start") => {
                begun = Some((shown.index("total").unwrap_or(0), 0));
                continue;
            }
            Some("end") => {
                begun = None;
                let count = |key| shown.index(key).unwrap_or(0);
                out.anonymous_cases(TestState::Skipped, count("pending") as u64);
                out.run.count_failing(count("failures"));
                continue;
            }
            _ => continue,
        };
        let file = text::path(&shown.text("file").unwrap_or_default());
        let failure = || Failure {
            error_message: text::clipped(&shown.text("err").unwrap_or_default(), MAX_MESSAGE),
            ..thrown_failure(shown)
        };
        if is_mocha_hook(shown) {
            out.problem(|| Failure {
                test_file: Some(file).filter(|file| !file.is_empty()),
                ..failure()
            });
            continue;
        }
        begun = begun.map(|(total, ended)| (total, ended + 1));
        let name = shown.text("fullTitle|title").unwrap_or_default();
        let case = Case {
            seconds: shown.number("duration").unwrap_or_default().max(0.0) / 1000.0,
            title: Title::NameOnly,
            ..Case::in_file(&file, &name, state)
        };
        out.case(case, failure);
    }
    if let Some((total, ended)) = begun {
        let message = format!("the output ends after {ended} of {total} tests");
        out.notes.flaw(Flaw::NO_END, || message.clone());
        out.run
            .fail([Failure::of(ErrorType::RuntimeError, message)]);
    }
    Ok(())
}

/// A file or a `describe` of mochawesome. A test without a state did not run: a hook before it failed, mostly.
fn mochawesome_suite(suite: &Json, out: &mut Collector) {
    let file = text::path(&suite.text("fullFile|file").unwrap_or_default());
    for test in suite.at("tests").list() {
        let state = state_of(test, out).unwrap_or(TestState::Skipped);
        let seconds = test.number("duration").unwrap_or_default().max(0.0) / 1000.0;
        let name = test.text("fullTitle|title").unwrap_or_default();
        let case = Case {
            file: &file,
            class: "",
            name: &name,
            state,
            seconds,
            title: Title::NameOnly,
        };
        out.case(case, || thrown_failure(test.at("err")));
    }
    for hook in ["beforeHooks", "afterHooks"].map(|key| suite.at(key).list()) {
        for failed in hook.iter().filter(|hook| hook.is_true("fail")) {
            mocha_hook(failed, &file, out);
        }
    }
    for inner in suite.at("suites").list() {
        mochawesome_suite(inner, out);
    }
}

/// A failed hook, of which mocha knows no test; a failed test stands among the tests, too.
fn mocha_hook(failed: &Json, file: &str, out: &mut Collector) {
    if is_mocha_hook(failed) {
        out.problem(|| Failure {
            test_file: (!file.is_empty()).then(|| text::path(file)),
            ..thrown_failure(failed.at("err"))
        });
    }
}

fn is_mocha_hook(failed: &Json) -> bool {
    let title = failed.text("title").unwrap_or_default();
    let hooks = ["before all", "after all", "before each", "after each"];
    hooks
        .iter()
        .any(|hook| title.starts_with(&format!("\"{hook}\" hook")))
}

/// What RSpec says beside its examples: <https://rspec.info/features/3-13/rspec-core/formatters/json-formatter/>.
#[derive(Default)]
struct RspecRun {
    /// What it prints for errors outside of its examples: a file that cannot be loaded, a hook of the suite.
    messages: Vec<String>,
    /// How many such errors there were.
    errors: usize,
}

/// Errors outside of examples that are kept; the rest are counted.
const MAX_OUTSIDE: usize = 50;

impl RspecRun {
    /// Keeps a message that tells of an error; others list options and filters.
    fn hear(&mut self, message: &Json) {
        let text = message.text("").unwrap_or_default();
        if text.trim_start().starts_with("An error occurred") && self.messages.len() < MAX_OUTSIDE {
            self.messages.push(text::clipped(text.trim(), MAX_TRACE));
        }
    }

    fn end(self, out: &mut Collector) {
        for message in self.messages.iter().take(self.errors) {
            out.problem(|| rspec_error(message));
        }
        out.run
            .add_unnamed(self.errors.saturating_sub(self.messages.len()) as u64);
    }
}

/// An error as RSpec prints it: a heading, the line of source, the class with a colon, what was thrown, the trace.
fn rspec_error(message: &str) -> Failure {
    let is_class = |line: &str| {
        let class = line.strip_suffix(':').unwrap_or_default();
        class.starts_with(char::is_uppercase)
            && class
                .chars()
                .all(|it| it.is_alphanumeric() || matches!(it, ':' | '_'))
    };
    let Some((class, thrown)) = message.lines().position(is_class).and_then(|at| {
        message
            .lines()
            .nth(at)
            .map(|class| (class, message.lines().skip(at + 1)))
    }) else {
        return read_text(message);
    };
    let thrown: Vec<&str> = thrown
        .take_while(|line| !line.starts_with('#'))
        .map(|line| line.strip_prefix("  ").unwrap_or(line))
        .collect();
    Failure {
        error_class: class.strip_suffix(':').map(text::name),
        error_message: text::clipped(thrown.join("\n").trim(), MAX_MESSAGE),
        stack_trace: Some(message.to_owned()),
        ..Failure::default()
    }
}

/// What broke outside of Playwright's tests: its set-up, its configuration, a file that cannot be loaded.
fn playwright_error(error: &Json) -> Failure {
    let file = error.text("location/file");
    Failure {
        source: file.map(|file| SourceLocation {
            file: text::path(&file),
            line: error.line("location/line"),
            function: None,
        }),
        ..thrown_failure(error)
    }
}

/// A test that passed: flaky, where tries before failed. CTRF says so, Jest and mocha count the tries, and Vitest keeps what
/// they threw.
fn passed(test: &Json) -> TestState {
    let is_above = |key, least| test.number(key).is_some_and(|times| times > least);
    let is_flaky = test.is_true("flaky")
        || is_above("invocations", 1.0)
        || is_above("currentRetry", 0.0)
        || !test.at("failureMessages").list().is_empty();
    match is_flaky {
        true => TestState::Flaky,
        false => TestState::Passed,
    }
}

/// The result that a test's status shows, in the words of all of them.
fn state_of(test: &Json, out: &mut Collector) -> Option<TestState> {
    Some(match test.text("status|state")?.as_ref() {
        "flaky" => TestState::Flaky,
        "passed" | "expected" => passed(test),
        "failed" | "unexpected" => TestState::Failed,
        "pending" | "skipped" | "disabled" | "todo" | "focused" | "other" => TestState::Skipped,
        status => {
            out.notes.flaw(Flaw::UNKNOWN_RESULT, || {
                format!("status {:?}", text::name(status))
            });
            TestState::Errored
        }
    })
}

/// What was thrown.
fn thrown_failure(thrown: &Json) -> Failure {
    let lines = thrown
        .at("backtrace")
        .list()
        .iter()
        .filter_map(|line| line.text(""));
    let backtrace = lines
        .map(|line| format!("# {line}"))
        .collect::<Vec<_>>()
        .join("\n");
    let stack = thrown
        .text("stack|estack")
        .filter(|stack| !stack.is_empty())
        .unwrap_or(Cow::Owned(backtrace));
    let has_sides = thrown
        .text("operator")
        .is_none_or(|operator| asks_equality(&operator));
    let value = |key| {
        thrown
            .text(key)
            .filter(|_| has_sides)
            .map(|value| text::clipped(&value, MAX_MESSAGE))
    };
    Failure {
        error_class: thrown.text("class|name").map(|class| text::name(&class)),
        error_message: text::clipped(
            thrown.text("message").unwrap_or_default().trim(),
            MAX_MESSAGE,
        ),
        stack_trace: (!stack.is_empty()).then(|| text::clipped(&stack, MAX_TRACE)),
        expected: value("expected"),
        actual: value("actual"),
        ..Failure::default()
    }
}

/// A file or a `describe` of Playwright, with its specs, each of which runs in several projects.
fn playwright_suite(suite: &Json, above: &str, file: &str, out: &mut Collector) {
    let joined = |above: &str, title: &str| match above {
        "" => title.to_owned(),
        above => format!("{above} › {title}"),
    };
    let title = suite.text("title").unwrap_or_default();
    let file = suite.text("file").unwrap_or(Cow::Borrowed(file));
    // The outermost suite bears the file's name.
    let path = if title == file {
        String::new()
    } else {
        joined(above, &title)
    };
    for spec in suite.at("specs").list() {
        let name = joined(&path, &spec.text("title").unwrap_or_default());
        for run in spec.at("tests").list() {
            let state = state_of(run, out).unwrap_or(TestState::Failed);
            let tries = run.at("results").list();
            let seconds = tries
                .iter()
                .filter_map(|tried| tried.number("duration"))
                .sum::<f64>()
                .max(0.0)
                / 1000.0;
            let project = run.text("projectName").unwrap_or_default();
            let case = Case {
                file: &file,
                class: &project,
                name: &name,
                state,
                seconds,
                title: Title::NameOnly,
            };
            out.case(case, || {
                let thrown = tries
                    .iter()
                    .map(|tried| tried.at("error"))
                    .find(|error| !error.entries().is_empty());
                Failure {
                    line_number: spec.line("line"),
                    ..thrown.map(thrown_failure).unwrap_or_default()
                }
            });
        }
    }
    suite
        .at("suites")
        .list()
        .iter()
        .for_each(|inner| playwright_suite(inner, &path, &file, out));
}

/// Reads files of jest or Vitest, each with its tests.
pub(super) fn jest(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.expect_tests();
    // Only jest counts these; Vitest writes the rest alike.
    if window.text().contains("\"numRuntimeErrorTestSuites\"") {
        out.framework = Some(TestFramework::Jest);
    }
    read_each(window, &["testResults[]"], |file| {
        if file.text("name").is_none() {
            out.notes.flaw(Flaw::NO_LOCATION, || "a file without name");
        }
        let path = file
            .text("name")
            .map(|path| text::path(&path))
            .unwrap_or_default();
        let tests = file.at("assertionResults").list();
        for test in tests {
            let state = state_of(test, out).unwrap_or(TestState::Errored);
            let titles = test
                .at("ancestorTitles")
                .list()
                .iter()
                .chain([test.at("title")]);
            let name = titles
                .filter_map(|title| title.text(""))
                .collect::<Vec<_>>()
                .join(" > ");
            let seconds = test.number("duration").unwrap_or_default().max(0.0) / 1000.0;
            out.case(
                Case {
                    seconds,
                    ..Case::in_file(&path, &name, state)
                },
                || {
                    let messages = test
                        .at("failureMessages")
                        .list()
                        .iter()
                        .filter_map(|message| message.text(""));
                    read_text(&messages.collect::<Vec<_>>().join("\n\n"))
                },
            );
        }
        // Beside failing tests the message is only a rendering of theirs.
        let is_told = tests
            .iter()
            .any(|test| test.text("status").as_deref() == Some("failed"));
        let has_failed = file.text("status").as_deref() == Some("failed");
        let message = file.text("message").filter(|message| {
            (tests.is_empty() || has_failed && !is_told) && !message.trim().is_empty()
        });
        if has_failed && !is_told && message.is_none() {
            let text = "the file failed outside of its tests; this reporter keeps no reason, the default one prints it";
            out.problem(|| Failure {
                test_file: (!path.is_empty()).then(|| path.clone()),
                ..Failure::of(ErrorType::Other, text)
            });
        }
        // A file that stopped outside of its tests: a syntax error, a missing module, a hook.
        if let Some(message) = message {
            // Jest heads it with its own sentence, and sometimes with a page of advice that ends in `Details:`.
            let text = text::clean(&message);
            let text = text.trim().trim_start_matches("● Test suite failed to run");
            let text = text
                .split_once("\n    Details:\n")
                .map_or(text, |(_, details)| details);
            let lines = text
                .lines()
                .map(|line| line.strip_prefix("    ").unwrap_or(line));
            let read = || read_text(lines.collect::<Vec<_>>().join("\n").trim());
            out.problem(|| Failure {
                test_file: (!path.is_empty()).then_some(path),
                ..read()
            });
        }
    })
}

/// What a text of message and frames shows.
fn read_text(whole: &str) -> Failure {
    let read = text::failure(Failure::default(), "", whole);
    let stack_trace = read
        .stack_trace
        .filter(|trace| *trace != read.error_message);
    Failure {
        stack_trace,
        test_file: None,
        line_number: None,
        source: None,
        ..read
    }
}

/// Tests of Dart that have begun and not ended.
const MAX_RUNNING: usize = 100_000;

pub(super) fn dart(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    out.expect_tests();
    out.framework = Some(TestFramework::Other);
    let mut suites: HashMap<usize, String> = HashMap::new();
    let mut running: HashMap<usize, RunningTest> = HashMap::new();
    let mut is_done = false;
    let lines = read_lines(window, out, |event, out| {
        let time = event.number("time").unwrap_or(0.0);
        match event.text("type").unwrap_or_default().as_ref() {
            "suite" if suites.len() < MAX_RUNNING => {
                let path = event.text("suite/path").unwrap_or_default();
                suites.extend(event.index("suite/id").map(|id| (id, text::path(&path))));
            }
            "testStart" if running.len() < MAX_RUNNING => {
                let file = event
                    .index("test/suiteID")
                    .and_then(|id| suites.get(&id).cloned())
                    .unwrap_or_default();
                let name = event.text("test/name").unwrap_or_default().into_owned();
                running.extend(event.index("test/id").map(|id| {
                    (
                        id,
                        RunningTest {
                            name,
                            file,
                            begun: time,
                            failure: None,
                        },
                    )
                }));
            }
            "error" => {
                if let Some(test) = event.index("testID").and_then(|id| running.get_mut(&id)) {
                    let message =
                        text::clipped(event.text("error").unwrap_or_default().trim(), MAX_MESSAGE);
                    let stack_trace = event
                        .text("stackTrace")
                        .map(|trace| text::clipped(&trace, MAX_TRACE));
                    let thrown = || Failure {
                        stack_trace,
                        ..Failure::of(ErrorType::Other, message)
                    };
                    test.failure.get_or_insert_with(thrown);
                }
            }
            "testDone" => {
                let test = event.index("testID").and_then(|id| running.remove(&id));
                let state = match event.text("result").as_deref() {
                    Some("failure") => TestState::Failed,
                    Some("error") => TestState::Errored,
                    _ if event.is_true("skipped") => TestState::Skipped,
                    _ => TestState::Passed,
                };
                // Loading a file is a hidden test, which counts only where it fails.
                if let Some(test) = test.filter(|_| !event.is_true("hidden") || state.is_failure())
                {
                    test.end(state, time, out);
                }
            }
            "done" => {
                is_done = true;
                if matches!(event.get("success"), Json::Bool(false)) {
                    out.run.fail(None);
                }
            }
            _ => {}
        }
    })?;
    for (_, test) in running {
        out.notes.flaw(Flaw::UNFINISHED_TEST, || test.name.clone());
        test.end(TestState::Failed, 0.0, out);
    }
    if is_done {
        Ok(())
    } else {
        Err(Unreadable::CutShort {
            place: format!("line {lines}"),
        })
    }
}

struct RunningTest {
    name: String,
    file: String,
    begun: f64,
    failure: Option<Failure>,
}

impl RunningTest {
    fn end(self, state: TestState, time: f64, out: &mut Collector) {
        let (file, name, seconds) = (
            &self.file,
            &self.name,
            ((time - self.begun) / 1000.0).max(0.0),
        );
        let case = Case {
            seconds,
            ..Case::in_file(file, name, state)
        };
        out.case(case, || self.failure.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read};

    #[test]
    fn a_stream_of_mocha_that_ends_early_is_told_as_such() {
        let start = "[\"start\",{\"total\":3}]\n";
        let pass = "[\"pass\",{\"title\":\"one\",\"fullTitle\":\"cart one\",\"file\":\"/s/b.js\",\"duration\":0}]\n";
        let fail = "[\"fail\",{\"title\":\"two\",\"fullTitle\":\"cart two\",\"file\":\"/s/b.js\",\"err\":\"no\",\"stack\":\"Error: no\\n\"}]\n";
        let end = "[\"end\",{\"tests\":1,\"passes\":1,\"pending\":0,\"failures\":0}]\n";
        let of = |text: &str| {
            let report = read("out", text.as_bytes(), &ReadOptions::default());
            let messages = report.failures.into_iter().map(|it| it.error_message);
            (report.reconciled.run_failed, messages.collect::<Vec<_>>())
        };
        let ended_early = vec!["the output ends after 1 of 3 tests".to_owned()];
        assert_eq!(of(&format!("{start}{pass}")), (true, ended_early));
        assert_eq!(
            of(&format!("{start}{pass}{fail}")),
            (false, vec!["no".to_owned()])
        );
        assert_eq!(of(&format!("{start}{pass}{end}")), (false, Vec::new()));
    }

    #[test]
    fn what_passed_in_a_later_try_is_flaky() {
        let flaky = |text: &str| {
            let report = read("out.json", text.as_bytes(), &ReadOptions::default());
            let results = report.results.expect("tests");
            (results.passed, results.flaky)
        };
        let mocha = |retry: u8| {
            format!(
                r#"{{"stats":{{"tests":1,"passes":1,"failures":0}},"tests":[{{"title":"a","fullTitle":"s a","file":"/s/a.js","duration":1,"currentRetry":{retry},"err":{{}}}}],"pending":[],"failures":[],"passes":[]}}"#
            )
        };
        assert_eq!([flaky(&mocha(0)), flaky(&mocha(1))], [(1, 0), (1, 1)]);
        let jest = |test: &str| {
            format!(
                r#"{{"numTotalTests":1,"numPassedTests":1,"numFailedTests":0,"success":true,"testResults":[{{"name":"/s/a.js","status":"passed","message":"","assertionResults":[{{"ancestorTitles":[],"title":"a","fullName":"a","status":"passed","duration":1,{test}}}]}}]}}"#
            )
        };
        for (test, expected) in [
            (r#""failureMessages":[],"invocations":1"#, (1, 0)),
            (r#""failureMessages":[],"invocations":2"#, (1, 1)),
            // Vitest counts no tries, and keeps what the first one threw.
            (r#""failureMessages":["AssertionError: no"]"#, (1, 1)),
        ] {
            assert_eq!(flaky(&jest(test)), expected, "{test}");
        }
    }
}
