//! Tampering: a change that makes checks pass by weakening them. It is judged by four comparisons of what is tested before
//! and after: what ran, what is written in test files, what decides what runs, and the base's tests on the head.

mod asserted;
mod runs;
mod selection;
mod source;
mod written;

pub use self::{
    runs::{Runs, failed_test},
    selection::decides_what_runs,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{
    evidence::{BaseTestRun, OutcomesExtent, ProofEnd, TestId, TestOutcome, TestOutcomes, TestState},
    ids::Sha,
    observed::{ChangedFile, ChangedFiles, Contents, FileAt, Snapshot},
    source_files::belongs_to_tests,
    state::LoopState,
};

/// Findings kept of one change, and lines shown of each.
const MOST_FOUND: usize = 200;
const MOST_SHOWN: usize = 12;

/// One way in which a change weakens what checks it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tampering {
    pub comparison: Comparison,
    pub weight: Weight,
    /// What is done to the tests, without the file. States keep what was accepted by these texts.
    pub deed: String,
    /// The test that no longer checks anything: its declaration is removed or marked.
    pub gone: Option<String>,
    /// The file that is weakened, where it is one.
    pub path: Option<String>,
    /// At the head; of what is removed, where it was. 0 if it is no line.
    pub line: u32,
    /// The lines that weaken, with the sign of a diff: at most 12.
    pub hunk: Vec<String>,
}

/// Which of the comparisons finds it: grounds of two of them hold a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Comparison {
    Ran,
    Written,
    Selection,
    BaseTests,
}

/// What a finding does to the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It is shown, and holds the change together with a ground of another comparison.
    Ground,
    /// It holds the change alone.
    Proof,
}

/// The sentence for it, behind its file. Names from outside stand in it as they are; the caller makes them safe.
impl fmt::Display for Tampering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), 1..) => write!(f, "{path}:{}: {}", self.line, self.deed),
            _ => f.write_str(&self.key()),
        }
    }
}

impl serde::Serialize for Tampering {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Tampering {
    fn of(comparison: Comparison, weight: Weight, deed: impl Into<String>) -> Self {
        Self { comparison, weight, deed: deed.into(), gone: None, path: None, line: 0, hunk: Vec::new() }
    }

    fn at(self, path: &str, line: u32, hunk: Vec<String>) -> Self {
        Self { path: Some(path.to_owned()), line, hunk, ..self }
    }

    /// What it is, wherever in its file: lines move with every push.
    fn key(&self) -> String {
        self.path.iter().map(|path| format!("{path}: ")).chain([self.deed.clone()]).collect()
    }
}

/// Each way of weakening without its line, and how often it occurs: what a person takes responsibility for.
pub fn counts(found: &[Tampering]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for one in found {
        *counts.entry(one.key()).or_default() += 1;
    }
    counts
}

/// The finding that holds the change, of those that no person accepted: a proof, or one of the grounds that two
/// comparisons find.
pub fn not_accepted<'f>(found: &'f [Tampering], accepted: &BTreeMap<String, u32>) -> Option<&'f Tampering> {
    let counts = counts(found);
    let open: Vec<_> = found.iter().filter(|one| counts.get(&one.key()) > accepted.get(&one.key())).collect();
    let comparisons: BTreeSet<Comparison> = open.iter().map(|one| one.comparison).collect();
    let heaviest = open.iter().max_by_key(|one| (one.weight, std::cmp::Reverse(one.comparison)))?;
    (heaviest.weight > Weight::Ground || comparisons.len() > 1).then_some(*heaviest)
}

/// A change with everything that its tests are compared by.
pub struct Change<'a> {
    pub files: &'a ChangedFiles,
    /// The text of files on both sides; of what is not in it the hunks are read.
    pub contents: &'a Contents,
    /// The commit of the old side, where it is known.
    pub before: Option<Sha>,
    pub head: Sha,
    /// Whether a fixer made it: whatever it does to tests holds its edits.
    pub is_of_fixer: bool,
    pub runs: Runs<'a>,
}

impl<'a> Change<'a> {
    /// A fixer's edits, before anything has run. `failed` are the tests that it is to mend; `state` is that of the loop that it works for.
    pub fn of_fixer(
        files: &'a ChangedFiles,
        contents: &'a Contents,
        before: Sha,
        head: Sha,
        failed: BTreeSet<&'a str>,
        state: Option<&'a LoopState>,
    ) -> Self {
        let runs = Runs::of_fixer(failed, state);
        Self { files, contents, before: Some(before), head, is_of_fixer: true, runs }
    }

    /// A pull request, or a loop's head, with what its evidence and its earlier attempts say.
    pub fn of_head(snapshot: &'a Snapshot, state: &'a LoopState) -> Self {
        let (head, before) = (snapshot.pull_request.head.sha, snapshot.merge_base);
        let runs = Runs::of_head(snapshot, state);
        Self { files: &snapshot.files, contents: &snapshot.contents, before, head, is_of_fixer: false, runs }
    }

    /// Whether the checks passed with the file as it was before a fixer's edit, which is then not why they pass.
    fn is_proven(&self, file: &ChangedFile) -> bool {
        self.runs.proven.contains(file.old_path())
    }

    /// What a finding weighs. One of a fixer holds its edits, whatever it is.
    fn weight(&self, holds_alone: bool) -> Weight {
        if holds_alone || self.is_of_fixer { Weight::Proof } else { Weight::Ground }
    }
}

/// Whether one of these reports' tests is declared by this name.
fn names(reported: &BTreeSet<&str>, declared: &str) -> bool {
    reported.iter().any(|reported| is_declared(reported, declared))
}

/// Whether a report names the test that is declared by this name: alone, or behind its file, class or suite, with or
/// without its parameters. Only words count: `TEST(Cart, Adds)` is reported as `Cart.Adds`.
pub fn is_declared(reported: &str, declared: &str) -> bool {
    let (reported_words, declared_words): (Vec<_>, Vec<_>) = (words(reported).collect(), words(declared).collect());
    // A title with values in it: `parses %s`, `parses ${text}`.
    let fixed = declared.split(['%', '$']).next().unwrap_or_default().trim();
    let is_titled = fixed.len() < declared.len() && fixed.len() > 3 && reported.contains(fixed);
    let is_part = match declared_words.len() {
        0 => !declared.is_empty() && reported.contains(declared),
        count => reported_words.windows(count).any(|part| part == declared_words),
    };
    is_titled || is_part
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Files whose text the comparisons need beside the patches, at [`Snapshot::merge_base`] and at the head.
pub fn files_to_read(files: &ChangedFiles, before: Option<Sha>, head: Sha) -> BTreeSet<FileAt> {
    let read = |file: &ChangedFile| {
        let old = before.map(|before| (before, file.old_path().to_owned()));
        old.into_iter().chain([(head, file.path.clone())])
    };
    written::with_tests(files).take(written::MOST_FILES).flat_map(read).collect()
}

/// Whether a change touches files that hold tests.
pub fn holds_tests(files: &ChangedFiles) -> bool {
    written::with_tests(files).next().is_some()
}

/// Everything in a change that weakens what checks it: what is written, what decides what runs, what ran, and the base's
/// tests.
pub fn findings(change: &Change<'_>) -> Vec<Tampering> {
    let mut found = written::compare(change);
    found.extend(selection::compare(change));
    found.extend(fewer_ran(change, &found));
    let of_base = change.runs.base_tests.iter().filter(|run| !went_with_its_subject(&found, run));
    let of_base: Vec<Tampering> = of_base.filter_map(|run| base_test(change, run)).collect();
    found.extend(of_base);
    found.truncate(MOST_FOUND);
    found
}

/// Tests that ran before and do not run now, more than the tests that the change is seen to remove. It is a proof where one
/// of them failed, or a file that selects tests is changed; else the reason may lie outside of the change.
fn fewer_ran(change: &Change<'_>, found: &[Tampering]) -> Option<Tampering> {
    let Runs { before, now, totals, failures, .. } = &change.runs;
    let is_whole = |tests: &&TestOutcomes| tests.extent() == OutcomesExtent::Whole;
    let ran = |tests: &TestOutcomes| -> BTreeSet<TestId> {
        tests.iter().filter(|test| test.state() != TestState::Skipped).map(TestOutcome::id).collect()
    };
    let lists = before.as_ref().filter(is_whole).zip(now.as_ref().filter(is_whole));
    let (were, are, gone, failed) = match lists {
        Some((before, now)) => {
            let (before, now) = (ran(before), ran(now));
            let failed = failures.iter().flatten().any(|id| before.contains(id) && !now.contains(id));
            (before.len(), now.len(), before.difference(&now).count(), failed)
        }
        None => {
            let (were, are) = (*totals)?;
            (were, are, were.saturating_sub(are), change.runs.lack_failed())
        }
    };
    // As many may have another name now.
    if were <= are + found.iter().filter(|one| one.gone.is_some()).count() {
        return None;
    }
    let selects = found.iter().any(|one| one.comparison == Comparison::Selection);
    let tests =
        if gone == 1 { "a test that ran before does".to_owned() } else { format!("{gone} tests that ran before do") };
    let deed = format!("{tests} not run now ({were} before, {are} after)");
    Some(Tampering::of(Comparison::Ran, change.weight(selects || failed), deed))
}

/// Whether all tests that fail as they were before are shown to go with the code that they call: of course they fail.
fn went_with_its_subject(found: &[Tampering], run: &BaseTestRun) -> bool {
    let is_shown = |one: &&Tampering| one.weight == Weight::Ground && one.path.as_ref() == Some(&run.file);
    let gone: Vec<&str> = found.iter().filter(is_shown).filter_map(|one| one.gone.as_deref()).collect();
    !run.failing.is_empty() && run.failing.iter().all(|test| gone.iter().any(|gone| is_declared(test, gone)))
}

/// A changed test that passes as changed and fails as it was.
fn base_test(change: &Change<'_>, run: &BaseTestRun) -> Option<Tampering> {
    let is_settled = !run.failing.is_empty() && run.failing.iter().all(|test| names(&change.runs.wrong, test));
    if run.on_head != ProofEnd::Failed || is_settled {
        return None;
    }
    let failed = run.failing.iter().any(|test| names(&change.runs.failed, test));
    // What was put back is the test, or a file that says which tests run.
    let (all, many, one) = match belongs_to_tests(&run.file) {
        true => ("its tests", "fail as they were before", "fails as it was before"),
        false => ("the checks", "fail with the file as it was before", "fails with the file as it was before"),
    };
    let deed = match &run.failing[..run.failing.len().min(3)] {
        [] => format!("{all} {many}"),
        [test] => format!("“{test}” {one}"),
        tests => format!("“{}” {many}", tests.join("”, “")),
    };
    Some(Tampering::of(Comparison::BaseTests, change.weight(failed), deed).at(&run.file, 0, Vec::new()))
}

#[cfg(test)]
mod tests;
