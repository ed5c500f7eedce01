//! A page that is open hears when it may have changed, and of nothing that its visitor may not see.

use futures::FutureExt as _;
use loopgate_core::RepoName;
use loopgate_simulator::{PullSpec, Role};

use crate::world::{
    ADDRESS, Browser, World,
    browser::{Ear, fetched},
};

const CONFIGURATION: &str = "\
version: 1
labels: { state: true }
verify:
  checks:
    unit: { kind: test, from: { check: ci / test, app: other-ci } }
";

/// A private repository with a configuration.
async fn repository(world: &World, name: &str) -> RepoName {
    let repo = world.private_repository(name, CONFIGURATION);
    world.settle().await;
    repo
}

async fn opened(world: &World, repo: &RepoName, title: &str) {
    let file = format!("src/{title}.rs");
    let opened = world
        .simulator()
        .user("alice")
        .open_pull_request(repo, PullSpec::new(title).file(&file, "// 1\n"));
    opened.expect("a pull request");
    world.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_page_hears_that_something_was_decided() {
    let world = World::published(ADDRESS, None).await;
    let repo = repository(&world, "acme/shared").await;
    let mut first = Ear::of(&format!("{}/events?page=/", world.admin_url()), &[]).await;
    let mut of_other = Ear::of(
        &format!("{}/events?page=/acme/other/pull/1", world.admin_url()),
        &[],
    )
    .await;
    let mut of_loop = Ear::of(
        &format!("{}/events?page=/{repo}/pull/1", world.admin_url()),
        &[],
    )
    .await;
    assert_eq!(of_loop.kind, "text/event-stream");
    opened(&world, &repo, "gliders").await;
    first.hears().await;
    of_loop.hears().await;
    assert!(
        of_other.more().now_or_never().is_none(),
        "of another repository: {}",
        of_other.text
    );
    for heard in [&first.text, &of_loop.text] {
        assert!(
            !heard.contains("shared") && !heard.contains("gliders"),
            "it names nothing: {heard}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_hears_nothing_of_what_they_may_not_see() {
    let world = World::published(ADDRESS, None).await;
    let (shared, secret) = (
        repository(&world, "acme/shared").await,
        repository(&world, "acme/skunkworks").await,
    );
    world
        .simulator()
        .admin()
        .add_collaborator(&shared, "dave", Role::Read)
        .expect("a repository");
    let (alice, dave) = (Browser::of(&world, "alice"), Browser::of(&world, "dave"));
    assert_eq!(
        dave.visits("/events?page=/").await.status,
        401,
        "nobody signed in"
    );
    alice.signs_in().await;
    dave.signs_in().await;
    let refused = dave.visits("/events?page=/acme/skunkworks/pull/1").await;
    assert_eq!(
        (refused.status, &refused),
        (404, &dave.visits("/events?page=/acme/nowhere/pull/1").await)
    );

    let (mut hers, mut his) = (
        alice.listens("/events?page=/").await,
        dave.listens("/events?page=/").await,
    );
    for title in ["zeppelins", "balloons", "kites"] {
        opened(&world, &secret, title).await;
        hers.hears().await;
        assert!(his.more().now_or_never().is_none(), "{title}: {}", his.text);
    }
    opened(&world, &shared, "gliders").await;
    his.hears().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_no_room_is_told_to_ask() {
    let world = World::published(ADDRESS, None).await;
    let address = format!("{}/events?page=/", world.admin_url());
    let mut listening = Vec::new();
    for _ in 0..64 {
        listening.push(Ear::of(&address, &[]).await);
    }
    let refused = fetched("GET", &address, &[], "").await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, "30"),
        "{refused:?}"
    );
    assert!(
        refused.body.contains("Ask again in half a minute"),
        "{refused:?}"
    );
    let alice = Browser::of(&world, "alice");
    repository(&world, "acme/shared").await;
    alice.signs_in().await;
    let mut hers = Vec::new();
    for _ in 0..8 {
        hers.push(alice.listens("/events?page=/").await);
    }
    assert_eq!(
        alice.visits("/events?page=/").await.status,
        503,
        "nobody takes the places of others"
    );
}
