//! Several words, of one person and of several.

use loopgate_core::observed::{Permission, ReviewVerdict};

use crate::kit::*;

const TWO: &str = "\
version: 1
gates:
  architecture: off
  external: off
  deploy: off
  database: { when: { always: true }, approvers: { users: [alice] } }
  security: { when: { always: true }, approvers: { users: [alice, bob] } }
";

#[test]
fn two_gates_in_one_comment() {
    let mut talk = Talk::under(TWO);
    talk.says("alice", "security approved\ndatabase approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
    talk.gate(
        "database",
        Approved,
        "✅ **database** approved by alice on `01010101`.",
    );
    talk.says("alice", "/revoke security");
    talk.is(Closed, "");
    talk.gate(
        "database",
        Approved,
        "✅ **database** approved by alice on `01010101`.",
    );
}

#[test]
fn approve_and_reject_in_one_comment() {
    let mut talk = Talk::opened();
    talk.says(
        "alice",
        "security approved\n\nNo, wait.\n\nsecurity rejected",
    );
    talk.is(
        Rejected,
        "❌ **security** rejected by alice: “security approved No, wait. security rejected”",
    );
    talk.says("alice", "security rejected\nsecurity approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}

#[test]
fn approve_by_one_reject_by_another_dismissal_by_a_maintainer() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved")
        .says("bob", "/reject security The token is logged.");
    talk.is(
        Rejected,
        "❌ **security** rejected by bob: “The token is logged.”",
    );
    talk.says("alice", "/dismiss security @bob nonsense");
    talk.is(
        Rejected,
        "❌ **security** rejected by bob: “The token is logged.”\n\
         😕 alice’s comment does not count: ending somebody else’s rejection takes maintain access, which alice has \
         not.",
    );
    talk.says("maintainer", "/dismiss security @bob settled by phone");
    talk.is(
        Approved,
        "✅ **security** approved by alice on `01010101`.\n\
         😕 alice’s comment does not count: ending somebody else’s rejection takes maintain access, which alice has \
         not.",
    );
}

#[test]
fn the_rejecter_approves() {
    let mut talk = Talk::opened();
    talk.says("bob", "security changes requested")
        .says("alice", "security approved");
    talk.is(
        Rejected,
        "❌ **security** rejected by bob: “security changes requested”",
    );
    talk.says("bob", "security approved");
    talk.is(
        Approved,
        "✅ **security** approved by alice on `01010101` and bob on `01010101`.",
    );
}

#[test]
fn two_reviewers_revoking_each_other() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved")
        .says("bob", "/revoke security");
    talk.is(
        Approved,
        "✅ **security** approved by alice on `01010101`.\n😕 bob’s comment does not count: bob has approved nothing here \
         that could be taken back. To stop it, write `security rejected`.",
    );
    talk.says("bob", "security rejected")
        .says("alice", "/revoke security");
    talk.is(
        Rejected,
        "❌ **security** rejected by bob: “security rejected”",
    );
    talk.says("bob", "/revoke security");
    talk.is(Closed, "");
}

#[test]
fn a_review_that_asks_for_changes_and_is_dismissed() {
    let mut talk = Talk::under(&CONFIG.replace("approvers:", "approve_by: [review], approvers:"));
    talk.reviews("alice", ReviewVerdict::Approved, "").reviews(
        "alice",
        ReviewVerdict::ChangesRequested,
        "no",
    );
    talk.is(Rejected, "❌ **security** rejected by alice: “no”");
    // By whom counts: dismissing takes write, and ending a rejection maintain.
    let review = &mut talk.snapshot.reviews.items[1];
    review.verdict = ReviewVerdict::Dismissed;
    let review = review.id;
    talk.look();
    talk.is(Rejected, "❌ **security** rejected by alice: “no”");
    talk.knows("dana", Permission::Maintain)
        .snapshot
        .dismissed_by
        .insert(review, account("dana"));
    talk.look();
    talk.is(Closed, "");
}

#[test]
fn a_rejection_outlasts_its_comment() {
    let mut talk = Talk::opened();
    talk.says("bob", "security rejected")
        .says("alice", "security approved");
    talk.snapshot.comments.items.remove(0);
    talk.look();
    talk.is(
        Rejected,
        "❌ **security** rejected by bob: “security rejected”",
    );
}

#[test]
fn a_required_checklist() {
    let mut talk = Talk::under(&CONFIG.replace("approvers:", "checklist: required, approvers:"));
    talk.says(
        "loopgate[bot]",
        "<!-- loopgate:gate:security:1 -->\n- [x] threats\n- [ ] secrets\n- [ ] logs\n- [ ] input",
    );
    talk.says("alice", "security approved");
    talk.is(
        Closed,
        "😕 alice’s comment does not count: 4 boxes of the gate’s checklist are still open. Tick them in the request; \
         the approval then counts as it stands.",
    );
    // A box counts by the hand of an approver.
    for (by, counts) in [("author", false), ("alice", true)] {
        let body = "- [x] threats\n- [x] secrets\n- [x] logs\n- [x] input";
        let request = &mut talk.snapshot.comments.items[0];
        request.body = format!("<!-- loopgate:gate:security:1 -->\n{body}");
        let request = request.id;
        talk.edited(request, by);
        talk.look();
        if !counts {
            talk.is(
                Closed,
                "😕 alice’s comment does not count: 4 boxes of the gate’s checklist are still open. Tick them in the \
                 request; the approval then counts as it stands.",
            );
        }
    }
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
}
