//! What a failing Rust test printed, in whatever format it was printed: a panic, an `Error:`, a doctest that does not
//! compile.

use loopgate_core::evidence::{ErrorType, Failure, SourceLocation};

use crate::{MAX_MESSAGE, numbers, text};

/// `src/lib.rs - shop::add (line 12)` → the file and the line where the example begins.
fn doctest_place(name: &str) -> Option<(&str, u32)> {
    let (file, rest) = name.split_once(" - ")?;
    let line = rest.rsplit_once("(line ")?.1.strip_suffix(')')?;
    Some((file, numbers::line(line)?))
}

/// What a failing test's output says; `test_file` is where it stands, if that is known.
pub(super) fn failure(output: &str, name: &str, test_file: &str) -> Failure {
    let output = output.trim();
    let doctest = doctest_place(name);
    let mut failure = read(output, name);
    failure.test_name = Some(text::name(name));
    failure.stack_trace = (!output.is_empty()).then(|| output.to_owned());
    if let Some((file, line)) = doctest {
        // Its panic counts lines of the file only where the toolchain maps them back; else those of a generated one,
        // which are fewer.
        let source = failure.source.as_ref().and_then(|source| Some((source, source.line?)));
        let is_mapped = |(source, at): &(&SourceLocation, u32)| {
            failure.error_type == ErrorType::CompileError || source.file.ends_with(file) && *at > line
        };
        let line = source.filter(is_mapped).map_or(line, |(_, at)| at);
        failure.test_file = Some(text::path(file));
        failure.line_number = Some(line);
        failure.source = Some(text::location(file, Some(line)));
        return failure;
    }
    let panicked_in = failure.source.as_ref().filter(|source| {
        let is_own = !source.file.starts_with('/') && !source.file.contains(":\\");
        is_own && source.file.ends_with(test_file)
    });
    failure.line_number = panicked_in.and_then(|source| source.line);
    failure.test_file = match (panicked_in, test_file.is_empty()) {
        (Some(source), _) => Some(source.file.clone()),
        (None, false) => Some(test_file.to_owned()),
        (None, true) => None,
    };
    failure
}

patterns! {
    /// How a panic was written before Rust 1.73: `panicked at 'boom', src/a.rs:1:2`.
    OLD_LAYOUT = r"(?sm) panicked at '(?P<message>.*?)', (?P<place>[^'\n]+:[0-9]+:[0-9]+)$";

    /// What a panic says goes on to the note about backtraces, the backtrace, or the next panic.
    MESSAGE = concat!(
        r"(?s) panicked at [^\n]+:[0-9]+:[0-9]+:\n(?P<message>.+?)\s*",
        r"(?:\n(?:note: |stack backtrace:|thread '|Backtrace \[)|$)",
    );
}

/// The message of the panic of the test's own thread, otherwise of the first panic (libtest names threads after tests).
/// When a thread is joined, only `Any { .. }` is printed of the panic that ended it.
fn read(output: &str, name: &str) -> Failure {
    let whole = OLD_LAYOUT.replace_all(output, " panicked at ${place}:\n${message}");
    let own = whole.find(&format!("thread '{name}' ")).map(|at| &whole[at..]);
    let told = own.filter(|own| !own.contains("Any { .. }")).unwrap_or(&whole);
    let mut failure = text::failure(Failure::default(), "", told);
    if let Some(panic) = MESSAGE.captures(told) {
        failure.error_message = text::clipped(&panic["message"], MAX_MESSAGE);
    }
    // A text as `Debug` writes it.
    if let Ok(text) = serde_json::from_str(&failure.error_message) {
        failure.error_message = text;
    }
    if told.lines().any(|line| line.starts_with("note: test did not panic as expected")) {
        failure.error_type = ErrorType::AssertionError;
        failure.error_message = "test did not panic as expected".to_owned();
    } else if failure.error_message.is_empty() {
        failure.error_message = "the test failed and said nothing that is told apart".to_owned();
    }
    if let Some((_, drawn)) = told.split_once("Diff < left / right > :") {
        (failure.expected, failure.actual) = (side(drawn, '>'), side(drawn, '<'));
    }
    failure
}

/// One side of what pretty_assertions draws, whole. By the custom of `assert_eq!(got, wanted)`, left is the actual
/// value.
fn side(drawn: &str, mark: char) -> Option<String> {
    let drawn = drawn.split("\nnote: ").next().unwrap_or_default().trim_matches('\n');
    let lines = drawn.lines().filter_map(|line| line.strip_prefix([mark, ' '])).collect::<Vec<_>>();
    (!lines.is_empty()).then(|| text::clipped(&lines.join("\n"), MAX_MESSAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_of_both_layouts() {
        let table = [
            (
                "thread 't' panicked at src/a.rs:10:5:\nassertion `left == right` failed\n  left: 1\n right: 2\n\
              note: run with",
                Some(("src/a.rs", 10)),
                "assertion `left == right` failed\n  left: 1\n right: 2",
            ),
            ("thread 't' (77) panicked at src/a.rs:10:5:\nboom", Some(("src/a.rs", 10)), "boom"),
            (
                "thread 't' panicked at 'boom', src/a.rs:3:9\nnote: run with `RUST_BACKTRACE=1`",
                Some(("src/a.rs", 3)),
                "boom",
            ),
            (
                "thread 't' panicked at 'assertion failed: `(left == right)`\n  left: `\"x', \"`,\n right: `2`', \
              src/a.rs:3:9",
                Some(("src/a.rs", 3)),
                "assertion failed: `(left == right)`\n  left: `\"x', \"`,\n right: `2`",
            ),
            (
                "thread '<unnamed>' panicked at src/pool.rs:1:1:\ninner\nthread 't' panicked at src/a.rs:2:2:\nouter",
                Some(("src/a.rs", 2)),
                "outer",
            ),
            (
                "thread '<unnamed>' panicked at src/pool.rs:1:1:\ninner\nthread 't' panicked at src/a.rs:2:2:\n\
              called `Result::unwrap()` on an `Err` value: Any { .. }",
                Some(("src/pool.rs", 1)),
                "inner",
            ),
            ("it panicked at noon", None, "it panicked at noon"),
            ("Error: \"no stock\"", None, "no stock"),
        ];
        for (text, place, message) in table {
            let read = failure(text, "t", "");
            let source = read.source.as_ref().and_then(|source| Some((source.file.as_str(), source.line?)));
            assert_eq!((source, read.error_message.as_str()), (place, message), "{text}");
        }
    }

    #[test]
    fn sides() {
        let sides = |text: &str| {
            let read = failure(text, "x", "");
            (read.expected, read.actual)
        };
        let both = |expected: &str, actual: &str| (Some(expected.to_owned()), Some(actual.to_owned()));
        let head = "thread 'x' panicked at";
        assert_eq!(
            sides(&format!("{head} a.rs:1:1:\nassertion `left == right` failed\n  left: 4\n right: 5")),
            both("5", "4")
        );
        assert_eq!(
            sides(&format!("{head} 'assertion failed\n  left: `4`,\n right: `5`: why', a.rs:1:1")),
            both("5", "4")
        );
        let proptest =
            "a.rs:3:1:\nTest failed: assertion failed: `(left == right)` \n  left: `2`,\n right: `-2` at a.rs:7.";
        assert_eq!(sides(&format!("{head} {proptest}")), both("-2", "2"));
        let pretty = "a.rs:1:1:\nassertion failed: `(left == right)`\n\nDiff < left / right > :\n {\n<  4\n>  5\n }\n";
        assert_eq!(sides(&format!("{head} {pretty}")), both("{\n  5\n}", "{\n  4\n}"));
        assert_eq!(sides(&format!("{head} a.rs:1:1:\nboom")), (None, None));
    }
}
