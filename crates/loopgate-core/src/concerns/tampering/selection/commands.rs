//! The commands that start tests and other checks: whether one goes, or selects less than before.

use super::{CodeLine, Edit, NEAR, Tampering, WORDS, keyed, quoted};
use crate::expressions::first_group;

impl Edit<'_> {
    /// Commands that ran tests and go or change; and those of a script or a target that is named as a check and stays:
    /// such a program may have any name. Where the tests are counted, the count shows whether they still run.
    pub(super) fn commands(&self) -> Vec<Tampering> {
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
        if self.is_keyed {
            lines.iter().filter_map(command_of_key).collect()
        } else {
            commands_of(lines)
        }
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
pub(super) struct TestCommand<'l> {
    line: &'l CodeLine,
    target: &'l str,
    pub(super) text: &'l str,
}

impl TestCommand<'_> {
    /// The last key of its target.
    pub(super) fn name(&self) -> &str {
        self.target.rsplit('.').next().unwrap_or_default()
    }
}

/// The words of a command by which it may select tests, without the marks of a recipe of make before it.
fn selecting(command: &str) -> Vec<&str> {
    selecting_options(command.trim_start_matches(['@', '-', '+']))
}

/// Those words that do not only say how a command prints, measures, or is spread over processes.
pub(super) fn selecting_options(options: &str) -> Vec<&str> {
    let words = options.split_whitespace();
    let plain = words.map(|word| word.trim_matches(['"', '\'', ',', '\\']));
    plain
        .filter(|word| !WORDS.harmless.is_match(word))
        .collect()
}

/// The command of an entry of data, if it may be one: behind its keys, those apart that only say that it is a command.
pub(super) fn command_of_key(line: &CodeLine) -> Option<TestCommand<'_>> {
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
