//! How a language writes tests, assertions and skips. The patterns are data: `data/languages.toml`.

use super::table::{LANGUAGES, TestSyntax};
use crate::expressions::first_group;

impl TestSyntax {
    /// By the language of a path. `None` if its tests are not known.
    pub fn of(path: &str) -> Option<&'static Self> {
        LANGUAGES
            .test_syntax
            .get(LANGUAGES.language(path)?.tests.as_ref()?)
    }

    /// The name of the test that begins in this line; empty if the name stands in a line below.
    pub fn test<'l>(&self, line: &'l str) -> Option<&'l str> {
        let found = self.test.captures(line)?;
        Some(
            first_group(&found)
                .or_else(|| self.function(line))
                .unwrap_or_default(),
        )
    }

    /// Whether a test begins in this line.
    pub fn begins_test(&self, line: &str) -> bool {
        self.test.is_match(line)
    }

    pub fn function<'l>(&self, line: &'l str) -> Option<&'l str> {
        self.function
            .captures(line)
            .and_then(|found| first_group(&found))
    }

    /// What in this line keeps tests from running.
    pub fn skip<'l>(&self, line: &'l str) -> Option<&'l str> {
        self.skip.find(line).map(|found| found.as_str().trim())
    }

    /// Assertions in the line. One that checks nothing as it is written is none.
    pub fn assertions(&self, line: &str) -> usize {
        let is_vain = self.vain.as_ref().is_some_and(|vain| vain.is_match(line));
        if is_vain {
            0
        } else {
            self.assertion.find_iter(line).count()
        }
    }

    /// Whether the line holds rows of parameters, in the words of the language.
    pub fn is_row(&self, line: &str) -> bool {
        self.row.as_ref().is_some_and(|row| row.is_match(line))
    }

    /// What in this line takes from what the pass of a test says: it is to fail, may fail, or is tried again.
    pub fn doubts<'l>(&self, line: &'l str) -> Option<&'l str> {
        let found = self.doubts.as_ref()?.find(line)?;
        Some(found.as_str().trim())
    }

    /// A mark in this line by which settings leave tests out.
    pub fn mark<'l>(&self, line: &'l str) -> Option<&'l str> {
        let found = self.mark.as_ref()?.find(line)?;
        Some(found.as_str().trim())
    }

    /// What this line replaces of what a test calls; empty if it is not named.
    pub fn stand_in<'l>(&self, line: &'l str) -> Option<&'l str> {
        let found = self.stand_in.as_ref()?.captures(line)?;
        Some(first_group(&found).unwrap_or_default())
    }
}
