//! The answer to a command, one sentence each.

use super::{
    disputes,
    messages::{self, word},
    sanitize::{Markdown, code},
    words::person,
};
use loopgate_core::{
    deciding::CommandReply,
    state::{AnswerOutcome, Asked, CommandRefusal},
};
use minijinja::context;

/// Whether a command was carried out, and what it led to.
pub(super) fn line(reply: &CommandReply) -> Markdown {
    let answer = &reply.answer;
    let (icon, sentence) = match &answer.outcome {
        AnswerOutcome::Refused(refusal) => ("😕", refused(refusal)),
        AnswerOutcome::NothingToRun { .. } => ("😕", carried_out(&answer.outcome)),
        done => ("👍", carried_out(done)),
    };
    let said = match (&reply.source, &answer.outcome) {
        (Asked::ByButton { .. }, _) => match word("button", &answer.verb) {
            "" => "pressed *a button*".to_owned(),
            label => format!("pressed *{label}*"),
        },
        (_, AnswerOutcome::Refused(CommandRefusal::UnknownCommand { typed, .. })) => {
            format!("wrote {}", code(&format!("/loop {typed}")))
        }
        (_, AnswerOutcome::Refused(CommandRefusal::Usage { .. })) => "wrote a command".to_owned(),
        _ => format!("wrote {}", code(&format!("/loop {}", answer.verb))),
    };
    Markdown::ours(format!("{icon} {} {said}: {sentence}", person(&answer.by)))
}

fn carried_out(outcome: &AnswerOutcome) -> Markdown {
    let beside = match outcome {
        AnswerOutcome::Settled { outcome, .. } => context! { verdict => disputes::verdict(outcome) },
        _ => context! {},
    };
    messages::markdown("answer", outcome, beside)
}

/// Why a command was not carried out, for a terminal.
pub fn refused_command(refusal: &CommandRefusal) -> String {
    super::plain(refused(refusal).as_str())
}

fn refused(refusal: &CommandRefusal) -> Markdown {
    let beside = match refusal {
        CommandRefusal::SettledBefore { outcome, .. } => context! { verdict => disputes::verdict(outcome) },
        _ => context! {},
    };
    messages::markdown("command_refusal", refusal, beside)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
