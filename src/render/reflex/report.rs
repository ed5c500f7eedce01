//! The whole report of a loop.

use std::fmt::Write;

use super::{cause, loop_verdict, score, state_ref, time};
use crate::render::{
    memory_lines,
    sanitize::{block, clip, line},
    terminal::{Colour, Paint},
    words,
};
use loopgate_core::{
    policy::Trigger,
    reflex::{FixMaker, FixRecord, ReflexState},
    state::{AttemptDigest, LoopState, RunStatus, VerificationResult},
};

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
    let now = state.evaluation.as_ref().map_or(loopgate_core::Score::ZERO, |evaluation| evaluation.score);
    let best = state.best_attempt.as_ref().filter(|best| best.attempt != state.iteration && best.score > now);
    let best = best.map(|best| format!(" (best: {} in iteration {}, {})", best.score, best.attempt, best.sha.short()));
    // At A → B the phase is the next evaluation's already.
    let phase = state.attempts.last().map_or(state.phase, |last| last.phase);
    field("Score", format!("{} in phase {phase:?}{}", score(state), best.unwrap_or_default()));
    if let Some(reflex) = &state.reflex {
        field("Spent", spent(reflex));
    }
    // A pull request's may be kept elsewhere; whoever reads it here knows where it was found.
    if state.pull_request.is_none() {
        field("State", state_ref(state));
    }
    on_a_pull_request(&mut text, state);
    iterations(&mut text, state);
    open_issues(&mut text, state);
    let matches = state.attempts.last().and_then(|last| last.memory_matches.as_ref());
    for (nth, known) in memory_lines(matches.into_iter().flatten()).iter().enumerate() {
        let _ = writeln!(text, "{}  - {}", if nth == 0 { "\nBefore\n" } else { "" }, clip(known, 500));
    }
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
        VerificationResult::Pass if attempt.weakened => format!("⚠️ passed  {}", clip(&line(&attempt.summary), 200)),
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
    let names = |rules: &[loopgate_core::RuleId]| rules.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !evaluation.failed_rules.is_empty() {
        let _ = writeln!(text, "\nFailed     {}", names(&evaluation.failed_rules));
    }
    if !evaluation.warnings.is_empty() {
        let gap = if evaluation.failed_rules.is_empty() { "\n" } else { "" };
        let _ = writeln!(text, "{gap}Warnings   {}", names(&evaluation.warnings));
    }
    let critique = state.critique.as_deref().unwrap_or_default();
    if !critique.is_empty() && !evaluation.passed {
        let _ = writeln!(text, "\nTo fix");
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
    let phase = state.attempts.last().map_or(state.phase, |last| last.phase);
    let (score, threshold, gap) = (distance.score, distance.threshold, distance.gap);
    let _ = writeln!(text, "  score       {score} of {threshold} in phase {phase:?}, {gap} short");
    let (passed, total, failed) = (distance.passed_rules, distance.total_rules, distance.failed_fail_rules);
    let _ = writeln!(text, "  rules       {passed} of {total} pass, {failed} of severity fail do not");
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
            let _ = writeln!(text, "  | {}", clip(&block(row), 200));
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
        } else if state.status == RunStatus::Completed {
            let _ = writeln!(text, "\nNext: push what was committed, and open a pull request.");
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
