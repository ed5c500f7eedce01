//! The answers to commands, a sentence each. Those that ask (help, status, history, explain, memory, lint-config) get a
//! longer one, collapsed in the status comment, so that commands never cause a chain of replies.

use std::collections::BTreeSet;

use minijinja::{Value, context, value::Serde};

use super::{
    Links, Markdown, Subject, attempt_row, code, explain,
    messages::{self, entry},
    short_text, summary, texts, warning, word_named, words,
};
use loopgate_core::{
    PrNumber,
    commands::Verb,
    concerns::gates::GateReport,
    policy::PolicyOrigin,
    state::{Answer, AnswerOutcome, Asked, CommandRefusal, GateStatus},
};

type Answerer = fn(&Subject<'_>) -> String;

/// The commands that ask, and what answers them.
const QUESTIONS: [(Verb, Answerer); 6] = [
    (Verb::Help, |_| texts::render("help.md", context! {})),
    (Verb::Status, status),
    (Verb::History, history),
    (Verb::Explain, explain::answer),
    (Verb::Memory, searched),
    (Verb::LintConfig, lint),
];

/// One answer for each question asked on this head, however often it was asked.
pub fn answers(subject: &Subject<'_>) -> impl Iterator<Item = Value> {
    let is_asked = |verb: Verb| {
        let is_question = |outcome: &AnswerOutcome| {
            matches!(
                outcome,
                AnswerOutcome::Shown | AnswerOutcome::Searched { .. }
            )
        };
        subject
            .decision
            .next
            .replies()
            .any(|(_, answer)| is_question(&answer.outcome) && answer.verb == verb.as_str())
    };
    let asked = QUESTIONS
        .into_iter()
        .filter(move |(verb, _)| is_asked(*verb));
    asked.map(|(verb, answer)| context! { command => verb.usage(), body => Markdown::ours(answer(subject)) })
}

/// What was searched for in the debug memory; the newest three searches.
fn searched(subject: &Subject<'_>) -> String {
    let mut words_known = BTreeSet::new();
    let searches = subject
        .decision
        .next
        .replies()
        .rev()
        .filter_map(|(_, answer)| match &answer.outcome {
            AnswerOutcome::Searched { words, found } => Some((words, found)),
            _ => None,
        });
    let answers = searches
        .filter(|(words, _)| words_known.insert(*words))
        .take(3);
    let answers = answers.map(|(words, found)| {
        messages::markdown(
            entry::Memory::Answer,
            context! { words, found => Serde(found) },
        )
        .into_string()
    });
    answers.collect::<Vec<_>>().join("\n\n")
}

/// System, state, failures, gates, last activity.
fn status(subject: &Subject<'_>) -> String {
    let (view, next) = (&subject.decision.view, &subject.decision.next);
    let applies = |gate: &&GateReport| gate.status != GateStatus::NotApplicable;
    let gates = view
        .gates
        .iter()
        .filter(applies)
        .map(|gate| format!("{} {}", gate.name, gate.status.as_str()));
    let since = next.run.stage_entered_at;
    let model = context! {
        title => short_text(&next.run.title, 200),
        stage => view.stage.as_str(),
        capabilities => Serde(&view.capabilities),
        status => next.run.status.as_str(),
        recorded => next.attempts.failures.history.len(),
        resolved => next.attempts.failures.history.iter().filter(|failure| failure.resolution.is_some()).count(),
        total => next.attempts.failures.total,
        gates => gates.collect::<Vec<_>>(),
        active => words::moment(next.head.last_verification.as_ref().map_or(since, |last| last.at.max(since))),
    };
    messages::markdown(entry::Status::Answer, model).into_string()
}

fn history(subject: &Subject<'_>) -> String {
    let links = Links::of(subject.snapshot);
    let attempts = &subject.decision.next.attempts.counted;
    if attempts.is_empty() {
        return "No attempt has been counted yet.".to_owned();
    }
    let hidden = attempts.len().saturating_sub(20);
    let rows = attempts.iter().skip(hidden).map(|attempt| {
        context! { when => words::moment(attempt.at), ..attempt_row(attempt, &links, subject.shows_scores()) }
    });
    let number = subject.decision.next.run.pull_request.map(PrNumber::get);
    let everything = messages::plain(
        entry::HowToRead(&summary::state_place(subject)),
        context! { number },
    );
    messages::markdown(
        entry::History::Table,
        context! { rows => rows.collect::<Vec<_>>(), everything },
    )
    .into_string()
}

fn lint(subject: &Subject<'_>) -> String {
    let (policy, origin) = (subject.policy, &subject.decision.view.origin);
    if let Some(note) = warning::configuration_note(origin) {
        return note.into_string();
    }
    let commit = match origin {
        PolicyOrigin::Base { commit } => Some(code(&commit.short())),
        _ => None,
    };
    let beside = context! {
        commit,
        is_of_tree => matches!(origin, PolicyOrigin::WorkingTree),
        checks => policy.verify.checks.len(),
        gates => policy.gates.len(),
    };
    messages::markdown(entry::Configuration::Valid, beside).into_string()
}

/// Whether a command was carried out, and what it led to.
pub(super) fn line((asked, answer): (&Asked, &Answer)) -> Markdown {
    let carried_out =
        |outcome: &AnswerOutcome| messages::markdown(entry::Answer(outcome), context! {});
    let (icon, sentence) = match &answer.outcome {
        AnswerOutcome::Refused(refusal) => (
            "😕",
            messages::markdown(entry::CommandRefusal(refusal), context! {}),
        ),
        AnswerOutcome::NothingToRun { .. } => ("😕", carried_out(&answer.outcome)),
        done => ("👍", carried_out(done)),
    };
    let action = match (asked, &answer.outcome) {
        (Asked::ByButton { .. }, _) => match word_named("button", &answer.verb) {
            "" => "pressed *a button*".to_owned(),
            label => format!("pressed *{label}*"),
        },
        (_, AnswerOutcome::Refused(CommandRefusal::UnknownCommand { typed, .. })) => {
            format!("wrote {}", code(&format!("/loop {typed}")))
        }
        (_, AnswerOutcome::Refused(CommandRefusal::Usage { .. })) => "wrote a command".to_owned(),
        _ => format!("wrote {}", code(&format!("/loop {}", answer.verb))),
    };
    Markdown::ours(format!(
        "{icon} {} {action}: {sentence}",
        words::person(&answer.by)
    ))
}

/// Why a command was not carried out, for a terminal.
pub fn refused_command(refusal: &CommandRefusal) -> String {
    super::plain(messages::markdown(entry::CommandRefusal(refusal), context! {}).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use loopgate_core::{
        CommentId,
        commands::{self, Command},
        deciding::Decision,
        memory::ShownFix,
        observed::Snapshot,
        state::{Answered, WordSource},
    };

    fn asked(decision: &mut Decision, snapshot: &Snapshot, verb: Verb) -> String {
        let outcome = match verb {
            Verb::Memory => AnswerOutcome::Searched {
                words: "null @bob".to_owned(),
                found: Some(vec![remembered()]),
            },
            _ => AnswerOutcome::Shown,
        };
        let answer = Answer {
            by: fixtures::login("alice"),
            verb: verb.as_str().to_owned(),
            outcome,
            head_sha: snapshot.pull_request.head.sha,
        };
        decision.next.head.sha = answer.head_sha;
        let source = Asked::InWords(WordSource::Comment(CommentId::new(7)));
        decision.next.people.answered = vec![Answered {
            source,
            answers: vec![answer; 2],
        }];
        let policy = fixtures::policy();
        let subject = Subject::new(decision, snapshot, &policy);
        let answers: Vec<Value> = answers(&subject).collect();
        assert_eq!(answers.len(), 1, "asked twice, answered once");
        answers[0]
            .get_attr("body")
            .unwrap()
            .to_string()
            .replace("https://github.com/acme/widgets", "…")
    }

    fn remembered() -> ShownFix {
        ShownFix {
            pull_request: Some(loopgate_core::PrNumber::new(41)),
            commit: fixtures::sha(0xab),
            description: "Check for null <!-- @carol -->".to_owned(),
            diff_summary: "+5/-2".to_owned(),
            path: "src/auth.rs".to_owned(),
            line: Some(12),
            hunk: String::new(),
            cause: String::new(),
            failed_before: Vec::new(),
        }
    }

    #[test]
    fn what_only_asks_is_a_question() {
        for verb in Verb::ALL {
            let only_asks = matches!(commands::read(verb.as_str()), Ok(Command::Ask(_)));
            let has_row = QUESTIONS.iter().any(|(known, _)| *known == verb);
            // What is searched for comes with the verb.
            assert_eq!(has_row, only_asks || verb == Verb::Memory, "{verb}");
        }
    }

    #[test]
    fn every_question_has_its_answer() {
        let (mut decision, snapshot) = fixtures::same_error_again();
        let gate = fixtures::open_security_gate_with_an_outsider().view.gates;
        decision.view.gates = gate;
        for (verb, _) in QUESTIONS
            .into_iter()
            .filter(|(verb, _)| *verb != Verb::Help)
        {
            insta::assert_snapshot!(
                format!("answer_{verb}"),
                asked(&mut decision, &snapshot, verb)
            );
        }
        assert!(asked(&mut decision, &snapshot, Verb::Help).contains("| `/loop resume` |"));
    }

    #[test]
    fn help_names_every_verb() {
        let help = texts::render("help.md", context! {});
        for verb in Verb::ALL {
            assert!(help.contains(&format!("`/loop {verb}")), "{verb}");
        }
    }
}

#[cfg(test)]
mod reply_tests {
    use std::collections::BTreeSet;

    use super::*;
    use loopgate_core::{CheckRunId, CommentId, Sha, state::WordSource};

    fn said(verb: &str, outcome: AnswerOutcome) -> String {
        answered(
            Asked::InWords(WordSource::Comment(CommentId::new(1))),
            verb,
            outcome,
        )
    }

    fn pressed(verb: &str, outcome: AnswerOutcome) -> String {
        answered(
            Asked::ByButton {
                check_run: CheckRunId::new(4),
                button: verb.to_owned(),
            },
            verb,
            outcome,
        )
    }

    fn answered(source: Asked, verb: &str, outcome: AnswerOutcome) -> String {
        let answer = Answer {
            by: "mallory".parse().expect("a login"),
            verb: verb.to_owned(),
            outcome,
            head_sha: Sha::from_bytes([1; 20]),
        };
        line((&source, &answer)).into_string()
    }

    #[test]
    fn answers_say_what_came_of_it_and_what_to_write_instead() {
        use CommandRefusal as R;
        let unit = BTreeSet::from(["unit".parse().expect("a name")]);
        let typo = R::UnknownCommand {
            typed: "resme".to_owned(),
            nearest: Some("resume".to_owned()),
        };
        let check = R::UnknownCheck {
            check: "lit".parse().expect("a name"),
            nearest: "lint".parse().ok(),
        };
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
