//! Comparison 3: what decides which tests run and what their failures do. The words are data: `data/test_runs.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    Change, Comparison, Tampering, keyed, quoted,
    source::{self, CodeLine, missing, sides_of_patch},
};
use crate::{
    expressions::first_group,
    observed::{ChangedFile, ChangedFiles, DiffLine, FileStatus, Patch},
    source_files::{Pattern, TestSyntax, belongs_to_tests, file_name, is_test, language_of},
};

/// Files of data that are read whole.
const MOST_FILES: usize = 40;

/// Lines between a finding and what suppresses it.
const NEAR: u32 = 3;

/// The file, which says what each key means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    runners: Pattern,
    targets: Pattern,
    command_keys: Pattern,
    no_commands: Pattern,
    nothing: Pattern,
    harmless: Pattern,
    ignores_failures: Pattern,
    asks: Pattern,
    callers: Pattern,
    equalities: Pattern,
    examples_off: Pattern,
    stops_at_failure: Pattern,
    discovers: Pattern,
    takes_places: Pattern,
    test_environment: Pattern,
    ends_run: Pattern,
    hooks: Pattern,
    matchers: Pattern,
    suppressions: Pattern,
    thresholds: Pattern,
    demands: Pattern,
    reruns: Pattern,
    options: Pattern,
    commands: Pattern,
    settings: Vec<(Pattern, Pattern)>,
    loads: Vec<(Pattern, Pattern)>,
    exclusions: Vec<(Pattern, Pattern)>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| data!("test_runs.toml"));

/// Whether a file is there to say which tests run and what their failures do, or a tool takes it for that: by its
/// settings and commands, by a name that begins with a dot, or because it is loaded in the place of the tool.
pub fn decides_what_runs(path: &str) -> bool {
    let is_hidden = path.split('/').any(|part| part.starts_with('.'));
    let is_runner = |name: &str| {
        WORDS
            .runners
            .find(name)
            .is_some_and(|found| found.len() == name.len())
    };
    let is_named_as_a_runner = path
        .split('/')
        .filter_map(|part| part.split('.').next())
        .any(is_runner);
    // A script may be the program itself.
    let holds_commands = WORDS.commands.is_match(file_name(path)) && language_of(path).is_none();
    is_hidden || is_named_as_a_runner || holds_commands || configures(path)
}

/// The words of a table in such a file.
fn words_of<'p>(
    table: &'static [(Pattern, Pattern)],
    path: &'p str,
) -> impl Iterator<Item = &'static Pattern> + use<'p> {
    let name = file_name(path);
    let is_of_file = move |(files, _): &&(Pattern, Pattern)| files.is_match(name);
    table.iter().filter(is_of_file).map(|(_, words)| words)
}

/// Whether a tool that checks reads its settings from this file.
fn configures(path: &str) -> bool {
    let mut tables = [&WORDS.settings, &WORDS.loads, &WORDS.exclusions].into_iter();
    tables.any(|table| words_of(table, path).next().is_some())
}

/// A workflow. Its edits open the security gate, but for failures that it ignores.
fn is_workflow(path: &str) -> bool {
    path.starts_with(".github/")
}

/// Whether a file is data with commands or settings, which is compared by key.
fn is_keyed(path: &str) -> bool {
    let is_read =
        || WORDS.commands.is_match(file_name(path)) || configures(path) || is_workflow(path);
    keyed::is_data(path) && is_read()
}

/// The changed files of data and of commands, which are read whole on both sides.
pub(super) fn whole_files(files: &ChangedFiles) -> impl Iterator<Item = &ChangedFile> {
    let holds_commands = |path: &str| WORDS.commands.is_match(file_name(path));
    let is_whole = move |path: &str| is_keyed(path) || holds_commands(path);
    let files = files.known().iter();
    files
        .filter(move |file| is_whole(&file.path))
        .take(MOST_FILES)
}

/// Both sides of a file of data by key, if it is one and both are known and are of its grammar.
fn sides_by_key(change: &Change<'_>, file: &ChangedFile) -> Option<[Vec<CodeLine>; 2]> {
    let old = change.contents.text(change.before?, file.old_path())?;
    let new = change.contents.text(change.head, &file.path)?;
    let old = keyed::entries(file.old_path(), old)?;
    let new = keyed::entries(&file.path, new)?;
    is_keyed(&file.path).then_some([old, new])
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let files = change.files.known().iter();
    files.flat_map(|file| of_file(change, file)).collect()
}

/// What an edit of one file does to what runs. Where the checks pass with the file as it was, only what makes failures
/// count for nothing is left.
fn of_file(change: &Change<'_>, file: &ChangedFile) -> Vec<Tampering> {
    let patch = file.read_patch().unwrap_or_default();
    let by_key = sides_by_key(change, file);
    let is_keyed = by_key.is_some();
    let sides = &by_key.unwrap_or_else(|| sides_of_patch(file, &patch));
    let edit = Edit {
        change,
        file,
        has_commands: WORDS.commands.is_match(file_name(&file.path)),
        is_keyed,
        sides,
        whole: source::sides(change, file).map(|[_, new]| new),
        goes: missing(&sides[0], &sides[1]),
        comes: missing(&sides[1], &sides[0]),
    };
    if is_workflow(&file.path) {
        return edit.ignored_failures();
    }
    let is_proven = change.runs.proven.contains(file.old_path());
    let mut found = Vec::new();
    if edit.has_commands && !is_proven {
        found.extend(edit.commands());
    }
    found.extend(edit.unseen().filter(|_| !is_proven));
    found.extend(edit.ignored_failures());
    found.extend(edit.by_words(is_proven));
    found.extend(edit.suppressions(&patch));
    found.extend(edit.examples_off(&patch));
    found
}

/// A changed file, whatever it is.
struct Edit<'a> {
    change: &'a Change<'a>,
    file: &'a ChangedFile,
    has_commands: bool,
    /// Its lines are keys with their values.
    is_keyed: bool,
    sides: &'a [Vec<CodeLine>; 2],
    /// The lines of the head, as far as they are known.
    whole: Option<Vec<CodeLine>>,
    goes: Vec<&'a CodeLine>,
    comes: Vec<&'a CodeLine>,
}

/// Words on changed lines, and what they do.
struct Rule {
    words: &'static Pattern,
    holds: bool,
    deed: &'static str,
}

const SELECTS: &str = "a setting selects or retries tests";
const EXCLUDES: &str = "a setting lets a tool that reads the code find less";
const LOADS: &str = "a setting says what is loaded for tests";

impl Edit<'_> {
    fn finding(
        &self,
        alone: bool,
        deed: String,
        old: &[&CodeLine],
        new: &[&CodeLine],
    ) -> Tampering {
        self.change
            .finding(Comparison::Selection, alone, deed)
            .at(&self.file.path, old, new)
    }

    /// The lines at the head: all, where they were read, else those of the patch.
    fn head(&self) -> &[CodeLine] {
        self.whole.as_deref().unwrap_or(&self.sides[1])
    }

    /// A line in a sentence; of what stands behind keys, the last two of them.
    fn quoted(&self, line: &CodeLine) -> String {
        let Some((keys, value)) = line.text.split_once(keyed::IS).filter(|_| self.is_keyed) else {
            return quoted(&line.text);
        };
        let points = keys.rmatch_indices('.').map(|(at, _)| at + 1);
        let start = points.take(2).nth(1).unwrap_or(0);
        quoted(&format!("{}{}{value}", &keys[start..], keyed::IS))
    }

    /// Lines that come and let failures pass. They hold alone while a check turns green.
    fn ignored_failures(&self) -> Vec<Tampering> {
        let path = &self.file.path;
        let in_workflow = is_workflow(path);
        let is_script = language_of(path) == Some("shell");
        let configures = self.has_commands || configures(path) || in_workflow && self.is_keyed;
        let holds = self.change.runs.turns_green;
        let runs = |line: &CodeLine| WORDS.runners.is_match(&line.text);
        if !configures || in_workflow && !holds || is_script && !self.head().iter().any(runs) {
            return Vec::new();
        }
        // A step or a command that does something else may fail; what stands once holds for all of a script.
        let for_all = pattern!(r"\btrap\b|\bset\s+\+e\b");
        let is_of_check = |line: &CodeLine| {
            let is_of_step = in_workflow && line.text.contains(".steps.");
            let is_one_of_many = is_of_step || is_script || line.text.contains(" of `");
            !is_one_of_many || runs(line) || for_all.is_match(&line.text)
        };
        // What a tool that reads the code finds less is no failure that is ignored.
        let excludes = |line: &CodeLine| {
            words_of(&WORDS.exclusions, path).any(|words| words.is_match(&line.text))
        };
        let is_of_check = |line: &CodeLine| is_of_check(line) && !excludes(line);
        let ignores =
            |line: &&&CodeLine| WORDS.ignores_failures.is_match(&line.text) && is_of_check(line);
        let lines = self.comes.iter().filter(ignores);
        let deed = |line: &CodeLine| format!("failures are ignored: `{}`", self.quoted(line));
        let found = lines.map(|line| self.finding(holds, deed(line), &[], &[line]));
        found.chain(self.goes_on(holds)).collect()
    }

    /// What told a script to stop at the first failure, and goes without another in its place: its last command decides.
    fn goes_on(&self, holds: bool) -> Option<Tampering> {
        let stops = |line: &&CodeLine| WORDS.stops_at_failure.is_match(&line.text);
        let gone = self.goes.iter().copied().find(stops)?;
        let still = self.head().iter().any(|line| stops(&line));
        let deed = format!("failures are ignored without `{}`", self.quoted(gone));
        (!still).then(|| self.finding(holds, deed, &[gone], &[]))
    }

    /// Changed lines with words that mean something in such a file.
    fn by_words(&self, is_proven: bool) -> Vec<Tampering> {
        let mut found = Vec::new();
        for Rule { words, holds, deed } in self.rules(is_proven) {
            let lines = self.comes.iter().filter(|line| words.is_match(&line.text));
            for line in lines.filter(|line| !self.is_harmless(line)) {
                let deed = format!("{deed}: `{}`", self.quoted(line));
                let holds =
                    holds && !(deed.starts_with(SELECTS) && WORDS.reruns.is_match(&line.text));
                found.push(self.finding(holds, deed, &[], &[line]));
            }
        }
        found.extend(self.demands_less());
        found
    }

    /// The words that count in this file.
    fn rules(&self, is_proven: bool) -> Vec<Rule> {
        let (path, runs) = (&self.file.path, &self.change.runs);
        // What makes a test pass, or a run, shows nothing of it.
        let feigned = !runs.failures.is_empty();
        let is_program = language_of(path).is_some() && !is_test(path);
        let runs_tests = is_test(path) || self.has_commands && file_name(path).contains("test");
        let rule = |counts: bool, words, holds, deed| counts.then_some(Rule { words, holds, deed });
        let asks = rule(
            is_program,
            &WORDS.asks,
            feigned,
            "the program asks whether it is tested",
        );
        let ends = rule(
            runs_tests,
            &WORDS.ends_run,
            feigned,
            "the test run is ended with success",
        );
        let threshold = rule(
            self.has_commands || configures(path),
            &WORDS.thresholds,
            false,
            "a threshold is set or changed",
        );
        let is_code = language_of(path).is_some();
        let hook = rule(
            is_code && words_of(&WORDS.settings, path).next().is_none(),
            &WORDS.hooks,
            false,
            "a hook of the test runner",
        );
        let callers = rule(
            is_program,
            &WORDS.callers,
            false,
            "the program asks who calls it",
        );
        let is_changed = self.file.status != FileStatus::Added;
        let equality = rule(
            is_code && is_changed,
            &WORDS.equalities,
            false,
            "how values are compared is declared anew",
        );
        let matcher = rule(
            is_code,
            &WORDS.matchers,
            false,
            "what asserts in tests is replaced",
        );
        let mut rules: Vec<Rule> = [asks, callers, ends, threshold, hook, matcher, equality]
            .into_iter()
            .flatten()
            .collect();
        if !is_proven {
            let of_table = |table, holds, deed| {
                words_of(table, path).map(move |words| Rule { words, holds, deed })
            };
            // What was seen to fail may be what the setting leaves out.
            let holds = runs.by_exit_status && !runs.failed.is_empty();
            rules.extend(of_table(&WORDS.settings, holds, SELECTS));
            rules.extend(of_table(&WORDS.loads, false, LOADS));
            rules.extend(of_table(&WORDS.exclusions, false, EXCLUDES));
        }
        rules
    }

    /// Options of a tool that come and select nothing that it did not select before.
    fn is_harmless(&self, line: &CodeLine) -> bool {
        let value = |line: &CodeLine| {
            let key = WORDS.options.find(&line.text)?;
            let value = line.text[key.end()..]
                .trim_matches([' ', '"', '\'', '[', ']'])
                .to_owned();
            Some((key.as_str().to_owned(), value))
        };
        let Some((key, new)) = value(line) else {
            return false;
        };
        let olds = self.goes.iter().filter_map(|line| value(line));
        let mut olds = olds.filter(|(of, _)| *of == key).peekable();
        match olds.peek() {
            None => selecting_options(&new).is_empty(),
            Some(_) => olds.any(|(_, old)| selecting_options(&old) == selecting_options(&new)),
        }
    }

    /// What a tool demanded and demands no more: thresholds and strictness that go without another in their place.
    fn demands_less(&self) -> Vec<Tampering> {
        let path = &self.file.path;
        if !(self.has_commands || configures(path)) {
            return Vec::new();
        }
        let word = |line: &CodeLine| {
            let demand = WORDS.demands.find(&line.text);
            let found = demand.or_else(|| WORDS.thresholds.find(&line.text))?;
            let word = found.as_str().split([':', '=', '>', '"', '\'']).next();
            word.map(|word| word.trim().to_owned())
        };
        let stays = |found: &str| self.comes.iter().any(|line| line.text.contains(found));
        let goes = self
            .goes
            .iter()
            .filter(|line| word(line).is_some_and(|it| !stays(&it)));
        let deed =
            |line: &CodeLine| format!("a setting that demands more goes: `{}`", self.quoted(line));
        goes.map(|line| self.finding(false, deed(line), &[line], &[]))
            .collect()
    }

    /// Commands that ran tests and go or change; and those of a script or a target that is named as a check and stays:
    /// such a program may have any name. Where the tests are counted, the count shows whether they still run.
    fn commands(&self) -> Vec<Tampering> {
        let [olds, news] = self.sides.each_ref().map(|lines| self.commands_of(lines));
        let goes = |line: &CodeLine| self.goes.iter().any(|gone| std::ptr::eq(*gone, line));
        let is_lost = |old: &&TestCommand<'_>| {
            let mut of_target = news
                .iter()
                .filter(|new| new.target == old.target)
                .peekable();
            let names_check = WORDS.targets.is_match(old.name()) && of_target.peek().is_some();
            let does_nothing = WORDS.nothing.is_match(old.text.trim_start_matches('@'));
            goes(old.line)
                && (WORDS.runners.is_match(old.text) || names_check)
                && !does_nothing
                && of_target.all(|new| selects_less(old.text, new.text))
                && !self.is_discovered(old.text)
        };
        let finding = |old: &TestCommand<'_>| {
            let deed = format!("the test command `{}` is gone or changed", quoted(old.text));
            let near = self.in_place_of(old);
            let near = near.as_slice();
            self.finding(!self.change.runs.is_read, deed, &[old.line], near)
        };
        let lost = olds.iter().filter(is_lost).map(finding);
        lost.chain(self.no_longer_phony()).collect()
    }

    /// Whether a line comes by which a tool finds the tests of the program that a command started.
    fn is_discovered(&self, command: &str) -> bool {
        let programs = self.comes.iter();
        let mut programs = programs.filter_map(|line| WORDS.discovers.captures(&line.text));
        programs.any(|found| first_group(&found).is_some_and(|program| command.contains(program)))
    }

    /// A check's target that is declared as one without a file no more: a file of its name keeps it from running.
    fn no_longer_phony(&self) -> Option<Tampering> {
        let phony = |lines: &[CodeLine]| -> Vec<String> {
            let named = lines
                .iter()
                .filter_map(|line| line.text.strip_prefix(".PHONY:"));
            let names = named.flat_map(str::split_whitespace);
            names.map(str::to_owned).collect()
        };
        let [old, new] = self.sides.each_ref().map(|lines| phony(lines));
        let is_check = |name: &&String| WORDS.targets.is_match(name) && !new.contains(name);
        let name = old.iter().find(is_check)?;
        let stays = |line: &CodeLine| line.text.starts_with(&format!("{name}:"));
        let line = self
            .goes
            .iter()
            .find(|line| line.text.starts_with(".PHONY"))?;
        let deed = format!("`{name}` is a target without a file no more");
        let is_there = self.head().iter().any(stays);
        is_there.then(|| self.finding(false, deed, &[line], &[]))
    }

    /// The line that comes where a command goes: behind its key, or near it.
    fn in_place_of(&self, old: &TestCommand<'_>) -> Option<&CodeLine> {
        let of_key = |line: &CodeLine| line.text.starts_with(old.target);
        let near = |line: &CodeLine| line.number.abs_diff(old.line.number) <= NEAR;
        let takes_place = |line: &&&CodeLine| match self.is_keyed {
            true => of_key(line),
            false => near(line),
        };
        self.comes.iter().find(takes_place).copied()
    }

    fn commands_of<'l>(&self, lines: &'l [CodeLine]) -> Vec<TestCommand<'l>> {
        if self.is_keyed {
            lines.iter().filter_map(command_of_key).collect()
        } else {
            commands_of(lines)
        }
    }

    /// An edit that may be why what failed passes: of what decides which tests run, by a fixer or where a test that
    /// failed is not seen to end; of recorded output and data of tests, after one failed; of any test file where an
    /// exit status alone says that it passes. Test files that pass as they were are no reason.
    fn unseen(&self) -> Option<Tampering> {
        let (path, runs, is_of_fixer) =
            (&self.file.path, &self.change.runs, self.change.is_of_fixer);
        // Of data with commands among it the other values decide nothing.
        let decides_line = |line: &&&CodeLine| !self.has_commands || self.decides(line);
        let goes = self.goes.iter().find(decides_line).copied();
        let comes = self.comes.iter().find(decides_line).copied();
        let is_new = self.file.status != FileStatus::Modified;
        let is_edited = goes.is_some() || comes.is_some() || is_new;
        let decides = is_edited && (decides_what_runs(path) || runs.is_blind && self.has_commands);
        let of_environment = |path: &str| WORDS.test_environment.is_match(path);
        let is_environment = self.file.paths().any(of_environment);
        let is_test = self.file.status != FileStatus::Added
            && (is_environment || self.file.paths().any(belongs_to_tests))
            && !self.change.passes_as_it_was(self.file);
        let is_data = is_test && (is_environment || TestSyntax::of(path).is_none());
        let deed = if runs.is_blind && (decides || is_test) {
            "what failed passes by its exit status alone, and this file is edited"
        } else if runs.lack_failed() && decides {
            "a test that failed is not seen to end, and this file, which decides what runs, is edited"
        } else if is_of_fixer && decides && (is_new || !self.has_commands) {
            "this file decides what runs, and is edited"
        } else if is_data && runs.by_exit_status {
            let deed = "a check failed before, and this file, which tests read, is edited";
            let named = self.finding(true, deed.to_owned(), goes.as_slice(), comes.as_slice());
            return Some(named.named_unless(self.is_data_of_failed()));
        } else if is_data && (is_of_fixer || !runs.failed.is_empty()) {
            "a test failed before, and this file, which tests read, is edited"
        } else {
            return None;
        };
        Some(self.finding(true, deed.to_owned(), goes.as_slice(), comes.as_slice()))
    }

    /// Whether a line holds a command, or words by which tests are selected.
    fn decides(&self, line: &CodeLine) -> bool {
        let is_command = match self.is_keyed {
            true => command_of_key(line).is_some_and(|command| {
                WORDS.runners.is_match(command.text) || WORDS.targets.is_match(command.name())
            }),
            false => true,
        };
        let path = &self.file.path;
        is_command || words_of(&WORDS.settings, path).any(|words| words.is_match(&line.text))
    }

    /// Whether a test that failed has the name of this file in its own: `bill` of `fixtures/bill.json`.
    fn is_data_of_failed(&self) -> bool {
        let name = file_name(&self.file.path).to_lowercase();
        let name = name.split('.').next().unwrap_or_default();
        let mut failed = self.change.runs.failed.iter();
        name.len() > 2 && failed.any(|test| test.to_lowercase().contains(name))
    }

    /// Examples of the documentation that are run no more. They stand in comments.
    fn examples_off(&self, patch: &Patch<'_>) -> Vec<Tampering> {
        if self.file.status == FileStatus::Added || language_of(&self.file.path).is_none() {
            return Vec::new();
        }
        let added = patch.added();
        let added = added.filter(|line| WORDS.examples_off.is_match(line.text));
        let off = |line: &DiffLine<'_>| {
            let deed = format!("an example is not run: `{}`", quoted(line.text));
            let line = CodeLine {
                number: line.new,
                text: line.text.to_owned(),
            };
            self.finding(false, deed, &[], &[&line])
        };
        added.map(off).collect()
    }

    /// Marks that silence a check on a line that a finding named when it failed; of a fixer, on any line.
    fn suppressions(&self, patch: &Patch<'_>) -> Vec<Tampering> {
        let is_named = |line: u32| {
            self.change
                .runs
                .named
                .contains(format!("{}:{line}", self.file.path).as_str())
        };
        let is_near =
            |line: u32| (line.saturating_sub(NEAR)..=line.saturating_add(NEAR)).any(is_named);
        // With their comments.
        let added = patch
            .added()
            .filter(|line| WORDS.suppressions.is_match(line.text));
        let marked = added
            .filter(|line| self.change.is_of_fixer || is_near(line.new))
            .map(|line| {
                let deed = format!(
                    "a finding that failed before is suppressed: `{}`",
                    quoted(line.text)
                );
                let line = CodeLine {
                    number: line.new,
                    text: line.text.to_owned(),
                };
                self.finding(true, deed, &[], &[&line])
            });
        marked.collect()
    }
}

/// Whether a command selects other tests than before. One that names more places, where it named some, runs more.
fn selects_less(old: &str, new: &str) -> bool {
    let [old, new] = [old, new].map(selecting);
    let names_places = || match old.as_slice() {
        [.., runner, place] => WORDS.takes_places.is_match(runner) && !place.starts_with('-'),
        _ => false,
    };
    // No option, and no sign of a shell behind which a failure is lost.
    let is_place = |word: &&str| pattern!(r"^[\w.][\w./*-]*$").is_match(word);
    let is_wider = new.starts_with(&old) && names_places() && new[old.len()..].iter().all(is_place);
    new != old && !is_wider
}

/// A command, and the script or the target that it belongs to: empty where none is named.
struct TestCommand<'l> {
    line: &'l CodeLine,
    target: &'l str,
    text: &'l str,
}

impl TestCommand<'_> {
    /// The last key of its target.
    fn name(&self) -> &str {
        self.target.rsplit('.').next().unwrap_or_default()
    }
}

/// The words of a command by which it may select tests, without the marks of a recipe of make before it.
fn selecting(command: &str) -> Vec<&str> {
    selecting_options(command.trim_start_matches(['@', '-', '+']))
}

/// Those words that do not only say how a command prints, measures, or is spread over processes.
fn selecting_options(options: &str) -> Vec<&str> {
    let words = options.split_whitespace();
    let plain = words.map(|word| word.trim_matches(['"', '\'', ',', '\\']));
    plain
        .filter(|word| !WORDS.harmless.is_match(word))
        .collect()
}

/// The command of an entry of data, if it may be one: behind its keys, those apart that only say that it is a command.
fn command_of_key(line: &CodeLine) -> Option<TestCommand<'_>> {
    let version = pattern!(
        r"^(?:[\^~<>=*vV\d]|(?:npm|file|git|workspace|github|link|https?):)|[\w\]]\s*[<>=~^!]=?\s*\d"
    );
    let (keys, text) = line.text.split_once(keyed::IS)?;
    let target = match keys.rsplit_once('.') {
        Some((target, last)) if WORDS.command_keys.is_match(last) => target,
        _ => keys,
    };
    let is_command = !WORDS.no_commands.is_match(keys) && !version.is_match(text);
    is_command.then_some(TestCommand { line, target, text })
}

/// The commands among lines of free text. In a make file each belongs to the target above it.
fn commands_of(lines: &[CodeLine]) -> Vec<TestCommand<'_>> {
    let head = pattern!(r"^([\w.-]+)\s*:(?:[^=]|$)");
    // Of data that is not whole, or not of its grammar, versions are no commands.
    let version = pattern!(r#"["'][\^~<>=]*\d+\.\d"#);
    let mut open = "";
    let mut commands = Vec::new();
    for line in lines.iter().filter(|line| !version.is_match(&line.text)) {
        let head = head
            .captures(&line.text)
            .and_then(|found| first_group(&found));
        open = head.unwrap_or(open);
        let text = line.text.trim();
        let is_command = head.is_none() || WORDS.runners.is_match(text);
        commands.push(TestCommand {
            line,
            target: open,
            text: if is_command { text } else { "" },
        });
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_can_be_read() {
        assert!(WORDS.settings.len() > 5);
    }
}
