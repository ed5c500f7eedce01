//! Comparison 3: what decides which tests run and what their failures do. The words are data: `data/test_runs.toml`.

use std::{collections::BTreeSet, sync::LazyLock};

use serde::Deserialize;

use super::{
    Change, Comparison, QUOTED, Tampering,
    source::{CodeLine, Sides, difference},
};
use crate::{
    observed::{ChangedFile, FileStatus, Patch},
    source_files::{Pattern, belongs_to_tests, file_name, is_test, language_of},
    words::first_group,
};

/// Lines between a finding and what suppresses it.
const NEAR: u32 = 3;

/// The file, which says what each key means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    runners: Pattern,
    targets: Pattern,
    nothing: Pattern,
    harmless: Pattern,
    ignores_failures: Pattern,
    asks: Pattern,
    ends_run: Pattern,
    replaces: Pattern,
    suppressions: Pattern,
    thresholds: Pattern,
    commands: Pattern,
    settings: Vec<(Pattern, Pattern)>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| data!("test_runs.toml"));

/// The words by which a line of a test file puts a stand-in where something else stood.
pub(super) fn replaced(line: &str) -> Option<&str> {
    WORDS.replaces.find(line).map(|found| found.as_str().trim())
}

/// Whether a file is there to say which tests run and what their failures do, or a tool takes it for that.
pub fn decides_what_runs(path: &str) -> bool {
    holds_commands(path) || is_hidden(path) || is_named_as_a_runner(path) || settings(path).next().is_some()
}

/// The words of settings in such a file.
fn settings(path: &str) -> impl Iterator<Item = &'static Pattern> {
    let name = file_name(path);
    WORDS.settings.iter().filter(move |(files, _)| files.is_match(name)).map(|(_, words)| words)
}

/// A script may be the program itself.
fn holds_commands(path: &str) -> bool {
    WORDS.commands.is_match(file_name(path)) && language_of(path).is_none()
}

/// Tools look for their settings in files and folders whose names begin with a dot.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

/// A file or folder of this name is loaded in the place of the tool.
fn is_named_as_a_runner(path: &str) -> bool {
    let is_runner = |name: &str| WORDS.runners.find(name).is_some_and(|found| found.len() == name.len());
    path.split('/').filter_map(|part| part.split('.').next()).any(is_runner)
}

fn quoted(text: &str) -> String {
    text.trim().replace('`', "'").chars().take(QUOTED).collect()
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    // A workflow opens the security gate instead.
    let files = change.files.known().iter().filter(|file| !file.path.starts_with(".github/"));
    let edit = |file| Edit { change, file, has_commands: WORDS.commands.is_match(file_name(&file.path)) };
    files.flat_map(|file| edit(file).findings()).collect()
}

/// A changed file, whatever it is.
struct Edit<'a> {
    change: &'a Change<'a>,
    file: &'a ChangedFile,
    has_commands: bool,
}

impl Edit<'_> {
    fn finding(&self, alone: bool, deed: String, old: Option<&CodeLine>, new: Option<&CodeLine>) -> Tampering {
        self.change.finding(Comparison::Selection, alone, deed).at(&self.file.path, old, new)
    }

    /// Where the checks pass with the file as it was, only what makes failures count for nothing is left.
    fn findings(&self) -> Vec<Tampering> {
        let is_proven = self.change.is_proven(self.file);
        let mut found: Vec<Tampering> = self.intruder().filter(|_| !is_proven).into_iter().collect();
        let patch = self.file.read_patch().unwrap_or_default();
        let sides = Sides::of_patch(self.file, &patch);
        let changed = difference(&sides.old, &sides.new);
        if self.has_commands && !is_proven {
            found.extend(self.commands(&sides, &changed));
        }
        if !is_proven {
            found.extend(self.unseen(&changed));
        }
        found.extend(self.by_words(&changed, is_proven));
        found.extend(self.suppressions(&patch));
        found
    }

    /// A file that a fixer has no reason to touch unless a check is about it: then the checks fail without it.
    fn intruder(&self) -> Option<Tampering> {
        let is_new = matches!(self.file.status, FileStatus::Added | FileStatus::Renamed | FileStatus::Copied);
        let path = &self.file.path;
        let deed = match () {
            () if !self.change.is_of_fixer => None,
            () if self.file.paths().any(is_hidden) => Some("a file that configures tools is changed"),
            () if is_new && is_named_as_a_runner(path) => Some("a new file has the name of a test runner"),
            () if is_new && holds_commands(path) => Some("a new file says which commands run"),
            () => None,
        };
        Some(self.finding(true, deed?.to_owned(), None, None))
    }

    /// Added lines with words that mean something in such a file, and numbers that fall there.
    fn by_words(&self, changed: &Sides, is_proven: bool) -> Vec<Tampering> {
        let (path, runs) = (&self.file.path, &self.change.runs);
        // What makes a test pass, or a run, shows nothing of it.
        let feigned = !runs.failures.is_empty();
        let is_program = language_of(path).is_some() && !is_test(path);
        let configures = self.has_commands || settings(path).next().is_some();
        // In a shell script of the product, `;` and `||` mean nothing unless a check runs there.
        let runs_check = || changed.new.iter().any(|line| WORDS.runners.is_match(&line.text));
        let ignores = configures && (!is_program || language_of(path) != Some("shell") || runs_check());
        let runs_tests = is_test(path) || self.has_commands && file_name(path).contains("test");
        let rules = [
            (ignores, &WORDS.ignores_failures, false, "failures are ignored"),
            (is_program, &WORDS.asks, feigned, "the program asks whether it is tested"),
            (runs_tests, &WORDS.ends_run, feigned, "the test run is ended with success"),
        ];
        let settings = settings(path).map(|words| (!is_proven, words, false, "a setting selects or retries tests"));
        let mut found = Vec::new();
        for (_, words, holds, deed) in rules.into_iter().chain(settings).filter(|(counts, ..)| *counts) {
            let lines = changed.new.iter().filter(|line| words.is_match(&line.text));
            let deed = |line: &CodeLine| format!("{deed}: `{}`", quoted(&line.text));
            found.extend(lines.map(|line| self.finding(holds, deed(line), None, Some(line))));
        }
        found.extend(changed.new.iter().filter(|_| configures).filter_map(|line| self.threshold(changed, line)));
        found
    }

    /// A number behind the words of a threshold that falls.
    fn threshold(&self, changed: &Sides, new: &CodeLine) -> Option<Tampering> {
        let number = |line: &CodeLine| -> Option<(String, f64)> {
            let number = WORDS.thresholds.captures(&line.text)?.get(1)?;
            Some((line.text[..number.start()].trim().to_owned(), number.as_str().parse().ok()?))
        };
        let (words, after) = number(new)?;
        let mut before = changed.old.iter().filter_map(|old| Some((old, number(old)?)));
        let (old, (_, before)) = before.find(|(_, (old, before))| *old == words && *before > after)?;
        Some(self.finding(false, format!("a threshold falls from {before} to {after}"), Some(old), Some(new)))
    }

    /// Commands that ran tests and go, change their program, or select; and those of a script or a target that is named as
    /// a check and does nothing now: such a program may have any name.
    fn commands(&self, sides: &Sides, changed: &Sides) -> Vec<Tampering> {
        let (olds, news) = (commands_of(&self.file.path, &sides.old), commands_of(&self.file.path, &sides.new));
        let numbers = |lines: &[CodeLine]| -> BTreeSet<u32> { lines.iter().map(|line| line.number).collect() };
        let (going, coming) = (numbers(&changed.old), numbers(&changed.new));
        // Targets that are there, and those of them that do something.
        let there: BTreeSet<&str> = news.iter().map(|new| new.target).collect();
        let busy: BTreeSet<&str> = news.iter().filter(|new| !is_nothing(new.text)).map(|new| new.target).collect();
        let is_emptied = |name: &str| WORDS.targets.is_match(name) && there.contains(name) && !busy.contains(name);
        let mut added = news;
        added.retain(|new| WORDS.runners.is_match(new.text) && coming.contains(&new.line.number));
        let mut found = Vec::new();
        for Command { line, target, text } in olds.into_iter().filter(|old| going.contains(&old.line.number)) {
            let same = added.iter().position(|new| !programs(new.text).is_disjoint(&programs(text)));
            if let Some(new) = same.map(|same| added.remove(same)) {
                let is_same = selection(new.text) == selection(text) || WORDS.ignores_failures.is_match(new.text);
                let deed = format!("the test command selects other tests: `{}`", quoted(new.text));
                let selects = self.finding(false, deed, Some(line), Some(new.line));
                found.extend(Some(selects).filter(|_| !is_same));
            } else if (WORDS.runners.is_match(text) || !is_nothing(text) && is_emptied(target)) && !self.moves(text) {
                let near = changed.new.iter().find(|new| new.number.abs_diff(line.number) <= NEAR);
                let deed = format!("the test command `{}` is gone", quoted(text));
                // A check whose tests are counted shows by the count when they no longer run.
                found.push(self.finding(!self.change.runs.is_read, deed, Some(line), near));
            }
        }
        found
    }

    /// Whether the command turns up in another file of the change.
    fn moves(&self, command: &str) -> bool {
        let others = self.change.files.known().iter().filter(|file| file.path != self.file.path);
        let mut added = others.filter_map(ChangedFile::added_lines).flatten();
        command.len() > 6 && added.any(|(_, added)| added.contains(command))
    }

    /// An edit of what decides which tests run, where a test that failed is not seen to end: it may be why. Where only an
    /// exit status says that what failed passes, that counts of test files too, unless they pass as they were.
    fn unseen(&self, changed: &Sides) -> Option<Tampering> {
        let (path, runs) = (&self.file.path, &self.change.runs);
        // Of data with commands among it the other values decide nothing.
        let first = |lines| match self.has_commands {
            true => commands_of(path, lines).first().map(|command| command.line),
            false => lines.first(),
        };
        let (goes, comes) = (first(&changed.old), first(&changed.new));
        let holds_commands = runs.is_blind && self.has_commands;
        let decides = (decides_what_runs(path) || holds_commands) && (goes.is_some() || comes.is_some());
        let is_test = self.file.status != FileStatus::Added
            && self.file.paths().any(belongs_to_tests)
            && !self.change.passes_as_it_was(self.file);
        let deed = match () {
            () if runs.is_blind && (decides || is_test) => {
                "what failed passes by its exit status alone, and this file is edited"
            }
            () if runs.lack_failed() && decides => {
                "a test that failed is not seen to end, and this file, which decides what runs, is edited"
            }
            () => return None,
        };
        Some(self.finding(true, deed.to_owned(), goes, comes))
    }

    /// Marks that silence a check on a line that a finding named when it failed; of a fixer, on any line.
    fn suppressions(&self, patch: &Patch<'_>) -> Vec<Tampering> {
        let is_named = |line: u32| self.change.runs.named.contains(format!("{}:{line}", self.file.path).as_str());
        let is_near = |line: u32| (line.saturating_sub(NEAR)..=line.saturating_add(NEAR)).any(is_named);
        // With their comments.
        let added = patch.added().filter(|line| WORDS.suppressions.is_match(line.text));
        let marked = added.filter(|line| self.change.is_of_fixer || is_near(line.new));
        let marked = marked.map(|line| CodeLine { number: line.new, text: line.text.to_owned() });
        let deed = |line: &CodeLine| format!("a finding that failed before is suppressed: `{}`", quoted(&line.text));
        marked.map(|line| self.finding(true, deed(&line), None, Some(&line))).collect()
    }
}

/// A command, and the script or the target that it belongs to: empty where none is named.
struct Command<'l> {
    line: &'l CodeLine,
    target: &'l str,
    text: &'l str,
}

/// The commands among lines of a file: values of data, else all lines. In a make file each belongs to the target above it.
fn commands_of<'l>(path: &str, lines: &'l [CodeLine]) -> Vec<Command<'l>> {
    let pair = pattern!(r#"^\s*["']?([\w:.-]+)["']?\s*(?::|=)\s*["'\[](.*?)["'\]]?\s*,?\s*$"#);
    let version =
        pattern!(r"^(?:[\^~<>=*vV\d]|(?:npm|file|git|workspace|github|link|https?):)|[\w\]]\s*[<>=~^!]=?\s*\d");
    let head = pattern!(r"^([\w.-]+)\s*:(?:[^=]|$)");
    let is_data = [".json", ".jsonc", ".toml", ".exs"].iter().any(|end| path.ends_with(end));
    let mut open = "";
    let command = |line: &'l CodeLine| {
        let text = line.text.trim();
        if is_data {
            let (_, [target, text]) = pair.captures(&line.text)?.extract();
            return Some(Command { line, target, text }).filter(|_| !version.is_match(text));
        }
        let head = head.captures(&line.text).and_then(|found| first_group(&found));
        open = head.unwrap_or(open);
        let is_command = head.is_none() || WORDS.runners.is_match(text);
        Some(Command { line, target: open, text: if is_command { text } else { "" } })
    };
    lines.iter().filter_map(command).collect()
}

fn is_nothing(command: &str) -> bool {
    WORDS.nothing.is_match(command.trim_start_matches('@'))
}

fn programs(command: &str) -> BTreeSet<&str> {
    WORDS.runners.find_iter(command).map(|found| found.as_str()).collect()
}

/// The words of a command by which it may select tests.
fn selection(command: &str) -> BTreeSet<&str> {
    let words = command.split_whitespace().map(|word| word.trim_matches(['"', '\'', ',', '\\']));
    words.filter(|word| !WORDS.harmless.is_match(word) && !WORDS.runners.is_match(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_can_be_read() {
        assert!(WORDS.settings.len() > 5);
    }
}
