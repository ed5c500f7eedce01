//! The text for a person whom a local loop calls: what happened, and one decision to take.

use minijinja::context;

use crate::render::{
    causes,
    messages::{self, word_or_else},
};
use loopgate_core::{
    deciding::Decision,
    escalation::Question,
    policy::Trigger,
    reflex::{Ask, Breach, EditRefusal, Exhausted, FewerTests, LoopCall},
    state::Dispute,
    verdict::FailureView,
};

/// A call by an evaluation; `None` if the decision calls no person.
pub fn loop_call_of(decision: &Decision) -> Option<LoopCall> {
    let escalation = decision.view.escalation.as_ref()?;
    let question = causes::question(&escalation.question);
    let ask = Ask { question, options: causes::options(&escalation.question) };
    Some(LoopCall { notes: vec![format!("What was seen: {}.", causes::recognised(escalation))], ask })
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

/// That tests are gone.
pub fn loop_fewer_tests(tests: &FewerTests) -> String {
    let FewerTests { before, after, fix } = tests;
    format!("{before} tests ran before the fix and {after} after it. The fix is {}.", fix.short())
}

/// How a step went wrong.
pub fn loop_breach(breach: &Breach) -> String {
    messages::plain("breach", breach, context! {})
}
