//! Checks of tests that had results by test and have none now: it is unknown whether their tests ran.

use std::collections::{BTreeMap, BTreeSet};

use twox_hash::XxHash3_64;

use super::gather::{GatheredCheck, HeadEvidence};
use crate::{
    evidence::{CheckEvidence, CheckKind, Outcome, OutcomesExtent, TestOutcomes},
    ids::CheckName,
    observed::BaseEvidence,
    policy::{CheckSource, Policy},
    state::AttemptDigest,
    verdict::CheckStanding,
};

/// The checks of tests that have results by test when they pass, each with a digest of its command and its reports: 16
/// hexadecimal digits.
pub fn with_results(evidence: &HeadEvidence, policy: &Policy) -> BTreeMap<CheckName, String> {
    let has_results = |check: &GatheredCheck| check.evidence().is_some_and(has_results_when_passing);
    let tests = evidence.checks.iter().filter(|(_, check)| is_test(check.kind) && has_results(check));
    tests.filter_map(|(name, _)| Some((name.clone(), digest(policy, name)?))).collect()
}

/// Lets each check fail that passed without results by test, although it had them on the base, or in an earlier attempt
/// under the same command and reports. `accepted` names those for which a person took responsibility.
pub fn fail(
    evidence: &mut HeadEvidence,
    policy: &Policy,
    base: Option<&BaseEvidence>,
    attempts: &[AttemptDigest],
    accepted: &BTreeSet<CheckName>,
) {
    for (name, check) in &mut evidence.checks {
        let Some(digest) = digest(policy, name).filter(|_| is_test(check.kind) && !accepted.contains(name)) else {
            continue;
        };
        let had_on_base = base.and_then(|base| base.checks.get(name)).is_some_and(has_results_when_passing);
        let had_before = || attempts.iter().any(|attempt| attempt.with_results.get(name) == Some(&digest));
        if let CheckStanding::Done(found) = &mut check.standing
            && found.outcome == Outcome::Passed
            && found.tests.is_none()
            && (had_on_base || had_before())
        {
            found.outcome = Outcome::ResultsLost;
        }
    }
}

/// Many tools name the tests that fail and no others: such a list says nothing about what they print when all pass.
fn has_results_when_passing(found: &CheckEvidence) -> bool {
    let is_whole = |tests: &TestOutcomes| tests.extent() == OutcomesExtent::Whole;
    found.tests.as_ref().is_some_and(|tests| found.outcome == Outcome::Passed || is_whole(tests))
}

const fn is_test(kind: CheckKind) -> bool {
    matches!(kind, CheckKind::Test | CheckKind::Integration)
}

/// `None` for checks that others run: of those, results by test are never known.
fn digest(policy: &Policy, check: &CheckName) -> Option<String> {
    let CheckSource::Command(command) = &policy.verify.checks.get(check)?.source else { return None };
    let parts = [Some(&command.run), command.working_directory.as_ref()].into_iter().flatten().chain(&command.reports);
    let hash = parts.fold(0, |seed, part| XxHash3_64::oneshot_with_seed(seed, part.as_bytes()));
    Some(format!("{hash:016x}"))
}
