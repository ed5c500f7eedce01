//! Tampering: a change that makes checks pass by weakening them (decisions.md, J22).
//!
//! Read from a diff alone: tests removed, skipped or left with fewer assertions, snapshots rewritten wholesale,
//! thresholds lowered. What is moved or renamed is not removed. Words of a language count in its own files only:
//! `.skip(` skips a test in JavaScript and elements in Rust.

mod syntax;

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::LazyLock,
};

use regex::{Captures, Regex};

use self::syntax::TestSyntax;
use crate::{
    observed::{ChangedFile, ChangedFiles, FileStatus, hunk_start},
    source_files::is_test,
};

/// One way in which a change weakens what checks it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tampering {
    TestFileRemoved {
        path: String,
    },
    /// More tests went from the file than came, and they turn up nowhere else.
    TestsRemoved {
        path: String,
        tests: Vec<String>,
        fewer: usize,
    },
    /// A marker that keeps tests from running.
    Skipped {
        path: String,
        line: u32,
        marker: String,
    },
    FewerAssertions {
        path: String,
        before: usize,
        after: usize,
    },
    /// So many recorded outputs replaced at once that nobody can have read them.
    SnapshotsRewritten {
        files: usize,
        lines: u32,
    },
    ThresholdLowered {
        path: String,
        line: u32,
        from: String,
        to: String,
    },
}

/// Snapshot files, and lines taken out of them, that count as wholesale.
const SNAPSHOT_FILES: usize = 3;
const SNAPSHOT_LINES: u32 = 100;
/// Names of tests listed in one finding.
const NAMED: usize = 20;

/// Each way of weakening without its line, and how often it occurs: what a person takes responsibility for.
pub fn counts(found: &[Tampering]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for one in found {
        *counts.entry(one.key()).or_default() += 1;
    }
    counts
}

/// The first finding that nobody took responsibility for.
pub fn not_accepted<'f>(found: &'f [Tampering], accepted: &BTreeMap<String, u32>) -> Option<&'f Tampering> {
    let counts = counts(found);
    let more = |one: &&Tampering| {
        let key = one.key();
        counts.get(&key).copied().unwrap_or(0) > accepted.get(&key).copied().unwrap_or(0)
    };
    found.iter().find(more)
}

impl Tampering {
    /// What it is, wherever in its file: lines move with every push. States keep by these texts what was accepted, so
    /// they never change.
    fn key(&self) -> String {
        match self {
            Self::TestFileRemoved { path } => format!("{path} is removed, and it holds tests"),
            Self::TestsRemoved { path, fewer, .. } => {
                let s = if *fewer == 1 { "" } else { "s" };
                let named = self.named().join(", ");
                let named = if named.is_empty() { named } else { format!(" ({named})") };
                format!("{path} has {fewer} test{s} fewer{named}")
            }
            Self::Skipped { path, marker, .. } => format!("{path} keeps tests from running: {marker}"),
            Self::FewerAssertions { path, before, after } => {
                let (go, s) = if *before == 1 { ("goes", "") } else { ("go", "s") };
                let come = if *after == 1 { "comes" } else { "come" };
                format!("{path} checks less: {before} assertion{s} {go}, {after} {come}")
            }
            Self::SnapshotsRewritten { files, lines } => {
                format!("{files} snapshot files are rewritten wholesale ({lines} lines)")
            }
            Self::ThresholdLowered { path, from, to, .. } => format!("{path} lowers a threshold from {from} to {to}"),
        }
    }

    /// The file that is weakened, where it is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::TestFileRemoved { path }
            | Self::TestsRemoved { path, .. }
            | Self::Skipped { path, .. }
            | Self::FewerAssertions { path, .. }
            | Self::ThresholdLowered { path, .. } => Some(path),
            Self::SnapshotsRewritten { .. } => None,
        }
    }

    /// The first tests that are removed, where they have names.
    pub fn named(&self) -> Vec<&str> {
        let Self::TestsRemoved { tests, .. } = self else { return Vec::new() };
        tests.iter().filter(|name| !name.is_empty()).take(3).map(String::as_str).collect()
    }
}

/// Everything in a change that weakens what checks it, in the order of the files.
pub fn findings(files: &ChangedFiles) -> Vec<Tampering> {
    let patches: Vec<Patch<'_>> = files.known().iter().map(Patch::of).collect();
    // Most changes remove no test, and then nobody asks for those that come.
    let arriving = LazyCell::new(|| names_of_added_tests(&patches));
    let mut found = Vec::new();
    for patch in &patches {
        let path = &patch.file.path;
        if patch.file.status == FileStatus::Removed && is_test(path) {
            // Its tests may have been moved, one and all, into other files.
            let tests = patch.removed_tests();
            let moved = !tests.is_empty() && tests.iter().all(|name| !name.is_empty() && arriving.contains(name));
            if !moved {
                found.push(Tampering::TestFileRemoved { path: path.clone() });
            }
            continue;
        }
        found.extend(fewer_tests(patch, |name| arriving.contains(name)));
        found.extend(skipped(patch));
        found.extend(fewer_assertions(patch));
        found.extend(lowered(patch));
    }
    found.extend(snapshots(files.known()));
    found
}

/// A changed line: its number in the new file (of a removed one: where it was), and its text.
struct Line<'a> {
    number: u32,
    text: &'a str,
}

/// What a file's patch takes and brings.
struct Patch<'a> {
    file: &'a ChangedFile,
    removed: Vec<Line<'a>>,
    added: Vec<Line<'a>>,
}

impl<'a> Patch<'a> {
    fn of(file: &'a ChangedFile) -> Self {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        let mut number = 0;
        for text in file.patch.as_deref().unwrap_or_default().lines() {
            match text.as_bytes() {
                [b'+', ..] => {
                    added.push(Line { number, text: &text[1..] });
                    number += 1;
                }
                [b'-', ..] => removed.push(Line { number, text: &text[1..] }),
                [b'@', b'@', b' ', ..] => number = hunk_start(&text[3..]).unwrap_or(1),
                [b'\\', ..] => {}
                _ => number += 1,
            }
        }
        Self { file, removed, added }
    }

    fn removed_tests(&self) -> Vec<String> {
        tests_in(self.file.previous_path.as_deref().unwrap_or(&self.file.path), &self.removed)
    }

    fn added_tests(&self) -> Vec<String> {
        tests_in(&self.file.path, &self.added)
    }
}

fn tests_in(path: &str, lines: &[Line<'_>]) -> Vec<String> {
    let Some(language) = TestSyntax::of(path) else { return Vec::new() };
    let mut tests = Vec::new();
    let mut without_attribute = VecDeque::new();
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        match language.test(line.text) {
            // An attribute stands above the name it belongs to.
            Some(name) if name.is_empty() => {
                let below = lines.next_if(|next| language.function(next.text).is_some());
                tests.push(below.and_then(|below| language.function(below.text)).unwrap_or_default());
            }
            Some(name) => tests.push(name),
            None => without_attribute.extend(language.function(line.text)),
        }
    }
    // A diff takes the first test's name and the second one's attribute as readily as a whole test.
    for nameless in tests.iter_mut().filter(|name| name.is_empty()) {
        *nameless = without_attribute.pop_front().unwrap_or_default();
    }
    tests
}

fn names_of_added_tests(patches: &[Patch<'_>]) -> BTreeSet<String> {
    patches.iter().flat_map(Patch::added_tests).filter(|name| !name.is_empty()).collect()
}

fn fewer_tests(patch: &Patch<'_>, arrives: impl Fn(&String) -> bool) -> Option<Tampering> {
    let removed = patch.removed_tests();
    if removed.is_empty() {
        return None;
    }
    let names: BTreeSet<&String> = removed.iter().collect();
    let new = patch.added_tests().iter().filter(|name| name.is_empty() || !names.contains(name)).count();
    let gone: Vec<String> = removed.into_iter().filter(|name| !arrives(name)).collect();
    let fewer = gone.len().checked_sub(new).filter(|fewer| *fewer > 0)?;
    let path = patch.file.path.clone();
    Some(Tampering::TestsRemoved { path, tests: gone.into_iter().take(NAMED).collect(), fewer })
}

fn skipped(patch: &Patch<'_>) -> Vec<Tampering> {
    let Some(language) = TestSyntax::of(&patch.file.path) else { return Vec::new() };
    let marked = |lines: &[Line<'_>]| -> Vec<(u32, String, String)> {
        let marker = |line: &Line<'_>| Some((line.number, line.text.trim().to_owned(), language.skip(line.text)?));
        lines.iter().filter_map(marker).collect()
    };
    let added = marked(&patch.added);
    // A line that only moved, or was skipped before, is no new skip.
    let before = if added.is_empty() { Vec::new() } else { marked(&patch.removed) };
    let before: BTreeSet<&String> = before.iter().map(|(_, text, _)| text).collect();
    let new = added.into_iter().filter(|(_, text, _)| !before.contains(text));
    new.map(|(line, _, marker)| Tampering::Skipped { path: patch.file.path.clone(), line, marker }).collect()
}

/// Assertions of a file of tests only: elsewhere they are part of the code.
fn fewer_assertions(patch: &Patch<'_>) -> Option<Tampering> {
    let path = &patch.file.path;
    let language = TestSyntax::of(path).filter(|_| is_test(path))?;
    let count = |lines: &[Line<'_>]| lines.iter().filter(|line| language.asserts(line.text)).count();
    let (before, after) = (count(&patch.removed), count(&patch.added));
    (after < before).then(|| Tampering::FewerAssertions { path: path.clone(), before, after })
}

fn is_snapshot(path: &str) -> bool {
    path.contains("__snapshots__/")
        || [".snap", ".golden", ".approved.txt", ".ambr"].iter().any(|extension| path.ends_with(extension))
}

fn snapshots(files: &[ChangedFile]) -> Option<Tampering> {
    let rewritten = files.iter().filter(|file| is_snapshot(&file.path) && file.deletions > 0);
    let (count, lines) =
        rewritten.fold((0, 0_u32), |(count, lines), file| (count + 1, lines.saturating_add(file.deletions)));
    let wholesale = count >= SNAPSHOT_FILES || lines >= SNAPSHOT_LINES;
    wholesale.then_some(Tampering::SnapshotsRewritten { files: count, lines })
}

/// A line that sets a threshold: what stands before the number, the number, what stands after.
static THRESHOLD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^(.*(?:threshold|fail[-_]under|min(?:imum)?[-_ ]?coverage|coverage[-_ ]?min\w*|passed[-_]ratio|(?:branches|functions|lines|statements)\s*[:=])\D*?)(\d+(?:\.\d+)?)(.*)$",
    )
    .expect("a constant expression")
});

fn threshold<'t>(line: &Line<'t>) -> Option<(u32, Captures<'t>)> {
    Some((line.number, THRESHOLD.captures(line.text)?))
}

fn lowered(patch: &Patch<'_>) -> Vec<Tampering> {
    let before: Vec<_> = patch.removed.iter().filter_map(threshold).collect();
    if before.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (line, after) in patch.added.iter().filter_map(threshold) {
        let near = before.iter().filter(|(old, _)| *old <= line && line - old <= 20);
        let same = near.map(|(_, before)| before).find(|before| before[1] == after[1] && before[3] == after[3]);
        let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
        if let Some(before) = same.filter(|before| number(&after[2]) < number(&before[2])) {
            let (from, to) = (before[2].to_owned(), after[2].to_owned());
            found.push(Tampering::ThresholdLowered { path: patch.file.path.clone(), line, from, to });
        }
    }
    found
}

#[cfg(test)]
mod tests;
