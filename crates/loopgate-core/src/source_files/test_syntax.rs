//! How a language writes tests, assertions and skips. The patterns are data: `data/languages.toml`.

use regex::{Captures, Regex};
use serde::{Deserialize, Deserializer, de};

use super::table::Table;

/// A row `test_syntax` of `data/languages.toml`, which says what its keys mean. Patterns are tried on one line without its
/// comments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestSyntax {
    /// Whether tests stand in the files that they test.
    #[serde(default)]
    pub inline: bool,
    test: Pattern,
    function: Pattern,
    skip: Pattern,
    file_skip: Option<Pattern>,
    assertion: Pattern,
    exact: Pattern,
    vain: Option<Pattern>,
    row: Option<Pattern>,
}

/// A regular expression that is written in a data file.
#[derive(Debug)]
pub struct Pattern(pub Regex);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Regex::new(&String::deserialize(deserializer)?).map(Self).map_err(de::Error::custom)
    }
}

impl TestSyntax {
    /// By the language of a path. `None` if its tests are not known.
    pub fn of(path: &str) -> Option<&'static Self> {
        Table::get().language(path)?.test_syntax()
    }

    /// The name of the test that begins in this line; empty if the name stands in a line below.
    pub fn test<'l>(&self, line: &'l str) -> Option<&'l str> {
        let found = self.test.0.captures(line)?;
        Some(first_group(&found).or_else(|| self.function(line)).unwrap_or_default())
    }

    pub fn function<'l>(&self, line: &'l str) -> Option<&'l str> {
        self.function.0.captures(line).and_then(|found| first_group(&found))
    }

    /// What in this line keeps tests from running.
    pub fn skip<'l>(&self, line: &'l str) -> Option<&'l str> {
        self.skip.0.find(line).map(|found| found.as_str().trim())
    }

    /// Whether the line, as it is written, keeps its whole file from running.
    pub fn skips_file(&self, line: &str) -> bool {
        self.file_skip.as_ref().is_some_and(|pattern| pattern.0.is_match(line))
    }

    /// Assertions in the line. One that checks nothing as it is written is none.
    pub fn assertions(&self, line: &str) -> usize {
        let is_vain = self.vain.as_ref().is_some_and(|pattern| pattern.0.is_match(line));
        if is_vain { 0 } else { self.assertion.0.find_iter(line).count() }
    }

    /// Whether the line asserts one value only.
    pub fn is_exact(&self, line: &str) -> bool {
        self.exact.0.is_match(line)
    }

    /// Whether the line holds rows of parameters, in the words of the language.
    pub fn has_rows(&self, line: &str) -> bool {
        self.row.as_ref().is_some_and(|pattern| pattern.0.is_match(line))
    }
}

fn first_group<'a>(found: &Captures<'a>) -> Option<&'a str> {
    found.iter().skip(1).flatten().next().map(|group| group.as_str())
}
