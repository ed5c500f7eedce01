//! What is said, and where.

use super::super::world::*;
use crate::{
    concerns::gates::{Inside, PhraseProblem, Refusal, WordOutcome},
    observed::{Account, Actor, Hint, Lifecycle, ReviewVerdict},
    policy::{ApproveBy, ChecklistMode, GateTrigger},
    state::GateStatus,
};

fn actor(name: &str) -> Actor {
    let Account { id, login, .. } = account(name);
    Actor { id, login }
}

#[test]
fn an_approval_that_does_not_stand_in_plain_words_is_a_near_miss() {
    for (body, inside) in [
        ("> security approved", "a quote"),
        ("> > security approved", "a quote"),
        ("> what about it?\nsecurity approved", "a quote"),
        ("```\nsecurity approved\n```", "code"),
        ("    security approved", "code"),
        ("`security approved`", "code"),
        ("# security approved", "a heading"),
        ("[security approved](https://example.com)", "a link"),
        ("![security approved](x.png)", "an image's description"),
        ("|a|\n|-|\n|security approved|", "a table"),
        ("<!-- security approved -->", "an HTML comment"),
        (
            "```suggestion\nsecurity approved\n```",
            "a suggestion block",
        ),
        ("~~security approved~~", "struck-through text"),
        (
            "<details>\n\nsecurity approved\n\n</details>",
            "a closed details block",
        ),
        ("- [ ] security approved", "a task-list item"),
        (
            "On 20/11/2026 10:00, Bob wrote:\n\nsecurity approved",
            "a quoted e-mail",
        ),
    ] {
        let mut world = World::new();
        world.comment("alice", body);
        let problem = PhraseProblem::NotPlainText {
            inside: Inside::of_word(inside).unwrap(),
        };
        assert_eq!(world.refusal(), Refusal::Phrase(problem), "{body}");
        assert!(!world.is_approved(), "{body}");
    }
}

#[test]
fn a_plain_paragraph_in_an_opened_details_block_counts() {
    let mut world = World::new();
    world.comment(
        "alice",
        "<details open><summary>Review</summary>\n\nsecurity approved\n\n</details>",
    );
    assert!(world.is_approved());
}

#[test]
fn sentences_about_approving_are_near_misses() {
    use PhraseProblem::*;
    for (body, problem) in [
        ("security approved?", Wording),
        ("Is security approved", Wording),
        ("not security approved", Wording),
        ("security not approved", Wording),
        ("I don't think security is approved", Wording),
        ("security approved once CI is green", Wording),
        ("security approved if the tests pass", Wording),
        ("security will be approved", Wording),
        ("security approved tomorrow", Wording),
        ("security approved, nice work", Wording),
        ("approved security", Wording),
        ("security approve", Wording),
        ("sеcurity approved", Lookalike),
        ("security appr\u{200b}oved", Lookalike),
        ("ｓｅｃｕｒｉｔｙ ａｐｐｒｏｖｅｄ", Lookalike),
        ("\u{202e}security approved", Lookalike),
        ("security approved 0123456", ShortSha),
        ("security approved 👎", Wording),
    ] {
        let mut world = World::new();
        world.comment("alice", body);
        assert_eq!(world.refusal(), Refusal::Phrase(problem), "{body}");
        assert!(!world.is_approved(), "{body}");
    }
}

#[test]
fn an_unknown_gate_is_answered_beside_the_nearest() {
    let mut world = World::new();
    world.comment("alice", "secruity approved");
    let nearest = Some(gate("security"));
    let problem = PhraseProblem::UnknownGate {
        named: "secruity".into(),
        nearest,
    };
    assert_eq!(world.refusal(), Refusal::Phrase(problem));
    world.comment("alice", "payments approved");
    world.comment("alice", "approved");
    assert_eq!(world.assess().unmatched.len(), 2);
}

#[test]
fn blanks_ends_and_case_do_not_matter() {
    for body in [
        "security approved   ",
        "\tSECURITY   APPROVED\t".trim_start(),
        "security approved\r\nthanks\r\n",
        "security\u{a0}approved",
        "security approved 🎉",
        "security approved :rocket:",
        "- security approved",
        "1. *security* approved.",
        "@loopgate security approved!",
        "/approve security",
        "Fine by me.\nsecurity approved\nThanks",
    ] {
        let mut world = World::new();
        world.comment("alice", body);
        assert!(world.is_approved(), "{body:?}");
    }
}

#[test]
fn two_gates_in_one_comment() {
    let mut world = World::new();
    world.policy.gates.insert(
        gate("database"),
        gate_policy(GateTrigger::Always, &["alice"]),
    );
    world.clock = 5;
    world.reconcile();
    world.clock = 10;
    world.comment("alice", "security approved\ndatabase approved");
    assert!(world.is_approved());
    assert_eq!(world.report_of("database").status, GateStatus::Approved);
    world.comment("alice", "/revoke security");
    assert!(!world.is_approved());
    world.comment("alice", "/approve security database");
    assert!(world.is_approved());
}

#[test]
fn of_approve_and_reject_in_one_comment_the_last_line_wins() {
    let mut world = World::new();
    world.comment(
        "alice",
        "security approved\n\nNo, wait.\n\nsecurity rejected",
    );
    assert!(world.is_rejected());
    world.comment("alice", "security rejected\nsecurity approved");
    assert!(world.is_approved());
}

#[test]
fn edited_comments_do_not_count() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.last_comment().updated_at = minute(30);
    assert_eq!(world.refusal(), Refusal::Edited);
}

#[test]
fn an_edit_told_by_an_event_counts_as_one_within_the_same_second() {
    let mut world = World::new();
    let comment = world.comment("alice", "security approved");
    world.snapshot.hints.push(Hint::CommentEdited {
        comment,
        by: actor("author"),
        at: minute(1),
    });
    assert_eq!(world.refusal(), Refusal::EditedByAnother);
}

#[test]
fn what_an_event_told_is_not_forgotten() {
    let mut world = World::new();
    let comment = world.comment("alice", "security approved");
    world.snapshot.hints.push(Hint::CommentEdited {
        comment,
        by: actor("author"),
        at: minute(1),
    });
    world.reconcile();
    assert_eq!(world.refusal(), Refusal::EditedByAnother);
    // A review's text has no time of change at all. Its verdict is not its text.
    world.gate().approve_by = ApproveBy::CommentOrReview;
    let review = world
        .review("bob", ReviewVerdict::Commented, "security approved")
        .id;
    world.snapshot.hints.push(Hint::ReviewEdited {
        review,
        by: actor("author"),
    });
    world.reconcile();
    assert_eq!(world.refusal(), Refusal::EditedByAnother);
    let review = world.review("bob", ReviewVerdict::Approved, "fine").id;
    world.snapshot.hints.push(Hint::ReviewEdited {
        review,
        by: actor("bob"),
    });
    assert!(world.is_approved());
}

#[test]
fn a_counted_comment_that_reads_differently_is_tampering() {
    let mut world = World::new();
    let comment = world.comment("alice", "security approved");
    assert_eq!(world.reconcile().tampered, []);
    world.last_comment().body = "security approved\n\nand everything else".into();
    assert_eq!(world.refusal(), Refusal::Edited);
    let tampered = world.assess().tampered;
    assert_eq!(tampered.len(), 1);
    assert_eq!(
        (tampered[0].comment, &tampered[0].by.login),
        (comment, &login("alice"))
    );
    // The record of what counted stays, so that the warning does.
    world.reconcile();
    assert_eq!(world.assess().tampered.len(), 1);
    assert_eq!(world.assess().tampered[0].changed_by, None, "nobody told");
    world.snapshot.hints.push(Hint::CommentEdited {
        comment,
        by: actor("mallory"),
        at: minute(3),
    });
    assert_eq!(
        world.assess().tampered[0].changed_by,
        Some(login("mallory"))
    );
}

#[test]
fn an_own_edit_of_a_counted_comment_is_no_tampering_and_does_not_count() {
    let mut world = World::new();
    let comment = world.comment("alice", "security approved");
    world.reconcile();
    world.last_comment().body = "Security approved".into();
    world.snapshot.hints.push(Hint::CommentEdited {
        comment,
        by: actor("alice"),
        at: minute(3),
    });
    assert_eq!(world.refusal(), Refusal::Edited);
    assert_eq!(world.reconcile().tampered, []);
    // Nor when the event is no longer at hand.
    assert_eq!(world.refusal(), Refusal::Edited);
    assert_eq!(world.assess().tampered, []);
}

#[test]
fn deleting_or_hiding_a_comment_withdraws_the_approval() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.reconcile();
    world.last_comment().is_hidden = true;
    assert_eq!(world.refusal(), Refusal::Hidden);
    world.snapshot.comments.items.clear();
    assert!(!world.is_approved());
    assert!(world.report().considered.is_empty() && world.report().counted.is_empty());
}

#[test]
fn words_in_the_description_or_a_commit_message_are_not_read() {
    let mut world = World::new();
    world.snapshot.pull_request.body = "security approved".into();
    world.snapshot.commits.items[0].message = "security approved".into();
    assert!(world.report().considered.is_empty());
}

#[test]
fn nothing_counts_on_a_closed_pull_request() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.snapshot.pull_request.lifecycle = Lifecycle::Closed;
    assert_eq!(world.refusal(), Refusal::NotOpen);
    assert!(!world.is_approved());
}

#[test]
fn after_the_merge_only_what_was_said_before_it_counts() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.snapshot.pull_request.lifecycle = Lifecycle::Merged {
        by: None,
        at: Some(minute(2)),
    };
    assert!(world.is_approved());
    world.snapshot.comments.items.clear();
    world.clock = 5;
    world.comment("alice", "security approved");
    assert_eq!(world.refusal(), Refusal::NotOpen);
}

#[test]
fn approvals_count_on_drafts() {
    let mut world = World::new();
    world.snapshot.pull_request.is_draft = true;
    world.comment("alice", "security approved");
    assert!(world.is_approved());
}

#[test]
fn a_gate_that_takes_reviews_takes_no_comment() {
    let mut world = World::new();
    world.gate().approve_by = ApproveBy::Review;
    world.comment("alice", "security approved");
    assert_eq!(
        world.refusal(),
        Refusal::WrongChannel { wants_review: true }
    );
    world.review("alice", ReviewVerdict::Approved, "");
    assert!(world.is_approved());
    // A comment in the wrong channel does not take the review back.
    world.comment("alice", "security approved");
    assert!(world.is_approved());
    // A rejection counts in every place where it is written.
    world.comment("bob", "security rejected");
    assert!(world.is_rejected());
}

#[test]
fn a_gate_that_takes_comments_takes_no_review_verdict() {
    let mut world = World::new();
    world.review("carol", ReviewVerdict::Approved, "");
    world.review("bob", ReviewVerdict::ChangesRequested, "");
    assert!(
        world.report().considered.is_empty(),
        "reviews are not about gates"
    );
    // An approver who approves in a review believes to have approved.
    world.review("alice", ReviewVerdict::Approved, "");
    assert_eq!(
        world.refusal(),
        Refusal::WrongChannel {
            wants_review: false
        }
    );
    assert!(!world.is_approved());
    // It takes no rejection back either.
    world.comment("alice", "security rejected");
    world.review("alice", ReviewVerdict::Approved, "");
    assert!(world.is_rejected());
    world.comment("alice", "/revoke security");
    // But a review's body may say the phrase.
    world.review("alice", ReviewVerdict::Commented, "security approved");
    assert!(world.is_approved());
}

#[test]
fn approve_then_request_changes_then_dismissal_stays_unapproved() {
    let mut world = World::new();
    world.gate().approve_by = ApproveBy::Review;
    world.review("alice", ReviewVerdict::Approved, "");
    assert!(world.is_approved());
    world.review("alice", ReviewVerdict::ChangesRequested, "no");
    assert!(world.is_rejected());
    world.snapshot.reviews.items.last_mut().unwrap().verdict = ReviewVerdict::Dismissed;
    assert!(!world.is_approved() && !world.is_rejected());
    world.review("alice", ReviewVerdict::Approved, "");
    assert!(world.is_approved());
}

#[test]
fn a_dismissed_review_counts_for_nothing() {
    let mut world = World::new();
    world.gate().approve_by = ApproveBy::CommentOrReview;
    world.review("alice", ReviewVerdict::Dismissed, "security approved");
    assert!(!world.is_approved());
}

#[test]
fn a_required_checklist_must_be_ticked_by_approvers() {
    let mut world = World::new();
    world.gate().checklist = ChecklistMode::Required;
    world.comment("alice", "security approved");
    assert_eq!(world.refusal(), Refusal::ChecklistMissing);
    // Anybody can write the marker; only our own comment is the checklist.
    world.comment("author", "<!-- loopgate:gate:security:9 -->\n- [x] all");
    assert_eq!(
        world.outcome(),
        WordOutcome::Refused(Refusal::ChecklistMissing)
    );
    let id = world.snapshot.app.bot_id.unwrap();
    world.comment(
        "loopgate[bot]",
        "<!-- loopgate:gate:security:1 -->\n- [x] threats\n- [ ] secrets\n- [ ] logs",
    );
    world.last_comment().author.id = id;
    assert_eq!(
        world.refusal(),
        Refusal::ChecklistOpen { open: 3 },
        "not even the one that we are said to have ticked"
    );
    let altered = |world: &World| world.report().request_altered;
    assert!(altered(&world), "that box is to be put back");

    let request = world.last_comment().id;
    let edit = |world: &mut World, by: &str, body: &str| {
        world.clock += 1;
        let at = minute(world.clock);
        let comment = world
            .snapshot
            .comments
            .items
            .iter_mut()
            .find(|comment| comment.id == request)
            .unwrap();
        (comment.body, comment.updated_at) =
            (format!("<!-- loopgate:gate:security:1 -->\n{body}"), at);
        world.snapshot.hints.push(Hint::CommentEdited {
            comment: request,
            by: actor(by),
            at,
        });
        world.reconcile();
    };
    // The author ticks all, or deletes them.
    edit(
        &mut world,
        "author",
        "- [x] threats\n- [x] secrets\n- [x] logs",
    );
    assert_eq!(world.refusal(), Refusal::ChecklistOpen { open: 3 });
    edit(&mut world, "author", "");
    assert_eq!(world.refusal(), Refusal::ChecklistOpen { open: 3 });
    assert!(altered(&world), "boxes that are gone come back");
    edit(
        &mut world,
        "alice",
        "- [x] threats\n- [ ] secrets\n- [x] logs",
    );
    assert_eq!(world.refusal(), Refusal::ChecklistOpen { open: 1 });
    assert!(!altered(&world), "it is hers to tick");
    edit(
        &mut world,
        "author",
        "- [x] threats\n- [x] secrets\n- [x] logs",
    );
    assert_eq!(world.refusal(), Refusal::ChecklistOpen { open: 1 });
    edit(
        &mut world,
        "bob",
        "- [x] threats\n- [x] secrets\n- [x] logs",
    );
    assert!(world.is_approved());
    world.reconcile();
    assert!(world.is_approved(), "also at the next look");
    world.comment(
        "loopgate[bot]",
        "<!-- loopgate:gate:security:2 -->\n- [ ] again",
    );
    world.last_comment().author.id = id;
    assert_eq!(world.refusal(), Refusal::ChecklistOpen { open: 3 });
}

#[test]
fn comments_that_could_not_all_be_read_close() {
    for listing in ["comments", "reviews"] {
        let mut world = World::new();
        world.comment("alice", "security approved");
        match listing {
            "comments" => world.snapshot.comments.is_complete = false,
            _ => world.snapshot.reviews.is_complete = false,
        }
        assert_eq!(
            world.refusal(),
            Refusal::NotAllRead {
                what: format!("the {listing}")
            }
        );
    }
}

#[test]
fn labels_never_approve() {
    let mut world = World::new();
    world.snapshot.pull_request.labels = ["security approved", "needs:security-review"]
        .map(String::from)
        .into();
    assert!(!world.is_approved());
}

#[test]
fn three_thousand_comments_are_read() {
    let mut world = World::new();
    for _ in 0..3_000 {
        world.comment("outsider", "What a nice change.");
    }
    world.comment("alice", "security approved");
    assert!(world.is_approved());
}
