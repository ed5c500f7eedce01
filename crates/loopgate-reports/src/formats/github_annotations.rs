//! The workflow commands by which tools annotate files on GitHub: `::error file=a.rs,line=1,title=T::message`. Linters
//! report findings so, and reporters of test runners failing tests.

use loopgate_core::{
    evidence::{ErrorType, Failure, Finding, FindingSeverity, TestState},
    failure::read_block,
};

use crate::{Case, Collector, MAX_MESSAGE, Mark, Unreadable, Window, numbers, severity, text};

pub(super) const MARK: Mark = Mark::AnyLine(|line| annotation(line).is_some());

pub(super) fn parse(window: &mut Window<'_>, out: &mut Collector) -> Result<(), Unreadable> {
    // Between `::stop-commands::token` and `::token::` lines are text, whatever they look like.
    let mut stopped: Option<String> = None;
    while let Some(line) = window.line()? {
        let line = text::clean(line);
        let line = line.trim_start();
        if let Some(token) = &stopped {
            if line
                .strip_prefix("::")
                .and_then(|rest| rest.strip_suffix("::"))
                == Some(token)
            {
                stopped = None;
            }
        } else if let Some(token) = line.strip_prefix("::stop-commands::") {
            stopped = Some(text::name(token.trim()));
        } else if let Some(finding) = annotation(line) {
            report(finding, out);
        }
    }
    Ok(())
}

/// Reports a finding; one with the message of an assertion, which has several lines, as the failure of the test that
/// its title names.
pub(super) fn report(finding: Finding, out: &mut Collector) {
    if finding.severity != FindingSeverity::High {
        return out.diagnostic(finding, None, None);
    }
    let place = finding.location.as_ref();
    let may_be_test = !finding.rule.is_empty() && finding.message.contains('\n');
    let failure = may_be_test.then(|| {
        read_block(Failure {
            test_name: Some(finding.rule.clone()),
            test_file: place.map(|at| at.file.clone()),
            line_number: place.and_then(|at| at.line),
            source: place.cloned(),
            error_message: finding.message.clone(),
            ..Failure::default()
        })
    });
    match failure.filter(|failure| failure.error_type == ErrorType::AssertionError) {
        Some(failure) => {
            let file = place.map_or("", |at| at.file.as_str());
            out.case(
                Case::in_file(file, &finding.rule, TestState::Failed),
                || failure,
            );
        }
        None => out.diagnostic(finding, Some(ErrorType::LintError), None),
    }
}

/// `::error file=a.rs,line=1::message`, or as the runner rewrites it, `##[error]message`.
pub fn annotation(line: &str) -> Option<Finding> {
    let line = line.trim_start();
    // The runner's own, below every step that fails.
    if line.starts_with("##[error]Process completed with exit code ") {
        return None;
    }
    // Azure Pipelines: `##vso[task.logissue type=error;sourcepath=a.py;linenumber=1;code=F401;]message`
    if let Some((properties, message)) = line
        .strip_prefix("##vso[task.logissue ")
        .and_then(|rest| rest.split_once(']'))
    {
        return of_azure(properties, message);
    }
    let (command, message) = match line.strip_prefix("##[") {
        Some(rest) => rest.split_once(']')?,
        None => line.strip_prefix("::")?.split_once("::")?,
    };
    let (level, properties) = command.split_once(' ').unwrap_or((command, ""));
    let is_level = ["error", "warning", "notice"].contains(&level);
    let severity = severity::of_word(level).filter(|_| is_level)?;
    let (mut file, mut line, mut title) = (None, None, String::new());
    for (key, value) in properties
        .split(',')
        .filter_map(|property| property.split_once('='))
    {
        let value = unescaped(value);
        match key.trim() {
            "file" if !value.is_empty() => file = Some(value),
            "line" => line = numbers::line(&value),
            "title" => title = text::name(&value),
            _ => {}
        }
    }
    let location = file.map(|file| text::location(&file, line));
    let message = text::clipped(unescaped(message).trim(), MAX_MESSAGE);
    Some(Finding {
        rule: title,
        severity,
        message,
        location,
    })
}

fn of_azure(properties: &str, message: &str) -> Option<Finding> {
    let key = |name: &str| {
        properties
            .split(';')
            .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, value)| value)
    };
    let location = key("sourcepath")
        .map(|file| text::location(file, key("linenumber").and_then(numbers::line)));
    let severity = severity::of_word(key("type")?)?;
    let rule = key("code").unwrap_or_default();
    Some(text::finding(rule, severity, message, location))
}

/// Undoes what the toolkit does to characters that mean something in a command.
fn unescaped(text: &str) -> String {
    let pairs = [
        ("%0D", "\r"),
        ("%0A", "\n"),
        ("%3A", ":"),
        ("%2C", ","),
        ("%25", "%"),
    ];
    pairs
        .iter()
        .fold(text.to_owned(), |text, (escaped, plain)| {
            text.replace(escaped, plain)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations() {
        let seen = |line: &str| {
            annotation(line).map(
                |Finding {
                     rule,
                     severity,
                     message,
                     location,
                 }| {
                    let place = location.map(|at| format!("{}:{}", at.file, at.line.unwrap_or(0)));
                    (severity, rule, message, place.unwrap_or_default())
                },
            )
        };
        let of = |severity, rule: &str, message: &str, place: &str| {
            Some((
                severity,
                rule.to_owned(),
                message.to_owned(),
                place.to_owned(),
            ))
        };
        use FindingSeverity::*;
        let table = [
            (
                "::error file=src/a.rs,line=3,col=7,title=E1%3A x::two%0Alines, 100%25",
                of(High, "E1: x", "two\nlines, 100%", "src/a.rs:3"),
            ),
            ("::warning::loose", of(Medium, "", "loose", "")),
            ("  ##[error]it failed", of(High, "", "it failed", "")),
            ("##[error]Process completed with exit code 1.", None),
            ("::info::x", None),
            ("::notice file=b::n", of(Note, "", "n", "b:0")),
            ("::group::error", None),
            ("::errors::x", None),
            (":: error::x", None),
        ];
        for (line, expected) in table {
            assert_eq!(seen(line), expected, "{line}");
        }
    }
}
