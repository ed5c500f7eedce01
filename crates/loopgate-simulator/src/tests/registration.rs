//! An App is registered from a manifest, and installed by who may.

use chrono::TimeDelta;
use serde_json::{Value, json};

use super::{
    client::{Answer, Client},
    start_with_repo,
};
use crate::Simulator;

fn manifest(change: impl FnOnce(&mut Value)) -> String {
    let mut manifest = json!({
        "name": "Gate of acme", "url": "https://gate.example.com", "redirect_url": "http://127.0.0.1:9/setup?x=1",
        "hook_attributes": { "url": "http://127.0.0.1:9/webhook" }, "public": false,
        "default_events": ["check_run", "issue_comment", "organization", "repository"],
        "default_permissions": { "checks": "write", "members": "read", "pull_requests": "write" },
    });
    change(&mut manifest);
    manifest.to_string()
}

async fn submit(client: &Client, manifest: &str) -> Answer {
    client
        .submit(
            "/organizations/acme/settings/apps/new?state=a%20nonce",
            ("manifest", manifest),
        )
        .await
}

/// Where the browser is sent, without what the code is.
fn code(answer: &Answer) -> String {
    let back = answer.header("location").unwrap();
    let (before, rest) = back.split_once("code=").unwrap();
    assert_eq!(before, "http://127.0.0.1:9/setup?x=1&");
    rest.strip_suffix("&state=a+nonce").unwrap().to_owned()
}

#[tokio::test]
async fn a_code_is_exchanged_once_and_within_the_hour() {
    let (sim, _, _) = start_with_repo().await;
    let anybody = Client::anonymous(&sim);
    let exchange = async |code: &str| {
        anybody
            .post(&format!("/app-manifests/{code}/conversions"), json!({}))
            .await
    };
    let first = code(&submit(&anybody, &manifest(|_| ())).await.is(302));
    let app = exchange(&first).await.is(201).json();
    assert_eq!(
        (&app["slug"], &app["owner"]["login"]),
        (&json!("gate-of-acme"), &json!("acme"))
    );
    assert!(
        app["pem"].as_str().unwrap().starts_with("-----BEGIN"),
        "{app}"
    );
    for secret in ["client_id", "client_secret", "webhook_secret"] {
        assert!(
            app[secret].as_str().is_some_and(|text| text.len() >= 20),
            "{secret}: {app}"
        );
    }
    exchange(&first).await.is(404);
    let late = code(
        &submit(&anybody, &manifest(|it| it["name"] = json!("Another")))
            .await
            .is(302),
    );
    sim.clock().advance(TimeDelta::hours(1));
    exchange(&late).await.is(404);
}

#[tokio::test]
async fn what_github_refuses_is_told_on_its_page() {
    let (sim, _, _) = start_with_repo().await;
    let olga = Client::person(&sim, "olga");
    for (why, change) in [
        (
            "Default events unsupported: installation",
            (|it| it["default_events"] = json!(["installation"])) as fn(&mut Value),
        ),
        ("not supported by permissions: push", |it| {
            it["default_events"] = json!(["push", "check_run"])
        }),
        ("\"url\" wasn't supplied", |it| {
            it["hook_attributes"] = json!({ "active": false })
        }),
        ("(localhost)", |it| {
            it["hook_attributes"]["url"] = json!("http://localhost:8080/webhook")
        }),
        ("not included in the list: everything", |it| {
            it["default_permissions"]["everything"] = json!("write")
        }),
        ("Name has already been taken", |it| {
            it["name"] = json!("Loopgate")
        }),
        ("Name is too long", |it| it["name"] = json!("x".repeat(35))),
    ] {
        let page = submit(&olga, &manifest(change)).await.is(422);
        let text = String::from_utf8_lossy(&page.body).into_owned();
        assert!(
            text.contains("Invalid GitHub App configuration") && text.contains(why),
            "{why}: {text}"
        );
    }
    submit(&Client::person(&sim, "alice"), &manifest(|_| ()))
        .await
        .is(404);
}

/// Registers an App; gives its slug and its own client.
async fn registered(sim: &Simulator) -> String {
    let anybody = Client::anonymous(sim);
    let code = code(&submit(&anybody, &manifest(|_| ())).await.is(302));
    let app = anybody
        .post(&format!("/app-manifests/{code}/conversions"), json!({}))
        .await
        .is(201)
        .json();
    app["slug"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn owners_install_and_members_can_only_ask() {
    let (sim, _, _) = start_with_repo().await;
    let page = format!("/apps/{}/installations/new", registered(&sim).await);
    let (alice, olga, mallory) = (
        Client::person(&sim, "alice"),
        Client::person(&sim, "olga"),
        Client::person(&sim, "mallory"),
    );
    assert!(
        String::from_utf8_lossy(&alice.get(&page).await.is(200).body).contains("value=\"acme\"")
    );
    let asked = alice.submit(&page, ("account", "acme")).await.is(200);
    assert!(String::from_utf8_lossy(&asked.body).contains("Requested"));
    mallory.submit(&page, ("account", "acme")).await.is(404);
    olga.submit(&page, ("account", "olga")).await.is(404);
    let before = sim.deliveries().len();
    olga.submit(&page, ("account", "acme")).await.is(200);
    let told: Vec<_> = sim
        .deliveries()
        .split_off(before)
        .into_iter()
        .map(|it| (it.event, it.action))
        .collect();
    assert_eq!(told, [("installation".to_owned(), Some("created".into()))]);
}
