//! Checks of tests that had results by test and have none now: it is unknown whether their tests ran.

use std::collections::{BTreeMap, BTreeSet};

use twox_hash::XxHash3_64;

use super::gather::{CheckView, HeadEvidence};
use crate::{
    concerns::checks::CheckStanding,
    evidence::{CheckEvidence, Outcome, ReportFormat, TestOutcomes, TestState},
    ids::CheckName,
    policy::{CheckSource, Context, Policy},
    state::AttemptDigest,
};

/// The checks of tests that have results by test when they pass, each with a digest of its command and its reports: 16
/// hexadecimal digits, marked where tests that passed are named.
pub fn with_results(evidence: &HeadEvidence, policy: &Policy) -> BTreeMap<CheckName, String> {
    let has_results = |check: &CheckView| check.evidence().is_some_and(has_results_when_passing);
    let tests = evidence
        .checks
        .iter()
        .filter(|(_, check)| check.kind.is_of_tests() && has_results(check));
    let marked = |name: &CheckName, check: &CheckView| {
        let mark = if check.evidence().is_some_and(names_passed) {
            NAMED
        } else {
            ""
        };
        Some(format!("{}{mark}", digest(policy, name)?))
    };
    tests
        .filter_map(|(name, check)| Some((name.clone(), marked(name, check)?)))
        .collect()
}

/// Lets each check fail that passed without results by test, although it had them on the base, or in an earlier attempt
/// under the same command and reports; or that names no test that passed, although it named them there. `accepted`
/// names those for which a person took responsibility.
pub fn fail(
    evidence: &mut HeadEvidence,
    cx: Context<'_>,
    attempts: &[AttemptDigest],
    accepted: &BTreeSet<CheckName>,
) {
    for (name, check) in &mut evidence.checks {
        let Some(digest) = digest(cx.policy, name)
            .filter(|_| check.kind.is_of_tests() && !accepted.contains(name))
        else {
            continue;
        };
        let on_base = cx
            .snapshot
            .base_evidence
            .as_ref()
            .and_then(|base| base.checks.get(name));
        let before = attempts
            .iter()
            .filter_map(|attempt| attempt.with_results.get(name)?.strip_prefix(&digest));
        let named = on_base.is_some_and(names_passed) || before.clone().any(|mark| mark == NAMED);
        let had = on_base.is_some_and(has_results_when_passing) || before.count() > 0;
        let names_none = |tests: &TestOutcomes| tests.iter().all(|test| test.state().is_failure());
        if let CheckStanding::Done(found) = &mut check.standing
            && found.outcome == Outcome::Passed
            && (found.tests.is_none() && had
                || named && found.tests.as_ref().is_some_and(names_none))
        {
            found.outcome = Outcome::ResultsLost;
        }
    }
}

/// What marks a check that names the tests that pass.
const NAMED: &str = "+";

/// In a report: text for people names them or does not, as many as there are.
fn names_passed(found: &CheckEvidence) -> bool {
    let names = |tests: &TestOutcomes| tests.iter().any(|test| test.state() == TestState::Passed);
    let mut formats = found.reports.iter().filter_map(|report| report.format);
    formats.any(|format| format != ReportFormat::Console) && found.tests.as_ref().is_some_and(names)
}

/// Many tools name the tests that fail and no others: such a list says nothing about what they print when all pass.
pub fn has_results_when_passing(found: &CheckEvidence) -> bool {
    found
        .tests
        .as_ref()
        .is_some_and(|tests| found.outcome == Outcome::Passed || tests.is_whole())
}

/// A digest of a check's command and its reports. `None` for checks that others run: of those, results by test are never
/// known.
pub fn digest(policy: &Policy, check: &CheckName) -> Option<String> {
    let CheckSource::Command(command) = &policy.verify.checks.get(check)?.source else {
        return None;
    };
    let parts = [Some(&command.run), command.working_directory.as_ref()]
        .into_iter()
        .flatten()
        .chain(&command.reports);
    let hash = parts.fold(0, |seed, part| {
        XxHash3_64::oneshot_with_seed(seed, part.as_bytes())
    });
    Some(format!("{hash:016x}"))
}
