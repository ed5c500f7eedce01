//! Iteration control as a contract of its own: one check in, one decision out (`loopgate decide`; decisions.md, I).
//!
//! It is for programs that keep their own state: tests and review decide between proceed, retry, escalate and wait.

use serde::{Deserialize, Serialize};

use crate::{
    deciding::DecisionWord,
    failure::FeedbackLine,
    policy::{AutoRetry, LoopPolicy},
};

/// Smallest and largest `max_iterations`.
pub const MAX_ITERATIONS: std::ops::RangeInclusive<u32> = 1..=10;

/// The document a caller writes: `iteration_check: …`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub iteration_check: Check,
}

/// Where a task stands after one iteration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    pub task_id: String,
    /// Counts from 1.
    pub current_iteration: u32,
    #[serde(default = "default_max")]
    pub max_iterations: u32,
    pub test_result: TestResult,
    pub review_result: ReviewResult,
}

const fn default_max() -> u32 {
    3
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestResult {
    pub status: TestStatus,
    #[serde(default)]
    pub output: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestStatus {
    Pass,
    Fail,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewResult {
    pub status: ReviewStatus,
    #[serde(default)]
    pub feedback: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    Approve,
    Reject,
    Pending,
}

/// The document a caller reads: `decision: …`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Response {
    pub decision: IterationDecision,
}

/// One of the four decisions, with the fields of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum IterationDecision {
    Proceed { task_id: String, message: String },
    Retry { task_id: String, iteration: u32, feedback: Feedback },
    Escalate { task_id: String, iteration: u32, context: Context, question: String },
    Wait { task_id: String, message: String },
}

impl IterationDecision {
    pub const fn word(&self) -> DecisionWord {
        match self {
            Self::Proceed { .. } => DecisionWord::Proceed,
            Self::Retry { .. } => DecisionWord::Retry,
            Self::Escalate { .. } => DecisionWord::Escalate,
            Self::Wait { .. } => DecisionWord::Wait,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feedback {
    pub summary: String,
    pub actionable_items: Vec<String>,
    pub priority: Priority,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    High,
    Medium,
    Low,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Context {
    /// One line per attempt.
    pub attempts_summary: String,
    pub pattern_detected: String,
}

/// What the caller understood of the test output: one item per failure, and the two sides of the first that has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Understood {
    pub items: Vec<FeedbackLine>,
    pub sides: Option<Sides>,
}

/// What a failing assertion expected, and what it got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
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
}

/// Decides one iteration.
///
/// # Errors
/// When `max_iterations` is not 1–10 or `current_iteration` is 0.
pub fn decide(check: &Check, understood: &Understood, policy: &LoopPolicy) -> Result<Response, InvalidCheck> {
    if !MAX_ITERATIONS.contains(&check.max_iterations) {
        return Err(InvalidCheck::Max(check.max_iterations));
    }
    if check.current_iteration == 0 {
        return Err(InvalidCheck::Current);
    }
    let task_id = check.task_id.clone();
    let decision = match (check.test_result.status, check.review_result.status) {
        (TestStatus::Pass, ReviewStatus::Approve) => {
            IterationDecision::Proceed { task_id, message: "Validation passed. Proceeding to next task.".to_owned() }
        }
        // Also at the limit: nobody is called because a reviewer has not looked yet.
        (TestStatus::Pass, ReviewStatus::Pending) => {
            IterationDecision::Wait { task_id, message: "Tests pass. Waiting for the required review.".to_owned() }
        }
        (TestStatus::Fail, _) | (TestStatus::Pass, ReviewStatus::Reject) => {
            let automatic = match check.test_result.status {
                TestStatus::Fail => policy.test_fail,
                TestStatus::Pass => policy.review_reject,
            };
            if check.current_iteration >= check.max_iterations || automatic == AutoRetry::Escalate {
                escalate(check, understood)
            } else {
                retry(check, understood, policy.feedback_max_length)
            }
        }
    };
    Ok(Response { decision })
}

fn retry(check: &Check, understood: &Understood, max_length: usize) -> IterationDecision {
    let actionable_items = actionable(check, understood);
    let summary = match (check.test_result.status, actionable_items.len()) {
        (TestStatus::Fail, 0) => "The tests fail.".to_owned(),
        (TestStatus::Fail, _) => {
            format!("The tests fail: {}", actionable_items.first().map(String::as_str).unwrap_or_default())
        }
        (TestStatus::Pass, _) => format!("The review asks for changes: {}", first_line(&check.review_result.feedback)),
    };
    IterationDecision::Retry {
        task_id: check.task_id.clone(),
        iteration: check.current_iteration + 1,
        feedback: Feedback {
            summary: crate::failure::cut_at_sentence(&summary, max_length),
            priority: match (check.test_result.status, understood.items.is_empty()) {
                (TestStatus::Fail, _) => Priority::High,
                (TestStatus::Pass, _) => Priority::Medium,
            },
            actionable_items,
        },
    }
}

/// Test failures first, then the items of a rejected review.
fn actionable(check: &Check, understood: &Understood) -> Vec<String> {
    let mut items: Vec<String> = match check.test_result.status {
        TestStatus::Pass => Vec::new(),
        TestStatus::Fail if understood.items.is_empty() => {
            let last = check.test_result.output.lines().rev().find(|line| !line.trim().is_empty());
            let seen = last.map(|line| format!(" Its output ends with: {}", first_line(line))).unwrap_or_default();
            vec![format!("Run the tests and make them pass.{seen}")]
        }
        TestStatus::Fail => {
            understood.items.iter().map(|item| format!("{} {} ({})", told(item), item.action, item.reason)).collect()
        }
    };
    if check.review_result.status == ReviewStatus::Reject {
        let lines = check.review_result.feedback.lines().map(|line| line.trim().trim_start_matches(['-', '*', ' ']));
        items.extend(lines.filter(|line| !line.is_empty()).map(|line| format!("Review: {line}")));
    }
    items
}

fn escalate(check: &Check, understood: &Understood) -> IterationDecision {
    let now = match check.test_result.status {
        TestStatus::Fail => match understood.items.first() {
            Some(item) => format!("tests fail — {}", told(item)),
            None => "tests fail".to_owned(),
        },
        TestStatus::Pass => format!("review rejects — {}", first_line(&check.review_result.feedback)),
    };
    // The caller may give any number: the last ten iterations have a line each, and the earlier ones share one.
    let listed = check.current_iteration.saturating_sub(*MAX_ITERATIONS.end()).max(1);
    let unlisted = (listed > 1).then(|| format!("Iterations 1 to {listed}: did not pass"));
    let from = if listed > 1 { listed + 1 } else { 1 };
    let earlier = (from..check.current_iteration).map(|iteration| format!("Iteration {iteration}: did not pass"));
    let last = format!("Iteration {}: {now}", check.current_iteration);
    let lines: Vec<String> = unlisted.into_iter().chain(earlier).chain([last]).collect();
    let attempts = match check.current_iteration {
        1 => "After 1 attempt".to_owned(),
        more => format!("After {more} attempts"),
    };
    let (text, options) = match (&understood.sides, check.test_result.status) {
        (Some(Sides { name, expected, actual }), TestStatus::Fail) => (
            format!(
                "{attempts} {} still disagrees with the code. Which side is right?",
                name.as_deref().unwrap_or("the test")
            ),
            vec![
                format!("The test, which expects {expected}: change the code."),
                format!("The code, which gives {actual}: change the test."),
            ],
        ),
        (None, TestStatus::Fail) => (
            format!("{attempts} the tests still fail. Which way should this go?"),
            vec!["Try again with a hint from you.".to_owned(), "Take the task over by hand.".to_owned()],
        ),
        (_, TestStatus::Pass) => (
            format!("{attempts} the review still asks for changes. Which side gives way?"),
            vec!["The implementation: say what it must do.".to_owned(), "The review: accept it as it is.".to_owned()],
        ),
    };
    let numbered = (1..).zip(&options).map(|(number, option)| format!("\n{number}. {option}"));
    IterationDecision::Escalate {
        task_id: check.task_id.clone(),
        iteration: check.current_iteration,
        context: Context {
            attempts_summary: lines.join("\n"),
            pattern_detected: match understood.items.first() {
                Some(item) => told(item),
                None => "none".to_owned(),
            },
        },
        question: text + &numbered.collect::<String>(),
    }
}

/// Where, if that is known, and what.
fn told(item: &FeedbackLine) -> String {
    match item.location.as_str() {
        "" => item.problem.clone(),
        place => format!("{place}: {}", item.problem),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(iteration: u32, test: TestStatus, review: ReviewStatus) -> Check {
        Check {
            task_id: "task-003".to_owned(),
            current_iteration: iteration,
            max_iterations: 3,
            test_result: TestResult { status: test, output: "1 failed".to_owned() },
            review_result: ReviewResult { status: review, feedback: "- name the limit".to_owned() },
        }
    }

    #[test]
    fn every_combination_below_and_at_the_limit() {
        use DecisionWord as D;
        use ReviewStatus::{Approve, Pending, Reject};
        use TestStatus::{Fail, Pass};
        for (test, review, below, at) in [
            (Pass, Approve, D::Proceed, D::Proceed),
            (Pass, Pending, D::Wait, D::Wait),
            (Pass, Reject, D::Retry, D::Escalate),
            (Fail, Approve, D::Retry, D::Escalate),
            (Fail, Pending, D::Retry, D::Escalate),
            (Fail, Reject, D::Retry, D::Escalate),
        ] {
            for (iteration, expected) in [(1, below), (2, below), (3, at), (4, at)] {
                let got = decide(&check(iteration, test, review), &Understood::default(), &LoopPolicy::default());
                assert_eq!(got.unwrap().decision.word(), expected, "{test:?} {review:?} {iteration}");
            }
        }
    }

    #[test]
    fn without_automatic_retry_a_failure_escalates_at_once() {
        let policy = LoopPolicy { test_fail: AutoRetry::Escalate, ..LoopPolicy::default() };
        let decided =
            |test, review| decide(&check(1, test, review), &Understood::default(), &policy).unwrap().decision.word();
        assert_eq!(decided(TestStatus::Fail, ReviewStatus::Pending), DecisionWord::Escalate);
        assert_eq!(decided(TestStatus::Pass, ReviewStatus::Reject), DecisionWord::Retry);
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let mut wrong = check(0, TestStatus::Pass, ReviewStatus::Approve);
        let decided = |check: &Check| decide(check, &Understood::default(), &LoopPolicy::default());
        assert_eq!(decided(&wrong), Err(InvalidCheck::Current));
        wrong.max_iterations = 11;
        assert_eq!(decided(&wrong), Err(InvalidCheck::Max(11)));
    }

    #[test]
    fn an_escalation_stays_short_whatever_the_number() {
        let summary = |iteration| {
            let check = check(iteration, TestStatus::Fail, ReviewStatus::Pending);
            match decide(&check, &Understood::default(), &LoopPolicy::default()).unwrap().decision {
                IterationDecision::Escalate { context, .. } => context.attempts_summary,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(summary(10).lines().count(), 10);
        assert!(summary(11).starts_with("Iteration 1: did not pass\nIteration 2: "), "{}", summary(11));
        let most = summary(u32::MAX);
        assert!(most.starts_with("Iterations 1 to 4294967285: did not pass\nIteration 4294967286: "), "{most}");
        assert_eq!(most.lines().count(), 11);
    }

    #[test]
    fn an_escalation_asks_which_side_is_right() {
        let sides = Sides { name: Some("rounds".to_owned()), expected: "3".to_owned(), actual: "2".to_owned() };
        let understood = Understood { items: Vec::new(), sides: Some(sides) };
        let response = decide(&check(3, TestStatus::Fail, ReviewStatus::Pending), &understood, &LoopPolicy::default());
        insta::assert_snapshot!(serde_yaml::to_string(&response.unwrap()).unwrap(), @r"
        decision:
          action: escalate
          task_id: task-003
          iteration: 3
          context:
            attempts_summary: |-
              Iteration 1: did not pass
              Iteration 2: did not pass
              Iteration 3: tests fail
            pattern_detected: none
          question: |-
            After 3 attempts rounds still disagrees with the code. Which side is right?
            1. The test, which expects 3: change the code.
            2. The code, which gives 2: change the test.
        ");
    }
}
