//! Local loops for a terminal: the summary of an iteration, what it plans and what is wrong, and the call for a person; the
//! columns of `status` and `list`, the history, and the whole report.

mod fix_message;
mod report;
#[cfg(test)]
mod tests;

pub(super) use self::report::{happened, table};
pub use self::{
    fix_message::{FixMessage, loop_fix_message},
    report::{loop_history, loop_list, loop_report, loop_status},
};
use minijinja::context;

use super::{
    Iteration, causes, line,
    messages::{self, word_or_else},
    place,
    summary::failed,
    word, words,
};
use loopgate_core::{
    Timestamp,
    deciding::{Decision, View},
    escalation::Question,
    policy::Trigger,
    reflex::{Ask, Breach, CritiqueItem, EditRefusal, Exhausted, FixRecord, LoopCall},
    state::{Dispute, LoopState, RunStatus, StopReason},
    text::one_line,
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
    let described =
        |fix: &FixRecord| format!("{} ({} in {})", fix.subject, fix.diff_summary, words::few(&fix.files_modified, 3));
    let changed = last_fix(state).map(described).into_iter().collect();
    Iteration::new(state, evaluation, failures, (changed, state_ref(state)))
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

/// PLAN: what the iteration that a loop is in will do, in short lines.
pub fn loop_plan(state: &LoopState) -> Vec<String> {
    let reflex = state.reflex.as_ref();
    let mut plan = Vec::new();
    match (last_fix(state), reflex.and_then(|reflex| reflex.settings.produce.as_deref())) {
        (Some(fix), _) => plan.push(format!("check “{}”", fix.subject)),
        (None, Some(command)) if state.iteration == 1 => plan.push(format!("run `{command}`")),
        (None, _) => plan.push("take the tree as it is".to_owned()),
    }
    plan.push(format!("evaluate phase {:?}", state.phase));
    let failed = state.evaluation.as_ref().map(|evaluation| evaluation.failed_rules.as_slice()).unwrap_or_default();
    if state.iteration > 1 && !failed.is_empty() {
        let names: Vec<&str> = failed.iter().take(5).map(|rule| rule.as_str()).collect();
        plan.push(format!("fix {}", names.join(" and ")));
    }
    plan
}

/// Failures named for one rule; the feedback has them all.
const PER_RULE: usize = 3;

/// CRITIQUE: what is wrong after a failed evaluation and what to do about it, an item for each failed rule at least: its failed rules, the severe first, each with the failures of its check.
pub fn loop_critique(view: &View) -> Vec<CritiqueItem> {
    let bounded = |text: &str| one_line(text, 300);
    let mut items = Vec::new();
    for (rule, why) in failed(&view.evaluation) {
        let failures = view.failures.iter().filter(|failure| failure.check.as_str() == rule.id.as_str());
        // What to do about a failure may not be known.
        let (usual, before) = (bounded(&words::fix(why)), items.len());
        items.extend(failures.take(PER_RULE).map(|view| {
            let failure = &view.failure;
            let place = failure.location().map(|(file, line)| format!("{}: ", place(file, line))).unwrap_or_default();
            let cause = view.told.problem.as_str();
            // Most causes begin with their test: it stands there once.
            let name = failure.test_name.as_deref().filter(|name| !cause.starts_with(&format!("`{name}`")));
            let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
            CritiqueItem {
                rule: rule.id.to_string(),
                issue: bounded(&format!("{place}{name}{cause}")),
                fix: Some(bounded(&view.told.action)).filter(|fix| !fix.is_empty()).unwrap_or_else(|| usual.clone()),
            }
        }));
        if items.len() == before {
            items.push(CritiqueItem {
                rule: rule.id.to_string(),
                issue: bounded(&format!("“{}” does not hold", rule.description)),
                fix: usual,
            });
        }
    }
    items
}

/// A call by an evaluation; `None` if the decision calls no person.
pub fn loop_call_of(decision: &Decision) -> Option<LoopCall> {
    let escalation = decision.view.escalation.as_ref()?;
    let notes = vec![format!("What was seen: {}.", causes::recognised(escalation))];
    if escalation.trigger == Trigger::Tampering {
        return Some(loop_call(Trigger::Tampering, notes));
    }
    let question = causes::question(&escalation.question);
    Some(LoopCall { notes, ask: Ask { question, options: causes::options(&escalation.question) } })
}

/// A call by somebody who says that a failure is not theirs to fix.
pub fn loop_dispute(dispute: &Dispute, failures: &[FailureView]) -> LoopCall {
    let question = Question::disputed(dispute.clone(), failures);
    let options = causes::options_by(&question, "loopgate loop resume --settle");
    LoopCall { notes: Vec::new(), ask: Ask { question: causes::question(&question), options } }
}

/// A call by something else than an evaluation: refused edits, no edits, nothing to spend. `notes` tell what it is.
pub fn loop_call(cause: Trigger, notes: Vec<String>) -> LoopCall {
    let question = word_or_else("question_of_local_loop", cause.as_str()).to_owned();
    let ask = Ask { question, options: causes::lines(word_or_else("answers_of_local_loop", cause.as_str())) };
    LoopCall { notes, ask }
}

/// Which part of the fixer's budget is used up, as a note of a call.
pub fn loop_exhausted(exhausted: &Exhausted) -> String {
    messages::plain("exhausted", exhausted, context! {})
}

/// Why edits are refused.
pub fn loop_refusal(refusal: &EditRefusal) -> String {
    messages::plain("edit_refusal", refusal, context! {})
}

/// How a step went wrong.
pub fn loop_breach(breach: &Breach) -> String {
    messages::plain("breach", breach, context! {})
}
