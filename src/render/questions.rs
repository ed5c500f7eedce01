//! The one question that is put to the human who is called, and its answers. Names from outside stand in it as they
//! are; who shows it makes it safe.

use super::disputes;
use loopgate_core::{
    escalation::{Disagreement, Question},
    policy::Trigger,
};

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
        Question::Disputed { dispute, .. } => {
            format!("`{}` is disputed. {}. Who is right?", disputes::subject(dispute), disputes::claim(dispute))
        }
        Question::OfRun { attempts, about } => format!("{}, {}", after(*attempts), of_run(*about).0),
    }
}

/// The answers that the question offers, in their order.
pub(super) fn options(question: &Question) -> Vec<String> {
    match question {
        Question::Disputed { dispute, .. } => options_by(question, &format!("/loop settle {}", dispute.failure)),
        _ => options_by(question, "/loop settle"),
    }
}

/// The same where `settle` is the command by which a person says who is right.
pub(super) fn options_by(question: &Question, settle: &str) -> Vec<String> {
    let options: &[&str] = match question {
        Question::WhoDecides => &[
            "Its approvers, now: approve or reject it.",
            "Somebody else: name other approvers in the configuration on the base branch.",
            "Nobody: close the pull request, or take out what opened the gate.",
        ],
        Question::WhichSide { expected, actual, .. } => {
            return vec![
                format!("The test: it expects `{expected}`. Change the code."),
                format!("The code: it gives `{actual}`. Say so in a comment; the test then follows the code."),
                "Neither: describe what should happen.".to_owned(),
            ];
        }
        Question::Disputed { expected, actual, .. } => {
            let side = |does: &str, value: &Option<String>| {
                value.as_ref().map(|value| format!(", which {does} `{value}`")).unwrap_or_default()
            };
            return vec![
                format!("The test{}: write `{settle} test`. The code is changed.", side("expects", expected)),
                format!("The code{}: write `{settle} code`. The test follows it.", side("gives", actual)),
                format!("Neither: write `{settle} neither` and what should happen."),
            ];
        }
        Question::OfRun { about, .. } => of_run(*about).1,
    };
    options.iter().map(|&option| option.to_owned()).collect()
}

fn after(attempts: u32) -> String {
    match attempts {
        0 => "Before any attempt could be judged".to_owned(),
        1 => "After 1 attempt".to_owned(),
        more => format!("After {more} attempts"),
    }
}

const fn of_run(about: Trigger) -> (&'static str, &'static [&'static str]) {
    match about {
        Trigger::SecurityIssueFound => {
            ("is the finding real?", &["Yes: it must be fixed before anything else.", "No: record why, then resume."])
        }
        Trigger::Tampering => (
            "is the change to what checks the code meant?",
            &[
                "Yes: somebody else than its author takes responsibility for it.",
                "No: put it back as it was, then resume.",
            ],
        ),
        Trigger::ExternalDependencyDown => (
            "should the loop wait or go on without this check?",
            &["Wait until it is back, then resume.", "Skip the check with a reason."],
        ),
        Trigger::TimeoutExceeded => (
            "does the code hang, or is the check too slow for its timeout?",
            &[
                "The code hangs: fix it and push.",
                "The check is slow: raise its timeout on the base branch, then resume.",
            ],
        ),
        _ => (
            "how should this go on?",
            &[
                "Another try: push a fix, then resume.",
                "Stop this approach: close the pull request.",
                "Take it over by hand.",
            ],
        ),
    }
}
