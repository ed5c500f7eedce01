//! Every reading route answers for a repository in which everything has happened once.

use serde_json::json;

use super::{
    client::{Client, Receiver},
    start_with_repo,
};
use crate::{
    CheckSpec, Conclusion, Pr, Protection, ProtectionSource, PullSpec, QueueOutcome,
    ReactionContent, RequiredCheck, ReviewEvent, Role, RunSpec, Simulator, StatusState, What,
};
use loopgate_core::RepoName;

/// A pull request on which everything has happened.
struct Lived {
    pr: Pr,
    paths: Vec<String>,
}

fn live(sim: &Simulator, repo: &RepoName) -> Lived {
    let (alice, bob, admin) = (sim.user("alice"), sim.user("bob"), sim.admin());
    let team = admin.add_team("acme/leads", &["bob"]).unwrap();
    admin.grant_team(&team, repo, Role::Maintain).unwrap();
    let rules = Protection {
        source: ProtectionSource::Classic,
        required_approvals: 1,
        required_checks: vec![RequiredCheck {
            context: "unit".into(),
            app: None,
        }],
        ..Protection::default()
    };
    admin.protect(repo, "main", rules).unwrap();
    let pr = alice
        .open_pull_request(
            repo,
            PullSpec::new("x")
                .branch("feature/x")
                .file("x", "1\n")
                .body("Why"),
        )
        .unwrap();
    let comment = bob.comment(&pr, "hm").unwrap();
    bob.react(&pr, comment, ReactionContent::Eyes).unwrap();
    bob.label(&pr, "bug").unwrap();
    let inline = bob.comment_inline(&pr, "x", 1, "why one?").unwrap();
    let review = bob.review(&pr, ReviewEvent::RequestChanges, "no").unwrap();
    alice.request_review(&pr, &["carol"]).unwrap();
    let head = sim.head(&pr).unwrap();
    let spec = CheckSpec::concluded("unit", Conclusion::Failure)
        .output("1 failed", "…")
        .annotation("x", 1, "wrong");
    let check = sim.ci("other-ci").check_run(repo, head, spec).unwrap();
    sim.ci("other-ci")
        .status(repo, head, "legacy", StatusState::Failure)
        .unwrap();
    let spec = RunSpec::new(head, ".github/workflows/ci.yml").artifact("evidence", &b"zip"[..]);
    let run = sim.workflow_run(repo, spec, Conclusion::Failure).unwrap();
    let job = sim.job(repo, run, "test").unwrap();
    let main = sim.sha(repo, "main").unwrap();
    let number = pr.number;
    let paths = format!(
        "/branches /branches/feature/x /branches/main/protection /rules/branches/main /collaborators \
         /collaborators/bob/permission /teams /labels /labels/bug /contents /contents/src \
         /contents/src/lib.rs?ref=feature/x /commits /commits/{head} /commits/{head}/pulls /commits/{head}/check-runs \
         /commits/feature/x/check-suites /commits/{head}/status /commits/{head}/statuses /compare/main...feature/x \
         /compare/{main}...{head} /git/ref/heads/feature/x /git/matching-refs/heads/ /git/commits/{head} \
         /git/trees/{head}?recursive=1 /git/trees/main /pulls /pulls?state=all&base=main&sort=updated /pulls/{number} \
         /pulls/{number}/files /pulls/{number}/commits /pulls/{number}/reviews /pulls/{number}/reviews/{review} \
         /pulls/{number}/reviews/{review}/comments /pulls/{number}/comments /pulls/comments/{inline} \
         /pulls/{number}/requested_reviewers /issues /issues/{number} /issues/{number}/comments \
         /issues/{number}/labels /issues/comments /issues/comments/{comment} /issues/comments/{comment}/reactions \
         /check-runs/{check} /check-runs/{check}/annotations /actions/runs /actions/runs/{run} \
         /actions/runs/{run}/artifacts /actions/runs/{run}/jobs /actions/jobs/{job} /actions/artifacts?name=evidence"
    );
    let paths = paths
        .split_whitespace()
        .map(|path| format!("/repos/acme/widgets{path}"))
        .collect();
    Lived { pr, paths }
}

#[tokio::test]
async fn every_reading_route_answers() {
    let (sim, repo, app) = start_with_repo().await;
    let Lived { paths, .. } = live(&sim, &repo);
    for path in &paths {
        let answer = app.get(path).await;
        assert_eq!(
            answer.status,
            200,
            "{path}: {}",
            String::from_utf8_lossy(&answer.body)
        );
    }
    for path in [
        "/repos/acme/widgets",
        "/users/alice",
        "/users/loopgate%5Bbot%5D",
        "/orgs/acme",
        "/orgs/acme/members",
        "/orgs/acme/memberships/bob",
        "/orgs/acme/teams",
        "/orgs/acme/teams/leads",
        "/orgs/acme/teams/leads/members",
        "/orgs/acme/teams/leads/memberships/bob",
        "/orgs/acme/teams/leads/teams",
        "/installation/repositories",
        "/rate_limit",
    ] {
        app.get(path).await.is(200);
    }
    app.get("/repos/acme/widgets/collaborators/bob")
        .await
        .is(204);
    app.get("/orgs/acme/members/bob").await.is(204);
    app.get("/orgs/acme/members/mallory").await.is(404);
    app.get("/orgs/acme/teams/leads/repos/acme/widgets")
        .await
        .is(204);
    app.get("/nowhere").await.is(404);
    app.delete("/rate_limit").await.is(404);
    let _hooks = Receiver::attach(&sim).await;
    let jwt = Client::app(&sim, 540);
    for path in [
        "/app",
        "/app/installations",
        "/app/installations/9001",
        "/app/hook/config",
        "/app/hook/deliveries",
    ] {
        jwt.get(path).await.is(200);
    }
    app.get("/api/v3/repos/acme/widgets").await.is(200);
}

#[tokio::test]
async fn diffs_as_text() {
    let (sim, repo, app) = start_with_repo().await;
    let Lived { pr, .. } = live(&sim, &repo);
    let path = format!("/repos/acme/widgets/pulls/{}", pr.number);
    let diff = [("accept", "application/vnd.github.v3.diff")];
    let text = app
        .send(http::Method::GET, &path, None, &diff)
        .await
        .is(200)
        .body;
    insta::assert_snapshot!(String::from_utf8_lossy(&text), @r"
    diff --git a/x b/x
    new file mode 100644
    index 0000000..d00491f
    --- /dev/null
    +++ b/x
    @@ -0,0 +1 @@
    +1
    ");
    let many = (0..301).fold(PullSpec::new("many"), |spec, n| {
        spec.file(&format!("f{n}"), "x")
    });
    let pr = sim.user("alice").open_pull_request(&repo, many).unwrap();
    let path = format!("/repos/acme/widgets/pulls/{}", pr.number);
    app.send(http::Method::GET, &path, None, &diff)
        .await
        .is(406);
}

#[tokio::test]
async fn a_merge_queue_tests_groups() {
    let (sim, repo, _) = start_with_repo().await;
    let alice = sim.user("alice");
    let one = alice
        .open_pull_request(&repo, PullSpec::new("one").file("one", "1\n"))
        .unwrap();
    let two = alice
        .open_pull_request(&repo, PullSpec::new("two").file("two", "2\n"))
        .unwrap();
    let hooks = Receiver::attach(&sim).await;
    let group = sim.admin().queue(&[&one, &two]).unwrap();
    sim.settle().await;
    let told = &hooks.last("merge_group.checks_requested")["merge_group"];
    assert_eq!(
        (told["head_sha"].as_str(), told["base_ref"].as_str()),
        (Some(&*group.head_sha.to_string()), Some("refs/heads/main"))
    );
    let spec = CheckSpec::concluded("loopgate / gates", Conclusion::Success);
    sim.ci("loopgate")
        .check_run(&repo, group.head_sha, spec)
        .unwrap();
    sim.admin()
        .finish_group(&repo, &group, QueueOutcome::Merged)
        .unwrap();
    sim.settle().await;
    assert_eq!(hooks.last("merge_group.destroyed")["reason"], "merged");
    for pr in [one, two] {
        assert!(matches!(
            sim.pull_request(&pr).unwrap().state,
            crate::PullState::Merged { .. }
        ));
    }
    assert_eq!(
        sim.refs(&repo)
            .unwrap()
            .iter()
            .filter(|name| name.contains("queue"))
            .count(),
        0
    );
}

#[tokio::test]
async fn dispatches_and_the_journal() {
    let (sim, repo, app) = start_with_repo().await;
    let before = sim.journal(0).len();
    let wish = json!({ "event_type": "loopgate-fix", "client_payload": { "attempt": 2 } });
    app.post("/repos/acme/widgets/dispatches", wish.clone())
        .await
        .is(204);
    let workflow = "/repos/acme/widgets/actions/workflows/fix.yml/dispatches";
    app.post(workflow, json!({ "ref": "main", "inputs": {} }))
        .await
        .is(204);
    app.post(workflow, json!({ "ref": "none" })).await.is(422);
    let wish_for_run = json!({ "ref": "main", "return_run_details": true });
    let started = app.post(workflow, wish_for_run).await.is(200).json();
    assert!(started["workflow_run_id"].is_u64(), "{started}");
    let happened = sim.journal(before);
    assert_eq!(
        happened[0].what,
        What::Dispatched {
            event: "repository_dispatch".into(),
            payload: wish
        }
    );
    assert_eq!(sim.login(happened[0].actor), "loopgate[bot]");
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let opened = sim.journal(before + 3).pop().unwrap();
    assert_eq!(
        (opened.number, opened.what),
        (Some(pr.number), What::Opened)
    );
}
