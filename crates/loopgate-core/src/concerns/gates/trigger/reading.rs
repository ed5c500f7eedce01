//! The changed lines of one file, and how much each of them counts.
//!
//! Nothing is excused: a line that moved is one removed and one added, and so is a line that another takes out of the
//! program, wherever it stands. What cannot be read is named.

use std::{borrow::Cow, collections::HashMap};

use super::diff::Diff;
use crate::{
    ids::Sha,
    letters::LineWords,
    observed::{ChangedFile, DiffHunk, DiffLine, FileStatus, LineChange, Patch},
    source_files::{FileKind, Lexer, Syntax, kind, name_conditions, runs},
};

/// One file of a pull request.
pub(super) struct FileReading<'a> {
    pub file: &'a ChangedFile,
    /// Its kind at the head, and at the base where it had another name there.
    pub kinds: [FileKind; 2],
    pub lines: Vec<ChangedLine<'a>>,
    /// Lines that a program reads as one, joined, with the first of them that changes.
    pub joined: Vec<(ChangedLine<'a>, String)>,
    /// GitHub's patch, else what both texts come to.
    pub patch: Option<Patch<'a>>,
    /// Lines may change that are not among `lines`.
    pub is_unreadable: bool,
}

/// A line that changes.
#[derive(Clone, Copy)]
pub(super) struct ChangedLine<'a> {
    /// It arrives; else it leaves.
    pub is_added: bool,
    /// At the head of an added line, at the base of a removed one.
    pub number: u32,
    pub text: &'a str,
    pub weight: LineWeight,
}

impl<'a> ChangedLine<'a> {
    fn new(line: &DiffLine<'a>, weight: LineWeight) -> Self {
        let is_added = line.change == LineChange::Added;
        let number = if is_added { line.new } else { line.old };
        // A mark of the byte order at the start of a file is no part of its first line.
        Self {
            is_added,
            number,
            text: line.text.trim_start_matches('\u{feff}'),
            weight,
        }
    }
}

/// How much a line counts for a rule. For what a configuration asks for, every line counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineWeight {
    Full,
    /// It looks like a part of a comment that began above what the diff shows.
    Doubtful,
    /// A comment, or white space that cannot mean anything.
    Nothing,
}

/// The git object of a file without a byte, `e69de29bb2d1d6434b8b29ae775ad8c2e48c5391`.
const EMPTY: Sha = Sha::from_bytes([
    0xe6, 0x9d, 0xe2, 0x9b, 0xb2, 0xd1, 0xd6, 0x43, 0x4b, 0x8b, 0x29, 0xae, 0x77, 0x5a, 0xd8, 0xc2,
    0xe4, 0x8c, 0x53, 0x91,
]);

/// Whether some of its changes are not known without both texts.
pub(super) fn needs_texts(
    file: &ChangedFile,
    kinds: [FileKind; 2],
    patch: Option<&Patch<'_>>,
) -> bool {
    if kinds == [FileKind::Asset; 2] || has_no_change(file) && !becomes_another(file) {
        return false;
    }
    let Some(patch) = patch else {
        return true;
    };
    let syntax = Syntax::of(&file.path);
    let reaches_out = |run: &[DiffLine<'_>]| run[0].is_changed() && syntax.reaches_out(run);
    let has_both = !matches!(file.status, FileStatus::Added | FileStatus::Removed);
    has_both
        && (becomes_another(file) || patch.hunks.iter().any(|hunk| hunk.runs().any(reaches_out)))
}

pub(super) fn kinds(file: &ChangedFile) -> [FileKind; 2] {
    let new = kind(&file.path);
    [new, file.previous_path.as_deref().map_or(new, kind)]
}

/// Whether a rename makes it a file of another kind, or one that no program is written in or that is built on other
/// systems, or the other way round.
fn becomes_another(file: &ChangedFile) -> bool {
    let part = |path| (kind(path), runs(path), name_conditions(path));
    file.previous_path
        .as_deref()
        .is_some_and(|old| part(old) != part(&file.path))
}

/// Whether no line of a file changes: it is empty, or has another name alone. Of a removed file GitHub shows every line
/// that it had.
pub(super) fn has_no_change(file: &ChangedFile) -> bool {
    let no_lines = file.patch.is_none() && file.additions == 0 && file.deletions == 0;
    match file.status {
        FileStatus::Unchanged => true,
        FileStatus::Renamed | FileStatus::Removed => no_lines,
        FileStatus::Added => file.blob == Some(EMPTY),
        FileStatus::Modified | FileStatus::Changed | FileStatus::Copied => {
            file.blob == Some(EMPTY) && no_lines
        }
    }
}

impl<'a> FileReading<'a> {
    pub(super) fn new(file: &'a ChangedFile, diff: &Diff<'a>) -> Self {
        let kinds = kinds(file);
        let mut reading = Self {
            file,
            kinds,
            lines: Vec::new(),
            joined: Vec::new(),
            patch: None,
            is_unreadable: false,
        };
        let patch = file.read_patch();
        let needs_texts = needs_texts(file, kinds, patch.as_ref());
        if !needs_texts && (file.patch.is_none() || kinds == [FileKind::Asset; 2]) {
            return reading;
        }
        let both = needs_texts.then(|| diff.texts(file)).flatten();
        reading.is_unreadable = needs_texts && both.is_none();
        let syntax = [
            Syntax::of(&file.path),
            Syntax::of(file.previous_path.as_deref().unwrap_or(&file.path)),
        ];
        let compared = || both.map(|[old, new]| Patch::between(old, new));
        let Some(patch) = patch.or_else(compared) else {
            return reading;
        };
        match both {
            Some([old, new]) if becomes_another(file) => {
                reading.add(&Patch::between(old, ""), syntax);
                reading.add(&Patch::between("", new), syntax);
            }
            Some(texts) => {
                reading.add(&patch, syntax);
                reading.add_reached(&patch, texts, syntax);
            }
            None => reading.add(&patch, syntax),
        }
        reading.patch = Some(patch);
        reading
    }

    /// The declaration that a changed line stands in directly, as far as the patch shows it: the nearest line above that
    /// is indented less, with the attributes above that one; else what git names behind the numbers of the hunk.
    pub(super) fn declaration_of(&self, line: &ChangedLine<'_>) -> String {
        let is_line = |one: &DiffLine<'_>| match line.is_added {
            true => one.change == LineChange::Added && one.new == line.number,
            false => one.change == LineChange::Removed && one.old == line.number,
        };
        let mut hunks = self.patch.iter().flat_map(|patch| &patch.hunks);
        let place = hunks.find_map(|hunk| Some((hunk, hunk.lines.iter().position(is_line)?)));
        let Some((hunk, at)) = place else {
            return String::new();
        };
        let indent = |text: &str| text.len() - text.trim_start().len();
        let on_side = |one: &&DiffLine<'_>| match line.is_added {
            true => one.is_new(),
            false => one.is_old(),
        };
        let above = hunk.lines[..at].iter().rev().filter(on_side);
        let mut above = above
            .map(|one| one.text)
            .filter(|text| text.trim() != "{")
            .skip_while(|text| text.trim().is_empty() || indent(text) >= indent(line.text));
        let Some(head) = above.next() else {
            return hunk.heading.to_owned();
        };
        let belongs = |text: &&str| text.trim_start().starts_with(['@', '#', '[']);
        let attributes = above.take_while(belongs);
        [head]
            .into_iter()
            .chain(attributes)
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn add(&mut self, patch: &Patch<'a>, syntax: [&Syntax; 2]) {
        for hunk in &patch.hunks {
            let weights = weights(hunk, syntax);
            let lines = hunk.lines.iter().zip(&weights).zip(passed_over(hunk));
            let counting = lines.filter(|((line, _), is_passed)| line.is_changed() || *is_passed);
            self.lines
                .extend(counting.map(|((line, weight), _)| ChangedLine::new(line, *weight)));
            for on_side in [DiffLine::is_new, DiffLine::is_old] {
                let lines = hunk
                    .lines
                    .iter()
                    .zip(&weights)
                    .filter(|(line, _)| on_side(line));
                self.joined.extend(joined(
                    lines.filter(|(_, weight)| **weight != LineWeight::Nothing),
                ));
            }
        }
    }

    /// Adds the lines that stay where they are, and become code or leave the program by what changes around them.
    fn add_reached(
        &mut self,
        patch: &Patch<'a>,
        [old, new]: [&'a str; 2],
        [syntax, old_syntax]: [&Syntax; 2],
    ) {
        let reaches_out = |run: &&[DiffLine<'_>]| run[0].is_changed() && syntax.reaches_out(run);
        let Some(first) = patch
            .hunks
            .iter()
            .flat_map(DiffHunk::runs)
            .find(reaches_out)
        else {
            return;
        };
        let first = first[0].new;
        let code = old_syntax.lex(old).zip(syntax.lex(new));
        let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
        for (at_old, at_new) in unchanged(patch, old.len(), new.len()) {
            let (Some(&text), Some(&same)) = (new.get(at_new), old.get(at_old)) else {
                continue;
            };
            // The texts are not those that the patch compares.
            self.is_unreadable |= text != same;
            let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
            let [leaves, arrives] = match &code {
                Some((old, new)) if old[at_old] != new[at_new] => {
                    [old[at_old].is_some(), new[at_new].is_some()]
                }
                Some(_) => [false; 2],
                None => [number(at_new) >= first; 2],
            };
            for (_, is_added, index) in [(arrives, true, at_new), (leaves, false, at_old)]
                .into_iter()
                .filter(|it| it.0)
            {
                self.lines.push(ChangedLine {
                    is_added,
                    number: number(index),
                    text,
                    weight: LineWeight::Full,
                });
            }
        }
    }
}

/// The lines of one side that are read as one and change, joined: a line goes on behind a backslash, `|` or `&&` at its
/// end, before one of these at the next line's beginning, in a folded text of YAML (YAML 1.2, 8.1.3), and behind the
/// beginning of an SQL statement.
fn joined<'h, 'a: 'h>(
    lines: impl Iterator<Item = (&'h DiffLine<'a>, &'h LineWeight)>,
) -> Vec<(ChangedLine<'a>, String)> {
    let folds = pattern!(r"[:-]\s+>[-+0-9]*\s*(?:#.*)?$");
    let mut all = Vec::new();
    let mut open = Joined::default();
    // How far the line is indented that begins a folded text.
    let mut folded: Option<usize> = None;
    for (line, weight) in lines {
        let own = line.text.trim();
        let indented = line.text.len() - line.text.trim_start().len();
        folded = folded.filter(|begun| own.is_empty() || indented > *begun);
        let goes_on = open.goes_on() || ["|", "&&"].iter().any(|start| own.starts_with(start));
        if !goes_on && folded.is_none() {
            all.extend(std::mem::take(&mut open).whole());
        }
        let changes = line.is_changed().then(|| ChangedLine::new(line, *weight));
        open.add(own, changes);
        let begins_fold = || own.contains('>') && folds.is_match(own);
        folded = folded.or_else(|| begins_fold().then_some(indented));
    }
    all.extend(open.whole());
    all
}

/// Lines of one side that are read as one.
#[derive(Default)]
struct Joined<'a> {
    /// The first of them that changes.
    first: Option<ChangedLine<'a>>,
    length: usize,
    text: Cow<'a, str>,
}

impl<'a> Joined<'a> {
    fn add(&mut self, line: &'a str, changes: Option<ChangedLine<'a>>) {
        self.first = self.first.or(changes);
        self.length += 1;
        // Most lines are read alone.
        if self.length == 1 {
            self.text = Cow::Borrowed(line);
            return;
        }
        let text = self.text.to_mut();
        if self.length == 2 {
            text.insert(0, ' ');
        }
        let begun = text.trim_end_matches('\\').len();
        text.truncate(begun);
        text.push(' ');
        text.push_str(line);
    }

    /// Whether the next line belongs to them, by how they end.
    fn goes_on(&self) -> bool {
        ["\\", "|", "&&"].iter().any(|end| self.text.ends_with(end)) || begins_statement(&self.text)
    }

    /// What they are together, if they are several and one of them changes.
    fn whole(self) -> Option<(ChangedLine<'a>, String)> {
        let text = (self.length > 1).then(|| self.text.into_owned())?;
        Some((self.first?, text))
    }
}

/// Bytes at the end of a line in which the beginning of a statement is looked for.
const STATEMENT: usize = 80;

/// Whether a line, without blanks at its end, ends with words of SQL that need more.
fn begins_statement(line: &str) -> bool {
    if !line.ends_with(|last: char| last.is_ascii_alphabetic() || "\"'`+.".contains(last)) {
        return false;
    }
    let from = line.len().saturating_sub(STATEMENT);
    let end = (from..line.len())
        .find_map(|at| line.get(at..))
        .unwrap_or_default();
    pattern!(
        r#"(?ix)\b(?:drop|alter|create|truncate|rename)
            (?:\s+(?:or\s+replace|unique|temporary|temp|global|materialized|table|index|view|column|database|schema))*
            (?:\s*["'`]\s*[+.]?)?\s*$"#
    )
    .is_match(end)
}

/// Which lines of a hunk stay while another passes them: that leaves on one side of them and arrives on the other.
/// Order counts, and what is passed has left its place. A line of one word (`else`, `return`) passes nothing.
fn passed_over(hunk: &DiffHunk<'_>) -> Vec<bool> {
    let changes = |side| hunk.lines.iter().any(|line| line.change == side);
    if !changes(LineChange::Added) || !changes(LineChange::Removed) {
        return vec![false; hunk.lines.len()];
    }
    let mut places: HashMap<&str, [Option<usize>; 2]> = HashMap::new();
    let mut passing = vec![0_i32; hunk.lines.len()];
    for (at, line) in hunk
        .lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.is_changed())
    {
        let text = line.text.trim();
        let known = places.entry(text).or_default();
        match known[usize::from(!line.is_new())]
            .take()
            .filter(|_| LineWords::of(text).iter().count() > 1)
        {
            Some(from) => (passing[from], passing[at]) = (passing[from] + 1, passing[at] - 1),
            None => known[usize::from(line.is_new())] = Some(at),
        }
    }
    let depths = passing.iter().scan(0, |depth, change| {
        *depth += change;
        Some(*depth > 0)
    });
    depths.collect()
}

/// The lines that both texts have, by their index in each.
fn unchanged(patch: &Patch<'_>, old_length: usize, new_length: usize) -> Vec<(usize, usize)> {
    let index = |number: u32| (number as usize).saturating_sub(1);
    let (mut pairs, mut at_old, mut at_new) = (Vec::new(), 0, 0);
    for hunk in &patch.hunks {
        let above = 0..index(hunk.old_start).min(old_length).saturating_sub(at_old);
        pairs.extend(above.map(|offset| (at_old + offset, at_new + offset)));
        let staying = hunk.lines.iter().filter(|line| !line.is_changed());
        pairs.extend(staying.map(|line| (index(line.old), index(line.new))));
        at_old = index(hunk.old_start) + hunk.lines.iter().filter(|line| line.is_old()).count();
        at_new = index(hunk.new_start) + hunk.lines.iter().filter(|line| line.is_new()).count();
    }
    let below = old_length
        .saturating_sub(at_old)
        .max(new_length.saturating_sub(at_new));
    pairs.extend((0..below).map(|offset| (at_old + offset, at_new + offset)));
    pairs
}

/// Whether lines differ in nothing but blanks at their ends and between them.
fn read_alike(old: &[&str], new: &[&str]) -> bool {
    fn words<'l>(lines: &'l [&str]) -> impl Iterator<Item = &'l str> {
        let lines = lines.iter().map(|line| line.trim());
        lines.filter(|line| !line.is_empty())
    }
    words(old).eq(words(new))
}

/// How much each line of a hunk counts.
fn weights(hunk: &DiffHunk<'_>, syntax: [&Syntax; 2]) -> Vec<LineWeight> {
    let shows_mark = || {
        let mut texts = hunk.lines.iter().map(|line| line.text);
        texts.any(|text| text.contains("/*") || text.contains("*/"))
    };
    let [mut new_lexer, mut old_lexer] = syntax.map(Lexer::new);
    let mut weights = Vec::with_capacity(hunk.lines.len());
    for run in hunk.runs() {
        let new: Vec<&str> = run
            .iter()
            .filter(|line| line.is_new())
            .map(|line| line.text)
            .collect();
        let old: Vec<&str> = run
            .iter()
            .filter(|line| line.is_old())
            .map(|line| line.text)
            .collect();
        let is_space = run[0].is_changed() && !syntax[0].minds_space() && read_alike(&old, &new);
        let mut new_comments = new_lexer.comments_within(&new).into_iter();
        let mut old_comments = old_lexer.comments_within(&old).into_iter();
        for line in run {
            let new = line.is_new().then(|| new_comments.next() == Some(true));
            let old = line.is_old().then(|| old_comments.next() == Some(true));
            let is_starred = line.is_new()
                && syntax[0].stars_comments()
                && line.text.trim_start().starts_with('*');
            weights.push(match () {
                () if is_space || new.or(old) == Some(true) => LineWeight::Nothing,
                () if is_starred && !shows_mark() => LineWeight::Doubtful,
                () => LineWeight::Full,
            });
        }
    }
    weights
}
