//! What follows from the kind of an error alone. The sentences are data: `data/error_types.toml`.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::{
    assertion::{comparison, in_suspect},
    conclusion::{Conclusion, fill},
};
use crate::{
    evidence::{Confidence, ErrorType, Failure, RetryClass, RootCauseCategory, SourceLocation},
    failure::read::{Changes, Reading, Sides, text::code},
};

const FILE: &str = include_str!("../../../data/error_types.toml");
const PROOF: &str = "the file is part of the program, and a test reads it";

/// What one kind of error means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advice {
    category: RootCauseCategory,
    #[serde(default = "RetryClass::ordinary")]
    retry: RetryClass,
    confidence: Confidence,
    action: String,
    reason: String,
}

/// The whole file: an advice for each kind of error.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct AdviceByKind {
    assertion_error: Advice,
    type_error: Advice,
    reference_error: Advice,
    syntax_error: Advice,
    runtime_error: Advice,
    timeout_error: Advice,
    network_error: Advice,
    validation_error: Advice,
    compile_error: Advice,
    lint_error: Advice,
}

static ADVICE: LazyLock<AdviceByKind> = LazyLock::new(|| toml::from_str(FILE).expect(PROOF));

impl AdviceByKind {
    const fn of(&self, kind: ErrorType) -> &Advice {
        match kind {
            ErrorType::AssertionError => &self.assertion_error,
            ErrorType::TypeError => &self.type_error,
            ErrorType::ReferenceError => &self.reference_error,
            ErrorType::SyntaxError => &self.syntax_error,
            ErrorType::RuntimeError | ErrorType::Other => &self.runtime_error,
            ErrorType::TimeoutError => &self.timeout_error,
            ErrorType::NetworkError => &self.network_error,
            ErrorType::ValidationError => &self.validation_error,
            ErrorType::CompileError => &self.compile_error,
            ErrorType::LintError => &self.lint_error,
        }
    }
}

/// What follows from the kind of the error; of two values that are compared, from them.
pub(super) fn by_kind(
    failure: &Failure,
    reading: &Reading,
    at: Option<&SourceLocation>,
    changes: &Changes,
) -> Conclusion {
    let kind = reading.error_type;
    if let Some(sides) = &reading.sides
        && !tells_more_than_values(kind)
        && !is_bare_verdict(sides, reading)
    {
        return comparison(failure, sides, reading.asserted.called.as_deref(), at, changes);
    }
    let advice = ADVICE.of(kind);
    let value = |name: &str| match name {
        "rule" => reading.class.as_deref().map_or_else(|| reading.said(), code),
        "named" => named(&reading.message),
        "said" => reading.said(),
        "test" => failure.test_name.as_deref().map_or_else(|| "this step".to_owned(), code),
        "place" => in_suspect(failure, reading.asserted.called.as_deref(), at, changes),
        _ => String::new(),
    };
    let conclusion = Conclusion {
        category: advice.category,
        retry: advice.retry,
        certainty: advice.confidence,
        cause: format!("{}.", reading.said()),
        action: fill(&advice.action, value),
        reason: advice.reason.clone(),
    };
    match kind {
        ErrorType::RuntimeError | ErrorType::Other => of_any_error(conclusion, failure, at),
        _ => conclusion,
    }
}

/// The first name that a linter's message quotes: it is about this.
fn named(message: &str) -> String {
    static QUOTED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#"(?:^|[\s(])["'`‘](?P<name>[A-Za-z_][\w.]{0,60})["'`’]"#).expect(PROOF));
    QUOTED.captures(message).map_or_else(|| "it".to_owned(), |found| code(&found["name"]))
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

/// Whether values beside such an error are no assertion's.
const fn tells_more_than_values(kind: ErrorType) -> bool {
    matches!(
        kind,
        ErrorType::CompileError
            | ErrorType::LintError
            | ErrorType::SyntaxError
            | ErrorType::TimeoutError
            | ErrorType::NetworkError
    )
}

/// An error of which only is known that it happened: less sure without a place, of no category without a text.
fn of_any_error(conclusion: Conclusion, failure: &Failure, at: Option<&SourceLocation>) -> Conclusion {
    let says_nothing = failure.error_message.is_empty() && failure.stack_trace.is_none();
    let Conclusion { category, certainty, .. } = conclusion;
    Conclusion {
        category: if says_nothing { RootCauseCategory::Other } else { category },
        certainty: if at.is_some() { certainty } else { certainty.lowered(15) },
        ..conclusion
    }
}

#[cfg(test)]
pub(super) fn sentences() -> impl Iterator<Item = &'static str> {
    every_advice().flat_map(|advice| [advice.action.as_str(), &advice.reason])
}

#[cfg(test)]
fn every_advice() -> impl Iterator<Item = &'static Advice> {
    use ErrorType::*;
    let kinds = [
        AssertionError,
        TypeError,
        ReferenceError,
        SyntaxError,
        RuntimeError,
        TimeoutError,
        NetworkError,
        ValidationError,
        CompileError,
        LintError,
    ];
    kinds.into_iter().map(|kind| ADVICE.of(kind))
}

#[cfg(test)]
mod tests {
    use super::{super::conclusion::placeholders, *};

    #[test]
    fn the_file_can_be_read() {
        if let Err(error) = toml::from_str::<AdviceByKind>(FILE) {
            panic!("{error}");
        }
    }

    #[test]
    fn braces_name_what_can_be_filled_in() {
        for advice in every_advice() {
            assert!(
                placeholders(&advice.action).all(|name| ["rule", "named", "place", "said", "test"].contains(&name)),
                "{}",
                advice.action
            );
            assert_eq!(placeholders(&advice.reason).count(), 0, "{}", advice.reason);
        }
    }
}
