//! The report that calls a human: every attempt, every analysis, one question, and how to go on.
//!
//! It is a flat template over named texts, so that a repository can write its own at `.github/loopgate/escalation.md`.
//! Every text is safe to show as it stands.

mod restricted;
mod variables;

use std::io::Cursor;

use minijinja::{Value, context};

use self::variables::{DETAILS, variables};
use super::{LIMIT, Markdown, Subject, causes, code, line, reason, short_text, templates, word, words};
use loopgate_core::{
    deciding::Post,
    escalation::{EscalationView, Question},
};

/// A repository's own template may be this long, and may print this much.
const OVERRIDE_LIMIT: usize = 64 * 1024;
const MOST_PRINTED: usize = 8 * OVERRIDE_LIMIT;
/// Instructions a repository's own template may execute: a report takes a few hundred.
const OVERRIDE_FUEL: u64 = 50_000;

/// The short form in the status comment while a human is called.
pub(super) fn card(escalation: &EscalationView) -> Value {
    context! { question => card_question(escalation), options => options(escalation) }
}

/// What is asked of a person, after what was recognised where nothing else says it.
pub(super) fn card_question(escalation: &EscalationView) -> Markdown {
    let apart = said_apart(escalation).map(|said| format!("{} ", words::sentence(&said, 500))).unwrap_or_default();
    Markdown::ours(format!("{apart}{}", asked(escalation)))
}

/// What was recognised, where the failures, the tampering and the name of the cause do not say it.
fn said_apart(escalation: &EscalationView) -> Option<String> {
    let said = escalation.cause.as_ref().filter(|cause| causes::says_more(cause))?;
    Some(short_text(&reason("cause", said), 500).into_string())
}

/// What is asked of a person: the question, or, of a run as a whole, what its cause calls for.
fn asked(escalation: &EscalationView) -> Markdown {
    match &escalation.question {
        Question::OfRun { .. } => Markdown::ours(word("human_action", escalation.trigger.as_str())),
        question => short_text(&reason("question", question), 800),
    }
}

/// The answers to choose from. Of a run as a whole they are the ways to go on.
fn options(escalation: &EscalationView) -> Vec<Markdown> {
    if matches!(escalation.question, Question::OfRun { .. }) {
        return Vec::new();
    }
    causes::options(&escalation.question).iter().take(6).map(|option| short_text(option, 400)).collect()
}

/// The whole report for one cause. `own` is the repository's template, if it has one: should it not parse, name
/// something unknown, run away or grow too long, the built-in one is used and says why.
pub(super) fn report(subject: &Subject<'_>, escalation: &EscalationView, post: &Post, own: Option<&str>) -> String {
    let marker = super::marker(post);
    let budget = LIMIT - marker.len() - 1;
    let note = match own.map(|source| render_own(source, subject, escalation, budget)) {
        Some(Ok(report)) => return format!("{marker}\n{report}"),
        Some(Err(problem)) => format!(
            "\n> The template {} was not used: {}. This is the built-in one.\n",
            code(&subject.policy.escalation.template),
            short_text(&problem, 300)
        ),
        None => String::new(),
    };
    let built_in = |detail| templates::render("escalation.md", variables(subject, escalation, detail));
    let mut reports = DETAILS.into_iter().map(built_in);
    let report = reports.find(|report| report.len() + note.len() <= budget);
    let report = report.unwrap_or_else(|| {
        format!("## Execution Feedback Escalation\n\n{}\n", short_text(&causes::recognised(escalation), 400))
    });
    format!("{marker}\n{report}{note}")
}

/// Renders a repository's template, with ever less detail until it fits.
fn render_own(
    source: &str,
    subject: &Subject<'_>,
    escalation: &EscalationView,
    budget: usize,
) -> Result<String, String> {
    if source.len() > OVERRIDE_LIMIT {
        return Err(format!("it is longer than {OVERRIDE_LIMIT} bytes"));
    }
    restricted::check(source)?;
    let mut environment = templates::environment();
    environment.set_fuel(Some(OVERRIDE_FUEL));
    let template = environment.template_from_named_str("escalation.md", source).map_err(|error| explain(&error))?;
    for detail in DETAILS {
        // No more than a fitting report could need, so a runaway template ends early.
        let mut out = Cursor::new(vec![0; MOST_PRINTED].into_boxed_slice());
        let written = template.render_captured_to(variables(subject, escalation, detail), &mut out);
        let length = usize::try_from(out.position()).unwrap_or(MOST_PRINTED);
        match written {
            Ok(_) => {}
            Err(_) if length == MOST_PRINTED => break,
            Err(error) => return Err(explain(&error)),
        }
        if length <= budget {
            return String::from_utf8(out.into_inner()[..length].to_vec()).map_err(|error| error.to_string());
        }
    }
    Err("what it prints is longer than GitHub takes".to_owned())
}

fn explain(error: &minijinja::Error) -> String {
    let place = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
    format!("{}{place}", line(error.detail().unwrap_or(&error.kind().to_string())))
}
