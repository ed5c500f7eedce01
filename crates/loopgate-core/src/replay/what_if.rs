//! What pull requests came to under their configuration, beside what they would have come to under another.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::past::{Judged, PastPullRequest};
use crate::{
    evidence::CheckEvidence,
    ids::{CheckName, GateName, Score},
    metrics::CheckUse,
    policy::{Policy, Trigger},
    state::{AttemptDigest, Changes, VerificationResult},
};

/// `schema` of the document.
const SCHEMA: &str = "loopgate.what-if/v1";
/// Attempts that would end otherwise and are listed.
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
    /// `#12`
    pub run: String,
    pub attempt: u32,
    pub was: VerificationResult,
    pub would: VerificationResult,
    pub was_score: Score,
    pub would_score: Score,
}

/// What the history of pull requests does not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// No evidence of the check is there.
    Check(CheckName),
    /// What GitHub did not show.
    Unread(String),
}

/// What would have differed for some pull requests under another configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WhatIf {
    pub schema: &'static str,
    /// Pull requests that were decided again.
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
    pub dropped_checks: BTreeMap<CheckName, CheckUse>,
    #[serde(serialize_with = "as_list")]
    pub unknown: BTreeMap<Unknown, Vec<String>>,
}

fn as_list<S: serde::Serializer>(unknown: &BTreeMap<Unknown, Vec<String>>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Entry<'a> {
        what: &'a Unknown,
        runs: &'a [String],
    }
    serializer.collect_seq(unknown.iter().map(|(what, runs)| Entry { what, runs }))
}

/// What the decisions over one pull request came to.
struct Course {
    /// Gates that applied and held at the end.
    gates: BTreeSet<GateName>,
    /// Calls for a human, each with the attempt that raised it.
    calls: BTreeSet<(u32, Trigger)>,
    /// Attempts on heads of which a check is known.
    attempts: Vec<AttemptDigest>,
    /// The evidence of each attempt when it was counted first.
    evidence: Vec<CheckEvidence>,
}

impl Course {
    fn of(past: &PastPullRequest, policy: &Policy) -> Self {
        let judged = past.judge(|head| head.with_known_checks(policy));
        let checked: BTreeSet<_> = judged
            .iter()
            .filter(|judged| !judged.policy.verify.checks.is_empty())
            .map(|judged| judged.snapshot.pull_request.head.sha)
            .collect();
        let last = judged.last().map(|last| &last.decision);
        let gates = last.into_iter().flat_map(|last| &last.view.gates);
        let holds = gates.filter(|gate| !gate.is_advisory && !gate.matches.is_empty());
        let attempts = last.into_iter().flat_map(|last| &last.next.attempts);
        // Whether an approval would have come in time is not known.
        let call = |judged: &Judged| {
            let call = judged.decision.view.escalation.as_ref()?;
            (call.trigger != Trigger::GateTimeout).then_some((call.attempt, call.trigger))
        };
        Self {
            gates: holds.map(|gate| gate.name.clone()).collect(),
            calls: judged.iter().filter_map(call).collect(),
            attempts: attempts.filter(|attempt| checked.contains(&attempt.head_sha)).cloned().collect(),
            evidence: judged
                .iter()
                .filter_map(|judged| judged.decision.attempt.as_ref())
                .flat_map(|attempt| attempt.checks.iter().cloned())
                .collect(),
        }
    }
}

impl WhatIf {
    /// Of no pull request yet.
    pub fn new() -> Self {
        Self { schema: SCHEMA, ..Self::default() }
    }

    /// Decides one more pull request under its own policy and under another, and counts the differences.
    pub fn add(&mut self, past: &PastPullRequest, own: &Policy, other: &Policy) {
        let name = format!("#{}", past.last.pull_request.number);
        let (was, would) = (Course::of(past, own), Course::of(past, other));
        self.runs += 1;
        count_changes(&mut self.gates, &name, was.gates.iter(), would.gates.iter());
        let triggers = |course: &Course| course.calls.iter().map(|(_, trigger)| *trigger).collect::<Vec<_>>();
        count_changes(&mut self.calls, &name, triggers(&was).iter(), triggers(&would).iter());
        add_attempts(&mut self.attempts_was, &mut self.scores_was, &was.attempts);
        add_attempts(&mut self.attempts_would, &mut self.scores_would, &would.attempts);
        for attempt in &would.attempts {
            self.add_verdict(&name, &was.attempts, attempt);
        }
        for check in was.evidence.iter().filter(|check| !other.verify.checks.contains_key(&check.name)) {
            self.dropped_checks.entry(check.name.clone()).or_default().add(&CheckUse::of(check));
        }
        let known: BTreeSet<CheckName> =
            past.heads.iter().flat_map(|head| head.with_known_checks(other).verify.checks.into_keys()).collect();
        let checks = other.verify.checks.keys().filter(|check| !known.contains(*check)).cloned().map(Unknown::Check);
        let unread = past.last.problems.iter().map(|problem| Unknown::Unread(problem.what.clone()));
        for what in checks.chain(unread) {
            self.unknown.entry(what).or_default().push(name.clone());
        }
    }

    fn add_verdict(&mut self, name: &str, was: &[AttemptDigest], would: &AttemptDigest) {
        let was = was.iter().find(|was| was.head_sha == would.head_sha);
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

/// Notes how often each thing is there more, or fewer times.
fn count_changes<'a, T: Ord + Clone + 'a>(
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
