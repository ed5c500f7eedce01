//! An attempt: the head commit once its verification has ended.

use std::collections::BTreeSet;

use crate::{
    concerns::{
        checks::gather::{CheckView, HeadEvidence},
        review,
        verdict::{
            RuleOutcome, RuleView, Verification, blame::CheckBlame, evaluate::COVERAGE_RULE,
        },
    },
    evidence::{CheckEvidence, CheckKind, Failure, tree_hash},
    failure::{self, Blame},
    ids::{CheckName, Fingerprint},
    policy::{Context, Severity},
    state::{
        AttemptDigest, CoverageMet, Lacking, LoopState, RejectedIn, Rejection, VerificationResult,
    },
    text,
};

/// Most names and fingerprints kept of one attempt.
const KEPT_PER_ATTEMPT: usize = 200;
const KEPT_PLACES: usize = 50;

/// Lines at the end of a log by which one silent failure differs from another.
const LAST_LINES: usize = 5;

/// Whether the head passed, and whose fault it is if not; None where it cannot be judged.
fn result(
    Verification {
        evidence,
        evaluation,
        blames,
        ..
    }: &Verification,
) -> Option<(VerificationResult, Option<Blame>)> {
    if !evidence.missing().is_empty() {
        return None;
    }
    if evaluation.passed() {
        return Some((VerificationResult::Pass, None));
    }
    match blames.iter().map(|blame| blame.blame).min() {
        // A score that is short without a failing check is the pull request's own.
        None | Some(Blame::PrCode) => Some((VerificationResult::Fail, Some(Blame::PrCode))),
        Some(Blame::Base) => Some((VerificationResult::Fail, Some(Blame::Base))),
        // Nothing is known of the code: no attempt was made.
        Some(Blame::Flaky | Blame::Infrastructure | Blame::Inconclusive) => None,
    }
}

/// The digest of the head's attempt, if it can be judged. A head that was counted before keeps its number and time.
pub fn digest(
    Context { snapshot, now, .. }: Context<'_>,
    state: &LoopState,
    verification: &Verification,
) -> Option<AttemptDigest> {
    let (result, blame) = result(verification)?;
    let Verification {
        evidence,
        evaluation,
        blames,
        rejections,
        ..
    } = verification;
    let head = &snapshot.pull_request.head;
    let before = state.attempt_of(head.sha);
    let own: Vec<&CheckBlame> = blames
        .iter()
        .filter(|blame| blame.blame == Blame::PrCode)
        .collect();
    let (failures, mut fingerprints): (Vec<&Failure>, BTreeSet<Fingerprint>) = own
        .iter()
        .filter_map(|blame| Some((blame, evidence.checks.get(&blame.check)?.evidence()?)))
        .flat_map(|(blame, check)| {
            let own = move |(index, _): &(usize, _)| blame.of_failure(*index).0 == Blame::PrCode;
            let examined = check
                .failures
                .iter()
                .zip(blame.examined.iter().map(|examined| examined.fingerprint));
            examined.enumerate().filter(own).map(|(_, failure)| failure)
        })
        .take(KEPT_PER_ATTEMPT)
        .unzip();
    // A check that fails without saying how is still the same error when it fails the same way again.
    let silent = own
        .iter()
        .filter_map(|blame| silent_failure(evidence, &blame.check));
    fingerprints.extend(silent.map(|failure| failure::fingerprint(&failure)));
    fingerprints.extend(rejections.iter().map(review::fingerprint));
    let coverage = evaluation
        .rules
        .iter()
        .find(|rule| rule.id.as_str() == COVERAGE_RULE);
    Some(AttemptDigest {
        number: state.attempt_number(head.sha),
        head_sha: head.sha,
        tree_hash: tree_hash(head.tree),
        at: before.map_or(now, |before| before.at),
        result,
        blame,
        score: evaluation.score,
        phase: evaluation.phase,
        failed_rules: evaluation.failed_rules(),
        failed_checks: evidence.names(CheckView::has_failed),
        fingerprints,
        failing_tests: failures
            .iter()
            .filter_map(|one| Some((one.test_name.clone()?, one.test_id)))
            .collect(),
        tests: CheckEvidence::all_tests(evidence.ended()),
        named_places: named_places(evidence),
        total_tests: CheckEvidence::sum(evidence.ended(), |results| results.total),
        lacking: lacking(result, &own, verification),
        coverage: coverage.and_then(|rule| match rule.outcome {
            RuleOutcome::Passed => Some(CoverageMet::Met),
            RuleOutcome::Failed(_) => Some(CoverageMet::Short),
            RuleOutcome::Unknown => None,
        }),
        retry_class: own.iter().map(|blame| blame.class).max(),
        memory_matches: before.and_then(|before| before.memory_matches.clone()),
        summary: summary(result, verification, &failures),
        rejections: rejections.clone(),
        flaky: verification.flaky.clone(),
        ..AttemptDigest::default()
    })
}

/// Places of findings that are no tests' failures, as `file:line`.
fn named_places(evidence: &HeadEvidence) -> BTreeSet<String> {
    let failing = evidence
        .checks
        .values()
        .filter(|check| check.has_failed())
        .filter_map(CheckView::evidence);
    let findings = failing
        .clone()
        .flat_map(|check| &check.findings)
        .filter_map(|finding| finding.location.as_ref());
    let findings = findings.filter_map(|place| Some((place.file.as_str(), place.line?)));
    let failures = failing
        .flat_map(|check| &check.failures)
        .filter(|failure| failure.test_name.is_none());
    let failures = failures
        .filter_map(|failure| failure.location())
        .filter_map(|(file, line)| Some((file, line?)));
    findings
        .chain(failures)
        .take(KEPT_PLACES)
        .map(|(file, line)| format!("{file}:{line}"))
        .collect()
}

/// What a failing head lacks, if it is one thing.
fn lacking(
    result: VerificationResult,
    own: &[&CheckBlame],
    verification: &Verification,
) -> Option<Lacking> {
    let Verification {
        evidence,
        evaluation,
        ..
    } = verification;
    if result == VerificationResult::Pass {
        return None;
    }
    let is_coverage = |check: &CheckName| {
        evidence
            .checks
            .get(check)
            .is_some_and(|check| check.kind == CheckKind::Coverage)
    };
    let failed = || {
        evaluation
            .rules
            .iter()
            .filter(|rule| matches!(rule.outcome, RuleOutcome::Failed(_)))
    };
    let is_of_coverage = |rule: &RuleView| {
        rule.id.as_str() == COVERAGE_RULE
            || rule
                .id
                .as_str()
                .parse()
                .is_ok_and(|check| is_coverage(&check))
    };
    let is_short = failed().all(|rule| rule.severity == Severity::Info || is_of_coverage(rule));
    if is_short && failed().next().is_some() && own.iter().all(|blame| is_coverage(&blame.check)) {
        return Some(Lacking::Coverage);
    }
    let silent = !own.is_empty()
        && own
            .iter()
            .all(|blame| silent_failure(evidence, &blame.check).is_some());
    silent.then_some(Lacking::Explanation)
}

/// The failure of a check that failed without one failure in its reports; none of any other. Two such failures differ
/// only by the last lines of the log that are not blank.
fn silent_failure(evidence: &HeadEvidence, check: &CheckName) -> Option<Failure> {
    let found = evidence.of_check(check);
    if found.is_some_and(|found| !found.failures.is_empty()) {
        return None;
    }
    let log = found.map(|found| {
        if found.log_tail.trim().is_empty() {
            &found.log_head
        } else {
            &found.log_tail
        }
    });
    let lines = log
        .into_iter()
        .flat_map(|log| log.lines().rev())
        .filter(|line| !line.trim().is_empty());
    let mut lines: Vec<&str> = lines.take(LAST_LINES).collect();
    lines.reverse();
    let message = if lines.is_empty() {
        format!("{check} did not pass")
    } else {
        lines.join("\n")
    };
    Some(Failure {
        test_name: Some(check.to_string()),
        error_class: found.map(|found| found.outcome.as_str().to_owned()),
        error_message: message,
        ..Failure::default()
    })
}

fn summary(
    result: VerificationResult,
    verification: &Verification,
    failures: &[&Failure],
) -> String {
    let Verification {
        blames,
        rejections,
        evaluation,
        ..
    } = verification;
    if result == VerificationResult::Pass {
        let no = |rejection: &Rejection| match &rejection.of {
            RejectedIn::Gate(gate) => format!("{} rejected the {gate} gate", rejection.by),
            RejectedIn::Review => format!("{} asked for changes", rejection.by),
        };
        let all: Vec<String> = rejections.iter().map(no).collect();
        return if all.is_empty() {
            "all required checks pass".to_owned()
        } else {
            all.join(", ")
        };
    }
    let checks = blames
        .iter()
        .map(|blame| blame.check.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    let one = |value: &str| text::first_line(value, 60);
    let first = failures.first().map(|failure| {
        let message = match failure.shown_sides() {
            // The message of a framework says only that two values differ.
            [Some(expected), Some(actual)] => {
                format!("expected {}, got {}", one(&expected), one(&actual))
            }
            _ => failure
                .reported()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned(),
        };
        let message = text::start(&message, 160);
        let named = failure
            .test_name
            .as_deref()
            .filter(|name| !message.contains(name));
        let named = named
            .map(|name| format!("{} — ", text::start(name, 120)))
            .unwrap_or_default();
        format!("{named}{message}")
    });
    match (checks.as_str(), first) {
        ("", _) => {
            let failed: Vec<String> = evaluation
                .failed_rules()
                .iter()
                .take(5)
                .map(ToString::to_string)
                .collect();
            if failed.is_empty() {
                "the score is short".to_owned()
            } else {
                failed.join(", ")
            }
        }
        (checks, None) => checks.to_owned(),
        (checks, Some(first)) => format!("{checks}: {first}"),
    }
}

/// Puts the digest in its place. Outcomes of tests are kept for the two newest attempts only.
pub fn record(attempts: &mut Vec<AttemptDigest>, digest: AttemptDigest) {
    match attempts
        .last_mut()
        .filter(|last| last.number == digest.number)
    {
        Some(same) => *same = digest,
        None => attempts.push(digest),
    }
    let old = attempts.len().saturating_sub(2);
    for attempt in &mut attempts[..old] {
        attempt.tests = None;
    }
}
