//! The table of checks that projects usually have: `src/runner/data/detect.toml`.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::{Ecosystem, Purpose, node, python, site::Site};
use loopgate_core::{evidence::CheckKind, policy::Pattern};

/// The table, read once.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/detect.toml")).expect("the table is part of the program, and tests read it")
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    ecosystems: Vec<EcosystemRow>,
    /// Names of directories in which no project is looked for, with blanks between them.
    pub no_projects: String,
    /// What a word in a job's name says that the job is evidence of: words with blanks between them.
    pub job_words: Vec<(CheckKind, String)>,
    /// What an expression says of the commands of a job.
    pub job_commands: Vec<(CheckKind, Pattern)>,
    /// For a script that is such a check and whose last command matches, the options that make it write a report.
    pub script_options: Vec<(CheckKind, Pattern, String)>,
    parts: BTreeMap<String, Vec<Alternative>>,
    pub patterns: BTreeMap<String, String>,
    checks: Vec<CheckRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EcosystemRow {
    name: Ecosystem,
    /// The name people know it by.
    pub title: String,
    pub signs: Vec<String>,
    pub runtime: String,
    version: String,
    version_on_windows: Option<String>,
    /// The likeliest first.
    #[serde(default)]
    pub locks: Vec<LockFile>,
    #[serde(default)]
    pub setup: Vec<Alternative>,
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

impl EcosystemRow {
    /// The command, one shell line, that prints the version of the runtime.
    pub fn version(&self) -> &str {
        self.version_on_windows.as_ref().filter(|_| cfg!(windows)).unwrap_or(&self.version)
    }
}

/// A text, and any of what must hold for it; always where nothing is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    text: String,
    #[serde(default)]
    when: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckRow {
    of: Ecosystem,
    /// Its short name: `test`, `lint`.
    pub name: String,
    pub kind: CheckKind,
    run: String,
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
    when: Vec<Condition>,
    #[serde(default)]
    also: Vec<Condition>,
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

impl Table {
    /// What the table says of an ecosystem.
    pub fn ecosystem(&self, ecosystem: Ecosystem) -> &EcosystemRow {
        let row = self.ecosystems.iter().find(|row| row.name == ecosystem);
        row.expect("the table is part of the program, and a test looks for each ecosystem")
    }

    /// The checks that a project has, and their commands.
    pub fn checks(&self, ecosystem: Ecosystem, site: &Site<'_>) -> Vec<(&CheckRow, String)> {
        let mut found: Vec<(&CheckRow, String)> = Vec::new();
        for row in self.checks.iter().filter(|row| row.of == ecosystem) {
            let is_new = found.iter().all(|(other, _)| other.name != row.name);
            if is_new && any_holds(&row.when, site) && any_holds(&row.also, site) {
                found.extend(self.filled_in(&row.run, row, site).map(|command| (row, command)));
            }
        }
        found
    }

    /// A command, or a piece of one, with what its braces name put in. None where the project has no such thing.
    pub fn filled_in(&self, command: &str, row: &CheckRow, site: &Site<'_>) -> Option<String> {
        let mut pieces = command.split('{');
        let mut filled = pieces.next().unwrap_or_default().to_owned();
        for (name, rest) in pieces.filter_map(|piece| piece.split_once('}')) {
            let (name, argument) = name.split_once(':').unwrap_or((name, ""));
            match name {
                "report" => filled.push_str(&site.report(argument)),
                "script" => filled.push_str(&node::call(row, site)?),
                "python" => filled.push_str(&python::interpreter(site)),
                "code" => filled.push_str(&python::own_code(site.directory)?),
                "tox" => filled.push_str(&python::tox(site)?),
                "linted" => filled.push_str(&python::own_paths(site, argument)),
                part => filled.push_str(self.parts.get(part).and_then(|part| chosen(part, site)).unwrap_or_default()),
            }
            filled.push_str(rest);
        }
        Some(filled)
    }
}

/// The text of the first alternative that holds.
pub(super) fn chosen<'t>(alternatives: &'t [Alternative], site: &Site<'_>) -> Option<&'t str> {
    let one = alternatives.iter().find(|alternative| any_holds(&alternative.when, site))?;
    Some(&one.text)
}

/// Whether one of the conditions holds, or there is none.
fn any_holds(conditions: &[Condition], site: &Site<'_>) -> bool {
    conditions.is_empty() || conditions.iter().any(|condition| condition.holds(site))
}

impl Condition {
    pub fn holds(&self, site: &Site<'_>) -> bool {
        match self {
            Self::File(name) => site.directory.join(name).is_file(),
            Self::Folder(name) => site.directory.join(name).is_dir(),
            Self::Executable(name) => site.directory.join(name).metadata().is_ok_and(|file| is_executable(&file)),
            Self::Text(file, word) => site.text(file).to_lowercase().contains(word),
            Self::Key(path) => {
                let Some((file, keys)) = path.split_first() else { return false };
                !keys.iter().fold(&site.manifest(file), |value, key| &value[key]).is_null()
            }
            Self::Script(words) => {
                let names_all = |line: &str| words.iter().all(|word| line.contains(word));
                site.purpose == Purpose::WriteDown && site.scripts().iter().any(|text| text.lines().any(names_all))
            }
            Self::Named(tool) => site.python().all.contains(tool),
            Self::NotNamed(tool) => !site.python().all.contains(tool),
            Self::Tests(Tests::Any) => site.python().tests.is_some(),
            Self::Tests(tests) => site.python().tests == Some(*tests),
            Self::Target(name) => {
                let files = ["GNUmakefile", "makefile", "Makefile"].map(|file| site.text(file)).concat();
                let mut rules = files.lines().filter_map(|line| Some(line.strip_prefix(name.as_str())?.trim_start()));
                rules.any(|rest| rest.starts_with(':') && !rest.starts_with(":="))
            }
        }
    }
}

#[cfg(unix)]
fn is_executable(file: &std::fs::Metadata) -> bool {
    file.is_file() && std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(file: &std::fs::Metadata) -> bool {
    file.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_knows_every_ecosystem_and_names_only_what_it_has() {
        for ecosystem in Ecosystem::ALL {
            assert!(!TABLE.ecosystem(ecosystem).signs.is_empty());
        }
        for row in &TABLE.checks {
            assert!(row.pattern.as_ref().is_none_or(|name| TABLE.patterns.contains_key(name)), "{row:?}");
            let named = row.run.split('{').skip(1).filter_map(|piece| Some(piece.split_once('}')?.0));
            for name in named.map(|name| name.split(':').next().unwrap_or_default()) {
                let is_found_out = "report script python code tox mypy linted".split(' ').any(|own| own == name);
                assert!(is_found_out || TABLE.parts.contains_key(name), "{row:?}");
            }
        }
    }
}
