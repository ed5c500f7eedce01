//! What `go test` prints of a failing test.

use crate::{
    numbers,
    text::{self, MAX_MESSAGE},
};
use loopgate_core::{
    evidence::{ErrorType, Failure, SourceLocation},
    failure,
};

/// Whether a line is go's own, and says nothing of the test.
pub(super) fn is_chatter(line: &str) -> bool {
    let line = line.trim();
    // `--- Expected` is the head of a difference.
    let is_verdict =
        ["--- FAIL: ", "--- PASS: ", "--- SKIP: ", "--- BENCH: "].iter().any(|start| line.starts_with(start));
    line.is_empty() || line.starts_with("=== ") || is_verdict || matches!(line, "FAIL" | "PASS" | "ok")
}

/// A failure from a test's output; `package` is the import path its files are shown relative to.
pub(super) fn failure(output: &str, package: &str) -> Failure {
    let trace: Vec<&str> = output.lines().filter(|line| !is_chatter(line)).collect();
    let begins_logged = trace.first().is_some_and(|line| log_line(line).is_some());
    let start = if begins_logged { verdict(&trace) } else { 0 };
    let trace = trace[start..].join("\n");
    let mut failure = Failure { stack_trace: (!trace.is_empty()).then(|| trace.clone()), ..Failure::default() };
    if let Some(panic) = trace.lines().find_map(|line| line.strip_prefix("panic: ")) {
        let message = panic.trim_end_matches(" [recovered]");
        let timed_out = message.starts_with("test timed out");
        failure.error_type = if timed_out { ErrorType::TimeoutError } else { ErrorType::RuntimeError };
        failure.error_class = Some("panic".to_owned());
        failure.error_message = text::clipped(message, MAX_MESSAGE);
    } else if let Some((place, message)) = logged(&trace, package) {
        let message = testify_error(&message).unwrap_or_else(|| message.trim().to_owned());
        failure.error_message = text::clipped(&message, MAX_MESSAGE);
        failure.source = Some(place);
    } else {
        let told = trace.lines().find(|line| failure::tells_of_failure(line)).unwrap_or(text::first_line(&trace));
        failure.error_message = text::clipped(told.trim(), MAX_MESSAGE);
    }
    failure.test_file = failure.source.as_ref().map(|place| place.file.clone());
    failure.line_number = failure.source.as_ref().and_then(|place| place.line);
    failure
}

/// `x.go:3:23: undefined: total`, as the compiler and vet write it, relative to the module.
pub(super) fn compile_error(line: &str) -> Option<Failure> {
    let line = line.strip_prefix("vet: ").unwrap_or(line);
    let (file, rest) = line.split_once(".go:")?;
    let (number, rest) = rest.split_once(':')?;
    let message = rest.split_once(": ").map_or(rest, |(_, message)| message);
    let is_path = !file.is_empty() && !file.contains(char::is_whitespace);
    let source = text::location(&format!("{file}.go"), Some(numbers::line(number).filter(|_| is_path)?));
    Some(Failure {
        error_type: ErrorType::CompileError,
        error_message: text::clipped(message.trim(), MAX_MESSAGE),
        source: Some(source),
        ..Failure::default()
    })
}

/// Where the lines begin that say why the test failed: behind those that it only logged (`t.Log`), which look alike.
fn verdict(lines: &[&str]) -> usize {
    let tells = |message: &str| {
        let lower = message.to_ascii_lowercase();
        // testify writes below the place.
        message.is_empty()
            || failure::tells_of_failure(message)
            || ["want", "got", "!=", "should", "mismatch", "diff"].iter().any(|word| lower.contains(word))
    };
    lines.iter().position(|line| log_line(line).is_some_and(|(.., message)| tells(message))).unwrap_or_default()
}

/// The first `    cart_test.go:12: message`, with the lines that belong to it.
fn logged(trace: &str, package: &str) -> Option<(SourceLocation, String)> {
    let mut lines = trace.lines();
    let (file, line, mut message) = lines.by_ref().find_map(|line| {
        let (file, line, message) = log_line(line)?;
        Some((file.to_owned(), line, message.to_owned()))
    })?;
    for line in lines.take_while(|line| log_line(line).is_none()) {
        message.push('\n');
        message.push_str(line.trim_start_matches(' '));
    }
    // Go gives the file's name only.
    let file = if package.is_empty() || file.contains('/') { file } else { format!("{package}/{file}") };
    Some((text::location(&file, Some(line)), message))
}

fn log_line(line: &str) -> Option<(&str, u32, &str)> {
    let line = line.trim_start();
    let (file, rest) = line.split_once(':')?;
    let (number, message) = rest.split_once(':')?;
    let known = file.ends_with(".go") && !file.contains(char::is_whitespace);
    Some((file, numbers::line(number).filter(|_| known)?, message.trim_start_matches(' ')))
}

/// What stands at `Error:` in testify's table.
fn testify_error(message: &str) -> Option<String> {
    let (_, error) = message.split_once("Error Trace:")?.1.split_once("Error:")?;
    let end = ["\tTest:", "\tMessages:"].iter().filter_map(|mark| error.find(mark)).min().unwrap_or(error.len());
    let lines: Vec<&str> = error[..end].lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs() {
        let seen = |output: &str| {
            let failure = failure(output, "example.org/shop");
            let place = failure.source.map(|place| format!("{}:{}", place.file, place.line.unwrap_or(0)));
            (failure.error_message, place.unwrap_or_default())
        };
        let of = |message: &str, place: &str| (message.to_owned(), place.to_owned());
        assert_eq!(
            seen(
                "=== RUN   TestX\n    cart_test.go:12: got 1\n        and more\n    cart_test.go:13: b\n--- FAIL: TestX"
            ),
            of("got 1\nand more", "example.org/shop/cart_test.go:12")
        );
        assert_eq!(seen("=== RUN   TestX\n--- FAIL: TestX (0.00s)\n"), of("", ""));
        assert_eq!(
            seen("    a_test.go:11: 7 is floor 7\n    a_test.go:9: Parse(\"G\"): unexpected error: no integer\n"),
            of("Parse(\"G\"): unexpected error: no integer", "example.org/shop/a_test.go:9")
        );
        let table = [
            "Error Trace:\t/r/cart_test.go:9",
            "Error:\tNot equal: ",
            "\texpected: 1",
            "\tactual  : 0",
            "Test:\tTestX",
        ];
        let testify = format!("    cart_test.go:9: \n        \t{}\n", table.join("\n        \t"));
        let expected = of("Not equal:\nexpected: 1\nactual  : 0", "example.org/shop/cart_test.go:9");
        assert_eq!(seen(&testify), expected);
    }

    #[test]
    fn compile_errors() {
        let place = |line: &str| compile_error(line).map(|failure| (failure.error_message, failure.source.unwrap()));
        let (message, at) = place("broken/b.go:3:23: undefined: total").unwrap();
        assert_eq!((message.as_str(), at.file.as_str(), at.line), ("undefined: total", "broken/b.go", Some(3)));
        assert_eq!(place("see x.go for more"), None);
        assert_eq!(place("in the file x.go:3: no"), None);
    }
}
