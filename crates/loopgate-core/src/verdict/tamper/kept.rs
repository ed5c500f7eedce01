//! What a change keeps of what it takes: tests that are moved, written in other words, or gone with what they tested.

use std::{
    cell::LazyCell,
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use regex::Regex;

use super::{patch::Patch, removed_tests};
use crate::{
    observed::FileStatus,
    source_files::{is_test, stem},
    verdict::test_syntax::TestSyntax,
};

/// Of the values that removed lines of tests name, this share may be missing in the added ones: a message is written
/// anew, a number that is expected is not.
const MAY_BE_MISSING: usize = 5;

/// Most changes take nothing from their tests, and then nobody asks.
type Lazily<'a, T> = LazyCell<T, Box<dyn FnOnce() -> T + 'a>>;

pub(super) struct Kept<'a> {
    /// The lines that are added to tests, by their text, and how often.
    lines: Lazily<'a, BTreeMap<&'a str, usize>>,
    /// The values of those lines.
    values: Lazily<'a, BTreeSet<&'a str>>,
    /// Files and functions of the program that the change takes away.
    gone: Lazily<'a, BTreeSet<String>>,
}

impl<'a> Kept<'a> {
    pub(super) fn of(patches: &'a [Patch<'a>]) -> Self {
        let added = || patches.iter().filter(|patch| is_test(&patch.file.path)).flat_map(|patch| patch.added_code());
        Self {
            lines: LazyCell::new(Box::new(move || {
                let mut lines = BTreeMap::new();
                added().for_each(|text| *lines.entry(text.trim()).or_default() += 1);
                lines
            })),
            values: LazyCell::new(Box::new(move || added().flat_map(values).collect())),
            gone: LazyCell::new(Box::new(move || gone(patches))),
        }
    }

    /// How often the text stands in a line that is added to a test, in whichever file.
    pub(super) fn arrives(&self, text: &str) -> usize {
        self.lines.get(text.trim()).copied().unwrap_or(0)
    }

    /// Whether the values of what this patch takes from its tests are in the lines that tests gain: the same is asked in
    /// other words, in a table, or by one test instead of three.
    pub(super) fn restates(&self, patch: &Patch<'a>) -> bool {
        let Some(syntax) = TestSyntax::of(&patch.file.path) else { return false };
        let bodies = patch.removed_code().filter(|text| syntax.test(text).is_none());
        let taken: BTreeSet<&str> = bodies.flat_map(values).collect();
        let missing = taken.iter().filter(|value| !self.values.contains(*value)).count();
        !taken.is_empty() && missing * MAY_BE_MISSING <= taken.len()
    }

    /// Whether what the patch takes from its tests names, as often as tests go, what the program loses too.
    pub(super) fn goes_with_its_subject(&self, patch: &Patch<'a>, tests: usize) -> bool {
        let Some(syntax) = TestSyntax::of(&patch.file.path) else { return false };
        let names = |text: &str| {
            syntax.function(text).is_none() && words(text).any(|word| self.gone.contains(&word.to_lowercase()))
        };
        !self.gone.is_empty() && patch.removed_code().filter(|text| names(text)).count() >= tests.max(1)
    }
}

/// Names of files that are removed, and of functions that are removed and turn up nowhere else, in lower case.
fn gone(patches: &[Patch<'_>]) -> BTreeSet<String> {
    let program = || patches.iter().filter(|patch| !is_test(&patch.file.path));
    fn function<'a>(patch: &Patch<'_>, text: &'a str) -> Option<&'a str> {
        TestSyntax::of(&patch.file.path)?.function(text)
    }
    // Some languages keep tests beside what they test.
    let tests: BTreeSet<String> = program().flat_map(removed_tests).collect();
    let removed = program().flat_map(|patch| patch.removed_code().filter_map(|text| function(patch, text)));
    let removed = removed.filter(|name| !tests.contains(*name));
    let added: BTreeSet<&str> =
        patches.iter().flat_map(|patch| patch.added_code().filter_map(|text| function(patch, text))).collect();
    let files = program().filter(|patch| patch.file.status == FileStatus::Removed).map(|patch| stem(&patch.file.path));
    let functions = removed.filter(|name| !added.contains(name));
    // A name of three letters stands in any text.
    functions.chain(files).filter(|name| name.len() > 3).map(|name| name.to_lowercase()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Texts and numbers of a line, without quotes.
pub(super) fn values(line: &str) -> impl Iterator<Item = &str> {
    static VALUES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#""([^"]*)"|'([^']*)'|`([^`]*)`|(?:^|[^\w.])(-?\d[\d_]*(?:\.\d+)?)\b"#)
            .expect("a constant expression")
    });
    VALUES.captures_iter(line).filter_map(|found| found.iter().skip(1).flatten().next().map(|value| value.as_str()))
}
