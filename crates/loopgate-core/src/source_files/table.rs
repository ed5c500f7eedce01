//! `data/languages.toml` as it is read, once.

use std::{collections::HashMap, sync::LazyLock};

use serde::{Deserialize, Serialize};

use crate::expressions::Pattern;

words! {
    /// What kind of file a path is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum FileKind {
        /// What runs, wherever it lies, and what nothing else is known of.
        #[default]
        Code = "code",
        Tests = "tests",
        Docs = "docs",
        Config = "config",
        /// Names dependencies, or where packages come from.
        Manifest = "manifest",
        /// Runs checks, or changes repositories by itself.
        Ci = "ci",
        /// Written by a machine. Lock files are.
        Generated = "generated",
        Translations = "translations",
        /// Somebody else's code.
        Vendored = "vendored",
        /// Images, fonts, sound: nothing in them has lines.
        Asset = "asset",
    }
}

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

/// A form of line in which a tool names a place: the groups `file`, `line`, `col`, `fun` and `class` are what it
/// captures.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FrameForm {
    pub pattern: String,
    pub names: FrameLine,
    pub innermost_last: bool,
}

/// What a line that names a place shows.
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
    /// The selection of one test is executed with the real tool (`.ci/real_runs.py`), so that it may stand where nothing
    /// can be executed.
    pub is_proven: bool,
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
    /// Twisted's
    Trial,
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

/// A row `syntax` of `data/languages.toml`, which shows what its keys mean.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Syntax {
    pub(super) line: Vec<String>,
    pub(super) block: Vec<(String, String)>,
    pub(super) strings: Vec<(String, String)>,
    pub(super) conditions: Vec<(String, String)>,
    pub(super) items: Vec<String>,
    pub(super) heredocs: Vec<String>,
    pub(super) quotes: String,
    pub(super) at_start: bool,
    pub(super) regex: bool,
    pub(super) space: bool,
    /// Which letters of ASCII begin a mark.
    #[serde(skip)]
    pub(super) marks: Vec<bool>,
}

/// A row `test_syntax` of `data/languages.toml`, which shows what its keys mean. Patterns are tried on one line without
/// its comments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestSyntax {
    /// Whether tests stand in the files that they test.
    #[serde(default)]
    pub inline: bool,
    pub(super) test: Pattern,
    pub(super) function: Pattern,
    pub(super) skip: Pattern,
    pub(super) assertion: Pattern,
    /// The line asserts one value only.
    pub exact: Pattern,
    pub(super) vain: Option<Pattern>,
    pub(super) row: Option<Pattern>,
    pub(super) doubts: Option<Pattern>,
    pub(super) mark: Option<Pattern>,
    pub(super) stand_in: Option<Pattern>,
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
    /// The languages by extension.
    #[serde(skip)]
    pub(super) by_extension: HashMap<String, usize>,
    /// The languages by whole name.
    #[serde(skip)]
    pub(super) by_name: HashMap<String, usize>,
}

/// What `data/languages.toml` holds.
pub(crate) static LANGUAGES: LazyLock<LanguageTable> = LazyLock::new(|| {
    let mut table: LanguageTable = data!("languages.toml");
    for (index, row) in table.languages.iter().enumerate() {
        let extensions = row
            .code
            .iter()
            .chain(&row.other)
            .chain(&row.test.extensions);
        let extensions = extensions.map(|extension| (extension.clone(), index));
        table.by_extension.extend(extensions);
        let names = row.files.iter().map(|name| (name.clone(), index));
        table.by_name.extend(names);
    }
    table.syntax.values_mut().for_each(Syntax::note_marks);
    table
});
