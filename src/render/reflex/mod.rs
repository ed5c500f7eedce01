//! Local loops for a terminal: the summary of an iteration, the columns of `status` and `list`, the history, and the
//! whole report.

mod call;
mod columns;
mod critique;
mod fix_message;
mod report;
#[cfg(test)]
mod tests;

pub(in crate::render) use self::columns::happened;
pub(super) use self::columns::table;
pub use self::{
    call::{loop_breach, loop_call, loop_call_of, loop_dispute, loop_exhausted, loop_fewer_tests, loop_refusal},
    columns::{loop_history, loop_list, loop_status},
    critique::{loop_critique, loop_plan},
    fix_message::{FixMessage, loop_fix_message},
    report::loop_report,
};
use minijinja::context;

use super::{
    messages::{self, word},
    sanitize::line,
    summary::{self, Iteration},
    words,
};
use loopgate_core::{
    Timestamp,
    policy::Trigger,
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
        passes: evaluation.passed(),
        plan: state.plan.clone(),
        hash: state.code_artifact.content_hash.clone(),
        changed: fix
            .map(|fix| format!("{} ({} in {})", fix.subject, fix.diff_summary, words::few(&fix.files_modified, 3)))
            .into_iter()
            .collect(),
        failed: evaluation.failed_rules(),
        warnings: evaluation.warnings(),
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

/// How a loop stands, in one line, as far as its state alone says.
pub fn loop_verdict(state: &LoopState) -> String {
    let section = if state.pull_request.is_some() { "pull_request_verdict" } else { "loop_verdict" };
    let beside = context! {
        iterations => words::count(state.iteration, "iteration"),
        attempts => words::count(state.attempts.len(), "attempt"),
        iteration => state.iteration,
        max => state.max_iterations,
        step => state.current_step.as_str(),
        stage => state.state.as_str(),
        reason => state.stop.reason.map(StopReason::as_str),
        said => state.stop.words.as_deref().map(line).unwrap_or_default(),
        cause => cause(state),
    };
    messages::plain(section, &state.status, beside)
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
