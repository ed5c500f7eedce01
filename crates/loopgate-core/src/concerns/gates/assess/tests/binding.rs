//! What an approval is bound to.

use std::collections::BTreeSet;

use chrono::TimeDelta;

use super::super::world::*;
use crate::{
    concerns::gates::{Refusal, WordOutcome},
    observed::{ChangedFiles, Content, FilesToRead, Hint, ReviewVerdict},
    policy::{ApproveBy, InvalidateOnPush},
};

#[test]
fn a_push_that_touches_the_gate_invalidates() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.push(2, "let a = 2;");
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
    world.reconcile();
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
    world.clock += 1;
    world.comment("alice", "security approved");
    assert!(world.is_approved());
    assert_eq!(world.report().approvals[0].head, sha(2));
}

#[test]
fn a_push_that_does_not_touch_the_gate_keeps_the_approval() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.push(2, "let a = 1;");
    let ChangedFiles::Complete(files) = &mut world.snapshot.files else {
        unreachable!()
    };
    files.push(file("README.md", "@@ -1 +1 @@\n+words"));
    assert!(world.is_approved());
}

#[test]
fn a_rebase_or_base_merge_that_leaves_the_gates_diff_keeps_the_approval() {
    for (name, texts, stands) in [
        (
            "the base changed elsewhere",
            ["a\nb\n", "a\nx\nb\n", "a\nb\n", "a\nx\nb\n"],
            true,
        ),
        (
            "the base changed the file",
            ["a\nb\nc\n", "a\nx\nb\nc\n", "a\nb\nC\n", "a\nx\nb\nC\n"],
            true,
        ),
        (
            "one line more came along",
            ["a\nb\nc\n", "a\nx\nb\nc\n", "a\nb\nC\n", "a\nx\nb\nC\ny\n"],
            false,
        ),
        // The same patch, at the other end of a file that repeats itself.
        (
            "put elsewhere",
            [
                "f\nb\ng\nb\n",
                "f\nx\nb\ng\nb\n",
                "f\nb\ng\nb\n",
                "f\nb\ng\nx\nb\n",
            ],
            false,
        ),
        (
            "a conflict was decided",
            ["a\nb\n", "a\nx\n", "a\ny\n", "a\nx\n"],
            false,
        ),
        (
            "the base's part was dropped",
            ["a\nb\nc\n", "a\nx\nb\nc\n", "a\nb\nC\n", "a\nx\nb\nc\n"],
            false,
        ),
    ] {
        let mut world = World::new();
        world.comment("alice", "security approved");
        world.rebase(2, texts);
        assert_eq!(world.is_approved(), stands, "{name}");
        if !stands {
            assert_eq!(
                world.refusal(),
                Refusal::DiffChanged { seen: sha(1) },
                "{name}"
            );
        }
        world.reconcile();
        assert_eq!(world.is_approved(), stands, "{name}");
    }
}

#[test]
fn what_was_not_read_is_asked_for_and_closed_until_then() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.rebase(
        2,
        ["a\nb\nc\n", "a\nx\nb\nc\n", "a\nb\nC\n", "a\nx\nb\nC\n"],
    );
    let contents = std::mem::take(&mut world.snapshot.contents);
    let Refusal::DiffUnread { seen, missing } = world.refusal() else {
        panic!("{:?}", world.refusal())
    };
    assert_eq!(
        (seen, missing.entries.len(), missing.texts.len()),
        (sha(1), 4, 0),
        "first where the files stand"
    );
    for (commit, path) in missing.entries {
        let entry = contents.entry(commit, &path).unwrap();
        world
            .snapshot
            .contents
            .entries
            .insert((commit, path), entry);
    }
    let Refusal::DiffUnread { missing, .. } = world.refusal() else {
        panic!("{:?}", world.refusal())
    };
    assert_eq!(
        (missing.entries.len(), missing.texts.len()),
        (0, 4),
        "then what stands in them"
    );
    for file in &missing.texts {
        world
            .snapshot
            .contents
            .texts
            .insert(file.clone(), Content::Unreadable);
    }
    let Refusal::DiffUnread { missing, .. } = world.refusal() else {
        panic!("{:?}", world.refusal())
    };
    assert_eq!(
        missing,
        FilesToRead::default(),
        "it was read, and is no text"
    );
    world.snapshot.contents = contents;
    assert!(world.is_approved());
}

#[test]
fn a_head_younger_than_a_minute_asks_again_unless_it_is_named() {
    let after_push = |seconds: i64, line: &str, words: &str| {
        let mut world = World::new();
        world.push(2, line);
        world.reconcile();
        world.comment("alice", words);
        let written = minute(1) + TimeDelta::seconds(seconds);
        (
            world.last_comment().created_at,
            world.last_comment().updated_at,
        ) = (written, written);
        world.clock = 9;
        world
    };
    let young = after_push(59, "steal();", "security approved");
    assert_eq!(young.refusal(), Refusal::HeadTooYoung { head: sha(2) });
    assert!(after_push(60, "let a = 2;", "security approved").is_approved());
    assert!(
        after_push(2, "let a = 2;", &format!("security approved {}", sha(2))).is_approved(),
        "it is named"
    );
    assert!(
        after_push(2, "let a = 1;", "security approved").is_approved(),
        "the gate's own diff is that of before"
    );
    let mut first = World::new();
    first.comment("alice", "security approved");
    let written = minute(0) + TimeDelta::seconds(5);
    (
        first.last_comment().created_at,
        first.last_comment().updated_at,
    ) = (written, written);
    assert!(first.is_approved(), "there was no head before");
}

#[test]
fn a_record_of_before_contents_were_compared_holds_for_the_same_head_alone() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    let old = world.state.head.sightings.last_mut().unwrap();
    old.merge_base = None;
    old.gates
        .values_mut()
        .for_each(|digest| *digest = "0".repeat(64));
    world.reconcile();
    assert!(world.is_approved());
    world.push(2, "let a = 1;");
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
}

#[test]
fn a_push_between_typing_and_processing_inherits_nothing() {
    let mut world = World::new();
    world.clock = 5;
    // Alice reads head 1 and writes; the push lands before anything is processed.
    world.comment("alice", "security approved");
    world.push(2, "steal();");
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
    // Nor when the push is seen first and the comment was created before it.
    world.snapshot.comments.items.clear();
    world.reconcile();
    world.comment("alice", "security approved");
    world.last_comment().created_at = minute(5);
    world.last_comment().updated_at = minute(5);
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
}

#[test]
fn back_dated_commits_gain_nothing() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.push(2, "steal();");
    // GitHub has known the commit from another branch since before the approval.
    world.snapshot.pull_request.head.known_since = Some(minute(-60));
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
    // The same when the event was lost.
    world.snapshot.hints.clear();
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
}

#[test]
fn with_events_lost_the_servers_own_time_serves() {
    let mut world = World::new();
    world.push(2, "let a = 2;");
    world.snapshot.hints.clear();
    world.snapshot.pull_request.head.known_since = Some(minute(3));
    world.clock = 5;
    world.comment("alice", "security approved");
    world.clock = 60;
    assert!(world.is_approved());
}

#[test]
fn nothing_was_seen_before_the_comment() {
    let mut world = World::new();
    world.state.head.sightings.clear();
    world.snapshot.pull_request.head.known_since = None;
    world.comment("alice", "security approved");
    assert_eq!(world.refusal(), Refusal::NoHeadSeenBefore);
}

#[test]
fn force_pushing_back_to_what_was_approved_makes_it_valid_again() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.push(2, "let a = 2;");
    world.reconcile();
    assert!(!world.is_approved());
    world.push(1, "let a = 1;");
    assert!(world.is_approved());
    // And a word said while head 2 stood there stays with head 2.
    world.comment("bob", "security approved");
    world.last_comment().created_at = minute(2);
    world.last_comment().updated_at = minute(2);
    let heads: Vec<_> = world
        .state
        .head
        .sightings
        .iter()
        .map(|seen| seen.sha)
        .collect();
    assert_eq!(heads, [sha(1), sha(2)]);
}

#[test]
fn a_full_commit_id_binds_to_it() {
    let mut world = World::new();
    world.push(2, "let a = 2;");
    world.reconcile();
    world.comment("alice", &format!("security approved {}", sha(2)));
    assert!(world.is_approved());
    world.comment("alice", &format!("security approved {}", sha(9)));
    assert_eq!(world.refusal(), Refusal::OtherCommit { named: sha(9) });
    world.comment("alice", &format!("security approved {}", sha(1)));
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
    world.comment("bob", &format!("/approve security {}", sha(2)));
    assert!(world.is_approved());
}

#[test]
fn any_push_invalidates_where_the_policy_says_any() {
    let mut world = World::new();
    world.gate().invalidate_on_push = InvalidateOnPush::Any;
    world.comment("alice", "security approved");
    assert!(world.is_approved());
    world.push(2, "let a = 1;");
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
}

#[test]
fn no_push_invalidates_where_the_policy_says_never() {
    let mut world = World::new();
    world.gate().invalidate_on_push = InvalidateOnPush::Never;
    world.comment("alice", "security approved");
    world.push(2, "let a = 2;");
    assert!(world.is_approved());
}

#[test]
fn an_approval_before_the_trigger_appeared_does_not_count() {
    for mode in [
        InvalidateOnPush::Matching,
        InvalidateOnPush::Any,
        InvalidateOnPush::Never,
    ] {
        let mut world = World::new();
        world.gate().invalidate_on_push = mode;
        world.push(2, "");
        world.snapshot.files =
            ChangedFiles::Complete(vec![file("README.md", "@@ -1 +1 @@\n+words")]);
        world.reconcile();
        world.comment("alice", "security approved");
        assert_eq!(world.refusal(), Refusal::NotTriggered);
        world.push(3, "steal();");
        assert_eq!(world.refusal(), Refusal::BeforeTrigger { seen: sha(2) });
    }
}

#[test]
fn reverting_the_files_withdraws_the_gate() {
    let mut world = World::new();
    world.snapshot.files = ChangedFiles::Complete(vec![file("README.md", "@@ -1 +1 @@\n+words")]);
    let report = world.report();
    assert_eq!(report.status.as_str(), "not_applicable");
    assert!(report.matches.is_empty() && report.fingerprint.is_empty());
}

#[test]
fn an_approval_of_a_gate_that_went_away_needs_no_answer() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.reconcile();
    world.snapshot.files = ChangedFiles::Complete(Vec::new());
    assert_eq!(world.outcome(), WordOutcome::Superseded);
    world.comment("bob", "security approved");
    assert_eq!(world.refusal(), Refusal::NotTriggered);
}

#[test]
fn retargeting_derives_the_gate_again() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.snapshot.pull_request.base.branch = "release".into();
    world.clock = 5;
    world.reconcile();
    assert_eq!(
        world.refusal(),
        Refusal::BaseChanged {
            seen: "main".into()
        }
    );
    world.clock = 10;
    world.comment("bob", "security approved");
    assert!(world.is_approved());
    // Back on main, what was said about main holds again, and what was said about release does not.
    world.snapshot.pull_request.base.branch = "main".into();
    world.clock = 15;
    world.reconcile();
    assert_eq!(
        world.refusal(),
        Refusal::BaseChanged {
            seen: "release".into()
        }
    );
    assert_eq!(world.report().approvals[0].by, login("alice"));
}

#[test]
fn a_renamed_base_voids_no_approval() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    let base = &mut world.snapshot.pull_request.base;
    base.branch = "trunk".into();
    base.earlier_names = BTreeSet::from(["main".into()]);
    world.reconcile();
    assert!(world.is_approved());
    // Another branch, that once had another name.
    world.snapshot.pull_request.base.earlier_names = BTreeSet::from(["next".into()]);
    assert_eq!(
        world.refusal(),
        Refusal::BaseChanged {
            seen: "main".into()
        }
    );
}

#[test]
fn a_renamed_file_is_another_diff() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.push(2, "let a = 1;");
    let ChangedFiles::Complete(files) = &mut world.snapshot.files else {
        unreachable!()
    };
    files[0].previous_path = Some(std::mem::replace(
        &mut files[0].path,
        "src/public.rs".into(),
    ));
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
}

#[test]
fn event_and_api_disagreeing_about_the_head_stay_closed() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.snapshot.hints.push(Hint::HeadSeen {
        sha: sha(2),
        at: minute(2),
    });
    assert_eq!(world.refusal(), Refusal::HeadUnsettled);
}

#[test]
fn a_list_of_files_that_is_not_whole_is_stale_with_every_push() {
    let mut world = World::new();
    let files = vec![auth_file("let a = 1;")];
    world.snapshot.files = ChangedFiles::TooLarge {
        known: files.clone(),
        reason: "more than 3,000 files".into(),
    };
    world.clock = 3;
    world.reconcile();
    world.clock = 5;
    world.comment("alice", "security approved");
    assert!(world.is_approved());
    world.push(2, "");
    world.snapshot.files = ChangedFiles::TooLarge {
        known: files,
        reason: "more than 3,000 files".into(),
    };
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
}

#[test]
fn a_review_is_bound_to_its_commit() {
    let mut world = World::new();
    world.gate().approve_by = ApproveBy::Review;
    world.review("alice", ReviewVerdict::Approved, "");
    world.push(2, "let a = 1;");
    assert!(world.is_approved(), "the gate's diff is what it was");
    world.push(3, "let a = 3;");
    assert_eq!(world.refusal(), Refusal::ReviewStale { seen: Some(sha(1)) });
    world.review("alice", ReviewVerdict::Approved, "").commit = None;
    assert_eq!(world.refusal(), Refusal::ReviewStale { seen: None });
    world.review("alice", ReviewVerdict::Approved, "");
    assert!(world.is_approved());
}

#[test]
fn a_phrase_in_a_review_is_bound_to_the_reviews_commit() {
    let mut world = World::new();
    world.push(2, "steal();");
    world.reconcile();
    world
        .review("alice", ReviewVerdict::Commented, "security approved")
        .commit = Some(sha(1));
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
    world.review("alice", ReviewVerdict::Commented, "security approved");
    assert!(world.is_approved());
}

#[test]
fn a_record_without_the_gate_is_not_believed() {
    let mut world = World::new();
    world.state.head.sightings = vec![seen(1, 0)];
    world.clock = 3;
    world.comment("alice", "security approved");
    assert_eq!(world.refusal(), Refusal::BeforeTrigger { seen: sha(1) });
}

#[test]
fn a_comment_delivered_twice_or_late_changes_nothing() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    let first = world.reconcile();
    world.clock = 5_000;
    let again = world.assess();
    assert_eq!(first.gates[0].status, again.gates[0].status);
    assert_eq!(again.sighting, None);
}

/// The patch of a change reads alike in another function: only the file's contents distinguish the two.
#[test]
fn an_approved_patch_that_is_put_elsewhere_invalidates() {
    let mut world = World::new();
    world.comment("alice", "security approved");
    world.push(2, "let a = 1;");
    assert!(world.is_approved());
    let ChangedFiles::Complete(files) = &mut world.snapshot.files else {
        unreachable!()
    };
    files[0].blob = Some(sha(99));
    assert_eq!(world.refusal(), Refusal::DiffChanged { seen: sha(1) });
}
