//! Whose failure each failing check of the head is.

use std::collections::BTreeSet;

use crate::{
    concerns::checks::{
        CheckStanding,
        gather::{CheckView, HeadEvidence},
    },
    evidence::{CheckEvidence, RetryClass},
    failure::{Blame, BlameVerdict, Changes, Circumstances, ExaminedCheck, ExaminedFailure},
    ids::CheckName,
    observed::Snapshot,
};

/// What one failing check comes down to.
#[derive(Clone, Debug)]
pub struct CheckBlame {
    pub check: CheckName,
    pub blame: Blame,
    pub class: RetryClass,
    /// Of each failure the check kept, in their order.
    pub of_failures: Vec<BlameVerdict>,
    /// Of the same. What the evidence itself says of their fingerprints is not believed.
    pub examined: Vec<ExaminedFailure>,
}

/// Blames every failing check of the head. `flaky` names the tests that failed and passed on it. The failures are
/// examined among the changed files; no blame depends on these.
pub fn blames(
    snapshot: &Snapshot,
    evidence: &HeadEvidence,
    flaky: &BTreeSet<String>,
) -> Vec<CheckBlame> {
    let changes = &Changes::of(&snapshot.files);
    let failing = evidence
        .checks
        .iter()
        .filter(|(_, check)| check.has_failed());
    failing
        .map(|(name, check)| {
            let base = snapshot
                .base_evidence
                .as_ref()
                .and_then(|base| base.checks.get(name));
            let circumstances = Circumstances {
                base,
                flaky: Some(flaky),
            };
            let examined = check
                .evidence()
                .map(|evidence| ExaminedCheck::new(evidence, changes, &snapshot.readings));
            CheckBlame {
                check: name.clone(),
                blame: blame_of(check, examined.as_ref(), &circumstances),
                class: class_of(check, examined.as_ref()),
                of_failures: examined
                    .as_ref()
                    .map(|check| check.blame_failures(&circumstances))
                    .unwrap_or_default(),
                examined: examined.map(|check| check.failures).unwrap_or_default(),
            }
        })
        .collect()
}

impl CheckBlame {
    /// The blame of the failure at this place. Where the check is the pull request's own although each failure it kept
    /// is not, they all are: what was only counted can be anybody's.
    pub fn of_failure(&self, index: usize) -> (Blame, f64) {
        let own = |verdict: &&BlameVerdict| verdict.blame == self.blame;
        match self.of_failures.get(index) {
            Some(verdict) if self.of_failures.iter().find(own).is_some() => {
                (verdict.blame, verdict.confidence.as_f64())
            }
            _ => (self.blame, UNSURE),
        }
    }
}

/// The checks of a head as its attempt records them: failures under the fingerprints they are compared by, and each
/// failing check under the class it was judged by.
pub fn recorded(evidence: &HeadEvidence, blames: &[CheckBlame]) -> Vec<CheckEvidence> {
    let known = evidence
        .checks
        .iter()
        .filter_map(|(name, check)| Some((name, check.evidence()?.clone())));
    known
        .map(|(name, mut check)| {
            if let Some(blame) = blames.iter().find(|blame| blame.check == *name) {
                check.retry_class = Some(blame.class);
                for (failure, examined) in check.failures.iter_mut().zip(&blame.examined) {
                    failure.fingerprint = Some(examined.fingerprint);
                }
            }
            check
        })
        .collect()
}

/// Confidence in a blame without evidence for or against it.
const UNSURE: f64 = 0.5;

fn class_of(check: &CheckView, examined: Option<&ExaminedCheck<'_>>) -> RetryClass {
    match (&check.standing, examined) {
        (
            CheckStanding::NoReport { .. }
            | CheckStanding::NotStarted { .. }
            | CheckStanding::Lost { .. },
            _,
        ) => RetryClass::External,
        (CheckStanding::Done(_), Some(examined)) => examined.retry_class(),
        _ => RetryClass::Code,
    }
}

fn blame_of(
    check: &CheckView,
    examined: Option<&ExaminedCheck<'_>>,
    circumstances: &Circumstances<'_>,
) -> Blame {
    match (&check.standing, examined) {
        (CheckStanding::Refused { .. } | CheckStanding::NoReport { .. }, _) => Blame::Inconclusive,
        // The change's own code may cancel a job, or let it run out of time.
        (CheckStanding::Lost { jobs }, _) if !jobs.iter().all(|job| job.end.is_outside()) => {
            Blame::Inconclusive
        }
        // An edited workflow file may be invalid: running the same one again would start as little.
        (
            CheckStanding::NotStarted {
                edited_workflows, ..
            },
            _,
        ) if !edited_workflows.is_empty() => Blame::Inconclusive,
        // A scanner that exits with 0 fails by its findings, and those are the pull request's own.
        (CheckStanding::Done(_), Some(examined)) => examined
            .blame(circumstances)
            .map_or(Blame::PrCode, |verdict| verdict.blame),
        _ => Blame::Infrastructure,
    }
}
