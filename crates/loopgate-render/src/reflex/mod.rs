//! Local loops for a terminal: the summary of an iteration, what it plans and what is wrong, and the call for a person;
//! the columns of `status` and `list`, the history, and the whole report.

mod fix_message;
#[cfg(test)]
mod tests;

use minijinja::{context, value::Serde};

pub use self::fix_message::loop_fix_message;

use super::{
    CAUTION, Iteration, causes, memory_lines,
    messages::{self, entry, reason},
    place,
    summary::{failed, state_ref},
    word_named, words,
};
use loopgate_core::{
    concerns::{
        escalation::Question,
        verdict::{Evaluation, FailureView},
    },
    deciding::{Decision, View},
    memory::MemoryMatch,
    observed::ChangedFiles,
    policy::Trigger,
    reflex::{self, Ask, Breach, CritiqueItem, EditRefusal, Exhausted, FixRecord, LoopCall},
    source_files::{is_code, is_test},
    state::{Dispute, LoopState, RunDocument, RunStatus},
    text::one_line,
};

/// The key of the texts about a change that comes without a test.
const MISSING_TEST: &str = "missing_test";

/// The summary of the iteration a loop has just evaluated.
pub fn loop_iteration(
    state: &LoopState,
    evaluation: &Evaluation,
    failures: &[FailureView],
) -> Iteration {
    let described = |fix: &FixRecord| {
        format!(
            "{} ({} in {})",
            fix.subject,
            fix.diff_summary,
            words::few(&fix.files_modified, 3)
        )
    };
    let changed: Vec<String> = last_fix(state).map(described).into_iter().collect();
    let beside = context! {
        number => state.run.iteration,
        max => state.run.max_iterations,
        plan => state.run.plan.clone(),
        changed,
        artifact => state_ref(state),
    };
    Iteration::new(state, evaluation, failures, beside)
}

/// The fix that led to the iteration a loop is in.
fn last_fix(state: &LoopState) -> Option<&FixRecord> {
    state
        .run
        .reflex
        .as_ref()?
        .fixes
        .last()
        .filter(|fix| fix.iteration + 1 == state.run.iteration)
}

/// How a loop stands, in one line, as far as its state alone shows.
pub fn loop_verdict(state: &LoopState) -> String {
    let beside = context! { cause => cause(state), state => Serde(shown(state)) };
    let status = &state.run.status;
    match state.run.pull_request {
        Some(_) => messages::plain(entry::PullRequestVerdict(status), beside),
        None => messages::plain(entry::LoopVerdict(status), beside),
    }
}

/// Why a person is called: on a pull request in its words, at a terminal mostly in the same.
fn cause(state: &LoopState) -> &'static str {
    let Some(trigger) = state.people.blocked.as_ref().map(|blocked| blocked.trigger) else {
        return "a person is needed";
    };
    let about = if trigger == Trigger::AmbiguousRequirement && reflex::lacks_only_a_test(state) {
        MISSING_TEST
    } else {
        trigger.as_str()
    };
    let own = word_named("trigger_of_local_loop", about);
    if state.run.pull_request.is_some() || own.is_empty() {
        words::trigger(trigger)
    } else {
        own
    }
}

/// How a step of the loop went wrong.
pub fn loop_breach(breach: &Breach) -> String {
    reason(entry::Breach(breach))
}

/// Why an edit of the fixer is refused.
pub fn loop_edit_refusal(refusal: &EditRefusal) -> String {
    reason(entry::EditRefusal(refusal))
}

/// Which part of the fixer's budget is used up.
pub fn loop_exhausted(exhausted: &Exhausted) -> String {
    reason(entry::Exhausted(exhausted))
}

/// PLAN: what the iteration that a loop is in will do, in short lines.
pub fn loop_plan(state: &LoopState) -> Vec<String> {
    let reflex = state.run.reflex.as_ref();
    let mut plan = Vec::new();
    match (
        last_fix(state),
        reflex.and_then(|reflex| reflex.settings.produce.as_deref()),
    ) {
        (Some(fix), _) => plan.push(format!("check “{}”", fix.subject)),
        (None, Some(command)) if state.run.iteration == 1 => plan.push(format!("run `{command}`")),
        (None, _) => plan.push("take the tree as it is".to_owned()),
    }
    plan.push(format!("evaluate phase {:?}", state.run.phase));
    let failed = state
        .head
        .evaluation
        .as_ref()
        .map(|evaluation| evaluation.failed_rules.as_slice())
        .unwrap_or_default();
    if state.run.iteration > 1 && !failed.is_empty() {
        let names: Vec<&str> = failed.iter().take(5).map(|rule| rule.as_str()).collect();
        plan.push(format!("fix {}", names.join(" and ")));
    }
    plan
}

/// Failures named for one rule; the feedback has them all.
const PER_RULE: usize = 3;

/// CRITIQUE: what is wrong after a failed evaluation and what to do about it, an item for each failed rule at least:
/// its failed rules, the severe first, each with the failures of its check.
pub fn loop_critique(view: &View) -> Vec<CritiqueItem> {
    let bounded = |text: &str| one_line(text, 300);
    let mut items = Vec::new();
    for (rule, why) in failed(&view.evaluation) {
        let failures = view
            .failures
            .iter()
            .filter(|failure| failure.check.as_str() == rule.id.as_str());
        // What to do about a failure may not be known.
        let (usual, before) = (bounded(&reason(entry::Rule(why))), items.len());
        items.extend(failures.take(PER_RULE).map(|view| {
            let failure = &view.failure;
            let place = failure
                .location()
                .map(|(file, line)| format!("{}: ", place(file, line)))
                .unwrap_or_default();
            let cause = view.feedback.problem.as_str();
            // Most causes begin with their test: it stands there once.
            let name = failure
                .test_name
                .as_deref()
                .filter(|name| !cause.starts_with(&format!("`{name}`")));
            let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
            CritiqueItem {
                rule: rule.id.to_string(),
                issue: bounded(&format!("{place}{name}{cause}")),
                fix: Some(bounded(&view.feedback.action))
                    .filter(|fix| !fix.is_empty())
                    .unwrap_or_else(|| usual.clone()),
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
    let notes = vec![format!(
        "What was seen: {}.",
        causes::recognised(escalation)
    )];
    if escalation.trigger == Trigger::Tampering {
        return Some(loop_call(Trigger::Tampering, notes));
    }
    let question = reason(entry::Question(&escalation.question));
    Some(LoopCall {
        notes,
        ask: Ask {
            question,
            options: causes::options(&escalation.question),
        },
    })
}

/// A call by somebody who disputes that a failure is theirs to fix.
pub fn loop_dispute(dispute: &Dispute, failures: &[FailureView]) -> LoopCall {
    let question = Question::disputed(dispute.clone(), failures);
    let options = causes::options_by(&question, "loopgate loop resume --settle");
    LoopCall {
        notes: Vec::new(),
        ask: Ask {
            question: reason(entry::Question(&question)),
            options,
        },
    }
}

/// A call by something else than an evaluation: refused edits, no edits, nothing to spend. `notes` have what it is.
pub fn loop_call(cause: Trigger, notes: Vec<String>) -> LoopCall {
    let text =
        |part: entry::CallOfLocalLoop| messages::plain(part, context! { about => cause.as_str() });
    let ask = Ask {
        question: text(entry::CallOfLocalLoop::Question),
        options: causes::lines(&text(entry::CallOfLocalLoop::Answers)),
    };
    LoopCall { notes, ask }
}

/// A call by a fixer that has nothing left to mend, where no test comes with the change.
pub fn loop_missing_test(change: &ChangedFiles, notes: Vec<String>) -> LoopCall {
    let code = change
        .known()
        .iter()
        .map(|file| file.path.as_str())
        .filter(|path| is_code(path) && !is_test(path));
    let files: Vec<String> = code.take(3).map(|path| one_line(path, 200)).collect();
    let beside = context! { files };
    LoopCall {
        notes,
        ask: Ask {
            question: messages::plain(entry::CallOfLocalLoop::MissingTest, beside),
            options: causes::lines(word_named("answers_of_local_loop", MISSING_TEST)),
        },
    }
}

/// `status`: one loop with everything in its columns.
pub fn loop_status(state: &LoopState) -> String {
    messages::text(
        "loop_list.txt",
        context! { whole => true, states => Serde([shown(state)]), active => None::<&str> },
    )
}

/// `list`: all loops, and below them which is active where more than one goes on.
pub fn loop_list(states: &[LoopState], active: Option<&str>) -> String {
    let going = states.iter().filter(|state| {
        matches!(
            state.run.status,
            RunStatus::InProgress | RunStatus::Escalated
        )
    });
    let active = active.filter(|_| going.count() > 1);
    let states: Vec<RunDocument> = states.iter().map(shown).collect();
    messages::text(
        "loop_list.txt",
        context! { whole => false, states => Serde(states), active },
    )
}

/// A state as templates read it.
fn shown(state: &LoopState) -> RunDocument {
    RunDocument::from(state.clone())
}

/// The whole report: every iteration, what is left, and what only a person can decide.
pub fn loop_report(state: &LoopState, colour: bool) -> String {
    let reflex = state.run.reflex.as_ref();
    let distance = reflex.and_then(|reflex| reflex.distance_to_success.as_ref());
    let also = state
        .people
        .blocked
        .iter()
        .flat_map(|blocked| &blocked.also)
        .map(|trigger| words::trigger(*trigger));
    let remembered = state
        .attempts
        .counted
        .last()
        .and_then(|last| last.memory_matches.as_ref());
    let error_of = |found: &MemoryMatch| {
        let mut records = state.attempts.failures.history.iter().rev();
        let record = records.find(|record| record.fingerprint == found.fingerprint);
        record
            .map_or("another failure", |record| &record.error)
            .to_owned()
    };
    let remembered = remembered
        .into_iter()
        .flatten()
        .map(|found| (error_of(found), found));
    let model = context! {
        colour,
        verdict => loop_verdict(state),
        is_commit => state.head.branch.len() >= 7 && state.head.branch.chars().all(|c| c.is_ascii_hexdigit()),
        reflex => Serde(reflex),
        state_ref => state_ref(state),
        before => memory_lines(remembered),
        distance => Serde(distance.filter(|_| state.run.status != RunStatus::InProgress)),
        asks => reflex.is_some() && matches!(state.run.status, RunStatus::Escalated | RunStatus::Aborted),
        cause => cause(state),
        also => also.collect::<Vec<_>>(),
        state => Serde(shown(state)),
        caution => CAUTION,
    };
    messages::text("loop_report.txt", model)
}
