//! The lines that a patch adds, takes away and shows beside, and which of them count as a change of code.

use std::{cell::OnceCell, ops::Range};

use crate::{
    ids::PatternName,
    observed::{ChangedFile, hunk_start},
    policy::LineCondition,
    source_files::Comments,
};

use self::context::{Kind, Shown};
use super::own_names::OwnNames;

mod context;

/// The lines of one file that its patch shows.
pub(super) struct FileLines<'a> {
    pub added: Side<'a>,
    pub removed: Side<'a>,
    /// Lines that stay, with which code of the same block changes. They are code where they hold the change.
    pub context: Side<'a>,
    change_only_tags: bool,
}

/// The lines of one side of a patch.
#[derive(Default)]
pub(super) struct Side<'a> {
    lines: Vec<Line<'a>>,
    text: String,
    /// All of them with their identifiers split into words.
    words: OnceCell<String>,
}

struct Line<'a> {
    /// At the base for a removed line, at the head for others.
    number: u32,
    text: &'a str,
    /// More than blanks and a comment. Code that moves is code, where it leaves and where it arrives.
    is_code: bool,
}

/// A line that a condition asks for.
pub(super) struct Hit<'a> {
    pub number: u32,
    pub text: &'a str,
    pub name: Option<PatternName>,
}

impl<'a> FileLines<'a> {
    /// None when there is no patch, or none that can be read. Beside it all lines in their order, for its context.
    fn read(file: &'a ChangedFile) -> Option<(Self, Vec<Shown<'a>>)> {
        let patch: Vec<&str> = file.patch.as_deref()?.split('\n').collect();
        let comments = Comments::of(&file.path);
        let (mut added, mut removed) = (Side::default(), Side::default());
        let mut shown = Vec::with_capacity(patch.len());
        let (mut new, mut old) = (0_u32, 0_u32);
        let (mut in_new, mut in_old) = (false, false);
        for (index, line) in patch.iter().enumerate() {
            // A mark of the byte order at the start of a file is no part of its first line.
            let content = line.get(1..).unwrap_or_default().trim_start_matches('\u{feff}');
            let content = content.strip_suffix('\r').unwrap_or(content);
            match line.as_bytes() {
                [b'@', b'@', b' ', ..] => {
                    (new, old) = places(line)?;
                    in_new = comments.opened_before(patch.get(index + 1..).unwrap_or_default());
                    in_old = in_new;
                    let function = line[3..].split_once(" @@").map_or("", |(_, function)| function.trim());
                    shown.push(Shown::new(Kind::Function, new, function));
                }
                [b'+', ..] => {
                    shown.push(Shown::new(Kind::Added(added.lines.len()), new, content));
                    added.push(new, content, comments.has_code(content, &mut in_new));
                    new = new.saturating_add(1);
                }
                [b'-', ..] => {
                    shown.push(Shown::new(Kind::Removed(removed.lines.len()), old, content));
                    removed.push(old, content, comments.has_code(content, &mut in_old));
                    old = old.saturating_add(1);
                }
                [b'\\', ..] => {}
                _ => {
                    comments.has_code(content, &mut in_old);
                    if comments.has_code(content, &mut in_new) {
                        shown.push(Shown::new(Kind::Unchanged, new, content));
                    }
                    (new, old) = (new.saturating_add(1), old.saturating_add(1));
                }
            }
        }
        for hunk in hunks(&patch).filter(|hunk| swallows(&comments, &patch[hunk.clone()])) {
            // What stays in it may be code on one side only.
            let (mut new, mut old) = places(patch[hunk.start - 1])?;
            for line in &patch[hunk.clone()] {
                let (is_new, is_old) = (!line.starts_with('-'), !line.starts_with('+'));
                if is_new && is_old && !line.starts_with('\\') {
                    let content = line.get(1..).unwrap_or_default();
                    added.push(new, content, true);
                    removed.push(old, content, true);
                }
                new = new.saturating_add(u32::from(is_new));
                old = old.saturating_add(u32::from(is_old));
            }
        }
        Some((Self { added, removed, context: Side::default(), change_only_tags: false }, shown))
    }

    /// Of every file, in their order.
    pub(super) fn of_all(files: &'a [ChangedFile]) -> Vec<Option<Self>> {
        files
            .iter()
            .map(|file| {
                let (mut lines, shown) = Self::read(file)?;
                lines.context = context::of(&lines, &shown);
                lines.change_only_tags = only_tags(&file.path, &lines);
                Some(lines)
            })
            .collect()
    }

    /// Whether anything but blanks, comments and the tags of actions changes.
    pub(super) fn change_code(&self) -> bool {
        !self.change_only_tags
            && [&self.added, &self.removed].iter().any(|side| side.lines.iter().any(|line| line.is_code))
    }
}

/// Where a hunk begins, at the head and at the base.
fn places(header: &str) -> Option<(u32, u32)> {
    let header = header.get(3..)?;
    Some((hunk_start(header)?, header.strip_prefix('-')?.split([',', ' ']).next()?.parse().ok()?))
}

/// The lines of each hunk, without its header.
fn hunks(patch: &[&str]) -> impl Iterator<Item = Range<usize>> {
    let mut starts: Vec<usize> = (0..patch.len()).filter(|index| patch[*index].starts_with("@@ ")).collect();
    starts.push(patch.len());
    (1..starts.len()).map(move |index| starts[index - 1] + 1..starts[index])
}

/// Whether a change in these lines reaches over lines beside it: it begins or ends a comment, a string or a condition that
/// it does not end or begin.
fn swallows(comments: &Comments, lines: &[&str]) -> bool {
    let is_changed = |line: &&str| line.starts_with(['+', '-']);
    lines.chunk_by(|one, next| is_changed(one) == is_changed(next)).any(|run| {
        let of = |sign| run.iter().filter_map(move |line| line.strip_prefix(sign));
        comments.swallow(of('+'), of('-'))
    })
}

/// Whether a workflow changes in nothing but the tags of the actions that it uses, each at its place.
fn only_tags(path: &str, lines: &FileLines<'_>) -> bool {
    let (added, removed) = (&lines.added.lines, &lines.removed.lines);
    let same = |(added, removed): (&Line<'_>, &Line<'_>)| {
        let [added, removed] = [added.text, removed.text].map(|line| without_tag(path, line));
        added.is_some() && added == removed
    };
    !added.is_empty() && added.len() == removed.len() && added.iter().zip(removed).all(same)
}

/// A step or job of a workflow without the tag of the action it uses: another tag of it is a new version, not a change
/// of what runs. A commit is no tag: it may be one of a fork
/// (docs.github.com, "Secure use reference", on pinning actions).
fn without_tag<'l>(path: &str, line: &'l str) -> Option<&'l str> {
    let in_workflow = path.starts_with(".github/") && (path.ends_with(".yml") || path.ends_with(".yaml"));
    let is_tag = |reference: &str| {
        let version = reference.strip_prefix('v').unwrap_or(reference);
        (1..=20).contains(&version.len()) && version.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let uses = line.trim_start().trim_start_matches("- ").strip_prefix("uses: ");
    // Update bots keep the version in a comment behind it.
    let line = line.split_once(" #").map_or(line, |(line, _)| line);
    let (action, reference) = uses.and(line.trim_end().rsplit_once('@'))?;
    (in_workflow && is_tag(reference)).then_some(action)
}

impl<'a> Side<'a> {
    fn push(&mut self, number: u32, text: &'a str, is_code: bool) {
        self.text.push_str(text);
        self.text.push('\n');
        self.lines.push(Line { number, text, is_code });
    }

    /// The lines that the condition asks for.
    pub(super) fn hits<'s>(
        &'s self,
        condition: &'s LineCondition,
        own: &'s OwnNames,
        only_code: bool,
    ) -> impl Iterator<Item = Hit<'a>> + 's {
        let text = || match condition.split_words {
            true => self.words.get_or_init(|| split_words(&self.text)),
            false => &self.text,
        };
        // Most files show nothing that is removed, or nothing beside what changes.
        let may_match = !self.lines.is_empty() && condition.patterns.may_match(text());
        let lines = if may_match { self.lines.as_slice() } else { &[] };
        lines.iter().filter(move |line| line.is_code || !only_code).filter_map(|line| {
            let words = condition.split_words.then(|| split_words(line.text));
            let asked = words.as_deref().unwrap_or(line.text);
            let pattern = own.first(&condition.patterns, asked, condition.skip_own_name)?;
            let counts = condition.unless.first(asked).is_none();
            counts.then(|| Hit { number: line.number, text: line.text, name: pattern.name().cloned() })
        })
    }
}

/// Identifiers as their words, in lower case: `userSession`, `user_session` and `UserSession` are `user session`,
/// `HTTPClient` is `http client`. An underscore before a name goes: `_signer` is `signer`.
pub(super) fn split_words(text: &str) -> String {
    // What is beyond ASCII is part of a word, stays as it is, and holds no byte of ASCII.
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let bytes = text.as_bytes();
    let mut split = Vec::with_capacity(bytes.len() + bytes.len() / 8);
    let mut before = b' ';
    for (index, &byte) in bytes.iter().enumerate() {
        let next = bytes.get(index + 1).copied().unwrap_or(b' ');
        match byte {
            b'_' if !in_word(before) && (in_word(next) || next == b'_') => continue,
            b'_' | b'-' if in_word(before) && in_word(next) => split.push(b' '),
            b'A'..=b'Z' => {
                let ends_word = before.is_ascii_lowercase() || before.is_ascii_digit();
                if ends_word || before.is_ascii_uppercase() && next.is_ascii_lowercase() {
                    split.push(b' ');
                }
                split.push(byte.to_ascii_lowercase());
            }
            _ => split.push(byte),
        }
        before = byte;
    }
    String::from_utf8(split).expect("only bytes of ASCII were changed")
}
