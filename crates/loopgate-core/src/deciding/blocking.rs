//! What speaks for calling a person: every cause that stands, whether one is called now, and what is repeated by itself
//! meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;

use super::{counting::Counting, opening::Inputs};
use crate::{
    attempts::{
        Cause,
        rerun::{self, NextRerun},
    },
    escalation::{disputes, escalation_call, fix_request, senior_fixer},
    failure::Blame,
    gate::waiting,
    ids::{CheckName, Timestamp},
    policy::Trigger,
    state::{LoopState, Outage, StopReason},
    verdict::{
        Verification,
        tamper::{self, Tampering},
    },
};

/// How long something may be down before a person is called.
const TOLERATED: TimeDelta = TimeDelta::hours(1);

/// What stands in the way of going on by itself.
pub(super) struct Blocking {
    /// Everything that speaks for calling a human, the most urgent first, with what was recognised.
    pub(super) causes: BTreeMap<Trigger, Cause>,
    pub(super) call: Call,
    /// Checks that are asked for again now, because they failed for reasons outside the code.
    pub(super) repeated: BTreeSet<CheckName>,
    /// The next repetition that comes by itself.
    pub(super) next_rerun: Option<NextRerun>,
}

/// Whether this decision calls somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Nobody,
    SeniorFixer,
    Human,
}

/// Finds the causes, calls or releases, and repeats what failed for reasons outside the code.
pub(super) fn block(
    inputs: &Inputs<'_>,
    next: &mut LoopState,
    verification: &Verification,
    counting: &Counting,
) -> Blocking {
    next.outage = outage(inputs, next, verification);
    let causes = causes(inputs, next, counting);
    let call = call_or_release(inputs, next, &causes);
    let (repeated, next_rerun) = repeat_outside(inputs, next);
    Blocking { causes, call, repeated, next_rerun }
}

/// An outage begins with the first check that fails for outside reasons or ends without a result, and ends when all
/// checks have ended and none does. While a check is repeated nothing is known, so the outage goes on.
fn outage(inputs: &Inputs<'_>, next: &LoopState, verification: &Verification) -> Option<Outage> {
    let blamed = |wanted: Blame| -> BTreeSet<CheckName> {
        verification.blames.iter().filter(|blame| blame.blame == wanted).map(|blame| blame.check.clone()).collect()
    };
    let (checks, unclear) = (blamed(Blame::Infrastructure), blamed(Blame::Inconclusive));
    if !(checks.is_empty() && unclear.is_empty()) {
        let since = next.outage.as_ref().map_or(inputs.now, |outage| outage.since);
        Some(Outage { since, checks, unclear })
    } else if verification.evidence.missing().is_empty() {
        None
    } else {
        next.outage.clone()
    }
}

/// When trouble outside calls a person, if there is any: counted anew from a resume.
pub(super) fn external_deadline(next: &LoopState) -> Option<Timestamp> {
    let outage = next.outage.as_ref()?;
    let resumed = next.resumes.iter().map(|resume| resume.at).max();
    Some(resumed.map_or(outage.since, |resumed| resumed.max(outage.since)) + TOLERATED)
}

fn causes(inputs: &Inputs<'_>, next: &LoopState, counting: &Counting) -> BTreeMap<Trigger, Cause> {
    let Counting { judgement, counted, .. } = counting;
    let mut causes = judgement.causes.clone();
    if judgement.streak > 0 && fix_request::is_budget_used_up(next, inputs.policy) {
        causes.extend([Cause::BudgetExhausted { attempts: fix_request::asked(next) }.entry()]);
    }
    let is_overdue = external_deadline(next).is_some_and(|deadline| inputs.now >= deadline);
    if let Some(outage) = next.outage.as_ref().filter(|_| is_overdue) {
        causes.extend([Cause::ExternalDependencyDown { outage: outage.clone() }.entry()]);
    }
    // Evidence may still show that the tests pass as they were.
    let has_ended = |_: &&Tampering| counted.is_some();
    if let Some(first) = tamper::not_accepted(inputs.tampering, &next.accepted_tampering).filter(has_ended) {
        causes.extend([Cause::Tampering { first: first.clone(), more: inputs.tampering.len() - 1 }.entry()]);
    }
    let mut disputed = disputes::open(next);
    if let Some(first) = disputed.next() {
        causes.extend([Cause::Disputed { first: Box::new(first.clone()), more: disputed.count() }.entry()]);
    }
    if let Some(disputes) = disputes::too_many(next) {
        causes.extend([Cause::ManyDisputes { disputes }.entry()]);
    }
    let gates: Vec<_> = waiting::overdue(inputs.look(), next).collect();
    if !gates.is_empty() {
        causes.extend([Cause::GateTimeout { gates }.entry()]);
    }
    causes
}

/// Releases a cause that no longer stands and records a new one.
fn call_or_release(inputs: &Inputs<'_>, next: &mut LoopState, causes: &BTreeMap<Trigger, Cause>) -> Call {
    if !inputs.is_open() || next.stop.reason == Some(StopReason::UserStop) {
        return Call::Nobody;
    }
    if let Some(blocked) = &next.blocked
        && !escalation_call::still_stands(inputs.look(), blocked, next)
    {
        next.past_causes.push((blocked.trigger, blocked.attempt));
        next.blocked = None;
    }
    if next.blocked.is_some() {
        return Call::Nobody;
    }
    let mut stopping = escalation_call::stopping(causes.keys(), &inputs.policy.escalation);
    if let Some(call) = senior_fixer::at_work(inputs.look(), next) {
        stopping.retain(|trigger| *trigger != call.trigger && !call.also.contains(trigger));
    } else if let Some(call) = senior_fixer::call_for(inputs.look(), &stopping, next) {
        next.senior = Some(call);
        return Call::SeniorFixer;
    }
    if stopping.is_empty() {
        return Call::Nobody;
    }
    next.blocked = escalation_call::block(&stopping, next, inputs.now);
    Call::Human
}

/// Asks for what failed for outside reasons again when its time has come, and says when the next time is. Where a
/// person has to decide first, nothing is repeated.
fn repeat_outside(inputs: &Inputs<'_>, next: &mut LoopState) -> (BTreeSet<CheckName>, Option<NextRerun>) {
    let held = next.blocked.is_some() || next.stop.reason == Some(StopReason::UserStop);
    match next.outage.clone().filter(|_| inputs.is_open() && !held) {
        Some(outage) => rerun::repeat_outside(inputs.look(), next, &outage.checks, outage.since),
        None => (BTreeSet::new(), None),
    }
}
