//! Comparison 2: what is written in the test files that a change touches, read whole on both sides.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Change, Comparison, MOST_SHOWN, Tampering, Weight,
    arrivals::Arrivals,
    asserted::{Asserted, asserts, body, catches, is_row, reached, rows, skip_more, values},
    selection::replaced,
    source::{CodeLine, Part, code_lines, missing, parts},
    words,
};
use crate::{
    evidence::{BaseTestRun, ProofEnd},
    observed::{ChangedFile, ChangedFiles, DiffHunk, DiffLine, FileStatus},
    source_files::{TestSyntax, in_test_folder, is_code, is_named_test, is_test, stem},
};

/// Test files that are read, and bytes of them: hostile changes are large.
const MOST_FILES: usize = 40;
const MOST_BYTES: usize = 2 << 20;

/// The files of a change that hold tests, by their place or by the words of their patch.
pub(super) fn to_read(files: &ChangedFiles) -> impl Iterator<Item = &ChangedFile> {
    files.known().iter().filter(|file| holds_tests(file)).take(MOST_FILES)
}

fn holds_tests(file: &ChangedFile) -> bool {
    file.paths().any(|path| {
        let syntax = TestSyntax::of(path);
        is_test(path) && syntax.is_some()
            || syntax.is_some_and(|syntax| syntax.inline)
                && file.patch.as_deref().is_none_or(|patch| pattern!("test|assert").is_match(patch))
    })
}

/// One side of a file: its parts, and the lines by which it keeps itself from running.
struct Side {
    parts: Vec<Part>,
    file_skips: Vec<(u32, String)>,
}

pub(super) struct TestFile<'a> {
    file: &'a ChangedFile,
    pub(super) syntax: &'static TestSyntax,
    old: Side,
    new: Side,
}

/// A part on both sides, or on one.
pub(super) struct Pair<'a> {
    pub(super) file: &'a TestFile<'a>,
    pub(super) old: Option<&'a Part>,
    pub(super) new: Option<&'a Part>,
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let mut found = Vec::new();
    let mut files = Vec::new();
    let mut bytes = 0;
    for (index, file) in change.files.known().iter().filter(|file| holds_tests(file)).enumerate() {
        match read(change, file) {
            Some((old, new, size)) if index < MOST_FILES && bytes + size <= MOST_BYTES => {
                bytes += size;
                let syntax = file.paths().find_map(TestSyntax::of);
                files.extend(syntax.map(|syntax| test_file(file, syntax, &old, &new)));
            }
            _ => found.push(tampering(file, "its tests cannot be read", change.ground(false), 0, Vec::new())),
        }
    }
    let pairs = pairs(&files);
    let mut arrivals = Arrivals::of(&pairs);
    let mut gone = gone(change);
    for test in pairs.iter().filter_map(|pair| pair.old).filter(|old| old.is_test) {
        gone.remove(&test.name);
    }
    for pair in &pairs {
        match (pair.old, pair.new) {
            (Some(old), None) if old.is_test => found.extend(removed(change, pair, old, &mut arrivals, &gone)),
            (Some(old), Some(new)) => found.extend(changed(change, pair, old, new, &mut arrivals)),
            _ => {}
        }
    }
    found.extend(files.iter().flat_map(|file| marked_whole(change, file)));
    found.extend(files.iter().filter_map(|file| stand_ins(change, file)));
    found.extend(helpers_of_failed(change, &pairs));
    found.extend(change.files.known().iter().filter_map(|file| snapshot(change, file)));
    found
}

fn tampering(file: &ChangedFile, deed: impl Into<String>, weight: Weight, line: u32, hunk: Vec<String>) -> Tampering {
    Tampering::of(Comparison::Written, weight, deed).at(&file.path, line, hunk)
}

type Lines<'a> = Vec<(u32, &'a str)>;

/// Both sides of a file, and their size: whole where they were read, else as far as the hunks show them. `None` if nothing
/// is known of a side.
fn read<'a>(change: &'a Change<'_>, file: &'a ChangedFile) -> Option<(Lines<'a>, Lines<'a>, usize)> {
    let numbered = |text: &'a str| -> Lines<'a> { (1..).zip(text.lines()).collect() };
    let old = match file.status {
        FileStatus::Added => Some(""),
        _ => change.before.and_then(|commit| change.contents.text(commit, file.old_path())),
    };
    let new = match file.status {
        FileStatus::Removed => Some(""),
        _ => change.contents.text(change.head, &file.path),
    };
    if let (Some(old), Some(new)) = (old, new) {
        return Some((numbered(old), numbered(new), old.len() + new.len()));
    }
    let patch = match &file.patch {
        None if file.status == FileStatus::Renamed && file.additions + file.deletions == 0 => {
            return Some((Vec::new(), Vec::new(), 0));
        }
        _ => file.read_patch()?,
    };
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for hunk in &patch.hunks {
        old.push((hunk.old_start.saturating_sub(1), hunk.heading));
        new.push((hunk.new_start.saturating_sub(1), hunk.heading));
        old.extend(hunk.lines.iter().filter(|line| line.is_old()).map(|line| (line.old, line.text)));
        new.extend(hunk.lines.iter().filter(|line| line.is_new()).map(|line| (line.new, line.text)));
    }
    Some((old, new, file.patch.as_ref().map_or(0, String::len)))
}

fn test_file<'a>(file: &'a ChangedFile, syntax: &'static TestSyntax, old: &Lines<'_>, new: &Lines<'_>) -> TestFile<'a> {
    let before = file.old_path();
    let side = |path: &str, lines: &Lines<'_>| {
        let mut parts = parts(syntax, code_lines(path, lines.iter().copied()));
        if !is_test(path) {
            // Of a file of the program only the tests matter.
            parts.retain(|part| part.is_test);
        }
        let skips = lines.iter().filter(|(_, text)| syntax.file_skip.is_match(text));
        Side { parts, file_skips: skips.map(|(number, text)| (*number, (*text).trim().to_owned())).collect() }
    };
    let mut new = side(&file.path, new);
    if is_named_test(before) && !is_named_test(&file.path) {
        // A runner that looks for tests by the names of their files finds it no more.
        new.parts.retain(|part| !part.is_test);
    }
    TestFile { file, syntax, old: side(before, old), new }
}

/// Puts together what has one name on both sides: in one file, else a test that is new in another file.
fn pairs<'a>(files: &'a [TestFile<'a>]) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    let parts = |side: fn(&'a TestFile<'a>) -> &'a Side| {
        files.iter().flat_map(move |file| side(file).parts.iter().map(move |part| (file, part)))
    };
    let mut olds: Vec<(&TestFile<'_>, &Part)> = parts(|file| &file.old).collect();
    let mut news: BTreeMap<&str, Vec<(&TestFile<'_>, &Part)>> = BTreeMap::new();
    for (file, part) in parts(|file| &file.new) {
        news.entry(&part.name).or_default().push((file, part));
    }
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
fn removed(
    change: &Change<'_>,
    pair: &Pair<'_>,
    old: &Part,
    arrivals: &mut Arrivals,
    gone: &BTreeSet<String>,
) -> Option<Tampering> {
    let Asserted { lines, .. } = Asserted::of(pair.file.syntax, old);
    let below: Vec<&CodeLine> = old.lines.iter().filter(|line| line.number > old.line).collect();
    let lines = if lines.is_empty() { below } else { lines };
    let body = body(old);
    if !body.is_empty() && arrivals.bodies.contains(&body) {
        return None;
    }
    let missing = lines.iter().filter(|line| !arrivals.tests.take(line)).count();
    if missing == 0 && !lines.is_empty() {
        return None;
    }
    let failed = change.failed(&old.name);
    let with_subject = !failed && old.lines.iter().flat_map(|line| words(&line.text)).any(|word| gone.contains(word));
    let weight = if with_subject { change.ground(false) } else { Weight::Proof };
    let with = if with_subject { " with the code that it calls" } else { "" };
    let deed = format!("the test “{}” is removed{with}", old.name);
    let found = tampering(pair.file.file, deed, weight, old.line, shown('-', &old.lines));
    Some(Tampering { gone: Some(old.name.clone()), ..found })
}

/// What became less in a part that stands on both sides.
fn changed(change: &Change<'_>, pair: &Pair<'_>, old: &Part, new: &Part, arrivals: &mut Arrivals) -> Vec<Tampering> {
    let syntax = pair.file.syntax;
    if old.lines.iter().map(CodeLine::words).eq(new.lines.iter().map(CodeLine::words)) {
        return Vec::new();
    }
    let failed = change.failed(&new.name);
    let ground = change.ground(failed);
    let test = if new.name.is_empty() { "the file".to_owned() } else { format!("“{}”", new.name) };
    let (taken, brought) = (missing(&old.lines, &new.lines), missing(&new.lines, &old.lines));
    let mut hunk = shown('-', taken.iter().copied());
    hunk.extend(shown('+', brought.iter().copied()));
    hunk.truncate(MOST_SHOWN);
    let at = brought.first().map_or(new.line, |line| line.number);
    if let Some((line, mark, always)) = skip_more(syntax, old, new) {
        let weight = if always { Weight::Proof } else { ground };
        let marked = tampering(pair.file.file, format!("`{mark}` keeps {test} from running"), weight, line, hunk);
        return vec![Tampering { gone: Some(new.name.clone()), ..marked }];
    }
    let (then, now) = (Asserted::of(syntax, old), Asserted::of(syntax, new));
    let lost = missing(then.lines.iter().copied(), reached(new)).into_iter();
    let lost = lost.filter(|line| !arrivals.tests.take(line) && !arrivals.helpers.take(line)).count();
    let has_same = now.count == then.count && now.exact == then.exact;
    let mut deeds = Vec::new();
    if lost == 0 {
    } else if now.count < then.count {
        deeds.push(format!("{test} asserts less: {} before, {} after", then.count, now.count));
    } else if now.exact < then.exact {
        deeds.push(format!("{test} accepts values that it refused before"));
    } else if now.values < then.values && has_same {
        deeds.push(format!("{test} computes a value that it stated before"));
    } else if new.is_test
        && now.count == then.count
        && !changes_program(change)
        && then.has_shape_of(&now)
        && !change.is_wrong(&new.name)
    {
        deeds.push(format!("{test} expects another value, and no program code changes"));
    }
    let mut of_rows = taken.iter().filter(|line| values(&line.text).next().is_some());
    if rows(syntax, new) < rows(syntax, old)
        && of_rows.any(|line| !arrivals.tests.take(line) && !arrivals.helpers.take(line))
    {
        deeds.push(format!("{test} loses rows of parameters"));
    }
    if new.is_test && catches(new) > catches(old) {
        deeds.push(format!("{test} catches errors that made it fail before"));
    }
    // What stands above the declaration may turn a failure into a success.
    let is_more = |line: &&CodeLine| is_row(syntax, line) || line.number > new.line && asserts(syntax, line);
    let only_grows = taken.is_empty() && brought.iter().all(is_more);
    let is_cleared = only_grows || passes_as_it_was(change, pair.file.file);
    if deeds.is_empty() && failed && !is_cleared && !change.is_wrong(&new.name) {
        deeds.push(format!("{test} failed before, and is edited"));
    }
    deeds.into_iter().map(|deed| tampering(pair.file.file, deed, ground, at, hunk.clone())).collect()
}

/// Whether the tests of the file, as they were, pass on the head: what was edited is not why they pass.
fn passes_as_it_was(change: &Change<'_>, file: &ChangedFile) -> bool {
    let is_of_file = |run: &BaseTestRun| file.paths().any(|path| path == run.file);
    change.base_tests.iter().any(|run| run.on_head == ProofEnd::Passed && is_of_file(run))
}

/// A file that keeps all its tests from running.
fn marked_whole(change: &Change<'_>, file: &TestFile<'_>) -> Option<Tampering> {
    let had: BTreeSet<&String> = file.old.file_skips.iter().map(|(_, text)| text).collect();
    let (line, mark) = file.new.file_skips.iter().find(|(_, text)| !had.contains(text))?;
    if file.old.parts.iter().all(|part| !part.is_test) {
        return None;
    }
    let failed = file.old.parts.iter().any(|part| part.is_test && change.failed(&part.name));
    let deed = format!("`{}` keeps the file from running", mark.chars().take(60).collect::<String>());
    let weight = if failed { Weight::Proof } else { Weight::Alone };
    let found = tampering(file.file, deed, weight, *line, vec![format!("+{mark}")]);
    Some(Tampering { gone: Some(String::new()), ..found })
}

/// Helpers and values outside of tests that changed, and that a test uses which failed before.
fn helpers_of_failed(change: &Change<'_>, pairs: &[Pair<'_>]) -> Vec<Tampering> {
    let assigned = pattern!(r"^\s*(?:[\w<>:]+\s+)*(\w+)\s*(?::[^=]*)?=[^=]");
    let is_failed = |new: &&Part| new.is_test && change.failed(&new.name) && !change.is_wrong(&new.name);
    let failed: Vec<&Part> = pairs.iter().filter_map(|pair| pair.new).filter(is_failed).collect();
    let mut found = Vec::new();
    let helpers = pairs.iter().filter_map(|pair| Some((pair, pair.old?, pair.new?))).filter(|(.., new)| !new.is_test);
    for (pair, old, new) in helpers {
        let taken = missing(&old.lines, &new.lines);
        let names: BTreeSet<&str> = if new.name.is_empty() {
            taken.iter().filter_map(|line| assigned.captures(&line.text)?.get(1).map(|name| name.as_str())).collect()
        } else if taken.is_empty() && old.lines.len() == new.lines.len() {
            continue;
        } else {
            BTreeSet::from([new.name.as_str()])
        };
        for test in &failed {
            let used = used_by(test, pairs).into_iter().find(|word| names.contains(word));
            found.extend(used.map(|helper| {
                let deed = helper_edited(test, helper);
                tampering(pair.file.file, deed, Weight::Alone, new.line, shown('-', taken.iter().copied()))
            }));
        }
    }
    found
}

fn helper_edited(test: &Part, helper: &str) -> String {
    format!("“{}” failed before, and `{helper}`, which it uses, is edited", test.name)
}

/// Words of a test, and of the helpers that it names.
fn used_by<'a>(test: &'a Part, pairs: &[Pair<'a>]) -> BTreeSet<&'a str> {
    let of_part = |part: &'a Part| part.lines.iter().flat_map(|line| words(&line.text));
    let mut used: BTreeSet<&str> = of_part(test).collect();
    let helpers = pairs.iter().filter_map(|pair| pair.new).filter(|new| !new.is_test && !new.name.is_empty());
    let named: Vec<&Part> = helpers.filter(|helper| used.contains(helper.name.as_str())).collect();
    used.extend(named.into_iter().flat_map(of_part));
    used
}

/// What a file replaces, of which a test failed before: the subject by a stand-in, or the words that assert.
fn stand_ins(change: &Change<'_>, file: &TestFile<'_>) -> Option<Tampering> {
    let lines = |side: &'_ Side| -> Vec<CodeLine> { side.parts.iter().flat_map(|part| part.lines.clone()).collect() };
    let failed = file.new.parts.iter().find(|part| part.is_test && change.failed(&part.name))?;
    let (new, old) = (lines(&file.new), lines(&file.old));
    let (line, words) = missing(&new, &old).into_iter().find_map(|line| Some((line.number, replaced(&line.text)?)))?;
    Some(tampering(file.file, helper_edited(failed, words), Weight::Alone, line, vec![format!("+{words}")]))
}

fn is_snapshot(path: &str) -> bool {
    let ends = pattern!(r"\.(?:snap|golden|approved\.txt|ambr|snap\.new|expected)$");
    let folders = pattern!("(?:snapshots|__snapshots__|golden|testdata)/");
    ends.is_match(path) || folders.is_match(path) && !is_code(path)
}

/// Recorded output that was replaced: a ground where no program code changed, or where it belongs to a test that failed.
fn snapshot(change: &Change<'_>, file: &ChangedFile) -> Option<Tampering> {
    let path = file.old_path();
    if file.status == FileStatus::Added
        || !(is_snapshot(path) || in_test_folder(path) && TestSyntax::of(path).is_none())
    {
        return None;
    }
    let is_of_failed = change.failed.iter().any(|test| {
        let (test, path) = (test.to_lowercase(), path.to_lowercase());
        words(&path)
            .any(|word| word.len() > 3 && !["test", "tests", "snapshots"].contains(&word) && test.contains(word))
    });
    let counts = is_of_failed || is_snapshot(path) && (file.status == FileStatus::Removed || !changes_program(change));
    let patch = file.read_patch();
    let lines = patch.iter().flat_map(|patch| patch.lines()).filter(|line| line.is_changed());
    let hunk = lines.take(MOST_SHOWN).map(|line| format!("{}{}", line.change.sign(), line.text));
    counts.then(|| tampering(file, "recorded output is replaced", change.ground(is_of_failed), 0, hunk.collect()))
}

/// Whether code of the program changes, so that what a test expects may change with it. Of a file that holds its own tests
/// the code above them counts.
fn changes_program(change: &Change<'_>) -> bool {
    change.files.known().iter().filter(|file| is_code(&file.path) && !is_test(&file.path)).any(|file| {
        let is_inline = TestSyntax::of(&file.path).is_some_and(|syntax| syntax.inline);
        let in_tests = |hunk: &DiffHunk<'_>| {
            hunk.heading.contains("mod tests") || hunk.lines.iter().any(|line| line.text.contains("#[test]"))
        };
        let counts = |hunk: &DiffHunk<'_>| hunk.lines.iter().any(DiffLine::is_changed) && !in_tests(hunk);
        !is_inline || file.read_patch().is_none_or(|patch| patch.hunks.iter().any(counts))
    })
}

/// Names of files that are removed, and of functions that are removed without another in their place.
fn gone(change: &Change<'_>) -> BTreeSet<String> {
    let type_name = pattern!(r"\b(?:class|struct|enum|trait|interface|object|module|type)\s+(\w+)");
    let (mut gone, mut added): (BTreeSet<String>, BTreeSet<String>) = Default::default();
    for file in change.files.known().iter().filter(|file| !is_test(&file.path)) {
        let Some(syntax) = TestSyntax::of(&file.path) else { continue };
        if file.status == FileStatus::Removed {
            gone.insert(stem(&file.path).to_owned());
        }
        let Some(patch) = file.read_patch() else { continue };
        let declared = |line: &DiffLine<'_>| {
            let name = || type_name.captures(line.text)?.get(1).map(|name| name.as_str());
            syntax.function(line.text).or_else(name).map(str::to_owned)
        };
        let taken: Vec<String> = patch.removed().filter_map(declared).collect();
        let brought: Vec<String> = patch.added().filter_map(declared).collect();
        if brought.len() < taken.len() {
            gone.extend(taken.into_iter().filter(|name| !brought.contains(name)));
        }
        added.extend(brought);
    }
    // A name of three letters stands in any text.
    gone.retain(|name| name.len() > 3 && !added.contains(name));
    gone
}

fn shown<'l>(sign: char, lines: impl IntoIterator<Item = &'l CodeLine>) -> Vec<String> {
    lines.into_iter().take(MOST_SHOWN).map(|line| format!("{sign}{}", line.text)).collect()
}
