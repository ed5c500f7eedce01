//! What `loopgate inspect comment` prints: what Loopgate understands by a text.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Intent, ParsedIntent, Reading, read};
use crate::{
    concerns::gates::report::PhraseProblem,
    ids::{GateName, Login},
};

/// Reads a text as [`read`] does, and gives the result as JSON.
pub fn inspect(body: &str, bot: &Login, gates: &BTreeSet<GateName>) -> Value {
    let Reading {
        intents,
        near_misses,
    } = read(body, bot, gates);
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
            (None, PhraseProblem::TooLong) => {
                "write a comment of less than 65,536 characters".to_owned()
            }
            (None, _) => "name the gate: `<gate> approved` on a line of its own".to_owned(),
        };
        let mut shown = json!(miss);
        shown["hint"] = hint.into();
        shown
    });
    json!({ "intents": intents.collect::<Value>(), "near_misses": near_misses.collect::<Value>() })
}
