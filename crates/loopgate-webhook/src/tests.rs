//! Tables of events and where they go.

use proptest::prelude::*;
use serde::{Deserialize, Deserializer, de::Visitor};
use serde_json::{Value, json};

use super::{payload::Payload, *};
use loopgate_core::{
    CheckRunId, CommentId, PrNumber, ReviewId, UserId,
    observed::{Actor, AnnouncedPush},
};

const SHA: &str = "0123456789abcdef0123456789abcdef01234567";
const BASE: &str = "89abcdef0123456789abcdef0123456789abcdef";

fn own() -> OwnApp {
    OwnApp {
        app_id: AppId::new(42),
        bot: Some("loopgate[bot]".parse().unwrap()),
    }
}

/// Adds what every payload carries; `event` wins.
fn payload(event: Value) -> Vec<u8> {
    let mut whole = json!({
        "repository": { "id": 1, "full_name": "acme/widgets", "default_branch": "main", "owner": { "login": "acme" } },
        "installation": { "id": 9001, "node_id": "x" },
        "sender": { "id": 7, "login": "alice", "type": "User" },
        "something_new": { "deep": [[[{}]]] },
    });
    let whole_map = whole.as_object_mut().unwrap();
    whole_map.extend(event.as_object().unwrap().clone());
    serde_json::to_vec(&whole).unwrap()
}

fn routed(event: &str, body: Value) -> Result<Routed, PayloadError> {
    route(event, &payload(body), &own(), received_at())
}

fn received_at() -> Timestamp {
    "2026-11-20T10:15:03Z".parse().unwrap()
}

fn repository() -> RepoName {
    "acme/widgets".parse().unwrap()
}

fn pull(number: u64) -> Target {
    Target::PullRequest {
        repository: repository(),
        number: PrNumber::new(number),
    }
}

fn head() -> Target {
    Target::Head {
        repository: repository(),
        sha: SHA.parse().unwrap(),
    }
}

fn alice() -> Actor {
    Actor {
        id: UserId::new(7),
        login: "alice".parse().unwrap(),
    }
}

fn work(target: Target, hints: Vec<Hint>) -> Result<Routed, PayloadError> {
    Ok(Routed::Work(Work {
        installation: InstallationId::new(9001),
        targets: vec![target],
        hints,
    }))
}

fn nothing(why: Irrelevant) -> Result<Routed, PayloadError> {
    Ok(Routed::Irrelevant(why))
}

fn bot() -> Value {
    json!({ "id": 99, "login": "Loopgate[bot]", "type": "Bot" })
}

#[test]
fn pull_request_events() {
    let at = "2026-11-20T10:15:00Z";
    let body = |action: &str| {
        json!({ "action": action, "number": 12,
                "pull_request": { "number": 12, "updated_at": at, "head": { "sha": SHA, "ref": "x" } } })
    };
    let seen = Hint::HeadSeen {
        sha: SHA.parse().unwrap(),
        at: received_at(),
    };
    for action in ["opened", "reopened", "synchronize"] {
        let reopened = (action == "reopened").then_some(Hint::Reopened);
        let hints = [seen.clone()].into_iter().chain(reopened).collect();
        assert_eq!(
            routed("pull_request", body(action)),
            work(pull(12), hints),
            "{action}"
        );
    }
    assert_eq!(
        routed("pull_request", body("closed")),
        work(pull(12), vec![Hint::Closed])
    );
    assert_eq!(
        routed("pull_request", body("enqueued")),
        work(pull(12), vec![Hint::Enqueued])
    );
    for action in [
        "edited",
        "stacked",
        "assigned",
        "unassigned",
        "ready_for_review",
        "converted_to_draft",
        "labeled",
        "unlabeled",
    ] {
        assert_eq!(
            routed("pull_request", body(action)),
            work(pull(12), vec![]),
            "{action}"
        );
    }
    for action in ["milestoned", "locked", "invented_tomorrow"] {
        assert_eq!(
            routed("pull_request", body(action)),
            nothing(Irrelevant::UnknownAction),
            "{action}"
        );
    }
    // An echo of our own label is dropped; a head that our own fixer pushed is not.
    for (action, dropped) in [
        ("labeled", true),
        ("review_requested", true),
        ("synchronize", false),
        ("opened", false),
    ] {
        let mut body = body(action);
        body["sender"] = bot();
        let is_dropped = routed("pull_request", body) == nothing(Irrelevant::OwnEvent);
        assert_eq!(is_dropped, dropped, "{action}");
    }
    // The event of an opening carries GitHub's own time.
    let mut late = body("opened");
    (
        late["pull_request"]["base"],
        late["pull_request"]["updated_at"],
    ) = (json!({ "ref": "main" }), json!("2026-11-20T10:05:00Z"));
    let opened = Hint::Opened {
        sha: SHA.parse().unwrap(),
        base: "main".to_owned(),
        at: "2026-11-20T10:05:00Z".parse().unwrap(),
    };
    assert_eq!(
        routed("pull_request", late),
        work(pull(12), vec![seen, opened])
    );
    // A clock of ours that is slow does not make a head older than GitHub's time for it.
    let mut ahead = body("synchronize");
    ahead["pull_request"]["updated_at"] = json!("2026-11-20T10:15:04Z");
    let later = Hint::HeadSeen {
        sha: SHA.parse().unwrap(),
        at: "2026-11-20T10:15:04Z".parse().unwrap(),
    };
    assert_eq!(
        routed("pull_request", ahead.clone()),
        work(pull(12), vec![later.clone()])
    );
    // The sender has pushed.
    (ahead["before"], ahead["after"], ahead["sender"]) = (
        json!(BASE),
        json!(SHA),
        json!({ "id": 7, "login": "alice" }),
    );
    let (before, after) = (BASE.parse().unwrap(), SHA.parse().unwrap());
    let pushed = Hint::Pushed(AnnouncedPush {
        before,
        after,
        by: alice(),
    });
    assert_eq!(
        routed("pull_request", ahead),
        work(pull(12), vec![later, pushed])
    );
    // Optional fields may be absent.
    let bare = json!({ "action": "opened", "pull_request": { "number": 12 } });
    assert_eq!(routed("pull_request", bare), work(pull(12), vec![]));
}

#[test]
fn comments_pass_the_screen_or_cost_nothing() {
    let body = |action: &str, text: &str| {
        json!({ "action": action, "issue": { "number": 12, "pull_request": { "url": "…" } },
                "comment": { "id": 5, "body": text, "updated_at": "2026-11-20T10:15:00Z" } })
    };
    let written = Hint::CommentWritten {
        comment: CommentId::new(5),
    };
    assert_eq!(
        routed("issue_comment", body("created", "security approved")),
        work(pull(12), vec![written])
    );
    assert_eq!(
        routed("issue_comment", body("created", "thanks a lot")),
        nothing(Irrelevant::Chat)
    );
    assert_eq!(
        routed("issue_comment", body("pinned", "/loop status")),
        nothing(Irrelevant::UnknownAction)
    );

    let deleted = Hint::CommentDeleted {
        comment: CommentId::new(5),
        by: alice(),
    };
    assert_eq!(
        routed("issue_comment", body("deleted", "security approved")),
        work(pull(12), vec![deleted])
    );
    assert_eq!(
        routed("issue_comment", body("deleted", "thanks a lot")),
        nothing(Irrelevant::Chat)
    );
    let post = body("deleted", "<!-- loopgate:status -->\nVerified");
    let deleted = Hint::CommentDeleted {
        comment: CommentId::new(5),
        by: alice(),
    };
    assert_eq!(
        routed("issue_comment", post),
        work(pull(12), vec![deleted]),
        "it is made again"
    );

    // Edited: the old text counts as much as the new one.
    let at = "2026-11-20T10:15:00Z".parse().unwrap();
    let edited = Hint::CommentEdited {
        comment: CommentId::new(5),
        by: alice(),
        at,
    };
    for (from, to) in [
        ("security approved", "never mind"),
        ("never mind", "security approved"),
    ] {
        let mut body = body("edited", to);
        body["changes"] = json!({ "body": { "from": from } });
        assert_eq!(
            routed("issue_comment", body),
            work(pull(12), vec![edited.clone()]),
            "{from} -> {to}"
        );
    }
    let mut chat = body("edited", "a");
    chat["changes"] = json!({ "body": { "from": "b" } });
    assert_eq!(routed("issue_comment", chat), nothing(Irrelevant::Chat));

    let mut echo = body("created", "security approved");
    echo["sender"] = bot();
    assert_eq!(routed("issue_comment", echo), nothing(Irrelevant::OwnEvent));
    let mut issue = body("created", "security approved");
    issue["issue"] = json!({ "number": 12 });
    assert_eq!(
        routed("issue_comment", issue),
        nothing(Irrelevant::NotAPullRequest)
    );
}

#[test]
fn reviews() {
    let body = |action: &str| json!({ "action": action, "review": { "id": 3 }, "pull_request": { "number": 12 } });
    let written = Hint::ReviewWritten {
        review: ReviewId::new(3),
    };
    assert_eq!(
        routed("pull_request_review", body("submitted")),
        work(pull(12), vec![written])
    );
    assert_eq!(
        routed("pull_request_review", body("dismissed")),
        work(pull(12), vec![])
    );
    let edited = Hint::ReviewEdited {
        review: ReviewId::new(3),
        by: alice(),
    };
    assert_eq!(
        routed("pull_request_review", body("edited")),
        work(pull(12), vec![edited])
    );

    let inline = |action: &str, text: &str| json!({ "action": action, "comment": { "id": 5, "body": text }, "pull_request": { "number": 12 } });
    let event = "pull_request_review_comment";
    assert_eq!(
        routed(event, inline("created", "/loop retry")),
        work(pull(12), vec![])
    );
    assert_eq!(
        routed(event, inline("created", "nit: typo")),
        nothing(Irrelevant::Chat)
    );
    assert_eq!(
        routed(event, inline("edited", "/loop retry")),
        nothing(Irrelevant::UnknownAction)
    );

    let thread =
        |action: &str| json!({ "action": action, "thread": {}, "pull_request": { "number": 12 } });
    let event = "pull_request_review_thread";
    assert_eq!(
        routed(event, thread("resolved")),
        work(pull(12), vec![Hint::ThreadChanged])
    );
    assert_eq!(
        routed(event, thread("unresolved")),
        work(pull(12), vec![Hint::ThreadChanged])
    );
    assert_eq!(
        routed(event, thread("created")),
        nothing(Irrelevant::UnknownAction)
    );
}

#[test]
fn checks_lead_to_their_head() {
    let run = |action: &str, app: u64| {
        json!({ "action": action, "requested_action": { "identifier": "retry" },
                "check_run": { "id": 8, "head_sha": SHA, "app": { "id": app }, "pull_requests": [{ "number": 12 }] } })
    };
    let named = Hint::NamedPulls {
        pulls: vec![PrNumber::new(12)],
    };
    let check_run = CheckRunId::new(8);
    let completed = Hint::CheckRunCompleted {
        check_run,
        head: SHA.parse().unwrap(),
    };
    assert_eq!(
        routed("check_run", run("completed", 1)),
        work(head(), vec![named.clone(), completed])
    );
    assert_eq!(
        routed("check_run", run("completed", 42)),
        nothing(Irrelevant::OwnEvent)
    );
    let mut namesake = run("completed", 1);
    namesake["check_run"]["name"] = "loopgate / verify".into();
    let Ok(Routed::Check(seen, news)) = routed("check_run", namesake) else {
        panic!("it is news of a check")
    };
    assert_eq!(
        Ok(Routed::Work(seen)),
        work(head(), vec![named.clone()]),
        "what is read does not count it"
    );
    assert_eq!(
        news,
        CheckNews::Run {
            name: "loopgate / verify".to_owned(),
            app: None
        }
    );
    assert_eq!(
        routed("check_run", run("created", 1)),
        nothing(Irrelevant::UnknownAction)
    );
    let again = Hint::CheckRunRerequested {
        check_run,
        by: alice(),
    };
    assert_eq!(
        routed("check_run", run("rerequested", 42)),
        work(head(), vec![again])
    );
    let pressed = Hint::ButtonPressed {
        check_run,
        identifier: "retry".into(),
        by: alice(),
    };
    assert_eq!(
        routed("check_run", run("requested_action", 42)),
        work(head(), vec![pressed])
    );
    assert_eq!(
        routed("check_run", run("requested_action", 1)),
        nothing(Irrelevant::NotOurs)
    );

    let suite = |action: &str, app: u64| json!({ "action": action, "check_suite": { "head_sha": SHA, "app": { "id": app }, "pull_requests": null } });
    assert_eq!(
        routed("check_suite", suite("completed", 1)),
        work(head(), vec![])
    );
    assert_eq!(
        routed("check_suite", suite("completed", 42)),
        nothing(Irrelevant::OwnEvent)
    );
    let mut of_ci = suite("completed", 1);
    of_ci["check_suite"]["app"]["slug"] = "ci".into();
    let Ok(Routed::Check(seen, news)) = routed("check_suite", of_ci) else {
        panic!("it is news of a suite")
    };
    assert_eq!(Ok(Routed::Work(seen)), work(head(), vec![]));
    assert_eq!(
        news,
        CheckNews::Suite {
            app: "ci".to_owned()
        }
    );
    let again = Hint::CheckSuiteRerequested {
        sha: SHA.parse().unwrap(),
        by: alice(),
    };
    assert_eq!(
        routed("check_suite", suite("rerequested", 42)),
        work(head(), vec![again])
    );

    assert_eq!(
        routed("status", json!({ "sha": SHA, "state": "success" })),
        work(head(), vec![])
    );
    let run = |action: &str| json!({ "action": action, "workflow_run": { "head_sha": SHA, "pull_requests": [] } });
    assert_eq!(
        routed("workflow_run", run("completed")),
        work(head(), vec![])
    );
    assert_eq!(
        routed("workflow_run", run("in_progress")),
        nothing(Irrelevant::UnknownAction)
    );
    let started_by = |event: &str| {
        let branch = format!("gh-readonly-queue/release/1.0/pr-12-{}", "b".repeat(40));
        json!({ "action": "completed",
                "workflow_run": { "head_sha": SHA, "event": event, "head_branch": branch, "pull_requests": [] } })
    };
    let (head_sha, base) = (SHA.parse().unwrap(), "b".repeat(40).parse().unwrap());
    let base_ref = "refs/heads/release/1.0".to_owned();
    let head_ref = Some(format!(
        "refs/heads/gh-readonly-queue/release/1.0/pr-12-{base}"
    ));
    assert_eq!(
        routed("workflow_run", started_by("merge_group")),
        work(
            Target::MergeGroup {
                repository: repository(),
                head: head_sha,
                base,
                base_ref: base_ref.clone()
            },
            vec![Hint::MergeGroup {
                head: head_sha,
                base,
                base_ref,
                head_ref
            }],
        )
    );
    assert_eq!(
        routed("workflow_run", started_by("push")),
        work(head(), vec![]),
        "anybody may name a branch so"
    );
}

#[test]
fn pushes_count_when_they_change_what_governs() {
    let commit =
        |files: &[&str]| json!({ "id": SHA, "added": [], "modified": files, "removed": [] });
    let push = |commits: Vec<Value>| json!({ "ref": "refs/heads/release/1.x", "before": SHA, "forced": false, "commits": commits });
    let moved = Hint::BaseMoved {
        from: SHA.parse().unwrap(),
    };
    let base = || {
        work(
            Target::Base {
                repository: repository(),
                branch: "release/1.x".into(),
            },
            vec![moved.clone()],
        )
    };
    for path in [
        ".github/loopgate.yml",
        ".github/CODEOWNERS",
        "CODEOWNERS",
        "docs/CODEOWNERS",
    ] {
        let commits = vec![commit(&["src/a.rs"]), commit(&["README.md", path])];
        assert_eq!(routed("push", push(commits)), base(), "{path}");
    }
    let harmless = || nothing(Irrelevant::NothingThatGoverns);
    assert_eq!(
        routed(
            "push",
            push(vec![commit(&["src/CODEOWNERS", "loopgate.yml"])])
        ),
        harmless()
    );
    // What the list does not show may have changed anything.
    assert_eq!(routed("push", push(vec![])), base());
    assert_eq!(
        routed("push", push(vec![json!({ "id": SHA })])),
        base(),
        "what it touched is not told"
    );
    assert_eq!(routed("push", push(vec![commit(&[]); PUSH_LIMIT])), base());
    let with = |key: &str, value: Value| {
        let mut body = push(vec![commit(&["src/a.rs"])]);
        body[key] = value;
        routed("push", body)
    };
    assert_eq!(with("forced", json!(true)), base());
    let gone = json!({ "ref": "refs/heads/x", "deleted": true, "forced": true, "commits": [] });
    assert_eq!(routed("push", gone), harmless());
    assert_eq!(with("ref", json!("refs/tags/v1")), harmless());
    // The organisation's defaults.
    let defaults = |branch: &str, path: &str| {
        json!({ "ref": format!("refs/heads/{branch}"), "commits": [commit(&[path])],
                "repository": { "full_name": "acme/.github", "default_branch": "main" } })
    };
    assert_eq!(
        routed("push", defaults("main", "loopgate.yml")),
        work(Target::Installation, vec![])
    );
    assert_eq!(
        routed("push", defaults("other", "loopgate.yml")),
        harmless()
    );
}
const PUSH_LIMIT: usize = 2048;

#[test]
fn installations_repositories_and_teams() {
    for action in ["created", "unsuspend", "new_permissions_accepted"] {
        assert_eq!(
            routed("installation", json!({ "action": action })),
            work(Target::Installation, vec![]),
            "{action}"
        );
    }
    for (event, action) in [
        ("installation", "deleted"),
        ("installation", "suspend"),
        ("repository", "archived"),
        ("repository", "deleted"),
    ] {
        let routed = routed(event, json!({ "action": action }));
        assert_eq!(
            routed,
            nothing(Irrelevant::NothingToAsk),
            "{event} {action}"
        );
    }
    let added = json!({ "action": "added", "repositories_added": [{ "id": 1, "full_name": "acme/widgets" }] });
    let repo = || Target::Repository(repository());
    assert_eq!(
        routed("installation_repositories", added),
        work(repo(), vec![])
    );
    let many = vec![json!({ "full_name": "acme/widgets" }); 101];
    let many = json!({ "action": "added", "repositories_added": many });
    assert_eq!(
        routed("installation_repositories", many),
        work(Target::Installation, vec![])
    );
    for action in ["renamed", "transferred", "unarchived"] {
        assert_eq!(
            routed("repository", json!({ "action": action })),
            work(repo(), vec![]),
            "{action}"
        );
    }
    let edited = |changes: Value| {
        routed(
            "repository",
            json!({ "action": "edited", "changes": changes }),
        )
    };
    assert_eq!(
        edited(json!({ "default_branch": { "from": "main" } })),
        work(repo(), vec![])
    );
    let described = edited(json!({ "description": { "from": null } }));
    assert_eq!(described, Ok(Routed::Irrelevant(Irrelevant::UnknownAction)));
}

/// What is known of a repository goes by the name that it had.
#[test]
fn a_renamed_repository_is_looked_at_by_both_its_names() {
    for (action, changes, former) in [
        (
            "renamed",
            json!({ "repository": { "name": { "from": "gadgets" } } }),
            "acme/gadgets",
        ),
        (
            "transferred",
            json!({ "owner": { "from": { "user": { "login": "alice" } } } }),
            "alice/widgets",
        ),
        (
            "transferred",
            json!({ "owner": { "from": { "organization": { "login": "old" } } } }),
            "old/widgets",
        ),
    ] {
        let former = former.parse().unwrap();
        let expected = Routed::Work(Work {
            installation: InstallationId::new(9001),
            targets: [repository(), former].map(Target::Repository).to_vec(),
            hints: vec![],
        });
        let body = json!({ "action": action, "changes": changes });
        assert_eq!(routed("repository", body), Ok(expected), "{changes}");
    }
}

/// Who may approve has changed: all rights there are forgotten by a look, whoever it was, and whether GitHub says it or
/// not.
#[test]
fn rights_are_forgotten_without_a_name() {
    let [person, team] = [
        json!({ "id": 7, "login": "alice" }),
        json!({ "slug": "security" }),
    ];
    let of_enterprise = json!({ "slug": "ent:security", "type": "enterprise" });
    for (event, body) in [
        ("team", json!({ "action": "edited", "team": team })),
        ("team", json!({ "action": "edited", "team": of_enterprise })),
        ("team", json!({ "action": "deleted", "team": { "id": 1 } })),
        (
            "membership",
            json!({ "action": "removed", "member": person, "team": { "deleted": true } }),
        ),
        ("membership", json!({ "action": "removed", "member": null })),
        ("member", json!({ "action": "edited", "member": null })),
        (
            "organization",
            json!({ "action": "member_removed", "membership": { "user": person } }),
        ),
        (
            "organization",
            json!({ "action": "member_removed", "membership": { "user": null } }),
        ),
        ("organization", json!({ "action": "member_added" })),
    ] {
        let mut everywhere = body.clone();
        everywhere["repository"] = Value::Null;
        assert_eq!(
            routed(event, everywhere),
            work(Target::Installation, vec![]),
            "{event} {body}"
        );
        assert_eq!(
            routed(event, body.clone()),
            work(Target::Repository(repository()), vec![]),
            "{event} {body}"
        );
    }
}

#[test]
fn an_account_with_a_new_name_is_looked_at_whole() {
    let renamed = json!({ "action": "renamed", "changes": { "login": { "from": "old" } }, "repository": null });
    for event in ["organization", "installation_target"] {
        assert_eq!(
            routed(event, renamed.clone()),
            work(Target::Installation, vec![]),
            "{event}"
        );
    }
}

/// GitHub documents these as null, or as left out: <https://docs.github.com/en/webhooks/webhook-events-and-payloads>.
#[test]
fn what_github_leaves_open_is_no_fault() {
    let everywhere = work(Target::Installation, vec![]);
    for added in [json!(null), json!([])] {
        let body = json!({ "action": "added", "repositories_added": added });
        assert_eq!(routed("installation_repositories", body), everywhere);
    }
    let body =
        json!({ "action": "removed", "repositories_added": null, "repositories_removed": null });
    assert_eq!(
        routed("installation_repositories", body),
        nothing(Irrelevant::UnknownAction)
    );
    let suite =
        json!({ "head_sha": SHA, "app": { "id": null, "slug": null }, "pull_requests": null });
    assert_eq!(
        routed(
            "check_suite",
            json!({ "action": "completed", "check_suite": suite })
        ),
        work(head(), vec![])
    );
    let group = json!({ "head_sha": SHA, "base_sha": BASE, "base_ref": "refs/heads/main" });
    let body = json!({ "action": "checks_requested", "merge_group": group, "repository": null });
    assert_eq!(
        routed("merge_group", body),
        nothing(Irrelevant::NoRepository)
    );
    let comment =
        json!({ "id": 1, "body": "security approved", "updated_at": "2026-11-20T10:15:00Z" });
    let issue = json!({ "number": 12, "pull_request": {} });
    for login in ["maría", "a.b", ""] {
        let sender = json!({ "id": 7, "login": login });
        let body =
            json!({ "action": "edited", "comment": comment, "issue": issue, "sender": sender });
        assert_eq!(
            routed("issue_comment", body),
            work(pull(12), vec![]),
            "{login:?}: by somebody who cannot be named"
        );
        let body = json!({ "action": "revoked", "sender": sender });
        assert_eq!(
            routed("github_app_authorization", body),
            Ok(Routed::Withdrawn(UserId::new(7))),
            "{login:?}"
        );
    }
}

#[test]
fn merge_groups() {
    let group = json!({ "head_sha": SHA, "base_sha": BASE, "base_ref": "refs/heads/main" });
    let (head, base): (Sha, Sha) = (SHA.parse().unwrap(), BASE.parse().unwrap());
    let base_ref = String::from("refs/heads/main");
    for body in [
        json!({ "action": "checks_requested", "merge_group": group }),
        json!({ "action": "destroyed", "merge_group": group, "reason": "invalidated" }),
    ] {
        let target = Target::MergeGroup {
            repository: repository(),
            head,
            base,
            base_ref: base_ref.clone(),
        };
        let hint = Hint::MergeGroup {
            head,
            base,
            base_ref: base_ref.clone(),
            head_ref: None,
        };
        assert_eq!(routed("merge_group", body), work(target, vec![hint]));
    }
    let body = json!({ "action": "destroyed", "merge_group": group, "reason": "merged" });
    assert_eq!(
        routed("merge_group", body),
        nothing(Irrelevant::UnknownAction)
    );
}

#[test]
fn what_is_unknown_or_not_ours_is_ignored() {
    assert_eq!(routed("ping", json!({ "zen": "…" })), Ok(Routed::Ping));
    assert_eq!(
        routed("star", json!({ "action": "created" })),
        nothing(Irrelevant::UnknownEvent)
    );
    let revoked = json!({ "action": "revoked", "sender": { "id": 7, "login": "alice" } });
    assert_eq!(
        routed("github_app_authorization", revoked),
        Ok(Routed::Withdrawn(UserId::new(7)))
    );
    let body = json!({ "action": "opened", "pull_request": { "number": 1 }, "installation": null });
    assert_eq!(
        routed("pull_request", body),
        nothing(Irrelevant::NoInstallation)
    );
}

#[test]
fn what_cannot_be_read_is_said_without_quoting_it() {
    let error = |event: &str, body: &[u8]| {
        route(event, body, &own(), received_at())
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(error("star", b"payload=%7B%7D"), @"the body is not JSON (line 1, column 1)");
    insta::assert_snapshot!(error("pull_request", b"{\"action\":\"opened\""), @"the body is not JSON (line 1, column 18)");
    insta::assert_snapshot!(error("pull_request", br#"{"pull_request":{"number":"<script>"}}"#), @"the body is JSON, but not a `pull_request` payload as GitHub documents it (line 1, column 36)");
    let sha = br#"{"sha":"main","repository":{"full_name":"a/b"}}"#;
    insta::assert_snapshot!(error("status", sha), @"the body is JSON, but not a `status` payload as GitHub documents it (line 1, column 13)");
    let bare = br#"{"repository":{"full_name":"a/b"}}"#;
    insta::assert_snapshot!(error("status", bare), @"the `status` payload lacks a usable sha");
    assert!(matches!(
        route("star", &b"[".repeat(1_000_000), &own(), received_at()),
        Err(PayloadError::NotJson { .. })
    ));
}

/// Notes the fields of a struct that is about to be read, and reads nothing.
struct FieldsOf(&'static [&'static str]);

impl<'de> Deserializer<'de> for &mut FieldsOf {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("it is no struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0 = fields;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn fields_of<'de, T: Deserialize<'de>>() -> Value {
    let mut fields = FieldsOf(&[]);
    T::deserialize(&mut fields).err();
    json!(fields.0)
}

/// `tests/contract/check.mjs` looks for each of them in GitHub's description. Where a place has several names, it is
/// enough that one of them has the field.
#[test]
fn what_is_read_of_webhooks_is_written_down() {
    let fields = json!({
        "": fields_of::<Payload>(),
        "sender": fields_of::<Actor>(),
        "installation": fields_of::<payload::Id<InstallationId>>(),
        "review": fields_of::<payload::Id<ReviewId>>(),
        "repository": fields_of::<payload::PayloadRepository>(),
        "repositories_added": ["full_name"],
        "pull_request": fields_of::<payload::PayloadPull>(),
        "pull_request.head pull_request.base": fields_of::<payload::PayloadSide>(),
        "issue": fields_of::<payload::Issue>(),
        "comment": fields_of::<payload::PayloadComment>(),
        "check_run check_suite workflow_run": fields_of::<payload::Run>(),
        "check_run.app check_suite.app": fields_of::<App>(),
        "commits": fields_of::<payload::PushedCommit>(),
        "merge_group": fields_of::<payload::PayloadGroup>(),
        "requested_action": ["identifier"],
        "changes": ["body", "default_branch", "owner", "repository"],
    });
    let written = serde_json::to_string_pretty(&fields).unwrap() + "\n";
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/contract/webhook-fields.json"
    );
    loopgate_written::assert_written(file, &written);
}

const EVENTS: [&str; 17] = [
    "pull_request",
    "issue_comment",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "check_run",
    "check_suite",
    "status",
    "workflow_run",
    "push",
    "merge_group",
    "installation",
    "installation_repositories",
    "repository",
    "team",
    "organization",
    "ping",
];

/// A payload with the fields of many events, which a few bytes then spoil.
fn of_many_events() -> Vec<u8> {
    payload(json!({
        "action": "created",
        "pull_request": { "number": 12, "head": { "sha": SHA }, "updated_at": "2026-11-20T10:15:00Z" },
        "issue": { "number": 12, "pull_request": {} }, "comment": { "id": 1, "body": "x approved\r\n" },
        "review": { "id": 1 }, "check_run": { "id": 1, "head_sha": SHA, "app": { "id": 42 } },
        "check_suite": { "head_sha": SHA }, "workflow_run": { "head_sha": SHA }, "sha": SHA, "ref": "refs/heads/main",
        "commits": [{ "added": ["CODEOWNERS"] }], "repositories_added": [{ "full_name": "a/b" }],
        "merge_group": { "head_sha": SHA, "base_sha": BASE, "base_ref": "refs/heads/main" },
    }))
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(
        event in prop::sample::select(&EVENTS[..]),
        spoiled in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut body = of_many_events();
        route(event, &body[..end.index(body.len())], &own(), received_at()).ok();
        for (at, byte) in spoiled {
            let at = at.index(body.len());
            body[at] = byte;
        }
        route(event, &body, &own(), received_at()).ok();
        route(event, &noise, &own(), received_at()).ok();
    }
}
