use std::{io::Write as _, sync::Arc, time::Duration};

use chrono::TimeDelta;
use loopgate::github::{
    ApiUrl, AppCredentials, Client, Credentials, Error, Github, Observation, Observer, Patience,
    Secret, Setup, Target,
};
use loopgate_core::{InstallationId, RepoName, Sha, Timestamp, observed::Hint, state::LoopState};
use loopgate_simulator::{Clock, Config, Pr, PullSpec, Simulator};
use serde_json::{Value, json};
use zip::{ZipWriter, write::SimpleFileOptions};

/// A simulated GitHub with one repository, and the App's side of it.
pub struct Bench {
    pub sim: Simulator,
    pub repo: RepoName,
    pub github: Github,
    pub clock: Clock,
}

pub const CONFIG: &str = "\
version: 1
labels: { state: true }
verify:
  workflows: [.github/workflows/ci.yml]
  checks:
    build: { kind: build, from: { check: build } }
    unit: { kind: test, run: cargo test }
";
pub const CI: &str = ".github/workflows/ci.yml";

impl Bench {
    pub async fn new() -> Self {
        Self::with_config(Some(CONFIG)).await
    }

    pub async fn with_config(config: Option<&str>) -> Self {
        let clock = Clock::fixed("2026-11-20T10:00:00Z".parse().unwrap());
        let settings = Config {
            clock: clock.clone(),
            pace: TimeDelta::seconds(1),
            ..Config::default()
        };
        let sim = Simulator::start(settings).await.unwrap();
        let mut files = vec![
            ("README.md", "# Widgets\n"),
            ("src/lib.rs", "fn one() {}\n"),
            (CI, "on: pull_request\n"),
        ];
        files.extend(config.map(|text| (".github/loopgate.yml", text)));
        let repo = sim.create_repo("acme/widgets", &files).unwrap();
        let github = app(&sim, &clock);
        Self {
            sim,
            repo,
            github,
            clock,
        }
    }

    /// The pull request that alice opens.
    pub fn opens(&self, spec: PullSpec) -> Pr {
        let alice = self.sim.user("alice");
        alice.open_pull_request(&self.repo, spec).unwrap()
    }

    pub fn client(&self) -> Client {
        self.github.client(Some(self.installation()))
    }

    pub fn installation(&self) -> InstallationId {
        self.sim.installation_id()
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub async fn observe(
        &self,
        observer: &Observer,
        pr: &Pr,
    ) -> Result<Option<Observation>, Error> {
        self.observe_with(observer, pr, Vec::new(), None).await
    }

    pub async fn observe_with(
        &self,
        observer: &Observer,
        pr: &Pr,
        hints: Vec<Hint>,
        previous: Option<&LoopState>,
    ) -> Result<Option<Observation>, Error> {
        let client = self.client();
        let target = Target {
            repo: client.repo(&pr.repo),
            number: pr.number,
        };
        let Some(ground) = observer.facts(target).await? else {
            return Ok(None);
        };
        observer
            .complete(target, ground, hints, previous)
            .await
            .map(Some)
    }
}

/// The App under test, as a process of its own: nothing cached, nothing remembered.
pub fn app(sim: &Simulator, clock: &Clock) -> Github {
    let credentials =
        AppCredentials::new(sim.app_id(), &Secret::new(sim.app_key().private_pem())).unwrap();
    let time = clock.clone();
    let setup = Setup {
        clock: Arc::new(move || time.now()),
        patience: Patience {
            retries: 2,
            pause: Duration::ZERO,
        },
        ..Setup::default()
    };
    Github::new(
        ApiUrl::parse(&sim.url()).unwrap(),
        Credentials::App(credentials),
        setup,
    )
    .unwrap()
}

/// An evidence document for a commit, from the run with this id.
pub fn evidence(head: Sha, run: u64, outcome: &str) -> Value {
    json!({
        "schema": "loopgate.evidence/v1", "repository": "acme/widgets", "head_sha": head, "tree_hash": "1a",
        "workflow": { "path": CI, "run_id": run, "run_attempt": 1, "job": "test", "matrix": null },
        "environment": { "os": "linux", "runtime": null, "framework": null },
        "started_at": "2026-11-20T10:15:00Z", "ended_at": "2026-11-20T10:16:00Z",
        "checks": [{ "name": "unit", "kind": "test", "outcome": outcome, "duration_ms": 1 }],
    })
}

/// The archive an upload of that document makes.
pub fn archive(document: &Value) -> Vec<u8> {
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer
        .start_file("evidence.json", SimpleFileOptions::default())
        .unwrap();
    writer.write_all(document.to_string().as_bytes()).unwrap();
    writer.finish().unwrap().into_inner()
}
