//! The entry point: takes bytes and gives a [`Report`], whatever the bytes are.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

use loopgate_core::evidence::ReportFormat;
use serde::de::IgnoredAny;

use crate::detect::{detect, unsupported};
use crate::{Collector, Flaw, ReadOptions, Report, Unreadable, Window, formats, text};

/// Bytes looked at to recognise a format.
const HEAD: usize = 64 * 1024;

/// Reads a report. Never fails: what is wrong is in the report's quality and notes.
///
/// Memory does not grow with the input, but with what is kept of it ([`ReadOptions::keep`], coverage lines).
///
/// ```
/// use loopgate_reports::{ReadOptions, read};
/// let xml = b"<testsuite><testcase name='adds' classname='M' time='0.1'/></testsuite>";
/// let report = read("junit.xml", &xml[..], &ReadOptions::default());
/// assert_eq!(report.results.map(|results| results.passed), Some(1));
/// ```
pub fn read(path_shown: &str, input: impl Read, options: &ReadOptions) -> Report {
    let mut window = Window::new(input);
    let mut out = Collector::new(options);
    let filled = window.fill_to(HEAD);
    // Where a tool writes to a terminal and into a file alike, colours stand in front.
    let in_front = before_document(window.text());
    window.consume(in_front);
    let recognised = match filled {
        Err(error) => Err(error.into()),
        Ok(()) if window.text().trim().is_empty() => Err(Unreadable::Empty),
        Ok(()) if options.pattern.is_some() => Ok(ReportFormat::Regex),
        Ok(()) => options
            .format
            .or_else(|| detect(window.text()))
            .ok_or_else(|| unsupported(window.text())),
    };
    let (format, ended) = match recognised {
        Ok(format) => {
            let ended = formats::parser(format)(&mut window, &mut out);
            out.notes.flaws(
                Flaw::REPAIRED_TEXT,
                window.repaired,
                || "replaced by U+FFFD",
            );
            out.notes
                .flaws(Flaw::OVERSIZED_PART, window.cut, || "a line or a string");
            (Some(format), ended)
        }
        // A tool's text may begin further down than is looked at to recognise it.
        Err(Unreadable::Unrecognised) if !is_document(window.text()) => {
            match formats::parser(ReportFormat::Console)(&mut window, &mut out) {
                Ok(()) if out.holds_nothing() => (None, Err(Unreadable::Unrecognised)),
                ended => (Some(ReportFormat::Console), ended),
            }
        }
        Err(reason) => (options.format, Err(reason)),
    };
    out.finish(path_shown, format, ended)
}

patterns! {
    /// Lines around a document that a command prints: of what runs its script, and of a log below errors.
    AROUND = r"(?x)^(?:
        [>$]\x20.* | yarn\x20run\x20v.* | Done\x20in\x20.* | npm\x20(?:ERR!|error|warn|WARN|notice)\b.* | error\x20Command\x20failed.*
        | \s?ELIFECYCLE.* | make(?:\[[0-9]+\])?:\x20.* | \(node:[0-9]+\)\x20.* | \(Use\x20`node\x20--.*
        | \s*(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|debug|info|notice|warn|warning)\b.*
    )?$";
}

/// Lines in front of a document at most.
const MOST_IN_FRONT: usize = 50;

/// Bytes in front of a document: terminal sequences, and what a program printed that writes a report to its output.
fn before_document(head: &str) -> usize {
    let mut rest = head;
    while let Some(sequence) = rest.strip_prefix("\u{1B}[") {
        let Some((_, behind)) = sequence.split_once('m') else {
            break;
        };
        rest = behind;
    }
    if rest.trim_start().starts_with(['<', '{', '[']) {
        return head.len() - rest.len();
    }
    let declared = head.find("\n<?xml ").map(|at| at + 1);
    declared
        .filter(|at| detect(&head[*at..]) == Some(ReportFormat::Junit))
        .or_else(|| before_json(head))
        .unwrap_or_default()
}

/// Where the JSON document begins that is all of a text but for lines [`AROUND`] it. One that is longer than `head` is
/// taken for the rest.
fn before_json(head: &str) -> Option<usize> {
    let mut at = 0;
    for line in head.split_inclusive('\n').take(MOST_IN_FRONT) {
        if line.starts_with(['{', '[']) && is_document(line) {
            break;
        }
        if !is_around(line) {
            return None;
        }
        at += line.len();
    }
    let mut values = serde_json::Deserializer::from_str(&head[at..]).into_iter::<IgnoredAny>();
    let is_whole = match values.next()? {
        Ok(_) => head[at + values.byte_offset()..].lines().all(is_around),
        Err(error) => error.is_eof(),
    };
    (is_whole && detect(&head[at..]).is_some()).then_some(at)
}

/// Whether a line is of what runs the command, or of a log beside what that printed.
pub(crate) fn is_around(line: &str) -> bool {
    AROUND.is_match(text::clean(line).trim_end())
}

/// Whether a text begins as XML or JSON does; a line of text may begin with a label in brackets.
fn is_document(head: &str) -> bool {
    let head = head.trim_start();
    match head.strip_prefix('[') {
        Some(first) => first.trim_start().starts_with(['{', '[', '"', ']']),
        None => head.starts_with(['<', '{']),
    }
}

/// Reads a report from a file. A file that is missing is an invalid report with a note of it.
pub fn read_file(path: &Path, options: &ReadOptions) -> Report {
    let shown = path.to_string_lossy();
    let reason = match File::open(path) {
        Ok(file) => return read(&shown, file, options),
        Err(error) if error.kind() == ErrorKind::NotFound => Unreadable::Missing,
        Err(error) => Unreadable::Io(error),
    };
    Collector::new(options).finish(&shown, options.format, Err(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a command printed, and the rule and place of each failure that is read.
    fn read_from(text: &str) -> Vec<String> {
        let report = read("lint", text.as_bytes(), &ReadOptions::default());
        let shown = |failure: &loopgate_core::evidence::Failure| {
            let place = failure
                .named_place()
                .map(|(file, line)| format!("{file}:{}", line.unwrap_or_default()));
            format!(
                "{} {}",
                failure.error_class.as_deref().unwrap_or("?"),
                place.unwrap_or_default()
            )
        };
        report.failures.iter().map(shown).collect()
    }

    #[test]
    fn a_document_is_read_between_the_lines_of_what_runs_its_tool() {
        let eslint = r#"[{"filePath":"a.js","messages":[{"ruleId":"no-undef","severity":2,"message":"'x' is not defined.","line":1}],"errorCount":1}]"#;
        let around = [
            (
                "\n> shop@1.0.0 lint\n> eslint . -f json\n\n",
                "\nnpm error code 1\n",
            ),
            (
                "yarn run v1.22.22\n$ eslint . -f json\n",
                "\nerror Command failed with exit code 1.\ninfo Visit https://yarnpkg.com\n",
            ),
            (
                "(node:12) ExperimentalWarning: x\n(Use `node --trace-warnings ...` to show where the warning was created)\n",
                "",
            ),
            (" WARN the file is old\n", " INFO 1 error\n"),
            (
                "\u{1B}[33mwarn\u{1B}[39m the file is old\r\n",
                "\u{1B}[32m INFO\u{1B}[0m 1 error\r\n",
            ),
        ];
        for (before, behind) in around {
            assert_eq!(
                read_from(&format!("{before}{eslint}{behind}")),
                ["no-undef a.js:1"],
                "{before}"
            );
        }
        // A test printed it: what stands around is told.
        let printed = format!(
            "\n> shop@1.0.0 test\n> mocha\n\n{eslint}\n  cart\n    1) adds\n\n  0 passing (9ms)\n  1 failing\n\n  1) cart\n       adds:\n     Error: no\n      at Context.<anonymous> (test/cart.js:2:3)\n"
        );
        assert_eq!(read_from(&printed).len(), 1);
        assert!(!read_from(&printed)[0].starts_with("no-undef"));
        assert!(read_from(&format!("  cart\n{eslint}\n")).is_empty());
    }
}
