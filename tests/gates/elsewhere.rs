//! What is said elsewhere, what others write in our name, and two of us at once.

use loopgate::{
    core::{decide, snapshot::ForgedCheck},
    github::webhook::{Irrelevant, OwnApp, Routed, route},
};
use serde_json::{Value, json};

use crate::kit::*;

fn routed(event: &str, mut payload: Value) -> Routed {
    payload["installation"] = json!({ "id": 9 });
    payload["repository"] = json!({ "full_name": "acme/widgets" });
    payload["sender"] = json!({ "id": 2, "login": "alice" });
    let own = OwnApp { app_id: loopgate::core::AppId::new(7), bot: Some(login("loopgate[bot]")) };
    route(event, payload.to_string().as_bytes(), &own, at(0)).expect("a payload as GitHub documents it")
}

fn comment(body: &str) -> Value {
    json!({ "id": 5, "body": body, "updated_at": "2026-11-20T10:00:00Z", "user": { "id": 2, "login": "alice" } })
}

#[test]
fn on_another_pull_request() {
    let (mut one, mut other) = (Talk::opened(), Talk::opened());
    one.says("alice", "security approved");
    one.is(Approved, "✅ **security** approved by alice on `01010101`.");
    other.look();
    other.is(Closed, "");
}

#[test]
fn on_an_issue() {
    let payload = json!({ "action": "created", "issue": { "number": 1 }, "comment": comment("security approved") });
    assert_eq!(routed("issue_comment", payload), Routed::Irrelevant(Irrelevant::NotAPullRequest));
}

#[test]
fn in_a_discussion_and_on_a_commit() {
    for event in ["discussion_comment", "commit_comment"] {
        let payload = json!({ "action": "created", "comment": comment("security approved") });
        assert_eq!(routed(event, payload), Routed::Irrelevant(Irrelevant::UnknownEvent));
    }
}

/// A reaction sends no event at all, and no reaction is read as a word.
#[test]
fn a_reaction() {
    let mut talk = Talk::opened();
    talk.says("alice", "Nice change!");
    assert_eq!(talk.reaction(), None);
    talk.is(Closed, "");
}

#[test]
fn the_same_head_in_two_pull_requests() {
    let (mut into_main, mut into_release) = (Talk::opened(), {
        let mut snapshot = snapshot();
        snapshot.pull_request.base.branch = "release".into();
        snapshot.pull_request.number = loopgate::core::PrNumber::new(2);
        Talk::on(CONFIG, snapshot)
    });
    into_main.says("alice", "security approved");
    into_release.look();
    into_main.is(Approved, "✅ **security** approved by alice on `01010101`.");
    into_release.is(Closed, "");
}

#[test]
fn labels_never_approve() {
    let mut talk = Talk::opened();
    talk.snapshot.pull_request.labels = ["security approved".to_owned(), "approved".to_owned()].into();
    talk.look();
    talk.is(Closed, "");
    assert!(talk.last.surface.labels.contains_key("needs:security-review"), "and the gate's own comes back");
}

#[test]
fn two_servers_read_one_comment() {
    let mut talk = Talk::opened();
    talk.writes("alice", "security approved");
    let now = at(talk.now() + 1);
    let one = decide(&talk.snapshot, &talk.state, &talk.policy, now);
    let other = decide(&talk.snapshot, &talk.state, &talk.policy, now);
    assert_eq!(one, other, "both show the same");
    // Who lost the race decides again on what the other saved: nothing is left to do.
    let again = decide(&talk.snapshot, &one.next, &talk.policy, now);
    assert_eq!((again.next, again.events), (one.next, vec![]));
}

#[test]
fn a_comment_delivered_twice_and_days_late() {
    let mut talk = Talk::opened();
    talk.says("alice", "security approved");
    let once = talk.status();
    talk.wait(3 * 24 * 60).look();
    talk.look();
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
    assert_eq!(talk.status().lines().next(), once.lines().next());
}

#[test]
fn a_comment_delivered_before_opened() {
    // Nothing is known yet but what GitHub says: the head is as old as its first check suite.
    let mut talk = Talk::opened();
    talk.state.first_seen_heads.clear();
    talk.state.gates.clear();
    talk.says("alice", "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
    // Where GitHub says nothing either, nobody can tell what alice had seen.
    let mut talk = Talk::opened();
    talk.state.first_seen_heads.clear();
    talk.state.gates.clear();
    talk.snapshot.pull_request.head.known_since = None;
    talk.says("alice", "security approved");
    talk.is(
        Closed,
        "😕 alice’s comment does not count: it is older than the first commit Loopgate saw here. alice is asked to \
         look and comment `security approved` anew.",
    );
}

#[test]
fn a_check_of_our_name_is_forged_by_a_workflow() {
    let mut talk = Talk::opened();
    let url = Some("https://github.com/forged".to_owned());
    let forged = ForgedCheck { name: "loopgate / gates".into(), app: Some("github-actions".into()), url };
    talk.snapshot.forged_checks = vec![forged];
    talk.look();
    talk.is(Closed, "");
    let warning = "A check named `loopgate / gates` was written by the App `github-actions`, not by Loopgate";
    assert!(talk.status().contains(warning), "{}", talk.status());
}

/// The words of another instance are a bot's; only its own are ours.
#[test]
fn a_second_loopgate_on_the_same_repository() {
    let mut talk = Talk::opened();
    talk.knows("loopgate-two[bot]", loopgate::core::snapshot::Permission::Admin);
    talk.says("loopgate-two[bot]", "<!-- loopgate:status -->\nTo approve, comment:\n\nsecurity approved");
    talk.is(
        Closed,
        "😕 loopgate-two\\[bot\\]’s comment does not count: loopgate-two\\[bot\\] is a bot, and only people approve: \
         alice or bob.",
    );
}
