//! Comparison 3: what decides which tests run and what their failures do.
//! Each comparison of a changed file has a file of its own.

mod commands;
mod ignored;
mod settings;
mod silenced;
mod unseen;
pub(super) mod words;

use words::WORDS;

use super::{
    change::Change,
    finding::{Comparison, Tampering},
    keyed,
    source::{CodeLine, missing, quoted, sides_of_patch},
};
use crate::{
    expressions::{Pattern, Table},
    observed::{ChangedFile, ChangedFiles},
    source_files::{file_name, language_of},
};

/// Files of data that are read whole.
const MOST_FILES: usize = 40;

/// Lines between a finding and what suppresses it.
const NEAR: u32 = 3;

/// Whether a file is there to say which tests run and what their failures do, or a tool takes it for that: by its
/// settings and commands, by a name that begins with a dot, or because it is loaded in the place of the tool.
pub fn decides_what_runs(path: &str) -> bool {
    decides_by_name(path, holds_commands(path)) || FileWords::of(path).configure()
}

/// The same of a file that is no setting of a tool.
fn decides_by_name(path: &str, has_commands: bool) -> bool {
    let is_hidden = path.split('/').any(|part| part.starts_with('.'));
    let is_runner = |name: &str| {
        WORDS
            .runners
            .find(name)
            .is_some_and(|found| found.len() == name.len())
    };
    let is_named_as_a_runner = || {
        path.split('/')
            .filter_map(|part| part.split('.').next())
            .any(is_runner)
    };
    // A script may be the program itself.
    let is_table = || has_commands && language_of(path).is_none();
    is_hidden || is_table() || is_named_as_a_runner()
}

/// Whether a file holds commands of the project's own.
fn holds_commands(path: &str) -> bool {
    WORDS.commands.is_match(path)
}

/// The words that mean something in a file of its name, for the tool that checks and reads it.
struct FileWords {
    settings: Vec<&'static Pattern>,
    loads: Vec<&'static Pattern>,
    exclusions: Vec<&'static Pattern>,
}

impl FileWords {
    fn of(path: &str) -> Self {
        let words = |table: &'static Table<Pattern>| table.about(file_name(path)).collect();
        Self {
            settings: words(&WORDS.settings),
            loads: words(&WORDS.loads),
            exclusions: words(&WORDS.exclusions),
        }
    }

    /// Whether a tool that checks reads its settings from this file.
    fn configure(&self) -> bool {
        !(self.settings.is_empty() && self.loads.is_empty() && self.exclusions.is_empty())
    }
}

/// A workflow. Its edits open the security gate, but for failures that it ignores.
fn is_workflow(path: &str) -> bool {
    path.starts_with(".github/")
}

/// Whether a file is data with commands or settings, which is compared by key.
fn is_keyed(path: &str) -> bool {
    let is_read = || holds_commands(path) || FileWords::of(path).configure() || is_workflow(path);
    keyed::is_data(path) && is_read()
}

/// The changed files of data and of commands, which are read whole on both sides.
pub(super) fn whole_files(files: &ChangedFiles) -> impl Iterator<Item = &ChangedFile> {
    let is_whole = move |path: &str| is_keyed(path) || holds_commands(path);
    let files = files.known().iter();
    files
        .filter(move |file| is_whole(&file.path))
        .take(MOST_FILES)
}

/// Both sides of a file of data by key, if it is one and both are known and are of its grammar.
fn sides_by_key(change: &Change<'_>, file: &ChangedFile) -> Option<[Vec<CodeLine>; 2]> {
    let old = change.contents.text(change.before?, file.old_path())?;
    let new = change.contents.text(change.head, &file.path)?;
    let old = keyed::entries(file.old_path(), old)?;
    let new = keyed::entries(&file.path, new)?;
    is_keyed(&file.path).then_some([old, new])
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let files = change.files.known().iter();
    files.flat_map(|file| of_file(change, file)).collect()
}

/// What an edit of one file does to what runs. Where the checks pass with the file as it was, only what makes failures
/// count for nothing is left.
fn of_file(change: &Change<'_>, file: &ChangedFile) -> Vec<Tampering> {
    let patch = file.read_patch().unwrap_or_default();
    let by_key = sides_by_key(change, file);
    let is_keyed = by_key.is_some();
    let sides = &by_key.unwrap_or_else(|| sides_of_patch(file, &patch));
    let edit = Edit {
        change,
        file,
        has_commands: holds_commands(&file.path),
        is_keyed,
        words: FileWords::of(&file.path),
        sides,
        goes: missing(&sides[0], &sides[1]),
        comes: missing(&sides[1], &sides[0]),
    };
    if is_workflow(&file.path) {
        return edit.ignored_failures();
    }
    let is_proven = change.runs.proven.contains(file.old_path());
    let mut found = Vec::new();
    if edit.has_commands && !is_proven {
        found.extend(edit.commands());
    }
    found.extend(edit.unseen().filter(|_| !is_proven));
    found.extend(edit.ignored_failures());
    found.extend(edit.by_words(is_proven));
    found.extend(edit.suppressions(&patch));
    found.extend(edit.examples_off(&patch));
    found
}

/// A changed file, whatever it is.
struct Edit<'a> {
    change: &'a Change<'a>,
    file: &'a ChangedFile,
    has_commands: bool,
    /// Its lines are keys with their values.
    is_keyed: bool,
    words: FileWords,
    sides: &'a [Vec<CodeLine>; 2],
    goes: Vec<&'a CodeLine>,
    comes: Vec<&'a CodeLine>,
}

impl Edit<'_> {
    fn finding(
        &self,
        alone: bool,
        deed: String,
        old: &[&CodeLine],
        new: &[&CodeLine],
    ) -> Tampering {
        self.change
            .finding(Comparison::Selection, alone, deed)
            .at(&self.file.path, old, new)
    }

    /// Whether the file decides what runs ([`decides_what_runs`]).
    fn decides_what_runs(&self) -> bool {
        self.words.configure() || decides_by_name(&self.file.path, self.has_commands)
    }

    /// Whether a line at the head is so: any, where all were read, else one that the patch shows.
    fn stands_at_head(&self, is_so: impl Fn(&CodeLine) -> bool) -> bool {
        let whole = self.change.sides(self.file).map(|[_, new]| new);
        let lines = whole.as_deref().unwrap_or(&self.sides[1]);
        lines.iter().any(is_so)
    }

    /// A line in a sentence; of what stands behind keys, the last two of them.
    fn quoted(&self, line: &CodeLine) -> String {
        let Some((keys, value)) = line.text.split_once(keyed::IS).filter(|_| self.is_keyed) else {
            return quoted(&line.text);
        };
        let points = keys.rmatch_indices('.').map(|(at, _)| at + 1);
        let start = points.take(2).nth(1).unwrap_or(0);
        quoted(&format!("{}{}{value}", &keys[start..], keyed::IS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_can_be_read() {
        let words = FileWords::of("package.json");
        assert!(words.configure() && words.settings.len() > 1);
        assert!(!FileWords::of("src/cart.rs").configure());
    }
}
