//! `data/languages.toml` as it is read, once.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;

use super::{FileKind, syntax::Syntax, test_syntax::TestSyntax};

/// Marks of places that are not the repository's.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Foreign {
    /// Parts of paths of dependencies.
    pub dependencies: Vec<String>,
    /// Parts of paths of languages and runtimes.
    pub toolchains: Vec<String>,
    /// Directories that hold no checkout.
    pub system: Vec<String>,
    /// Beginnings of packages of the JVM's languages, and of libraries and test runners.
    pub jvm_packages: Vec<String>,
    pub jvm_libraries: Vec<String>,
}

/// A form of line in which a tool names a place: the groups `file`, `line`, `col`, `fun` and `class` are what it captures.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FrameForm {
    pub pattern: String,
    pub says: FrameLine,
    pub innermost_last: bool,
}

/// What a line that names a place says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FrameLine {
    /// A place; `fun`, if the row captures it, contains it.
    #[default]
    Frame,
    /// A place whose function, if captured, was called *from* it (PHP): it contains the frame before.
    Callee,
    /// The function of the place that the very next line names.
    Function,
    /// The function or file of a place further down.
    Heading,
}

/// How the tests of a tool are run.
#[derive(Default, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Runner {
    pub tool: Tool,
    pub words: Vec<String>,
    pub all_words: Vec<String>,
    pub programs: Vec<String>,
    /// Empty if it is found only where the command shows it.
    pub start: String,
    pub languages: Vec<String>,
    pub usual_for: Vec<String>,
    pub traces: Vec<String>,
    pub options: Vec<String>,
    pub valued: Vec<String>,
    pub test: Vec<String>,
    pub file: Vec<String>,
    pub anew: String,
}

/// Tools that run tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tool {
    #[default]
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

/// A language of programs, or a format.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Language {
    /// `None` of a format.
    pub name: Option<String>,
    pub syntax: String,
    pub code: Vec<String>,
    pub other: Vec<String>,
    files: Vec<String>,
    pub kind: Option<FileKind>,
    pub runs: bool,
    pub tests: Option<String>,
    pub name_conditions: Vec<String>,
    pub test: PathNames,
}

/// How paths of a kind are called, or tests.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PathNames {
    pub kind: FileKind,
    pub under: Vec<String>,
    pub only: Vec<String>,
    pub extensions: Vec<String>,
    pub names: Vec<String>,
    pub starts: Vec<String>,
    pub ends: Vec<String>,
    pub middles: Vec<String>,
    pub folders: Vec<String>,
    pub folder_ends: Vec<String>,
    pub own_names: bool,
    pub in_folders: bool,
}

/// The whole file, with its look-ups.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LanguageTable {
    pub(super) tests: PathNames,
    /// What begins like a comment and is an order.
    pub(super) directives: Vec<String>,
    pub(super) syntax: HashMap<String, Syntax>,
    pub(super) test_syntax: HashMap<String, TestSyntax>,
    #[serde(rename = "language")]
    pub(super) languages: Vec<Language>,
    #[serde(rename = "kind")]
    pub(super) kinds: Vec<PathNames>,
    pub foreign: Foreign,
    /// Earlier ones win.
    #[serde(rename = "frame")]
    pub frames: Vec<FrameForm>,
    /// Earlier ones win.
    #[serde(rename = "runner")]
    pub runners: Vec<Runner>,
    /// The languages by whole name, and by extension behind `*.`.
    #[serde(skip)]
    rows: HashMap<String, usize>,
}

/// What `data/languages.toml` says.
pub(crate) static LANGUAGES: LazyLock<LanguageTable> = LazyLock::new(|| {
    let mut table: LanguageTable = data!("languages.toml");
    for (index, row) in table.languages.iter().enumerate() {
        let extensions = row.code.iter().chain(&row.other).chain(&row.test.extensions);
        let names = extensions.map(|extension| format!("*.{extension}")).chain(row.files.iter().cloned());
        table.rows.extend(names.map(|name| (name, index)));
    }
    table
});

impl LanguageTable {
    /// The row of a path, by its extension, whose case counts, else by its name, whole or up to the first dot.
    pub(super) fn language(&self, path: &str) -> Option<&Language> {
        let row = super::extension(path).and_then(|extension| self.rows.get(&format!("*.{extension}")));
        let name = super::file_name(path).to_ascii_lowercase();
        let row = row.or_else(|| self.rows.get(&name)).or_else(|| self.rows.get(super::stem(&name)));
        row.map(|&index| &self.languages[index])
    }
}
