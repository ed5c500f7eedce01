//! `data/languages.toml` as it is read, once.

use std::{collections::HashMap, sync::LazyLock};

use serde::Deserialize;

use super::{FileKind, syntax::Syntax, test_syntax::TestSyntax};
use crate::evidence::TestFramework;

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
    pub framework: Option<TestFramework>,
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

impl Runner {
    /// All of them; earlier ones win.
    pub(crate) fn all() -> &'static [Self] {
        &LanguageTable::get().runners
    }
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
    kind: Option<FileKind>,
    runs: bool,
    pub tests: Option<String>,
    pub name_conditions: Vec<String>,
    pub test: TestNames,
}

/// How tests and their folders are called.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TestNames {
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

/// What begins like a comment and is an order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Directives {
    pub starts: Vec<String>,
    pub holds: Vec<String>,
}

/// Which paths are of a kind.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct KindRow {
    pub kind: FileKind,
    pub under: Vec<String>,
    pub folders: Vec<String>,
    pub only: Vec<String>,
    pub files: Vec<String>,
    pub starts: Vec<String>,
    pub ends: Vec<String>,
    pub extensions: Vec<String>,
}

/// The whole file, with its look-ups.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LanguageTable {
    pub tests: TestNames,
    pub directives: Directives,
    pub syntax: HashMap<String, Syntax>,
    pub test_syntax: HashMap<String, TestSyntax>,
    #[serde(rename = "language")]
    pub languages: Vec<Language>,
    #[serde(rename = "kind")]
    pub kinds: Vec<KindRow>,
    foreign: Foreign,
    #[serde(rename = "frame")]
    frames: Vec<FrameForm>,
    #[serde(rename = "runner")]
    pub runners: Vec<Runner>,
    #[serde(skip)]
    by_extension: HashMap<String, usize>,
    #[serde(skip)]
    by_name: HashMap<String, usize>,
}

impl LanguageTable {
    pub(super) fn get() -> &'static Self {
        static TABLE: LazyLock<LanguageTable> = LazyLock::new(|| {
            let text = include_str!("../../data/languages.toml");
            let mut table: LanguageTable =
                toml::from_str(text).expect("the file is part of the program, and tests read it");
            for (index, row) in table.languages.iter().enumerate() {
                let extensions = row.code.iter().chain(&row.other).chain(&row.test.extensions);
                table.by_extension.extend(extensions.map(|extension| (extension.clone(), index)));
                table.by_name.extend(row.files.iter().map(|name| (name.clone(), index)));
            }
            table
        });
        &TABLE
    }

    /// The row of a path, by its whole name or its extension, whose case counts.
    pub(super) fn language(&self, path: &str) -> Option<&Language> {
        let name = super::file_name(path);
        let by_name = || self.by_name.get(&name.to_ascii_lowercase());
        let by_start = || {
            let start = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
            self.by_name.get(&start).filter(|_| !start.is_empty())
        };
        let row = super::extension(path).and_then(|extension| self.by_extension.get(extension));
        row.or_else(by_name).or_else(by_start).map(|&index| &self.languages[index])
    }
}

impl Foreign {
    pub(crate) fn get() -> &'static Self {
        &LanguageTable::get().foreign
    }
}

impl FrameForm {
    /// All of them; earlier ones win.
    pub(crate) fn all() -> &'static [Self] {
        &LanguageTable::get().frames
    }
}

impl Language {
    /// What its files are where no place or name says more.
    pub(super) fn kind(&self) -> FileKind {
        self.kind.unwrap_or(if self.name.is_some() { FileKind::Code } else { FileKind::Config })
    }

    /// Whether programs are written in it.
    pub(super) fn runs(&self) -> bool {
        self.runs || self.name.is_some()
    }
}
