//! Reads a path in a repository: its language, its kind, whether it is a test, and what it tests; and how its language
//! writes comments.
//!
//! All of it is data: `data/languages.toml` has one row for each language, and the order of the kinds.

mod syntax;
mod table;
mod test_syntax;
#[cfg(test)]
mod tests;

pub use syntax::Lexer;
pub use table::{FileKind, Syntax, TestSyntax};
pub(crate) use table::{FrameLine, LANGUAGES, Runner, Tool};
use table::{Language, LanguageTable, PathNames};

pub use crate::expressions::Pattern;

/// The programming language of a path, by its extension, whose case counts, in the term of `data/languages.toml`.
///
/// ```
/// use loopgate_core::source_files::language_of;
///
/// assert_eq!(language_of("src/cart.mts"), Some("typescript"));
/// assert_eq!(language_of("README.md"), None);
/// ```
pub fn language_of(path: &str) -> Option<&'static str> {
    LANGUAGES.language(path)?.name.as_deref()
}

/// The kind of a file, by its path alone. What runs is code in every folder of documents, examples, translations and
/// what machines write, unless its own name shows that it is a test.
pub fn kind(path: &str) -> FileKind {
    let (table, lower) = (&*LANGUAGES, path.to_lowercase());
    let language = table.language(path);
    let runs = runs(path);
    // The program does not load a file of such a name: its tools recognise tests by that name, or by their folder.
    let is_left_out = |row: &Language| {
        row.test.has_extension(path)
            || (!row.test.own_names || row.test.ends_name(stem(path)))
                && (!row.test.in_folders || keeps_tests(path, Some(row), &[]))
    };
    let named_test = row_of(path).is_some_and(|row| row.names_test(path) && is_left_out(row));
    let by_name = table
        .kinds
        .iter()
        .find(|row| row.name(file_name(&lower), &lower))
        .map(|row| row.kind);
    let folders = lower.rsplit('/').skip(1);
    let keeps = |row: &&PathNames| {
        row.allows(&lower) && folders.clone().any(|folder| row.names_folder(folder))
    };
    let is_own = |row: &&PathNames| row.kind == FileKind::Vendored && is_own_gem(&lower);
    let mut of_folder = table.kinds.iter().filter(keeps);
    let by_folder = of_folder.find(|row| !is_own(row)).map(|row| row.kind);
    // The repository's own folders of checks, in which nothing is a copy: `under` begins at the top.
    let of_ci = |row: &PathNames| row.kind == FileKind::Ci && row.is_under(&lower);
    if by_name == Some(FileKind::Ci) && table.kinds.iter().any(of_ci) {
        return FileKind::Ci;
    }
    let in_spec_alone = || runs && !keeps_tests(path, language, &["spec", "specs"]);
    let usual = |row: &Language| {
        row.kind.unwrap_or(if row.name.is_some() {
            FileKind::Code
        } else {
            FileKind::Config
        })
    };
    match (by_folder, by_name.or(by_folder)) {
        (Some(kind @ (FileKind::Vendored | FileKind::Manifest)), _) => kind,
        // A tool reads these wherever they lie, folders of tests and documents included.
        (_, Some(kind @ (FileKind::Ci | FileKind::Manifest))) => kind,
        (_, Some(kind @ (FileKind::Generated | FileKind::Asset))) if by_name == Some(kind) => kind,
        _ if named_test => FileKind::Tests,
        (_, Some(_)) if runs => FileKind::Code,
        _ if (in_test_folder(path) || is_test(path)) && !in_spec_alone() => FileKind::Tests,
        (_, Some(kind)) => kind,
        (_, None) => language.map_or(FileKind::Code, usual),
    }
}

/// Whether a file is of a gem or an engine that the repository keeps itself: one that was unpacked has its version in the
/// folder's name (`vendor/gems/rack-3.0.8`).
fn is_own_gem(path: &str) -> bool {
    pattern!(r"(?:^|/)vendor/(?:gems|engines)/[a-z_][a-z0-9_]*(?:-[a-z_][a-z0-9_]*)*/")
        .is_match(path)
}

/// The part of a path below the folder of copies that it lies in: `jose/index.js` of `web/node_modules/jose/index.js`.
pub(crate) fn below_copies(path: &str) -> Option<&str> {
    let names_copies =
        |row: &PathNames, folder: &str| row.kind == FileKind::Vendored && row.names_folder(folder);
    let mut folders = path.match_indices('/').filter(|(end, _)| {
        let folder = file_name(&path[..*end]).to_lowercase();
        LANGUAGES.kinds.iter().any(|row| names_copies(row, &folder))
    });
    folders.next_back().map(|(end, _)| &path[end + 1..])
}

/// Whether programs are written in files like this one, whatever else they are: `setup.py` is a manifest that runs.
pub fn runs(path: &str) -> bool {
    LANGUAGES
        .language(path)
        .is_some_and(|row| row.runs || row.name.is_some())
}

/// The words at the end of a file's name by which its program is built with it on some systems only: `plan9` of
/// `login_plan9.go`.
pub fn name_conditions(path: &str) -> Vec<&str> {
    let conditions = row_of(path).map_or(&[][..], |row| &row.name_conditions);
    stem(path)
        .split('_')
        .skip(1)
        .filter(|word| has(conditions, word))
        .collect()
}

/// Whether a path is source code for which a test can be asked.
///
/// Shell scripts, SQL and files that only declare (`.pyi`) are none: few projects test them one by one.
pub fn is_code(path: &str) -> bool {
    row_of(path)
        .zip(extension(path))
        .is_some_and(|(row, extension)| has(&row.code, extension))
}

/// Whether a path is one of the tests, by the conventions of its language: its name shows it, or a folder it lies in
/// does.
///
/// Helpers in a folder of tests count as tests. Data there does not, since it is in no language.
pub fn is_test(path: &str) -> bool {
    row_of(path).is_some_and(|row| row.names_test(path) || keeps_tests(path, Some(row), &[]))
}

/// Whether the name of a file shows that it is a test, wherever it lies: most runners look for their tests by name.
pub fn is_named_test(path: &str) -> bool {
    row_of(path).is_some_and(|row| row.names_test(path))
}

/// Whether a path, of whatever kind, lies in a folder that holds tests in every language.
pub fn in_test_folder(path: &str) -> bool {
    keeps_tests(path, None, &[])
}

/// Whether a file belongs to the tests: data and snapshots beside them do too.
pub fn belongs_to_tests(path: &str) -> bool {
    let mut folders = path.rsplit('/').skip(1);
    let in_data_folder =
        folders.any(|folder| matches!(folder, "__snapshots__" | "testdata" | "fixtures"));
    is_test(path) || in_test_folder(path) || in_data_folder
}

/// Whether a folder of the path holds tests, those of these names apart. Below `src/main` no folder does: packages are
/// called so (`src/main/java/test/acme/`).
fn keeps_tests(path: &str, language: Option<&Language>, apart: &[&str]) -> bool {
    let path = path
        .split_once("src/main/")
        .map_or(path, |(above, _)| above);
    let mut folders = path.rsplit('/').skip(1);
    folders.any(|folder| {
        let is_named = LANGUAGES.tests.names_folder(folder)
            || language.is_some_and(|language| language.test.names_folder(folder));
        is_named && !apart.iter().any(|known| folder.eq_ignore_ascii_case(known))
    })
}

impl LanguageTable {
    /// The row of a path, by its extension, whose case counts, else by its name, whole or up to the first dot.
    fn language(&self, path: &str) -> Option<&Language> {
        let row = extension(path).and_then(|extension| self.by_extension.get(extension));
        let by_name = || {
            let name = file_name(path).to_ascii_lowercase();
            let row = self.by_name.get(&name);
            row.or_else(|| self.by_name.get(stem(&name)))
        };
        let row = row.or_else(by_name);
        row.map(|&index| &self.languages[index])
    }
}

impl Language {
    /// Whether the name of a file of this language is one of a test.
    fn names_test(&self, path: &str) -> bool {
        [&LANGUAGES.tests, &self.test]
            .iter()
            .any(|tests| tests.name(stem(path), path))
    }
}

impl PathNames {
    /// Whether they name a path by more than a folder. `name` is the part of its last name that they are about.
    fn name(&self, name: &str, path: &str) -> bool {
        let middles = || {
            let parts = file_name(path)
                .split_once('.')
                .and_then(|(_, rest)| rest.rsplit_once('.'));
            let mut middles = parts.map_or("", |(middles, _)| middles).split('.');
            middles.any(|part| self.middles.iter().any(|known| reads(part, known)))
        };
        let begins = |start: &String| {
            name.get(..start.len())
                .is_some_and(|begin| reads(begin, start))
        };
        self.names.iter().any(|known| reads(name, known))
            || self.ends_name(name)
            || self.has_extension(path)
            || !self.middles.is_empty() && middles()
            || self.allows(path) && (self.starts.iter().any(begins) || self.is_under(path))
    }

    /// Whether a path, from the top of the repository, begins with one of theirs.
    fn is_under(&self, path: &str) -> bool {
        self.under
            .iter()
            .any(|start| path.starts_with(start.as_str()))
    }

    /// Whether a name has one of the ends. An abbreviation is a word of its own only behind a small letter or a digit:
    /// `CartIT` ends in one, `EXIT` does not.
    fn ends_name(&self, name: &str) -> bool {
        self.ends.iter().any(|end| {
            let parts = name
                .len()
                .checked_sub(end.len())
                .and_then(|at| name.split_at_checked(at));
            let Some((rest, last)) = parts.filter(|(rest, _)| !rest.is_empty()) else {
                return false;
            };
            let is_abbreviation = end.bytes().all(|letter| letter.is_ascii_uppercase());
            let is_apart =
                rest.ends_with(|before: char| before.is_lowercase() || before.is_ascii_digit());
            reads(last, end) && (!is_abbreviation || is_apart)
        })
    }

    fn has_extension(&self, path: &str) -> bool {
        !self.extensions.is_empty()
            && extension(path).is_some_and(|extension| has(&self.extensions, extension))
    }

    fn allows(&self, path: &str) -> bool {
        self.only.is_empty() || extension(path).is_some_and(|extension| has(&self.only, extension))
    }

    fn names_folder(&self, folder: &str) -> bool {
        let ends = |end: &String| folder.len() > end.len() && folder.ends_with(end.as_str());
        self.folders.iter().any(|known| reads(folder, known)) || self.folder_ends.iter().any(ends)
    }
}

/// Whether a word is the one that the table has: in whatever case, unless that has a capital.
fn reads(word: &str, known: &str) -> bool {
    word.eq_ignore_ascii_case(known) && (word == known || !known.contains(char::is_uppercase))
}

fn has(known: &[String], word: &str) -> bool {
    known.iter().any(|known| known == word)
}

/// The row of a path in a language of programs.
fn row_of(path: &str) -> Option<&'static Language> {
    LANGUAGES.language(path).filter(|row| row.name.is_some())
}

/// What stands behind the last slash of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What stands behind the last dot of a path's name.
pub(crate) fn extension(path: &str) -> Option<&str> {
    file_name(path)
        .rsplit_once('.')
        .map(|(_, extension)| extension)
}

/// The name up to its first dot.
pub fn stem(path: &str) -> &str {
    let name = file_name(path);
    name.split('.').next().unwrap_or(name)
}
