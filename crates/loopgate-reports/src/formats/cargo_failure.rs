//! What a failing Rust test printed, in whatever format it was printed: a panic, an `Error:`, a doctest that does not
//! compile.

use super::{rust_panic, rustc_text::CompileErrors};
use crate::{
    numbers,
    text::{self, MAX_MESSAGE},
};
use loopgate_core::evidence::{ErrorType, Failure, SourceLocation};

/// `src/lib.rs - shop::add (line 12)` → the file and the line where the example begins.
fn doctest_place(name: &str) -> Option<(&str, u32)> {
    let (file, rest) = name.split_once(" - ")?;
    let line = rest.rsplit_once("(line ")?.1.strip_suffix(')')?;
    Some((file, numbers::line(line)?))
}

/// What a failing test's output says; `test_file` is where it stands, if that is known.
pub(super) fn failure(output: &str, name: &str, test_file: &str) -> Failure {
    let output = output.trim();
    let mut failure = Failure {
        test_name: Some(text::name(name)),
        stack_trace: (!output.is_empty()).then(|| output.to_owned()),
        ..Failure::default()
    };
    let doctest = doctest_place(name);
    let compile_error = doctest.and_then(|_| CompileErrors::first_of(output));
    if let Some(error) = compile_error {
        failure = Failure { test_name: failure.test_name, stack_trace: failure.stack_trace, ..error };
    } else if let Some(panic) = rust_panic::find(output, Some(name)) {
        panic.fill(&mut failure);
    } else if let Some(note) = output.lines().find_map(|line| line.strip_prefix("note: test did not panic")) {
        failure.error_type = ErrorType::AssertionError;
        failure.error_message = "test did not panic as expected".to_owned();
        failure.source = note.rsplit_once(" at ").and_then(|(_, place)| text::place(place));
    } else if let Some(error) = output.lines().find_map(|line| line.strip_prefix("Error: ")) {
        failure.error_type = ErrorType::RuntimeError;
        failure.error_class = Some("Error".to_owned());
        // A text as `Debug` writes it.
        let quoted: Option<String> = serde_json::from_str(error.trim_end()).ok();
        failure.error_message = text::clipped(quoted.as_deref().unwrap_or(error), MAX_MESSAGE);
    } else {
        let line = text::first_line(output);
        let line = if line.is_empty() { "the test failed and said nothing that is told apart" } else { line };
        failure.error_message = text::clipped(line, MAX_MESSAGE);
    }
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
