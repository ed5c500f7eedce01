//! The log of a failed job: which step failed, what its tools say, and the lines that are shown of it.
//!
//! A log is read to its end in bounded memory ([`Kept`]), the failing step is cut out of it ([`StepLines`]), times and
//! labels in front of its lines are taken off, and what is left goes to the readers of tools as any output does. The output
//! of a command goes the same way. Everything in it is hostile: the code under test wrote it, and what looks like the
//! runner's own words may be the program's.

mod excerpt;
mod kept;
mod labels;
mod salience;
mod steps;
#[cfg(test)]
mod tests;

use std::io::{self, Read};

use loopgate_core::{
    evidence::{ErrorType, Failure, LogExcerpt},
    failure,
};

pub use kept::{Keeping, Kept};
pub use salience::GreenLog;
pub use steps::{Bounds, Failing, JobStep};

use super::{ReadOptions, Report, read};
use excerpt::{Chosen, choose};
use labels::Labels;
use steps::{StepLines, cut, output_start};

/// Lines shown of the step that ran when a job was cancelled or ran out of time.
const LAST_LINES: usize = 40;
/// Bytes at the end of a step, or from its best line on, in which the error is looked for if no tool's block reports it.
const READ_END: usize = 16 * 1024;

/// Lines of a message that begins with the line that says most.
const MESSAGE_LINES: usize = 4;

/// A job whose log is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Job<'a> {
    pub name: &'a str,
    /// Where people read its log.
    pub log: Option<&'a str>,
    /// As GitHub's API gives them; empty if they are not known.
    pub steps: &'a [JobStep],
}

/// What a failed job's log says.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLog {
    /// What the tools of the failing step say; none of a text that no runner wrote.
    pub report: Option<Report>,
    /// The failure read from the step's own lines, if no tool's block reports one.
    pub failure: Option<Failure>,
    pub excerpt: LogExcerpt,
}

impl Job<'_> {
    /// The seconds of the failing step, within which its log is kept.
    pub fn bounds(&self) -> Option<Bounds> {
        Bounds::of(self.steps, Failing::among(self.steps)?.index)
    }

    /// Reads what was kept of the log.
    pub fn read(&self, kept: Kept, green: Option<&GreenLog>, options: &ReadOptions) -> JobLog {
        let (dropped, bounds) = (kept.dropped_lines, kept.bounds);
        let text = kept.into_text();
        let step = cut(&text, bounds.as_ref());
        let failing = Failing::among(self.steps);
        let output = output_start(&step.lines);
        // A step that was cut off has not reported what failed.
        let has_failed = failing.is_none_or(|failing| failing.has_failed);
        let is_of_runner = step.is_of_runner || !self.steps.is_empty();
        let report = (is_of_runner && has_failed)
            .then(|| read("log of the job", joined(step.tool_lines(&step.lines[output..])), options));
        let shown = if has_failed { choose(&step.lines, green) } else { last_lines(&step.lines) };
        let name = match failing {
            Some(failing) => self.steps.get(failing.index).map(|step| &*step.name),
            None => step.header,
        };
        let best = shown.best.and_then(|best| best.checked_sub(output));
        let failure = has_failed.then(|| step.failure(&step.lines[output..], best)).flatten();
        let excerpt = LogExcerpt {
            job: step.job.filter(|_| self.steps.is_empty()).unwrap_or(self.name).to_owned(),
            step: name.map(str::to_owned),
            log: self.log.map(str::to_owned),
            text: shown.text,
            cut_lines: shown.cut_lines + dropped,
            sha256: None,
        };
        JobLog { report, failure, excerpt: excerpt.quoted() }
    }
}

/// Reads the output of a command with the readers of tools, and keeps its end.
pub fn read_output(path_shown: &str, input: impl Read, options: &ReadOptions) -> (Report, Kept) {
    let mut input = Keeping { input, kept: Kept::default() };
    let report = read(path_shown, &mut input, options);
    // A reader may stop early. What cannot be read any more is no part of the output.
    let _ = io::copy(&mut input, &mut io::sink());
    (report, input.kept)
}

impl StepLines<'_> {
    /// What the tools of the step wrote: without labels, and without the runner's words. An action's own errors are its
    /// words about the workflow.
    fn tool_lines<'l>(&self, lines: &'l [&str]) -> impl DoubleEndedIterator<Item = &'l str> {
        let runner = if self.is_of_action() { "##[error]" } else { "##[error]Process completed with exit code " };
        let lines = lines.iter().filter(move |line| !line.starts_with(runner)).map(|line| unmarked(line));
        let labels = Labels::of(lines.clone());
        lines.map(move |line| labels.strip(line))
    }

    /// The failure in the step's own lines: where an action reports an error, that error; otherwise the end of the output;
    /// where that does not say why, the `best` line and those below it.
    fn failure(&self, lines: &[&str], best: Option<usize>) -> Option<Failure> {
        if self.is_of_action() {
            let said: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("##[error]")).collect();
            return (!said.is_empty()).then(|| Failure {
                error_class: Some(Failure::OF_WORKFLOW.to_owned()),
                error_message: said.join("\n"),
                ..Failure::default()
            });
        }
        let mut end = first_lines(self.tool_lines(lines).rev());
        end.reverse();
        let read = failure::read_failure(&end.join("\n"));
        let says_why = read.test_name.is_some()
            || read.source.is_some()
            || read.expected.is_some()
            || read.error_type != ErrorType::Other
            || read.error_message.lines().next().is_some_and(failure::tells_of_failure);
        let from_best = |best: usize| {
            let read = failure::read_failure(&first_lines(self.tool_lines(&lines[best..])).join("\n"));
            let message = read.error_message.lines().take(MESSAGE_LINES).collect::<Vec<_>>().join("\n");
            Failure { error_message: message, ..read }
        };
        let read = best.filter(|_| !says_why).map(from_best).unwrap_or(read);
        (!read.error_message.trim().is_empty()).then_some(read)
    }
}

/// The first of these lines, which have at most [`READ_END`] bytes together.
fn first_lines<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut room = READ_END;
    lines.take_while(|line| room.checked_sub(line.len() + 1).map(|left| room = left).is_some()).collect()
}

/// Lines that are read as one text without being copied into one.
struct Joined<'t, P> {
    pieces: P,
    piece: &'t [u8],
}

fn joined<'t>(lines: impl Iterator<Item = &'t str>) -> impl Read {
    Joined { pieces: lines.flat_map(|line| [line.as_bytes(), b"\n"]), piece: b"" }
}

impl<'t, P: Iterator<Item = &'t [u8]>> Read for Joined<'t, P> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            if self.piece.is_empty() {
                let Some(next) = self.pieces.next() else { break };
                self.piece = next;
            }
            filled += self.piece.read(&mut into[filled..])?;
        }
        Ok(filled)
    }
}

/// A line of a tool that names its place, without the mark of the runner that took it for an annotation.
fn unmarked(line: &str) -> &str {
    line.strip_prefix("##[error]").filter(|line| salience::names_place(line)).unwrap_or(line)
}

fn last_lines(lines: &[&str]) -> Chosen {
    let with_text: Vec<&str> = lines.iter().copied().filter(|line| !line.trim().is_empty()).collect();
    let shown = &with_text[with_text.len().saturating_sub(LAST_LINES)..];
    Chosen { text: shown.join("\n"), cut_lines: (with_text.len() - shown.len()) as u64, best: None }
}
