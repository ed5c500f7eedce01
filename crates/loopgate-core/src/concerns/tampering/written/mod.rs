//! Comparison 2: what is written in the test files that a change touches, read whole on both sides.

mod file;
mod part;
mod rest;

use std::collections::BTreeMap;

use self::{
    file::{conditional_name, overshadowed, stand_ins},
    part::{changed, removed},
    rest::Rest,
};
use super::{
    change::Change,
    finding::{Comparison, Tampering, Weight},
    source::{CodeLine, Part, parts},
};
use crate::{
    observed::{ChangedFile, ChangedFiles, FileStatus},
    source_files::{TestSyntax, is_named_test, is_test},
};

/// Test files that are read, and bytes of them: hostile changes are large.
pub(super) const MOST_FILES: usize = 40;
const MOST_BYTES: usize = 2 << 20;

/// The files of a change that hold tests, by their place or by the words of their patch.
pub(super) fn with_tests(files: &ChangedFiles) -> impl Iterator<Item = &ChangedFile> {
    files.known().iter().filter(|file| {
        let names_tests = || {
            file.patch
                .as_deref()
                .is_none_or(|patch| pattern!("test|assert").is_match(patch))
        };
        let holds =
            |path: &str, syntax: &TestSyntax| is_test(path) || syntax.inline && names_tests();
        file.paths()
            .any(|path| TestSyntax::of(path).is_some_and(|syntax| holds(path, syntax)))
    })
}

/// A part before and after: what has one name on both sides, or stands on one.
type Pair<'a> = (Option<&'a Part<'a>>, Option<&'a Part<'a>>);

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let (mut found, mut olds, mut news, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let is_in_question = |file: &&ChangedFile| !change.runs.proven.contains(file.old_path());
    for (index, file) in with_tests(change.files).filter(is_in_question).enumerate() {
        let sides = change.sides(file).filter(|sides| {
            bytes += sides
                .iter()
                .flatten()
                .map(|line| line.text.len())
                .sum::<usize>();
            index < MOST_FILES && bytes <= MOST_BYTES
        });
        let Some((sides, syntax)) = sides.zip(file.paths().find_map(TestSyntax::of)) else {
            let unread = change.finding(Comparison::Written, false, "its tests cannot be read");
            found.push(unread.at(&file.path, &[], &[]));
            continue;
        };
        let [old, new] = parts_of(file, syntax, sides);
        found.extend(stand_ins(change, file, syntax, [&old, &new]));
        found.extend(conditional_name(change, file));
        found.extend(overshadowed(change, file, [&old, &new]));
        olds.extend(old);
        news.extend(new);
    }
    let pairs = pairs(&olds, &news);
    let mut rest = Rest::of(change, &pairs);
    for pair in &pairs {
        match *pair {
            (Some(old), None) if old.is_test => found.extend(removed(change, old, &mut rest)),
            (Some(old), Some(new)) => found.extend(changed(change, old, new, &mut rest)),
            _ => {}
        }
    }
    for file in change
        .files
        .known()
        .iter()
        .filter(|file| change.passes_as_it_was(file))
    {
        let of_file = found
            .iter_mut()
            .filter(|one| one.path.as_ref() == Some(&file.path));
        of_file.for_each(|one| one.weight = Weight::Shown);
    }
    found
}

/// The parts of a test file before and after. Of a file of the program only its tests matter, and marks outside of
/// them.
fn parts_of<'a>(
    file: &'a ChangedFile,
    syntax: &'static TestSyntax,
    sides: [Vec<CodeLine>; 2],
) -> [Vec<Part<'a>>; 2] {
    let [old, new] = sides;
    let of_side = |path: &str, lines| -> Vec<Part<'a>> {
        let mut parts = parts(file, syntax, lines);
        if !is_test(path) {
            parts.retain(|part| part.is_test || part.name.is_empty());
            parts[0]
                .lines
                .retain(|line| syntax.skip(&line.text).is_some());
        }
        parts
    };
    let is_new = file.status == FileStatus::Added;
    let old = if is_new {
        Vec::new()
    } else {
        of_side(file.old_path(), old)
    };
    let mut new = of_side(&file.path, new);
    // A mark on the whole of a new file takes nothing but the tests that come from another file.
    let is_marked = is_new && new[0].skip_more(&[]).is_some();
    // A runner that looks for tests by the names of their files finds it no more.
    let is_lost = is_named_test(file.old_path()) && !is_named_test(&file.path);
    new.retain(|part| !part.is_test || !is_marked && !is_lost);
    [old, new]
}

/// Puts together what has one name in one file.
fn pairs<'a>(olds: &'a [Part<'a>], news: &'a [Part<'a>]) -> Vec<Pair<'a>> {
    let mut named: BTreeMap<(&str, &str), Vec<&Part<'_>>> = BTreeMap::new();
    news.iter().for_each(|new| {
        named
            .entry((&new.file.path, &new.name))
            .or_default()
            .push(new)
    });
    let paired = olds.iter().map(|old| {
        let news = named.get_mut(&(old.file.path.as_str(), old.name.as_str()));
        let fits = |new: &&Part<'_>| new.is_test || !old.is_test;
        (
            Some(old),
            news.and_then(|news| Some(news.remove(news.iter().position(fits)?))),
        )
    });
    let mut pairs: Vec<Pair<'_>> = paired.collect();
    pairs.extend(named.into_values().flatten().map(|new| (None, Some(new))));
    pairs
}
