//! Code that comes from elsewhere: copies of packages, and what a machine writes. Its change follows from a change of
//! what it comes from; else a person wrote it, where no rule over lines looks.
//!
//! Which entry a changed line of a manifest or lock file belongs to is read from the words of the lines above it.

use std::{collections::BTreeSet, sync::LazyLock};

use serde::Deserialize;

use super::{
    manifests::is_lock_file,
    reading::{FileReading, LineWeight},
};
use crate::{
    observed::{DiffHunk, DiffLine, FileStatus},
    source_files::{FileKind, below_copies, extension, runs, stem},
};

/// Lines above a changed one in which the name of its entry is looked for.
const HEAD_LINES: usize = 8;

/// How files that a machine writes are named, and what they are written from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MadeTable {
    /// Folders of copies that the package manager writes itself, from all entries.
    of_all: Vec<String>,
    /// Folders between that of the copies and a package.
    between: Vec<String>,
    /// Folders that hold what a machine writes.
    folders: Vec<String>,
    made: Vec<MadeForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MadeForm {
    /// Ends of names.
    ends: Vec<String>,
    /// Extensions of the sources, whose names begin alike.
    from: Vec<String>,
}

static TABLE: LazyLock<MadeTable> = LazyLock::new(|| data!("copies.toml"));

/// The files, by index, that are copies or made by a machine, and change without what they come from.
pub(super) fn edited(files: &[FileReading<'_>]) -> BTreeSet<usize> {
    let is_of_machine = |reading: &FileReading<'_>| is_copy(reading) || is_made(reading);
    let candidates = files
        .iter()
        .enumerate()
        .filter(|(_, reading)| is_of_machine(reading) && changes_code(reading));
    let candidates: Vec<(usize, &FileReading<'_>)> = candidates.collect();
    if candidates.is_empty() {
        return BTreeSet::new();
    }
    let sources: Vec<&FileReading<'_>> = files
        .iter()
        .filter(|reading| !is_of_machine(reading))
        .collect();
    let entries = changed_entries(&sources);
    let follows = |reading: &FileReading<'_>| match is_copy(reading) {
        true => follows_entry(&reading.file.path, &entries),
        false => follows_source(&reading.file.path, &sources),
    };
    candidates
        .into_iter()
        .filter(|(_, reading)| !follows(reading))
        .map(|(index, _)| index)
        .collect()
}

/// Whether it is a file of somebody else's package that does something.
fn is_copy(reading: &FileReading<'_>) -> bool {
    let path = &reading.file.path;
    reading.kinds.contains(&FileKind::Vendored)
        && (runs(path) || extension(path).is_none_or(|end| !is_text(end)))
}

/// Extensions of texts for people.
fn is_text(extension: &str) -> bool {
    ["md", "txt", "rst", "adoc", "png", "svg", "jpg", "gif"].contains(&&*extension.to_lowercase())
}

/// Whether a machine writes the file, by its name or folder, and programs are written in files like it.
fn is_made(reading: &FileReading<'_>) -> bool {
    let path = &reading.file.path.to_lowercase();
    let is_plain = matches!(reading.kinds[0], FileKind::Generated | FileKind::Code);
    is_plain
        && runs(path)
        && (form_of(path).is_some() || made_folder(path).is_some())
        && !is_lock_file(path)
}

fn form_of(path: &str) -> Option<(&'static MadeForm, &'static str)> {
    TABLE.made.iter().find_map(|form| {
        let end = form.ends.iter().find(|end| path.ends_with(end.as_str()))?;
        Some((form, end.as_str()))
    })
}

/// What stands before the first folder of what a machine writes.
fn made_folder(path: &str) -> Option<&str> {
    let is_made = |(start, _): &(usize, &str)| {
        let rest = &path[*start..];
        TABLE.folders.iter().any(|folder| {
            rest.strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let starts = path.match_indices('/').map(|(at, slash)| (at + 1, slash));
    let (start, _) = [(0, "")].into_iter().chain(starts).find(is_made)?;
    Some(&path[..start])
}

/// Whether anything but comments changes. Taking away what a machine wrote puts nothing in its place.
fn changes_code(reading: &FileReading<'_>) -> bool {
    let weighs = reading
        .lines
        .iter()
        .any(|line| line.weight != LineWeight::Nothing);
    let is_gone =
        reading.file.status == FileStatus::Removed && !reading.kinds.contains(&FileKind::Vendored);
    !is_gone && (weighs || reading.lines.is_empty() && reading.file.blob.is_some())
}

/// Whether a changed entry is the package that a copy is of.
fn follows_entry(path: &str, entries: &BTreeSet<String>) -> bool {
    let path = path.to_lowercase();
    let Some(mut rest) = below_copies(&path) else {
        return false;
    };
    while let Some((folder, below)) = rest.split_once('/') {
        if !TABLE.between.iter().any(|known| known == folder) && !is_number(folder) {
            break;
        }
        rest = below;
    }
    let Some((first, _)) = rest.split_once('/') else {
        return !entries.is_empty();
    };
    if TABLE.of_all.iter().any(|known| known == first) {
        return !entries.is_empty();
    }
    let versioned = pattern!(r"-v?\d[\w.+-]*$").replace(first, "");
    entries.iter().any(|entry| {
        let holds = rest
            .strip_prefix(entry.as_str())
            .is_some_and(|rest| rest.starts_with('/'));
        // `madler/zlib` is kept in `third_party/zlib/`.
        let owned = entry.split_once('/').map(|(_, name)| name);
        holds || *entry == versioned || owned == Some(first)
    })
}

fn is_number(folder: &str) -> bool {
    folder.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a source changes from which a machine writes the file: by the ends of their names, else what lies beside the
/// folder.
fn follows_source(path: &str, sources: &[&FileReading<'_>]) -> bool {
    let path = &path.to_lowercase();
    let mut names = sources
        .iter()
        .filter(|reading| changes_code(reading))
        .map(|reading| (reading.file.path.to_lowercase(), reading.kinds[0]));
    if let Some((form, _)) = form_of(path) {
        let is_source = |source: &str| {
            extension(source).is_some_and(|end| form.from.iter().any(|known| known == end))
                && stem(path).starts_with(stem(source))
        };
        return names.any(|(source, _)| is_source(&source));
    }
    let makes = |kind: FileKind, source: &str| {
        matches!(
            kind,
            FileKind::Code | FileKind::Config | FileKind::Manifest | FileKind::Translations
        ) || is_lock_file(source)
    };
    let beside = made_folder(path).unwrap_or_default();
    names.any(|(source, kind)| source.starts_with(beside) && makes(kind, &source))
}

/// The words of the entries of manifests and lock files whose version or sum changes, in lower case.
fn changed_entries(sources: &[&FileReading<'_>]) -> BTreeSet<String> {
    let lists_packages = |reading: &&&FileReading<'_>| {
        reading.kinds[0] == FileKind::Manifest || is_lock_file(&reading.file.path)
    };
    let patches = sources
        .iter()
        .filter(lists_packages)
        .filter_map(|reading| reading.patch.as_ref());
    patches
        .flat_map(|patch| &patch.hunks)
        .flat_map(entries_of_hunk)
        .collect()
}

fn entries_of_hunk(hunk: &DiffHunk<'_>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut above: Vec<&DiffLine<'_>> = Vec::new();
    for run in hunk.runs() {
        if run[0].is_changed() && changes_version(run) {
            all.extend(run.iter().flat_map(|line| words(line.text)));
            all.extend(head_words(&above));
        }
        above.extend(run.iter());
    }
    all
}

/// Whether the sides of a run name other versions or sums.
fn changes_version(run: &[DiffLine<'_>]) -> bool {
    let numbers = |is_new: bool| -> BTreeSet<&str> {
        run.iter()
            .filter(|line| line.is_new() == is_new)
            .flat_map(|line| line.text.split_whitespace())
            .map(|word| word.trim_end_matches(','))
            .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
            .collect()
    };
    numbers(true) != numbers(false)
}

/// The words of the lines above a change, up to the one that begins its entry.
fn head_words(above: &[&DiffLine<'_>]) -> Vec<String> {
    let mut all = Vec::new();
    for line in above.iter().rev().take(HEAD_LINES) {
        let text = line.text.trim();
        if text.is_empty() {
            break;
        }
        all.extend(words(text));
        if text.ends_with(['{', ':']) || text.starts_with("[[") {
            break;
        }
    }
    all
}

/// What may be names of packages in a line, without their versions.
fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| c.is_whitespace() || "\"'(){}[],=<>~^!;#`".contains(c));
    let name = |word: &str| {
        let word = word.trim_end_matches(':').trim_start_matches("./");
        let word = word.rsplit("node_modules/").next().unwrap_or(word);
        let name = match word.rfind('@') {
            Some(at) if at > 0 => &word[..at],
            _ => word,
        };
        name.to_lowercase()
    };
    parts
        .map(name)
        .filter(|word| word.contains(|c: char| c.is_alphabetic()))
        .collect()
}
