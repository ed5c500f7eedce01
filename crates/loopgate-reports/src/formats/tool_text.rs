//! What tools print for people: one check may run several of them (`make test`), each of which is read by its own
//! reader. A line goes to the tool that speaks. Another one begins to speak where its own words stand and the one before
//! has nothing open.

use super::{
    cargo_test, console,
    console::Console,
    python_unittest::{self, Unittest},
    rust_lines::RustLines,
};
use crate::{Collector, Unreadable, Window, each_line, text};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Cargo,
    Unittest,
    Others,
}

#[derive(Default)]
struct Readers {
    cargo: Option<RustLines>,
    unittest: Option<Unittest>,
    others: Option<Console>,
}

/// Reads the text of tools, of which this one speaks first.
pub(super) fn parse(first: Speaker, window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    let mut readers = Readers::default();
    let mut speaker = first;
    each_line(window, out, |line, out| {
        let cleaned = text::clean(line);
        if readers.is_idle(speaker) {
            speaker = next(&cleaned, speaker);
        }
        match speaker {
            Speaker::Cargo => return readers.cargo.get_or_insert_default().line(line, out),
            Speaker::Unittest => readers.unittest.get_or_insert_default().line(&cleaned, out),
            Speaker::Others => readers.others.get_or_insert_default().line(&cleaned, out),
        }
        true
    })?;
    readers.end(out);
    Ok(())
}

/// Whose words a line is, if only one tool writes so; else they are those of the tool that spoke before.
fn next(line: &str, before: Speaker) -> Speaker {
    if cargo_test::is_build(line) || cargo_test::is_line(line) {
        Speaker::Cargo
    } else if python_unittest::is_head(line) || python_unittest::is_line(line) {
        Speaker::Unittest
    } else if before != Speaker::Others && console::is_line(line) {
        Speaker::Others
    } else {
        before
    }
}

impl Readers {
    fn is_idle(&self, speaker: Speaker) -> bool {
        match speaker {
            Speaker::Cargo => self.cargo.as_ref().is_none_or(RustLines::is_idle),
            Speaker::Unittest => self.unittest.as_ref().is_none_or(Unittest::is_idle),
            Speaker::Others => self.others.as_ref().is_none_or(Console::is_idle),
        }
    }

    fn end(self, out: &mut Collector<'_>) {
        let spoke = [self.cargo.is_some(), self.unittest.is_some(), self.others.is_some()];
        self.cargo.into_iter().for_each(|cargo| cargo.end(out));
        self.unittest.into_iter().for_each(|unittest| unittest.end(out));
        self.others.into_iter().for_each(|others| others.end(out));
        // With several tools, the command of one does not run the tests of another again.
        if spoke.into_iter().filter(|spoke| *spoke).count() > 1 {
            out.framework = None;
        }
    }
}
