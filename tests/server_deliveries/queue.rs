//! From a row to a reconcile: once, in turn, again after a failure, and given up in the end.

use chrono::TimeDelta;
use futures::future::join_all;
use loopgate::github::{Clock as _, Failed};
use loopgate_core::{PrNumber, observed::Hint};
use loopgate_refs::Retry;
use loopgate_webhook::Target;

use crate::kit::{Kit, SHA, failed, metric, opened, post, request, signed};

#[tokio::test]
async fn a_repeated_delivery_changes_nothing() {
    let kit = Kit::new();
    let server = kit.start().await;
    let request = signed("pull_request", "d-1", &opened(9001, 12));
    assert_eq!(post(server.public_address, &request).await.body, "accepted");
    server.settled().await;
    assert_eq!(
        post(server.public_address, &request).await.body,
        "accepted before"
    );
    // Copies that arrive together, too.
    let request = signed("pull_request", "d-2", &opened(9001, 13));
    let answers = join_all((0..20).map(|_| post(server.public_address, &request))).await;
    assert!(answers.iter().all(|answer| answer.status == 202));
    assert_eq!(
        answers
            .iter()
            .filter(|answer| answer.body == "accepted")
            .count(),
        1
    );
    server.settled().await;
    assert_eq!(kit.notes.numbers(), [12, 13]);
    assert_eq!(server.backlog().await.unwrap(), 0);
}

#[tokio::test]
async fn a_hundred_events_while_one_reconcile_runs_are_one_more() {
    let kit = Kit::new();
    kit.close_gate();
    let server = kit.start().await;
    kit.opened(&server, 12).await;
    kit.notes.begun(1).await;
    join_all((0..100).map(|_| kit.opened(&server, 12))).await;
    kit.open_gate();
    server.settled().await;
    assert_eq!(kit.notes.numbers(), [12, 12]);
    // The second covers all hundred; what they all told alike was told to the first.
    assert_eq!(kit.notes.hints().len(), 1);
    assert_eq!(server.backlog().await.unwrap(), 0);
}

#[tokio::test]
async fn an_installation_has_so_many_reconciles_at_once_and_no_more() {
    let kit = Kit::new();
    kit.close_gate();
    let server = kit.start().await;
    let most = kit.limits.per_installation;
    join_all((1..=20).map(|number| kit.opened(&server, number))).await;
    kit.notes.begun(most).await;
    // Another installation is not kept waiting.
    kit.deliver(&server, "pull_request", &opened(9002, 1)).await;
    kit.notes.begun(most + 1).await;
    kit.open_gate();
    server.settled().await;
    assert_eq!(kit.notes.numbers().len(), 21);
    assert_eq!(*kit.notes.most_at_once.lock().unwrap(), most);
}

#[tokio::test]
async fn many_deliveries_share_a_transaction() {
    let kit = Kit::new();
    kit.close_gate();
    let server = kit.start().await;
    // While somebody else holds the write lock, deliveries gather.
    let mut other = kit.database().await;
    sqlx::query("BEGIN IMMEDIATE")
        .execute(&mut other)
        .await
        .unwrap();
    let posts = (1..=200).map(|number| kit.opened(&server, number));
    let unlock = async {
        // Runs after every post above was polled once, in order.
        sqlx::query("ROLLBACK").execute(&mut other).await.unwrap();
    };
    tokio::join!(join_all(posts), unlock);
    let commits = metric(&server, "loopgate_inbox_commits_total{result=\"done\"}").await;
    assert!(commits < 100, "{commits} transactions for 200 deliveries");
    assert_eq!(server.backlog().await.unwrap(), 200);
}

#[tokio::test]
async fn memory_does_not_grow_with_the_backlog() {
    let mut kit = Kit::new();
    kit.limits.lane = 16;
    kit.close_gate();
    let server = kit.start().await;
    join_all((1..=300).map(|number| kit.opened(&server, number))).await;
    kit.notes.begun(4).await;
    let in_memory =
        metric(&server, "loopgate_queue_depth").await + metric(&server, "loopgate_running").await;
    assert_eq!((in_memory, server.backlog().await.unwrap()), (16, 300));
    kit.open_gate();
    server.settled().await;
    let mut numbers = kit.notes.numbers();
    numbers.sort_unstable();
    assert_eq!(
        numbers,
        (1..=300).collect::<Vec<_>>(),
        "every one, and once"
    );
    assert_eq!(server.backlog().await.unwrap(), 0);
}

#[tokio::test]
async fn failures_are_retried_with_growing_pauses_and_given_up_in_the_end() {
    let kit = Kit::new();
    let server = kit.start().await;
    kit.notes
        .answer(12, vec![failed("GitHub answered 502 to everything")]);
    let request = signed("pull_request", "d-1", &opened(9001, 12));
    assert_eq!(post(server.public_address, &request).await.status, 202);
    let mut pause = TimeDelta::seconds(2);
    for attempt in 1..10 {
        kit.notes.begun(attempt).await;
        failures(&server, attempt).await;
        // Not before half the pause is over, and always when all of it is.
        kit.clock.advance(pause / 2 - TimeDelta::milliseconds(1));
        assert_eq!(kit.notes.numbers().len(), attempt);
        kit.clock.advance(pause / 2 + TimeDelta::milliseconds(1));
        pause = (pause * 3).min(TimeDelta::hours(1));
    }
    kit.notes.begun(10).await;
    server.settled().await;
    let letters = server.dead_letters().await.unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(
        (letters[0].failures, letters[0].reason.as_str()),
        (10, "GitHub answered 502 to everything")
    );
    assert_eq!(letters[0].died_at, kit.clock.now());
    kit.clock.advance(TimeDelta::days(1));
    server.settled().await;
    assert_eq!(kit.notes.numbers().len(), 10, "given up is given up");
    assert_eq!(metric(&server, "loopgate_dead_letters").await, 1);

    // A person replays it, it fails once more, and has nine further attempts.
    kit.notes.answer(12, vec![failed("still"), Ok(None)]);
    assert!(server.replay(letters[0].key.clone()).await);
    kit.notes.begun(11).await;
    failures(&server, 11).await;
    assert!(server.dead_letters().await.unwrap().is_empty());
    kit.clock.advance(TimeDelta::seconds(2));
    server.settled().await;
    assert_eq!(
        (kit.notes.numbers().len(), server.backlog().await.unwrap()),
        (12, 0)
    );
    // What is no dead letter any more is not replayed.
    assert!(server.replay(letters[0].key.clone()).await);
    server.settled().await;
    assert_eq!(kit.notes.numbers().len(), 12);
}

/// Waits until so many failures have been written down.
async fn failures(server: &loopgate::server::Running, count: usize) {
    ended(server, "failed", count).await;
}

async fn ended(server: &loopgate::server::Running, how: &str, count: usize) {
    while metric(
        server,
        &format!("loopgate_reconciles_total{{result=\"{how}\"}}"),
    )
    .await
        < count as u64
        || metric(server, "loopgate_running").await > 0
    {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_dead_letter_lives_again_with_the_next_event_or_a_copy_of_its_delivery() {
    for copy in [true, false] {
        let kit = Kit::new();
        let server = kit.start().await;
        kit.notes.answer(
            12,
            vec![failed("no"); 10]
                .into_iter()
                .chain([Ok(None)])
                .collect(),
        );
        let request = signed("pull_request", "d-1", &opened(9001, 12));
        post(server.public_address, &request).await;
        for attempt in 1..10 {
            kit.notes.begun(attempt).await;
            failures(&server, attempt).await;
            kit.clock.advance(TimeDelta::hours(1));
        }
        server.settled().await;
        assert_eq!(server.dead_letters().await.unwrap().len(), 1);
        let request = if copy {
            request
        } else {
            signed("pull_request", "d-2", &opened(9001, 12))
        };
        assert_eq!(post(server.public_address, &request).await.body, "accepted");
        server.settled().await;
        assert_eq!(
            (
                server.dead_letters().await.unwrap().len(),
                server.backlog().await.unwrap()
            ),
            (0, 0)
        );
        // The one that ended well knew what had been told before the others failed.
        assert_eq!(
            kit.notes.jobs.lock().unwrap()[10].hints.len(),
            if copy { 1 } else { 2 }
        );
    }
}

#[tokio::test]
async fn a_rate_limit_holds_the_installation_and_counts_as_nobodys_failure() {
    let kit = Kit::new();
    let server = kit.start().await;
    let limited = || {
        Err(Failed {
            retry: Retry::At(kit.clock.now() + TimeDelta::minutes(30)),
            reason: "limit".into(),
        })
    };
    for round in 1..=12 {
        kit.notes.answer(12, vec![limited(), Ok(None)]);
        kit.opened(&server, 12).await;
        kit.notes.begun(2 * round - 1).await;
        ended(&server, "waiting", round).await;
        kit.clock.advance(TimeDelta::minutes(29));
        kit.opened(&server, 12).await;
        assert_eq!(kit.notes.numbers().len(), 2 * round - 1);
        kit.clock.advance(TimeDelta::minutes(1));
        server.settled().await;
        assert_eq!(kit.notes.numbers().len(), 2 * round);
    }
    assert!(server.dead_letters().await.unwrap().is_empty());
    assert_eq!(
        metric(&server, "loopgate_reconciles_total{result=\"failed\"}").await,
        0,
        "waiting is not failing"
    );
}

#[tokio::test]
async fn an_outage_uses_up_no_attempts_and_is_over_within_a_minute_of_its_end() {
    let kit = Kit::new();
    let server = kit.start().await;
    let silent = || {
        Err(Failed {
            retry: Retry::WhenAnswered,
            reason: "GitHub did not answer".into(),
        })
    };
    kit.notes.answer(12, vec![silent()]);
    kit.opened(&server, 12).await;
    let mut looks = 1;
    // Four hours, with an event every quarter of an hour.
    for second in (0..4 * 3_600).step_by(45) {
        kit.notes.begun(looks).await;
        failures(&server, looks).await;
        if second % 900 == 0 {
            kit.opened(&server, 12).await;
        }
        kit.clock.advance(TimeDelta::seconds(45));
        looks += 1;
    }
    kit.notes.begun(looks).await;
    failures(&server, looks).await;
    kit.notes.answer(12, vec![Ok(None)]);
    kit.clock.advance(TimeDelta::seconds(45));
    server.settled().await;
    assert_eq!(
        (
            server.backlog().await.unwrap(),
            server.dead_letters().await.unwrap().len()
        ),
        (0, 0)
    );
    assert_eq!(kit.notes.numbers().len(), looks + 1);
    // What is not answered for a whole day is no outage.
    kit.notes.answer(13, vec![silent()]);
    kit.opened(&server, 13).await;
    kit.notes.begun(looks + 2).await;
    failures(&server, looks + 1).await;
    kit.clock.advance(TimeDelta::days(1));
    server.settled().await;
    assert_eq!(
        server.dead_letters().await.unwrap()[0].reason,
        "GitHub did not answer"
    );
}

#[tokio::test]
async fn a_panic_is_a_failure_like_any_other() {
    let kit = Kit::new();
    let server = kit.start().await;
    kit.opened(&server, 666).await;
    kit.opened(&server, 12).await;
    for attempt in 1..10 {
        failures(&server, attempt).await;
        kit.clock.advance(TimeDelta::hours(1));
    }
    server.settled().await;
    assert_eq!(
        server.dead_letters().await.unwrap()[0].reason,
        "it panicked; see the log"
    );
    assert_eq!(
        kit.notes
            .numbers()
            .iter()
            .filter(|number| **number == 12)
            .count(),
        1
    );
}

#[tokio::test]
async fn a_commit_becomes_its_pull_requests() {
    let kit = Kit::new();
    let server = kit.start().await;
    kit.notes.resolve_to(&[12, 14, 12]);
    let body = format!(
        r#"{{"action":"requested_action","requested_action":{{"identifier":"retry"}},"check_run":{{"id":8,"app":{{"id":42}},
        "head_sha":"{SHA}"}},"repository":{{"full_name":"acme/widgets"}},"installation":{{"id":9001}},
        "sender":{{"id":7,"login":"alice"}}}}"#
    );
    kit.deliver(&server, "check_run", &body).await;
    let body = body
        .replace("requested_action", "completed")
        .replace("42", "1");
    kit.deliver(
        &server,
        "check_run",
        &body.replace(
            "\"head_sha\"",
            "\"pull_requests\":[{\"number\":12}],\"head_sha\"",
        ),
    )
    .await;
    server.settled().await;
    let mut numbers = kit.notes.numbers();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers, [12, 14]);
    let repository = "acme/widgets".parse().unwrap();
    let head = Target::Head {
        repository,
        sha: SHA.parse().unwrap(),
    };
    assert!(
        kit.notes
            .resolved
            .lock()
            .unwrap()
            .iter()
            .all(|work| work.target == head)
    );
    let named = Hint::NamedPulls {
        pulls: vec![PrNumber::new(12)],
    };
    assert!(
        kit.notes
            .resolved
            .lock()
            .unwrap()
            .iter()
            .any(|work| work.hints.contains(&named))
    );
    let hints = kit.notes.hints();
    assert_eq!(
        hints
            .iter()
            .filter(|hint| matches!(hint, Hint::ButtonPressed { .. }))
            .count(),
        2,
        "{hints:?}"
    );
    assert!(!hints.contains(&named));
}

#[tokio::test]
async fn a_reconcile_can_ask_to_be_called_again() {
    let kit = Kit::new();
    let server = kit.start().await;
    let hour = |n: i64| Ok(Some(kit.clock.now() + TimeDelta::hours(n)));
    // The second answer replaces the first.
    kit.notes.answer(12, vec![hour(1), hour(2), Ok(None)]);
    kit.opened(&server, 12).await;
    server.settled().await;
    kit.opened(&server, 12).await;
    server.settled().await;
    kit.clock.advance(TimeDelta::minutes(119));
    server.settled().await;
    assert_eq!(kit.notes.numbers().len(), 2);
    kit.clock.advance(TimeDelta::minutes(1));
    kit.notes.begun(3).await;
    server.settled().await;
    kit.clock.advance(TimeDelta::days(30));
    server.settled().await;
    assert_eq!(kit.notes.numbers().len(), 3);
}

#[tokio::test]
async fn operators_see_what_was_given_up_and_try_it_again() {
    let kit = Kit::new();
    for (number, reason) in [(1, "no room"), (2, "no reason"), (3, "no room either")] {
        kit.notes.answer(
            number,
            vec![failed(reason); 10]
                .into_iter()
                .chain([Ok(None)])
                .collect(),
        );
    }
    let server = kit.start().await;
    for number in 1..=3 {
        kit.opened(&server, number).await;
    }
    for attempt in 1..10 {
        kit.notes.begun(3 * attempt).await;
        while metric(&server, "loopgate_running").await > 0 {
            tokio::task::yield_now().await;
        }
        kit.clock.advance(TimeDelta::hours(1));
    }
    server.settled().await;
    let loopgate = async |arguments: &[&str]| {
        let output = tokio::process::Command::new(env!("CARGO_BIN_EXE_loopgate"))
            .args(arguments)
            .env("LOOPGATE_ADMIN_LISTEN", server.admin_address.to_string())
            .output();
        let output = output.await.unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code().unwrap(), text)
    };
    let (code, listed) = loopgate(&["dead-letters"]).await;
    assert_eq!((code, listed.lines().count()), (0, 3), "{listed}");
    let line = "9001/acme/widgets/pr:2  given up 2026-11-20 19:00 UTC after 10 failures: no reason";
    assert!(listed.lines().any(|it| it == line), "{listed}");
    let (_, document) = loopgate(&["dead-letters", "list", "--format", "json"]).await;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["dead_letters"][0]["repository"], "acme/widgets");

    let (code, told) = loopgate(&["dead-letters", "replay", "9001/acme/widgets/pr:4"]).await;
    assert_eq!(
        (code, told.as_str()),
        (
            65,
            "error: there is no dead letter `9001/acme/widgets/pr:4`\n"
        )
    );
    assert_eq!(loopgate(&["dead-letters", "replay", "seven"]).await.0, 65);
    assert_eq!(loopgate(&["dead-letters", "replay"]).await.0, 64);
    let told = loopgate(&["dead-letters", "replay", "--reason", "no room"]).await;
    assert_eq!(told, (0, "2 dead letters are tried again.\n".to_owned()));
    let told = loopgate(&["dead-letters", "replay", "9001/acme/widgets/pr:2"]).await;
    assert_eq!(told, (0, "1 dead letter is tried again.\n".to_owned()));
    server.settled().await;
    assert_eq!(kit.notes.numbers().len(), 33);
    assert_eq!(
        loopgate(&["dead-letters"]).await,
        (0, "No dead letters.\n".to_owned())
    );
    assert_eq!(
        loopgate(&["dead-letters", "replay", "--all"]).await.1,
        "No dead letter is meant by that.\n"
    );

    let (code, told) = loopgate(&["resync", "acme/widgets#12"]).await;
    assert_eq!(
        (code, told.as_str()),
        (65, "error: this server does not ask GitHub by itself\n")
    );
    let (code, told) = loopgate(&["resync", "--admin-listen", "127.0.0.1:9"]).await;
    assert!(
        code == 69 && told.contains("LOOPGATE_ADMIN_LISTEN"),
        "{code} {told}"
    );
}

#[tokio::test]
async fn a_page_in_somebodys_browser_cannot_ask_for_anything() {
    let kit = Kit::new();
    let server = kit.start().await;
    let body = r#""all""#;
    for (headers, status) in [
        (vec![("x-loopgate-operator", "1")], 200),
        (vec![], 403),
        (
            vec![
                ("x-loopgate-operator", "1"),
                ("origin", "http://127.0.0.1:9090"),
            ],
            403,
        ),
    ] {
        let headers: Vec<_> = headers
            .into_iter()
            .chain([("content-type", "application/json")])
            .collect();
        let request = String::from_utf8(request(&headers, body))
            .unwrap()
            .replacen("/webhook", "/dead-letters/replay", 1);
        assert_eq!(
            post(server.admin_address, request.as_bytes()).await.status,
            status,
            "{headers:?}"
        );
        // And nobody can on the other listener.
        assert_eq!(
            post(server.public_address, request.as_bytes()).await.status,
            404
        );
    }
}
