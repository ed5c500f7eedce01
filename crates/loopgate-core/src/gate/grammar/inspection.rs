//! What `loopgate inspect comment` prints: what Loopgate understands by a text.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Intent, NearMiss, ParsedIntent, read};
use crate::{
    gate::report::PhraseProblem,
    ids::{GateName, Login},
};

/// The whole reading of a text, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommentInspection {
    pub intents: Vec<InspectedIntent>,
    pub near_misses: Vec<InspectedNearMiss>,
}

/// One intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InspectedIntent {
    pub kind: IntentKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateName>,
    /// Of commands only: `retry`, `dismiss`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// What was given with it: a commit, a reason, a person.
    pub args: Vec<String>,
    /// Line of the text, from 1.
    pub line: u32,
}

/// What kind of intent it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentKind {
    Approve,
    Reject,
    Revoke,
    Command,
}

/// One near miss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InspectedNearMiss {
    pub text: String,
    pub reason: String,
    pub hint: String,
    /// Line of the text, from 1.
    pub line: u32,
}

/// Reads a text as [`read`] does, and says what came of it.
pub fn inspect(body: &str, bot: &Login, gates: &BTreeSet<GateName>) -> CommentInspection {
    let reading = read(body, bot, gates);
    CommentInspection {
        intents: reading.intents.into_iter().map(InspectedIntent::from).collect(),
        near_misses: reading.near_misses.into_iter().map(InspectedNearMiss::from).collect(),
    }
}

impl From<ParsedIntent> for InspectedIntent {
    fn from(ParsedIntent { intent, line }: ParsedIntent) -> Self {
        let about = |kind, gate, args| Self { kind, gate: Some(gate), verb: None, args, line };
        match intent {
            Intent::Approve { gate, commit } => {
                about(IntentKind::Approve, gate, commit.iter().map(ToString::to_string).collect())
            }
            Intent::Reject { gate, reason } => about(IntentKind::Reject, gate, Vec::from_iter(reason)),
            Intent::Revoke { gate } => about(IntentKind::Revoke, gate, Vec::new()),
            Intent::Dismiss { gate, of, reason } => Self {
                verb: Some("dismiss".to_owned()),
                ..about(IntentKind::Command, gate, vec![format!("@{of}"), reason])
            },
            Intent::Command(command) => Self {
                kind: IntentKind::Command,
                gate: None,
                verb: Some(command.verb().to_string()),
                args: command.arguments(),
                line,
            },
        }
    }
}

impl From<NearMiss> for InspectedNearMiss {
    fn from(miss: NearMiss) -> Self {
        let hint = match (&miss.instead, &miss.problem) {
            (Some(instead), _) => format!("write `{instead}` on a line of its own"),
            (None, PhraseProblem::TooLong) => "write a comment of less than 65,536 characters".to_owned(),
            (None, _) => "name the gate: `<gate> approved` on a line of its own".to_owned(),
        };
        Self { reason: reason(&miss.problem), text: miss.text, hint, line: miss.line }
    }
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
        PhraseProblem::NotPlainText { inside } => format!("it stands in {inside}"),
        PhraseProblem::AgainstReview => "the review asks for changes".to_owned(),
        PhraseProblem::NoGate => "it names no gate".to_owned(),
        PhraseProblem::Usage { usage } => format!("the command is written `{usage}`"),
        PhraseProblem::UnknownCommand { typed, .. } => format!("there is no command `{typed}`"),
        PhraseProblem::TooLong => "it is longer than GitHub allows, and was not read".to_owned(),
    }
}
