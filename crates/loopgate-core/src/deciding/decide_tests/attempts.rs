//! What a decision does with a head: its evidence, its attempt, what is shown of it.

use super::*;
use crate::{deciding::View, evidence::SourceLocation};

#[test]
fn an_opened_pull_request_waits_for_its_evidence() {
    let mut story = Story::opened();
    let decision = story.decide();
    let missing = ["build", "unit"].map(|name| name.parse().unwrap()).into();
    assert_eq!(decision.action, NextAction::WaitForEvidence { missing });
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::InProgress));
    assert!(matches!(decision.events[0].event, Event::RunStarted(_)));
    assert_eq!(shown_label(&story), ["loop:verifying"]);
    assert!(
        story.state.attempts.counted.is_empty(),
        "nothing was attempted yet"
    );
}

#[test]
fn a_failing_head_is_retried_and_the_same_error_escalates_at_the_third_attempt() {
    let mut story = Story::opened();
    for (head, word) in [
        (1, DecisionWord::Retry),
        (2, DecisionWord::Retry),
        (3, DecisionWord::Escalate),
    ] {
        assert_eq!(
            story.push(head, &["rounds"], &[]).word(),
            word,
            "head {head}"
        );
    }
    let blocked = story.state.people.blocked.clone().unwrap();
    assert_eq!((blocked.trigger, blocked.attempt), (Trigger::SameError, 3));
    assert_eq!(blocked.also, [Trigger::MaxAttemptsReached]);
    assert_eq!(story.state.run.status, RunStatus::Escalated);
    assert_eq!(
        story.state.run.stop.reason,
        Some(StopReason::IterationLimit)
    );
    assert_eq!(
        story.last.as_ref().unwrap().surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::ActionRequired))
    );
    assert!(
        story.last.as_ref().unwrap().view.distance.is_some(),
        "mandatory at the limit"
    );
    assert_eq!(shown_label(&story), ["loop:blocked"]);

    // Looking again makes no second call.
    let posts = escalations(&story);
    let again = story.decide();
    assert_eq!(
        again.action,
        NextAction::WaitForHuman {
            cause: Trigger::SameError
        }
    );
    assert!(again.events.is_empty());
    assert_eq!(escalations(&story), posts);
}

#[test]
fn a_contradiction_between_two_sources_is_asked_about() {
    let asked = |message: &str| {
        let mut story = Story::opened();
        for head in 1..=3 {
            story.push(head, &["rounds"], &[]);
            for received in &mut story.snapshot.evidence {
                let ReceivedEvidence::Accepted(document) = received else {
                    continue;
                };
                let failures = document
                    .checks
                    .iter_mut()
                    .flat_map(|check| &mut check.failures);
                failures.for_each(|failure| {
                    *failure = Failure {
                        error_message: message.to_owned(),
                        expected: None,
                        actual: None,
                        ..failure.clone()
                    };
                });
            }
            story.decide();
        }
        story.last.unwrap().view.escalation.unwrap().question
    };
    let sided = asked("assertion `left == right` failed\n  left: 10\n right: 3");
    let [test, expected, actual] = ["rounds", "3", "10"].map(str::to_owned);
    assert_eq!(
        sided,
        Question::WhichSide {
            test,
            expected,
            actual,
            since: Disagreement::Attempts(3)
        }
    );
    let open = Question::OfRun {
        attempts: 3,
        about: Trigger::SameError,
    };
    assert_eq!(asked("connection pool is empty"), open);
}

#[test]
fn no_secret_of_a_message_is_saved() {
    let mut story = Story::opened();
    story.set_head(1);
    story.decide();
    let mut received = evidence(sha(1), &["rounds"], &[]);
    let ReceivedEvidence::Accepted(document) = &mut received else {
        panic!("accepted")
    };
    for failure in document
        .checks
        .iter_mut()
        .flat_map(|check| &mut check.failures)
    {
        failure.error_message = "401 for token ghp_0123456789abcdefABCDEFGHIJKLMNOPQRST".to_owned();
        failure.expected = None;
    }
    story.snapshot.evidence = vec![received];
    story.decide();
    let saved = serde_json::to_string(&story.state).unwrap();
    assert!(
        saved.contains("401 for token") && !saved.contains("ghp_0123"),
        "{saved}"
    );
}

#[test]
fn breaking_another_test_is_a_regression() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &["parses"]);
    let decision = story.push(2, &["parses"], &["rounds"]);
    assert_eq!(
        decision.action,
        NextAction::Escalate {
            cause: Trigger::RegressionDetected
        }
    );
    let escalation = decision.view.escalation.as_ref().unwrap();
    assert_eq!(
        escalation.cause,
        Some(Cause::RegressionDetected {
            tests: vec!["parses".to_owned()]
        })
    );
    assert_eq!(
        decision
            .view
            .compare
            .as_ref()
            .unwrap()
            .fixed
            .iter()
            .collect::<Vec<_>>(),
        ["rounds"]
    );
}

#[test]
fn a_passing_push_lifts_a_block_and_ships() {
    let mut story = Story::opened();
    for head in 1..=3 {
        story.push(head, &["rounds"], &[]);
    }
    let decision = story.push(4, &[], &["rounds"]);
    assert_eq!(decision.action, NextAction::WaitForMerge);
    assert_eq!(decision.view.stage, Stage::Ship);
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Success))
    );
    assert_eq!(story.state.run.status, RunStatus::Passed);
    assert!(story.state.people.blocked.is_none());
    assert_eq!(
        story
            .state
            .attempts
            .failures
            .history
            .iter()
            .filter(|record| record.resolved_at.is_none())
            .count(),
        0
    );

    story.snapshot.pull_request.lifecycle = Lifecycle::Merged {
        by: Some(login("bob")),
        at: None,
    };
    assert_eq!(story.decide().action, NextAction::Complete);
    assert_eq!(
        (story.state.run.status, story.state.run.stage),
        (RunStatus::Completed, Stage::Complete)
    );
    assert!(story.state.run.bypassed.is_empty());
    let events = story.decide().events.len();
    assert_eq!(events, 0, "completing happens once");
}

#[test]
fn evidence_that_never_comes_calls_a_person_and_costs_no_attempt() {
    let mut story = Story::opened();
    story.decide();
    assert_eq!(
        story.last.as_ref().unwrap().revisit_at,
        Some(start() + TimeDelta::minutes(61))
    );
    story.now += TimeDelta::minutes(90);
    let cause = Trigger::NoReport;
    assert_eq!(story.decide().action, NextAction::Escalate { cause });
    assert!(story.state.attempts.counted.is_empty());
}

#[test]
fn a_running_workflow_is_waited_for_even_if_one_matrix_job_passed() {
    let mut story = Story::opened();
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    story.snapshot.workflow_runs = vec![WorkflowRun {
        id: crate::WorkflowRunId::new(5),
        path: ".github/workflows/ci.yml".to_owned(),
        attempt: 1,
        progress: CheckProgress::InProgress,
        url: None,
        started_at: None,
        jobs: Vec::new(),
    }];
    assert!(matches!(
        story.decide().action,
        NextAction::WaitForEvidence { .. }
    ));
}

#[test]
fn evidence_of_another_head_is_no_evidence() {
    let mut story = Story::opened();
    story.snapshot.evidence = vec![evidence(sha(9), &[], &["rounds"])];
    assert!(matches!(
        story.decide().action,
        NextAction::WaitForEvidence { .. }
    ));
}

#[test]
fn a_rerun_of_the_same_head_replaces_its_attempt() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    assert_eq!(
        story.push(1, &[], &["rounds"]).action,
        NextAction::WaitForMerge
    );
    assert_eq!(story.state.attempts.counted.len(), 1);
    assert_eq!(story.state.attempts.failures.total, 0);
}

#[test]
fn a_test_that_flips_on_one_head_is_flaky_and_costs_nothing() {
    // Failed, then passed.
    let mut story = Story::opened();
    story.push(1, &["rounds"], &["parses"]);
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds", "parses"])];
    let decision = story.decide();
    assert_eq!(decision.action, NextAction::WaitForMerge);
    assert_eq!(
        decision
            .view
            .compare
            .as_ref()
            .unwrap()
            .flaky
            .iter()
            .collect::<Vec<_>>(),
        ["rounds"]
    );
    assert_eq!(
        (
            story.state.attempts.counted.len(),
            story.state.attempts.failures.total
        ),
        (1, 0)
    );

    // Then failed again: known to be flaky, it says nothing of the code.
    story.snapshot.evidence = vec![evidence(sha(1), &["rounds"], &["parses"])];
    for _ in 0..2 {
        assert!(matches!(
            story.decide().action,
            NextAction::WaitForEvidence { .. }
        ));
        assert_eq!(
            (
                story.state.attempts.counted.len(),
                story.state.attempts.failures.total
            ),
            (1, 0)
        );
    }
    // On another head it has to show again that it is.
    assert_eq!(
        story.push(2, &["rounds"], &["parses"]).action,
        NextAction::Escalate {
            cause: Trigger::RegressionDetected
        }
    );
}

#[test]
fn tests_that_are_only_shown_hold_nothing() {
    let mut story = Story::opened();
    story.policy.retry.execution_gate.require_passing_tests = false;
    assert_eq!(
        story.push(1, &["rounds"], &["parses"]).action,
        NextAction::WaitForMerge
    );
    let ReceivedEvidence::Accepted(evidence) = &mut story.snapshot.evidence[0] else {
        panic!("accepted")
    };
    evidence.checks[1].outcome = Outcome::NoTestsExecuted;
    assert_eq!(
        story.decide().action,
        NextAction::Retry { attempt: 1 },
        "they must have been executed"
    );
}

/// An analyzer's advice replaces the rules' own in what people read, where it says what to do, and nothing else.
#[test]
fn an_analyzer_advises_and_decides_nothing() {
    let advised = |fix: &str, category: &str| {
        let mut story = Story::opened();
        story.set_head(2);
        let mut received = evidence(sha(2), &["adds"], &["subtracts"]);
        if let ReceivedEvidence::Accepted(document) = &mut received
            && let Some(failure) = document
                .checks
                .iter_mut()
                .find_map(|check| check.failures.first_mut())
        {
            let told = serde_json::json!({
                "root_cause": "The sum is counted twice.", "category": category, "fix_strategy": fix, "confidence": 1.0,
            });
            failure.analysis = Some(serde_json::from_value(told).unwrap());
        }
        story.snapshot.evidence = vec![received];
        story.decide().clone()
    };
    let plain = advised("", "logic_error");
    let told = advised("Add each price once.", "environment");
    let FeedbackFact::Failure(line) = &told.view.feedback[0] else {
        panic!("{:?}", told.view.feedback)
    };
    assert_eq!(
        (&*line.problem, &*line.action),
        ("The sum is counted twice.", "Add each price once.")
    );
    assert_eq!(
        (told.action, told.next.attempts.counted),
        (plain.action, plain.next.attempts.counted),
        "not even by its category"
    );
    let vague = advised("Maybe consider the loop.", "logic_error");
    assert_eq!(
        vague.view.feedback, plain.view.feedback,
        "vague advice is no advice"
    );
}

#[test]
fn failures_in_one_line_keep_their_own_words_and_one_cause_is_told_once() {
    let told = |messages: &[(&str, &str)]| {
        let mut story = Story::opened();
        story.set_head(1);
        story.decide();
        let mut received = evidence(sha(1), &["a"], &[]);
        if let ReceivedEvidence::Accepted(document) = &mut received
            && let Some(check) = document.checks.last_mut()
        {
            let source = Some(SourceLocation {
                file: "src/lib.rs".into(),
                line: Some(1),
                function: Some("f".into()),
            });
            let each = messages.iter().map(|(test, message)| Failure {
                test_name: Some((*test).to_owned()),
                error_message: (*message).to_owned(),
                source: source.clone(),
                ..Failure::default()
            });
            check.failures = each.collect();
        }
        story.snapshot.evidence = vec![received];
        story.decide().clone().view
    };
    let apart = told(&[
        ("a", "TypeError: x is not a function"),
        ("b", "Error: Cannot find module 'zod'"),
    ]);
    let words = |view: &View| {
        view.failures
            .iter()
            .map(|failure| failure.feedback.clone())
            .collect::<Vec<_>>()
    };
    let [first, second] = &words(&apart)[..] else {
        panic!("{:?}", apart.failures)
    };
    assert_eq!(first.location, second.location);
    assert!(
        first.id != second.id && first.problem != second.problem,
        "{first:?} {second:?}"
    );
    assert!(
        !first.problem.contains("zod") && second.problem.contains("zod"),
        "{first:?} {second:?}"
    );
    assert_eq!(apart.feedback.len(), 2);
    let together = told(&[
        ("a", "TypeError: x is not a function"),
        ("b", "TypeError: x is not a function"),
    ]);
    assert_eq!(together.failures[0].cause, together.failures[1].cause);
    assert_eq!(
        together.feedback,
        [FeedbackFact::Failure(words(&together)[0].clone())]
    );
}
