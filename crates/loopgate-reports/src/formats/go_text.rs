//! What `go test` prints of a failing test.

use crate::{MAX_MESSAGE, numbers, text};
use loopgate_core::{
    evidence::{ErrorType, Failure},
    failure::names_failure,
};

/// Whether a line is go's own, and shows nothing of the test.
pub(super) fn is_chatter(line: &str) -> bool {
    let line = line.trim();
    // `--- Expected` is the head of a difference.
    let is_verdict = ["--- FAIL: ", "--- PASS: ", "--- SKIP: ", "--- BENCH: "]
        .iter()
        .any(|start| line.starts_with(start));
    line.is_empty()
        || line.starts_with("=== ")
        || is_verdict
        || matches!(line, "FAIL" | "PASS" | "ok")
}

/// A failure from a test's output; `package` is the import path its files are shown relative to.
pub(super) fn failure(output: &str, package: &str) -> Failure {
    let lines: Vec<&str> = output.lines().filter(|line| !is_chatter(line)).collect();
    // What a test logged before it panicked is not why.
    let panic = lines.iter().position(|line| line.starts_with("panic: "));
    let lines = lines[panic.unwrap_or_default()..].to_vec();
    // What is only logged (`t.Log`) looks as what shows why the test failed, and stands above it.
    // testify writes below the place.
    let is_wrong = |message: &str| {
        let lower = message.to_ascii_lowercase();
        let has_word = ["want", "got", "!=", "should", "mismatch", "diff"]
            .iter()
            .any(|word| lower.contains(word));
        message.is_empty() || has_word || names_failure(message)
    };
    let is_verdict = |line: &&str| log_line(line).is_some_and(|(.., message)| is_wrong(message));
    let begins_logged = lines.first().is_some_and(|line| log_line(line).is_some());
    let start = if begins_logged {
        lines.iter().position(is_verdict)
    } else {
        None
    };
    let lines = &lines[start.unwrap_or(0)..];
    // The first message that a test logged, with the lines that belong to it, and its place; none where the test
    // panics.
    let logged = || {
        let at = lines.iter().position(|line| log_line(line).is_some())?;
        let panics = lines.iter().any(|line| line.starts_with("panic: "));
        let (file, line, first) = log_line(lines[at]).filter(|_| !panics)?;
        let below = lines[at + 1..]
            .iter()
            .take_while(|line| log_line(line).is_none());
        let message = std::iter::once(first).chain(below.map(|line| line.trim_start_matches(' ')));
        Some((file, line, message.collect::<Vec<_>>().join("\n")))
    };
    let (file, line, logged) = logged().unwrap_or_default();
    // What stands at `Error:` in testify's table.
    let testify_error = || {
        let (_, error) = logged.split_once("Error Trace:")?.1.split_once("Error:")?;
        let end = ["\tTest:", "\tMessages:"]
            .iter()
            .filter_map(|mark| error.find(mark))
            .min()
            .unwrap_or(error.len());
        let lines = error[..end]
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        Some(lines.collect::<Vec<_>>().join("\n"))
    };
    let message = testify_error().unwrap_or_else(|| logged.clone());
    let mut failure = text::failure(Failure::default(), &message, &lines.join("\n"));
    if !message.is_empty() && !message.starts_with("panic: ") {
        failure.error_message = text::clipped(message.trim(), MAX_MESSAGE);
    }
    // A race is logged by the library's own `testing.go`.
    if !matches!(file, "" | "testing.go") {
        (failure.test_file, failure.line_number) = (Some(text::path(file)), Some(line));
        failure.source = Some(text::location(file, Some(line)));
    }
    // Go gives the file's name only.
    let named = [
        failure.source.as_mut().map(|place| &mut place.file),
        failure.test_file.as_mut(),
    ];
    for file in named
        .into_iter()
        .flatten()
        .filter(|file| !package.is_empty() && !file.contains('/'))
    {
        *file = format!("{package}/{file}");
    }
    failure
}

/// `x.go:3:23: undefined: total`, as the compiler and vet write it, relative to the module.
pub(super) fn compile_error(line: &str) -> Option<Failure> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let (file, number, rest) = log_line(line).filter(|_| !line.starts_with(char::is_whitespace))?;
    let message = rest.split_once(": ").map_or(rest, |(_, message)| message);
    let error = Failure::of(
        ErrorType::CompileError,
        text::clipped(message.trim(), MAX_MESSAGE),
    );
    Some(Failure {
        source: Some(text::location(file, Some(number))),
        ..error
    })
}

/// The test in whose goroutine, or in whose function, the process panicked: `example.com/shop.TestTotal.func1(0x0)`.
pub(super) fn test_in_trace(trace: &str) -> Option<&str> {
    trace
        .lines()
        .filter(|line| !line.starts_with('\t'))
        .find_map(|line| {
            let (_, from) = line
                .rsplit_once('/')
                .unwrap_or(("", line))
                .1
                .split_once(".Test")?;
            let end = from
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(from.len());
            let start = line.len() - from.len() - "Test".len();
            Some(&line[start..start + "Test".len() + end])
        })
}

/// `    cart_test.go:12: message`
fn log_line(line: &str) -> Option<(&str, u32, &str)> {
    let (file, rest) = line
        .trim_start()
        .split_at(line.trim_start().find(".go:")? + ".go".len());
    // What was printed without an end of line stands in front.
    let file = file.rsplit("    ").next().unwrap_or(file);
    let (number, message) = rest.strip_prefix(':')?.split_once(':')?;
    let is_path = file.len() > ".go".len() && !file.contains(char::is_whitespace);
    Some((
        file,
        numbers::line(number).filter(|_| is_path)?,
        message.trim_start_matches(' '),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs() {
        let seen = |output: &str| {
            let failure = failure(output, "example.org/shop");
            let place = failure
                .source
                .map(|place| format!("{}:{}", place.file, place.line.unwrap_or(0)));
            (failure.error_message, place.unwrap_or_default())
        };
        let of = |message: &str, place: &str| (message.to_owned(), place.to_owned());
        assert_eq!(
            seen(
                "=== RUN   TestX\n    cart_test.go:12: got 1\n        and more\n    cart_test.go:13: b\n--- FAIL: TestX"
            ),
            of("got 1\nand more", "example.org/shop/cart_test.go:12")
        );
        assert_eq!(
            seen("=== RUN   TestX\n--- FAIL: TestX (0.00s)\n"),
            of("", "")
        );
        assert_eq!(
            seen(
                "    a_test.go:11: 7 is floor 7\n    a_test.go:9: Parse(\"G\"): unexpected error: no integer\n"
            ),
            of(
                "Parse(\"G\"): unexpected error: no integer",
                "example.org/shop/a_test.go:9"
            )
        );
        let table = [
            "Error Trace:\t/r/cart_test.go:9",
            "Error:\tNot equal: ",
            "\texpected: 1",
            "\tactual  : 0",
            "Test:\tTestX",
        ];
        let testify = format!(
            "    cart_test.go:9: \n        \t{}\n",
            table.join("\n        \t")
        );
        let expected = of(
            "Not equal:\nexpected: 1\nactual  : 0",
            "example.org/shop/cart_test.go:9",
        );
        assert_eq!(seen(&testify), expected);
    }

    #[test]
    fn compile_errors() {
        let place = |line: &str| {
            compile_error(line).map(|failure| (failure.error_message, failure.source.unwrap()))
        };
        let (message, at) = place("broken/b.go:3:23: undefined: total").unwrap();
        assert_eq!(
            (message.as_str(), at.file.as_str(), at.line),
            ("undefined: total", "broken/b.go", Some(3))
        );
        assert_eq!(place("see x.go for more"), None);
        assert_eq!(place("in the file x.go:3: no"), None);
    }
}
