//! Executable lines and how often each ran, gathered file by file.
//!
//! Reports name a file more than once (a section per test binary, a class per inner class, a method and its class both
//! listing its lines); the same line's counts are then taken as one line's, and the largest stands.

use std::collections::{BTreeMap, HashMap, btree_map::Entry};

use indexmap::IndexMap;

use loopgate_core::evidence::FileCoverage;

use crate::{Flaw, Notes, text};

/// Lines kept, over all files; a project with more has them counted, but not listed by file.
const MAX_LINES: usize = 4_000_000;
/// Files whose sums are kept.
const MAX_COUNTERS: usize = 1_000_000;
/// Source directories kept.
const MAX_SOURCES: usize = 50;

/// The coverage a report gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// By path, as the report writes it; absolute, or relative to wherever the tool ran.
    pub files: Vec<FileCoverage>,
    pub lines_covered: u64,
    /// Executable lines.
    pub lines_total: u64,
    /// Directories the paths may be relative to, as the report names them.
    pub sources: Vec<String>,
}

#[derive(Default)]
pub(super) struct CoverageTable {
    files: IndexMap<String, BTreeMap<u32, u64>>,
    current: usize,
    /// Covered and all lines of files, by the reports' own sums, which count where a file's lines are not listed.
    counters: HashMap<usize, (u64, u64)>,
    lines: usize,
    /// Lines past [`MAX_LINES`]: counted only.
    uncounted_covered: u64,
    uncounted_total: u64,
    sources: Vec<String>,
    /// A coverage report was read, even if it lists no file.
    pub expected: bool,
}

impl CoverageTable {
    /// Paths may be relative to this directory.
    pub fn source(&mut self, directory: &str) {
        let directory = directory.trim();
        if !directory.is_empty() && self.sources.len() < MAX_SOURCES {
            self.sources.push(text::path(directory));
        }
    }

    /// The lines that follow are of this file.
    pub fn file(&mut self, path: &str) {
        self.expected = true;
        let file = self.files.entry(text::path(path));
        self.current = file.index();
        file.or_default();
    }

    /// An executable line of the current file ran `hits` times.
    pub fn line(&mut self, line: u32, hits: u64) {
        let Some((_, lines)) = self.files.get_index_mut(self.current) else {
            return;
        };
        match lines.entry(line) {
            Entry::Occupied(mut known) => *known.get_mut() = hits.max(*known.get()),
            Entry::Vacant(new) if self.lines < MAX_LINES => {
                new.insert(hits);
                self.lines += 1;
            }
            Entry::Vacant(_) => {
                self.uncounted_total += 1;
                self.uncounted_covered += u64::from(hits > 0);
            }
        }
    }

    /// How many lines of the current file ran, by the report's own sum.
    pub fn counter(&mut self, covered: u64, total: u64) {
        if self.current < self.files.len() && self.counters.len() < MAX_COUNTERS {
            self.counters
                .insert(self.current, (covered.min(total), total));
        }
    }

    pub fn finish(self, notes: &mut Notes) -> Option<Coverage> {
        if !self.expected {
            return None;
        }
        notes.flaws(Flaw::TOO_MANY_LINES, self.uncounted_total, || {
            format!("after {MAX_LINES} others")
        });
        let mut coverage = Coverage {
            files: Vec::new(),
            lines_covered: self.uncounted_covered,
            lines_total: self.uncounted_total,
            sources: self.sources,
        };
        let mut summed_up = 0;
        for (index, (path, lines)) in self.files.into_iter().enumerate() {
            if let Some((covered, total)) = self.counters.get(&index).filter(|_| lines.is_empty()) {
                coverage.lines_covered += covered;
                coverage.lines_total += total;
                summed_up += u64::from(*total > 0);
            }
            coverage.lines_total += lines.len() as u64;
            coverage.lines_covered += lines.values().filter(|hits| **hits > 0).count() as u64;
            coverage.files.push(FileCoverage { path, lines });
        }
        notes.flaws(Flaw::LINES_NOT_LISTED, summed_up, || "their sums are used");
        coverage.files.sort_by(|a, b| a.path.cmp(&b.path));
        Some(coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_named_twice_is_one_line() {
        let mut table = CoverageTable::default();
        for (path, line, hits) in [
            ("./b.rs", 3, 0),
            ("a.rs", 1, 2),
            ("b.rs", 3, 5),
            ("b.rs", 4, 0),
        ] {
            table.file(path);
            table.line(line, hits);
        }
        let coverage = table.finish(&mut Notes::default()).unwrap();
        let file = |path: &str, lines: &[(u32, u64)]| FileCoverage {
            path: path.into(),
            lines: lines.iter().copied().collect(),
        };
        let expected = Coverage {
            files: vec![file("a.rs", &[(1, 2)]), file("b.rs", &[(3, 5), (4, 0)])],
            lines_covered: 2,
            lines_total: 3,
            sources: Vec::new(),
        };
        assert_eq!(coverage, expected);
    }

    #[test]
    fn no_coverage_is_not_empty_coverage() {
        assert_eq!(CoverageTable::default().finish(&mut Notes::default()), None);
        let empty = CoverageTable {
            expected: true,
            ..CoverageTable::default()
        };
        let coverage = empty.finish(&mut Notes::default()).unwrap();
        assert_eq!(coverage.lines_total, 0);
    }
}
