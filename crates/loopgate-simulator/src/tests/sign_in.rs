//! People let an App act for them, and it sees what they were given access to.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{client::Client, start};
use crate::{Role, Simulator};

const BACK: &str = "https://loopgate.example.com/login/callback";
/// The SHA-256 of `a verifier`, as PKCE writes it.
const CHALLENGE: &str = "a8Xydxs4829ltqgGef8OlDLr0Swt-8yWfySBRiYF8tw";

async fn code(sim: &Simulator, login: &str) -> String {
    let client_id = Client::app(sim, 60).get("/app").await.json()["client_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let asked = format!(
        "/login/oauth/authorize?client_id={client_id}&redirect_uri={BACK}&state=s&code_challenge={CHALLENGE}&code_challenge_method=S256"
    );
    let answer = Client::person(sim, login).get(&asked).await.is(302);
    let back = answer.header("location").unwrap();
    let (before, rest) = back.split_once("?code=").unwrap();
    assert_eq!(before, BACK);
    rest.strip_suffix("&state=s").unwrap().to_owned()
}

async fn exchange(sim: &Simulator, code: &str, change: impl FnOnce(&mut Value)) -> Value {
    let client_id = Client::app(sim, 60).get("/app").await.json()["client_id"].clone();
    let mut body = json!({ "client_id": client_id, "client_secret": sim.client_secret(), "code": code,
        "redirect_uri": BACK, "code_verifier": "a verifier" });
    change(&mut body);
    let accept = [("accept", "application/json")];
    let anybody = Client::anonymous(sim);
    anybody
        .send(
            http::Method::POST,
            "/login/oauth/access_token",
            Some(body),
            &accept,
        )
        .await
        .is(200)
        .json()
}

#[tokio::test]
async fn a_code_brings_a_token_once_to_the_program_that_asked() {
    let sim = start().await;
    let given = code(&sim, "alice").await;
    let wrong = [
        ("incorrect_client_credentials", "client_secret"),
        ("redirect_uri_mismatch", "redirect_uri"),
        ("bad_verification_code", "code_verifier"),
        ("bad_verification_code", "code"),
    ];
    for (error, field) in wrong {
        let given = code(&sim, "alice").await;
        let answer = exchange(&sim, &given, |body| {
            body[field] = json!("https://evil.example")
        })
        .await;
        assert_eq!(answer["error"], error);
    }
    let answer = exchange(&sim, &given, |_| ()).await;
    assert_eq!(
        (&answer["expires_in"], &answer["token_type"]),
        (&json!(28_800), &json!("bearer"))
    );
    assert_eq!(
        exchange(&sim, &given, |_| ()).await["error"],
        "bad_verification_code",
        "a second time"
    );
    let late = code(&sim, "alice").await;
    sim.clock().advance(TimeDelta::minutes(10));
    assert_eq!(
        exchange(&sim, &late, |_| ()).await["error"],
        "bad_verification_code",
        "too late"
    );

    let alice = Client::with_token(&sim, answer["access_token"].as_str().map(str::to_owned));
    assert_eq!(alice.get("/user").await.is(200).json()["login"], "alice");
    sim.clock().advance(TimeDelta::hours(8));
    alice.get("/user").await.is(401);
}

#[tokio::test]
async fn such_a_token_shows_the_repositories_that_its_person_was_given() {
    let sim = start().await;
    sim.create_repo("acme/open", &[]).unwrap();
    let shared = sim.create_private_repo("acme/shared", &[]).unwrap();
    sim.create_private_repo("acme/secret", &[]).unwrap();
    sim.admin()
        .add_collaborator(&shared, "dave", Role::Read)
        .unwrap();
    for (login, repositories) in [("alice", 3), ("dave", 1), ("mallory", 0)] {
        let token = exchange(&sim, &code(&sim, login).await, |_| ()).await["access_token"].clone();
        let visitor = Client::with_token(&sim, token.as_str().map(str::to_owned));
        let listed = visitor.get("/user/installations").await.is(200).json();
        let address = format!("/user/installations/{}/repositories", sim.installation_id());
        match repositories {
            0 => {
                assert_eq!(listed["total_count"], 0);
                visitor.get(&address).await.is(404);
            }
            some => assert_eq!(
                visitor.get(&address).await.is(200).json()["total_count"],
                some,
                "{login}"
            ),
        }
    }
    Client::person(&sim, "alice")
        .get("/user/installations")
        .await
        .is(403);
}
