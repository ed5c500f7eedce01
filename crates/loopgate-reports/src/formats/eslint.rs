//! ESLint's JSON: an array of files, each with its messages.

use loopgate_core::evidence::{ErrorType, Finding, FindingSeverity, SourceLocation};

use crate::{
    Unreadable,
    collect::{Collector, IsError},
    json::{Json, read_each},
    mark::Mark,
    notes::Flaw,
    text::{self, MAX_MESSAGE},
    window::Window,
};

pub(super) const MARK: Mark = Mark::Array(|head, keys| {
    (keys.contains(&"filePath") && keys.contains(&"messages")) || head.split_whitespace().collect::<String>() == "[]"
});

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    read_each(window, &["[]"], |file| {
        let path = file.text("filePath").map(|path| text::path(&path));
        file.at("messages").list().iter().for_each(|message| report(message, path.as_deref(), out));
    })
}

fn report(message: &Json, path: Option<&str>, out: &mut Collector<'_>) {
    let (severity, is_error) = match message.number("severity") {
        // A file that cannot be parsed is no finding of a rule.
        _ if message.is_true("fatal") => (FindingSeverity::High, IsError::Yes(ErrorType::SyntaxError)),
        Some(level) if level >= 2.0 => (FindingSeverity::High, IsError::Yes(ErrorType::LintError)),
        Some(level) if level <= 0.0 => return,
        _ => (FindingSeverity::Medium, IsError::No),
    };
    if path.is_none() {
        out.notes.flaw(Flaw::NoLocation, || "a file without filePath");
    }
    let place = |file: &str| SourceLocation { file: file.to_owned(), line: message.line("line"), function: None };
    let finding = Finding {
        rule: text::name(&message.text("ruleId").unwrap_or_default()),
        severity,
        message: text::clipped(&message.text("message").unwrap_or_default(), MAX_MESSAGE),
        location: path.map(place),
    };
    out.diagnostic(finding, is_error, None);
}
