//! Tampering: a change that makes checks pass by weakening them. It is judged by four comparisons of what is tested
//! before and after: what ran, what is written in test files, what decides what runs, and the base's tests on the head.

pub mod attempt;
mod keyed;
mod lines;
mod runs;
mod selection;
mod source;
mod written;

use std::collections::{BTreeMap, BTreeSet};

pub use self::runs::{Runs, failed_test};
pub use self::selection::decides_what_runs;
use self::source::CodeLine;
use crate::{
    evidence::{BaseTestRun, ProofEnd, is_declared, words},
    ids::Sha,
    observed::{ChangedFile, ChangedFiles, Contents, FileAt, Snapshot},
    policy::Policy,
    state::LoopState,
};

/// Findings kept of one change, and lines shown of each.
const MOST_FOUND: usize = 200;
const MOST_SHOWN: usize = 12;
/// Characters of a line that a sentence quotes.
const QUOTED: usize = 60;

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
    /// It may be why a check passes, of which nothing but its exit status is known: it is shown, and holds nothing.
    Named,
    /// It is shown, and holds nothing: the tests of the file, as they were, pass on the head.
    Shown,
    /// It is shown, and holds the change together with a ground of another comparison.
    Ground,
    /// It holds the change alone.
    Proof,
}

/// The sentence for it, behind its file. Names from outside stand in it as they are; the caller makes them safe.
impl std::fmt::Display for Tampering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
    /// In a file, where the lines of `old` go and those of `new` come.
    fn at(self, path: &str, old: &[&CodeLine], new: &[&CodeLine]) -> Self {
        let line = new.first().or(old.first()).map_or(0, |line| line.number);
        let removed = old.iter().map(|line| format!("-{}", line.text));
        let lines = removed.chain(new.iter().map(|line| format!("+{}", line.text)));
        Self {
            path: Some(path.to_owned()),
            line,
            hunk: lines.take(MOST_SHOWN).collect(),
            ..self
        }
    }

    /// A finding that holds where `holds`, and else is only named.
    fn named_unless(self, holds: bool) -> Self {
        let weight = if holds { self.weight } else { Weight::Named };
        Self { weight, ..self }
    }

    /// What it is, wherever in its file: lines move with every push.
    fn key(&self) -> String {
        self.path
            .iter()
            .map(|path| format!("{path}: "))
            .chain([self.deed.clone()])
            .collect()
    }
}

/// Each way of weakening without its line, and how often it occurs: what a person takes responsibility for.
pub fn counts(found: &[Tampering]) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    found
        .iter()
        .for_each(|one| *counts.entry(one.key()).or_default() += 1);
    counts
}

/// The finding that holds the change, of those that no person accepted: a proof, or one of the grounds that two
/// comparisons find.
pub fn not_accepted<'f>(
    found: &'f [Tampering],
    accepted: &BTreeMap<String, u32>,
) -> Option<&'f Tampering> {
    let counts = counts(found);
    let is_open = |one: &&Tampering| {
        one.weight > Weight::Shown && counts.get(&one.key()) > accepted.get(&one.key())
    };
    let open: Vec<_> = found.iter().filter(is_open).collect();
    let comparisons: BTreeSet<Comparison> = open.iter().map(|one| one.comparison).collect();
    let heaviest = open
        .iter()
        .max_by_key(|one| (one.weight, std::cmp::Reverse(one.comparison)))?;
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
    /// A fixer's edits, before anything has run. `failed` are the tests that it is to mend; `state` is that of the loop
    /// that it works for.
    pub fn of_fixer(
        files: &'a ChangedFiles,
        contents: &'a Contents,
        before: Sha,
        head: Sha,
        failed: BTreeSet<&'a str>,
        state: Option<&'a LoopState>,
    ) -> Self {
        let wrong = state.map(runs::settled_as_wrong).unwrap_or_default();
        let runs = Runs {
            failed,
            wrong,
            ..Runs::default()
        };
        Self {
            files,
            contents,
            before: Some(before),
            head,
            is_of_fixer: true,
            runs,
        }
    }

    /// A pull request, or a loop's head, with what its evidence and its earlier attempts say.
    pub fn of_head(snapshot: &'a Snapshot, state: &'a LoopState, policy: &'a Policy) -> Self {
        let (head, before) = (snapshot.pull_request.head.sha, snapshot.merge_base);
        let runs = Runs::of_head(snapshot, state, policy);
        Self {
            files: &snapshot.files,
            contents: &snapshot.contents,
            before,
            head,
            is_of_fixer: false,
            runs,
        }
    }

    /// Whether the tests of the file, as they were, pass on the head: what was edited is not why they pass.
    fn passes_as_it_was(&self, file: &ChangedFile) -> bool {
        let passes = |run: &&BaseTestRun| {
            run.on_head == ProofEnd::Passed && file.paths().any(|path| path == run.file)
        };
        self.runs.base_tests.iter().any(passes)
    }

    /// A finding. One of a fixer holds its edits, whatever it is.
    fn finding(
        &self,
        comparison: Comparison,
        holds_alone: bool,
        deed: impl Into<String>,
    ) -> Tampering {
        let weight = if holds_alone || self.is_of_fixer {
            Weight::Proof
        } else {
            Weight::Ground
        };
        Tampering {
            comparison,
            weight,
            deed: deed.into(),
            gone: None,
            path: None,
            line: 0,
            hunk: Vec::new(),
        }
    }
}

/// A line as a sentence quotes it.
fn quoted(text: &str) -> String {
    text.trim().replace('`', "'").chars().take(QUOTED).collect()
}

/// Whether one of these reports' tests is declared by this name.
fn names(reported: &BTreeSet<&str>, declared: &str) -> bool {
    reported
        .iter()
        .any(|reported| is_declared(reported, declared))
}

/// Files whose text the comparisons need beside the patches, at [`Snapshot::merge_base`] and at the head.
pub fn files_to_read(files: &ChangedFiles, before: Option<Sha>, head: Sha) -> BTreeSet<FileAt> {
    let read = |file: &ChangedFile| {
        let old = before.map(|before| (before, file.old_path().to_owned()));
        old.into_iter().chain([(head, file.path.clone())])
    };
    written::with_tests(files)
        .take(written::MOST_FILES)
        .chain(selection::whole_files(files))
        .flat_map(read)
        .collect()
}

/// Whether a change touches files that hold tests.
pub fn holds_tests(files: &ChangedFiles) -> bool {
    written::with_tests(files).next().is_some()
}

/// Everything in a change that weakens what checks it: what is written, what decides what runs, what ran, and the
/// base's tests.
pub fn findings(change: &Change<'_>) -> Vec<Tampering> {
    let mut found = written::compare(change);
    found.extend(selection::compare(change));
    found.extend(fewer_ran(change, &found));
    let of_base: Vec<_> = change
        .runs
        .base_tests
        .iter()
        .filter_map(|run| base_test(change, run, &found))
        .collect();
    found.extend(of_base);
    found.truncate(MOST_FOUND);
    found
}

/// Tests that ran before and do not run now, more than the tests that the change is seen to remove. It is a proof where
/// one of them failed, a file that selects tests is changed, or only a fixer changed anything since they ran; else the
/// reason may lie outside of the change.
fn fewer_ran(change: &Change<'_>, found: &[Tampering]) -> Option<Tampering> {
    let (before, now) = change.runs.ran?;
    // As many may have another name now. What a fixer takes away is refused, so that then none has.
    let gone = found
        .iter()
        .filter(|one| one.gone.is_some() && !change.runs.follow_fix)
        .count() as u64;
    let selects = found
        .iter()
        .any(|one| one.comparison == Comparison::Selection);
    let holds = selects || change.runs.follow_fix || change.runs.lack_failed();
    let deed = format!("fewer tests run now: {before} before, {now} after");
    (before > now.saturating_add(gone)).then(|| change.finding(Comparison::Ran, holds, deed))
}

/// A changed test that passes as changed and fails as it was, unless each that fails so was settled to be wrong, or is
/// shown to go with the code that it calls.
fn base_test(change: &Change<'_>, run: &BaseTestRun, found: &[Tampering]) -> Option<Tampering> {
    let is_shown =
        |one: &&Tampering| one.weight == Weight::Ground && one.path.as_ref() == Some(&run.file);
    let gone = found
        .iter()
        .filter(is_shown)
        .filter_map(|one| one.gone.as_deref());
    let is_cleared = |test: &String| {
        names(&change.runs.wrong, test) || gone.clone().any(|gone| is_declared(test, gone))
    };
    if run.on_head != ProofEnd::Failed
        || !run.failing.is_empty() && run.failing.iter().all(is_cleared)
    {
        return None;
    }
    let fail = "the checks fail with the file as it was before";
    let failing: Vec<String> = run
        .failing
        .iter()
        .take(3)
        .map(|test| format!("“{test}”"))
        .collect();
    let deed = if failing.is_empty() {
        fail.to_owned()
    } else {
        format!("{fail}: {}", failing.join(", "))
    };
    let failed = run
        .failing
        .iter()
        .any(|test| names(&change.runs.failed, test));
    Some(
        change
            .finding(Comparison::BaseTests, failed, deed)
            .at(&run.file, &[], &[]),
    )
}

#[cfg(test)]
mod tests;
