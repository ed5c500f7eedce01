//! The answer of `loopgate decide`: one decision about one iteration, as the document that its caller reads.

use super::messages::entry;
use loopgate_core::{
    deciding::{
        DecisionWord,
        iteration::{
            AssertedSides, IterationDecision, MAX_ITERATIONS, OutputReading, Recurrence,
            ReviewResult, ReviewStatus, TestResult, TestStatus, review_items,
        },
    },
    failure::{FeedbackLine, Priority, cut_at_sentence},
    text::first_line,
};
use minijinja::context;
use serde_json::{Value, json};

use super::messages;

/// Bytes of the diff that an escalation shows.
const MAX_DIFF: usize = 4_000;
/// Characters of a line that is quoted.
const LINE: usize = 200;

/// The answer to one check: `decision: …`, one of four, each with the fields of its kind.
pub fn iteration_answer(decided: &IterationDecision<'_>) -> Value {
    let (task_id, iteration) = (&decided.check.task_id, decided.check.current_iteration);
    let mut decision = json!({ "action": decided.word, "task_id": task_id });
    match decided.word {
        DecisionWord::Proceed => {
            decision["message"] = json!("Validation passed. Proceeding to next task.")
        }
        DecisionWord::Wait => {
            decision["message"] = json!("Tests pass. Waiting for the required review.")
        }
        DecisionWord::Retry => {
            decision["iteration"] = json!(iteration + 1);
            decision["feedback"] = feedback(decided);
        }
        DecisionWord::Escalate => {
            decision["iteration"] = json!(iteration);
            // A line for each attempt, what they have in common, and the change.
            decision["context"] = json!({ "attempts_summary": attempts_summary(decided), "pattern_detected": pattern(decided) });
            if let Some(diff) = diff(decided) {
                decision["context"]["diff"] = json!(diff);
            }
            decision["question"] = json!(question(decided));
        }
    }
    json!({ "decision": decision })
}

fn sentence(name: entry::Iteration, beside: minijinja::Value) -> String {
    messages::plain(name, beside)
}

fn feedback(decided: &IterationDecision<'_>) -> Value {
    let (items, review) = (&decided.now.items, review_items(decided.check));
    let (mut actionable_items, summary, priority) = match decided.check.test_result.status {
        TestStatus::Fail => {
            let (first, more) = (items.first().map(problem), items.len().saturating_sub(1));
            (
                to_do(decided),
                sentence(entry::Iteration::TestsFail, context! { first, more }),
                Priority::High,
            )
        }
        TestStatus::Pass => {
            let (priority, first) = review.first().copied().unwrap_or((Priority::Medium, ""));
            (
                Vec::new(),
                format!("The review asks for changes: {first}"),
                priority,
            )
        }
    };
    actionable_items.extend(review.iter().map(|(_, text)| format!("Review: {text}")));
    let summary = cut_at_sentence(&summary, decided.policy.feedback_max_length);
    json!({ "summary": summary, "actionable_items": actionable_items, "priority": priority })
}

/// What to do about each failure of the tests; where none is known, about the tests.
fn to_do(decided: &IterationDecision<'_>) -> Vec<String> {
    let item = |item: &FeedbackLine| match item.action.as_str() {
        "" => problem(item),
        action => format!("{} {action} ({})", problem(item), item.reason),
    };
    if decided.now.items.is_empty() {
        let last = decided
            .check
            .test_result
            .output
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty());
        return vec![sentence(
            entry::Iteration::RunTests,
            context! { last => last.map(|line| first_line(line, LINE)) },
        )];
    }
    decided.now.items.iter().map(item).collect()
}

fn question(decided: &IterationDecision<'_>) -> String {
    let attempts = decided.check.current_iteration;
    match (&decided.now.sides, decided.check.test_result.status) {
        (
            Some(AssertedSides {
                name,
                expected,
                actual,
            }),
            TestStatus::Fail,
        ) => {
            let name = name.as_deref().unwrap_or("the test");
            sentence(
                entry::Iteration::WhichSide,
                context! { attempts, name, expected, actual },
            )
        }
        (None, TestStatus::Fail) => sentence(entry::Iteration::WhichWay, context! { attempts }),
        (_, TestStatus::Pass) => sentence(entry::Iteration::WhoGivesWay, context! { attempts }),
    }
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
        let known =
            given.and_then(|at| check.previous_attempts.get(at).zip(decided.earlier.get(at)));
        let end = known.map_or("did not pass".to_owned(), |(attempt, understood)| {
            end_of(&attempt.test_result, &attempt.review_result, understood)
        });
        format!("Iteration {iteration}: {end}")
    });
    let last = format!(
        "Iteration {current}: {}",
        end_of(&check.test_result, &check.review_result, decided.now)
    );
    unlisted
        .into_iter()
        .chain(before)
        .chain([last])
        .collect::<Vec<_>>()
        .join("\n")
}

fn end_of(test: &TestResult, review: &ReviewResult, understood: &OutputReading) -> String {
    match (test.status, review.status, understood.items.first()) {
        (TestStatus::Fail, _, None) => "tests fail".to_owned(),
        (TestStatus::Fail, _, Some(first)) => format!("tests fail — {}", problem(first)),
        (TestStatus::Pass, ReviewStatus::Reject, _) => {
            format!("review rejects — {}", first_line(&review.feedback, LINE))
        }
        (TestStatus::Pass, ReviewStatus::Approve | ReviewStatus::Pending, _) => {
            "tests pass".to_owned()
        }
    }
}

fn pattern(decided: &IterationDecision<'_>) -> String {
    match decided.pattern {
        None => "none".to_owned(),
        Some(Recurrence::Repeats { item, attempts }) => {
            format!(
                "The same failure in {attempts} attempts in a row: {}",
                problem(item)
            )
        }
        Some(Recurrence::IsBack { item }) => {
            format!("A failure that was gone is back: {}", problem(item))
        }
        Some(Recurrence::SamePlace { item }) => {
            let firsts = decided
                .earlier
                .iter()
                .filter_map(|attempt| attempt.items.first());
            let others: Vec<&str> = firsts.map(|first| first.problem.as_str()).collect();
            format!(
                "{} fails each time otherwise: {} Now: {}",
                item.location,
                others.join(" "),
                item.problem
            )
        }
        Some(Recurrence::None { first }) => problem(first),
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
    if !decided.policy.escalation_includes_diff || diff.trim().is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use loopgate_core::deciding::iteration::{self, Request};

    /// The answer to a check with these fields after the iteration's number.
    fn answer(iteration: u32, fields: Value, control: Value) -> Value {
        let mut check = json!({
            "task_id": "task-003", "current_iteration": iteration,
            "test_result": { "status": "fail", "output": "1 failed" }, "review_result": { "status": "pending" },
        });
        let fields = fields.as_object().cloned().unwrap_or_default();
        check.as_object_mut().unwrap().extend(fields);
        let request = json!({ "iteration_check": check, "iteration_control": control });
        let request: Request = serde_json::from_value(request).unwrap();
        iteration_answer(&iteration::decide(&request, &OutputReading::default(), &[]).unwrap())["decision"].take()
    }

    #[test]
    fn an_escalation_stays_short_whatever_the_number() {
        let summary = |iteration| {
            let answer = answer(iteration, json!({}), json!({}));
            assert_eq!(answer["action"], "escalate");
            answer["context"]["attempts_summary"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(summary(10).lines().count(), 10);
        assert!(
            summary(11).starts_with("Iteration 1: did not pass\nIteration 2: "),
            "{}",
            summary(11)
        );
        let most = summary(u32::MAX);
        assert!(
            most.starts_with("Iterations 1 to 4294967285: did not pass\nIteration 4294967286: "),
            "{most}"
        );
        assert_eq!(most.lines().count(), 11);
    }

    #[test]
    fn the_most_severe_item_of_a_review_comes_first() {
        let feedback = "- nit: a shorter name\n- name the limit\n- suggestion (non-blocking): inline it\n\
                        - issue (blocking): SQL injection in find()\n- [minor] a blank line\n- see https://critical.example/x";
        let fields = json!({
            "test_result": { "status": "pass" }, "review_result": { "status": "reject", "feedback": feedback },
        });
        let answer = answer(1, fields, json!({}));
        let feedback = &answer["feedback"];
        assert_eq!(
            (&answer["action"], &answer["iteration"]),
            (&json!("retry"), &json!(2))
        );
        assert_eq!(feedback["priority"], "high");
        assert_eq!(
            feedback["summary"],
            "The review asks for changes: issue (blocking): SQL injection in find()"
        );
        let items = json!([
            "Review: issue (blocking): SQL injection in find()",
            "Review: name the limit",
            "Review: see https://critical.example/x",
            "Review: nit: a shorter name",
            "Review: suggestion (non-blocking): inline it",
            "Review: [minor] a blank line",
        ]);
        assert_eq!(feedback["actionable_items"], items);
    }

    #[test]
    fn a_diff_is_shown_unless_the_flow_says_otherwise() {
        let shown = |control| {
            let answer = answer(3, json!({ "diff": "+ a line\n".repeat(1_000) }), control);
            answer["context"]
                .get("diff")
                .map(|diff| diff.as_str().unwrap().to_owned())
        };
        let diff = shown(json!({})).unwrap();
        assert!(
            diff.len() < MAX_DIFF + 30 && diff.ends_with("+ a line\n… 556 more lines"),
            "{diff}"
        );
        assert_eq!(shown(json!({ "escalation_includes_diff": false })), None);
    }
}
