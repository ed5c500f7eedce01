//! Tampering: a change that makes checks pass by weakening them (loop.md, Retry policy).
//!
//! Read from a diff alone: tests removed, skipped or left with fewer assertions, snapshots rewritten wholesale,
//! thresholds lowered. What is moved or renamed is not removed. Words of a language count in its own files only:
//! `.skip(` skips a test in JavaScript and elements in Rust.

mod language;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
    sync::LazyLock,
};

use regex::Regex;

use self::language::Language;
use super::{
    evaluate::is_test,
    snapshot::{ChangedFile, ChangedFiles, FileStatus},
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

impl fmt::Display for Tampering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TestFileRemoved { path } => write!(f, "{path} is removed, and it holds tests"),
            Self::TestsRemoved { path, tests, fewer } => {
                let named: Vec<&str> =
                    tests.iter().filter(|name| !name.is_empty()).take(3).map(String::as_str).collect();
                let count = if *fewer == 1 { "1 test fewer".to_owned() } else { format!("{fewer} tests fewer") };
                write!(f, "{path} has {count}")?;
                if named.is_empty() { Ok(()) } else { write!(f, " ({})", named.join(", ")) }
            }
            Self::Skipped { path, line, marker } => write!(f, "{path}:{line} keeps tests from running: `{marker}`"),
            Self::FewerAssertions { path, before, after } => {
                let (go, assertion) = if *before == 1 { ("goes", "assertion") } else { ("go", "assertions") };
                let come = if *after == 1 { "comes" } else { "come" };
                write!(f, "{path} checks less: {before} {assertion} {go}, {after} {come}")
            }
            Self::SnapshotsRewritten { files, lines } => {
                write!(f, "{files} snapshot files are rewritten wholesale ({lines} lines)")
            }
            Self::ThresholdLowered { path, line, from, to } => {
                write!(f, "{path}:{line} lowers a threshold from {from} to {to}")
            }
        }
    }
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
        *counts.entry(one.kind()).or_default() += 1;
    }
    counts
}

/// The first finding that nobody took responsibility for.
pub fn not_accepted<'f>(found: &'f [Tampering], accepted: &BTreeMap<String, u32>) -> Option<&'f Tampering> {
    let counts = counts(found);
    let more = |one: &&Tampering| {
        let kind = one.kind();
        counts.get(&kind).copied().unwrap_or(0) > accepted.get(&kind).copied().unwrap_or(0)
    };
    found.iter().find(more)
}

impl Tampering {
    /// What it is, wherever in its file: lines move with every push.
    fn kind(&self) -> String {
        match self {
            Self::Skipped { path, marker, .. } => format!("{path} keeps tests from running: {marker}"),
            Self::ThresholdLowered { path, from, to, .. } => format!("{path} lowers a threshold from {from} to {to}"),
            other => other.to_string(),
        }
    }
}

/// Everything in a change that weakens what checks it, in the order of the files.
pub fn findings(files: &ChangedFiles) -> Vec<Tampering> {
    let files = files.known();
    let arriving = names_of_added_tests(files);
    let mut found = Vec::new();
    for file in files {
        if file.status == FileStatus::Removed && is_test_file(&file.path) {
            // Its tests may have been moved, one and all, into other files.
            let tests = removed_tests(file);
            let moved = !tests.is_empty() && tests.iter().all(|name| !name.is_empty() && arriving.contains(name));
            if !moved {
                found.push(Tampering::TestFileRemoved { path: file.path.clone() });
            }
            continue;
        }
        found.extend(fewer_tests(file, &arriving));
        found.extend(skipped(file));
        found.extend(fewer_assertions(file));
        found.extend(lowered(file));
    }
    found.extend(snapshots(files));
    found
}

/// Whether a file holds tests, by its name: those of evaluations, and scripts in a folder of tests.
fn is_test_file(path: &str) -> bool {
    let in_tests = || {
        let mut folders = path.rsplit('/').skip(1);
        folders.any(|folder| matches!(folder, "test" | "tests" | "__tests__" | "spec" | "specs" | "e2e"))
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    let script = [".sh", ".bats", ".pl", ".t", ".lua"].iter().any(|extension| name.ends_with(extension));
    is_test(path) || script && (in_tests() || name.contains("test"))
}

/// A changed line: its number in the new file (of a removed one: where it was), and its text.
struct Line<'a> {
    number: u32,
    text: &'a str,
}

/// The removed and the added lines of a file's patch.
fn lines(file: &ChangedFile) -> (Vec<Line<'_>>, Vec<Line<'_>>) {
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut number = 0;
    for text in file.patch.as_deref().unwrap_or_default().lines() {
        if let Some(header) = text.strip_prefix("@@ ") {
            let new = header.split(' ').find_map(|part| part.strip_prefix('+')).unwrap_or_default();
            number = new.split(',').next().and_then(|start| start.parse().ok()).unwrap_or(1);
        } else if let Some(text) = text.strip_prefix('+') {
            added.push(Line { number, text });
            number += 1;
        } else if let Some(text) = text.strip_prefix('-') {
            removed.push(Line { number, text });
        } else if !text.starts_with('\\') {
            number += 1;
        }
    }
    (removed, added)
}

fn tests_in(path: &str, lines: &[Line<'_>]) -> Vec<String> {
    let Some(language) = Language::of(path) else { return Vec::new() };
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

fn removed_tests(file: &ChangedFile) -> Vec<String> {
    tests_in(file.previous_path.as_deref().unwrap_or(&file.path), &lines(file).0)
}

fn names_of_added_tests(files: &[ChangedFile]) -> BTreeSet<String> {
    files.iter().flat_map(|file| tests_in(&file.path, &lines(file).1)).filter(|name| !name.is_empty()).collect()
}

fn fewer_tests(file: &ChangedFile, arriving: &BTreeSet<String>) -> Option<Tampering> {
    let removed = removed_tests(file);
    let gone: Vec<String> = removed.into_iter().filter(|name| !arriving.contains(name)).collect();
    let removed_names: BTreeSet<String> = removed_tests(file).into_iter().collect();
    let come = tests_in(&file.path, &lines(file).1);
    let new = come.iter().filter(|name| name.is_empty() || !removed_names.contains(*name)).count();
    let fewer = gone.len().checked_sub(new).filter(|fewer| *fewer > 0)?;
    Some(Tampering::TestsRemoved { path: file.path.clone(), tests: gone.into_iter().take(NAMED).collect(), fewer })
}

fn skipped(file: &ChangedFile) -> Vec<Tampering> {
    let Some(language) = Language::of(&file.path) else { return Vec::new() };
    let (removed, added) = lines(file);
    let marker = |line: &Line<'_>| language.skip(line.text);
    // A line that only moved, or was skipped before, is no new skip.
    let before: BTreeSet<&str> =
        removed.iter().filter(|line| marker(line).is_some()).map(|line| line.text.trim()).collect();
    let new = added.iter().filter(|line| !before.contains(line.text.trim()));
    new.filter_map(|line| Some((line.number, marker(line)?)))
        .map(|(line, marker)| Tampering::Skipped { path: file.path.clone(), line, marker })
        .collect()
}

/// Assertions of a file of tests only: elsewhere they are part of the code.
fn fewer_assertions(file: &ChangedFile) -> Option<Tampering> {
    let language = Language::of(&file.path).filter(|_| is_test_file(&file.path))?;
    let (removed, added) = lines(file);
    let count = |lines: &[Line<'_>]| lines.iter().filter(|line| language.asserts(line.text)).count();
    let (before, after) = (count(&removed), count(&added));
    (after < before).then(|| Tampering::FewerAssertions { path: file.path.clone(), before, after })
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

fn lowered(file: &ChangedFile) -> Vec<Tampering> {
    let (removed, added) = lines(file);
    let mut found = Vec::new();
    for new in &added {
        let Some(after) = THRESHOLD.captures(new.text) else { continue };
        let same =
            removed.iter().filter(|old| old.number <= new.number && new.number - old.number <= 20).find_map(|old| {
                let before = THRESHOLD.captures(old.text)?;
                (before[1] == after[1] && before[3] == after[3]).then(|| before[2].to_owned())
            });
        let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
        if let Some(from) = same.filter(|from| number(&after[2]) < number(from)) {
            found.push(Tampering::ThresholdLowered {
                path: file.path.clone(),
                line: new.number,
                from,
                to: after[2].to_owned(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests;
