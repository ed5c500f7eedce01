//! The code of a changed file on both sides, without its comments, and the parts of a test file: its tests, its helpers, and
//! what stands outside.

use std::collections::BTreeMap;

use super::{Change, MOST_SHOWN};
use crate::{
    observed::{ChangedFile, DiffLine, FileStatus, LineChange, Patch},
    source_files::{Syntax, TestSyntax},
};

/// Characters of a line that are read: a longer one is generated, or hostile.
const LONGEST_LINE: usize = 2_000;

/// A line of code: its number in its file, and its text without comments and without blanks at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CodeLine {
    pub(super) number: u32,
    pub(super) text: String,
}

impl CodeLine {
    pub(super) fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }

    /// Its words with one blank between them: how it is compared.
    pub(super) fn words(&self) -> String {
        self.text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The lines of code before a change and after it.
pub(super) struct Sides {
    pub(super) old: Vec<CodeLine>,
    pub(super) new: Vec<CodeLine>,
}

impl Sides {
    /// The whole file where both sides were read, else what the patch shows. `None` if nothing is known of a side.
    pub(super) fn read(change: &Change<'_>, file: &ChangedFile) -> Option<Self> {
        let old = change.before.and_then(|commit| change.contents.text(commit, file.old_path()));
        let new = change.contents.text(change.head, &file.path);
        if let (Some(old), Some(new)) = (old, new) {
            let lines = |path, text: &str| code_lines(path, (1..).zip(text.lines()));
            return Some(Self { old: lines(file.old_path(), old), new: lines(&file.path, new) });
        }
        let is_only_renamed = file.status == FileStatus::Renamed && file.additions + file.deletions == 0;
        let patch = file.read_patch().or_else(|| is_only_renamed.then(Patch::default))?;
        Some(Self::of_patch(file, &patch))
    }

    /// What a patch shows. The heading of a hunk stands above it on both sides.
    pub(super) fn of_patch(file: &ChangedFile, patch: &Patch<'_>) -> Self {
        let side = |path: &str, absent: LineChange, number: fn(&DiffLine<'_>) -> u32| {
            let lines = patch.hunks.iter().flat_map(|hunk| {
                let heading = hunk.lines.first().map(|first| (number(first).saturating_sub(1), hunk.heading));
                let of_side = hunk.lines.iter().filter(move |line| line.change != absent);
                heading.into_iter().chain(of_side.map(move |line| (number(line), line.text)))
            });
            code_lines(path, lines)
        };
        Self {
            old: side(file.old_path(), LineChange::Added, |line| line.old),
            new: side(&file.path, LineChange::Removed, |line| line.new),
        }
    }
}

/// The lines that hold code, without comments.
fn code_lines<'a>(path: &str, lines: impl Iterator<Item = (u32, &'a str)>) -> Vec<CodeLine> {
    let (numbers, texts): (Vec<u32>, Vec<String>) =
        lines.map(|(number, text)| (number, text.chars().take(LONGEST_LINE).collect::<String>())).unzip();
    let (code, _) = Syntax::of(path).without_comments(texts.iter().map(String::as_str));
    let lines = numbers.into_iter().zip(code).map(|(number, text)| CodeLine { number, text });
    lines.filter(|line| !line.text.trim().is_empty()).collect()
}

/// Texts, each as often as it occurs.
#[derive(Default)]
pub(super) struct Bag(BTreeMap<String, usize>);

impl Bag {
    pub(super) fn add(&mut self, text: String) {
        *self.0.entry(text).or_default() += 1;
    }

    /// Takes these texts out if all of them are in it.
    pub(super) fn take(&mut self, texts: &[String]) -> bool {
        let lacks = |text: &String| self.0.get_mut(text).filter(|left| **left > 0).map(|left| *left -= 1).is_none();
        let taken = texts.iter().position(lacks).unwrap_or(texts.len());
        if taken < texts.len() {
            texts[..taken].iter().for_each(|text| self.add(text.clone()));
        }
        taken == texts.len()
    }
}

/// The lines that do not stand among the others, or less often there.
pub(super) fn missing<'a>(
    lines: impl IntoIterator<Item = &'a CodeLine>,
    others: impl IntoIterator<Item = &'a CodeLine>,
) -> Vec<&'a CodeLine> {
    let mut had = Bag::default();
    others.into_iter().for_each(|line| had.add(line.words()));
    lines.into_iter().filter(|line| !had.take(&[line.words()])).collect()
}

/// The lines that go and the lines that come.
pub(super) fn difference(old: &[CodeLine], new: &[CodeLine]) -> Sides {
    Sides {
        old: missing(old, new).into_iter().cloned().collect(),
        new: missing(new, old).into_iter().cloned().collect(),
    }
}

/// Lines that go and lines that come, with the sign of a diff: at most 12.
pub(super) fn hunk<'l>(
    taken: impl IntoIterator<Item = &'l CodeLine>,
    brought: impl IntoIterator<Item = &'l CodeLine>,
) -> Vec<String> {
    let taken = taken.into_iter().map(|line| format!("-{}", line.text));
    taken.chain(brought.into_iter().map(|line| format!("+{}", line.text))).take(MOST_SHOWN).collect()
}

/// A test, a helper, or, without a name, what stands outside of both.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) is_test: bool,
    /// Where it is declared.
    pub(super) line: u32,
    /// With what stands above its declaration and belongs to it: attributes, annotations, decorators.
    pub(super) lines: Vec<CodeLine>,
    indent: usize,
}

/// Splits a file into its parts by indentation: a part ends before the next line that is indented no deeper than its
/// declaration and does not close a bracket. The first part is what stands outside of all others.
pub(super) fn parts(syntax: &TestSyntax, lines: Vec<CodeLine>) -> Vec<Part> {
    let outside = Part { name: String::new(), is_test: false, line: 1, lines: Vec::new(), indent: 0 };
    let (mut parts, mut open) = (vec![outside], 0);
    let mut above: Vec<CodeLine> = Vec::new();
    let mut marked = false;
    for line in lines {
        let (text, indent) = (line.text.trim_start(), line.indent());
        let closes = text.starts_with([')', ']', '}', '{', '>']) || text == "end" || text.starts_with("end ");
        let test = syntax.test(&line.text);
        if test.is_none() && above.first().is_some_and(|first| indent > first.indent() || closes) {
            above.push(line);
            continue;
        }
        if open > 0 && indent <= parts[open].indent && !closes {
            open = 0;
        }
        let begins_rows = || syntax.is_row(&line.text) && text.ends_with(['[', '(', '`']);
        let is_attribute = text.starts_with(['@', '[']) || text.starts_with("#[") || begins_rows();
        let is_nested = open > 0 && parts[open].is_test;
        let helper = || syntax.function(&line.text).filter(|_| !is_nested && test.is_none());
        let name = test.filter(|name| !name.is_empty()).or_else(helper);
        if let Some(name) = name {
            let (name, is_test, number) = (name.to_owned(), test.is_some() || marked, line.number);
            let lines = above.drain(..).chain([line]).collect();
            parts.push(Part { name, is_test, line: number, lines, indent });
            (open, marked) = (parts.len() - 1, false);
        } else if test.is_some() || is_attribute && !is_nested {
            marked |= test.is_some();
            above.push(line);
        } else {
            parts[open].lines.extend(above.drain(..).chain([line]));
            marked = false;
        }
    }
    parts[open].lines.append(&mut above);
    parts
}
