//! The JSON of golangci-lint (an object with `Issues`), ruff (an array) and mypy (an object a line): all of them list
//! findings with a file, a line, a rule and a message, each under keys of its own.

use loopgate_core::evidence::{Finding, FindingSeverity};
use serde::Deserialize;

use crate::{
    Unreadable,
    collect::Collector,
    json::{Number, Text, read_each},
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
    read_each(window, &["Issues[]"], |item: Item| item.report(out))
}

pub(super) fn ruff(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    read_each(window, &["[]"], |item: Item| item.report(out))
}

pub(super) fn mypy(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    let mut number = 0_u64;
    while let Some(line) = window.line()? {
        number += 1;
        match serde_json::from_str::<Item>(line) {
            Ok(item) => item.report(out),
            Err(_) if line.trim_start().starts_with('{') => out.notes.flaw(Flaw::BadLine, || format!("line {number}")),
            Err(_) => {}
        }
    }
    Ok(())
}

/// A finding under the keys of any of the three.
#[derive(Deserialize)]
struct Item {
    #[serde(default, alias = "Text")]
    message: Text,
    #[serde(default, alias = "FromLinter")]
    code: Text,
    #[serde(default, alias = "Severity")]
    severity: Text,
    #[serde(default, alias = "filename")]
    file: Text,
    #[serde(default)]
    line: Number,
    #[serde(default, alias = "Pos")]
    location: Option<Position>,
}

#[derive(Deserialize)]
struct Position {
    #[serde(default, alias = "Filename")]
    file: Text,
    #[serde(default, alias = "row", alias = "Line")]
    line: Number,
}

impl Item {
    fn report(self, out: &mut Collector<'_>) {
        let position = self.location.as_ref();
        let file = self.file.0.as_deref().or(position.and_then(|position| position.file.0.as_deref()));
        let line = self.line.line().or(position.and_then(|position| position.line.line()));
        if file.is_none() {
            out.notes.flaw(Flaw::NoLocation, || "a finding");
        }
        // They end with an error for whatever they list without a severity.
        let severity = self.severity.0.as_deref().and_then(severity::of_word).unwrap_or(FindingSeverity::High);
        let finding = Finding {
            rule: text::name(self.code.0.as_deref().unwrap_or_default()),
            severity,
            message: text::clipped(self.message.0.as_deref().unwrap_or_default(), MAX_MESSAGE),
            location: file.map(|file| text::location(file, line)),
        };
        out.lint(finding);
    }
}
