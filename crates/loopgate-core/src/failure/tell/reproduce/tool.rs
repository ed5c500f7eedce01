//! The tool that runs a failing test.

use super::{check::CheckContext, own::is_simple};
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
    /// `node --test`
    NodeTest,
    Playwright,
    Ctest,
    /// A program that GoogleTest is linked into.
    Gtest,
    /// JUnit's console launcher, a jar.
    JunitConsole,
}

pub fn tool(failure: &Failure, check: Option<&CheckContext<'_>>) -> Option<Tool> {
    let command = check.and_then(|check| check.command).unwrap_or_default();
    const WORDS: [(&str, Tool); 20] = [
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
        ("playwright", Tool::Playwright),
        ("ctest", Tool::Ctest),
        ("junit-platform-console", Tool::JunitConsole),
    ];
    let named = WORDS.iter().find(|(word, _)| has_word(command, word)).map(|(_, tool)| *tool);
    let by_option = || (has_word(command, "node") && has_word(command, "--test")).then_some(Tool::NodeTest);
    named
        .or_else(by_option)
        .or_else(|| is_gtest(failure, command).then_some(Tool::Gtest))
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

/// Whether a command that is a program of the project itself printed what GoogleTest prints.
fn is_gtest(failure: &Failure, command: &str) -> bool {
    let trace = failure.stack_trace.as_deref().map_or("", |trace| text::prefix(trace, 16 * 1024));
    let is_program = |word: &str| Tool::Gtest.is_program(word);
    is_simple(command)
        && command.split_whitespace().next().is_some_and(is_program)
        && trace.lines().any(|line| line.ends_with(": Failure"))
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
            Self::NodeTest => "node",
            Self::Playwright => "npx playwright",
            Self::Ctest => "ctest",
            // Neither is found where the command does not show it.
            Self::Gtest | Self::JunitConsole => "",
        }
    }

    /// Whether it runs tests of this language.
    pub const fn runs(self, language: SourceLanguage) -> bool {
        use SourceLanguage as L;
        matches!(
            (self, language),
            (Self::Cargo, L::Rust)
                | (Self::Pytest | Self::Django | Self::Unittest, L::Python)
                | (Self::Vitest | Self::Jest | Self::Mocha | Self::NodeTest, L::JavaScript | L::TypeScript)
                | (Self::Playwright, L::JavaScript | L::TypeScript)
                | (Self::Go, L::Go)
                | (Self::Maven | Self::Gradle, L::Java | L::Kotlin | L::Groovy | L::Scala)
                | (Self::Dotnet, L::CSharp | L::FSharp | L::VisualBasic)
                | (Self::Rspec, L::Ruby)
                | (Self::Phpunit, L::Php)
                | (Self::Swift, L::Swift)
        )
    }

    /// Whether a word of a command line is its program.
    pub fn is_program(self, word: &str) -> bool {
        let name = word.rsplit('/').next().unwrap_or(word);
        match self {
            // Whatever its name, it is a file of the project.
            Self::Gtest => word.contains('/') && !word.contains('='),
            Self::JunitConsole => name.starts_with("junit-platform-console") && name.ends_with(".jar"),
            _ => self.programs().contains(&name),
        }
    }

    /// The file names of its program.
    const fn programs(self) -> &'static [&'static str] {
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
            Self::NodeTest => &["node"],
            Self::Playwright => &["playwright"],
            Self::Ctest => &["ctest"],
            Self::Gtest | Self::JunitConsole => &[],
        }
    }

    /// Its options that choose what is built and tested, without which it would be something else.
    pub const fn options_that_matter(self) -> Options {
        let (alone, with_value): (&[&str], &[&str]) = match self {
            Self::Cargo => (
                &[
                    "--all-features",
                    "--no-default-features",
                    "--release",
                    "--locked",
                    "--offline",
                    "--workspace",
                    "--all",
                ],
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
            Self::NodeTest => (&[], &["--import", "--require", "-r", "--loader", "--experimental-loader"]),
            Self::Playwright => (&[], &["-c", "--config"]),
            Self::Ctest => (&["--output-on-failure", "-V"], &["--test-dir", "--preset", "-C", "--build-config"]),
            Self::JunitConsole => (&["--disable-banner"], &["--class-path", "--classpath", "-cp", "--config"]),
            Self::Unittest | Self::Rspec | Self::Gtest => (&[], &[]),
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
        // `tests/cart.spec.ts:6:3 › cart › adds`, maybe with a project in front.
        _ if failure.test_name.as_deref().is_some_and(is_placed) => Some(Tool::Playwright),
        _ if trace.contains("node:internal/test_runner") => Some(Tool::NodeTest),
        _ if trace.contains("vitest") || trace.contains('❯') => Some(Tool::Vitest),
        _ if trace.contains("mocha") => Some(Tool::Mocha),
        _ if trace.contains("jest") => Some(Tool::Jest),
        _ => None,
    }
}

/// Whether the name of a test says its line and column, as Playwright's do.
fn is_placed(name: &str) -> bool {
    let mut places = name.split(" › ").take(2).filter_map(|part| part.rsplit_once(':'));
    places.any(|(place, column)| {
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        number(column) && place.rsplit_once(':').is_some_and(|(_, line)| number(line))
    })
}

/// The file that a failure names, as it is printed.
pub fn printed_file(failure: &Failure) -> Option<&str> {
    failure.test_file.as_deref().or_else(|| failure.source.as_ref().map(|source| source.file.as_str()))
}

/// The file of the test. An absolute path holds on one machine only.
pub fn test_file(failure: &Failure) -> Option<&str> {
    printed_file(failure).filter(|file| !paths::is_absolute(file))
}
