//! What follows from the kind of an error alone, where no known message explains it: a category and how it may be retried,
//! never what to do.

use super::{assertion::comparison, conclusion::Conclusion};
use crate::{
    evidence::{
        Confidence, ErrorType, Failure, RetryClass,
        RootCauseCategory::{ApiMisuse, Environment, LogicError, MissingValidation, Other, TypeMismatch},
    },
    failure::read::{Reading, Sides},
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
    Conclusion { category, retry, certainty: Confidence::percent(hundredths), ..Conclusion::silent() }
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
