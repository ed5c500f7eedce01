//! Comparison 3: what decides which tests run and what their failures do. The words are data: `data/test_runs.toml`.

use std::{collections::BTreeSet, sync::LazyLock};

use serde::Deserialize;

use super::{
    Change, Comparison, Tampering, Weight,
    source::{CodeLine, Sides, hunk, missing},
};
use crate::{
    observed::{ChangedFile, Patch},
    source_files::{Pattern, file_name, is_test, language_of},
};

/// Characters of a line that a sentence quotes.
const QUOTED: usize = 60;
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
    settings: Vec<Setting>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    files: Pattern,
    words: Pattern,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../data/test_runs.toml"))
        .expect("the file is part of the program, and a test reads it")
});

/// The words by which a line of a test file puts a stand-in where something else stood.
pub(super) fn replaced(line: &str) -> Option<&str> {
    WORDS.replaces.find(line).map(|found| found.as_str().trim())
}

/// The changed lines of a file, without comments.
struct Lines<'a> {
    file: &'a ChangedFile,
    removed: Vec<&'a CodeLine>,
    added: Vec<&'a CodeLine>,
}

impl Lines<'_> {
    /// A finding, with the line that goes and the line that comes.
    fn found(&self, deed: String, weight: Weight, old: Option<&CodeLine>, new: Option<&CodeLine>) -> Tampering {
        let line = new.or(old).map_or(0, |line| line.number);
        Tampering::of(Comparison::Selection, weight, deed).at(&self.file.path, line, hunk(old, new))
    }
}

fn quoted(text: &str) -> String {
    text.trim().replace('`', "'").chars().take(QUOTED).collect()
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let mut found = Vec::new();
    // A workflow opens the security gate instead.
    for file in change.files.known().iter().filter(|file| !file.path.starts_with(".github/")) {
        let Some(patch) = file.read_patch() else { continue };
        let sides = Sides::of_patch(file, &patch);
        let (removed, added) = (missing(&sides.old, &sides.new), missing(&sides.new, &sides.old));
        let lines = Lines { file, removed, added };
        let has_commands = WORDS.commands.is_match(file_name(&file.path));
        if has_commands {
            found.extend(commands(change, &lines));
        }
        found.extend(words_of_file(change, &lines, has_commands));
        found.extend(suppressions(change, &lines, &patch));
    }
    found
}

/// Added lines with words that mean something in such a file, and numbers that fall there.
fn words_of_file(change: &Change<'_>, lines: &Lines<'_>, has_commands: bool) -> Vec<Tampering> {
    let (path, name) = (&lines.file.path, file_name(&lines.file.path));
    let is_program = language_of(path).is_some() && !is_test(path);
    let settings: Vec<&Setting> = WORDS.settings.iter().filter(|setting| setting.files.is_match(name)).collect();
    let (configures, runs_tests) = (has_commands || !settings.is_empty(), has_commands && name.contains("test"));
    // In a shell script of the product, `;` and `||` mean nothing unless a check runs there.
    let is_script = is_program && language_of(path) == Some("shell");
    let mut rules: Vec<(&Pattern, bool, &str)> = Vec::new();
    rules.extend(configures.then_some((&WORDS.ignores_failures, is_script, "failures are ignored")));
    rules.extend(settings.iter().map(|setting| (&setting.words, false, "a setting selects or retries tests")));
    rules.extend(is_program.then_some((&WORDS.asks, false, "the program asks whether it is tested")));
    let ends_run = (&WORDS.ends_run, false, "the test run is ended with success");
    rules.extend((is_test(path) || runs_tests).then_some(ends_run));
    let (weight, mut found) = (change.ground(false), Vec::new());
    for (words, runs_check, deed) in rules {
        let counts = |text: &str| words.is_match(text) && (!runs_check || WORDS.runners.is_match(text));
        found.extend(
            lines
                .added
                .iter()
                .filter(|line| counts(&line.text))
                .map(|line| lines.found(format!("{deed}: `{}`", quoted(&line.text)), weight, None, Some(line))),
        );
    }
    if configures {
        found.extend(thresholds(lines, weight));
    }
    found
}

/// The commands among lines of a file, without the names of their scripts.
fn commands_of<'l>(path: &str, lines: &[&'l CodeLine]) -> Vec<(&'l CodeLine, &'l str)> {
    let pair = pattern!(r#"^\s*["']?[\w:.-]+["']?\s*(?::|=)\s*["'\[](.*?)["'\]]?\s*,?\s*$"#);
    let version =
        pattern!(r"^(?:[\^~<>=*vV\d]|(?:npm|file|git|workspace|github|link|https?):)|[\w\]]\s*[<>=~^!]=?\s*\d");
    let is_data = [".json", ".jsonc", ".toml", ".exs"].iter().any(|end| path.ends_with(end));
    let command = |line: &'l CodeLine| match is_data {
        true => pair.captures(&line.text)?.get(1).map(|value| value.as_str()).filter(|value| !version.is_match(value)),
        false => Some(line.text.trim()),
    };
    lines.iter().filter_map(|line| Some((*line, command(line)?))).collect()
}

/// Commands that ran tests and go, change their program, or select.
fn commands(change: &Change<'_>, lines: &Lines<'_>) -> Vec<Tampering> {
    // A check whose tests are counted shows by the count when they no longer run.
    let weight = if change.runs.is_read { change.ground(false) } else { Weight::Alone };
    let gone = |command: &str, old: &CodeLine, new: Option<&CodeLine>| {
        lines.found(format!("the test command `{}` is gone", quoted(command)), weight, Some(old), new)
    };
    let runs = |text: &str| WORDS.runners.is_match(text);
    let programs = |text| -> BTreeSet<&str> { WORDS.runners.find_iter(text).map(|found| found.as_str()).collect() };
    let tokens = |text: &str| -> BTreeSet<String> {
        text.split_whitespace().map(|token| token.trim_matches(['"', '\'', ',', '\\']).to_owned()).collect()
    };
    let (added, removed) = (commands_of(&lines.file.path, &lines.added), commands_of(&lines.file.path, &lines.removed));
    let mut left: Vec<_> = added.iter().filter(|(_, text)| runs(text)).collect();
    let mut found = Vec::new();
    for (old, text) in removed.into_iter().filter(|(_, text)| runs(text)) {
        if let Some(same) = left.iter().position(|(_, now)| !programs(now).is_disjoint(&programs(text))) {
            let (new, now) = left.remove(same);
            let selects = |token: &String| !token.is_empty() && !WORDS.harmless.is_match(token) && !runs(token);
            if tokens(text).symmetric_difference(&tokens(now)).any(selects) && !WORDS.ignores_failures.is_match(now) {
                let deed = format!("the test command selects other tests: `{}`", quoted(now));
                found.push(lines.found(deed, change.ground(false), Some(old), Some(new)));
            }
        } else if !moves(change, lines.file, text) {
            let near = lines.added.iter().find(|line| line.number.abs_diff(old.number) <= NEAR);
            found.push(gone(text, old, near.copied()));
        }
    }
    // A script that started a check by another script, and does nothing now.
    let mut emptied = added.iter().filter(|(line, text)| {
        WORDS.nothing.is_match(text.trim_start_matches('@'))
            && (WORDS.targets.is_match(&line.text) || line.text.starts_with('\t'))
    });
    if let (true, Some((line, _)), Some(old)) = (found.is_empty(), emptied.next(), lines.removed.first()) {
        found.push(gone(&old.text, old, Some(line)));
    }
    found
}

/// Whether the command turns up in another file of the change.
fn moves(change: &Change<'_>, from: &ChangedFile, command: &str) -> bool {
    let others = change.files.known().iter().filter(|file| file.path != from.path);
    command.len() > 6 && others.filter_map(ChangedFile::added_lines).flatten().any(|(_, added)| added.contains(command))
}

/// Numbers behind the words of a threshold that fall.
fn thresholds(lines: &Lines<'_>, weight: Weight) -> Vec<Tampering> {
    let number = |line: &CodeLine| -> Option<(String, f64)> {
        let number = WORDS.thresholds.captures(&line.text)?.get(1)?;
        Some((line.text[..number.start()].trim().to_owned(), number.as_str().parse().ok()?))
    };
    let fallen = |line: &&CodeLine| {
        let (words, after) = number(line)?;
        let mut before = lines.removed.iter().filter_map(|old| Some((*old, number(old)?)));
        let (old, (_, before)) = before.find(|(_, (old, before))| *old == words && *before > after)?;
        Some(lines.found(format!("a threshold falls from {before} to {after}"), weight, Some(old), Some(line)))
    };
    lines.added.iter().filter_map(fallen).collect()
}

/// Marks that silence a check on a line that a finding named when it failed; of a fixer, on any line.
fn suppressions(change: &Change<'_>, lines: &Lines<'_>, patch: &Patch<'_>) -> Vec<Tampering> {
    let of_file = change.runs.named.iter().filter_map(|place| place.rsplit_once(':'));
    let named: Vec<u32> =
        of_file.filter(|(path, _)| *path == lines.file.path).filter_map(|(_, line)| line.parse().ok()).collect();
    let counts = |line: u32| change.is_of_fixer || named.iter().any(|at| line.abs_diff(*at) <= NEAR);
    // With their comments.
    let added = patch.added().map(|line| CodeLine { number: line.new, text: line.text.to_owned() });
    let marked = added.filter(|line| WORDS.suppressions.is_match(&line.text) && counts(line.number));
    let deed = |line: &CodeLine| format!("a finding that failed before is suppressed: `{}`", quoted(&line.text));
    marked.map(|line| lines.found(deed(&line), Weight::Alone, None, Some(&line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_can_be_read() {
        assert!(WORDS.settings.len() > 5);
    }
}
