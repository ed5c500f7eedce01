//! Globs and regular expressions of the configuration, compared by their source text.
//!
//! A gate has dozens of them and a pull request thousands of lines, so lists of them are asked in one pass first: most
//! paths and lines match none. Compiling them is most of the work of reading a configuration, so it waits until they
//! are asked, and clones share it.

use std::sync::{Arc, OnceLock};

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind, LookSet};

use crate::ids::PatternName;

/// Largest automaton of one regular expression, in bytes.
const PATTERN_SIZE: usize = 1 << 20;
/// The same for one that comes with the program, which may name a thousand partners.
const CONSTANT_SIZE: usize = 4 * PATTERN_SIZE;

/// Most that a search of lines keeps of what it has learnt, in bytes; where that is too little it becomes slow.
const SEARCH_SIZE: usize = 8 * PATTERN_SIZE;

/// A glob over names or paths.
#[derive(Clone, Debug)]
pub struct NameGlob(Arc<LazyGlob>);

#[derive(Debug)]
struct LazyGlob {
    glob: Glob,
    matcher: OnceLock<GlobMatcher>,
}

impl NameGlob {
    /// A glob over names, in which `*` matches everything, `/` included.
    ///
    /// # Errors
    /// When the text is not a glob.
    pub fn parse(text: &str) -> Result<Self, globset::Error> {
        Glob::new(text).map(Self::of)
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
        glob.literal_separator(true).case_insensitive(!as_written).empty_alternates(true).build().map(Self::of)
    }

    fn of(glob: Glob) -> Self {
        Self(Arc::new(LazyGlob { glob, matcher: OnceLock::new() }))
    }

    pub fn matches(&self, name: &str) -> bool {
        self.0.matcher.get_or_init(|| self.0.glob.compile_matcher()).is_match(name)
    }

    pub fn as_str(&self) -> &str {
        self.0.glob.glob()
    }
}

impl PartialEq for NameGlob {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// Globs over paths, of which one must match.
#[derive(Clone, Debug, Default)]
pub struct PathGlobs(Arc<LazyGlobs>);

#[derive(Debug, Default)]
struct LazyGlobs {
    globs: Vec<NameGlob>,
    /// All of them as one; none where that would be too large.
    any: OnceLock<Option<GlobSet>>,
}

impl PathGlobs {
    /// Globs made by [`NameGlob::path`], or all of them by [`NameGlob::excluded_path`].
    pub fn new(globs: Vec<NameGlob>) -> Self {
        Self(Arc::new(LazyGlobs { globs, any: OnceLock::new() }))
    }

    pub fn matches(&self, path: &str) -> bool {
        let compile = || {
            let mut any = GlobSetBuilder::new();
            for glob in self.as_slice() {
                any.add(glob.0.glob.clone());
            }
            any.build().ok()
        };
        match self.0.any.get_or_init(compile) {
            Some(any) => any.is_match(path),
            None => self.as_slice().iter().any(|glob| glob.matches(path)),
        }
    }

    /// The first glob, in the order of the list, that matches.
    pub fn first(&self, path: &str) -> Option<&NameGlob> {
        self.matches(path).then(|| self.as_slice().iter().find(|glob| glob.matches(path))).flatten()
    }

    pub fn as_slice(&self) -> &[NameGlob] {
        &self.0.globs
    }
}

impl PartialEq for PathGlobs {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

/// A regular expression, which may have a name.
#[derive(Clone, Debug)]
pub struct Pattern {
    name: Option<PatternName>,
    compiled: Arc<LazyPattern>,
}

#[derive(Debug)]
struct LazyPattern {
    source: String,
    regex: OnceLock<Regex>,
}

impl Pattern {
    /// # Errors
    /// When the text is not a regular expression, or one that compiles to more than 1 MiB.
    pub fn parse(text: &str) -> Result<Self, regex::Error> {
        let regex = OnceLock::from(compile(text, PATTERN_SIZE)?);
        Ok(Self { name: None, compiled: Arc::new(LazyPattern { source: text.to_owned(), regex }) })
    }

    /// One that comes with the program.
    ///
    /// # Panics
    /// When it is asked and does not compile: tests compile them all.
    pub fn constant(text: &str) -> Self {
        Self { name: None, compiled: Arc::new(LazyPattern { source: text.to_owned(), regex: OnceLock::new() }) }
    }

    /// The same, under this name.
    #[must_use]
    pub fn named(self, name: Option<PatternName>) -> Self {
        Self { name, ..self }
    }

    /// What people call it.
    pub const fn name(&self) -> Option<&PatternName> {
        self.name.as_ref()
    }

    pub fn matches(&self, text: &str) -> bool {
        self.regex().is_match(text)
    }

    fn regex(&self) -> &Regex {
        let LazyPattern { source, regex } = &*self.compiled;
        regex.get_or_init(|| compile(source, CONSTANT_SIZE).expect("constants are compiled by tests"))
    }

    pub fn as_str(&self) -> &str {
        &self.compiled.source
    }
}

fn compile(text: &str, most: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).size_limit(most).build()
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        (self.name(), self.as_str()) == (other.name(), other.as_str())
    }
}

/// Regular expressions over lines, of which one must match.
#[derive(Clone, Debug, Default)]
pub struct LinePatterns(Arc<LazyPatterns>);

#[derive(Debug, Default)]
struct LazyPatterns {
    patterns: Vec<Pattern>,
    /// Matches every text with a line that one of them matches. None where that cannot be promised.
    any: OnceLock<Option<RegexSet>>,
}

impl LinePatterns {
    pub fn new(patterns: Vec<Pattern>) -> Self {
        Self(Arc::new(LazyPatterns { patterns, any: OnceLock::new() }))
    }

    /// Whether some line of a text may match. No means that none does.
    pub fn may_match(&self, text: &str) -> bool {
        self.any().is_none_or(|any| any.is_match(text))
    }

    fn any(&self) -> Option<&RegexSet> {
        let compile = || {
            let sources: Option<Vec<_>> = self.as_slice().iter().map(|pattern| for_texts(pattern.as_str())).collect();
            let mut any = RegexSetBuilder::new(sources?);
            any.multi_line(true).size_limit(10 * PATTERN_SIZE).dfa_size_limit(SEARCH_SIZE).build().ok()
        };
        self.0.any.get_or_init(compile).as_ref()
    }

    /// The first pattern, in the order of the list, that matches a line.
    pub fn first(&self, line: &str) -> Option<&Pattern> {
        self.find(line, |pattern| pattern.matches(line))
    }

    /// The first pattern with a match that counts.
    pub fn first_that(&self, line: &str, counts: impl Fn(&str) -> bool) -> Option<&Pattern> {
        self.find(line, |pattern| pattern.regex().find_iter(line).any(|found| counts(found.as_str())))
    }

    /// The first of those that may match the line which does.
    fn find(&self, line: &str, does: impl Fn(&Pattern) -> bool) -> Option<&Pattern> {
        match self.any() {
            Some(any) => any.matches(line).into_iter().map(|at| &self.as_slice()[at]).find(|pattern| does(pattern)),
            None => self.as_slice().iter().find(|pattern| does(pattern)),
        }
    }

    pub fn as_slice(&self) -> &[Pattern] {
        &self.0.patterns
    }
}

impl PartialEq for LinePatterns {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

/// A pattern that matches, with `^` and `$` at the ends of lines, every text with a line that the given one matches.
/// None for one that asks for the ends of the text, or for those of lines that end otherwise.
///
/// It asks for no boundaries of words: automata cannot tell those of Unicode, so that one letter beyond ASCII would
/// send the search of the whole text to an engine a thousand times slower. And it takes all letters beyond ASCII for
/// one, or for none: which of them are words is most of an automaton.
fn for_texts(pattern: &str) -> Option<String> {
    let parsed = regex_syntax::ParserBuilder::new().multi_line(true).build().parse(pattern).ok()?;
    let looks = parsed.properties().look_set();
    if looks.contains_anchor_haystack() || looks.contains_anchor_crlf() {
        return None;
    }
    Some(widened(&parsed).to_string())
}

fn widened(pattern: &Hir) -> Hir {
    match pattern.kind() {
        HirKind::Look(look) if LookSet::singleton(*look).contains_word_unicode() => Hir::empty(),
        HirKind::Class(Class::Unicode(class)) if !class.is_ascii() => {
            let mut wide = class.clone();
            wide.push(ClassUnicodeRange::new('\u{80}', char::MAX));
            Hir::class(Class::Unicode(wide))
        }
        HirKind::Repetition(repetition) => Hir::repetition(repetition.with(widened(&repetition.sub))),
        HirKind::Capture(capture) => widened(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(widened).collect()),
        HirKind::Alternation(branches) => Hir::alternation(branches.iter().map(widened).collect()),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => pattern.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn patterns(texts: &[&str]) -> LinePatterns {
        LinePatterns::new(texts.iter().map(|text| Pattern::parse(text).unwrap()).collect())
    }

    #[test]
    fn a_list_names_the_first_of_its_order_that_matches() {
        let globs = PathGlobs::new(["docs/**", "**/*.md", "**"].map(|glob| NameGlob::path(glob).unwrap()).to_vec());
        let first = |path| globs.first(path).map(NameGlob::as_str);
        assert_eq!([first("docs/a.md"), first("a.md"), first("a")], [Some("docs/**"), Some("**/*.md"), Some("**")]);
        assert!(!PathGlobs::default().matches("a") && !PathGlobs::new(Vec::new()).matches("a"));

        let patterns = patterns(&["b$", "^a", "a"]);
        let first = |line| patterns.first(line).map(Pattern::as_str);
        assert_eq!([first("ab"), first("ac"), first("ca"), first("c")], [Some("b$"), Some("^a"), Some("a"), None]);
        assert_eq!(LinePatterns::new(Vec::new()).first("a"), None);
    }

    #[test]
    fn patterns_that_ask_for_the_ends_of_the_text_are_asked_line_by_line() {
        for (pattern, at_once) in [
            ("^a$", true),
            (r"\ba\b", true),
            (r"\Aa", false),
            (r"a\z", false),
            ("(?-m)^a", false),
            ("(?-m:a$)", false),
            ("(?R)a$", false),
        ] {
            let patterns = patterns(&[pattern]);
            assert_eq!(patterns.any().is_some(), at_once, "{pattern}");
            assert!(patterns.may_match("b\na\nb") && patterns.first("a").is_some(), "{pattern}");
        }
        assert!(!patterns(&["^a$"]).may_match("ab\nba"));
    }

    #[test]
    fn texts_are_searched_without_the_boundaries_of_words_and_the_letters_beyond_ascii() {
        for (pattern, searched) in [
            (r"\bab\b", "ab"),
            (r"(\Ba|\bb)+c", "(?:(?:a|b)+c)"),
            (r"(?-u:\b)a$", r"(?-u:\b)a$"),
            (r"^a\b", "(?:(?m:^)a)"),
            (r"\d+[^x]", r"[0-9\x{80}-\x{10FFFF}]+[^x]"),
            (r"(?i)k", r"[kK\x{80}-\x{10FFFF}]"),
        ] {
            let found = for_texts(pattern).unwrap();
            let same = |text: &str| regex_syntax::ParserBuilder::new().multi_line(true).build().parse(text).unwrap();
            assert_eq!(same(&found), same(searched), "{pattern}: {found}");
        }
    }

    proptest! {
        /// What is matched line by line is never overlooked in the text of all lines.
        #[test]
        fn no_line_is_overlooked(
            list in prop::collection::vec(
                prop::sample::select(vec![
                    "^a", "b$", "^$", r"\bab\b", r"a\B", r"(?i)É+", r"[^x]b", r"\s$", r"^\W", r"\w+b", "a|(?-m)^b", r"\Ab", "(?s)a.b",
                ]),
                0..4,
            ),
            lines in prop::collection::vec("[abx é\r]{0,4}", 1..6),
        ) {
            let patterns = patterns(&list);
            let slowly = |line: &String| patterns.as_slice().iter().find(|pattern| pattern.matches(line));
            prop_assert!(patterns.may_match(&lines.join("\n")) || lines.iter().all(|line| slowly(line).is_none()));
            for line in &lines {
                prop_assert_eq!(patterns.first(line).map(Pattern::as_str), slowly(line).map(Pattern::as_str));
            }
        }
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
            assert_eq!(NameGlob::path(glob).unwrap().matches(path), matched, "{glob} {path}");
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
            assert_eq!(NameGlob::excluded_path(glob).unwrap().matches(path), matched, "{glob} {path}");
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
            assert_eq!(NameGlob::parse(glob).unwrap().matches(name), matched, "{glob} {name}");
        }
    }
}
