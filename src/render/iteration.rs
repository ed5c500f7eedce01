//! The answer of `loopgate decide`: one decision about one iteration, as the document that its caller reads.

use loopgate_core::{
    deciding::{
        DecisionWord,
        iteration::{
            IterationDecision, MAX_ITERATIONS, Pattern, ReviewResult, ReviewStatus, Sides, TestResult, TestStatus,
            Understood, review_items,
        },
    },
    failure::{FeedbackLine, Priority, cut_at_sentence},
    policy::EscalationDiff,
};
use serde::Serialize;

/// Bytes of the diff that an escalation shows.
const MAX_DIFF: usize = 4_000;

/// `decision: …`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IterationAnswer {
    decision: Action,
}

/// One of the four decisions, with the fields of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "snake_case")]
enum Action {
    Proceed { task_id: String, message: &'static str },
    Retry { task_id: String, iteration: u32, feedback: Feedback },
    Escalate { task_id: String, iteration: u32, context: Context, question: String },
    Wait { task_id: String, message: &'static str },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Feedback {
    summary: String,
    actionable_items: Vec<String>,
    priority: Priority,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Context {
    /// One line per attempt.
    attempts_summary: String,
    /// What the attempts have in common.
    pattern_detected: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

/// The answer to one check.
pub fn iteration_answer(decided: &IterationDecision<'_>) -> IterationAnswer {
    let (task_id, iteration) = (decided.check.task_id.clone(), decided.check.current_iteration);
    IterationAnswer {
        decision: match decided.word {
            DecisionWord::Proceed => {
                Action::Proceed { task_id, message: "Validation passed. Proceeding to next task." }
            }
            DecisionWord::Wait => Action::Wait { task_id, message: "Tests pass. Waiting for the required review." },
            DecisionWord::Retry => Action::Retry { task_id, iteration: iteration + 1, feedback: feedback(decided) },
            DecisionWord::Escalate => {
                let context = Context {
                    attempts_summary: attempts_summary(decided),
                    pattern_detected: pattern(decided),
                    diff: diff(decided),
                };
                Action::Escalate { task_id, iteration, context, question: question(decided) }
            }
        },
    }
}

fn feedback(decided: &IterationDecision<'_>) -> Feedback {
    let items = &decided.now.items;
    let review = review_items(decided.check);
    let (summary, priority) = match (decided.check.test_result.status, items.as_slice()) {
        (TestStatus::Fail, []) => ("The tests fail.".to_owned(), Priority::High),
        (TestStatus::Fail, [one]) => (format!("The tests fail: {}", problem(one)), Priority::High),
        (TestStatus::Fail, [first, rest @ ..]) => {
            (format!("The tests fail: {} And {} more.", problem(first), rest.len()), Priority::High)
        }
        (TestStatus::Pass, _) => (
            format!("The review asks for changes: {}", review.first().map(|(_, text)| *text).unwrap_or_default()),
            review.first().map_or(Priority::Medium, |(priority, _)| *priority),
        ),
    };
    let mut actionable_items = match decided.check.test_result.status {
        TestStatus::Pass => Vec::new(),
        TestStatus::Fail if items.is_empty() => {
            let last = decided.check.test_result.output.lines().rev().find(|line| !line.trim().is_empty());
            let ending = last.map(|line| format!(" Its output ends with: {}", first_line(line))).unwrap_or_default();
            vec![format!("Run the tests and make them pass.{ending}")]
        }
        TestStatus::Fail => items
            .iter()
            .map(|item| match item.action.as_str() {
                "" => problem(item),
                action => format!("{} {action} ({})", problem(item), item.reason),
            })
            .collect(),
    };
    actionable_items.extend(review.iter().map(|(_, text)| format!("Review: {text}")));
    let summary = cut_at_sentence(&summary, decided.policy.feedback_max_length);
    Feedback { summary, actionable_items, priority }
}

fn question(decided: &IterationDecision<'_>) -> String {
    let attempts = match decided.check.current_iteration {
        1 => "After 1 attempt".to_owned(),
        more => format!("After {more} attempts"),
    };
    let (text, options) = match (&decided.now.sides, decided.check.test_result.status) {
        (Some(Sides { name, expected, actual }), TestStatus::Fail) => (
            format!(
                "{attempts} {} still disagrees with the code. Which side is right?",
                name.as_deref().unwrap_or("the test")
            ),
            [
                format!("The test, which expects {expected}: change the code."),
                format!("The code, which gives {actual}: change the test."),
            ],
        ),
        (None, TestStatus::Fail) => (
            format!("{attempts} the tests still fail. Which way should this go?"),
            ["Try again with a hint from you.".to_owned(), "Take the task over by hand.".to_owned()],
        ),
        (_, TestStatus::Pass) => (
            format!("{attempts} the review still asks for changes. Which side gives way?"),
            ["The implementation: say what it must do.".to_owned(), "The review: accept it as it is.".to_owned()],
        ),
    };
    let numbered = (1..).zip(&options).map(|(number, option)| format!("\n{number}. {option}"));
    text + &numbered.collect::<String>()
}

/// A line for each attempt. The caller may give any number: the last ten have a line each, and the earlier ones share
/// one.
fn attempts_summary(decided: &IterationDecision<'_>) -> String {
    let (check, current) = (decided.check, decided.check.current_iteration);
    let listed = current.saturating_sub(*MAX_ITERATIONS.end()).max(1);
    let unlisted = (listed > 1).then(|| format!("Iterations 1 to {listed}: did not pass"));
    let from = if listed > 1 { listed + 1 } else { 1 };
    let before = (from..current).map(|iteration| {
        // The last attempt that was given is the one right before this.
        let back = (current - iteration) as usize;
        let given = check.previous_attempts.len().checked_sub(back);
        let known = given.and_then(|at| check.previous_attempts.get(at).zip(decided.earlier.get(at)));
        let end = known.map_or("did not pass".to_owned(), |(attempt, understood)| {
            end_of(&attempt.test_result, &attempt.review_result, understood)
        });
        format!("Iteration {iteration}: {end}")
    });
    let last = format!("Iteration {current}: {}", end_of(&check.test_result, &check.review_result, decided.now));
    unlisted.into_iter().chain(before).chain([last]).collect::<Vec<_>>().join("\n")
}

fn end_of(test: &TestResult, review: &ReviewResult, understood: &Understood) -> String {
    match (test.status, review.status, understood.items.first()) {
        (TestStatus::Fail, _, None) => "tests fail".to_owned(),
        (TestStatus::Fail, _, Some(first)) => format!("tests fail — {}", problem(first)),
        (TestStatus::Pass, ReviewStatus::Reject, _) => format!("review rejects — {}", first_line(&review.feedback)),
        (TestStatus::Pass, ReviewStatus::Approve | ReviewStatus::Pending, _) => "tests pass".to_owned(),
    }
}

fn pattern(decided: &IterationDecision<'_>) -> String {
    match decided.pattern {
        None => "none".to_owned(),
        Some(Pattern::Repeats { item, attempts }) => {
            format!("The same failure in {attempts} attempts in a row: {}", problem(item))
        }
        Some(Pattern::IsBack { item }) => format!("A failure that was gone is back: {}", problem(item)),
        Some(Pattern::SamePlace { item }) => {
            let firsts = decided.earlier.iter().filter_map(|attempt| attempt.items.first());
            let others: Vec<&str> = firsts.map(|first| first.problem.as_str()).collect();
            format!("{} fails each time otherwise: {} Now: {}", item.location, others.join(" "), item.problem)
        }
        Some(Pattern::None { first }) => problem(first),
    }
}

/// Where, if that is known, and what.
fn problem(item: &FeedbackLine) -> String {
    match item.location.as_str() {
        "" => item.problem.clone(),
        place => format!("{place}: {}", item.problem),
    }
}

/// The first lines of the diff, and how many are left out.
fn diff(decided: &IterationDecision<'_>) -> Option<String> {
    let diff = &decided.check.diff;
    if decided.policy.escalation_diff == EscalationDiff::Omit || diff.trim().is_empty() {
        return None;
    }
    let mut length = 0;
    let fits = |line: &&str| {
        length += line.len() + 1;
        length <= MAX_DIFF
    };
    let kept: Vec<&str> = diff.lines().take_while(fits).collect();
    Some(match diff.lines().count() - kept.len() {
        0 => kept.join("\n"),
        cut => format!("{}\n… {cut} more lines", kept.join("\n")),
    })
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::deciding::iteration::{self, Request};

    /// The answer to a check with these fields after the iteration's number.
    fn answer(iteration: u32, fields: serde_json::Value, control: serde_json::Value) -> Action {
        let mut check = serde_json::json!({
            "task_id": "task-003", "current_iteration": iteration,
            "test_result": { "status": "fail", "output": "1 failed" }, "review_result": { "status": "pending" },
        });
        let fields = fields.as_object().cloned().unwrap_or_default();
        check.as_object_mut().unwrap().extend(fields);
        let request = serde_json::json!({ "iteration_check": check, "iteration_control": control });
        let request: Request = serde_json::from_value(request).unwrap();
        iteration_answer(&iteration::decide(&request, &Understood::default(), &[]).unwrap()).decision
    }

    #[test]
    fn an_escalation_stays_short_whatever_the_number() {
        let summary = |iteration| match answer(iteration, serde_json::json!({}), serde_json::json!({})) {
            Action::Escalate { context, .. } => context.attempts_summary,
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
        let fields = serde_json::json!({
            "test_result": { "status": "pass" }, "review_result": { "status": "reject", "feedback": feedback },
        });
        let Action::Retry { feedback, .. } = answer(1, fields, serde_json::json!({})) else { panic!() };
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
        let shown = |control| match answer(3, serde_json::json!({ "diff": "+ a line\n".repeat(1_000) }), control) {
            Action::Escalate { context, .. } => context.diff,
            other => panic!("{other:?}"),
        };
        let diff = shown(serde_json::json!({})).unwrap();
        assert!(diff.len() < MAX_DIFF + 30 && diff.ends_with("+ a line\n… 556 more lines"), "{diff}");
        assert_eq!(shown(serde_json::json!({ "escalation_includes_diff": false })), None);
    }
}
