//! What an error calls itself: class, normalised type and message, out of the text of any tool.

use std::sync::LazyLock;

use super::{
    cause,
    error_type::{HEADLINES, type_of},
    stack, text,
};
use crate::{evidence::ErrorType, expressions::Patterns};

/// Most lines of a message that belong to its headline.
const MAX_LINES: usize = 16;

/// The line in which a text shows what went wrong, and what follows of its message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::failure) struct Headline {
    /// The tool's own name: `panic`, `TypeError`, `E0308`, `no-unused-vars`.
    pub class: Option<String>,
    pub error_type: ErrorType,
    pub message: String,
}

static PATTERNS: LazyLock<Patterns> =
    LazyLock::new(|| Patterns::new(HEADLINES.form.iter().map(|form| &form.pattern)));

/// The headline of the error that caused the others, in a text with a chain of errors, with `made` below it.
pub(in crate::failure) fn deepest_cause(cleaned: &str, made: &Headline) -> Option<Headline> {
    // What is no error, an object for instance, may be the cause of one.
    let is_error = |cause: &Headline| {
        cause.class.is_some() || cause.message.starts_with(char::is_alphanumeric)
    };
    let chain = cause::chain(cleaned);
    let (_, causes) = chain.split_last()?;
    let cause = causes
        .iter()
        .map(|lines| headline(&unindented(lines), false))
        .find(is_error)?;
    let first = |headline: &Headline| {
        headline
            .message
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let class = made
        .class
        .as_ref()
        .map(|class| format!("{class}: "))
        .unwrap_or_default();
    let message = format!("{}\n{class}{}", cause.message, first(made));
    // Jest gives each time-out itself as its cause.
    (first(&cause) != first(made)).then_some(Headline { message, ..cause })
}

/// The lines of a cause, with those below the first moved to the left: what another tool printed is quoted there.
fn unindented(lines: &[&str]) -> String {
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let below = lines.get(1..).unwrap_or_default();
    let least = below
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(indent)
        .min()
        .unwrap_or_default();
    let first = lines.first().copied().into_iter();
    let below = below
        .iter()
        .map(|line| line.get(least..).unwrap_or_default());
    first.chain(below).collect::<Vec<_>>().join("\n")
}

/// Reads the headline of a message that [`text::clean`] has bounded, or of all that a tool printed, which may begin
/// with lines that show nothing of a failure.
pub(in crate::failure) fn headline(cleaned: &str, is_output: bool) -> Headline {
    let lines = &*cleaned.lines().collect::<Vec<_>>();
    // A Python traceback ends with its error; the last of a chain is the one that was raised.
    let traceback = lines
        .iter()
        .rposition(|line| line.ends_with("Traceback (most recent call last):"));
    let found = traceback
        .and_then(|start| find(lines, start + 1))
        .or_else(|| find(lines, 0));
    // The error at the end of a Python traceback whose class ends like no other's: `socket.gaierror: [Errno -2] …`.
    let end_of_traceback = |start: usize| {
        let last_frame = lines[start..]
            .iter()
            .rposition(|line| line.starts_with(' '))?;
        let last = lines[start + last_frame + 1..]
            .iter()
            .find(|line| !line.is_empty())?;
        let (class, message) = last.split_once(": ")?;
        let is_class = !class.is_empty()
            && class
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_'));
        is_class.then(|| Headline {
            class: Some(text::shorten(class, 120)),
            error_type: type_of(Some(class), message),
            message: message.to_owned(),
        })
    };
    let Some((index, row)) = found else {
        return traceback
            .and_then(end_of_traceback)
            .unwrap_or_else(|| without_form(lines, is_output));
    };
    let form = &HEADLINES.form[row];
    let Some(captures) = PATTERNS.captures(row, lines[index]) else {
        return without_form(lines, is_output);
    };
    let first = captures.name("msg").map_or("", |found| found.as_str());
    // `cm.c:7: error: Failure!` names no more than the place; what was wrong stands above.
    if !first.is_empty() && text::is_outcome(first) && index > 0 && form.error_type.is_some() {
        return headline(&lines[..index].join("\n"), is_output);
    }
    // The next line of a compiler or linter is its next finding.
    let is_finding = matches!(
        form.error_type,
        Some(ErrorType::CompileError | ErrorType::LintError | ErrorType::TypeError)
    );
    let message = if is_finding && !first.is_empty() {
        first.trim().to_owned()
    } else {
        message_block(first, &lines[index + 1..])
    };
    let captured = captures
        .name("class")
        .map(|class| text::shorten(class.as_str(), 120));
    let class = captured.or_else(|| form.class.clone());
    let named = lines[index..]
        .iter()
        .take(60)
        .filter(|_| form.error_type.is_none() && class.is_none());
    // The lint named below a message of rustc or clippy: `-D clippy::needless-return`, `#[deny(unused_variables)]`.
    let lint = pattern!(
        r"(?:`-[DWF] (?P<flag>[a-z:_-]+)`|#\[(?:deny|warn|forbid)\((?P<attribute>[a-z:_]+)\)\])"
    );
    if let Some(captures) = named.into_iter().find_map(|line| lint.captures(line)) {
        let lint = captures
            .name("flag")
            .or_else(|| captures.name("attribute"))
            .map(|name| name.as_str());
        let class = lint.map(|lint| lint.replace('-', "_"));
        return Headline {
            class,
            error_type: ErrorType::LintError,
            message,
        };
    }
    let points_at_source = lines
        .get(index + 1)
        .is_some_and(|line| line.trim_start().starts_with("--> "));
    let error_type = match form.error_type {
        Some(error_type) => error_type,
        None if class.is_none() && points_at_source => ErrorType::CompileError,
        None => type_of(class.as_deref(), &message),
    };
    Headline {
        class,
        error_type,
        message,
    }
}

fn find(lines: &[&str], start: usize) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize)> = None;
    for (index, line) in lines.iter().enumerate().skip(start) {
        if HEADLINES
            .summaries
            .iter()
            .any(|summary| line.starts_with(summary.as_str()))
        {
            continue;
        }
        if let Some(row) = PATTERNS.matching(line).first().copied()
            && best.is_none_or(|(_, known)| row < known)
        {
            best = Some((index, row));
        }
    }
    best
}

/// The message and the lines that continue it, up to a frame, an excerpt of source, a backtrace's heading or the next
/// failure.
fn message_block(first: &str, following: &[&str]) -> String {
    let ends_message = |line: &str| {
        let trimmed = line.trim_start();
        HEADLINES
            .ends
            .iter()
            .any(|end| trimmed.starts_with(end.as_str()))
            || is_source_excerpt(trimmed)
            || stack::is_trace_line(line)
    };
    let mut block = String::from(first.trim());
    for line in following.iter().take(MAX_LINES) {
        if ends_message(line) {
            break;
        }
        let line = line
            .strip_prefix("E  ")
            .or(line.strip_prefix('E').filter(|rest| rest.is_empty()))
            .unwrap_or(line);
        let line = line.trim_end();
        if !block.is_empty() || !line.is_empty() {
            if !block.is_empty() {
                block.push('\n');
            }
            block.push_str(line);
        }
    }
    block.truncate(block.trim_end().len());
    block
}

/// `  12 | code`, `> 12 | code`, `   | ^^^`
pub(in crate::failure) fn is_source_excerpt(trimmed: &str) -> bool {
    let rest = trimmed
        .trim_start_matches(['>', ' '])
        .trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.trim_start();
    (rest.starts_with('|') || rest.starts_with('│'))
        && (rest.len() < trimmed.len() || rest.starts_with("| "))
}

/// How a runner's line with the test's name begins: `  ● cart › adds`, ` FAIL  test/cart.test.ts > cart`,
/// `# example.com/cart`.
const TITLES: [&str; 11] = [
    "● ",
    "FAIL ",
    "# ",
    "> ",
    "npm warn",
    "npm WARN",
    "--- FAIL",
    "====",
    "____",
    "[gw",
    "✘ [fail]",
];

/// Whether a line of a program's output is none of its sentences: an address, or a line of JSON.
fn is_data(trimmed: &str) -> bool {
    let is_link = trimmed.starts_with("http://") || trimmed.starts_with("https://");
    let is_json = trimmed.starts_with('{') && trimmed.ends_with('}')
        || pattern!(r#"^"[\w.-]+":"#).is_match(trimmed);
    is_link && !trimmed.contains(' ') || is_json
}

/// The lines that belong to a warning of Python's: it names its class, and may go on up to an empty line.
fn warnings(lines: &[&str]) -> Vec<bool> {
    let begins = pattern!(r"^(?:\S+:[0-9]+: )?(?:\w+\.)*\w*Warning: ");
    let mut is_inside = false;
    let belongs = |line: &&str| {
        is_inside = !line.trim().is_empty() && (is_inside || begins.is_match(line));
        is_inside
    };
    lines.iter().map(belongs).collect()
}

fn without_form(lines: &[&str], is_output: bool) -> Headline {
    let of_warning = warnings(lines);
    let remaining: Vec<&str> = lines
        .iter()
        .zip(&of_warning)
        .filter(|(_, is_warning)| !**is_warning)
        .map(|(line, _)| *line)
        .collect();
    // A warning alone may be what the run ended with.
    let has_text = remaining.iter().any(|line| !line.trim().is_empty());
    let lines: &[&str] = if is_output && has_text {
        &remaining
    } else {
        lines
    };
    let has_message = |line: &&str| {
        let trimmed = line.trim_start();
        let is_title = TITLES.iter().any(|start| trimmed.starts_with(start));
        !trimmed.is_empty()
            && !is_title
            && !is_data(trimmed)
            && !stack::is_trace_line(line)
            && !is_source_excerpt(trimmed)
    };
    let first = |counts: fn(&str) -> bool| {
        lines
            .iter()
            .position(|line| is_output && has_message(line) && counts(line))
    };
    let last = |counts: fn(&str) -> bool| {
        lines
            .iter()
            .rposition(|line| is_output && has_message(line) && counts(line))
    };
    // Marked as an error: `CMake Error at …`, `❌ Error: …`, `ERROR 404: …`, `… - ERROR - …` of a logger. A line that names its place shows what is
    // wrong there, in whatever words.
    let is_marked = |line: &str| {
        pattern!(r"(?:^\W*(?:\w+ )?|\s-\s+)(?:[Ee]rror|ERROR|[Ff]atal|FATAL)(?:\W|$)")
            .is_match(text::prefix(line, 80))
    };
    let start = first(is_marked).or_else(|| first(stack::describes_place));
    // What ended the run stands last, and says so: `Coverage failure: total of 67 is less than fail-under=95`.
    let ends_run = |line: &str| {
        pattern!(r"(?i)\b(?:failure|failed|error): \S").is_match(text::prefix(line, 200))
            && text::names_failure(line)
    };
    let start = start.or_else(|| last(ends_run));
    let start = start.or_else(|| first(text::names_failure));
    let start = start.or_else(|| lines.iter().position(has_message));
    let start = start.or_else(|| lines.iter().position(|line| !line.trim().is_empty()));
    let message = start.map_or_else(String::new, |start| {
        message_block(lines[start], &lines[start + 1..])
    });
    let error_type = type_of(None, &message);
    Headline {
        class: None,
        error_type,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::ErrorType::{
        AssertionError, CompileError, LintError, RuntimeError, TypeError,
    };

    fn read(text: &str) -> (Option<String>, ErrorType, String) {
        let headline = headline(&text::clean(text), false);
        (headline.class, headline.error_type, headline.message)
    }

    #[test]
    fn headlines_of_many_tools() {
        use ErrorType::{
            NetworkError, Other, ReferenceError, SyntaxError, TimeoutError, ValidationError,
        };
        let cases: &[(&str, Option<&str>, ErrorType, &str)] = &[
            (
                "thread 'adds' panicked at src/lib.rs:10:9:\nassertion `left == right` failed\n  left: 3\n right: 4\nnote: run with `RUST_BACKTRACE=1`",
                Some("panic"),
                AssertionError,
                "assertion `left == right` failed\n  left: 3\n right: 4",
            ),
            (
                "thread 'main' panicked at 'boom', src/main.rs:2:5",
                Some("panic"),
                RuntimeError,
                "boom",
            ),
            (
                "error[E0308]: mismatched types\n --> src/a.rs:4:5\n  |\n4 |  x\n",
                Some("E0308"),
                CompileError,
                "mismatched types",
            ),
            (
                "error: unneeded `return` statement\n --> src/a.rs:4:5\n  = note: `-D clippy::needless-return` implied by `-D warnings`",
                Some("clippy::needless_return"),
                LintError,
                "unneeded `return` statement",
            ),
            (
                "error: expected `;`, found `}`\n --> src/a.rs:4:5",
                None,
                CompileError,
                "expected `;`, found `}`",
            ),
            (
                "src/a.ts(9,4): error TS2339: Property 'x' does not exist on type 'Y'.",
                Some("TS2339"),
                CompileError,
                "Property 'x' does not exist on type 'Y'.",
            ),
            (
                "/w/src/a.ts\n  9:4  error  'tax' is never used  no-unused-vars",
                Some("no-unused-vars"),
                LintError,
                "'tax' is never used",
            ),
            (
                "a.py:1:8: F401 [*] `os` imported but unused",
                Some("F401"),
                LintError,
                "`os` imported but unused",
            ),
            (
                "a.py:9: error: Incompatible return value type  [return-value]",
                Some("return-value"),
                TypeError,
                "Incompatible return value type",
            ),
            (
                "src/a.c:9:4: error: 'x' undeclared",
                None,
                CompileError,
                "'x' undeclared",
            ),
            (
                "./a.go:9:4: undefined: x",
                None,
                CompileError,
                "undefined: x",
            ),
            (
                "panic: runtime error: index out of range [3] with length 3 [recovered]\n\ngoroutine 7 [running]:",
                Some("panic"),
                RuntimeError,
                "runtime error: index out of range [3] with length 3",
            ),
            (
                "    a_test.go:12: Total() = 20, want 30",
                None,
                AssertionError,
                "Total() = 20, want 30",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nKeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    f()\nValueError: no a",
                Some("ValueError"),
                ValidationError,
                "no a",
            ),
            (
                ">       assert add(1, 2) == 4\nE       assert 3 == 4\nE        +  where 3 = add(1, 2)\n\ntests/test_a.py:5: AssertionError",
                Some("AssertionError"),
                AssertionError,
                "assert 3 == 4\n      +  where 3 = add(1, 2)",
            ),
            (
                "    TypeError: Cannot read properties of undefined (reading 'x')\n        at f (src/a.js:1:2)",
                Some("TypeError"),
                TypeError,
                "Cannot read properties of undefined (reading 'x')",
            ),
            (
                "ReferenceError: y is not defined",
                Some("ReferenceError"),
                ReferenceError,
                "y is not defined",
            ),
            (
                "SyntaxError: Unexpected token '}'",
                Some("SyntaxError"),
                SyntaxError,
                "Unexpected token '}'",
            ),
            (
                "  ● cart › adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 4\n    Received: 3\n\n      10 | test(\n    > 11 |   expect(add(1, 2)).toBe(4);",
                Some("JestAssertionError"),
                AssertionError,
                "expect(received).toBe(expected) // Object.is equality\n\n    Expected: 4\n    Received: 3",
            ),
            (
                "org.opentest4j.AssertionFailedError: expected: <30> but was: <20>\n\tat a.B.c(B.java:1)",
                Some("org.opentest4j.AssertionFailedError"),
                AssertionError,
                "expected: <30> but was: <20>",
            ),
            (
                "Exception in thread \"main\" java.lang.NullPointerException",
                Some("java.lang.NullPointerException"),
                RuntimeError,
                "",
            ),
            (
                "java.net.ConnectException: Connection refused",
                Some("java.net.ConnectException"),
                NetworkError,
                "Connection refused",
            ),
            (
                "lib/a.rb:9:in 'total': undefined method 'price' for nil (NoMethodError)",
                Some("NoMethodError"),
                TypeError,
                "undefined method 'price' for nil",
            ),
            (
                "Failed asserting that 20 matches expected 30.",
                Some("ExpectationFailedException"),
                AssertionError,
                "Failed asserting that 20 matches expected 30.",
            ),
            (
                "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x6",
                Some("AddressSanitizer"),
                RuntimeError,
                "heap-use-after-free on address 0x6",
            ),
            (
                "Error: thrown: \"Exceeded timeout of 5000 ms for a test.\"",
                Some("Error"),
                TimeoutError,
                "thrown: \"Exceeded timeout of 5000 ms for a test.\"",
            ),
            (
                "asyncio.exceptions.TimeoutError",
                Some("asyncio.exceptions.TimeoutError"),
                TimeoutError,
                "",
            ),
            (
                "something odd happened\nand more",
                None,
                Other,
                "something odd happened\nand more",
            ),
            ("", None, Other, ""),
        ];
        for (text, class, error_type, message) in cases {
            assert_eq!(
                read(text),
                (class.map(str::to_owned), *error_type, (*message).to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn summaries_are_no_headline() {
        let text = "error[E0425]: cannot find value `x` in this scope\n --> src/a.rs:1:1\n\nerror: could not compile `w` (lib) due to 1 previous error";
        assert_eq!(read(text).0.as_deref(), Some("E0425"));
        assert_eq!(
            read("error: could not compile `w` (lib)").1,
            ErrorType::Other
        );
    }
}
