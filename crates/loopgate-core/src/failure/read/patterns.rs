//! Tables of regular expressions: all tried at once, the few that match compiled alone when they are needed.

use std::sync::OnceLock;

use regex::{Captures, Regex, RegexSet};

/// Constant patterns in the order of their importance.
pub(in crate::failure) struct Patterns {
    sources: Vec<String>,
    set: RegexSet,
    each: Vec<OnceLock<Regex>>,
}

const PROOF: &str = "every pattern is part of the program, and a test compiles it";

impl Patterns {
    /// Compiles the set.
    pub fn new(patterns: impl IntoIterator<Item: AsRef<str>>) -> Self {
        // Unicode's word boundaries cannot be decided by an automaton: one letter outside ASCII in a log would send the
        // whole search to an engine a hundred times slower.
        let sources: Vec<String> =
            patterns.into_iter().map(|pattern| pattern.as_ref().replace(r"\b", r"(?-u:\b)")).collect();
        let set = RegexSet::new(&sources).expect(PROOF);
        let each = sources.iter().map(|_| OnceLock::new()).collect();
        Self { sources, set, each }
    }

    /// The rows that match, in their order.
    pub fn matching(&self, text: &str) -> Vec<usize> {
        self.set.matches(text).into_iter().collect()
    }

    /// What a row captures.
    pub fn captures<'t>(&self, row: usize, text: &'t str) -> Option<Captures<'t>> {
        let source = self.sources.get(row)?;
        self.each.get(row)?.get_or_init(|| Regex::new(source).expect(PROOF)).captures(text)
    }

    /// The first row that matches, with what it captures.
    pub fn first<'t>(&self, text: &'t str) -> Option<(usize, Captures<'t>)> {
        let row = self.matching(text).first().copied()?;
        Some((row, self.captures(row, text)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_wins_whatever_matches() {
        let patterns = Patterns::new([r"\bb(?P<x>.)", r"a(?P<x>.)"]);
        let (row, captures) = patterns.first("ax … by").expect("both match");
        assert_eq!((row, &captures["x"]), (0, "y"));
        assert_eq!(patterns.matching("ax by"), [0, 1]);
        assert!(patterns.first("äbc").is_some(), "boundaries are those of ASCII");
        assert!(patterns.first("c").is_none() && patterns.captures(7, "a").is_none());
    }
}
