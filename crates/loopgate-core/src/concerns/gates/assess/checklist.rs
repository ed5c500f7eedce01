//! The checklist in a gate's request comment: where it is required, approvals wait until an approver ticked every box.
//! Everybody with write can edit the comment, and only the event of an edit says who did.

use std::collections::BTreeSet;

use pulldown_cmark::{Event, Options, Parser, TagEnd};

use super::messages::{editors, is_own};
use crate::{
    concerns::gates::report::Refusal,
    ids::GateName,
    observed::{Account, AccountKind, Actor, Comment, Snapshot},
    policy::{ChecklistMode, GatePolicy, GatePreset},
    state::Ticks,
};

/// Why approvals wait for the checklist, if they do. A box that is not there any more is open.
pub(super) fn open(policy: &GatePolicy, ticks: Option<&Ticks>) -> Option<Refusal> {
    if policy.checklist == ChecklistMode::Optional {
        return None;
    }
    match ticks.map(|ticks| boxes(policy).saturating_sub(ticks.boxes.len())) {
        None => Some(Refusal::ChecklistMissing),
        Some(0) => None,
        Some(open) => Some(Refusal::ChecklistOpen { open }),
    }
}

fn boxes(policy: &GatePolicy) -> usize {
    policy
        .preset
        .as_ref()
        .map_or(GatePreset::BOXES_OF_OTHERS, |preset| preset.boxes)
}

/// Whether the newest request does not show what approvers have ticked, no more and no less: somebody else edited it.
/// What stands there would count as soon as an approver ticks another box.
pub(super) fn is_altered(
    gate: &GateName,
    policy: &GatePolicy,
    snapshot: &Snapshot,
    ticks: Option<&Ticks>,
) -> bool {
    let (Some(ticks), Some(request)) = (ticks, newest_request(gate, snapshot)) else {
        return false;
    };
    let (shown, ticked) = checkboxes(&request.body);
    policy.checklist == ChecklistMode::Required && (shown != boxes(policy) || ticked != ticks.boxes)
}

/// What approvers have ticked of the newest request: what was remembered of it, or what stands there now if all who
/// edited it since may approve. None where there is no request.
pub(super) fn ticks(
    gate: &GateName,
    snapshot: &Snapshot,
    remembered: Option<&Ticks>,
    may_approve: impl Fn(&Account) -> bool,
) -> Option<Ticks> {
    let request = newest_request(gate, snapshot)?;
    let account = |by: &Actor| Account {
        id: by.id,
        login: by.login.clone(),
        kind: AccountKind::User,
    };
    let editors: Vec<Account> = editors(request.id, snapshot).map(account).collect();
    let known = remembered
        .filter(|ticks| ticks.comment == request.id)
        .map(|ticks| ticks.boxes.clone());
    let by_approvers = !editors.is_empty() && editors.iter().all(may_approve);
    let boxes = if by_approvers {
        checkboxes(&request.body).1
    } else {
        known.unwrap_or_default()
    };
    Some(Ticks {
        comment: request.id,
        boxes,
    })
}

/// Our own request comment of the last round: found by its marker and its author, since anybody can write a marker.
fn newest_request<'a>(gate: &GateName, snapshot: &'a Snapshot) -> Option<&'a Comment> {
    let own = |comment: &&Comment| is_own(&comment.author, None, &snapshot.app);
    // The round in `<!-- loopgate:gate:NAME:ROUND -->`.
    let mark = format!("<!-- loopgate:gate:{gate}:");
    let round = |comment: &&Comment| -> Option<u32> {
        let (_, rest) = comment.body.split_once(&mark)?;
        rest.split_once(" -->")?.0.parse().ok()
    };
    let requests = snapshot
        .comments
        .items
        .iter()
        .filter(own)
        .filter(|comment| round(comment).is_some());
    requests.max_by_key(round)
}

/// Boxes of one list at most.
const MOST_BOXES: usize = 50;

/// How many boxes there are, and the texts of those that are ticked.
pub fn checkboxes(body: &str) -> (usize, BTreeSet<String>) {
    let (mut boxes, mut ticked) = (0, BTreeSet::new());
    let mut open: Option<String> = None;
    for event in Parser::new_ext(body, Options::ENABLE_TASKLISTS | Options::ENABLE_GFM) {
        match event {
            Event::TaskListMarker(is_ticked) => {
                boxes += 1;
                open = is_ticked.then(String::new);
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(item) = &mut open {
                    item.extend(text.chars().take(200));
                }
            }
            Event::End(TagEnd::Item) if ticked.len() < MOST_BOXES => ticked.extend(open.take()),
            _ => {}
        }
    }
    (boxes, ticked)
}
