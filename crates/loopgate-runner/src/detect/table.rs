//! The table of checks that projects usually have: `data/detect.toml`.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::Ecosystem;
use loopgate_core::{evidence::CheckKind, policy::Pattern};

/// The table, read once.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/detect.toml"))
        .expect("the table is part of the program, and tests read it")
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub ecosystems: Vec<EcosystemRow>,
    /// Names of directories in which no project is looked for, with blanks between them.
    pub no_projects: String,
    /// What a job is evidence of by a word in its name: words with blanks between them.
    pub job_words: Vec<(CheckKind, String)>,
    /// Files of a project whose usual checks are not known, each with the name of its tool.
    pub unserved: Vec<(String, String)>,
    /// Programs whose words say what they run, with blanks between them.
    pub task_runners: String,
    /// Programs and words of the shell that begin no command which checks anything, with blanks between them.
    pub preparing: String,
    /// Parts of commands that say that what would test does not.
    pub without_tests: Vec<String>,
    /// What a job is evidence of by an expression over its commands.
    pub job_commands: Vec<(CheckKind, Pattern)>,
    /// For a script that is such a check and whose last command matches, the options that make it write a report.
    pub script_options: Vec<(CheckKind, Pattern, String)>,
    pub parts: BTreeMap<String, Vec<Alternative>>,
    pub patterns: BTreeMap<String, String>,
    pub checks: Vec<CheckRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EcosystemRow {
    pub(super) name: Ecosystem,
    /// The name people know it by.
    pub title: String,
    /// Names of files; `*.sln` is any of that ending.
    pub signs: Vec<String>,
    /// Names of folders, with blanks between them, in which such a project is another tool's.
    #[serde(default)]
    pub(super) not_in: String,
    pub runtime: String,
    /// The command, one shell line, that prints the version of the runtime.
    pub version: String,
    pub version_on_windows: Option<String>,
    /// The likeliest first.
    #[serde(default)]
    pub locks: Vec<LockFile>,
    #[serde(default)]
    pub setup: Vec<Alternative>,
    /// GitHub's runners do not have its tools, and no step of ours brings them.
    #[serde(default)]
    pub is_brought_by_hand: bool,
    #[serde(default)]
    pub install: Vec<Alternative>,
    /// What shows at its top that its commands take in the packages below it; never where nothing is named.
    #[serde(default)]
    pub(super) takes_in: Vec<Condition>,
    /// What shows of a package that it is apart all the same.
    #[serde(default)]
    pub(super) apart: Vec<Condition>,
}

/// A file that names the exact packages of a project.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockFile {
    pub name: String,
    /// The program that writes it.
    pub writer: String,
    /// The command that installs these packages where the program may be missing.
    pub install: String,
    /// The beginning of a command that then installs one more.
    pub add: Option<String>,
}

/// A text, and any of what must hold for it; always where nothing is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    pub(super) text: String,
    #[serde(default)]
    pub(super) when: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckRow {
    pub of: Ecosystem,
    /// Its short name: `test`, `lint`.
    pub name: String,
    pub kind: CheckKind,
    pub run: String,
    /// Names under which packages keep the script that is this check, the usual one first.
    #[serde(default)]
    pub scripts: Vec<String>,
    /// The name of an expression that finds failures in output that is in no format of its own.
    pub pattern: Option<String>,
    /// By short names; those that are not there are left out.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Report files that its tool writes by itself.
    #[serde(default)]
    pub reports: Vec<String>,
    /// Without this program the check cannot run, and is no loss.
    pub program: Option<String>,
    #[serde(default)]
    pub when: Vec<Condition>,
    #[serde(default)]
    pub also: Vec<Condition>,
}

/// What Python's test files are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tests {
    Any,
    Pytest,
    /// The standard library's own runner, with none of pytest's marks.
    Unittest,
}

/// What a project's files show.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Condition {
    File(String),
    Folder(String),
    /// A file that can be executed.
    Executable(String),
    /// A file, and a word that stands in it in upper or lower case.
    Text(String, String),
    /// A manifest, and the path of a key in it.
    Key(Vec<String>),
    /// Words of one line of the project's own scripts, in what is written down.
    Script(Vec<String>),
    /// A target of the Makefile.
    Target(String),
    /// A tool that the files of a Python project name.
    Named(String),
    NotNamed(String),
    /// Python's test files.
    Tests(Tests),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_every_ecosystem_and_names_only_what_it_has() {
        for ecosystem in Ecosystem::ALL {
            assert!(!ecosystem.row().signs.is_empty());
        }
        for row in &TABLE.checks {
            assert!(
                row.pattern
                    .as_ref()
                    .is_none_or(|name| TABLE.patterns.contains_key(name)),
                "{row:?}"
            );
            let named = row
                .run
                .split('{')
                .skip(1)
                .filter_map(|piece| Some(piece.split_once('}')?.0));
            for name in named.map(|name| name.split(':').next().unwrap_or_default()) {
                let is_found_out = "build_folder report reports script python code tox mypy linted"
                    .split(' ')
                    .any(|own| own == name);
                assert!(is_found_out || TABLE.parts.contains_key(name), "{row:?}");
            }
        }
    }
}
