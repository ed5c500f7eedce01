//! Comparison 2: what is written in the test files that a change touches, read whole on both sides.

use std::{
    cmp::Ordering::{Equal, Less},
    collections::{BTreeMap, BTreeSet},
};

use super::{
    Change, Comparison, Runs, Tampering, Weight,
    lines::LINES,
    names, quoted,
    selection::decides_what_runs,
    source::{Bag, CodeLine, Part, is_loose, missing, parts, plain, sides, take, tokens, values},
    words,
};
use crate::{
    observed::{ChangedFile, ChangedFiles, DiffLine, FileStatus},
    source_files::{
        FileKind, TestSyntax, belongs_to_tests, is_named_test, is_test, kind, language_of,
        name_conditions, stem,
    },
};

/// Test files that are read, and bytes of them: hostile changes are large.
pub(super) const MOST_FILES: usize = 40;
const MOST_BYTES: usize = 2 << 20;
/// Changed lines that are compared each with each.
const MOST_COMPARED: usize = 1_000;

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
        let sides = sides(change, file).filter(|sides| {
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

/// Lines that come and replace what the tests of the file are about: what it imports, or something for every test.
fn stand_ins(
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
fn overshadowed(
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
fn conditional_name(change: &Change<'_>, file: &ChangedFile) -> Option<Tampering> {
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

/// What the rest of a change says of one of its parts.
struct Rest<'a> {
    /// Lines that come, and the values that they state, each of which may take the place of one that goes: in tests
    /// that run, and in helpers that such a test names.
    brought: Bag,
    /// The same lines and values, for tests whose file takes over those of a shared group, which runs in each.
    shared: Bag,
    /// The files that do.
    sharing: BTreeSet<&'a str>,
    /// Names of the program's code that goes, where a test goes.
    gone: BTreeSet<String>,
    /// The files of tests that failed before, and the words of these and of the helpers that they name.
    failed: BTreeSet<&'a str>,
    used: BTreeSet<&'a str>,
    /// The program is mended too: a test that goes on asserting what it did is not why it passes.
    mends: bool,
    /// The lines that come, wherever.
    comes: Vec<&'a str>,
}

impl<'a> Rest<'a> {
    fn of(change: &Change<'_>, pairs: &[Pair<'a>]) -> Self {
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
fn take_line(bag: &mut Bag, syntax: &TestSyntax, line: &CodeLine) -> bool {
    let values: Vec<String> = values(&line.text).map(plain).collect();
    let loose: Vec<String> = values
        .iter()
        .map(|value| format!("{LOOSE}{value}"))
        .collect();
    let is_exact = syntax.exact.is_match(&line.text) && !is_loose(line);
    take(bag, &[line.words()])
        || !values.is_empty() && (take(bag, &values) || !is_exact && take(bag, &loose))
}

/// A test that stands in its file no more, unless its assertions all stand in new tests. Nothing clears one that
/// failed: what else it does may be why it passes.
fn removed(change: &Change<'_>, old: &Part<'_>, rest: &mut Rest<'_>) -> Option<Tampering> {
    let failed = names(&change.runs.failed, &old.name);
    let mut lines: Vec<&CodeLine> = old.asserting().collect();
    if lines.is_empty() {
        lines.extend(old.below());
    }
    let is_shared = rest.sharing.contains(old.file.path.as_str());
    let mut of_group = rest.shared.clone();
    let bag = match is_shared {
        true => &mut of_group,
        false => &mut rest.brought,
    };
    let stand = lines
        .iter()
        .filter(|line| take_line(bag, old.syntax, line))
        .count();
    if !failed && !lines.is_empty() && stand == lines.len() {
        return None;
    }
    let is_moved = failed && rest.mends && !lines.is_empty() && stand == lines.len();
    let with_subject = !failed
        && old
            .words()
            .any(|word| word != old.name && rest.gone.contains(word));
    let goes = if with_subject {
        "is removed with the code that it calls"
    } else {
        "is removed"
    };
    let (deed, lines) = (
        format!("the test “{}” {goes}", old.name),
        Vec::from_iter(&old.lines),
    );
    let found = change
        .finding(Comparison::Written, !with_subject, deed)
        .at(&old.file.path, &lines, &[])
        .named_unless(!is_moved);
    Some(Tampering {
        gone: Some(old.name.clone()),
        ..found
    })
}

/// Whether what these lines of a part state stands on: the line elsewhere, what it gives a name, or its values one after
/// the other in the lines that come to the part. How long something waits is no statement.
fn keeps_all(old: &Part<'_>, [taken, brought]: [&[&CodeLine]; 2], rest: &Rest<'_>) -> bool {
    let stated = |lines: &[&CodeLine]| -> Vec<String> {
        let values = lines.iter().flat_map(|line| values(&line.text));
        values.map(plain).collect()
    };
    let comes = stated(brought);
    let is_given = |line: &CodeLine| {
        let given = line.text.split_once('=').map(|(_, it)| it.trim());
        given.is_some_and(|it| it.len() > 5 && rest.comes.iter().any(|line| line.contains(it)))
    };
    let stands = |line: &&CodeLine| {
        let values = stated(&[*line]);
        rest.brought
            .get(&line.words())
            .is_some_and(|left| *left > 0)
            || !values.is_empty() && comes.windows(values.len()).any(|part| part == values)
            || !old.asserts(line) && is_given(line)
    };
    let states = |line: &&&CodeLine| {
        let is_other = LINES.imports.is_match(&line.text) || LINES.waits.is_match(&line.text);
        old.asserts(line) || old.is_row(line) || !is_other && values(&line.text).next().is_some()
    };
    let is_small = taken.len().max(brought.len()) <= MOST_COMPARED;
    is_small && taken.iter().filter(states).all(stands)
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
        let sides = sides(change, file).filter(|_| is_program);
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

/// What became less in a part that stands on both sides.
fn changed(
    change: &Change<'_>,
    old: &Part<'_>,
    new: &Part<'_>,
    rest: &mut Rest<'_>,
) -> Vec<Tampering> {
    if tokens(&old.lines) == tokens(&new.lines) {
        return Vec::new();
    }
    let path = &old.file.path;
    let [taken, brought] = [
        missing(&old.lines, &new.lines),
        missing(&new.lines, &old.lines),
    ];
    let failed = failed(change, new, [&taken, &brought], rest);
    let test = if new.name.is_empty() {
        "the file".to_owned()
    } else {
        format!("“{}”", new.name)
    };
    if let Some((line, mark)) = new.skip_more(&old.lines) {
        let deed = format!("`{mark}` keeps {test} from running");
        let marked = change
            .finding(Comparison::Written, true, deed)
            .at(path, &[], &[line]);
        return vec![Tampering {
            gone: Some(new.name.clone()),
            ..marked
        }];
    }
    let keeps = rest.mends && keeps_all(old, [&taken, &brought], rest);
    let mut deeds = lost(old, new, rest);
    deeds.extend(doubts(new, &brought));
    // What stands above the declaration may turn a failure into a success.
    let is_more =
        |line: &&CodeLine| new.is_row(line) || line.number > new.line && new.asserts(line);
    let only_grows = taken.is_empty() && !brought.is_empty() && brought.iter().all(is_more);
    let is_cleared =
        only_grows || names(&change.runs.wrong, &new.name) || change.passes_as_it_was(old.file);
    if deeds.is_empty() && failed && !is_cleared {
        let edited = if new.is_test {
            "failed before, and is edited"
        } else {
            "is edited, and a test that failed uses it"
        };
        let deed = format!("{test} {edited}");
        let edited = change.finding(Comparison::Written, true, deed);
        return vec![edited.at(path, &taken, &brought).named_unless(!keeps)];
    }
    let is_named = || counts(new, &taken, &brought) && change.runs.by_exit_status;
    if deeds.is_empty() && !is_cleared && !keeps && is_named() {
        let deed =
            format!("{test} is edited, and an exit status alone says that what failed passes");
        let named = change.finding(Comparison::Written, false, deed);
        return vec![named.at(path, &taken, &brought).named_unless(false)];
    }
    let deeds = deeds.into_iter().map(|deed| format!("{test} {deed}"));
    deeds
        .map(|deed| {
            change
                .finding(Comparison::Written, failed, deed)
                .at(path, &taken, &brought)
        })
        .collect()
}

/// Whether an edit of a part may be why a test passes: of a test or a helper any, outside of both what takes something.
/// A bracket that closes belongs to the part above it, whichever that is.
fn counts(new: &Part<'_>, taken: &[&CodeLine], brought: &[&CodeLine]) -> bool {
    let says = |line: &&CodeLine| words(&line.text).any(|word| word != "end");
    let takes = taken
        .iter()
        .any(|line| says(line) && !LINES.imports.is_match(&line.text));
    let is_order = taken.is_empty() && brought.is_empty() && !new.is_test;
    takes || !new.name.is_empty() && (is_order || brought.iter().any(says))
}

/// Marks that come and take from what the pass of a part says.
fn doubts(new: &Part<'_>, brought: &[&CodeLine]) -> Vec<String> {
    // One outside of tests and helpers names its test.
    if !new.is_test && !new.name.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for line in brought {
        let marks = [
            (
                new.syntax.doubts(&line.text),
                "has a mark by which a failure passes or is tried again",
            ),
            (
                new.syntax.mark(&line.text),
                "has a mark by which it can be left out",
            ),
        ];
        for (_, deed) in marks.into_iter().filter(|(mark, _)| mark.is_some()) {
            found.push(format!("{deed}: `{}`", quoted(&line.text)));
        }
    }
    found
}

/// Whether a part failed before, or a test that did uses it: a helper by its name, and what stands outside of the tests
/// of its file. Imports that come replace nothing.
fn failed(
    change: &Change<'_>,
    new: &Part<'_>,
    [taken, brought]: [&[&CodeLine]; 2],
    rest: &Rest<'_>,
) -> bool {
    let is_import = |line: &CodeLine| LINES.imports.is_match(&line.text);
    // What an import names may stand among several now.
    let stays = |line: &CodeLine| {
        let mut named = values(&line.text).peekable();
        let stands = |value| brought.iter().any(|it| it.text.contains(value));
        is_import(line) && named.peek().is_some() && named.all(stands)
    };
    let is_new = |line: &CodeLine| words(&line.text).next().is_some() && !is_import(line);
    let replaces =
        || taken.iter().any(|line| !stays(line)) || brought.iter().any(|line| is_new(line));
    // An assertion may be a test by itself, whose name it states.
    let states = |line: &&CodeLine| {
        let mut values = values(&line.text).map(plain);
        new.asserts(line) && values.any(|value| change.runs.failed.contains(value.as_str()))
    };
    names(&change.runs.failed, &new.name)
        || !new.is_test && rest.used.contains(new.name.as_str())
        || new.name.is_empty() && rest.failed.contains(new.file.path.as_str()) && replaces()
        || taken.iter().any(states)
}

/// What a part asserts less, or less strictly, that stands nowhere else.
fn lost(old: &Part<'_>, new: &Part<'_>, rest: &mut Rest<'_>) -> Vec<String> {
    let catches = |part: &Part<'_>| {
        part.lines
            .iter()
            .filter(|line| LINES.catches.is_match(&line.text))
            .count()
    };
    let stated = |lines: &[&CodeLine]| lines.iter().flat_map(|line| values(&line.text)).count();
    let [then, now] = [old, new].map(|part| {
        part.lines
            .iter()
            .filter(|line| part.is_row(line))
            .collect::<Vec<_>>()
    });
    let loses_rows = stated(&now) < stated(&then);
    let counts = |line: &&CodeLine| {
        old.asserts(line) || loses_rows && old.is_row(line) && stated(&[line]) > 0
    };
    let gone = missing(old.reached(), new.reached())
        .into_iter()
        .filter(counts);
    let gone = gone.filter(|line| !take_line(&mut rest.brought, old.syntax, line));
    let (lost, rows): (Vec<_>, Vec<_>) = gone.partition(|line| old.asserts(line));
    let [then, now] = [old, new].map(|part| part.asserting().collect::<Vec<_>>());
    let count = |lines: &[&CodeLine]| {
        lines
            .iter()
            .map(|line| old.syntax.assertions(&line.text))
            .sum::<usize>()
    };
    let exact = |lines: &[&CodeLine]| {
        lines
            .iter()
            .filter(|line| old.syntax.exact.is_match(&line.text))
            .count()
    };
    let weaker = match (
        count(&now).cmp(&count(&then)),
        exact(&now).cmp(&exact(&then)),
    ) {
        _ if lost.is_empty() => None,
        (Less, _) => Some(format!(
            "asserts less: {} before, {} after",
            count(&then),
            count(&now)
        )),
        (_, Less) => Some("accepts values that it refused before".to_owned()),
        (Equal, Equal) if stated(&now) < stated(&then) => {
            Some("computes a value that it stated before".to_owned())
        }
        _ => None,
    };
    let rows = (!rows.is_empty()).then(|| "loses rows of parameters".to_owned());
    let catches = new.is_test && catches(new) > catches(old);
    let catches = catches.then(|| "catches errors that made it fail before".to_owned());
    [weaker, rows, catches].into_iter().flatten().collect()
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
