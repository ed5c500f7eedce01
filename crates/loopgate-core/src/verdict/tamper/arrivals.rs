//! What a change brings to its tests and their helpers: it may take the place of what goes elsewhere.

use std::collections::BTreeSet;

use super::{
    asserted::{Asserted, asserts, body, is_row, plain, reached, values},
    source::{Bag, CodeLine, Part, missing},
    words,
    written::Pair,
};

/// Lines that a change brings, and the values that they state; each may take the place of one that goes.
pub(super) struct Arrivals {
    /// In tests that run, and in helpers that such a test names.
    pub(super) of_tests: Bag,
    pub(super) elsewhere: Bag,
    /// Each test of the new side, by its lines.
    pub(super) bodies: BTreeSet<Vec<String>>,
}

impl Arrivals {
    pub(super) fn of(pairs: &[Pair<'_>]) -> Self {
        // A test that is new and does not run brings nothing.
        let runs = |pair: &Pair<'_>, new: &Part| {
            let is_marked = |line: &CodeLine| pair.file.syntax.skip(&line.text).is_some();
            pair.old.is_some() || !new.is_test || !new.lines.iter().any(is_marked)
        };
        let news = pairs.iter().filter_map(|pair| Some((pair, pair.new.filter(|new| runs(pair, new))?)));
        let (tests, helpers): (Vec<_>, Vec<_>) = news.partition(|(_, new)| new.is_test);
        let lines = tests.iter().flat_map(|(_, test)| &test.lines);
        let named: BTreeSet<&str> = lines.flat_map(|line| words(&line.text)).collect();
        let (used, others): (Vec<_>, Vec<_>) =
            helpers.into_iter().partition(|(_, helper)| named.contains(helper.name.as_str()));
        let asserting = used.iter().filter(|(pair, helper)| Asserted::of(pair.file.syntax, helper).count > 0);
        let asserting: BTreeSet<&str> = asserting.map(|(_, helper)| helper.name.as_str()).collect();
        let bodies = tests.iter().map(|(_, test)| body(test)).collect();
        let of_tests = brought(&[tests, used].concat(), &asserting);
        Self { of_tests, elsewhere: brought(&others, &asserting), bodies }
    }
}

/// The lines that come to these parts. A call of a helper that asserts states values as an assertion does.
fn brought(parts: &[(&Pair<'_>, &Part)], asserting: &BTreeSet<&str>) -> Bag {
    let mut bag = Bag::default();
    for (pair, new) in parts {
        let syntax = pair.file.syntax;
        for line in missing(reached(new), pair.old.iter().flat_map(|old| &old.lines)) {
            bag.add(line.words());
            let calls = || words(&line.text).any(|word| asserting.contains(word));
            if asserts(syntax, line) || is_row(syntax, line) || calls() {
                values(&line.text).for_each(|value| bag.add(plain(value)));
            }
        }
    }
    bag
}

impl Bag {
    /// Takes out a line that goes: it stands in a new place, or all its values do.
    pub(super) fn take_line(&mut self, line: &CodeLine) -> bool {
        let values: Vec<String> = values(&line.text).map(plain).collect();
        self.take(&[line.words()]) || !values.is_empty() && self.take(&values)
    }
}
