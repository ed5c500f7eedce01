use std::time::Instant;

use axum::{
    body::Body,
    http::{Request, Response, StatusCode, header::ETAG},
};
use http_body_util::BodyExt as _;
use tokio::sync::{mpsc, watch};
use tower::Service as _;

use super::*;
use crate::{
    github::{LoopEntry, ReconcileOutcome, SystemClock},
    server::{
        Services, inbox,
        metrics::Metrics,
        pages::{Readiness, admin},
        reconciler::Overview,
        storage::{self, Change, Delivery, Key, Trouble, WorkEnd, sample},
    },
};
use loopgate_core::Timestamp;
use loopgate_webhook::{Target, Work};

struct Pages {
    app: Router,
    token: String,
    _data: tempfile::TempDir,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_790_000_000 + seconds, 0).unwrap()
}

impl Pages {
    /// A server whose index has so many open loops, and one dead letter.
    async fn with(loops: u64) -> Self {
        let data = tempfile::tempdir().unwrap();
        let (store, mut writer) = storage::open(None, data.path()).await.unwrap();
        for chunk in (0..=loops).collect::<Vec<_>>().chunks(500) {
            let work = |number: u64| Key {
                installation: InstallationId::new(number % 7),
                target: Target::PullRequest {
                    repository: format!("acme/widgets-{}", number % 40).parse().unwrap(),
                    number: PrNumber::new(number + 1),
                },
            };
            let accept = |number: &u64| {
                let Key {
                    installation,
                    target,
                } = work(*number);
                let work = Work {
                    installation,
                    targets: vec![target],
                    hints: Vec::new(),
                };
                let id = format!("d{number}").parse().unwrap();
                Change::Accept(Delivery {
                    id,
                    event: "push".to_owned(),
                    received_at: at(0),
                    work,
                })
            };
            writer
                .apply(&chunk.iter().map(accept).collect::<Vec<_>>())
                .await
                .unwrap();
            let mut ends = Vec::new();
            for number in chunk {
                let part = Part::ALL[*number as usize % Part::ALL.len()];
                let title = format!(
                    "feat: change number {number} of <many>, with a title that is not short at all"
                );
                let since = at(i64::try_from(*number).unwrap());
                let entry = LoopEntry::Open(Box::new(sample(
                    &title,
                    part,
                    &["bob", "acme/security"],
                    since,
                )));
                let outcome = ReconcileOutcome {
                    entry,
                    ..ReconcileOutcome::default()
                };
                let trouble = Trouble {
                    failures: 10,
                    failing_since: at(0),
                    reason: "<b>no</b>".into(),
                    retry_at: at(0),
                };
                let how = if *number == loops {
                    WorkEnd::Dead(Trouble {
                        retry_at: at(9),
                        ..trouble
                    })
                } else {
                    WorkEnd::Done(outcome)
                };
                let key = work(*number);
                let covered = store.load(&key).await.unwrap().unwrap().covered;
                ends.push(Change::Settle {
                    key,
                    covered,
                    how: Box::new(how),
                    now: at(0),
                });
            }
            writer.apply(&ends).await.unwrap();
        }
        let (announce, mut arrivals) = mpsc::channel(64);
        tokio::spawn(async move { while arrivals.recv().await.is_some() {} });
        let metrics = Arc::new(Metrics::default());
        let (inbox, write) = inbox::open(writer, store.clone(), announce, metrics.clone());
        tokio::spawn(write);
        let services = Services {
            store,
            inbox,
            metrics,
            clock: Arc::new(SystemClock),
            github: None,
        };
        let token = "a-token".to_owned();
        let pages = Admin {
            readiness: Arc::new(Readiness::new(services.clone())),
            services,
            overview: Box::new(Overview::default),
            recovery: None,
            loops: None,
            doctor: None,
            live: Live::new(watch::channel(false).1),
            form_token: token.clone(),
        };
        Self {
            app: admin(Arc::new(pages)),
            token,
            _data: data,
        }
    }

    async fn ask(&mut self, request: Request<Body>) -> (StatusCode, Option<String>, String) {
        let response: Response<Body> = self.app.call(request).await.unwrap();
        let tag = response
            .headers()
            .get(ETAG)
            .map(|tag| tag.to_str().unwrap().to_owned());
        let policy = &response.headers()["content-security-policy"];
        let policy = policy.to_str().unwrap();
        assert!(
            policy.starts_with("default-src 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(
            policy.matches("script").count(),
            policy.matches("script-src 'self';").count(),
            "{policy}"
        );
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, tag, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn get(&mut self, path: &str) -> (StatusCode, Option<String>, String) {
        self.ask(Request::get(path).body(Body::empty()).unwrap())
            .await
    }

    async fn posts(&mut self, form: String) -> StatusCode {
        self.ask(
            Request::post("/operations/replay")
                .body(Body::from(form))
                .unwrap(),
        )
        .await
        .0
    }
}

#[tokio::test]
async fn the_first_page_of_ten_thousand_loops_is_quick_and_small() {
    let mut pages = Pages::with(10_000).await;
    let mut quickest = u128::MAX;
    let mut largest = 0;
    for _ in 0..20 {
        let begun = Instant::now();
        let (status, _, body) = pages.get("/").await;
        quickest = quickest.min(begun.elapsed().as_millis());
        largest = largest.max(body.len());
        assert_eq!(status, StatusCode::OK);
        assert!(
            body.contains("10000 open pull requests")
                && body.contains("&lt;many&gt;")
                && !body.contains("<many>")
        );
    }
    let (_, _, one_part) = pages.get("/?part=approver&from=50").await;
    println!(
        "the first page: {quickest} ms, {largest} bytes; one part: {} bytes",
        one_part.len()
    );
    assert!(
        largest <= 60_000 && one_part.len() <= 60_000,
        "{largest}, {}",
        one_part.len()
    );
    assert!(quickest < 100, "{quickest} ms");
}

#[tokio::test]
async fn a_page_is_narrowed_by_its_address_and_sent_once() {
    let mut pages = Pages::with(60).await;
    let json = async |pages: &mut Pages, path: &str| -> serde_json::Value {
        let (status, _, body) = pages.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    };
    let all = json(&mut pages, "/index.json").await;
    assert_eq!(
        (&all["schema"], &all["total"]),
        (&"loopgate.overview/v1".into(), &60.into())
    );
    assert_eq!(json(&mut pages, "/me.json?login=BOB").await["total"], 60);
    assert_eq!(json(&mut pages, "/me.json?login=nobody").await["total"], 0);
    assert_eq!(
        json(
            &mut pages,
            "/index.json?person=alice&agent=copilot&repository="
        )
        .await["total"],
        60
    );
    assert_eq!(
        json(&mut pages, "/index.json?repository=ACME/widgets-3").await["total"],
        2
    );
    let part = json(&mut pages, "/index.json?part=ci&from=2").await;
    assert_eq!(
        (
            part["groups"].as_array().unwrap().len(),
            &part["groups"][0]["count"]
        ),
        (1, &5.into())
    );
    assert_eq!(part["groups"][0]["loops"].as_array().unwrap().len(), 3);
    assert_eq!(
        json(&mut pages, "/repositories.json").await["repositories"]
            .as_array()
            .unwrap()
            .len(),
        40
    );
    for (path, status) in [
        ("/?repository=a%20b", StatusCode::NOT_FOUND),
        ("/?part=nonsense", StatusCode::BAD_REQUEST),
        ("/acme/widgets/pull/x", StatusCode::NOT_FOUND),
        ("/acme/widgets/pull/1", StatusCode::SERVICE_UNAVAILABLE),
        ("/acme/widgets/settings", StatusCode::NOT_FOUND),
    ] {
        assert_eq!(pages.get(path).await.0, status, "{path}");
    }

    let (_, tag, _) = pages.get("/repositories").await;
    let again = Request::get("/repositories")
        .header("if-none-match", tag.unwrap())
        .body(Body::empty())
        .unwrap();
    let (status, _, body) = pages.ask(again).await;
    assert_eq!((status, body.as_str()), (StatusCode::NOT_MODIFIED, ""));
    let asks = Request::get("/repositories")
        .header("accept", "application/json")
        .body(Body::empty())
        .unwrap();
    assert!(pages.ask(asks).await.2.starts_with('{'));
}

#[tokio::test]
async fn the_first_page_says_what_waits_for_whom_and_what_will_stand_there() {
    let mut pages = Pages::with(12).await;
    let (_, _, first) = pages.get("/").await;
    for shown in [
        "<p class=\"who\">bob, acme&#x2f;security</p>",
        "<a href=\"/?me=acme%2Fsecurity\">acme&#x2f;security <span>12</span></a>",
        ">See what to fix<",
        "12 open pull requests",
    ] {
        let shown = shown.replace("=\"/", "=\"&#x2f;");
        assert!(first.contains(&shown), "{shown}: {first}");
    }
    assert!(
        !first.contains("score") && !first.contains("VERIFY"),
        "{first}"
    );
    let (_, _, bobs) = pages.get("/me?login=bob").await;
    assert!(bobs.contains("<h1>12 wait for bob</h1>"), "{bobs}");
    let (_, _, none) = pages.get("/me?login=carol").await;
    assert!(
        none.contains("<h1>Nothing waits for carol</h1>")
            && none.contains("What needs carol will stand here"),
        "{none}"
    );
    let (_, _, empty) = Pages::with(0).await.get("/").await;
    assert!(
        empty.contains("No open pull requests</h2>") && empty.contains(".github/loopgate.yml"),
        "{empty}"
    );
}

#[tokio::test]
async fn a_dead_letter_is_replayed_from_the_page_and_from_no_other() {
    let mut pages = Pages::with(3).await;
    let (_, _, page) = pages.get("/operations").await;
    assert!(
        page.contains("widgets-3&#x2f;pr:4")
            && page.contains("&lt;b&gt;no")
            && page.contains(&pages.token),
        "{page}"
    );
    let (_, _, twin) = pages.get("/operations.json").await;
    assert!(
        twin.contains("\"dead\":1") && !twin.contains(&pages.token),
        "{twin}"
    );
    let id = "3%2Facme%2Fwidgets-3%2Fpr%3A4";
    assert_eq!(
        pages.posts(format!("token=other&id={id}")).await,
        StatusCode::FORBIDDEN
    );
    assert_eq!(pages.posts(format!("id={id}")).await, StatusCode::FORBIDDEN);
    assert!(
        pages.get("/operations.json").await.2.contains("\"dead\":1"),
        "nothing was done"
    );
    assert_eq!(
        pages.posts("token=a-token&id=nonsense".to_owned()).await,
        StatusCode::NOT_FOUND
    );
    assert_eq!(
        pages.posts(format!("token=a-token&id={id}")).await,
        StatusCode::SEE_OTHER
    );
    let (_, _, after) = pages.get("/operations.json").await;
    assert!(
        after.contains("\"dead\":0,") && after.contains("\"waiting\":1"),
        "{after}"
    );
}
