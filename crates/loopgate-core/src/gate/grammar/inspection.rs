//! What `loopgate inspect comment` prints: what Loopgate understands by a text.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Intent, ParsedIntent, Reading, read};
use crate::{
    gate::report::PhraseProblem,
    ids::{GateName, Login},
};

/// Reads a text as [`read`] does, and gives the result as JSON.
pub fn inspect(body: &str, bot: &Login, gates: &BTreeSet<GateName>) -> Value {
    let Reading { intents, near_misses } = read(body, bot, gates);
    let intents = intents.into_iter().map(|ParsedIntent { intent, line }| {
        let (kind, verb, arguments) = match &intent {
            Intent::Approve { commit, .. } => ("approve", None, commit.iter().map(ToString::to_string).collect()),
            Intent::Reject { reason, .. } => ("reject", None, Vec::from_iter(reason.clone())),
            Intent::Revoke { .. } => ("revoke", None, Vec::new()),
            Intent::Dismiss { of, reason, .. } => ("command", Some("dismiss"), vec![format!("@{of}"), reason.clone()]),
            Intent::Command(command) => ("command", Some(command.verb().as_str()), command.arguments()),
        };
        let mut shown = json!({ "kind": kind, "gate": intent.gate(), "verb": verb, "args": arguments, "line": line });
        shown.as_object_mut().into_iter().for_each(|fields| fields.retain(|_, value| !value.is_null()));
        shown
    });
    let near_misses = near_misses.into_iter().map(|miss| {
        let hint = match (miss.instead(), &miss.problem) {
            (Some(instead), _) => format!("write `{instead}` on a line of its own"),
            (None, PhraseProblem::TooLong) => "write a comment of less than 65,536 characters".to_owned(),
            (None, _) => "name the gate: `<gate> approved` on a line of its own".to_owned(),
        };
        json!({ "text": miss.text, "reason": reason(&miss.problem), "hint": hint, "line": miss.line })
    });
    json!({ "intents": intents.collect::<Value>(), "near_misses": near_misses.collect::<Value>() })
}

/// Why a line is not the phrase, in a few words.
fn reason(problem: &PhraseProblem) -> String {
    match problem {
        PhraseProblem::Wording => "it is not the phrase, alone on its line".to_owned(),
        PhraseProblem::Agreement => "it agrees in other words than the phrase".to_owned(),
        PhraseProblem::Lookalike => "it holds characters that only look like the phrase's, or are invisible".to_owned(),
        PhraseProblem::ShortSha => "the commit id is not whole".to_owned(),
        PhraseProblem::UnknownGate { named, nearest: Some(nearest) } => {
            format!("there is no gate `{named}`; the nearest is `{nearest}`")
        }
        PhraseProblem::UnknownGate { named, nearest: None } => format!("there is no gate `{named}`"),
        PhraseProblem::NotPlainText { inside } => format!("it stands in {}", inside.as_str()),
        PhraseProblem::AgainstReview => "the review asks for changes".to_owned(),
        PhraseProblem::NoGate => "it names no gate".to_owned(),
        PhraseProblem::Usage { usage } => format!("the command is written `{usage}`"),
        PhraseProblem::UnknownCommand { typed, .. } => format!("there is no command `{typed}`"),
        PhraseProblem::TooLong => "it is longer than GitHub allows, and was not read".to_owned(),
    }
}
