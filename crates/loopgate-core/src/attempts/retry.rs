//! The retry policy. It judges the attempts after the last resume, and only if the last one failed through this change.
//! Every trigger that holds is returned; the first in the order of [`Trigger`] is the cause.
//!
//! Everything is derived from the list of attempts each time, never counted up: repeating, replacing or re-ordering
//! what led to the list cannot change the outcome.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    attempts::{AttemptsEnd, Cause, Circle},
    evidence::RetryClass,
    ids::Fingerprint,
    policy::{LoopPolicy, Trigger},
    state::{AttemptDigest, Lacking, RejectedIn, Resume, VerificationResult},
};

/// What the attempts so far amount to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// Failing attempts of the current streak.
    pub streak: u32,
    /// Consecutive attempts, up to the last, that share a fingerprint.
    pub same_error: u32,
    /// Failing attempts of the run; never resets.
    pub total: u32,
    /// How often in a row the score stood still.
    pub stagnation: u32,
    /// Reasons to call a human, the most urgent first, each with what was recognised.
    pub causes: BTreeMap<Trigger, Cause>,
    /// Tests that passed before and fail in the last attempt.
    pub regressed: BTreeSet<String>,
    /// The attempts are used up and no person is to be called (`escalation_on_max: false`).
    pub has_given_up: bool,
}

/// Judges a run by its counted attempts, oldest first. Streaks start anew after each resume; totals do not.
pub fn judge(attempts: &[AttemptDigest], resumes: &[Resume], policy: &LoopPolicy) -> Judgement {
    // What is not on record any more counts as failed.
    let unrecorded = attempts
        .first()
        .map_or(0, |first| first.number.saturating_sub(1));
    let total = unrecorded + count(attempts.iter().filter(|attempt| attempt.spent()).count());
    let resumed_after = resumes
        .iter()
        .map(|resume| resume.after_attempt)
        .max()
        .unwrap_or(0);
    let since: Vec<&AttemptDigest> = attempts
        .iter()
        .filter(|attempt| attempt.number > resumed_after)
        .collect();
    let mut judgement = Judgement {
        total,
        ..Judgement::default()
    };
    let Some((last, earlier)) = since.split_last() else {
        return judgement;
    };
    if !last.spent() {
        return judgement;
    }
    let spent: Vec<&AttemptDigest> = since
        .iter()
        .copied()
        .filter(|attempt| attempt.spent())
        .collect();
    judgement.streak = streak(&since);
    judgement.has_given_up = !policy.escalation_on_max && judgement.streak >= policy.max_attempts;
    let repeats = longest_repeat(&since);
    judgement.same_error = repeats;
    judgement.stagnation = stagnation(&spent);
    // What a resume came before is no attempt's doing.
    judgement.regressed = if earlier.is_empty() {
        BTreeSet::new()
    } else {
        last.regressed.clone()
    };

    let last_summary = || last.summary.clone();
    let performance_again = last.retry_class == Some(RetryClass::Performance)
        && earlier
            .last()
            .is_some_and(|before| before.retry_class == Some(RetryClass::Performance));
    let attempts_used_up = judgement.streak >= policy.max_attempts || performance_again;
    let refused = last
        .rejections
        .iter()
        .any(|rejection| rejection.of == RejectedIn::Review)
        && !policy.auto_retry_on_review_reject;
    let failed = last.result == VerificationResult::Fail && !policy.auto_retry_on_test_fail;
    let errors: BTreeSet<&Fingerprint> = spent
        .iter()
        .flat_map(|attempt| &attempt.fingerprints)
        .collect();
    let reason = match (refused, judgement.streak) {
        (true, _) => AttemptsEnd::Rejected {
            last: last_summary(),
        },
        (false, 1) => AttemptsEnd::NotRetried {
            last: last_summary(),
        },
        (false, attempts) => AttemptsEnd::UsedUp {
            attempts,
            errors: errors.len(),
        },
    };
    let is_regression = policy.abort_on_regression && !judgement.regressed.is_empty();
    let tests = judgement
        .regressed
        .iter()
        .take(TESTS_NAMED)
        .cloned()
        .collect();
    let is_same_tree = earlier
        .last()
        .is_some_and(|before| before.spent() && before.tree_hash == last.tree_hash);
    // Twice in a row, or when the attempts are used up.
    let lacks = |what: Lacking| {
        spent
            .iter()
            .rev()
            .take_while(|attempt| attempt.lacking == Some(what))
            .count()
    };
    let lacks_coverage =
        lacks(Lacking::Coverage) >= 2 || lacks(Lacking::Coverage) == 1 && attempts_used_up;
    use Trigger as T;
    let causes = [
        (last.retry_class == Some(RetryClass::Security))
            .then_some((T::SecurityIssueFound, Cause::SecurityIssueFound)),
        is_regression.then_some((T::RegressionDetected, Cause::RegressionDetected { tests })),
        circle(&spent).map(|circle| (T::CircularFailure, Cause::CircularFailure { circle })),
        (repeats > policy.same_error).then(|| {
            (
                T::SameError,
                Cause::SameError {
                    attempts: repeats,
                    last: last_summary(),
                },
            )
        }),
        (total >= policy.total_failures)
            .then_some((T::TotalFailures, Cause::TotalFailures { attempts: total })),
        (attempts_used_up && policy.escalation_on_max || failed || refused)
            .then_some((T::MaxAttemptsReached, Cause::MaxAttemptsReached { reason })),
        (judgement.stagnation >= 2).then_some((T::Stagnation, Cause::Stagnation)),
        (last.retry_class == Some(RetryClass::Logic)).then(|| {
            (
                T::TimeoutExceeded,
                Cause::TimeoutExceeded {
                    last: last_summary(),
                },
            )
        }),
        is_same_tree.then_some((T::NoChange, Cause::NoChange)),
        lacks_coverage.then(|| {
            (
                T::CoverageThresholdUnmet,
                Cause::CoverageThresholdUnmet {
                    last: last_summary(),
                },
            )
        }),
        (lacks(Lacking::Explanation) >= 2).then(|| {
            (
                T::UnknownErrorType,
                Cause::UnknownErrorType {
                    last: last_summary(),
                },
            )
        }),
    ];
    judgement.causes.extend(causes.into_iter().flatten());
    judgement
}

/// Most tests that a regression names.
const TESTS_NAMED: usize = 3;

/// The attempt with the highest score that weakens nothing; the earliest of equals.
pub fn best(attempts: &[AttemptDigest]) -> Option<&AttemptDigest> {
    let rank =
        |attempt: &AttemptDigest| (attempt.result == VerificationResult::Pass, attempt.score);
    let honest = attempts.iter().filter(|attempt| !attempt.weakened);
    honest.reduce(|best, next| if rank(next) > rank(best) { next } else { best })
}

/// A number of attempts.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Failing attempts at the end of the list that each share an error with the one before. Two attempts that both do not
/// say what failed share one: their logs may differ in nothing but a time of day.
fn streak(attempts: &[&AttemptDigest]) -> u32 {
    let silent = |attempt: &AttemptDigest| attempt.lacking == Some(Lacking::Explanation);
    let mut length = 0;
    let mut later: Option<&AttemptDigest> = None;
    for attempt in attempts.iter().rev() {
        let goes_on = later.is_none_or(|later| {
            !later.fingerprints.is_disjoint(&attempt.fingerprints)
                || silent(later) && silent(attempt)
        });
        if !attempt.spent() || !goes_on {
            break;
        }
        length += 1;
        later = Some(attempt);
    }
    length
}

/// In how many attempts at the end of the list one fingerprint is, without a gap: the most of any.
fn longest_repeat(attempts: &[&AttemptDigest]) -> u32 {
    let run_of = |print: &Fingerprint| {
        let has =
            |attempt: &&&AttemptDigest| attempt.spent() && attempt.fingerprints.contains(print);
        count(attempts.iter().rev().take_while(has).count())
    };
    attempts
        .last()
        .and_then(|last| last.fingerprints.iter().map(run_of).max())
        .unwrap_or(0)
}

/// A failure that was fixed, gave way to another, and is back; or a tree that failed before and is back.
fn circle(spent: &[&AttemptDigest]) -> Option<Circle> {
    let (last, earlier) = spent.split_last()?;
    let (before, older) = earlier.split_last()?;
    let returned = older.iter().rev().find(|old| {
        !old.fingerprints.is_disjoint(&last.fingerprints)
            && last
                .fingerprints
                .intersection(&old.fingerprints)
                .any(|print| !before.fingerprints.contains(print))
    });
    if let Some(old) = returned {
        return Some(Circle::Failure {
            first: old.number,
            gone: before.number,
            back: last.number,
        });
    }
    let same_tree = older
        .iter()
        .rev()
        .find(|old| old.tree_hash == last.tree_hash && before.tree_hash != last.tree_hash);
    same_tree.map(|old| Circle::Code {
        first: old.number,
        again: last.number,
    })
}

/// How many of the last steps gained less than 0.02 without a fail-severity blocker.
fn stagnation(spent: &[&AttemptDigest]) -> u32 {
    let stands_still = |pair: &&[&AttemptDigest]| {
        let gained = i16::from(pair[1].score.hundredths()) - i16::from(pair[0].score.hundredths());
        gained < 2 && pair.iter().all(|attempt| attempt.failed_rules.is_empty())
    };
    count(
        spent
            .windows(2)
            .rev()
            .take_while(|pair| stands_still(pair))
            .count(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        evidence::TestId,
        failure::Blame,
        ids::{Score, Sha, Timestamp, UserId},
        policy::{EscalationAction, Phase},
    };

    /// An attempt that failed with these errors (one letter each); "" passed.
    fn attempt(number: u32, errors: &str) -> AttemptDigest {
        let byte = u8::try_from(number).unwrap();
        AttemptDigest {
            number,
            head_sha: Sha::from_bytes([byte; 20]),
            tree_hash: number.to_string(),
            at: Timestamp::UNIX_EPOCH,
            result: if errors.is_empty() {
                VerificationResult::Pass
            } else {
                VerificationResult::Fail
            },
            blame: (!errors.is_empty()).then_some(Blame::PrCode),
            score: Score::from_ratio(0.5, 1.0),
            phase: Phase::A,
            failed_rules: vec!["unit".parse().unwrap()],
            failed_checks: vec!["unit".parse().unwrap()],
            fingerprints: errors
                .bytes()
                .map(|error| Fingerprint::from_bytes([error; 8]))
                .collect(),
            failing_tests: errors
                .chars()
                .map(|error| (error.to_string(), Some(id(error))))
                .collect(),
            summary: format!("unit: {errors}"),
            ..AttemptDigest::default()
        }
    }

    fn id(test: char) -> TestId {
        TestId::of("", "", &test.to_string())
    }

    fn run(errors: &[&str]) -> Vec<AttemptDigest> {
        (1..)
            .zip(errors)
            .map(|(number, errors)| attempt(number, errors))
            .collect()
    }

    fn resume_after(attempt: u32) -> Resume {
        Resume {
            after_attempt: attempt,
            by: "bob".parse().unwrap(),
            by_id: UserId::new(2),
            at: Timestamp::UNIX_EPOCH,
            settled: None,
            accepted: Vec::new(),
        }
    }

    #[test]
    fn triggers_by_the_run_of_errors() {
        use Trigger as T;
        let table: &[(&[&str], u32, &[T])] = &[
            (&["a"], 1, &[]),
            (&["a", "a"], 2, &[]),
            (&["a", "a", "a"], 3, &[T::SameError, T::MaxAttemptsReached]),
            // A different error starts a new streak.
            (&["a", "b"], 1, &[]),
            (&["a", "a", "b"], 1, &[]),
            // One shared error keeps the streak, and is the same error only if it lasts.
            (&["a", "ab", "b"], 3, &[T::MaxAttemptsReached]),
            (
                &["ab", "bc", "bd"],
                3,
                &[T::SameError, T::MaxAttemptsReached],
            ),
            // A pass ends the streak, and a pass last judges nothing.
            (&["a", "a", "", "a"], 1, &[]),
            (&["a", "a", ""], 0, &[]),
            // A fixed, B broke, A again.
            (&["a", "b", "a"], 1, &[T::CircularFailure]),
            (&["a", "b", "c"], 1, &[]),
        ];
        for (errors, streak, triggers) in table {
            let judgement = judge(&run(errors), &[], &LoopPolicy::default());
            let got: Vec<Trigger> = judgement.causes.keys().copied().collect();
            assert_eq!(
                (judgement.streak, got.as_slice()),
                (*streak, *triggers),
                "{errors:?}"
            );
        }
    }

    #[test]
    fn a_resume_starts_a_new_streak_and_keeps_the_total() {
        let attempts = run(&["a", "a", "a", "a"]);
        let judgement = judge(&attempts, &[resume_after(3)], &LoopPolicy::default());
        assert_eq!(
            (judgement.streak, judgement.same_error, judgement.total),
            (1, 1, 4)
        );
        assert!(judgement.causes.is_empty());
        assert_eq!(
            judge(&attempts, &[resume_after(4)], &LoopPolicy::default()).streak,
            0
        );
    }

    #[test]
    fn total_failures_never_reset() {
        let errors: Vec<String> = (b'a'..=b'j')
            .map(|error| char::from(error).to_string())
            .collect();
        let attempts = run(&errors.iter().map(String::as_str).collect::<Vec<_>>());
        let causes = judge(&attempts, &[resume_after(9)], &LoopPolicy::default()).causes;
        assert_eq!(
            causes.into_keys().collect::<Vec<_>>(),
            [Trigger::TotalFailures]
        );
    }

    #[test]
    fn a_test_that_passed_before_and_fails_now_is_a_regression() {
        let mut attempts = run(&["a", "b"]);
        attempts[1].regressed = ["b".to_owned()].into();
        let judgement = judge(&attempts, &[], &LoopPolicy::default());
        assert_eq!(
            judgement.causes.keys().next(),
            Some(&Trigger::RegressionDetected)
        );
        let told = Cause::RegressionDetected {
            tests: vec!["b".to_owned()],
        };
        assert_eq!(judgement.causes.values().next(), Some(&told));
        let ignoring = LoopPolicy {
            abort_on_regression: false,
            ..LoopPolicy::default()
        };
        assert!(judge(&attempts, &[], &ignoring).causes.is_empty());
        assert!(
            judge(&attempts, &[resume_after(1)], &LoopPolicy::default())
                .regressed
                .is_empty(),
            "a new streak"
        );
    }

    #[test]
    fn the_same_code_again_is_no_change_and_older_code_again_is_a_circle() {
        let mut attempts = run(&["a", "a"]);
        attempts[1].tree_hash = attempts[0].tree_hash.clone();
        assert!(
            judge(&attempts, &[], &LoopPolicy::default())
                .causes
                .contains_key(&Trigger::NoChange)
        );
        let mut attempts = run(&["a", "b", "c"]);
        attempts[2].tree_hash = attempts[0].tree_hash.clone();
        assert!(
            judge(&attempts, &[], &LoopPolicy::default())
                .causes
                .contains_key(&Trigger::CircularFailure)
        );
    }

    #[test]
    fn classes_that_are_not_simply_retried() {
        let with = |classes: &[Option<RetryClass>]| {
            let mut attempts = run(&["a", "b"][..classes.len()]);
            for (attempt, class) in attempts.iter_mut().zip(classes) {
                attempt.retry_class = *class;
            }
            judge(&attempts, &[], &LoopPolicy::default())
                .causes
                .keys()
                .next()
                .copied()
        };
        use RetryClass as C;
        assert_eq!(with(&[Some(C::Logic)]), Some(Trigger::TimeoutExceeded));
        assert_eq!(
            with(&[Some(C::Security)]),
            Some(Trigger::SecurityIssueFound)
        );
        assert_eq!(with(&[Some(C::Performance)]), None);
        assert_eq!(
            with(&[Some(C::Code), Some(C::Performance)]),
            None,
            "the first of its kind"
        );
        assert_eq!(
            with(&[Some(C::Performance), Some(C::Performance)]),
            Some(Trigger::MaxAttemptsReached)
        );
    }

    #[test]
    fn stagnation_needs_two_still_steps_without_a_blocker() {
        let mut attempts = run(&["a", "b", "c"]);
        assert!(
            !judge(&attempts, &[], &LoopPolicy::default())
                .causes
                .contains_key(&Trigger::Stagnation)
        );
        for attempt in &mut attempts {
            attempt.failed_rules.clear();
        }
        assert!(
            judge(&attempts, &[], &LoopPolicy::default())
                .causes
                .contains_key(&Trigger::Stagnation)
        );
        attempts[2].score = Score::from_ratio(0.53, 1.0);
        assert!(
            !judge(&attempts, &[], &LoopPolicy::default())
                .causes
                .contains_key(&Trigger::Stagnation)
        );
    }

    #[test]
    fn coverage_alone_is_told_of_twice_in_a_row_or_at_the_limit() {
        let lacking = |errors: &[&str], lacking: &[Option<Lacking>]| {
            let mut attempts = run(errors);
            for (attempt, lacking) in attempts.iter_mut().zip(lacking) {
                attempt.lacking = *lacking;
            }
            attempts
        };
        let coverage = Some(Lacking::Coverage);
        let holds = |attempts: &[AttemptDigest], policy: &LoopPolicy| {
            judge(attempts, &[], policy)
                .causes
                .contains_key(&Trigger::CoverageThresholdUnmet)
        };
        let policy = LoopPolicy::default();
        assert!(!holds(&lacking(&["a"], &[coverage]), &policy));
        assert!(!holds(&lacking(&["a", "b"], &[None, coverage]), &policy));
        assert!(holds(&lacking(&["a", "b"], &[coverage, coverage]), &policy));
        assert!(holds(
            &lacking(&["a"], &[coverage]),
            &LoopPolicy {
                max_attempts: 1,
                ..policy.clone()
            }
        ));
        assert!(!holds(&lacking(&["a", "b"], &[coverage, None]), &policy));
    }

    #[test]
    fn failures_that_say_nothing_are_flagged_at_the_second_and_are_one_streak() {
        use Trigger as T;
        let silent = |errors: &[&str]| {
            let mut attempts = run(errors);
            attempts
                .iter_mut()
                .for_each(|attempt| attempt.lacking = Some(Lacking::Explanation));
            let judgement = judge(&attempts, &[], &LoopPolicy::default());
            (
                judgement.streak,
                judgement.causes.into_keys().collect::<Vec<_>>(),
            )
        };
        assert_eq!(silent(&["a"]), (1, vec![]));
        assert_eq!(silent(&["a", "b"]), (2, vec![T::UnknownErrorType]));
        assert_eq!(
            T::UnknownErrorType.default_action(),
            EscalationAction::FlagAndContinue
        );
        // Logs that differ use the attempts up; the same log is the same error.
        assert_eq!(
            silent(&["a", "b", "c"]),
            (3, vec![T::MaxAttemptsReached, T::UnknownErrorType])
        );
        assert_eq!(
            silent(&["a", "a", "a"]),
            (
                3,
                vec![T::SameError, T::MaxAttemptsReached, T::UnknownErrorType]
            )
        );
        // One with a message is another error.
        let mut attempts = run(&["a", "b"]);
        attempts[0].lacking = Some(Lacking::Explanation);
        assert_eq!(judge(&attempts, &[], &LoopPolicy::default()).streak, 1);
    }

    #[test]
    fn without_escalation_on_max_the_run_gives_up_silently() {
        let policy = LoopPolicy {
            escalation_on_max: false,
            same_error: 9,
            ..LoopPolicy::default()
        };
        let judgement = judge(&run(&["a", "a", "a"]), &[], &policy);
        assert!(judgement.causes.is_empty() && judgement.has_given_up);
    }
}
