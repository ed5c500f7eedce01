//! What a failed assertion says of the code it tests: both sides compared, and the changed file it is about.

use super::conclusion::Conclusion;
use crate::{
    evidence::{
        Confidence, Failure, RetryClass,
        RootCauseCategory::{LogicError, NullUndefinedAccess, TypeMismatch},
        SourceLocation,
    },
    failure::read::{Changes, Extent, Sides, text::code},
    source_files::{is_code, is_test, subject},
};

/// Two values that a test compares.
pub(super) fn comparison(
    failure: &Failure,
    sides: &Sides,
    called: Option<&str>,
    at: Option<&SourceLocation>,
    changes: &Changes,
) -> Conclusion {
    let Sides { expected, actual, extent } = sides;
    let (wanted, got) = (code(expected), code(actual));
    let who = failure.test_name.as_deref().map_or_else(|| "The test".to_owned(), code);
    let cause = match extent {
        Extent::Whole => format!("{who} expects {wanted} and gets {got}."),
        Extent::Differences => format!("{who} compares two values that differ: {wanted} is expected, {got} is there."),
    };
    let place = in_suspect(failure, called, at, changes);
    let conclude = |category, hundredths, action, reason: String| Conclusion {
        category,
        retry: RetryClass::Code,
        certainty: Confidence::percent(hundredths),
        cause,
        action,
        reason,
    };
    if *extent == Extent::Differences {
        return conclude(
            LogicError,
            50,
            format!("Correct the computation {place} so that {wanted} stands where {got} is."),
            "Everything else in the two values is equal.".to_owned(),
        );
    }
    if is_nothing(actual) && !is_nothing(expected) {
        return conclude(
            NullUndefinedAccess,
            55,
            format!("Set the value {place}: on this path it stays {got}."),
            "A value that is never set, and a branch that returns nothing, both end this way.".to_owned(),
        );
    }
    if solid(expected) == solid(actual) {
        return conclude(
            LogicError,
            70,
            format!("Correct the white space of the value {place} so that it gives {wanted}."),
            "Nothing else in the two values differs.".to_owned(),
        );
    }
    if solid(unquoted(expected)) == solid(unquoted(actual)) {
        return conclude(
            TypeMismatch,
            70,
            format!("Convert the value {place} so that it has the type of {wanted}."),
            "Both sides are written alike and differ in their type alone.".to_owned(),
        );
    }
    conclude(
        LogicError,
        50,
        format!("Correct the computation {place} so that it gives {wanted} for this input."),
        "The test states the requirement; it stays as it is unless the requirement itself changed.".to_owned(),
    )
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

/// `of total(cart) in src/cart.ts (part of this change)`: what the assertion calls, and the changed code that a failing
/// test is about, as far as they are known; else the code that the test exercises.
pub(super) fn in_suspect(
    failure: &Failure,
    called: Option<&str>,
    at: Option<&SourceLocation>,
    changes: &Changes,
) -> String {
    let of_call = called.map(|called| format!("of {}", code(called)));
    match (of_call, changed_suspect(failure, at, changes), failure.test_name.as_deref()) {
        (Some(of_call), Some(file), _) => format!("{of_call} in {} (part of this change)", code(&file)),
        (None, Some(file), _) => format!("in {} (part of this change)", code(&file)),
        (Some(of_call), None, _) => of_call,
        (None, None, Some(test)) => format!("that {} exercises", code(test)),
        (None, None, None) => "that this assertion checks".to_owned(),
    }
}

fn changed_suspect(failure: &Failure, at: Option<&SourceLocation>, changes: &Changes) -> Option<String> {
    let here = at.map(|place| place.file.as_str());
    if let Some(file) = here.filter(|file| !is_test(file) && changes.contains(file)) {
        return Some(file.to_owned());
    }
    let test = here.or(failure.test_file.as_deref()).unwrap_or_default();
    let mut code_files =
        changes.files().iter().map(|file| file.path.as_str()).filter(|path| is_code(path) && !is_test(path));
    let namesake = code_files.clone().find(|path| same_subject(path, test));
    let only = || code_files.next().filter(|_| code_files.next().is_none());
    namesake.or_else(only).map(str::to_owned)
}

fn same_subject(path: &str, test: &str) -> bool {
    let (subject, tested) = (subject(path), subject(test));
    !tested.is_empty() && subject.eq_ignore_ascii_case(tested)
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
            comparison(&failure, &sides, None, None, &Changes::default()).action
        };
        for (expected, actual, said) in [
            ("\" title\"", "\" title \"", "Correct the white space of the value"),
            ("a\nb", "a b", "Correct the white space of the value"),
            ("\"1\"", "1", "Convert the value"),
            ("' 1 '", "1", "Convert the value"),
            ("\"a b\"", "\"a c\"", "Correct the computation"),
        ] {
            assert!(action(expected, actual).starts_with(said), "{expected} {actual}: {}", action(expected, actual));
        }
    }
}
