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

/// What the attempts come to, and the causes that they are.
fn judge(
    attempts: &[AttemptDigest],
    resumes: &[Resume],
    policy: &LoopPolicy,
) -> (Judgement, Causes) {
    let judgement = retry::judge(attempts, resumes, policy);
    let causes = of_attempts(attempts, resumes, &judgement, policy);
    (judgement, causes)
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
        let (judgement, causes) = judge(&run(errors), &[], &LoopPolicy::default());
        let got: Vec<Trigger> = causes.keys().copied().collect();
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
    let (judgement, causes) = judge(&attempts, &[resume_after(3)], &LoopPolicy::default());
    assert_eq!(
        (judgement.streak, judgement.same_error, judgement.total),
        (1, 1, 4)
    );
    assert!(causes.is_empty());
    assert_eq!(
        judge(&attempts, &[resume_after(4)], &LoopPolicy::default())
            .0
            .streak,
        0
    );
}

#[test]
fn total_failures_never_reset() {
    let errors: Vec<String> = (b'a'..=b'j')
        .map(|error| char::from(error).to_string())
        .collect();
    let attempts = run(&errors.iter().map(String::as_str).collect::<Vec<_>>());
    let causes = judge(&attempts, &[resume_after(9)], &LoopPolicy::default()).1;
    assert_eq!(
        causes.into_keys().collect::<Vec<_>>(),
        [Trigger::TotalFailures]
    );
}

#[test]
fn a_test_that_passed_before_and_fails_now_is_a_regression() {
    let mut attempts = run(&["a", "b"]);
    attempts[1].regressed = ["b".to_owned()].into();
    let (_, causes) = judge(&attempts, &[], &LoopPolicy::default());
    assert_eq!(causes.keys().next(), Some(&Trigger::RegressionDetected));
    let told = Cause::RegressionDetected {
        tests: vec!["b".to_owned()],
    };
    assert_eq!(causes.values().next(), Some(&told));
    let ignoring = LoopPolicy {
        abort_on_regression: false,
        ..LoopPolicy::default()
    };
    assert!(judge(&attempts, &[], &ignoring).1.is_empty());
    assert!(
        judge(&attempts, &[resume_after(1)], &LoopPolicy::default())
            .0
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
            .1
            .contains_key(&Trigger::NoChange)
    );
    let mut attempts = run(&["a", "b", "c"]);
    attempts[2].tree_hash = attempts[0].tree_hash.clone();
    assert!(
        judge(&attempts, &[], &LoopPolicy::default())
            .1
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
            .1
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
            .1
            .contains_key(&Trigger::Stagnation)
    );
    for attempt in &mut attempts {
        attempt.failed_rules.clear();
    }
    assert!(
        judge(&attempts, &[], &LoopPolicy::default())
            .1
            .contains_key(&Trigger::Stagnation)
    );
    attempts[2].score = Score::from_ratio(0.53, 1.0);
    assert!(
        !judge(&attempts, &[], &LoopPolicy::default())
            .1
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
            .1
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
        let (judgement, causes) = judge(&attempts, &[], &LoopPolicy::default());
        (judgement.streak, causes.into_keys().collect::<Vec<_>>())
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
    assert_eq!(judge(&attempts, &[], &LoopPolicy::default()).0.streak, 1);
}

#[test]
fn without_escalation_on_max_the_run_gives_up_silently() {
    let policy = LoopPolicy {
        escalation_on_max: false,
        same_error: 9,
        ..LoopPolicy::default()
    };
    let (judgement, causes) = judge(&run(&["a", "a", "a"]), &[], &policy);
    assert!(causes.is_empty() && judgement.has_given_up);
}
