//! Stories of one pull request, and the properties every story has.

use chrono::TimeDelta;
use proptest::prelude::*;

use super::decide;
use crate::core::fixtures::*;
use crate::core::{
    decision::{CheckRunPlan, DecisionWord, Hold, LabelWish, NextAction, Post},
    escalation::{EscalationAction, Trigger},
    evidence::{Failure, Outcome},
    hint::Hint,
    history::Event,
    policy::{AutoRetry, OnMax, PassingTests, Recipient, TriggerPolicy},
    snapshot::{
        ChangedFiles, CheckProgress, Conclusion, Lifecycle, NamedAccount, Readiness, ReceivedEvidence, ReviewVerdict,
        WorkflowRun,
    },
    stage::Stage,
    state::{LoopState, RunStatus, StopReason},
};

fn shown_label(story: &Story) -> Vec<&str> {
    let labels = &story.last.as_ref().unwrap().surface.labels;
    let shown =
        |(name, wish): (&'_ String, &LabelWish)| matches!(wish, LabelWish::Present { .. }) && name.starts_with("loop:");
    labels.iter().filter(|label| shown(*label)).map(|(name, _)| name.as_str()).collect()
}

fn escalations(story: &Story) -> Vec<Post> {
    let posts = &story.last.as_ref().unwrap().surface.posts;
    posts.iter().filter(|post| matches!(post, Post::Escalation { .. })).cloned().collect()
}

#[test]
fn an_opened_pull_request_waits_for_its_evidence() {
    let mut story = Story::opened();
    let decision = story.decide();
    let missing = ["build", "unit"].map(|name| name.parse().unwrap()).into();
    assert_eq!(decision.action, NextAction::WaitForEvidence { missing });
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::InProgress));
    assert_eq!(decision.events[0].event, Event::RunStarted);
    assert_eq!(shown_label(&story), ["loop:verifying"]);
    assert!(story.state.attempts.is_empty(), "nothing was attempted yet");
}

#[test]
fn a_failing_head_is_retried_and_the_same_error_escalates_at_the_third_attempt() {
    let mut story = Story::opened();
    for (head, word) in [(1, DecisionWord::Retry), (2, DecisionWord::Retry), (3, DecisionWord::Escalate)] {
        assert_eq!(story.push(head, &["rounds"], &[]).word(), word, "head {head}");
    }
    let blocked = story.state.blocked.clone().unwrap();
    assert_eq!((blocked.trigger, blocked.attempt), (Trigger::SameError, 3));
    assert_eq!(blocked.also, [Trigger::MaxAttemptsReached]);
    assert_eq!(story.state.status, RunStatus::Escalated);
    assert_eq!(story.state.stop.reason, Some(StopReason::IterationLimit));
    assert_eq!(story.last.as_ref().unwrap().surface.verify, Some(CheckRunPlan::Completed(Conclusion::ActionRequired)));
    assert!(story.last.as_ref().unwrap().view.distance.is_some(), "mandatory at the limit");
    assert_eq!(shown_label(&story), ["loop:blocked"]);

    // Looking again calls nobody again.
    let posts = escalations(&story);
    let again = story.decide();
    assert_eq!(again.action, NextAction::WaitForHuman { cause: Trigger::SameError });
    assert!(again.events.is_empty());
    assert_eq!(escalations(&story), posts);
}

#[test]
fn what_two_sides_say_is_asked_about_whoever_tells_them() {
    let asked = |message: &str| {
        let mut story = Story::opened();
        for head in 1..=3 {
            story.push(head, &["rounds"], &[]);
            for received in &mut story.snapshot.evidence {
                let ReceivedEvidence::Accepted(document) = received else { continue };
                let failures = document.checks.iter_mut().flat_map(|check| &mut check.failures);
                failures.for_each(|failure| {
                    *failure =
                        Failure { error_message: message.to_owned(), expected: None, actual: None, ..failure.clone() };
                });
            }
            story.decide();
        }
        story.last.unwrap().view.escalation.unwrap().question
    };
    let sided = asked("assertion `left == right` failed\n  left: 10\n right: 3");
    assert!(sided.text.ends_with("`rounds` disagrees with the code. Which side is right?"), "{}", sided.text);
    assert_eq!(sided.options[0], "The test: it expects `3`. Change the code.");
    assert_eq!(asked("connection pool is empty").text, "After 3 attempts, how should this go on?");
}

#[test]
fn breaking_another_test_is_a_regression() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &["parses"]);
    let decision = story.push(2, &["parses"], &["rounds"]);
    assert_eq!(decision.action, NextAction::Escalate { cause: Trigger::RegressionDetected });
    let escalation = decision.view.escalation.as_ref().unwrap();
    assert_eq!(escalation.pattern, "passed before and fails now: `parses`");
    assert_eq!(decision.view.compare.as_ref().unwrap().fixed.iter().collect::<Vec<_>>(), ["rounds"]);
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
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::Completed(Conclusion::Success)));
    assert_eq!(story.state.status, RunStatus::Passed);
    assert!(story.state.blocked.is_none());
    assert_eq!(story.state.failures.history.iter().filter(|record| record.resolved_at.is_none()).count(), 0);

    story.snapshot.pull_request.lifecycle = Lifecycle::Merged { by: Some(login("bob")), at: None };
    assert_eq!(story.decide().action, NextAction::Complete);
    assert_eq!((story.state.status, story.state.state), (RunStatus::Completed, Stage::Complete));
    assert!(story.state.bypassed.is_empty());
    let events = story.decide().events.len();
    assert_eq!(events, 0, "completing happens once");
}

#[test]
fn merging_over_a_failing_check_is_named_once() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    story.snapshot.pull_request.lifecycle = Lifecycle::Merged { by: Some(login("bob")), at: None };
    let decision = story.decide();
    assert_eq!(decision.next.bypassed, ["unit rule"]);
    assert!(decision.events.iter().any(|line| line.event == Event::MergedWithOpenGates));
    assert_eq!(decision.surface.posts, [Post::MergedOverOpenGates]);
    let again = story.decide();
    assert_eq!(again.surface.posts, [Post::MergedOverOpenGates], "found again by its marker, not posted again");
    assert!(again.events.is_empty());
}

#[test]
fn a_closed_pull_request_is_left_alone() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    story.snapshot.pull_request.lifecycle = Lifecycle::Closed;
    let decision = story.decide();
    assert_eq!(decision.action, NextAction::Stopped);
    assert_eq!(decision.surface, Default::default());
    assert_eq!(story.state.status, RunStatus::Stopped);
}

#[test]
fn evidence_that_never_comes_is_outside_trouble_and_costs_no_attempt() {
    let mut story = Story::opened();
    story.decide();
    assert_eq!(story.last.as_ref().unwrap().revisit_at, Some(start() + TimeDelta::minutes(61)));
    story.now += TimeDelta::minutes(90);
    let decision = story.decide();
    assert!(matches!(decision.action, NextAction::WaitForEvidence { .. }), "{:?}", decision.action);
    assert!(story.state.attempts.is_empty());
    story.now += TimeDelta::minutes(60);
    assert_eq!(story.decide().action, NextAction::Escalate { cause: Trigger::ExternalDependencyDown });
}

#[test]
fn a_running_workflow_is_waited_for_even_if_one_leg_passed() {
    let mut story = Story::opened();
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    story.snapshot.workflow_runs = vec![WorkflowRun {
        id: crate::core::WorkflowRunId::new(5),
        path: ".github/workflows/ci.yml".to_owned(),
        attempt: 1,
        progress: CheckProgress::InProgress,
        url: None,
        started_at: None,
    }];
    assert!(matches!(story.decide().action, NextAction::WaitForEvidence { .. }));
}

#[test]
fn evidence_of_another_head_is_no_evidence() {
    let mut story = Story::opened();
    story.snapshot.evidence = vec![evidence(sha(9), &[], &["rounds"])];
    assert!(matches!(story.decide().action, NextAction::WaitForEvidence { .. }));
}

#[test]
fn a_rerun_of_the_same_head_replaces_its_attempt() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    assert_eq!(story.push(1, &[], &["rounds"]).action, NextAction::WaitForMerge);
    assert_eq!(story.state.attempts.len(), 1);
    assert_eq!(story.state.failures.total, 0);
}

#[test]
fn capabilities_that_remain_hold_without_failing_anything() {
    let mut story = Story::opened();
    story.snapshot.pull_request.body = "## Capabilities\n- [x] up\n- [ ] down\n".to_owned();
    let decision = story.push(1, &[], &["rounds"]);
    assert_eq!(decision.action, NextAction::WaitForPush { capability: "down".to_owned() });
    assert_eq!(decision.view.stage, Stage::Implement);
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::InProgress));
}

#[test]
fn a_draft_waits_to_be_ready_with_green_verification() {
    let mut story = Story::opened();
    story.snapshot.pull_request.readiness = Readiness::Draft;
    let decision = story.push(1, &[], &["rounds"]);
    assert_eq!(decision.action, NextAction::WaitForReady);
    assert_eq!(decision.view.held_by, Some(Hold::Draft));
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::Completed(Conclusion::Success)));
}

#[test]
fn required_approvals_are_waited_for() {
    let mut story = Story::opened();
    story.snapshot.required_approvals = 1;
    assert_eq!(story.push(1, &[], &["rounds"]).action, NextAction::WaitForReview);
    assert_eq!(story.last.unwrap().view.held_by, Some(Hold::Review { have: 0, need: 1 }));
}

/// Where nothing but the gate is missing.
fn gated() -> Story {
    let mut story = Story::opened();
    story.policy.gates = [("design".parse().unwrap(), gate(Stage::Validate))].into();
    story.snapshot.authority.logins =
        [(2, "bob"), (3, "carol")].map(|(id, name)| (login(name), NamedAccount::Known(person(id, name)))).into();
    story
}

#[test]
fn a_rejected_gate_costs_one_attempt_until_the_rejecter_is_content() {
    let mut story = gated();
    story.push(1, &[], &["rounds"]);
    let decision = story.comment("bob", "/reject design Use the vault");
    assert_eq!(decision.action, NextAction::Retry { attempt: 1 });
    assert_eq!(decision.view.stage, Stage::Implement);
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::Completed(Conclusion::Success)), "the evidence is good");
    assert!(decision.view.feedback.iter().any(|item| item.problem == "Use the vault"), "{:?}", decision.view.feedback);
    assert_eq!((story.state.failures.count, story.state.failures.total), (1, 1));
    assert!(story.state.blocked.is_none(), "it is not blocked");

    // The same words cost no further attempt, whatever is pushed; new ones do.
    story.push(2, &[], &["rounds"]);
    assert_eq!(story.last.as_ref().unwrap().action, NextAction::Retry { attempt: 2 });
    assert_eq!((story.state.failures.count, story.state.failures.total), (0, 1));
    story.comment("bob", "/reject design Still not the vault");
    assert_eq!((story.state.failures.count, story.state.failures.total), (2, 2));
    assert_eq!(story.comment("bob", "/approve design").action, NextAction::WaitForMerge);
    assert_eq!(story.state.failures.total, 1, "taken back before the next push, it cost nothing");
}

#[test]
fn the_third_rejection_in_a_row_calls_a_human() {
    let mut story = gated();
    for head in 1..=3 {
        story.push(head, &[], &["rounds"]);
        story.comment("bob", &format!("/reject design no {head}"));
    }
    assert_eq!(story.last.as_ref().unwrap().action, NextAction::Escalate { cause: Trigger::SameError });
    let pattern = &story.last.as_ref().unwrap().view.escalation.as_ref().unwrap().pattern;
    assert!(pattern.contains("bob rejected the design gate"), "{pattern}");
}

#[test]
fn requested_changes_cost_an_attempt_and_escalate_at_once_where_they_are_not_retried() {
    let mut story = Story::opened();
    story.snapshot.required_approvals = 1;
    story.push(1, &[], &["rounds"]);
    assert_eq!(story.review(ReviewVerdict::ChangesRequested, "Name it").action, NextAction::Retry { attempt: 1 });
    assert_eq!(story.state.failures.count, 1);
    assert_eq!(story.review(ReviewVerdict::Approved, "").action, NextAction::WaitForMerge);

    let mut story = Story::opened();
    story.snapshot.required_approvals = 1;
    story.policy.retry.review_reject = AutoRetry::Escalate;
    story.push(1, &[], &["rounds"]);
    story.review(ReviewVerdict::ChangesRequested, "Name it");
    let decision = story.last.as_ref().unwrap();
    assert_eq!(decision.action, NextAction::Escalate { cause: Trigger::MaxAttemptsReached });
    assert_eq!(decision.view.escalation.as_ref().unwrap().pattern, "bob asked for changes");
}

#[test]
fn an_ended_run_is_not_rewritten() {
    let mut story = Story::opened();
    story.push(1, &[], &["rounds"]);
    story.snapshot.pull_request.lifecycle = Lifecycle::Merged { by: Some(login("bob")), at: None };
    story.decide();
    let ended = story.state.clone();
    story.snapshot.evidence = vec![evidence(sha(1), &["rounds"], &[])];
    story.snapshot.pull_request.title = "renamed".to_owned();
    let late = story.decide();
    assert!(late.events.is_empty() && late.attempt.is_none());
    assert_ne!(late.surface, Default::default(), "a turn cut short is made up for");
    story.now += TimeDelta::hours(1);
    assert_eq!(story.decide().surface, Default::default());
    assert_eq!(story.state, ended);

    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    story.snapshot.pull_request.lifecycle = Lifecycle::Closed;
    story.decide();
    let ended = story.state.clone();
    story.snapshot.pull_request.title = "renamed".to_owned();
    story.decide();
    assert_eq!(story.state, ended);
    story.snapshot.pull_request.lifecycle = Lifecycle::Open;
    assert_eq!(story.decide().action, NextAction::Retry { attempt: 1 }, "reopened, it goes on");
}

/// Takes a test away.
fn weaken(story: &mut Story) {
    let ChangedFiles::Complete(files) = &mut story.snapshot.files else { panic!("complete") };
    files[1].patch =
        Some("@@ -1,4 +1,1 @@\n-#[test]\n-fn rounds() {\n-    assert_eq!(round(0.5), 1.0);\n-}".to_owned());
}

#[test]
fn weakened_tests_call_a_human_and_only_somebody_else_accepts_them() {
    let mut story = Story::opened();
    weaken(&mut story);
    let decision = story.push(1, &[], &["parses"]);
    assert_eq!(decision.action, NextAction::WaitForHuman { cause: Trigger::Tampering });
    assert_eq!(decision.view.tampering.len(), 2, "{:?}", decision.view.tampering);
    let called = decision.view.escalation.as_ref().unwrap();
    assert!(called.pattern.starts_with("tests/round.rs has 1 test fewer (rounds)"), "{}", called.pattern);

    // A passing push does not lift it, nor a word without responsibility, nor the author's.
    assert_eq!(story.push(2, &[], &["parses"]).action, NextAction::WaitForHuman { cause: Trigger::Tampering });
    for (who, words) in [("bob", "/loop resume"), ("alice", "/loop resume --accept tampering")] {
        assert_eq!(story.comment(who, words).action, NextAction::WaitForHuman { cause: Trigger::Tampering }, "{who}");
    }
    let accepted = story.comment("bob", "/loop resume --accept tampering");
    assert_eq!(accepted.action, NextAction::WaitForMerge);
    assert_eq!(accepted.view.tampering.len(), 2, "it is still shown");
    assert_eq!(story.push(3, &[], &["parses"]).action, NextAction::WaitForMerge, "accepted is accepted");

    // Something else that is weakened was not accepted.
    let ChangedFiles::Complete(files) = &mut story.snapshot.files else { panic!("complete") };
    files[1].patch = Some("@@ -1,1 +1,2 @@\n+#[ignore]\n #[test]".to_owned());
    assert_eq!(story.decide().action, NextAction::Escalate { cause: Trigger::Tampering });
}

#[test]
fn what_was_put_back_needs_nobody_to_accept_it() {
    let mut story = Story::opened();
    weaken(&mut story);
    story.push(1, &[], &["parses"]);
    story.touch("tests/round.rs", "new");
    let passing = story.push(2, &[], &["rounds", "parses"]).action.clone();
    assert_eq!(passing, NextAction::WaitForHuman { cause: Trigger::Tampering }, "it takes a person's word");
    assert_eq!(story.comment("bob", "/loop resume").action, NextAction::WaitForMerge);
    assert!(story.state.accepted.is_empty());
}

#[test]
fn a_run_that_gave_up_is_taken_up_again() {
    let mut story = Story::opened();
    (story.policy.retry.on_max, story.policy.retry.same_error) = (OnMax::Fail, 9);
    for head in 1..=3 {
        story.push(head, &["rounds"], &[]);
    }
    assert_eq!(
        (story.state.status, story.last.as_ref().unwrap().action.clone()),
        (RunStatus::Failed, NextAction::Stopped)
    );
    assert_eq!(story.comment("carol", "/loop resume").action, NextAction::Stopped, "not by whoever may only read");
    assert_eq!(story.comment("bob", "/loop resume").action, NextAction::Retry { attempt: 3 });
    assert_eq!((story.state.status, story.state.failures.count), (RunStatus::InProgress, 0));
    assert_eq!(story.push(4, &["rounds"], &[]).action, NextAction::Retry { attempt: 4 });
    assert_eq!(story.state.failures.total, 4);
}

#[test]
fn what_is_only_flagged_is_shown_and_goes_on() {
    let mut story = Story::opened();
    let flag = TriggerPolicy { action: EscalationAction::FlagAndContinue, to: Vec::new() };
    story.policy.escalation.triggers = [(Trigger::Tampering, flag)].into();
    weaken(&mut story);
    let decision = story.push(1, &[], &["parses"]);
    assert_eq!(decision.action, NextAction::WaitForMerge);
    assert_eq!(decision.view.flags.keys().collect::<Vec<_>>(), [&Trigger::Tampering]);
    assert!(escalations(&story).is_empty());
}

#[test]
fn an_abort_calls_a_human_and_ends_the_run_as_aborted() {
    let mut story = Story::opened();
    let abort = TriggerPolicy { action: EscalationAction::AbortWithReport, to: Vec::new() };
    story.policy.escalation.triggers = [(Trigger::RegressionDetected, abort)].into();
    story.push(1, &["rounds"], &["parses"]);
    let decision = story.push(2, &["parses"], &["rounds"]);
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::Completed(Conclusion::Failure)));
    assert_eq!(decision.events.last().unwrap().event, Event::Failed);
    assert_eq!(story.state.status, RunStatus::Aborted);
    assert_eq!(escalations(&story).len(), 1);
}

#[test]
fn whom_a_cause_calls() {
    let named = |name: &str| Recipient::User(login(name));
    let called = |change: &dyn Fn(&mut Story)| {
        let mut story = Story::opened();
        story.snapshot.codeowners = Some("/src/ @dora @acme/core mail@example.com\n/tests/ @erik\n".to_owned());
        change(&mut story);
        story.push(1, &["rounds"], &["parses"]);
        story.push(2, &["parses"], &["rounds"]);
        let recipients = story.last.unwrap().view.escalation.unwrap().recipients;
        recipients.into_iter().collect::<Vec<_>>()
    };
    let owners = called(&|_| {});
    assert_eq!(owners, [named("dora"), named("erik"), Recipient::Team("acme/core".parse().unwrap())]);
    assert_eq!(called(&|story| story.policy.escalation.notify = vec![named("olga")]), [named("olga")]);
    let own = TriggerPolicy { action: EscalationAction::HumanReview, to: vec![named("tess")] };
    let triggers = [(Trigger::RegressionDetected, own)];
    assert_eq!(called(&|story| story.policy.escalation.triggers = triggers.clone().into()), [named("tess")]);

    let mut story = Story::opened();
    story.policy.escalation.notify = vec![named("olga")];
    story.policy.escalation.ops = vec![named("otto")];
    story.decide();
    for _ in 0..2 {
        story.now += TimeDelta::minutes(61);
        story.decide();
    }
    let decision = story.last.unwrap();
    assert_eq!(decision.action, NextAction::Escalate { cause: Trigger::ExternalDependencyDown });
    assert_eq!(decision.view.escalation.unwrap().recipients, [named("otto")].into());
}

#[test]
fn a_test_that_flips_on_one_head_is_flaky_and_costs_nothing() {
    // Failed, then passed.
    let mut story = Story::opened();
    story.push(1, &["rounds"], &["parses"]);
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds", "parses"])];
    let decision = story.decide();
    assert_eq!(decision.action, NextAction::WaitForMerge);
    assert_eq!(decision.view.compare.as_ref().unwrap().flaky.iter().collect::<Vec<_>>(), ["rounds"]);
    assert_eq!((story.state.attempts.len(), story.state.failures.total), (1, 0));

    // Then failed again: known to be flaky, it says nothing of the code.
    story.snapshot.evidence = vec![evidence(sha(1), &["rounds"], &["parses"])];
    for _ in 0..2 {
        assert!(matches!(story.decide().action, NextAction::WaitForEvidence { .. }));
        assert_eq!((story.state.attempts.len(), story.state.failures.total), (1, 0));
    }
    // On another head it has to show again that it is.
    assert_eq!(
        story.push(2, &["rounds"], &["parses"]).action,
        NextAction::Escalate { cause: Trigger::RegressionDetected }
    );
}

#[test]
fn tests_that_are_only_shown_hold_nothing() {
    let mut story = Story::opened();
    story.policy.retry.passing_tests = PassingTests::Shown;
    assert_eq!(story.push(1, &["rounds"], &["parses"]).action, NextAction::WaitForMerge);
    let ReceivedEvidence::Accepted(evidence) = &mut story.snapshot.evidence[0] else { panic!("accepted") };
    evidence.checks[1].outcome = Outcome::NoTestsExecuted;
    assert_eq!(story.decide().action, NextAction::Retry { attempt: 1 }, "they must have been executed");
}

/// What may happen to a pull request between two decisions.
#[derive(Clone, Debug)]
enum Step {
    Push { head: u8, failing: Vec<&'static str> },
    Comment { login: &'static str, body: &'static str },
    Wait { minutes: i64 },
    Draft(Readiness),
}

fn step() -> impl Strategy<Value = Step> {
    let tests = prop::sample::subsequence(vec!["a", "b", "c"], 0..=3);
    let words = prop::sample::select(vec!["/loop resume", "/loop retry", "/loop stop no", "hello", "/loop skip unit"]);
    prop_oneof![
        (1..20u8, tests).prop_map(|(head, failing)| Step::Push { head, failing }),
        (prop::sample::select(vec!["alice", "bob", "carol"]), words)
            .prop_map(|(login, body)| Step::Comment { login, body }),
        (1..200i64).prop_map(|minutes| Step::Wait { minutes }),
        prop::sample::select(vec![Readiness::Draft, Readiness::Ready]).prop_map(Step::Draft),
    ]
}

fn play(steps: &[Step]) -> Story {
    let mut story = Story::opened();
    for step in steps {
        match step {
            Step::Push { head, failing } => {
                let passing: Vec<&str> = ["a", "b", "c"].into_iter().filter(|test| !failing.contains(test)).collect();
                story.push(*head, failing, &passing);
            }
            Step::Comment { login, body } => {
                story.comment(login, body);
            }
            Step::Wait { minutes } => {
                story.now += TimeDelta::minutes(*minutes);
                story.decide();
            }
            Step::Draft(readiness) => {
                story.snapshot.pull_request.readiness = *readiness;
                story.decide();
            }
        }
    }
    story
}

/// The state as the next process reads it.
fn reread(state: &LoopState) -> LoopState {
    serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap()
}

/// An analyzer's advice replaces the rules' own in what people read, where it says what to do, and nothing else.
#[test]
fn an_analyzer_advises_and_decides_nothing() {
    let advised = |fix: &str, category: &str| {
        let mut story = Story::opened();
        story.set_head(2);
        let mut received = evidence(sha(2), &["adds"], &["subtracts"]);
        if let ReceivedEvidence::Accepted(document) = &mut received
            && let Some(failure) = document.checks.iter_mut().find_map(|check| check.failures.first_mut())
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
    assert_eq!(told.view.feedback[0].action, "Add each price once.");
    assert_eq!(told.view.feedback[0].problem, "The sum is counted twice.");
    assert_eq!((told.action, told.next.attempts), (plain.action, plain.next.attempts), "not even by its category");
    let vague = advised("Maybe consider the loop.", "logic_error");
    assert_eq!(vague.view.feedback, plain.view.feedback, "vague advice is no advice");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn deciding_is_deterministic(steps in prop::collection::vec(step(), 1..12)) {
        let story = play(&steps);
        let once = decide(&story.snapshot, &story.state, &story.policy, story.now);
        let twice = decide(&story.snapshot, &story.state, &story.policy, story.now);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn deciding_twice_changes_nothing(steps in prop::collection::vec(step(), 1..12)) {
        let story = play(&steps);
        let first = decide(&story.snapshot, &story.state, &story.policy, story.now);
        let second = decide(&story.snapshot, &first.next, &story.policy, story.now);
        prop_assert_eq!(&second.next, &first.next);
        prop_assert!(second.events.is_empty(), "{:?}", second.events);
        prop_assert!(second.attempt.is_none());
        prop_assert_eq!(second.surface, first.surface);
    }

    #[test]
    fn the_state_survives_its_document(steps in prop::collection::vec(step(), 1..12)) {
        let story = play(&steps);
        prop_assert_eq!(reread(&story.state), story.state);
    }

    /// Events only say "look": looking in between, or being told the same again, changes nothing but the times.
    #[test]
    fn the_order_and_number_of_looks_is_irrelevant(
        steps in prop::collection::vec(step(), 1..8),
        hints in prop::collection::vec(0..3u8, 0..6),
    ) {
        let story = play(&steps);
        let sighting = |n: &u8| Hint::HeadSeen { sha: sha(40 + n), at: start() + TimeDelta::minutes(i64::from(*n)) };
        let mut forwards = story.snapshot.clone();
        forwards.hints = hints.iter().map(sighting).collect();
        let mut backwards = forwards.clone();
        backwards.hints.reverse();
        backwards.comments.items.reverse();
        let one = decide(&forwards, &story.state, &story.policy, story.now);
        let other = decide(&backwards, &story.state, &story.policy, story.now);
        prop_assert_eq!(one.next.first_seen_heads, other.next.first_seen_heads);
        prop_assert_eq!(one.action, other.action);
        prop_assert_eq!(one.surface, other.surface);
    }

    #[test]
    fn never_more_attempts_than_allowed_and_one_escalation_at_a_time(steps in prop::collection::vec(step(), 1..16)) {
        let story = play(&steps);
        let decision = story.last.as_ref().unwrap();
        let escalations = decision.surface.posts.iter().filter(|post| matches!(post, Post::Escalation { .. })).count();
        prop_assert!(escalations <= 1);
        if matches!(decision.action, NextAction::Retry { .. }) {
            prop_assert!(story.state.failures.count < story.policy.retry.max_attempts);
            prop_assert!(story.state.failures.total < story.policy.retry.total_failures);
        }
    }
}
