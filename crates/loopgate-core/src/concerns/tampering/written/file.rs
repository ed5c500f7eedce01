//! What a test file shows by itself: stand-ins that come, tests that no runner finds, a name for some systems only.

use std::collections::BTreeSet;

use crate::{
    concerns::tampering::{
        change::Change,
        finding::{Comparison, Tampering},
        lines::LINES,
        source::{CodeLine, Part, missing, quoted},
    },
    observed::{ChangedFile, FileStatus},
    source_files::{TestSyntax, is_test, language_of, name_conditions},
};

/// Lines that come and replace what the tests of the file are about: what it imports, or something for every test.
pub(super) fn stand_ins(
    change: &Change<'_>,
    file: &ChangedFile,
    syntax: &'static TestSyntax,
    [old, new]: [&[Part<'_>]; 2],
) -> Vec<Tampering> {
    // In a new file and in a new test they stand in for something from the start.
    if file.status == FileStatus::Added || !is_test(&file.path) {
        return Vec::new();
    }
    let stood = |part: &&Part<'_>| !part.is_test || old.iter().any(|old| old.name == part.name);
    let new = new.iter().filter(stood).flat_map(|part| &part.lines);
    let new: Vec<&CodeLine> = new.collect();
    let old: Vec<&CodeLine> = old.iter().flat_map(|part| &part.lines).collect();
    let comes = missing(new.iter().copied(), old.iter().copied());
    let is_for_every = comes
        .iter()
        .any(|line| LINES.for_every_test.is_match(&line.text));
    // What is replaced may stand in the line below.
    let call = |line: &CodeLine| {
        let next = new.iter().find(|it| it.number > line.number);
        let next = next.filter(|_| line.text.ends_with('('));
        format!("{}{}", line.text, next.map_or("", |it| it.text.trim()))
    };
    let replaces = |line: &&&CodeLine| {
        syntax
            .stand_in(&call(line))
            .is_some_and(|what| is_for_every || is_subject(what, line, &old))
    };
    let deed =
        |line: &CodeLine| format!("what the tests call is replaced: `{}`", quoted(&line.text));
    let lines = comes.iter().filter(replaces);
    let found = lines.map(|line| {
        change
            .finding(Comparison::Written, false, deed(line))
            .at(&file.path, &[], &[line])
    });
    found.collect()
}

/// Whether what is replaced was imported, or named, before: `./fee`, `shop.fee.fee`, `Fee`.
fn is_subject(what: &str, line: &CodeLine, old: &[&CodeLine]) -> bool {
    // What stands behind the last point may be a name of a module.
    let parts = what.rsplit_once('.').filter(|_| !what.contains('/'));
    let module = parts.map_or(what, |(module, _)| module);
    let names = |old: &&&CodeLine| {
        let text = &old.text;
        old.words() != line.words() && (text.contains(what) || text.contains(module))
    };
    let imported = old.iter().filter(|line| LINES.imports.is_match(&line.text));
    what.is_empty() || imported.filter(names).count() > 0
}

/// Tests that stand where no runner finds them: another of their name takes their place below them, or they stand below a
/// `private` of their class.
pub(super) fn overshadowed(
    change: &Change<'_>,
    file: &ChangedFile,
    [old, new]: [&[Part<'_>]; 2],
) -> Vec<Tampering> {
    let by_name = matches!(language_of(&file.path), Some("python" | "ruby" | "shell"));
    if !by_name || !is_test(&file.path) {
        return Vec::new();
    }
    let before: BTreeSet<(&str, &str)> = hidden_tests(old).collect();
    let finding = |(name, why): (&str, &str)| {
        let deed = format!("the test “{name}” {why}");
        let found = change.finding(Comparison::Written, false, deed);
        found.at(&file.path, &[], &[])
    };
    let now: BTreeSet<(&str, &str)> = hidden_tests(new).collect();
    now.difference(&before).copied().map(finding).collect()
}

/// The tests that no runner finds, each with why.
fn hidden_tests<'p>(parts: &'p [Part<'_>]) -> impl Iterator<Item = (&'p str, &'static str)> {
    let outside = parts.iter().filter(|part| part.name.is_empty());
    let outside: Vec<&CodeLine> = outside.flat_map(|part| &part.lines).collect();
    let tests = parts.iter().filter(|part| part.is_test);
    tests.filter_map(move |test| {
        let first = test.lines.first()?;
        // Above it in its class: a class begins with a line that is indented less.
        let class = outside.iter().rev();
        let mut class = class.filter(|line| line.number < first.number);
        let begin = class.find(|line| line.indent() < first.indent());
        let begin = begin.map_or(0, |line| line.number);
        let is_above = |line: &&&CodeLine| (begin..first.number).contains(&line.number);
        let mut above = outside.iter().filter(is_above);
        if above.any(|line| line.text.trim() == "private") {
            return Some((&*test.name, "stands below `private`"));
        }
        let same = |other: &&Part<'_>| other.is_test && other.name == test.name;
        let others = parts.iter().filter(same);
        let numbers = others.filter_map(|other| Some(other.lines.first()?.number));
        let mut numbers = numbers.filter(|number| (begin..first.number).contains(number));
        let is_second = numbers.next().is_some() && test.name.starts_with("test");
        is_second.then_some((&*test.name, "takes the place of another of its name"))
    })
}

/// A name by which its program is built on some systems only, after a rename.
pub(super) fn conditional_name(change: &Change<'_>, file: &ChangedFile) -> Option<Tampering> {
    let before = name_conditions(file.old_path());
    let more = name_conditions(&file.path);
    let more = more.into_iter().find(|word| !before.contains(word))?;
    let deed = format!("its new name builds its tests for `{more}` only");
    let is_renamed = file.status == FileStatus::Renamed && is_test(file.old_path());
    is_renamed.then(|| {
        let found = change.finding(Comparison::Written, false, deed);
        found.at(&file.path, &[], &[])
    })
}
