//! The answer to a command, one sentence each.

use crate::core::{
    decision::CommandReply,
    state::{AnswerOutcome, CommandRefusal},
};

use super::{
    sanitize::{Markdown, code},
    words::person,
};

/// Whether a command was carried out, and what came of it.
pub(super) fn line(reply: &CommandReply) -> Markdown {
    let answer = &reply.answer;
    let (icon, sentence) = match &answer.outcome {
        AnswerOutcome::Refused(refusal) => ("😕", refused(refusal)),
        done => ("👍", carried_out(done)),
    };
    let command = match &answer.outcome {
        AnswerOutcome::Refused(CommandRefusal::UnknownCommand { typed, .. }) => code(&format!("/loop {typed}")),
        AnswerOutcome::Refused(CommandRefusal::Usage { .. }) => Markdown::ours("a command"),
        _ => code(&format!("/loop {}", answer.verb)),
    };
    Markdown::ours(format!("{icon} {} wrote {command}: {sentence}", person(&answer.by)))
}

fn carried_out(outcome: &AnswerOutcome) -> String {
    match outcome {
        AnswerOutcome::Shown => "answered below.".to_owned(),
        AnswerOutcome::LookedAgain => "looked at everything again.".to_owned(),
        AnswerOutcome::Resumed => "a new streak begins with the next push; the total of failures stays.".to_owned(),
        AnswerOutcome::Stopped => {
            format!("the loop is stopped; {} lets it go on.", code("/loop resume"))
        }
        AnswerOutcome::Skipped { check } => {
            format!("{} is skipped from now on; it stays visible here.", code(check.as_str()))
        }
        AnswerOutcome::Refused(refusal) => refused(refusal),
    }
}

fn refused(refusal: &CommandRefusal) -> String {
    match refusal {
        CommandRefusal::NeedsWrite => "not carried out, because it takes write access to this repository.".to_owned(),
        CommandRefusal::NeedsAuthorOrWrite => {
            "not carried out, because only the author or somebody with write access can do that.".to_owned()
        }
        CommandRefusal::NeedsApproverOf { gate } => {
            format!("not carried out, because only an approver of the {gate} gate can do that.")
        }
        CommandRefusal::OwnWork => {
            "not carried out, because whoever wrote the code cannot release its own checks; ask somebody else with \
             write access."
                .to_owned()
        }
        CommandRefusal::RightsUnknown => {
            "not carried out, because GitHub did not say what rights you have; write it again in a few minutes."
                .to_owned()
        }
        CommandRefusal::Edited => {
            "not carried out, because the comment was edited; write the command in a new comment.".to_owned()
        }
        CommandRefusal::NothingToResume => "nothing is stopped or blocked, so there is nothing to resume.".to_owned(),
        CommandRefusal::NeedsAccept { cause } => format!(
            "not carried out, because somebody has to take responsibility for it: write {}.",
            code(&format!("/loop resume --accept {}", cause.as_str()))
        ),
        CommandRefusal::UnknownCheck { check, nearest } => {
            let meant =
                nearest.as_ref().map(|name| format!(" Did you mean {}?", code(name.as_str()))).unwrap_or_default();
            format!("there is no check {}.{meant}", code(check.as_str()))
        }
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
            format!("not understood; it is written {}.", code(usage))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{CommentId, Sha, gate::WordSource, state::Answer};

    fn said(verb: &str, outcome: AnswerOutcome) -> String {
        let answer = Answer {
            by: "mallory".parse().expect("a login"),
            verb: verb.to_owned(),
            outcome,
            head_sha: Sha::from_bytes([1; 20]),
        };
        line(&CommandReply { source: WordSource::Comment(CommentId::new(1)), answer }).into_string()
    }

    #[test]
    fn answers_say_what_came_of_it_and_what_to_write_instead() {
        use CommandRefusal as R;
        let typo = R::UnknownCommand { typed: "resme".to_owned(), nearest: Some("resume".to_owned()) };
        let check = R::UnknownCheck { check: "lit".parse().expect("a name"), nearest: "lint".parse().ok() };
        insta::assert_snapshot!(
            [
                said("resume", AnswerOutcome::Resumed),
                said("resume", AnswerOutcome::Refused(R::NeedsWrite)),
                said("?", AnswerOutcome::Refused(typo)),
                said("skip", AnswerOutcome::Refused(check)),
                said("skip", AnswerOutcome::Skipped { check: "lint".parse().expect("a name") }),
            ]
            .join("\n"),
            @r#"
            👍 mallory wrote `/loop resume`: a new streak begins with the next push; the total of failures stays.
            😕 mallory wrote `/loop resume`: not carried out, because it takes write access to this repository.
            😕 mallory wrote `/loop resme`: there is no such command. Did you mean `/loop resume`?
            😕 mallory wrote `/loop skip`: there is no check `lit`. Did you mean `lint`?
            👍 mallory wrote `/loop skip`: `lint` is skipped from now on; it stays visible here.
            "#
        );
    }
}
