//! Z: a failure that is not theirs to mend.

use super::*;
use crate::{
    concerns::escalation::Question,
    evidence::SourceLocation,
    ids::FailureId,
    policy::Recipient,
    state::{DisputeEnd, Settlement},
};

/// Alice's head fails by `rounds`, and bob may maintain.
fn failing() -> (Story, FailureId) {
    let mut story = Story::opened();
    story.snapshot.authority.logins = [(2, "bob"), (3, "carol")]
        .map(|(id, name)| (login(name), Ok(person(id, name))))
        .into();
    let id = push(&mut story, 1, &["rounds"], &[]).view.failures[0].cause;
    (story, id)
}

/// A head whose tests stand in a file of the pull request.
fn push<'s>(story: &'s mut Story, head: u8, failing: &[&str], passing: &[&str]) -> &'s Decision {
    story.set_head(head);
    story.decide();
    let mut found = evidence(sha(head), failing, passing);
    if let ReceivedEvidence::Accepted(evidence) = &mut found {
        let failures = evidence
            .checks
            .iter_mut()
            .flat_map(|check| &mut check.failures);
        failures.for_each(|failure| failure.test_file = Some("tests/round.rs".to_owned()));
    }
    story.snapshot.evidence = vec![found];
    story.decide()
}

fn end(story: &Story) -> Option<&DisputeEnd> {
    story.state.concerns.disputes.last().unwrap().end.as_ref()
}

#[test]
fn a_dispute_waits_for_one_word_and_spends_no_attempt() {
    let (mut story, id) = failing();
    assert_eq!(story.state.attempts.failures.count, 1);
    let decision = story.comment(
        "alice",
        &format!("/loop dispute {id} it rounds down, as agreed"),
    );
    assert_eq!(
        decision.action,
        NextAction::Escalate {
            cause: Trigger::Disputed
        }
    );
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::ActionRequired))
    );
    let question = &decision.view.escalation.as_ref().unwrap().question;
    assert!(
        matches!(question, Question::Disputed { dispute, .. } if dispute.reason == "it rounds down, as agreed")
    );
    assert_eq!(
        (
            story.state.attempts.failures.count,
            story.state.attempts.failures.total
        ),
        (0, 0),
        "it spends no attempt"
    );
    // Neither a resume nor the same failure on another head ends it.
    story.comment("bob", "/loop resume");
    assert_eq!(
        answer(&story),
        &AnswerOutcome::Refused(CommandRefusal::NeedsSettling { failure: id })
    );
    for head in 2..=6 {
        let decision = push(&mut story, head, &["rounds"], &[]);
        assert_eq!(
            decision.action,
            NextAction::WaitForHuman {
                cause: Trigger::Disputed
            },
            "{head}"
        );
    }
    assert_eq!(story.state.attempts.failures.total, 0);
    // Another failure beside it is the author's.
    push(&mut story, 7, &["rounds", "adds"], &[]);
    assert_eq!(story.state.attempts.failures.total, 1);
    let decision = story.comment("bob", "/loop settle test");
    assert_eq!(
        decision.action,
        NextAction::Retry { attempt: 7 },
        "a new streak"
    );
    assert!(matches!(
        end(&story),
        Some(DisputeEnd::Settled {
            outcome: Settlement::Test,
            ..
        })
    ));
    // The same is not disputed twice.
    story.comment("alice", &format!("/loop dispute {id} but really"));
    let settled = CommandRefusal::SettledBefore {
        failure: id,
        outcome: Settlement::Test,
        by: login("bob"),
    };
    assert_eq!(answer(&story), &AnswerOutcome::Refused(settled));
}

#[test]
fn who_disputes_and_who_settles() {
    let (mut story, id) = failing();
    for (who, refusal) in [
        ("carol", CommandRefusal::NeedsAuthorOrWrite),
        ("bob", CommandRefusal::NoSuchFailure { failure: other() }),
    ] {
        let named = if who == "bob" { other() } else { id };
        story.comment(who, &format!("/loop dispute {named} no"));
        assert_eq!(answer(&story), &AnswerOutcome::Refused(refusal), "{who}");
    }
    story.comment(
        "alice",
        &format!("/loop dispute {id} not_mine main fails too"),
    );
    for (who, refusal) in [
        ("alice", CommandRefusal::NeedsSettler { failure: id }),
        ("carol", CommandRefusal::NeedsWrite),
    ] {
        story.comment(who, "/loop settle code");
        assert_eq!(answer(&story), &AnswerOutcome::Refused(refusal), "{who}");
    }
    // An owner of the test's file may, with write; who is called follows from that.
    story
        .snapshot
        .authority
        .people
        .get_mut(&UserId::new(2))
        .unwrap()
        .clone_from(&Standing::Known {
            permission: Permission::Write,
            teams: [].into(),
        });
    story.comment("bob", "/loop settle code");
    assert_eq!(
        answer(&story),
        &AnswerOutcome::Refused(CommandRefusal::NeedsSettler { failure: id })
    );
    story.snapshot.codeowners = Some("tests/ @bob".into());
    let recipients = story
        .decide()
        .view
        .escalation
        .as_ref()
        .unwrap()
        .recipients
        .clone();
    assert_eq!(recipients, [Recipient::User(login("bob"))].into());
    story.comment(
        "bob",
        &format!("/loop settle {id} neither round half to even"),
    );
    let outcome = Settlement::Neither("round half to even".into());
    assert_eq!(
        answer(&story),
        &AnswerOutcome::Settled {
            failure: id,
            outcome
        }
    );
    story.comment("bob", "/loop settle code");
    assert_eq!(
        answer(&story),
        &AnswerOutcome::Refused(CommandRefusal::NothingToSettle)
    );
}

fn other() -> FailureId {
    "00000001".parse().unwrap()
}

#[test]
fn a_push_ends_it_only_if_the_failure_is_gone_and_the_test_is_as_it_was() {
    let (mut story, id) = failing();
    story.comment("alice", &format!("/loop dispute {id} it is wrong"));
    // The failure is gone because the test was edited: that is for a person to judge.
    story.touch("tests/round.rs", "assert_eq!(round(1.5), 1);");
    let decision = push(&mut story, 2, &[], &["rounds"]);
    assert_eq!(
        decision.action,
        NextAction::WaitForHuman {
            cause: Trigger::Disputed
        }
    );
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::ActionRequired)),
        "never green"
    );
    story.touch("tests/round.rs", "new");
    let decision = push(&mut story, 3, &[], &["rounds"]);
    assert_eq!(
        decision.word(),
        DecisionWord::Proceed,
        "{:?}",
        decision.action
    );
    assert!(matches!(end(&story), Some(DisputeEnd::Mended { .. })));
}

#[test]
fn the_last_committer_of_the_test_is_called_and_settles() {
    let (mut story, id) = failing();
    let rights = |story: &mut Story, of: u64, permission| {
        let standing = Standing::Known {
            permission,
            teams: [].into(),
        };
        story
            .snapshot
            .authority
            .people
            .insert(UserId::new(of), standing);
    };
    story.snapshot.codeowners = Some("tests/ @bob".into());
    rights(&mut story, 2, Permission::Write);
    story.snapshot.test_authors = [("tests/round.rs".to_owned(), person(3, "carol"))].into();
    story.comment("alice", &format!("/loop dispute {id} it is wrong"));
    let called = |story: &mut Story| {
        story
            .decide()
            .view
            .escalation
            .as_ref()
            .unwrap()
            .recipients
            .clone()
    };
    // Who may not write any more is not called, nor who has a part in the change.
    assert_eq!(called(&mut story), [Recipient::User(login("bob"))].into());
    rights(&mut story, 3, Permission::Write);
    assert_eq!(called(&mut story), [Recipient::User(login("carol"))].into());
    story.snapshot.test_authors = [(
        "tests/round.rs".to_owned(),
        story.snapshot.pull_request.author.clone(),
    )]
    .into();
    assert_eq!(called(&mut story), [Recipient::User(login("bob"))].into());
    story.snapshot.test_authors = [("tests/round.rs".to_owned(), person(3, "carol"))].into();
    story.comment("bob", "/loop settle test");
    assert_eq!(
        answer(&story),
        &AnswerOutcome::Refused(CommandRefusal::NeedsSettler { failure: id })
    );
    story.comment("carol", "/loop settle test");
    assert_eq!(
        answer(&story),
        &AnswerOutcome::Settled {
            failure: id,
            outcome: Settlement::Test
        }
    );
}

#[test]
fn a_test_beside_what_it_tests_is_not_edited_away() {
    let (mut story, _) = failing();
    story.touch("src/lib.rs", "fn round() { 1 }");
    push(&mut story, 2, &["rounds"], &[]);
    for received in &mut story.snapshot.evidence {
        let ReceivedEvidence::Accepted(evidence) = received else {
            panic!("accepted")
        };
        for failure in evidence
            .checks
            .iter_mut()
            .flat_map(|check| &mut check.failures)
        {
            failure.test_file = None;
            failure.source = Some(SourceLocation {
                file: "src/lib.rs".into(),
                line: Some(9),
                function: None,
            });
        }
    }
    let id = story.decide().view.failures[0].cause;
    story.comment("alice", &format!("/loop dispute {id} it is wrong"));
    story.touch("src/lib.rs", "assert_eq!(round(1.5), 1);");
    let decision = push(&mut story, 3, &[], &["rounds"]).clone();
    assert_eq!(
        decision.action,
        NextAction::WaitForHuman {
            cause: Trigger::Disputed
        },
        "{:?}",
        story.state.concerns.disputes
    );
}

#[test]
fn what_the_change_does_to_a_test_is_meant_as_it_was_settled() {
    let (mut story, id) = failing();
    let weaken = |story: &mut Story, lines: &str| {
        let ChangedFiles::Complete(files) = &mut story.snapshot.files else {
            panic!("complete")
        };
        let file = files
            .iter_mut()
            .find(|file| file.path == "tests/round.rs")
            .unwrap();
        file.patch = Some(format!(
            "@@ -2,3 +2 @@ fn rounds() {{\n{lines}+    let _ = 1;"
        ));
    };
    story.comment("alice", &format!("/loop dispute {id} it is wrong"));
    weaken(&mut story, "-    assert_eq!(round(1.5), 2);\n");
    let decision = push(&mut story, 2, &["rounds"], &[]);
    assert_eq!(
        decision.view.tampering.len(),
        1,
        "{:?}",
        decision.view.tampering
    );
    story.comment("bob", "/loop settle code");
    let decision = story.decide();
    assert!(
        !matches!(
            decision.action,
            NextAction::Escalate { .. } | NextAction::WaitForHuman { .. }
        ),
        "{:?}",
        decision.action
    );
    weaken(
        &mut story,
        "-    assert_eq!(round(1.5), 2);\n-    assert_eq!(round(2.5), 3);\n",
    );
    assert_eq!(
        push(&mut story, 3, &["rounds"], &[]).action,
        NextAction::Escalate {
            cause: Trigger::Tampering
        }
    );
}

#[test]
fn three_disputes_of_a_run_call_a_person_for_that() {
    let (mut story, _) = failing();
    for (head, test) in (2..).zip(["adds", "sinks", "floats"]) {
        let id = push(&mut story, head, &[test], &[]).view.failures[0].cause;
        assert_eq!(
            story
                .comment("alice", &format!("/loop dispute {id} no"))
                .action,
            NextAction::Escalate {
                cause: Trigger::Disputed
            }
        );
        story.comment("bob", "/loop settle test");
    }
    assert_eq!(
        story.last.as_ref().unwrap().action,
        NextAction::Escalate {
            cause: Trigger::AmbiguousRequirement
        }
    );
    assert_eq!(
        story.comment("bob", "/loop resume").action,
        NextAction::Retry { attempt: 4 }
    );
    story.decide();
    assert!(
        story.state.people.blocked.is_none(),
        "the resume answers all three"
    );
}

#[test]
fn a_commit_may_say_so() {
    let (mut story, id) = failing();
    story.set_head(2);
    let author = story.snapshot.pull_request.author.clone();
    story.snapshot.commits.items = vec![commit_by(
        &author,
        sha(2),
        &format!("Try\n\nLoopgate-Dispute: {id} impossible no clock here"),
    )];
    assert!(
        story.decide().next.concerns.disputes.is_empty(),
        "nothing is known of the head yet"
    );
    let decision = push(&mut story, 2, &["rounds"], &[]);
    assert_eq!(
        decision.action,
        NextAction::Escalate {
            cause: Trigger::Disputed
        }
    );
    assert_eq!(decision.next.concerns.disputes.len(), 1);
    story.decide();
    assert_eq!(story.state.concerns.disputes.len(), 1, "once");
}
