//! The JSON of golangci-lint (an object with `Issues`), ruff (an array) and mypy (an object a line): all of them list
//! findings with a file, a line, a rule and a message, each under keys of its own.

use loopgate_core::evidence::{Finding, FindingSeverity};

use crate::{
    Unreadable,
    collect::Collector,
    json::{Json, read_each},
    mark::Mark,
    notes::Flaw,
    severity,
    text::{self, MAX_MESSAGE},
    window::Window,
};

pub(super) const GOLANGCI: Mark = Mark::Object(|_, keys| keys.contains(&"Issues"));
pub(super) const RUFF: Mark =
    Mark::Array(|_, keys| keys.contains(&"filename") && keys.contains(&"location") && keys.contains(&"code"));
pub(super) const MYPY: Mark =
    Mark::JsonLines(|keys| ["file", "line", "severity", "message", "code"].iter().all(|key| keys.contains(key)));

pub(super) fn golangci(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    read_each(window, &["Issues[]"], |item| report(&item, out))
}

pub(super) fn ruff(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    read_each(window, &["[]"], |item| report(&item, out))
}

pub(super) fn mypy(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    let mut number = 0_u64;
    while let Some(line) = window.line()? {
        number += 1;
        match serde_json::from_str(line) {
            Ok(item) => report(&item, out),
            Err(_) if line.trim_start().starts_with('{') => out.notes.flaw(Flaw::BadLine, || format!("line {number}")),
            Err(_) => {}
        }
    }
    Ok(())
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
