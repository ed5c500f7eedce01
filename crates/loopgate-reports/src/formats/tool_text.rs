//! What tools print for people: one check may run several of them (`make test`), each of which is read by its own
//! reader. A line goes to the tool that speaks. Another one begins to speak where its own words stand and the one before
//! has nothing open.

use std::collections::BTreeMap;

use super::{
    cargo_test, console,
    console::Console,
    python_unittest::{self, Unittest},
    rust_lines::RustLines,
};
use crate::{Collector, Unreadable, Window, each_line, text};

/// Reads the lines of one tool, or of several that are alike.
pub(super) trait LineReader {
    /// Takes a line as it is printed; false if it cannot be read.
    fn line(&mut self, line: &str, out: &mut Collector<'_>) -> bool;
    /// Whether nothing is open that a further line could belong to.
    fn is_idle(&self) -> bool;
    fn end(self: Box<Self>, out: &mut Collector<'_>);
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Speaker {
    Cargo,
    Unittest,
    Others,
}

impl Speaker {
    fn reader(self) -> Box<dyn LineReader> {
        match self {
            Self::Cargo => Box::<RustLines>::default(),
            Self::Unittest => Box::<Unittest>::default(),
            Self::Others => Box::<Console>::default(),
        }
    }

    /// Whose words a line is, if only one tool writes so; else they are those of the tool that spoke before.
    fn next(self, line: &str) -> Self {
        if cargo_test::is_build(line) || cargo_test::is_line(line) {
            Self::Cargo
        } else if python_unittest::is_head(line) || python_unittest::is_line(line) {
            Self::Unittest
        } else if self != Self::Others && console::is_line(line) {
            Self::Others
        } else {
            self
        }
    }
}

/// Reads the text of tools, of which this one speaks first.
pub(super) fn parse(first: Speaker, window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    let mut readers: BTreeMap<Speaker, Box<dyn LineReader>> = BTreeMap::new();
    let mut speaker = first;
    each_line(window, out, |line, out| {
        if readers.get(&speaker).is_none_or(|reader| reader.is_idle()) {
            speaker = speaker.next(&text::clean(line));
        }
        readers.entry(speaker).or_insert_with(|| speaker.reader()).line(line, out)
    })?;
    let is_one = readers.len() == 1;
    readers.into_values().for_each(|reader| reader.end(out));
    // With several tools, the command of one does not run the tests of another again.
    out.framework = out.framework.filter(|_| is_one);
    Ok(())
}
