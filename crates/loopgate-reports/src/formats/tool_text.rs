//! What tools print for people: one check may run several of them (`make test`), one after the other or side by side.
//! Each speaker has readers of its own. Cargo has its own reader, all others share one. The other reader takes over at
//! a line of its own tools, if the one before has nothing open.

use loopgate_core::evidence::TestFramework;

use super::{
    cargo_test::{self, CargoTest},
    console::{self, Console},
};
use crate::{Collector, Flaw, Speakers, Unreadable, Window, text};

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
            let (number, line) = self.speakers.route(line);
            if !self.reader(number, out).line(line, out) {
                let number = self.lines;
                out.notes.flaw(Flaw::BAD_LINE, || format!("line {number}"));
            }
        }
        (page.text.clear(), page.ends.clear());
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
    is_cargo: bool,
    of_cargo: Option<CargoTest>,
    of_others: Option<Console>,
    /// What distinguishes its tests from others of the same name.
    suite: u16,
    framework: Option<TestFramework>,
}

impl Reader {
    /// Takes a line; false if it cannot be read.
    fn line(&mut self, line: &str, out: &mut Collector) -> bool {
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
        let is_one = self.of_cargo.is_none() || self.of_others.is_none();
        if let Some(reader) = self.of_cargo {
            reader.end(out);
        }
        if let Some(reader) = self.of_others {
            reader.end(out);
        }
        is_one
    }
}
