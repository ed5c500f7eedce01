//! What Rust prints of a failure: of a failing test, in whatever format it was printed, a panic, an `Error:` or a
//! doctest that does not compile; of code, the errors of its compiler.

use loopgate_core::evidence::{ErrorType, Failure, SourceLocation};

use crate::{Clip, Collector, MAX_MESSAGE, numbers, text};

/// What a failing test's output shows; `test_file` is where it stands, if that is known.
pub(super) fn failure(output: &str, name: &str, test_file: &str) -> Failure {
    let output = output.trim();
    // `src/lib.rs - shop::add (line 12)`: the file, and the line where the example begins.
    let doctest = name.split_once(" - ").and_then(|(file, rest)| {
        let line = rest.rsplit_once("(line ")?.1.strip_suffix(')')?;
        Some((file, numbers::line(line)?))
    });
    let mut failure = read(output, name);
    failure.test_name = Some(text::name(name));
    failure.stack_trace = (!output.is_empty()).then(|| output.to_owned());
    if let Some((file, line)) = doctest {
        // Its panic counts lines of the file only where the toolchain maps them back; else those of a generated one,
        // which are fewer.
        let source = failure
            .source
            .as_ref()
            .and_then(|source| Some((source, source.line?)));
        let is_mapped = |(source, at): &(&SourceLocation, u32)| {
            failure.error_type == ErrorType::CompileError
                || source.file.ends_with(file) && *at > line
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

    /// The message of a panic goes on to the note about backtraces, the backtrace, or the next panic.
    MESSAGE = concat!(
        r"(?s) panicked at [^\n]+:[0-9]+:[0-9]+:\n(?P<message>.+?)\s*",
        r"(?:\n(?:note: |stack backtrace:|thread '|Backtrace \[)|$)",
    );
}

/// The message of the panic of the test's own thread, otherwise of the first panic (libtest names threads after tests).
/// When a thread is joined, only `Any { .. }` is printed of the panic that ended it.
fn read(output: &str, name: &str) -> Failure {
    let whole = OLD_LAYOUT.replace_all(output, " panicked at ${place}:\n${message}");
    let own = whole
        .find(&format!("thread '{name}' "))
        .map(|at| &whole[at..]);
    let panic = own
        .filter(|own| !own.contains("Any { .. }"))
        .unwrap_or(&whole);
    let mut failure = text::failure(Failure::default(), "", panic);
    if let Some(found) = MESSAGE.captures(panic) {
        failure.error_message = text::clipped(&found["message"], MAX_MESSAGE);
    }
    // A text as `Debug` writes it.
    if let Ok(text) = serde_json::from_str(&failure.error_message) {
        failure.error_message = text;
    }
    if panic
        .lines()
        .any(|line| line.starts_with("note: test did not panic as expected"))
    {
        failure.error_type = ErrorType::AssertionError;
        failure.error_message = "test did not panic as expected".to_owned();
    } else if failure.error_message.is_empty() {
        failure.error_message = "the test failed, and no panic message was found".to_owned();
    }
    if let Some((_, drawn)) = panic.split_once("Diff < left / right > :") {
        (failure.expected, failure.actual) = (side(drawn, '>'), side(drawn, '<'));
    }
    failure
}

/// One side of what pretty_assertions draws, whole. By the custom of `assert_eq!(got, wanted)`, left is the actual
/// value.
fn side(drawn: &str, mark: char) -> Option<String> {
    let ends = ["\nnote: ", "\nstack backtrace:"];
    let end = ends.iter().filter_map(|end| drawn.find(end)).min();
    let drawn = drawn[..end.unwrap_or(drawn.len())].trim_matches('\n');
    let lines = drawn
        .lines()
        .filter_map(|line| line.strip_prefix([mark, ' ']))
        .collect::<Vec<_>>();
    (!lines.is_empty()).then(|| text::clipped(&lines.join("\n"), MAX_MESSAGE))
}

/// Gathers compile errors, as rustc prints them for people, among lines given one by one:
///
/// ```text
/// error[E0308]: mismatched types
///   --> src/lib.rs:3:5
/// ```
#[derive(Default)]
pub(super) struct CompileErrors {
    /// The error that goes on, and its lines.
    pub open: Option<(Failure, Clip)>,
    has_errors: bool,
    /// What cargo printed at the end, should that be all there is.
    closing: Option<String>,
}

impl CompileErrors {
    pub fn line(&mut self, line: &str, out: &mut Collector) {
        // `error[E0308]: mismatched types`: code and message.
        let error_line = || {
            let rest = line.strip_prefix("error")?;
            match rest.strip_prefix('[') {
                Some(rest) => rest
                    .split_once("]: ")
                    .map(|(code, message)| (Some(code), message)),
                None => rest.strip_prefix(": ").map(|message| (None, message)),
            }
        };
        if let Some((code, message)) = error_line() {
            self.close(out);
            if message.ends_with("target failed:") || message.ends_with("targets failed:") {
                return;
            }
            let sums_up = |mark: &&str| message.starts_with(*mark);
            if ["could not compile", "aborting due to", "build failed"]
                .iter()
                .any(sums_up)
            {
                self.closing = Some(text::clipped(message, MAX_MESSAGE));
                return;
            }
            let mut lines = Clip::default();
            lines.push_line(line);
            let error = Failure::of(ErrorType::CompileError, text::clipped(message, MAX_MESSAGE));
            self.open = Some((
                Failure {
                    error_class: code.map(text::name),
                    ..error
                },
                lines,
            ));
        } else if line.is_empty() || line.starts_with("warning") {
            self.close(out);
        } else if let Some((error, lines)) = &mut self.open {
            let place = || line.trim_start().strip_prefix("--> ").and_then(text::place);
            error.source = error.source.take().or_else(place);
            lines.push_line(line);
        }
    }

    /// No error goes on past this.
    pub fn end(&mut self, out: &mut Collector) {
        self.close(out);
        if let Some(message) = self.closing.take().filter(|_| !self.has_errors) {
            out.problem(|| Failure::of(ErrorType::CompileError, message));
        }
    }

    fn close(&mut self, out: &mut Collector) {
        let Some((mut error, lines)) = self.open.take() else {
            return;
        };
        self.has_errors = true;
        let class = error.error_class.as_deref().unwrap_or_default();
        if out.is_new(error.source.as_ref(), class, &error.error_message) {
            error.stack_trace = Some(lines.text().trim_end().to_owned());
            out.problem(|| error);
        }
    }
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
            (
                "thread 't' (77) panicked at src/a.rs:10:5:\nboom",
                Some(("src/a.rs", 10)),
                "boom",
            ),
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
            let source = read
                .source
                .as_ref()
                .and_then(|source| Some((source.file.as_str(), source.line?)));
            assert_eq!(
                (source, read.error_message.as_str()),
                (place, message),
                "{text}"
            );
        }
    }

    #[test]
    fn sides() {
        let sides = |text: &str| {
            let read = failure(text, "x", "");
            (read.expected, read.actual)
        };
        let both =
            |expected: &str, actual: &str| (Some(expected.to_owned()), Some(actual.to_owned()));
        let head = "thread 'x' panicked at";
        assert_eq!(
            sides(&format!(
                "{head} a.rs:1:1:\nassertion `left == right` failed\n  left: 4\n right: 5"
            )),
            both("5", "4")
        );
        assert_eq!(
            sides(&format!(
                "{head} 'assertion failed\n  left: `4`,\n right: `5`: why', a.rs:1:1"
            )),
            both("5", "4")
        );
        let proptest = "a.rs:3:1:\nTest failed: assertion failed: `(left == right)` \n  left: `2`,\n right: `-2` at a.rs:7.";
        assert_eq!(sides(&format!("{head} {proptest}")), both("-2", "2"));
        let pretty = "a.rs:1:1:\nassertion failed: `(left == right)`\n\nDiff < left / right > :\n {\n<  4\n>  5\n }\n";
        assert_eq!(
            sides(&format!("{head} {pretty}")),
            both("{\n  5\n}", "{\n  4\n}")
        );
        let traced = "a.rs:1:1:\nassertion failed: `(left == right)`\n\nDiff < left / right > :\n<4\n>5\n\n\n\
                      stack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/59/panicking.rs:689:5\n";
        assert_eq!(sides(&format!("{head} {traced}")), both("5", "4"));
        assert_eq!(sides(&format!("{head} a.rs:1:1:\nboom")), (None, None));
    }

    fn failures(text: &str) -> Vec<Failure> {
        let options = crate::ReadOptions::default();
        let mut out = Collector::new(&options);
        let mut errors = CompileErrors::default();
        text.lines().for_each(|line| errors.line(line, &mut out));
        errors.end(&mut out);
        out.report.failures.to_vec()
    }

    #[test]
    fn errors_with_place_and_without() {
        let text = "warning: unused\n --> src/a.rs:1:1\n\n\
                    error[E0308]: mismatched types\n  --> src/lib.rs:3:5\n   |\n3 |     \"a\"\n\n\
                    error: could not compile `shop` (lib) due to 1 previous error\n";
        let [error] = failures(text).try_into().unwrap();
        assert_eq!(error.error_class.as_deref(), Some("E0308"));
        assert_eq!(error.location(), Some(("src/lib.rs", Some(3))));
        assert_eq!(error.error_message, "mismatched types");
        assert!(error.stack_trace.unwrap().ends_with("\"a\""));
        let [error] = failures("error: could not compile `shop` (lib)\n")
            .try_into()
            .unwrap();
        assert_eq!(
            (error.error_message.as_str(), error.source),
            ("could not compile `shop` (lib)", None)
        );
    }
}
