//! What a file's patch takes and brings, line by line.

use crate::{
    observed::{ChangedFile, LineChange},
    source_files::Syntax,
};

/// Lines that are looked at above another: a hostile change must not make each ask all.
const FAR: usize = 60;

/// A line of a patch: its number in the new file (of a removed one: where it was), and its text.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) number: u32,
    pub(super) text: &'a str,
    /// It holds more than a comment.
    is_code: bool,
}

pub(super) struct Patch<'a> {
    pub(super) file: &'a ChangedFile,
    pub(super) removed: Vec<Line<'a>>,
    pub(super) added: Vec<Line<'a>>,
    /// The added lines and those around them, as the new file has them.
    pub(super) new: Vec<Line<'a>>,
}

impl<'a> Patch<'a> {
    pub(super) fn of(file: &'a ChangedFile) -> Self {
        let mut patch = Self { file, removed: Vec::new(), added: Vec::new(), new: Vec::new() };
        let syntax = Syntax::of(&file.path);
        for hunk in file.read_patch().unwrap_or_default().hunks {
            // Whether a block comment is open, before the change and after it.
            let (mut in_old, mut in_new) = (false, false);
            for shown in hunk.lines {
                let inside = if shown.is_new() { &mut in_new } else { &mut in_old };
                let line = Line { number: shown.new, text: shown.text, is_code: syntax.has_code(shown.text, inside) };
                match shown.change {
                    LineChange::Removed => patch.removed.push(line),
                    LineChange::Added => patch.added.push(line),
                    LineChange::Unchanged => in_old = in_new,
                }
                if shown.is_new() {
                    patch.new.push(line);
                }
            }
        }
        patch
    }

    pub(super) fn removed_code(&self) -> impl Iterator<Item = &'a str> {
        self.removed.iter().filter(|line| line.is_code).map(|line| line.text)
    }

    pub(super) fn added_code(&self) -> impl Iterator<Item = &'a str> {
        self.added.iter().filter(|line| line.is_code).map(|line| line.text)
    }

    /// The lines of the new file below this one, as far as the patch shows them without a gap, blank ones left out.
    pub(super) fn below(&self, line: Line<'a>) -> impl Iterator<Item = &'a str> {
        let start = self.new.partition_point(|known| known.number <= line.number);
        let shown =
            self.new[start..].iter().zip(line.number + 1..).take_while(|(known, number)| known.number == *number);
        shown.map(|(known, _)| known.text).filter(|text| !text.trim().is_empty())
    }

    /// The nearest lines of the new file above this one, from below to above: no farther than a function is long.
    pub(super) fn above(&self, line: Line<'a>) -> impl Iterator<Item = &'a str> {
        let end = self.new.partition_point(|known| known.number < line.number);
        self.new[..end].iter().rev().take(FAR).map(|known| known.text).filter(|text| !text.trim().is_empty())
    }
}
