//! The demo's pages, played over HTTP as a visitor's browser does without JavaScript.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
};

use crate::world::browser;

/// `loopgate demo --serve` after its story.
struct Demo {
    process: Child,
    /// The pull requests' page.
    pulls: String,
    dashboard: String,
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Demo {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopgate"));
        let started = command
            .args(["demo", "--fast", "--serve"])
            .stdout(Stdio::piped())
            .spawn();
        let mut process = started.expect("the program that was built for this test");
        let said = BufReader::new(process.stdout.take().expect("piped above"));
        let mut lines = said.lines().map(|line| line.expect("a line"));
        let mut place_of = |what: &str| {
            let line = lines
                .find(|line| line.contains(what))
                .expect("the demo says where its pages are");
            let address = line.split_whitespace().next();
            address.expect("an address").to_owned()
        };
        let (pulls, dashboard) = (place_of("the pull requests:"), place_of("the dashboard:"));
        // Whatever it says later is read by nobody.
        std::thread::spawn(move || lines.count());
        Self {
            process,
            pulls,
            dashboard,
        }
    }

    fn origin(&self) -> &str {
        self.pulls.split("/acme/").next().expect("an address")
    }

    async fn reads(&self, path: &str) -> String {
        let answer = browser::fetched("GET", &format!("{}{path}", self.origin()), &[], "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// Sends a form as the page's own, and follows where it leads.
    async fn sends(&self, path: &str, form: &str) -> (String, String) {
        let from_here = [("origin", self.origin()), ("sec-fetch-site", "same-origin")];
        let answer = browser::fetched(
            "POST",
            &format!("{}{path}", self.origin()),
            &from_here,
            form,
        )
        .await;
        assert_eq!(answer.status, 303, "{form}: {}", answer.body);
        let there = answer.header("location").to_owned();
        let page = self.reads(&there).await;
        (there, page)
    }
}

/// What the page shows as the result of the last act.
fn news(page: &str) -> &str {
    let (_, after) = page.split_once("Result</h2>").expect("news");
    after.split_once("</section>").expect("its end").0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_of_the_demo_plays_a_pull_request_to_its_merge() {
    let demo = Demo::start();
    let (there, page) = demo
        .sends(
            "/acme/widgets/pulls",
            "as=alice&change=one+that+fails+a+test&title=A+%3Cb%3E",
        )
        .await;
    let path = there.split('?').next().expect("a path").to_owned();
    assert!(page.contains("<h1>A &lt;b&gt; <span"), "{page}");
    assert!(news(&page).contains("verify: failure"), "{}", news(&page));
    assert!(
        page.contains("Attempt 1 of 3 failed") && page.contains("2400"),
        "the feedback is on the page: {page}"
    );

    let commit = page
        .split("/commit/")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a commit");
    assert!(
        demo.reads(&format!("/acme/widgets/commit/{commit}"))
            .await
            .contains("used * 2")
    );
    assert!(
        demo.reads(&format!("/acme/widgets/blob/{commit}/src/pause.rs"))
            .await
            .contains("id=\"L13\"")
    );
    let nowhere =
        browser::fetched("GET", &format!("{}/acme/nowhere", demo.origin()), &[], "").await;
    assert!(
        nowhere.status == 404 && nowhere.body.contains("no such page"),
        "{nowhere:?}"
    );

    let refused = |form: &'static str| {
        let origin = [("origin", demo.origin())];
        let address = format!("{}{path}", demo.origin());
        async move { browser::fetched("POST", &address, &origin, form).await }
    };
    let stranger = refused("as=mallory&act=push&change=the+fix").await;
    assert!(
        stranger.status == 403 && stranger.body.contains("GitHub says no (403)"),
        "{stranger:?}"
    );
    let unmerged = refused("as=olga&act=merge").await;
    assert!(
        unmerged.status == 405 && unmerged.body.contains("GitHub says no (405)"),
        "{unmerged:?}"
    );

    let (_, page) = demo
        .sends(
            &path,
            "as=alice&act=push&change=the+fix%2C+and+a+change+of+authentication",
        )
        .await;
    assert!(
        news(&page).contains("added the label needs:security-review"),
        "{}",
        news(&page)
    );
    let (_, page) = demo
        .sends(&path, "as=mallory&act=comment&body=security+approved")
        .await;
    assert!(news(&page).contains("reacted with 😕"), "{}", news(&page));
    let (_, page) = demo
        .sends(&path, "as=bob&act=comment&body=security+approved")
        .await;
    assert!(
        news(&page).contains("removed the label needs:security-review"),
        "{}",
        news(&page)
    );
    let (_, page) = demo.sends(&path, "as=olga&act=merge").await;
    assert!(
        news(&page).contains("<strong>olga</strong> merged it"),
        "{}",
        news(&page)
    );
    assert!(
        page.contains("<span class=\"state merged\">merged</span>"),
        "{page}"
    );
    assert!(
        demo.reads("/acme/widgets")
            .await
            .contains("<span class=\"state merged\">merged</span> <a")
    );
}

#[test]
fn the_demos_dashboard_shows_at_once_what_waits_for_whom() {
    let Some(script) = std::env::var_os("LOOPGATE_BROWSER") else {
        return println!("skipped: LOOPGATE_BROWSER is not set: the demo's dashboard in a browser");
    };
    let demo = Demo::start();
    let mut node = Command::new("node");
    node.arg(script)
        .args(["--demo", &demo.dashboard, &demo.pulls]);
    assert!(
        node.status().expect("node").success(),
        "the browser found something"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_page_in_the_visitors_browser_cannot_play() {
    let demo = Demo::start();
    let (pulls, form) = (demo.pulls.clone() + "/pulls", "as=olga&change=the+fix");
    let port = demo.origin().rsplit(':').next().expect("a port").to_owned();
    let named = format!("http://rebound.example.com:{port}");
    for headers in [
        vec![],
        vec![("origin", "https://evil.example")],
        vec![("origin", "null")],
        vec![("origin", demo.origin()), ("sec-fetch-site", "cross-site")],
        vec![("origin", demo.origin()), ("sec-fetch-site", "same-site")],
    ] {
        assert_eq!(
            browser::fetched("POST", &pulls, &headers, form)
                .await
                .status,
            403,
            "{headers:?}"
        );
    }
    let host = named.trim_start_matches("http://");
    for method in ["GET", "POST"] {
        let answer =
            browser::fetched(method, &pulls, &[("host", host), ("origin", &named)], form).await;
        assert_eq!(answer.status, 421, "another name leads here: {answer:?}");
    }
    let page = browser::fetched("GET", &demo.pulls, &[], "").await;
    assert!(
        !page.body.contains("#3 by") && page.body.contains("#2 by"),
        "nothing was opened: {}",
        page.body
    );
    assert!(
        page.header("content-security-policy")
            .starts_with("default-src 'none'; style-src 'self';"),
        "{page:?}"
    );
}
