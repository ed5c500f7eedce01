//! What is run again, for whom, and how often.

use chrono::TimeDelta;

use super::*;
use crate::{
    deciding::NextAction,
    fixtures::*,
    ids::{CheckRunId, WorkflowRunId},
    observed::{ACTIONS, Actor, ExternalCheck, Hint, ReceivedEvidence},
    policy::Trigger,
    state::{
        AnswerOutcome, CommandRefusal,
        history::{CommandRun, Event, HistoryLine},
    },
};

fn check(name: &str) -> CheckName {
    name.parse().unwrap()
}

fn ended(conclusion: Conclusion, at: Timestamp) -> CheckProgress {
    CheckProgress::Completed {
        conclusion,
        at: Some(at),
    }
}

/// The one workflow run of the head.
fn workflow(story: &mut Story, attempt: u32, progress: CheckProgress) {
    story.snapshot.workflow_runs = vec![WorkflowRun {
        id: WorkflowRunId::new(5),
        path: ".github/workflows/ci.yml".to_owned(),
        attempt,
        progress,
        url: None,
        started_at: None,
        jobs: Vec::new(),
    }];
}

/// A head whose tests fail, and the run that said so.
fn failing() -> Story {
    let mut story = Story::opened();
    story.push(1, &["rounds"], &[]);
    let at = story.now;
    workflow(&mut story, 1, ended(Conclusion::Failure, at));
    story
}

/// A head whose tests cannot reach their database.
fn unreachable(story: &mut Story) {
    story.snapshot.evidence = vec![evidence(
        story.snapshot.pull_request.head.sha,
        &["rounds"],
        &[],
    )];
    let ReceivedEvidence::Accepted(evidence) = &mut story.snapshot.evidence[0] else {
        panic!("accepted")
    };
    evidence.checks[1].failures[0].error_message =
        "Error: connect ECONNREFUSED 10.0.0.3:5432".to_owned();
}

fn asked(story: &Story) -> Vec<RerunRequest> {
    story
        .last
        .as_ref()
        .unwrap()
        .surface
        .reruns
        .iter()
        .copied()
        .collect()
}

fn last_answer(story: &Story) -> &AnswerOutcome {
    &story.state.people.answered.last().unwrap().answers[0].outcome
}

const FAILED_JOBS: fn(u32) -> RerunRequest = |attempt| RerunRequest {
    what: Repeatable::WorkflowRun {
        id: WorkflowRunId::new(5),
        attempt,
    },
    only_failed_jobs: true,
};

#[test]
fn retry_runs_what_failed_again_once_per_attempt() {
    let mut story = failing();
    story.comment("alice", "/loop retry");
    let unit = BTreeSet::from([check("unit")]);
    assert_eq!(
        last_answer(&story),
        &AnswerOutcome::RunAgain {
            checks: unit.clone()
        }
    );
    assert_eq!(asked(&story), [FAILED_JOBS(1)]);

    // Looking again keeps the wish until GitHub has taken it; wishing again makes no second one.
    story.comment("bob", "/loop retry");
    assert_eq!(
        last_answer(&story),
        &AnswerOutcome::Underway { checks: unit }
    );
    assert_eq!(asked(&story), [FAILED_JOBS(1)]);
    workflow(&mut story, 2, CheckProgress::InProgress);
    story.decide();
    assert_eq!(asked(&story), []);

    // The next attempt that fails is another matter.
    let at = story.now;
    workflow(&mut story, 2, ended(Conclusion::Failure, at));
    story.comment("alice", "/loop retry");
    assert_eq!(asked(&story), [FAILED_JOBS(2)]);
    assert_eq!(
        story.state.attempts.counted.len(),
        1,
        "running again is no attempt"
    );
}

#[test]
fn a_wish_that_github_ignored_may_be_repeated() {
    let mut story = failing();
    story.comment("alice", "/loop retry");
    story.now += WINDOW;
    story.decide();
    assert_eq!(asked(&story), []);
    story.comment("alice", "/loop retry");
    assert_eq!(asked(&story), [FAILED_JOBS(1)]);
}

#[test]
fn run_asks_for_what_is_missing_and_leaves_failures_to_the_author() {
    let mut story = failing();
    story.comment("bob", "/loop run");
    assert_eq!(last_answer(&story), &AnswerOutcome::LookedAgain);
    story.snapshot.evidence.clear();
    story.comment("bob", "/loop run");
    let both = BTreeSet::from([check("build"), check("unit")]);
    assert_eq!(
        last_answer(&story),
        &AnswerOutcome::RunAgain {
            checks: both.clone()
        }
    );
    assert_eq!(asked(&story), [FAILED_JOBS(1)]);

    story.snapshot.workflow_runs.clear();
    story.now += WINDOW;
    story.comment("bob", "/loop next");
    assert_eq!(
        last_answer(&story),
        &AnswerOutcome::NothingToRun { checks: both }
    );
}

#[test]
fn evidence_is_waited_for_anew_once_it_was_asked_for_again() {
    let mut story = Story::opened();
    story.decide();
    story.now += TimeDelta::minutes(55);
    let at = story.now;
    workflow(&mut story, 1, ended(Conclusion::Success, at));
    story.comment("bob", "/loop run");
    assert!(!asked(&story)[0].only_failed_jobs, "nothing of it failed");
    story.snapshot.workflow_runs.clear();
    story.now += TimeDelta::minutes(30);
    story.decide();
    let silent = |story: &Story| !story.state.concerns.checks.unreported.of_head.is_empty();
    assert!(!silent(&story), "it has only just begun");
    story.now += TimeDelta::minutes(40);
    story.decide();
    assert!(silent(&story));
}

#[test]
fn a_button_pressed_again_minutes_later_is_heard() {
    let by = Actor {
        id: crate::UserId::new(2),
        login: "bob".parse().unwrap(),
    };
    let mut story = failing();
    story.snapshot.hints = vec![Hint::ButtonPressed {
        check_run: CheckRunId::new(70),
        identifier: "retry".to_owned(),
        by,
    }];
    for (minutes, asked_for) in [(0, 1), (1, 1), (5, 2), (1, 2)] {
        story.now += TimeDelta::minutes(minutes);
        story.decide();
        let told = |line: &HistoryLine| {
            matches!(line.event, Event::CommandRun(CommandRun::Pressed { .. }))
        };
        let again = usize::from(story.last.as_ref().unwrap().events.iter().any(told));
        assert_eq!(
            again,
            usize::from((minutes, asked_for) == (0, 1) || minutes == 5),
            "after {minutes} min"
        );
        assert_eq!(
            story.state.people.answered.len(),
            1,
            "one answer under one button"
        );
    }
}

#[test]
fn trouble_that_comes_back_calls_anew() {
    let mut story = Story::opened();
    story.push(1, &[], &["a", "b"]);
    for (test, other, call) in [("a", "b", ""), ("b", "a", ":2")] {
        // The head that passed is run again, and something is down.
        story.snapshot.evidence = vec![evidence(sha(1), &[test], &[other])];
        let ReceivedEvidence::Accepted(evidence) = &mut story.snapshot.evidence[0] else {
            panic!("accepted")
        };
        evidence.checks[1].failures[0].error_message =
            "Error: connect ECONNREFUSED 10.0.0.3:5432".to_owned();
        story.decide();
        story.now += TimeDelta::minutes(61);
        for _ in 0..3 {
            story.decide();
            assert_eq!(
                story.posts(),
                [format!("escalation:external_dependency_down:1{call}")],
                "no look releases what lasts"
            );
        }
        story.snapshot.evidence = vec![crate::fixtures::evidence(sha(1), &[], &["a", "b"])];
        story.decide();
        assert!(story.state.people.blocked.is_none() && story.posts().is_empty());
    }
}

#[test]
fn a_button_does_what_the_command_does_and_takes_the_same_rights() {
    let by = |id, login: &str| Actor {
        id: crate::UserId::new(id),
        login: login.parse().unwrap(),
    };
    let pressed = |identifier: &str, by| Hint::ButtonPressed {
        check_run: CheckRunId::new(70),
        identifier: identifier.to_owned(),
        by,
    };
    let mut story = failing();
    story.snapshot.hints = vec![pressed("retry", by(77, "mallory"))];
    story.decide();
    assert_eq!(
        last_answer(&story),
        &AnswerOutcome::Refused(CommandRefusal::RightsUnknown)
    );
    assert_eq!(asked(&story), []);

    let mut story = failing();
    story.snapshot.hints = vec![
        pressed("retry", by(2, "bob")),
        pressed("made:up", by(2, "bob")),
    ];
    story.decide();
    story.decide();
    assert_eq!(asked(&story), [FAILED_JOBS(1)]);
    assert_eq!(
        story.state.people.answered.len(),
        1,
        "an event that comes twice is answered once"
    );

    story.snapshot.hints = vec![pressed("skip:unit", by(2, "bob"))];
    story.decide();
    let needs_reason = CommandRefusal::NeedsReason {
        check: check("unit"),
    };
    assert_eq!(last_answer(&story), &AnswerOutcome::Refused(needs_reason));
    assert!(story.state.people.skips.is_empty());

    let mut story = failing();
    let sha = story.snapshot.pull_request.head.sha;
    story.snapshot.hints = vec![Hint::CheckSuiteRerequested {
        sha,
        by: by(2, "bob"),
    }];
    story.decide();
    assert_eq!(asked(&story), [FAILED_JOBS(1)]);
}

#[test]
fn trouble_outside_is_repeated_with_growing_waits_and_calls_a_person_after_an_hour() {
    let mut story = Story::opened();
    story.decide();
    unreachable(&mut story);
    let began = story.now;
    let mut asks = Vec::new();
    for attempt in 1..=6 {
        let at = story.now;
        workflow(&mut story, attempt, ended(Conclusion::Failure, at));
        // Looked at every half minute, and each repetition fails at once.
        for _ in 0..40 {
            story.now -= TimeDelta::seconds(30);
            story.decide();
            if let [ask] = asked(&story)[..] {
                assert_eq!(ask, FAILED_JOBS(attempt));
                asks.push((story.now - at).num_minutes());
                break;
            }
        }
    }
    assert_eq!(asks, [1, 2, 4, 8, 15], "no sixth time");
    assert!(
        story.state.attempts.counted.is_empty(),
        "it costs no attempt"
    );
    assert!(matches!(
        story.last.as_ref().unwrap().action,
        NextAction::WaitForEvidence { .. }
    ));

    story.now = began + TimeDelta::minutes(62);
    assert_eq!(
        story.decide().action,
        NextAction::Escalate {
            cause: Trigger::ExternalDependencyDown
        }
    );
    assert_eq!(
        story.decide().action,
        NextAction::WaitForHuman {
            cause: Trigger::ExternalDependencyDown
        }
    );
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    assert_eq!(story.decide().action, NextAction::WaitForMerge);
    assert!(story.state.concerns.checks.outage.is_none() && story.state.people.blocked.is_none());
}

#[test]
fn other_systems_are_asked_in_their_own_way() {
    let run = |id, name: &str, app: &str, conclusion| ExternalCheck {
        id: Some(CheckRunId::new(id)),
        name: name.to_owned(),
        app: Some(app.to_owned()),
        progress: ended(conclusion, start()),
        started_at: None,
        url: None,
        annotations: Vec::new(),
        summary: None,
        output: None,
    };
    let mut story = Story::opened();
    let source = ExternalSource {
        name: crate::policy::NameGlob::parse("ci / *").unwrap(),
        app: None,
        when_skipped: Default::default(),
    };
    story.policy.verify.checks[&check("unit")].source = CheckSource::External(source);
    story.snapshot.checks = vec![
        run(31, "ci / linux", ACTIONS, Conclusion::Failure),
        run(32, "ci / mac", "other-ci", Conclusion::Cancelled),
        run(33, "ci / windows", "other-ci", Conclusion::Success),
    ];
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    story.comment("alice", "/loop retry");
    let whole = |what| RerunRequest {
        what,
        only_failed_jobs: false,
    };
    let other = Repeatable::CheckRun {
        id: CheckRunId::new(32),
        ended: Some(start()),
    };
    assert_eq!(
        asked(&story),
        [
            whole(Repeatable::Job {
                id: CheckRunId::new(31)
            }),
            whole(other)
        ]
    );
}

#[test]
fn what_is_being_repeated_says_nothing_meanwhile() {
    let mut story = failing();
    let ReceivedEvidence::Accepted(evidence) = &mut story.snapshot.evidence[0] else {
        panic!("accepted")
    };
    evidence.workflow = Some(crate::evidence::WorkflowOrigin {
        path: ".github/workflows/ci.yml".to_owned(),
        run_id: WorkflowRunId::new(5),
        run_attempt: 1,
        job: "test".to_owned(),
        matrix: None,
        matrix_job: None,
    });
    assert_eq!(story.decide().action, NextAction::Retry { attempt: 1 });
    workflow(&mut story, 2, CheckProgress::InProgress);
    assert!(matches!(
        story.decide().action,
        NextAction::WaitForEvidence { .. }
    ));
    // Whatever its result: its earlier evidence counts where it brings nothing else.
    let at = story.now;
    workflow(&mut story, 2, ended(Conclusion::Failure, at));
    assert_eq!(story.decide().action, NextAction::Retry { attempt: 1 });
}
