//! Progress of running checks, on standard error: bars on a terminal, lines elsewhere, groups in GitHub Actions.

use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{
    actions,
    local::NothingToRun,
    output::{self, Loudness},
};
use crate::{
    render,
    runner::{Detected, Observer, Project},
};
use loopgate_core::{
    CheckName,
    evidence::{CheckEvidence, Outcome},
    policy::CheckSource,
};

/// Says which usual checks run, and why none of the configuration does.
pub fn tell_detected(why: NothingToRun, detected: &Detected) {
    if detected.checks.is_empty() {
        return;
    }
    let place = |project: &Project| match project.directory.as_str() {
        "" => project.ecosystem.title().to_owned(),
        directory => format!("{} in {directory}/", project.ecosystem.title()),
    };
    let projects = detected.projects.iter().map(place).collect::<Vec<_>>().join(", ");
    let reason = match why {
        NothingToRun::NoChecks => "No checks are configured.",
        NothingToRun::AllFollowed => "Your CI runs the configured checks, and Loopgate follows it on the pull request.",
    };
    // Names of directories come from the repository.
    output::note_line(render::defused(&format!("{reason} Found {projects}; running the usual checks here:")));
    for (name, check) in &detected.checks {
        if let CheckSource::Command(command) = &check.source {
            output::note_line(format_args!("  {name}: {}", command.run));
        }
    }
    for (name, program) in &detected.left_out {
        output::note_line(format_args!("  {name} is left out: {program} is not installed"));
    }
    if matches!(why, NothingToRun::NoChecks) {
        output::note_line("`loopgate init` writes them down, to be changed.");
    }
}

/// Whoever watches the checks here.
pub fn observer() -> Arc<dyn Observer> {
    let loudness = output::loudness();
    if actions::is_here() {
        Arc::new(Groups)
    } else if loudness == Loudness::Usual && std::io::stderr().is_terminal() {
        Arc::new(Bars::new())
    } else {
        Arc::new(Lines)
    }
}

/// One spinning line for each running check.
struct Bars {
    all: MultiProgress,
    bars: Mutex<BTreeMap<CheckName, ProgressBar>>,
}

impl Bars {
    fn new() -> Self {
        Self { all: MultiProgress::new(), bars: Mutex::default() }
    }
}

impl Observer for Bars {
    fn started(&self, check: &CheckName) {
        let bar = self.all.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix:12} {elapsed:>5} {wide_msg:.dim}") {
            bar.set_style(style);
        }
        bar.set_prefix(check.to_string());
        bar.enable_steady_tick(Duration::from_millis(120));
        self.bars.lock().unwrap_or_else(PoisonError::into_inner).insert(check.clone(), bar);
    }

    fn output(&self, check: &CheckName, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let plain: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
        if let Some(bar) = self.bars.lock().unwrap_or_else(PoisonError::into_inner).get(check) {
            bar.set_message(plain);
        }
    }

    fn repeating(&self, check: &CheckName, nth: u32, wait: Duration) {
        // Nobody to tell if the terminal is gone.
        let _ = self.all.println(repeating(check, nth, wait));
    }

    fn ended(&self, evidence: &CheckEvidence) {
        let bar = self.bars.lock().unwrap_or_else(PoisonError::into_inner).remove(&evidence.name);
        let line = ended(evidence);
        match bar {
            Some(bar) => {
                bar.finish_and_clear();
                // Nobody to tell if the terminal is gone.
                let _ = self.all.println(line);
            }
            None => {
                let _ = self.all.println(line);
            }
        }
    }
}

/// A line when a check starts, and one when it ends; between them what it prints, if that was asked for.
struct Lines;

impl Observer for Lines {
    fn started(&self, check: &CheckName) {
        output::note_line(format_args!("{check} …"));
    }

    fn output(&self, check: &CheckName, bytes: &[u8]) {
        if output::loudness() == Loudness::Verbose {
            let text = render::defused(&String::from_utf8_lossy(bytes));
            let lines: String = text.lines().map(|line| format!("{check} │ {line}\n")).collect();
            output::note_text(lines);
        }
    }

    fn again(&self, check: &CheckName, tests: usize) {
        output::note_line(again(check, tests));
    }

    fn repeating(&self, check: &CheckName, nth: u32, wait: Duration) {
        output::note_line(repeating(check, nth, wait));
    }

    fn ended(&self, evidence: &CheckEvidence) {
        output::note_line(ended(evidence));
    }
}

/// The whole log of each check in a group that can be folded open.
struct Groups;

impl Observer for Groups {
    fn again(&self, check: &CheckName, tests: usize) {
        output::note_line(again(check, tests));
    }

    fn repeating(&self, check: &CheckName, nth: u32, wait: Duration) {
        output::note_line(repeating(check, nth, wait));
    }

    fn ended(&self, evidence: &CheckEvidence) {
        // One lock, so that two groups never mix.
        let mut out = std::io::stderr().lock();
        let cut = match evidence.log_cut_bytes {
            0 => String::new(),
            bytes => format!("\n … {bytes} bytes cut …\n"),
        };
        let log = format!("{}{cut}{}", evidence.log_head, evidence.log_tail);
        let shown = if log.is_empty() { log } else { actions::silenced(&log) };
        let _ = write!(out, "::group::{}\n{shown}::endgroup::\n", render::defused(&ended(evidence)));
    }
}

fn again(check: &CheckName, tests: usize) -> String {
    let failing = if tests == 1 { "the failing test".to_owned() } else { format!("the {tests} failing tests") };
    format!("{check}: running {failing} once more")
}

fn repeating(check: &CheckName, nth: u32, wait: Duration) -> String {
    format!("{check} failed for reasons outside the code: once more in {} s (repetition {nth})", wait.as_secs())
}

fn ended(evidence: &CheckEvidence) -> String {
    let mark = match evidence.outcome {
        Outcome::Passed => "✓",
        Outcome::Skipped => "–",
        Outcome::Cancelled => "⊘",
        Outcome::Failed | Outcome::TimedOut | Outcome::NoTestsExecuted | Outcome::ResultsLost => "✗",
    };
    let seconds = evidence.duration_ms as f64 / 1000.0;
    let why = evidence.skipped_because.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let tests = evidence.results.map(|results| format!(", {} of {} tests pass", results.passed, results.total));
    format!("{mark} {} {}{why}, {seconds:.1} s{}", evidence.name, evidence.outcome.as_str(), tests.unwrap_or_default())
}
