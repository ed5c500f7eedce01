//! What a path in a repository tells: its language, whether it is code, whether it is a test, and what it tests.
//!
//! Only names are looked at. `conventions.rs` has one row for each language; everything else here reads those rows.

mod comments;
mod conventions;
#[cfg(test)]
mod tests;

pub use comments::Comments;
use conventions::{CONVENTIONS, Conventions, OF_EVERY_LANGUAGE};

/// A programming language whose files are known by their extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLanguage {
    C,
    Clojure,
    Cpp,
    CSharp,
    Dart,
    Elixir,
    Erlang,
    FSharp,
    Go,
    Groovy,
    Haskell,
    Java,
    JavaScript,
    Julia,
    Kotlin,
    Lua,
    Nim,
    ObjectiveC,
    OCaml,
    Perl,
    Php,
    Python,
    R,
    Ruby,
    Rust,
    Scala,
    Shell,
    Sql,
    Svelte,
    Swift,
    TypeScript,
    VisualBasic,
    Vue,
    Zig,
}

impl SourceLanguage {
    /// By the extension of a path, whose case counts.
    ///
    /// ```
    /// use loopgate_core::source_files::SourceLanguage;
    ///
    /// assert_eq!(SourceLanguage::of("src/cart.mts"), Some(SourceLanguage::TypeScript));
    /// assert_eq!(SourceLanguage::of("README.md"), None);
    /// ```
    pub fn of(path: &str) -> Option<Self> {
        row_of(path).map(|row| row.language)
    }
}

/// Whether a path is source code for which a test can be asked.
///
/// Shell scripts, SQL and files that only declare (`.pyi`) are none: few projects test them one by one.
pub fn is_code(path: &str) -> bool {
    row_of(path).is_some_and(|row| extension(path).is_some_and(|extension| row.code.contains(&extension)))
}

/// Whether a path is one of the tests, by the conventions of its language: its name says so, or a folder it lies in
/// does.
///
/// Helpers in a folder of tests count as tests. Data there does not, since it is in no language.
pub fn is_test(path: &str) -> bool {
    let Some(row) = row_of(path) else { return false };
    in_test_folder(path) || row.names_test(path) || folders(path).any(|folder| row.keeps_tests_in(folder))
}

/// Whether the name of a file says that it is a test, wherever it lies: most runners look for their tests by name.
pub fn is_named_test(path: &str) -> bool {
    row_of(path).is_some_and(|row| row.names_test(path))
}

/// Whether a path, of whatever kind, lies in a folder that holds tests in every language.
pub fn in_test_folder(path: &str) -> bool {
    folders(path).any(|folder| OF_EVERY_LANGUAGE.folders.iter().any(|known| folder.eq_ignore_ascii_case(known)))
}

/// What a test's file name says it tests: `calc` for `test_calc.py`, `calc.test.ts`, `calc_test.go`, `CalcTest.java`.
/// A file that is no test is its own subject.
pub fn subject(path: &str) -> &str {
    let whole = stem(path);
    let row = row_of(path);
    let starts = row.iter().flat_map(|row| row.starts).filter_map(|start| whole.strip_prefix(start));
    let starts = starts.chain(OF_EVERY_LANGUAGE.starts.iter().filter_map(|start| after(whole, start)));
    let begun = starts.min_by_key(|rest| rest.len()).unwrap_or(whole);
    let ends = row.iter().flat_map(|row| row.ends).filter_map(|end| before_word(begun, end));
    let ends = ends.chain(OF_EVERY_LANGUAGE.ends.iter().filter_map(|end| before(begun, end)));
    ends.filter(|rest| !rest.is_empty()).min_by_key(|rest| rest.len()).unwrap_or(begun)
}

impl Conventions {
    /// Whether the name of a file of this language is one of a test.
    fn names_test(&self, path: &str) -> bool {
        let (name, stem) = (file_name(path), stem(path));
        let is = |known: &&str| stem.eq_ignore_ascii_case(known);
        let common = &OF_EVERY_LANGUAGE;
        common.names.iter().any(is)
            || common.starts.iter().any(|start| after(stem, start).is_some())
            || common.ends.iter().any(|end| before(stem, end).is_some())
            || has_middle_part(name, common.middles)
            || self.names.contains(&stem)
            || self.starts.iter().any(|start| stem.starts_with(start))
            || self.ends.iter().any(|end| before_word(stem, end).is_some_and(|rest| !rest.is_empty()))
            || has_middle_part(name, self.middles)
            || extension(path).is_some_and(|extension| self.test_extensions.contains(&extension))
    }

    /// Whether this language keeps tests in a folder of this name.
    fn keeps_tests_in(&self, folder: &str) -> bool {
        self.folders.contains(&folder)
            || self.folder_ends.iter().any(|end| folder.len() > end.len() && folder.ends_with(end))
    }
}

fn row_of(path: &str) -> Option<&'static Conventions> {
    let extension = extension(path)?;
    CONVENTIONS
        .iter()
        .find(|row| [row.code, row.other, row.test_extensions].iter().any(|extensions| extensions.contains(&extension)))
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

fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit('/').skip(1)
}

/// Whether a name has one of these words between two dots: `test` in `cart.test.ts`.
fn has_middle_part(name: &str, words: &[&str]) -> bool {
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
