//! The lines that a patch adds, takes away and shows beside, and which of them count as a change of code.

use std::{cell::OnceCell, collections::HashMap};

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
    /// Without the comment at its end and the tag of an action.
    code: &'a str,
    /// More than blanks and comments, and not merely moved or indented anew.
    is_code: bool,
    /// Code that was moved or indented anew.
    is_moved: bool,
}

impl Line<'_> {
    fn changes_code(&self) -> bool {
        self.is_code && !imports(self.text)
    }
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
        // Rust's tests stand in the file that they test. Only what stays says so: a line that arrives could hide others.
        let may_hold_tests = file.path.ends_with(".rs");
        let mut in_tests = false;
        for (index, line) in patch.iter().enumerate() {
            // A mark of the byte order at the start of a file is no part of its first line.
            let content = line.get(1..).unwrap_or_default().trim_start_matches('\u{feff}');
            let content = content.strip_suffix('\r').unwrap_or(content);
            in_tests &= content != "}";
            match line.as_bytes() {
                [b'@', b'@', b' ', ..] => {
                    new = hunk_start(&line[3..])?;
                    old = line[3..].strip_prefix('-')?.split([',', ' ']).next()?.parse().ok()?;
                    in_new = comments.opened_before(patch.get(index + 1..).unwrap_or_default());
                    in_old = in_new;
                    let function = line[3..].split_once(" @@").map_or("", |(_, function)| function.trim());
                    shown.push(Shown::new(Kind::Function, new, function));
                    in_tests = may_hold_tests && is_test_module(function);
                }
                [b'+', ..] => {
                    shown.push(Shown::new(Kind::Added(added.lines.len()), new, content));
                    added.push(
                        new,
                        [content, without_tag(&file.path, comments.without_trailing(content))],
                        comments.has_code(content, &mut in_new) && !in_tests,
                    );
                    new = new.saturating_add(1);
                }
                [b'-', ..] => {
                    shown.push(Shown::new(Kind::Removed(removed.lines.len()), old, content));
                    removed.push(
                        old,
                        [content, without_tag(&file.path, comments.without_trailing(content))],
                        comments.has_code(content, &mut in_old) && !in_tests,
                    );
                    old = old.saturating_add(1);
                }
                [b'\\', ..] => {}
                _ => {
                    in_tests |= may_hold_tests && is_test_module(content);
                    comments.has_code(content, &mut in_old);
                    if comments.has_code(content, &mut in_new) {
                        shown.push(Shown::new(Kind::Unchanged, new, content));
                    }
                    (new, old) = (new.saturating_add(1), old.saturating_add(1));
                }
            }
        }
        Some((Self { added, removed, context: Side::default() }, shown))
    }

    /// Of every file, in their order.
    pub(super) fn of_all(files: &'a [ChangedFile]) -> Vec<Option<Self>> {
        let (mut all, shown): (Vec<_>, Vec<_>) = files.iter().map(|file| Self::read(file).unzip()).unzip();
        // How often a line is removed and added, whatever its blanks and the comment at its end: as often it was moved.
        let mut moves: HashMap<String, [u32; 2]> = HashMap::new();
        for line in all.iter().flatten().flat_map(|file| &file.removed.lines).filter(|line| line.is_code) {
            moves.entry(without_blanks(line.code)).or_default()[0] += 1;
        }
        if !moves.is_empty() {
            for line in all.iter().flatten().flat_map(|file| &file.added.lines).filter(|line| line.is_code) {
                if let Some([_, added]) = moves.get_mut(&without_blanks(line.code)) {
                    *added += 1;
                }
            }
        }
        moves.retain(|_, counts| counts.iter().all(|count| *count > 0));
        let often = || moves.iter().map(|(line, [removed, added])| (line.as_str(), *removed.min(added))).collect();
        let mut left: [HashMap<&str, u32>; 2] = [often(), often()];
        for (file, shown) in all.iter_mut().flatten().zip(shown.iter().flatten()) {
            if !moves.is_empty() {
                for (lines, left) in [&mut file.removed.lines, &mut file.added.lines].into_iter().zip(&mut left) {
                    mark_moved(lines, left);
                }
            }
            file.context = context::of(file, shown);
        }
        all
    }

    /// Whether anything but blanks, comments, imports and places changes.
    pub(super) fn change_code(&self) -> bool {
        [&self.added, &self.removed].iter().any(|side| side.lines.iter().any(Line::changes_code))
    }
}

/// Whether a line opens a module of tests, as Rust's are called.
fn is_test_module(line: &str) -> bool {
    line.strip_prefix("mod test").is_some_and(|rest| matches!(rest.trim_end(), "s {" | " {"))
}

/// A step or job of a workflow without the tag of the action it uses: another tag of it is a new version, not a change
/// of what runs. A commit is told from another: it may be one of a fork
/// (docs.github.com, "Secure use reference", on pinning actions).
fn without_tag<'l>(path: &str, line: &'l str) -> &'l str {
    let in_workflow = path.starts_with(".github/") && (path.ends_with(".yml") || path.ends_with(".yaml"));
    let is_tag = |reference: &str| {
        let version = reference.strip_prefix('v').unwrap_or(reference);
        (1..=20).contains(&version.len()) && version.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    match line.trim_start().trim_start_matches("- ").strip_prefix("uses: ").and(line.trim_end().rsplit_once('@')) {
        Some((action, reference)) if in_workflow && is_tag(reference) => action,
        _ => line,
    }
}

/// Whether a line does nothing but name what the file uses, or the package it is in.
fn imports(text: &str) -> bool {
    let text = text.trim();
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    let ends = |ends: &[char]| text.ends_with(ends);
    begins(&["import ", "#include ", "package ", "require_relative ", "require \"", "require '", "require_once "])
        || begins(&["use ", "using ", "namespace ", "export * from "]) && ends(&[';', '{', ',']) && !text.contains('(')
        || begins(&["from "]) && text.contains(" import ")
        || begins(&["} from \"", "} from '"])
        || is_go_import(text)
}

/// A line of Go's list of imports: `"net/http"`, `log "github.com/sirupsen/logrus"`.
fn is_go_import(text: &str) -> bool {
    let Some((alias, path)) = text.strip_suffix('"').and_then(|text| text.split_once('"')) else { return false };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
    alias.trim_end().chars().all(is_name) && path.contains('/') && path.chars().all(|c| is_name(c) || "/-".contains(c))
}

fn mark_moved(lines: &mut [Line<'_>], left: &mut HashMap<&str, u32>) {
    for line in lines.iter_mut().filter(|line| line.is_code) {
        if let Some(count) = left.get_mut(without_blanks(line.code).as_str()).filter(|count| **count > 0) {
            *count -= 1;
            (line.is_code, line.is_moved) = (false, true);
        }
    }
}

impl<'a> Side<'a> {
    fn push(&mut self, number: u32, [text, code]: [&'a str; 2], is_code: bool) {
        self.text.push_str(text);
        self.text.push('\n');
        self.lines.push(Line { number, text, code, is_code, is_moved: false });
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

fn without_blanks(text: &str) -> String {
    text.split_ascii_whitespace().collect()
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
