//! From what a failure says to what is wrong, where, and what mends it: the one conclusion that analysis and feedback
//! both tell.

use super::{conclusion::Conclusion, error_kind::by_kind, known::Explanation};
use crate::{
    evidence::{Confidence, ErrorType, Failure, RetryClass, RootCauseCategory::*, SourceLocation},
    failure::read::{Changes, Frame, FrameOrigin, Reading, Sides, text::code},
    source_files::is_test,
};

/// What is wrong, where, and what mends it.
#[derive(Clone, Debug)]
pub(in crate::failure) struct Diagnosis {
    /// Where to look first.
    pub at: Option<SourceLocation>,
    /// How the pull request touches that place.
    pub touch: Touch,
    pub conclusion: Conclusion,
    pub confidence: Confidence,
    pub patterns: Vec<String>,
}

/// How a pull request touches a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::failure) enum Touch {
    AddsLine,
    ChangesFile,
    Untouched,
}

impl Diagnosis {
    pub(super) fn of(failure: &Failure, reading: &Reading, known: &Explanation, changes: &Changes) -> Self {
        let at = best_place(failure, reading, changes);
        let touch = at.as_ref().map_or(Touch::Untouched, |place| touch(place, changes));
        let patterns = known.matched.clone();
        let conclusion = match (inside_dependency(reading, known.by.as_ref()), &known.by) {
            (Some(conclusion), _) => conclusion,
            (None, Some(known)) => explained(known.clone(), reading),
            (None, None) => by_kind(failure, reading, at.as_ref(), changes),
        };
        let base = conclusion.certainty;
        let confidence = match (&at, touch) {
            (None, _) => base.lowered(15),
            (Some(_), Touch::AddsLine) => base.raised(8),
            (Some(_), Touch::ChangesFile) => base.raised(4),
            (Some(_), Touch::Untouched) => base,
        };
        Self { at, touch, conclusion, confidence, patterns }
    }
}

/// What a known message means for this failure.
fn explained(known: Conclusion, reading: &Reading) -> Conclusion {
    // So is an action that names nothing, where the code has to change.
    let names_nothing = !known.action.contains('`') && known.retry != RetryClass::External;
    let what = match (&reading.sides, reading.own_frame().and_then(|frame| frame.function.as_deref())) {
        (Some(Sides { expected, actual, .. }), _) => format!("{} instead of {}", code(expected), code(actual)),
        // What timed out says no more than that.
        (None, Some(function)) if known.retry == RetryClass::Logic => format!("it stands in {}", code(function)),
        (None, _) => reading.said(),
    };
    let action = match names_nothing {
        true => format!("{}: {what}.", known.action.trim_end_matches('.')),
        false => known.action.clone(),
    };
    let known = Conclusion { action, ..known };
    match &reading.sides {
        Some(Sides { expected, actual, .. }) if known.category == TypeMismatch => {
            let (wanted, got) = (code(expected), code(actual));
            Conclusion {
                cause: format!("{got} stands where {wanted} is expected: {}.", reading.said()),
                action: format!("Convert {got} to {wanted} at this line."),
                ..known
            }
        }
        // A sentence that names nothing of this failure is followed by the error itself.
        _ if !known.cause.contains('`') => {
            Conclusion { cause: format!("{}: {}.", known.cause.trim_end_matches('.'), reading.said()), ..known }
        }
        _ => known,
    }
}

fn touch(place: &SourceLocation, changes: &Changes) -> Touch {
    if !changes.contains(&place.file) {
        Touch::Untouched
    } else if place.line.is_some_and(|line| changes.adds(&place.file, line)) {
        Touch::AddsLine
    } else {
        Touch::ChangesFile
    }
}

/// The frame to look at first: code before tests, the pull request's files before others, then the innermost.
fn best_place(failure: &Failure, reading: &Reading, changes: &Changes) -> Option<SourceLocation> {
    let rank = |frame: &&Frame| {
        let place = frame.location();
        let by_touch = match touch(&place, changes) {
            Touch::AddsLine => 0,
            Touch::ChangesFile => 1,
            Touch::Untouched => 2,
        };
        (is_test(&frame.file), by_touch)
    };
    let frame = reading.frames.iter().filter(|frame| frame.origin.in_repository()).min_by_key(rank);
    let located = |file: &str, line: Option<u32>, function: Option<&String>| {
        let (file, origin) = changes.locate(file);
        let place = SourceLocation { file, line, function: function.cloned() };
        (origin.in_repository() && !place.file.is_empty()).then_some(place)
    };
    // A compiler's or linter's finding stands where its tool says; the other places explain it.
    let is_finding = matches!(reading.error_type, ErrorType::CompileError | ErrorType::LintError);
    // The panic of a doctest counts the lines of a generated file.
    let is_doctest = failure.test_name.as_deref().is_some_and(|name| name.contains(" (line ") && name.ends_with(')'));
    let of_finding = failure.source.as_ref().filter(|_| is_finding || is_doctest);
    of_finding
        .and_then(|s| located(&s.file, s.line, s.function.as_ref()))
        .or_else(|| frame.map(Frame::location))
        .or_else(|| failure.source.as_ref().and_then(|s| located(&s.file, s.line, s.function.as_ref())))
        .or_else(|| failure.test_file.as_ref().and_then(|file| located(file, failure.line_number, None)))
}

/// A failure inside a library: what is wrong is how the repository calls it.
fn inside_dependency(reading: &Reading, known: Option<&Conclusion>) -> Option<Conclusion> {
    let is_said =
        matches!(reading.error_type, ErrorType::AssertionError | ErrorType::CompileError | ErrorType::LintError);
    if is_said || reading.sides.is_some() {
        return None;
    }
    let speaks_of_the_line = known.is_none_or(|known| {
        known.retry == RetryClass::Code
            && !matches!(known.category, DependencyIssue | ConfigurationError | Environment)
            // What names a part of the message knows more than that somebody called something.
            && !known.action.contains('`')
    });
    let innermost = reading.frames.iter().find(|frame| frame.origin != FrameOrigin::Toolchain)?;
    let package = innermost.package()?;
    let caller = reading.own_frame()?;
    if !speaks_of_the_line {
        return None;
    }
    let package = code(&package);
    // What this repository calls is the outermost of the library's frames.
    let before =
        reading.frames.iter().take_while(|frame| *frame != caller).filter(|frame| frame.package().is_some()).last();
    let called = before.and_then(|frame| frame.function.as_deref());
    // An assertion's arguments are as they should be: it says that what it looked at is not.
    let asserts = |name: &str| ["assert", "expect"].iter().any(|word| name.to_ascii_lowercase().contains(word));
    if called.is_some_and(asserts) {
        return None;
    }
    let called = called.map_or_else(|| package.clone(), code);
    Some(Conclusion {
        category: known.map_or(ApiMisuse, |known| known.category),
        retry: RetryClass::Code,
        certainty: Confidence::percent(65),
        cause: format!("{package} fails with {} when {called} is called at {}.", reading.said(), code(&shown(caller))),
        action: format!("Check the arguments of {called} before this call, and handle there the case that it rejects."),
        reason: "The library is not part of this repository; this call is the last place in it that can prevent the \
                 failure."
            .to_owned(),
    })
}

fn shown(frame: &Frame) -> String {
    frame.line.map_or_else(|| frame.file.clone(), |line| format!("{}:{line}", frame.file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{explain::known, read::ChangedFile};

    fn diagnose(message: &str, trace: &str, changed: &[(&str, u32)]) -> Diagnosis {
        let file = |(path, line): &(&str, u32)| ChangedFile { path: (*path).to_owned(), added: vec![*line..=*line] };
        let changes = Changes::new(changed.iter().map(file));
        let failure = Failure {
            test_name: Some("totals".to_owned()),
            error_message: message.to_owned(),
            stack_trace: Some(trace.to_owned()),
            ..Failure::default()
        };
        let reading = Reading::among(&failure, &changes);
        Diagnosis::of(&failure, &reading, &known::explain(&reading), &changes)
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
            ("expected undefined to be 4", NullUndefinedAccess),
            ("expected '4' to be 4", TypeMismatch),
            ("expected 20 to be 40", LogicError),
        ];
        for (message, category) in cases {
            let diagnosis = diagnose(&format!("AssertionError: {message}"), "", &[]);
            assert_eq!(diagnosis.conclusion.category, category, "{message}");
        }
    }

    #[test]
    fn the_changed_file_of_the_same_name_is_suspected() {
        let trace = "    at /home/runner/work/w/w/test/cart.test.ts:12:3";
        let action = |changed: &[(&str, u32)]| {
            diagnose("AssertionError: expected 20 to be 40", trace, changed).conclusion.action
        };
        assert!(action(&[("src/cart.ts", 1), ("src/price.ts", 1)]).contains("in `src/cart.ts`"));
        assert!(action(&[("src/price.ts", 1), ("README.md", 1)]).contains("in `src/price.ts`"));
        assert!(action(&[]).contains("that `totals` exercises"));
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
