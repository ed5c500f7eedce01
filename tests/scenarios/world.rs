//! The language of the scenarios: what people and CI systems do, and what can be seen afterwards, on either world.

use std::{
    future::Future,
    net::{SocketAddr, TcpListener},
    pin::Pin,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
};
use chrono::{TimeDelta, Timelike, Utc};
use futures::future::join_all;
use http::{Request, StatusCode, request::Parts};
use http_body_util::Full;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use loopgate::{
    core::{
        CommentId, PrNumber, RepoName, ReviewId, Sha, Timestamp,
        evidence::{CheckEvidence, CheckKind, CheckResults, EVIDENCE_SCHEMA, Failure, Outcome},
        roster::{Roster, RosterEntry, RosterExtent, TestId, TestState},
    },
    github::{self, ApiUrl, AppCredentials, Credentials, Github, Setup, SystemClock},
    server::{self, GithubReconciler, Running, Server, ServerConfig, own_app},
    simulator::{CheckSpec, Clock, CommitSpec, Conclusion, Config, Pr, PullSpec, Role, RunSpec, Simulator, Verdict},
};
use serde_json::{Value, json};

use crate::emulator_driver::Emulator;

/// Whose comments and deeds are Loopgate's.
const BOT: &str = "loopgate[bot]";
/// Between two things that people do on the simulator, this much time passes.
const PACE: TimeDelta = TimeDelta::minutes(7);

/// A GitHub with the real server in front of it.
pub struct World {
    pub github: GitHub,
    /// Usually one.
    servers: Vec<Running>,
    clock: Clock,
    /// How servers are started.
    settings: [String; 4],
    times: Times,
    fan: Fan,
    data: Vec<tempfile::TempDir>,
}

pub enum GitHub {
    Simulated(Simulator),
    Emulated(Emulator),
}

/// What one of somebody's checks says about a commit.
pub enum Report<'a> {
    Passes(&'a str),
    /// With an annotation on one line.
    Fails {
        check: &'a str,
        path: &'a str,
        line: u64,
        message: &'a str,
    },
    /// Ends so and says nothing more: `failure`, `timed_out`, `cancelled`.
    Ends {
        check: &'a str,
        conclusion: &'a str,
    },
}

/// The workflow whose evidence scenarios with test results believe.
pub const CI: &str = ".github/workflows/ci.yml";

/// A pull request as people see it.
#[derive(Debug, PartialEq, Eq)]
pub struct Look {
    pub labels: Vec<String>,
    /// Requested reviewers, then requested teams as `@slug`.
    pub requested: Vec<String>,
    /// Loopgate's own, oldest first.
    pub comments: Vec<String>,
    /// On the head.
    pub checks: Vec<Check>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub status: String,
    pub conclusion: Option<String>,
    pub title: String,
    /// Summary and text.
    pub says: String,
}

impl Look {
    pub fn has_label(&self, name: &str) -> bool {
        self.labels.iter().any(|label| label == name)
    }

    /// Own comments that begin with a marker.
    pub fn marked(&self, marker: &str) -> Vec<&str> {
        self.comments.iter().map(String::as_str).filter(|body| body.starts_with(marker)).collect()
    }

    /// The one comment that is kept up to date.
    pub fn status(&self) -> &str {
        match *self.marked("<!-- loopgate:status -->") {
            [status] => status,
            ref others => panic!("{} status comments: {self:?}", others.len()),
        }
    }

    pub fn check(&self, name: &str) -> &Check {
        let mut named = self.checks.iter().filter(|check| check.name == name);
        match (named.next(), named.next()) {
            (Some(check), None) => check,
            _ => panic!("not one check run {name}: {self:?}"),
        }
    }

    pub fn concluded(&self, name: &str) -> Option<&str> {
        self.check(name).conclusion.as_deref()
    }
}

/// The simulator's time for the server.
#[derive(Clone)]
struct Paced(Clock);

impl github::Clock for Paced {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

impl server::Clock for Paced {
    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            while self.0.now() < until {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
    }
}

impl World {
    pub async fn simulated() -> Self {
        let clock = Clock::system();
        let simulator = Simulator::start(Config { clock: clock.clone(), pace: PACE, ..Config::default() });
        let github = simulator.await.expect("a simulator");
        let (key, secret) = (github.app_key().private_pem(), github.webhook_secret());
        let settings = [github.app_id().to_string(), key.to_owned(), secret.to_owned(), github.url()];
        let times = Times { of_server: clock.clone(), of_github: Arc::new(Paced(clock.clone())) };
        let fan = Fan::start(TcpListener::bind("127.0.0.1:0").expect("a free port"));
        github.set_webhook_url(&format!("http://{}/webhook", fan.address));
        let github = GitHub::Simulated(github);
        Self { github, servers: Vec::new(), clock, settings, times, fan, data: Vec::new() }.with_a_server().await
    }

    /// None where no emulator is named.
    pub async fn emulated() -> Option<Self> {
        // The emulator must know at its start where webhooks go.
        let fan = Fan::start(TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let emulator = Emulator::start(&format!("http://{}/webhook", fan.address))?;
        let [key, secret, url] = ["private_key", "webhook_secret", "url"].map(|name| emulator.text(name));
        let settings = [emulator.here["app_id"].to_string(), key, secret, url];
        let clock = Clock::system();
        let times = Times { of_server: clock.clone(), of_github: Arc::new(SystemClock) };
        let github = GitHub::Emulated(emulator);
        let world = Self { github, servers: Vec::new(), clock, settings, times, fan, data: Vec::new() };
        Some(world.with_a_server().await)
    }

    /// One server more on the same GitHub, as the same App and with a data directory of its own. Each hears of
    /// everything, at the same time as the others.
    pub async fn with_a_server(mut self) -> Self {
        let data = tempfile::tempdir().expect("a directory");
        let server = serve(&self.settings, &data, self.times.clone()).await;
        self.fan.targets.lock().expect("no panic").push(server.public_address());
        self.servers.push(server);
        self.data.push(data);
        self
    }

    /// Waits until every webhook was delivered, everything it led to was done, and nothing new came of that.
    pub async fn settle(&self) {
        let mut seen = None;
        while seen != Some(self.deliveries()) {
            seen = Some(self.deliveries());
            match &self.github {
                GitHub::Simulated(github) => github.settle().await,
                GitHub::Emulated(github) => drop(github.call("settle", json!({}))),
            }
            for server in &self.servers {
                server.settled().await;
            }
        }
        for server in &self.servers {
            let dead = server.dead_letters().await.expect("the inbox can be read");
            assert!(dead.is_empty(), "given up: {dead:?}");
        }
    }

    fn deliveries(&self) -> usize {
        match &self.github {
            GitHub::Simulated(github) => github.deliveries().len(),
            GitHub::Emulated(github) => list(github.call("sent", json!({}))).len(),
        }
    }

    /// A repository, where `alice` and `bob` may push.
    pub fn repository(&self, name: &str, files: &[(&str, &str)]) -> RepoName {
        match &self.github {
            GitHub::Simulated(github) => github.create_repo(&format!("acme/{name}"), files).expect("a new repository"),
            GitHub::Emulated(github) => {
                let full = github.call("create_repo", json!({ "name": name, "files": tree(files) }));
                for login in ["alice", "bob"] {
                    github.call("add_collaborator", json!({ "repo": full, "login": login, "permission": "push" }));
                }
                full.as_str().and_then(|full| full.parse().ok()).expect("a repository's name")
            }
        }
    }

    /// A team that may write to the repository; its name, or none where nobody can ask whether it may.
    pub fn team(&self, slug: &str, members: &[&str], repo: &RepoName) -> Option<String> {
        let name = format!("acme/{slug}");
        match &self.github {
            GitHub::Simulated(github) => {
                let team = github.admin().add_team(&name, members).expect("a new team");
                github.admin().grant_team(&team, repo, Role::Write).expect("a grant");
                Some(name)
            }
            GitHub::Emulated(github) => {
                let args = json!({ "slug": slug, "members": members, "repos": [repo.to_string()] });
                github.call("create_team", args);
                let path = format!("/orgs/acme/teams/{slug}/repos/{repo}");
                let asked = github.tries("call", json!({ "method": "GET", "path": path }));
                if asked.is_err() {
                    println!("emulator lacks: GET {path}; the gate's approvers are the team's members by name");
                }
                asked.is_ok().then_some(name)
            }
        }
    }

    pub fn person<'a>(&'a self, login: &'a str) -> Person<'a> {
        Person { world: self, login }
    }

    /// Another App reports on the head, without any evidence of ours.
    pub async fn ci_reports(&self, pr: &Pr, reports: &[Report<'_>]) {
        for report in reports {
            self.ci_report(pr, report).await;
        }
        self.settle().await;
    }

    async fn ci_report(&self, pr: &Pr, report: &Report<'_>) {
        match &self.github {
            GitHub::Simulated(github) => {
                let spec = match *report {
                    Report::Passes(check) => CheckSpec::concluded(check, Conclusion::Success),
                    Report::Fails { check, path, line, message } => CheckSpec::concluded(check, Conclusion::Failure)
                        .output("1 test failed", "One of 12 tests failed.")
                        .annotation(path, line, message),
                    Report::Ends { check, conclusion } => CheckSpec::concluded(
                        check,
                        match conclusion {
                            "timed_out" => Conclusion::TimedOut,
                            "cancelled" => Conclusion::Cancelled,
                            _ => Conclusion::Failure,
                        },
                    ),
                };
                let head = github.head(pr).expect("a head");
                github.ci("other-ci").check_run(&pr.repo, head, spec).expect("a check run");
            }
            GitHub::Emulated(github) => {
                let (repo, head) = (pr.repo.to_string(), self.emulated_pull(github, pr)["head"]["sha"].take());
                let (name, mut end) = match *report {
                    Report::Passes(check) => (check, json!({ "conclusion": "success" })),
                    Report::Fails { check, path, line, message } => {
                        let annotation = json!({ "path": path, "start_line": line, "end_line": line,
                            "annotation_level": "failure", "message": message });
                        let output = json!({ "title": "1 test failed", "summary": "One of 12 tests failed.",
                            "annotations": [annotation] });
                        (check, json!({ "conclusion": "failure", "output": output }))
                    }
                    Report::Ends { check, conclusion } => (check, json!({ "conclusion": conclusion })),
                };
                end["status"] = "completed".into();
                // Begun and ended in two steps: for a check run that is made completed, the emulator sends no
                // `completed`.
                let begin = json!({ "repo": repo, "sha": head, "name": name, "conclusion": null });
                let path = format!("/repos/{repo}/check-runs/{}", github.call("create_check", begin)["id"]);
                let args = json!({ "method": "PATCH", "path": path, "as_": "app:other-ci", "json": end });
                github.call("call", args);
            }
        }
    }

    /// The workflow runs the tests on the head and uploads their results as evidence.
    pub async fn ci_tests(&self, pr: &Pr, failing: &[&str], passing: &[&str]) {
        let conclusion = if failing.is_empty() { Conclusion::Success } else { Conclusion::Failure };
        match &self.github {
            GitHub::Simulated(github) => {
                let head = github.head(pr).expect("a head");
                let run = github.start_workflow(&pr.repo, RunSpec::new(head, CI)).expect("a run");
                let zip = archive(&evidence(&pr.repo, head, run.get(), failing, passing));
                let artifacts = vec![("loopgate-evidence-test-1".to_owned(), zip.into())];
                github.finish_workflow(&pr.repo, run, conclusion, artifacts).expect("its end");
            }
            GitHub::Emulated(github) => {
                let repo = pr.repo.to_string();
                let head = self.emulated_pull(github, pr)["head"]["sha"].as_str().expect("a head").to_owned();
                // The emulator gives a run its number when it is over. Numbers count up: a run of another workflow
                // before it tells which one comes next.
                let other =
                    json!({ "repo": repo, "head_sha": head, "name": "Other", "path": ".github/workflows/other.yml" });
                let run = github.call("workflow_run", other)["run_id"].as_u64().expect("a number") + 1;
                let zip = archive(&evidence(&pr.repo, head.parse().expect("a commit"), run, failing, passing));
                let zip = json!({ "base64": base64::Engine::encode(&base64::prelude::BASE64_STANDARD, zip) });
                let args = json!({ "repo": repo, "head_sha": head, "path": CI, "conclusion": conclusion.as_str(),
                    "artifacts": { "loopgate-evidence-test-1": zip } });
                assert_eq!(github.call("workflow_run", args)["run_id"], run);
            }
        }
        self.settle().await;
    }

    /// So much time goes by, and it comes to this by itself: no event tells the server to look.
    pub async fn after(&self, by: TimeDelta, pr: &Pr, what: &str, is_so: impl Fn(&Look) -> bool) -> Look {
        self.clock.advance(by);
        let patience = Instant::now() + Duration::from_secs(60);
        while !is_so(&self.look(pr)) {
            assert!(Instant::now() < patience, "{what} never came: {:?}", self.look(pr));
            tokio::task::yield_now().await;
        }
        self.settle().await;
        self.look(pr)
    }

    /// The saved state, as programs read it.
    pub fn state(&self, pr: &Pr) -> Value {
        let name = format!("refs/loopgate/pr/{}", pr.number);
        let text = match &self.github {
            GitHub::Simulated(github) => {
                let saved = github.state_ref(&pr.repo, &name).expect("a repository").expect("a state");
                saved.files["loop-state.json"].clone()
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "path": "loop-state.json", "ref": name });
                let packed = github.call("read_file", args)["base64"].as_str().expect("a state").to_owned();
                let bytes = base64::Engine::decode(&base64::prelude::BASE64_STANDARD, packed).expect("the driver's");
                String::from_utf8(bytes).expect("text")
            }
        };
        serde_json::from_str(&text).expect("a document")
    }

    /// The name of the pull request's branch.
    pub fn branch(&self, pr: &Pr) -> String {
        match &self.github {
            GitHub::Simulated(github) => github.pull_request(pr).expect("a pull request").head_branch,
            GitHub::Emulated(github) => {
                self.emulated_pull(github, pr)["head"]["ref"].as_str().expect("a branch").to_owned()
            }
        }
    }

    fn emulated_pull(&self, github: &Emulator, pr: &Pr) -> Value {
        github.call("pr", json!({ "repo": pr.repo.to_string(), "number": pr.number.get() }))
    }

    pub fn look(&self, pr: &Pr) -> Look {
        match &self.github {
            GitHub::Simulated(github) => simulated_look(github, pr),
            GitHub::Emulated(github) => self.emulated_look(github, pr),
        }
    }

    fn emulated_look(&self, github: &Emulator, pr: &Pr) -> Look {
        let pull = self.emulated_pull(github, pr);
        let on = json!({ "repo": pr.repo.to_string(), "number": pr.number.get() });
        let mut requested = texts(&pull["requested_reviewers"], "login");
        requested.extend(texts(&pull["requested_teams"], "slug").iter().map(|slug| format!("@{slug}")));
        let mut by_us = on.clone();
        by_us["by"] = BOT.into();
        let runs = github.call("check_runs", json!({ "repo": pr.repo.to_string(), "ref": pull["head"]["sha"] }));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let check = |run: &Value| Check {
            name: text(&run["name"]),
            status: text(&run["status"]),
            conclusion: run["conclusion"].as_str().map(str::to_owned),
            title: text(&run["output"]["title"]),
            says: text(&run["output"]["summary"]) + "\n" + &text(&run["output"]["text"]),
        };
        Look {
            labels: texts(&pull["labels"], "name"),
            requested,
            comments: texts(&github.call("comments", by_us), "body"),
            checks: list(runs).iter().map(check).collect(),
        }
    }

    /// What people think of a comment: `+1`, `confused`. Only Loopgate reacts in these scenarios.
    pub fn reactions(&self, pr: &Pr, comment: u64) -> Vec<String> {
        match &self.github {
            GitHub::Simulated(github) => {
                let pull = github.pull_request(pr).expect("a pull request");
                let comment = pull.comments.into_iter().find(|one| one.id.get() == comment).expect("the comment");
                comment.reactions.into_iter().map(|(_, content)| content).collect()
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "comment_id": comment });
                texts(&github.call("reactions", args), "content")
            }
        }
    }

    /// The messages of the commits under the pull request's state ref, newest first.
    pub fn state_commits(&self, pr: &Pr) -> Vec<String> {
        let name = format!("refs/loopgate/pr/{}", pr.number);
        match &self.github {
            GitHub::Simulated(github) => {
                let saved = github.state_ref(&pr.repo, &name).expect("a repository");
                saved.into_iter().flat_map(|saved| saved.commits).map(|(_, message)| message).collect()
            }
            GitHub::Emulated(github) => {
                let repo = pr.repo.to_string();
                let refs = github.call("refs", json!({ "repo": repo, "prefix": "loopgate/" }));
                let mut next = refs[&name].as_str().map(str::to_owned);
                let mut messages = Vec::new();
                while let Some(sha) = next {
                    let path = format!("/repos/{repo}/git/commits/{sha}");
                    let commit = github.call("call", json!({ "method": "GET", "path": path }));
                    messages.extend(commit["message"].as_str().map(str::to_owned));
                    next = commit["parents"][0]["sha"].as_str().map(str::to_owned);
                }
                messages
            }
        }
    }

    /// Loopgate's requests that change something in a repository, as `METHOD path`.
    pub fn writes(&self) -> Vec<String> {
        match &self.github {
            GitHub::Simulated(github) => {
                let requests = github.requests().into_iter().filter(|request| request.is_write());
                let texts = requests.map(|request| format!("{} {}", request.method, request.path));
                texts.filter(|text| text.contains(" /repos/")).collect()
            }
            GitHub::Emulated(github) => list(github.call("request_log", json!({})))
                .iter()
                .filter(|request| request["actor"].as_str().is_some_and(|actor| actor.contains("loopgate")))
                .map(|request| format!("{} {}", request["method"], request["path"]).replace('"', ""))
                .filter(|text| !text.starts_with("GET ") && text.contains(" /repos/"))
                .collect(),
        }
    }

    /// Whether Loopgate asked anything about a repository: a check that it was there to leave something alone.
    pub fn looked_at(&self, repo: &RepoName) -> bool {
        let prefix = format!("/repos/{repo}/");
        match &self.github {
            GitHub::Simulated(github) => github.requests().iter().any(|request| request.path.starts_with(&prefix)),
            GitHub::Emulated(github) => list(github.call("request_log", json!({}))).iter().any(|request| {
                request["actor"].as_str().is_some_and(|actor| actor.contains("loopgate"))
                    && request["path"].as_str().is_some_and(|path| path.starts_with(&prefix))
            }),
        }
    }
}

/// Somebody who acts. Every deed is followed by waiting for all that comes of it.
pub struct Person<'a> {
    world: &'a World,
    login: &'a str,
}

impl Person<'_> {
    /// GitHub's times are full seconds, and what came first must be seen to have come first.
    async fn begin(&self) {
        if matches!(self.world.github, GitHub::Emulated(_)) {
            let left = 1_020_u32.saturating_sub(Utc::now().nanosecond() / 1_000_000);
            tokio::time::sleep(Duration::from_millis(left.into())).await;
        }
    }

    pub async fn opens(&self, repo: &RepoName, title: &str, files: &[(&str, &str)]) -> Pr {
        self.begin().await;
        let pr = match &self.world.github {
            GitHub::Simulated(github) => {
                let spec = files.iter().fold(PullSpec::new(title), |spec, (path, text)| spec.file(path, *text));
                github.user(self.login).open_pull_request(repo, spec).expect("a pull request")
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": repo.to_string(), "title": title, "files": tree(files), "as_": self.login });
                let number = github.call("open_pr", args)["number"].as_u64().expect("a number");
                Pr { repo: repo.clone(), number: PrNumber::new(number) }
            }
        };
        self.world.settle().await;
        pr
    }

    pub async fn pushes(&self, pr: &Pr, files: &[(&str, &str)]) {
        self.pushes_to(&pr.repo, &self.world.branch(pr), files).await;
    }

    pub async fn pushes_to(&self, repo: &RepoName, branch: &str, files: &[(&str, &str)]) {
        self.lands(repo, branch, files).await;
        self.world.settle().await;
    }

    /// Pushes, and waits for nothing.
    pub async fn lands(&self, repo: &RepoName, branch: &str, files: &[(&str, &str)]) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                let commit = CommitSpec::new("Change").files(files);
                github.user(self.login).push_to(repo, branch, commit).expect("a push");
            }
            GitHub::Emulated(github) => {
                let args =
                    json!({ "repo": repo.to_string(), "branch": branch, "files": tree(files), "as_": self.login });
                github.call("push", args);
            }
        }
    }

    /// Comments; the answer is the comment's id.
    pub async fn says(&self, pr: &Pr, body: &str) -> u64 {
        let id = self.writes(pr, body).await;
        self.world.settle().await;
        id
    }

    /// Comments, and waits for nothing.
    pub async fn writes(&self, pr: &Pr, body: &str) -> u64 {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github.user(self.login).comment(pr, body).expect("a comment").get(),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "body": body,
                    "as_": self.login });
                github.call("comment", args)["id"].as_u64().expect("an id")
            }
        }
    }

    /// Approves or asks for changes in a review of the head; the answer is the review's id.
    pub async fn reviews(&self, pr: &Pr, verdict: Verdict, body: &str) -> u64 {
        self.begin().await;
        let id = match &self.world.github {
            GitHub::Simulated(github) => github.user(self.login).review(pr, verdict, body).expect("a review").get(),
            GitHub::Emulated(github) => {
                let event = match verdict {
                    Verdict::Approve => "APPROVE",
                    Verdict::RequestChanges => "REQUEST_CHANGES",
                    Verdict::Comment => "COMMENT",
                };
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "event": event, "body": body,
                    "as_": self.login });
                github.call("review", args)["id"].as_u64().expect("an id")
            }
        };
        self.world.settle().await;
        id
    }

    /// Dismisses somebody's review.
    pub async fn dismisses(&self, pr: &Pr, review: u64) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                github.user(self.login).dismiss(pr, ReviewId::new(review)).expect("a review");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "review_id": review,
                    "as_": self.login });
                github.call("dismiss_review", args);
            }
        }
        self.world.settle().await;
    }

    /// Deletes their comment.
    pub async fn deletes(&self, pr: &Pr, comment: u64) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => {
                github.user(self.login).delete_comment(pr, CommentId::new(comment)).expect("a comment");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "comment_id": comment, "as_": self.login });
                github.call("delete_comment", args);
            }
        }
        self.world.settle().await;
    }

    pub async fn closes(&self, pr: &Pr) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github.user(self.login).close(pr).expect("an open pull request"),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "as_": self.login });
                github.call("close_pr", args);
            }
        }
        self.world.settle().await;
    }

    pub async fn reopens(&self, pr: &Pr) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => github.user(self.login).reopen(pr).expect("a closed pull request"),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "as_": self.login });
                github.call("reopen_pr", args);
            }
        }
        self.world.settle().await;
    }

    pub async fn merges(&self, pr: &Pr) {
        self.begin().await;
        match &self.world.github {
            GitHub::Simulated(github) => drop(github.user(self.login).merge(pr).expect("a merge")),
            GitHub::Emulated(github) => {
                let args = json!({ "repo": pr.repo.to_string(), "number": pr.number.get(), "as_": self.login });
                github.call("merge_pr", args);
            }
        }
        self.world.settle().await;
    }
}

/// What the server takes for the time, and what GitHub goes by when it looks at tokens. The emulator has the machine's
/// clock: there only the server's can be set forward.
#[derive(Clone)]
struct Times {
    of_server: Clock,
    of_github: Arc<dyn github::Clock>,
}

/// Hands each webhook to every server at once, as a load balancer that is set to would.
struct Fan {
    address: SocketAddr,
    targets: Targets,
}

type Targets = Arc<Mutex<Vec<SocketAddr>>>;

impl Fan {
    fn start(listener: TcpListener) -> Self {
        let address = listener.local_addr().expect("it is bound");
        listener.set_nonblocking(true).expect("a socket");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
        let targets = Targets::default();
        let router = Router::new().fallback(hand_on).layer(DefaultBodyLimit::disable()).with_state(targets.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, targets }
    }
}

/// The answer is the first server's; a server that is not there makes it 502.
async fn hand_on(State(targets): State<Targets>, head: Parts, body: Bytes) -> StatusCode {
    let targets = targets.lock().expect("no panic").clone();
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let sent = targets.into_iter().map(|target| {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::new(Full::new(body.clone()));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = format!("http://{target}{path}").parse().expect("an address");
        *request.headers_mut() = head.headers.clone();
        client.request(request)
    });
    let answers = join_all(sent).await;
    let mut statuses = answers.into_iter().map(|answer| answer.map_or(StatusCode::BAD_GATEWAY, |it| it.status()));
    statuses.next().unwrap_or(StatusCode::SERVICE_UNAVAILABLE)
}

/// The real server: App id, key, webhook secret and API address, as an operator would set them.
async fn serve(settings: &[String; 4], data: &tempfile::TempDir, times: Times) -> Running {
    let [id, key, secret, url] = settings;
    let config = ServerConfig::from_env(|name| match name {
        "LOOPGATE_APP_ID" => Some(id.clone()),
        "LOOPGATE_PRIVATE_KEY" => Some(key.clone()),
        "LOOPGATE_WEBHOOK_SECRET" => Some(secret.clone()),
        "LOOPGATE_GITHUB_API_URL" => Some(url.clone()),
        "LOOPGATE_LISTEN" | "LOOPGATE_ADMIN_LISTEN" => Some("127.0.0.1:0".to_owned()),
        "LOOPGATE_DATA_DIR" => Some(data.path().display().to_string()),
        _ => None,
    })
    .expect("a configuration");
    let clock = Arc::new(Paced(times.of_server));
    let credentials = AppCredentials::new(config.app_id, &config.private_key).expect("a key");
    let setup = Setup { clock: times.of_github, ..Setup::default() };
    let address = ApiUrl::parse(url).expect("an address");
    let client = Github::new(address, Credentials::App(credentials), setup).expect("a client");
    let own = own_app(&client).await.expect("the App is known");
    let now: Arc<dyn github::Clock> = clock.clone();
    let reconciler = GithubReconciler::new(client, now).sealing(config.state_seal());
    let server = Server::new(config, own).clock(clock).start(reconciler);
    server.await.expect("the server starts")
}

fn simulated_look(github: &Simulator, pr: &Pr) -> Look {
    let pull = github.pull_request(pr).expect("a pull request");
    let mut requested = pull.requested_reviewers;
    requested.extend(pull.requested_teams.iter().map(|slug| format!("@{slug}")));
    let checks = pull.check_runs.into_iter().map(|run| Check {
        name: run.name,
        status: run.status.to_owned(),
        conclusion: run.conclusion.map(|conclusion| conclusion.as_str().to_owned()),
        title: run.title.unwrap_or_default(),
        says: run.summary.unwrap_or_default() + "\n" + &run.text.unwrap_or_default(),
    });
    let ours = pull.comments.into_iter().filter(|comment| comment.author == BOT);
    Look {
        labels: pull.labels,
        requested,
        comments: ours.map(|comment| comment.body).collect(),
        checks: checks.collect(),
    }
}

/// An evidence document as `verify` writes it in a job.
pub fn evidence(repo: &RepoName, head: Sha, run: u64, failing: &[&str], passing: &[&str]) -> Value {
    let outcome = if failing.is_empty() { Outcome::Passed } else { Outcome::Failed };
    let mut unit = CheckEvidence::bare("unit".parse().expect("a name"), CheckKind::Test, outcome);
    let counts = [failing.len() + passing.len(), passing.len(), failing.len()].map(|count| count as u64);
    let [total, passed, failed] = counts;
    unit.results = Some(CheckResults { total, passed, failed, ..CheckResults::default() });
    let id = |test: &str| TestId::of("", "", test);
    unit.failures = failing
        .iter()
        .map(|test| Failure {
            test_name: Some((*test).to_owned()),
            error_message: format!("assertion failed in {test}"),
            test_id: Some(id(test)),
            ..Failure::default()
        })
        .collect();
    let failed = failing.iter().map(|test| RosterEntry::new(id(test), TestState::Failed));
    let passed = passing.iter().map(|test| RosterEntry::new(id(test), TestState::Passed));
    unit.tests = Some(Roster::new(failed.chain(passed).collect(), RosterExtent::Whole));
    let build = CheckEvidence::bare("build".parse().expect("a name"), CheckKind::Build, Outcome::Passed);
    json!({
        "schema": EVIDENCE_SCHEMA, "repository": repo, "head_sha": head, "tree_hash": "1a",
        "workflow": { "path": CI, "run_id": run, "run_attempt": 1, "job": "test", "matrix": null },
        "environment": { "os": "linux", "runtime": null, "framework": null },
        "started_at": "2026-11-20T10:15:00Z", "ended_at": "2026-11-20T10:16:00Z", "checks": [build, unit],
    })
}

pub fn archive(document: &Value) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file("evidence.json", zip::write::SimpleFileOptions::default()).expect("a name");
    std::io::Write::write_all(&mut writer, document.to_string().as_bytes()).expect("in memory");
    writer.finish().expect("in memory").into_inner()
}

fn tree(files: &[(&str, &str)]) -> Value {
    files.iter().map(|(path, text)| ((*path).to_owned(), Value::from(*text))).collect()
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        other => panic!("not a list: {other}"),
    }
}

fn texts(items: &Value, key: &str) -> Vec<String> {
    let items = items.as_array().into_iter().flatten();
    items.filter_map(|item| item[key].as_str()).map(str::to_owned).collect()
}
