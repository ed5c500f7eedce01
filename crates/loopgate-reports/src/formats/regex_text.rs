//! Plain text, of which a configured expression shows what a failure looks like.

use crate::{Collector, MAX_MESSAGE, Unreadable, Window, numbers, severity, text};
use loopgate_core::evidence::{Failure, Finding, FindingSeverity, SourceLocation};

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    let pattern = out.options.pattern.clone().ok_or(Unreadable::NoPattern)?;
    while let Some(line) = window.line()? {
        let line = text::clean(line);
        let Some(found) = pattern.0.captures(&line) else {
            continue;
        };
        let group = |name: &str| {
            found
                .name(name)
                .map(|group| group.as_str().trim())
                .filter(|text| !text.is_empty())
        };
        let severity = group("severity")
            .and_then(severity::of_word)
            .unwrap_or(FindingSeverity::High);
        let message = text::clipped(group("message").unwrap_or(line.trim()), MAX_MESSAGE);
        let class = group("class").or_else(|| group("rule")).map(text::name);
        let function = group("function").map(text::name);
        let line = group("line").and_then(numbers::line);
        let location = group("file").map(|file| SourceLocation {
            function,
            ..text::location(file, line)
        });
        let test = group("test").or_else(|| group("name"));
        // Tests have names; what has a rule or a severity instead is reported by a linter or compiler.
        let is_finding = group("severity").is_some() || group("rule").is_some();
        if test.is_none() && is_finding {
            out.lint(Finding {
                rule: class.unwrap_or_default(),
                severity,
                message,
                location,
            });
            continue;
        }
        let value = |name| group(name).map(|value| text::clipped(value, MAX_MESSAGE));
        out.problem(|| Failure {
            test_name: test.map(text::name),
            line_number: location.as_ref().and_then(|place| place.line),
            test_file: location
                .as_ref()
                .filter(|_| test.is_some())
                .map(|place| place.file.clone()),
            error_class: class,
            error_message: message,
            expected: value("expected"),
            actual: value("actual"),
            source: location,
            ..Failure::default()
        });
    }
    Ok(())
}
