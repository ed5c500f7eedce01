use std::{
    sync::atomic::{AtomicI64, AtomicU32, Ordering},
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, Request, Respond, ResponseTemplate,
    matchers::{
        body_json, header as has_header, header_exists, method, path, query_param,
        query_param_is_missing,
    },
};

use futures::future::BoxFuture;

use super::*;
use crate::github::client::{
    auth::{AppCredentials, AppSlug, tests::TEST_KEY},
    budget::{BookingAnswer, BudgetClaim, BudgetUse, points_of},
    health::Usage,
    secret::Secret,
    work_class::WorkClass,
};
use loopgate_core::AppId;
use loopgate_refs::Retry;
use loopgate_reports::joblog::LogTail;

/// A loopback GitHub, a client of it, and a clock that moves only when a test moves it.
struct Bench {
    server: MockServer,
    github: Github,
    clock: Arc<AtomicI64>,
}

const START: i64 = 1_800_000_000;

impl Bench {
    async fn with(credentials: Credentials) -> Self {
        let server = MockServer::start().await;
        let clock = Arc::new(AtomicI64::new(START));
        let hands = clock.clone();
        let setup = Setup {
            clock: Arc::new(move || {
                Timestamp::from_timestamp(hands.load(Ordering::Relaxed), 0).unwrap()
            }),
            patience: Patience {
                retries: 2,
                pause: Duration::ZERO,
            },
            ..Setup::default()
        };
        let github =
            Github::new(ApiUrl::parse(&server.uri()).unwrap(), credentials, setup).unwrap();
        Self {
            server,
            github,
            clock,
        }
    }

    async fn with_token() -> Self {
        Self::with(Credentials::Token(Secret::new("t0ken"))).await
    }

    async fn with_app() -> Self {
        let app = AppCredentials::new(AppId::new(7), &Secret::new(TEST_KEY)).unwrap();
        Self::with(Credentials::App(app)).await
    }

    fn client(&self) -> Client {
        self.github.client(Some(InstallationId::new(9)))
    }

    fn pass(&self, time: TimeDelta) {
        self.clock.fetch_add(time.num_seconds(), Ordering::Relaxed);
    }

    /// Answers `GET /x` with these, one after the other; the last one stays.
    async fn answers(&self, verb: &str, answers: Vec<ResponseTemplate>) -> Arc<AtomicU32> {
        let asked = Arc::new(AtomicU32::new(0));
        let respond = InTurn {
            answers,
            asked: asked.clone(),
        };
        Mock::given(method(verb))
            .and(path("/x"))
            .respond_with(respond)
            .mount(&self.server)
            .await;
        asked
    }

    /// Hands out installation tokens `t1`, `t2`, … that live for an hour.
    async fn hands_out_tokens(&self) -> Arc<AtomicU32> {
        let asked = Arc::new(AtomicU32::new(0));
        let (count, clock) = (asked.clone(), self.clock.clone());
        let respond = move |_: &Request| {
            let nth = count.fetch_add(1, Ordering::Relaxed) + 1;
            let expires =
                Timestamp::from_timestamp(clock.load(Ordering::Relaxed) + 3_600, 0).unwrap();
            ResponseTemplate::new(201)
                .set_body_json(json!({ "token": format!("t{nth}"), "expires_at": expires }))
        };
        Mock::given(method("POST"))
            .and(path("/app/installations/9/access_tokens"))
            .and(header_exists("authorization"))
            .respond_with(respond)
            .mount(&self.server)
            .await;
        asked
    }
}

struct InTurn {
    answers: Vec<ResponseTemplate>,
    asked: Arc<AtomicU32>,
}

impl Respond for InTurn {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let nth = self.asked.fetch_add(1, Ordering::Relaxed) as usize;
        self.answers[nth.min(self.answers.len() - 1)].clone()
    }
}

fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

fn status(code: u16) -> ResponseTemplate {
    ResponseTemplate::new(code)
}

#[tokio::test]
async fn a_request_says_who_we_are_and_what_we_speak() {
    let bench = Bench::with_token().await;
    Mock::given(method("GET"))
        .and(path("/x"))
        .and(has_header("authorization", "Bearer t0ken"))
        .and(has_header("accept", "application/vnd.github+json"))
        .and(has_header("x-github-api-version", "2022-11-28"))
        .and(header_exists("user-agent"))
        .respond_with(ok(json!(1)))
        .expect(1)
        .mount(&bench.server)
        .await;
    assert_eq!(bench.client().get::<u32>("/x").await.unwrap(), 1);
}

#[tokio::test]
async fn a_read_is_repeated_after_5xx_and_given_up_after_two_retries() {
    let bench = Bench::with_token().await;
    let asked = bench
        .answers("GET", vec![status(502), status(500), ok(json!(1))])
        .await;
    assert_eq!(bench.client().get::<u32>("/x").await.unwrap(), 1);
    assert_eq!(asked.load(Ordering::Relaxed), 3);

    let bench = Bench::with_token().await;
    let asked = bench.answers("GET", vec![status(503)]).await;
    let error = bench.client().get::<u32>("/x").await.unwrap_err();
    assert!(
        matches!(error, Error::Unavailable { retry_at: None, .. }),
        "{error}"
    );
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_creation_is_never_sent_twice_and_an_absolute_update_is() {
    let bench = Bench::with_token().await;
    let posted = bench
        .answers("POST", vec![status(502), ok(json!({}))])
        .await;
    let client = bench.client();
    let error = client
        .post::<Value>("/x", &json!({}), Repeat::Never)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }));
    assert_eq!(posted.load(Ordering::Relaxed), 1);
    let patched = bench
        .answers("PATCH", vec![status(502), ok(json!({}))])
        .await;
    client
        .send(Method::PATCH, "/x", Some(&json!({})), Repeat::Safe)
        .await
        .unwrap();
    assert_eq!(patched.load(Ordering::Relaxed), 2);
    assert_eq!(
        bench.github.counts().usage,
        Usage {
            total: 3,
            not_modified: 0,
            writes: 3
        }
    );
}

#[tokio::test]
async fn nothing_is_sent_before_a_rate_limit_ends() {
    let bench = Bench::with_token().await;
    let limit = ResponseTemplate::new(429).insert_header("retry-after", "30");
    let asked = bench.answers("GET", vec![limit, ok(json!(1))]).await;
    let (client, until) = (
        bench.client(),
        Timestamp::from_timestamp(START + 30, 0).unwrap(),
    );
    for _ in 0..3 {
        assert_eq!(
            client.get::<u32>("/x").await.unwrap_err(),
            Error::RateLimited { until }
        );
    }
    assert_eq!(
        asked.load(Ordering::Relaxed),
        1,
        "asked once, then kept quiet"
    );
    bench.pass(TimeDelta::seconds(30));
    assert_eq!(client.get::<u32>("/x").await.unwrap(), 1);
}

#[tokio::test]
async fn a_secondary_limit_without_headers_waits_longer_each_time() {
    let bench = Bench::with_token().await;
    let body = json!({ "message": "You have exceeded a secondary rate limit. Please wait a few minutes." });
    let limited = || ResponseTemplate::new(403).set_body_json(body.clone());
    bench
        .answers("GET", vec![limited(), limited(), ok(json!(1)), limited()])
        .await;
    let client = bench.client();
    for minutes in [1, 2] {
        let until = client.now() + TimeDelta::minutes(minutes);
        assert_eq!(
            client.get::<u32>("/x").await.unwrap_err(),
            Error::RateLimited { until }
        );
        bench.pass(TimeDelta::minutes(minutes));
    }
    assert_eq!(client.get::<u32>("/x").await.unwrap(), 1);
    let until = client.now() + TimeDelta::minutes(1);
    assert_eq!(
        client.get::<u32>("/x").await.unwrap_err(),
        Error::RateLimited { until },
        "a success forgives"
    );
}

#[tokio::test]
async fn an_unchanged_answer_is_read_from_the_cache() {
    let bench = Bench::with_token().await;
    Mock::given(path("/x"))
        .and(has_header("if-none-match", "\"v1\""))
        .respond_with(status(304))
        .expect(2)
        .mount(&bench.server)
        .await;
    Mock::given(path("/x"))
        .respond_with(ok(json!([1, 2])).insert_header("etag", "\"v1\""))
        .with_priority(9)
        .expect(1)
        .mount(&bench.server)
        .await;
    for _ in 0..3 {
        assert_eq!(bench.client().get::<Vec<u32>>("/x").await.unwrap(), [1, 2]);
    }
    assert_eq!(
        bench.github.counts().usage,
        Usage {
            total: 3,
            not_modified: 2,
            writes: 0
        }
    );
}

#[tokio::test]
async fn what_is_named_by_its_content_is_asked_for_until_it_is_there() {
    let bench = Bench::with_token().await;
    let text = "mode: auto\n";
    let file = |content: &str| {
        let (sha, content) = (blob_id(text.as_bytes()), BASE64_STANDARD.encode(content));
        ok(json!({ "size": text.len(), "sha": sha, "encoding": "base64", "content": content }))
    };
    let asked = bench
        .answers(
            "GET",
            vec![
                status(404),
                status(404),
                status(404),
                file("mode:"),
                file(text),
            ],
        )
        .await;
    let ask = async || bench.client().get_file("/x", 100).await;
    for (seconds, doubts) in [(0, 1), (29, 2), (2, 2)] {
        bench.pass(TimeDelta::seconds(seconds));
        assert_eq!(ask().await.unwrap(), None);
        assert_eq!(
            bench.client().doubts(),
            doubts,
            "no doubt is left once two answers agree that lie apart"
        );
    }
    assert!(
        matches!(ask().await, Err(Error::Unreadable { .. })),
        "cut off on the way, and not kept"
    );
    for _ in 0..2 {
        assert_eq!(
            ask().await.unwrap().unwrap(),
            text,
            "a server that lagged behind"
        );
    }
    assert_eq!(asked.load(Ordering::Relaxed), 5);
    bench
        .client()
        .remember("/y", Accept::Raw, Bytes::from_static(b"y"));
    assert_eq!(
        bench.client().get_file("/y", 10).await.unwrap().unwrap(),
        "y"
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_not_kept() {
    let bench = Bench::with_token().await;
    let tagged = |body: &str| {
        status(200)
            .insert_header("etag", "W/\"1\"")
            .set_body_string(body)
    };
    bench
        .answers("GET", vec![tagged("[1,"), tagged("[1]"), status(304)])
        .await;
    assert!(matches!(
        bench.client().get::<Vec<u32>>("/x").await,
        Err(Error::Unreadable { .. })
    ));
    assert_eq!(bench.client().get::<Vec<u32>>("/x").await.unwrap(), [1]);
    assert_eq!(
        bench.client().get::<Vec<u32>>("/x").await.unwrap(),
        [1],
        "confirmed by its tag"
    );
}

#[tokio::test]
async fn what_was_created_is_seen_before_the_list_shows_it() {
    let bench = Bench::with_token().await;
    bench
        .answers(
            "GET",
            vec![ok(json!([])), ok(json!([{ "id": 7 }])), ok(json!([]))],
        )
        .await;
    #[derive(Debug, Deserialize)]
    struct Item {
        id: u64,
    }
    let client = bench.client();
    client.created("/x", 7, json!({ "id": 7 }));
    let ids = async || {
        let listing = client
            .list_with_created::<Item>("/x", 1, |item| item.id)
            .await
            .unwrap();
        listing.items.iter().map(|item| item.id).collect::<Vec<_>>()
    };
    assert_eq!(ids().await, [7], "the list lags behind");
    assert_eq!(ids().await, [7], "once");
    bench.pass(TimeDelta::minutes(2));
    assert_eq!(ids().await, [0; 0], "somebody removed it");
}

#[tokio::test]
async fn an_answer_larger_than_asked_for_is_refused() {
    let bench = Bench::with_token().await;
    let file = json!({ "size": 11, "sha": "0".repeat(40), "content": "", "encoding": "none" });
    bench.answers("GET", vec![ok(file)]).await;
    let error = bench.client().get_file("/x", 10).await.unwrap_err();
    assert_eq!(
        error,
        Error::TooLarge {
            path: "/x".into(),
            limit: 10
        }
    );
}

fn page(
    server: &MockServer,
    numbers: std::ops::Range<u32>,
    next: Option<u32>,
    last: Option<u32>,
) -> ResponseTemplate {
    let link = |relation: &str, page: Option<u32>| {
        page.map(|page| {
            format!(
                "<{}/list?per_page=100&page={page}>; rel=\"{relation}\"",
                server.uri()
            )
        })
    };
    let links: Vec<_> = [link("next", next), link("last", last)]
        .into_iter()
        .flatten()
        .collect();
    let answer = ok(json!(numbers.collect::<Vec<_>>()));
    if links.is_empty() {
        answer
    } else {
        answer.insert_header("link", links.join(", ").as_str())
    }
}

async fn three_pages(bench: &Bench) {
    let server = &bench.server;
    let first = page(server, 0..100, Some(2), Some(3));
    Mock::given(path("/list"))
        .and(query_param_is_missing("page"))
        .respond_with(first)
        .mount(server)
        .await;
    for (nth, answer) in [
        ("2", page(server, 100..200, Some(3), Some(3))),
        ("3", page(server, 200..205, None, None)),
    ] {
        Mock::given(path("/list"))
            .and(query_param("page", nth))
            .respond_with(answer)
            .mount(server)
            .await;
    }
}

#[tokio::test]
async fn a_list_is_read_over_all_its_pages_in_order() {
    let bench = Bench::with_token().await;
    three_pages(&bench).await;
    let list = bench.client().list::<u32>("/list", 30).await.unwrap();
    assert_eq!(list.items, (0..205).collect::<Vec<_>>());
    assert!(list.is_complete);
    assert_eq!(bench.github.counts().usage.total, 3);
}

#[tokio::test]
async fn a_list_cut_at_its_cap_says_so() {
    let bench = Bench::with_token().await;
    three_pages(&bench).await;
    let list = bench.client().list::<u32>("/list", 2).await.unwrap();
    assert_eq!((list.items.len(), list.is_complete), (200, false));
}

#[tokio::test]
async fn a_page_that_was_the_last_one_may_not_be_any_more() {
    let bench = Bench::with_token().await;
    let server = &bench.server;
    let full = page(server, 0..100, None, None).insert_header("etag", "\"full\"");
    Mock::given(path("/list"))
        .and(has_header("if-none-match", "\"full\""))
        .respond_with(status(304))
        .mount(server)
        .await;
    Mock::given(path("/list"))
        .and(query_param_is_missing("page"))
        .respond_with(full)
        .with_priority(9)
        .mount(server)
        .await;
    let second = Arc::new(AtomicU32::new(0));
    let answers = vec![ok(json!([])), ok(json!([100]))];
    Mock::given(path("/list"))
        .and(query_param("page", "2"))
        .respond_with(InTurn {
            answers,
            asked: second,
        })
        .mount(server)
        .await;
    assert_eq!(
        bench
            .client()
            .list::<u32>("/list", 30)
            .await
            .unwrap()
            .items
            .len(),
        100
    );
    assert_eq!(
        bench
            .client()
            .list::<u32>("/list", 30)
            .await
            .unwrap()
            .items
            .len(),
        101
    );
}

#[tokio::test]
async fn many_requests_share_one_token() {
    let bench = Bench::with_app().await;
    let tokens = bench.hands_out_tokens().await;
    Mock::given(path("/x"))
        .and(has_header("authorization", "Bearer t1"))
        .respond_with(ok(json!(1)))
        .mount(&bench.server)
        .await;
    let client = bench.client();
    let all = futures::future::try_join_all((0..30).map(|_| client.get::<u32>("/x")))
        .await
        .unwrap();
    assert_eq!((all.len(), tokens.load(Ordering::Relaxed)), (30, 1));
}

#[tokio::test]
async fn a_token_is_renewed_once_when_it_is_refused_and_early_before_it_expires() {
    let bench = Bench::with_app().await;
    let tokens = bench.hands_out_tokens().await;
    let bad = || status(401).set_body_json(json!({ "message": "Bad credentials" }));
    Mock::given(path("/x"))
        .and(has_header("authorization", "Bearer t1"))
        .respond_with(bad())
        .mount(&bench.server)
        .await;
    Mock::given(path("/x"))
        .respond_with(ok(json!(1)))
        .with_priority(9)
        .mount(&bench.server)
        .await;
    let client = bench.client();
    assert_eq!(client.get::<u32>("/x").await.unwrap(), 1);
    assert_eq!(tokens.load(Ordering::Relaxed), 2);
    bench.pass(TimeDelta::minutes(56));
    client.get::<u32>("/x").await.unwrap();
    assert_eq!(
        tokens.load(Ordering::Relaxed),
        3,
        "four minutes of life are too few"
    );

    let bench = Bench::with_app().await;
    let tokens = bench.hands_out_tokens().await;
    bench.answers("GET", vec![bad()]).await;
    let error = bench.client().get::<u32>("/x").await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    assert_eq!(
        tokens.load(Ordering::Relaxed),
        2,
        "renewed once, not for ever"
    );
}

#[tokio::test]
async fn a_renamed_repository_is_followed_and_nothing_else() {
    let bench = Bench::with_token().await;
    let moved = status(301).insert_header(
        "location",
        format!("{}/repositories/1/x", bench.server.uri()).as_str(),
    );
    bench.answers("POST", vec![moved]).await;
    Mock::given(method("POST"))
        .and(path("/repositories/1/x"))
        .and(body_json(json!({ "a": 1 })))
        .respond_with(ok(json!(5)))
        .mount(&bench.server)
        .await;
    let client = bench.client();
    let answer: u32 = client
        .post("/x", &json!({ "a": 1 }), Repeat::Safe)
        .await
        .unwrap();
    assert_eq!(answer, 5);
    bench
        .answers(
            "GET",
            vec![status(302).insert_header("location", "http://127.0.0.1:9/evil")],
        )
        .await;
    assert!(matches!(
        client.get::<u32>("/x").await.unwrap_err(),
        Error::Unreadable { .. }
    ));
}

#[tokio::test]
async fn a_download_is_followed_elsewhere_without_the_token() {
    let bench = Bench::with_token().await;
    let storage = MockServer::start().await;
    bench
        .answers(
            "GET",
            vec![status(302).insert_header("location", format!("{}/zip", storage.uri()).as_str())],
        )
        .await;
    let no_token = |request: &Request| {
        assert!(!request.headers.contains_key("authorization"));
        status(200).set_body_bytes(b"PK".to_vec())
    };
    Mock::given(path("/zip"))
        .respond_with(no_token)
        .expect(2)
        .mount(&storage)
        .await;
    assert_eq!(bench.client().download("/x", 10).await.unwrap(), "PK");
    assert!(matches!(
        bench.client().download("/x", 1).await.unwrap_err(),
        Error::TooLarge { .. }
    ));
}

#[tokio::test]
async fn a_log_is_followed_by_hand_one_more_hop_at_most_and_never_with_the_token() {
    let bench = Bench::with_token().await;
    let storage = MockServer::start().await;
    let moved =
        |to: &str| status(302).insert_header("location", format!("{}{to}", storage.uri()).as_str());
    let no_token = |request: &Request| {
        assert!(!request.headers.contains_key("authorization"));
        status(200).set_body_bytes(b"FAIL a.py\n".to_vec())
    };
    bench
        .answers(
            "GET",
            vec![
                moved("/hop"),
                moved("/hop"),
                moved("/1"),
                status(302),
                status(404),
                status(410),
            ],
        )
        .await;
    Mock::given(path("/hop"))
        .respond_with(moved("/log"))
        .mount(&storage)
        .await;
    Mock::given(path("/log"))
        .respond_with(no_token)
        .expect(2)
        .mount(&storage)
        .await;
    Mock::given(path("/1"))
        .respond_with(moved("/hop"))
        .mount(&storage)
        .await;
    let client = bench.client();
    let read = async || {
        let mut kept = LogTail::default();
        client
            .read_log("/x", &mut kept)
            .await
            .map(|is_longer| (is_longer, kept.is_empty()))
    };
    for _ in 0..2 {
        assert_eq!(read().await.unwrap(), (false, false));
    }
    assert!(
        matches!(read().await.unwrap_err(), Error::Unreadable { .. }),
        "two hops more are not followed"
    );
    assert!(
        matches!(read().await.unwrap_err(), Error::Unreadable { .. }),
        "a redirect to nowhere"
    );
    for answered in [404, 410] {
        let error = read().await.unwrap_err();
        assert!(
            matches!(&error, Error::NotFound { path } if path == "/x"),
            "{answered}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_log_is_read_over_https_or_on_loopback_alone() {
    let transport = |api: &str| Transport::new(ApiUrl::parse(api).unwrap()).unwrap();
    for (api, address, is_followed) in [
        (
            "https://api.github.com",
            "https://store.example/log?sig=1",
            true,
        ),
        ("https://api.github.com", "http://store.example/log", false),
        ("https://api.github.com", "http://127.0.0.1:1/log", false),
        ("http://127.0.0.1:2", "http://127.0.0.1:1/log", true),
        ("http://127.0.0.1:2", "http://10.0.0.1/log", false),
        ("http://127.0.0.1:2", "file:///etc/passwd", false),
        ("http://127.0.0.1:2", "/relative", false),
    ] {
        assert_eq!(
            transport(api).may_be_followed(address),
            is_followed,
            "{address} of {api}"
        );
    }
}

#[tokio::test]
async fn an_enterprise_servers_prefix_belongs_to_its_own_addresses_only() {
    let (server, storage) = (MockServer::start().await, MockServer::start().await);
    let api = ApiUrl::parse(&format!("{}/api/v3", server.uri())).unwrap();
    let github = Github::new(api, Credentials::Token(Secret::new("t")), Setup::default()).unwrap();
    let moved = status(302).insert_header("location", format!("{}/zip", storage.uri()).as_str());
    Mock::given(path("/api/v3/archive"))
        .respond_with(moved)
        .expect(1)
        .mount(&server)
        .await;
    Mock::given(path("/zip"))
        .respond_with(status(200).set_body_bytes(b"PK".to_vec()))
        .expect(1)
        .mount(&storage)
        .await;
    assert_eq!(
        github.client(None).download("/archive", 10).await.unwrap(),
        "PK"
    );
}

#[tokio::test]
async fn who_we_are_is_asked_once() {
    let bench = Bench::with_app().await;
    bench.hands_out_tokens().await;
    Mock::given(path("/app"))
        .respond_with(ok(json!({ "id": 7, "slug": "loopgate" })))
        .expect(1)
        .mount(&bench.server)
        .await;
    Mock::given(path("/users/loopgate%5Bbot%5D"))
        .respond_with(ok(json!({ "id": 77, "login": "loopgate[bot]" })))
        .expect(1)
        .mount(&bench.server)
        .await;
    for _ in 0..2 {
        let identity = bench.github.identity(&bench.client()).await.unwrap();
        assert_eq!(
            (identity.bot.as_str(), identity.bot_id.unwrap().get()),
            ("loopgate[bot]", 77)
        );
    }
}

#[tokio::test]
async fn a_workflow_token_acts_as_the_app_that_is_named() {
    for (slug, id, bot) in [("github-actions", 15_368, 41_898_282), ("our-own", 7, 77)] {
        let bench = Bench::with(Credentials::Job {
            token: Secret::new("t"),
            app: slug.parse().unwrap(),
        })
        .await;
        Mock::given(path(format!("/apps/{slug}")))
            .respond_with(ok(json!({ "id": id, "slug": slug })))
            .mount(&bench.server)
            .await;
        Mock::given(path(format!("/users/{slug}%5Bbot%5D")))
            .respond_with(ok(json!({ "id": bot, "login": format!("{slug}[bot]") })))
            .mount(&bench.server)
            .await;
        let identity = bench.github.identity(&bench.client()).await.unwrap();
        assert_eq!(
            (identity.id.get(), identity.bot_id.unwrap().get()),
            (id, bot)
        );
        assert_eq!(
            (identity.bot.as_str(), identity.is_actions()),
            (&*format!("{slug}[bot]"), slug == "github-actions")
        );
    }
}

#[tokio::test]
async fn an_app_that_is_not_there_is_a_fault_of_the_set_up_and_github_actions_needs_no_question() {
    let bench = Bench::with(Credentials::Job {
        token: Secret::new("t"),
        app: "nobodys".parse().unwrap(),
    })
    .await;
    let error = bench.github.identity(&bench.client()).await.unwrap_err();
    assert_eq!(error, Error::Setup("there is no App named nobodys".into()));
    assert!("no slug".parse::<AppSlug>().is_err());
    let credentials = Credentials::Job {
        token: Secret::new("t"),
        app: AppSlug::actions(),
    };
    let public = Github::new(ApiUrl::default(), credentials, Setup::default()).unwrap();
    let identity = public.identity(&public.client(None)).await.unwrap();
    assert_eq!(
        (identity.id.get(), identity.bot_id.unwrap().get()),
        (15_368, 41_898_282),
        "no request was sent"
    );
}

#[tokio::test]
async fn what_github_answers_tells_of_our_key_and_clock() {
    let bench = Bench::with_app().await;
    let date = |seconds: i64| (bench.github.now() + TimeDelta::seconds(seconds)).to_rfc2822();
    let refused = json!({ "message": "A JSON web token could not be decoded" });
    Mock::given(path("/app/installations/9/access_tokens"))
        .respond_with(
            status(401)
                .set_body_json(refused)
                .insert_header("date", date(300)),
        )
        .up_to_n_times(1)
        .mount(&bench.server)
        .await;
    let token = json!({ "token": "t", "expires_at": bench.github.now() + TimeDelta::hours(1) });
    Mock::given(path("/app/installations/9/access_tokens"))
        .respond_with(ok(token).insert_header("date", date(-2)))
        .mount(&bench.server)
        .await;
    Mock::given(path("/x"))
        .respond_with(ok(json!(1)).insert_header("date", date(1)))
        .mount(&bench.server)
        .await;
    assert!(bench.client().get::<u8>("/x").await.is_err());
    assert!(
        bench
            .github
            .key_is_taken()
            .unwrap_err()
            .contains("could not be decoded")
    );
    assert!(
        bench
            .github
            .clock_is_right()
            .unwrap_err()
            .contains("5 min behind")
    );
    assert_eq!(bench.client().get::<u8>("/x").await.unwrap(), 1);
    assert_eq!(
        (bench.github.key_is_taken(), bench.github.clock_is_right()),
        (Ok(()), Ok(()))
    );
}

#[tokio::test]
async fn a_token_that_is_refused_once_is_asked_for_again_and_twice_waits_for_an_event() {
    let bench = Bench::with_app().await;
    let tokens = || Mock::given(path("/app/installations/9/access_tokens"));
    let refused =
        tokens().respond_with(status(404).set_body_json(json!({ "message": "Not Found" })));
    refused.expect(3).mount(&bench.server).await;
    let retry = async || bench.client().get::<u8>("/x").await.unwrap_err().retry();
    let confirmed_at = bench.github.now() + TimeDelta::seconds(31);
    assert_eq!(retry().await, Retry::At(confirmed_at));
    assert_eq!(
        retry().await,
        Retry::At(confirmed_at),
        "nothing is asked meanwhile"
    );
    bench.pass(TimeDelta::seconds(31));
    assert_eq!(retry().await, Retry::OnEvent);
    bench.pass(TimeDelta::hours(9));
    assert_eq!(retry().await, Retry::OnEvent, "nothing is asked");
    bench.client().ask_once_more();
    assert_eq!(retry().await, Retry::OnEvent);
}

/// What is taken together with other processes, which leave points to people alone.
struct Others;

impl SharedBudget for Others {
    fn book(
        &self,
        BudgetClaim { now, what, .. }: BudgetClaim,
    ) -> BoxFuture<'_, Option<BookingAnswer>> {
        let is_for_people = |most| {
            if most == points_of(WorkClass::Author) {
                Err(now)
            } else {
                Ok(now)
            }
        };
        let booked = if let BudgetUse::Points { most, .. } = what {
            is_for_people(most)
        } else {
            Ok(now)
        };
        Box::pin(std::future::ready(Some(booked)))
    }

    fn note(&self, _: BudgetClaim) {}
}

#[tokio::test]
async fn points_of_people_are_left_to_them() {
    let bench = Bench::with_app().await;
    bench.github.share_budget(Arc::new(Others));
    let client = bench.client();
    client.shared.budget.lock().has_points_limit = true;
    assert!(client.has_points(WorkClass::Person, 1).await);
    assert!(!client.has_points(WorkClass::Author, 1).await);
}
