//! The language of the scenarios: what people and CI systems do, and what can be seen afterwards, on either world.

pub mod browser;
mod ci;
mod look;
mod person;
mod process;
mod rarer;
mod runs;
mod serving;
mod stacking;
mod threads;

use std::{net::TcpListener, sync::Arc, time::Duration};

use axum::body::Bytes;
use chrono::TimeDelta;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use loopgate::{
    github::SystemClock,
    server::{GUARD, Running, SimulatedClock},
};
use loopgate_core::{AppId, InstallationId, RepoName};
use loopgate_simulator::{
    Clock, CommitSpec, Config, Pr, Protection, RequiredCheck, Role, Simulator,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use self::serving::{Fan, Times, serve};
pub use self::{
    browser::{ADDRESS, Answer, Browser},
    ci::{CI, Job, Report, archive, evidence},
    look::Look,
    person::Person,
    rarer::Work,
    threads::{REVIEWER, UPDATER},
};
use crate::emulator_driver::Emulator;

/// The account that Loopgate acts as.
const BOT: &str = "loopgate[bot]";
/// Between two things that people do on the simulator, this much time passes.
const PACE: TimeDelta = TimeDelta::minutes(7);
/// What a step of a story takes at most, many times what a loaded machine needs.
const PATIENCE: Duration = Duration::from_secs(180);

/// A GitHub with the real server in front of it.
pub struct World {
    pub github: GitHub,
    /// Usually one.
    servers: Vec<Running>,
    pub clock: Clock,
    /// How servers are started.
    settings: [String; 6],
    times: Times,
    fan: Fan,
    data: Vec<tempfile::TempDir>,
    /// Whether servers recover what no webhook told, and how often they compare lists.
    resync: Option<&'static str>,
}

pub enum GitHub {
    Simulated(Simulator),
    Emulated(Emulator),
}

impl World {
    pub async fn simulated() -> Self {
        Self::paced(PACE, None, "").await
    }

    /// People are quick, so that no look comes by itself meanwhile.
    pub async fn quick(resync: Option<&'static str>) -> Self {
        Self::paced(TimeDelta::seconds(20), resync, "").await
    }

    /// The same, and people sign in to the dashboard at this address.
    pub async fn published(address: &str, resync: Option<&'static str>) -> Self {
        Self::paced(TimeDelta::seconds(20), resync, address).await
    }

    async fn paced(pace: TimeDelta, resync: Option<&'static str>, address: &str) -> Self {
        let clock = Clock::system();
        let simulator = Simulator::start(Config {
            clock: clock.clone(),
            pace,
            ..Config::default()
        });
        let github = simulator.await.expect("a simulator");
        let (key, secret) = (github.app_key().private_pem(), github.webhook_secret());
        let (sign_in, address) = (github.client_secret(), address.to_owned());
        let settings = [
            github.app_id().to_string(),
            key.to_owned(),
            secret.to_owned(),
            github.url(),
            sign_in,
            address,
        ];
        let times = Times {
            of_server: clock.clone(),
            of_github: Arc::new(SimulatedClock(clock.clone())),
        };
        let fan = Fan::start(TcpListener::bind("127.0.0.1:0").expect("a free port"));
        github.set_webhook_url(&format!("http://{}/webhook", fan.address));
        let github = GitHub::Simulated(github);
        Self {
            github,
            servers: Vec::new(),
            clock,
            settings,
            times,
            fan,
            data: Vec::new(),
            resync,
        }
        .with_a_server()
        .await
    }

    /// None where no emulator is named.
    pub async fn emulated() -> Option<Self> {
        // The emulator must know at its start where webhooks go.
        let fan = Fan::start(TcpListener::bind("127.0.0.1:0").expect("a free port"));
        let emulator = Emulator::start(&format!("http://{}/webhook", fan.address))?;
        let [key, secret] = ["private_key", "webhook_secret"].map(|name| emulator.text(name));
        let url = format!("http://{}", emulator.proxy.address);
        let settings = [
            emulator.here["app_id"].to_string(),
            key,
            secret,
            url,
            String::new(),
            String::new(),
        ];
        let _ = fan.lacks.set(emulator.proxy.clone());
        let clock = Clock::system();
        let times = Times {
            of_server: clock.clone(),
            of_github: Arc::new(SystemClock),
        };
        let github = GitHub::Emulated(emulator);
        let world = Self {
            github,
            servers: Vec::new(),
            clock,
            settings,
            times,
            fan,
            data: Vec::new(),
            resync: None,
        };
        Some(world.with_a_server().await)
    }

    /// One server more on the same GitHub, as the same App and with a data directory of its own. Each hears of
    /// everything, at the same time as the others.
    pub async fn with_a_server(mut self) -> Self {
        let data = tempfile::tempdir().expect("a directory");
        let server = serve(&self.settings, &data, self.times.clone(), self.resync).await;
        self.fan
            .targets
            .lock()
            .expect("no panic")
            .push(server.public_address);
        self.servers.push(server);
        self.data.push(data);
        self
    }

    /// Another Loopgate, which somebody else runs on the same repositories. On the simulator.
    pub async fn with_another_loopgate(mut self, slug: &str) -> Self {
        let other = self
            .simulator()
            .install_another(slug, AppId::new(77), InstallationId::new(78))
            .expect("an App");
        let (key, secret) = (
            other.app_key().private_pem().to_owned(),
            other.webhook_secret().to_owned(),
        );
        let settings = [
            other.app_id().to_string(),
            key,
            secret,
            other.url(),
            String::new(),
            String::new(),
        ];
        let data = tempfile::tempdir().expect("a directory");
        let server = serve(&settings, &data, self.times.clone(), self.resync).await;
        other.set_webhook_url(&format!("http://{}/webhook", server.public_address));
        self.servers.push(server);
        self.data.push(data);
        self
    }

    /// Stops the server. Webhooks fail meanwhile.
    pub async fn stops(&mut self) {
        self.fan.targets.lock().expect("no panic").clear();
        for server in self.servers.drain(..) {
            server.shutdown().await;
        }
    }

    /// Starts the server that was stopped.
    pub async fn starts(&mut self) {
        let server = serve(
            &self.settings,
            &self.data[0],
            self.times.clone(),
            self.resync,
        )
        .await;
        self.fan
            .targets
            .lock()
            .expect("no panic")
            .push(server.public_address);
        self.servers.push(server);
    }

    /// Time goes by.
    pub fn wait(&self, by: TimeDelta) {
        self.clock.advance(by);
    }

    /// The simulator, for what only that can do.
    pub fn simulator(&self) -> &Simulator {
        match &self.github {
            GitHub::Simulated(github) => github,
            GitHub::Emulated(_) => panic!("this world is emulated"),
        }
    }

    /// What an operator asks of the server: the status of the answer.
    pub async fn asks(&self, path: &str, body: &str) -> u16 {
        let mut request = Request::post(format!("http://{}{path}", self.servers[0].admin_address));
        for (name, value) in [("content-type", "application/json"), (GUARD, "1")] {
            request = request.header(name, value);
        }
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let request = request
            .body(Full::new(Bytes::from(body.to_owned())))
            .expect("a request");
        client
            .request(request)
            .await
            .expect("an answer")
            .status()
            .as_u16()
    }

    /// Where the server's dashboard is.
    pub fn admin_url(&self) -> String {
        format!("http://{}", self.servers[0].admin_address)
    }

    /// A page of the dashboard: its status and text.
    pub async fn reads(&self, path: &str) -> (u16, String) {
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let request = Request::get(format!("{}{path}", self.admin_url()))
            .body(Full::default())
            .expect("a request");
        let answer = client.request(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    /// Waits until every webhook was delivered, all its work was done, and that work sent no new webhook.
    ///
    /// Panics where that takes longer than [`PATIENCE`]: a request that is never answered is tried again without end.
    pub async fn settle(&self) {
        let rest = timeout(PATIENCE, self.rest());
        rest.await.expect("the world comes to rest");
        for server in &self.servers {
            let dead = server.dead_letters().await.expect("the inbox can be read");
            assert!(dead.is_empty(), "given up: {dead:?}");
        }
        self.names_undelivered();
    }

    /// Prints the webhooks of the emulator that no server accepted, for the reader of a scenario that fails: it brings
    /// each once, within ten seconds, and what a loaded machine does not take by then is lost.
    fn names_undelivered(&self) {
        let GitHub::Emulated(github) = &self.github else {
            return;
        };
        for sent in list(github.call("sent", json!({}))) {
            if !matches!(sent["status_code"].as_u64(), Some(200..=299)) {
                let [event, action, status] =
                    ["event", "action", "status"].map(|key| sent[key].as_str().unwrap_or("none"));
                eprintln!("a webhook was not delivered: {event}, {action}: {status}");
            }
        }
    }

    async fn rest(&self) {
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
            GitHub::Simulated(github) => github
                .create_repo(&format!("acme/{name}"), files)
                .expect("a new repository"),
            GitHub::Emulated(github) => {
                let full =
                    github.call("create_repo", json!({ "name": name, "files": tree(files) }));
                for login in ["alice", "bob"] {
                    github.call(
                        "add_collaborator",
                        json!({ "repo": full, "login": login, "permission": "push" }),
                    );
                }
                full.as_str()
                    .and_then(|full| full.parse().ok())
                    .expect("a repository's name")
            }
        }
    }

    /// A private repository with this configuration, on the simulator.
    pub fn private_repository(&self, name: &str, configuration: &str) -> RepoName {
        let files = [
            ("src/lib.rs", "// Lib.\n"),
            (".github/loopgate.yml", configuration),
        ];
        let created = self.simulator().create_private_repo(name, &files);
        created.expect("a repository")
    }

    /// A team that may write to the repository; its name, or none where nobody can ask whether it may.
    pub fn team(&self, slug: &str, members: &[&str], repo: &RepoName) -> Option<String> {
        let name = format!("acme/{slug}");
        match &self.github {
            GitHub::Simulated(github) => {
                let team = github.admin().add_team(&name, members).expect("a new team");
                github
                    .admin()
                    .grant_team(&team, repo, Role::Write)
                    .expect("a grant");
                Some(name)
            }
            GitHub::Emulated(github) => {
                let args = json!({ "slug": slug, "members": members, "repos": [repo.to_string()] });
                github.call("create_team", args);
                let path = format!("/orgs/acme/teams/{slug}/repos/{repo}");
                let asked = github.tries("call", json!({ "method": "GET", "path": path }));
                if asked.is_err() {
                    println!(
                        "emulator lacks: GET {path}; the gate's approvers are the team's members by name"
                    );
                }
                asked.is_ok().then_some(name)
            }
        }
    }

    /// The branch takes no merge without these checks.
    pub fn protects(&self, repo: &RepoName, branch: &str, checks: &[&str]) {
        match &self.github {
            GitHub::Simulated(github) => {
                let required = |name: &&str| RequiredCheck {
                    context: (*name).to_owned(),
                    app: None,
                };
                let required_checks = checks.iter().map(required).collect();
                let rules = Protection {
                    required_checks,
                    ..Protection::default()
                };
                github
                    .admin()
                    .protect(repo, branch, rules)
                    .expect("a branch");
            }
            GitHub::Emulated(github) => {
                let args =
                    json!({ "repo": repo.to_string(), "branch": branch, "contexts": checks });
                github.call("protect", args);
            }
        }
    }

    /// A file goes from a branch, by the hand of `alice`.
    pub fn removes(&self, repo: &RepoName, branch: &str, path: &str) {
        match &self.github {
            GitHub::Simulated(github) => {
                let commit = CommitSpec::new("Less").remove(path);
                github
                    .user("alice")
                    .push_to(repo, branch, commit)
                    .expect("a push");
            }
            GitHub::Emulated(github) => {
                let args = json!({ "repo": repo.to_string(), "branch": branch, "files": { path: null },
                    "as_": "alice" });
                github.call("push", args);
            }
        }
    }

    pub fn person<'a>(&'a self, login: &'a str) -> Person<'a> {
        Person::new(self, login)
    }

    /// So much time goes by, and within a minute more it comes to this by itself: no event tells the server to look.
    pub async fn after(
        &self,
        by: TimeDelta,
        pr: &Pr,
        what: &str,
        is_so: impl Fn(&Look) -> bool,
    ) -> Look {
        self.clock.advance(by);
        for second in 0.. {
            // A look asks GitHub, which counts its questions: there is nothing new to see while the server works.
            for server in &self.servers {
                server.idle().await;
            }
            let look = self.look(pr);
            if is_so(&look) {
                break;
            }
            assert!(second < 60, "{what} never came: {look:?}");
            self.clock.advance(TimeDelta::seconds(1));
        }
        self.settle().await;
        self.look(pr)
    }
}

fn tree(files: &[(&str, &str)]) -> Value {
    files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), Value::from(*text)))
        .collect()
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        other => panic!("not a list: {other}"),
    }
}

fn texts(items: &Value, key: &str) -> Vec<String> {
    let items = items.as_array().into_iter().flatten();
    items
        .filter_map(|item| item[key].as_str())
        .map(str::to_owned)
        .collect()
}
