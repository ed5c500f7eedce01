//! The smallest command that shows a failure again.
//!
//! People and agents paste these lines into a shell, and the names in them come from the pull request. A name is
//! quoted so that no shell reads anything into it; one that cannot be quoted yields no command.

mod names;
mod own;
mod rerun;
mod select;
mod shell;
mod tool;

use std::borrow::Cow;

use self::{
    names::word,
    own::Start,
    tool::{of_source, runner, without_reports},
};
use crate::{
    CheckName,
    evidence::{ErrorType, Failure, ReproduceProof, SourceLocation},
    source_files::{Runner, Tool, language_of},
};

pub use self::rerun::rerun;

/// Bytes of a command that is shown; the start of a longer one would be another command.
const LONGEST: usize = 500;

/// The check a failure belongs to, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    pub name: &'a CheckName,
    /// The configured command line, `cargo test --workspace`; empty if none is known.
    pub command: &'a str,
    /// Where it runs, relative to the top of the repository; empty for the top.
    pub directory: &'a str,
}

/// The command that runs this one failure again, from the top of the repository, started as its check starts its tool
/// with `command` in `directory`; without a better one, the check's own. It is one line, as it is shown everywhere; none
/// where it cannot be one.
pub fn reproduce(failure: &Failure, command: &str, directory: &str) -> Option<String> {
    let command = smallest(failure, command, directory)?;
    let line = shell::on_one_line(&command)?;
    (line.len() <= LONGEST).then(|| line.into_owned())
}

fn smallest(failure: &Failure, command: &str, directory: &str) -> Option<String> {
    let (directory, command) = placed(command, directory);
    let whole = || without_reports(&command).filter(|command| !command.is_empty());
    match failure.error_type {
        ErrorType::LintError | ErrorType::CompileError => at(
            &directory,
            whole().or_else(|| of_source(&seen_from(&directory, failure)))?,
        ),
        _ if failure.reproduce == Some(ReproduceProof::Dropped) => at(&directory, whole()?),
        _ => {
            let is_proven = failure.reproduce == Some(ReproduceProof::Proven);
            let of_chain = |(before, last): (String, String)| {
                let runner = runner(failure, &last)?;
                let may_stand = runner.is_proven || is_proven;
                may_stand.then(|| one(failure, runner, &last, &directory, &before))?
            };
            shell::chain(&command)
                .and_then(of_chain)
                .or_else(|| at(&directory, whole()?))
        }
    }
}

/// Whether a command line runs a tool of which Loopgate knows how it sums up its tests, as it does by itself: by no
/// script, through no filter, and with no other reporter. Its status may be hidden (`| tee log`, `|| true`).
pub fn prints_its_sum(command: &str) -> bool {
    is_unfiltered(command, is_of_runner)
}

/// Whether a command line runs in that way one of these programs.
pub fn prints_sum_of(command: &str, programs: &[&str]) -> bool {
    let is_named = |command: &str| programs.iter().any(|name| tool::has_word(command, name));
    is_unfiltered(command, |command| {
        tool::is_simple(command) && is_named(command)
    })
}

fn is_unfiltered(command: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    let another = pattern!(
        r"^(?:-q+|--quiet|--silent|--(?:reporters?|format|list|collect|json|help|version|no-summary|co\b)|-f|-h)"
    );
    let (_, command) = own::placed(command);
    shell::with_status_hidden(&command).is_some_and(|command| {
        is_meant(&command)
            && !command
                .split_whitespace()
                .any(|word| another.is_match(word))
    })
}

/// Whether a command line runs one tool of which Loopgate knows how it runs tests, and ends with that tool's status.
pub fn ends_as_its_runner(command: &str) -> bool {
    is_of_runner(&own::placed(command).1)
}

/// Whether a command line runs one program, and ends with that program's status.
pub fn ends_as_its_program(command: &str) -> bool {
    tool::is_simple(&own::placed(command).1)
}

fn is_of_runner(command: &str) -> bool {
    tool::is_simple(command)
        && !tool::is_package_script(command)
        && runner(&Failure::default(), command).is_some()
}

/// The command that is to be executed to prove that it runs this one failure again; none where there is none but the
/// check's own.
pub fn to_prove(failure: &Failure, command: &str, directory: &str) -> Option<String> {
    let with = |proof| Failure {
        reproduce: Some(proof),
        ..failure.clone()
    };
    let one = reproduce(&with(ReproduceProof::Proven), command, directory)?;
    let own = reproduce(&with(ReproduceProof::Dropped), command, directory);
    (Some(&one) != own.as_ref()).then_some(one)
}

/// The command that runs a test alone, or its file, where the check's tool is one for its language and takes such a
/// choice; none otherwise, and never the whole check.
pub fn alone(test: &Failure, command: &str, directory: &str) -> Option<String> {
    let (directory, command) = placed(command, directory);
    let language = language_of(test.test_file.as_deref()?)?;
    let runner = runner(test, &command)
        .filter(|runner| runner.languages.iter().any(|known| known == language))?;
    let command = one(test, runner, &command, &directory, "")?;
    // Of a file, every failing test is wanted.
    let command = match test.test_name {
        Some(_) => command,
        None => command.trim_end_matches(" -x").to_owned(),
    };
    Some(command + &runner.anew)
}

/// The directory in which the tool of a check starts, relative to the top: where the command runs, or where it goes first
/// (`cd web && npm test`). The paths that the tool prints begin there.
pub fn tool_directory(command: &str, directory: &str) -> String {
    placed(command, directory).0
}

/// The directory in which a check's tool starts, and the command there.
fn placed<'c>(command: &'c str, directory: &str) -> (String, Cow<'c, str>) {
    let (within, command) = own::placed(command);
    let parts = [directory, within.unwrap_or_default()].map(|path| path.trim_matches('/'));
    (
        parts
            .into_iter()
            .filter(|path| !matches!(*path, "" | "."))
            .collect::<Vec<_>>()
            .join("/"),
        command,
    )
}

/// One test, or one file of tests, by its own tool, in the directory in which that ran it, behind what its command does
/// first.
fn one(
    failure: &Failure,
    runner: &Runner,
    command: &str,
    directory: &str,
    before: &str,
) -> Option<String> {
    let typed = without_reports(command);
    let command = typed.as_deref().unwrap_or(command);
    let mut start = Start::of(runner, command);
    let mut directory = directory;
    // Words by which the command itself chooses a package of a workspace.
    let choices = pattern!(
        "^(?:-p|--package|--manifest-path|-C|-f|--file|-pl|--projects|--project-dir|--filter)(?:=|$)"
    );
    let chooses_package = start.words.iter().any(|word| choices.is_match(word));
    let known = failure.directory.as_deref().filter(|_| !chooses_package);
    // Where the runner of the tests did not report it: one that goes through all packages of a workspace.
    let seen = || own::package(command, tool::test_file(failure)?).filter(|_| directory.is_empty());
    if let Some(package) = known.or_else(seen) {
        let inner = package
            .strip_prefix(directory)
            .unwrap_or(package)
            .trim_start_matches('/');
        match runner.tool {
            // Their wrappers stand at the top, and modules need each other built.
            Tool::Maven => {
                let inner = word(inner)?;
                start.options.push_str(&format!(
                    " -pl {inner} -am -Dsurefire.failIfNoSpecifiedTests=false"
                ));
            }
            Tool::Gradle => start.options.push_str(&format!(" -p {}", word(inner)?)),
            // A program that the command names by its path is not found from elsewhere.
            _ if !start.program.contains('/') && before.is_empty() => directory = package,
            _ => {}
        }
    }
    let chosen = select::command(runner, &seen_from(directory, failure), &start)?;
    at(directory, format!("{before}{chosen}"))
}

/// The command in a directory below the top.
fn at(directory: &str, command: String) -> Option<String> {
    match directory {
        "" => Some(command),
        _ => Some(format!("cd {} && {command}", word(directory)?)),
    }
}

/// The failure with the paths that its files have inside a directory.
fn seen_from(directory: &str, failure: &Failure) -> Failure {
    let inside = |file: &str| {
        let inner = file
            .strip_prefix(directory)
            .and_then(|rest| rest.strip_prefix('/'));
        inner
            .filter(|_| !directory.is_empty())
            .unwrap_or(file)
            .to_owned()
    };
    let source = failure.source.clone().map(|source| SourceLocation {
        file: inside(&source.file),
        ..source
    });
    Failure {
        test_file: failure.test_file.as_deref().map(inside),
        source,
        ..failure.clone()
    }
}

#[cfg(test)]
mod tests;
