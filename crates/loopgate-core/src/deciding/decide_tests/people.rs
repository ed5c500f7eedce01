//! What waits for people, and what they say.

use super::*;
use crate::observed::{Permission, Writer};

#[test]
fn capabilities_that_remain_hold_without_failing_anything() {
    let mut story = Story::opened();
    story.snapshot.pull_request.body = "## Capabilities\n- [x] up\n- [ ] down\n".to_owned();
    let decision = story.push(1, &[], &["rounds"]);
    assert_eq!(
        decision.action,
        NextAction::WaitForPush {
            capability: "down".to_owned()
        }
    );
    assert_eq!(decision.view.stage, Stage::Implement);
    assert_eq!(decision.surface.verify, Some(CheckRunPlan::InProgress));
}

#[test]
fn capabilities_are_shown_or_not_read_as_the_policy_says() {
    use crate::policy::CapabilityMode::{Off, Report};
    for (mode, total) in [(Report, 2), (Off, 0)] {
        let mut story = Story::opened();
        story.policy.retry.capabilities = mode;
        story.snapshot.pull_request.body = "## Capabilities\n- [x] up\n- [ ] down\n".to_owned();
        let decision = story.push(1, &[], &["rounds"]);
        assert_eq!(decision.action, NextAction::WaitForMerge, "{mode:?}");
        assert_eq!(decision.view.capabilities.total, total, "{mode:?}");
    }
}

#[test]
fn a_draft_waits_to_be_ready_with_green_verification() {
    let mut story = Story::opened();
    story.snapshot.pull_request.is_draft = true;
    let decision = story.push(1, &[], &["rounds"]);
    assert_eq!(decision.action, NextAction::WaitForReady);
    assert_eq!(decision.view.held_by, Some(Blocker::Draft));
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Success))
    );
}

#[test]
fn required_approvals_are_waited_for() {
    let mut story = Story::opened();
    story.snapshot.required_approvals = 1;
    assert_eq!(
        story.push(1, &[], &["rounds"]).action,
        NextAction::WaitForReview
    );
    assert_eq!(
        story.last.unwrap().view.held_by,
        Some(Blocker::Review { have: 0, need: 1 })
    );
}

/// Where nothing but the gate is missing.
fn gated() -> Story {
    let mut story = Story::opened();
    story.policy.gates = [("design".parse().unwrap(), gate(Stage::Validate))].into();
    story.snapshot.authority.logins = [(2, "bob"), (3, "carol")]
        .map(|(id, name)| (login(name), Ok(person(id, name))))
        .into();
    story
}

#[test]
fn a_rejected_gate_costs_one_attempt_until_the_rejecter_is_content() {
    let mut story = gated();
    story.push(1, &[], &["rounds"]);
    let decision = story.comment("bob", "/reject design Use the vault");
    assert_eq!(decision.action, NextAction::Retry { attempt: 1 });
    assert_eq!(decision.view.stage, Stage::Implement);
    assert_eq!(
        decision.surface.verify,
        Some(CheckRunPlan::Completed(Conclusion::Success)),
        "the evidence is good"
    );
    let objected = |item: &FeedbackFact| matches!(item, FeedbackFact::Objection { words, .. } if words == "Use the vault");
    assert!(
        decision.view.feedback.iter().any(objected),
        "{:?}",
        decision.view.feedback
    );
    assert_eq!(
        (
            story.state.attempts.failures.count,
            story.state.attempts.failures.total
        ),
        (1, 1)
    );
    assert!(story.state.people.blocked.is_none(), "it is not blocked");

    // The same words cost no further attempt, whatever is pushed; new ones do.
    story.push(2, &[], &["rounds"]);
    assert_eq!(
        story.last.as_ref().unwrap().action,
        NextAction::Retry { attempt: 2 }
    );
    assert_eq!(
        (
            story.state.attempts.failures.count,
            story.state.attempts.failures.total
        ),
        (0, 1)
    );
    story.comment("bob", "/reject design Still not the vault");
    assert_eq!(
        (
            story.state.attempts.failures.count,
            story.state.attempts.failures.total
        ),
        (2, 2)
    );
    assert_eq!(
        story.comment("bob", "/approve design").action,
        NextAction::WaitForMerge
    );
    assert_eq!(
        story.state.attempts.failures.total, 1,
        "taken back before the next push, it cost nothing"
    );
}

#[test]
fn the_third_rejection_in_a_row_calls_a_human() {
    let mut story = gated();
    for head in 1..=3 {
        story.push(head, &[], &["rounds"]);
        story.comment("bob", &format!("/reject design no {head}"));
    }
    assert_eq!(
        story.last.as_ref().unwrap().action,
        NextAction::Escalate {
            cause: Trigger::SameError
        }
    );
    let last = "bob rejected the design gate".to_owned();
    assert_eq!(
        cause(story.last.as_ref().unwrap()),
        Cause::SameError { attempts: 3, last }
    );
}

#[test]
fn requested_changes_cost_an_attempt_and_escalate_at_once_where_they_are_not_retried() {
    let mut story = Story::opened();
    story.snapshot.required_approvals = 1;
    story.push(1, &[], &["rounds"]);
    assert_eq!(
        story
            .review(ReviewVerdict::ChangesRequested, "Name it")
            .action,
        NextAction::Retry { attempt: 1 }
    );
    assert_eq!(story.state.attempts.failures.count, 1);
    assert_eq!(
        story.review(ReviewVerdict::Approved, "").action,
        NextAction::WaitForMerge
    );

    let mut story = Story::opened();
    story.snapshot.required_approvals = 1;
    story.policy.retry.auto_retry_on_review_reject = false;
    story.push(1, &[], &["rounds"]);
    story.review(ReviewVerdict::ChangesRequested, "Name it");
    let decision = story.last.as_ref().unwrap();
    assert_eq!(
        decision.action,
        NextAction::Escalate {
            cause: Trigger::MaxAttemptsReached
        }
    );
    let reason = AttemptsEnd::Rejected {
        last: "bob asked for changes".to_owned(),
    };
    assert_eq!(cause(decision), Cause::MaxAttemptsReached { reason });
}

#[test]
fn weakened_tests_call_a_human_and_only_somebody_else_accepts_them() {
    let mut story = Story::opened();
    weaken(&mut story);
    story.set_head(1);
    assert!(
        matches!(story.decide().action, NextAction::WaitForEvidence { .. }),
        "the tests may pass as they were"
    );
    let decision = story.push(1, &[], &["parses"]);
    assert_eq!(
        decision.action,
        NextAction::Escalate {
            cause: Trigger::Tampering
        }
    );
    assert_eq!(
        decision.view.tampering.len(),
        1,
        "{:?}",
        decision.view.tampering
    );
    let Cause::Tampering { first, more: 0 } = cause(decision) else {
        panic!("{:?}", cause(decision))
    };
    assert_eq!(first.deed, "the test “rounds” is removed");
    let weakened = "checks pass, but tests or thresholds were weakened";
    assert_eq!(decision.next.attempts.counted[0].summary, weakened);

    // A passing push does not lift it, nor a word without responsibility, nor the author's.
    assert_eq!(
        story.push(2, &[], &["parses"]).action,
        NextAction::WaitForHuman {
            cause: Trigger::Tampering
        }
    );
    for (who, words) in [
        ("bob", "/loop resume"),
        ("alice", "/loop resume --accept tampering"),
    ] {
        assert_eq!(
            story.comment(who, words).action,
            NextAction::WaitForHuman {
                cause: Trigger::Tampering
            },
            "{who}"
        );
    }
    // Nor that of somebody who pushed a part of it, under whatever name its commits are. A merge of the base is none.
    let pushed = |content| {
        vec![Push {
            by: person(2, "bob"),
            content,
        }]
    };
    story.snapshot.makers.pushes = pushed(PushContent::Own);
    let by_pusher = story.comment("bob", "/loop resume --accept tampering");
    assert_eq!(
        by_pusher.action,
        NextAction::WaitForHuman {
            cause: Trigger::Tampering
        }
    );
    story.snapshot.makers.pushes = pushed(PushContent::Merged);
    let accepted = story.comment("bob", "/loop resume --accept tampering");
    assert_eq!(accepted.action, NextAction::WaitForMerge);
    assert_eq!(accepted.view.tampering.len(), 1, "it is still shown");
    let said =
        "all required checks pass; bob accepted that tests/round.rs: the test “rounds” is removed";
    assert_eq!(accepted.next.attempts.counted[1].summary, said);
    let later = story.push(3, &[], &["parses"]).clone();
    assert_eq!(
        later.action,
        NextAction::WaitForMerge,
        "accepted is accepted"
    );
    assert!(
        later.next.attempts.counted[2].weakened
            && later.next.attempts.counted[2]
                .summary
                .contains("bob accepted that")
    );
    assert_eq!(
        later.next.attempts.best(),
        None,
        "each of them weakens the tests"
    );
    let line = later.memory_line(&story.snapshot).expect("a line");
    assert!(line.weakened, "it teaches nothing");

    // If only the author has write access, the author accepts it, unless an agent is the author.
    let alone = |agents: &[&str], writers: &[u64]| {
        let mut story = Story::opened();
        weaken(&mut story);
        let writer = |id: &u64| {
            let account = person(*id, &format!("writer-{id}"));
            let permission = Permission::Write;
            (
                account.id,
                Writer {
                    account,
                    permission,
                },
            )
        };
        story.snapshot.authority.writers = Some(writers.iter().map(writer).collect());
        story.policy.coding_agents = agents.iter().map(|name| login(name)).collect();
        story.push(1, &[], &["parses"]);
        story
            .comment("alice", "/loop resume --accept tampering")
            .action
            .clone()
    };
    assert_eq!(alone(&[], &[1]), NextAction::WaitForMerge);
    let waits = NextAction::WaitForHuman {
        cause: Trigger::Tampering,
    };
    assert_eq!(
        [alone(&[], &[1, 2]), alone(&["alice"], &[1])],
        [waits.clone(), waits]
    );

    // Something else that is weakened was not accepted.
    let ChangedFiles::Complete(files) = &mut story.snapshot.files else {
        panic!("complete")
    };
    files[1].patch = Some("@@ -1,1 +1,2 @@\n+#[ignore]\n #[test]".to_owned());
    assert_eq!(
        story.decide().action,
        NextAction::Escalate {
            cause: Trigger::Tampering
        }
    );
}

#[test]
fn what_was_put_back_needs_nobody_to_accept_it() {
    let mut story = Story::opened();
    weaken(&mut story);
    story.push(1, &[], &["parses"]);
    story.touch("tests/round.rs", "new");
    let passing = story.push(2, &[], &["rounds", "parses"]).action.clone();
    assert_eq!(
        passing,
        NextAction::WaitForHuman {
            cause: Trigger::Tampering
        },
        "it takes a person's word"
    );
    assert_eq!(
        story.comment("bob", "/loop resume").action,
        NextAction::WaitForMerge
    );
    assert!(story.state.people.accepted.is_empty());
}
