use chrono::TimeDelta;
use http::Method;
use serde_json::json;

use super::{client::Client, start, start_with_repo};
use crate::{Area, Level, PullSpec, Role};

#[tokio::test]
async fn an_app_proves_itself_with_a_short_lived_jwt() {
    let sim = start().await;
    let app = Client::app(&sim, 540).get("/app").await.is(200).json();
    assert_eq!(
        (app["id"].as_u64(), app["slug"].as_str()),
        (Some(424_242), Some("loopgate"))
    );
    for (lifetime, why) in [(-1, "future time"), (601, "too far in the future")] {
        let refused = Client::app(&sim, lifetime).get("/app").await.is(401);
        assert!(refused.message().contains(why), "{}", refused.message());
    }
    let jwt = Client::app(&sim, 240);
    sim.clock().advance(TimeDelta::minutes(-5));
    assert!(
        jwt.get("/app")
            .await
            .is(401)
            .message()
            .contains("'Issued at'")
    );
    Client::with_token(&sim, Some("a.b.c".into()))
        .get("/app")
        .await
        .is(401);
    Client::installation(&sim).get("/app").await.is(401);
}

#[tokio::test]
async fn installation_tokens_expire_and_can_be_narrowed() {
    let (sim, _, _) = start_with_repo().await;
    let app = Client::app(&sim, 540);
    let installations = app.get("/app/installations").await.is(200).json();
    let url = installations[0]["access_tokens_url"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        app.get("/repos/acme/widgets/installation")
            .await
            .is(200)
            .json()["id"],
        installations[0]["id"]
    );
    assert_eq!(
        app.get("/orgs/acme/installation").await.is(200).json()["id"],
        installations[0]["id"]
    );

    let made = app.post(&url, json!({})).await.is(201).json();
    assert_eq!(
        made["expires_at"],
        (sim.clock().now() + TimeDelta::hours(1))
            .format("%FT%TZ")
            .to_string()
    );
    let client = Client::with_token(&sim, made["token"].as_str().map(str::to_owned));
    let repos = client
        .get("/installation/repositories")
        .await
        .is(200)
        .json();
    assert_eq!(repos["repositories"][0]["full_name"], "acme/widgets");
    sim.clock().advance(TimeDelta::minutes(60));
    assert_eq!(
        client.get("/repos/acme/widgets").await.is(401).message(),
        "Bad credentials"
    );

    let app = Client::app(&sim, 540);
    let narrow = json!({ "permissions": { "contents": "read" }, "repositories": ["widgets"] });
    let narrow = app.post(&url, narrow).await.is(201).json();
    assert_eq!(narrow["repositories"][0]["name"], "widgets");
    let narrow = Client::with_token(&sim, narrow["token"].as_str().map(str::to_owned));
    narrow
        .get("/repos/acme/widgets/contents/README.md")
        .await
        .is(200);
    let refused = narrow.get("/repos/acme/widgets/pulls").await.is(403);
    assert_eq!(
        refused.header("x-accepted-github-permissions"),
        Some("pull_requests=read")
    );
    app.post(
        &url,
        json!({ "permissions": { "administration": "write" } }),
    )
    .await
    .is(422);
    app.post(&url, json!({ "repositories": ["nowhere"] }))
        .await
        .is(422);

    sim.admin().suspend_app().unwrap();
    app.post(&url, json!({})).await.is(403);
}

#[tokio::test]
async fn private_repositories_are_not_known_to_strangers() {
    let (sim, repo, app) = start_with_repo().await;
    let private = sim
        .create_private_repo("acme/secret", &[("a", "b")])
        .unwrap();
    let mallory = Client::person(&sim, "mallory");
    mallory.get("/repos/acme/widgets").await.is(200);
    mallory.get("/repos/acme/secret").await.is(404);
    Client::anonymous(&sim)
        .get("/repos/acme/secret")
        .await
        .is(404);
    app.get("/repos/acme/secret").await.is(200);
    mallory
        .post("/repos/acme/widgets/git/refs", json!({}))
        .await
        .is(403);
    Client::anonymous(&sim)
        .post("/repos/acme/widgets/issues", json!({"title": "x"}))
        .await
        .is(401);
    Client::with_token(&sim, Some("ghp_nonsense".into()))
        .get("/repos/acme/widgets")
        .await
        .is(401);

    sim.select_repositories(&[&repo]).unwrap();
    app.get("/repos/acme/secret").await.is(404);
    sim.admin().change_selection(&[&private], &[]).unwrap();
    Client::installation(&sim)
        .get("/repos/acme/secret")
        .await
        .is(200);
}

#[tokio::test]
async fn an_actions_token_reaches_one_repository_and_no_teams() {
    let (sim, repo, _) = start_with_repo().await;
    sim.create_private_repo("acme/other", &[("a", "b")])
        .unwrap();
    sim.admin().add_team("acme/security", &["bob"]).unwrap();
    let permissions = [(Area::Issues, Level::Write), (Area::Metadata, Level::Read)].into();
    let token = Client::with_token(
        &sim,
        Some(sim.actions_token(&repo, Some(permissions)).unwrap()),
    );
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "x"))
        .unwrap();
    let path = format!("/repos/acme/widgets/issues/{}/comments", pr.number);
    let comment = token
        .post(&path, json!({ "body": "hi" }))
        .await
        .is(201)
        .json();
    assert_eq!(comment["user"]["login"], "github-actions[bot]");
    assert_eq!(comment["user"]["type"], "Bot");
    token.get("/repos/acme/other").await.is(404);
    token.get("/orgs/acme/teams/security").await.is(403);
}

#[tokio::test]
async fn permissions_come_from_every_side() {
    let (sim, repo, app) = start_with_repo().await;
    let admin = sim.admin();
    admin.set_base_role("acme", Some(Role::Read)).unwrap();
    let leads = admin.add_team("acme/leads", &["bob"]).unwrap();
    admin
        .add_nested_team(&leads, "acme/tech-leads", &["carol"])
        .unwrap();
    admin.grant_team(&leads, &repo, Role::Maintain).unwrap();
    admin.add_collaborator(&repo, "dave", Role::Triage).unwrap();
    for (login, permission, role) in [
        ("olga", "admin", "admin"),
        ("alice", "read", "read"),
        ("bob", "write", "maintain"),
        ("carol", "write", "maintain"),
        ("dave", "read", "triage"),
        ("mallory", "read", "read"),
    ] {
        let path = format!("/repos/acme/widgets/collaborators/{login}/permission");
        let told = app.get(&path).await.is(200).json();
        assert_eq!(
            (told["permission"].as_str(), told["role_name"].as_str()),
            (Some(permission), Some(role)),
            "{login}"
        );
        assert_eq!(
            told["user"]["permissions"]["maintain"],
            json!(matches!(role, "maintain" | "admin")),
            "{login}"
        );
    }
    app.get("/repos/acme/widgets/collaborators/nobody/permission")
        .await
        .is(404);
    app.get("/repos/acme/widgets/collaborators/mallory")
        .await
        .is(404);

    let members = app
        .get("/orgs/acme/teams/leads/members")
        .await
        .is(200)
        .json();
    assert_eq!(
        members.as_array().unwrap().len(),
        2,
        "members of child teams are members"
    );
    app.get("/orgs/acme/teams/leads/memberships/carol")
        .await
        .is(200);
    app.get("/orgs/acme/teams/tech-leads/memberships/bob")
        .await
        .is(404);
    assert_eq!(
        app.get("/repos/acme/widgets/teams").await.is(200).json()[1]["permission"],
        "maintain"
    );
    let secret = admin.add_secret_team("acme/red", &["bob"]).unwrap();
    Client::person(&sim, "alice")
        .get("/orgs/acme/teams/red")
        .await
        .is(404);
    app.get("/orgs/acme/teams/red").await.is(200);
    admin.remove_team_member(&secret, "bob").unwrap();
    app.get("/orgs/acme/teams/red/memberships/bob")
        .await
        .is(404);

    admin.suspend_user("bob").unwrap();
    app.get("/users/bob").await.is(404);
    app.get("/repos/acme/widgets/collaborators/bob/permission")
        .await
        .is(404);
}

#[tokio::test]
async fn what_deleted_accounts_wrote_is_ghosts() {
    let (sim, repo, app) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "x"))
        .unwrap();
    let comment = sim.user("bob").comment(&pr, "security approved").unwrap();
    sim.admin().delete_user("bob").unwrap();
    let told = app
        .get(&format!("/repos/acme/widgets/issues/comments/{comment}"))
        .await
        .is(200)
        .json();
    assert_eq!(told["user"]["login"], "ghost");
    app.get("/users/bob").await.is(404);
    app.get("/repos/acme/widgets/collaborators/bob/permission")
        .await
        .is(404);
    assert!(sim.user("bob").comment(&pr, "I am gone").is_err());
    // Somebody else takes the login: another account, with another id.
    let usurper = sim.admin().add_user("bob").unwrap();
    assert_eq!(
        app.get("/users/bob").await.is(200).json()["id"],
        usurper.get()
    );
    assert_eq!(
        app.get("/repos/acme/widgets/collaborators/bob/permission")
            .await
            .is(200)
            .json()["permission"],
        "read"
    );
}

#[tokio::test]
async fn renamed_repositories_redirect() {
    let (sim, repo, app) = start_with_repo().await;
    sim.admin().rename_repo(&repo, "gadgets").unwrap();
    let moved = app
        .get("/repos/acme/widgets/contents/README.md?ref=main")
        .await
        .is(301);
    let there = moved.header("location").unwrap();
    assert!(there.contains("/repositories/"), "{there}");
    assert_eq!(app.get(there).await.is(200).json()["name"], "README.md");
    app.get("/repos/acme/gadgets").await.is(200);
    sim.admin().rename_account("acme", "acme-inc").unwrap();
    for former in ["/repos/acme/widgets", "/repos/acme/gadgets"] {
        app.get(former).await.is(301);
    }
    app.get("/repos/acme-inc/gadgets").await.is(200);
}

#[tokio::test]
async fn unchanged_answers_are_free() {
    let (sim, _, app) = start_with_repo().await;
    let first = app.get("/repos/acme/widgets/labels").await.is(200);
    let etag = first.header("etag").unwrap();
    assert_eq!(first.header("x-ratelimit-remaining"), Some("4999"));
    let path = "/repos/acme/widgets/labels";
    let second = app
        .send(Method::GET, path, None, &[("if-none-match", etag)])
        .await
        .is(304);
    assert_eq!(second.header("x-ratelimit-remaining"), Some("4999"));
    assert!(second.body.is_empty());
    app.post(path, json!({ "name": "new", "color": "112233" }))
        .await
        .is(201);
    app.send(Method::GET, path, None, &[("if-none-match", etag)])
        .await
        .is(200);
    let counts = sim.request_counts();
    assert_eq!(
        (
            counts.total,
            counts.conditional,
            counts.not_modified,
            counts.writes
        ),
        (4, 2, 1, 1)
    );
}

#[tokio::test]
async fn the_hourly_limit_holds_until_the_window_ends() {
    use crate::{Clock, Config, Simulator};
    let clock = Clock::fixed("2026-11-20T10:00:00Z".parse().unwrap());
    let sim = Simulator::start(Config {
        clock,
        rate_limit: 2,
        ..Config::default()
    })
    .await
    .unwrap();
    let alice = Client::person(&sim, "alice");
    alice.get("/user").await.is(200);
    alice.get("/user").await.is(200);
    let refused = alice.get("/user").await.is(403);
    assert_eq!(refused.header("x-ratelimit-remaining"), Some("0"));
    Client::person(&sim, "bob").get("/user").await.is(200);
    sim.clock().advance(TimeDelta::hours(1));
    alice.get("/user").await.is(200);
}
