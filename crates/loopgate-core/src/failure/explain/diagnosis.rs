//! From what a failure says to what is wrong, where, and what mends it: the one conclusion that analysis and feedback
//! both tell.

use super::{
    assertion::{comparison, in_suspect},
    known::{self, Explanation},
};
use crate::{
    evidence::{
        Confidence, ErrorType, Failure, RetryClass,
        RootCauseCategory::{self, *},
        SourceLocation,
    },
    failure::read::{
        changes::{Changes, Origin},
        expected::Sides,
        reading::Reading,
        stack::Frame,
        text::{self, code},
    },
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

/// The sentences and classes of a diagnosis.
#[derive(Clone, Debug)]
pub(in crate::failure) struct Conclusion {
    pub category: RootCauseCategory,
    pub retry: RetryClass,
    /// Hundredths.
    pub certainty: u8,
    /// What was observed, as one or two sentences.
    pub cause: String,
    /// The one thing to do.
    pub action: String,
    pub reason: String,
}

/// How a pull request touches a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::failure) enum Touch {
    AddsLine,
    ChangesFile,
    Untouched,
}

impl Diagnosis {
    pub fn of(failure: &Failure, reading: &Reading, known: &Explanation, changes: &Changes) -> Self {
        let at = best_place(failure, reading, changes);
        let touch = at.as_ref().map_or(Touch::Untouched, |place| touch(place, changes));
        let patterns = known.matched.clone();
        let conclusion = match (inside_dependency(reading, known.by.as_ref()), &known.by) {
            (Some(conclusion), _) => conclusion,
            (None, Some(known)) => explained(known.clone(), reading),
            (None, None) => derived(failure, reading, at.as_ref(), changes),
        };
        let base = Confidence::percent(conclusion.certainty);
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
fn explained(known: known::Match, reading: &Reading) -> Conclusion {
    let known::Match { category, retry, confidence, mut cause, mut action, reason } = known;
    match &reading.sides {
        Some(Sides { expected, actual, .. }) if category == TypeMismatch => {
            let (wanted, got) = (code(expected), code(actual));
            cause = format!("{got} stands where {wanted} is expected: {}.", said(reading));
            action = format!("Convert {got} to {wanted} at this line.");
        }
        // A sentence that names nothing of this failure is followed by the error itself.
        _ if !cause.contains('`') => cause = format!("{}: {}.", cause.trim_end_matches('.'), said(reading)),
        _ => {}
    }
    Conclusion { category, retry, certainty: confidence, cause, action, reason }
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
    frame
        .map(Frame::location)
        .or_else(|| failure.source.as_ref().and_then(|s| located(&s.file, s.line, s.function.as_ref())))
        .or_else(|| failure.test_file.as_ref().and_then(|file| located(file, failure.line_number, None)))
}

/// A failure inside a library: what is wrong is how the repository calls it.
fn inside_dependency(reading: &Reading, known: Option<&known::Match>) -> Option<Conclusion> {
    if matches!(reading.error_type, ErrorType::AssertionError | ErrorType::CompileError | ErrorType::LintError) {
        return None;
    }
    let speaks_of_the_line = known.is_none_or(|known| {
        known.retry == RetryClass::Code && !matches!(known.category, DependencyIssue | ConfigurationError | Environment)
    });
    let innermost = reading.frames.iter().find(|frame| frame.origin != Origin::Toolchain)?;
    let package = innermost.package()?;
    let caller = reading.own_frame()?;
    if !speaks_of_the_line {
        return None;
    }
    let package = code(&package);
    // What this repository calls is the outermost of the library's frames.
    let before =
        reading.frames.iter().take_while(|frame| *frame != caller).filter(|frame| frame.package().is_some()).last();
    let called = before.and_then(|frame| frame.function.as_deref()).map_or_else(|| package.clone(), code);
    Some(Conclusion {
        category: known.map_or(ApiMisuse, |known| known.category),
        retry: RetryClass::Code,
        certainty: 65,
        cause: format!("{package} fails with {} when {called} is called at {}.", said(reading), code(&shown(caller))),
        action: format!("Check the arguments of {called} before this call, and handle there the case that it rejects."),
        reason: "The library is not part of this repository; this call is the last place in it that can prevent the \
                 failure."
            .to_owned(),
    })
}

fn shown(frame: &Frame) -> String {
    frame.line.map_or_else(|| frame.file.clone(), |line| format!("{}:{line}", frame.file))
}

/// What the error says of itself, as one code span.
pub(in crate::failure) fn said(reading: &Reading) -> String {
    let first = reading.message.lines().map(str::trim).find(|line| !line.is_empty());
    let class = reading.class.as_deref().filter(|class| !matches!(*class, "panic" | "Error" | "AssertionError"));
    match (class, first.map(text::without_advice).filter(|first| !first.is_empty())) {
        (Some(class), Some(first)) if !first.contains(class) => code(&format!("{class}: {first}")),
        (_, Some(first)) => code(first),
        (Some(class), None) => code(class),
        (None, None) => code(reading.error_type.as_str()),
    }
}

/// What follows from the kind of the error alone.
fn derived(failure: &Failure, reading: &Reading, at: Option<&SourceLocation>, changes: &Changes) -> Conclusion {
    let conclude = |category, certainty, action: String, reason: &str| Conclusion {
        category,
        retry: RetryClass::Code,
        certainty,
        cause: format!("{}.", said(reading)),
        action,
        reason: reason.to_owned(),
    };
    match (reading.error_type, &reading.sides) {
        (ErrorType::CompileError, _) => conclude(
            Other,
            60,
            "Correct this line as the compiler's message asks.".to_owned(),
            "Nothing that needs this file can be built or tested before it compiles.",
        ),
        (ErrorType::LintError, _) => conclude(
            Other,
            75,
            format!(
                "Rewrite this line so that the rule {} accepts it.",
                reading.class.as_deref().map_or_else(String::new, code)
            ),
            "The check fails while one report of this rule is left; disabling the rule takes a reviewer's consent.",
        ),
        (ErrorType::SyntaxError, _) => conclude(
            Other,
            80,
            "Correct the syntax at this line.".to_owned(),
            "Nothing of a file that does not parse can run.",
        ),
        (ErrorType::TimeoutError, _) => Conclusion {
            retry: RetryClass::Logic,
            ..conclude(
                LogicError,
                55,
                "Find what the innermost own frame waits for, and make the code under test deliver it on this path."
                    .to_owned(),
                "The limit was reached because the awaited result did not come.",
            )
        },
        (ErrorType::NetworkError, _) => Conclusion {
            retry: RetryClass::External,
            ..conclude(
                Environment,
                60,
                "Run the check again; nothing in the code has to change for it.".to_owned(),
                "The service or the network between was not available at that moment.",
            )
        },
        (_, Some(sides)) => comparison(failure, sides, at, changes),
        (ErrorType::AssertionError, None) => conclude(
            LogicError,
            45,
            format!("Make the asserted condition hold: correct the computation {}.", in_suspect(failure, at, changes)),
            "The test states the requirement; it stays as it is unless the requirement itself changed.",
        ),
        (ErrorType::TypeError, None) => conclude(
            TypeMismatch,
            50,
            "Give this line a value of the type that the message asks for.".to_owned(),
            "The value has another type here than the operation needs.",
        ),
        (ErrorType::ReferenceError, None) => conclude(
            ApiMisuse,
            55,
            "Bring the name into scope before this line, spelt as it is used here.".to_owned(),
            "The name is looked up when the line runs, and there is none in scope.",
        ),
        (ErrorType::ValidationError, None) => conclude(
            MissingValidation,
            50,
            "Validate the input before this line, and handle the case that the message names.".to_owned(),
            "The value reached this line unchecked.",
        ),
        (ErrorType::RuntimeError | ErrorType::Other, None) => conclude(
            if failure.error_message.is_empty() && failure.stack_trace.is_none() {
                Other
            } else {
                MissingErrorHandling
            },
            if at.is_some() { 35 } else { 20 },
            "Mend the state in which this line raises the error.".to_owned(),
            "The error reached the test unhandled.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::read::changes::ChangedFile;

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
            ("expected 3 to be 4", OffByOne),
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
