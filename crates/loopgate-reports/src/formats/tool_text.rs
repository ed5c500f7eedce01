//! What tools print for people: one check may run several of them (`make test`), one after the other or side by side.
//! Each speaker has readers of its own. Cargo has its own reader and TAP has, all others share one. The other reader
//! takes over at a line of its own tools, if the one before has nothing open.

use loopgate_core::evidence::TestFramework;

use super::{
    cargo_test::{self, CargoTest},
    console::{self, Console},
    tap::Tap,
};
use crate::{Collector, Flaw, HookOutput, Speakers, Unreadable, Window, text};

/// Bytes of the lines whose labels are learnt together.
const PAGE: usize = 64 * 1024;

/// Reads the text of tools, which begins with cargo's or with another's.
pub(super) fn parse(
    begins_with_cargo: bool,
    window: &mut Window<'_>,
    out: &mut Collector,
) -> Result<(), Unreadable> {
    let mut text = ToolText {
        begins_with_cargo,
        ..ToolText::default()
    };
    let mut page = Page::default();
    while let Some(line) = window.line()? {
        page.push(&text::clean(line));
        if page.text.len() >= PAGE {
            text.read(&mut page, out);
        }
    }
    text.read(&mut page, out);
    text.end(out);
    Ok(())
}

/// Cleaned lines that are read together.
#[derive(Default)]
struct Page {
    text: String,
    /// Where each line ends.
    ends: Vec<usize>,
}

impl Page {
    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.ends.push(self.text.len());
    }

    fn lines(&self) -> impl Iterator<Item = &str> + Clone {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.text[start..*end])
    }
}

#[derive(Default)]
struct ToolText {
    begins_with_cargo: bool,
    lines: u64,
    speakers: Speakers,
    /// By the speaker's number, and whose line was read last.
    readers: Vec<Reader>,
    speaking: usize,
}

impl ToolText {
    fn read(&mut self, page: &mut Page, out: &mut Collector) {
        self.speakers.learn(page.lines());
        for line in page.lines() {
            self.lines += 1;
            if self.speakers.is_quotation(line) {
                continue;
            }
            let (number, line) = self.speakers.route(line);
            if !self.reader(number, out).line(line, out) {
                let number = self.lines;
                out.notes.flaw(Flaw::BAD_LINE, || format!("line {number}"));
            }
        }
        page.text.clear();
        page.ends.clear();
    }

    /// The reader of that speaker, whose words are read next.
    fn reader(&mut self, number: usize, out: &mut Collector) -> &mut Reader {
        while self.readers.len() <= number {
            let is_first = self.readers.is_empty();
            self.readers.push(Reader {
                is_cargo: is_first && self.begins_with_cargo,
                suite: if is_first { 0 } else { out.begin_suite() },
                ..Reader::default()
            });
        }
        if number != self.speaking {
            self.readers[self.speaking].framework = out.framework;
            self.speaking = number;
            out.speaker = self.speakers.speaker(number);
            out.suite = self.readers[number].suite;
            out.framework = self.readers[number].framework;
        }
        &mut self.readers[number]
    }

    fn end(mut self, out: &mut Collector) {
        let mut frameworks = Vec::new();
        for number in 0..self.readers.len() {
            let reader = std::mem::take(self.reader(number, out));
            let is_one = reader.end(out);
            frameworks.push(out.framework.filter(|_| is_one));
        }
        // With several tools, the command of one does not run the tests of another again.
        frameworks.dedup();
        frameworks.retain(|framework| self.readers.len() == 1 || framework.is_some());
        out.framework = match frameworks[..] {
            [framework] => framework,
            _ => None,
        };
    }
}

/// Reads the lines of one speaker.
#[derive(Default)]
struct Reader {
    hook_output: HookOutput,
    is_cargo: bool,
    of_cargo: Option<CargoTest>,
    of_others: Option<Console>,
    of_tap: Option<Tap>,
    /// TAP speaks.
    is_tap: bool,
    /// What distinguishes its tests from others of the same name.
    suite: u16,
    framework: Option<TestFramework>,
}

impl Reader {
    /// Takes a line; false if it cannot be read.
    fn line(&mut self, line: &str, out: &mut Collector) -> bool {
        let line = self.hook_output.line(line);
        if Tap::begins_with(line) {
            out.expect_tests();
            self.is_tap = true;
            if let Some(mut ended) = self.of_tap.take_if(|tap| tap.has_bailed_out()) {
                ended.end(out);
            }
        } else if let Some(tap) = self.of_tap.as_ref().filter(|_| self.is_tap) {
            self.is_tap = line.trim().is_empty() || !tap.is_over(line);
        }
        if self.is_tap {
            self.of_tap.get_or_insert_default().line(line, out);
            return true;
        }
        let is_idle = match self.is_cargo {
            true => self.of_cargo.as_ref().is_none_or(CargoTest::is_idle),
            false => self.of_others.as_ref().is_none_or(Console::is_idle),
        };
        if is_idle {
            let begins_cargo = cargo_test::is_build(line) || cargo_test::is_line(line);
            self.is_cargo = begins_cargo || self.is_cargo && !console::is_line(line);
        }
        if self.is_cargo {
            return self.of_cargo.get_or_insert_default().line(line, out);
        }
        self.of_others.get_or_insert_default().line(line, out);
        true
    }

    /// Ends it, and gives whether it read one tool's words alone.
    fn end(self, out: &mut Collector) -> bool {
        let readers = [
            self.of_cargo.is_some(),
            self.of_others.is_some(),
            self.of_tap.is_some(),
        ];
        if let Some(reader) = self.of_tap {
            let printed = self.of_others.as_ref().map(Console::crashes);
            reader
                .with_crashes(printed.cloned().unwrap_or_default())
                .end(out);
        }
        if let Some(reader) = self.of_cargo {
            reader.end(out);
        }
        if let Some(reader) = self.of_others {
            reader.end(out);
        }
        readers.into_iter().filter(|has_read| *has_read).count() <= 1
    }
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read};

    /// The names of the failing tests.
    fn failing(text: &str) -> Vec<String> {
        let failures = read("log", text.as_bytes(), &ReadOptions::default()).failures;
        failures
            .into_iter()
            .map(|failure| failure.test_name.unwrap_or_default())
            .collect()
    }

    const JEST: &str = "FAIL a.test.js\n  ● adds\n\n    three is two\n\n      at a.test.js:7:9\n\nTests: 1 failed, 1 total\n";
    const TAP: &str =
        "TAP version 13\nnot ok 1 - ships\n  ---\n  error: 'no address'\n  ...\n1..1\n# fail 1\n";

    #[test]
    fn a_document_of_tap_may_stand_among_what_other_tools_print() {
        let another = JEST.replace("adds", "multiplies");
        assert_eq!(
            failing(&format!("{JEST}{TAP}{another}")),
            ["adds", "ships", "multiplies"]
        );
        let label = |label: &str, text: &str| -> String {
            text.lines()
                .map(|line| format!("{label}{line}\n"))
                .collect()
        };
        let of_both = label("api  | ", TAP) + &label("web  | ", JEST);
        assert_eq!(failing(&of_both), ["ships", "adds"]);
    }

    #[test]
    fn what_a_hook_prints_is_read_alike_whether_it_is_indented_or_not() {
        let of_hook = |name: &str, output: &str, margin: &str| {
            let indented = output.trim().lines().map(|line| match line {
                "" => "\n".to_owned(),
                line => format!("{margin}{line}\n"),
            });
            let indented: String = indented.collect();
            format!(
                "{name}{}Failed\n- hook id: {name}\n- exit code: 1\n\n{indented}",
                ".".repeat(60)
            )
        };
        let cargo = "running 1 test\ntest sums ... FAILED\n\nfailures:\n\n---- sums stdout ----\n\n\
                     thread 'sums' panicked at src/lib.rs:3:5:\nno sum\n\n\nfailures:\n    sums\n\n\
                     test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let mocha = "\n\n  cart\n    1) weighs\n\n\n  0 passing (4ms)\n  1 failing\n\n  1) cart\n       weighs:\n\n      \
                     Error: no scales\n      at Context.<anonymous> (test/cart.test.js:2:52)\n";
        let ruff = "F401 [*] `os` imported but unused\n --> b.py:1:8\n  |\n1 | import os\n";
        let read = |margin: &str| {
            let texts = [
                ("js", JEST),
                ("tap", TAP),
                ("rust", cargo),
                ("mocha", mocha),
                ("ruff", ruff),
            ];
            let text: String = texts
                .iter()
                .map(|(name, text)| of_hook(name, text, margin))
                .collect();
            let failures = read("log", text.as_bytes(), &ReadOptions::default()).failures;
            failures
                .into_iter()
                .map(|it| (it.test_name, it.error_message, it.source))
                .collect::<Vec<_>>()
        };
        let names: Vec<_> = read("")
            .into_iter()
            .map(|(name, ..)| name.unwrap_or_default())
            .collect();
        assert_eq!(names, ["adds", "ships", "cart weighs", "sums", ""]);
        assert_eq!(read("  "), read(""));
    }

    #[test]
    fn what_stands_behind_the_sum_of_a_tool_with_two_pipes_is_of_its_block_or_of_another_tool() {
        let block = |between: &str, behind: &str| {
            let text = format!(
                " FAIL  a.test.mjs > cart > empties\nAssertionError: no cart\n{between}\n\n Test Files 1 failed\n      \
                 Tests 1 failed (1)\n   Duration 319ms (build 64ms, tests 255ms)\n\n\n{behind}"
            );
            let failures = read("log", text.as_bytes(), &ReadOptions::default()).failures;
            let shown = |failure: &loopgate_core::evidence::Failure| {
                let (file, line) = failure.named_place().unwrap_or_default();
                format!("{} {file}:{line:?}", failure.error_message)
            };
            failures.iter().map(shown).collect::<Vec<_>>()
        };
        let place = "\n        at a.test.mjs:3:13\n";
        let whole = ["no cart a.test.mjs:Some(3)"];
        assert_eq!(block(place, ""), whole);
        assert_eq!(block("", place), whole);
        let lint = "b.js\n  3:7  error  'x' is never used  no-unused-vars\n";
        let of_both = ["no cart a.test.mjs:None", "'x' is never used b.js:Some(3)"];
        assert_eq!(block("", lint), of_both);
    }

    #[test]
    fn one_line_that_looks_like_tap_is_what_a_test_printed() {
        let spec =
            "not ok 7 - a line of another run\n✔ sums (0.7ms)\nℹ tests 1\nℹ pass 1\nℹ fail 0\n";
        assert_eq!(failing(spec), Vec::<String>::new());
        assert_eq!(failing("not ok 1 - a\nok 2 - b\n"), ["a", "(the plan)"]);
    }
}
