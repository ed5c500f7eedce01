//! The normalised type of an error: by the name of its class, else by its words.

use std::sync::LazyLock;

use serde::Deserialize;

use super::text;
use crate::{
    evidence::ErrorType::{self, AssertionError, RuntimeError},
    expressions::Patterns,
};

/// `data/headlines.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forms {
    /// Earlier forms win over later ones, wherever they stand in a text.
    pub form: Vec<ErrorForm>,
    /// Beginnings of lines that match a form and only sum up.
    pub summaries: Vec<String>,
    /// Beginnings of lines that stand behind a message.
    pub ends: Vec<String>,
    #[serde(rename = "type")]
    types: Vec<TypeRow>,
}

/// What the file has, read once.
pub(super) static HEADLINES: LazyLock<Forms> = LazyLock::new(|| data!("headlines.toml"));

/// One form of headline; the group `msg` holds the message, which otherwise begins on the next line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorForm {
    pub pattern: String,
    /// The class, where the pattern captures none.
    pub class: Option<String>,
    /// `None`: the class and the message decide.
    #[serde(rename = "type")]
    pub error_type: Option<ErrorType>,
}

/// Ends of class names, and the type that they stand for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeRow {
    #[serde(rename = "type")]
    error_type: ErrorType,
    ends: Vec<String>,
}

/// The type of a class by its name.
fn type_of_class(class: &str) -> Option<ErrorType> {
    let is_named = |row: &&TypeRow| row.ends.iter().any(|end| class.ends_with(end.as_str()));
    HEADLINES
        .types
        .iter()
        .find(is_named)
        .map(|row| row.error_type)
}

/// Messages that show the type where the class shows little; the first that fits wins.
const WORDS: [(&str, ErrorType); 3] = [
    (
        concat!(
            r"(?i)^assert|^expected values to be |assertion .*failed|assertion failed|^expect\(|^expected .+ (?:to|but|got|found|received|actual)\b",
            r"|snapshot .*(?:mismatch|does not match|failed in line)|\bgot\b.*\bwant\b|\bwant\b.*\bgot\b|Assert\.[A-Za-z]+\(\) Failure"
        ),
        AssertionError,
    ),
    (
        r"(?i)\b(?:exceeded timeout|timed out (?:after|in)|timeout of [0-9]+ ?ms exceeded|deadline exceeded)\b",
        ErrorType::TimeoutError,
    ),
    (
        r"(?i)\b(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|connection refused|no such host)\b",
        ErrorType::NetworkError,
    ),
];

static BY_WORDS: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::new(WORDS.iter().map(|(pattern, _)| *pattern)));

/// The normalised type of an error, by the tool's own class and, where that shows little, by the message.
pub(in crate::failure) fn type_of(class: Option<&str>, message: &str) -> ErrorType {
    let named = class.and_then(type_of_class);
    match named {
        // `Error` and `panic` are thrown for everything.
        Some(RuntimeError) | None => {
            let row = BY_WORDS
                .matching(text::prefix(message, 600))
                .first()
                .copied();
            row.map(|row| WORDS[row].1).or(named).unwrap_or_default()
        }
        Some(named) => named,
    }
}

/// Whether a class is an assertion's by its name.
pub(super) fn is_assertion(class: &str) -> bool {
    let words = pattern!(
        "Assert|Expectation|Mismatch|Comparison|Verification|Different|UnexpectedError|TestingLibrary"
    );
    words.is_match(class) || type_of_class(class) == Some(AssertionError)
}
