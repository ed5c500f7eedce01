//! Local loops for a terminal: the summary of an iteration, the columns of `status` and `list`, the history, and the
//! whole report.

mod call;
mod columns;
mod critique;
mod fix_message;
mod plan;
mod report;
#[cfg(test)]
mod tests;

pub(in crate::render) use self::columns::happened;
pub(super) use self::columns::table;
pub use self::{
    call::{loop_breach, loop_call, loop_call_of, loop_dispute, loop_exhausted, loop_fewer_tests, loop_refusal},
    columns::{loop_history, loop_list, loop_status},
    critique::loop_critique,
    fix_message::{FixMessage, loop_fix_message},
    plan::loop_plan,
    report::loop_report,
};
use super::{
    messages::word,
    sanitize::line,
    summary::{self, Iteration, IterationOutcome},
    words,
};
use loopgate_core::{
    Timestamp,
    policy::{Severity, Trigger},
    reflex::FixRecord,
    state::{LoopState, RunStatus, StopReason},
    verdict::{Evaluation, FailureView},
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

/// The summary of the iteration a loop has just evaluated.
pub fn loop_iteration(state: &LoopState, evaluation: &Evaluation, failures: &[FailureView]) -> Iteration {
    let fix = last_fix(state);
    Iteration {
        number: state.iteration,
        max: state.max_iterations,
        phase: evaluation.phase,
        score: evaluation.score,
        outcome: if evaluation.passed() { IterationOutcome::Pass } else { IterationOutcome::Fail },
        plan: state.plan.clone(),
        hash: state.code_artifact.content_hash.clone(),
        changed: fix
            .map(|fix| format!("{} ({} in {})", fix.subject, fix.diff_summary, words::few(&fix.files_modified, 3)))
            .into_iter()
            .collect(),
        failed: summary::failed_rules(evaluation, Severity::Fail),
        warnings: summary::failed_rules(evaluation, Severity::Warn),
        artifact: state_ref(state),
        issues: summary::issues(evaluation, failures),
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
    let words = state.stop.words.as_deref().map(|words| format!(": “{}”", line(words))).unwrap_or_default();
    if state.pull_request.is_some() {
        return pull_request_verdict(state, &words);
    }
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
        (RunStatus::Stopped, _) => format!("stopped by a person{words}"),
        (RunStatus::Failed, _) => {
            let why = state.stop.words.as_deref().map(line).unwrap_or_default();
            format!("failed: {} went wrong twice — {why}", state.current_step.as_str())
        }
        (RunStatus::Escalated, _) => format!("blocked: {} — you decide", cause(state)),
        (RunStatus::Aborted, _) => format!("aborted: {}", cause(state)),
        (RunStatus::InProgress, _) => format!(
            "running: iteration {} of {}, {} is next",
            state.iteration,
            state.max_iterations,
            state.current_step.as_str()
        ),
    }
}

/// How a pull request's loop stands, as far as its state alone says.
fn pull_request_verdict(state: &LoopState, words: &str) -> String {
    let attempts = words::count(state.attempts.len(), "attempt");
    match state.status {
        RunStatus::Completed => format!("merged after {attempts}"),
        RunStatus::Passed => format!("passed after {attempts}, in {}", state.state.as_str()),
        RunStatus::Stopped if state.stop.reason == Some(StopReason::UserStop) => format!("stopped by a person{words}"),
        RunStatus::Stopped => "closed without being merged".to_owned(),
        RunStatus::Failed => format!("failed: all {} attempts are used up", state.max_iterations),
        RunStatus::Escalated => format!("blocked: {}", cause(state)),
        RunStatus::Aborted => format!("aborted: {}", cause(state)),
        RunStatus::InProgress => format!("running: attempt {}, in {}", state.iteration, state.state.as_str()),
    }
}

/// Why a person is called.
fn cause(state: &LoopState) -> &'static str {
    match &state.blocked {
        None => "a person is needed",
        Some(blocked) if state.pull_request.is_some() => words::trigger(blocked.trigger),
        Some(blocked) => trigger(blocked.trigger),
    }
}

/// What a trigger means at a terminal; mostly what it means on a pull request.
fn trigger(cause: Trigger) -> &'static str {
    match word("trigger_of_local_loop", cause.as_str()) {
        "" => words::trigger(cause),
        words => words,
    }
}
