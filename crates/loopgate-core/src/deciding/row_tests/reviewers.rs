//! R: an AI reviewer whose threads are a check.

use super::*;
use crate::{
    evidence::FindingSeverity as Level,
    observed::{Account, AccountKind, Resolution, Review, ReviewThread},
    policy::ReviewerSource,
};

const BOT: &str = "coderabbitai";

/// Alice's pull request, which the reviewer looks at.
fn reviewed(severity: Severity) -> Story {
    let mut story = Story::opened();
    let reviewer = ReviewerSource {
        app: BOT.to_owned(),
        severity,
        at_least: Level::High,
        timeout: TimeDelta::minutes(15),
    };
    let (kind, is_detected) = (CheckKind::Custom, false);
    let check = CheckPolicy {
        kind,
        source: CheckSource::Reviewer(reviewer),
        is_detected,
    };
    story.policy.verify.checks.insert(name(BOT), check);
    story
}

fn thread(finding: &str, on: u8) -> ReviewThread {
    ReviewThread {
        app: BOT.to_owned(),
        path: "src/lib.rs".to_owned(),
        line: Some(7),
        finding: finding.to_owned(),
        begun_on: Some(sha(on)),
        answer: None,
        resolution: Resolution::Open,
        is_outdated: false,
        url: "https://github.com/acme/widgets/pull/12#discussion_r1".to_owned(),
    }
}

/// A push whose tests pass, and the reviewer's word on it.
fn round<'s>(story: &'s mut Story, head: u8, findings: &[&str]) -> &'s Decision {
    story.set_head(head);
    story.snapshot.evidence = vec![evidence(sha(head), &[], &["rounds"])];
    story.decide();
    story
        .snapshot
        .review_threads
        .items
        .iter_mut()
        .for_each(|thread| thread.is_outdated = true);
    story
        .snapshot
        .review_threads
        .items
        .extend(findings.iter().map(|finding| thread(finding, head)));
    review(story, AccountKind::Bot, "Actionable comments posted");
    story.decide()
}

fn review(story: &mut Story, kind: AccountKind, body: &str) {
    let login = login(if kind == AccountKind::Bot {
        "coderabbitai[bot]"
    } else {
        BOT
    });
    story.give_review(ReviewVerdict::Commented, body);
    let given: &mut Review = story.snapshot.reviews.items.last_mut().unwrap();
    given.author = Account {
        id: UserId::new(70),
        login,
        kind,
    };
}

fn is_running(story: &mut Story) -> bool {
    matches!(standing(story.decide(), BOT), CheckStanding::Running { .. })
}

fn fails(story: &mut Story) -> bool {
    let decision = story.decide();
    matches!(standing(decision, BOT), CheckStanding::Done(found) if found.outcome == Outcome::Failed)
}

#[test]
fn a_reviewer_that_finds_the_same_three_times_calls_a_person_and_one_that_advises_calls_nobody() {
    let lost = "**Handle the error of `open`, which is lost here.**";
    let mut story = reviewed(Severity::Fail);
    assert_eq!(
        round(&mut story, 1, &[lost]).action,
        NextAction::Retry { attempt: 1 }
    );
    assert_eq!(
        round(&mut story, 2, &[lost]).action,
        NextAction::Retry { attempt: 2 }
    );
    story.snapshot.review_threads.items[1].answer =
        Some((login("alice"), "It is handled.".to_owned()));
    let called = round(&mut story, 3, &[lost]);
    assert_eq!(
        called.action,
        NextAction::Escalate {
            cause: Trigger::SameError
        }
    );
    assert_eq!(
        called.view.failures[0].failure.error_message,
        "Handle the error of `open`, which is lost here."
    );
    assert_eq!(
        called.view.failures[0].failure.answer.as_deref(),
        Some("alice: It is handled."),
        "of the round before"
    );
    assert_eq!(
        called.view.failures[0].feedback.reproduce, None,
        "no command shows it"
    );
    assert_eq!(blame(called, BOT), Some(Blame::PrCode));
    let recorded = story.attempts.values().flat_map(|attempt| &attempt.checks);
    assert_eq!(
        recorded.filter(|check| check.name == name(BOT)).count(),
        3,
        "the rounds that metrics count"
    );
    for severity in [Severity::Warn, Severity::Info] {
        let mut story = reviewed(severity);
        for head in 1..=5 {
            let decision = round(&mut story, head, &[lost]);
            assert_eq!(
                decision.surface.verify,
                Some(CheckRunPlan::Completed(Conclusion::Success)),
                "{head}"
            );
        }
        assert_eq!(story.state.attempts.failures.total, 0);
        let warned = story.last.as_ref().unwrap().view.evaluation.warnings();
        assert_eq!(
            warned.iter().any(|rule| rule.as_str() == BOT),
            severity == Severity::Warn
        );
    }
}

#[test]
fn an_advising_reviewer_is_not_waited_for_and_its_findings_are_no_part_of_an_attempt() {
    let mut story = reviewed(Severity::Warn);
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    assert_eq!(
        story.decide().surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Success))
    );
    for head in 2..=4 {
        story.snapshot.review_threads.items =
            vec![thread("Handle the error that is lost here.", head)];
        story.push(
            head,
            &[["adds", "rounds", "sums"][usize::from(head) - 2]],
            &[],
        );
        assert_eq!(
            story.state.attempts.failures.count, 1,
            "another error each time"
        );
    }
}

#[test]
fn the_reviewer_and_people_with_write_who_have_no_part_in_the_change_resolve_a_thread() {
    let bot = Account {
        id: UserId::new(80),
        login: login("fixer[bot]"),
        kind: AccountKind::Bot,
    };
    let cases = [
        (Resolution::Open, true),
        (Resolution::ByReviewer, false),
        (Resolution::By(person(1, "alice")), true),
        (Resolution::By(person(2, "bob")), false),
        (Resolution::By(person(3, "carol")), true),
        (Resolution::By(bot), true),
        (Resolution::Unknown, true),
    ];
    for (resolution, is_open) in cases {
        let mut story = reviewed(Severity::Fail);
        round(&mut story, 1, &["Handle the error that is lost here."]);
        story.snapshot.review_threads.items[0].resolution = resolution.clone();
        assert_eq!(fails(&mut story), is_open, "{resolution:?}");
    }
}

#[test]
fn an_outdated_thread_is_done_once_the_reviewer_has_spoken_on_the_head() {
    let mut story = reviewed(Severity::Fail);
    round(&mut story, 1, &["Handle the error that is lost here."]);
    story.set_head(2);
    story.snapshot.evidence = vec![evidence(sha(2), &[], &["rounds"])];
    story.snapshot.review_threads.items[0].is_outdated = true;
    assert!(
        is_running(&mut story),
        "its old review says nothing of this head"
    );
    review(&mut story, AccountKind::Bot, "No actionable comments.");
    assert_eq!(
        story.decide().surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Success))
    );
}

#[test]
fn a_reviewer_that_dies_is_absent_and_what_it_found_before_still_counts() {
    let mut story = reviewed(Severity::Fail);
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    assert!(is_running(&mut story));
    let revisit_at = story.last.as_ref().unwrap().revisit_at;
    assert_eq!(revisit_at, Some(story.now + TimeDelta::minutes(15)));
    story.now += TimeDelta::minutes(15);
    let decision = story.decide();
    assert_eq!(
        standing(decision, BOT),
        &CheckStanding::Absent { minutes: 15 }
    );
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Success))
    );
    story.snapshot.review_threads.items = vec![thread("Handle the error that is lost here.", 9)];
    assert!(fails(&mut story));
}

#[test]
fn only_the_bot_speaks_for_itself_and_a_placeholder_is_no_word() {
    let mut story = reviewed(Severity::Fail);
    story.snapshot.evidence = vec![evidence(sha(1), &[], &["rounds"])];
    review(&mut story, AccountKind::User, "Looks good.");
    assert!(is_running(&mut story), "a person with the App's name");
    review(
        &mut story,
        AccountKind::Bot,
        "> [!WARNING]\n> ## Rate limit exceeded\n",
    );
    assert!(is_running(&mut story));
    story.write("bob", &format!("I looked at {}", sha(1)));
    assert!(is_running(&mut story));
    story.snapshot.comments.items[0].author = Account {
        id: UserId::new(70),
        login: login("coderabbitai[bot]"),
        kind: AccountKind::Bot,
    };
    assert!(!is_running(&mut story), "its comment names the head");
}

#[test]
fn findings_that_say_they_are_small_are_left_out() {
    let mut story = reviewed(Severity::Fail);
    assert_eq!(
        round(&mut story, 1, &["_🔵 Trivial_\n\nRename `x`."])
            .surface
            .verify,
        { Some(CheckRunPlan::Completed(Conclusion::Success)) }
    );
    round(
        &mut story,
        2,
        &[
            "_🔴 Critical_\n\nThe key is logged in plain text.",
            "Unlabelled words count as well.",
        ],
    );
    assert_eq!(story.last.as_ref().unwrap().view.failures.len(), 2);
}

#[test]
fn a_person_overrules_a_reviewer_by_settle_and_by_skip() {
    let mut story = reviewed(Severity::Fail);
    story.snapshot.authority.logins = [(login("bob"), Ok(person(2, "bob")))].into();
    let id = round(&mut story, 1, &["Handle the error that is lost here."])
        .view
        .failures[0]
        .cause;
    story.comment("alice", &format!("/loop dispute {id} it cannot fail"));
    let verify = story.comment("bob", "/loop settle code").surface.verify;
    assert_eq!(
        verify,
        Some(CheckRunPlan::Completed(Conclusion::Success)),
        "{:?}",
        answer(&story)
    );
    // The same again is settled; something else is not.
    round(&mut story, 2, &["Handle the error that is lost here."]);
    assert!(!fails(&mut story));
    round(&mut story, 3, &["The lock is never released."]);
    assert!(fails(&mut story));
    let decision = story.comment(
        "bob",
        "/loop skip coderabbitai --reason \"it is wrong today\"",
    );
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Success))
    );
}

#[test]
fn no_word_of_a_reviewer_or_an_answer_frees_from_blame_or_makes_another_error() {
    let outage =
        "connect ECONNREFUSED 10.0.0.3:5432, getaddrinfo ENOTFOUND: the vulnerability is a timeout";
    let mut story = reviewed(Severity::Fail);
    for head in 1..=2 {
        let answer = Some((
            login("alice"),
            format!("Caused by: {head}\n>   assert {head}\n at f (src/{head}.rs:1)"),
        ));
        story.set_head(head);
        story.snapshot.review_threads.items = vec![ReviewThread {
            answer,
            ..thread(outage, head)
        }];
        story.snapshot.evidence = vec![evidence(sha(head), &[], &["rounds"])];
        let decision = story.decide();
        assert_eq!(blame(decision, BOT), Some(Blame::PrCode));
        assert_eq!(
            decision.action,
            NextAction::Retry {
                attempt: u32::from(head)
            }
        );
    }
    assert_eq!(
        story.state.attempts.failures.count, 2,
        "one error, whatever was answered"
    );
}

#[test]
fn a_flood_of_threads_is_counted_and_one_that_was_not_read_to_its_end_holds() {
    let mut story = reviewed(Severity::Fail);
    let findings: Vec<String> = (0..300)
        .map(|nth| format!("The name {} is wrong.", "x".repeat(nth + 1)))
        .collect();
    let findings: Vec<&str> = findings.iter().map(String::as_str).collect();
    let decision = round(&mut story, 1, &findings);
    let CheckStanding::Done(found) = standing(decision, BOT) else {
        panic!("it has findings")
    };
    assert_eq!((found.failures.len(), found.failures_not_kept), (200, 100));
    story.snapshot.review_threads.items.clear();
    story.snapshot.review_threads.is_complete = false;
    review(&mut story, AccountKind::Bot, "Done.");
    assert!(matches!(
        standing(story.decide(), BOT),
        CheckStanding::Refused { .. }
    ));
}
