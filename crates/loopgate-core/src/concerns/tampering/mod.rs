//! Tampering: a change that makes checks pass by weakening them. It is judged by four comparisons of what is tested
//! before and after: what ran, what is written in test files, what decides what runs, and the base's tests on the head.

pub mod attempt;
mod change;
mod finding;
mod keyed;
mod lines;
mod results;
mod runs;
mod selection;
mod source;
mod written;

use std::collections::BTreeSet;

pub use self::change::Change;
pub use self::finding::{Comparison, Tampering, Weight, counts, not_accepted};
pub use self::runs::{Runs, failed_test};
pub use self::selection::decides_what_runs;
use crate::{
    ids::Sha,
    observed::{ChangedFile, ChangedFiles, FileAt},
};

/// Findings kept of one change.
const MOST_FOUND: usize = 200;

/// Files whose text the comparisons need beside the patches, on the old side and at the head.
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
    found.extend(results::fewer_ran(change, &found));
    let of_base: Vec<_> = change
        .runs
        .base_tests
        .iter()
        .filter_map(|run| results::base_test(change, run, &found))
        .collect();
    found.extend(of_base);
    found.truncate(MOST_FOUND);
    found
}

#[cfg(test)]
mod tests;
