//! The table of checks that projects usually have: `src/runner/data/detect.toml`.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use super::{Ecosystem, Purpose, site::Site};
use loopgate_core::evidence::CheckKind;

/// The table, read once.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("../data/detect.toml")).expect("the table is part of the program, and tests read it")
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    ecosystems: Vec<EcosystemRow>,
    /// What a word in a job's name says that the job is evidence of: words with blanks between them.
    pub job_words: Vec<(CheckKind, String)>,
    /// What an expression says of the commands of a job.
    pub job_commands: Vec<(CheckKind, String)>,
    parts: BTreeMap<String, Vec<Alternative>>,
    patterns: BTreeMap<String, String>,
    checks: Vec<CheckRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::runner) struct EcosystemRow {
    name: Ecosystem,
    pub title: String,
    pub signs: Vec<String>,
    pub runtime: String,
    version: String,
    version_on_windows: Option<String>,
}

impl EcosystemRow {
    /// The command, one shell line, that prints the version of the runtime.
    pub fn version(&self) -> &str {
        self.version_on_windows.as_ref().filter(|_| cfg!(windows)).unwrap_or(&self.version)
    }
}

/// A part of a command, and any of what must hold for it; always where nothing is named.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Alternative {
    text: String,
    #[serde(default)]
    when: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckRow {
    of: Ecosystem,
    name: String,
    kind: CheckKind,
    run: String,
    pattern: Option<String>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    reports: Vec<String>,
    program: Option<String>,
    #[serde(default)]
    when: Vec<Condition>,
    #[serde(default)]
    also: Vec<Condition>,
}

/// What a project's files show.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Condition {
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
}

/// A check by its short name: `test`, `lint`.
#[derive(Clone, Debug)]
pub(super) struct Usual {
    pub name: &'static str,
    pub kind: CheckKind,
    pub run: String,
    /// By short names; those that are not there are left out.
    pub needs: Vec<&'static str>,
    /// Report files that its tool writes by itself.
    pub reports: &'static [String],
    /// Finds failures in output that is in no format of its own.
    pub pattern: Option<&'static str>,
    /// Without this program the check cannot run, and is no loss: it is left out where the program is missing.
    pub program: Option<&'static str>,
}

impl Usual {
    /// A check with the pattern of that name, which needs the project's `build` if it is a test.
    pub fn new(name: &'static str, kind: CheckKind, run: String, pattern: Option<&str>) -> Self {
        let needs = if kind == CheckKind::Test { vec!["build"] } else { Vec::new() };
        Self {
            name,
            kind,
            run,
            needs,
            reports: &[],
            pattern: pattern.and_then(|name| TABLE.pattern(name)),
            program: None,
        }
    }
}

impl Table {
    /// What the table says of an ecosystem.
    pub fn ecosystem(&self, ecosystem: Ecosystem) -> &EcosystemRow {
        let row = self.ecosystems.iter().find(|row| row.name == ecosystem);
        row.expect("the table is part of the program, and a test looks for each ecosystem")
    }

    fn pattern(&self, name: &str) -> Option<&str> {
        self.patterns.get(name).map(String::as_str)
    }

    /// The checks of a project that the table knows of.
    pub fn checks(&'static self, ecosystem: Ecosystem, site: &Site<'_>) -> Vec<Usual> {
        let mut found: Vec<Usual> = Vec::new();
        for row in self.checks.iter().filter(|row| row.of == ecosystem) {
            let is_new = found.iter().all(|check| check.name != row.name);
            if is_new && any_holds(&row.when, site) && any_holds(&row.also, site) {
                found.push(Usual {
                    name: &row.name,
                    kind: row.kind,
                    run: self.filled_in(&row.run, site),
                    needs: row.needs.iter().map(String::as_str).collect(),
                    reports: &row.reports,
                    pattern: row.pattern.as_deref().and_then(|name| self.pattern(name)),
                    program: row.program.as_deref(),
                });
            }
        }
        found
    }

    /// A command with its parts and the paths of its reports put in.
    fn filled_in(&self, command: &str, site: &Site<'_>) -> String {
        let mut pieces = command.split('{');
        let mut filled = pieces.next().unwrap_or_default().to_owned();
        for (name, rest) in pieces.filter_map(|piece| piece.split_once('}')) {
            match name.strip_prefix("report:") {
                Some(report) => filled.push_str(&site.report(report)),
                None => {
                    let mut alternatives = self.parts.get(name).into_iter().flatten();
                    let chosen = alternatives.find(|part| any_holds(&part.when, site));
                    filled.push_str(chosen.map_or("", |part| &part.text));
                }
            }
            filled.push_str(rest);
        }
        filled
    }
}

/// Whether one of the conditions holds, or there is none.
fn any_holds(conditions: &[Condition], site: &Site<'_>) -> bool {
    conditions.is_empty() || conditions.iter().any(|condition| condition.holds(site))
}

impl Condition {
    fn holds(&self, site: &Site<'_>) -> bool {
        match self {
            Self::File(name) => site.has(name),
            Self::Folder(name) => site.directory.join(name).is_dir(),
            Self::Executable(name) => site.directory.join(name).metadata().is_ok_and(|file| is_executable(&file)),
            Self::Text(file, word) => site.text(file).to_lowercase().contains(word),
            Self::Key(path) => {
                let keys: Vec<&str> = path.iter().skip(1).map(String::as_str).collect();
                path.first().is_some_and(|file| site.manifest(file).has(&keys))
            }
            Self::Script(words) => {
                let names_all = |line: &str| words.iter().all(|word| line.contains(word));
                site.purpose == Purpose::WriteDown && site.scripts().iter().any(|text| text.lines().any(names_all))
            }
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
            for name in named.filter(|name| !name.starts_with("report:")) {
                assert!(TABLE.parts.contains_key(name), "{row:?}");
            }
        }
        for (_, expression) in &TABLE.job_commands {
            assert!(regex::Regex::new(expression).is_ok(), "{expression}");
        }
    }
}
