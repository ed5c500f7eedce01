//! `status`, `list` and `history`: tables for a terminal; and the whole report of a loop.

use std::fmt::Write;

use minijinja::{
    context,
    value::{Serde, Value},
};

use super::{cause, loop_verdict, score, state_ref, status_word, time};
use crate::render::{Colour, Paint, clip, line, memory_lines, messages, plain::aligned, word, words};
use loopgate_core::{
    Score,
    policy::Trigger,
    state::{
        AttemptDigest, LoopState, RunStatus, VerificationResult,
        history::{Event, EventStatus, HistoryLine},
    },
};

const COLUMNS: [&str; 7] = ["alias", "status", "iteration", "phase", "current_step", "last_score", "updated_at"];

/// A loop in its [`COLUMNS`].
fn row(state: &LoopState) -> [String; COLUMNS.len()] {
    [
        state.task_alias.clone(),
        status_word(state.status).to_owned(),
        format!("{}/{}", state.iteration, state.max_iterations),
        format!("{:?}", state.phase),
        state.current_step.as_str().to_owned(),
        score(state),
        time(state.updated_at),
    ]
}

/// `status`: one loop with everything in its columns.
pub fn loop_status(state: &LoopState) -> String {
    table(&COLUMNS, &[row(state).to_vec()])
}

/// `list`: all loops, and below them which is active where more than one goes on.
pub fn loop_list(states: &[LoopState], active: Option<&str>) -> String {
    let short = |state: &LoopState| {
        let [alias, status, iteration, _, _, score, at] = row(state);
        vec![alias, status, iteration, score, at]
    };
    let rows: Vec<Vec<String>> = states.iter().map(short).collect();
    let mut text = table(&["alias", "status", "iteration", "last_score", "updated_at"], &rows);
    let going = states.iter().filter(|state| matches!(state.status, RunStatus::InProgress | RunStatus::Escalated));
    if let (Some(active), true) = (active, going.count() > 1) {
        let _ = writeln!(text, "\nThe active one is {active}: commands without an alias mean it.");
    }
    text
}

/// `history`: one line for each event.
pub fn loop_history(lines: &[HistoryLine]) -> String {
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|entry| {
            let event = entry.event.name();
            vec![
                time(entry.ts),
                entry.iteration.to_string(),
                format!("{:?}", entry.phase),
                entry.step.as_str().to_owned(),
                match entry.status {
                    EventStatus::Ok => event,
                    EventStatus::Fail => format!("{event} ✗"),
                },
                clip(&line(&happened(&entry.event)), 90).into_owned(),
            ]
        })
        .collect();
    table(&["time (UTC)", "it.", "phase", "step", "event", "what"], &rows)
}

/// The one thing of an event that people look for: empty of an event that a newer version wrote.
pub(in crate::render) fn happened(event: &Event) -> String {
    let written = Value::from(Serde(event));
    let name = event.name();
    let payload = written.get_attr("payload").unwrap_or_default();
    if word("event", &name).is_empty() { String::new() } else { messages::plain("event", &name, payload) }
}

/// Columns as wide as their widest cell; the last one is not padded.
pub(in crate::render) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let rows = rows.iter().map(|row| format!("\n{}", row.join("\t")));
    aligned(&(head.join("\t") + &rows.collect::<String>()))
}

/// The whole report: every iteration, what is left, and what only a person can decide.
pub fn loop_report(state: &LoopState, colour: Colour) -> String {
    let reflex = state.reflex.as_ref();
    let paint = match state.status {
        RunStatus::Completed | RunStatus::Passed => Paint::Green,
        RunStatus::InProgress => Paint::Bold,
        _ => Paint::Red,
    };
    let is_commit = state.branch.len() >= 7 && state.branch.chars().all(|c| c.is_ascii_hexdigit());
    let distance = reflex.and_then(|reflex| reflex.distance_to_success.as_ref());
    let also: Vec<&str> =
        state.blocked.iter().flat_map(|blocked| &blocked.also).map(|it| words::trigger(*it)).collect();
    let remembered = state.attempts.last().and_then(|last| last.memory_matches.as_ref());
    let model = context! {
        head => colour.paint(paint, &format!("{}: {}", state.task_alias, loop_verdict(state))),
        ideal => state.task.ideal_result.as_deref().unwrap_or_default(),
        branch => if is_commit { "no branch".to_owned() } else { line(&state.branch) },
        began => time(state.created_at),
        score => score(state),
        best => best(state),
        // At A → B the phase is the next evaluation's already.
        phase => Serde(state.attempts.last().map_or(state.phase, |last| last.phase)),
        reflex => Serde(reflex),
        state_ref => state_ref(state),
        attempts => state.attempts.iter().map(|it| context! { number => it.number, row => attempt_line(it) }).collect::<Vec<_>>(),
        before => memory_lines(remembered.into_iter().flatten()),
        distance => Serde(distance.filter(|_| state.status != RunStatus::InProgress)),
        asks => reflex.is_some() && matches!(state.status, RunStatus::Escalated | RunStatus::Aborted),
        blocked => colour.paint(Paint::Red, &format!("🚫 BLOCKED: {}", cause(state))),
        also,
        ways => ways_on(state),
        state => Serde(state),
    };
    messages::text("loop_report.txt", model)
}

/// The best attempt, if it is not the last and was better.
fn best(state: &LoopState) -> String {
    let now = state.evaluation.as_ref().map_or(Score::ZERO, |evaluation| evaluation.score);
    let best = state.best_attempt.as_ref().filter(|best| best.attempt != state.iteration && best.score > now);
    best.map(|best| format!(" (best: {} in iteration {}, {})", best.score, best.attempt, best.sha.short()))
        .unwrap_or_default()
}

fn attempt_line(attempt: &AttemptDigest) -> String {
    let ended = match attempt.result {
        VerificationResult::Pass if attempt.weakened => format!("⚠️ passed  {}", clip(&line(&attempt.summary), 200)),
        VerificationResult::Pass => "passed".to_owned(),
        VerificationResult::Fail => format!("failed  {}", clip(&line(&attempt.summary), 200)),
    };
    format!("{:3}  {}  {:?}  {}  {ended}", attempt.number, attempt.head_sha.short(), attempt.phase, attempt.score)
}

/// What to type next, and what it does.
fn ways_on(state: &LoopState) -> Vec<Vec<String>> {
    let alias = &state.task_alias;
    let mut ways = vec![
        (format!("loopgate loop resume {alias}"), "goes on, with your commits if you made some"),
        (format!("loopgate loop stop \"why\" --alias {alias}"), "ends it"),
    ];
    if state.blocked.as_ref().is_some_and(|blocked| blocked.trigger == Trigger::Tampering) {
        ways.insert(0, (format!("loopgate loop resume {alias} --accept tampering"), "takes the edits as they are"));
    }
    let width = ways.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    ways.into_iter().map(|(command, meaning)| vec![format!("{command:width$}"), meaning.to_owned()]).collect()
}
