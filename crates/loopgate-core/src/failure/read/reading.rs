//! One failure as its texts show it: read once, used by fingerprint, analysis and feedback.

use std::borrow::Cow;

use super::{
    asserted::is_reversed,
    changes::Changes,
    comparisons::Sides,
    error_type,
    expected::{self, TextKind},
    labelled::labelled,
    message,
    paths::{self, FrameOrigin},
    stack::{self, Frame},
    text, value,
};
use crate::{
    evidence::{ErrorType, Failure},
    source_files::is_test,
};

/// What the message and the trace of a failure show, within the bounds of [`text::clean`].
#[derive(Clone, Debug)]
pub(in crate::failure) struct Reading {
    pub class: Option<String>,
    pub error_type: ErrorType,
    /// What went wrong, without class, trace and excerpts of source.
    pub message: String,
    /// Message and trace, for word searches.
    pub whole: String,
    pub sides: Option<Sides>,
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// The innermost own frame as it is found without a pull request's files.
    pub top: Option<Frame>,
    /// What the frames are made of.
    printed: Vec<Frame>,
}

impl Reading {
    /// Reads a failure by itself, without the files of a pull request.
    pub fn of(failure: &Failure) -> Self {
        let message = text::clean(&failure.error_message);
        let trace = failure
            .stack_trace
            .as_deref()
            .map(text::clean)
            .unwrap_or_default();
        let whole = match (message.is_empty(), trace.is_empty()) {
            (false, false) if trace.contains(&message) => trace.clone(),
            (false, false) => text::clean(&format!("{message}\n{trace}")),
            (false, true) => message.clone(),
            (true, _) => trace.clone(),
        };
        let is_output = failure.test_name.is_none() && (message.is_empty() || message == trace);
        let mut headline = message::headline(
            if message.is_empty() { &trace } else { &message },
            is_output,
        );
        if headline.class.is_none() && !message.is_empty() && !trace.is_empty() {
            // Reports put the class above the trace, and only the words into the message.
            let of_trace = message::headline(&trace, false);
            headline.class = of_trace.class;
            headline.error_type = known(headline.error_type).unwrap_or(of_trace.error_type);
        }
        // Below the first line, which is the known class's, another error may be named: what this one caused.
        let is_below = |named: &String| {
            failure
                .error_class
                .as_ref()
                .is_some_and(|class| class != named)
                && !message.lines().next().unwrap_or_default().contains(named)
        };
        if headline.class.as_ref().is_some_and(is_below) {
            headline.message = message.clone();
        }
        let mut class = failure.error_class.clone().or(headline.class.clone());
        let mut error_type = known(failure.error_type)
            .or(known(headline.error_type))
            .unwrap_or_else(|| error_type::type_of(class.as_deref(), &headline.message));
        // What an assertion shows is what went wrong, whatever was thrown on the way to it.
        let is_assertion = class.as_deref().is_some_and(error_type::is_assertion);
        if let Some(cause) = message::deepest_cause(&whole, &headline).filter(|_| !is_assertion) {
            (class, error_type, headline.message) = (cause.class, cause.error_type, cause.message);
        }
        let kind = TextKind::of(class.as_deref(), error_type);
        let found = match kind {
            TextKind::Exception => expected::sides_in(&headline.message, kind),
            TextKind::Assertion | TextKind::Anything => {
                let whole = without_source(&whole);
                let (block, own) = from_line_of(&headline.message, &whole);
                // The next assertion that failed may stand below.
                let of_message =
                    || expected::sides_in(&headline.message, kind).filter(|sides| sides.is_whole);
                let around = if kind == TextKind::Anything {
                    block
                } else {
                    &whole
                };
                let of_text =
                    || expected::sides_in(own, kind).or_else(|| expected::sides_in(around, kind));
                of_message().or_else(of_text)
            }
            TextKind::Finding => expected::sides_in(&whole, kind),
        };
        let found = match found {
            Some(sides)
                if is_reversed(&whole)
                    && labelled(&whole.lines().collect::<Vec<_>>()).is_none() =>
            {
                Some(sides.turned())
            }
            found => found,
        };
        // JUnit 3 and 4 compare two texts so, and mark what differs; a list in brackets fails another class.
        let marks = |class: &str| class.ends_with("ComparisonFailure");
        let found = found.map(|sides| match class.as_deref().is_some_and(marks) {
            true => Sides {
                expected: value::unmarked(&sides.expected),
                actual: value::unmarked(&sides.actual),
                ..sides
            },
            false => sides,
        });
        let sides = match (&failure.expected, &failure.actual) {
            (Some(expected), Some(actual)) => {
                let (expected, actual) = (value::on_line(expected), value::on_line(actual));
                // The report may have taken them from the same lines.
                let same =
                    found.filter(|found| found.expected == expected && found.actual == actual);
                Some(same.unwrap_or(Sides {
                    expected,
                    actual,
                    is_whole: true,
                }))
            }
            _ => found,
        };
        let is_of_test = failure.test_name.is_some() || failure.test_file.is_some();
        let mut printed = if is_of_test {
            stack::printed(&trace)
        } else {
            places(&headline.message, &trace)
        };
        if printed.is_empty() {
            printed = stack::printed(&message);
        }
        let mut frames = stack::located(&printed, &Changes::default());
        let top = frames
            .iter()
            .find(|frame| frame.origin.in_repository())
            .cloned();
        frames
            .iter_mut()
            .for_each(|frame| known_file(frame, failure));
        Self {
            class,
            error_type,
            message: headline.message,
            whole,
            sides,
            frames,
            top,
            printed,
        }
    }

    /// Looks the frames up among the files a pull request changes; nothing else depends on them.
    pub fn look_up(&mut self, failure: &Failure, changes: &Changes) {
        self.frames = stack::located(&self.printed, changes);
        self.frames
            .iter_mut()
            .for_each(|frame| known_file(frame, failure));
    }

    /// The innermost frame in a test. Around a compiler's or linter's finding stand only its other findings.
    pub fn test_frame(&self) -> Option<&Frame> {
        let is_finding = matches!(
            self.error_type,
            ErrorType::CompileError | ErrorType::LintError
        );
        let mut own = self
            .frames
            .iter()
            .filter(|frame| frame.origin.in_repository() && !is_finding);
        own.find(|frame| is_test(&frame.file))
    }

    /// What the error shows of itself, as one code span.
    pub fn summary(&self) -> String {
        // The call in a test shows less than its result.
        let is_call = |line: &&str| {
            self.sides.is_none()
                && ["expect(", "expect {"]
                    .iter()
                    .any(|start| line.starts_with(start))
        };
        let mut lines = self
            .message
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let first = lines
            .clone()
            .find(|line| !is_call(line))
            .or_else(|| lines.next());
        // pytest: what was called stands below.
        let is_bare = matches!(
            first,
            Some("assert False" | "assert None" | "assert 0" | "assert []")
        );
        let called = self
            .message
            .lines()
            .find_map(|line| line.trim().strip_prefix("+  where "));
        let first = called.filter(|_| is_bare).or(first);
        // A heading shows nothing without what stands below it.
        let is_count = |first: &str| {
            first.starts_with(|c: char| c.is_ascii_digit()) && first.contains(" error")
        };
        let is_heading = first.is_some_and(|first| {
            first.ends_with(':') || is_count(first) || !first.contains([' ', '(', '.', '_'])
        });
        // So does a quotation that goes on.
        let is_open =
            first.is_some_and(|first| first.starts_with('"') && first.matches('"').count() == 1);
        let whole = first
            .filter(|_| is_heading || is_open)
            .map(|_| text::one_line(&self.message, 160));
        let first = whole.as_deref().or(first);
        let class = self
            .class
            .as_deref()
            .filter(|class| !matches!(*class, "panic" | "Error" | "AssertionError"));
        match (
            class,
            first
                .map(text::without_advice)
                .filter(|first| !first.is_empty()),
        ) {
            (Some(class), Some(first)) if !first.contains(class) => {
                text::code(&format!("{class}: {first}"))
            }
            (_, Some(first)) => text::code(first),
            (Some(class), None) => text::code(class),
            (None, None) => text::code(self.error_type.as_str()),
        }
    }
}

/// Without the arguments and the lines of source that pytest quotes: what a test compares is no side yet.
fn without_source(whole: &str) -> Cow<'_, str> {
    if !whole.lines().any(|line| line.starts_with("E  ")) {
        return Cow::Borrowed(whole);
    }
    let is_name =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
    let is_argument = |line: &str| {
        line.split_once(" = ")
            .is_some_and(|(name, _)| is_name(name))
    };
    let is_quoted =
        |line: &&str| line.starts_with("    ") || line.starts_with("> ") || is_argument(line);
    Cow::Owned(
        whole
            .lines()
            .filter(|line| !is_quoted(line))
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

/// A text from the line on in which a message begins, and before that from the line on under which it is indented: what
/// a program printed stands above.
fn from_line_of<'t>(message: &str, text: &'t str) -> (&'t str, &'t str) {
    let first = message.lines().next().filter(|first| !first.is_empty());
    let at = first.and_then(|first| text.find(first)).unwrap_or_default();
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let is_inner = |line: &&str| line.is_empty() || line.starts_with([' ', '\t', '#']);
    let above: usize = text[..start]
        .lines()
        .rev()
        .take_while(is_inner)
        .map(|line| line.len() + 1)
        .sum();
    (&text[start.saturating_sub(above)..], &text[start..])
}

/// The places of a message: in the traceback that it ends, else in its paragraph and below it, else in the few lines
/// above. One further above is that of something else.
fn places(message: &str, trace: &str) -> Vec<Frame> {
    const ABOVE: usize = 10;
    let at = trace
        .find(message.lines().next().unwrap_or_default())
        .unwrap_or_default();
    let above = trace[..at]
        .rmatch_indices('\n')
        .nth(ABOVE)
        .map_or(0, |(end, _)| end + 1);
    let paragraph = trace[above..at]
        .rfind("\n\n")
        .map_or(above, |end| above + end + 2);
    let traceback = trace[..at].rfind("Traceback (most recent call last):");
    match stack::printed(&trace[traceback.unwrap_or(paragraph)..]) {
        near if !near.is_empty() => near,
        _ => stack::printed(&trace[above..]),
    }
}

/// The machine that ran the tests knows the path of a file that the trace names only by its end (`com/acme/Cart.java`).
/// A bare name may be any file's; it is this one's where the line is the same.
fn known_file(frame: &mut Frame, failure: &Failure) {
    let source = failure
        .source
        .as_ref()
        .map(|source| (&source.file, source.line));
    let test = failure
        .test_file
        .as_ref()
        .map(|file| (file, failure.line_number));
    let is_meant = |(file, line): &(&String, Option<u32>)| {
        file.len() > frame.file.len()
            && !paths::is_absolute(file)
            && paths::ends_with(file, &frame.file)
            && (frame.file.contains('/') || line.is_some() && *line == frame.line)
    };
    if frame.origin == FrameOrigin::Repository
        && let Some((file, _)) = [source, test].into_iter().flatten().find(is_meant)
    {
        frame.file.clone_from(file);
    }
}

fn known(error_type: ErrorType) -> Option<ErrorType> {
    (error_type != ErrorType::Other).then_some(error_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_of_junit_are_no_part_of_a_text() {
        let table = [
            (
                "org.junit.ComparisonFailure",
                "ba[z]",
                "ba[r]",
                "baz",
                "bar",
            ),
            ("junit.framework.ComparisonFailure", "[a]", "[b]", "a", "b"),
            (
                "java.lang.AssertionError",
                "[1, 2]",
                "[1, 3]",
                "[1, 2]",
                "[1, 3]",
            ),
            (
                "java.lang.AssertionError",
                "row[0]",
                "row[1]",
                "row[0]",
                "row[1]",
            ),
        ];
        for (class, wanted, got, expected, actual) in table {
            let text = format!("{class}: expected:<{wanted}> but was:<{got}>");
            let sides = Reading::of(&Failure {
                error_message: text.clone(),
                ..Failure::default()
            })
            .sides;
            let sides = sides.map(|sides| (sides.expected, sides.actual));
            assert_eq!(
                sides,
                Some((expected.to_owned(), actual.to_owned())),
                "{text}"
            );
        }
    }

    /// The trace of a chain is often cut, and with it what links its errors.
    #[test]
    fn a_class_never_gets_the_words_of_the_error_that_it_caused() {
        let reading = Reading::of(&Failure {
            error_class: Some("json.decoder.JSONDecodeError".to_owned()),
            error_message: "Extra data: line 1 column 33\nenv.EnvError: \"JSON\" invalid"
                .to_owned(),
            stack_trace: Some(
                ">       raise EnvError()\nE       env.EnvError: \"JSON\" invalid".to_owned(),
            ),
            ..Failure::default()
        });
        assert_eq!(
            reading.summary(),
            "`json.decoder.JSONDecodeError: Extra data: line 1 column 33`"
        );
    }
}
