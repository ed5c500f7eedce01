//! What a running loop says: progress on standard error, results on standard output.

use super::{evaluate::Judged, report};
use crate::{
    cli::output::{self, Format},
    render::{self, Colour},
};
use loopgate_core::{
    reflex::{Alias, FixRecord},
    state::{LoopState, Step},
    verdict::{Evaluation, FailureView},
};

/// Lines of a program that are passed on, and characters of each: a terminal or a job's log holds no flood.
const ECHOED: usize = 2_000;
const ECHOED_LINE: usize = 1_000;

/// Prints what one process says.
pub(super) struct ConsoleOutput {
    pub format: Format,
    pub colour: Colour,
}

impl ConsoleOutput {
    pub fn new(format: Format) -> Self {
        Self { format, colour: if format == Format::Human { output::colour() } else { Colour::Off } }
    }

    /// A result for people; where programs read standard output, it is progress.
    pub fn say(&self, text: &str) {
        match self.format {
            Format::Human => output::line(format_args!("{text}")),
            Format::Json => output::note_line(format_args!("{text}")),
        }
    }

    /// Only the steps that take time are worth a line.
    pub fn step(&self, state: &LoopState) {
        let doing = match state.current_step {
            Step::ProducePrepare => "produce and prepare",
            Step::Evaluate => "evaluate",
            Step::Refine => "refine",
            Step::Plan | Step::Prepare | Step::Critique => return,
        };
        output::note_line(format_args!("iteration {}, phase {:?}: {doing}", state.iteration, state.phase));
    }

    /// After each judged iteration.
    pub fn iteration(&self, state: &LoopState, judged: &Judged, alias: &Alias) {
        let view = &judged.decision.view;
        self.summary(state, &view.evaluation, &view.failures);
        for known in render::memory_lines(view.failures.iter().flat_map(|failure| &failure.memory)) {
            self.say(&format!("Before: {known}"));
        }
        if state.iteration >= 2 && !state.has_ended() {
            self.fresh_context(alias);
        }
    }

    /// Phase A passes: the summary, and the whole report.
    pub fn phase_a(&self, state: &LoopState, artifact: &str, evaluation: &Evaluation, alias: &Alias) {
        self.summary(state, evaluation, &[]);
        self.say(&report::whole(state, artifact, self.colour));
        self.fresh_context(alias);
    }

    fn summary(&self, state: &LoopState, evaluation: &Evaluation, failures: &[FailureView]) {
        self.say("");
        for line in render::loop_iteration(state, evaluation, failures).lines() {
            self.say(&line);
        }
        self.say("");
    }

    fn fresh_context(&self, alias: &Alias) {
        self.say(&format!("All state is saved. For a fresh context: loopgate loop resume {alias}"));
    }

    /// The author fixes what the critique says.
    pub fn your_turn(&self, state: &LoopState, why: Option<&'static str>, alias: &Alias) {
        if let Some(why) = why {
            output::note_line(format_args!("No fixer is called: {why}."));
        }
        self.say("It is yours to fix:");
        for item in state.critique.iter().flatten() {
            self.say(&format!("  - {}", render::plain_line(item)));
        }
        self.say(&format!("Edit, then: loopgate loop run {alias}"));
    }

    pub fn fixed(&self, fix: &FixRecord) {
        self.say(&format!("{} {} ({})", fix.head_sha.short(), render::plain_line(&fix.subject), fix.diff_summary));
        if !fix.outside_scope.is_empty() {
            self.say(&format!("  outside the failing scope: {}", render::plain_line(&fix.outside_scope.join(", "))));
        }
    }

    /// Passes on what a program prints, line by line, without what could drive the terminal.
    pub fn echo(&self) -> impl FnMut(&[u8]) + Send + 'static {
        let mut echo = Echo::default();
        move |bytes| echo.hear(bytes, |line| output::note_line(format_args!("  │ {line}")))
    }
}

/// The state could not be gone on from as it was saved; `how` is what was done about it.
pub(super) fn was_damaged(how: &str) {
    output::note_line(format_args!("The state of this loop was damaged: {how}."));
}

/// What a program prints, as far as it is passed on.
#[derive(Default)]
struct Echo {
    /// A line without an end so far.
    begun: Vec<u8>,
    passed_on: usize,
}

impl Echo {
    fn hear(&mut self, bytes: &[u8], mut tell: impl FnMut(&str)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.passed_on > ECHOED {
                return;
            }
            // Four bytes a character at most; what is longer is cut in any case.
            let room = (4 * ECHOED_LINE).saturating_sub(self.begun.len());
            self.begun.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if !piece.ends_with(b"\n") {
                continue;
            }
            if self.passed_on == ECHOED {
                tell("… more is not shown");
            } else {
                let line = render::plain_line(String::from_utf8_lossy(&self.begun).trim_end());
                tell(&line.chars().take(ECHOED_LINE).collect::<String>());
            }
            self.begun.clear();
            self.passed_on += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_not_passed_on() {
        let heard = |chunks: &[&[u8]]| {
            let (mut echo, mut lines) = (Echo::default(), Vec::new());
            chunks.iter().for_each(|chunk| echo.hear(chunk, |line| lines.push(line.to_owned())));
            lines
        };
        assert_eq!(heard(&[b"one\ntw", b"o\n\x1b[2Jthree\r\nfour"]), ["one", "two", "three"]);
        let long = [b'x'; 3 * ECHOED_LINE];
        assert_eq!(heard(&[&long, &long, b"\n"])[0].len(), ECHOED_LINE);
        let flood = heard(&[b"y\n".repeat(3 * ECHOED).as_slice(), b"z\n"]);
        assert_eq!(flood.len(), ECHOED + 1);
        assert_eq!(flood.last().map(String::as_str), Some("… more is not shown"));
    }
}
