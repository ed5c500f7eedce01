//! The lines that a patch adds, takes away and shows beside, and which of them count as a change of code.

use std::cell::OnceCell;

use crate::{
    ids::PatternName,
    observed::{ChangedFile, LineChange},
    policy::LineCondition,
    source_files::Syntax,
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
        let patch = file.read_patch()?;
        let syntax = Syntax::of(&file.path);
        let (mut added, mut removed) = (Side::default(), Side::default());
        let mut shown = Vec::new();
        for hunk in &patch.hunks {
            let (mut in_new, mut in_old) = (syntax.opened_before(hunk), syntax.opened_before(hunk));
            shown.push(Shown::new(Kind::Function, hunk.new_start, hunk.heading));
            let reaches_out = hunk.runs().any(|run| run[0].is_changed() && syntax.reaches_out(run));
            for line in &hunk.lines {
                // A mark of the byte order at the start of a file is no part of its first line.
                let content = line.text.trim_start_matches('\u{feff}');
                match line.change {
                    LineChange::Added => {
                        shown.push(Shown::new(Kind::Added(added.lines.len()), line.new, content));
                        added.push(line.new, content, syntax.has_code(content, &mut in_new));
                    }
                    LineChange::Removed => {
                        shown.push(Shown::new(Kind::Removed(removed.lines.len()), line.old, content));
                        removed.push(line.old, content, syntax.has_code(content, &mut in_old));
                    }
                    LineChange::Unchanged => {
                        syntax.has_code(content, &mut in_old);
                        if syntax.has_code(content, &mut in_new) {
                            shown.push(Shown::new(Kind::Unchanged, line.new, content));
                        }
                        // It may be code on one side only.
                        if reaches_out {
                            added.push(line.new, content, true);
                            removed.push(line.old, content, true);
                        }
                    }
                }
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
