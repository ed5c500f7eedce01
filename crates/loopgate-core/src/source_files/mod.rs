//! What a path in a repository tells: its language, its kind, whether it is a test, and what it tests; and how its
//! language writes comments.
//!
//! All of it is data: `data/languages.toml` has one row for each language, and the order of the kinds.

mod syntax;
mod table;
mod test_syntax;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use syntax::{Lexed, Syntax};
pub(crate) use table::{Foreign, FrameForm, FrameLine, Runner, Tool};
use table::{KindRow, Language, LanguageTable, TestNames};
pub use test_syntax::{Pattern, TestSyntax};

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

/// The programming language of a path, by its extension, whose case counts, in the word of `data/languages.toml`.
///
/// ```
/// use loopgate_core::source_files::language_of;
///
/// assert_eq!(language_of("src/cart.mts"), Some("typescript"));
/// assert_eq!(language_of("README.md"), None);
/// ```
pub fn language_of(path: &str) -> Option<&'static str> {
    LanguageTable::get().language(path)?.name.as_deref()
}

/// The kind of a file, by its path alone. What runs is code in every folder of documents, examples, translations and
/// what machines write, unless its own name says that it is a test.
pub fn kind(path: &str) -> FileKind {
    let (table, lower) = (LanguageTable::get(), path.to_lowercase());
    let language = table.language(path);
    let runs = runs(path);
    let named_test = row_of(path).is_some_and(|row| row.names_test(path) && row.leaves_out(path));
    let by_name = table.kinds.iter().find(|row| row.names(&lower)).map(|row| row.kind);
    let by_folder = table.kinds.iter().find(|row| row.keeps(&lower)).map(|row| row.kind);
    let in_spec_alone = || runs && !keeps_tests(path, language, &["spec", "specs"]);
    match (by_folder, by_name.or(by_folder)) {
        (Some(kind @ (FileKind::Vendored | FileKind::Manifest)), _) => kind,
        // A tool reads these wherever they lie, folders of tests and documents included.
        (_, Some(kind @ (FileKind::Ci | FileKind::Manifest))) => kind,
        (_, Some(kind @ (FileKind::Generated | FileKind::Asset))) if by_name == Some(kind) => kind,
        _ if named_test => FileKind::Tests,
        (_, Some(_)) if runs => FileKind::Code,
        _ if (in_test_folder(path) || is_test(path)) && !in_spec_alone() => FileKind::Tests,
        (_, Some(kind)) => kind,
        (_, None) => language.map_or(FileKind::Code, Language::kind),
    }
}

/// Whether programs are written in files like this one, whatever else they are: `setup.py` is a manifest that runs.
pub fn runs(path: &str) -> bool {
    LanguageTable::get().language(path).is_some_and(Language::runs)
}

/// The words at the end of a file's name by which its program is built with it on some systems only: `plan9` of
/// `login_plan9.go`.
pub fn name_conditions(path: &str) -> Vec<&str> {
    let conditions = row_of(path).map_or(&[][..], |row| &row.name_conditions);
    stem(path).split('_').skip(1).filter(|word| conditions.iter().any(|known| known == word)).collect()
}

/// Whether a path is source code for which a test can be asked.
///
/// Shell scripts, SQL and files that only declare (`.pyi`) are none: few projects test them one by one.
pub fn is_code(path: &str) -> bool {
    let Some((row, extension)) = row_of(path).zip(extension(path)) else { return false };
    row.code.iter().any(|known| known == extension)
}

/// Whether a path is one of the tests, by the conventions of its language: its name says so, or a folder it lies in
/// does.
///
/// Helpers in a folder of tests count as tests. Data there does not, since it is in no language.
pub fn is_test(path: &str) -> bool {
    row_of(path).is_some_and(|row| row.names_test(path) || keeps_tests(path, Some(row), &[]))
}

/// Whether the name of a file says that it is a test, wherever it lies: most runners look for their tests by name.
pub fn is_named_test(path: &str) -> bool {
    row_of(path).is_some_and(|row| row.names_test(path))
}

/// Whether a path, of whatever kind, lies in a folder that holds tests in every language.
pub fn in_test_folder(path: &str) -> bool {
    keeps_tests(path, None, &[])
}

/// Whether a folder of the path holds tests, those of these names apart. Below `src/main` no folder does: packages are
/// called so (`src/main/java/test/acme/`).
fn keeps_tests(path: &str, language: Option<&Language>, apart: &[&str]) -> bool {
    let path = path.split_once("src/main/").map_or(path, |(above, _)| above);
    let mut folders = path.rsplit('/').skip(1);
    folders.any(|folder| {
        let common = LanguageTable::get().tests.folders.iter().any(|known| folder.eq_ignore_ascii_case(known));
        let is_own = |row: &Language| {
            row.test.folders.iter().any(|known| folder == known)
                || row.test.folder_ends.iter().any(|end| folder.len() > end.len() && folder.ends_with(end.as_str()))
        };
        (common || language.is_some_and(is_own)) && !apart.iter().any(|known| folder.eq_ignore_ascii_case(known))
    })
}

/// What a test's file name says it tests: `calc` for `test_calc.py`, `calc.test.ts`, `calc_test.go`, `CalcTest.java`.
/// A file that is no test is its own subject.
pub fn subject(path: &str) -> &str {
    let (whole, common) = (stem(path), &LanguageTable::get().tests);
    let row = row_of(path);
    let starts = row.iter().flat_map(|row| &row.test.starts).filter_map(|start| whole.strip_prefix(start.as_str()));
    let starts = starts.chain(common.starts.iter().filter_map(|start| after(whole, start)));
    let begun = starts.min_by_key(|rest| rest.len()).unwrap_or(whole);
    let ends = row.iter().flat_map(|row| &row.test.ends).filter_map(|end| before_word(begun, end));
    let ends = ends.chain(common.ends.iter().filter_map(|end| before(begun, end)));
    ends.filter(|rest| !rest.is_empty()).min_by_key(|rest| rest.len()).unwrap_or(begun)
}

impl Language {
    /// Whether the program does not load a file of such a name: its tools tell tests by that name, or by their folder.
    fn leaves_out(&self, path: &str) -> bool {
        let has_own_name = || self.test.ends.iter().any(|end| before_word(stem(path), end).is_some());
        let has_own_extension = extension(path).is_some_and(|it| self.test.extensions.iter().any(|known| known == it));
        has_own_extension
            || (!self.test.own_names || has_own_name()) && (!self.test.in_folders || keeps_tests(path, Some(self), &[]))
    }

    /// Whether the name of a file of this language is one of a test.
    fn names_test(&self, path: &str) -> bool {
        let (name, stem) = (file_name(path), stem(path));
        let (common, own): (&TestNames, _) = (&LanguageTable::get().tests, &self.test);
        common.names.iter().any(|known| stem.eq_ignore_ascii_case(known))
            || common.starts.iter().any(|start| after(stem, start).is_some())
            || common.ends.iter().any(|end| before(stem, end).is_some())
            || has_middle_part(name, &common.middles)
            || own.names.iter().any(|known| stem == known)
            || own.starts.iter().any(|start| stem.starts_with(start.as_str()))
            || own.ends.iter().any(|end| before_word(stem, end).is_some_and(|rest| !rest.is_empty()))
            || has_middle_part(name, &own.middles)
            || extension(path).is_some_and(|extension| own.extensions.iter().any(|known| known == extension))
    }
}

impl KindRow {
    /// Whether it names a path, in lower case, by more than a folder.
    fn names(&self, path: &str) -> bool {
        let name = file_name(path);
        let has = |known: &[String], word: &str| known.iter().any(|known| known == word);
        let is_allowed = || self.only.is_empty() || extension(name).is_some_and(|extension| has(&self.only, extension));
        has(&self.files, name)
            || self.ends.iter().any(|end| name.len() > end.len() && name.ends_with(end.as_str()))
            || extension(name).is_some_and(|extension| has(&self.extensions, extension))
            || is_allowed()
                && (self.under.iter().any(|start| path.starts_with(start.as_str()))
                    || self.starts.iter().any(|start| name.starts_with(start.as_str())))
    }

    /// Whether a folder of the path is one of it.
    fn keeps(&self, path: &str) -> bool {
        let is_allowed = self.only.is_empty()
            || extension(path).is_some_and(|extension| self.only.iter().any(|known| known == extension));
        is_allowed && path.rsplit('/').skip(1).any(|folder| self.folders.iter().any(|known| known == folder))
    }
}

/// The row of a path in a language of programs.
fn row_of(path: &str) -> Option<&'static Language> {
    LanguageTable::get().language(path).filter(|row| row.name.is_some())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn extension(path: &str) -> Option<&str> {
    file_name(path).rsplit_once('.').map(|(_, extension)| extension)
}

/// The name up to its first dot.
pub fn stem(path: &str) -> &str {
    let name = file_name(path);
    name.split('.').next().unwrap_or(name)
}

/// Whether a name has one of these words between two dots: `test` in `cart.test.ts`.
fn has_middle_part(name: &str, words: &[String]) -> bool {
    let inner = name.split_once('.').and_then(|(_, rest)| rest.rsplit_once('.')).map_or("", |(inner, _)| inner);
    inner.split('.').any(|part| words.iter().any(|word| part.eq_ignore_ascii_case(word)))
}

/// What follows a beginning, in whatever case it is written.
fn after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(start.len())?;
    begin.eq_ignore_ascii_case(start).then_some(rest)
}

/// What stands before an end, in whatever case it is written.
fn before<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let (rest, last) = text.split_at_checked(text.len().checked_sub(end.len())?)?;
    last.eq_ignore_ascii_case(end).then_some(rest)
}

/// What stands before an end written just so. An abbreviation is a word of its own only behind a small letter or a
/// digit: `CartIT` ends in one, `EXIT` does not.
fn before_word<'a>(text: &'a str, end: &str) -> Option<&'a str> {
    let rest = text.strip_suffix(end)?;
    let is_abbreviation = end.bytes().all(|letter| letter.is_ascii_uppercase());
    let is_apart = || rest.ends_with(|last: char| last.is_lowercase() || last.is_ascii_digit());
    (!is_abbreviation || is_apart()).then_some(rest)
}
