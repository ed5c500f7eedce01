//! Local loops for a terminal: the summary of an iteration, the columns of `status` and `list`, the history, and the
//! whole report.

use std::fmt::Write;

use super::{
    sanitize::{clip, line},
    summary::{Iteration, IterationOutcome},
    terminal::{Colour, Paint},
    words,
};
use crate::core::{
    Timestamp,
    decision::{Evaluation, RuleOutcome},
    escalation::Trigger,
    history::{EventStatus, HistoryLine},
    policy::Severity,
    reflex::{FixMaker, FixRecord, ReflexState},
    state::{AttemptDigest, LoopState, RunStatus, StopReason, VerificationResult},
};

/// What `list` and `status` call a status.
pub const fn status_word(status: RunStatus) -> &'static str {
    match status {
        RunStatus::InProgress => "running",
        other => other.as_str(),
    }
}

fn time(at: Timestamp) -> String {
    at.format("%Y-%m-%d %H:%M:%S").to_string()
}

fn score(state: &LoopState) -> String {
    state.evaluation.as_ref().map_or_else(|| "–".to_owned(), |evaluation| evaluation.score.to_string())
}

/// `status`: one loop with everything in its columns.
pub fn loop_status(state: &LoopState) -> String {
    table(
        &["alias", "status", "iteration", "phase", "current_step", "last_score", "updated_at"],
        &[vec![
            state.task_alias.clone(),
            status_word(state.status).to_owned(),
            format!("{}/{}", state.iteration, state.max_iterations),
            format!("{:?}", state.phase),
            state.current_step.as_str().to_owned(),
            score(state),
            time(state.updated_at),
        ]],
    )
}

/// `list`: all loops, and below them which is active where more than one goes on.
pub fn loop_list(states: &[LoopState], active: Option<&str>) -> String {
    let rows: Vec<Vec<String>> = states
        .iter()
        .map(|state| {
            vec![
                state.task_alias.clone(),
                status_word(state.status).to_owned(),
                format!("{}/{}", state.iteration, state.max_iterations),
                score(state),
                time(state.updated_at),
            ]
        })
        .collect();
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
            let event = serde_json::to_value(entry.event).ok();
            let event = event.as_ref().and_then(|event| event.as_str()).unwrap_or_default().to_owned();
            vec![
                time(entry.ts),
                entry.iteration.to_string(),
                format!("{:?}", entry.phase),
                entry.step.as_str().to_owned(),
                match entry.status {
                    EventStatus::Ok => event,
                    EventStatus::Fail => format!("{event} ✗"),
                },
                told(entry),
            ]
        })
        .collect();
    table(&["time (UTC)", "it.", "phase", "step", "event", "what"], &rows)
}

/// The one thing of a payload that people look for.
fn told(entry: &HistoryLine) -> String {
    let text = |key: &str| {
        let told = entry.payload.get(key).map(plain).filter(|text| !text.is_empty());
        // As much of a hash as is shown elsewhere.
        if key == "hash" { told.map(|hash| hash.chars().take(8).collect()) } else { told }
    };
    let keys =
        ["why", "subject", "words", "trigger", "reason", "failed_rules", "checks", "plan", "to", "title", "hash"];
    let said: Vec<String> = match text("score") {
        Some(score) => std::iter::once(format!("score {score}")).chain(text("failed_rules")).collect(),
        None => keys.into_iter().filter_map(text).take(1).collect(),
    };
    clip(&line(&said.join(", ")), 90).into_owned()
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Columns as wide as their widest cell; the last one is not padded.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let wide = |column: usize| {
        std::iter::once(&head).chain(rows).filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..head.len()).map(|column| wide(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in std::iter::once(&head).chain(rows) {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The summary of the iteration a loop has just evaluated.
pub fn loop_iteration(state: &LoopState, evaluation: &Evaluation) -> Iteration {
    let failed = |severity: Severity| {
        let rules = evaluation.rules.iter();
        let failed =
            rules.filter(|rule| rule.severity == severity && matches!(rule.outcome, RuleOutcome::Failed { .. }));
        failed.map(|rule| rule.id.to_string()).collect::<Vec<_>>()
    };
    let fix = last_fix(state);
    let mut issues: Vec<(Severity, String, String)> = evaluation
        .rules
        .iter()
        .filter(|rule| rule.severity != Severity::Info)
        .filter_map(|rule| match &rule.outcome {
            RuleOutcome::Failed { fix } => Some((rule.severity, rule.id.to_string(), fix.clone())),
            RuleOutcome::Passed | RuleOutcome::Unknown => None,
        })
        .collect();
    issues.sort_by_key(|(severity, ..)| std::cmp::Reverse(*severity));
    Iteration {
        number: state.iteration,
        max: state.max_iterations,
        phase: evaluation.phase,
        score: evaluation.score,
        outcome: if evaluation.passed() { IterationOutcome::Pass } else { IterationOutcome::Fail },
        plan: state.plan.clone(),
        hash: state.code_artifact.content_hash.clone(),
        changed: fix.map(|fix| format!("{} ({})", fix.subject, fix.diff_summary)).into_iter().collect(),
        failed: failed(Severity::Fail),
        warnings: failed(Severity::Warn),
        artifact: state_ref(state),
        issues: issues.into_iter().map(|(_, rule, fix)| (rule, fix)).collect(),
    }
}

/// The fix that led to the iteration a loop is in.
fn last_fix(state: &LoopState) -> Option<&FixRecord> {
    state.reflex.as_ref()?.fixes.last().filter(|fix| fix.iteration + 1 == state.iteration)
}

fn state_ref(state: &LoopState) -> String {
    match state.pull_request {
        Some(number) => format!("refs/loopgate/pr/{number}"),
        None => format!("refs/loopgate/task/{}", state.task_alias),
    }
}

/// How a loop stands, in one line.
pub fn loop_verdict(state: &LoopState) -> String {
    let iterations = words::count(state.iteration, "iteration");
    match (state.status, state.stop.reason) {
        (RunStatus::Completed | RunStatus::Passed, Some(StopReason::NoMajorIssues)) => {
            format!("completed after {iterations}: no major issue is left")
        }
        (RunStatus::Completed | RunStatus::Passed, _) => {
            format!("completed after {iterations}: every threshold is reached")
        }
        (RunStatus::Stopped, Some(StopReason::IterationLimit)) => {
            format!("stopped: {iterations} of {} are used up", state.max_iterations)
        }
        (RunStatus::Stopped, Some(StopReason::Stagnation)) => "stopped: the score no longer improves".to_owned(),
        (RunStatus::Stopped, _) => {
            let words = state.stop.words.as_deref().map(|words| format!(": “{}”", line(words))).unwrap_or_default();
            format!("stopped by a person{words}")
        }
        (RunStatus::Failed, _) => {
            let why = state.stop.words.as_deref().map(line).unwrap_or_default();
            format!("failed: {} went wrong twice — {why}", state.current_step.as_str())
        }
        (RunStatus::Escalated, _) => format!("blocked: {} — you decide", cause(state)),
        (RunStatus::Aborted, _) => format!("aborted: {}", cause(state)),
        (RunStatus::InProgress, _) if state.pull_request.is_some() => {
            format!("running: attempt {}, in {}", state.iteration, state.state.as_str())
        }
        (RunStatus::InProgress, _) => {
            format!(
                "running: iteration {} of {}, {} is next",
                state.iteration,
                state.max_iterations,
                state.current_step.as_str()
            )
        }
    }
}

fn cause(state: &LoopState) -> &'static str {
    state.blocked.as_ref().map_or("a person is needed", |blocked| trigger(blocked.trigger))
}

/// What a trigger means at a terminal; mostly what it means on a pull request.
const fn trigger(cause: Trigger) -> &'static str {
    match cause {
        Trigger::Tampering => "tests or configuration were tampered with",
        Trigger::AmbiguousRequirement => "the fixer changed nothing",
        Trigger::TimeoutExceeded => "something does not come to its end",
        other => words::trigger(other),
    }
}

/// The whole report: every iteration, what is left, and what only a person can decide.
pub fn loop_report(state: &LoopState, colour: Colour) -> String {
    let mut text = String::new();
    let paint = match state.status {
        RunStatus::Completed | RunStatus::Passed => Paint::Green,
        RunStatus::InProgress => Paint::Bold,
        _ => Paint::Red,
    };
    let head = format!("{}: {}", state.task_alias, loop_verdict(state));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}\n", colour.paint(paint, &head));
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            let _ = writeln!(text, "{name:10} {value}");
        }
    };
    field("Task", clip(&line(&state.task.prompt), 300).into_owned());
    field(
        "Ideal",
        state.task.ideal_result.as_deref().map(|ideal| clip(&line(ideal), 300).into_owned()).unwrap_or_default(),
    );
    let is_commit = state.branch.len() >= 7 && state.branch.chars().all(|c| c.is_ascii_hexdigit());
    let branch = if is_commit { "no branch".into() } else { line(&state.branch) };
    field("Where", format!("{branch} at {}", state.head_sha.short()));
    field("Began", format!("{} UTC, run {}", time(state.created_at), state.run_id));
    let now = state.evaluation.as_ref().map_or(crate::core::Score::ZERO, |evaluation| evaluation.score);
    let best = state.best_attempt.as_ref().filter(|best| best.attempt != state.iteration && best.score > now);
    let best = best.map(|best| format!(" (best: {} in iteration {}, {})", best.score, best.attempt, best.sha.short()));
    field("Score", format!("{} in phase {:?}{}", score(state), state.phase, best.unwrap_or_default()));
    if let Some(reflex) = &state.reflex {
        field("Spent", spent(reflex));
    }
    field("State", state_ref(state));
    on_a_pull_request(&mut text, state);
    iterations(&mut text, state);
    open_issues(&mut text, state);
    distance(&mut text, state);
    question(&mut text, state, colour);
    ways_on(&mut text, state);
    text
}

fn spent(reflex: &ReflexState) -> String {
    let spent = &reflex.spent;
    if spent.calls == 0 {
        return String::new();
    }
    let cost = if spent.cost_usd > 0.0 { format!(", {:.2} USD", spent.cost_usd) } else { String::new() };
    format!("{} of the fixer, {}{cost}", words::count(spent.calls, "call"), words::duration(spent.wall_ms))
}

/// What only a pull request's state has: stage, gates, skips, and what was resumed.
fn on_a_pull_request(text: &mut String, state: &LoopState) {
    if state.pull_request.is_none() {
        return;
    }
    let _ = writeln!(text, "Stage      {}", state.state.as_str());
    let gates: Vec<String> =
        state.gates.iter().map(|(name, gate)| format!("{name} {}", gate.status.as_str())).collect();
    if !gates.is_empty() {
        let _ = writeln!(text, "Gates      {}", gates.join(", "));
    }
    for skip in &state.skips {
        let _ = writeln!(text, "Skipped    {} by {}: {}", skip.check, skip.by, clip(&line(&skip.reason), 200));
    }
    if !state.resumes.is_empty() {
        let _ = writeln!(text, "Resumed    {}", words::count(state.resumes.len(), "time"));
    }
}

fn iterations(text: &mut String, state: &LoopState) {
    let fixes = state.reflex.as_ref().map(|reflex| reflex.fixes.as_slice()).unwrap_or_default();
    if state.attempts.is_empty() && fixes.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nIterations");
    for attempt in &state.attempts {
        let _ = writeln!(text, "{}", attempt_line(attempt));
        for fix in fixes.iter().filter(|fix| fix.iteration == attempt.number) {
            fix_lines(text, fix);
        }
    }
}

fn attempt_line(attempt: &AttemptDigest) -> String {
    let ended = match attempt.result {
        VerificationResult::Pass => "passed".to_owned(),
        VerificationResult::Fail => format!("failed  {}", clip(&line(&attempt.summary), 200)),
    };
    format!("{:3}  {}  {:?}  {}  {ended}", attempt.number, attempt.head_sha.short(), attempt.phase, attempt.score)
}

fn fix_lines(text: &mut String, fix: &FixRecord) {
    let by = match fix.by {
        FixMaker::Fixer => "fixer",
        FixMaker::SeniorFixer => "senior fixer",
        FixMaker::Person => "you",
    };
    let cost = fix.cost_usd.map(|cost| format!(", {cost:.2} USD")).unwrap_or_default();
    let _ = writeln!(
        text,
        "     └ {} {} ({by}{cost})  {} {}",
        fix.head_sha.short(),
        clip(&line(&fix.subject), 120),
        fix.diff_summary,
        clip(&line(&words::few(&fix.files_modified, 3)), 120)
    );
    if !fix.outside_scope.is_empty() {
        let _ = writeln!(
            text,
            "       outside the failing scope: {}",
            clip(&line(&words::few(&fix.outside_scope, 5)), 200)
        );
    }
}

fn open_issues(text: &mut String, state: &LoopState) {
    let Some(evaluation) = &state.evaluation else { return };
    let names = |rules: &[crate::core::RuleId]| rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !evaluation.failed_rules.is_empty() {
        let _ = writeln!(text, "\nFailed     {}", names(&evaluation.failed_rules));
    }
    if !evaluation.warnings.is_empty() {
        let gap = if evaluation.failed_rules.is_empty() { "\n" } else { "" };
        let _ = writeln!(text, "{gap}Warnings   {}", names(&evaluation.warnings));
    }
    let critique = state.critique.as_deref().unwrap_or_default();
    if !critique.is_empty() && !evaluation.passed {
        let _ = writeln!(text, "\nTo mend");
        for item in critique.iter().take(20) {
            let _ = writeln!(text, "  - {}", clip(&line(item), 500));
        }
    }
}

fn distance(text: &mut String, state: &LoopState) {
    let distance = state.reflex.as_ref().and_then(|reflex| reflex.distance_to_success.as_ref());
    let Some(distance) = distance.filter(|_| state.status != RunStatus::InProgress) else { return };
    let blocking: Vec<String> = distance.blocking_rule_ids.iter().map(ToString::to_string).collect();
    let _ = writeln!(text, "\nDistance to success");
    let _ = writeln!(text, "  score       {} of {}, {} short", distance.score, distance.threshold, distance.gap);
    let _ = writeln!(text, "  rules       {} of {} pass", distance.passed_rules, distance.total_rules);
    if !blocking.is_empty() {
        let _ = writeln!(text, "  in the way  {}", words::few(&blocking, 8));
    }
}

fn question(text: &mut String, state: &LoopState, colour: Colour) {
    let Some(reflex) = &state.reflex else { return };
    if !matches!(state.status, RunStatus::Escalated | RunStatus::Aborted) {
        return;
    }
    let head = format!("🚫 BLOCKED: {}", cause(state));
    let _ = writeln!(text, "\n{}", colour.paint(Paint::Red, &head));
    if let Some(blocked) = state.blocked.as_ref().filter(|blocked| !blocked.also.is_empty()) {
        let also: Vec<String> = blocked.also.iter().map(|cause| words::trigger(*cause).to_owned()).collect();
        let _ = writeln!(text, "  also: {}", words::and(&also));
    }
    for note in &reflex.notes {
        let _ = writeln!(text, "  {}", clip(&line(note), 400));
    }
    if let Some(diff) = &reflex.refused_diff {
        let _ = writeln!(text, "\nWhat it wanted");
        for row in diff.lines() {
            let _ = writeln!(text, "  | {}", clip(&super::sanitize::block(row), 200));
        }
    }
    if let Some(ask) = &reflex.ask {
        let _ = writeln!(text, "\nQuestion: {}", clip(&line(&ask.question), 500));
        for (number, option) in ask.options.iter().enumerate().take(9) {
            let _ = writeln!(text, "  {}. {}", number + 1, clip(&line(option), 400));
        }
    }
}

/// What to type next, where the loop does not go on by itself.
fn ways_on(text: &mut String, state: &LoopState) {
    if state.pull_request.is_some() {
        return;
    }
    let alias = &state.task_alias;
    if state.status != RunStatus::Escalated {
        if matches!(state.status, RunStatus::Stopped | RunStatus::Failed | RunStatus::Aborted) {
            let _ =
                writeln!(text, "\nTo go on, begin another: loopgate loop new. Commits made here stay on your branch.");
        }
        return;
    }
    let mut ways = vec![
        (format!("loopgate loop resume {alias}"), "goes on, with your commits if you made some"),
        (format!("loopgate loop stop \"why\" --alias {alias}"), "ends it"),
    ];
    if state.blocked.as_ref().is_some_and(|blocked| blocked.trigger == Trigger::Tampering) {
        ways.insert(0, (format!("loopgate loop resume {alias} --accept tampering"), "takes the edits as they are"));
    }
    let width = ways.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    let _ = writeln!(text, "\nTo resume");
    for (command, meaning) in ways {
        let _ = writeln!(text, "  {command:width$}   {meaning}");
    }
}

#[cfg(test)]
#[path = "reflex_tests.rs"]
mod tests;
