//! ESLint's JSON: an array of files, each with its messages.

use loopgate_core::evidence::{ErrorType, Finding, FindingSeverity, SourceLocation};
use serde::Deserialize;

use crate::{
    Unreadable,
    collect::{Collector, IsError},
    json::{Few, Number, Text, read_each},
    mark::Mark,
    notes::Flaw,
    text::{self, MAX_MESSAGE},
    window::Window,
};

pub(super) const MARK: Mark = Mark::Array(|head, keys| {
    (keys.contains(&"filePath") && keys.contains(&"messages")) || head.split_whitespace().collect::<String>() == "[]"
});

/// Messages of one file at most.
const MOST_MESSAGES: usize = 100_000;

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    read_each(window, &["[]"], |file: File| {
        let path = file.file_path.0.map(|path| text::path(&path));
        file.messages.0.into_iter().for_each(|message| message.report(path.as_deref(), out));
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    file_path: Text,
    messages: Few<Message, MOST_MESSAGES, true>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Message {
    rule_id: Text,
    severity: Number,
    message: Text,
    line: Number,
    fatal: Option<bool>,
}

impl Message {
    fn report(self, path: Option<&str>, out: &mut Collector<'_>) {
        let is_fatal = self.fatal == Some(true);
        let (severity, is_error) = match self.severity.0 {
            // A file that cannot be parsed is no finding of a rule.
            _ if is_fatal => (FindingSeverity::High, IsError::Yes(ErrorType::SyntaxError)),
            Some(level) if level >= 2.0 => (FindingSeverity::High, IsError::Yes(ErrorType::LintError)),
            Some(level) if level <= 0.0 => return,
            _ => (FindingSeverity::Medium, IsError::No),
        };
        if path.is_none() {
            out.notes.flaw(Flaw::NoLocation, || "a file without filePath");
        }
        let place = |file: &str| SourceLocation { file: file.to_owned(), line: self.line.line(), function: None };
        let finding = Finding {
            rule: text::name(self.rule_id.0.as_deref().unwrap_or_default()),
            severity,
            message: text::clipped(self.message.0.as_deref().unwrap_or_default(), MAX_MESSAGE),
            location: path.map(place),
        };
        out.diagnostic(finding, is_error, None);
    }
}
