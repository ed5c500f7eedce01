//! The checklist in a gate's request comment: where it is required, approvals wait until every box is ticked.

use pulldown_cmark::{Event, Options, Parser};

use crate::{
    gate::report::Refusal,
    ids::GateName,
    observed::{Comment, Snapshot},
    policy::{ChecklistMode, GatePolicy},
};

/// Why approvals wait for the checklist, if they do.
pub(super) fn open(gate: &GateName, policy: &GatePolicy, snapshot: &Snapshot) -> Option<Refusal> {
    if policy.checklist == ChecklistMode::Optional {
        return None;
    }
    match newest_request(gate, snapshot).map(|request| unticked(&request.body)) {
        None => Some(Refusal::ChecklistMissing),
        Some(0) => None,
        Some(open) => Some(Refusal::ChecklistOpen { open }),
    }
}

/// Our own request comment of the last round: found by its marker and its author, since anybody can write a marker.
fn newest_request<'a>(gate: &GateName, snapshot: &'a Snapshot) -> Option<&'a Comment> {
    let own = |comment: &&Comment| match snapshot.app.bot_id {
        Some(id) => comment.author.id == id,
        None => comment.author.login == snapshot.app.bot,
    };
    let round = |comment: &'a Comment| round(&comment.body, gate).map(|round| (round, comment));
    snapshot.comments.items.iter().filter(own).filter_map(round).max_by_key(|(round, _)| *round).map(|(_, found)| found)
}

/// The round in `<!-- loopgate:gate:NAME:ROUND -->`.
fn round(body: &str, gate: &GateName) -> Option<u32> {
    let (_, rest) = body.split_once(&format!("<!-- loopgate:gate:{gate}:"))?;
    rest.split_once(" -->")?.0.parse().ok()
}

fn unticked(body: &str) -> usize {
    Parser::new_ext(body, Options::ENABLE_TASKLISTS | Options::ENABLE_GFM)
        .filter(|event| matches!(event, Event::TaskListMarker(false)))
        .count()
}
