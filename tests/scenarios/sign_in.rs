//! People sign in with GitHub on the public listener, and see what GitHub shows them.

use std::process::Command;

use chrono::TimeDelta;
use http::StatusCode;
use loopgate_core::RepoName;
use loopgate_simulator::{Harm, PullSpec, RequestFault, Role};
use serde_json::Value;

use crate::world::{ADDRESS, Browser, World};

const CONFIGURATION: &str = "\
version: 1
labels: { state: true }
verify:
  checks:
    unit: { kind: test, from: { check: ci / test, app: other-ci } }
";

/// A private repository with one open loop.
async fn loop_in(world: &World, name: &str, title: &str) -> RepoName {
    let repo = world.private_repository(name, CONFIGURATION);
    world
        .simulator()
        .user("alice")
        .open_pull_request(&repo, PullSpec::new(title).file("src/lib.rs", "// 1\n"))
        .expect("a pull");
    world.settle().await;
    repo
}

async fn total(browser: &Browser<'_>) -> Value {
    let answer = browser.visits("/index.json").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str::<Value>(&answer.body).expect("a document")["total"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_who_signed_in_sees_what_github_shows_them_and_no_more() {
    let world = World::published(ADDRESS, None).await;
    let shared = loop_in(&world, "acme/shared", "feat: gliders").await;
    let secret = loop_in(&world, "acme/skunkworks", "feat: zeppelins").await;
    world
        .simulator()
        .admin()
        .add_collaborator(&shared, "dave", Role::Read)
        .expect("a repository");
    let dave = Browser::of(&world, "dave");
    let first = dave.visits("/").await;
    assert!(
        first.status == 200 && first.body.contains("Sign in with GitHub"),
        "{first:?}"
    );
    assert_eq!(dave.signs_in().await.header("location"), "/");

    let paths = [
        "/",
        "/index.json",
        "/me",
        "/me.json?login=alice",
        "/?person=alice",
        "/?part=ci",
        "/index.json?part=ci&from=1",
        "/?agent=copilot",
        "/repositories",
        "/repositories.json",
        "/?repository=acme/skunkworks",
        "/index.json?repository=ACME/Skunkworks",
        "/acme/skunkworks/pull/1",
        "/acme/skunkworks/pull/1.json",
        "/acme/skunkworks/pull/99",
        "/acme/skunkworks/pull/x",
        "/acme/skunkworks/pull/1?at=0123456789abcdef0123456789abcdef01234567",
        "/acme/skunkworks/metrics",
        "/acme/skunkworks/memory.json",
        "/acme/skunkworks/settings",
        "/operations",
        "/operations.json",
        "/metrics",
        "/dead-letters",
        "/readyz",
        "/healthz",
    ];
    for path in paths {
        let answer = dave.visits(path).await;
        let whole = format!("{answer:?}").to_lowercase();
        for hidden in ["skunkworks", "zeppelin"] {
            assert!(!whole.contains(hidden), "{path}: {whole}");
        }
        let of_operators = [
            "/operations",
            "/operations.json",
            "/metrics",
            "/dead-letters",
        ]
        .contains(&path);
        assert!(
            !of_operators || answer.status == 404,
            "{path}: {}",
            answer.status
        );
        // What is not theirs to see is answered for like what there is not, to the last byte.
        let nowhere = path
            .replace("skunkworks", "nowhere")
            .replace("Skunkworks", "Nowhere");
        if nowhere != path {
            assert_eq!(
                (answer.status, &answer),
                (404, &dave.visits(&nowhere).await),
                "{path}"
            );
        }
    }
    assert_eq!(total(&dave).await, 1, "what is not seen is not counted");
    let page = dave.visits("/acme/shared/pull/1").await;
    assert!(
        page.status == 200 && page.body.contains("gliders") && !page.body.contains("Operations"),
        "{page:?}"
    );
    let tag = page.header("etag").to_owned();
    assert_eq!(
        dave.visits_with("/acme/shared/pull/1", ("if-none-match", &tag))
            .await
            .status,
        304
    );
    assert_eq!(
        Browser::of(&world, "dave")
            .visits_with("/acme/shared/pull/1", ("if-none-match", &tag))
            .await
            .status,
        401
    );

    let alice = Browser::of(&world, "alice");
    alice.signs_in().await;
    assert_eq!(total(&alice).await, 2, "a member sees both");
    let page = alice.visits(&format!("/{secret}/pull/1")).await;
    assert!(
        page.status == 200 && page.body.contains("zeppelins"),
        "{page:?}"
    );
    assert!(
        alice
            .visits("/me")
            .await
            .body
            .contains("waits for alice</h1>")
    );

    world
        .simulator()
        .admin()
        .remove_collaborator(&shared, "dave")
        .expect("a repository");
    world.wait(TimeDelta::minutes(5));
    assert_eq!(
        total(&dave).await,
        0,
        "what was withdrawn is not shown five minutes later"
    );
    assert_eq!(dave.visits("/acme/shared/pull/1").await.status, 404);
    world.wait(TimeDelta::hours(8));
    assert_eq!(
        alice.visits("/index.json").await.status,
        401,
        "a session ends with its token"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_belongs_to_the_browser_that_began_it_and_counts_once() {
    let world = World::published(ADDRESS, None).await;
    let shared = loop_in(&world, "acme/shared", "feat: gliders").await;
    for path in ["/index.json", "/acme/shared/pull/1", "/acme/nowhere/pull/1"] {
        assert_eq!(
            Browser::of(&world, "alice").visits(path).await.status,
            401,
            "{path}"
        );
    }
    let (alice, mallory) = (Browser::of(&world, "alice"), Browser::of(&world, "mallory"));
    let of_mallory = mallory.agrees().await;
    assert_eq!(
        alice.visits(&of_mallory).await.status,
        403,
        "it was not begun here"
    );
    let forged = alice.agrees().await;
    let forged = forged
        .split_once("&state=")
        .map(|(before, _)| format!("{before}&state={}", "0".repeat(64)));
    assert_eq!(
        alice.visits(&forged.expect("a state")).await.status,
        403,
        "another state"
    );
    assert!(alice.cookies.borrow().is_empty());

    let refused = mallory.visits(&of_mallory).await;
    assert!(
        refused.status == 403 && refused.body.contains("access to no repository"),
        "{refused:?}"
    );
    assert!(mallory.cookies.borrow().is_empty(), "no session");

    let late = alice.agrees().await;
    world.wait(TimeDelta::minutes(10));
    assert_eq!(alice.visits(&late).await.status, 403, "too late");
    let back = alice.agrees().await;
    let begun = alice.cookies.borrow().clone();
    assert_eq!(alice.visits(&back).await.status, 303);
    let session = alice.cookies.borrow().clone();
    alice.cookies.replace(begun);
    assert_eq!(alice.visits(&back).await.status, 403, "a state counts once");
    alice.cookies.replace(session.clone());
    assert_eq!(total(&alice).await, 1);
    let (name, word) = session.iter().next().expect("a session");
    mallory
        .cookies
        .borrow_mut()
        .insert(name.clone(), format!("{}x", &word[..word.len() - 1]));
    assert_eq!(
        mallory.visits("/index.json").await.status,
        401,
        "a forged session"
    );

    // Rights that cannot be asked for are not believed any longer than they may be.
    let away = RequestFault::on(
        "^/user/installations",
        Harm::status(StatusCode::BAD_GATEWAY),
    )
    .expect("a pattern");
    world.simulator().add_fault(away);
    world.wait(TimeDelta::minutes(5));
    let page = alice.visits(&format!("/{shared}/pull/1")).await;
    assert!(
        page.status == 503 && !page.body.contains("gliders"),
        "{page:?}"
    );
    let back = mallory.agrees().await;
    assert_eq!(
        mallory.visits(&back).await.status,
        503,
        "GitHub's silence refuses nobody"
    );
    world.simulator().heal();

    let page = alice.visits("/").await.body;
    let token = page
        .split_once("name=\"token\" value=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let form = format!("token={}", token.expect("a form").0);
    assert_eq!(
        alice
            .sends("/logout", "https://evil.example", &form)
            .await
            .status,
        403
    );
    assert_eq!(alice.sends("/logout", "null", &form).await.status, 403);
    assert_eq!(
        alice
            .sends("/logout", ADDRESS, "token=another")
            .await
            .status,
        403
    );
    assert_eq!(total(&alice).await, 1, "still signed in");
    assert_eq!(
        alice
            .sends("/logout", ADDRESS, &form)
            .await
            .header("location"),
        "/"
    );
    assert!(alice.cookies.borrow().is_empty());
    alice.cookies.replace(session);
    assert_eq!(
        alice.visits("/index.json").await.status,
        401,
        "what was ended stays ended"
    );
}

/// The address that GitHub sends the browser back to, with another answer for its code.
fn answering(back: &str, answer: &str) -> String {
    let (address, query) = back.split_once('?').expect("a query");
    let state = query.split('&').find(|pair| pair.starts_with("state="));
    format!("{address}?{answer}&{}", state.expect("a state"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_github_refuses_begins_no_session_and_what_it_takes_back_ends_one() {
    let world = World::published(ADDRESS, None).await;
    loop_in(&world, "acme/shared", "feat: gliders").await;
    let alice = Browser::of(&world, "alice");
    let begun = alice.visits("/login?next=https://evil.example").await;
    assert!(!begun.header("location").contains("evil"), "{begun:?}");
    let first = alice.agrees().await;
    assert_eq!(alice.visits(&first).await.header("location"), "/");
    let spent = first.split(['?', '&']).nth(1).expect("a code");
    for (answer, told) in [
        (spent, "does not take its own answer any more"),
        ("code=made-up", "does not take its own answer any more"),
        ("code=", "does not take its own answer any more"),
        ("error=access_denied", "you did not agree"),
    ] {
        let back = answering(&alice.agrees().await, answer);
        let refused = alice.visits(&back).await;
        assert_eq!(refused.status, 403, "{answer}");
        assert!(refused.body.contains(told), "{answer}: {}", refused.body);
    }
    for path in [
        "^/login/oauth/access_token$",
        "^/user$",
        "^/user/installations",
    ] {
        let back = alice.agrees().await;
        let away = RequestFault::on(path, Harm::status(StatusCode::BAD_GATEWAY));
        world.simulator().add_fault(away.expect("a pattern"));
        let refused = alice.visits(&back).await;
        let told = "GitHub does not answer as it should now";
        assert!(
            refused.status == 503 && refused.body.contains(told),
            "{path}: {refused:?}"
        );
        world.simulator().heal();
    }
    assert_eq!(total(&alice).await, 1, "the first session is as it was");
    let revoked = RequestFault::on(
        "^/user/installations",
        Harm::status(StatusCode::UNAUTHORIZED),
    );
    world.simulator().add_fault(revoked.expect("a pattern"));
    world.wait(TimeDelta::minutes(5));
    assert_eq!(
        alice.visits("/index.json").await.status,
        401,
        "its token is revoked"
    );
    world.simulator().heal();
    assert_eq!(
        alice.visits("/index.json").await.status,
        401,
        "that ended it"
    );
}

/// In a real browser, where `LOOPGATE_BROWSER` names the script that drives one.
#[tokio::test(flavor = "multi_thread")]
async fn people_sign_in_make_tokens_and_sign_out_by_click() {
    let Some(script) = std::env::var_os("LOOPGATE_BROWSER") else {
        return println!("skipped: LOOPGATE_BROWSER is not set: signing in with a browser");
    };
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", free.local_addr().expect("it is bound"));
    drop(free);
    let world = World::published(&address, None).await;
    let shared = loop_in(&world, "acme/shared", "feat: gliders").await;
    loop_in(&world, "acme/skunkworks", "feat: zeppelins").await;
    world
        .simulator()
        .admin()
        .add_collaborator(&shared, "dave", Role::Read)
        .expect("a repository");
    let token = world.simulator().user("dave").token().expect("a person");
    let asked = [
        address,
        token,
        "acme/shared".to_owned(),
        "acme/skunkworks".to_owned(),
    ];
    let drive = move || {
        Command::new("node")
            .arg(script)
            .arg("--sign-in")
            .args(asked)
            .status()
    };
    let driven = tokio::task::spawn_blocking(drive).await.expect("no panic");
    assert!(
        driven.expect("node").success(),
        "the browser found something"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_sign_in_the_public_listener_shows_nothing() {
    let world = World::quick(None).await;
    let anybody = Browser::of(&world, "alice");
    assert!(
        anybody
            .visits("/")
            .await
            .body
            .contains("There is nothing else to see here")
    );
    for path in [
        "/index.json",
        "/login",
        "/login/callback",
        "/repositories",
        "/acme/widgets/pull/1",
        "/live.js",
    ] {
        assert_eq!(anybody.visits(path).await.status, 404, "{path}");
    }
}

/// What the doctor found, once it is not at work.
async fn diagnosis(world: &World) -> Value {
    for _ in 0..20_000 {
        let (status, body) = world.reads("/doctor.json").await;
        assert_eq!(status, 200, "{body}");
        let found: Value = serde_json::from_str(&body).expect("a document");
        if found["under_way"] == false {
            return found;
        }
    }
    panic!("the examination does not end");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_examines_by_itself_and_when_asked_and_every_page_says_what_is_wrong() {
    let world = World::published(ADDRESS, None).await;
    let found = diagnosis(&world).await;
    let lines = found["lines"].as_array().expect("lines");
    let address = lines
        .iter()
        .find(|line| line["check"] == "webhook-address")
        .expect("a line");
    assert_eq!(
        (&found["healthy"], &address["outcome"]),
        (&false.into(), &"fault".into()),
        "{found}"
    );
    assert!(
        address["remedy"]
            .as_str()
            .is_some_and(|remedy| remedy.contains(&format!("{ADDRESS}/webhook"))),
        "{address}"
    );
    let faults = lines
        .iter()
        .filter(|line| line["outcome"] == "fault")
        .count();
    let problems = if faults == 1 { "problem" } else { "problems" };
    let told = format!(">Doctor</a> <span class=\"bad\">({faults} {problems})</span>");
    assert!(world.reads("/").await.1.contains(&told));
    assert_eq!(
        world.reads("/readyz").await.0,
        200,
        "it is no reason to take the process away"
    );

    world.wait(TimeDelta::hours(6));
    let mut later = diagnosis(&world).await;
    for _ in 0..20_000 {
        if later["examined"] != found["examined"] {
            break;
        }
        later = diagnosis(&world).await;
    }
    assert_ne!(later["examined"], found["examined"], "six hours later");

    world
        .simulator()
        .set_webhook_url(&format!("{ADDRESS}/webhook"));
    world.wait(TimeDelta::minutes(1));
    assert_eq!(world.asks("/doctor", "token=another").await, 403);
    let (_, page) = world.reads("/doctor").await;
    let token = page
        .split_once("name=\"token\" value=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    assert_eq!(
        world
            .asks("/doctor", &format!("token={}", token.expect("a form").0))
            .await,
        303
    );
    let asked = diagnosis(&world).await;
    let address = asked["lines"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|line| line["check"] == "webhook-address");
    assert_eq!(address.expect("a line")["outcome"], "healthy", "{asked}");
}
