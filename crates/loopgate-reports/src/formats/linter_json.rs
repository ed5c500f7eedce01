//! The JSON of ESLint (an array of files, each with its messages), golangci-lint (an object with `Issues`), ruff (an
//! array) and mypy (an object a line): all of them list findings with a file, a line, a rule and a message, each under
//! keys of its own.

use loopgate_core::evidence::{ErrorType, FindingSeverity};

use crate::json::{Paths, read_each, read_lines};
use crate::{Collector, Flaw, Json, Mark, Unreadable, Window, severity, text};

pub(super) const ESLINT: Mark = Mark::Array(|head, keys| {
    (keys.contains(&"filePath") && keys.contains(&"messages"))
        || head.split_whitespace().collect::<String>() == "[]"
});
pub(super) const GOLANGCI: Mark = Mark::Object(|_, keys| keys.contains(&"Issues"));
pub(super) const RUFF: Mark = Mark::Array(|_, keys| {
    keys.contains(&"filename") && keys.contains(&"location") && keys.contains(&"code")
});
pub(super) const MYPY: Mark = Mark::JsonLines(|keys| {
    ["file", "line", "severity", "message", "code"]
        .iter()
        .all(|key| keys.contains(key))
});

/// Findings that stand at these paths; without paths, one a line. ESLint lists files, each with its messages.
pub(super) fn parse(
    paths: Paths,
    window: &mut Window<'_>,
    out: &mut Collector,
) -> Result<(), Unreadable> {
    let take =
        |item: Json, out: &mut Collector| match (item.text("filePath"), item.at("messages").list())
        {
            (None, _) => report(&item, None, out),
            (path, messages) => messages
                .iter()
                .for_each(|message| report(message, path.as_deref(), out)),
        };
    match paths {
        [] => read_lines(window, out, take).map(drop),
        _ => read_each(window, paths, |item| take(item, out)),
    }
}

/// A finding under the keys of any of the four; ESLint names the file above it.
fn report(item: &Json, of_file: Option<&str>, out: &mut Collector) {
    let position = item.at("location|Pos");
    let file = item
        .text("file|filename")
        .or_else(|| position.text("file|Filename"));
    let line = item.line("line").or_else(|| position.line("line|row|Line"));
    let file = file.as_deref().or(of_file);
    if file.is_none() {
        out.notes.flaw(Flaw::NO_LOCATION, || "a finding");
    }
    let severity = match item.text("severity|Severity").as_deref() {
        // ESLint's levels: 2 is an error.
        Some("0") => return,
        Some("1") => FindingSeverity::Medium,
        // They end with an error for whatever they list without a severity.
        word => word
            .and_then(severity::of_word)
            .unwrap_or(FindingSeverity::High),
    };
    let [rule, message] =
        ["code|FromLinter|ruleId", "message|Text"].map(|key| item.text(key).unwrap_or_default());
    let location = file.map(|file| text::location(file, line));
    let finding = text::finding(&rule, severity, &message, location);
    match item.is_true("fatal") {
        // A file that cannot be parsed is no finding of a rule.
        true => out.diagnostic(finding, Some(ErrorType::SyntaxError), None),
        false => out.lint(finding),
    }
}
