//! What is said elsewhere, what others write in our name, and two of us at once.

use loopgate::config::{self, Source};
use loopgate_core::{
    concerns::gates::{Reacted, ReactionKind},
    deciding::decide,
    observed::ForgedCheck,
};
use loopgate_webhook::{Irrelevant, OwnApp, Routed, route};
use serde_json::{Value, json};

use crate::kit::*;

fn routed(event: &str, mut payload: Value) -> Routed {
    payload["installation"] = json!({ "id": 9 });
    payload["repository"] = json!({ "full_name": "acme/widgets" });
    payload["sender"] = json!({ "id": 2, "login": "alice" });
    let own = OwnApp {
        app_id: loopgate_core::AppId::new(7),
        bot: Some(login("loopgate[bot]")),
    };
    route(event, payload.to_string().as_bytes(), &own, at(0))
        .expect("a payload as GitHub documents it")
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
    assert_eq!(
        routed("issue_comment", payload),
        Routed::Irrelevant(Irrelevant::NotAPullRequest)
    );
}

#[test]
fn in_a_discussion_and_on_a_commit() {
    for event in ["discussion_comment", "commit_comment"] {
        let payload = json!({ "action": "created", "comment": comment("security approved") });
        assert_eq!(
            routed(event, payload),
            Routed::Irrelevant(Irrelevant::UnknownEvent)
        );
    }
}

#[test]
fn on_a_line_of_the_diff() {
    let mut talk = Talk::opened();
    talk.writes("alice", "Is this right?\n\nsecurity approved");
    let inline = talk.snapshot.comments.items.pop().expect("written above");
    talk.snapshot.inline.items.push(inline.clone());
    talk.look();
    talk.is(
        Closed,
        "😕 alice’s comment on the diff does not count: nothing is decided there. Write `security approved` in the \
         conversation, on a line of its own.",
    );
    let reaction = talk.last.surface.reactions.get(&Reacted::Inline(inline.id));
    assert_eq!(reaction, Some(&ReactionKind::NotAccepted));
    // Talk about code is left alone there, and a rejection blocks as little as an approval opens.
    talk.snapshot.inline.items[0].body = "security approved? approved".into();
    talk.look();
    talk.is(Closed, "");
    talk.snapshot.inline.items[0].body = "security rejected".into();
    talk.says("bob", "security approved");
    talk.is(
        Approved,
        "✅ **security** approved by bob on `01010101`.\n\
         😕 alice’s comment on the diff does not count: nothing is decided there. Write `security rejected` in the \
         conversation, on a line of its own.",
    );
}

#[test]
fn a_command_on_a_line_of_the_diff() {
    let mut talk = Talk::opened();
    talk.writes("author", "/loop status");
    let inline = talk.snapshot.comments.items.pop().expect("written above");
    talk.snapshot.inline.items.push(inline.clone());
    talk.look();
    assert_eq!(
        talk.last.surface.reactions.get(&Reacted::Inline(inline.id)),
        Some(&ReactionKind::Done)
    );
    let answers = talk.state.people.answered.len();
    talk.look();
    assert_eq!(
        (talk.state.people.answered.len(), answers),
        (1, 1),
        "answered once"
    );
}

#[test]
fn what_the_organisation_has_locked_and_the_repository_writes_all_the_same() {
    let locks = "policy: { locked: [gates.security] }\ngates: { security: { approvers: { users: [alice] } } }\n";
    let (organisation, own) = (
        Source::new("acme/.github/loopgate.yml", locks),
        Source::new(".github/loopgate.yml", CONFIG),
    );
    let mut talk = Talk::opened();
    talk.policy = config::load(Some(organisation), Some(own))
        .expect("two right files")
        .policy;
    talk.says("bob", "security approved");
    assert!(
        talk.status().contains("It opens for alice."),
        "{}",
        talk.status()
    );
    let warning = "`.github/loopgate.yml`, line 8: `gates.security` is locked by the organisation. What is written there \
                   has no effect.";
    assert!(talk.status().contains(warning), "{}", talk.status());
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
        snapshot.pull_request.number = loopgate_core::PrNumber::new(2);
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
    talk.snapshot.pull_request.labels =
        ["security approved".to_owned(), "approved".to_owned()].into();
    talk.look();
    talk.is(Closed, "");
    assert!(
        talk.last
            .surface
            .labels
            .contains_key("needs:security-review"),
        "and the gate's own comes back"
    );
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
    talk.state.head.sightings.clear();
    talk.state.concerns.gates.clear();
    talk.says("alice", "security approved");
    talk.is(Approved, "✅ **security** approved by alice on `01010101`.");
    // Where GitHub says nothing either, nobody can tell what alice had seen.
    let mut talk = Talk::opened();
    talk.state.head.sightings.clear();
    talk.state.concerns.gates.clear();
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
    let forged = ForgedCheck {
        name: "loopgate / gates".into(),
        app: Some("github-actions".into()),
        url,
    };
    talk.snapshot.forged_checks = vec![forged];
    talk.look();
    talk.is(Closed, "");
    let warning =
        "A check named `loopgate / gates` was written by the App `github-actions`, not by Loopgate";
    assert!(talk.status().contains(warning), "{}", talk.status());
}

/// The words of another instance are a bot's; only its own are ours.
#[test]
fn a_second_loopgate_on_the_same_repository() {
    let mut talk = Talk::opened();
    talk.knows(
        "loopgate-two[bot]",
        loopgate_core::observed::Permission::Admin,
    );
    talk.says(
        "loopgate-two[bot]",
        "<!-- loopgate:status -->\nTo approve, comment:\n\nsecurity approved",
    );
    talk.is(
        Closed,
        "😕 loopgate-two\\[bot\\]’s comment does not count: loopgate-two\\[bot\\] is a bot, and only people approve: \
         alice or bob.",
    );
}
