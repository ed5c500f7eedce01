//! Which part of a job's log is the step that failed.

use std::ops::Range;

use chrono::NaiveDate;
use loopgate_core::{Timestamp, failure::without_stamp, observed::Conclusion};

use crate::speakers::without_time;

/// A step of a job, as GitHub's API gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobStep {
    pub name: String,
    /// None while it runs, and of what a lost runner left.
    pub conclusion: Option<Conclusion>,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
}

/// From the first to the last second of a step, both of which other steps may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    first: i64,
    last: i64,
    /// Steps that began in the first second before this one.
    before: usize,
    /// Seconds by which the log's clock is ahead of the API's; known from the first stamp on.
    ahead: Option<i64>,
    job_start: Option<i64>,
}

impl Bounds {
    /// The bounds of one of these steps; none of a step without times.
    pub fn of(steps: &[JobStep], index: usize) -> Option<Self> {
        let second = |time: Option<Timestamp>| time.map(|time| time.timestamp());
        let step = steps.get(index)?;
        let first = second(step.started_at)?;
        let with_it = |other: &&JobStep| {
            second(other.started_at) == Some(first) && other.conclusion != Some(Conclusion::Skipped)
        };
        Some(Self {
            first,
            last: second(step.completed_at).unwrap_or(i64::MAX),
            before: steps[..index].iter().filter(with_it).count(),
            ahead: None,
            job_start: steps.iter().find_map(|step| second(step.started_at)),
        })
    }

    /// Whether a line of this second stands inside. The first line that is asked for is the log's first.
    pub fn contains(&mut self, second: i64) -> bool {
        // Stamps of a whole second later or earlier are a matter of rounding.
        let ahead = *self.ahead.get_or_insert_with(|| {
            let difference = second - self.job_start.unwrap_or(second);
            if difference.abs() > 2 { difference } else { 0 }
        });
        (self.first..=self.last).contains(&second.saturating_sub(ahead))
    }
}

/// The second in front of a line, in UTC since 1970: `2026-11-20T22:14:38.8968067Z …`.
pub fn stamp(line: &[u8]) -> Option<i64> {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    let stamp = std::str::from_utf8(line.strip_prefix(MARK).unwrap_or(line).get(..28)?).ok()?;
    let stands = |(at, mark): (usize, u8)| stamp.as_bytes()[at] == mark;
    if ![(4, b'-'), (10, b'T'), (19, b'.'), (27, b'Z')]
        .into_iter()
        .all(stands)
    {
        return None;
    }
    let number = |digits: Range<usize>| stamp.get(digits)?.parse().ok();
    let date =
        NaiveDate::from_ymd_opt(stamp.get(..4)?.parse().ok()?, number(5..7)?, number(8..10)?)?;
    Some(
        date.and_hms_opt(number(11..13)?, number(14..16)?, number(17..19)?)?
            .and_utc()
            .timestamp(),
    )
}

/// What begins a step in the log, and ends one that failed.
const HEADER: &str = "##[group]Run ";
const GROUP_END: &str = "##[endgroup]";
const ERROR: &str = "##[error]";
const EXIT: &str = "##[error]Process completed with exit code ";

/// The step of a job that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailingStep {
    pub index: usize,
    /// False: no step failed, and the job was cancelled or ended by its time limit while this one ran.
    pub has_failed: bool,
}

impl FailingStep {
    pub fn among(steps: &[JobStep]) -> Option<Self> {
        let failed = |step: &JobStep| step.conclusion == Some(Conclusion::Failure);
        let has_run = |step: &JobStep| {
            step.started_at.is_some() && step.conclusion != Some(Conclusion::Skipped)
        };
        let was_ended = |step: &JobStep| {
            !matches!(
                step.conclusion,
                Some(Conclusion::Success | Conclusion::Skipped)
            )
        };
        if let Some(index) = steps.iter().position(failed) {
            return Some(Self {
                index,
                has_failed: true,
            });
        }
        let ended = steps
            .iter()
            .rposition(|step| has_run(step) && was_ended(step));
        let index = ended.or_else(|| steps.iter().rposition(has_run))?;
        Some(Self {
            index,
            has_failed: false,
        })
    }
}

/// The lines of the failing step, and what the log shows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLines<'t> {
    /// `Run pytest -x`, if the log shows it.
    pub header: Option<&'t str>,
    /// The job's name, if the log shows it.
    pub job: Option<&'t str>,
    /// What the step ran, then what it printed, up to the runner's last word about it, without the time in front of a
    /// line.
    pub lines: Vec<&'t str>,
    /// Where in the lines the step's own output begins: behind the group that shows what is run.
    pub output: usize,
    /// Whether the runner itself wrote this log; else it is what a command printed.
    pub is_of_runner: bool,
}

impl StepLines<'_> {
    /// Whether an action failed (`Run actions/setup-node@v4`) and no command that it ran: no exit code is printed.
    pub fn is_of_action(&self) -> bool {
        let Some(what) = self.header.and_then(|header| header.strip_prefix("Run ")) else {
            return false;
        };
        let is_action = what.split_once('@').is_some_and(|(name, at)| {
            name.contains('/')
                && !name.contains(char::is_whitespace)
                && !at.contains(char::is_whitespace)
        });
        is_action && !self.lines.iter().rev().any(|line| line.starts_with(EXIT))
    }
}

/// Cuts the failing step out of a log. `bounds` are those that the text was kept within: groups refine them and never
/// leave them.
pub fn cut<'t>(text: &'t str, bounds: Option<&Bounds>) -> StepLines<'t> {
    let job = text
        .lines()
        .find_map(|line| without_stamp(line).strip_prefix("Complete job name: "));
    let is_of_runner = text
        .lines()
        .any(|line| begins(line, HEADER) || begins(line, EXIT));
    let step = &text[match bounds {
        Some(bounds) => within_seconds(text, bounds),
        None => by_groups(text),
    }];
    let header = step
        .lines()
        .next()
        .and_then(|line| without_stamp(line).strip_prefix("##[group]"));
    let mut lines = Vec::with_capacity(memchr::memchr_iter(b'\n', step.as_bytes()).count() + 1);
    lines.extend(step.lines().map(|line| without_time(without_stamp(line))));
    let has_group = lines.first().is_some_and(|first| first.starts_with(HEADER));
    let group_end = lines
        .iter()
        .position(|line| *line == GROUP_END)
        .filter(|_| has_group);
    StepLines {
        header,
        job,
        output: group_end.map_or(0, |end| end + 1),
        lines,
        is_of_runner,
    }
}

/// Where in the text one of its lines stands.
fn place(line: &str, text: &str) -> Range<usize> {
    let start = line.as_ptr().addr() - text.as_ptr().addr();
    start..start + line.len()
}

/// Whether a line has this mark behind its stamp.
fn begins(line: &str, mark: &str) -> bool {
    without_stamp(line).starts_with(mark)
}

/// By the groups alone: from the last header in front of the last error of the runner to that error.
fn by_groups(text: &str) -> Range<usize> {
    let last = |mark: &str| text.lines().rfind(|line| begins(line, mark));
    let Some(error) = last(EXIT).or_else(|| last(ERROR).filter(|_| last(HEADER).is_some())) else {
        return 0..text.len();
    };
    let error = place(error, text);
    let header = text[..error.start]
        .lines()
        .rfind(|line| begins(line, HEADER));
    header.map_or(0, |header| place(header, text).start)..error.end
}

/// Inside the seconds of a step: other steps' lines can only stand in its first and its last second.
fn within_seconds(text: &str, bounds: &Bounds) -> Range<usize> {
    let second =
        |line: &str| stamp(line.as_bytes()).map(|second| second - bounds.ahead.unwrap_or(0));
    let headers = text.lines().filter(|line| begins(line, HEADER));
    // Of the headers in the first second, those of the steps that began in it before this one are passed over.
    let mut first =
        headers.take_while(|line| second(line).is_none_or(|second| second <= bounds.first + 1));
    let start = first
        .nth(bounds.before)
        .map_or(0, |header| place(header, text).start);
    let is_over = |line: &&str| second(line).is_some_and(|second| second >= bounds.last);
    let is_next = |line: &&str| begins(line, HEADER) || begins(line, "Post job cleanup");
    let next = text[start..].lines().skip(1).filter(is_next).find(is_over);
    let end = next.map_or(text.len(), |next| place(next, text).start);
    let exit = text[start..end]
        .lines()
        .rfind(|line| begins(line, EXIT))
        .filter(is_over);
    start..exit.map_or(end, |exit| place(exit, text).end)
}
