//! What `cargo nextest run` prints: a line for each test as it ends, and below it, indented, what a failing one
//! printed.

use indexmap::IndexMap;
use loopgate_core::evidence::{TestFramework, TestState};
use regex::Captures;

use super::cargo_failure;
use crate::{Case, Clip, Collector, numbers};

/// Failing tests gathered; further ones are counted without what they printed.
const MAX_GATHERED: usize = 5_000;

patterns! {
    /// `        FAIL [   0.765s] (2/3) cart tests::adds_two`, `  TRY 2 PASS [   0.010s] cart::it adds`.
    STATUS = r"^ *(?:TRY (?P<try>[0-9]+) )?(?P<word>[A-Z][A-Z0-9-]*)(?: \([^)]*\))? \[ *(?P<seconds>[0-9.]+)s\] (?:\([^)]*\) )?(?P<binary>\S+) (?P<test>\S.*)$";
}

/// Reads lines.
#[derive(Default)]
pub(super) struct Nextest {
    part: NextestPart,
    /// What failing tests printed, by binary and test, and which of them prints.
    failing: IndexMap<(String, String), Clip>,
    prints: Option<usize>,
}

#[derive(Default, PartialEq)]
enum NextestPart {
    #[default]
    Before,
    Tests,
    /// What failed is listed once more; what it printed stands here where it is to be shown at the end.
    Summary,
}

impl Nextest {
    /// Takes a line, if it is one of nextest's.
    pub fn line(&mut self, line: &str, out: &mut Collector) -> bool {
        let text = line.trim_start();
        if self.part == NextestPart::Before {
            let begins = text.starts_with("Starting ")
                && text.contains(" across ")
                && text.len() < line.len();
            if begins {
                self.part = NextestPart::Tests;
                out.expect_tests();
                out.framework = Some(TestFramework::CargoTest);
            }
            return begins;
        }
        let is_end = match self.part {
            NextestPart::Tests => text.starts_with("Summary ["),
            // The exit status shows it, too.
            _ => text.starts_with("error: test run failed"),
        };
        if is_end {
            (self.part, self.prints) = (NextestPart::Summary, None);
        } else if let Some(status) = STATUS.captures(line) {
            self.status(&status, out);
        } else if let Some((_, printed)) = self.prints.and_then(|at| self.failing.get_index_mut(at))
        {
            let is_heading = ["  stdout ──", "  stderr ──", "  output ──"]
                .iter()
                .any(|head| line.starts_with(head));
            if text.starts_with("────") || line.starts_with("  Cancelling due to ") {
                self.prints = None;
            } else if !is_heading {
                printed.push_line(line.strip_prefix("    ").unwrap_or(line));
            }
        } else {
            return self.part == NextestPart::Tests;
        }
        true
    }

    pub fn is_idle(&self) -> bool {
        self.part != NextestPart::Tests && self.prints.is_none()
    }

    fn status(&mut self, status: &Captures<'_>, out: &mut Collector) {
        let (binary, test) = (&status["binary"], &status["test"]);
        let key = (binary.to_owned(), test.to_owned());
        self.prints = None;
        if self.part == NextestPart::Summary {
            let is_silent = |at: &usize| self.failing[*at].text().trim().is_empty();
            self.prints = self.failing.get_index_of(&key).filter(is_silent);
            return;
        }
        let state = match &status["word"] {
            "SLOW" | "TERMINATING" | "SETUP" => return,
            "SKIP" => TestState::Skipped,
            "PASS" | "LEAK" if self.failing.shift_remove(&key).is_some() => TestState::Flaky,
            "PASS" | "LEAK" => TestState::Passed,
            _ if self.failing.len() < MAX_GATHERED => {
                // Each try replaces what the one before it printed.
                self.prints = Some(self.failing.insert_full(key, Clip::default()).0);
                return;
            }
            _ => TestState::Failed,
        };
        let seconds = numbers::seconds(&status["seconds"]).unwrap_or(0.0);
        out.case(
            Case {
                seconds,
                ..Case::new(binary, test, state)
            },
            || cargo_failure::failure("", test, ""),
        );
    }

    pub fn end(&mut self, out: &mut Collector) {
        for ((binary, test), printed) in std::mem::take(&mut self.failing) {
            let failure = || cargo_failure::failure(&printed.text(), &test, "");
            out.case(Case::new(&binary, &test, TestState::Failed), failure);
        }
    }
}
