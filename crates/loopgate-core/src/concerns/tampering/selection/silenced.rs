//! What stands in comments and keeps a check from looking: marks that silence a finding, and examples that do not run.

use super::{CodeLine, Edit, NEAR, Tampering, WORDS, quoted};
use crate::{
    observed::{DiffLine, FileStatus, Patch},
    source_files::language_of,
};

impl Edit<'_> {
    /// Examples of the documentation that are run no more. They stand in comments.
    pub(super) fn examples_off(&self, patch: &Patch<'_>) -> Vec<Tampering> {
        if self.file.status == FileStatus::Added || language_of(&self.file.path).is_none() {
            return Vec::new();
        }
        let added = patch.added();
        let added = added.filter(|line| WORDS.examples_off.is_match(line.text));
        let off = |line: &DiffLine<'_>| {
            let deed = format!("an example is not run: `{}`", quoted(line.text));
            let line = CodeLine {
                number: line.new,
                text: line.text.to_owned(),
            };
            self.finding(false, deed, &[], &[&line])
        };
        added.map(off).collect()
    }

    /// Marks that silence a check on a line that a finding named when it failed; of a fixer, on any line.
    pub(super) fn suppressions(&self, patch: &Patch<'_>) -> Vec<Tampering> {
        let named = self.change.runs.named.iter();
        let of_file = named.filter_map(|place| place.strip_prefix(&*self.file.path));
        let named: Vec<u32> = of_file
            .filter_map(|line| line.strip_prefix(':')?.parse().ok())
            .collect();
        let is_near = |line: u32| named.iter().any(|named| named.abs_diff(line) <= NEAR);
        // With their comments.
        let marked = patch
            .added()
            .filter(|line| self.change.is_of_fixer || is_near(line.new))
            .filter(|line| WORDS.suppressions.is_match(line.text))
            .map(|line| {
                let deed = format!(
                    "a finding that failed before is suppressed: `{}`",
                    quoted(line.text)
                );
                let line = CodeLine {
                    number: line.new,
                    text: line.text.to_owned(),
                };
                self.finding(true, deed, &[], &[&line])
            });
        marked.collect()
    }
}
