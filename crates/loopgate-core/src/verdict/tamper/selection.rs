//! Comparison 3: what decides which tests run and what their failures do. The words are data: `data/test_runs.toml`.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::Regex;
use serde::Deserialize;

use super::{
    Change, Comparison, MOST_SHOWN, Tampering, Weight,
    source::{CodeLine, code_lines},
};
use crate::{
    observed::{ChangedFile, ChangedFiles, DiffLine, LineChange},
    source_files::{Pattern, file_name, is_test, language_of},
};

const FILE: &str = include_str!("../../../data/test_runs.toml");
const PROOF: &str = "the file is part of the program, and a test reads it";

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
    ignored_recipe: Pattern,
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

static WORDS: LazyLock<Words> = LazyLock::new(|| toml::from_str(FILE).expect(PROOF));

/// Files of a change that are read whole: those that hold commands.
pub(super) fn to_read(files: &ChangedFiles) -> impl Iterator<Item = &ChangedFile> {
    files.known().iter().filter(|file| WORDS.commands.is_match(file_name(&file.path))).take(MOST_SHOWN)
}

/// The words by which a line of a test file puts a stand-in where something else stood.
pub(super) fn replaced(line: &str) -> Option<&str> {
    WORDS.replaces.find(line).map(|found| found.as_str().trim())
}

/// The changed lines of a file, without comments.
struct Lines<'a> {
    file: &'a ChangedFile,
    removed: Vec<CodeLine>,
    added: Vec<CodeLine>,
    /// With their comments.
    written: Vec<(u32, &'a str)>,
}

impl<'a> Lines<'a> {
    fn of(file: &'a ChangedFile) -> Option<Self> {
        let patch = file.read_patch()?;
        let side = |other: LineChange| {
            let of_side = patch.lines().filter(|line| line.change != other);
            let number = |line: &DiffLine<'_>| if other == LineChange::Removed { line.new } else { line.old };
            let changed: BTreeSet<u32> = of_side.clone().filter(|line| line.is_changed()).map(number).collect();
            let mut code = code_lines(&file.path, of_side.map(|line| (number(line), line.text)));
            code.retain(|line| changed.contains(&line.number));
            code
        };
        Some(Self {
            file,
            removed: side(LineChange::Added),
            added: side(LineChange::Removed),
            written: patch.added().map(|line| (line.new, line.text)).collect(),
        })
    }

    /// A finding, with the line that goes and the line that comes.
    fn found(&self, deed: String, weight: Weight, line: u32, old: Option<&str>, new: Option<&str>) -> Tampering {
        let hunk = old.iter().map(|old| format!("-{old}")).chain(new.iter().map(|new| format!("+{new}")));
        Tampering::of(Comparison::Selection, weight, deed).at(&self.file.path, line, hunk.collect())
    }

    /// A finding of each added line in which the words stand, and of which no removed line has the like.
    fn each<'s>(&'s self, words: &'s Regex, weight: Weight, deed: &'s str) -> impl Iterator<Item = Tampering> + 's {
        let had: BTreeSet<String> = self.removed.iter().map(CodeLine::words).collect();
        let is_meant = move |line: &&CodeLine| words.is_match(&line.text) && !had.contains(&line.words());
        self.added.iter().filter(is_meant).map(move |line| {
            self.found(format!("{deed}: `{}`", quoted(&line.text)), weight, line.number, None, Some(&line.text))
        })
    }
}

fn quoted(text: &str) -> String {
    text.trim().replace('`', "'").chars().take(QUOTED).collect()
}

pub(super) fn compare(change: &Change<'_>) -> Vec<Tampering> {
    let mut found = Vec::new();
    let ground = change.ground(false);
    // A workflow opens the security gate instead.
    let files = change.files.known().iter().filter(|file| !file.path.starts_with(".github/"));
    for lines in files.filter_map(Lines::of) {
        let (path, name) = (&lines.file.path, file_name(&lines.file.path));
        let is_program = language_of(path).is_some() && !is_test(path);
        let has_commands = WORDS.commands.is_match(name);
        if has_commands {
            found.extend(commands(change, &lines));
            found.extend(lines.each(&WORDS.ignored_recipe, ground, "failures are ignored"));
        }
        let settings: Vec<&Setting> = WORDS.settings.iter().filter(|setting| setting.files.is_match(name)).collect();
        if has_commands || !settings.is_empty() {
            // In a shell script of the product, `;` and `||` mean nothing unless a check runs there.
            let is_script = is_program && language_of(path) == Some("shell");
            let runs_check = |one: &Tampering| !is_script || one.hunk.iter().any(|line| WORDS.runners.is_match(line));
            let ignored = lines.each(&WORDS.ignores_failures, ground, "failures are ignored");
            found.extend(ignored.filter(runs_check));
            found.extend(thresholds(&lines, ground));
        }
        for setting in settings {
            found.extend(lines.each(&setting.words, ground, "a setting selects or retries tests"));
        }
        if is_program {
            found.extend(lines.each(&WORDS.asks, ground, "the program asks whether it is tested"));
        }
        if is_test(path) || has_commands && name.contains("test") {
            found.extend(lines.each(&WORDS.ends_run, ground, "the test run is ended with success"));
        }
        found.extend(suppressions(change, &lines));
    }
    found
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
fn commands(change: &Change<'_>, lines: &Lines<'_>) -> Vec<Tampering> {
    // A check whose tests are counted shows by the count when they no longer run.
    let weight = if change.has_unread_tests { Weight::Alone } else { change.ground(false) };
    let gone = |command: &str, line: u32, old: &CodeLine, new: Option<&CodeLine>| {
        let new = new.map(|new| new.text.as_str());
        lines.found(format!("the test command `{}` is gone", quoted(command)), weight, line, Some(&old.text), new)
    };
    let (added, removed) = (commands_of(&lines.file.path, &lines.added), commands_of(&lines.file.path, &lines.removed));
    let runs = |text: &str| WORDS.runners.is_match(text);
    let programs = |text| WORDS.runners.find_iter(text).map(|program| program.as_str());
    let mut left: Vec<_> = added.iter().filter(|(_, text)| runs(text)).collect();
    let stay: BTreeSet<String> = left.iter().map(|(line, _)| line.words()).collect();
    let mut found = Vec::new();
    for (old, text) in removed.iter().filter(|(old, text)| runs(text) && !stay.contains(&old.words())) {
        let same = left.iter().position(|(_, new)| programs(new).any(|one| programs(text).any(|other| one == other)));
        let Some(same) = same else {
            if !moves(change, lines.file, text) {
                let near = lines.added.iter().find(|line| line.number.abs_diff(old.number) <= NEAR);
                found.push(gone(text, old.number, old, near));
            }
            continue;
        };
        let (new, now) = left.remove(same);
        let selects = |token: &&str| !token.is_empty() && !WORDS.harmless.is_match(token) && !runs(token);
        if tokens(text).symmetric_difference(&tokens(now)).any(selects) && !WORDS.ignores_failures.is_match(now) {
            let deed = format!("the test command selects other tests: `{}`", quoted(now));
            found.push(lines.found(deed, change.ground(false), new.number, Some(&old.text), Some(&new.text)));
        }
    }
    // A script that started a check by another script, and does nothing now.
    let mut emptied = added.iter().filter(|(line, text)| {
        WORDS.nothing.is_match(text.trim_start_matches('@'))
            && (WORDS.targets.is_match(&line.text) || line.text.starts_with('\t'))
    });
    if let (true, Some((line, _)), Some(old)) = (found.is_empty(), emptied.next(), lines.removed.first()) {
        found.push(gone(&old.text, line.number, old, Some(line)));
    }
    found
}

fn tokens(command: &str) -> BTreeSet<&str> {
    command.split_whitespace().map(|token| token.trim_matches(['"', '\'', ',', '\\'])).collect()
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
    let fallen = |line: &CodeLine| {
        let (words, after) = number(line)?;
        let mut before = lines.removed.iter().filter_map(|old| Some((old, number(old)?)));
        let (old, (_, before)) = before.find(|(_, (old, before))| *old == words && *before > after)?;
        let deed = format!("a threshold falls from {before} to {after}");
        Some(lines.found(deed, weight, line.number, Some(&old.text), Some(&line.text)))
    };
    lines.added.iter().filter_map(fallen).collect()
}

/// Marks that silence a check on a line that a finding named when it failed; of a fixer, on any line.
fn suppressions(change: &Change<'_>, lines: &Lines<'_>) -> Vec<Tampering> {
    let of_file = change.named.iter().filter_map(|place| place.rsplit_once(':'));
    let named: Vec<u32> =
        of_file.filter(|(path, _)| *path == lines.file.path).filter_map(|(_, line)| line.parse().ok()).collect();
    let is_near = |line: u32| named.iter().any(|at| line.abs_diff(*at) <= NEAR);
    let marks = lines.written.iter().filter(|(_, text)| WORDS.suppressions.is_match(text));
    let counted = marks.filter(|(line, _)| change.is_of_fixer || is_near(*line));
    let deed = |text: &str| format!("a finding that failed before is suppressed: `{}`", quoted(text));
    counted.map(|(line, text)| lines.found(deed(text), Weight::Alone, *line, None, Some(text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_can_be_read() {
        assert!(toml::from_str::<Words>(FILE).unwrap().settings.len() > 5);
    }
}
