//! The text of Python's `unittest`, which Django's `manage.py test` prints too.
//!
//! Written with `-v`, each test has a line; without, only the failing ones and their number are known.

use loopgate_core::evidence::{Failure, TestFramework, TestState};

use crate::{
    collect::{Case, Collector},
    mark::Mark,
    notes::Flaw,
    text::{self, Clip, MAX_MESSAGE, MAX_TRACE},
};

pub(super) const MARK: Mark = Mark::Line(is_line);

/// A test as unittest names it: `test_total (cart.tests.CartTests.test_total)`.
#[derive(Clone, Default, PartialEq)]
struct Name {
    method: String,
    class: String,
}

/// Reads lines.
pub(super) struct Unittest {
    /// A test whose result may stand on a later line, behind its description or its own output.
    pending: Option<Name>,
    block: Option<(Name, TestState)>,
    trace: Clip,
    part: Part,
    /// Tests told of one by one in this run.
    counted: u64,
    has_ended: bool,
}

#[derive(Default, PartialEq)]
enum Part {
    #[default]
    Tests,
    /// Between the rule of `=` and the rule of `-`: which test.
    Head,
    Trace,
}

impl Default for Unittest {
    fn default() -> Self {
        Self {
            pending: None,
            block: None,
            trace: Clip::new(MAX_TRACE),
            part: Part::default(),
            counted: 0,
            has_ended: false,
        }
    }
}

/// The line above each failing test.
pub(super) fn is_head(line: &str) -> bool {
    line.len() == 70 && line.bytes().all(|byte| byte == b'=')
}

impl Unittest {
    /// Whether nothing is being told that a further line could belong to.
    pub fn is_idle(&self) -> bool {
        self.part == Part::Tests && self.pending.is_none()
    }

    pub fn line(&mut self, line: &str, out: &mut Collector<'_>) {
        if is_head(line) {
            self.end_block(out);
            self.part = Part::Head;
            return;
        }
        let is_rule = line.len() == 70 && line.bytes().all(|byte| byte == b'-');
        match self.part {
            Part::Tests => self.result(line, out),
            Part::Head if is_rule => self.part = Part::Trace,
            Part::Head => {
                if let Some(head) = block_head(line) {
                    self.block = Some(head);
                }
            }
            Part::Trace if is_rule => {
                self.end_block(out);
                self.part = Part::Tests;
            }
            Part::Trace => self.trace.push_line(line),
        }
    }

    /// `name (class) ... ok`, where the result may be lines away from the name.
    fn result(&mut self, line: &str, out: &mut Collector<'_>) {
        if let Some(total) = ran(line) {
            out.expect_tests();
            // Subtests fail by themselves, so there may be more results than tests.
            out.anonymous_cases(TestState::Passed, total.saturating_sub(std::mem::take(&mut self.counted)));
            self.has_ended = true;
            return;
        }
        let begun = name_of(line);
        let ended = line.rsplit_once("... ").map(|(_, result)| result).or(self.pending.as_ref().map(|_| line));
        let state = ended.and_then(state_of);
        if let Some(name) = begun {
            self.pending = Some(name);
        }
        if let Some(state) = state
            && let Some(name) = self.pending.take()
            // What fails is told in full further down.
            && !state.is_failure()
        {
            self.count(&name, state, Failure::default, out);
        }
    }

    fn end_block(&mut self, out: &mut Collector<'_>) {
        let Some((name, state)) = self.block.take() else { return };
        let trace = self.trace.text();
        self.trace.clear();
        self.count(&name, state, || failure(&trace), out);
    }

    fn count(&mut self, name: &Name, state: TestState, failure: impl FnOnce() -> Failure, out: &mut Collector<'_>) {
        self.counted += 1;
        let case = Case::new(&name.class, &name.method, state);
        out.case(case, failure);
    }

    pub fn end(mut self, out: &mut Collector<'_>) {
        self.end_block(out);
        out.framework = Some(TestFramework::Other);
        if !self.has_ended {
            out.notes.flaw(Flaw::NoEnd, || "the line `Ran … tests`");
        }
    }
}

/// `FAIL: test_total (cart.tests.CartTests.test_total)`
fn block_head(line: &str) -> Option<(Name, TestState)> {
    let (word, rest) = line.split_once(": ")?;
    let state = match word {
        "FAIL" | "UNEXPECTED SUCCESS" => TestState::Failed,
        "ERROR" => TestState::Errored,
        _ => return None,
    };
    let name = name_of(rest).unwrap_or_else(|| Name { method: text::name(rest), class: String::new() });
    Some((name, state))
}

/// Since Python 3.11 the method stands in the parentheses too.
fn name_of(line: &str) -> Option<Name> {
    let (method, rest) = line.split_once(" (")?;
    let (class, rest) = rest.split_once(')')?;
    let is_name = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    let dotted = class.contains('.') || class == "__main__";
    if !is_name(method) || !is_name(class) || !dotted {
        return None;
    }
    let class = class.strip_suffix(method).and_then(|class| class.strip_suffix('.')).unwrap_or(class);
    // `[two]` or `(n=2)` of a subtest.
    let part = rest.trim().split(" ...").next().unwrap_or_default();
    let part = if part.starts_with(['[', '(']) { format!(" {part}") } else { String::new() };
    Some(Name { method: text::name(&format!("{method}{part}")), class: text::name(class) })
}

fn state_of(result: &str) -> Option<TestState> {
    let result = result.trim_end();
    match result {
        "ok" | "expected failure" => Some(TestState::Passed),
        "FAIL" | "unexpected success" => Some(TestState::Failed),
        "ERROR" => Some(TestState::Errored),
        _ => result.starts_with("skipped ").then_some(TestState::Skipped),
    }
}

/// Whether only unittest writes such a line.
pub(crate) fn is_line(line: &str) -> bool {
    let result = || line.rsplit_once(" ... ").and_then(|(before, result)| state_of(result).and(name_of(before)));
    let head = || block_head(line).filter(|(name, _)| !name.class.is_empty());
    ran(line).is_some() || result().is_some() || head().is_some()
}

/// `Ran 2 tests in 0.001s`
fn ran(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("Ran ")?;
    let (count, rest) = rest.split_once(" test")?;
    let rest = rest.strip_prefix('s').unwrap_or(rest);
    (rest.starts_with(" in ") && rest.ends_with('s')).then(|| count.parse().ok())?
}

fn failure(trace: &str) -> Failure {
    // The error is the first line behind the last frame that is not indented.
    let after = trace.rfind("\n  File \"").map_or(trace, |at| &trace[at + 1..]);
    let message = after.lines().skip_while(|line| line.starts_with(' ')).collect::<Vec<_>>().join("\n");
    let message = message.split("\nStdout:").next().unwrap_or_default().trim();
    Failure {
        error_message: text::clipped(message, MAX_MESSAGE),
        stack_trace: Some(text::clipped(trace.trim(), MAX_TRACE)),
        ..Failure::default()
    }
}
