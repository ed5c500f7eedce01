//! What `cargo test` prints: several test binaries and doctests one after the other, compile errors in between, and
//! lines of JSON in any mixture (`cargo test --message-format=json` prints its messages as JSON and the tests as text).
//!
//! Cargo's own `Running …` lines separate the binaries; where only standard output was captured these are
//! missing and each `running N tests` begins a binary. What a test printed stands in the `failures:` block, apart from
//! the line that shows it failed, so failing tests are gathered until their binary ends.

use std::collections::HashMap;

use indexmap::IndexMap;
use loopgate_core::evidence::{ErrorType, Failure, TestFramework, TestState};

use super::{
    cargo_failure::{self, CompileErrors},
    nextest::Nextest,
    rust_lines::{LibtestJson, message},
};
use crate::{Case, Clip, Collector, Flaw, MAX_MESSAGE, Mark, Title, numbers, text};

pub(super) const MARK: Mark = Mark::Text {
    own: is_line,
    common: is_build,
};

/// Whether cargo shows with this line that it builds, for whichever command.
pub(super) fn is_build(line: &str) -> bool {
    [
        "   Compiling ",
        "    Checking ",
        "    Finished ",
        "    Blocking ",
    ]
    .iter()
    .any(|mark| line.starts_with(mark))
}

/// Whether only cargo or a Rust test binary prints such a line.
pub(super) fn is_line(line: &str) -> bool {
    const MARKS: [&str; 6] = [
        " Nextest run ID ",
        "     Running ",
        "   Doc-tests ",
        "error[E",
        "test result: ",
        "error: could not compile",
    ];
    MARKS.iter().any(|mark| line.starts_with(mark)) || announced_tests(line).is_some()
}

/// Failing tests gathered per binary; of further ones the output is not looked for.
const MAX_GATHERED: usize = 5_000;
/// Panics held that were written past the harness.
const MAX_PANICS: usize = 500;
/// Binaries of different names that are distinguished.
const MAX_BINARIES: usize = 10_000;

/// Reads lines.
#[derive(Default)]
pub(super) struct CargoTest {
    /// The binary that cargo last announced.
    binary: Binary,
    suite: Option<Suite>,
    /// How many binaries of each name there have been.
    binaries: HashMap<String, u32>,
    errors: CompileErrors,
    nextest: Nextest,
    libtest: LibtestJson,
    /// `error: test failed, to rerun …` was seen; a crash is explained below it.
    in_epilogue: bool,
    /// What a binary printed that has a harness of its own, and did not run as libtest does.
    own_harness: Option<Clip>,
}

#[derive(Clone, Default)]
struct Binary {
    /// Crate or target name, to keep tests of one name apart.
    name: String,
    /// `tests/it.rs`, relative to its package; empty for unit tests and doctests.
    test_file: String,
}

/// One test binary's run, from `running N tests` to `test result:`.
#[derive(Default)]
struct Suite {
    binary: Binary,
    announced: u64,
    /// Tests whose results have been printed, and of them those that passed and those that were ignored.
    seen: u64,
    passed: u64,
    ignored: u64,
    part: LibtestPart,
    /// Failing tests and what they printed.
    failing: IndexMap<String, Clip>,
    /// A test whose result has not been printed yet: its own output came in between.
    pending: Option<String>,
    /// The lines in between, and lines in no known form: what a crash leaves.
    printed: Clip,
    /// What panicking tests wrote past the harness (`--nocapture`), by the threads' names, and whose panic it last was.
    panics: IndexMap<String, Clip>,
    panicking: Option<String>,
    crash: Option<String>,
}

#[derive(Default)]
enum LibtestPart {
    #[default]
    Tests,
    /// In the `failures:` (or `successes:`) block, inside the output of the test at this index.
    Output(Option<usize>),
    /// In the list of names that follows, of failing tests or of others.
    Names(bool),
    Ended,
}

impl CargoTest {
    /// Takes a cleaned line, which may be JSON; false if it cannot be read.
    pub fn line(&mut self, line: &str, out: &mut Collector) -> bool {
        // The tools write their keys in a fixed order, and a test may print anything.
        let start = line
            .trim_start()
            .strip_prefix('{')
            .unwrap_or_default()
            .trim_start();
        let is = |key: &str| start.starts_with(key);
        if is("\"type\"") {
            return serde_json::from_str(line)
                .map(|event| self.libtest.event(&event, out))
                .is_ok();
        }
        if is("\"reason\"")
            || is("\"$message_type\"")
            || is("\"message\"") && line.contains("\"spans\"")
        {
            return serde_json::from_str(line)
                .map(|value| message(&value, out))
                .is_ok();
        }
        self.text(line, out);
        true
    }

    fn text(&mut self, line: &str, out: &mut Collector) {
        if self.nextest.line(line, out) {
            return;
        }
        if let Some(binary) = announced_binary(line) {
            // Cargo writes to the other stream, and may overtake the last lines of a binary.
            if matches!(
                self.suite,
                Some(Suite {
                    part: LibtestPart::Ended,
                    ..
                })
            ) {
                self.end_suite(out);
            }
            self.errors.end(out);
            self.binary = self.numbered(binary);
            self.own_harness = Some(Clip::default());
            out.expect_tests();
            out.framework = Some(TestFramework::CargoTest);
            return;
        }
        // A test of this binary may print such a line too.
        let may_be_over =
            |suite: &Suite| matches!(suite.part, LibtestPart::Ended) || suite.pending.is_none();
        if let Some(announced) =
            announced_tests(line).filter(|_| self.suite.as_ref().is_none_or(may_be_over))
        {
            self.end_suite(out);
            self.own_harness = None;
            out.expect_tests();
            out.framework = Some(TestFramework::CargoTest);
            // Without cargo's lines every run of tests is a binary of its own.
            let binary = std::mem::take(&mut self.binary);
            let binary = if binary.name.is_empty() {
                self.numbered(binary)
            } else {
                binary
            };
            self.suite = Some(Suite {
                binary,
                announced,
                ..Suite::default()
            });
            return;
        }
        if line.starts_with("error: test failed, to rerun")
            || line.starts_with("error: doctest failed, to rerun")
        {
            self.in_epilogue = true;
            if let Some(printed) = self.own_harness.take() {
                self.end_own_harness(line, &printed.text(), out);
            }
            return;
        }
        // Cargo's explanation of a binary that ended badly: `(signal: 6, SIGABRT: process abort signal)`.
        let explanation = line.trim();
        if self.in_epilogue && explanation.starts_with("process didn't exit successfully") {
            self.in_epilogue = false;
            let reason = explanation
                .rsplit_once(" (")
                .and_then(|(_, reason)| reason.strip_suffix(')'));
            if let (Some(suite), Some(reason)) = (&mut self.suite, reason) {
                suite.crash = Some(text::name(reason));
            }
            return;
        }
        if self.in_epilogue && matches!(explanation, "" | "Caused by:") {
            return;
        }
        match &mut self.suite {
            Some(suite) if !matches!(suite.part, LibtestPart::Ended) => suite.line(line, out),
            _ => {
                if let Some(printed) = &mut self.own_harness {
                    printed.push_line(line);
                }
                self.errors.line(line, out);
            }
        }
    }

    /// Whether no test binary runs, and no error goes on.
    pub fn is_idle(&self) -> bool {
        let runs = self
            .suite
            .as_ref()
            .is_some_and(|suite| !matches!(suite.part, LibtestPart::Ended));
        !runs && self.errors.open.is_none() && self.nextest.is_idle()
    }

    pub fn end(mut self, out: &mut Collector) {
        self.nextest.end(out);
        self.end_suite(out);
        self.errors.end(out);
        self.libtest.end(false, out);
    }

    /// Two packages may have a test binary of one name, and their tests must not be taken for each other's reruns.
    /// Cargo runs binaries in a fixed order, so a number by count distinguishes them alike in every attempt.
    fn numbered(&mut self, mut binary: Binary) -> Binary {
        if self.binaries.len() >= MAX_BINARIES {
            return binary;
        }
        let count = self.binaries.entry(binary.name.clone()).or_default();
        *count += 1;
        if *count > 1 || binary.name.is_empty() {
            binary.name.push_str(&format!("#{count}"));
        }
        binary
    }

    /// A binary that is no test harness of Rust's has failed: all that is known is what it printed.
    fn end_own_harness(&mut self, line: &str, printed: &str, out: &mut Collector) {
        let target = line.split('`').nth(1).unwrap_or(&self.binary.name);
        let read = text::failure(Failure::default(), "", printed.trim());
        let message = match read.error_message.trim() {
            "" => format!("the test target `{target}` failed"),
            message => message.to_owned(),
        };
        let name = self.binary.name.clone();
        let case = Case {
            title: Title::Hidden,
            ..Case::new(&name, "(the target)", TestState::Failed)
        };
        out.case(case, || Failure {
            error_message: message,
            ..read
        });
    }

    fn end_suite(&mut self, out: &mut Collector) {
        self.in_epilogue = false;
        if let Some(suite) = self.suite.take() {
            suite.end(out);
        }
    }
}

/// `     Running unittests src/lib.rs (target/debug/deps/shop-1a2b)`, `   Doc-tests shop`.
fn announced_binary(line: &str) -> Option<Binary> {
    let text = line.trim_start();
    if text.len() == line.len() {
        return None;
    }
    if let Some(name) = text.strip_prefix("Doc-tests ") {
        return Some(Binary {
            name: format!("doc {}", name.trim()),
            test_file: String::new(),
        });
    }
    let (what, executable) = text
        .strip_prefix("Running ")?
        .rsplit_once('(')
        .or_else(|| {
            // `--verbose` shows the command instead.
            let command = text.strip_prefix("Running `")?;
            Some(("", command.split(['`', ' ']).next()?))
        })?;
    let executable = executable.trim_end_matches([')', '`']);
    let stem = executable
        .rsplit(['/', '\\'])
        .next()?
        .trim_end_matches(".exe");
    // Compilers are announced in the same words.
    let name = stem
        .rsplit_once('-')
        .filter(|(_, hash)| hash.len() >= 8)
        .map(|(name, _)| name)?;
    let what = what.trim();
    let test_file = what.strip_prefix("unittests").map_or(what, |_| "");
    Some(Binary {
        name: text::name(name),
        test_file: text::path(test_file),
    })
}

fn announced_tests(line: &str) -> Option<u64> {
    let count = line.strip_prefix("running ")?;
    numbers::count(
        count
            .strip_suffix(" tests")
            .or_else(|| count.strip_suffix(" test"))?,
    )
    .ok()
}

impl Suite {
    fn line(&mut self, line: &str, out: &mut Collector) {
        match (&self.part, line) {
            (_, line) if line.starts_with("test result: ") => self.result_line(line, out),
            (LibtestPart::Tests, "failures:" | "successes:") => {
                self.part = LibtestPart::Output(None)
            }
            (LibtestPart::Output(_), "failures:" | "successes:") => {
                self.part = LibtestPart::Names(line == "failures:")
            }
            (LibtestPart::Names(_), "failures:" | "successes:") => {
                self.part = LibtestPart::Output(None)
            }
            (LibtestPart::Output(current), line) => {
                // `---- tests::adds stdout ----`
                let header = line
                    .strip_prefix("---- ")
                    .and_then(|line| line.strip_suffix(" ----"));
                let name = header.and_then(|it| {
                    it.strip_suffix(" stdout")
                        .or_else(|| it.strip_suffix(" stderr"))
                });
                if let Some(name) = name.map(strip_expectation) {
                    self.part = LibtestPart::Output(self.failing.get_index_of(name));
                } else if let Some((_, output)) =
                    current.and_then(|at| self.failing.get_index_mut(at))
                {
                    output.push_line(line);
                }
            }
            (LibtestPart::Names(failing), line) => {
                // Known already, unless its own output tore the line that showed it.
                let name = line
                    .strip_prefix("    ")
                    .filter(|name| !name.starts_with(' ') && !name.is_empty());
                if let Some(name) = name.filter(|_| *failing) {
                    self.fail(strip_expectation(name));
                }
            }
            (LibtestPart::Tests | LibtestPart::Ended, line) => self.test_line(line, out),
        }
    }

    fn test_line(&mut self, line: &str, out: &mut Collector) {
        // Tests run beside each other, so a panic is identified by the name of its thread, and ends at the next line of
        // the harness.
        let thread = line
            .strip_prefix("thread '")
            .and_then(|rest| rest.split_once('\''));
        if let Some((name, _)) = thread.filter(|(_, rest)| rest.contains("panicked at ")) {
            self.panicking = Some(name.to_owned());
        } else if line.starts_with("test ") && line.contains(" ... ") {
            self.panicking = None;
        }
        if let Some(name) = &self.panicking
            && (self.panics.len() < MAX_PANICS || self.panics.contains_key(name))
        {
            self.panics
                .entry(name.clone())
                .or_insert_with(|| Clip::new(MAX_MESSAGE))
                .push_line(line);
        }
        let announced = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... "));
        let announced = announced.filter(|_| self.pending.is_none());
        if let Some(name) = line
            .strip_suffix(" --- FAILED")
            .filter(|_| announced.is_none())
        {
            self.seen += 1;
            return self.fail(strip_expectation(name));
        }
        if announced.is_some() {
            self.printed = Clip::default();
        }
        let open = self.pending.take().map(|name| (name, line));
        match announced
            .map(|(name, rest)| (strip_expectation(name).to_owned(), rest))
            .or(open)
        {
            Some((name, rest)) => match result_word(rest) {
                Some(result) => {
                    let printed = std::mem::take(&mut self.printed);
                    self.record(&name, result, printed, out);
                }
                None => {
                    self.printed.push_line(rest);
                    self.pending = Some(name);
                }
            },
            None if line.is_empty() => {}
            None => self.printed.push_line(line),
        }
    }

    fn record(
        &mut self,
        name: &str,
        (state, seconds): (TestState, f64),
        printed: Clip,
        out: &mut Collector,
    ) {
        self.seen += 1;
        self.passed += u64::from(state == TestState::Passed);
        self.ignored += u64::from(state == TestState::Skipped);
        if state == TestState::Failed && self.failing.len() < MAX_GATHERED {
            self.failing.insert(name.to_owned(), printed);
        } else {
            let case = Case {
                seconds,
                ..Case::new(&self.binary.name, name, state)
            };
            out.case(case, || {
                cargo_failure::failure("", name, &self.binary.test_file)
            });
        }
    }

    fn fail(&mut self, name: &str) {
        if self.failing.len() < MAX_GATHERED && !self.failing.contains_key(name) {
            self.failing.insert(name.to_owned(), Clip::default());
        }
    }

    fn result_line(&mut self, line: &str, out: &mut Collector) {
        let seconds = line
            .split_once("finished in ")
            .and_then(|(_, time)| numbers::seconds(time.trim()).ok());
        out.seconds += seconds.unwrap_or(0.0);
        let [passed, failed, ignored, measured] =
            ["passed", "failed", "ignored", "measured"].map(|word| declared(line, word));
        let (declared, there) = (
            passed + failed + ignored + measured,
            self.seen.max(self.failing.len() as u64),
        );
        // With `--quiet` only the tests that failed are named.
        let unnamed = (passed + measured).saturating_sub(self.passed);
        let unnamed_ignored = ignored.saturating_sub(self.ignored);
        out.anonymous_cases(TestState::Passed, unnamed);
        out.anonymous_cases(TestState::Skipped, unnamed_ignored);
        let counted = there + unnamed + unnamed_ignored;
        if counted != declared {
            let name = &self.binary.name;
            out.notes.flaw(Flaw::WRONG_TOTAL, || {
                format!("{name}: {declared}, but there are {counted}")
            });
        } else if counted > there {
            out.notes.remark = Some("quiet output does not name the tests that passed");
        }
        self.part = LibtestPart::Ended;
        out.run.add_closing(passed + measured, ignored, failed == 0);
        // What it takes to explain a crash is not needed any more.
        self.printed = Clip::default();
    }

    fn end(self, out: &mut Collector) {
        for (name, output) in &self.failing {
            let output = if output.held() == 0 {
                self.panics.get(name).unwrap_or(output)
            } else {
                output
            };
            // Names of tests repeat between crates; the title is the name alone, by which cargo finds it.
            let case = Case::new(&self.binary.name, name, TestState::Failed);
            out.case(case, || {
                cargo_failure::failure(&output.text(), name, &self.binary.test_file)
            });
        }
        if matches!(self.part, LibtestPart::Ended) {
            return;
        }
        // The binary ended before it could sum up: an abort, a signal, an exit in the middle of a test.
        let announced = self.announced;
        let how = self
            .crash
            .as_deref()
            .map(|how| format!(" ({how})"))
            .unwrap_or_default();
        let noise = self.printed.text();
        // The test whose thread ended the process, by what the runtime prints of it.
        let dying_thread = || {
            let line = noise
                .lines()
                .find(|line| line.contains(OVERFLOWED) || line.contains(" panicked at "))?;
            let (name, _) = line.split_once("thread '")?.1.split_once('\'')?;
            Some(name).filter(|name| !matches!(*name, "main" | "<unnamed>" | "<unknown>"))
        };
        let (name, message) = match self.pending.as_deref().or_else(dying_thread) {
            Some(test) => (test, format!("the test binary ended during this test{how}")),
            None => (
                "(the test binary)",
                format!("the test binary ended before its {announced} tests did{how}"),
            ),
        };
        out.notes.flaw(Flaw::NO_END, || {
            format!("test binary {}: no `test result:`", self.binary.name)
        });
        out.case(
            Case::new(&self.binary.name, name, TestState::Errored),
            || {
                let mut crash = cargo_failure::failure(&noise, name, &self.binary.test_file);
                if crash.error_class.is_none() {
                    let why = noise
                        .lines()
                        .find(|line| line.contains(OVERFLOWED))
                        .map(|line| format!(": {}", line.trim()));
                    crash.error_message = message + &why.unwrap_or_default();
                    crash.error_type = ErrorType::RuntimeError;
                }
                crash
            },
        );
    }
}

const OVERFLOWED: &str = "has overflowed its stack";

/// `ok`, `FAILED`, `ignored, too slow`, `bench: 1 ns/iter`, `ok <0.003s>`.
fn result_word(text: &str) -> Option<(TestState, f64)> {
    let (word, rest) = text
        .trim()
        .split_once([' ', ',', ':'])
        .unwrap_or((text.trim(), ""));
    let state = match word {
        "ok" | "bench" => TestState::Passed,
        "FAILED" => TestState::Failed,
        "ignored" => TestState::Skipped,
        _ => return None,
    };
    let time = rest
        .trim()
        .strip_prefix('<')
        .and_then(|time| time.strip_suffix('>'));
    if word == "ok" && time.is_none() && !rest.is_empty() {
        return None;
    }
    Some((
        state,
        time.and_then(|time| numbers::seconds(time).ok())
            .unwrap_or(0.0),
    ))
}

/// The test's own name, without what is expected of it.
fn strip_expectation(name: &str) -> &str {
    [
        " - should panic",
        " - compile fail",
        " - compile",
        " - ignore",
    ]
    .iter()
    .find_map(|expectation| name.strip_suffix(expectation))
    .unwrap_or(name)
}

/// The number before the word in `test result: FAILED. 1 passed; 2 failed; …`.
fn declared(line: &str, word: &str) -> u64 {
    let before = line
        .split([';', '.'])
        .find_map(|part| part.trim().strip_suffix(word));
    before
        .and_then(|number| numbers::count(number).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_are_told_from_compilers() {
        let name = |line| announced_binary(line).map(|binary| (binary.name, binary.test_file));
        let of = |name: &str, file: &str| Some((name.to_owned(), file.to_owned()));
        let table = [
            (
                "     Running unittests src/lib.rs (target/debug/deps/shop-0123456789abcdef)",
                of("shop", ""),
            ),
            (
                "     Running tests/it.rs (target/debug/deps/it-0123456789abcdef.exe)",
                of("it", "tests/it.rs"),
            ),
            (
                "     Running `/r/target/debug/deps/shop-0123456789abcdef --nocapture`",
                of("shop", ""),
            ),
            ("     Running `rustc --crate-name shop`", None),
            ("   Doc-tests shop", of("doc shop", "")),
            ("Running late (since noon-0123456789)", None),
        ];
        for (line, expected) in table {
            assert_eq!(name(line), expected, "{line}");
        }
    }

    #[test]
    fn result_words() {
        let table = [
            ("ok", Some((TestState::Passed, 0.0))),
            ("ok <0.250s>", Some((TestState::Passed, 0.25))),
            ("FAILED", Some((TestState::Failed, 0.0))),
            ("ignored, needs a database", Some((TestState::Skipped, 0.0))),
            (
                "bench:       1,204 ns/iter (+/- 3)",
                Some((TestState::Passed, 0.0)),
            ),
            ("okay", None),
            ("ok computer", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(result_word(text), expected, "{text}");
        }
    }

    #[test]
    fn declared_totals() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.01s";
        assert_eq!(
            ["passed", "failed", "ignored", "measured"].map(|word| declared(line, word)),
            [12, 3, 1, 0]
        );
    }
}
