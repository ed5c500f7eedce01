//! What follows from the kind of an error alone, where no known message explains it: a category and how it may be retried;
//! and of a failed assertion what its two sides say of the code that it tests.

use super::conclusion::Conclusion;
use crate::{
    evidence::{
        Confidence, ErrorType, Failure, RetryClass,
        RootCauseCategory::{ApiMisuse, Environment, LogicError, MissingValidation, Other, TypeMismatch},
    },
    failure::read::{Reading, Sides, text::code},
};

/// What follows from the kind of the error; of two values that are compared, from them.
pub(super) fn by_kind(failure: &Failure, reading: &Reading) -> Conclusion {
    use ErrorType::{CompileError, LintError, NetworkError, SyntaxError, TimeoutError};
    let kind = reading.error_type;
    // Values beside these are no assertion's.
    if let Some(sides) = &reading.sides
        && !matches!(kind, CompileError | LintError | SyntaxError | TimeoutError | NetworkError)
        && !is_bare_verdict(sides, reading)
    {
        return comparison(failure, sides);
    }
    let (category, retry, hundredths) = match kind {
        NetworkError => (Environment, RetryClass::External, 60),
        TimeoutError => (LogicError, RetryClass::Logic, 55),
        ErrorType::AssertionError => (LogicError, RetryClass::Code, 45),
        ErrorType::TypeError => (TypeMismatch, RetryClass::Code, 50),
        ErrorType::ReferenceError => (ApiMisuse, RetryClass::Code, 55),
        ErrorType::ValidationError => (MissingValidation, RetryClass::Code, 50),
        SyntaxError | CompileError | LintError | ErrorType::RuntimeError | ErrorType::Other => {
            (Other, RetryClass::Code, 0)
        }
    };
    Conclusion { category, retry, certainty: Confidence::percent(hundredths), ..Conclusion::default() }
}

/// Whether `true` and `false` say less than the words beside them: `assert(total > 0, 'an empty cart is free')`.
fn is_bare_verdict(sides: &Sides, reading: &Reading) -> bool {
    let is_verdict = |side: &str| matches!(side, "true" | "false" | "True" | "False");
    let said = reading.message.lines().next().unwrap_or_default();
    // unittest: `False is not true : Couldn't find 'Dune'`
    let said = said.split_once(" is not ").and_then(|(_, rest)| rest.split_once(" : ")).map_or(said, |(_, own)| own);
    let is_of_values = ["true", "false"].iter().any(|side| said.to_lowercase().contains(side));
    is_verdict(&sides.expected)
        && is_verdict(&sides.actual)
        && said.contains(' ')
        && !is_of_values
        && !said.starts_with("expect")
}

/// Two values that a test compares.
fn comparison(failure: &Failure, sides: &Sides) -> Conclusion {
    let &Sides { ref expected, ref actual, is_whole } = sides;
    let (wanted, got) = (code(expected), code(actual));
    let test = failure.test_name.as_deref().map(code);
    let who = test.as_deref().unwrap_or("The test");
    let tested = format!("{} checks", test.as_deref().unwrap_or("the test"));
    let cause = match is_whole {
        true => format!("{who} expects {wanted} and gets {got}."),
        false => format!("{who} compares two values that differ: {wanted} is expected, {got} is there."),
    };
    let (category, hundredths, action) = if is_whole && solid(expected) == solid(actual) {
        (LogicError, 70, Some(format!("Correct the white space of the value that {tested}, so that it is {wanted}.")))
    } else if is_whole && solid(unquoted(expected)) == solid(unquoted(actual)) {
        (TypeMismatch, 70, Some(format!("Convert the value that {tested} to the type of {wanted}.")))
    } else {
        (LogicError, 50, None)
    };
    Conclusion {
        category,
        certainty: Confidence::percent(hundredths),
        cause,
        repeats_sides: is_whole && action.is_none(),
        action: action.unwrap_or_else(|| format!("Make the code that {tested} give {wanted} in place of {got}.")),
        reason: "The test states the requirement; it stays as it is unless the requirement itself changed.".to_owned(),
        ..Conclusion::default()
    }
}

fn unquoted(value: &str) -> &str {
    value.trim_matches(['"', '\''])
}

fn solid(value: &str) -> String {
    value.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_is_told_from_a_type() {
        let action = |expected: &str, actual: &str| {
            let (expected, actual) = (expected.to_owned(), actual.to_owned());
            let failure = Failure { test_name: Some("pads".into()), ..Failure::default() };
            let sides = Sides { expected, actual, is_whole: true };
            comparison(&failure, &sides).action
        };
        for (expected, actual, said) in [
            ("\" title\"", "\" title \"", "Correct the white space of the value"),
            ("a\nb", "a b", "Correct the white space of the value"),
            ("'a  b'", "'a b'", "Correct the white space of the value that `pads` checks, so that it is `'a  b'`."),
            ("\"1\"", "1", "Convert the value"),
            ("' 1 '", "1", "Convert the value"),
            ("\"a b\"", "\"a c\"", "Make the code that `pads` checks give"),
        ] {
            assert!(action(expected, actual).starts_with(said), "{expected} {actual}: {}", action(expected, actual));
        }
    }
}
