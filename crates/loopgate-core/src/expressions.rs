//! The regular expressions of this program: each is compiled when it is first used, because a process uses few of the
//! hundreds there are. Expressions that users write are not compiled here.

use std::{ops::Deref, sync::OnceLock};

use regex::{Captures, Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::{Deserialize, Deserializer, de};

const PROOF: &str = "every expression is part of the program, and a test compiles it";

/// A letter, digit or underscore. Outside ASCII these are the blocks of letters as a whole, without the punctuation and
/// the symbols of Latin-1 and of U+2000 to U+2BFF. Unicode's own table has 700 ranges, which cost each expression that
/// names it some 40 KB.
const WORD: &str = r"[0-9A-Za-z_\u{C0}-\u{1FFF}\u{2C00}-\u{FFFF}]";

/// Bytes of the automaton that a set builds as it reads; it begins anew beyond.
const AUTOMATON: usize = 4 << 20;

/// The same of one expression: that of all rules needs most of it, and beginning anew costs more than reading.
const ROOM: usize = 8 << 20;

/// An expression in which `\w` is [`WORD`] and `\d` is a digit of ASCII.
fn lean(pattern: &str) -> String {
    let mut lean = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(char) = rest.next() {
        match (char, if char == '\\' { rest.next() } else { None }) {
            ('\\', Some('w')) => lean.push_str(WORD),
            ('\\', Some('d')) => lean.push_str("[0-9]"),
            (char, escaped) => lean.extend([char].into_iter().chain(escaped)),
        }
    }
    lean
}

/// Compiles an expression of this program.
///
/// # Panics
///
/// If it is none. A test compiles each.
pub fn compile(pattern: &str) -> Regex {
    let mut expression = RegexBuilder::new(&lean(pattern));
    expression.dfa_size_limit(ROOM).build().expect(PROOF)
}

/// A constant expression.
macro_rules! pattern {
    ($text:expr) => {{
        static PATTERN: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| $crate::expressions::compile($text));
        &*PATTERN
    }};
}

/// An expression that is written in a data file.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// One that matches where any of these does: most lines match none, which one look finds out.
    pub fn any_of<'p>(patterns: impl IntoIterator<Item = &'p Self>) -> Self {
        let each = patterns.into_iter().map(|it| format!("(?:{})", it.text));
        each.collect::<Vec<_>>().join("|").into()
    }
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self {
            text,
            compiled: OnceLock::new(),
        }
    }
}

/// How a data file writes an expression: as one text, or as a list of which any is to match.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    One(String),
    AnyOf(Vec<String>),
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| compile(&self.text))
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Written::deserialize(deserializer)? {
            Written::One(text) => text,
            Written::AnyOf(texts) => {
                let each = texts.iter().map(|text| format!("(?:{text})"));
                each.collect::<Vec<_>>().join("|")
            }
        };
        if cfg!(test) {
            Regex::new(&text).map_err(de::Error::custom)?;
        }
        Ok(text.into())
    }
}

/// Rows of a data file, each behind an expression that says what it is about: all are asked at once.
#[derive(Debug)]
pub struct Table<T> {
    about: Patterns,
    rows: Vec<T>,
}

impl<T> Table<T> {
    /// The rows about this, in their order.
    pub fn about(&self, text: &str) -> impl Iterator<Item = &T> {
        self.about
            .matching(text)
            .into_iter()
            .filter_map(|row| self.rows.get(row))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Vec::<(Pattern, T)>::deserialize(deserializer)?;
        let (about, rows): (Vec<Pattern>, Vec<T>) = written.into_iter().unzip();
        Ok(Self {
            about: Patterns::new(about.iter().map(|pattern| &pattern.text)),
            rows,
        })
    }
}

/// Expressions in the order of their importance: all are tried at once, and the few that match are compiled alone when
/// what they capture is asked for.
#[derive(Debug)]
pub struct Patterns {
    set: RegexSet,
    each: Vec<Pattern>,
}

impl Patterns {
    /// Compiles the set.
    pub fn new(patterns: impl IntoIterator<Item: AsRef<str>>) -> Self {
        // Unicode's word boundaries cannot be decided by an automaton: one letter outside ASCII in a log would send the
        // whole search to an engine a hundred times slower.
        let sources = patterns
            .into_iter()
            .map(|pattern| lean(pattern.as_ref()).replace(r"\b", r"(?-u:\b)"));
        let sources: Vec<String> = sources.collect();
        let set = RegexSetBuilder::new(&sources)
            .dfa_size_limit(AUTOMATON)
            .build()
            .expect(PROOF);
        Self {
            set,
            each: sources.into_iter().map(Pattern::from).collect(),
        }
    }

    /// The rows that match, in their order.
    pub fn matching(&self, text: &str) -> Vec<usize> {
        // Of most lines none does, which is found out without a list of all rows.
        match self.set.is_match(text) {
            true => self.set.matches(text).into_iter().collect(),
            false => Vec::new(),
        }
    }

    /// What a row captures.
    pub fn captures<'t>(&self, row: usize, text: &'t str) -> Option<Captures<'t>> {
        self.each.get(row)?.captures(text)
    }

    /// The first row that matches, with what it captures.
    pub fn first<'t>(&self, text: &'t str) -> Option<(usize, Captures<'t>)> {
        let row = self.matching(text).first().copied()?;
        Some((row, self.captures(row, text)?))
    }
}

/// The text of the first group that takes part in a match.
pub(crate) fn first_group<'a>(found: &Captures<'a>) -> Option<&'a str> {
    found
        .iter()
        .skip(1)
        .flatten()
        .next()
        .map(|group| group.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_wins_whatever_matches() {
        let patterns = Patterns::new([r"\bb(?P<x>.)", r"a(?P<x>.)"]);
        let (row, captures) = patterns.first("ax … by").expect("both match");
        assert_eq!((row, &captures["x"]), (0, "y"));
        assert_eq!(patterns.matching("ax by"), [0, 1]);
        assert!(
            patterns.first("äbc").is_some(),
            "boundaries are those of ASCII"
        );
        assert!(patterns.first("c").is_none() && patterns.captures(7, "a").is_none());
    }

    #[test]
    fn names_in_every_script_are_words_and_symbols_are_not() {
        let word = compile(r"^[\w.-]+$");
        for name in ["test_prüfung", "größe", "тест", "測試", "테스트", "a.b-c_9"] {
            assert!(word.is_match(name), "{name}");
        }
        for symbol in ["✓", "✗ a", "…", "→", "»", "a b"] {
            assert!(!word.is_match(symbol), "{symbol}");
        }
        let escaped = compile(r"^\\w\d$");
        assert!(escaped.is_match(r"\w7") && !escaped.is_match(r"\a٣") && !escaped.is_match(r"\w٣"));
    }
}
