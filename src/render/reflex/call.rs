//! What a person is told whom a local loop calls: what happened, and one decision to take.

use crate::render::{causes, questions, tampering::tampering};
use loopgate_core::{
    deciding::Decision,
    escalation::Question,
    policy::Trigger,
    reflex::{Ask, Breach, EditRefusal, Exhausted, FewerTests, LoopCall},
    state::Dispute,
    verdict::FailureView,
};

/// A call by an evaluation; none where the decision calls nobody.
pub fn loop_call_of(decision: &Decision) -> Option<LoopCall> {
    let escalation = decision.view.escalation.as_ref()?;
    let question = questions::question(&escalation.question);
    let ask = Ask { question, options: questions::options(&escalation.question) };
    Some(LoopCall { notes: vec![format!("What was seen: {}.", causes::recognised(escalation))], ask })
}

/// A call by somebody who says that a failure is not theirs to fix.
pub fn loop_dispute(dispute: &Dispute, failures: &[FailureView]) -> LoopCall {
    let question = Question::disputed(dispute.clone(), failures);
    let options = questions::options_by(&question, "loopgate loop resume --settle");
    LoopCall { notes: Vec::new(), ask: Ask { question: questions::question(&question), options } }
}

/// A call by something else than an evaluation: refused edits, no edits, nothing to spend. `notes` tell what it is.
pub fn loop_call(cause: Trigger, notes: Vec<String>) -> LoopCall {
    let (question, options): (&str, &[&str]) = match cause {
        Trigger::Tampering => (
            "Is what the fixer did to the tests or the configuration meant?",
            &["Yes: accept it and go on.", "No: let it try again, or fix the code by hand.", "Stop the loop."],
        ),
        Trigger::AmbiguousRequirement => (
            "The fixer found nothing to change. What should the code do?",
            &["Say it in a test, then go on.", "Fix it by hand, then go on.", "Stop the loop."],
        ),
        Trigger::BudgetExhausted => (
            "Should more be spent on fixing this?",
            &["Yes: raise `fixer.budget`, then go on.", "No: finish it by hand, then go on.", "Stop the loop."],
        ),
        Trigger::TimeoutExceeded => (
            "Does the fixer hang, or does it need longer?",
            &["It hangs: fix it, then go on.", "It needs longer: raise `fixer.timeout`, then go on.", "Stop the loop."],
        ),
        Trigger::ExternalDependencyDown => (
            "Should the loop wait, or go on without this check?",
            &["Bring it back, then go on.", "Take the check out of the configuration, then go on.", "Stop the loop."],
        ),
        _ => ("How should this go on?", &["Fix it by hand, then go on.", "Let the fixer try again.", "Stop the loop."]),
    };
    let ask = Ask { question: question.to_owned(), options: options.iter().map(|&option| option.to_owned()).collect() };
    LoopCall { notes, ask }
}

/// Which part of the fixer's budget is used up, as a note of a call.
pub fn loop_exhausted(exhausted: &Exhausted) -> String {
    match exhausted {
        Exhausted::Calls { calls } => {
            format!("the fixer was called {calls} times, which is all `fixer.budget.attempts` allows.")
        }
        Exhausted::WallTime { seconds } => {
            format!("the fixer has worked for {seconds} s, which is all `fixer.budget.wall_time` allows.")
        }
        Exhausted::Cost { spent, cap } => {
            format!("fixing has cost {spent:.2} USD; `fixer.budget.cost_usd` allows {cap:.2}.")
        }
    }
}

/// Why edits are refused.
pub fn loop_refusal(refusal: &EditRefusal) -> String {
    match refusal {
        EditRefusal::Weakens(found) => tampering(found),
        EditRefusal::Protected { path } => format!("{path} is not for a fixer to edit"),
        EditRefusal::RunsAtInstall { path, command } => {
            format!("{path} gains a command that runs where its packages are installed: {command}")
        }
        EditRefusal::TooLarge { reason } => format!("a change too large to read ({reason}) is not for a fixer to edit"),
    }
}

/// That tests are gone.
pub fn loop_fewer_tests(tests: &FewerTests) -> String {
    let FewerTests { before, after, fix } = tests;
    format!("{before} tests ran before the fix and {after} after it. The fix is {}.", fix.short())
}

/// How a step went wrong.
pub fn loop_breach(breach: &Breach) -> String {
    match breach {
        Breach::EmptyPlan => "the plan is empty".to_owned(),
        Breach::NothingToRun => "there is no check to run".to_owned(),
        Breach::Edited(files) => {
            let files = files.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            format!("the checks edited {files}; an evaluation must not edit what it evaluates")
        }
        Breach::TwoResults(check) => format!("there are two results of {check}"),
        Breach::NoResult(check) => format!("there is no result of {check}"),
        Breach::NoEnd(check) => format!("{check} did not come to an end"),
        Breach::Silent(rule) => format!("nothing is said about the failed rule {rule}"),
        Breach::NoInstruction { rule } => format!("no instruction is given for {rule}"),
        Breach::NoCritique => "the evaluation failed, and nothing is said about it".to_owned(),
    }
}
