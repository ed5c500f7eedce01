//! A change with everything that its tests are compared by.

use std::collections::BTreeSet;

use super::{
    finding::{Comparison, Tampering, Weight},
    runs::{self, Runs},
    source::{CodeLine, code_lines, sides_of_patch},
};
use crate::{
    evidence::{BaseTestRun, ProofEnd, is_declared},
    ids::Sha,
    observed::{ChangedFile, ChangedFiles, Contents, FileStatus, Patch, Snapshot},
    policy::Policy,
    state::LoopState,
};

/// A change with everything that its tests are compared by.
#[derive(Hash)]
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
    pub(super) fn passes_as_it_was(&self, file: &ChangedFile) -> bool {
        let passes = |run: &&BaseTestRun| {
            run.on_head == ProofEnd::Passed && file.paths().any(|path| path == run.file)
        };
        self.runs.base_tests.iter().any(passes)
    }

    /// A finding. One of a fixer holds its edits, whatever it is.
    pub(super) fn finding(
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

    /// The lines of code before a change and after it: of the whole file where both sides were read, else what the patch
    /// shows. `None` if nothing is known of a side.
    pub(super) fn sides(&self, file: &ChangedFile) -> Option<[Vec<CodeLine>; 2]> {
        let old = self
            .before
            .and_then(|commit| self.contents.text(commit, file.old_path()));
        let new = self.contents.text(self.head, &file.path);
        if let (Some(old), Some(new)) = (old, new) {
            let lines = |(path, text): (&str, &str)| code_lines(path, (1..).zip(text.lines()));
            return Some([(file.old_path(), old), (file.path.as_str(), new)].map(lines));
        }
        let is_only_renamed =
            file.status == FileStatus::Renamed && file.additions + file.deletions == 0;
        let patch = file
            .read_patch()
            .or_else(|| is_only_renamed.then(Patch::default))?;
        Some(sides_of_patch(file, &patch))
    }
}

/// Whether one of these reports' tests is declared by this name.
pub(super) fn names(reported: &BTreeSet<&str>, declared: &str) -> bool {
    reported
        .iter()
        .any(|reported| is_declared(reported, declared))
}
