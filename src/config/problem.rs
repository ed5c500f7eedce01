//! What is wrong with a configuration, before its sentence for people is known.

use std::fmt;

use serde::de;

use super::suggest;
pub(super) use loopgate_core::policy::shorten;

/// Which text something was written in; a later layer lies on top of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Layer {
    /// The presets that come with Loopgate.
    Builtin,
    /// The organisation's defaults.
    Organisation,
    /// The repository's own file.
    Repository,
}

/// Where something was written. Lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub layer: Layer,
    pub line: u32,
    pub column: u32,
}

impl Place {
    /// Files are capped, so that lines and columns fit.
    pub fn at(layer: Layer, line: usize, column: usize) -> Self {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            layer,
            line: small(line),
            column: small(column),
        }
    }

    /// Where a text begins.
    pub const fn start(layer: Layer) -> Self {
        Self {
            layer,
            line: 1,
            column: 1,
        }
    }
}

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
    Words(String),
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
        Self {
            place: Some(place),
            what: What::Wrong(message.into()),
            hint: None,
        }
    }

    pub fn unreadable(place: Place, message: impl Into<String>) -> Self {
        Self {
            place: Some(place),
            what: What::Unreadable(message.into()),
            hint: None,
        }
    }

    pub fn missing(place: Place, key: &'static str) -> Self {
        Self {
            place: Some(place),
            what: What::MissingKey(key),
            hint: None,
        }
    }

    /// This problem about a key: a word that is not known there is an unknown key.
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
        Self {
            hint: Some(Hint::Words(hint.into())),
            ..self
        }
    }

    /// Keeps the innermost place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self {
            place: self.place.or(Some(place)),
            ..self
        }
    }

    fn placeless(what: What, hint: Option<String>) -> Self {
        Self {
            place: None,
            what,
            hint: hint.map(Hint::Words),
        }
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
            Some((message, hint)) => {
                Self::placeless(What::Wrong(message.to_owned()), Some(hint.to_owned()))
            }
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
            (de::Unexpected::Bool(true), "`off` or keys with values") => {
                Some("leave it out to keep the defaults".to_owned())
            }
            (de::Unexpected::Bool(false), "`off` or keys with values") => {
                Some("write `off`".to_owned())
            }
            (de::Unexpected::Str("yes" | "Yes" | "on" | "On"), "`true` or `false`") => {
                Some("write `true`".to_owned())
            }
            (de::Unexpected::Str("no" | "No" | "off" | "Off"), "`true` or `false`") => {
                Some("write `false`".to_owned())
            }
            (de::Unexpected::Str(text), "a number") if text.parse::<f64>().is_ok() => {
                Some("leave out the quotes".to_owned())
            }
            _ => None,
        };
        Self::placeless(
            What::Wrong(format!("expected {expected}, found {}", describe(found))),
            hint,
        )
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::placeless(
            What::UnknownWord(variant.to_owned()),
            Some(suggest::among(variant, expected)),
        )
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let hint = match suggest::nearest(field, expected.iter().copied()).is_none() {
            true => Hint::Misplaced {
                key: field.to_owned(),
                known: expected,
            },
            false => Hint::Words(suggest::among(field, expected)),
        };
        Self {
            place: None,
            what: What::UnknownKey(field.to_owned()),
            hint: Some(hint),
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::placeless(What::MissingKey(field), None)
    }
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
