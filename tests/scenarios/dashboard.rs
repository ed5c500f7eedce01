//! The dashboard shows what the pull requests show, asked over HTTP; and in a real browser, where `LOOPGATE_BROWSER`
//! names the script that drives one.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use loopgate_core::RepoName;
use loopgate_simulator::Pr;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::world::{
    ADDRESS,
    Report::{Fails, Passes},
    World,
};

const CONFIGURATION: &str = "\
version: 1
labels: { state: true }
verify:
  checks:
    build: { kind: build, from: { check: ci / build, app: other-ci } }
    unit:  { kind: test, from: { check: ci / test, app: other-ci } }
gates:
  security: { approvers: { users: [bob] } }
  deploy: off
";

async fn fails(world: &World, pr: &Pr) {
    let failure = Fails {
        check: "ci / test",
        path: "src/lib.rs",
        line: 3,
        message: "expected 3600, got 60",
    };
    world.ci_reports(pr, &[Passes("ci / build"), failure]).await;
}

async fn page(world: &World, path: &str) -> Value {
    let (status, body) = world.reads(path).await;
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).expect("a document")
}

/// Who acts next on each open loop, with its number.
async fn who_acts(world: &World) -> Vec<(String, u64)> {
    let overview = page(world, "/index.json").await;
    let groups = overview["groups"].as_array().expect("groups");
    let mut listed = Vec::new();
    for group in groups {
        for one in group["loops"].as_array().expect("loops") {
            listed.push((
                group["part"].as_str().expect("a part").to_owned(),
                one["number"].as_u64().expect("a number"),
            ));
        }
    }
    listed
}

/// Whenever somebody asks there, a pull request is opened.
async fn makes_happen(world: &World, repo: &RepoName, asked: TcpListener) {
    loop {
        let (mut caller, _) = asked.accept().await.expect("a connection");
        let _head = caller.read(&mut [0; 4096]).await.expect("a request");
        world
            .person("alice")
            .opens(
                repo,
                "feat: it came while the page was open",
                &[("src/new.rs", "// 2\n")],
            )
            .await;
        caller
            .write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            .await
            .expect("an answer");
    }
}

/// `loopgate setup`, which shows its page until the test ends.
struct SettingUp {
    process: Child,
    /// Where its page is, with the token.
    link: String,
}

impl Drop for SettingUp {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl SettingUp {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopgate"));
        command.args(["setup", "--poll", "--no-browser", "--organization", "acme"]);
        command
            .args(["--listen", "127.0.0.1:0"])
            .current_dir(folder);
        let started = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut process = started.expect("the program that was built for this test");
        let said = BufReader::new(process.stderr.take().expect("piped above"));
        let mut lines = said.lines().map(|line| line.expect("a line"));
        let line = lines.find(|line| line.contains("/setup?token="));
        let line = line.expect("it says where its page is");
        let link = line.split_whitespace().find(|word| word.contains("/setup"));
        let link = link.expect("an address").to_owned();
        // What it says later is left unread, and must not fill the pipe.
        std::thread::spawn(move || lines.count());
        Self { process, link }
    }

    /// With the token, without it, and after a name that GitHub would refuse.
    fn pages(&self) -> String {
        let (locked, _) = self.link.split_once('?').expect("a token");
        format!("{} {locked} {}&organization=a%20b", self.link, self.link)
    }
}

fn named(part: &str, pr: &Pr) -> (String, u64) {
    (part.to_owned(), pr.number.get())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_shows_what_the_pull_requests_show() {
    let world = World::published(ADDRESS, Some("6")).await;
    let repo = world.repository("widgets", &[("src/lib.rs", "// Widgets.\n")]);
    world
        .person("olga")
        .pushes_to(&repo, "main", &[(".github/loopgate.yml", CONFIGURATION)])
        .await;
    let login = world
        .person("alice")
        .opens(
            &repo,
            "feat: sign in",
            &[("src/auth/login.rs", "pub fn login() {}\n")],
        )
        .await;
    let count = world
        .person("alice")
        .opens(
            &repo,
            "feat: count <b>seconds</b>",
            &[("src/lib.rs", "// 1\n")],
        )
        .await;
    let done = world
        .person("alice")
        .opens(&repo, "docs: say more", &[("NOTES.md", "More.\n")])
        .await;
    fails(&world, &count).await;
    world
        .ci_reports(&login, &[Passes("ci / build"), Passes("ci / test")])
        .await;
    world
        .person("mallory")
        .says(&login, "security approved")
        .await;
    world
        .ci_reports(&done, &[Passes("ci / build"), Passes("ci / test")])
        .await;
    assert_eq!(
        who_acts(&world).await,
        [
            named("approver", &login),
            named("merger", &done),
            named("author", &count)
        ],
        "one loop in each"
    );
    let mine = page(&world, "/me.json?login=bob").await;
    assert_eq!(
        (&mine["total"], &mine["groups"][0]["loops"][0]["number"]),
        (&1.into(), &login.number.get().into())
    );

    let address = format!("/{repo}/pull/{}", login.number);
    let shown = page(&world, &format!("{address}.json")).await;
    let words = &shown["gates"][0]["words"][0];
    assert_eq!(
        (&words["by"], &words["outcome"]),
        (&"mallory".into(), &"refused".into()),
        "{shown}"
    );
    assert!(
        shown["verdict"]
            .as_str()
            .is_some_and(|verdict| verdict.contains("security is not approved yet")),
        "{shown}"
    );
    let before = format!(
        "{address}?at={}",
        shown["saved"][0]["sha"].as_str().expect("a saved state")
    );

    world.person("bob").says(&login, "security approved").await;
    let now = page(&world, &format!("{address}.json")).await;
    assert_eq!(
        (&now["gates"][0]["closed"], &now["acts"]["action"]),
        (&false.into(), &"merge".into()),
        "{now}"
    );
    let then = page(&world, &before.replace('?', ".json?")).await;
    assert_eq!(
        (&then["gates"][0]["closed"], &then["gates"][0]["status"]),
        (&true.into(), &"requested".into()),
        "{then}"
    );
    assert!(
        then["report"]
            .as_str()
            .is_some_and(|report| report.contains("security is not approved yet")),
        "{then}"
    );
    let head = world.head(&login);
    assert_eq!(
        world.reads(&format!("{address}?at={head}")).await.0,
        404,
        "a commit that is no saved state"
    );

    let shown = page(&world, &format!("/{repo}/pull/{}.json", count.number)).await;
    assert_eq!(shown["attempts"][0]["passed"], false, "{shown}");
    assert!(
        shown["failures"][0]["message"]
            .as_str()
            .is_some_and(|message| message.contains("3600")),
        "{shown}"
    );
    assert!(shown["attempts"][0]["feedback"][0].is_string(), "{shown}");

    world.person("olga").merges(&done).await;
    assert!(
        !who_acts(&world).await.contains(&named("merger", &done)),
        "what has ended leaves the list"
    );
    let merged = page(&world, &format!("/{repo}/pull/{}.json", done.number)).await;
    assert_eq!(merged["stage"], "COMPLETE", "and keeps its page: {merged}");
    for path in [
        "operations",
        &format!("{repo}/metrics"),
        &format!("{repo}/memory"),
        "repositories",
    ] {
        page(&world, &format!("/{path}.json")).await;
    }
    assert_eq!(world.reads(&format!("/{repo}/pull/99")).await.0, 404);

    let Some(script) = std::env::var_os("LOOPGATE_BROWSER") else {
        return println!("skipped: LOOPGATE_BROWSER is not set: the pages in a browser");
    };
    let pages = [
        "/".to_owned(),
        "/me?login=alice".to_owned(),
        "/?part=approver".to_owned(),
        "/repositories".to_owned(),
        "/operations".to_owned(),
        "/doctor".to_owned(),
        address,
        before,
        format!("/{repo}/pull/{}", count.number),
        format!("/{repo}/metrics"),
        format!("/{repo}/memory"),
        format!("/{repo}/pull/99"),
    ];
    let asked = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let here = format!("http://{}", asked.local_addr().expect("an address"));
    let folder = tempfile::tempdir().expect("a folder");
    let setting_up = SettingUp::start(folder.path());
    let mut node = Command::new("node");
    node.arg(script)
        .arg(world.admin_url())
        .args(pages)
        .env("LOOPGATE_CHANGE", here)
        .env("LOOPGATE_OTHER_PAGES", setting_up.pages());
    let driven = tokio::task::spawn_blocking(move || node.status());
    tokio::select! {
        ended = driven => assert!(ended.expect("no panic").expect("node").success(), "the browser found something"),
        () = makes_happen(&world, &repo, asked) => {}
    }
}
