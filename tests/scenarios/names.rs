//! Repositories and accounts get other names, and what was granted, shown and listed goes by the new ones. The emulator
//! renames nothing.

use chrono::TimeDelta;
use loopgate_core::RepoName;
use loopgate_simulator::{Pr, Role};
use serde_json::{Value, json};

use crate::{
    gates::{guarded_as, status},
    triggers::{fails, fails_in_turn, opened},
    world::{ADDRESS, Browser, World},
};

const GATE: &str = "  notes: { when: { paths: [\"src/**\"] }, approvers: { users: [bob] } }\n";

/// The open loops that the dashboard lists, as `OWNER/REPO#N`.
async fn listed(world: &World) -> Vec<String> {
    let (status, body) = world.reads("/index.json").await;
    assert_eq!(status, 200, "{body}");
    let page: Value = serde_json::from_str(&body).expect("a document");
    let groups = page["groups"].as_array().expect("groups").iter();
    let loops = groups.flat_map(|group| group["loops"].as_array().expect("loops"));
    let name = |one: &Value| {
        format!(
            "{}#{}",
            one["repository"].as_str().expect("a name"),
            one["number"]
        )
    };
    loops.map(name).collect()
}

fn moved(pr: &Pr, name: &str) -> Pr {
    let repo: RepoName = name.parse().expect("a name");
    Pr { repo, ..pr.clone() }
}

/// A pull request whose run a person took up again, with an approved gate.
async fn granted(world: &World) -> Pr {
    let repo = guarded_as(world, "widgets", GATE).await;
    let pr = opened(world, &repo).await;
    world.person("bob").says(&pr, "notes approved").await;
    fails_in_turn(world, &pr, &["a comma", "a comma", "a comma"]).await;
    world.person("olga").says(&pr, "/loop resume").await;
    world
        .person("bob")
        .says(&pr, &format!("notes approved {}", world.head(&pr)))
        .await;
    assert_eq!(status(world, &pr, "notes"), "approved");
    assert!(!world.look(&pr).has_label("loop:blocked"));
    let resumes = world.state(&pr)["resumes"].clone();
    assert_eq!(resumes.as_array().map(Vec::len), Some(1), "{resumes}");
    assert_eq!(listed(world).await, ["acme/widgets#1"]);
    pr
}

/// The run goes on as it was: nothing that somebody granted is gone, nobody is accused, and it is listed once.
async fn goes_on(world: &World, pr: &Pr, before: &Value) {
    let state = world.state(pr);
    for kept in ["resumes", "answered", "attempts", "runId"] {
        assert_eq!(state[kept], before[kept], "{kept}");
    }
    assert_eq!(state["repository"], json!(pr.repo.to_string()));
    assert_eq!(status(world, pr, "notes"), "approved");
    let look = world.look(pr);
    assert!(!look.has_label("loop:blocked"), "{look:?}");
    look.leaves_out("seal");
    let commits = world.state_commits(pr).join("\n");
    assert!(!commits.contains("recovered"), "{commits}");
    assert_eq!(listed(world).await, [pr.to_string()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_repository_keeps_what_people_granted_and_is_listed_once() {
    let world = World::quick(None).await;
    let pr = granted(&world).await;
    let before = world.state(&pr);
    for name in ["gadgets", "doodads"] {
        let admin = world.simulator().admin();
        let repo = listed(&world).await[0]
            .split_once('#')
            .expect("a number")
            .0
            .to_owned();
        admin
            .rename_repo(&repo.parse().expect("a name"), name)
            .expect("a repository");
        world.settle().await;
        goes_on(&world, &moved(&pr, &format!("acme/{name}")), &before).await;
    }
    // What was to be looked at by the first name is not looked at by that for ever.
    let last = moved(&pr, "acme/doodads");
    world.wait(TimeDelta::minutes(16));
    world.settle().await;
    fails(&world, &last, "a semicolon").await;
    assert_eq!(listed(&world).await, ["acme/doodads#1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_account_takes_its_repositories_along() {
    let world = World::quick(None).await;
    let pr = granted(&world).await;
    let before = world.state(&pr);
    world
        .simulator()
        .admin()
        .rename_account("acme", "acme-inc")
        .expect("an account");
    world.settle().await;
    goes_on(&world, &moved(&pr, "acme-inc/widgets"), &before).await;
}

/// Nobody tells of it: GitHub sends no event where a person gets another login.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_still_asks_for_its_owner_who_was_renamed_and_for_nobody_else() {
    let world = World::published(ADDRESS, None).await;
    let github = world.simulator();
    let repo = github
        .create_private_repo("acme/shared", &[(".github/loopgate.yml", "version: 1\n")])
        .expect("a repository");
    let admin = github.admin();
    let pr = world
        .person("alice")
        .opens(&repo, "feat: gliders", &[("src/lib.rs", "// 1\n")])
        .await;
    admin
        .add_collaborator(&repo, "dave", Role::Read)
        .expect("a repository");
    let dave = Browser::of(&world, "dave");
    dave.signs_in().await;
    let token = dave.makes_a_token("laptop").await;
    let agent = Browser::of(&world, "nobody");
    let asks = async || {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "feedback", "arguments": { "pull_request": pr.to_string() } } });
        let bearer = [("authorization", &*format!("Bearer {token}"))];
        let answer = agent.posts(&call.to_string(), &bearer).await.body;
        let answer: Value = serde_json::from_str(&answer).expect("a message");
        answer["result"]["isError"] != true
    };
    assert!(asks().await);
    admin
        .rename_account("dave", "dave-new")
        .expect("an account");
    world.wait(TimeDelta::minutes(6));
    assert!(asks().await, "it is he, by another login");
    admin.add_user("dave").expect("a free login");
    world.wait(TimeDelta::minutes(6));
    assert!(asks().await, "the login is another's, the token is not");
    admin
        .remove_collaborator(&repo, "dave-new")
        .expect("a repository");
    admin
        .add_collaborator(&repo, "dave", Role::Admin)
        .expect("a repository");
    world.wait(TimeDelta::minutes(6));
    assert!(!asks().await, "what another may read is nothing to him");
}
