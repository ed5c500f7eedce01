//! Comparison 3: what decides which tests run and what their failures do. The words are data: `data/test_runs.toml`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use serde::Deserialize;

use super::{
    Change, Comparison, Tampering, Weight,
    source::{CodeLine, Sides, difference, hunk},
};
use crate::{
    observed::{ChangedFile, FileStatus, Patch},
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
    settings: Vec<(Pattern, Pattern)>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    toml::from_str(include_str!("../../../data/test_runs.toml"))
        .expect("the file is part of the program, and a test reads it")
});

/// The words by which a line of a test file puts a stand-in where something else stood.
pub(super) fn replaced(line: &str) -> Option<&str> {
    WORDS.replaces.find(line).map(|found| found.as_str().trim())
}

/// Whether a file is there to say which tests run and what their failures do, or a tool takes it for that.
pub fn decides_what_runs(path: &str) -> bool {
    let name = file_name(path);
    holds_commands(path)
        || WORDS.settings.iter().any(|(files, _)| files.is_match(name))
        || is_hidden(path)
        || is_named_as_a_runner(path)
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

/// A file that a fixer has no reason to touch unless a check is about it: then the checks fail without it.
fn intruder(file: &ChangedFile) -> Option<&'static str> {
    let is_new = matches!(file.status, FileStatus::Added | FileStatus::Renamed | FileStatus::Copied);
    let is_placed = |test: fn(&str) -> bool| is_new && test(&file.path);
    match () {
        () if file.paths().any(is_hidden) => Some("a file that configures tools is changed"),
        () if is_placed(is_named_as_a_runner) => Some("a new file has the name of a test runner"),
        () if is_placed(holds_commands) => Some("a new file says which commands run"),
        () => None,
    }
}

/// A finding, with the line that goes and the line that comes.
fn found(
    file: &ChangedFile,
    deed: String,
    weight: Weight,
    old: Option<&CodeLine>,
    new: Option<&CodeLine>,
) -> Tampering {
    let line = new.or(old).map_or(0, |line| line.number);
    Tampering::of(Comparison::Selection, weight, deed).at(&file.path, line, hunk(old, new))
}

fn quoted(text: &str) -> String {
    text.trim().replace('`', "'").chars().take(QUOTED).collect()
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let mut found = Vec::new();
    // A workflow opens the security gate instead.
    for file in change.files.known().iter().filter(|file| !file.path.starts_with(".github/")) {
        if let Some(deed) = intruder(file).filter(|_| change.is_of_fixer && !change.is_proven(file)) {
            found.push(self::found(file, deed.to_owned(), Weight::Proof, None, None));
        }
        let Some(patch) = file.read_patch() else { continue };
        let sides = Sides::of_patch(file, &patch);
        let changed = difference(&sides.old, &sides.new);
        let has_commands = WORDS.commands.is_match(file_name(&file.path));
        if has_commands && !change.is_proven(file) {
            found.extend(commands(change, file, &sides, &changed));
        }
        found.extend(by_words(change, file, &changed, has_commands));
        found.extend(suppressions(change, file, &patch));
    }
    found
}

/// Added lines with words that mean something in such a file, and numbers that fall there.
fn by_words(change: &Change<'_>, file: &ChangedFile, changed: &Sides, has_commands: bool) -> Vec<Tampering> {
    let (path, name) = (&file.path, file_name(&file.path));
    // What makes a test pass, or a run, shows nothing of it; of what is selected the results by test do.
    let (feigns, selects) = (change.weight(!change.runs.failures.is_empty()), change.weight(change.runs.lack_failed()));
    let is_program = language_of(path).is_some() && !is_test(path);
    let settings: Vec<_> = WORDS.settings.iter().filter(|(files, _)| files.is_match(name)).collect();
    let configures = has_commands || !settings.is_empty();
    let runs_tests = is_test(path) || has_commands && name.contains("test");
    let rules = [
        (configures, &WORDS.ignores_failures, selects, "failures are ignored"),
        (is_program, &WORDS.asks, feigns, "the program asks whether it is tested"),
        (runs_tests, &WORDS.ends_run, feigns, "the test run is ended with success"),
    ];
    let is_proven = change.is_proven(file);
    let settings = settings.iter().map(|(_, words)| (!is_proven, words, selects, "a setting selects or retries tests"));
    let mut all = Vec::new();
    // In a shell script of the product, `;` and `||` mean nothing unless a check runs there.
    let is_script = is_program && language_of(path) == Some("shell");
    for (_, words, weight, deed) in rules.into_iter().chain(settings).filter(|(counts, ..)| *counts) {
        let needs_check = is_script && std::ptr::eq(words, &WORDS.ignores_failures);
        let counts = |text: &str| words.is_match(text) && (!needs_check || WORDS.runners.is_match(text));
        for line in changed.new.iter().filter(|line| counts(&line.text)) {
            all.push(found(file, format!("{deed}: `{}`", quoted(&line.text)), weight, None, Some(line)));
        }
    }
    if configures {
        all.extend(thresholds(file, changed, change.weight(false)));
    }
    all
}

/// The commands among lines of a file, without the names of their scripts.
fn commands_of<'l>(path: &str, lines: &'l [CodeLine]) -> Vec<(&'l CodeLine, &'l str)> {
    let pair = pattern!(r#"^\s*["']?[\w:.-]+["']?\s*(?::|=)\s*["'\[](.*?)["'\]]?\s*,?\s*$"#);
    let version =
        pattern!(r"^(?:[\^~<>=*vV\d]|(?:npm|file|git|workspace|github|link|https?):)|[\w\]]\s*[<>=~^!]=?\s*\d");
    let is_data = [".json", ".jsonc", ".toml", ".exs"].iter().any(|end| path.ends_with(end));
    let command = |line: &'l CodeLine| match is_data {
        true => pair.captures(&line.text)?.get(1).map(|value| value.as_str()).filter(|value| !version.is_match(value)),
        false => Some(line.text.trim()),
    };
    lines.iter().filter_map(|line| Some((line, command(line)?))).collect()
}

/// Commands that ran tests and go, change their program, or select.
fn commands(change: &Change<'_>, file: &ChangedFile, sides: &Sides, changed: &Sides) -> Vec<Tampering> {
    let programs = |text| -> BTreeSet<&str> { WORDS.runners.find_iter(text).map(|found| found.as_str()).collect() };
    let tokens = |text: &str| -> BTreeSet<String> {
        text.split_whitespace().map(|token| token.trim_matches(['"', '\'', ',', '\\']).to_owned()).collect()
    };
    let mut added = commands_of(&file.path, &changed.new);
    let is_target = |line: &CodeLine| WORDS.targets.is_match(&line.text) || line.text.starts_with('\t');
    // A script that started a check by another script, and does nothing now.
    let mut targets = added.iter().filter(|(line, _)| is_target(line));
    let is_emptied = targets.any(|(_, text)| WORDS.nothing.is_match(text.trim_start_matches('@')));
    added.retain(|(_, text)| WORDS.runners.is_match(text));
    let emptied = emptied(sides);
    let mut all = Vec::new();
    for (old, text) in commands_of(&file.path, &changed.old) {
        if let Some(same) = added.iter().position(|(_, now)| !programs(now).is_disjoint(&programs(text))) {
            let (new, now) = added.remove(same);
            let selects = |token: &String| !WORDS.harmless.is_match(token) && !WORDS.runners.is_match(token);
            if tokens(text).symmetric_difference(&tokens(now)).any(selects) && !WORDS.ignores_failures.is_match(now) {
                let deed = format!("the test command selects other tests: `{}`", quoted(now));
                all.push(found(file, deed, change.weight(change.runs.lack_failed()), Some(old), Some(new)));
            }
        } else if WORDS.runners.is_match(text) && !moves(change, file, text)
            || is_emptied && is_target(old)
            || emptied.contains(&old.number)
        {
            // A check whose tests are counted shows by the count when they no longer run.
            let weight = change.weight(!change.runs.is_read || change.runs.lack_failed());
            let near = changed.new.iter().find(|line| line.number.abs_diff(old.number) <= NEAR);
            all.push(found(file, format!("the test command `{}` is gone", quoted(text)), weight, Some(old), near));
        }
    }
    all
}

/// The lines of recipes that go from a target which starts a check and has none left: such a program may have any name.
fn emptied(sides: &Sides) -> BTreeSet<u32> {
    let (old, new) = (recipes(&sides.old), recipes(&sides.new));
    let is_empty = |target: &str| new.get(target).is_some_and(Vec::is_empty);
    let gone = old.iter().filter(|(target, _)| WORDS.targets.is_match(target) && is_empty(target));
    gone.flat_map(|(_, lines)| lines).copied().collect()
}

/// The targets of a make file, with the numbers of the lines of their recipes.
fn recipes(lines: &[CodeLine]) -> BTreeMap<&str, Vec<u32>> {
    let target = pattern!(r"^([\w.-]+)\s*:(?:[^=]|$)");
    let (mut recipes, mut open): (BTreeMap<&str, Vec<u32>>, _) = Default::default();
    for line in lines {
        if let Some(name) = target.captures(&line.text).and_then(|found| found.get(1)) {
            open = Some(recipes.entry(name.as_str()).or_default());
        } else if let Some(recipe) = open.as_mut().filter(|_| line.text.starts_with('\t')) {
            recipe.push(line.number);
        }
    }
    recipes
}

/// Whether the command turns up in another file of the change.
fn moves(change: &Change<'_>, from: &ChangedFile, command: &str) -> bool {
    let others = change.files.known().iter().filter(|file| file.path != from.path);
    command.len() > 6 && others.filter_map(ChangedFile::added_lines).flatten().any(|(_, added)| added.contains(command))
}

/// Numbers behind the words of a threshold that fall.
fn thresholds(file: &ChangedFile, changed: &Sides, weight: Weight) -> Vec<Tampering> {
    let number = |line: &CodeLine| -> Option<(String, f64)> {
        let number = WORDS.thresholds.captures(&line.text)?.get(1)?;
        Some((line.text[..number.start()].trim().to_owned(), number.as_str().parse().ok()?))
    };
    let fallen = |line: &CodeLine| {
        let (words, after) = number(line)?;
        let mut before = changed.old.iter().filter_map(|old| Some((old, number(old)?)));
        let (old, (_, before)) = before.find(|(_, (old, before))| *old == words && *before > after)?;
        Some(found(file, format!("a threshold falls from {before} to {after}"), weight, Some(old), Some(line)))
    };
    changed.new.iter().filter_map(fallen).collect()
}

/// Marks that silence a check on a line that a finding named when it failed; of a fixer, on any line.
fn suppressions(change: &Change<'_>, file: &ChangedFile, patch: &Patch<'_>) -> Vec<Tampering> {
    let is_named = |line: u32| change.runs.named.contains(format!("{}:{line}", file.path).as_str());
    let is_near = |line: u32| (line.saturating_sub(NEAR)..=line.saturating_add(NEAR)).any(is_named);
    // With their comments.
    let added = patch.added().map(|line| CodeLine { number: line.new, text: line.text.to_owned() });
    let marked =
        added.filter(|line| WORDS.suppressions.is_match(&line.text) && (change.is_of_fixer || is_near(line.number)));
    let deed = |line: &CodeLine| format!("a finding that failed before is suppressed: `{}`", quoted(&line.text));
    marked.map(|line| found(file, deed(&line), Weight::Proof, None, Some(&line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_can_be_read() {
        assert!(WORDS.settings.len() > 5);
    }
}
