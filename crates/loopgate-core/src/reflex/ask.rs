//! The one decision a person is asked for when something other than an evaluation calls them.

use crate::{policy::Trigger, state::Ask};

/// What is asked, with numbered options.
pub(super) fn about(cause: Trigger) -> Ask {
    let (question, options): (&str, &[&str]) = match cause {
        Trigger::Tampering => (
            "Is what the fixer did to the tests or the configuration meant?",
            &["Yes: accept it and go on.", "No: let it try again, or mend the code by hand.", "Stop the loop."],
        ),
        Trigger::AmbiguousRequirement => (
            "The fixer found nothing to change. What should the code do?",
            &["Say it in a test, then go on.", "Mend it by hand, then go on.", "Stop the loop."],
        ),
        Trigger::BudgetExhausted => (
            "Should more be spent on fixing this?",
            &["Yes: raise `fixer.budget`, then go on.", "No: finish it by hand, then go on.", "Stop the loop."],
        ),
        Trigger::TimeoutExceeded => (
            "Does the fixer hang, or does it need longer?",
            &[
                "It hangs: mend it, then go on.",
                "It needs longer: raise `fixer.timeout`, then go on.",
                "Stop the loop.",
            ],
        ),
        Trigger::ExternalDependencyDown => (
            "Should the loop wait, or go on without this check?",
            &["Bring it back, then go on.", "Take the check out of the configuration, then go on.", "Stop the loop."],
        ),
        _ => {
            ("How should this go on?", &["Mend it by hand, then go on.", "Let the fixer try again.", "Stop the loop."])
        }
    };
    Ask { question: question.to_owned(), options: options.iter().map(|&option| option.to_owned()).collect() }
}
