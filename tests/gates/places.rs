//! Where it stands.

use crate::kit::*;
use loopgate_core::observed::ReviewVerdict;

/// Where a phrase may be an example, it does not count.
#[test]
fn where_it_may_be_an_example() {
    for (body, place) in [
        ("> security approved", "a quote"),
        ("> > security approved", "a quote"),
        ("> Is it fine?\nsecurity approved", "a quote"),
        (
            "On 20 Nov 2026, Bob wrote:\n\nsecurity approved",
            "a quoted e-mail",
        ),
        ("```\nsecurity approved\n```", "code"),
        ("    security approved", "code"),
        ("`security approved`", "code"),
        ("# security approved", "a heading"),
        (
            "[\nsee this\n](https://example.com)security approved",
            "a link",
        ),
        ("[x\n](https://example.com) security approved", "a link"),
        ("[security approved](https://example.com)", "a link"),
        ("[\n](https://example.com)security approved", "a link"),
        ("![security approved](x.png)", "an image's description"),
        ("| a |\n|---|\n| security approved |", "a table"),
        ("<!-- security approved -->", "an HTML comment"),
        (
            "```suggestion\nsecurity approved\n```",
            "a suggestion block",
        ),
        ("~~security approved~~", "struck-through text"),
        ("- [x] security approved", "a task-list item"),
        (
            "<details><summary>Review</summary>\n\nsecurity approved\n\n</details>",
            "a closed details block",
        ),
    ] {
        let mut talk = Talk::opened();
        talk.says("alice", body);
        let told = format!(
            "😕 alice’s comment does not count: it stands in {place}, where it may be an example. Write `security \
             approved` as plain text."
        );
        talk.is(Closed, &told);
    }
}

#[test]
fn a_plain_paragraph_in_an_opened_details_block_counts() {
    let mut talk = Talk::opened();
    talk.says(
        "alice",
        "<details open><summary>Review</summary>\n\nsecurity approved\n\n</details>",
    );
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn a_list_item_counts() {
    let mut talk = Talk::opened();
    talk.says("alice", "- looks good\n- security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn in_the_pull_requests_description() {
    let mut talk = Talk::opened();
    talk.snapshot.pull_request.body = "security approved".into();
    talk.look();
    talk.is(Closed, "");
}

#[test]
fn in_a_commit_message() {
    let mut talk = Talk::opened();
    talk.commits(Some("author"), Some("author"), "security approved")
        .look();
    talk.is(Closed, "");
}

#[test]
fn in_the_body_of_a_review_counts_as_a_comment_does() {
    let mut talk = Talk::opened();
    talk.reviews("alice", ReviewVerdict::Commented, "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn an_approving_review_where_comments_are_asked_for() {
    let mut talk = Talk::opened();
    talk.reviews("alice", ReviewVerdict::Approved, "");
    talk.is(
        Closed,
        "😕 alice’s review does not count: this gate takes a comment: write `security approved` on a line of its own.",
    );
}

#[test]
fn a_comment_where_a_review_is_asked_for() {
    let mut talk = Talk::under(&CONFIG.replace("approvers:", "approve_by: [review], approvers:"));
    talk.says("alice", "security approved");
    talk.is(
        Closed,
        "😕 alice’s comment does not count: this gate takes a review: *Files changed*, *Review changes*, *Approve*.",
    );
}

#[test]
fn edited_into_an_approval_by_its_author() {
    let mut talk = Talk::opened();
    talk.says("alice", "Nice.");
    talk.comment().body = "security approved".into();
    talk.comment().updated_at = at(9);
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was edited, and what was edited opens nothing. If it is still meant, \
         alice can comment `security approved` anew.",
    );
}

#[test]
fn edited_into_an_approval_by_another() {
    let mut talk = Talk::opened();
    let comment = talk.writes("alice", "Nice.");
    talk.look();
    talk.comment().body = "security approved".into();
    talk.edited(comment, "author");
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: somebody else edited it, who cannot speak for alice. If it is still \
         meant, alice can comment `security approved` anew.",
    );
}

#[test]
fn edited_after_counting() {
    // By somebody else: a warning besides.
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    talk.comment().body = "security approved\n\nand everything else".into();
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was edited, and what was edited opens nothing. If it is still meant, \
         alice can comment `security approved` anew.",
    );
    let warning =
        "A [comment](https://github.com/c) of alice that had counted was changed afterwards.";
    assert!(talk.status().contains(warning), "{}", talk.status());
    // By the writer: said, and no warning.
    let mut talk = Talk::opened();
    let comment = talk.writes("alice", "security approved");
    talk.look();
    talk.comment().body = "Security approved".into();
    talk.edited(comment, "alice");
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it was edited, and what was edited opens nothing. If it is still meant, \
         alice can comment `security approved` anew.",
    );
    assert!(
        !talk.status().contains("changed afterwards"),
        "{}",
        talk.status()
    );
}

#[test]
fn deleted() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    talk.snapshot.comments.items.clear();
    talk.look();
    talk.is(Closed, "");
}

#[test]
fn hidden_by_a_moderator() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    talk.comment().is_hidden = true;
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment does not count: a moderator has hidden it. If it is still meant, alice can comment \
         `security approved` anew.",
    );
}

/// What somebody said against the gate stands whatever is done to the comment, and nobody is told that it does not.
#[test]
fn a_rejection_that_is_hidden_or_edited_by_another() {
    for hide in [true, false] {
        let mut talk = Talk::opened();
        let comment = talk.writes("alice", "security rejected");
        talk.look();
        if hide {
            talk.comment().is_hidden = true;
        } else {
            talk.comment().body = "security approved".into();
            talk.edited(comment, "author");
        }
        for _ in 0..2 {
            talk.look();
            talk.is(
                Rejected,
                "❌ **security** rejected by alice: “security rejected”",
            );
        }
    }
    // Before anybody read it, it is no word; its writer is told how to say it again.
    for (body, again) in [
        ("security rejected", "rejected"),
        ("/revoke security", "approval revoked"),
    ] {
        let mut talk = Talk::opened();
        talk.writes("alice", body);
        talk.comment().is_hidden = true;
        talk.look();
        talk.is(
            Closed,
            &format!(
                "😕 alice’s comment does not count: a moderator has hidden it. If it is still meant, alice can comment \
                 `security {again}` anew."
            ),
        );
    }
}
