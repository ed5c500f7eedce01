//! How runs end, and whom they call.

use super::*;

#[test]
fn merging_over_a_failing_check_is_named_once() {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    story.snapshot.pull_request.lifecycle = Lifecycle::Merged {
        by: Some(login("bob")),
        at: None,
    };
    let decision = story.decide();
    assert_eq!(decision.next.run.bypassed, ["unit rule"]);
    assert!(
        decision
            .events
            .iter()
            .any(|line| matches!(line.event, Event::MergedWithOpenGates { .. }))
    );
    assert_eq!(decision.surface.posts, [Post::MergedOverOpenGates]);
    let again = story.decide();
    assert_eq!(
        again.surface.posts,
        [Post::MergedOverOpenGates],
        "found again by its marker, not posted again"
    );
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
    assert_eq!(story.state.run.status, RunStatus::Stopped);
}

#[test]
fn an_ended_run_is_not_rewritten() {
    let mut story = Story::opened();
    story.push(1, &[], &["rounds"]);
    story.snapshot.pull_request.lifecycle = Lifecycle::Merged {
        by: Some(login("bob")),
        at: None,
    };
    story.decide();
    let ended = story.state.clone();
    story.snapshot.evidence = vec![evidence(sha(1), &["rounds"], &[])];
    story.snapshot.pull_request.title = "renamed".to_owned();
    let late = story.decide();
    assert!(late.events.is_empty() && late.attempt.is_none());
    assert_ne!(
        late.surface,
        Default::default(),
        "a turn cut short is made up for"
    );
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
    assert_eq!(
        story.decide().action,
        NextAction::Retry { attempt: 1 },
        "reopened, it goes on"
    );
}

#[test]
fn a_run_that_gave_up_is_taken_up_again() {
    let mut story = Story::opened();
    (
        story.policy.retry.escalation_on_max,
        story.policy.retry.same_error,
    ) = (false, 9);
    for head in 1..=3 {
        story.push(head, &["rounds"], &[]);
    }
    assert_eq!(
        (
            story.state.run.status,
            story.last.as_ref().unwrap().action.clone()
        ),
        (RunStatus::Failed, NextAction::Stopped)
    );
    assert_eq!(
        story.comment("carol", "/loop resume").action,
        NextAction::Stopped,
        "not by anybody who may only read"
    );
    assert_eq!(
        story.comment("bob", "/loop resume").action,
        NextAction::Retry { attempt: 3 }
    );
    assert_eq!(
        (story.state.run.status, story.state.attempts.failures.count),
        (RunStatus::InProgress, 0)
    );
    assert_eq!(
        story.push(4, &["rounds"], &[]).action,
        NextAction::Retry { attempt: 4 }
    );
    assert_eq!(story.state.attempts.failures.total, 4);
}

#[test]
fn what_is_only_flagged_is_shown_and_goes_on() {
    let mut story = Story::opened();
    let flag = TriggerPolicy {
        action: Some(EscalationAction::FlagAndContinue),
        to: Vec::new(),
    };
    story.policy.escalation.triggers = [(Trigger::Tampering, flag)].into();
    weaken(&mut story);
    let decision = story.push(1, &[], &["parses"]);
    assert_eq!(decision.action, NextAction::WaitForMerge);
    assert_eq!(
        decision.view.flags.keys().collect::<Vec<_>>(),
        [&Trigger::Tampering]
    );
    assert!(escalations(&story).is_empty());
}

#[test]
fn an_abort_calls_a_human_and_ends_the_run_as_aborted() {
    let mut story = Story::opened();
    let abort = TriggerPolicy {
        action: Some(EscalationAction::AbortWithReport),
        to: Vec::new(),
    };
    story.policy.escalation.triggers = [(Trigger::RegressionDetected, abort)].into();
    story.push(1, &["rounds"], &["parses"]);
    let decision = story.push(2, &["parses"], &["rounds"]);
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Failure))
    );
    assert!(matches!(
        decision.events.last().unwrap().event,
        Event::Failed(_)
    ));
    assert_eq!(story.state.run.status, RunStatus::Aborted);
    assert_eq!(escalations(&story).len(), 1);
}

#[test]
fn whom_a_cause_calls() {
    let named = |name: &str| Recipient::User(login(name));
    let called = |change: &dyn Fn(&mut Story)| {
        let mut story = Story::opened();
        story.snapshot.codeowners =
            Some("/src/ @dora @acme/core mail@example.com\n/tests/ @erik\n".to_owned());
        change(&mut story);
        story.push(1, &["rounds"], &["parses"]);
        story.push(2, &["parses"], &["rounds"]);
        let recipients = story.last.unwrap().view.escalation.unwrap().recipients;
        recipients.into_iter().collect::<Vec<_>>()
    };
    let owners = called(&|_| {});
    assert_eq!(
        owners,
        [
            named("dora"),
            named("erik"),
            Recipient::Team("acme/core".parse().unwrap())
        ]
    );
    assert_eq!(
        called(&|story| story.policy.escalation.notify = vec![named("olga")]),
        [named("olga")]
    );
    let own = TriggerPolicy {
        action: Some(EscalationAction::HumanReview),
        to: vec![named("tess")],
    };
    let triggers = [(Trigger::RegressionDetected, own)];
    assert_eq!(
        called(&|story| story.policy.escalation.triggers = triggers.clone().into()),
        [named("tess")]
    );

    let mut story = Story::opened();
    story.policy.escalation.notify = vec![named("olga")];
    story.policy.escalation.ops = vec![named("otto")];
    story.decide();
    story.now += TimeDelta::minutes(61);
    story.decide();
    let decision = story.last.unwrap();
    let cause = Trigger::NoReport;
    assert_eq!(decision.action, NextAction::Escalate { cause });
    assert_eq!(
        decision.view.escalation.unwrap().recipients,
        [named("otto")].into()
    );
}
