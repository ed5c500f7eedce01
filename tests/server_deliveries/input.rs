//! Bad input gets a clear answer, good input gets in, and nothing else happens.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::kit::{self, Kit, SECRET, get, metric, opened, post, request, signature, signed};

#[tokio::test]
async fn bad_requests_are_told_what_is_wrong_and_leave_nothing() {
    let kit = Kit::new();
    let server = kit.start().await;
    let body = opened(9001, 12);
    let good = signature(SECRET, body.as_bytes());
    let json = ("content-type", "application/json");
    let (event, id) = (
        ("x-github-event", "pull_request"),
        ("x-github-delivery", "d-1"),
    );
    let signed_by = ("x-hub-signature-256", good.as_str());
    let wrong = signature("guess", body.as_bytes());
    let not_json = "action=opened";
    let not_json_signature = signature(SECRET, not_json.as_bytes());
    let unlike = r#"{"action":"opened","pull_request":7}"#;
    let unlike_signature = signature(SECRET, unlike.as_bytes());
    let cases = [
        (
            "no signature",
            vec![json, event, id],
            body.as_str(),
            400,
            "the header x-hub-signature-256 is missing",
        ),
        (
            "no event",
            vec![json, signed_by, id],
            &body,
            400,
            "the header x-github-event is missing",
        ),
        (
            "no delivery",
            vec![json, signed_by, event],
            &body,
            400,
            "the header x-github-delivery is missing",
        ),
        (
            "strange event",
            vec![json, signed_by, id, ("x-github-event", "../etc")],
            &body,
            400,
            "the header x-github-event is not an event's name",
        ),
        (
            "strange delivery",
            vec![json, signed_by, event, ("x-github-delivery", "a b")],
            &body,
            400,
            "the header x-github-delivery is not a delivery id",
        ),
        (
            "wrong key",
            vec![json, event, id, ("x-hub-signature-256", &wrong)],
            &body,
            401,
            "unauthorized",
        ),
        (
            "no hash",
            vec![json, event, id, ("x-hub-signature-256", "sha1=00")],
            &body,
            401,
            "unauthorized",
        ),
        (
            "other body",
            vec![json, event, id, signed_by],
            "{}",
            401,
            "unauthorized",
        ),
        (
            "form",
            vec![
                ("content-type", "application/x-www-form-urlencoded"),
                event,
                id,
                signed_by,
            ],
            &body,
            415,
            "only application/json is accepted: set the webhook's content type to it",
        ),
        (
            "not JSON",
            vec![
                json,
                event,
                id,
                ("x-hub-signature-256", &not_json_signature),
            ],
            not_json,
            400,
            "the body is not JSON (line 1, column 1)",
        ),
        (
            "not that event",
            vec![json, event, id, ("x-hub-signature-256", &unlike_signature)],
            unlike,
            400,
            "the body is JSON, but not a `pull_request` payload as GitHub documents it (line 1, column 35)",
        ),
    ];
    for (name, headers, body, status, text) in cases {
        let answer = post(server.public_address, &request(&headers, body)).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (status, text),
            "{name}"
        );
    }
    assert_eq!(
        metric(&server, "loopgate_inbox_commits_total{result=\"done\"}").await,
        0
    );
    assert_eq!(
        metric(
            &server,
            "loopgate_deliveries_total{result=\"bad_signature\"}"
        )
        .await,
        3
    );
    server.settled().await;
    assert!(kit.notes.numbers().is_empty());
}

#[tokio::test]
async fn too_large_bodies_are_refused_declared_or_not() {
    let kit = Kit::new();
    let server = kit.start().await;
    let headers = "POST /webhook HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-github-event: push\r\n\
                   x-github-delivery: d\r\nx-hub-signature-256: sha256=00\r\nconnection: close\r\n";
    let declared = format!("{headers}content-length: 26214401\r\n\r\n");
    assert_eq!(
        post(server.public_address, declared.as_bytes())
            .await
            .status,
        413
    );

    let stream = TcpStream::connect(server.public_address).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let sender = tokio::spawn(async move {
        to.write_all(format!("{headers}transfer-encoding: chunked\r\n\r\n").as_bytes())
            .await
            .unwrap();
        let chunk = [b"100000\r\n".as_slice(), &vec![b'x'; 0x10_0000], b"\r\n"].concat();
        // 26 MiB; the server hangs up before it has them all.
        for _ in 0..26 {
            if to.write_all(&chunk).await.is_err() {
                break;
            }
        }
        to
    });
    let mut head = [0; 12];
    from.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 413");
    drop(sender.await.unwrap());
}

#[tokio::test]
async fn both_secrets_are_good_while_rotating() {
    let kit = Kit::new();
    let server = kit.start().await;
    let body = opened(9001, 12);
    for (secret, id) in [(kit::SECRET, "new"), (kit::OLD_SECRET, "old")] {
        let signature = signature(secret, body.as_bytes());
        let headers = [
            ("content-type", "application/json; charset=utf-8"),
            ("x-github-event", "pull_request"),
            ("x-github-delivery", id),
            ("x-hub-signature-256", &signature),
        ];
        let answer = post(server.public_address, &request(&headers, &body)).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (202, "accepted"),
            "{id}"
        );
    }
}

#[tokio::test]
async fn what_concerns_nothing_costs_no_row() {
    let kit = Kit::new();
    let server = kit.start().await;
    let comment = |text: &str| {
        format!(
            r#"{{"action":"created","issue":{{"number":12,"pull_request":{{}}}},"comment":{{"id":1,"body":"{text}"}},
            "repository":{{"full_name":"acme/widgets"}},"installation":{{"id":1}},"sender":{{"id":7,"login":"al"}}}}"#
        )
    };
    for (event, body, status, text) in [
        ("issue_comment", comment("thanks, looks good"), 202, "chat"),
        (
            "star",
            r#"{"action":"created"}"#.to_owned(),
            202,
            "unknown_event",
        ),
        (
            "pull_request",
            r#"{"action":"milestoned","pull_request":{"number":1}}"#.to_owned(),
            202,
            "unknown_action",
        ),
        (
            "ping",
            r#"{"zen":"Keep it logically awesome."}"#.to_owned(),
            200,
            "pong",
        ),
    ] {
        let answer = post(server.public_address, &signed(event, &kit.next_id(), &body)).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (status, text),
            "{event}"
        );
    }
    assert_eq!(
        metric(&server, "loopgate_inbox_commits_total{result=\"done\"}").await,
        0
    );
    assert_eq!(metric(&server, "loopgate_unknown_events_total").await, 1);
    kit.deliver(&server, "issue_comment", &comment("/loop retry"))
        .await;
    server.settled().await;
    assert_eq!(kit.notes.numbers(), [12]);
}

#[tokio::test]
async fn wrong_signatures_cost_a_good_delivery_nothing() {
    let kit = Kit::new();
    let server = kit.start().await;
    let body = opened(9001, 12);
    let forged = |body: &str, id: &str| {
        String::from_utf8(signed("pull_request", id, body))
            .unwrap()
            .replace("sha256=", "sha256=00")
    };
    // Behind a load balancer GitHub and a stranger have one address. Small bodies and large ones alike.
    let large = body.replacen('{', &format!("{{{}", " ".repeat(300 * 1024)), 1);
    for n in 0..100 {
        let id = format!("d-{n}");
        assert_eq!(
            post(server.public_address, forged(&body, &id).as_bytes())
                .await
                .status,
            401,
            "{id}"
        );
        assert_eq!(
            post(server.public_address, &signed("pull_request", &id, &body))
                .await
                .status,
            202,
            "{id}"
        );
    }
    assert_eq!(
        post(server.public_address, forged(&large, "d-l").as_bytes())
            .await
            .status,
        401
    );
    assert_eq!(
        post(
            server.public_address,
            &signed("pull_request", "d-l", &large)
        )
        .await
        .status,
        202
    );
}

#[tokio::test]
async fn slow_senders_are_cut_off() {
    let mut kit = Kit::new();
    kit.header_timeout = Duration::from_millis(50);
    let server = kit.start().await;
    let mut stream = TcpStream::connect(server.public_address).await.unwrap();
    stream
        .write_all(b"POST /webhook HTTP/1.1\r\nhost: x\r\nx-slow: ")
        .await
        .unwrap();
    // The server ends this, not we.
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.ok();
    assert!(
        !rest.starts_with(b"HTTP/1.1 2"),
        "{}",
        String::from_utf8_lossy(&rest)
    );
    assert_eq!(get(server.public_address, "/healthz").await.status, 200);
}

#[tokio::test]
async fn each_listener_shows_its_own_pages_and_no_others() {
    let kit = Kit::new();
    let server = kit.start().await;
    let (public, admin) = (server.public_address, server.admin_address);
    for (address, path, status) in [
        (public, "/", 200),
        (public, "/healthz", 200),
        (public, "/webhook", 405),
        (public, "/metrics", 404),
        (public, "/readyz", 200),
        (admin, "/healthz", 200),
        (admin, "/readyz", 200),
        (admin, "/metrics", 200),
        (admin, "/webhook", 404),
    ] {
        let answer = get(address, path).await;
        assert_eq!(answer.status, status, "{path}");
        for header in [
            "x-content-type-options: nosniff",
            "content-security-policy: default-src 'none'",
            "no-store",
        ] {
            assert!(
                answer.head.contains(header),
                "{path} lacks {header}: {}",
                answer.head
            );
        }
    }
    assert!(get(public, "/").await.body.contains("Loopgate"));
    assert_eq!(get(admin, "/readyz").await.body, "storage: ok\n");
}
