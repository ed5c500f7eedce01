//! Comparison 2: what is written in the test files that a change touches, read whole on both sides.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Change, Comparison, MOST_SHOWN, Tampering, Weight, quoted_name,
    selection::replaced,
    source::{CodeLine, Part, code_lines, parts},
    words,
};
use crate::{
    evidence::ProofEnd,
    observed::{ChangedFile, ChangedFiles, FileStatus, LineChange},
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

struct TestFile<'a> {
    file: &'a ChangedFile,
    syntax: &'static TestSyntax,
    old: Side,
    new: Side,
}

/// A part on both sides, or on one.
struct Pair<'a> {
    file: &'a TestFile<'a>,
    old: Option<&'a Part>,
    new: Option<&'a Part>,
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let mut found = Vec::new();
    let mut files = Vec::new();
    let mut bytes = 0;
    for (index, file) in change.files.known().iter().filter(|file| holds_tests(file)).enumerate() {
        match read(change, file) {
            Some((old, new, size)) if index < MOST_FILES && bytes + size <= MOST_BYTES => {
                bytes += size;
                let syntax = [Some(&file.path), file.previous_path.as_ref()];
                let syntax = syntax.into_iter().flatten().find_map(|path| TestSyntax::of(path));
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
    let (path, deed) = (Some(file.path.clone()), deed.into());
    Tampering { comparison: Comparison::Written, weight, deed, gone: None, path, line, hunk }
}

type Lines<'a> = Vec<(u32, &'a str)>;

/// Both sides of a file, and their size: whole where they were read, else as far as the hunks show them. `None` if nothing
/// is known of a side.
fn read<'a>(change: &'a Change<'_>, file: &'a ChangedFile) -> Option<(Lines<'a>, Lines<'a>, usize)> {
    let numbered = |text: &'a str| -> Lines<'a> { (1..).zip(text.lines()).collect() };
    let before = file.previous_path.as_ref().unwrap_or(&file.path);
    let old = match file.status {
        FileStatus::Added => Some(""),
        _ => change.before.and_then(|commit| change.contents.text(commit, before)),
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
    let before = file.previous_path.as_ref().unwrap_or(&file.path);
    let side = |path: &str, lines: &Lines<'_>| {
        let mut parts = parts(syntax, code_lines(path, lines.iter().copied()));
        if !is_test(path) {
            // Of a file of the program only the tests matter.
            parts.retain(|part| part.is_test);
        }
        let skips = lines.iter().filter(|(_, text)| syntax.skips_file(text));
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
    let (mut left, mut arrived): (Vec<Pair<'a>>, Vec<Pair<'a>>) = (Vec::new(), Vec::new());
    for file in files {
        let mut news: Vec<Option<&Part>> = file.new.parts.iter().map(Some).collect();
        for old in &file.old.parts {
            let same = news
                .iter_mut()
                .find(|new| new.is_some_and(|new| new.name == old.name && (new.is_test || !old.is_test)));
            let pair = Pair { file, old: Some(old), new: same.and_then(Option::take) };
            if pair.new.is_some() { pairs.push(pair) } else { left.push(pair) }
        }
        arrived.extend(news.into_iter().flatten().map(|new| Pair { file, old: None, new: Some(new) }));
    }
    for mut pair in left {
        let is_same = |other: &Pair<'_>| {
            pair.old
                .zip(other.new)
                .is_some_and(|(old, new)| !old.name.is_empty() && old.name == new.name && (new.is_test || !old.is_test))
        };
        if let Some(at) = arrived.iter().position(is_same) {
            pair.new = arrived.swap_remove(at).new;
        }
        pairs.push(pair);
    }
    pairs.extend(arrived);
    pairs
}

/// What a part asserts.
struct Asserted<'a> {
    lines: Vec<&'a CodeLine>,
    count: usize,
    exact: usize,
    values: usize,
}

/// The lines of a test that are reached: none below one that leaves it for good.
fn reached(part: &Part) -> &[CodeLine] {
    let exits = pattern!(
        r"^(?:return\b(?:[^(\[{]*;?|\s*\(\s*\)\s*;?)$|(?:sys\.|os\.|process\.|System\.|Environment\.|Kernel\.)?_?[eE]xit!?\s*\(?\s*0?\s*\)?;?$|raise\s+SystemExit|t\.Skip)"
    );
    let declared = part.lines.iter().position(|line| line.number == part.line).unwrap_or(0);
    let depth = part.lines.iter().skip(declared + 1).map(CodeLine::indent).find(|depth| *depth > 0);
    let leaves = |line: &CodeLine| Some(line.indent()) == depth && exits.is_match(line.text.trim());
    let end = part.lines.iter().skip(declared + 1).position(leaves).filter(|_| part.is_test);
    &part.lines[..end.map_or(part.lines.len(), |end| declared + 1 + end)]
}

fn asserted<'a>(syntax: &TestSyntax, part: &'a Part) -> Asserted<'a> {
    let lines: Vec<&CodeLine> = reached(part).iter().filter(|line| syntax.assertions(&line.text) > 0).collect();
    Asserted {
        count: lines.iter().map(|line| syntax.assertions(&line.text)).sum(),
        exact: lines.iter().filter(|line| syntax.is_exact(&line.text)).count(),
        values: lines.iter().map(|line| values(&line.text).count()).sum(),
        lines,
    }
}

/// Texts and numbers of a line, with their quotes.
fn values(line: &str) -> impl Iterator<Item = &str> {
    let value = pattern!(r#""[^"]*"|'[^']*'|`[^`]*`|(?:^|[^\w.])(-?\d[\w.]*)"#);
    value.captures_iter(line).filter_map(|found| found.get(1).or_else(|| found.get(0)).map(|value| value.as_str()))
}

/// Whether the line holds rows of parameters: the language marks it, or it holds data only.
fn is_row(syntax: &TestSyntax, line: &CodeLine) -> bool {
    let text = line.text.trim();
    let is_data = text.starts_with(['[', '(', '{', '|', '"', '\'', '-'])
        && text.ends_with([',', ']', ')', '}', '|', '"', '\''])
        && !text.contains("=> {");
    syntax.has_rows(&line.text) || is_data && syntax.assertions(text) == 0
}

/// Values in rows of parameters.
fn rows(syntax: &TestSyntax, part: &Part) -> usize {
    part.lines.iter().filter(|line| is_row(syntax, line)).map(|line| values(&line.text).count()).sum()
}

/// Whether the test is new, and does not run.
fn is_skipped(pair: &Pair<'_>, new: &Part) -> bool {
    let is_marked = || new.lines.iter().any(|line| pair.file.syntax.skip(&line.text).is_some());
    pair.old.is_none() && new.is_test && is_marked()
}

/// Lines, and the values in them, that a change brings; each may take the place of one that goes.
#[derive(Default)]
struct Pool {
    lines: BTreeMap<String, usize>,
    values: BTreeMap<String, usize>,
}

/// What comes to tests and to helpers that are new, or that grow.
struct Arrivals {
    tests: Pool,
    helpers: Pool,
    /// Each test of the new side, by its lines.
    bodies: BTreeSet<Vec<String>>,
}

impl Arrivals {
    fn of(pairs: &[Pair<'_>]) -> Self {
        let (mut of_tests, mut of_helpers) = (Pool::default(), Pool::default());
        let tests = || pairs.iter().filter_map(|pair| pair.new.filter(|new| new.is_test && !is_skipped(pair, new)));
        let used: BTreeSet<&str> = tests().flat_map(|test| &test.lines).flat_map(|line| words(&line.text)).collect();
        for pair in pairs {
            let Some(new) = pair.new else { continue };
            if is_skipped(pair, new) {
                continue;
            }
            // The rows of a test may stand in a function that it names.
            let gives_rows = pair.old.is_none()
                && used.contains(new.name.as_str())
                && new.lines.iter().any(|line| is_row(pair.file.syntax, line));
            let pool = if new.is_test || gives_rows { &mut of_tests } else { &mut of_helpers };
            let mut had: BTreeMap<String, usize> = BTreeMap::new();
            for line in pair.old.iter().flat_map(|old| &old.lines) {
                *had.entry(line.words()).or_default() += 1;
            }
            for line in reached(new) {
                match had.get_mut(&line.words()) {
                    Some(left @ 1..) => *left -= 1,
                    _ => {
                        *pool.lines.entry(line.words()).or_default() += 1;
                        let syntax = pair.file.syntax;
                        let counts = syntax.assertions(&line.text) > 0 || is_row(syntax, line);
                        for value in values(&line.text).filter(|_| counts) {
                            *pool.values.entry(plain(value)).or_default() += 1;
                        }
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
    fn take(&mut self, line: &CodeLine) -> bool {
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

/// A value without its quotes; a number without its suffix and the zeros behind its point.
fn plain(value: &str) -> String {
    let text = value.trim_matches(['"', '\'', '`']);
    let digits: String =
        text.chars().take_while(|letter| letter.is_ascii_digit() || matches!(letter, '.' | '-')).collect();
    match digits.parse::<f64>() {
        Ok(number) if text.len() == value.len() => number.to_string(),
        _ => text.to_owned(),
    }
}

/// The lines of a test below its declaration.
fn body(part: &Part) -> Vec<String> {
    reached(part).iter().filter(|line| line.number > part.line).map(CodeLine::words).collect()
}

/// A test that stands nowhere any more, unless its assertions all stand in new tests, or another test is its double.
fn removed(
    change: &Change<'_>,
    pair: &Pair<'_>,
    old: &Part,
    arrivals: &mut Arrivals,
    gone: &BTreeSet<String>,
) -> Option<Tampering> {
    let Asserted { lines, .. } = asserted(pair.file.syntax, old);
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
    let (before, after): (Vec<String>, Vec<String>) =
        (old.lines.iter().map(CodeLine::words).collect(), new.lines.iter().map(CodeLine::words).collect());
    if before == after {
        return Vec::new();
    }
    let failed = change.failed(&new.name);
    let ground = change.ground(failed);
    let test = quoted_name(&new.name);
    let taken: Vec<CodeLine> = old.lines.iter().filter(|line| !after.contains(&line.words())).cloned().collect();
    let brought: Vec<CodeLine> = new.lines.iter().filter(|line| !before.contains(&line.words())).cloned().collect();
    let mut hunk = shown('-', &taken);
    hunk.extend(shown('+', &brought));
    hunk.truncate(MOST_SHOWN);
    let at = brought.first().map_or(new.line, |line| line.number);
    let found = |deed, weight, line| tampering(pair.file.file, deed, weight, line, hunk.clone());

    if let Some((line, mark, always)) = skip_more(syntax, old, new) {
        let weight = if always { Weight::Proof } else { ground };
        let marked = found(format!("`{mark}` keeps {test} from running"), weight, line);
        return vec![Tampering { gone: Some(new.name.clone()), ..marked }];
    }
    let mut all = Vec::new();
    let (then, now) = (asserted(syntax, old), asserted(syntax, new));
    let reached: BTreeSet<String> = reached(new).iter().map(CodeLine::words).collect();
    let lost = then.lines.iter().filter(|line| !reached.contains(&line.words()));
    let lost = lost.filter(|line| !arrivals.tests.take(line) && !arrivals.helpers.take(line)).count();
    if now.count < then.count && lost > 0 {
        all.push(found(format!("{test} asserts less: {} before, {} after", then.count, now.count), ground, at));
    } else if now.exact < then.exact && lost > 0 {
        all.push(found(format!("{test} accepts values that it refused before"), ground, at));
    } else if now.values < then.values && now.count == then.count && now.exact == then.exact && lost > 0 {
        all.push(found(format!("{test} computes a value that it stated before"), ground, at));
    } else if new.is_test
        && lost > 0
        && now.count == then.count
        && !changes_program(change)
        && same_shape(&then, &now)
        && !change.is_wrong(&new.name)
    {
        all.push(found(format!("{test} expects another value, and no program code changes"), ground, at));
    }
    if rows(syntax, new) < rows(syntax, old) && taken.iter().any(|line| values(&line.text).next().is_some()) {
        let moved = taken.iter().all(|line| {
            values(&line.text).next().is_none() || arrivals.tests.take(line) || arrivals.helpers.take(line)
        });
        if !moved {
            all.push(found(format!("{test} loses rows of parameters"), ground, at));
        }
    }
    if new.is_test && catches(new) > catches(old) {
        all.push(found(format!("{test} catches errors that made it fail before"), ground, at));
    }
    // What stands above the declaration may turn a failure into a success.
    let is_more = |line: &CodeLine| is_row(syntax, line) || line.number > new.line && syntax.assertions(&line.text) > 0;
    let only_grows = taken.is_empty() && brought.iter().all(is_more);
    let is_cleared = only_grows || passes_as_it_was(change, pair.file.file);
    if all.is_empty() && failed && !is_cleared && !change.is_wrong(&new.name) {
        all.push(found(format!("{test} failed before, and is edited"), Weight::Alone, at));
    }
    all
}

/// Whether the tests of the file, as they were, pass on the head: what was edited is not why they pass.
fn passes_as_it_was(change: &Change<'_>, file: &ChangedFile) -> bool {
    let path = file.previous_path.as_ref().unwrap_or(&file.path);
    change.base_tests.iter().any(|run| run.on_head == ProofEnd::Passed && (run.file == *path || run.file == file.path))
}

/// Lines that catch what a test throws.
fn catches(part: &Part) -> usize {
    let catch =
        pattern!(r"\bexcept\b.*:|\bcatch\b\s*[({]|\.catch\(|^\s*rescue\b|\bsuppress\(|\brunCatching\b|\bpcall\s*\(");
    part.lines.iter().filter(|line| catch.is_match(&line.text)).count()
}

/// A mark that keeps the part from running and was not there: its line, its words, and whether it always holds.
fn skip_more(syntax: &TestSyntax, old: &Part, new: &Part) -> Option<(u32, String, bool)> {
    let conditional = pattern!(
        r"(?i)(?:skip|run|xfail|disabled|enabled|ignore)_?(?:if|unless|on|when|for)(?:\b|[A-Z])|\bassum|\s(?:if|unless)\s"
    );
    let marks = |part: &Part| part.lines.iter().filter(|line| syntax.skip(&line.text).is_some()).count();
    if marks(new) <= marks(old) {
        return None;
    }
    let had: BTreeSet<String> = old.lines.iter().map(CodeLine::words).collect();
    let is_new = |line: &CodeLine| syntax.skip(&line.text).is_some() && !had.contains(&line.words());
    let at = new.lines.iter().position(is_new)?;
    let line = &new.lines[at];
    let mark = syntax.skip(&line.text)?.chars().take(60).collect();
    let above = at.checked_sub(1).map(|above| &new.lines[above]);
    let asks = above.is_some_and(|above| {
        let text = above.text.trim_start();
        above.indent() < line.indent()
            && (text.starts_with("if") || text.starts_with("unless") || text.starts_with("} else"))
    });
    let is_conditional = asks || conditional.is_match(&line.text) && !line.text.contains("(True");
    Some((line.number, mark, !is_conditional))
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

/// Whether both sides assert the same of other values.
fn same_shape(then: &Asserted<'_>, now: &Asserted<'_>) -> bool {
    let shape = |line: &&CodeLine| {
        let mut text = line.words();
        for value in values(&line.text) {
            text = text.replacen(value, "_", 1);
        }
        text
    };
    then.lines.iter().map(shape).eq(now.lines.iter().map(shape))
}

/// Helpers and values outside of tests that changed, and that a test uses which failed before.
fn helpers_of_failed(change: &Change<'_>, pairs: &[Pair<'_>]) -> Vec<Tampering> {
    let assigned = pattern!(r"^\s*(?:[\w<>:]+\s+)*(\w+)\s*(?::[^=]*)?=[^=]");
    let is_failed = |new: &&Part| new.is_test && change.failed(&new.name) && !change.is_wrong(&new.name);
    let failed: Vec<&Part> = pairs.iter().filter_map(|pair| pair.new).filter(is_failed).collect();
    let mut found = Vec::new();
    if failed.is_empty() {
        return found;
    }
    for pair in pairs {
        let (Some(old), Some(new)) = (pair.old, pair.new) else { continue };
        if new.is_test {
            continue;
        }
        let had: BTreeSet<String> = new.lines.iter().map(CodeLine::words).collect();
        let taken: Vec<CodeLine> = old.lines.iter().filter(|line| !had.contains(&line.words())).cloned().collect();
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
                tampering(pair.file.file, deed, Weight::Alone, new.line, shown('-', &taken))
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
    let lines = |side: &Side| -> Vec<CodeLine> { side.parts.iter().flat_map(|part| part.lines.clone()).collect() };
    let failed = file.new.parts.iter().find(|part| part.is_test && change.failed(&part.name))?;
    let had: BTreeSet<String> = lines(&file.old).iter().map(CodeLine::words).collect();
    let new = lines(&file.new).into_iter().filter(|line| !had.contains(&line.words()));
    let (line, words) = new.into_iter().find_map(|line| Some((line.number, replaced(&line.text)?.to_owned())))?;
    Some(tampering(file.file, helper_edited(failed, &words), Weight::Alone, line, vec![format!("+{words}")]))
}

fn is_snapshot(path: &str) -> bool {
    const ENDS: [&str; 6] = [".snap", ".golden", ".approved.txt", ".ambr", ".snap.new", ".expected"];
    const FOLDERS: [&str; 4] = ["__snapshots__/", "snapshots/", "golden/", "testdata/"];
    ENDS.iter().any(|end| path.ends_with(end)) || FOLDERS.iter().any(|folder| path.contains(folder)) && !is_code(path)
}

/// Recorded output that was replaced: a ground where no program code changed, or where it belongs to a test that failed.
fn snapshot(change: &Change<'_>, file: &ChangedFile) -> Option<Tampering> {
    let path = file.previous_path.as_ref().unwrap_or(&file.path);
    if file.status == FileStatus::Added
        || !(is_snapshot(path) || in_test_folder(path) && TestSyntax::of(path).is_none())
    {
        return None;
    }
    let subject = stem(path);
    let is_of_failed = change.failed.iter().any(|test| {
        let test = test.to_lowercase();
        words(&path.to_lowercase()).any(|word| {
            word.len() > 3 && word != "test" && word != "tests" && word != "snapshots" && test.contains(word)
        })
    });
    let shrinks = file.status == FileStatus::Removed || file.deletions > file.additions;
    let counts = is_of_failed
        || is_snapshot(path)
            && !subject.is_empty()
            && (shrinks && file.status == FileStatus::Removed || !changes_program(change));
    let patch = file.read_patch();
    let lines = patch.iter().flat_map(|patch| patch.lines()).filter(|line| line.is_changed());
    let hunk = lines.take(MOST_SHOWN).map(|line| {
        let sign = if line.change == LineChange::Added { '+' } else { '-' };
        format!("{sign}{}", line.text)
    });
    counts.then(|| tampering(file, "recorded output is replaced", change.ground(is_of_failed), 0, hunk.collect()))
}

/// Whether code of the program changes, so that what a test expects may change with it.
fn changes_program(change: &Change<'_>) -> bool {
    change.files.known().iter().any(|file| {
        let is_inline = TestSyntax::of(&file.path).is_some_and(|syntax| syntax.inline);
        is_code(&file.path) && !is_test(&file.path) && (!is_inline || changes_outside_tests(file))
    })
}

/// Whether a file that holds its own tests changes above them.
fn changes_outside_tests(file: &ChangedFile) -> bool {
    let Some(patch) = file.read_patch() else { return true };
    patch.hunks.iter().any(|hunk| {
        let in_tests =
            hunk.heading.contains("mod tests") || hunk.lines.iter().any(|line| line.text.contains("#[test]"));
        !in_tests && hunk.lines.iter().any(|line| line.is_changed())
    })
}

/// Names of files that are removed, and of functions that are removed without another in their place.
fn gone(change: &Change<'_>) -> BTreeSet<String> {
    let mut gone = BTreeSet::new();
    let mut added: BTreeSet<String> = BTreeSet::new();
    for file in change.files.known().iter().filter(|file| !is_test(&file.path)) {
        let Some(syntax) = TestSyntax::of(&file.path) else { continue };
        if file.status == FileStatus::Removed {
            gone.insert(stem(&file.path).to_owned());
        }
        let Some(patch) = file.read_patch() else { continue };
        let declared = |text: &str| declared(syntax, text).map(str::to_owned);
        let taken: Vec<String> = patch.removed().filter_map(|line| declared(line.text)).collect();
        let brought: Vec<String> = patch.added().filter_map(|line| declared(line.text)).collect();
        if brought.len() < taken.len() {
            gone.extend(taken.into_iter().filter(|name| !brought.contains(name)));
        }
        added.extend(brought);
    }
    // A name of three letters stands in any text.
    gone.retain(|name| name.len() > 3 && !added.contains(name));
    gone
}

fn declared<'l>(syntax: &TestSyntax, line: &'l str) -> Option<&'l str> {
    let type_name = pattern!(r"\b(?:class|struct|enum|trait|interface|object|module|type)\s+(\w+)");
    syntax.function(line).or_else(|| type_name.captures(line)?.get(1).map(|name| name.as_str()))
}

fn shown(sign: char, lines: &[CodeLine]) -> Vec<String> {
    lines.iter().take(MOST_SHOWN).map(|line| format!("{sign}{}", line.text)).collect()
}
