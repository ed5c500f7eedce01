//! The entry point: takes bytes and gives a [`Report`], whatever the bytes are.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

use loopgate_core::evidence::ReportFormat;

use crate::detect::{detect, unsupported};
use crate::{Collector, Flaw, ReadOptions, Report, Unreadable, Window, formats};

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

/// Bytes in front of a document: terminal sequences, and what a program printed that writes XML to its output.
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
        .unwrap_or_default()
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
