//! What is wrong with a configuration, before it is known how to say it to people.

use std::fmt;

use serde::de;

use super::{place::Place, suggest};

/// One thing that is wrong, at a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    /// Known as soon as the problem has left the value it was found in.
    pub place: Option<Place>,
    pub what: What,
    pub hint: Option<Hint>,
}

/// What probably helps.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Hint {
    Said(String),
    /// The key is like none of those known in its place; perhaps it belongs elsewhere.
    Misplaced {
        key: String,
        known: &'static [&'static str],
    },
}

/// The sentence about it depends on where the place is in the configuration's tree.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    /// A key that nothing reads; the place is the key's.
    UnknownKey(String),
    /// A required key that is not there; the place is its map's.
    MissingKey(&'static str),
    /// A word that is none of those known here.
    UnknownWord(String),
    /// Something about a value, or about a key's meaning here.
    Wrong(String),
    /// The text is not what can be read as a configuration at all.
    Unreadable(String),
}

impl Problem {
    pub fn wrong(place: Place, message: impl Into<String>) -> Self {
        Self { place: Some(place), what: What::Wrong(message.into()), hint: None }
    }

    pub fn unreadable(place: Place, message: impl Into<String>) -> Self {
        Self { place: Some(place), what: What::Unreadable(message.into()), hint: None }
    }

    pub fn missing(place: Place, key: &'static str) -> Self {
        Self { place: Some(place), what: What::MissingKey(key), hint: None }
    }

    /// The same about a key: a word that is not known there is an unknown key.
    #[must_use]
    pub fn about_key(self) -> Self {
        let what = match self.what {
            What::UnknownWord(word) => What::UnknownKey(word),
            what => what,
        };
        Self { what, ..self }
    }

    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(Hint::Said(hint.into())), ..self }
    }

    /// Keeps the innermost place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place: self.place.or(Some(place)), ..self }
    }

    fn placeless(what: What, hint: Option<String>) -> Self {
        Self { place: None, what, hint: hint.map(Hint::Said) }
    }

    /// The sentence for people, given the dotted path of the place.
    pub fn message(&self, path: &str) -> String {
        match (&self.what, path) {
            (What::UnknownKey(key), "") => format!("unknown key `{}`", shorten(key)),
            (What::UnknownKey(key), _) => format!("unknown key `{}` in `{path}`", shorten(key)),
            (What::UnknownWord(word), "") => format!("unknown value `{}`", shorten(word)),
            (What::UnknownWord(word), _) => format!("`{path}`: unknown value `{}`", shorten(word)),
            (What::MissingKey(key), "") => format!("`{key}` is missing"),
            (What::MissingKey(key), _) => format!("`{path}` lacks `{key}`"),
            (What::Wrong(message), "") | (What::Unreadable(message), _) => message.clone(),
            (What::Wrong(message), _) => format!("`{path}`: {message}"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(""))
    }
}

impl std::error::Error for Problem {}

/// What serde finds wrong while the tree is turned into the types of the file.
impl de::Error for Problem {
    /// A second line of the message is the hint.
    fn custom<T: fmt::Display>(message: T) -> Self {
        let text = message.to_string();
        match text.split_once('\n') {
            Some((message, hint)) => Self::placeless(What::Wrong(message.to_owned()), Some(hint.to_owned())),
            None => Self::placeless(What::Wrong(text), None),
        }
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        let expected = in_plain_words(&expected.to_string());
        let hint = match (found, expected.as_str()) {
            (
                de::Unexpected::Bool(_)
                | de::Unexpected::Signed(_)
                | de::Unexpected::Unsigned(_)
                | de::Unexpected::Float(_),
                "text",
            ) => Some("put it in quotes".to_owned()),
            (de::Unexpected::Str("yes" | "Yes" | "on" | "On"), "`true` or `false`") => Some("write `true`".to_owned()),
            (de::Unexpected::Str("no" | "No" | "off" | "Off"), "`true` or `false`") => Some("write `false`".to_owned()),
            (de::Unexpected::Str(text), "a number") if text.parse::<f64>().is_ok() => {
                Some("leave out the quotes".to_owned())
            }
            _ => None,
        };
        Self::placeless(What::Wrong(format!("expected {expected}, found {}", describe(found))), hint)
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        if let Some(instead) = instead_of(variant) {
            return Self::placeless(What::UnknownWord(variant.to_owned()), Some(instead.to_owned()));
        }
        Self::placeless(What::UnknownWord(variant.to_owned()), Some(suggest::among(variant, expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let is_like_none = suggest::nearest(field, expected.iter().copied()).is_empty();
        // Other sections may get keys of their own that are called so.
        let instead = instead_of(field).filter(|_| field != "words" || expected.contains(&"globs"));
        let hint = match instead {
            Some(instead) => Hint::Said(instead.to_owned()),
            None if is_like_none => Hint::Misplaced { key: field.to_owned(), known: expected },
            None => Hint::Said(suggest::among(field, expected)),
        };
        Self { place: None, what: What::UnknownKey(field.to_owned()), hint: Some(hint) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::placeless(What::MissingKey(field), None)
    }
}

/// What to write instead of a key of gates that earlier versions had.
fn instead_of(key: &str) -> Option<&'static str> {
    Some(match key {
        "same_file" => "write `all`, or a gate for each condition: files are not asked one by one any more",
        "words" => "write `globs`, for example `\"**/*session*/**\"`",
        "unless" | "code_only" => "leave it out: no line is excused. A narrower pattern or `except` names fewer lines",
        "split_words" | "with_context" => "leave it out, and write a pattern for the line as it stands",
        "skip_own_name" => "leave it out: a name that means yourselves is left out of the patterns",
        _ => return None,
    })
}

/// serde's words for Rust's types are not our readers' words.
fn in_plain_words(expected: &str) -> String {
    match expected {
        "a string" | "a borrowed string" => "text".to_owned(),
        "a boolean" => "`true` or `false`".to_owned(),
        "f64" | "f32" => "a number".to_owned(),
        "u64" | "u32" | "usize" => "a whole number".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "keys with values".to_owned(),
        other if other.starts_with("struct ") => "keys with values".to_owned(),
        other => other.to_owned(),
    }
}

fn describe(found: de::Unexpected<'_>) -> String {
    match found {
        de::Unexpected::Bool(value) => format!("`{value}`"),
        de::Unexpected::Unsigned(value) => format!("the number {value}"),
        de::Unexpected::Signed(value) => format!("the number {value}"),
        de::Unexpected::Float(value) => format!("the number {value}"),
        de::Unexpected::Str(value) => format!("the text `{}`", shorten(value)),
        de::Unexpected::Unit | de::Unexpected::Option => "nothing".to_owned(),
        de::Unexpected::Seq => "a list".to_owned(),
        de::Unexpected::Map | de::Unexpected::StructVariant => "keys with values".to_owned(),
        other => other.to_string(),
    }
}

/// Messages quote hostile input; they never quote all of it, nor anything a terminal obeys.
pub(super) fn shorten(text: &str) -> String {
    let plain = |c: char| matches!(c, '\\' | '"' | '\'');
    let mut quoted = String::new();
    for c in text.chars().take(60) {
        if plain(c) { quoted.push(c) } else { quoted.extend(c.escape_debug()) }
    }
    if text.chars().nth(60).is_some() {
        quoted.push('…');
    }
    quoted.replace('`', "'")
}
