//! From what a failure says to what is wrong, where, and what mends it: the one conclusion that analysis and feedback
//! both give.

use super::{conclusion::Conclusion, error_kind::by_kind};
use crate::{
    evidence::{
        ErrorType, Failure, RetryClass,
        RootCauseCategory::{ConfigurationError, TypeMismatch},
        SourceLocation,
    },
    failure::read::{Changes, Frame, Reading, Sides, text::code},
    source_files::is_test,
};

/// How a pull request touches a place, the closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::failure) enum Touch {
    AddsLine,
    ChangesFile,
    Untouched,
}

/// What is wrong and what mends it, of which `known` is what the table of known messages says.
pub(super) fn conclude(failure: &Failure, reading: &Reading, known: Option<Conclusion>) -> Conclusion {
    match known {
        _ if failure.error_class.as_deref() == Some(Failure::OF_WORKFLOW) => {
            Conclusion { category: ConfigurationError, retry: RetryClass::External, ..Conclusion::default() }
        }
        Some(known) => explained(known, reading),
        None => by_kind(failure, reading),
    }
}

/// What a known message means for this failure.
fn explained(known: Conclusion, reading: &Reading) -> Conclusion {
    match &reading.sides {
        Some(Sides { expected, actual, .. }) if known.category == TypeMismatch && known.cause.is_empty() => {
            let (wanted, got) = (code(expected), code(actual));
            Conclusion { cause: format!("{got} stands where {wanted} is expected: {}.", reading.said()), ..known }
        }
        _ if !known.cause.is_empty() && !known.cause.contains('`') => {
            Conclusion { cause: format!("{}: {}.", known.cause.trim_end_matches('.'), reading.said()), ..known }
        }
        _ => known,
    }
}

pub(super) fn touch(place: &SourceLocation, changes: &Changes) -> Touch {
    if !changes.contains(&place.file) {
        Touch::Untouched
    } else if place.line.is_some_and(|line| changes.adds(&place.file, line)) {
        Touch::AddsLine
    } else {
        Touch::ChangesFile
    }
}

/// The frame to look at first: code before tests, the pull request's files before others, then the innermost.
pub(super) fn best_place(failure: &Failure, reading: &Reading, changes: &Changes) -> Option<SourceLocation> {
    let rank = |frame: &&Frame| (is_test(&frame.file), touch(&frame.location(), changes));
    let frame = reading.frames.iter().filter(|frame| frame.origin.in_repository()).min_by_key(rank);
    let located = |place: SourceLocation| {
        let (file, origin) = changes.locate(&place.file);
        (origin.in_repository() && !file.is_empty()).then_some(SourceLocation { file, ..place })
    };
    // A compiler's or linter's finding stands where its tool says; the other places explain it.
    let is_finding = matches!(reading.error_type, ErrorType::CompileError | ErrorType::LintError);
    // The panic of a doctest counts the lines of a generated file.
    let is_doctest = failure.test_name.as_deref().is_some_and(|name| name.contains(" (line ") && name.ends_with(')'));
    let of_finding = failure.source.clone().filter(|_| is_finding || is_doctest).and_then(located);
    let of_test =
        || Some(SourceLocation { file: failure.test_file.clone()?, line: failure.line_number, function: None });
    of_finding
        .or_else(|| frame.map(Frame::location))
        .or_else(|| failure.source.clone().and_then(located))
        .or_else(|| of_test().and_then(located))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{evidence::RootCauseCategory::LogicError, failure::explain::ExaminedFailure};

    fn diagnose(message: &str, trace: &str, changed: &[(&str, u32)]) -> ExaminedFailure {
        let file = |(path, line): &(&str, u32)| ((*path).to_owned(), [*line].into());
        let changes = Changes::new(changed.iter().map(file));
        let failure = Failure {
            test_name: Some("totals".to_owned()),
            error_message: message.to_owned(),
            stack_trace: Some(trace.to_owned()),
            ..Failure::default()
        };
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
        assert_eq!(place(&[("src/cart.ts", 1)]), ("src/cart.ts".to_owned(), Touch::ChangesFile));
        assert_eq!(place(&[("src/cart.ts", 9), ("src/price.ts", 1)]), ("src/cart.ts".to_owned(), Touch::AddsLine));
        assert_eq!(place(&[("test/cart.test.ts", 12)]), ("src/price.ts".to_owned(), Touch::Untouched));
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
            diagnose("TypeError: Cannot read properties of undefined (reading 'x')", TRACE, changed).confidence
        };
        assert!(of(&[("src/price.ts", 3)]) > of(&[("src/price.ts", 1)]));
        assert!(of(&[("src/price.ts", 1)]) > of(&[]));
    }
}
