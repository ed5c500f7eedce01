//! From what a failure shows to what is wrong, where, and what mends it: the one conclusion that analysis and feedback
//! both give. Where no known message explains it, the kind of its error gives a category and how it may be retried, and
//! the two sides of a failed assertion show what they show of the code that it tests.

use crate::{
    evidence::{
        Confidence, ErrorType, Failure, RetryClass,
        RootCauseCategory::{
            self, ApiMisuse, ConfigurationError, Environment, LogicError, MissingValidation, Other,
            TypeMismatch,
        },
        SourceLocation, stays_inside,
    },
    failure::read::{Changes, Frame, Reading, Sides, paths, text::code},
    source_files::is_test,
};

/// The sentences and classes of a diagnosis. The default shows nothing.
#[derive(Clone, Debug, Default)]
pub struct Conclusion {
    pub category: RootCauseCategory,
    pub retry: RetryClass,
    /// A program is not installed where the check runs: running the check again finds it no more.
    pub missing_program: bool,
    pub certainty: Confidence,
    /// What was observed, as one or two sentences; empty where no rule is certain.
    pub cause: String,
    /// The one thing to do; empty where no rule is certain.
    pub action: String,
    /// Why that fixes it; empty without an action.
    pub reason: String,
    /// Cause and action show only what the two sides of the assertion show.
    pub repeats_sides: bool,
    /// What the known message is about: the module that is missing, the host that does not answer.
    pub subject: String,
    /// The names of the known messages that match; the first explains the failure.
    pub patterns: Vec<String>,
}

/// How a pull request touches a place, the closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    AddsLine,
    ChangesFile,
    Untouched,
}

/// What is wrong and what mends it, of which `known` is what the table of known messages shows.
pub(super) fn conclude(
    failure: &Failure,
    reading: &Reading,
    known: Option<Conclusion>,
) -> Conclusion {
    if failure.error_class.as_deref() == Some(Failure::OF_WORKFLOW) {
        let patterns = known.map(|known| known.patterns).unwrap_or_default();
        return Conclusion {
            category: ConfigurationError,
            retry: RetryClass::External,
            patterns,
            ..Conclusion::default()
        };
    }
    let Some(known) = known else {
        return by_kind(failure, reading);
    };
    match &reading.sides {
        Some(Sides {
            expected, actual, ..
        }) if known.category == TypeMismatch && known.cause.is_empty() => {
            let (wanted, got) = (code(expected), code(actual));
            Conclusion {
                cause: format!(
                    "{got} stands where {wanted} is expected: {}.",
                    reading.summary()
                ),
                ..known
            }
        }
        _ if !known.cause.is_empty() && !known.cause.contains('`') => Conclusion {
            cause: format!(
                "{}: {}.",
                known.cause.trim_end_matches('.'),
                reading.summary()
            ),
            ..known
        },
        _ => known,
    }
}

/// What follows from the kind of the error; of two values that are compared, from them.
fn by_kind(failure: &Failure, reading: &Reading) -> Conclusion {
    use ErrorType::{CompileError, LintError, NetworkError, SyntaxError, TimeoutError};
    let kind = reading.error_type;
    // Values beside these are no assertion's.
    if let Some(sides) = &reading.sides
        && !matches!(
            kind,
            CompileError | LintError | SyntaxError | TimeoutError | NetworkError
        )
        && !is_bare_verdict(sides, reading)
    {
        return comparison(failure, sides);
    }
    let (category, retry, hundredths) = match kind {
        NetworkError => (Environment, RetryClass::External, 60),
        // A test that its own limit ended is mended as any; only a check that does not end is tried no more.
        TimeoutError => (LogicError, RetryClass::Code, 55),
        ErrorType::AssertionError => (LogicError, RetryClass::Code, 45),
        ErrorType::TypeError => (TypeMismatch, RetryClass::Code, 50),
        ErrorType::ReferenceError => (ApiMisuse, RetryClass::Code, 55),
        ErrorType::ValidationError => (MissingValidation, RetryClass::Code, 50),
        SyntaxError | CompileError | LintError | ErrorType::RuntimeError | ErrorType::Other => {
            (Other, RetryClass::Code, 0)
        }
    };
    Conclusion {
        category,
        retry,
        certainty: Confidence::percent(hundredths),
        ..Conclusion::default()
    }
}

/// Whether `true` and `false` show less than the words beside them: `assert(total > 0, 'an empty cart is free')`.
fn is_bare_verdict(sides: &Sides, reading: &Reading) -> bool {
    let is_verdict = |side: &str| matches!(side, "true" | "false" | "True" | "False");
    let line = reading.message.lines().next().unwrap_or_default();
    // unittest: `False is not true : Couldn't find 'Dune'`
    let line = line
        .split_once(" is not ")
        .and_then(|(_, rest)| rest.split_once(" : "))
        .map_or(line, |(_, own)| own);
    let is_of_values = ["true", "false"]
        .iter()
        .any(|side| line.to_lowercase().contains(side));
    is_verdict(&sides.expected)
        && is_verdict(&sides.actual)
        && line.contains(' ')
        && !is_of_values
        && !line.starts_with("expect")
}

/// Two values that a test compares.
fn comparison(failure: &Failure, sides: &Sides) -> Conclusion {
    let &Sides {
        ref expected,
        ref actual,
        is_whole,
    } = sides;
    let (wanted, got) = (code(expected), code(actual));
    let test = failure.test_name.as_deref().map(code);
    let who = test.as_deref().unwrap_or("The test");
    let tested = format!("{} checks", test.as_deref().unwrap_or("the test"));
    let cause = match is_whole {
        true => format!("{who} expects {wanted} and gets {got}."),
        false => {
            format!("{who} compares two values that differ: {wanted} is expected, {got} is there.")
        }
    };
    let unquoted = |value: &str| value.trim_matches(['"', '\'']).to_owned();
    let solid = |value: &str| value.split_whitespace().collect::<String>();
    let (category, hundredths, action) = if is_whole && solid(expected) == solid(actual) {
        (
            LogicError,
            70,
            Some(format!(
                "Correct the white space of the value that {tested}, so that it is {wanted}."
            )),
        )
    } else if is_whole && solid(&unquoted(expected)) == solid(&unquoted(actual)) {
        (
            TypeMismatch,
            70,
            Some(format!(
                "Convert the value that {tested} to the type of {wanted}."
            )),
        )
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

pub(super) fn touch(place: &SourceLocation, changes: &Changes) -> Touch {
    if !changes.contains(&place.file) {
        Touch::Untouched
    } else if place
        .line
        .is_some_and(|line| changes.adds(&place.file, line))
    {
        Touch::AddsLine
    } else {
        Touch::ChangesFile
    }
}

/// Whether a file that a trace names is one of the repository, as far as it is known: the pull request changes it, or it
/// is the failure's own, which whoever gathered the evidence found there.
pub(super) fn is_known(file: &str, failure: &Failure, changes: &Changes) -> bool {
    let source = failure.source.as_ref().map(|source| source.file.as_str());
    let own = [source, failure.test_file.as_deref()];
    // Absolute where nobody has looked for the file yet.
    let is_own = |own: &str| own == file || paths::is_absolute(own) && paths::ends_with(own, file);
    changes.contains(file) || stays_inside(file) && own.into_iter().flatten().any(is_own)
}

/// The frame to look at first: code before tests, the pull request's files before others, then the innermost.
pub(super) fn best_place(
    failure: &Failure,
    reading: &Reading,
    changes: &Changes,
) -> Option<SourceLocation> {
    let rank = |frame: &&Frame| (is_test(&frame.file), touch(&frame.location(), changes));
    let frame = reading
        .frames
        .iter()
        .filter(|frame| frame.origin.in_repository())
        .filter(|frame| is_known(&frame.file, failure, changes))
        .min_by_key(rank);
    let located = |place: SourceLocation| {
        let (file, origin) = changes.locate(&place.file, None);
        (origin.in_repository() && stays_inside(&file)).then_some(SourceLocation { file, ..place })
    };
    // A compiler's or linter's finding stands where its tool shows; the other places explain it.
    let is_finding = matches!(
        reading.error_type,
        ErrorType::CompileError | ErrorType::LintError
    );
    // The panic of a doctest counts the lines of a generated file.
    let is_doctest = failure
        .test_name
        .as_deref()
        .is_some_and(|name| name.contains(" (line ") && name.ends_with(')'));
    let of_finding = failure
        .source
        .clone()
        .filter(|_| is_finding || is_doctest)
        .and_then(located);
    let of_test = || {
        Some(SourceLocation {
            file: failure.test_file.clone()?,
            line: failure.line_number,
            function: None,
        })
    };
    of_finding
        .or_else(|| frame.map(Frame::location))
        .or_else(|| failure.source.clone().and_then(located))
        .or_else(|| of_test().and_then(located))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::explain::ExaminedFailure;

    fn diagnose(message: &str, trace: &str, changed: &[(&str, u32)]) -> ExaminedFailure {
        let file = |(path, line): &(&str, u32)| ((*path).to_owned(), [*line].into());
        let changes = Changes::new(changed.iter().map(file));
        let mut failure = Failure {
            test_name: Some("totals".to_owned()),
            error_message: message.to_owned(),
            stack_trace: Some(trace.to_owned()),
            ..Failure::default()
        };
        crate::failure::complete(&mut failure);
        ExaminedFailure::new(&failure, &changes)
    }

    const TRACE: &str = "    at price (/home/runner/work/w/w/src/price.ts:3:5)\n    at total (/home/runner/work/w/w/src/cart.ts:9:5)\n    at /home/runner/work/w/w/test/cart.test.ts:12:3";

    #[test]
    fn the_place_is_in_the_diff_first() {
        let place = |changed: &[(&str, u32)]| {
            let diagnosis = diagnose("TypeError: x", TRACE, changed);
            (diagnosis.at.unwrap().file, diagnosis.touch)
        };
        assert_eq!(place(&[]), ("src/price.ts".to_owned(), Touch::Untouched));
        assert_eq!(
            place(&[("src/cart.ts", 1)]),
            ("src/cart.ts".to_owned(), Touch::ChangesFile)
        );
        assert_eq!(
            place(&[("src/cart.ts", 9), ("src/price.ts", 1)]),
            ("src/cart.ts".to_owned(), Touch::AddsLine)
        );
        assert_eq!(
            place(&[("test/cart.test.ts", 12)]),
            ("src/price.ts".to_owned(), Touch::Untouched)
        );
    }

    #[test]
    fn comparisons_have_their_categories() {
        let cases = [
            ("expected 3 to be 4", LogicError),
            ("expected 0 to be 1", LogicError),
            // Nothing was read of it: the program gave nothing.
            ("expected undefined to be 4", LogicError),
            ("expected '4' to be 4", TypeMismatch),
            ("expected 20 to be 40", LogicError),
        ];
        for (message, category) in cases {
            let diagnosis = diagnose(&format!("AssertionError: {message}"), "", &[]);
            assert_eq!(diagnosis.conclusion.category, category, "{message}");
        }
    }

    #[test]
    fn confidence_follows_the_diff() {
        let of = |changed: &[(&str, u32)]| {
            diagnose(
                "TypeError: Cannot read properties of undefined (reading 'x')",
                TRACE,
                changed,
            )
            .confidence
        };
        assert!(of(&[("src/price.ts", 3)]) > of(&[("src/price.ts", 1)]));
        assert!(of(&[("src/price.ts", 1)]) > of(&[]));
    }

    #[test]
    fn white_space_is_told_from_a_type() {
        let action = |expected: &str, actual: &str| {
            let (expected, actual) = (expected.to_owned(), actual.to_owned());
            let failure = Failure {
                test_name: Some("pads".into()),
                ..Failure::default()
            };
            let sides = Sides {
                expected,
                actual,
                is_whole: true,
            };
            comparison(&failure, &sides).action
        };
        for (expected, actual, said) in [
            (
                "\" title\"",
                "\" title \"",
                "Correct the white space of the value",
            ),
            ("a\nb", "a b", "Correct the white space of the value"),
            (
                "'a  b'",
                "'a b'",
                "Correct the white space of the value that `pads` checks, so that it is `'a  b'`.",
            ),
            ("\"1\"", "1", "Convert the value"),
            ("' 1 '", "1", "Convert the value"),
            (
                "\"a b\"",
                "\"a c\"",
                "Make the code that `pads` checks give",
            ),
        ] {
            assert!(
                action(expected, actual).starts_with(said),
                "{expected} {actual}: {}",
                action(expected, actual)
            );
        }
    }
}
