//! What comes next, and who acts.

use super::{blocking::Call, opening::Given, verification::Verification};
use crate::{
    attempts::retry::{self, Judgement},
    deciding::NextAction,
    failure::Blame,
    ids::GateName,
    observed::Lifecycle,
    stage::Stage,
    stages::{Blocker, walk::Walk},
    state::{GateStatus, LoopState, StopReason},
    verdict::{blame::CheckBlame, gather::HeadEvidence},
};

/// The first that matches wins.
pub(super) fn next_action(
    given: &Given<'_>,
    next: &LoopState,
    verification: &Verification,
    stage_walk: &Walk,
    judgement: &Judgement,
    call: Call,
) -> NextAction {
    let evidence = &verification.evidence;
    match given.snapshot.pull_request.lifecycle {
        Lifecycle::Merged { .. } => return NextAction::Complete,
        Lifecycle::Closed => return NextAction::Stopped,
        Lifecycle::Open => {}
    }
    if next.stop.reason == Some(StopReason::UserStop) {
        return NextAction::Stopped;
    }
    if let Some(blocked) = &next.blocked {
        let cause = blocked.trigger;
        return if call == Call::Human { NextAction::Escalate { cause } } else { NextAction::WaitForHuman { cause } };
    }
    let retry_or_give_up = || match retry::has_given_up(judgement, &given.policy.retry) {
        true => NextAction::Stopped,
        false => NextAction::Retry { attempt: next.iteration },
    };
    match &stage_walk.held_by {
        None => NextAction::Complete,
        Some(Blocker::Gate(gate)) if stage_walk.reached <= Stage::Implement && is_rejected(next, gate) => {
            retry_or_give_up()
        }
        Some(Blocker::Gate(gate)) => NextAction::WaitForApproval { gate: gate.clone() },
        // Also when something failed already: an attempt ends when all its evidence is there.
        Some(Blocker::MissingEvidence(_)) => what_is_missing(evidence),
        Some(Blocker::Failing(_)) if !evidence.missing().is_empty() => what_is_missing(evidence),
        Some(Blocker::Failing(_) | Blocker::Evaluation(_)) if is_nothing_to_mend(&verification.blames) => {
            NextAction::WaitForEvidence { missing: evidence.failing() }
        }
        Some(Blocker::Failing(_) | Blocker::Evaluation(_) | Blocker::ChangesRequested(_) | Blocker::Configuration) => {
            retry_or_give_up()
        }
        Some(Blocker::Capability(capability)) => NextAction::WaitForPush { capability: capability.clone() },
        Some(Blocker::Draft) => NextAction::WaitForReady,
        Some(Blocker::Review { .. }) => NextAction::WaitForReview,
        Some(Blocker::Merge) => NextAction::WaitForMerge,
    }
}

fn what_is_missing(evidence: &HeadEvidence) -> NextAction {
    let missing = evidence.missing();
    match evidence.awaits_run_approval() {
        true => NextAction::WaitForRunApproval { missing },
        false => NextAction::WaitForEvidence { missing },
    }
}

fn is_rejected(next: &LoopState, gate: &GateName) -> bool {
    next.gates.get(gate).is_some_and(|state| state.status == GateStatus::Rejected)
}

/// Whether no failing check fails through this change: asking its author for a push would go on for ever.
fn is_nothing_to_mend(blames: &[CheckBlame]) -> bool {
    !blames.is_empty() && blames.iter().all(|blame| blame.blame != Blame::PrCode)
}
