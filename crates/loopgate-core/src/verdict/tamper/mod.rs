//! Tampering: a change that makes checks pass by weakening them.
//!
//! Read from a diff alone: tests removed, skipped, left early or with fewer and looser assertions, findings silenced,
//! programs that know that they are tested, snapshots rewritten wholesale, thresholds lowered. What is moved or renamed is
//! not removed. Words of a language count in its own files only: `.skip(` skips a test in JavaScript and elements in Rust.

mod kept;
mod marks;
mod patch;

use std::{
    cell::LazyCell,
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::LazyLock,
};

use regex::{Captures, Regex};

use self::{
    kept::Kept,
    patch::{Line, Patch},
};
use crate::{
    observed::{ChangedFile, ChangedFiles, FileStatus},
    source_files::{is_named_test, is_test},
    verdict::test_syntax::{TestSyntax, is_loose},
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
    /// A line that keeps a check from saying what it would say.
    Line {
        way: Way,
        path: String,
        line: u32,
        /// What in the line does it: 60 characters at most.
        marker: String,
    },
    FewerAssertions {
        path: String,
        before: usize,
        after: usize,
    },
    /// Assertions of an exact value that became ones of less.
    LooserAssertions {
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

/// What a line does to a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Tests do not run.
    Skips,
    /// A linter, a compiler or a measurement does not say what it sees.
    Silences,
    /// What stands below is never reached.
    EndsEarly,
    /// What a test throws is lost.
    Swallows,
    /// The program asks whether it is tested, or answers a test's input by heart.
    KnowsTests,
    /// What a test is about is replaced, or called equal to anything.
    Replaces,
    /// A command succeeds although what it runs fails, or runs less.
    IgnoresFailures,
}

impl Way {
    /// What the file with such a line does. Part of the texts that states keep.
    pub const fn deed(self) -> &'static str {
        match self {
            Self::Skips => "keeps tests from running",
            Self::Silences => "silences a check",
            Self::EndsEarly => "ends before what it checks",
            Self::Swallows => "swallows what fails",
            Self::KnowsTests => "behaves otherwise when it is tested",
            Self::Replaces => "replaces what it tests",
            Self::IgnoresFailures => "lets failures pass",
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
            Self::Line { way, path, marker, .. } => format!("{path} {}: {marker}", way.deed()),
            Self::FewerAssertions { path, before, after } => {
                let (go, s) = if *before == 1 { ("goes", "") } else { ("go", "s") };
                let come = if *after == 1 { "comes" } else { "come" };
                format!("{path} checks less: {before} assertion{s} {go}, {after} {come}")
            }
            Self::LooserAssertions { path, before, after } => {
                format!("{path} asserts fewer exact values: {before} before, {after} after")
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
            | Self::Line { path, .. }
            | Self::FewerAssertions { path, .. }
            | Self::LooserAssertions { path, .. }
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
    let kept = Kept::of(&patches);
    let mut found = Vec::new();
    for patch in &patches {
        let path = &patch.file.path;
        if patch.file.status == FileStatus::Removed && is_test(path) {
            // Its tests may have been moved, one and all, into other files, or go with what they tested.
            let tests = removed_tests(patch);
            let moved = !tests.is_empty() && tests.iter().all(|name| !name.is_empty() && arriving.contains(name));
            if !moved && !kept.restates(patch) && !kept.goes_with_its_subject(patch, tests.len()) {
                found.push(Tampering::TestFileRemoved { path: path.clone() });
            }
            continue;
        }
        found.extend(uncollected(patch));
        found.extend(fewer_tests(patch, &kept, |name| arriving.contains(name)));
        found.extend(assertions(patch, &kept));
        found.extend(lowered(patch));
    }
    found.extend(marks::of(&patches));
    found.extend(marks::left_out(&patches));
    found.extend(snapshots(files.known()));
    found
}

/// A file of tests that keeps its language and takes a name by which no runner finds it.
fn uncollected(patch: &Patch<'_>) -> Option<Tampering> {
    let before = patch.file.previous_path.as_deref().filter(|before| is_named_test(before))?;
    let is_lost = !is_named_test(&patch.file.path);
    is_lost.then(|| Tampering::TestFileRemoved { path: before.to_owned() })
}

fn removed_tests(patch: &Patch<'_>) -> Vec<String> {
    tests_in(patch.file.previous_path.as_deref().unwrap_or(&patch.file.path), patch.removed_code())
}

fn added_tests(patch: &Patch<'_>) -> Vec<String> {
    tests_in(&patch.file.path, patch.added_code())
}

fn tests_in<'a>(path: &str, lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let Some(language) = TestSyntax::of(path) else { return Vec::new() };
    let mut tests = Vec::new();
    let mut without_attribute = VecDeque::new();
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        match language.test(line) {
            // An attribute stands above the name it belongs to.
            Some("") => {
                let below = lines.next_if(|next| language.function(next).is_some());
                tests.push(below.and_then(|below| language.function(below)).unwrap_or_default().to_owned());
            }
            Some(name) => tests.push(name.to_owned()),
            None => without_attribute.extend(language.function(line)),
        }
    }
    // A diff takes the first test's name and the second one's attribute as readily as a whole test.
    for nameless in tests.iter_mut().filter(|name| name.is_empty()) {
        *nameless = without_attribute.pop_front().unwrap_or_default().to_owned();
    }
    tests
}

fn names_of_added_tests(patches: &[Patch<'_>]) -> BTreeSet<String> {
    patches.iter().flat_map(added_tests).filter(|name| !name.is_empty()).collect()
}

fn fewer_tests<'a>(patch: &Patch<'a>, kept: &Kept<'a>, arrives: impl Fn(&String) -> bool) -> Option<Tampering> {
    let removed = removed_tests(patch);
    if removed.is_empty() {
        return None;
    }
    let names: BTreeSet<&String> = removed.iter().collect();
    let new = added_tests(patch).iter().filter(|name| name.is_empty() || !names.contains(name)).count();
    let gone: Vec<String> = removed.into_iter().filter(|name| !arrives(name)).collect();
    let fewer = gone.len().checked_sub(new).filter(|fewer| *fewer > 0)?;
    if kept.restates(patch) || kept.goes_with_its_subject(patch, fewer) {
        return None;
    }
    let path = patch.file.path.clone();
    Some(Tampering::TestsRemoved { path, tests: gone.into_iter().take(NAMED).collect(), fewer })
}

/// Assertions of a file of tests only: elsewhere they are part of the code.
fn assertions<'a>(patch: &Patch<'a>, kept: &Kept<'a>) -> Option<Tampering> {
    let path = patch.file.path.clone();
    let language = TestSyntax::of(&path).filter(|_| is_test(&path))?;
    let asserting = |text: &&str| language.asserts(text);
    let (mut removed, added): (Vec<&str>, Vec<&str>) =
        (patch.removed_code().filter(asserting).collect(), patch.added_code().filter(asserting).collect());
    let mut missing = removed.len();
    if missing > added.len() {
        // What went into another file still asserts.
        removed.retain(|text| added.iter().any(|one| one.trim() == text.trim()) || kept.arrives(text) == 0);
        missing = removed.len();
    }
    let excused = || kept.goes_with_its_subject(patch, removed_tests(patch).len());
    if missing > added.len() {
        let is_restated = !added.is_empty() && kept.restates(patch);
        let (before, after) = (missing, added.len());
        return (!is_restated && !excused()).then_some(Tampering::FewerAssertions { path, before, after });
    }
    let exact = |lines: &[&str]| lines.iter().filter(|text| !is_loose(text)).count();
    // More loose ones beside the exact ones that were there are no loss.
    let (before, after) = (exact(&removed), exact(&added));
    let is_looser = after < before && !excused();
    is_looser.then_some(Tampering::LooserAssertions { path, before, after })
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

/// The same of how far two values may be apart.
static TOLERANCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(.*(?:accuracy|tolerance|delta|epsilon|\b(?:abs|rel|atol|rtol)\b|within|margin)\W*?)(\d[\d_]*(?:\.\d+)?)(.*)$")
        .expect("a constant expression")
});

/// Thresholds that fall, and in tests tolerances that rise.
fn lowered(patch: &Patch<'_>) -> Vec<Tampering> {
    let tolerances = is_test(&patch.file.path).then_some((&TOLERANCE, Ordering::Greater));
    [(&THRESHOLD, Ordering::Less)]
        .into_iter()
        .chain(tolerances)
        .flat_map(|(word, to)| moved_to(patch, word, to))
        .collect()
}

fn moved_to(patch: &Patch<'_>, word: &Regex, to: Ordering) -> Vec<Tampering> {
    fn threshold<'t>(word: &Regex, line: &Line<'t>) -> Option<(u32, Captures<'t>)> {
        Some((line.number, word.captures(line.text)?))
    }
    let before: Vec<_> = patch.removed.iter().filter_map(|line| threshold(word, line)).collect();
    if before.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (line, after) in patch.added.iter().filter_map(|line| threshold(word, line)) {
        let near = before.iter().filter(|(old, _)| *old <= line && line - old <= 20);
        let same = near.map(|(_, before)| before).find(|before| before[1] == after[1] && before[3] == after[3]);
        let number = |text: &str| text.replace('_', "").parse::<f64>().unwrap_or(0.0);
        if let Some(before) = same.filter(|before| number(&after[2]).partial_cmp(&number(&before[2])) == Some(to)) {
            let (from, to) = (before[2].to_owned(), after[2].to_owned());
            found.push(Tampering::ThresholdLowered { path: patch.file.path.clone(), line, from, to });
        }
    }
    found
}

#[cfg(test)]
mod measured;
#[cfg(test)]
mod tests;
