//! O, J and E: what heads amount to, and when somebody is called.

use std::collections::BTreeSet;

use super::*;
use crate::{
    concerns::escalation::{AttemptsEnd, Cause},
    state::history::{ArtifactCreated, Event, HistoryLine, RunStarted},
};

#[test]
fn what_ends_without_a_result_is_put_to_a_person_too() {
    let mut story = Story::opened();
    let mut cancelled = evidence(sha(1), &[], &[]);
    let ReceivedEvidence::Accepted(document) = &mut cancelled else {
        unreachable!("the story's evidence is whole")
    };
    document
        .checks
        .iter_mut()
        .for_each(|check| check.outcome = Outcome::Cancelled);
    for without_result in [refused(), cancelled] {
        story.snapshot.evidence = vec![without_result];
        assert!(matches!(
            story.decide().action,
            NextAction::WaitForEvidence { .. }
        ));
        assert!(
            story
                .state
                .concerns
                .checks
                .outage
                .as_ref()
                .is_some_and(|outage| outage.unclear.contains(&name("unit")))
        );
        assert!(
            story.last.as_ref().unwrap().revisit_at.is_some(),
            "time alone will tell"
        );
    }
    story.now += TimeDelta::minutes(61);
    let decision = story.decide();
    assert_eq!(
        decision.action,
        NextAction::Escalate {
            cause: Trigger::ExternalDependencyDown
        }
    );
    let Some(Cause::ExternalDependencyDown { outage }) =
        &decision.view.escalation.as_ref().unwrap().cause
    else {
        panic!("{:?}", decision.view.escalation)
    };
    assert!(outage.unclear.contains(&name("unit")), "{outage:?}");
    assert_eq!(
        story.state.concerns.checks.reruns,
        [],
        "repeating it is a person's choice"
    );
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    story.decide();
    assert!(story.state.concerns.checks.outage.is_none());
}

#[test]
fn a_silent_check_is_known_by_the_end_of_its_log() {
    let third = |logs: [&str; 3]| {
        let mut story = Story::opened();
        for (head, log) in (1..).zip(logs) {
            story.set_head(head);
            let mut unit = CheckEvidence::bare(name("unit"), CheckKind::Test, Outcome::Failed);
            unit.log_tail = format!("compiling\n{log}\n\n");
            with_check(&mut story, unit);
            let decision = story.decide();
            let flagged = decision.view.flags.contains_key(&Trigger::UnknownErrorType);
            assert_eq!(
                flagged,
                head > 1,
                "said at the second, and nobody is called for it"
            );
            assert_eq!(
                decision.action
                    == NextAction::Retry {
                        attempt: u32::from(head)
                    },
                head < 3
            );
        }
        story
            .state
            .people
            .blocked
            .as_ref()
            .map(|blocked| blocked.trigger)
    };
    assert_eq!(
        third(["cannot link", "no such symbol", "disk is odd"]),
        Some(Trigger::MaxAttemptsReached)
    );
    assert_eq!(
        third(["cannot link", "cannot link", "cannot link"]),
        Some(Trigger::SameError)
    );
}

#[test]
fn a_soft_check_costs_score_only() {
    let mut story = Story::opened();
    add_check(&mut story, "speed", CheckKind::Performance);
    assert!(
        matches!(
            story.push(1, &[], &["rounds"]).action,
            NextAction::WaitForEvidence { .. }
        ),
        "it must have ended"
    );
    let mut rule = crate::concerns::verdict::evaluate::rules(
        &story.policy,
        crate::observed::CodeType::NewFunction,
    )[0]
    .clone();
    rule.id = "readme".parse().unwrap();
    rule.severity = Severity::Warn;
    rule.check = crate::policy::RuleCheck::MustAppear(crate::policy::AddedPattern {
        pattern: crate::policy::Pattern::parse("zzz").unwrap(),
        paths: Vec::new(),
    });
    rule.weight = Some(crate::policy::UpTo(8.0));
    story.policy.evaluate.rules = vec![rule];
    story.policy.evaluate.no_major_issues = Vec::new();
    with_check(
        &mut story,
        CheckEvidence::bare(name("speed"), CheckKind::Performance, Outcome::Passed),
    );
    let decision = story.decide();
    assert!(
        matches!(decision.view.evidence_held_by, Some(Blocker::Evaluation(_))),
        "{:?}",
        decision.view.evidence_held_by
    );
    assert_eq!(decision.action, NextAction::Retry { attempt: 1 });
    let red = Some(CheckRunPlan::Completed(Conclusion::Failure));
    assert_eq!(decision.surface.verify, red, "VALIDATE is not far enough");
    assert_eq!(story.state.attempts.counted[0].blame, Some(Blame::PrCode));

    story.set_head(2);
    with_check(
        &mut story,
        CheckEvidence::bare(name("speed"), CheckKind::Performance, Outcome::Failed),
    );
    let decision = story.decide();
    assert!(
        matches!(decision.view.evidence_held_by, Some(Blocker::Evaluation(_))),
        "failing, it holds nothing by itself"
    );
}

#[test]
fn failures_of_the_base_spend_no_attempt() {
    let known = |baseline| {
        let mut story = external(&[Some(Conclusion::Failure)]);
        let CheckStanding::Done(failing) = standing(story.decide(), "unit").clone() else {
            panic!("it ended")
        };
        let checks = [(name("unit"), *failing)].into();
        story.snapshot.base_evidence = Some(BaseEvidence {
            sha: sha(0xba),
            checks,
            coverage: None,
        });
        story.policy.retry.baseline = baseline;
        story.decide();
        (
            story.last.unwrap().action,
            story.state.attempts.counted[0].blame,
            story.state.attempts.failures.total,
        )
    };
    let waits = NextAction::WaitForEvidence {
        missing: vec![name("unit")],
    };
    assert_eq!(
        known(Baseline::All),
        (waits, Some(Blame::Base), 0),
        "asking for pushes would go on for ever"
    );
    assert_eq!(known(Baseline::New), (NextAction::WaitForMerge, None, 0));
}

#[test]
fn a_test_that_fails_on_the_base_and_passes_is_one_for_the_change() {
    let judged = |on_base: Option<(&[&str], &[&str])>| {
        let mut story = Story::opened();
        story.snapshot.pull_request.title = "fix: round half up".to_owned();
        let ChangedFiles::Complete(files) = &mut story.snapshot.files else {
            panic!("complete")
        };
        files.retain(|file| file.path == "src/lib.rs");
        story.snapshot.base_evidence = on_base.map(|(failing, passing)| {
            let ReceivedEvidence::Accepted(document) = evidence(sha(0xba), failing, passing) else {
                panic!("accepted")
            };
            crate::concerns::checks::gather::base(sha(0xba), vec![*document])
        });
        let decision = story.push(1, &[], &["rounds", "parses"]);
        let rule = decision
            .view
            .evaluation
            .rules
            .iter()
            .find(|rule| rule.id.as_str() == "tests_added");
        rule.map(|rule| rule.outcome == RuleOutcome::Passed)
    };
    assert_eq!(judged(None), Some(false), "code changed, and no test");
    assert_eq!(judged(Some((&[], &["rounds", "parses"]))), Some(false));
    assert_eq!(
        judged(Some((&["gone"], &["rounds"]))),
        Some(false),
        "what is no more was not mended"
    );
    assert_eq!(judged(Some((&["rounds"], &["parses"]))), Some(true));
}

#[test]
fn a_test_that_a_pull_request_broke_itself_is_none_for_its_change() {
    let mut story = Story::opened();
    story.snapshot.pull_request.title = "fix: round half up".to_owned();
    let ChangedFiles::Complete(files) = &mut story.snapshot.files else {
        panic!("complete")
    };
    files.retain(|file| file.path == "src/lib.rs");
    story.push(1, &["rounds"], &["parses"]);
    let decision = story.push(2, &[], &["rounds", "parses"]);
    let rules = &decision.view.evaluation.rules;
    let rule = rules.iter().find(|rule| rule.id.as_str() == "tests_added");
    assert!(rule.is_some_and(|rule| rule.outcome != RuleOutcome::Passed));
}

#[test]
fn code_and_tests_are_told_by_the_names_of_their_language() {
    let judged = |paths: &[&str]| {
        let mut story = Story::opened();
        story.snapshot.pull_request.title = "fix: round half up".to_owned();
        let ChangedFiles::Complete(files) = &mut story.snapshot.files else {
            panic!("complete")
        };
        let file = files.swap_remove(0);
        *files = paths
            .iter()
            .map(|path| ChangedFile {
                path: (*path).to_owned(),
                ..file.clone()
            })
            .collect();
        let decision = story.push(1, &[], &["rounds"]);
        let rule = decision
            .view
            .evaluation
            .rules
            .iter()
            .find(|rule| rule.id.as_str() == "tests_added");
        (
            rule.map(|rule| rule.outcome == RuleOutcome::Passed),
            decision.word(),
        )
    };
    let (passes, fails) = (
        (Some(true), DecisionWord::Proceed),
        (Some(false), DecisionWord::Retry),
    );
    for code in [
        "src/lib.rs",
        "App.vue",
        "App.svelte",
        "app.mts",
        "app.cts",
        "Shop/Cart.cs",
    ] {
        assert_eq!(judged(&[code]), fails, "{code}");
    }
    for test in [
        "Shop.Tests/CartTest.cs",
        "shop/CartTest.php",
        "CartSpec.scala",
        "web/cart.test.mts",
    ] {
        assert_eq!(judged(&["src/lib.rs", test]), passes, "{test}");
    }
    for neither in [
        "docs/testing.md",
        "spec/openapi.yaml",
        "tests/data.json",
        "deploy.sh",
    ] {
        assert_eq!(judged(&[neither]), passes, "{neither}");
        assert_eq!(judged(&["src/lib.rs", neither]), fails, "{neither}");
    }
    assert_eq!(judged(&["src/lib.rs", "src/contest.rs"]), fails);
}

#[test]
fn a_head_that_comes_back_is_a_new_attempt() {
    let mut story = Story::opened();
    for head in [1, 2, 1] {
        story.push(head, &[if head == 1 { "rounds" } else { "parses" }], &[]);
    }
    assert_eq!(story.state.attempts.counted.len(), 3);
}

#[test]
fn what_comes_of_a_superseded_head_is_noted_and_judged_by_nobody() {
    let noted = |decision: &Decision| {
        let seen = |line: &HistoryLine| match line.event {
            Event::ArtifactCreated(ArtifactCreated::HeadSeen { stale_head, .. }) => {
                Some(stale_head)
            }
            _ => None,
        };
        decision.events.iter().find_map(seen).expect("a new head")
    };
    let mut story = Story::opened();
    story.set_head(1);
    assert_eq!(noted(story.decide()), None, "the first there is");
    story.set_head(2);
    assert_eq!(noted(story.decide()), Some(sha(1)));
    story.snapshot.evidence = vec![evidence(sha(1), &["rounds"], &[])];
    assert!(story.decide().attempt.is_none());
    assert_eq!(story.state.attempts.failures.total, 0);
    story.snapshot.evidence = vec![evidence(sha(2), &["rounds"], &[])];
    story.decide();
    story.set_head(3);
    assert_eq!(
        noted(story.decide()),
        None,
        "that one was judged: its attempt is in the history"
    );
}

#[test]
fn what_an_attempt_records_says_where_it_comes_from_and_by_what_it_was_compared() {
    let mut story = Story::opened();
    let record = story
        .push(1, &["rounds"], &["parses"])
        .attempt
        .clone()
        .expect("an attempt");
    let ReceivedEvidence::Accepted(document) = &story.snapshot.evidence[0] else {
        panic!("accepted")
    };
    assert_eq!(
        record.provenance.pull_request,
        Some(story.snapshot.pull_request.number)
    );
    assert_eq!(
        record.provenance.base_sha,
        story.snapshot.pull_request.base.sha
    );
    assert_eq!(
        record.provenance.environment.as_ref(),
        Some(&document.environment)
    );
    assert_eq!(
        (record.provenance.started_at, record.provenance.ended_at),
        (Some(document.started_at), Some(document.ended_at))
    );
    let failures: Vec<_> = record
        .checks
        .iter()
        .flat_map(|check| &check.failures)
        .collect();
    let prints: BTreeSet<_> = failures
        .iter()
        .filter_map(|failure| failure.fingerprint)
        .collect();
    assert_eq!(
        (failures.len(), prints),
        (1, record.digest.fingerprints.clone())
    );
    let failed = record
        .checks
        .iter()
        .find(|check| !check.failures.is_empty())
        .unwrap();
    assert_eq!(failed.retry_class, Some(RetryClass::Code));
    assert_eq!(story.state.shown.prerequisites["deploy"], "skipped");
}

#[test]
fn a_detected_check_that_finds_no_test_is_a_warning() {
    let warned = |is_detected| {
        let mut story = Story::opened();
        story
            .policy
            .verify
            .checks
            .get_mut(&name("unit"))
            .unwrap()
            .is_detected = is_detected;
        let warnings = story.push(1, &[], &[]).view.warnings.clone();
        warnings.contains(&Warning::NoTests(name("unit")))
    };
    assert!(warned(true));
    assert!(!warned(false));
}

#[test]
fn attempts_that_are_not_on_record_count_as_failed() {
    let mut story = Story::opened();
    let lost = LostRecord {
        attempts: 8,
        trace: Trace::Post,
    };
    story.state = LoopState::begin_after(lost, &story.snapshot, &story.policy, story.now);
    let started = story.decide().events[0].event.clone();
    let told = RunStarted::AfterLostRecord {
        title: story.state.run.title.clone(),
        lost_attempts: 8,
        lost_trace: Trace::Post,
    };
    assert_eq!(started, Event::RunStarted(told));
    story.push(1, &["a"], &[]);
    let decision = story.last.as_ref().unwrap();
    assert_eq!(
        (decision.view.attempt, story.state.attempts.failures.total),
        (9, 9)
    );
    assert!(
        decision.view.warnings.contains(&Warning::RecordLost(lost)),
        "{:?}",
        decision.view.warnings
    );
    assert_eq!(
        story.push(2, &["b"], &[]).action,
        NextAction::Escalate {
            cause: Trigger::TotalFailures
        }
    );
}

#[test]
fn without_automatic_retry_the_first_failure_calls_a_human() {
    let mut story = Story::opened();
    story.policy.retry.auto_retry_on_test_fail = false;
    let decision = story.push(1, &["rounds"], &[]);
    assert_eq!(
        decision.action,
        NextAction::Escalate {
            cause: Trigger::MaxAttemptsReached
        }
    );
    let cause = decision.view.escalation.as_ref().unwrap().cause.as_ref();
    assert!(
        matches!(
            cause,
            Some(Cause::MaxAttemptsReached {
                reason: AttemptsEnd::NotRetried { .. }
            })
        ),
        "{cause:?}"
    );
}

#[test]
fn a_cause_calls_a_person_once_and_never_after_the_end() {
    let mut story = Story::opened();
    story.snapshot.workflow_runs = vec![workflow(CheckProgress::Completed {
        conclusion: Conclusion::StartupFailure,
        at: None,
    })];
    story.decide();
    for _ in 0..2 {
        story.now += TimeDelta::minutes(61);
        story.decide();
    }
    let posts = story.last.as_ref().unwrap().surface.posts.clone();
    assert_eq!(posts.len(), 1);
    story.comment("bob", "/loop resume");
    assert!(
        story.state.people.blocked.is_none(),
        "counted anew from the resume"
    );
    story.now += TimeDelta::minutes(61);
    let again = story.decide();
    assert_eq!(
        again.action,
        NextAction::Escalate {
            cause: Trigger::ExternalDependencyDown
        }
    );
    assert_eq!(
        again.surface.posts, posts,
        "the same post, which is there already"
    );

    for lifecycle in [Lifecycle::Closed, Lifecycle::Merged { by: None, at: None }] {
        let mut story = Story::opened();
        story.policy.retry.auto_retry_on_test_fail = false;
        story.snapshot.pull_request.lifecycle = lifecycle;
        story.push(1, &["rounds"], &[]);
        assert!(story.state.people.blocked.is_none());
    }
    let mut story = Story::opened();
    story.policy.retry.auto_retry_on_test_fail = false;
    story.comment("bob", "/loop stop");
    story.push(1, &["rounds"], &[]);
    assert!(story.state.people.blocked.is_none(), "stopped by a person");
}
