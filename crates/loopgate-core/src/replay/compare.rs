//! What recorded runs came to, beside what they would have come to.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::run::{RecordedRun, Unreplayable, replay};
use crate::{
    ids::{CheckName, GateName, Score},
    policy::{Policy, Trigger},
    state::{
        AttemptDigest, Changes, VerificationResult,
        history::{Escalated, Event},
    },
};

/// `schema` of the document.
const SCHEMA: &str = "loopgate.what-if/v1";
/// Attempts that would end otherwise and are told one by one.
const MOST_VERDICTS: usize = 50;

/// A mean, and of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Mean {
    sum: f64,
    pub of: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.of = self.of.saturating_add(1);
    }

    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.sum / f64::from(self.of))
    }
}

/// An attempt that would end otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictChange {
    pub run: String,
    pub attempt: u32,
    pub was: VerificationResult,
    pub would: VerificationResult,
    pub was_score: Score,
    pub would_score: Score,
}

/// A check that would not be asked for any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DroppedCheck {
    pub runs: u32,
    pub failed: u32,
    pub total_ms: u64,
}

/// What would have differed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WhatIf {
    pub schema: &'static str,
    pub runs: usize,
    pub gates: BTreeMap<GateName, Changes>,
    /// Calls for a human, by their cause.
    pub calls: BTreeMap<Trigger, Changes>,
    /// The number of the first attempt that passes.
    pub attempts_was: Mean,
    pub attempts_would: Mean,
    pub scores_was: Mean,
    pub scores_would: Mean,
    pub verdicts: Vec<VerdictChange>,
    pub verdicts_not_listed: usize,
    pub dropped_checks: BTreeMap<CheckName, DroppedCheck>,
    #[serde(serialize_with = "as_list")]
    pub unknown: BTreeMap<Unreplayable, Vec<String>>,
}

fn as_list<S: serde::Serializer>(
    unknown: &BTreeMap<Unreplayable, Vec<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Unknown<'a> {
        what: &'a Unreplayable,
        runs: &'a [String],
    }
    serializer.collect_seq(unknown.iter().map(|(what, runs)| Unknown { what, runs }))
}

/// Judges all runs under another policy and compares.
pub fn what_if(runs: &[RecordedRun], policy: &Policy) -> WhatIf {
    let gates_of = |run: &RecordedRun| -> BTreeSet<GateName> {
        let bases = run.attempts.values().filter_map(|attempt| attempt.basis.as_ref());
        bases.flat_map(|basis| &basis.gates).cloned().collect()
    };
    let held: BTreeSet<GateName> = runs.iter().flat_map(gates_of).collect();
    let mut told = WhatIf { schema: SCHEMA, runs: runs.len(), ..WhatIf::default() };
    for run in runs {
        let name = run.state.pull_request.map_or_else(|| run.state.task_alias.clone(), |number| format!("#{number}"));
        let replayed = replay(run, policy, &held);
        let unsure = |gate: &GateName| replayed.unknown.contains(&Unreplayable::Gate(gate.clone()));
        let was: BTreeSet<GateName> = gates_of(run).into_iter().filter(|gate| !unsure(gate)).collect();
        differ(&mut told.gates, &name, was.iter(), replayed.gates.iter());
        differ(&mut told.calls, &name, calls(run).iter(), replayed.calls.iter().map(|(trigger, _)| trigger));
        add_attempts(&mut told.attempts_was, &mut told.scores_was, &run.state.attempts);
        add_attempts(&mut told.attempts_would, &mut told.scores_would, &replayed.attempts);
        for attempt in &replayed.attempts {
            told.add_verdict(&name, run, attempt);
        }
        for found in run.attempts.values().flat_map(|attempt| &attempt.checks) {
            if !policy.verify.checks.contains_key(&found.name) {
                let dropped = told.dropped_checks.entry(found.name.clone()).or_default();
                dropped.runs = dropped.runs.saturating_add(1);
                dropped.failed = dropped.failed.saturating_add(u32::from(found.outcome.is_failure()));
                dropped.total_ms = dropped.total_ms.saturating_add(found.duration_ms);
            }
        }
        for what in replayed.unknown {
            told.unknown.entry(what).or_default().push(name.clone());
        }
    }
    told
}

impl WhatIf {
    fn add_verdict(&mut self, name: &str, run: &RecordedRun, would: &AttemptDigest) {
        let was = run.state.attempts.iter().find(|was| was.number == would.number);
        let Some(was) = was.filter(|was| was.result != would.result) else { return };
        if self.verdicts.len() >= MOST_VERDICTS {
            self.verdicts_not_listed += 1;
            return;
        }
        self.verdicts.push(VerdictChange {
            run: name.to_owned(),
            attempt: would.number,
            was: was.result,
            would: would.result,
            was_score: was.score,
            would_score: would.score,
        });
    }
}

/// The causes that called somebody, of those that attempts bring about: the others are not replayed.
fn calls(run: &RecordedRun) -> Vec<Trigger> {
    let called = run.history.iter().filter_map(|line| match &line.event {
        Event::Escalated(Escalated::PullRequest { triggers, .. }) => triggers.first().copied(),
        Event::Escalated(Escalated::LocalLoop { trigger, .. }) => Some(*trigger),
        _ => None,
    });
    let outside = [
        Trigger::GateTimeout,
        Trigger::ExternalDependencyDown,
        Trigger::BudgetExhausted,
        Trigger::AmbiguousRequirement,
    ];
    called.filter(|trigger| !outside.contains(trigger)).collect()
}

/// Notes how often each thing is there more, or fewer times.
fn differ<'a, T: Ord + Clone + 'a>(
    changes: &mut BTreeMap<T, Changes>,
    name: &str,
    was: impl Iterator<Item = &'a T>,
    would: impl Iterator<Item = &'a T>,
) {
    let mut counts: BTreeMap<&T, i32> = BTreeMap::new();
    was.for_each(|one| *counts.entry(one).or_default() -= 1);
    would.for_each(|one| *counts.entry(one).or_default() += 1);
    for (one, count) in counts.into_iter().filter(|(_, count)| *count != 0) {
        let change = changes.entry(one.clone()).or_default();
        let side = if count > 0 { &mut change.more } else { &mut change.fewer };
        side.extend(std::iter::repeat_n(name.to_owned(), usize::try_from(count.unsigned_abs()).unwrap_or(0)));
    }
}

fn add_attempts(first_pass: &mut Mean, scores: &mut Mean, attempts: &[AttemptDigest]) {
    let counted = attempts.iter().filter(|it| it.spent() || it.passes());
    if let Some((index, _)) = counted.enumerate().find(|(_, attempt)| attempt.passes()) {
        first_pass.add(f64::from(u32::try_from(index + 1).unwrap_or(u32::MAX)));
    }
    attempts.iter().for_each(|attempt| scores.add(attempt.score.as_f64()));
}
