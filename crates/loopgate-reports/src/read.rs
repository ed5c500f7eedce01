//! The entry point: takes bytes and gives a [`Report`], whatever the bytes are.

use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::Path,
};

use loopgate_core::evidence::ReportFormat;

use crate::detect::{detect, unsupported};
use crate::{Collector, Flaw, ReadOptions, Report, Window, formats};

/// Why the reading of a report ended early; becomes a note of the report.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("does not exist")]
    Missing,
    #[error("is empty")]
    Empty,
    #[error("is in no format that is read here")]
    Unrecognised,
    #[error("is {what}, which is not read: {instead}")]
    Unsupported { what: &'static str, instead: &'static str },
    #[error("ends inside {place}: cut short")]
    CutShort { place: String },
    #[error("{what}, at {place}")]
    Malformed { what: String, place: String },
    #[error("is to be read with an expression, but none is configured")]
    NoPattern,
    #[error("declares a document type of its own, which is refused: reports need none, attacks do")]
    OwnEntities,
}

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
    let recognised = window.fill_to(HEAD).map_err(Unreadable::from).and_then(|()| recognise(window.text(), options));
    let (format, ended) = match recognised {
        Ok(format) => {
            let ended = formats::parser(format)(&mut window, options, &mut out);
            out.notes.flaws(Flaw::REPAIRED_TEXT, window.repaired, || "replaced by U+FFFD");
            out.notes.flaws(Flaw::OVERSIZED_PART, window.cut, || "a line or a string");
            (Some(format), ended)
        }
        // A tool's text may begin further down than is looked at to recognise it.
        Err(Unreadable::Unrecognised) if !window.text().trim_start().starts_with(['<', '{', '[']) => {
            match formats::parser(ReportFormat::Console)(&mut window, options, &mut out) {
                Ok(()) if out.holds_nothing() => (None, Err(Unreadable::Unrecognised)),
                ended => (Some(ReportFormat::Console), ended),
            }
        }
        Err(reason) => (options.format, Err(reason)),
    };
    out.finish(path_shown, format, ended)
}

/// Reads a report from a file. A file that is missing is an invalid report that says so.
pub fn read_file(path: &Path, options: &ReadOptions) -> Report {
    let shown = path.to_string_lossy();
    let reason = match File::open(path) {
        Ok(file) => return read(&shown, file, options),
        Err(error) if error.kind() == ErrorKind::NotFound => Unreadable::Missing,
        Err(error) => Unreadable::Io(error),
    };
    Collector::new(options).finish(&shown, options.format, Err(reason))
}

/// Reads lines and gives their number. `take` says whether it understands one; a note names the first that it does not.
pub(super) fn each_line(
    window: &mut Window<'_>,
    out: &mut Collector,
    mut take: impl FnMut(&str, &mut Collector) -> bool,
) -> Result<u64, Unreadable> {
    let mut number = 0;
    while let Some(line) = window.line()? {
        number += 1;
        if !take(line, out) {
            out.notes.flaw(Flaw::BAD_LINE, || format!("line {number}"));
        }
    }
    Ok(number)
}

fn recognise(head: &str, options: &ReadOptions) -> Result<ReportFormat, Unreadable> {
    if head.trim().is_empty() {
        return Err(Unreadable::Empty);
    }
    match (&options.pattern, options.format) {
        (Some(_), _) => Ok(ReportFormat::Regex),
        (None, Some(format)) => Ok(format),
        (None, None) => detect(head).ok_or_else(|| unsupported(head).unwrap_or(Unreadable::Unrecognised)),
    }
}
