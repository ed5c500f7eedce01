//! What a file's patch takes and brings, line by line.

use crate::{
    observed::{ChangedFile, hunk_start},
    source_files::Comments,
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
        let comments = Comments::of(&file.path);
        // Whether a block comment is open, before the change and after it.
        let (mut in_old, mut in_new) = (false, false);
        let mut number = 0;
        for text in file.patch.as_deref().unwrap_or_default().lines() {
            match text.as_bytes() {
                [b'-', ..] => {
                    let is_code = comments.has_code(&text[1..], &mut in_old);
                    patch.removed.push(Line { number, text: &text[1..], is_code });
                }
                [b'@', b'@', b' ', ..] => {
                    number = hunk_start(&text[3..]).unwrap_or(1);
                    (in_old, in_new) = (false, false);
                }
                [b'\\', ..] => {}
                first => {
                    let text = text.get(1..).unwrap_or_default();
                    let line = Line { number, text, is_code: comments.has_code(text, &mut in_new) };
                    patch.new.push(line);
                    if first.first() == Some(&b'+') {
                        patch.added.push(line);
                    } else {
                        in_old = in_new;
                    }
                    number += 1;
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
