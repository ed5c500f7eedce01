use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;

use super::{
    client::{Client, Receiver},
    start_with_repo,
};
use crate::{CheckSpec, CommitSpec, Conclusion, PullSpec, ReviewEvent, RunSpec};
use loopgate_core::{AppId, InstallationId};

#[tokio::test]
async fn a_pull_requests_life_is_told_in_order() {
    let (sim, repo, _) = start_with_repo().await;
    let hooks = Receiver::attach(&sim).await;
    let (alice, bob) = (sim.user("alice"), sim.user("bob"));
    let pr = alice
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    alice.push(&pr, &[("x", "2\n")], "again").unwrap();
    let comment = bob.comment(&pr, "hm").unwrap();
    bob.edit_comment(&pr, comment, "architecture approved")
        .unwrap();
    bob.delete_comment(&pr, comment).unwrap();
    alice.request_review(&pr, &["bob", "carol"]).unwrap();
    alice.unrequest_review(&pr, &["carol"]).unwrap();
    let review = bob.review(&pr, ReviewEvent::Approve, "").unwrap();
    bob.dismiss(&pr, review).unwrap();
    bob.label(&pr, "odd").unwrap();
    bob.unlabel(&pr, "odd").unwrap();
    alice.mark_draft(&pr).unwrap();
    alice.mark_ready(&pr).unwrap();
    alice.edit_title(&pr, "y").unwrap();
    alice.close(&pr).unwrap();
    alice.reopen(&pr).unwrap();
    alice.merge(&pr).unwrap();
    sim.settle().await;
    assert_eq!(
        hooks.names(),
        [
            "push",
            "check_suite.requested",
            "pull_request.opened",
            "push",
            "check_suite.requested",
            "pull_request.synchronize",
            "issue_comment.created",
            "issue_comment.edited",
            "issue_comment.deleted",
            "pull_request.review_requested",
            "pull_request.review_requested",
            "pull_request.review_request_removed",
            "pull_request_review.submitted",
            "pull_request_review.dismissed",
            "pull_request.labeled",
            "pull_request.unlabeled",
            "pull_request.converted_to_draft",
            "pull_request.ready_for_review",
            "pull_request.edited",
            "pull_request.closed",
            "pull_request.reopened",
            "push",
            "check_suite.requested",
            "pull_request.closed",
        ]
    );
    let head = sim.head(&pr).unwrap().to_string();
    assert_eq!(
        hooks.last("pull_request.synchronize")["after"],
        head.as_str()
    );
    assert_eq!(
        hooks.last("pull_request.synchronize")["pull_request"]["mergeable"],
        serde_json::Value::Null
    );
    assert_eq!(
        hooks.last("issue_comment.edited")["changes"]["body"]["from"],
        "hm"
    );
    assert!(hooks.last("issue_comment.created")["issue"]["pull_request"]["url"].is_string());
    assert_eq!(
        hooks.last("pull_request.review_request_removed")["requested_reviewer"]["login"],
        "carol"
    );
    assert_eq!(
        hooks.last("pull_request_review.submitted")["review"]["state"],
        "approved"
    );
    assert_eq!(hooks.last("pull_request.labeled")["label"]["name"], "odd");
    assert_eq!(
        hooks.last("pull_request.edited")["changes"]["title"]["from"],
        "x"
    );
    let merged = hooks.last("pull_request.closed");
    assert_eq!(
        (
            &merged["pull_request"]["merged"],
            &merged["pull_request"]["merged_by"]["login"]
        ),
        (&json!(true), &json!("alice"))
    );
    assert_eq!(merged["installation"]["id"], 9_001);
    assert_eq!(
        (&merged["sender"]["login"], &merged["organization"]["login"]),
        (&json!("alice"), &json!("acme"))
    );
}

#[tokio::test]
async fn deliveries_are_signed_and_can_be_asked_for_again() {
    let (sim, repo, _) = start_with_repo().await;
    let hooks = Receiver::attach(&sim).await;
    sim.user("bob").open_issue(&repo, "x", "y").unwrap();
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    sim.user("bob").comment(&pr, "hm").unwrap();
    sim.settle().await;
    for hook in hooks.all() {
        let mut mac = Hmac::<Sha256>::new_from_slice(sim.webhook_secret().as_bytes()).unwrap();
        mac.update(&hook.raw);
        let expected = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        assert_eq!(hook.headers["x-hub-signature-256"], expected);
        assert!(
            hook.headers["user-agent"]
                .to_str()
                .unwrap()
                .starts_with("GitHub-Hookshot/")
        );
        assert_eq!(
            hook.headers["x-github-hook-installation-target-type"],
            "integration"
        );
    }
    let sent = hooks.names().len();
    let app = Client::app(&sim, 540);
    let page = app.get("/app/hook/deliveries?per_page=2").await.is(200);
    let list = page.json();
    assert_eq!(
        (list[0]["event"].as_str(), list[0]["status_code"].as_u64()),
        (Some("issue_comment"), Some(202))
    );
    let next = page
        .header("link")
        .unwrap()
        .split(['<', '>'])
        .nth(1)
        .unwrap()
        .to_owned();
    assert_ne!(app.get(&next).await.is(200).json()[0]["id"], list[1]["id"]);
    let id = list[0]["id"].as_u64().unwrap();
    let whole = app
        .get(&format!("/app/hook/deliveries/{id}"))
        .await
        .is(200)
        .json();
    assert_eq!(whole["request"]["payload"]["comment"]["body"], "hm");
    app.post(&format!("/app/hook/deliveries/{id}/attempts"), json!({}))
        .await
        .is(202);
    sim.settle().await;
    let all = hooks.all();
    assert_eq!(all.len(), sent + 1);
    assert_eq!(
        all[sent].headers["x-github-delivery"],
        list[0]["guid"].as_str().unwrap()
    );
    assert_eq!(
        app.get("/app/hook/deliveries").await.is(200).json()[0]["redelivery"],
        true
    );
}

#[tokio::test]
async fn what_is_done_silently_is_told_to_nobody() {
    let (sim, repo, _) = start_with_repo().await;
    let hooks = Receiver::attach(&sim).await;
    let pr = sim
        .user("alice")
        .silently()
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    sim.settle().await;
    assert!(hooks.names().is_empty());
    sim.user("bob").comment(&pr, "hm").unwrap();
    sim.settle().await;
    assert_eq!(hooks.names(), ["issue_comment.created"]);
}

#[tokio::test]
async fn checks_and_buttons_and_workflows() {
    let (sim, repo, app) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let head = sim.head(&pr).unwrap();
    let hooks = Receiver::attach(&sim).await;
    let button = json!([{ "label": "Retry", "identifier": "retry", "description": "Again" }]);
    let new = json!({ "name": "loopgate / verify", "head_sha": head, "conclusion": "failure", "actions": button });
    let run = app
        .post("/repos/acme/widgets/check-runs", new)
        .await
        .is(201)
        .json();
    let run = loopgate_core::CheckRunId::new(run["id"].as_u64().unwrap());
    sim.user("alice").press_button(&pr, run, "retry").unwrap();
    sim.user("alice").rerun(&pr, run).unwrap();
    assert!(sim.user("mallory").press_button(&pr, run, "retry").is_err());
    let foreign = sim
        .ci("other-ci")
        .check_run(
            &repo,
            head,
            CheckSpec::concluded("unit", Conclusion::Success),
        )
        .unwrap();
    sim.user("alice").rerun(&pr, foreign).unwrap();
    sim.workflow_run(
        &repo,
        RunSpec::new(head, ".github/workflows/ci.yml"),
        Conclusion::Success,
    )
    .unwrap();
    sim.settle().await;
    assert_eq!(
        hooks.names(),
        [
            "check_run.created",
            "check_run.completed",
            "check_suite.completed",
            "check_run.requested_action",
            "check_run.rerequested",
            "check_run.created",
            "check_run.completed",
            "check_suite.completed",
            "workflow_run.requested",
            "check_run.created",
            "workflow_run.in_progress",
            "check_run.completed",
            "check_suite.completed",
            "workflow_run.completed",
        ],
        "another App's re-run is none of ours"
    );
    let pressed = hooks.last("check_run.requested_action");
    assert_eq!(pressed["requested_action"]["identifier"], "retry");
    assert_eq!(pressed["check_run"]["check_suite"]["app"]["id"], 424_242);
    let finished = hooks.last("workflow_run.completed");
    assert_eq!(finished["workflow_run"]["path"], ".github/workflows/ci.yml");
    assert_eq!(
        finished["workflow_run"]["pull_requests"][0]["number"],
        pr.number.get()
    );
}

#[tokio::test]
async fn a_second_instance_hears_the_same_under_its_own_name() {
    let (sim, repo, _) = start_with_repo().await;
    let other = sim
        .install_another("loopgate-two", AppId::new(77), InstallationId::new(78))
        .unwrap();
    let (hooks, others) = (Receiver::attach(&sim).await, Receiver::attach(&other).await);
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let path = format!("/repos/acme/widgets/issues/{}/comments", pr.number);
    let mine = Client::installation(&other)
        .post(&path, json!({ "body": "hi" }))
        .await
        .is(201)
        .json();
    assert_eq!(mine["user"]["login"], "loopgate-two[bot]");
    sim.settle().await;
    assert_eq!(hooks.names(), others.names());
    assert_eq!(
        others.last("issue_comment.created")["installation"]["id"],
        78
    );
    assert_eq!(
        Client::app(&other, 60).get("/app").await.is(200).json()["id"],
        77
    );
}

#[tokio::test]
async fn hidden_refs_cause_no_event_and_organisations_do() {
    let (sim, repo, app) = start_with_repo().await;
    let hooks = Receiver::attach(&sim).await;
    let main = sim.sha(&repo, "main").unwrap();
    let new = json!({ "ref": "refs/loopgate/pr/1", "sha": main });
    app.post("/repos/acme/widgets/git/refs", new).await.is(201);
    sim.settle().await;
    assert!(hooks.names().is_empty());
    let admin = sim.admin();
    let team = admin.add_team("acme/security", &["bob"]).unwrap();
    admin.remove_org_member("acme", "bob").unwrap();
    admin.grant_team(&team, &repo, crate::Role::Read).unwrap();
    admin.suspend_app().unwrap();
    assert_eq!(
        app.get("/repos/acme/widgets").await.is(403).message(),
        "This installation has been suspended"
    );
    sim.user("olga")
        .push_to(&repo, "main", CommitSpec::new("unheard").file("z", "z"))
        .unwrap();
    admin.unsuspend_app().unwrap();
    admin.rename_repo(&repo, "gadgets").unwrap();
    admin.rename_account("acme", "acme-inc").unwrap();
    sim.settle().await;
    let expected = [
        "team.created",
        "membership.added",
        "membership.removed",
        "organization.member_removed",
        "team.added_to_repository",
        "installation.suspend",
        "installation.unsuspend",
        "repository.renamed",
        "installation_target.renamed",
    ];
    assert_eq!(hooks.names(), expected);
    let renamed = hooks.last("installation_target.renamed");
    let told = (
        &renamed["account"]["login"],
        &renamed["changes"]["login"]["from"],
    );
    assert_eq!(told, (&json!("acme-inc"), &json!("acme")));
    assert_eq!(
        hooks.last("repository.renamed")["changes"]["repository"]["name"]["from"],
        "widgets"
    );
}

#[tokio::test]
async fn the_same_seed_tells_the_same_story() {
    let story = async || {
        let (sim, repo, _) = start_with_repo().await;
        let _hooks = Receiver::attach(&sim).await;
        let pr = sim
            .user("alice")
            .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
            .unwrap();
        sim.user("bob").comment(&pr, "hm").unwrap();
        sim.settle().await;
        let deliveries = sim.deliveries();
        (
            sim.head(&pr).unwrap(),
            deliveries
                .into_iter()
                .map(|d| (d.guid, d.event))
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(story().await, story().await);
}

#[tokio::test]
async fn a_thread_is_resolved_by_its_author_the_change_s_author_and_who_may_push() {
    let (sim, repo, client) = start_with_repo().await;
    let hooks = Receiver::attach(&sim).await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let thread = sim
        .user("dave")
        .comment_inline(&pr, "x", 1, "why one?")
        .unwrap();
    sim.user("alice")
        .reply_inline(&pr, ("x", 1), thread, "why not")
        .unwrap();
    sim.user("mallory").resolve_thread(&pr, thread).unwrap_err();
    for who in ["dave", "alice", "bob"] {
        sim.user(who).resolve_thread(&pr, thread).unwrap();
        sim.user(who).unresolve_thread(&pr, thread).unwrap();
    }
    sim.user("bob").resolve_thread(&pr, thread).unwrap();
    sim.settle().await;
    let of_threads = hooks
        .names()
        .into_iter()
        .filter(|name| name.starts_with("pull_request_review_thread."));
    assert_eq!(of_threads.count(), 7);
    let question = json!({
        "query": "query($owner: String!, $name: String!, $number: Int!, $before: String) { repository(owner: $owner, \
                  name: $name) { pullRequest(number: $number) { reviewThreads(last: 100, before: $before) { nodes { \
                  resolvedBy { login } end: comments(last: 2) { nodes { body } } } } } } }",
        "variables": { "owner": "acme", "name": "widgets", "number": pr.number, "before": null },
    });
    let answer = client.post("/graphql", question).await.is(200).json();
    let threads = &answer["data"]["repository"]["pullRequest"]["reviewThreads"];
    assert_eq!(threads["nodes"][0]["resolvedBy"]["login"], "bob");
    assert_eq!(threads["nodes"][0]["end"]["nodes"][1]["body"], "why not");
    assert_eq!(threads["nodes"][0]["isOutdated"], false);
}
