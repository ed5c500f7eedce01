//! The tool that runs a failing test.

use super::check::CheckContext;
use crate::{
    evidence::{Failure, TestFramework},
    failure::read::{paths, text},
    source_files::SourceLanguage,
};

/// How the tests of a failure are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Cargo,
    Pytest,
    /// `manage.py test`
    Django,
    Unittest,
    Vitest,
    Jest,
    Mocha,
    Go,
    Maven,
    Gradle,
    Dotnet,
    Rspec,
    Phpunit,
    Swift,
}

pub fn tool(failure: &Failure, check: Option<&CheckContext<'_>>) -> Option<Tool> {
    let command = check.and_then(|check| check.command).unwrap_or_default();
    const WORDS: [(&str, Tool); 17] = [
        ("vitest", Tool::Vitest),
        ("jest", Tool::Jest),
        ("mocha", Tool::Mocha),
        ("pytest", Tool::Pytest),
        ("manage.py test", Tool::Django),
        ("django test", Tool::Django),
        ("-m unittest", Tool::Unittest),
        ("cargo", Tool::Cargo),
        ("go test", Tool::Go),
        ("gradle", Tool::Gradle),
        ("gradlew", Tool::Gradle),
        ("mvn", Tool::Maven),
        ("mvnw", Tool::Maven),
        ("dotnet", Tool::Dotnet),
        ("rspec", Tool::Rspec),
        ("phpunit", Tool::Phpunit),
        ("swift test", Tool::Swift),
    ];
    let named = WORDS.iter().find(|(word, _)| has_word(command, word)).map(|(_, tool)| *tool);
    named
        .or_else(|| match check.and_then(|check| check.framework)? {
            TestFramework::Jest => Some(Tool::Jest),
            TestFramework::Vitest => Some(Tool::Vitest),
            TestFramework::Pytest => Some(Tool::Pytest),
            TestFramework::GoTest => Some(Tool::Go),
            TestFramework::CargoTest => Some(Tool::Cargo),
            TestFramework::Mocha => Some(Tool::Mocha),
            TestFramework::Junit => Some(Tool::Maven),
            TestFramework::Other => None,
        })
        // A command line that names no tool runs whatever it likes, unless it is a script of a package: a guess from
        // the failure would be another program than the check's.
        .or_else(|| (command.is_empty() || is_package_script(command)).then(|| by_traces(failure)).flatten())
}

/// Whether a command names a tool: `django test` is no `go test`.
fn has_word(command: &str, word: &str) -> bool {
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    command.match_indices(word).any(|(at, _)| {
        let (before, after) = (&command[..at], &command[at + word.len()..]);
        (is_apart(before.chars().next_back()) || word.starts_with('-')) && is_apart(after.chars().next())
    })
}

impl Tool {
    /// How it is started where the check does not show it.
    pub const fn usual_start(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Pytest => "pytest",
            Self::Django => "python manage.py",
            Self::Unittest => "python -m unittest",
            Self::Vitest => "npx vitest",
            Self::Jest => "npx jest",
            Self::Mocha => "npx mocha",
            Self::Go => "go",
            Self::Maven => "mvn",
            Self::Gradle => "./gradlew",
            Self::Dotnet => "dotnet",
            Self::Rspec => "bundle exec rspec",
            Self::Phpunit => "vendor/bin/phpunit",
            Self::Swift => "swift",
        }
    }

    /// The file names of its program.
    pub const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Cargo => &["cargo"],
            Self::Pytest => &["pytest", "py.test"],
            Self::Django => &["manage.py", "django", "django-admin"],
            Self::Unittest => &["unittest"],
            Self::Vitest => &["vitest", "vitest.mjs"],
            Self::Jest => &["jest", "jest.js"],
            Self::Mocha => &["mocha", "mocha.js"],
            Self::Go => &["go"],
            Self::Maven => &["mvn", "mvnw"],
            Self::Gradle => &["gradle", "gradlew"],
            Self::Dotnet => &["dotnet"],
            Self::Rspec => &["rspec"],
            Self::Phpunit => &["phpunit"],
            Self::Swift => &["swift"],
        }
    }

    /// Its options that choose what is built and tested, without which it would be something else.
    pub const fn options_that_matter(self) -> Options {
        let (alone, with_value): (&[&str], &[&str]) = match self {
            Self::Cargo => (
                &["--all-features", "--no-default-features", "--release", "--locked", "--offline"],
                &["-p", "--package", "--features", "-F", "--manifest-path", "--profile", "--target"],
            ),
            Self::Go => (&["-race"], &["-tags", "-mod", "-C"]),
            Self::Maven => (&[], &["-f", "--file", "-pl", "--projects", "-P", "--activate-profiles"]),
            Self::Gradle => (&[], &["-p", "--project-dir"]),
            Self::Dotnet => (&[], &["-c", "--configuration", "-f", "--framework"]),
            Self::Phpunit => (&[], &["-c", "--configuration"]),
            Self::Pytest => (&[], &["-c", "--rootdir"]),
            Self::Django => (&[], &["--settings"]),
            Self::Jest | Self::Vitest | Self::Mocha => (&[], &["-c", "--config"]),
            Self::Swift => (&[], &["--package-path"]),
            Self::Unittest | Self::Rspec => (&[], &[]),
        };
        Options { alone, with_value }
    }
}

/// Options as command lines spell them.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub alone: &'static [&'static str],
    /// Followed by their value, or joined to it by `=`.
    pub with_value: &'static [&'static str],
}

/// Whether a package manager of JavaScript runs a script of the package, which the command line does not show.
pub fn is_package_script(command: &str) -> bool {
    let mut words = command.split_whitespace();
    let manager = words.next().is_some_and(|word| ["npm", "pnpm", "yarn", "bun"].contains(&word));
    manager && words.any(|word| matches!(word, "run" | "run-script" | "test" | "t"))
}

/// The runner, told by the files and words of the failure itself.
fn by_traces(failure: &Failure) -> Option<Tool> {
    let trace = failure.stack_trace.as_deref().map_or("", |trace| text::prefix(trace, 16 * 1024));
    let file = printed_file(failure)?;
    match SourceLanguage::of(file) {
        Some(SourceLanguage::Rust) => Some(Tool::Cargo),
        Some(SourceLanguage::Python) => Some(Tool::Pytest),
        Some(SourceLanguage::Go) => Some(Tool::Go),
        Some(SourceLanguage::Ruby) => Some(Tool::Rspec),
        Some(SourceLanguage::CSharp | SourceLanguage::FSharp | SourceLanguage::VisualBasic) => Some(Tool::Dotnet),
        Some(SourceLanguage::Php) => Some(Tool::Phpunit),
        Some(SourceLanguage::Swift) => Some(Tool::Swift),
        Some(SourceLanguage::Kotlin) => Some(Tool::Gradle),
        Some(SourceLanguage::Java) => Some(if trace.contains("org.gradle") { Tool::Gradle } else { Tool::Maven }),
        _ if trace.contains("vitest") || trace.contains('❯') => Some(Tool::Vitest),
        _ if trace.contains("mocha") => Some(Tool::Mocha),
        _ if trace.contains("jest") => Some(Tool::Jest),
        _ => None,
    }
}

/// The file that a failure names, as it is printed.
pub fn printed_file(failure: &Failure) -> Option<&str> {
    failure.test_file.as_deref().or_else(|| failure.source.as_ref().map(|source| source.file.as_str()))
}

/// The file of the test. An absolute path holds on one machine only.
pub fn test_file(failure: &Failure) -> Option<&str> {
    printed_file(failure).filter(|file| !paths::is_absolute(file))
}
