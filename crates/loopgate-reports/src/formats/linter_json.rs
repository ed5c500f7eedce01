//! The JSON of ESLint (an array of files, each with its messages), golangci-lint (an object with `Issues`), ruff (an
//! array) and mypy (an object a line): all of them list findings with a file, a line, a rule and a message, each under
//! keys of its own.

use loopgate_core::evidence::{ErrorType, Finding, FindingSeverity};

use crate::json::{read_each, read_lines};
use crate::{Collector, Flaw, Json, MAX_MESSAGE, Mark, Unreadable, Window, severity, text};

pub(super) const ESLINT: Mark = Mark::Array(|head, keys| {
    (keys.contains(&"filePath") && keys.contains(&"messages")) || head.split_whitespace().collect::<String>() == "[]"
});
pub(super) const GOLANGCI: Mark = Mark::Object(|_, keys| keys.contains(&"Issues"));
pub(super) const RUFF: Mark =
    Mark::Array(|_, keys| keys.contains(&"filename") && keys.contains(&"location") && keys.contains(&"code"));
pub(super) const MYPY: Mark =
    Mark::JsonLines(|keys| ["file", "line", "severity", "message", "code"].iter().all(|key| keys.contains(key)));

/// Findings that stand at these paths.
pub(super) fn list(
    paths: &'static [&'static str],
    window: &mut Window<'_>,
    out: &mut Collector<'_>,
) -> Result<(), Unreadable> {
    read_each(window, paths, |item| report(&item, out))
}

pub(super) fn mypy(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    read_lines(window, out, |item, out| report(&item, out)).map(drop)
}

pub(super) fn eslint(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    read_each(window, &["[]"], |file| {
        let path = file.text("filePath").map(|path| text::path(&path));
        file.at("messages").list().iter().for_each(|message| message_of(message, path.as_deref(), out));
    })
}

fn message_of(message: &Json, path: Option<&str>, out: &mut Collector<'_>) {
    let (severity, error_type) = match message.number("severity") {
        // A file that cannot be parsed is no finding of a rule.
        _ if message.is_true("fatal") => (FindingSeverity::High, Some(ErrorType::SyntaxError)),
        Some(level) if level >= 2.0 => (FindingSeverity::High, Some(ErrorType::LintError)),
        Some(level) if level <= 0.0 => return,
        _ => (FindingSeverity::Medium, None),
    };
    if path.is_none() {
        out.notes.flaw(Flaw::NoLocation, || "a file without filePath");
    }
    let place = |file: &str| text::location(file, message.line("line"));
    let finding = Finding {
        rule: text::name(&message.text("ruleId").unwrap_or_default()),
        severity,
        message: text::clipped(&message.text("message").unwrap_or_default(), MAX_MESSAGE),
        location: path.map(place),
    };
    out.diagnostic(finding, error_type, None);
}

/// A finding under the keys of any of the three.
fn report(item: &Json, out: &mut Collector<'_>) {
    let position = item.at("location|Pos");
    let file = item.text("file|filename").or_else(|| position.text("file|Filename"));
    let line = item.line("line").or_else(|| position.line("line|row|Line"));
    if file.is_none() {
        out.notes.flaw(Flaw::NoLocation, || "a finding");
    }
    // They end with an error for whatever they list without a severity.
    let severity = item.text("severity|Severity").and_then(|word| severity::of_word(&word));
    out.lint(Finding {
        rule: text::name(&item.text("code|FromLinter").unwrap_or_default()),
        severity: severity.unwrap_or(FindingSeverity::High),
        message: text::clipped(&item.text("message|Text").unwrap_or_default(), MAX_MESSAGE),
        location: file.map(|file| text::location(&file, line)),
    });
}
