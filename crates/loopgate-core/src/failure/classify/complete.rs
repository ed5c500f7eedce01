//! What a report left out of a failure, read from the failure's own texts.

use std::sync::LazyLock;

use super::fingerprint;
use crate::{
    evidence::{ErrorType, Failure, SourceLocation},
    expressions::Patterns,
    failure::read::{Changes, Frame, Reading, describes_place, is_trace_line, paths, text},
    source_files::is_test,
};

/// Whether a failure that was read from an output shows why it failed: by a field of its own, or in the first `lines` of
/// its message.
pub fn says_why(failure: &Failure, lines: usize) -> bool {
    failure.test_name.is_some()
        || failure.source.is_some()
        || failure.expected.is_some()
        || failure.error_type != ErrorType::Other
        || failure.error_class.is_some()
        || failure
            .error_message
            .lines()
            .take(lines)
            .any(text::names_failure)
}

/// Reads a failure from a text. All of its fields come from the text.
pub fn read_failure(text: &str) -> Failure {
    /// The most lines that the caller of a shell prints after a program that was not found.
    const MOST_AFTER: usize = 5;
    let mut cleaned = text::clean(text);
    // Of an output at whose end a shell or make did not find a program the end is read: the output above it is mostly
    // warnings, which did not end the run.
    let is_missing = |line: &&str| match line.trim_end().rsplit_once(": ") {
        Some((who, "not found" | "command not found")) => who.contains(": "),
        Some((who, "No such file or directory")) => who.starts_with("make"),
        _ => false,
    };
    let mut lines: Vec<&str> = cleaned.lines().collect();
    let at = lines
        .iter()
        .rposition(is_missing)
        .filter(|at| lines.len() - at - 1 <= MOST_AFTER);
    if let Some(at) = at {
        // Below it an error names its own place: the run went on without the program.
        if lines[at + 1..]
            .iter()
            .any(|line| is_trace_line(line) || describes_place(line))
        {
            lines.remove(at);
        } else {
            lines.drain(..at);
        }
        cleaned = lines.join("\n");
    }
    let found = TEST_NAMES.first(&cleaned).map(|(_, captures)| captures);
    let name = found.as_ref().and_then(|captures| captures.name("name"));
    let name = name.map(|name| text::one_line(name.as_str(), 200));
    let test_file = found.as_ref().and_then(|captures| captures.name("file"));
    let test_file = test_file
        .map(|file| paths::tidy(file.as_str()))
        .filter(|file| name.is_some() || is_test(file));
    // Threads that are no test, and files that could not be loaded.
    let no_test = |name: &String| {
        matches!(name.as_str(), "main" | "<unnamed>")
            || name.starts_with("tokio-")
            || name.starts_with("ERROR ")
    };
    let test_name = name.filter(|name| !no_test(name));
    read_block(Failure {
        test_name,
        test_file,
        error_message: cleaned.clone(),
        stack_trace: Some(cleaned),
        ..Failure::default()
    })
}

/// A failure whose texts are one block of a tool's output: fills in the summary of its message and its other fields.
pub fn read_block(mut failure: Failure) -> Failure {
    let reading = Reading::of(&failure);
    failure.error_type = reading.error_type;
    failure.error_class = reading.class;
    failure.error_message = reading.message;
    complete(&mut failure);
    failure
}

/// Fills in, from the failure's own texts, what a report left out: class and type, both sides, the place in the
/// repository, the fingerprint. Paths become those of the repository. The fingerprint is always computed anew: the
/// author of the evidence chose the one that came with it.
pub fn complete(failure: &mut Failure) {
    let reading = Reading::of(failure);
    let fingerprint = fingerprint::of_reading(failure, &reading);
    let located = |file: &str| Changes::default().locate(file, None).0;
    if let Some(file) = &mut failure.test_file {
        *file = located(file);
    }
    if let Some(source) = &mut failure.source {
        source.file = located(&source.file);
    }
    // An error in a library's header stands where the repository asked for it.
    let is_ours = |source: &SourceLocation| {
        let origin = Changes::default().locate(&source.file, None).1;
        origin.in_repository()
    };
    if !failure.source.as_ref().is_some_and(is_ours) {
        let mut frames = reading.frames.iter();
        let frame = frames.find(|frame| frame.origin.in_repository());
        failure.source = frame.map(Frame::location).or(failure.source.take());
    }
    let in_file = |file: &String| reading.frames.iter().find(|frame| frame.file == *file);
    // Some reports take the file that fails for the test's.
    let named = failure
        .test_file
        .as_ref()
        .filter(|file| is_test(file) || reading.test_frame().is_none());
    if let Some(frame) = named.map_or_else(|| reading.test_frame(), in_file) {
        if failure.test_file.as_deref() != Some(&frame.file) {
            failure.test_file = Some(frame.file.clone());
            failure.line_number = None;
        }
        failure.line_number = failure.line_number.or(frame.line);
    }
    if let Some(sides) = reading.sides {
        failure.expected.get_or_insert(sides.expected);
        failure.actual.get_or_insert(sides.actual);
    }
    failure.error_type = reading.error_type;
    failure.error_class = failure.error_class.take().or(reading.class);
    failure.fingerprint = Some(fingerprint);
}

/// Lines in which runners name the test that failed.
static TEST_NAMES: LazyLock<Patterns> = LazyLock::new(|| {
    Patterns::new([
        r"(?m)^\s*thread '(?P<name>[^'\n]+)' (?:\([0-9]+\) )?panicked",
        r"(?m)^\s*--- FAIL: (?P<name>\S+)",
        // pytest heads its tables and what it cannot collect alike.
        r"(?m)^_{3,} (?P<name>[^\s_:][^\s\[]*(?:\[[^\n]*\])?) _{3,}$",
        r"(?m)^FAILED (?P<name>(?P<file>[^\s:]+)::\S+)",
        r"(?m)^\s*● (?P<name>[^\n]+ › [^\n]+)$",
        r"(?m)^\s*(?:FAIL|×|✗)\s+(?P<file>\S+\.[cm]?[jt]sx?) > (?P<name>[^\n]+)$",
        r"(?m)^test (?P<name>\S+) \.\.\. FAILED",
        r"(?m)^[0-9]+\) (?P<name>\S+::\S+)",
        r"(?m)^(?P<name>[A-Za-z0-9_.]+ > \S+\(\)) FAILED",
        r"(?m)^\s+[0-9]+\) (?P<name>[A-Z][^\n]+)$",
        // The file of failing tests, and nothing else.
        r"(?m)^\s*(?:FAIL|FAILED|✗|×)\s+(?P<file>[^\s:]+\.[A-Za-z]{1,5})$",
    ])
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_header_of_a_library_stands_where_the_repository_asks_for_it() {
        let text = "src/parcel.cc:10:17:   required from here\n\
                    /usr/include/c++/12/bits/stl_list.h:188:34: error: no match for 'operator<'";
        let mut failure = Failure {
            error_message: "no match for 'operator<'".into(),
            source: Some(SourceLocation {
                file: "/usr/include/c++/12/bits/stl_list.h".into(),
                line: Some(188),
                function: None,
            }),
            stack_trace: Some(text.into()),
            ..Failure::default()
        };
        complete(&mut failure);
        let source = failure.source.unwrap();
        assert_eq!(
            (source.file.as_str(), source.line),
            ("src/parcel.cc", Some(10))
        );
    }

    #[test]
    fn completion_keeps_what_the_report_said() {
        let mut failure = Failure {
            test_name: Some("total".into()),
            test_file: Some("/home/runner/work/shop/shop/tests/test_cart.py".into()),
            expected: Some("30".into()),
            actual: Some("20".into()),
            error_message: "assert 1 == 2".into(),
            fingerprint: Some("0000000000000000".parse().unwrap()),
            stack_trace: Some("tests/test_cart.py:8: AssertionError".into()),
            ..Failure::default()
        };
        complete(&mut failure);
        assert_eq!(
            (failure.expected.as_deref(), failure.actual.as_deref()),
            (Some("30"), Some("20"))
        );
        assert_eq!(
            (failure.test_file.as_deref(), failure.line_number),
            (Some("tests/test_cart.py"), Some(8))
        );
        assert_eq!(
            failure.fingerprint,
            Some(fingerprint::fingerprint(&failure))
        );
        let once = failure.clone();
        complete(&mut failure);
        assert_eq!(failure, once);
    }

    #[test]
    fn a_program_that_is_not_there_is_the_failure_and_no_warning_before_it() {
        for (missing, end) in [
            (
                "sh: 1: python: not found",
                "make: *** [Makefile:7: test] Error 127\n",
            ),
            ("bash: line 1: python: command not found", ""),
            (
                "make: python: No such file or directory",
                "make: *** [Makefile:2: all] Error 127\n",
            ),
        ] {
            let log = format!(
                "src/lib.c:12:5: warning: unused variable 'x' [-Wunused-variable]\n1 warning generated.\n{missing}\n{end}"
            );
            let failure = read_failure(&log);
            assert_eq!(failure.error_message.lines().next(), Some(missing));
            assert!(
                failure.source.is_none_or(|at| at.file != "src/lib.c"),
                "the warning's place is not the failure's"
            );
        }
        let handled = "sh: 1: tput: not found\na\nb\nc\nd\ne\nError: 3 is not 4\n";
        assert_eq!(read_failure(handled).error_message, "3 is not 4");
    }

    /// In a margin, below a warning with a place of its own.
    #[test]
    fn the_place_of_an_error_is_not_the_warnings_above_it() {
        let log = "╷\n│ Warning: Argument is deprecated\n│ \n│   on main.tf line 3, in resource \"a\" \"b\":\n╵\n╷\n\
                   │ Error: Reference to undeclared input variable\n│ \n│   on queue.tf line 12, in resource \"c\" \"d\":\n╵\n";
        let failure = read_failure(log);
        assert_eq!(
            failure.source.map(|at| (at.file, at.line)),
            Some(("queue.tf".to_owned(), Some(12)))
        );
        assert_eq!(
            failure.error_message.lines().next(),
            Some("Reference to undeclared input variable")
        );
    }

    #[test]
    fn a_failing_file_is_not_the_test_s() {
        let mut failure = Failure {
            test_name: Some("tests.test_cart.test_total".into()),
            test_file: Some("shop/cart.py".into()),
            line_number: Some(4),
            error_message: "AttributeError: 'NoneType' object has no attribute 'price'".into(),
            stack_trace: Some("tests/test_cart.py:5: \nshop/cart.py:4: AttributeError".into()),
            ..Failure::default()
        };
        complete(&mut failure);
        assert_eq!(
            (failure.test_file.as_deref(), failure.line_number),
            (Some("tests/test_cart.py"), Some(5))
        );
        assert_eq!(
            failure.source.map(|source| (source.file, source.line)),
            Some(("shop/cart.py".into(), Some(4)))
        );
    }

    #[test]
    fn test_names_are_found() {
        let cases = [
            ("_____ ERROR collecting tests/test_imp.py _____", None),
            (
                "_______________ coverage: platform linux, python 3.11.7-final-0 ________________",
                None,
            ),
            (
                "______ test_total[two words] ______",
                Some("test_total[two words]"),
            ),
            ("thread 'main' panicked at src/main.rs:1:1:", None),
            ("--- FAIL: TestTotal (0.00s)", Some("TestTotal")),
            ("______ test_total ______", Some("test_total")),
            (
                "FAILED tests/test_cart.py::test_total - assert 1 == 2",
                Some("tests/test_cart.py::test_total"),
            ),
            ("  ● cart › adds", Some("cart › adds")),
            (
                " FAIL  test/cart.test.ts > cart > adds",
                Some("cart > adds"),
            ),
            ("1) CartTest::testTotal", Some("CartTest::testTotal")),
            ("CartTest > total() FAILED", Some("CartTest > total()")),
            ("  1) Cart adds", Some("Cart adds")),
        ];
        for (text, name) in cases {
            assert_eq!(read_failure(text).test_name.as_deref(), name, "{text}");
        }
    }
}
