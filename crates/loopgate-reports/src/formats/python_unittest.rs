//! The text of Python's `unittest`, which Django's `manage.py test` prints too.
//!
//! Written with `-v`, each test has a line; without, only the failing ones and their number are known.

use loopgate_core::evidence::{Failure, TestFramework, TestState};

use super::tool_text::LineReader;
use crate::{Case, Clip, Collector, Flaw, Mark, text};

pub(super) const MARK: Mark = Mark::Line(is_line);

/// A test as unittest names it: `test_total (cart.tests.CartTests.test_total)`.
#[derive(Clone, Default, PartialEq)]
struct Name {
    method: String,
    class: String,
}

/// Reads lines.
#[derive(Default)]
pub(super) struct Unittest {
    /// A test whose result may stand on a later line, behind its description or its own output.
    pending: Option<Name>,
    /// What stands of a failing test between the rule of `=` and the next one.
    block: Option<Block>,
    /// Tests reported one by one in this run.
    counted: u64,
    has_ended: bool,
}

#[derive(Default)]
struct Block {
    test: Option<(Name, TestState)>,
    /// What stands behind the rule of `-`.
    trace: Option<Clip>,
}

/// The line above each failing test.
pub(super) fn is_head(line: &str) -> bool {
    line.len() == 70 && line.bytes().all(|byte| byte == b'=')
}

impl LineReader for Unittest {
    fn line(&mut self, line: &str, out: &mut Collector<'_>) -> bool {
        let line = &*text::clean(line);
        let is_rule = line.len() == 70 && line.bytes().all(|byte| byte == b'-');
        match &mut self.block {
            _ if is_head(line) => {
                self.end_block(out);
                self.block = Some(Block::default());
            }
            None => self.result(line, out),
            Some(Block { trace: Some(_), .. }) if is_rule => self.end_block(out),
            Some(Block { trace: Some(trace), .. }) => trace.push_line(line),
            Some(block) if is_rule => block.trace = Some(Clip::default()),
            Some(block) => block.test = block_head(line).or(block.test.take()),
        }
        true
    }

    fn is_idle(&self) -> bool {
        self.block.is_none() && self.pending.is_none()
    }

    fn end(mut self: Box<Self>, out: &mut Collector<'_>) {
        self.end_block(out);
        out.framework = Some(TestFramework::Other);
        if !self.has_ended {
            out.notes.flaw(Flaw::NoEnd, || "the line `Ran … tests`");
        }
    }
}

impl Unittest {
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
            // A failing test has its own block further down.
            && !state.is_failure()
        {
            self.counted += 1;
            out.case(Case::new(&name.class, &name.method, state), Failure::default);
        }
    }

    fn end_block(&mut self, out: &mut Collector<'_>) {
        let Some(Block { test: Some((name, state)), trace }) = self.block.take() else { return };
        self.counted += 1;
        let failure = || failure(&trace.map(|trace| trace.text()).unwrap_or_default());
        out.case(Case::new(&name.class, &name.method, state), failure);
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

patterns! {
    /// Behind the class stands `[two]` or `(n=2)` of a subtest.
    NAME = r"^(\S+) \(([^\s)]*\.[^\s)]*|__main__)\)(?:( [\[(].*?)(?: \.\.\.|$))?";
}

fn name_of(line: &str) -> Option<Name> {
    let found = NAME.captures(line)?;
    let (method, part) = (&found[1], found.get(3).map_or("", |part| part.as_str()));
    // Since Python 3.11 the method stands in the parentheses too.
    let class = found[2].strip_suffix(method).and_then(|class| class.strip_suffix('.')).unwrap_or(&found[2]);
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
    let (count, time) = line.strip_prefix("Ran ")?.split_once(" test")?;
    let is_time = ["s in ", " in "].iter().any(|start| time.starts_with(start)) && time.ends_with('s');
    is_time.then(|| count.parse().ok())?
}

fn failure(trace: &str) -> Failure {
    // What a test printed is quoted below what went wrong.
    let told = trace.split("\nStdout:").next().unwrap_or_default();
    text::failure(Failure::default(), told, trace.trim())
}
