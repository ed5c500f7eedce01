//! The commands that start tests and other checks: whether one goes, or selects less than before. They stand in tables
//! of a project's own, each behind the name of a script, a target or an alias.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use super::{CodeLine, Edit, NEAR, Tampering, WORDS, keyed, quoted, words::selecting_options};
use crate::{
    expressions::first_group,
    source_files::{Pattern, file_name},
};

/// Lines of a file that is read whole for its targets: hostile changes are large.
const MOST_LINES: usize = 2_000;
/// Targets that one is read to need.
const MOST_NEEDS: usize = 50;

impl Edit<'_> {
    /// Commands that ran tests and go or change; and those of a script or a target that is named as a check, or that a
    /// check's command names, and stays: such a program may have any name. Where the tests are counted, the count shows
    /// whether they still run.
    pub(super) fn commands(&self) -> Vec<Tampering> {
        // A patch may not show the target that a command belongs to.
        let is_read = |sides: &[Vec<CodeLine>; 2]| {
            !self.is_keyed && sides.iter().all(|lines| lines.len() <= MOST_LINES)
        };
        let whole = self.change.sides(self.file).filter(is_read);
        let sides = whole.as_ref().unwrap_or(self.sides);
        let [olds, news] = sides.each_ref().map(|lines| self.commands_of(lines));
        let started = self.started(&olds);
        let is_check = |one: &TestCommand<'_>| {
            let mut names = one.words().take(usize::from(one.is_name));
            WORDS.runners.is_match(&one.text) || names.any(|name| started.contains(name))
        };
        let is_lost = |old: &&TestCommand<'_>| {
            let mut of_target = news
                .iter()
                .filter(|new| new.target == old.target)
                .peekable();
            let names_check = started.contains(old.name) && of_target.peek().is_some();
            // Of names of tasks those that are no check prepare what one needs.
            let same = || olds.iter().filter(|one| one.target == old.target);
            let prepares = || old.is_name && same().any(|one| !one.is_name || is_check(one));
            // Without its alias a task of the tool is that one again.
            let is_plain = old.is_name
                && of_target.peek().is_none()
                && same().any(|one| one.words().next() == Some(one.name));
            let does_nothing = WORDS.nothing.is_match(old.text.trim_start_matches('@'));
            self.goes.contains(&old.line)
                && (is_check(old) || names_check && !prepares())
                && !does_nothing
                && !is_plain
                && of_target.all(|new| selects_less(&old.text, &new.text))
                && !self.is_discovered(&old.text)
        };
        let finding = |old: &TestCommand<'_>| {
            let deed = format!(
                "the test command `{}` is gone or changed",
                quoted(&old.text)
            );
            let near = self.in_place_of(old);
            let near = near.as_slice();
            self.finding(!self.change.runs.is_read, deed, &[old.line], near)
        };
        let lost = olds.iter().filter(is_lost).map(finding);
        let taken = self.takes_place(&olds, &news);
        lost.chain(taken).chain(self.no_longer_phony()).collect()
    }

    /// The targets that checks start: those of their names, those that their commands name, and what such a target
    /// starts that does nothing else.
    fn started<'t>(&'t self, olds: &'t [TestCommand<'_>]) -> BTreeSet<&'t str> {
        let mut words: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for old in olds {
            words.entry(old.name).or_default().extend(old.words());
        }
        let is_named =
            |name: &&str| WORDS.targets.is_match(name) || self.change.runs.started.contains(*name);
        let named: BTreeSet<&str> = words.keys().copied().filter(is_named).collect();
        let mut started = named.clone();
        let mut open: Vec<&str> = named.iter().copied().collect();
        while let Some(target) = open.pop() {
            let own = words.get(target).map_or(&[][..], Vec::as_slice);
            let starts_named = own
                .iter()
                .any(|word| *word != target && named.contains(word));
            if !starts_named && own.iter().all(|word| words.contains_key(word)) {
                open.extend(own.iter().copied().filter(|word| started.insert(word)));
            }
        }
        started
    }

    /// A task that comes under the name of one of the tool's own, which a check starts, and does not call that one.
    fn takes_place(&self, olds: &[TestCommand<'_>], news: &[TestCommand<'_>]) -> Option<Tampering> {
        let (tool, _) = tool_of(&self.file.path)?;
        let is_of_check = |name: &str| name == "test" || self.change.runs.started.contains(name);
        let is_new = |one: &&TestCommand<'_>| {
            let mut same = news.iter().filter(|new| new.target == one.target);
            is_of_check(one.name)
                && olds.iter().all(|old| old.target != one.target)
                && same.all(|new| new.words().next() != Some(one.name))
        };
        let found = news.iter().find(is_new)?;
        let deed = format!("`{tool} {}` starts another command", found.name);
        Some(self.finding(!self.change.runs.is_read, deed, &[], &[found.line]))
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
        self.stands_at_head(stays)
            .then(|| self.finding(false, deed, &[line], &[]))
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
        let path = &self.file.path;
        let mut found: Vec<TestCommand<'l>> = match (self.is_keyed, file_name(path)) {
            (true, _) => lines.iter().filter_map(command_of_key).collect(),
            (false, "mix.exs") => tasks_of_lists(lines),
            (false, _) => commands_of(path, lines),
        };
        if let Some((tool, keys)) = tool_of(path) {
            found.retain(|command| keys.is_match(command.target));
            for command in &mut found {
                command.text = format!("{tool} {}", command.text).into();
            }
        }
        found
    }
}

/// The tool whose own tasks the commands of a file are, and the keys that such commands stand behind.
fn tool_of(path: &str) -> Option<(&'static str, &'static Pattern)> {
    let of_file = |(files, _, _): &&(Pattern, String, Pattern)| files.is_match(path);
    let (_, tool, keys) = WORDS.tools.iter().find(of_file)?;
    Some((tool, keys))
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
pub(super) struct TestCommand<'l> {
    line: &'l CodeLine,
    target: &'l str,
    /// The last key of its target.
    pub(super) name: &'l str,
    pub(super) text: Cow<'l, str>,
    /// It is the name of a task that runs before or in place of a command.
    is_name: bool,
}

impl TestCommand<'_> {
    /// The words by which it may select tests or start others, without the tool that reads it.
    fn words(&self) -> impl Iterator<Item = &str> {
        let tools = WORDS.tools.iter();
        let words = selecting(&self.text).into_iter();
        let words = words.filter(move |word| !tools.clone().any(|(_, tool, _)| tool == *word));
        words.map(|word| word.trim_start_matches(['@', ':']))
    }
}

/// The words of a command by which it may select tests, without the marks of a recipe of make before it.
fn selecting(command: &str) -> Vec<&str> {
    selecting_options(command.trim_start_matches(['@', '-', '+']))
}

/// The command of an entry of data, if it may be one: behind its keys, those apart that only say that it is a command.
pub(super) fn command_of_key(line: &CodeLine) -> Option<TestCommand<'_>> {
    let version = pattern!(
        r"^(?:[\^~<>=*]|[vV]?\d|(?:npm|file|git|workspace|github|link|https?):)|[\w\]]\s*[<>=~^!]=?\s*\d"
    );
    let (keys, text) = line.text.split_once(keyed::IS)?;
    let target = match keys.rsplit_once('.') {
        Some((target, last)) if WORDS.command_keys.is_match(last) => target,
        _ => keys,
    };
    let is_command = !WORDS.no_commands.is_match(keys) && !version.is_match(text);
    is_command.then_some(TestCommand {
        line,
        target,
        name: target.rsplit('.').next().unwrap_or_default(),
        text: text.into(),
        is_name: false,
    })
}

/// The commands among lines of free text, each with the target above it, and the names of the targets that one needs. Of
/// a program only what starts another is a command.
fn commands_of<'l>(path: &str, lines: &'l [CodeLine]) -> Vec<TestCommand<'l>> {
    // Of data that is not whole, or not of its grammar, versions are no commands.
    let version = pattern!(r#"["'][\^~<>=]*\d+\.\d"#);
    let mut rows = WORDS.heads.iter();
    let row = rows.find(|(files, _, _)| files.is_match(file_name(path)));
    let (head, calls) = row.map_or((&WORDS.head, None), |(_, head, calls)| (head, Some(calls)));
    let mut open = "";
    let mut commands = Vec::new();
    for line in lines.iter().filter(|line| !version.is_match(&line.text)) {
        let mut push = |target, text: &'l str, is_name| {
            let text = text.into();
            commands.push(TestCommand {
                line,
                target,
                name: target,
                text,
                is_name,
            });
        };
        let text = line.text.trim();
        let is_runner = WORDS.runners.is_match(text);
        let found = head.captures(&line.text);
        let Some(found) = found.as_ref().filter(|found| first_group(found).is_some()) else {
            let is_command = is_runner || calls.is_none_or(|calls| calls.is_match(text));
            push(open, if is_command { text } else { "" }, false);
            continue;
        };
        open = first_group(found).unwrap_or_default();
        push(open, if is_runner { text } else { "" }, false);
        let end = found.get(1).map_or(0, |name| name.end());
        let needs = pattern!(r"[\w.-]+").find_iter(&line.text[end..]);
        let needs = needs.filter(|_| !is_runner && !open.starts_with('.'));
        let needs = needs.take(MOST_NEEDS);
        needs.for_each(|need| push(open, need.as_str(), true));
    }
    commands
}

/// The tasks that the lists of a program name, each behind the key of its list: `check: ["credo", "test"]`.
fn tasks_of_lists(lines: &[CodeLine]) -> Vec<TestCommand<'_>> {
    let token = pattern!(r#""([\w.-]+)":|\b([a-z]\w*):(?:\s|$)|([\[\]])|"([^"]*)"|(&[\w.]+/\d)"#);
    let mut commands = Vec::new();
    let (mut open, mut in_list) = ("", false);
    for line in lines {
        for found in token.captures_iter(&line.text) {
            let key = found.get(1).or_else(|| found.get(2));
            if let Some(key) = key {
                (open, in_list) = (key.as_str(), false);
                continue;
            }
            let is_end = found.get(3).is_some_and(|bracket| bracket.as_str() == "]");
            in_list |= found.get(3).is_some() && !is_end;
            // A list without a task is one too.
            let text = found.get(4).or_else(|| found.get(5));
            if !open.is_empty() && !is_end {
                commands.push(TestCommand {
                    line,
                    target: open,
                    name: open,
                    text: text.map_or("", |text| text.as_str()).into(),
                    is_name: true,
                });
            }
            if is_end || !in_list {
                open = "";
            }
        }
    }
    commands
}
