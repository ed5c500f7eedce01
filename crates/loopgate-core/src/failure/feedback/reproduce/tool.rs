//! The tool that runs a failing test.

use super::{names::word, shell};
use crate::{
    evidence::{ErrorType, Failure},
    failure::read::{paths, text},
    policy::REPORTS_VARIABLE,
    source_files::{LANGUAGES, Runner, Tool, language_of},
};

/// How the tests of a failure are run, by its check's command line, which is empty if none is known.
pub fn runner(failure: &Failure, command: &str) -> Option<&'static Runner> {
    let all = || LANGUAGES.runners.iter();
    let named_in = |command: &str| {
        let is_there = |word: &String| has_word(command, word);
        let has_all = |words: &[String]| !words.is_empty() && words.iter().all(is_there);
        all().find(|row| row.words.iter().any(is_there) || has_all(&row.all_words))
    };
    let typed = without_reports(command).unwrap_or_else(|| command.to_owned());
    // A command line that names no tool runs whatever it likes, unless it is a script of a package: a guess from the
    // report's name or from the failure would be another program than the check's.
    let trace = failure
        .stack_trace
        .as_deref()
        .map_or("", |trace| text::prefix(trace, 16 * 1024));
    // A command that is a program of the project itself printed what GoogleTest prints.
    let is_gtest = |row: &&Runner| {
        row.tool == Tool::Gtest
            && is_simple(&typed)
            && typed
                .split_whitespace()
                .next()
                .is_some_and(|word| is_program(row, word))
            && trace.lines().any(|line| line.ends_with(": Failure"))
    };
    // The runner that the file and the texts of the failure itself show.
    let by_traces = || {
        let language = language_of(printed_file(failure)?)?;
        let of_language =
            || all().filter(|row| row.languages.iter().any(|known| known == language));
        // Playwright's names have line and column: `tests/cart.spec.ts:6:3 › cart › adds`, maybe with a project in
        // front.
        let name = failure.test_name.as_deref().unwrap_or_default();
        let is_placed = name
            .split(" › ")
            .take(2)
            .any(|part| pattern!(r":\d+:\d+$").is_match(part));
        of_language()
            .find(|row| row.tool == Tool::Playwright && is_placed)
            .or_else(|| {
                of_language()
                    .find(|row| row.traces.iter().any(|word| trace.contains(word.as_str())))
            })
            .or_else(|| {
                of_language().find(|row| row.usual_for.iter().any(|known| known == language))
            })
    };
    let of_script = || named_in(command).filter(|_| is_package_script(&typed));
    named_in(&typed)
        .or_else(|| all().find(is_gtest))
        .or_else(of_script)
        .or_else(|| {
            if typed.is_empty() || is_package_script(&typed) {
                by_traces()
            } else {
                None
            }
        })
}

/// The command as a person types it, on one line: without what only makes it write a report for Loopgate. Where it does
/// more with its report than write it, it is whole, and has a folder to write it to. None where no line can be made of it.
pub fn without_reports(command: &str) -> Option<String> {
    let variable = format!("${{{REPORTS_VARIABLE}}}");
    let is_needed =
        command.contains(&variable) || command.contains(&variable.replace(['{', '}'], ""));
    let Some(tokens) = shell::tokens(command) else {
        return (!is_needed && !command.contains('\n')).then(|| command.to_owned());
    };
    match shell::without_reports(&tokens) {
        Some(kept) => Some(shell::written(&kept)),
        None if is_needed => Some(format!(
            "{REPORTS_VARIABLE}=$(mktemp -d); {}",
            shell::written(&tokens)
        )),
        None => Some(shell::written(&tokens)),
    }
}

/// One command: nothing that a shell would end it with, so that what is put behind it is part of it.
pub fn is_simple(command: &str) -> bool {
    !command.is_empty() && !command.contains(['\n', ';', '&', '|', '<', '>', '`', '#', '$', '('])
}

/// Whether a command names a tool: `django test` is no `go test`.
pub fn has_word(command: &str, word: &str) -> bool {
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    command.match_indices(word).any(|(at, _)| {
        let (before, after) = (&command[..at], &command[at + word.len()..]);
        (is_apart(before.chars().next_back()) || word.starts_with('-'))
            && is_apart(after.chars().next())
    })
}

/// Whether a word of a command line is the runner's program.
pub fn is_program(runner: &Runner, word: &str) -> bool {
    let name = paths::file_name(word);
    match runner.tool {
        // Whatever its name, it is a file of the project.
        Tool::Gtest => word.contains('/') && !word.contains('='),
        Tool::JunitConsole => name.starts_with("junit-platform-console") && name.ends_with(".jar"),
        _ => runner.programs.iter().any(|program| program == name),
    }
}

/// Whether a package manager of JavaScript runs a script of the package, which the command line does not show.
pub fn is_package_script(command: &str) -> bool {
    pattern!(r"^\s*(?:npm|pnpm|yarn|bun)\s(?:.*\s)?(?:run|run-script|test|t)(?:\s|$)")
        .is_match(command)
}

/// The file that a failure names, as it is printed.
pub fn printed_file(failure: &Failure) -> Option<&str> {
    failure
        .test_file
        .as_deref()
        .or_else(|| failure.source.as_ref().map(|source| source.file.as_str()))
}

/// The file of the test. An absolute path holds on one machine only.
pub fn test_file(failure: &Failure) -> Option<&str> {
    printed_file(failure).filter(|file| !paths::is_absolute(file))
}

/// Compilers and linters without a configured command. A reviewer is neither.
pub fn of_source(failure: &Failure) -> Option<String> {
    let file = test_file(failure)
        .filter(|_| failure.error_class.as_deref() != Some(Failure::OF_REVIEWER))?;
    let tidy = paths::tidy(file);
    let lints = failure.error_type == ErrorType::LintError;
    match (language_of(file)?, lints) {
        ("rust", true)
            if failure
                .error_class
                .as_deref()
                .is_some_and(|class| class.starts_with("clippy")) =>
        {
            Some("cargo clippy --all-targets".to_owned())
        }
        ("rust", _) => Some("cargo check --all-targets".to_owned()),
        ("typescript", false) => Some("npx tsc --noEmit".to_owned()),
        ("typescript" | "javascript" | "vue", true) => Some(format!("npx eslint {}", word(&tidy)?)),
        ("python", true) => Some(format!("ruff check {}", word(&tidy)?)),
        ("python", false) => Some(format!("python -m py_compile {}", word(&tidy)?)),
        ("go", _) => {
            let directory = tidy
                .rsplit_once('/')
                .map_or(".".to_owned(), |(directory, _)| format!("./{directory}"));
            Some(format!(
                "go {} {}",
                if lints { "vet" } else { "build" },
                word(&directory)?
            ))
        }
        _ => None,
    }
}
