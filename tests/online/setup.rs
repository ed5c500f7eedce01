//! From an empty directory to an App that is registered, installed and healthy: `loopgate setup`, `serve` and `doctor`
//! as processes of their own, a browser played by plain requests, GitHub by the simulator.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use loopgate_simulator::{Config, Harm, Often, PullSpec, RequestFault, Simulator};
use serde_json::Value;

use crate::browser::{Browser, Page};

const CONFIGURATION: &str = "version: 1\nverify:\n  checks:\n    unit: { kind: test, from: { check: unit, app: other-ci } }\n";

/// A process that is ended with the test, and the lines it says on standard error.
struct Spoken {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Drop for Spoken {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopgate"));
    command.args(arguments).current_dir(folder).env_clear();
    command
}

fn start(mut command: Command) -> Spoken {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program under test");
    let spoken = BufReader::new(child.stderr.take().expect("it is piped"));
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || {
        spoken
            .lines()
            .map_while(Result::ok)
            .try_for_each(|line| send.send(line))
    });
    Spoken { child, lines }
}

impl Spoken {
    /// The next line that contains a text.
    #[track_caller]
    fn says(&self, text: &str) -> String {
        let mut heard = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(30)) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => heard.push(line),
                Err(_) => panic!("it never said {text}: {heard:#?}"),
            }
        }
    }
}

fn address() -> String {
    // Freed at once, and taken again by the process under test.
    std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string()
}

async fn github() -> (Simulator, String) {
    let github = Simulator::start(Config::default()).await.unwrap();
    github
        .create_private_repo(
            "acme/widgets",
            &[(".github/loopgate.yml", CONFIGURATION), ("a", "b")],
        )
        .unwrap();
    // Only the App that is set up here is there.
    github.admin().uninstall_app().unwrap();
    let url = github.url();
    (github, url)
}

/// The page that GitHub's answer leads back to.
async fn press(browser: &Browser, page: &Page) -> Page {
    let back = browser
        .submit(&page.action(), &[("manifest", &page.field("manifest"))])
        .await;
    assert_eq!(back.status, 302, "{}", back.text);
    browser.get(&back.location()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn from_an_empty_directory_to_the_first_judged_pull_request() {
    let (github, url) = github().await;
    let (folder, browser) = (tempfile::tempdir().unwrap(), Browser::new());
    let (webhooks, admin) = (address(), address());
    let public = format!("http://{webhooks}");
    let setup = start(command(
        folder.path(),
        &setting_up(&url, &["--public-url", &public]),
    ));
    let link = setup.says("/setup?token=").trim().to_owned();
    let locked = browser.get(link.split('?').next().unwrap()).await;
    assert!(
        locked.text.contains("setup-token") && !locked.text.contains("manifest"),
        "{}",
        locked.text
    );

    let page = browser.get(&link).await;
    assert!(
        page.action().starts_with(&format!(
            "{url}/organizations/acme/settings/apps/new?state="
        )),
        "{}",
        page.text
    );
    let style = browser.get(&link.replace("/setup", "/style.css")).await;
    assert!(style.header("content-type").starts_with("text/css"));
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("default-src 'none'; style-src 'self';")
            && policy.ends_with(&format!("form-action 'self' {url}")),
        "{policy}"
    );
    let back = browser
        .submit(&page.action(), &[("manifest", &page.field("manifest"))])
        .await;
    let forged = back.location().replace("state=", "state=0");
    assert_eq!(
        browser.get(&forged).await.status,
        400,
        "another nonce brings no App"
    );
    // Twice at once, as an impatient browser does.
    let back = back.location();
    let (one, other) = tokio::join!(browser.get(&back), browser.get(&back));
    assert_eq!(
        (one.status, other.status),
        (303, 303),
        "{} {}",
        one.text,
        other.text
    );
    let kept = folder.path().join("loopgate-data/app.env");
    assert!(
        std::fs::read_to_string(&kept)
            .unwrap()
            .contains("LOOPGATE_APP_SLUG=loopgate-acme"),
        "the key is before the page"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(
            std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    let install = setup.says("/installations/new").trim().to_owned();
    // On another connection, as a browser may.
    let registered = Browser::new().get(&link).await;
    assert!(
        registered.text.contains("Install it on your repositories"),
        "{}",
        registered.text
    );
    let serve = || {
        let mut serve = command(
            folder.path(),
            &["serve", "--listen", &webhooks, "--admin-listen", &admin],
        );
        serve.env("LOOPGATE_LOG", "info");
        serve
    };
    let server = start(serve());
    server.says("ready");
    let alice = Browser::as_person(&github.user("alice").token().unwrap());
    alice.submit(&install, &[("account", "acme")]).await;
    setup.says("alice is no owner of acme and could only ask");
    browser.submit(&install, &[("account", "acme")]).await;
    let mut setup = setup;
    let ended = tokio::task::spawn_blocking(move || setup.child.wait().unwrap().code())
        .await
        .unwrap();
    assert_eq!(ended, Some(0));

    let pr = github.user("alice").open_pull_request(
        &"acme/widgets".parse().unwrap(),
        PullSpec::new("Say c").file("a", "c\n"),
    );
    let pr = pr.unwrap();
    let judged = |github: &Simulator| {
        github
            .pull_request(&pr)
            .unwrap()
            .comments
            .iter()
            .any(|it| it.author == "loopgate-acme[bot]")
    };
    github
        .wait_until(judged, Duration::from_secs(60))
        .await
        .unwrap();

    let doctor = command(
        folder.path(),
        &["doctor", "acme/widgets", "--format", "json"],
    )
    .output()
    .unwrap();
    let told: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert_eq!(
        (doctor.status.code(), &told["healthy"]),
        (Some(0), &true.into()),
        "{told:#}"
    );
}

/// GitHub and browsers are sent to what is given here.
#[test]
fn an_address_that_is_none_of_the_web_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for flag in ["--public-url", "--webhook-proxy", "--web-url"] {
        let arguments = ["setup", flag, "ftp://loopgate.example.com"];
        let end = command(folder.path(), &arguments).output().unwrap();
        let said = String::from_utf8_lossy(&end.stderr).into_owned();
        assert!(
            end.status.code() == Some(64) && said.contains("is not an http or https URL"),
            "{said}"
        );
    }
}

/// The process dies while the browser is on GitHub's page, and GitHub is away when it comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_comes_back_goes_on() {
    let (github, url) = github().await;
    let (folder, browser, listen) = (tempfile::tempdir().unwrap(), Browser::new(), address());
    let arguments = ["setup", "--web-url", &url, "--poll", "--listen", &listen];
    let first = start(command(folder.path(), &arguments));
    let page = browser.get(first.says("/setup?token=").trim()).await;
    let back = browser
        .submit(&page.action(), &[("manifest", &page.field("manifest"))])
        .await
        .location();
    drop(first);
    let second = start(command(folder.path(), &arguments));
    let again = browser.get(second.says("/setup?token=").trim()).await;
    assert_eq!(
        again.action(),
        page.action(),
        "the same registration, under the same made-up name"
    );
    assert_eq!(again.field("name"), page.field("name"));
    let away =
        RequestFault::on("/conversions$", Harm::status(http::StatusCode::BAD_GATEWAY)).unwrap();
    github.add_fault(away.often(Often::Times(1)));
    let refused = browser.get(&back).await;
    assert!(
        refused.status == 400 && refused.text.contains("GitHub did not exchange the code"),
        "{}",
        refused.text
    );
    assert_eq!(browser.get(&back).await.status, 303, "a reload is enough");
    second.says("is registered");
}

fn setting_up<'a>(url: &'a str, arrival: &[&'a str]) -> Vec<&'a str> {
    [
        &[
            "setup",
            "--organization",
            "acme",
            "--web-url",
            url,
            "--listen",
            "127.0.0.1:0",
        ],
        arrival,
    ]
    .concat()
}

/// Registers and installs an App whose webhooks come on some way, and opens a pull request after `meanwhile`.
async fn judged_through(arrival: &[&str], meanwhile: impl AsyncFnOnce(&Path) -> Option<Spoken>) {
    let (github, url) = github().await;
    let (folder, browser) = (tempfile::tempdir().unwrap(), Browser::new());
    let mut setup = start(command(folder.path(), &setting_up(&url, arrival)));
    let page = browser.get(setup.says("/setup?token=").trim()).await;
    press(&browser, &page).await;
    browser
        .submit(
            setup.says("/installations/new").trim(),
            &[("account", "acme")],
        )
        .await;
    let ended = tokio::task::spawn_blocking(move || setup.child.wait().unwrap().code())
        .await
        .unwrap();
    assert_eq!(ended, Some(0));
    let before = meanwhile(folder.path()).await;
    let spec = PullSpec::new("Say c").file("a", "c\n");
    let pr = github
        .user("alice")
        .open_pull_request(&"acme/widgets".parse().unwrap(), spec)
        .unwrap();
    github.settle().await;
    let _server = before.unwrap_or_else(|| start(serving(folder.path())));
    let judged = |github: &Simulator| {
        github
            .pull_request(&pr)
            .unwrap()
            .comments
            .iter()
            .any(|it| it.author == "loopgate-acme[bot]")
    };
    github
        .wait_until(judged, Duration::from_secs(60))
        .await
        .unwrap();
    let doctor = command(folder.path(), &["doctor", "--format", "json"])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    assert!(
        told["lines"]
            .as_array()
            .unwrap()
            .iter()
            .all(|line| line["outcome"] == "healthy"),
        "{told:#}"
    );
}

/// A server that hears of pull requests by webhooks only.
fn serving(folder: &Path) -> Command {
    let mut serve = command(
        folder,
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--admin-listen",
            "127.0.0.1:0",
        ],
    );
    serve.env("LOOPGATE_RESYNC", "off");
    serve
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_nobody_reaches_reads_githubs_log() {
    judged_through(&["--poll"], async |_: &Path| None).await;
}

/// A channel as smee.io is one: it writes the JSON anew, so that its signature says nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_nobody_reaches_listens_to_a_channel() {
    let (sender, _) = tokio::sync::broadcast::channel::<String>(100);
    let listeners = sender.clone();
    let listen = async move || {
        let events = futures::stream::unfold(listeners.subscribe(), async |mut events| {
            let event: Result<_, std::convert::Infallible> = Ok(events.recv().await.ok()?);
            Some((event, events))
        });
        (
            [("content-type", "text/event-stream")],
            axum::body::Body::from_stream(events),
        )
    };
    let relayed = sender.clone();
    let relay = async move |headers: http::HeaderMap, body: bytes::Bytes| {
        let mut message: serde_json::Map<_, _> = headers
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()))
            .collect();
        let body: std::collections::BTreeMap<String, Value> =
            serde_json::from_slice(&body).unwrap();
        message.insert("body".to_owned(), serde_json::to_value(body).unwrap());
        relayed
            .send(format!("id: 1\ndata: {}\n\n", Value::Object(message)))
            .ok();
        "relayed"
    };
    let channel = axum::Router::new().route("/channel", axum::routing::get(listen).post(relay));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/channel", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, channel).await });
    judged_through(&["--webhook-proxy", &address], async |folder: &Path| {
        let server = start(serving(folder));
        server.says("ready");
        while sender.receiver_count() == 0 {
            tokio::task::yield_now().await;
        }
        Some(server)
    })
    .await;
}

/// A server that knows no App registers one on its own address, and serves it then.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_registers_its_app_by_itself_and_its_page_closes() {
    let (_github, url) = github().await;
    let (folder, browser) = (tempfile::tempdir().unwrap(), Browser::new());
    let (webhooks, admin) = (address(), address());
    let public = format!("http://{webhooks}");
    let mut serve = command(
        folder.path(),
        &["serve", "--listen", &webhooks, "--admin-listen", &admin],
    );
    serve
        .env("LOOPGATE_PUBLIC_URL", &public)
        .env("LOOPGATE_GITHUB_WEB_URL", &url);
    let server = start(serve);
    server.says("no App is known yet");
    let token = std::fs::read_to_string(folder.path().join("loopgate-data/setup-token")).unwrap();
    assert_eq!(browser.get(&format!("{public}/healthz")).await.status, 200);
    let page = browser
        .get(&format!(
            "{public}/setup?token={token}&organization=acme&name=Gate"
        ))
        .await;
    let back = press(&browser, &page).await;
    assert_eq!(back.status, 303);
    let registered = Browser::new().get(&back.location()).await;
    assert!(
        registered.text.contains("Install it on your repositories"),
        "{}",
        registered.text
    );
    server.says("ready");
    assert_eq!(
        browser.get(&format!("{public}/setup")).await.status,
        404,
        "it is configured"
    );
    let registered = browser.get(&format!("{public}/setup?token={token}")).await;
    assert!(
        registered.text.contains("Install it on your repositories"),
        "{}",
        registered.text
    );
    // It asks for no more than GitHub refuses by itself, and tells what was refused.
    assert_eq!(
        browser
            .get(&format!("{public}/setup?code=x&state=y"))
            .await
            .status,
        400
    );
}
