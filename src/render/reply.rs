//! The answer to a command, one sentence each.

use std::collections::BTreeSet;

use super::{
    disputes,
    sanitize::{Markdown, code, short_text},
    words::{checks_code, few, person},
};
use loopgate_core::{
    CheckName,
    deciding::CommandReply,
    state::{AnswerOutcome, Asked, CommandRefusal},
};

/// Whether a command was carried out, and what came of it.
pub(super) fn line(reply: &CommandReply) -> Markdown {
    let answer = &reply.answer;
    let (icon, sentence) = match &answer.outcome {
        AnswerOutcome::Refused(refusal) => ("😕", refused(refusal)),
        AnswerOutcome::NothingToRun { .. } => ("😕", carried_out(&answer.outcome)),
        done => ("👍", carried_out(done)),
    };
    let said = match (&reply.source, &answer.outcome) {
        (Asked::ByButton { .. }, _) => format!("pressed *{}*", label(&answer.verb)),
        (_, AnswerOutcome::Refused(CommandRefusal::UnknownCommand { typed, .. })) => {
            format!("wrote {}", code(&format!("/loop {typed}")))
        }
        (_, AnswerOutcome::Refused(CommandRefusal::Usage { .. })) => "wrote a command".to_owned(),
        _ => format!("wrote {}", code(&format!("/loop {}", answer.verb))),
    };
    Markdown::ours(format!("{icon} {} {said}: {sentence}", person(&answer.by)))
}

/// What the button of a verb says.
fn label(verb: &str) -> &'static str {
    match verb {
        "retry" => "Retry",
        "skip" => "Skip",
        "explain" => "Explain",
        _ => "a button",
    }
}

fn carried_out(outcome: &AnswerOutcome) -> String {
    match outcome {
        AnswerOutcome::Shown | AnswerOutcome::Searched { .. } => "answered below.".to_owned(),
        AnswerOutcome::ExcerptForgotten => {
            "the lines quoted of the jobs' output are taken back; GitHub keeps who edited a comment, and the log itself.".to_owned()
        }
        AnswerOutcome::LookedAgain => "looked at everything again; no check is missing or failing.".to_owned(),
        AnswerOutcome::RunAgain { checks } => {
            format!("asked GitHub to run {} again on this commit.", named(checks))
        }
        AnswerOutcome::Underway { checks } => {
            format!("nothing to do: {} runs, or was asked for a moment ago.", named(checks))
        }
        AnswerOutcome::NothingToRun { checks } => format!(
            "nothing that brings {} has run on this commit, so there is nothing to run again; push, or start the \
             workflow by hand.",
            named(checks)
        ),
        AnswerOutcome::Resumed => "a new streak begins with the next push; the total of failures stays.".to_owned(),
        AnswerOutcome::Stopped => {
            format!("the loop is stopped; {} resumes it.", code("/loop resume"))
        }
        AnswerOutcome::Skipped { check } => {
            format!("{} is skipped from now on; it stays visible here.", code(check.as_str()))
        }
        AnswerOutcome::Disputed { failure } => format!(
            "{} is disputed; the loop waits until somebody settles it, and no attempt is counted for it.",
            code(&failure.to_string())
        ),
        AnswerOutcome::Settled { failure, outcome } => {
            let verdict = short_text(&disputes::verdict(outcome), 300);
            format!("{} is settled: {verdict}.", code(&failure.to_string()))
        }
        AnswerOutcome::Refused(refusal) => refused(refusal),
    }
}

/// Names of checks as code.
fn named(checks: &BTreeSet<CheckName>) -> Markdown {
    checks_code(&checks.iter().cloned().collect::<Vec<_>>())
}

/// Why a command was not carried out, for a terminal.
pub fn refused_command(refusal: &CommandRefusal) -> String {
    super::plain(&refused(refusal))
}

fn refused(refusal: &CommandRefusal) -> String {
    match refusal {
        CommandRefusal::NeedsWrite => "not carried out, because it takes write access to this repository.".to_owned(),
        CommandRefusal::NeedsAuthorOrWrite => {
            "not carried out, because only the author or somebody with write access can do that.".to_owned()
        }
        CommandRefusal::NeedsApproverOf { gate } => {
            format!(
                "not carried out, because that is for an approver of the {gate} gate or a maintainer, and not for \
                 whoever wrote the code."
            )
        }
        CommandRefusal::OwnWork => {
            "not carried out, because whoever wrote the code cannot release its own checks; ask somebody else with \
             write access."
                .to_owned()
        }
        CommandRefusal::RightsUnknown => {
            "not carried out yet, because GitHub did not say what rights you have; it is asked again for an hour."
                .to_owned()
        }
        CommandRefusal::Edited => {
            "not carried out, because the comment was edited; write the command in a new comment.".to_owned()
        }
        CommandRefusal::NothingToResume => "nothing is stopped or blocked, so there is nothing to resume.".to_owned(),
        CommandRefusal::NeedsReason { check } => {
            format!("skipping takes a reason: write {}.", code(&format!("/loop skip {check} --reason \"…\"")))
        }
        CommandRefusal::NeedsAccept { cause } => format!(
            "not carried out, because somebody has to take responsibility for it: write {}.",
            code(&format!("/loop resume --accept {}", cause.as_str()))
        ),
        CommandRefusal::UnknownCheck { check, nearest } => {
            let meant =
                nearest.as_ref().map(|name| format!(" Did you mean {}?", code(name.as_str()))).unwrap_or_default();
            format!("there is no check {}.{meant}", code(check.as_str()))
        }
        CommandRefusal::NoSuchFailure { failure } => format!(
            "there is no failure {} on this commit; the ids stand with the failures.",
            code(&failure.to_string())
        ),
        CommandRefusal::DisputedAlready { failure } => {
            format!("{} is disputed already, and waits to be settled.", code(&failure.to_string()))
        }
        CommandRefusal::SettledBefore { failure, outcome, by } => format!(
            "{} was settled before: {} said that {}.",
            code(&failure.to_string()),
            person(by),
            short_text(&disputes::verdict(outcome), 300)
        ),
        CommandRefusal::NothingToSettle => "nothing of that id is disputed, so there is nothing to settle.".to_owned(),
        CommandRefusal::WhichFailure { failures } => {
            let ids: Vec<String> = failures.iter().map(|id| code(&id.to_string()).into_string()).collect();
            format!("several failures are disputed ({}): name the one that is meant.", few(&ids, 5))
        }
        CommandRefusal::NeedsSettler { failure } => format!(
            "not carried out, because {} is for a maintainer or whoever was called to settle, and not for who wrote a \
             part of the change.",
            code(&failure.to_string())
        ),
        CommandRefusal::NeedsSettling { failure } => format!(
            "not carried out, because a failure is disputed: write {}, {} or {}.",
            code(&format!("/loop settle {failure} test")),
            code(&format!("/loop settle {failure} code")),
            code(&format!("/loop settle {failure} neither …"))
        ),
        CommandRefusal::NeverSkipped { check } => format!(
            "{} is a build or test check, and those are never skipped here; the configuration on the base branch \
             could allow it with {}.",
            code(check.as_str()),
            code("loop.execution_gate.allow_skip: true")
        ),
        CommandRefusal::UnknownCommand { nearest, .. } => match nearest {
            Some(nearest) => format!("there is no such command. Did you mean {}?", code(&format!("/loop {nearest}"))),
            None => format!("there is no such command. {} lists them.", code("/loop help")),
        },
        CommandRefusal::Usage { usage } => {
            format!("not understood; it is written {} as plain text.", code(usage))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::{
        CheckRunId, CommentId, Sha,
        state::{Answer, WordSource},
    };

    fn said(verb: &str, outcome: AnswerOutcome) -> String {
        answered(Asked::InWords(WordSource::Comment(CommentId::new(1))), verb, outcome)
    }

    fn pressed(verb: &str, outcome: AnswerOutcome) -> String {
        answered(Asked::ByButton { check_run: CheckRunId::new(4), button: verb.to_owned() }, verb, outcome)
    }

    fn answered(source: Asked, verb: &str, outcome: AnswerOutcome) -> String {
        let answer = Answer {
            by: "mallory".parse().expect("a login"),
            verb: verb.to_owned(),
            outcome,
            head_sha: Sha::from_bytes([1; 20]),
        };
        line(&CommandReply { source, answer }).into_string()
    }

    #[test]
    fn answers_say_what_came_of_it_and_what_to_write_instead() {
        use CommandRefusal as R;
        let unit = BTreeSet::from(["unit".parse().expect("a name")]);
        let typo = R::UnknownCommand { typed: "resme".to_owned(), nearest: Some("resume".to_owned()) };
        let check = R::UnknownCheck { check: "lit".parse().expect("a name"), nearest: "lint".parse().ok() };
        insta::assert_snapshot!(
            [
                said("resume", AnswerOutcome::Resumed),
                said("resume", AnswerOutcome::Refused(R::NeedsWrite)),
                said("?", AnswerOutcome::Refused(typo)),
                said("skip", AnswerOutcome::Refused(check)),
                said("skip", AnswerOutcome::Skipped { check: "lint".parse().expect("a name") }),
                said("retry", AnswerOutcome::RunAgain { checks: unit.clone() }),
                said("run", AnswerOutcome::Underway { checks: unit.clone() }),
                said("run", AnswerOutcome::NothingToRun { checks: unit }),
                pressed("skip", AnswerOutcome::Refused(R::NeedsReason { check: "lint".parse().expect("a name") })),
            ]
            .join("\n"),
            @r#"
            👍 mallory wrote `/loop resume`: a new streak begins with the next push; the total of failures stays.
            😕 mallory wrote `/loop resume`: not carried out, because it takes write access to this repository.
            😕 mallory wrote `/loop resme`: there is no such command. Did you mean `/loop resume`?
            😕 mallory wrote `/loop skip`: there is no check `lit`. Did you mean `lint`?
            👍 mallory wrote `/loop skip`: `lint` is skipped from now on; it stays visible here.
            👍 mallory wrote `/loop retry`: asked GitHub to run `unit` again on this commit.
            👍 mallory wrote `/loop run`: nothing to do: `unit` runs, or was asked for a moment ago.
            😕 mallory wrote `/loop run`: nothing that brings `unit` has run on this commit, so there is nothing to run again; push, or start the workflow by hand.
            😕 mallory pressed *Skip*: skipping takes a reason: write `/loop skip lint --reason "…"`.
            "#
        );
    }
}
