//! Plain text, of which a configured expression says what a failure looks like.

use regex::Captures;

use crate::{
    Pattern, Unreadable,
    collect::Collector,
    numbers, severity,
    text::{self, MAX_MESSAGE},
    window::Window,
};
use loopgate_core::evidence::{Failure, Finding, FindingSeverity, SourceLocation};

pub(super) fn parse(window: &mut Window<'_>, pattern: &Pattern, out: &mut Collector<'_>) -> Result<(), Unreadable> {
    while let Some(line) = window.line()? {
        let line = text::clean(line);
        if let Some(found) = pattern.regex().captures(&line) {
            take(&Match(found), &line, out);
        }
    }
    Ok(())
}

struct Match<'t>(Captures<'t>);

impl<'t> Match<'t> {
    fn group(&self, name: &str) -> Option<&'t str> {
        self.0.name(name).map(|group| group.as_str().trim()).filter(|text| !text.is_empty())
    }
}

fn take(found: &Match<'_>, line: &str, out: &mut Collector<'_>) {
    let severity = found.group("severity").and_then(severity::of_word).unwrap_or(FindingSeverity::High);
    let message = text::clipped(found.group("message").unwrap_or(line.trim()), MAX_MESSAGE);
    let class = found.group("class").or_else(|| found.group("rule")).map(text::name);
    let location = found.group("file").map(|file| SourceLocation {
        file: text::path(file),
        line: found.group("line").and_then(numbers::line),
        function: found.group("function").map(text::name),
    });
    let test = found.group("test").or_else(|| found.group("name"));
    // Tests have names; what has a rule or a severity instead is said by a linter or compiler.
    let is_finding = found.group("severity").is_some() || found.group("rule").is_some();
    if test.is_none() && is_finding {
        out.lint(Finding { rule: class.unwrap_or_default(), severity, message, location });
        return;
    }
    let value = |name| found.group(name).map(|value| text::clipped(value, MAX_MESSAGE));
    out.problem(|| Failure {
        test_name: test.map(text::name),
        line_number: location.as_ref().and_then(|place| place.line),
        test_file: location.as_ref().filter(|_| test.is_some()).map(|place| place.file.clone()),
        error_class: class,
        error_message: message,
        expected: value("expected"),
        actual: value("actual"),
        source: location,
        ..Failure::default()
    });
}
