//! The one question that is put to the human who is called, and its answers. Names from outside stand in it as they
//! are; who shows it makes it safe.

use loopgate_core::escalation::{Choice, Dilemma, Disagreement, Question};

/// The question itself.
pub(super) fn question(question: &Question) -> String {
    match question {
        Question::WhoDecides => "Who decides the gate that nobody has decided?".to_owned(),
        Question::WhichSide { test, since: Disagreement::Regression, .. } => {
            format!("`{test}` passed before and disagrees with the code now. Which side is right?")
        }
        Question::WhichSide { test, since: Disagreement::Attempts(attempts), .. } => {
            format!("{} `{test}` disagrees with the code. Which side is right?", after(*attempts))
        }
        Question::OfRun { attempts, about } => format!("{}, {}", after(*attempts), dilemma(*about)),
    }
}

/// The answers that the question offers, in their order.
pub(super) fn options(question: &Question) -> Vec<String> {
    question.choices().into_iter().map(option).collect()
}

fn after(attempts: u32) -> String {
    match attempts {
        0 => "Before any attempt could be judged".to_owned(),
        1 => "After 1 attempt".to_owned(),
        more => format!("After {more} attempts"),
    }
}

const fn dilemma(dilemma: Dilemma) -> &'static str {
    match dilemma {
        Dilemma::IsTheFindingReal => "is the finding real?",
        Dilemma::IsTheWeakeningMeant => "is the change to what checks the code meant?",
        Dilemma::WaitOrSkip => "should the loop wait or go on without this check?",
        Dilemma::HangsOrSlow => "does the code hang, or is the check too slow for its timeout?",
        Dilemma::HowToGoOn => "how should this go on?",
    }
}

fn option(choice: Choice<'_>) -> String {
    let words = match choice {
        Choice::TestIsRight { expected } => return format!("The test: it expects `{expected}`. Change the code."),
        Choice::CodeIsRight { actual } => {
            return format!("The code: it gives `{actual}`. Change the test, and say so in a comment.");
        }
        Choice::NeitherIsRight => "Neither: describe what should happen.",
        Choice::ApproversDecide => "Its approvers, now: approve or reject it.",
        Choice::NameOtherApprovers => "Somebody else: name other approvers in the configuration on the base branch.",
        Choice::CloseOrTakeOut => "Nobody: close the pull request, or take out what opened the gate.",
        Choice::FindingIsReal => "Yes: it must be fixed before anything else.",
        Choice::FindingIsFalse => "No: record why, then resume.",
        Choice::WeakeningIsMeant => "Yes: somebody else than its author takes responsibility for it.",
        Choice::WeakeningIsUndone => "No: put it back as it was, then resume.",
        Choice::Wait => "Wait until it is back, then resume.",
        Choice::SkipCheck => "Skip the check with a reason.",
        Choice::CodeHangs => "The code hangs: fix it and push.",
        Choice::CheckIsSlow => "The check is slow: raise its timeout on the base branch, then resume.",
        Choice::AnotherTry => "Another try: push a fix, then resume.",
        Choice::StopApproach => "Stop this approach: close the pull request.",
        Choice::TakeOver => "Take it over by hand.",
    };
    words.to_owned()
}
