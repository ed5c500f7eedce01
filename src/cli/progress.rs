//! Progress of running checks, on standard error: bars on a terminal, lines elsewhere, groups in GitHub Actions.

use std::{
    collections::BTreeMap,
    io::{IsTerminal as _, Write as _},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use minijinja::context;

use super::{actions, output};
use loopgate_core::{
    CheckName,
    evidence::{CheckEvidence, CheckKind, Outcome},
    policy::{CheckPolicy, CheckSource},
};
use loopgate_render as render;
use loopgate_runner::{CheckEvent, Detected, Observer, Project};

/// Kinds of checks that every project is looked through for, and what people call them.
const LOOKED_FOR: [(CheckKind, &str); 3] = [
    (CheckKind::Build, "a build"),
    (CheckKind::Test, "tests"),
    (CheckKind::Lint, "a linter"),
];

/// Shows which usual checks run, and why none of the configuration does.
pub fn show_detected(is_unconfigured: bool, detected: &Detected) {
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
    let has = |kind: CheckKind| detected.checks.values().any(|check| check.kind == kind);
    let model = context! {
        projects,
        is_unconfigured,
        checks => Vec::from_iter(detected.checks.iter().filter_map(command)),
        left_out => Vec::from_iter(detected.left_out.iter().map(|(name, program)| format!("{name} is left out: {program}"))),
        not_found => Vec::from_iter(LOOKED_FOR.iter().filter(|(kind, _)| !has(*kind)).map(|(_, name)| *name)),
        unserved => Vec::from_iter(detected.unserved.iter().map(|(file, tool)| format!("{file} ({tool})"))),
        has_tests => has(CheckKind::Test),
    };
    // Names of directories and scripts come from the repository.
    output::note_text(render::defused(&render::text("detected.txt", model)));
}

/// The people who watch the checks here.
pub fn observer() -> Observer {
    let options = output::options();
    if actions::is_here() {
        lines(true)
    } else if !options.quiet && !options.verbose && std::io::stderr().is_terminal() {
        bars()
    } else {
        lines(false)
    }
}

/// One spinning line for each running check.
fn bars() -> Observer {
    let (all, bars) = (
        MultiProgress::new(),
        Mutex::new(BTreeMap::<CheckName, ProgressBar>::new()),
    );
    Arc::new(move |check, event| {
        let mut bars = bars.lock().unwrap_or_else(PoisonError::into_inner);
        // Without a terminal there is no reader of what is printed.
        let print = |line: String| drop(all.println(line));
        match event {
            CheckEvent::Started => {
                let bar = all.add(ProgressBar::new_spinner());
                if let Ok(style) = ProgressStyle::with_template(
                    "{spinner} {prefix:12} {elapsed:>5} {wide_msg:.dim}",
                ) {
                    bar.set_style(style);
                }
                bar.set_prefix(check.to_string());
                bar.enable_steady_tick(Duration::from_millis(120));
                bars.insert(check.clone(), bar);
            }
            CheckEvent::Output(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let last = text
                    .lines()
                    .rev()
                    .find(|line| !line.trim().is_empty())
                    .unwrap_or_default();
                let plain: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
                bars.get(check)
                    .into_iter()
                    .for_each(|bar| bar.set_message(plain.clone()));
            }
            CheckEvent::Repeating(nth, wait) => print(repeating(check, nth, wait)),
            CheckEvent::Ended(evidence) => {
                bars.remove(check)
                    .iter()
                    .for_each(ProgressBar::finish_and_clear);
                print(ended(evidence));
            }
            CheckEvent::Again(_) | CheckEvent::Proving(_) => {}
        }
    })
}

/// A line when a check starts, and one when it ends; between them what it prints, if that was asked for. In the log of
/// a workflow's step: the whole log of each check in a group that can be folded open.
fn lines(are_grouped: bool) -> Observer {
    Arc::new(move |check, event| match event {
        CheckEvent::Started if !are_grouped => output::note_line(format_args!("{check} …")),
        CheckEvent::Output(bytes) if !are_grouped && output::options().verbose => {
            let text = render::defused(&String::from_utf8_lossy(bytes));
            let lines: String = text
                .lines()
                .map(|line| format!("{check} │ {line}\n"))
                .collect();
            output::note_text(lines);
        }
        CheckEvent::Again(1) => {
            output::note_line(format_args!("{check}: running the failing test once more"))
        }
        CheckEvent::Again(tests) => output::note_line(format_args!(
            "{check}: running the {tests} failing tests once more"
        )),
        CheckEvent::Proving(1) => output::note_line(format_args!(
            "{check}: trying the command that reproduces the failure"
        )),
        CheckEvent::Proving(commands) => output::note_line(format_args!(
            "{check}: trying the {commands} commands that reproduce its failures"
        )),
        CheckEvent::Repeating(nth, wait) => output::note_line(repeating(check, nth, wait)),
        CheckEvent::Ended(evidence) if !are_grouped => output::note_line(ended(evidence)),
        CheckEvent::Ended(evidence) => {
            // One lock, so that two groups never mix.
            let mut out = std::io::stderr().lock();
            let cut = match evidence.log_cut_bytes {
                0 => String::new(),
                bytes => format!("\n … {bytes} bytes cut …\n"),
            };
            let log = format!("{}{cut}{}", evidence.log_head, evidence.log_tail);
            let shown = if log.is_empty() {
                log
            } else {
                actions::silenced(&log)
            };
            let _ = write!(
                out,
                "::group::{}\n{shown}::endgroup::\n",
                render::defused(&ended(evidence))
            );
        }
        CheckEvent::Started | CheckEvent::Output(_) => {}
    })
}

fn repeating(check: &CheckName, nth: u32, wait: Duration) -> String {
    format!(
        "{check} failed for reasons outside the code: once more in {} s (repetition {nth})",
        wait.as_secs()
    )
}

fn ended(evidence: &CheckEvidence) -> String {
    let mark = match evidence.outcome {
        Outcome::Passed => "✓",
        Outcome::Skipped => "–",
        Outcome::Cancelled => "⊘",
        Outcome::Failed | Outcome::TimedOut | Outcome::NoTestsExecuted | Outcome::ResultsLost => {
            "✗"
        }
    };
    let seconds = evidence.duration_ms as f64 / 1000.0;
    let why = evidence
        .skipped_because
        .as_ref()
        .map(|reason| format!(" ({reason})"))
        .unwrap_or_default();
    // Some tools name none of the tests that passed, and count none.
    let tests = evidence.results.map(|results| {
        let failing = results.failed + results.errors;
        match (render::all_skipped(&results), results.passed) {
            (Some(text), _) => format!(", {text}"),
            (None, 0) if failing > 0 => {
                format!(", {}", render::plural(failing, "test fails", "tests fail"))
            }
            (None, passed) => format!(", {passed} of {} tests pass", results.total),
        }
    });
    format!(
        "{mark} {} {}{why}, {seconds:.1} s{}",
        evidence.name,
        evidence.outcome.as_str(),
        tests.unwrap_or_default()
    )
}
