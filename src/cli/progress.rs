//! Progress of running checks, on standard error: bars on a terminal, lines elsewhere, groups in GitHub Actions.

use std::{
    collections::BTreeMap,
    io::{IsTerminal, Write},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use minijinja::context;

use super::{
    actions,
    output::{self, Loudness},
};
use crate::{
    render,
    runner::{Detected, Observer, Project},
};
use loopgate_core::{
    CheckName,
    evidence::{CheckEvidence, CheckKind, Outcome},
    policy::{CheckPolicy, CheckSource},
};

/// Says which usual checks run, and why none of the configuration does.
pub fn tell_detected(is_unconfigured: bool, detected: &Detected) {
    if detected.checks.is_empty() {
        return;
    }
    let place = |project: &Project| match project.directory.as_str() {
        "" => project.ecosystem.row().title.clone(),
        directory => format!("{} in {directory}/", project.ecosystem.row().title),
    };
    let projects: Vec<String> = detected.projects.iter().map(place).collect();
    let command = |(name, check): (&CheckName, &CheckPolicy)| match &check.source {
        CheckSource::Command(command) => Some(format!("{name}: {}", command.run)),
        CheckSource::External(_) | CheckSource::Reviewer(_) => None,
    };
    let model = context! {
        projects,
        is_unconfigured,
        checks => Vec::from_iter(detected.checks.iter().filter_map(command)),
        left_out => Vec::from_iter(detected.left_out.iter().map(|(name, program)| format!("{name} is left out: {program}"))),
        has_tests => detected.checks.values().any(|check| check.kind == CheckKind::Test),
    };
    // Names of directories and scripts come from the repository.
    output::note_text(render::defused(&render::text("detected.txt", model)));
}

/// The people who watch the checks here.
pub fn observer() -> Arc<dyn Observer> {
    let loudness = output::loudness();
    if actions::is_here() {
        Arc::new(Lines { are_grouped: true })
    } else if loudness == Loudness::Usual && std::io::stderr().is_terminal() {
        Arc::new(Bars::default())
    } else {
        Arc::new(Lines { are_grouped: false })
    }
}

/// One spinning line for each running check.
#[derive(Default)]
struct Bars {
    all: MultiProgress,
    bars: Mutex<BTreeMap<CheckName, ProgressBar>>,
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
        // Without a terminal there is no reader.
        let _ = self.all.println(repeating(check, nth, wait));
    }

    fn ended(&self, evidence: &CheckEvidence) {
        let bar = self.bars.lock().unwrap_or_else(PoisonError::into_inner).remove(&evidence.name);
        bar.iter().for_each(ProgressBar::finish_and_clear);
        // Without a terminal there is no reader.
        let _ = self.all.println(ended(evidence));
    }
}

/// A line when a check starts, and one when it ends; between them what it prints, if that was asked for. In the log of a
/// workflow's step: the whole log of each check in a group that can be folded open.
struct Lines {
    are_grouped: bool,
}

impl Observer for Lines {
    fn started(&self, check: &CheckName) {
        if !self.are_grouped {
            output::note_line(format_args!("{check} …"));
        }
    }

    fn output(&self, check: &CheckName, bytes: &[u8]) {
        if !self.are_grouped && output::loudness() == Loudness::Verbose {
            let text = render::defused(&String::from_utf8_lossy(bytes));
            let lines: String = text.lines().map(|line| format!("{check} │ {line}\n")).collect();
            output::note_text(lines);
        }
    }

    fn again(&self, check: &CheckName, tests: usize) {
        let failing = if tests == 1 { "the failing test".to_owned() } else { format!("the {tests} failing tests") };
        output::note_line(format_args!("{check}: running {failing} once more"));
    }

    fn repeating(&self, check: &CheckName, nth: u32, wait: Duration) {
        output::note_line(repeating(check, nth, wait));
    }

    fn ended(&self, evidence: &CheckEvidence) {
        if !self.are_grouped {
            return output::note_line(ended(evidence));
        }
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
