//! Rejections, revocations and dismissals.

use super::super::world::*;
use crate::{
    concerns::gates::{PhraseProblem, Refusal, WordOutcome},
    observed::{Actor, ChangedFiles, Commit, Hint, Permission, ReviewVerdict, Standing},
    policy::ApproveBy,
    state::{ClosedPeriod, GateStatus, Objection},
};

#[test]
fn any_approvers_rejection_blocks_other_approvals() {
    let mut world = World::new();
    world.comment("bob", "security changes requested\n\nThe token is logged.");
    world.comment("alice", "security approved");
    let Some(Objection { by, words, .. }) = world.report().rejection().cloned() else {
        panic!("not rejected")
    };
    assert_eq!(by, login("bob"));
    assert!(words.contains("The token is logged."));
}

#[test]
fn the_rejecter_lifts_it_by_approving_or_revoking() {
    for word in [
        "security approved",
        "/revoke security",
        "security approval revoked",
    ] {
        let mut world = World::new();
        world.comment("bob", "/reject security the token is logged");
        world.comment("alice", "security approved");
        assert!(world.is_rejected());
        world.comment("bob", word);
        assert!(world.is_approved(), "{word}");
    }
}

#[test]
fn nobody_else_lifts_it() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    world.comment("alice", "/revoke security");
    world.comment("alice", "security approved");
    world.comment("maintainer", "/revoke security");
    assert!(world.is_rejected());
}

#[test]
fn a_maintainer_dismisses_it() {
    let mut world = World::new();
    let rejection = world.comment("bob", "security rejected");
    world.comment("alice", "security approved");
    world.comment(
        "maintainer",
        "/dismiss security @Bob on holiday, agreed by phone",
    );
    assert!(world.is_approved());
    assert_eq!(world.outcome_of(rejection), WordOutcome::Superseded);
    // It ends what was said, not what will be.
    world.comment("bob", "security rejected");
    assert!(world.is_rejected());
}

#[test]
fn only_a_maintainer_dismisses() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    world.comment("alice", "/dismiss security @bob nonsense");
    assert_eq!(world.refusal(), Refusal::NeedsMaintain);
    world.comment("author", "/dismiss security @bob nonsense");
    assert_eq!(world.refusal(), Refusal::IsAuthor { only_hope: false });
    world.comment("maintainer", "/dismiss security @alice nonsense");
    assert_eq!(
        world.refusal(),
        Refusal::NothingToDismiss { of: login("alice") }
    );
    assert!(world.is_rejected());
}

#[test]
fn two_reviewers_revoking_take_back_only_their_own_words() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.comment("bob", "security approved");
    world.comment("alice", "/revoke security");
    assert!(world.is_approved());
    assert_eq!(world.report().approvals[0].by, login("bob"));
    world.comment("bob", "security approval revoked");
    assert!(!world.is_approved() && !world.is_rejected());
}

#[test]
fn an_outsiders_rejection_does_not_block() {
    let mut world = World::new();
    world.comment("outsider", "security rejected");
    assert_eq!(world.refusal(), Refusal::NotAnApprover);
    world.comment("alice", "security approved");
    assert!(world.is_approved());
}

#[test]
fn a_rejection_by_somebody_who_could_not_be_looked_up_keeps_the_gate_closed() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    world.comment("alice", "security approved");
    world
        .snapshot
        .authority
        .people
        .insert(account("bob").id, Standing::Unknown("timeout".into()));
    assert_eq!(world.report().status, GateStatus::Requested);
}

#[test]
fn deleting_hiding_or_editing_a_rejection_does_not_lift_it() {
    for silence in ["delete", "hide", "edit"] {
        let mut world = World::new();
        let rejection = world.comment("bob", "security rejected");
        world.comment("alice", "security approved");
        world.reconcile();
        let comments = &mut world.snapshot.comments.items;
        match silence {
            "delete" => comments.retain(|comment| comment.id != rejection),
            "hide" => comments[0].is_hidden = true,
            _ => {
                comments[0].body = "security approved".into();
                comments[0].updated_at = minute(9);
            }
        }
        assert!(world.is_rejected(), "{silence}");
        world.reconcile();
        assert!(world.is_rejected(), "{silence}");
        // Bob's own word, or a maintainer's, still ends it.
        world.comment("bob", "security approved");
        assert!(world.is_approved(), "{silence}");
        world.snapshot.comments.items.pop();
        world.comment("maintainer", "/dismiss security @bob settled");
        assert!(world.is_approved(), "{silence}");
    }
}

#[test]
fn an_objection_outlasts_a_time_in_which_the_gate_does_not_apply() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    world.reconcile();
    let files = std::mem::replace(
        &mut world.snapshot.files,
        ChangedFiles::Complete(Vec::new()),
    );
    world.snapshot.comments.items.clear();
    assert_eq!(world.reconcile().gates[0].status, GateStatus::NotApplicable);
    world.snapshot.files = files;
    assert!(world.is_rejected());
}

#[test]
fn naming_the_rejecter_as_co_author_does_not_silence_them() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    world.snapshot.commits.items.push(Commit {
        author: Some(account("bob")),
        ..world.snapshot.commits.items[0].clone()
    });
    world.comment("alice", "security approved");
    assert!(world.is_rejected());
    world.comment("bob", "/revoke security");
    assert!(world.is_approved());
}

#[test]
fn an_approval_that_went_stale_has_lifted_the_rejection() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    world.comment("bob", "security approved");
    world.push(2, "let a = 2;");
    assert_eq!(world.report().status, GateStatus::Requested);
}

#[test]
fn a_rejection_stands_through_pushes() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    world.push(2, "let a = 2;");
    assert!(world.is_rejected());
}

#[test]
fn an_edited_or_hidden_dismissal_is_none() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    world.knows("carol", Permission::Admin);
    world.comment("carol", "/dismiss security @bob settled");
    assert!(!world.is_rejected());
    world.last_comment().updated_at = minute(9);
    assert_eq!(world.refusal(), Refusal::Edited);
    assert!(world.is_rejected());
}

#[test]
fn of_two_words_in_one_second_the_later_counts_also_when_the_first_is_gone() {
    for (second, rejected) in [
        ("security approved", false),
        ("/revoke security", false),
        ("thanks", true),
    ] {
        let mut world = World::new();
        world.comment("bob", "security rejected");
        world.comment("alice", "security approved");
        world.reconcile();
        world.comment("bob", second);
        let (rejection, answer) = (minute(1), world.last_comment());
        (answer.created_at, answer.updated_at) = (rejection, rejection);
        world.snapshot.comments.items.remove(0);
        assert_eq!(world.is_rejected(), rejected, "{second}");
    }
}

/// GitHub's times are full seconds: of two comments in one second the one with the higher number is the later.
#[test]
fn an_approval_in_the_same_second_ends_a_rejection_also_when_that_is_deleted() {
    for (order, approved) in [
        (["security rejected", "security approved"], true),
        (["security approved", "security rejected"], false),
    ] {
        let mut world = World::new();
        let first = world.comment("bob", order[0]);
        let second = world.comment("bob", order[1]);
        let rejection = if approved { first } else { second };
        let at = world.snapshot.comments.items[0].created_at;
        for comment in &mut world.snapshot.comments.items {
            (comment.created_at, comment.updated_at) = (at, at);
        }
        world.reconcile();
        assert_eq!(
            (world.is_approved(), world.is_rejected()),
            (approved, !approved),
            "{order:?}"
        );
        // Remembered from a look between the two, then deleted.
        let answer = world.snapshot.comments.items.pop().unwrap();
        world.reconcile();
        world.snapshot.comments.items.push(answer);
        world
            .snapshot
            .comments
            .items
            .retain(|comment| comment.id != rejection);
        assert_eq!(world.is_rejected(), !approved, "{order:?}");
    }
}

#[test]
fn deleting_hiding_or_editing_a_revocation_does_not_bring_the_approval_back() {
    for silence in ["delete", "hide", "edit"] {
        let mut world = World::new();
        world.comment("alice", "security approved");
        world.reconcile();
        let revocation = world.comment("alice", "security approval revoked");
        world.reconcile();
        assert!(!world.is_approved());
        let comments = &mut world.snapshot.comments.items;
        match silence {
            "delete" => comments.retain(|comment| comment.id != revocation),
            "hide" => comments[1].is_hidden = true,
            _ => {
                comments[1].body = "Never mind.".into();
                comments[1].updated_at = minute(9);
            }
        }
        for _ in 0..3 {
            assert!(!world.is_approved(), "{silence}");
            world.reconcile();
        }
        // Only she approves anew.
        world.comment("alice", "security approved");
        assert!(world.is_approved(), "{silence}");
    }
}

#[test]
fn who_has_approved_nothing_is_told_what_stops_a_gate() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    let idle = world.comment("bob", "I found a hole.\nsecurity approval revoked");
    assert_eq!(
        world.outcome_of(idle),
        WordOutcome::Refused(Refusal::NothingToRevoke)
    );
    let outsiders = world.comment("outsider", "/revoke security");
    assert_eq!(
        world.outcome_of(outsiders),
        WordOutcome::Refused(Refusal::NothingToRevoke)
    );
    assert!(world.is_approved());
    let own = world.comment("alice", "/revoke security");
    assert_eq!(world.outcome_of(own), WordOutcome::Counted);
    world.reconcile();
    let kept = world.state.concerns.gates[&gate("security")]
        .revocations
        .iter()
        .map(|revocation| revocation.by_id);
    assert!(
        kept.eq([account("bob").id, account("alice").id]),
        "what strangers write is not kept"
    );
    for (word, counts) in [(own, true), (idle, false)] {
        assert_eq!(
            world.outcome_of(word) == WordOutcome::Counted,
            counts,
            "also at the next look"
        );
    }
}

#[test]
fn an_edit_that_closes_counts_as_of_the_edit() {
    for (typo, meant) in [
        ("security rejectd", "security rejected"),
        ("approval revokd", "security approval revoked"),
    ] {
        let mut world = World::new();
        let mended = world.comment("bob", typo);
        world.comment("bob", "security approved");
        world.reconcile();
        assert!(world.is_approved(), "{typo}");
        world.clock += 1;
        let edited_at = minute(world.clock);
        let comment = world
            .snapshot
            .comments
            .items
            .iter_mut()
            .find(|comment| comment.id == mended)
            .unwrap();
        (comment.body, comment.updated_at) = (meant.into(), edited_at);
        assert!(!world.is_approved(), "{meant}");
        world.reconcile();
        world
            .snapshot
            .comments
            .items
            .retain(|comment| comment.id != mended);
        assert!(!world.is_approved(), "{meant}, deleted");
        world.comment("bob", "security approved");
        assert!(world.is_approved(), "{meant}, approved anew");
    }
}

#[test]
fn an_edit_by_somebody_else_closes_nothing() {
    let mut world = World::new();
    let edited = world.comment("bob", "security, hm");
    world.comment("bob", "security approved");
    world.reconcile();
    let by = Actor {
        id: account("maintainer").id,
        login: login("maintainer"),
    };
    world.snapshot.hints.push(Hint::CommentEdited {
        comment: edited,
        by,
        at: minute(9),
    });
    (
        world.snapshot.comments.items[0].body,
        world.snapshot.comments.items[0].updated_at,
    ) = ("security rejected".into(), minute(9));
    for _ in 0..2 {
        assert!(world.is_approved());
        world.reconcile();
    }
}

#[test]
fn dismissing_a_review_ends_its_rejection_only_by_who_may_dismiss() {
    for (by, ends) in [("alice", false), ("maintainer", true), ("author", false)] {
        let mut world = World::new();
        world.gate().approve_by = ApproveBy::CommentOrReview;
        let review = world
            .review(
                "bob",
                ReviewVerdict::ChangesRequested,
                "The token is logged.",
            )
            .id;
        world.comment("alice", "security approved");
        world.reconcile();
        assert!(world.is_rejected());
        world.snapshot.reviews.items[0].verdict = ReviewVerdict::Dismissed;
        assert!(world.is_rejected(), "nobody knows by whom");
        world.snapshot.dismissed_by.insert(review, account(by));
        assert_eq!(world.is_rejected(), !ends, "{by}");
        assert_eq!(world.is_approved(), ends, "{by}");
    }
}

#[test]
fn a_review_that_asks_for_changes_approves_nothing() {
    for approve_by in [ApproveBy::Comment, ApproveBy::CommentOrReview] {
        let mut world = World::new();
        world.gate().approve_by = approve_by;
        world.review("bob", ReviewVerdict::ChangesRequested, "security approved");
        assert!(!world.is_approved());
        assert_eq!(
            world.refusal(),
            Refusal::Phrase(PhraseProblem::AgainstReview)
        );
        // The other way round the word that closes counts.
        let mut world = World::new();
        world.gate().approve_by = ApproveBy::CommentOrReview;
        world.review("bob", ReviewVerdict::Approved, "security rejected");
        assert!(world.is_rejected());
    }
}

#[test]
fn a_rejecter_who_lost_their_rights_still_blocks() {
    let mut world = World::new();
    world.comment("bob", "security rejected");
    world.comment("alice", "security approved");
    world.reconcile();
    world
        .snapshot
        .authority
        .people
        .insert(account("bob").id, Standing::Gone);
    world.gate().approvers.users.remove(&login("bob"));
    for _ in 0..2 {
        assert!(world.is_rejected());
        world.reconcile();
    }
    world.comment("maintainer", "/dismiss security @bob left");
    assert!(world.is_approved());
}

#[test]
fn while_it_was_closed_nothing_opens_and_what_closes_does() {
    let mut world = World::new();
    let early = world.comment("alice", "security approved");
    world.clock += 1;
    world.state.run.closed_periods.push(ClosedPeriod {
        from: minute(world.clock),
        to: Some(minute(world.clock + 3)),
    });
    world.comment("bob", "security approved");
    assert_eq!(world.refusal(), Refusal::WhileClosed);
    assert_eq!(world.outcome_of(early), WordOutcome::Counted);
    world.comment("alice", "security approval revoked");
    assert!(!world.is_approved());
    world.clock += 5;
    world.comment("bob", "security approved");
    assert!(world.is_approved());
}
