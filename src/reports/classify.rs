//! Which of Loopgate's error types a tool's own class and message amount to.

use crate::core::{evidence::ErrorType, roster::TestState};

use super::text;

/// Words that decide, tried in this order; each is looked for in the class first, then at the message's beginning.
const WORDS: &[(&str, ErrorType)] = &[
    ("Timeout", ErrorType::TimeoutError),
    ("TimedOut", ErrorType::TimeoutError),
    ("DeadlineExceeded", ErrorType::TimeoutError),
    ("Assert", ErrorType::AssertionError),
    ("ComparisonFailure", ErrorType::AssertionError),
    ("ExpectationFailed", ErrorType::AssertionError),
    ("ExpectationNotMet", ErrorType::AssertionError),
    ("MultipleFailures", ErrorType::AssertionError),
    ("TypeError", ErrorType::TypeError),
    ("ClassCast", ErrorType::TypeError),
    ("InvalidCast", ErrorType::TypeError),
    ("ReferenceError", ErrorType::ReferenceError),
    ("NameError", ErrorType::ReferenceError),
    ("UnboundLocalError", ErrorType::ReferenceError),
    ("SyntaxError", ErrorType::SyntaxError),
    ("IndentationError", ErrorType::SyntaxError),
    ("ParseError", ErrorType::SyntaxError),
    ("CompilationError", ErrorType::CompileError),
    ("CompileError", ErrorType::CompileError),
    ("NetworkError", ErrorType::NetworkError),
    ("Connect", ErrorType::NetworkError),
    ("Socket", ErrorType::NetworkError),
    ("UnknownHost", ErrorType::NetworkError),
    ("ECONN", ErrorType::NetworkError),
    ("ValidationError", ErrorType::ValidationError),
    ("ValueError", ErrorType::ValidationError),
    ("IllegalArgument", ErrorType::ValidationError),
    ("ArgumentError", ErrorType::ValidationError),
    ("ArgumentException", ErrorType::ValidationError),
    ("RangeError", ErrorType::RuntimeError),
];

/// Beginnings of messages that no class goes with.
const MESSAGES: &[(&str, ErrorType)] = &[
    ("assert", ErrorType::AssertionError),
    ("expect(", ErrorType::AssertionError),
    ("expected", ErrorType::AssertionError),
    ("failed asserting", ErrorType::AssertionError),
    ("test timed out", ErrorType::TimeoutError),
    ("exceeded timeout", ErrorType::TimeoutError),
    ("connection refused", ErrorType::NetworkError),
];

/// The type of an error from its class, its message, the first line of its trace, and how the test ended by it.
pub(super) fn error_type(class: Option<&str>, message: &str, trace: &str, state: TestState) -> ErrorType {
    let by_class = class.and_then(|class| by_word(last_segment(class)));
    by_class.or_else(|| by_message(message)).or_else(|| by_message(text::first_line(trace))).unwrap_or({
        let thrown = class.is_some_and(|class| class.ends_with("Error") || class.ends_with("Exception"));
        if thrown && class != Some("Error") || state == TestState::Errored {
            ErrorType::RuntimeError
        } else {
            ErrorType::Other
        }
    })
}

/// `java.lang.AssertionError` and `RSpec::Expectations::ExpectationNotMetError` by their last part.
fn last_segment(class: &str) -> &str {
    class.trim().rsplit(['.', ':', '\\']).find(|part| !part.is_empty()).unwrap_or_default()
}

fn by_word(class: &str) -> Option<ErrorType> {
    WORDS.iter().find(|(word, _)| class.contains(word)).map(|(_, error_type)| *error_type)
}

/// By the class that many messages begin with (`TypeError: x is not …`), else by their first words.
fn by_message(message: &str) -> Option<ErrorType> {
    let message = message.trim_start().trim_start_matches("Uncaught ").trim_start_matches("Unhandled ");
    let first = message.split([':', ' ', '\n', '(']).next().unwrap_or_default();
    let by_class =
        message.get(first.len()..).filter(|rest| rest.starts_with(':')).and_then(|_| by_word(last_segment(first)));
    by_class.or_else(|| {
        let start: String = message.chars().take(24).flat_map(char::to_lowercase).collect();
        MESSAGES.iter().find(|(words, _)| start.starts_with(words)).map(|(_, error_type)| *error_type)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types() {
        use ErrorType::*;
        let table = [
            (Some("java.lang.AssertionError"), "", AssertionError),
            (Some("org.opentest4j.AssertionFailedError"), "expected: <1> but was: <2>", AssertionError),
            (Some("RSpec::Expectations::ExpectationNotMetError"), "", AssertionError),
            (Some("java.lang.NullPointerException"), "", RuntimeError),
            (Some("java.net.ConnectException"), "Connection refused", NetworkError),
            (Some("java.net.SocketTimeoutException"), "", TimeoutError),
            (Some("Tests\\TypeError"), "", TypeError),
            (Some("Error"), "expect(received).toBe(expected)", AssertionError),
            (Some("Error"), "boom", Other),
            (None, "TypeError: x is not a function", TypeError),
            (None, "Uncaught ReferenceError: y is not defined", ReferenceError),
            (None, "assert 1 == 2", AssertionError),
            (None, "AssertionError: assert 1 == 2", AssertionError),
            (None, "Failed asserting that 2 is 3.", AssertionError),
            (None, "requests to Assert: none", Other),
            (None, "", Other),
        ];
        for (class, message, expected) in table {
            assert_eq!(error_type(class, message, "", TestState::Failed), expected, "{class:?} {message}");
        }
        assert_eq!(error_type(None, "boom", "", TestState::Errored), RuntimeError);
    }
}
