//! The normalised type of an error: by the name of its class, else by its words.

use std::sync::LazyLock;

use super::{patterns::Patterns, text};
use crate::evidence::ErrorType::{self, AssertionError, RuntimeError, TypeError};

/// Ends of class names and the type they stand for; the first that fits wins.
const TYPES: &[(&str, ErrorType)] = &[
    ("AssertionError", AssertionError),
    ("AssertionFailedError", AssertionError),
    ("AssertionFailure", AssertionError),
    ("AssertionException", AssertionError),
    ("ExpectationNotMetError", AssertionError),
    ("ExpectationFailedException", AssertionError),
    ("ComparisonFailure", AssertionError),
    ("XunitException", AssertionError),
    ("EqualException", AssertionError),
    ("TrueException", AssertionError),
    ("FalseException", AssertionError),
    ("MultipleFailuresError", AssertionError),
    ("AssertError", AssertionError),
    ("Minitest::Assertion", AssertionError),
    ("TimeoutError", ErrorType::TimeoutError),
    ("TimeoutException", ErrorType::TimeoutError),
    ("TimedOutException", ErrorType::TimeoutError),
    ("Timeout", ErrorType::TimeoutError),
    ("ConnectionError", ErrorType::NetworkError),
    ("ConnectError", ErrorType::NetworkError),
    ("ConnectException", ErrorType::NetworkError),
    ("ConnectionRefusedError", ErrorType::NetworkError),
    ("ConnectionResetError", ErrorType::NetworkError),
    ("NetworkError", ErrorType::NetworkError),
    ("FetchError", ErrorType::NetworkError),
    ("AxiosError", ErrorType::NetworkError),
    ("HTTPError", ErrorType::NetworkError),
    ("HttpRequestException", ErrorType::NetworkError),
    ("SocketException", ErrorType::NetworkError),
    ("UnknownHostException", ErrorType::NetworkError),
    ("SSLError", ErrorType::NetworkError),
    ("gaierror", ErrorType::NetworkError),
    ("SyntaxError", ErrorType::SyntaxError),
    ("IndentationError", ErrorType::SyntaxError),
    ("ParseError", ErrorType::SyntaxError),
    ("ReferenceError", ErrorType::ReferenceError),
    ("NameError", ErrorType::ReferenceError),
    ("UnboundLocalError", ErrorType::ReferenceError),
    ("ValidationError", ErrorType::ValidationError),
    ("ValidationException", ErrorType::ValidationError),
    ("ValueError", ErrorType::ValidationError),
    ("ZodError", ErrorType::ValidationError),
    ("ArgumentError", ErrorType::ValidationError),
    ("ArgumentException", ErrorType::ValidationError),
    ("DecodeError", ErrorType::ValidationError),
    ("NumberFormatException", ErrorType::ValidationError),
    ("TypeError", TypeError),
    ("AttributeError", TypeError),
    ("ClassCastException", TypeError),
    ("InvalidCastException", TypeError),
    ("NoMethodError", TypeError),
    ("Error", RuntimeError),
    ("Exception", RuntimeError),
    ("Fault", RuntimeError),
    ("panic", RuntimeError),
    ("assert", AssertionError),
];

/// Messages that tell the type where the class says little; the first that fits wins.
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

static BY_WORDS: LazyLock<Patterns> = LazyLock::new(|| Patterns::new(WORDS.iter().map(|(pattern, _)| *pattern)));

/// The normalised type of an error, by the tool's own class and, where that says little, by the message.
pub(in crate::failure) fn type_of(class: Option<&str>, message: &str) -> ErrorType {
    let named = class.and_then(|class| TYPES.iter().find(|(end, _)| class.ends_with(end))).map(|(_, named)| *named);
    match named {
        // `Error` and `panic` are thrown for everything.
        Some(RuntimeError) | None => by_words(message).or(named).unwrap_or_default(),
        Some(named) => named,
    }
}

/// Whether a class is an assertion's by its name.
pub(super) fn is_assertion(class: &str) -> bool {
    [
        "Assert",
        "Expectation",
        "Mismatch",
        "Comparison",
        "Verification",
        "Different",
        "UnexpectedError",
        "TestingLibrary",
    ]
    .iter()
    .any(|word| class.contains(word))
        || TYPES.iter().find(|(end, _)| class.ends_with(end)).is_some_and(|(_, named)| *named == AssertionError)
}

fn by_words(message: &str) -> Option<ErrorType> {
    let row = BY_WORDS.matching(text::prefix(message, 600)).first().copied()?;
    WORDS.get(row).map(|(_, error_type)| *error_type)
}
