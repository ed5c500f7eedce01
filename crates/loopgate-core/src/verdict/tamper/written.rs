//! Comparison 2: what is written in the test files that a change touches, read whole on both sides.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Change, Comparison, Runs, Tampering, Weight,
    asserted::{Arrivals, Asserted, asserts, body, is_row, plain, reached, skip_more, values},
    names,
    selection::replaced,
    source::{CodeLine, Part, Sides, difference, hunk, missing, parts},
    words,
};
use crate::{
    evidence::{BaseTestRun, ProofEnd},
    observed::{ChangedFile, ChangedFiles, DiffHunk, DiffLine, FileStatus},
    source_files::{TestSyntax, in_test_folder, is_code, is_named_test, is_test, stem},
};

/// Test files that are read, and bytes of them: hostile changes are large.
pub(super) const MOST_FILES: usize = 40;
const MOST_BYTES: usize = 2 << 20;

/// The files of a change that hold tests, by their place or by the words of their patch.
pub(super) fn with_tests(files: &ChangedFiles) -> impl Iterator<Item = &ChangedFile> {
    let holds = |path: &str, patch: Option<&str>| {
        let names_tests = || patch.is_none_or(|patch| pattern!("test|assert").is_match(patch));
        TestSyntax::of(path).is_some_and(|syntax| is_test(path) || syntax.inline && names_tests())
    };
    files.known().iter().filter(move |file| file.paths().any(|path| holds(path, file.patch.as_deref())))
}

pub(super) struct TestFile<'a> {
    file: &'a ChangedFile,
    pub(super) syntax: &'static TestSyntax,
    old: Vec<Part>,
    new: Vec<Part>,
}

/// A part on both sides, or on one.
pub(super) struct Pair<'a> {
    pub(super) file: &'a TestFile<'a>,
    pub(super) old: Option<&'a Part>,
    pub(super) new: Option<&'a Part>,
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let (mut found, mut files, mut bytes) = (Vec::new(), Vec::new(), 0);
    let touched = with_tests(change.files).filter(|file| !change.is_proven(file));
    for (index, file) in touched.enumerate() {
        let sides = Sides::read(change, file).filter(|sides| {
            bytes += sides.old.iter().chain(&sides.new).map(|line| line.text.len()).sum::<usize>();
            index < MOST_FILES && bytes <= MOST_BYTES
        });
        match sides.zip(file.paths().find_map(TestSyntax::of)) {
            Some((sides, syntax)) => files.push(test_file(file, syntax, sides)),
            None => found.push(tampering(file, "its tests cannot be read", change.weight(false), 0, Vec::new())),
        }
    }
    let pairs = pairs(&files);
    let tests = pairs.iter().filter_map(|pair| Some(pair.old.filter(|old| old.is_test)?.name.as_str()));
    let mut arrivals = Arrivals::of(&pairs, gone(change, &tests.collect()));
    for pair in &pairs {
        match (pair.old, pair.new) {
            (Some(old), None) if old.is_test => found.extend(removed(change, pair, old, &mut arrivals)),
            (Some(old), Some(new)) => found.extend(changed(change, pair, old, new, &mut arrivals)),
            _ => {}
        }
    }
    found.extend(used_by_failed(change, &pairs));
    let others = change.files.known().iter().filter(|file| !change.is_proven(file));
    found.extend(others.filter_map(|file| snapshot(change, file)));
    found
}

fn tampering(file: &ChangedFile, deed: impl Into<String>, weight: Weight, line: u32, hunk: Vec<String>) -> Tampering {
    Tampering::of(Comparison::Written, weight, deed).at(&file.path, line, hunk)
}

fn test_file<'a>(file: &'a ChangedFile, syntax: &'static TestSyntax, sides: Sides) -> TestFile<'a> {
    // Of a file of the program only the tests matter.
    let of_side = |path: &str, lines| -> Vec<Part> {
        parts(syntax, lines).into_iter().filter(|part| part.is_test || is_test(path)).collect()
    };
    let (mut old, mut new) = (of_side(file.old_path(), sides.old), of_side(&file.path, sides.new));
    // A runner that looks for tests by the names of their files finds it no more.
    let mut holds_none = is_named_test(file.old_path()) && !is_named_test(&file.path);
    if file.status == FileStatus::Added {
        // A mark on the whole of a new file takes nothing but the tests that come from another file.
        let mark = old.first().zip(new.first()).and_then(|(old, new)| skip_more(syntax, old, new));
        holds_none |= mark.is_some_and(|(.., always)| always);
        old.clear();
    }
    new.retain(|part| !part.is_test || !holds_none);
    TestFile { file, syntax, old, new }
}

/// Puts together what has one name on both sides: in one file, else a test that is new in another file.
fn pairs<'a>(files: &'a [TestFile<'a>]) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    let mut news: BTreeMap<&str, Vec<(&TestFile<'_>, &Part)>> = BTreeMap::new();
    for (file, part) in files.iter().flat_map(|file| file.new.iter().map(move |part| (file, part))) {
        news.entry(&part.name).or_default().push((file, part));
    }
    let olds = files.iter().flat_map(|file| file.old.iter().map(move |part| (file, part)));
    let mut olds: Vec<(&TestFile<'_>, &Part)> = olds.collect();
    for elsewhere in [false, true] {
        olds.retain(|(file, old)| {
            let named = news.get_mut(old.name.as_str()).filter(|_| !elsewhere || !old.name.is_empty());
            let fits = |(other, new): &(&TestFile<'_>, &Part)| {
                (elsewhere || std::ptr::eq(*other, *file)) && (new.is_test || !old.is_test)
            };
            let new = named.and_then(|named| named.iter().position(fits).map(|at| named.remove(at).1));
            pairs.extend(new.map(|new| Pair { file, old: Some(old), new: Some(new) }));
            new.is_none()
        });
    }
    pairs.extend(olds.into_iter().map(|(file, old)| Pair { file, old: Some(old), new: None }));
    pairs.extend(news.into_values().flatten().map(|(file, new)| Pair { file, old: None, new: Some(new) }));
    pairs
}

/// A test that stands nowhere any more, unless its assertions all stand in new tests, or another test is its double.
fn removed(change: &Change<'_>, pair: &Pair<'_>, old: &Part, arrivals: &mut Arrivals) -> Option<Tampering> {
    let syntax = pair.file.syntax;
    let Asserted { lines, .. } = Asserted::of(syntax, old);
    let below: Vec<&CodeLine> = old.lines.iter().filter(|line| line.number > old.line).collect();
    let lines = if lines.is_empty() { below } else { lines };
    let body = body(old);
    let has_double = !body.is_empty() && arrivals.bodies.contains(&body);
    let mut stands = |line: &&&CodeLine| arrivals.of_tests.take_line(syntax, line);
    if has_double || !lines.is_empty() && lines.iter().filter(&mut stands).count() == lines.len() {
        return None;
    }
    let mut named = old.lines.iter().flat_map(|line| words(&line.text));
    let with_subject = !names(&change.runs.failed, &old.name) && named.any(|word| arrivals.gone.contains(word));
    let with = if with_subject { " with the code that it calls" } else { "" };
    let deed = format!("the test “{}” is removed{with}", old.name);
    let found = tampering(pair.file.file, deed, change.weight(!with_subject), old.line, hunk(&old.lines, None));
    Some(Tampering { gone: Some(old.name.clone()), ..found })
}

/// What became less in a part that stands on both sides.
fn changed(change: &Change<'_>, pair: &Pair<'_>, old: &Part, new: &Part, arrivals: &mut Arrivals) -> Vec<Tampering> {
    let (syntax, file) = (pair.file.syntax, pair.file.file);
    if old.lines.iter().map(CodeLine::words).eq(new.lines.iter().map(CodeLine::words)) {
        return Vec::new();
    }
    let is_wrong = names(&change.runs.wrong, &new.name);
    let test = if new.name.is_empty() { "the file".to_owned() } else { format!("“{}”", new.name) };
    let Sides { old: taken, new: brought } = difference(&old.lines, &new.lines);
    // An assertion may be a test by itself, whose name it states.
    let is_stated =
        |line: &CodeLine| values(&line.text).any(|value| change.runs.failed.contains(plain(value).as_str()));
    let failed =
        names(&change.runs.failed, &new.name) || taken.iter().any(|line| asserts(syntax, line) && is_stated(line));
    let hunk = hunk(&taken, &brought);
    if let Some((line, mark, always)) = skip_more(syntax, old, new) {
        let weight = change.weight(always || failed);
        let marked = tampering(file, format!("`{mark}` keeps {test} from running"), weight, line, hunk);
        return vec![Tampering { gone: Some(new.name.clone()), ..marked }];
    }
    let states = |line: &CodeLine| values(&line.text).next().is_some();
    let mut is_lost =
        |line: &CodeLine| !arrivals.of_tests.take_line(syntax, line) && !arrivals.elsewhere.take_line(syntax, line);
    let (then, now) = (Asserted::of(syntax, old), Asserted::of(syntax, new));
    let mut lost = missing(then.lines.iter().copied(), reached(new));
    lost.retain(|line| is_lost(line));
    let mut deeds = Vec::new();
    if lost.is_empty() {
    } else if now.count < then.count {
        deeds.push(format!("{test} asserts less: {} before, {} after", then.count, now.count));
    } else if now.exact < then.exact {
        deeds.push(format!("{test} accepts values that it refused before"));
    } else if (now.count, now.exact) != (then.count, then.exact) {
    } else if now.values < then.values {
        deeds.push(format!("{test} computes a value that it stated before"));
    } else if new.is_test && !is_wrong && lost.iter().any(|line| states(line)) && !changes_program(change) {
        deeds.push(format!("{test} expects another value, and no program code changes"));
    }
    if now.rows < then.rows && taken.iter().any(|line| states(line) && is_lost(line)) {
        deeds.push(format!("{test} loses rows of parameters"));
    }
    if new.is_test && now.catches > then.catches {
        deeds.push(format!("{test} catches errors that made it fail before"));
    }
    // What stands above the declaration may turn a failure into a success.
    let is_more = |line: &CodeLine| is_row(syntax, line) || line.number > new.line && asserts(syntax, line);
    let only_grows = taken.is_empty() && brought.iter().all(is_more);
    // The tests of the file, as they were, pass on the head: what was edited is not why they pass.
    let passes = |run: &&BaseTestRun| run.on_head == ProofEnd::Passed && file.paths().any(|path| path == run.file);
    if deeds.is_empty() && failed && !is_wrong && !only_grows && !change.runs.base_tests.iter().any(passes) {
        deeds.push(format!("{test} failed before, and is edited"));
    }
    let at = brought.first().map_or(new.line, |line| line.number);
    deeds.into_iter().map(|deed| tampering(file, deed, change.weight(failed), at, hunk.clone())).collect()
}

/// What a test uses that failed before, and that is edited: a helper, a value outside of tests, or what a stand-in takes
/// the place of.
fn used_by_failed(change: &Change<'_>, pairs: &[Pair<'_>]) -> Vec<Tampering> {
    let assigned = pattern!(r"^\s*(?:[\w<>:]+\s+)*(\w+)\s*(?::[^=]*)?=[^=]");
    let Runs { failed, wrong, .. } = &change.runs;
    let is_failed = |new: &&Part| new.is_test && names(failed, &new.name) && !names(wrong, &new.name);
    let failed = pairs.iter().filter_map(|pair| Some((pair.file, pair.new.filter(is_failed)?)));
    let failed: Vec<_> = failed.map(|(file, test)| (file, test, used_by(test, pairs))).collect();
    let mut found = Vec::new();
    for (pair, new) in pairs.iter().filter_map(|pair| Some((pair, pair.new?))) {
        let old = pair.old.map_or(&[][..], |old| &old.lines);
        let Sides { old: taken, new: brought } = difference(old, &new.lines);
        let stand_in = brought.iter().find_map(|line| replaced(&line.text));
        let is_edited = !(new.is_test || old.is_empty() || taken.is_empty() && brought.is_empty());
        let edited: BTreeSet<&str> = match new.name.as_str() {
            "" => taken.iter().filter_map(|line| Some(assigned.captures(&line.text)?.get(1)?.as_str())).collect(),
            name => is_edited.then_some(name).into_iter().collect(),
        };
        for (file, test, used) in &failed {
            let replaced = stand_in.filter(|_| std::ptr::eq(*file, pair.file));
            let Some(helper) = used.iter().copied().find(|word| edited.contains(word)).or(replaced) else { continue };
            let deed = format!("“{}” failed before, and `{helper}`, which it uses, is edited", test.name);
            found.push(tampering(pair.file.file, deed, Weight::Proof, new.line, hunk(&taken, &brought)));
        }
    }
    found
}

/// Words of a test, and of the helpers that it names.
fn used_by<'a>(test: &'a Part, pairs: &[Pair<'a>]) -> BTreeSet<&'a str> {
    let of_part = |part: &'a Part| part.lines.iter().flat_map(|line| words(&line.text));
    let mut used: BTreeSet<&str> = of_part(test).collect();
    let helpers = pairs.iter().filter_map(|pair| pair.new.filter(|new| !new.is_test));
    let named: Vec<&Part> = helpers.filter(|helper| used.contains(helper.name.as_str())).collect();
    used.extend(named.into_iter().flat_map(of_part));
    used
}

/// Recorded output that was replaced: a ground where no program code changed, or where it belongs to a test that failed.
fn snapshot(change: &Change<'_>, file: &ChangedFile) -> Option<Tampering> {
    let path = file.old_path();
    let recorded = pattern!(
        r"\.(?:snap|golden|approved\.txt|ambr|snap\.new|expected)$|(?:snapshots|__snapshots__|golden|testdata)/"
    );
    let is_recorded = recorded.is_match(path) && !is_code(path);
    if file.status == FileStatus::Added || !is_recorded && (!in_test_folder(path) || TestSyntax::of(path).is_some()) {
        return None;
    }
    let path = path.to_lowercase();
    let names_test = |word: &str, test: &str| {
        word.len() > 3 && !["test", "tests", "snapshots"].contains(&word) && test.to_lowercase().contains(word)
    };
    let is_of_failed = change.runs.failed.iter().any(|test| words(&path).any(|word| names_test(word, test)));
    let counts = is_of_failed || is_recorded && (file.status == FileStatus::Removed || !changes_program(change));
    let sides = file.read_patch().map(|patch| Sides::of_patch(file, &patch));
    let changed = sides.map(|sides| difference(&sides.old, &sides.new));
    let hunk = changed.map(|changed| hunk(&changed.old, &changed.new));
    let (deed, weight) = ("recorded output is replaced", change.weight(is_of_failed));
    counts.then(|| tampering(file, deed, weight, 0, hunk.unwrap_or_default()))
}

/// Whether code of the program changes, so that what a test expects may change with it. Of a file that holds its own tests
/// the code above them counts.
fn changes_program(change: &Change<'_>) -> bool {
    change.files.known().iter().filter(|file| is_code(&file.path) && !is_test(&file.path)).any(|file| {
        let in_tests = |line: &DiffLine<'_>| line.text.contains("#[test]");
        let counts = |hunk: &DiffHunk<'_>| !hunk.heading.contains("mod tests") && !hunk.lines.iter().any(in_tests);
        TestSyntax::of(&file.path).is_none_or(|syntax| !syntax.inline)
            || file.read_patch().is_none_or(|patch| patch.hunks.iter().any(counts))
    })
}

/// Names of files that are removed, and of functions that are removed without another in their place. `tests` are none.
fn gone(change: &Change<'_>, tests: &BTreeSet<&str>) -> BTreeSet<String> {
    let type_name = pattern!(r"\b(?:class|struct|enum|trait|interface|object|module|type)\s+(\w+)");
    let (mut gone, mut added): (BTreeSet<String>, BTreeSet<String>) = Default::default();
    for file in change.files.known().iter().filter(|file| !is_test(&file.path)) {
        let Some(syntax) = TestSyntax::of(&file.path) else { continue };
        if file.status == FileStatus::Removed {
            gone.insert(stem(&file.path).to_owned());
        }
        let Some(patch) = file.read_patch() else { continue };
        let declared = |line: &DiffLine<'_>| {
            let name = || Some(type_name.captures(line.text)?.get(1)?.as_str());
            syntax.function(line.text).or_else(name).map(str::to_owned)
        };
        let taken: Vec<String> = patch.removed().filter_map(declared).collect();
        let brought: Vec<String> = patch.added().filter_map(declared).collect();
        if brought.len() < taken.len() {
            gone.extend(taken);
        }
        added.extend(brought);
    }
    // A name of three letters stands in any text.
    gone.retain(|name| name.len() > 3 && !added.contains(name) && !tests.contains(name.as_str()));
    gone
}
