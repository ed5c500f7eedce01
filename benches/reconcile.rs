//! What one look at a pull request costs: `cargo bench --bench reconcile`.
//!
//! First the CPU of deciding and rendering, for pull requests with 10 and with 300 files, 500 comments and three attempts
//! that were observed through the simulated GitHub: of a head that is seen for the first time, and of one whose files and
//! results are as they were at the look before; then how long after a push its first visible effect appears, with an API that
//! takes 100 ms for each answer. The budgets: 2 ms of CPU for the first, five answers of the API for the second.
//!
//! `cargo test --bench reconcile -- --bound` measures the first alone, beside a work that is none of ours, and fails where
//! it takes many times as long as that: `.ci/run` sees by it that deciding became slower by a factor.

use std::{
    hint::black_box,
    io::Write as _,
    sync::Arc,
    time::{Duration, Instant},
};

use loopgate::{
    github::{
        ApiUrl, AppCredentials, Credentials, Github, Observation, Observer, Reconcile,
        ReconcileRequest, ReconcileResult, Secret, Setup, SystemClock, Target,
    },
    server::serve_simulated,
};
use loopgate_core::{
    InstallationId, RepoName, Sha, Timestamp,
    deciding::Decision,
    observed::{Readings, Snapshot},
    state::LoopState,
};
use loopgate_refs::{RefName, StateStore};
use loopgate_render as render;
use loopgate_simulator::{
    Clock, CommitSpec, Conclusion, Config, Harm, Pr, PullSpec, RequestFault, RunSpec, Simulator,
};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::{TimeVal, TimeValLike as _},
};
use serde_json::json;
use zip::{ZipWriter, write::SimpleFileOptions};

const CI: &str = ".github/workflows/ci.yml";
const CONFIG: &str = "\
version: 1
verify:
  workflows: [.github/workflows/ci.yml]
  checks:
    unit: { kind: test, run: cargo test }
";
const COMMENTS: usize = 500;
const API_LATENCY: Duration = Duration::from_millis(100);

#[tokio::main]
async fn main() {
    let is_asked = |flag: &str| std::env::args().any(|arg| arg == flag);
    if is_asked("--bound") {
        for (files, most) in BOUNDS {
            Look::at(files).await.is_within(most);
        }
        return;
    }
    // `cargo test --all-targets` starts benches too, without this flag.
    if !is_asked("--bench") {
        println!("run it with `cargo bench --bench reconcile`");
        return;
    }
    for files in [10, 300] {
        Look::at(files).await.cpu();
    }
    latency_of_the_first_effect().await;
}

/// A pull request as it is observed after its third attempt.
struct Look {
    observation: Observation,
    state: LoopState,
    now: Timestamp,
}

impl Look {
    async fn at(files: usize) -> Self {
        let world = World::start().await;
        let pr = world.pull_request(files);
        let reconcile = Reconcile::new(world.github.clone());
        for attempt in 1..=3 {
            if attempt > 1 {
                let fix = CommitSpec::new("Another try")
                    .file("src/file_0.rs", format!("fn tried_{attempt}() {{}}\n"));
                world
                    .simulator
                    .user("alice")
                    .push_commit(&pr, fix)
                    .expect("alice may push");
            }
            world.fail(&pr, attempt);
            let outcome = reconcile
                .run(&world.job(&pr), world.clock.now())
                .await
                .expect("GitHub answers");
            assert!(
                matches!(outcome.result, ReconcileResult::Decided(_)),
                "{outcome:?}"
            );
        }
        let (observation, state) = world.observe(&pr).await;
        println!(
            "{} files, {} comments, {} attempts",
            files,
            COMMENTS,
            state.attempts.counted.len()
        );
        Self {
            observation,
            state,
            now: world.clock.now(),
        }
    }

    /// What was read at earlier looks is there, as in a process that serves.
    fn decide_again(&self) -> Decision {
        self.decide(&self.observation.snapshot)
    }

    fn decide(&self, snapshot: &Snapshot) -> Decision {
        let policy = black_box(&self.observation.policy);
        loopgate_core::decide(black_box(snapshot), &self.state, policy, self.now)
    }

    /// The same, in a process that has read nothing of it.
    fn unread(&self) -> Snapshot {
        Snapshot {
            readings: Readings::default(),
            ..self.observation.snapshot.clone()
        }
    }

    fn render(&self, decision: &Decision) {
        let Observation {
            snapshot, policy, ..
        } = &self.observation;
        drop(black_box(render::pull_request(
            black_box(decision),
            snapshot,
            policy,
            None,
        )));
    }

    fn cpu(&self) {
        let (unread, decision) = (self.unread(), self.decide_again());
        let first = mean(|| drop(black_box(self.decide(&unread))));
        let again = mean(|| drop(black_box(self.decide_again())));
        let render = mean(|| self.render(&decision));
        for (which, decide) in [("first", first), ("again", again)] {
            println!(
                "{which}: decide {:.2} ms, render {:.2} ms, both {:.2} ms (budget 2)",
                decide * 1e3,
                render * 1e3,
                (decide + render) * 1e3
            );
        }
    }

    /// # Panics
    /// If deciding and rendering take more than `most` times as long as the yardstick.
    fn is_within(&self, most: f64) {
        let (document, unread) = (yardstick(), self.unread());
        let times = (0..ROUNDS).map(|_| {
            let ours = spent(|| self.render(&self.decide(&unread)));
            let other = spent(|| {
                let read = serde_json::from_str::<serde_json::Value>(black_box(&document));
                drop(black_box(read));
            });
            (ours, other)
        });
        let (ours, others): (Vec<f64>, Vec<f64>) = times.unzip();
        let least = |times: Vec<f64>| times.into_iter().fold(f64::INFINITY, f64::min);
        let ratio = least(ours) / least(others);
        println!("decide and render take {ratio:.1} × the yardstick (bound {most})");
        assert!(ratio <= most, "deciding or rendering became slower");
    }
}

/// By the number of files how many times as long as the yardstick deciding and rendering may take, in a build without
/// optimisation: about twice what they take, since only a factor is to be seen.
const BOUNDS: [(usize, f64); 2] = [(10, 8.0), (300, 25.0)];

/// Of so many rounds the fastest counts: what else the machine does only makes them slower.
const ROUNDS: usize = 10;

/// A document whose reading is the yardstick: as other programs' code, it costs what it costs.
fn yardstick() -> String {
    let item = |nth: usize| json!({ "nth": nth, "path": format!("src/file_{nth}.rs"), "lines": [nth, nth + 1], "is_new": true });
    (0..2_000)
        .map(item)
        .collect::<serde_json::Value>()
        .to_string()
}

/// Seconds of CPU that a call takes.
fn spent(call: impl FnOnce()) -> f64 {
    let begun = cpu();
    call();
    cpu() - begun
}

/// Seconds of CPU per call, of a second of calls after some to warm up: what else the machine does counts
/// little.
fn mean(mut call: impl FnMut()) -> f64 {
    (0..5).for_each(|_| call());
    let (begun, spent) = (Instant::now(), cpu());
    let mut calls = 0;
    while begun.elapsed() < Duration::from_secs(1) {
        call();
        calls += 1;
    }
    (cpu() - spent) / f64::from(calls)
}

/// Seconds of CPU this process has used; its other threads are idle here.
fn cpu() -> f64 {
    let used = getrusage(UsageWho::RUSAGE_SELF).expect("a process may ask about itself");
    let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
    seconds(used.user_time()) + seconds(used.system_time())
}

async fn latency_of_the_first_effect() {
    let world = World::start().await;
    let data = tempfile::tempdir().expect("a temporary directory can be made");
    let server = serve_simulated(
        &world.simulator,
        data.path(),
        SystemClock,
        Setup::default(),
        |_, _| {},
    )
    .await;
    let server = server.expect("the server starts");
    world
        .simulator
        .add_fault(RequestFault::on("", Harm::Delay(API_LATENCY)).expect("a pattern"));

    let alice = world.simulator.user("alice");
    let mut seen = Vec::new();
    for nth in 0..10 {
        let branch = format!("branch-{nth}");
        let spec = PullSpec::new("Add a file")
            .branch(&branch)
            .file("src/more.rs", "fn more() {}\n");
        let pr = alice
            .open_pull_request(&world.repository, spec)
            .expect("alice may push");
        let begun = Instant::now();
        while world
            .simulator
            .pull_request(&pr)
            .expect("it is there")
            .check_runs
            .is_empty()
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        seen.push(begun.elapsed());
        world.simulator.settle().await;
        server.settled().await;
    }
    seen.sort_unstable();
    let times = |at: Duration| at.as_secs_f64() / API_LATENCY.as_secs_f64();
    println!(
        "first effect after a pull request was opened: median {:.2}, worst {:.2} API latencies of {API_LATENCY:?} (budget 5)",
        times(seen[seen.len() / 2]),
        times(seen[seen.len() - 1]),
    );
    server.shutdown().await;
}

struct World {
    simulator: Simulator,
    clock: Clock,
    repository: RepoName,
    github: Github,
}

impl World {
    async fn start() -> Self {
        let clock = Clock::system();
        let config = Config {
            clock: clock.clone(),
            ..Config::default()
        };
        let simulator = Simulator::start(config)
            .await
            .expect("the simulator starts");
        let files = [
            ("README.md", "# Widgets\n"),
            (CI, "on: pull_request\n"),
            (".github/loopgate.yml", CONFIG),
        ];
        let repository = simulator
            .create_repo("acme/widgets", &files)
            .expect("a repository");
        let key = Secret::new(simulator.app_key().private_pem());
        let credentials = AppCredentials::new(simulator.app_id(), &key).expect("a key");
        let setup = Setup {
            clock: clock_of(&clock),
            ..Setup::default()
        };
        let api = ApiUrl::parse(&simulator.url()).expect("an address");
        let github = Github::new(api, Credentials::App(credentials), setup).expect("a client");
        Self {
            simulator,
            clock,
            repository,
            github,
        }
    }

    fn installation(&self) -> InstallationId {
        self.simulator.installation_id()
    }

    fn pull_request(&self, files: usize) -> Pr {
        let alice = self.simulator.user("alice");
        let mut spec = PullSpec::new("Change many files");
        for nth in 0..files {
            let lines: String = (0..20)
                .map(|line| format!("fn line_{line}_of_{nth}() {{ work({line}); }}\n"))
                .collect();
            spec = spec.file(&format!("src/file_{nth}.rs"), lines);
        }
        let pr = alice
            .open_pull_request(&self.repository, spec)
            .expect("alice may push");
        for nth in 0..COMMENTS {
            let said = format!(
                "Line {nth} reads well, though `work` could be named for what it does.\n\n> quoted\n\nThanks!"
            );
            self.simulator
                .user(["alice", "bob"][nth % 2])
                .comment(&pr, &said)
                .expect("they may comment");
        }
        pr
    }

    /// The workflow of the head ends with ten failing tests.
    fn fail(&self, pr: &Pr, attempt: usize) {
        let head = self
            .simulator
            .pull_request(pr)
            .expect("it is there")
            .head_sha;
        let run = self
            .simulator
            .start_workflow(&self.repository, RunSpec::new(head, CI))
            .expect("it starts");
        let archive = evidence(head, run.get(), attempt);
        let artifacts = vec![(
            "loopgate-evidence-test-00000000-1".to_owned(),
            archive.into(),
        )];
        self.simulator
            .finish_workflow(&self.repository, run, Conclusion::Failure, artifacts)
            .expect("it ends");
    }

    fn job(&self, pr: &Pr) -> ReconcileRequest {
        ReconcileRequest {
            installation: Some(self.installation()),
            repository: pr.repo.clone(),
            number: pr.number,
            hints: Vec::new(),
        }
    }

    async fn observe(&self, pr: &Pr) -> (Observation, LoopState) {
        let client = self.github.client(Some(self.installation()));
        let objects = loopgate::github::GithubObjects::new(client.clone(), self.repository.clone());
        let loaded = StateStore::new(&objects, RefName::pull_request(pr.number))
            .load()
            .await
            .expect("a state");
        let observer = Observer::new(self.github.clone());
        let target = Target {
            repo: client.repo(&self.repository),
            number: pr.number,
        };
        let ground = observer
            .facts(target)
            .await
            .expect("an answer")
            .expect("it is active");
        let observed = observer
            .complete(target, ground, Vec::new(), loaded.intact())
            .await;
        (
            observed.expect("an answer"),
            loaded.intact().expect("it is whole").clone(),
        )
    }
}

fn clock_of(clock: &Clock) -> Arc<dyn loopgate::github::Clock> {
    let clock = clock.clone();
    Arc::new(move || clock.now())
}

/// The archive an upload of one job's evidence makes.
fn evidence(head: Sha, run: u64, attempt: usize) -> Vec<u8> {
    let failures: Vec<_> = (0..10)
        .map(|nth| {
            json!({
                "test_name": format!("file_{nth}::works"), "error_type": "AssertionError",
                "error_message": format!("assertion `left == right` failed in attempt {attempt}\n  left: 1\n right: {nth}"),
                "stack_trace": (0..40).map(|frame| format!("  {frame}: widgets::line_{frame} at src/file_{nth}.rs:{frame}\n")).collect::<String>(),
                "source": { "file": format!("src/file_{nth}.rs"), "line": 7, "function": "works" },
                "fingerprint": format!("{:016x}", attempt * 100 + nth),
            })
        })
        .collect();
    let document = json!({
        "schema": "loopgate.evidence/v1", "repository": "acme/widgets", "head_sha": head, "tree_hash": format!("{attempt:02x}"),
        "workflow": { "path": CI, "run_id": run, "run_attempt": 1, "job": "test", "matrix": null },
        "environment": { "os": "linux", "runtime": null, "framework": null },
        "started_at": "2026-11-20T10:15:00Z", "ended_at": "2026-11-20T10:16:00Z",
        "checks": [{
            "name": "unit", "kind": "test", "outcome": "failed", "duration_ms": 1,
            "results": { "total": 1000, "passed": 990, "failed": 10, "errors": 0, "skipped": 0, "flaky": 0, "duration_ms": 1, "coverage_percent": null },
            "failures": failures,
        }],
    });
    let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer
        .start_file("evidence.json", SimpleFileOptions::default())
        .expect("in memory");
    writer
        .write_all(document.to_string().as_bytes())
        .expect("in memory");
    writer.finish().expect("in memory").into_inner()
}
