//! Iteration control as a contract of its own: one check in, one decision out (`loopgate decide`).
//!
//! It is for programs that keep their own state: tests and review decide between proceed, retry, escalate and wait.

use serde::{Deserialize, Serialize};

use crate::{
    deciding::DecisionWord,
    failure::{FeedbackLine, Priority},
    policy::{AutoRetry, EscalationDiff, LoopPolicy},
};

/// Smallest and largest `max_iterations`.
pub const MAX_ITERATIONS: std::ops::RangeInclusive<u32> = 1..=10;

/// Smallest and largest `feedback_max_length`.
const FEEDBACK_LENGTH: std::ops::RangeInclusive<usize> = 80..=10_000;

/// Bytes of the diff that an escalation shows.
const MAX_DIFF: usize = 4_000;

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
    fn policy(&self) -> Result<LoopPolicy, InvalidCheck> {
        let default = LoopPolicy::default();
        let feedback_max_length = self.feedback_max_length.unwrap_or(default.feedback_max_length);
        if !FEEDBACK_LENGTH.contains(&feedback_max_length) {
            return Err(InvalidCheck::FeedbackLength(feedback_max_length));
        }
        let automatic = |set| if set == Some(false) { AutoRetry::Escalate } else { AutoRetry::Retry };
        Ok(LoopPolicy {
            test_fail: automatic(self.auto_retry_on_test_fail),
            review_reject: automatic(self.auto_retry_on_review_reject),
            escalation_diff: match self.escalation_includes_diff {
                Some(false) => EscalationDiff::Omit,
                Some(true) | None => EscalationDiff::Include,
            },
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestStatus {
    Pass,
    Fail,
}

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Context {
    /// One line per attempt.
    pub attempts_summary: String,
    /// What the attempts have in common.
    pub pattern_detected: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// What the caller understood of one test output: an item per failure, and the two sides of the first that has them.
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
    #[error("iteration_check.previous_attempts has {0} attempts; before iteration {1} there were {2}")]
    Previous(usize, u32, u32),
    #[error("iteration_control.feedback_max_length is {0}; it must be between 80 and 10000")]
    FeedbackLength(usize),
}

/// Decides one iteration, from what was understood of its test output and of those before it, in their order.
///
/// # Errors
/// When a number cannot be ([`InvalidCheck`]).
pub fn decide(request: &Request, understood: &Understood, earlier: &[Understood]) -> Result<Response, InvalidCheck> {
    let (check, policy) = (&request.iteration_check, request.iteration_control.policy()?);
    let max = check.max_iterations.or(request.iteration_control.max_iterations).unwrap_or(policy.max_attempts);
    if !MAX_ITERATIONS.contains(&max) {
        return Err(InvalidCheck::Max(max));
    }
    let (given, current) = (check.previous_attempts.len(), check.current_iteration);
    let before = current.checked_sub(1).ok_or(InvalidCheck::Current)?;
    if given > before as usize {
        return Err(InvalidCheck::Previous(given, current, before));
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
            if current >= max || automatic == AutoRetry::Escalate {
                escalate(check, understood, earlier, policy.escalation_diff)
            } else {
                retry(check, understood, policy.feedback_max_length)
            }
        }
    };
    Ok(Response { decision })
}

fn retry(check: &Check, understood: &Understood, max_length: usize) -> IterationDecision {
    let review = review_items(check);
    let (summary, priority) = match check.test_result.status {
        TestStatus::Fail => (tests_fail(understood), Priority::High),
        TestStatus::Pass => (
            format!("The review asks for changes: {}", review.first().map(|item| item.text).unwrap_or_default()),
            review.first().map_or(Priority::Medium, |item| item.priority),
        ),
    };
    let mut actionable_items = test_items(check, understood);
    actionable_items.extend(review.iter().map(|item| format!("Review: {}", item.text)));
    IterationDecision::Retry {
        task_id: check.task_id.clone(),
        iteration: check.current_iteration + 1,
        feedback: Feedback {
            summary: crate::failure::cut_at_sentence(&summary, max_length),
            actionable_items,
            priority,
        },
    }
}

/// The first failure, and how many more there are.
fn tests_fail(understood: &Understood) -> String {
    match understood.items.as_slice() {
        [] => "The tests fail.".to_owned(),
        [one] => format!("The tests fail: {}", told(one)),
        [first, rest @ ..] => format!("The tests fail: {} And {} more.", told(first), rest.len()),
    }
}

fn test_items(check: &Check, understood: &Understood) -> Vec<String> {
    match check.test_result.status {
        TestStatus::Pass => Vec::new(),
        TestStatus::Fail if understood.items.is_empty() => {
            let last = check.test_result.output.lines().rev().find(|line| !line.trim().is_empty());
            let seen = last.map(|line| format!(" Its output ends with: {}", first_line(line))).unwrap_or_default();
            vec![format!("Run the tests and make them pass.{seen}")]
        }
        TestStatus::Fail => {
            understood.items.iter().map(|item| format!("{} {} ({})", told(item), item.action, item.reason)).collect()
        }
    }
}

struct ReviewItem<'a> {
    text: &'a str,
    priority: Priority,
}

/// The items of a review that rejects, the most severe first.
fn review_items(check: &Check) -> Vec<ReviewItem<'_>> {
    if check.review_result.status != ReviewStatus::Reject {
        return Vec::new();
    }
    let lines = check.review_result.feedback.lines().map(|line| line.trim().trim_start_matches(['-', '*', ' ']));
    let mut items: Vec<_> =
        lines.filter(|line| !line.is_empty()).map(|text| ReviewItem { text, priority: severity(text) }).collect();
    items.sort_by_key(|item| item.priority);
    items
}

/// The severity that a reviewer wrote before an item: `blocking: …`, `[minor] …`, `suggestion (non-blocking): …`.
fn severity(item: &str) -> Priority {
    const HIGH: [&str; 9] = ["blocker", "blocking", "bug", "critical", "high", "major", "must", "security", "severe"];
    const LOW: [&str; 9] =
        ["low", "minor", "nit", "nitpick", "non-blocking", "optional", "style", "suggestion", "typo"];
    let label = match item.strip_prefix(['[', '(']) {
        Some(rest) => rest.split([']', ')']).next(),
        None => item.split_once(':').map(|(label, _)| label).filter(|label| label.len() <= 40),
    };
    let label = label.unwrap_or_default().to_lowercase();
    let says =
        |words: &[&str]| label.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| words.contains(&word));
    match () {
        () if says(&LOW) => Priority::Low,
        () if says(&HIGH) => Priority::High,
        () => Priority::Medium,
    }
}

fn escalate(check: &Check, now: &Understood, earlier: &[Understood], diff: EscalationDiff) -> IterationDecision {
    let current = check.current_iteration;
    let attempts = match current {
        1 => "After 1 attempt".to_owned(),
        more => format!("After {more} attempts"),
    };
    let (text, options) = match (&now.sides, check.test_result.status) {
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
    let shown = diff == EscalationDiff::Include && !check.diff.trim().is_empty();
    IterationDecision::Escalate {
        task_id: check.task_id.clone(),
        iteration: current,
        context: Context {
            attempts_summary: attempts_summary(check, now, earlier),
            pattern_detected: pattern(now, earlier),
            diff: shown.then(|| cut_at_line(&check.diff)),
        },
        question: text + &numbered.collect::<String>(),
    }
}

/// A line for each attempt. The caller may give any number: the last ten have a line each, and the earlier ones share
/// one.
fn attempts_summary(check: &Check, now: &Understood, earlier: &[Understood]) -> String {
    let current = check.current_iteration;
    let ended = |test: &TestResult, review: &ReviewResult, understood: &Understood| match (test.status, review.status) {
        (TestStatus::Fail, _) if understood.items.is_empty() => "tests fail".to_owned(),
        (TestStatus::Fail, _) => format!("tests fail — {}", understood.items.first().map(told).unwrap_or_default()),
        (TestStatus::Pass, ReviewStatus::Reject) => format!("review rejects — {}", first_line(&review.feedback)),
        (TestStatus::Pass, ReviewStatus::Approve | ReviewStatus::Pending) => "tests pass".to_owned(),
    };
    let listed = current.saturating_sub(*MAX_ITERATIONS.end()).max(1);
    let unlisted = (listed > 1).then(|| format!("Iterations 1 to {listed}: did not pass"));
    let from = if listed > 1 { listed + 1 } else { 1 };
    let before = (from..current).map(|iteration| {
        // The last attempt that was given is the one right before this.
        let back = (current - iteration) as usize;
        let given = check.previous_attempts.len().checked_sub(back);
        let told = given.and_then(|at| check.previous_attempts.get(at).zip(earlier.get(at)));
        let told = told.map_or("did not pass".to_owned(), |(attempt, understood)| {
            ended(&attempt.test_result, &attempt.review_result, understood)
        });
        format!("Iteration {iteration}: {told}")
    });
    let last = format!("Iteration {current}: {}", ended(&check.test_result, &check.review_result, now));
    unlisted.into_iter().chain(before).chain([last]).collect::<Vec<_>>().join("\n")
}

/// What the attempts have in common: the same failure in a row, one that was gone and is back, one place that fails
/// each time otherwise; else the first failure.
fn pattern(now: &Understood, earlier: &[Understood]) -> String {
    let Some(first) = now.items.first() else { return "none".to_owned() };
    // An id leaves out the values, which tell here whether anything moved.
    let is_same = |a: &FeedbackLine, b: &FeedbackLine| a.id == b.id && a.problem == b.problem;
    let has = |attempt: &Understood, item: &FeedbackLine| attempt.items.iter().any(|other| is_same(other, item));
    let in_a_row = |item: &FeedbackLine| 1 + earlier.iter().rev().take_while(|attempt| has(attempt, item)).count();
    if let Some(item) = now.items.iter().find(|item| in_a_row(item) > 1) {
        return format!("The same failure in {} attempts in a row: {}", in_a_row(item), told(item));
    }
    let back = now.items.iter().find(|item| earlier.iter().any(|attempt| has(attempt, item)));
    if let Some(item) = back {
        return format!("A failure that was gone is back: {}", told(item));
    }
    let at_one_place = |attempt: &Understood| attempt.items.iter().any(|other| other.location == first.location);
    if !first.location.is_empty() && !earlier.is_empty() && earlier.iter().all(at_one_place) {
        let others: Vec<&str> =
            earlier.iter().filter_map(|it| it.items.first()).map(|it| it.problem.as_str()).collect();
        return format!("{} fails each time otherwise: {} Now: {}", first.location, others.join(" "), first.problem);
    }
    told(first)
}

/// Where, if that is known, and what.
fn told(item: &FeedbackLine) -> String {
    match item.location.as_str() {
        "" => item.problem.clone(),
        place => format!("{place}: {}", item.problem),
    }
}

/// The first lines of a diff, and how many are left out.
fn cut_at_line(diff: &str) -> String {
    let mut length = 0;
    let fits = |line: &&str| {
        length += line.len() + 1;
        length <= MAX_DIFF
    };
    let kept: Vec<&str> = diff.lines().take_while(fits).collect();
    match diff.lines().count() - kept.len() {
        0 => kept.join("\n"),
        cut => format!("{}\n… {cut} more lines", kept.join("\n")),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
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
                test_result: TestResult { status: test, output: "1 failed".to_owned() },
                review_result: ReviewResult { status: review, feedback: "- name the limit".to_owned() },
                previous_attempts: Vec::new(),
                diff: String::new(),
            },
            iteration_control: Control::default(),
        }
    }

    fn decided(request: &Request) -> IterationDecision {
        decide(request, &Understood::default(), &[]).unwrap().decision
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
                let got = decided(&request(iteration, test, review)).word();
                assert_eq!(got, expected, "{test:?} {review:?} {iteration}");
            }
        }
    }

    #[test]
    fn a_check_s_own_limit_goes_before_the_flow_s() {
        let mut request = request(4, TestStatus::Fail, ReviewStatus::Pending);
        request.iteration_control.max_iterations = Some(6);
        assert_eq!(decided(&request).word(), DecisionWord::Retry);
        request.iteration_check.max_iterations = Some(4);
        assert_eq!(decided(&request).word(), DecisionWord::Escalate);
    }

    #[test]
    fn without_automatic_retry_a_failure_escalates_at_once() {
        let word = |test, review| {
            let mut request = request(1, test, review);
            request.iteration_control.auto_retry_on_test_fail = Some(false);
            decided(&request).word()
        };
        assert_eq!(word(TestStatus::Fail, ReviewStatus::Pending), DecisionWord::Escalate);
        assert_eq!(word(TestStatus::Pass, ReviewStatus::Reject), DecisionWord::Retry);
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut Request)| {
            let mut request = request(1, TestStatus::Pass, ReviewStatus::Approve);
            change(&mut request);
            decide(&request, &Understood::default(), &[]).unwrap_err()
        };
        assert_eq!(refused(|it| it.iteration_check.current_iteration = 0), InvalidCheck::Current);
        assert_eq!(refused(|it| it.iteration_check.max_iterations = Some(11)), InvalidCheck::Max(11));
        assert_eq!(refused(|it| it.iteration_control.max_iterations = Some(0)), InvalidCheck::Max(0));
        assert_eq!(refused(|it| it.iteration_control.feedback_max_length = Some(79)), InvalidCheck::FeedbackLength(79));
        let one_before_the_first = |it: &mut Request| {
            let test_result = it.iteration_check.test_result.clone();
            let attempt = EarlierAttempt { test_result, review_result: ReviewResult::default() };
            it.iteration_check.previous_attempts = vec![attempt];
        };
        assert_eq!(refused(one_before_the_first), InvalidCheck::Previous(1, 1, 0));
    }

    #[test]
    fn an_escalation_stays_short_whatever_the_number() {
        let summary = |iteration| match decided(&request(iteration, TestStatus::Fail, ReviewStatus::Pending)) {
            IterationDecision::Escalate { context, .. } => context.attempts_summary,
            other => panic!("{other:?}"),
        };
        assert_eq!(summary(10).lines().count(), 10);
        assert!(summary(11).starts_with("Iteration 1: did not pass\nIteration 2: "), "{}", summary(11));
        let most = summary(u32::MAX);
        assert!(most.starts_with("Iterations 1 to 4294967285: did not pass\nIteration 4294967286: "), "{most}");
        assert_eq!(most.lines().count(), 11);
    }

    #[test]
    fn the_most_severe_item_of_a_review_comes_first() {
        let feedback = "- nit: a shorter name\n- name the limit\n- suggestion (non-blocking): inline it\n\
                        - issue (blocking): SQL injection in find()\n- [minor] a blank line\n- see https://critical.example/x";
        let mut request = request(1, TestStatus::Pass, ReviewStatus::Reject);
        feedback.clone_into(&mut request.iteration_check.review_result.feedback);
        let IterationDecision::Retry { feedback, .. } = decided(&request) else { panic!() };
        assert_eq!(feedback.priority, Priority::High);
        assert_eq!(feedback.summary, "The review asks for changes: issue (blocking): SQL injection in find()");
        assert_eq!(
            feedback.actionable_items,
            [
                "Review: issue (blocking): SQL injection in find()",
                "Review: name the limit",
                "Review: see https://critical.example/x",
                "Review: nit: a shorter name",
                "Review: suggestion (non-blocking): inline it",
                "Review: [minor] a blank line",
            ]
        );
    }

    #[test]
    fn a_diff_is_shown_unless_the_flow_says_otherwise() {
        let mut request = request(3, TestStatus::Fail, ReviewStatus::Pending);
        request.iteration_check.diff = "+ a line\n".repeat(1_000);
        let shown = |request: &Request| match decided(request) {
            IterationDecision::Escalate { context, .. } => context.diff,
            other => panic!("{other:?}"),
        };
        let diff = shown(&request).unwrap();
        assert!(diff.len() < MAX_DIFF + 30 && diff.ends_with("+ a line\n… 556 more lines"), "{diff}");
        request.iteration_control.escalation_includes_diff = Some(false);
        assert_eq!(shown(&request), None);
    }
}
