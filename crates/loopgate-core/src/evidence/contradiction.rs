//! Evidence that contradicts itself, which `verify` never writes.

use std::collections::BTreeSet;

use crate::evidence::{CheckEvidence, CheckKind, Evidence, Outcome};

/// Tests that a check can have.
const MOST_TESTS: u64 = 1 << 31;

/// Checks a document against itself; gives what in it cannot all be true.
///
/// # Errors
/// The first contradiction.
pub fn consistent(evidence: &Evidence) -> Result<(), String> {
    let all_went_well = evidence
        .checks
        .iter()
        .all(|check| matches!(check.outcome, Outcome::Passed | Outcome::Skipped));
    for check in &evidence.checks {
        check_consistent(check, check.kind)?;
        if check.outcome == Outcome::Skipped && all_went_well {
            return Err(format!(
                "it says that {} was skipped, and no check failed that it could have needed",
                check.name
            ));
        }
    }
    Ok(())
}

/// Checks one check against itself, as one of this kind: the configuration's holds, whatever the document shows.
///
/// # Errors
/// The first contradiction.
pub fn check_consistent(check: &CheckEvidence, kind: CheckKind) -> Result<(), String> {
    let (name, tests) = (&check.name, kind.is_of_tests());
    if let Some(results) = check.results {
        if results.total > MOST_TESTS {
            return Err(format!("it counts more than 2^31 tests of {name}"));
        }
        let parts = [
            results.passed,
            results.failed,
            results.errors,
            results.skipped,
        ];
        if parts.into_iter().map(u128::from).sum::<u128>() > u128::from(results.total) {
            return Err(format!(
                "the tests of {name} are fewer than those that passed, failed or were skipped"
            ));
        }
        // A failure that is no test's is not counted: what a log shows, a missing report.
        let listed: BTreeSet<_> = check
            .failures
            .iter()
            .filter_map(|failure| failure.test_id)
            .collect();
        if tests && listed.len() as u128 > u128::from(results.failed) + u128::from(results.errors) {
            return Err(format!("it counts fewer failures of {name} than it lists"));
        }
    }
    if check.outcome != Outcome::Passed {
        return Ok(());
    }
    // A linter may print what it does not fail for; a test that failed failed.
    let counts = check
        .results
        .is_some_and(|results| results.failed > 0 || results.errors > 0);
    let has_failures = counts || !check.failures.is_empty() || check.failures_not_kept > 0;
    match check.exit_code {
        _ if tests && has_failures => Err(format!(
            "it says that {name} passed, and counts failures of it"
        )),
        Some(code) if code != 0 => Err(format!(
            "it says that {name} passed, and that its command ended with exit code {code}"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::CheckResults;
    use crate::{
        evidence::{Failure, TestId},
        fixtures,
        observed::ReceivedEvidence,
    };

    fn said(change: impl FnOnce(&mut Evidence)) -> Option<String> {
        let ReceivedEvidence::Accepted(mut evidence) =
            fixtures::evidence("1".repeat(40).parse().unwrap(), &[], &["rounds", "adds"])
        else {
            panic!("accepted")
        };
        change(&mut evidence);
        consistent(&evidence).err()
    }

    #[test]
    fn what_cannot_all_be_true_is_said() {
        let passed = "it says that unit passed, and counts failures of it";
        let total = "the tests of unit are fewer than those that passed, failed or were skipped";
        let skipped =
            "it says that unit was skipped, and no check failed that it could have needed";
        let counts = |results: CheckResults| said(|it| it.checks[1].results = Some(results));
        assert_eq!(said(|_| ()), None);
        assert_eq!(
            counts(CheckResults {
                total: 2,
                passed: 1,
                failed: 1,
                ..Default::default()
            })
            .unwrap(),
            passed
        );
        assert_eq!(
            counts(CheckResults {
                total: 2,
                passed: 1,
                errors: 1,
                ..Default::default()
            })
            .unwrap(),
            passed
        );
        assert_eq!(
            counts(CheckResults {
                total: 1,
                passed: 99,
                ..Default::default()
            })
            .unwrap(),
            total
        );
        let huge = CheckResults {
            total: u64::MAX,
            passed: u64::MAX,
            skipped: u64::MAX,
            ..Default::default()
        };
        assert_eq!(
            counts(huge).unwrap(),
            "it counts more than 2^31 tests of unit"
        );
        let code = "it says that unit passed, and that its command ended with exit code 1";
        assert_eq!(said(|it| it.checks[1].exit_code = Some(1)).unwrap(), code);
        assert_eq!(
            said(|it| it.checks[1].failures_not_kept = 1).unwrap(),
            passed
        );
        assert_eq!(
            said(|it| it.checks[1].failures.push(Default::default())).unwrap(),
            passed
        );
        assert_eq!(
            said(|it| it.checks[1].outcome = Outcome::Skipped).unwrap(),
            skipped
        );
        let listed = "it counts fewer failures of unit than it lists";
        let test = |name: &str| Failure {
            test_id: Some(TestId::of("", "", name)),
            ..Default::default()
        };
        let lists = |failed: u64| {
            said(|it| {
                let unit = &mut it.checks[1];
                unit.outcome = Outcome::Failed;
                unit.results = Some(CheckResults {
                    total: 9,
                    passed: 9 - failed,
                    failed,
                    ..Default::default()
                });
                unit.failures = vec![
                    test("rounds"),
                    test("adds"),
                    test("adds"),
                    Failure::default(),
                ];
            })
        };
        assert_eq!(lists(1).unwrap(), listed);
        assert_eq!(lists(0).unwrap(), listed);
        assert_eq!(
            lists(2),
            None,
            "two tests, one of them twice, and what is no test"
        );
    }

    #[test]
    fn what_can_be_true_is_believed() {
        assert_eq!(
            said(|it| {
                it.checks[0].outcome = Outcome::Failed;
                it.checks[1].outcome = Outcome::Skipped;
                it.checks[1].results = None;
            }),
            None,
            "it needed what failed"
        );
        assert_eq!(
            said(|it| it.checks[0].failures.push(Default::default())),
            None,
            "a build that warned"
        );
        assert_eq!(said(|it| it.checks[1].outcome = Outcome::Cancelled), None);
    }
}
