//! The history of a loop in sentences.

use schemars::JsonSchema;
use serde::Serialize;

use crate::render::{
    reflex::told,
    sanitize::{clip, line},
    words,
};
use loopgate_core::{
    Login, Sha,
    state::{
        WordSource,
        history::{
            ArtifactCreated, CommandRun, Escalated, Event, EventStatus, GateInvalidated, HistoryLine, OwnCommand,
            Resumed,
        },
    },
};

/// Something that happened.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Moment {
    pub at: String,
    pub event: String,
    pub what: String,
    /// Whether it went well.
    pub ok: bool,
}

/// What happened last, the newest first.
pub(super) fn moments(history: &[HistoryLine], most: usize) -> Vec<Moment> {
    let moment = |entry: &HistoryLine| Moment {
        at: words::moment(entry.ts),
        event: line(&entry.event.name()).replace('_', " "),
        what: clip(&line(&happened(&entry.event)), 300).into_owned(),
        ok: entry.status == EventStatus::Ok,
    };
    history.iter().rev().take(most).map(moment).collect()
}

/// What a pull request's history tells of; the rest as a local loop's columns have it.
fn happened(event: &Event) -> String {
    let at = |head: &Option<Sha>| head.map(|head| format!(" at {}", head.short())).unwrap_or_default();
    let people = |by: &[Login]| words::and(&by.iter().map(ToString::to_string).collect::<Vec<_>>());
    match event {
        Event::ArtifactCreated(ArtifactCreated::HeadSeen { head, .. } | ArtifactCreated::Head { head }) => {
            format!("{} was pushed", head.short())
        }
        Event::GateRequested { gate, round, holds } => {
            format!("the {gate} gate holds {}; asked {}", holds.as_str(), words::times(*round))
        }
        Event::GateApproved { by, head, gate } => format!("{} opened the {gate} gate{}", people(by), at(head)),
        Event::GateRejected { by, gate } => format!("{by} rejected the {gate} gate"),
        Event::GateInvalidated(GateInvalidated::CommentChanged { gate, written_by, changed_by, .. }) => {
            let who = changed_by.as_ref().map_or("somebody", Login::as_str);
            format!("the {gate} gate closed: {who} changed the comment of {written_by} that counted")
        }
        Event::GateInvalidated(GateInvalidated::Unbound { was_bound_to, gate }) => {
            format!("the {gate} gate closed: its approval was for another head{}", at(was_bound_to))
        }
        Event::CommandRun(CommandRun::Written { command, by, source, .. }) => {
            let place = match source {
                WordSource::Comment(_) => "in a comment",
                WordSource::Review(_) => "in a review",
                WordSource::Inline(_) => "on the diff",
            };
            format!("{by} wrote /loop {command} {place}")
        }
        Event::CommandRun(CommandRun::Pressed { command, by, .. }) => format!("{by} pressed {command}"),
        Event::CommandRun(CommandRun::Own(OwnCommand::SeniorFixer { .. })) => "the senior fixer was asked".to_owned(),
        Event::CommandRun(CommandRun::Own(OwnCommand::ApproveRuns { by, head, runs })) => {
            let (by, runs) = (people(by), words::plural(runs.len(), "workflow run", "workflow runs"));
            format!("{by} let {runs} go that GitHub held back{}", at(&Some(*head)))
        }
        Event::Escalated(Escalated::PullRequest { triggers, pattern, .. }) => {
            let triggers: Vec<String> = triggers.iter().map(|trigger| trigger.as_str().replace('_', " ")).collect();
            pattern.clone().unwrap_or_else(|| triggers.join(", "))
        }
        Event::Resumed(Resumed::PullRequest { by, .. } | Resumed::LocalLoop { by, .. }) => format!("by {by}"),
        Event::Resumed(Resumed::Recovered { recovered }) => recovered.clone(),
        Event::MergedWithOpenGates { bypassed, .. } => bypassed.join(", "),
        event => told(event),
    }
}
