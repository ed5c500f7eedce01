//! How a check itself starts its tool, and where, as far as its command line shows it.

use std::borrow::Cow;

use super::{
    shell::{self, Kind},
    tool::{is_package_script, is_program, is_simple},
};
use crate::source_files::Runner;

/// The directory that a command line goes to, where it shows one, and the command there: `cd web && npm test`,
/// `npm --prefix web test`.
pub fn placed(command: &str) -> (Option<&str>, Cow<'_, str>) {
    let here = (None, Cow::Borrowed(command));
    if let Some((directory, rest)) = command
        .strip_prefix("cd ")
        .and_then(|rest| rest.split_once("&&"))
    {
        let directory = directory.trim();
        return if is_below(directory) {
            (Some(directory), Cow::Borrowed(rest.trim()))
        } else {
            here
        };
    }
    let tokens = shell::tokens(command).unwrap_or_default();
    // Of several commands each goes where it says.
    if tokens.iter().any(|token| token.kind == Kind::Operator) {
        return here;
    }
    let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
    match texts.as_slice() {
        [
            manager @ ("npm" | "pnpm" | "yarn"),
            "--prefix" | "--cwd" | "--dir" | "-C",
            directory,
            ..,
        ] if is_below(directory) => (
            Some(directory),
            Cow::Owned(format!("{manager} {}", shell::written(&tokens[3..]))),
        ),
        _ => here,
    }
}

/// The package of a workspace in which a test is, by its file: what stands before `src`, `test` and their like. A tool
/// that is started there reads that package's own configuration.
pub fn package<'f>(command: &str, file: &'f str) -> Option<&'f str> {
    const WITHIN: [&str; 7] = ["src", "lib", "test", "tests", "__tests__", "spec", "specs"];
    let inner = file
        .split('/')
        .take_while(|part| !WITHIN.contains(part))
        .map(|part| part.len() + 1)
        .sum::<usize>();
    let package = if inner > file.len() {
        file.rsplit_once('/')?.0
    } else {
        file.get(..inner.checked_sub(1)?)?
    };
    // A package manager of JavaScript that runs something in packages of a workspace.
    let of_workspace = pattern!(
        r"^\s*(?:npm|pnpm|yarn|bun)\s(?:.*\s)?(?:--workspaces?|-ws?|-r|--recursive|--filter|workspaces?)(?:=|\s|$)"
    );
    (of_workspace.is_match(command) && is_below(package)).then_some(package)
}

/// A plain path to somewhere below.
fn is_below(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    !path.is_empty()
        && path.chars().all(plain)
        && !path.starts_with(['/', '-'])
        && !path.contains("..")
}

/// How a tool is started by hand in the way the check starts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// Up to the tool's own name: `poetry run pytest`, `./mvnw`.
    pub program: String,
    /// What must stand behind the subcommand, a blank before each: ` -p shop --all-features`.
    pub options: String,
    /// The words behind the program.
    pub words: Vec<String>,
}

impl Start {
    /// As the command line shows it, else as it is usual.
    pub fn of(runner: &Runner, command: &str) -> Self {
        let words = shell::words(command).unwrap_or_default();
        let is_shown = is_simple(command) && !is_package_script(command);
        let at = words
            .iter()
            .position(|word| is_program(runner, word))
            .filter(|_| is_shown);
        let Some(at) = at else {
            return Self {
                program: runner.start.clone(),
                options: String::new(),
                words: Vec::new(),
            };
        };
        // `cargo +nightly test`
        let until = if words.get(at + 1).is_some_and(|word| word.starts_with('+')) {
            at + 1
        } else {
            at
        };
        let (start, behind) = words.split_at(until + 1);
        let has = |options: &[String], word: &str| options.iter().any(|option| option == word);
        let mut options = String::new();
        let mut words = behind.iter().take_while(|word| **word != "--");
        while let Some(word) = words.next() {
            let name = word.split_once('=').map_or(*word, |(name, _)| name);
            let wants_value = has(&runner.valued, word);
            if has(&runner.options, word) || has(&runner.valued, name) {
                options.push_str(&format!(" {word}"));
            }
            if let (true, Some(value)) = (wants_value, words.clone().next()) {
                options.push_str(&format!(" {value}"));
                words.next();
            }
        }
        Self {
            program: start.join(" "),
            options,
            words: behind.iter().map(|word| (*word).to_owned()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source_files::{LANGUAGES, Tool};

    #[test]
    fn commands_that_go_somewhere() {
        let cases = [
            ("cd web && npm test", Some("web"), "npm test"),
            (
                "npm --prefix apps/web run test",
                Some("apps/web"),
                "npm run test",
            ),
            ("yarn --cwd web jest --ci", Some("web"), "yarn jest --ci"),
            ("cd ../other && make", None, "cd ../other && make"),
            ("cd $HOME && make", None, "cd $HOME && make"),
            ("cargo test", None, "cargo test"),
            ("npm -C", None, "npm -C"),
        ];
        for (command, directory, rest) in cases {
            assert_eq!(
                placed(command),
                (directory, Cow::Borrowed(rest)),
                "{command}"
            );
        }
    }

    #[test]
    fn a_tool_is_started_as_the_check_starts_it() {
        let cases = [
            (
                Tool::Pytest,
                "poetry run pytest -q tests",
                "poetry run pytest",
                "",
            ),
            (
                Tool::Pytest,
                "CI=1 python3 -m pytest -c ci.ini",
                "CI=1 python3 -m pytest",
                " -c ci.ini",
            ),
            (
                Tool::Cargo,
                "cargo +nightly test -p shop --features=a,b -v",
                "cargo +nightly",
                " -p shop --features=a,b",
            ),
            (Tool::Cargo, "cargo test -- -p x", "cargo", ""),
            (
                Tool::Maven,
                "./mvnw -B -pl cart -f b/pom.xml verify",
                "./mvnw",
                " -pl cart -f b/pom.xml",
            ),
            (
                Tool::Jest,
                "node --no-warnings node_modules/jest/bin/jest.js",
                "node --no-warnings node_modules/jest/bin/jest.js",
                "",
            ),
            (Tool::Jest, "npm run jest", "npx jest", ""),
            (Tool::Pytest, "make x && pytest", "pytest", ""),
            (Tool::Rspec, "make spec", "bundle exec rspec", ""),
        ];
        for (tool, command, program, options) in cases {
            let runner = LANGUAGES
                .runners
                .iter()
                .find(|row| row.tool == tool)
                .expect("a row");
            let start = Start::of(runner, command);
            assert_eq!(
                (start.program.as_str(), start.options.as_str()),
                (program, options),
                "{command}"
            );
        }
    }
}
