//! What follows from where the gates stand: what is remembered of each, what happened since the last look, and whom
//! to ask.

use std::collections::BTreeSet;

use super::{
    assess::{Assessment, TamperedComment},
    report::GateReport,
};
use crate::{
    ids::{GateName, Timestamp},
    observed::Snapshot,
    policy::{Context, RequestTime},
    stage::Stage,
    state::{
        GateState, GateStatus, LoopState, Reviewer,
        history::{Event, GateInvalidated},
    },
};

/// What the gates change: their remembered state, their events, and reviewers to ask or to let go.
#[derive(Debug, Default)]
pub struct GateChanges {
    pub states: Vec<(GateName, GateState)>,
    pub events: Vec<Event>,
    pub request: BTreeSet<Reviewer>,
    pub withdraw: BTreeSet<Reviewer>,
}

/// Compares where each gate stands with what is remembered of it.
///
/// `evidence_reached` is the furthest stage of the walk that ignores gates: a gate with `request: after_checks` is
/// asked for once the evidence of its own transition is there.
pub fn follow_up(
    Context {
        snapshot,
        policy,
        now,
    }: Context<'_>,
    assessment: &Assessment,
    state: &LoopState,
    evidence_reached: Stage,
) -> GateChanges {
    let mut outcome = GateChanges::default();
    let mut needed = BTreeSet::new();
    let mut asked_before = BTreeSet::new();
    for report in &assessment.gates {
        let Some(policy) = policy.gates.get(&report.name) else {
            continue;
        };
        let before = state.concerns.gates.get(&report.name);
        let due = policy.request == RequestTime::Immediately || evidence_reached >= report.holds;
        let mut after = remember(report, before, due, now);
        // The wait for approvers begins when they are asked; on a draft they are not asked.
        let asked = after.status == GateStatus::Requested && !snapshot.pull_request.is_draft;
        after.waiting_since = asked.then(|| after.waiting_since.unwrap_or(now));
        let is_reminded = after
            .waiting_since
            .is_some_and(|since| since + policy.remind_after <= now);
        after.reminded_at = after.reminded_at.or(is_reminded.then_some(now));
        let eligible = eligible_reviewers(report, snapshot);
        // A reviewer seen as requested once in this round is not asked again: GitHub drops the request when they
        // review, and a person may have withdrawn it on purpose.
        // Who was asked at the last reconcile shows as requested at this one, where they may have decided.
        let was_asked = before.is_some_and(|before| before.status == GateStatus::Requested);
        let is_asked_now = |who: &&Reviewer| (asked || was_asked) && is_requested(snapshot, who);
        let requested: BTreeSet<Reviewer> = eligible.iter().filter(is_asked_now).cloned().collect();
        let wanted = if asked { eligible } else { BTreeSet::new() };
        let known = std::mem::take(&mut after.reviewers);
        outcome.request.extend(
            wanted
                .iter()
                .filter(|who| !known.contains(who) && !requested.contains(who))
                .cloned(),
        );
        after.reviewers = known.union(&requested).cloned().collect();
        asked_before.extend(after.reviewers.iter().cloned());
        needed.extend(wanted);
        events_between(report, before, &after, &mut outcome.events);
        outcome.events.extend(tampering(
            &mut after,
            assessment
                .tampered
                .iter()
                .filter(|one| one.gate == report.name),
        ));
        outcome.states.push((report.name.clone(), after));
    }
    outcome.withdraw = asked_before
        .into_iter()
        .filter(|who| !needed.contains(who) && is_requested(snapshot, who))
        .collect();
    outcome
}

fn remember(
    report: &GateReport,
    before: Option<&GateState>,
    due: bool,
    now: Timestamp,
) -> GateState {
    let holds = !report.is_advisory;
    let status = match report.status {
        GateStatus::Requested if !holds || !due => GateStatus::Pending,
        status => status,
    };
    let asked =
        |state: &GateState| matches!(state.status, GateStatus::Requested | GateStatus::Rejected);
    let new_round = status == GateStatus::Requested && !before.is_some_and(asked);
    let mut after = before.cloned().unwrap_or_default();
    if new_round {
        after.round += 1;
        after.requested_at = Some(now);
        (after.waiting_since, after.reminded_at) = (None, None);
        after.reviewers.clear();
    }
    after.required = holds && status != GateStatus::NotApplicable;
    after.status = status;
    after.fingerprint =
        Some(report.fingerprint.clone()).filter(|_| status != GateStatus::NotApplicable);
    after.notes = report.rejection().map(|objection| objection.words.clone());
    if report.status == GateStatus::Approved {
        let by = &report.approvals;
        after.approved_by = Some(by.iter().map(|approval| approval.by.clone()).collect());
        after.approved_at = by.iter().map(|approval| approval.at).max();
        after.head_sha = by.last().map(|approval| approval.head);
        after.evidence_url = by.last().map(|approval| approval.url.clone());
    } else {
        (
            after.approved_by,
            after.approved_at,
            after.head_sha,
            after.evidence_url,
        ) = (None, None, None, None);
    }
    after.counted.clone_from(&report.counted);
    after.objections.clone_from(&report.objections);
    after.revocations.clone_from(&report.revocations);
    after.ticks.clone_from(&report.ticks);
    after.labels = report.opening_labels();
    after
}

/// The history names each counted comment that somebody else changed once.
fn tampering<'a>(
    after: &mut GateState,
    tampered: impl Iterator<Item = &'a TamperedComment>,
) -> Vec<Event> {
    let fresh = tampered.filter(|one| {
        after
            .tamperers
            .extend(one.changed_by.clone().map(|by| (one.comment, by)));
        after.tampered.insert(one.comment)
    });
    let event = |one: &TamperedComment| {
        Event::GateInvalidated(GateInvalidated::CommentChanged {
            gate: one.gate.clone(),
            tampered_comment: one.url.clone(),
            written_by: one.by.login.clone(),
            changed_by: one.changed_by.clone(),
        })
    };
    fresh.map(event).collect()
}

fn events_between(
    report: &GateReport,
    before: Option<&GateState>,
    after: &GateState,
    events: &mut Vec<Event>,
) {
    let was = before.map_or(GateStatus::Pending, |before| before.status);
    let gate = || report.name.clone();
    if was == GateStatus::Approved && after.status != GateStatus::Approved {
        let was_bound_to = before.and_then(|before| before.head_sha);
        events.push(Event::GateInvalidated(GateInvalidated::Unbound {
            was_bound_to,
            gate: gate(),
        }));
    }
    if after.round > before.map_or(0, |before| before.round) {
        events.push(Event::GateRequested {
            round: after.round,
            holds: report.holds,
            gate: gate(),
        });
    }
    if report.status == GateStatus::Approved && was != after.status {
        let by = report
            .approvals
            .iter()
            .map(|approval| approval.by.clone())
            .collect();
        events.push(Event::GateApproved {
            by,
            head: after.head_sha,
            gate: gate(),
        });
    }
    let rejection = report.rejection().filter(|_| was != after.status);
    events.extend(rejection.map(|objection| Event::GateRejected {
        by: objection.by.clone(),
        gate: gate(),
    }));
}

fn is_requested(snapshot: &Snapshot, who: &Reviewer) -> bool {
    match who {
        Reviewer::User(login) => snapshot.pull_request.requested_users.contains(login),
        Reviewer::Team(team) => snapshot.pull_request.requested_teams.contains(team),
    }
}

/// More individuals than this are not requested one by one: none of them would feel responsible.
const MOST_INDIVIDUALS: usize = 10;

/// The users and teams that can be requested as reviewers for this gate, in any of its states. The author is left out,
/// since GitHub refuses that request. Empty if only a permission makes an approver.
fn eligible_reviewers(report: &GateReport, snapshot: &Snapshot) -> BTreeSet<Reviewer> {
    let pull_request = &snapshot.pull_request;
    let people: BTreeSet<_> = report
        .eligible
        .people
        .iter()
        .filter(|login| **login != pull_request.author.login)
        .collect();
    let people = if people.len() > MOST_INDIVIDUALS {
        BTreeSet::new()
    } else {
        people
    };
    // A team of another organisation cannot be requested.
    let own = report
        .eligible
        .teams
        .keys()
        .filter(|team| team.org().eq_ignore_ascii_case(snapshot.repository.owner()));
    people
        .into_iter()
        .cloned()
        .map(Reviewer::User)
        .chain(own.cloned().map(Reviewer::Team))
        .collect()
}
