//! The log of a failed job: which step failed, what its tools show, and the lines that are shown of it.
//!
//! A log is read to its end in bounded memory ([`LogTail`]), the failing step is cut out of it ([`StepLines`]), times
//! in front of its lines are taken off, and what is left goes to the readers of tools as any output does.
//! The output of a command goes the same way. Everything in it is hostile: the code under test wrote it, and what looks
//! like the runner's own words may be the program's.

mod excerpt;
mod kept;
mod salience;
mod steps;
mod tasks;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    io::{self, Read},
};

use loopgate_core::{
    evidence::{ErrorType, Failure, FindingSeverity, LogExcerpt},
    failure,
};

pub use kept::{LogTail, TailReader};
pub use salience::GreenLog;
pub use steps::{Bounds, FailingStep, JobStep};

use super::{
    ReadOptions, Report, formats, formats::annotation, read, read::is_around, speakers::Speakers,
};
use excerpt::{ShownLines, choose};
use salience::PLACE;
use steps::{StepLines, cut};
use tasks::{FailedTask, failed_tasks};

/// Lines shown of the step that ran when a job was cancelled or ran out of time.
const LAST_LINES: usize = 40;
/// Bytes at the end of a step, or from its best line on, in which the error is looked for if no tool's block reports
/// it.
const READ_END: usize = 16 * 1024;

/// Lines with text of a message that begins with the line that shows most.
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

/// What a failed job's log shows.
#[derive(Clone, Debug, PartialEq)]
pub struct JobLog {
    /// What the tools of the failing step show; none of a text that no runner wrote.
    pub report: Option<Report>,
    /// What ended each task that failed without a failure of its own tool, where the step ran several.
    pub tasks: Vec<Failure>,
    /// The failure read from the step's own lines, if nothing above reports one.
    pub failure: Option<Failure>,
    pub excerpt: LogExcerpt,
}

impl Job<'_> {
    /// The seconds of the failing step, within which its log is kept.
    pub fn bounds(&self) -> Option<Bounds> {
        Bounds::of(self.steps, FailingStep::among(self.steps)?.index)
    }

    /// Reads what was kept of the log.
    pub fn read(&self, kept: LogTail, green: Option<&GreenLog>, options: &ReadOptions) -> JobLog {
        let (dropped, bounds) = (kept.dropped_lines, kept.bounds);
        let text = kept.into_text();
        let step = cut(&text, bounds.as_ref());
        let failing = FailingStep::among(self.steps);
        let output = step.output;
        // A step that was cut off has not reported what failed.
        let has_failed = failing.is_none_or(|failing| failing.has_failed);
        let is_of_runner = step.is_of_runner || !self.steps.is_empty();
        let mut report = (is_of_runner && has_failed).then(|| {
            let lines = step.tool_lines(&step.lines[output..]);
            let pieces = lines.flat_map(|line| [line.as_bytes(), b"\n"]);
            read("log of the job", LineReader { pieces, piece: b"" }, options)
        });
        let shown = if has_failed {
            choose(&step.lines, green)
        } else {
            let lines: Vec<&str> = step
                .lines
                .iter()
                .copied()
                .filter(|line| !line.trim().is_empty())
                .collect();
            let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
            ShownLines {
                text: last.join("\n"),
                cut_lines: (lines.len() - last.len()) as u64,
                best: None,
            }
        };
        let name = match failing {
            Some(failing) => self.steps.get(failing.index).map(|step| &*step.name),
            None => step.header,
        };
        let best = shown.best.and_then(|best| best.checked_sub(output));
        let unended = report.as_mut().and_then(|report| report.unended.take());
        let of_lines = || step.failure(&step.lines[output..], best);
        // What a task printed may be among the lines that are not kept.
        let tasks = match has_failed && dropped == 0 {
            true => step.failures_of_tasks(options),
            false => Vec::new(),
        };
        let is_alone = has_failed && tasks.is_empty();
        let failure = is_alone.then(|| unended.or_else(of_lines)).flatten();
        let excerpt = LogExcerpt {
            job: step
                .job
                .filter(|_| self.steps.is_empty())
                .unwrap_or(self.name)
                .to_owned(),
            step: name.map(str::to_owned),
            log: self.log.map(str::to_owned),
            text: shown.text,
            cut_lines: shown.cut_lines + dropped,
            sha256: None,
        };
        JobLog {
            report,
            tasks,
            failure,
            excerpt: excerpt.quoted(),
        }
    }
}

/// Reads the output of a command with the readers of tools, and keeps its end.
pub fn read_output(path_shown: &str, input: impl Read, options: &ReadOptions) -> (Report, LogTail) {
    let mut input = TailReader {
        input,
        kept: LogTail::default(),
    };
    let mut report = read(path_shown, &mut input, options);
    // A reader may stop early. What cannot be read any more is no part of the output.
    let _ = io::copy(&mut input, &mut io::sink());
    if report.results.is_none() {
        report
            .begun
            .extend(formats::programs_cut_off_at(&input.kept.open_line()));
    }
    (report, input.kept)
}

impl StepLines<'_> {
    /// What the tools of the step wrote, without the runner's words. An action's own errors are its words about the
    /// workflow.
    fn tool_lines<'l>(
        &self,
        lines: &'l [&str],
    ) -> impl DoubleEndedIterator<Item = &'l str> + Clone {
        let runner = if self.is_of_action() {
            "##[error]"
        } else {
            "##[error]Process completed with exit code "
        };
        // A line of a tool that names its place, without the mark of the runner that took it for an annotation.
        let unmarked = |line: &&'l str| {
            line.strip_prefix("##[error]")
                .filter(|line| PLACE.is_match(line))
                .unwrap_or(line)
        };
        lines
            .iter()
            .filter(move |line| !line.starts_with(runner))
            .map(unmarked)
    }

    /// What ended each task of the step that failed, and of which no tool's block tells.
    fn failures_of_tasks(&self, options: &ReadOptions) -> Vec<Failure> {
        if self.is_of_action() {
            return Vec::new();
        }
        let lines: Vec<&str> = self.tool_lines(&self.lines[self.output..]).collect();
        let tells = |lines: &[&str]| {
            let pieces = lines.iter().flat_map(|line| [line.as_bytes(), b"\n"]);
            let report = read("output", LineReader { pieces, piece: b"" }, options);
            !report.failures.is_empty() || !report.findings.is_empty()
        };
        let mut any_is_told = None;
        let mut is_told = |task: &FailedTask<'_>| match &task.lines {
            None => *any_is_told.get_or_insert_with(|| tells(&lines)),
            Some(lines) => tells(lines),
        };
        failed_tasks(&lines)
            .into_iter()
            .filter(|task| !is_told(task))
            .map(|task| self.failure_of_task(&task))
            .collect()
    }

    /// What a task's own lines say, else that it failed.
    fn failure_of_task(&self, task: &FailedTask<'_>) -> Failure {
        let says_something = |line: &str| line.contains(char::is_alphanumeric) && !is_around(line);
        let own = task.lines.iter().flatten().copied();
        let own: Vec<&str> = own.filter(|line| says_something(line)).collect();
        let shown = choose(&own, None);
        if let Some(read) = self.failure(&own, shown.best)
            && (shown.best.is_some() || failure::says_why(&read, 1))
        {
            return read;
        }
        let status = task.status.map(|code| format!(" with {code}"));
        Failure {
            stack_trace: Some(own.join("\n")).filter(|text| !text.is_empty()),
            ..Failure::of(
                ErrorType::Other,
                format!("task {} failed{}", task.name, status.unwrap_or_default()),
            )
        }
    }

    /// The failure in the step's own lines: where an action reports an error, that error; otherwise the end of the
    /// output; where that does not show why, the `best` line and those below it.
    fn failure<'l>(&self, lines: &[&'l str], best: Option<usize>) -> Option<Failure> {
        if self.is_of_action() {
            let errors: Vec<&str> = lines
                .iter()
                .filter_map(|line| line.strip_prefix("##[error]"))
                .collect();
            return (!errors.is_empty()).then(|| Failure {
                error_class: Some(Failure::OF_WORKFLOW.to_owned()),
                error_message: errors.join("\n"),
                ..Failure::default()
            });
        }
        // What a document quotes, as mocha's in Markdown does the source of tests that passed, is not what went wrong.
        let quoted = fenced(lines);
        let best = best.filter(|at| !quoted[*at]);
        let plain: Vec<&'l str>;
        let (lines, best) = match quoted.contains(&true) {
            false => (lines, best),
            true => {
                let is_plain = |(at, _): &(usize, &&str)| !quoted[*at];
                let best = best.map(|best| quoted[..best].iter().filter(|it| !**it).count());
                plain = lines
                    .iter()
                    .enumerate()
                    .filter(is_plain)
                    .map(|(_, line)| *line)
                    .collect();
                (&plain[..], best)
            }
        };
        // Of several speakers the one whose line shows most, else the last one.
        let mut speakers = Speakers::default();
        speakers.learn(self.tool_lines(lines));
        let last = lines.iter().rposition(|line| !line.trim().is_empty());
        let speaker = best.or(last).map_or(0, |at| speakers.route(lines[at]).0);
        let of_speaker = |line| Some(speakers.route(line)).filter(|(who, _)| *who == speaker);
        let spoken = |from: usize| {
            self.tool_lines(&lines[from..])
                .filter_map(of_speaker)
                .map(|(_, line)| in_words(line))
        };
        let mut end = first_lines(spoken(0).rev());
        end.reverse();
        let read = failure::read_failure(&end.join("\n"));
        let says_why = failure::says_why(&read, 1);
        let from_best = |best: usize| {
            let read = failure::read_failure(&first_lines(spoken(best)).join("\n"));
            let mut left = MESSAGE_LINES;
            let is_within = |line: &&str| {
                let has_room = left > 0;
                left = left.saturating_sub(usize::from(!line.trim().is_empty()));
                has_room
            };
            let lines = read.error_message.lines().take_while(is_within);
            let message = lines.collect::<Vec<_>>().join("\n").trim_end().to_owned();
            Failure {
                error_message: message,
                ..read
            }
        };
        let read = best.filter(|_| !says_why).map(from_best).unwrap_or(read);
        (!read.error_message.trim().is_empty()).then_some(read)
    }
}

/// Which of the lines stand in a fence of Markdown that is closed.
fn fenced(lines: &[&str]) -> Vec<bool> {
    let mut quoted = vec![false; lines.len()];
    let mut begun = None;
    for (at, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("```"))
    {
        match begun.take() {
            Some(from) if line.trim_end() == "```" => quoted[from..=at].fill(true),
            _ => begun = Some(at),
        }
    }
    quoted
}

/// A line that annotates a file for GitHub, as a compiler would write it: the line itself is for machines.
fn in_words(line: &str) -> Cow<'_, str> {
    let finding = if line.starts_with("::") {
        annotation(line)
    } else {
        None
    };
    let Some(finding) = finding else {
        return Cow::Borrowed(line);
    };
    let level = match finding.severity {
        FindingSeverity::High => "error",
        _ => "warning",
    };
    let place = finding.location.map(|at| match at.line {
        Some(line) => format!("{}:{line}: {level}: ", at.file),
        None => format!("{}: {level}: ", at.file),
    });
    Cow::Owned(place.unwrap_or_default() + &finding.message)
}

/// The first of these lines, which have at most [`READ_END`] bytes together.
fn first_lines<'t>(lines: impl Iterator<Item = Cow<'t, str>>) -> Vec<Cow<'t, str>> {
    let mut room = READ_END;
    lines
        .take_while(|line| {
            room.checked_sub(line.len() + 1)
                .map(|left| room = left)
                .is_some()
        })
        .collect()
}

/// Lines that are read as one text without being copied into one.
struct LineReader<'t, P> {
    pieces: P,
    piece: &'t [u8],
}

impl<'t, P: Iterator<Item = &'t [u8]>> Read for LineReader<'t, P> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            if self.piece.is_empty() {
                let Some(next) = self.pieces.next() else {
                    break;
                };
                self.piece = next;
            }
            filled += self.piece.read(&mut into[filled..])?;
        }
        Ok(filled)
    }
}
