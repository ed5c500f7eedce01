use chrono::TimeDelta;
use serde_json::json;

use super::{client::Client, start_with_repo};
use crate::{PullSpec, ReactionContent};

#[tokio::test]
async fn comments_and_their_authors() {
    let (sim, repo, app) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let path = format!("/repos/acme/widgets/issues/{}/comments", pr.number);
    let mine = app
        .post(&path, json!({ "body": "status" }))
        .await
        .is(201)
        .json();
    assert_eq!(
        (
            mine["user"]["login"].as_str(),
            mine["user"]["type"].as_str()
        ),
        (Some("loopgate[bot]"), Some("Bot"))
    );
    assert_eq!(mine["performed_via_github_app"]["id"], 424_242);
    let bobs = sim
        .user("bob")
        .comment(&pr, "architecture approved")
        .unwrap();
    sim.user("mallory").comment(&pr, "me too").unwrap();
    let all = app.get(&path).await.is(200).json();
    assert_eq!(all[1]["author_association"], "MEMBER");
    assert_eq!(all[1]["performed_via_github_app"], serde_json::Value::Null);
    assert_eq!(all[2]["author_association"], "NONE");

    sim.clock().advance(TimeDelta::minutes(1));
    let since = sim.clock().now().format("%FT%TZ").to_string();
    sim.user("bob")
        .edit_comment(&pr, bobs, "security approved")
        .unwrap();
    let edited = app
        .get(&format!("{path}?since={since}"))
        .await
        .is(200)
        .json();
    assert_eq!(
        (edited.as_array().unwrap().len(), edited[0]["body"].as_str()),
        (1, Some("security approved"))
    );
    assert_ne!(edited[0]["created_at"], edited[0]["updated_at"]);

    let one = format!("/repos/acme/widgets/issues/comments/{bobs}");
    Client::person(&sim, "mallory")
        .patch(&one, json!({ "body": "mine" }))
        .await
        .is(403);
    app.patch(&one, json!({ "body": "x".repeat(65_537) }))
        .await
        .is(422);
    app.post(&path, json!({ "body": "" })).await.is(422);
    app.post(&path, json!({})).await.is(422);
    sim.user("olga").hide_comment(&pr, bobs, "spam").unwrap();
    assert_eq!(
        app.get(&one).await.is(200).json()["minimized"]["reason"],
        "spam"
    );
    app.delete(&one).await.is(204);
    app.get(&one).await.is(404);
}

#[tokio::test]
async fn reactions_are_one_of_a_kind() {
    let (sim, repo, app) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let comment = sim.user("bob").comment(&pr, "hello").unwrap();
    let path = format!("/repos/acme/widgets/issues/comments/{comment}/reactions");
    let first = app
        .post(&path, json!({ "content": "eyes" }))
        .await
        .is(201)
        .json();
    let again = app
        .post(&path, json!({ "content": "eyes" }))
        .await
        .is(200)
        .json();
    assert_eq!(first["id"], again["id"]);
    app.post(&path, json!({ "content": "shrug" })).await.is(422);
    sim.user("carol")
        .react(&pr, comment, ReactionContent::PlusOne)
        .unwrap();
    assert_eq!(
        app.get(&format!("{path}?content=%2B1"))
            .await
            .is(200)
            .json()[0]["user"]["login"],
        "carol"
    );
    app.delete(&format!("{path}/{}", first["id"])).await.is(204);
    let view = sim.pull_request(&pr).unwrap();
    assert_eq!(
        view.comments[0].reactions,
        [("carol".to_owned(), "+1".to_owned())]
    );
}

#[tokio::test]
async fn comments_on_the_diff_are_reacted_to_at_a_place_of_their_own() {
    let (sim, repo, app) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let comment = sim.user("bob").comment(&pr, "hello").unwrap();
    let inline = sim
        .user("bob")
        .comment_inline(&pr, "x", 1, "why one?")
        .unwrap();
    let path = format!("/repos/acme/widgets/pulls/comments/{inline}/reactions");
    app.post(&path, json!({ "content": "confused" }))
        .await
        .is(201);
    app.post(&path, json!({ "content": "confused" }))
        .await
        .is(200);
    assert_eq!(
        app.get(&path).await.is(200).json()[0]["content"],
        "confused"
    );
    let listed = app
        .get(&format!("/repos/acme/widgets/pulls/{}/comments", pr.number))
        .await
        .is(200)
        .json();
    assert_eq!(listed[0]["reactions"]["confused"], 1);
    app.get(&format!(
        "/repos/acme/widgets/pulls/comments/{comment}/reactions"
    ))
    .await
    .is(404);
    app.post(
        &format!("/repos/acme/widgets/issues/comments/{inline}/reactions"),
        json!({ "content": "eyes" }),
    )
    .await
    .is(404);
}

#[tokio::test]
async fn labels_come_to_be_by_being_used() {
    let (sim, repo, app) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let path = format!("/repos/acme/widgets/issues/{}/labels", pr.number);
    let new =
        json!({ "name": "needs:security-review", "color": "D93F0B", "description": "A gate" });
    app.post("/repos/acme/widgets/labels", new.clone())
        .await
        .is(201);
    let twice = app
        .post("/repos/acme/widgets/labels", new)
        .await
        .is(422)
        .json();
    assert_eq!(twice["errors"][0]["code"], "already_exists");
    app.post(
        &path,
        json!({ "labels": ["needs:security-review", "loop:retry"] }),
    )
    .await
    .is(200);
    let made = app
        .get("/repos/acme/widgets/labels/loop%3Aretry")
        .await
        .is(200)
        .json();
    assert_eq!(made["color"], "ededed");
    let left = app
        .delete(&format!("{path}/needs%3Asecurity-review"))
        .await
        .is(200)
        .json();
    assert_eq!(left.as_array().unwrap().len(), 1);
    let gone = app
        .delete(&format!("{path}/needs%3Asecurity-review"))
        .await
        .is(404);
    assert_eq!(gone.message(), "Label does not exist");
    assert_eq!(sim.pull_request(&pr).unwrap().labels, ["loop:retry"]);
    app.put(&path, json!({ "labels": ["bug"] })).await.is(200);
    assert_eq!(sim.pull_request(&pr).unwrap().labels, ["bug"]);
    app.post(
        "/repos/acme/widgets/labels",
        json!({ "name": "x".repeat(51), "color": "000000" }),
    )
    .await
    .is(422);
    Client::person(&sim, "mallory")
        .post(&path, json!({ "labels": ["bug"] }))
        .await
        .is(403);
}

#[tokio::test]
async fn an_issue_is_no_pull_request() {
    let (sim, repo, app) = start_with_repo().await;
    let number = sim
        .user("bob")
        .open_issue(&repo, "Broken", "It is")
        .unwrap();
    let issue = app
        .get(&format!("/repos/acme/widgets/issues/{number}"))
        .await
        .is(200)
        .json();
    assert!(issue.get("pull_request").is_none());
    app.get(&format!("/repos/acme/widgets/pulls/{number}"))
        .await
        .is(404);
}
