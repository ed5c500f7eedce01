//! Globs and regular expressions of the configuration, compared by their source text.
//!
//! The gates have hundreds of globs and a pull request thousands of files, so lists of them are asked in one pass
//! first: most paths match none. Compiling is most of the work of reading a configuration, so it waits until they are
//! asked, and clones share it.

use std::{
    hash::{Hash, Hasher},
    sync::{Arc, OnceLock},
};

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder};
use schemars::json_schema;
use serde::{Deserialize, Deserializer, de::Error};

use super::{NonEmpty, shorten};
use crate::{expressions, ids::PatternName, schema_of};

/// Largest automaton of one regular expression, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// What is compiled from its source at its first use. Clones share it, and are compared by their source.
#[derive(Clone, Debug, Default)]
struct Lazy<S, C>(Arc<(S, OnceLock<C>)>);

impl<S, C> Lazy<S, C> {
    fn new(source: S) -> Self {
        Self(Arc::new((source, OnceLock::new())))
    }
}

impl<S: PartialEq, C> PartialEq for Lazy<S, C> {
    fn eq(&self, other: &Self) -> bool {
        self.0.0 == other.0.0
    }
}

impl<S: Hash, C> Hash for Lazy<S, C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.0.hash(state);
    }
}

/// A glob over names or paths.
#[derive(Clone, Debug, PartialEq)]
pub struct NameGlob(Lazy<Glob, GlobMatcher>);

impl NameGlob {
    /// A glob over names, in which `*` matches everything, `/` included.
    ///
    /// # Errors
    /// When the text is not a glob.
    pub fn parse(text: &str) -> Result<Self, globset::Error> {
        Glob::new(text).map(|glob| Self(Lazy::new(glob)))
    }

    /// A glob over paths: `*` stops at `/` as in the path filters of workflows, and case does not matter, since a gate
    /// must not be passed by renaming a folder.
    ///
    /// # Errors
    /// When the text is not a glob.
    pub fn path(text: &str) -> Result<Self, globset::Error> {
        Self::path_in_case(text, false)
    }

    /// A glob over paths that are left out. Where it has a capital letter it matches as it is written, so that
    /// `*Test.java` leaves `Latest.java` in.
    ///
    /// # Errors
    /// When the text is not a glob.
    pub fn excluded_path(text: &str) -> Result<Self, globset::Error> {
        Self::path_in_case(text, text.contains(char::is_uppercase))
    }

    fn path_in_case(text: &str, as_written: bool) -> Result<Self, globset::Error> {
        let mut glob = GlobBuilder::new(text);
        glob.literal_separator(true)
            .case_insensitive(!as_written)
            .empty_alternates(true);
        glob.build().map(|glob| Self(Lazy::new(glob)))
    }

    pub fn matches(&self, name: &str) -> bool {
        let (glob, matcher) = &*self.0.0;
        matcher
            .get_or_init(|| glob.compile_matcher())
            .is_match(name)
    }

    pub fn as_str(&self) -> &str {
        self.0.0.0.glob()
    }
}

/// Globs over paths, of which one must match. They are compiled into one; `None` where that would be too large.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathGlobs(Lazy<Vec<NameGlob>, Option<GlobSet>>);

impl PathGlobs {
    /// Globs made by [`NameGlob::path`], or all of them by [`NameGlob::excluded_path`].
    pub fn new(globs: Vec<NameGlob>) -> Self {
        Self(Lazy::new(globs))
    }

    pub fn matches(&self, path: &str) -> bool {
        match self.any() {
            Some(any) => any.is_match(path),
            None => self.as_slice().iter().any(|glob| glob.matches(path)),
        }
    }

    /// The indices of all globs that match.
    pub fn all(&self, path: &str) -> Vec<usize> {
        match self.any() {
            Some(any) => any.matches(path),
            None => (0..self.as_slice().len())
                .filter(|&index| self.as_slice()[index].matches(path))
                .collect(),
        }
    }

    /// The indices of all globs that match an entry of a tree: `lib/**` an entry `lib` too, which is a submodule, a link,
    /// or a file in the folder's place.
    pub fn all_of_entry(&self, path: &str) -> Vec<usize> {
        let is_whole = |glob: &usize| self.as_slice()[*glob].as_str().ends_with("/**");
        let below = self.all(&format!("{path}/-"));
        let mut all = self.all(path);
        all.extend(below.into_iter().filter(is_whole));
        all.sort_unstable();
        all.dedup();
        all
    }

    fn any(&self) -> Option<&GlobSet> {
        let compile = || {
            let mut any = GlobSetBuilder::new();
            for glob in self.as_slice() {
                any.add(glob.0.0.0.clone());
            }
            any.build().ok()
        };
        self.0.0.1.get_or_init(compile).as_ref()
    }

    /// The first glob, in the order of the list, that matches.
    pub fn first(&self, path: &str) -> Option<&NameGlob> {
        self.matches(path)
            .then(|| self.as_slice().iter().find(|glob| glob.matches(path)))
            .flatten()
    }

    pub fn as_slice(&self) -> &[NameGlob] {
        &self.0.0.0
    }
}

/// A regular expression, which may have a name.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Pattern {
    /// What people call it.
    pub name: Option<PatternName>,
    regex: Lazy<String, Regex>,
}

impl Pattern {
    /// # Errors
    /// When the text is not a regular expression, or one that compiles to more than 1 MiB.
    pub fn parse(text: &str) -> Result<Self, regex::Error> {
        let regex = Lazy(Arc::new((
            text.to_owned(),
            OnceLock::from(RegexBuilder::new(text).size_limit(PATTERN_SIZE).build()?),
        )));
        Ok(Self { name: None, regex })
    }

    /// One that comes with the program.
    ///
    /// # Panics
    /// When it is asked and does not compile: tests compile them all.
    pub fn constant(text: &str) -> Self {
        Self {
            name: None,
            regex: Lazy::new(text.to_owned()),
        }
    }

    pub fn matches(&self, text: &str) -> bool {
        let (source, regex) = &*self.regex.0;
        regex
            .get_or_init(|| expressions::compile(source))
            .is_match(text)
    }

    pub fn as_str(&self) -> &str {
        &self.regex.0.0
    }
}

/// A glob becomes an automaton that grows with it.
const LONGEST_GLOB: usize = 1_000;

/// A glob as it is written in a configuration, whose deserializer counts them by this name.
#[derive(Deserialize)]
struct WrittenGlob(String);

impl WrittenGlob {
    fn read<E: Error>(text: &str, parse: ParseGlob) -> Result<NameGlob, E> {
        match text {
            "" => Err(E::custom("an empty glob matches nothing")),
            text if text.len() > LONGEST_GLOB => {
                Err(E::custom("this glob is too long\nmake several of it"))
            }
            text => parse(text).map_err(|error| {
                E::custom(format!(
                    "`{}` is not a glob: {}",
                    shorten(text),
                    error.kind()
                ))
            }),
        }
    }

    fn read_path<E: Error>(text: &str, parse: ParseGlob) -> Result<NameGlob, E> {
        if let Some(relative) = text.strip_prefix('/') {
            let message = "paths are relative to the root of the repository";
            return Err(E::custom(format!(
                "{message}\nwrite `{}`",
                shorten(relative)
            )));
        }
        if text.ends_with('/') {
            let text = shorten(text);
            return Err(E::custom(format!(
                "`{text}` matches a folder, and files are matched\nwrite `{text}**`"
            )));
        }
        Self::read(text, parse)
    }
}

type ParseGlob = fn(&str) -> Result<NameGlob, globset::Error>;

impl<'de> Deserialize<'de> for NameGlob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        WrittenGlob::read(&WrittenGlob::deserialize(deserializer)?.0, Self::parse)
    }
}

/// A glob over paths as it is written in a configuration; over paths that are left out where it is excluded.
#[derive(Clone, Debug, PartialEq)]
pub struct FileGlob<const EXCLUDED: bool>(pub NameGlob);

impl<'de, const EXCLUDED: bool> Deserialize<'de> for FileGlob<EXCLUDED> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parse = if EXCLUDED {
            NameGlob::excluded_path
        } else {
            NameGlob::path
        };
        WrittenGlob::read_path(&WrittenGlob::deserialize(deserializer)?.0, parse).map(Self)
    }
}

/// Globs over paths, and those over paths that never match, written with a leading `!`.
#[derive(Clone, Debug, PartialEq)]
pub struct SignedGlobs {
    pub globs: Vec<NameGlob>,
    pub except: Vec<NameGlob>,
}

impl<'de> Deserialize<'de> for SignedGlobs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut globs, mut except) = (Vec::new(), Vec::new());
        for glob in NonEmpty::<SignedGlob>::deserialize(deserializer)?.0 {
            let SignedGlob { glob, is_excluded } = glob;
            if is_excluded {
                except.push(glob)
            } else {
                globs.push(glob)
            }
        }
        if globs.is_empty() {
            let message = "only paths that never match are listed";
            let hint = "begin the list with what does match, for example `\"**\"`";
            return Err(D::Error::custom(format!("{message}\n{hint}")));
        }
        Ok(Self { globs, except })
    }
}

struct SignedGlob {
    glob: NameGlob,
    is_excluded: bool,
}

impl<'de> Deserialize<'de> for SignedGlob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenGlob(text) = WrittenGlob::deserialize(deserializer)?;
        let excluded = text
            .strip_prefix('!')
            .map(|text| WrittenGlob::read_path(text, NameGlob::excluded_path));
        let is_excluded = excluded.is_some();
        Ok(Self {
            glob: excluded.unwrap_or_else(|| WrittenGlob::read_path(&text, NameGlob::path))?,
            is_excluded,
        })
    }
}

/// A regular expression as it is written in a configuration, whose deserializer counts them by this name.
#[derive(Deserialize)]
struct WrittenPattern(String);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenPattern(text) = WrittenPattern::deserialize(deserializer)?;
        if text.is_empty() {
            return Err(D::Error::custom("an empty pattern matches every line"));
        }
        Self::parse(&text).map_err(|error| {
            let reason = error.to_string();
            // The library draws a picture of the expression; its last line says what is wrong.
            let reason = reason
                .lines()
                .last()
                .unwrap_or_default()
                .trim()
                .trim_start_matches("error: ");
            D::Error::custom(format!(
                "`{}` is not a regular expression: {reason}",
                shorten(&text)
            ))
        })
    }
}

schema_of!([] NameGlob, json_schema!({ "type": "string" }));
schema_of!([const EXCLUDED: bool] FileGlob<EXCLUDED>, json_schema!({ "type": "string" }));
schema_of!([] SignedGlobs, json_schema!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }));
schema_of!([] Pattern, json_schema!({ "type": "string" }));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_the_first_of_its_order_that_matches() {
        let globs = PathGlobs::new(
            ["docs/**", "**/*.md", "**"]
                .map(|glob| NameGlob::path(glob).unwrap())
                .to_vec(),
        );
        let first = |path| globs.first(path).map(NameGlob::as_str);
        assert_eq!(
            [first("docs/a.md"), first("a.md"), first("a")],
            [Some("docs/**"), Some("**/*.md"), Some("**")]
        );
        assert!(!PathGlobs::default().matches("a") && !PathGlobs::new(Vec::new()).matches("a"));
    }

    #[test]
    fn a_glob_of_all_in_a_folder_names_what_stands_in_its_place() {
        let globs = ["lib/**", "**/db/**", "src/*", "**/*.rs"];
        let globs = PathGlobs::new(globs.map(|glob| NameGlob::path(glob).unwrap()).to_vec());
        for (path, all) in [
            ("lib", &[0][..]),
            ("lib/a", &[0]),
            ("app/db", &[1]),
            ("src/db", &[1, 2]),
            ("library", &[]),
            ("src", &[]),
        ] {
            assert_eq!(globs.all_of_entry(path), all, "{path}");
        }
        assert!(!globs.matches("lib"), "what is left out is not in a folder");
    }

    #[test]
    fn globs_over_paths_match_as_those_of_workflows_do() {
        for (glob, path, matched) in [
            ("src/*.rs", "src/lib.rs", true),
            ("src/*.rs", "src/core/mod.rs", false),
            ("src/**", "src/core/mod.rs", true),
            ("**/*.sql", "init.sql", true),
            ("**/*.sql", "db/init.sql", true),
            ("*.sql", "db/init.sql", false),
            ("src/billing/**", "SRC/Billing/a.rs", true),
            ("**/{api,http}{_,}client.rs", "src/httpclient.rs", true),
            ("src/auth/**", "src/author/a.rs", false),
        ] {
            assert_eq!(
                NameGlob::path(glob).unwrap().matches(path),
                matched,
                "{glob} {path}"
            );
        }
        assert!(NameGlob::path("a{b").is_err());
    }

    #[test]
    fn a_capital_letter_of_what_is_left_out_is_one() {
        for (glob, path, matched) in [
            ("**/*Test.java", "src/SignerTest.java", true),
            ("**/*Test.java", "src/Latest.java", false),
            ("**/tests/**", "Signer/Tests/a.cs", true),
        ] {
            assert_eq!(
                NameGlob::excluded_path(glob).unwrap().matches(path),
                matched,
                "{glob} {path}"
            );
        }
    }

    #[test]
    fn globs_over_names_match_whole_names() {
        for (glob, name, matched) in [
            ("CodeQL*", "CodeQL / Analyze (rust)", true),
            ("ci / test (*)", "ci / test (ubuntu/22)", true),
            ("test", "test 2", false),
            ("release/*", "release/1.0/rc", true),
        ] {
            assert_eq!(
                NameGlob::parse(glob).unwrap().matches(name),
                matched,
                "{glob} {name}"
            );
        }
    }
}
