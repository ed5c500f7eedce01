use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::json;

use super::{
    client::{Client, Receiver},
    start_with_repo,
};
use crate::{DeliveryFault, DeliveryState, Harm, Mishap, Often, PullSpec, RequestFault, TimedOut};

#[tokio::test]
async fn requests_fail_as_told() {
    let (sim, repo, app) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let path = format!("/repos/acme/widgets/issues/{}/comments", pr.number);
    let fault = |harm| {
        RequestFault::on("/comments", harm)
            .unwrap()
            .often(Often::Times(1))
    };
    sim.add_fault(fault(Harm::status(StatusCode::BAD_GATEWAY)));
    app.get(&path).await.is(502);
    app.get(&path).await.is(200);
    sim.add_fault(fault(Harm::secondary_limit(7)));
    assert_eq!(
        app.get(&path).await.is(403).header("retry-after"),
        Some("7")
    );

    sim.add_fault(fault(Harm::Drop).method(Method::POST));
    let body = || Some(json!({ "body": "hello" }));
    app.try_send(Method::POST, &path, body(), &[])
        .await
        .unwrap_err();
    assert!(
        sim.pull_request(&pr).unwrap().comments.is_empty(),
        "nothing was done"
    );
    sim.add_fault(fault(Harm::DropAnswer).method(Method::POST));
    app.try_send(Method::POST, &path, body(), &[])
        .await
        .unwrap_err();
    assert_eq!(
        sim.pull_request(&pr).unwrap().comments.len(),
        1,
        "it was done, but nobody was told"
    );
    assert_eq!(
        sim.requests()
            .iter()
            .filter(|record| record.status.is_none())
            .count(),
        2
    );

    sim.add_fault(RequestFault::on("/labels", Harm::status(StatusCode::BAD_GATEWAY)).unwrap());
    sim.heal();
    app.get("/repos/acme/widgets/labels").await.is(200);
}

#[tokio::test]
async fn stale_reads_show_what_was_read_before() {
    let (sim, repo, app) = start_with_repo().await;
    let path = "/repos/acme/widgets/git/ref/heads/main";
    sim.add_fault(RequestFault::on("/git/ref/", Harm::Stale).unwrap());
    let before = app.get(path).await.is(200).json();
    sim.user("olga")
        .push_to(&repo, "main", crate::CommitSpec::new("m").file("m", "m"))
        .unwrap();
    assert_eq!(app.get(path).await.is(200).json(), before);
    sim.heal();
    assert_ne!(app.get(path).await.is(200).json(), before);
}

#[tokio::test]
async fn deliveries_are_lost_doubled_and_held() {
    let (sim, repo, _) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let hooks = Receiver::attach(&sim).await;
    let bob = sim.user("bob");
    for mishap in [Mishap::Lose, Mishap::Duplicate, Mishap::Hold, Mishap::Fail] {
        sim.add_delivery_fault(
            DeliveryFault::on("issue_comment.created", mishap).often(Often::Times(1)),
        );
        bob.comment(&pr, &format!("{mishap:?}")).unwrap();
    }
    bob.comment(&pr, "after").unwrap();
    sim.settle().await;
    let texts = || {
        hooks
            .all()
            .iter()
            .map(|h| h.body["comment"]["body"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(), ["Duplicate", "Duplicate", "after"]);
    let all = hooks.all();
    assert_eq!(
        all[0].headers["x-github-delivery"],
        all[1].headers["x-github-delivery"]
    );
    sim.release_held();
    sim.settle().await;
    assert_eq!(texts().last().unwrap(), "Hold");
    sim.add_delivery_fault(
        DeliveryFault::on("issue_comment", Mishap::Late(2)).often(Often::Times(1)),
    );
    for text in ["late", "first", "second", "third"] {
        bob.comment(&pr, text).unwrap();
    }
    sim.settle().await;
    assert_eq!(texts()[4..], ["first", "second", "late", "third"]);
    sim.add_delivery_fault(
        DeliveryFault::on("issue_comment", Mishap::Late(9)).often(Often::Times(1)),
    );
    bob.comment(&pr, "late, but nobody comes after").unwrap();
    sim.settle().await;
    assert_eq!(texts().last().unwrap(), "late, but nobody comes after");
    let counts = sim.delivery_counts();
    assert_eq!((counts.accepted, counts.duplicate), (hooks.all().len(), 1));
    let listed = Client::app(&sim, 540)
        .get("/app/hook/deliveries")
        .await
        .is(200)
        .json();
    let failed = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|d| d["status_code"] == 0)
        .unwrap();
    assert_eq!(failed["event"], "issue_comment");
    let failed = sim
        .deliveries()
        .into_iter()
        .find(|d| matches!(d.state, DeliveryState::Failed(_)))
        .unwrap();
    sim.redeliver(&failed).unwrap();
    sim.settle().await;
    assert_eq!(texts().last().unwrap(), "Fail");
}

#[tokio::test]
async fn waiting_ends_with_what_is_waited_for() {
    let (sim, repo, _) = start_with_repo().await;
    let pr = sim
        .user("alice")
        .open_pull_request(&repo, PullSpec::new("x").file("x", "1\n"))
        .unwrap();
    let waiting = {
        let (sim, pr) = (sim.clone(), pr.clone());
        tokio::spawn(async move {
            sim.wait_until(
                |sim| sim.pull_request(&pr).unwrap().has_label("done"),
                Duration::from_secs(30),
            )
            .await
        })
    };
    sim.user("bob").label(&pr, "done").unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(()));
    let never: Result<(), TimedOut> = sim.wait_until(|_| false, Duration::ZERO).await;
    assert!(never.is_err());
}
