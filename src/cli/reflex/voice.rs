//! What a running loop says: progress on standard error, results on standard output.

use std::{io::IsTerminal, sync::Arc};

use super::evaluate::Judged;
use crate::{
    cli::{
        output::{self, Format},
        progress,
    },
    core::{
        decision::Evaluation,
        reflex::{Alias, FixRecord},
        state::{LoopState, Step},
    },
    render::{self, Colour},
    runner,
};

/// Speaks for one process.
pub(super) struct Voice {
    format: Format,
    pub colour: Colour,
}

impl Voice {
    pub fn new(format: Format) -> Self {
        let coloured = format == Format::Human && output::colours_on(&std::io::stdout());
        Self { format, colour: if coloured { Colour::On } else { Colour::Off } }
    }

    /// A result for people; where programs read standard output, it is progress.
    pub fn say(&self, text: &str) {
        match self.format {
            Format::Human => println!("{text}"),
            Format::Json => eprintln!("{text}"),
        }
    }

    /// Something people should know while it runs.
    pub fn note(&self, text: &str) {
        eprintln!("{text}");
    }

    /// Only the steps that take time are worth a line.
    pub fn step(&self, state: &LoopState) {
        let doing = match state.current_step {
            Step::ProducePrepare => "produce and prepare",
            Step::Evaluate => "evaluate",
            Step::Refine => "refine",
            Step::Plan | Step::Prepare | Step::Critique => return,
        };
        eprintln!("iteration {}, phase {:?}: {doing}", state.iteration, state.phase);
    }

    /// After each judged iteration.
    pub fn iteration(&self, state: &LoopState, judged: &Judged, alias: &Alias) {
        self.summary(state, &judged.decision.view.evaluation);
        if state.iteration >= 2 {
            self.fresh_context(alias);
        }
    }

    /// Phase A passes: the summary, and the whole report.
    pub fn phase_a(&self, state: &LoopState, evaluation: &Evaluation, alias: &Alias) {
        self.summary(state, evaluation);
        self.say(&render::loop_report(state, self.colour));
        self.fresh_context(alias);
    }

    fn summary(&self, state: &LoopState, evaluation: &Evaluation) {
        self.say("");
        for line in render::loop_iteration(state, evaluation).lines() {
            self.say(&line);
        }
        self.say("");
    }

    fn fresh_context(&self, alias: &Alias) {
        self.say(&format!("All state is saved. For a fresh context: loopgate loop resume {alias}"));
    }

    /// The author mends what the critique says.
    pub fn your_turn(&self, state: &LoopState, why: Option<&'static str>, alias: &Alias) {
        if let Some(why) = why {
            self.note(&format!("Nobody is called to fix this: {why}."));
        }
        self.say("It is yours to mend:");
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

    /// Watches the checks.
    pub fn observer(&self) -> Arc<dyn runner::Observer> {
        if std::env::var_os("GITHUB_ACTIONS").is_some() {
            Arc::new(progress::Groups)
        } else if std::io::stderr().is_terminal() {
            Arc::new(progress::Bars::new())
        } else {
            Arc::new(progress::Lines)
        }
    }

    /// Passes on what a program prints, line by line, without what could drive the terminal.
    pub fn echo(&self) -> impl FnMut(&[u8]) + Send + 'static {
        let mut begun = String::new();
        move |bytes| {
            begun.push_str(&String::from_utf8_lossy(bytes));
            while let Some(end) = begun.find('\n') {
                let rest = begun.split_off(end + 1);
                eprintln!("  │ {}", render::plain_line(begun.trim_end()));
                begun = rest;
            }
            // A line without an end is not kept for ever.
            if begun.len() > 64 * 1024 {
                begun.clear();
            }
        }
    }
}
