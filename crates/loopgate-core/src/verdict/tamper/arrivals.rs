//! What a change brings to its tests and their helpers: it may take the place of what goes elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    asserted::{Asserted, asserts, body, is_row, plain, reached, values},
    source::{CodeLine, Part},
    words,
    written::Pair,
};

/// Lines, and the values in them, that a change brings; each may take the place of one that goes.
#[derive(Default)]
pub(super) struct Pool {
    lines: BTreeMap<String, usize>,
    values: BTreeMap<String, usize>,
}

/// What comes to tests and to helpers that are new, or that grow.
pub(super) struct Arrivals {
    pub(super) tests: Pool,
    pub(super) helpers: Pool,
    /// Each test of the new side, by its lines.
    pub(super) bodies: BTreeSet<Vec<String>>,
}

impl Arrivals {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        let (mut of_tests, mut of_helpers) = (Pool::default(), Pool::default());
        // A test that is new and does not run brings nothing.
        let is_skipped = |pair: &Pair<'_>, new: &Part| {
            let is_marked = || new.lines.iter().any(|line| pair.file.syntax.skip(&line.text).is_some());
            pair.old.is_none() && new.is_test && is_marked()
        };
        let runs = |pair: &'_ Pair<'_>| !pair.new.is_none_or(|new| is_skipped(pair, new));
        let brought: Vec<(&Pair<'_>, &Part)> =
            pairs.iter().filter(|pair| runs(pair)).filter_map(|pair| Some((pair, pair.new?))).collect();
        let tests = || brought.iter().map(|(_, new)| *new).filter(|new| new.is_test);
        let used: BTreeSet<&str> = tests().flat_map(|test| &test.lines).flat_map(|line| words(&line.text)).collect();
        // A call of a helper that is new and asserts states values as an assertion does.
        let helpers = brought.iter().filter(|(pair, new)| pair.old.is_none() && !new.is_test && !new.name.is_empty());
        let asserting = helpers.filter(|(pair, new)| Asserted::of(pair.file.syntax, new).count > 0);
        let asserting: BTreeSet<&str> = asserting.map(|(_, new)| new.name.as_str()).collect();
        for (pair, new) in &brought {
            let syntax = pair.file.syntax;
            // The rows of a test may stand in a function that it names.
            let gives_rows = pair.old.is_none()
                && used.contains(new.name.as_str())
                && new.lines.iter().any(|line| is_row(syntax, line));
            let pool = if new.is_test || gives_rows { &mut of_tests } else { &mut of_helpers };
            let mut had: BTreeMap<String, usize> = BTreeMap::new();
            for line in pair.old.iter().flat_map(|old| &old.lines) {
                *had.entry(line.words()).or_default() += 1;
            }
            for line in reached(new) {
                if let Some(left @ 1..) = had.get_mut(&line.words()) {
                    *left -= 1;
                    continue;
                }
                *pool.lines.entry(line.words()).or_default() += 1;
                let calls = || words(&line.text).any(|word| asserting.contains(word));
                if asserts(syntax, line) || is_row(syntax, line) || calls() {
                    for value in values(&line.text) {
                        *pool.values.entry(plain(value)).or_default() += 1;
                    }
                }
            }
        }
        let bodies = tests().map(body).collect();
        Self { tests: of_tests, helpers: of_helpers, bodies }
    }
}

impl Pool {
    /// Takes the line out of what arrives: it stands in a new place, or all its values do.
    pub(super) fn take(&mut self, line: &CodeLine) -> bool {
        if let Some(left @ 1..) = self.lines.get_mut(&line.words()) {
            *left -= 1;
            return true;
        }
        let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
        for value in values(&line.text) {
            *wanted.entry(plain(value)).or_default() += 1;
        }
        let has_all = wanted.iter().all(|(value, count)| self.values.get(value).is_some_and(|left| left >= count));
        if wanted.is_empty() || !has_all {
            return false;
        }
        for (value, count) in wanted {
            self.values.entry(value).and_modify(|left| *left -= count);
        }
        true
    }
}
