//! Iteration control as a contract of its own: one check in, one decision out (`loopgate decide`).
//!
//! It is for programs that keep their own state: tests and review decide between proceed, retry, escalate and wait. The
//! iterations become attempts, and [`retry::judge`] judges them as it judges those of a pull request. The sentences of
//! the answer are written by who prints it.

use std::ops::RangeInclusive;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::{
    concerns::{
        attempts::{Judgement, retry},
        escalation::cause,
    },
    deciding::DecisionWord,
    failure::{FeedbackLine, Priority},
    ids::{Fingerprint, Login, Timestamp, UserId},
    policy::{LoopPolicy, Trigger},
    state::{AttemptDigest, RejectedIn, Rejection, VerificationResult},
};

/// Smallest and largest `max_iterations`.
pub const MAX_ITERATIONS: RangeInclusive<u32> = 1..=10;

/// Smallest and largest `feedback_max_length`.
const FEEDBACK_LENGTH: RangeInclusive<usize> = 80..=10_000;

/// The document a caller writes: `iteration_check: …`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub iteration_check: Check,
    /// What a flow sets otherwise than the defaults.
    #[serde(default)]
    pub iteration_control: Control,
}

/// The settings of a flow; what is left out has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    pub max_iterations: Option<u32>,
    pub auto_retry_on_test_fail: Option<bool>,
    pub auto_retry_on_review_reject: Option<bool>,
    pub escalation_includes_diff: Option<bool>,
    /// Characters of the summary, 80 to 10,000.
    pub feedback_max_length: Option<usize>,
}

impl Control {
    /// The retry policy: nothing but the number of iterations and what is not retried ends the loop.
    fn policy(&self, check: &Check) -> Result<LoopPolicy, InvalidCheck> {
        let default = LoopPolicy::default();
        let feedback_max_length = self
            .feedback_max_length
            .unwrap_or(default.feedback_max_length);
        if !FEEDBACK_LENGTH.contains(&feedback_max_length) {
            return Err(InvalidCheck::FeedbackLength(feedback_max_length));
        }
        let max = check
            .max_iterations
            .or(self.max_iterations)
            .unwrap_or(default.max_attempts);
        if !MAX_ITERATIONS.contains(&max) {
            return Err(InvalidCheck::Max(max));
        }
        Ok(LoopPolicy {
            max_attempts: max,
            total_failures: max,
            same_error: u32::MAX,
            abort_on_regression: false,
            auto_retry_on_test_fail: self.auto_retry_on_test_fail.unwrap_or(true),
            auto_retry_on_review_reject: self.auto_retry_on_review_reject.unwrap_or(true),
            escalation_includes_diff: self.escalation_includes_diff.unwrap_or(true),
            feedback_max_length,
            ..default
        })
    }
}

/// Where a task stands after one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub task_id: String,
    /// Counts from 1.
    pub current_iteration: u32,
    /// Goes before the flow's own; 3 where neither says.
    pub max_iterations: Option<u32>,
    pub test_result: TestResult,
    pub review_result: ReviewResult,
    /// The iterations before this one, oldest first; the last of them is the one right before.
    #[serde(default)]
    pub previous_attempts: Vec<EarlierAttempt>,
    /// The change in question, shown by an escalation.
    #[serde(default)]
    pub diff: String,
}

/// An iteration that ended before this one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlierAttempt {
    pub test_result: TestResult,
    #[serde(default)]
    pub review_result: ReviewResult,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestResult {
    pub status: TestStatus,
    #[serde(default)]
    pub output: String,
}

/// How the tests of an iteration ended.
pub type TestStatus = VerificationResult;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewResult {
    pub status: ReviewStatus,
    #[serde(default)]
    pub feedback: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    Approve,
    Reject,
    #[default]
    Pending,
}

/// What the caller read in one test output: an item per failure, and the two sides of the first that has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputReading {
    pub items: Vec<FeedbackLine>,
    pub sides: Option<AssertedSides>,
}

/// What a failing assertion expected, and what it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssertedSides {
    /// The test, where the output names it.
    pub name: Option<String>,
    pub expected: String,
    pub actual: String,
}

/// A check whose numbers cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCheck {
    #[error("iteration_check.max_iterations is {0}; it must be between 1 and 10")]
    Max(u32),
    #[error("iteration_check.current_iteration is 0; iterations count from 1")]
    Current,
    #[error(
        "iteration_check.previous_attempts has {0} attempts; before iteration {1} there were {2}"
    )]
    Previous(usize, u32, u32),
    #[error("iteration_control.feedback_max_length is {0}; it must be between 80 and 10000")]
    FeedbackLength(usize),
}

/// The decision about one iteration, and what its answer is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct IterationDecision<'a> {
    pub word: DecisionWord,
    pub check: &'a Check,
    pub policy: LoopPolicy,
    pub now: &'a OutputReading,
    /// Of each of `previous_attempts`.
    pub earlier: &'a [OutputReading],
    /// None where no failure is known.
    pub pattern: Option<Recurrence<'a>>,
}

/// What the attempts have in common, by a failure of this iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Recurrence<'a> {
    /// It is in so many attempts in a row.
    Repeats {
        item: &'a FeedbackLine,
        attempts: u32,
    },
    /// It was gone in the attempt before.
    IsBack { item: &'a FeedbackLine },
    /// Its place failed in each earlier attempt, each time in another way.
    SamePlace { item: &'a FeedbackLine },
    /// Nothing of the kind; `first` is the first failure of this iteration.
    None { first: &'a FeedbackLine },
}

/// Decides one iteration, from what was read in its test output and of those before it, in their order.
///
/// # Errors
/// When a number cannot be ([`InvalidCheck`]).
pub fn decide<'a>(
    request: &'a Request,
    now: &'a OutputReading,
    earlier: &'a [OutputReading],
) -> Result<IterationDecision<'a>, InvalidCheck> {
    let check = &request.iteration_check;
    let policy = request.iteration_control.policy(check)?;
    let given = check.previous_attempts.len();
    let current = check.current_iteration;
    let before = current.checked_sub(1).ok_or(InvalidCheck::Current)?;
    if given > before as usize {
        return Err(InvalidCheck::Previous(given, current, before));
    }
    // Whatever an earlier iteration lacked, it did not pass.
    let numbers = (1..current).skip((before as usize).saturating_sub(earlier.len()));
    let fails = |(number, reading)| attempt(number, reading, VerificationResult::Fail);
    let mut attempts: Vec<AttemptDigest> = numbers.zip(earlier).map(fails).collect();
    let mut last = attempt(current, now, check.test_result.status);
    if check.review_result.status == ReviewStatus::Reject {
        // The document names no reviewer.
        let (by, by_id, at) = (Login::default(), UserId::default(), Timestamp::default());
        last.rejections.push(Rejection {
            by,
            by_id,
            of: RejectedIn::Review,
            at,
        });
    }
    attempts.push(last);
    let judgement = retry::judge(&attempts, &[], &policy);
    let causes = cause::of_attempts(&attempts, &[], &judgement, &policy);
    let ends = [Trigger::TotalFailures, Trigger::MaxAttemptsReached];
    let word = match (check.test_result.status, check.review_result.status) {
        (TestStatus::Pass, ReviewStatus::Approve) => DecisionWord::Proceed,
        // Also at the limit: a missing review is no reason to call a person.
        (TestStatus::Pass, ReviewStatus::Pending) => DecisionWord::Wait,
        _ if ends.iter().any(|end| causes.contains_key(end)) => DecisionWord::Escalate,
        _ => DecisionWord::Retry,
    };
    let is_circular = causes.contains_key(&Trigger::CircularFailure);
    let pattern = pattern(&judgement, is_circular, &attempts, now, earlier);
    Ok(IterationDecision {
        word,
        check,
        policy,
        now,
        earlier,
        pattern,
    })
}

/// An iteration as an attempt of its own code, which failed by nothing but these failures.
fn attempt(number: u32, reading: &OutputReading, result: VerificationResult) -> AttemptDigest {
    AttemptDigest {
        number,
        tree_hash: number.to_string(),
        result,
        fingerprints: reading.items.iter().map(fingerprint).collect(),
        ..AttemptDigest::default()
    }
}

/// The identity of an item, with the values that its id leaves out: they show here whether anything moved.
fn fingerprint(item: &FeedbackLine) -> Fingerprint {
    let id = item
        .id
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let digest = Sha256::digest(format!("{id}\n{}", item.problem));
    Fingerprint::from_bytes(digest[..8].try_into().unwrap_or_default())
}

fn pattern<'a>(
    judgement: &Judgement,
    is_circular: bool,
    attempts: &[AttemptDigest],
    now: &'a OutputReading,
    earlier: &[OutputReading],
) -> Option<Recurrence<'a>> {
    let first = now.items.first()?;
    let is_in = |attempt: &AttemptDigest, item: &FeedbackLine| {
        attempt.fingerprints.contains(&fingerprint(item))
    };
    if judgement.same_error > 1 {
        let repeated = attempts.iter().rev().take(judgement.same_error as usize);
        let item = now
            .items
            .iter()
            .find(|item| repeated.clone().all(|attempt| is_in(attempt, item)))?;
        return Some(Recurrence::Repeats {
            item,
            attempts: judgement.same_error,
        });
    }
    let older = attempts.split_last().map_or(&[][..], |(_, older)| older);
    if is_circular
        && let Some(item) = now
            .items
            .iter()
            .find(|item| older.iter().any(|attempt| is_in(attempt, item)))
    {
        return Some(Recurrence::IsBack { item });
    }
    let at_one_place = |attempt: &OutputReading| {
        attempt
            .items
            .iter()
            .any(|other| other.location == first.location)
    };
    let is_one_place =
        !first.location.is_empty() && !earlier.is_empty() && earlier.iter().all(at_one_place);
    Some(if is_one_place {
        Recurrence::SamePlace { item: first }
    } else {
        Recurrence::None { first }
    })
}

/// The lines of a review that rejects, each with its severity, the most severe first.
pub fn review_items(check: &Check) -> Vec<(Priority, &str)> {
    if check.review_result.status != ReviewStatus::Reject {
        return Vec::new();
    }
    let lines = check
        .review_result
        .feedback
        .lines()
        .map(|line| line.trim().trim_start_matches(['-', '*', ' ']));
    let mut items: Vec<_> = lines
        .filter(|line| !line.is_empty())
        .map(|line| (severity(line), line))
        .collect();
    items.sort_by_key(|(priority, _)| *priority);
    items
}

/// The severity that a reviewer wrote before an item: `blocking: …`, `[minor] …`, `suggestion (non-blocking): …`.
fn severity(item: &str) -> Priority {
    const HIGH: [&str; 9] = [
        "blocker", "blocking", "bug", "critical", "high", "major", "must", "security", "severe",
    ];
    const LOW: [&str; 9] = [
        "low",
        "minor",
        "nit",
        "nitpick",
        "non-blocking",
        "optional",
        "style",
        "suggestion",
        "typo",
    ];
    let label = match item.strip_prefix(['[', '(']) {
        Some(rest) => rest.split([']', ')']).next(),
        None => item
            .split_once(':')
            .map(|(label, _)| label)
            .filter(|label| label.len() <= 40),
    };
    let label = label.unwrap_or_default().to_lowercase();
    let has_any = |words: &[&str]| {
        label
            .split(|c: char| !c.is_alphanumeric() && c != '-')
            .any(|word| words.contains(&word))
    };
    if has_any(&LOW) {
        Priority::Low
    } else if has_any(&HIGH) {
        Priority::High
    } else {
        Priority::Medium
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(iteration: u32, test: TestStatus, review: ReviewStatus) -> Request {
        Request {
            iteration_check: Check {
                task_id: "task-003".to_owned(),
                current_iteration: iteration,
                max_iterations: None,
                test_result: TestResult {
                    status: test,
                    output: "1 failed".to_owned(),
                },
                review_result: ReviewResult {
                    status: review,
                    feedback: "- name the limit".to_owned(),
                },
                previous_attempts: Vec::new(),
                diff: String::new(),
            },
            iteration_control: Control::default(),
        }
    }

    fn word(request: &Request) -> DecisionWord {
        decide(request, &OutputReading::default(), &[])
            .unwrap()
            .word
    }

    #[test]
    fn every_combination_below_and_at_the_limit() {
        use DecisionWord as D;
        use ReviewStatus::{Approve, Pending, Reject};
        use VerificationResult::{Fail, Pass};
        for (test, review, below, at) in [
            (Pass, Approve, D::Proceed, D::Proceed),
            (Pass, Pending, D::Wait, D::Wait),
            (Pass, Reject, D::Retry, D::Escalate),
            (Fail, Approve, D::Retry, D::Escalate),
            (Fail, Pending, D::Retry, D::Escalate),
            (Fail, Reject, D::Retry, D::Escalate),
        ] {
            for (iteration, expected) in [(1, below), (2, below), (3, at), (4, at)] {
                let got = word(&request(iteration, test, review));
                assert_eq!(got, expected, "{test:?} {review:?} {iteration}");
            }
        }
    }

    #[test]
    fn a_check_s_own_limit_goes_before_the_flow_s() {
        let mut request = request(4, TestStatus::Fail, ReviewStatus::Pending);
        request.iteration_control.max_iterations = Some(6);
        assert_eq!(word(&request), DecisionWord::Retry);
        request.iteration_check.max_iterations = Some(4);
        assert_eq!(word(&request), DecisionWord::Escalate);
    }

    #[test]
    fn without_automatic_retry_a_failure_escalates_at_once() {
        let word = |test, review| {
            let mut request = request(1, test, review);
            request.iteration_control.auto_retry_on_test_fail = Some(false);
            word(&request)
        };
        assert_eq!(
            word(TestStatus::Fail, ReviewStatus::Pending),
            DecisionWord::Escalate
        );
        assert_eq!(
            word(TestStatus::Pass, ReviewStatus::Reject),
            DecisionWord::Retry
        );
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut Request)| {
            let mut request = request(1, TestStatus::Pass, ReviewStatus::Approve);
            change(&mut request);
            decide(&request, &OutputReading::default(), &[]).unwrap_err()
        };
        assert_eq!(
            refused(|it| it.iteration_check.current_iteration = 0),
            InvalidCheck::Current
        );
        assert_eq!(
            refused(|it| it.iteration_check.max_iterations = Some(11)),
            InvalidCheck::Max(11)
        );
        assert_eq!(
            refused(|it| it.iteration_control.max_iterations = Some(0)),
            InvalidCheck::Max(0)
        );
        assert_eq!(
            refused(|it| it.iteration_control.feedback_max_length = Some(79)),
            InvalidCheck::FeedbackLength(79)
        );
        let one_before_the_first = |it: &mut Request| {
            let test_result = it.iteration_check.test_result.clone();
            let attempt = EarlierAttempt {
                test_result,
                review_result: ReviewResult::default(),
            };
            it.iteration_check.previous_attempts = vec![attempt];
        };
        assert_eq!(
            refused(one_before_the_first),
            InvalidCheck::Previous(1, 1, 0)
        );
    }
}
