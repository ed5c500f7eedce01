//! What the rest of a change says of one of its parts.

use std::collections::BTreeSet;

use super::Pair;
use crate::{
    concerns::tampering::{
        change::{Change, names},
        lines::LINES,
        runs::Runs,
        selection::decides_what_runs,
        source::{Bag, CodeLine, Part, is_loose, missing, plain, take, values},
    },
    evidence::words,
    observed::{DiffLine, FileStatus},
    source_files::{FileKind, TestSyntax, belongs_to_tests, is_test, kind, language_of, stem},
};

/// Changed lines that are compared each with each.
pub(super) const MOST_COMPARED: usize = 1_000;

/// What the rest of a change says of one of its parts.
pub(super) struct Rest<'a> {
    /// Lines that come, and the values that they state, each of which may take the place of one that goes: in tests
    /// that run, and in helpers that such a test names.
    pub(super) brought: Bag,
    /// The same lines and values, for tests whose file takes over those of a shared group, which runs in each.
    pub(super) shared: Bag,
    /// The files that do.
    pub(super) sharing: BTreeSet<&'a str>,
    /// Names of the program's code that goes, where a test goes.
    pub(super) gone: BTreeSet<String>,
    /// The files of tests that failed before, and the words of these and of the helpers that they name.
    pub(super) failed: BTreeSet<&'a str>,
    pub(super) used: BTreeSet<&'a str>,
    /// The program is mended too: a test that goes on asserting what it did is not why it passes.
    pub(super) mends: bool,
    /// The lines that come, wherever.
    pub(super) comes: Vec<&'a str>,
}

impl<'a> Rest<'a> {
    pub(super) fn of(change: &Change<'_>, pairs: &[Pair<'a>]) -> Self {
        let Runs { failed, wrong, .. } = &change.runs;
        let news = || pairs.iter().filter_map(|(old, new)| Some((*old, (*new)?)));
        let tests: Vec<_> = news()
            .map(|(_, new)| new)
            .filter(|new| new.is_test)
            .collect();
        let is_failed = |test: &&&Part<'_>| names(failed, &test.name) && !names(wrong, &test.name);
        let failed: Vec<_> = tests.iter().filter(is_failed).copied().collect();
        let named = used_by(&tests, pairs);
        // A test that is new and does not run brings nothing, nor does a helper that no test names.
        let counts = |(old, new): &(Option<_>, &Part<'_>)| match new.is_test {
            true => old.is_some() || new.skip_more(&[]).is_none(),
            false => named.contains(new.name.as_str()),
        };
        let is_removed =
            |(old, new): &Pair<'_>| new.is_none() && old.is_some_and(|old| old.is_test);
        let brought = brought(&news().filter(counts).collect::<Vec<_>>());
        Self {
            shared: brought.clone(),
            sharing: sharing(pairs),
            brought,
            gone: if pairs.iter().any(is_removed) {
                gone(change)
            } else {
                BTreeSet::new()
            },
            used: used_by(&failed, pairs),
            failed: failed.iter().map(|test| test.file.path.as_str()).collect(),
            mends: mends(change),
            comes: news()
                .flat_map(|(old, new)| missing(&new.lines, old.iter().flat_map(|old| &old.lines)))
                .map(|line| line.text.as_str())
                .take(MOST_COMPARED)
                .collect(),
        }
    }
}

/// The files to which a line comes that takes over the tests of a shared group or of a base.
fn sharing<'a>(pairs: &[Pair<'a>]) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    for (old, new) in pairs {
        let Some(new) = new else { continue };
        let comes = missing(&new.lines, old.iter().flat_map(|old| &old.lines));
        if comes
            .iter()
            .any(|line| LINES.takes_over.is_match(&line.text))
        {
            all.insert(new.file.path.as_str());
        }
    }
    all
}

/// Words of tests, and of the helpers that they name.
fn used_by<'a>(tests: &[&'a Part<'a>], pairs: &[Pair<'a>]) -> BTreeSet<&'a str> {
    let mut used: BTreeSet<&str> = tests.iter().flat_map(|test| test.words()).collect();
    let helpers = pairs
        .iter()
        .filter_map(|(_, new)| new.filter(|new| !new.is_test));
    let named: Vec<&Part<'_>> = helpers
        .filter(|helper| used.contains(helper.name.as_str()))
        .collect();
    used.extend(named.into_iter().flat_map(Part::words));
    used
}

/// Names of files that are removed, and of functions that are removed without another in their place.
fn gone(change: &Change<'_>) -> BTreeSet<String> {
    let (mut gone, mut added): (BTreeSet<String>, BTreeSet<String>) = Default::default();
    for file in change
        .files
        .known()
        .iter()
        .filter(|file| !is_test(&file.path))
    {
        let Some(syntax) = TestSyntax::of(&file.path) else {
            continue;
        };
        if file.status == FileStatus::Removed {
            gone.insert(stem(&file.path).to_owned());
        }
        let Some(patch) = file.read_patch() else {
            continue;
        };
        let declared = |line: &DiffLine<'_>| syntax.function(line.text).map(str::to_owned);
        let taken: Vec<String> = patch.removed().filter_map(declared).collect();
        let brought: Vec<String> = patch.added().filter_map(declared).collect();
        if brought.len() < taken.len() {
            gone.extend(taken);
        }
        added.extend(brought);
    }
    // A name of three letters stands in any text.
    gone.retain(|name| name.len() > 3 && !added.contains(name));
    gone
}

/// Whether a change mends the program: it edits lines of code, other than imports, outside of tests.
fn mends(change: &Change<'_>) -> bool {
    // A fixer's edits of tests are refused, whatever stands beside them.
    let mut files = change.files.known().iter().filter(|_| !change.is_of_fixer);
    files.any(|file| {
        let is_program = file.paths().all(|path| {
            kind(path) == FileKind::Code
                && language_of(path).is_some()
                && !belongs_to_tests(path)
                && !decides_what_runs(path)
        });
        let sides = change.sides(file).filter(|_| is_program);
        sides.is_some_and(|sides| {
            let [old, new] = sides.each_ref().map(|lines| {
                let of_tests = |line: &CodeLine| line.text.contains("cfg(test)");
                let end = lines.iter().position(of_tests).unwrap_or(lines.len());
                &lines[..end]
            });
            let edited = missing(old, new).into_iter().chain(missing(new, old));
            edited
                .filter(|line| words(&line.text).next().is_some())
                .any(|line| !LINES.imports.is_match(&line.text))
        })
    })
}

/// What stands before a value of an assertion that lets pass others.
const LOOSE: &str = "\0";

/// The lines that come to these parts. A call of a helper that asserts states values as an assertion does.
fn brought(parts: &[(Option<&Part<'_>>, &Part<'_>)]) -> Bag {
    let asserting = parts
        .iter()
        .filter(|(_, part)| part.asserting().next().is_some());
    let asserting: BTreeSet<&str> = asserting.map(|(_, part)| part.name.as_str()).collect();
    let mut bag = Bag::default();
    for (old, new) in parts {
        for line in missing(new.reached(), old.iter().flat_map(|old| &old.lines)) {
            *bag.entry(line.words()).or_default() += 1;
            let is_assertion = new.asserts(line);
            if is_assertion
                || new.is_row(line)
                || words(&line.text).any(|word| asserting.contains(word))
            {
                let mark = if is_assertion && is_loose(line) {
                    LOOSE
                } else {
                    ""
                };
                let values = values(&line.text).map(|value| format!("{mark}{}", plain(value)));
                values.for_each(|value| *bag.entry(value).or_default() += 1);
            }
        }
    }
    bag
}

/// Takes out a line that goes: it stands in a new place, or all its values do; those of an exact assertion in none that
/// lets pass others.
pub(super) fn take_line(bag: &mut Bag, syntax: &TestSyntax, line: &CodeLine) -> bool {
    let values: Vec<String> = values(&line.text).map(plain).collect();
    let loose: Vec<String> = values
        .iter()
        .map(|value| format!("{LOOSE}{value}"))
        .collect();
    let is_exact = syntax.exact.is_match(&line.text) && !is_loose(line);
    take(bag, &[line.words()])
        || !values.is_empty() && (take(bag, &values) || !is_exact && take(bag, &loose))
}
