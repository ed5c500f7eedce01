//! What a failed assertion says of the code it tests: both sides compared, and the changed file it is about.

use super::conclusion::Conclusion;
use crate::{
    evidence::{
        Confidence, Failure,
        RootCauseCategory::{LogicError, NullUndefinedAccess, TypeMismatch},
    },
    failure::read::{Extent, Sides, text::code},
};

/// Two values that a test compares.
pub(super) fn comparison(failure: &Failure, sides: &Sides) -> Conclusion {
    let Sides { expected, actual, extent } = sides;
    let (wanted, got) = (code(expected), code(actual));
    let who = failure.test_name.as_deref().map_or_else(|| "The test".to_owned(), code);
    let tested = failure
        .test_name
        .as_deref()
        .map_or_else(|| "the test checks".to_owned(), |test| format!("{} checks", code(test)));
    let cause = match extent {
        Extent::Whole => format!("{who} expects {wanted} and gets {got}."),
        Extent::Differences => format!("{who} compares two values that differ: {wanted} is expected, {got} is there."),
    };
    let is_whole = *extent == Extent::Whole;
    let restated = format!("Make the code that {tested} give {wanted} in place of {got}.");
    let (category, hundredths, action) = if is_whole && is_nothing(actual) && !is_nothing(expected) {
        (NullUndefinedAccess, 55, restated.clone())
    } else if is_whole && solid(expected) == solid(actual) {
        (LogicError, 70, format!("Correct the white space of the value that {tested}, so that it is {wanted}."))
    } else if is_whole && solid(unquoted(expected)) == solid(unquoted(actual)) {
        (TypeMismatch, 70, format!("Convert the value that {tested} to the type of {wanted}."))
    } else {
        (LogicError, 50, restated.clone())
    };
    Conclusion {
        category,
        certainty: Confidence::percent(hundredths),
        cause,
        repeats_sides: is_whole && action == restated,
        action,
        reason: "The test states the requirement; it stays as it is unless the requirement itself changed.".to_owned(),
        ..Conclusion::silent()
    }
}

fn is_nothing(value: &str) -> bool {
    matches!(value, "None" | "null" | "undefined" | "nil" | "NULL" | "<nil>" | "Optional.empty" | "(nil)" | "NaN")
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
            let sides = Sides { expected, actual, extent: Extent::Whole };
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
