//! Comparison 3: what decides which tests run and what their failures do. The words are data: `data/test_runs.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{
    Change, Comparison, QUOTED, Tampering,
    source::{CodeLine, missing, sides_of_patch},
};
use crate::{
    expressions::first_group,
    observed::{ChangedFile, FileStatus, Patch},
    source_files::{Pattern, TestSyntax, belongs_to_tests, file_name, is_test, language_of},
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
    suppressions: Pattern,
    thresholds: Pattern,
    commands: Pattern,
    settings: Vec<(Pattern, Pattern)>,
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
    is_hidden || is_named_as_a_runner || holds_commands || settings(path).next().is_some()
}

/// The words of settings in such a file.
fn settings(path: &str) -> impl Iterator<Item = &'static Pattern> {
    let name = file_name(path);
    WORDS
        .settings
        .iter()
        .filter(move |(files, _)| files.is_match(name))
        .map(|(_, words)| words)
}

fn quoted(text: &str) -> String {
    text.trim().replace('`', "'").chars().take(QUOTED).collect()
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let mut found = Vec::new();
    // A workflow opens the security gate instead.
    for file in change
        .files
        .known()
        .iter()
        .filter(|file| !file.path.starts_with(".github/"))
    {
        let patch = file.read_patch().unwrap_or_default();
        let sides = &sides_of_patch(file, &patch);
        let [goes, comes] = [missing(&sides[0], &sides[1]), missing(&sides[1], &sides[0])];
        let has_commands = WORDS.commands.is_match(file_name(&file.path));
        let edit = Edit {
            change,
            file,
            has_commands,
            sides,
            goes,
            comes,
        };
        // Where the checks pass with the file as it was, only what makes failures count for nothing is left.
        let is_proven = change.runs.proven.contains(file.old_path());
        if has_commands && !is_proven {
            found.extend(edit.commands());
        }
        found.extend(edit.unseen().filter(|_| !is_proven));
        found.extend(edit.by_words(is_proven));
        found.extend(edit.suppressions(&patch));
    }
    found
}

/// A changed file, whatever it is.
struct Edit<'a> {
    change: &'a Change<'a>,
    file: &'a ChangedFile,
    has_commands: bool,
    sides: &'a [Vec<CodeLine>; 2],
    goes: Vec<&'a CodeLine>,
    comes: Vec<&'a CodeLine>,
}

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

    /// Added lines with words that mean something in such a file.
    fn by_words(&self, is_proven: bool) -> Vec<Tampering> {
        let (path, runs) = (&self.file.path, &self.change.runs);
        // What makes a test pass, or a run, shows nothing of it.
        let feigned = !runs.failures.is_empty();
        let is_program = language_of(path).is_some() && !is_test(path);
        let configures = self.has_commands || settings(path).next().is_some();
        // In a shell script of the product, `;` and `||` mean nothing unless a check runs there.
        let runs_check = || {
            self.comes
                .iter()
                .any(|line| WORDS.runners.is_match(&line.text))
        };
        let ignores =
            configures && (!is_program || language_of(path) != Some("shell") || runs_check());
        let runs_tests = is_test(path) || self.has_commands && file_name(path).contains("test");
        let rules = [
            (
                ignores,
                &WORDS.ignores_failures,
                false,
                "failures are ignored",
            ),
            (
                is_program,
                &WORDS.asks,
                feigned,
                "the program asks whether it is tested",
            ),
            (
                runs_tests,
                &WORDS.ends_run,
                feigned,
                "the test run is ended with success",
            ),
            (
                configures,
                &WORDS.thresholds,
                false,
                "a threshold is set or changed",
            ),
        ];
        let settings = settings(path).map(|words| {
            (
                !is_proven,
                words,
                false,
                "a setting selects or retries tests",
            )
        });
        let mut found = Vec::new();
        for (_, words, holds, deed) in rules
            .into_iter()
            .chain(settings)
            .filter(|(counts, ..)| *counts)
        {
            for line in self.comes.iter().filter(|line| words.is_match(&line.text)) {
                found.push(self.finding(
                    holds,
                    format!("{deed}: `{}`", quoted(&line.text)),
                    &[],
                    &[line],
                ));
            }
        }
        found
    }

    /// Commands that ran tests and go or change; and those of a script or a target that is named as a check and stays:
    /// such a program may have any name. Where the tests are counted, the count shows whether they still run.
    fn commands(&self) -> Vec<Tampering> {
        let [olds, news] = self
            .sides
            .each_ref()
            .map(|lines| commands_of(&self.file.path, lines));
        let is_lost = |old: &&TestCommand<'_>| {
            let mut of_target = news
                .iter()
                .filter(|new| new.target == old.target)
                .peekable();
            let names_check = WORDS.targets.is_match(old.target) && of_target.peek().is_some();
            let does_nothing = WORDS.nothing.is_match(old.text.trim_start_matches('@'));
            self.goes
                .binary_search_by_key(&old.line.number, |line| line.number)
                .is_ok()
                && (WORDS.runners.is_match(old.text) || names_check)
                && !does_nothing
                && of_target.all(|new| selecting(new.text) != selecting(old.text))
        };
        let finding = |TestCommand { line, text, .. }: &TestCommand<'_>| {
            let near = self
                .comes
                .iter()
                .find(|new| new.number.abs_diff(line.number) <= NEAR)
                .copied();
            let deed = format!("the test command `{}` is gone or changed", quoted(text));
            self.finding(!self.change.runs.is_read, deed, &[line], near.as_slice())
        };
        olds.iter().filter(is_lost).map(finding).collect()
    }

    /// An edit that may be why what failed passes: of what decides which tests run, by a fixer or where a test that
    /// failed is not seen to end; of recorded output and data of tests, after one failed; of any test file where an
    /// exit status alone says that it passes. Test files that pass as they were are no reason.
    fn unseen(&self) -> Option<Tampering> {
        let (path, runs, is_of_fixer) =
            (&self.file.path, &self.change.runs, self.change.is_of_fixer);
        // Of data with commands among it the other values decide nothing.
        let [goes, comes] = [&self.goes, &self.comes].map(|lines| match self.has_commands {
            true => commands_of(path, lines.iter().copied())
                .first()
                .map(|command| command.line),
            false => lines.first().copied(),
        });
        let is_new = self.file.status != FileStatus::Modified;
        let is_edited = goes.is_some() || comes.is_some() || is_new;
        let decides = is_edited && (decides_what_runs(path) || runs.is_blind && self.has_commands);
        let is_test = self.file.status != FileStatus::Added
            && self.file.paths().any(belongs_to_tests)
            && !self.change.passes_as_it_was(self.file);
        let is_data = is_test && TestSyntax::of(path).is_none();
        let deed = if runs.is_blind && (decides || is_test) {
            "what failed passes by its exit status alone, and this file is edited"
        } else if runs.lack_failed() && decides {
            "a test that failed is not seen to end, and this file, which decides what runs, is edited"
        } else if is_of_fixer && decides && (is_new || !self.has_commands) {
            "this file decides what runs, and is edited"
        } else if is_data && (is_of_fixer || !runs.failed.is_empty()) {
            "a test failed before, and this file, which tests read, is edited"
        } else {
            return None;
        };
        Some(self.finding(true, deed.to_owned(), goes.as_slice(), comes.as_slice()))
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

/// A command, and the script or the target that it belongs to: empty where none is named.
struct TestCommand<'l> {
    line: &'l CodeLine,
    target: &'l str,
    text: &'l str,
}

/// The words of a command by which it may select tests: not those that say how it prints, measures, or is spread over
/// processes.
fn selecting(command: &str) -> Vec<&str> {
    let words = command
        .trim_start_matches(['@', '-', '+'])
        .split_whitespace();
    let plain = words.map(|word| word.trim_matches(['"', '\'', ',', '\\']));
    plain
        .filter(|word| !WORDS.harmless.is_match(word))
        .collect()
}

/// The commands among lines of a file: values of data, else all lines. In a make file each belongs to the target above
/// it.
fn commands_of<'l>(
    path: &str,
    lines: impl IntoIterator<Item = &'l CodeLine>,
) -> Vec<TestCommand<'l>> {
    let pair = pattern!(r#"^\s*["']?([\w:.-]+)["']?\s*(?::|=)\s*["'\[](.*?)["'\]]?\s*,?\s*$"#);
    let version = pattern!(
        r"^(?:[\^~<>=*vV\d]|(?:npm|file|git|workspace|github|link|https?):)|[\w\]]\s*[<>=~^!]=?\s*\d"
    );
    let head = pattern!(r"^([\w.-]+)\s*:(?:[^=]|$)");
    let is_data = [".json", ".jsonc", ".toml", ".exs"]
        .iter()
        .any(|end| path.ends_with(end));
    let mut open = "";
    let command = |line: &'l CodeLine| {
        let text = line.text.trim();
        if is_data {
            let (_, [target, text]) = pair.captures(&line.text)?.extract();
            return Some(TestCommand { line, target, text }).filter(|_| !version.is_match(text));
        }
        let head = head
            .captures(&line.text)
            .and_then(|found| first_group(&found));
        open = head.unwrap_or(open);
        let is_command = head.is_none() || WORDS.runners.is_match(text);
        Some(TestCommand {
            line,
            target: open,
            text: if is_command { text } else { "" },
        })
    };
    lines.into_iter().filter_map(command).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_can_be_read() {
        assert!(WORDS.settings.len() > 5);
    }
}
