//! Edits that may be why what failed passes, where no report shows how it ended.

use super::{CodeLine, Edit, Tampering, WORDS, commands::command_of_key};
use crate::{
    observed::FileStatus,
    source_files::{TestSyntax, belongs_to_tests, file_name},
};

impl Edit<'_> {
    /// An edit that may be why what failed passes: of what decides which tests run, by a fixer or where a test that
    /// failed is not seen to end; of recorded output and data of tests, after one failed; of any test file where an
    /// exit status alone says that it passes. Test files that pass as they were are no reason.
    pub(super) fn unseen(&self) -> Option<Tampering> {
        let (path, runs, is_of_fixer) =
            (&self.file.path, &self.change.runs, self.change.is_of_fixer);
        // Of data with commands among it the other values decide nothing.
        let decides_line = |line: &&&CodeLine| !self.has_commands || self.decides(line);
        let goes = self.goes.iter().find(decides_line).copied();
        let comes = self.comes.iter().find(decides_line).copied();
        let is_new = self.file.status != FileStatus::Modified;
        let is_edited = goes.is_some() || comes.is_some() || is_new;
        let decides = || {
            let decides = || self.decides_what_runs() || runs.is_blind && self.has_commands;
            is_edited && decides()
        };
        let is_environment = || {
            let mut paths = self.file.paths();
            paths.any(|path| WORDS.test_environment.is_match(path))
        };
        let is_test = || {
            self.file.status != FileStatus::Added
                && (self.file.paths().any(belongs_to_tests) || is_environment())
                && !self.change.passes_as_it_was(self.file)
        };
        let is_data = || is_test() && (TestSyntax::of(path).is_none() || is_environment());
        let deed = if runs.is_blind && (decides() || is_test()) {
            "what failed passes by its exit status alone, and this file is edited"
        } else if runs.lack_failed() && decides() {
            "a test that failed is not seen to end, and this file, which decides what runs, is edited"
        } else if is_of_fixer && (is_new || !self.has_commands) && decides() {
            "this file decides what runs, and is edited"
        } else if runs.by_exit_status && is_data() {
            let deed = "a check failed before, and this file, which tests read, is edited";
            let named = self.finding(true, deed.to_owned(), goes.as_slice(), comes.as_slice());
            return Some(named.named_unless(self.is_data_of_failed()));
        } else if (is_of_fixer || !runs.failed.is_empty()) && is_data() {
            "a test failed before, and this file, which tests read, is edited"
        } else {
            return None;
        };
        Some(self.finding(true, deed.to_owned(), goes.as_slice(), comes.as_slice()))
    }

    /// Whether a line holds a command, or words by which tests are selected.
    fn decides(&self, line: &CodeLine) -> bool {
        let is_command = match self.is_keyed {
            true => command_of_key(line).is_some_and(|command| {
                WORDS.runners.is_match(&command.text) || WORDS.targets.is_match(command.name)
            }),
            false => true,
        };
        let mut settings = self.words.settings.iter();
        is_command || settings.any(|words| words.is_match(&line.text))
    }

    /// Whether a test that failed has the name of this file in its own: `bill` of `fixtures/bill.json`.
    fn is_data_of_failed(&self) -> bool {
        let name = file_name(&self.file.path).to_lowercase();
        let name = name.split('.').next().unwrap_or_default();
        let mut failed = self.change.runs.failed.iter();
        name.len() > 2 && failed.any(|test| test.to_lowercase().contains(name))
    }
}
