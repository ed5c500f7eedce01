//! What a delivery costs: `cargo bench --bench webhook` (about half a minute).
//!
//! The server runs in a process of its own, so that its CPU time can be told from the sender's; both share the
//! machine's cores. Next to it, in the same run, stand a bare axum server that checks the HMAC and stores nothing, and
//! the disk's own `fdatasync`, and the same server on PostgreSQL where one is installed; that server's own CPU time is
//! not counted. The budgets: 60 µs of server CPU for a delivery, 15,000 deliveries a second, 15 ms for
//! the slowest in a hundred. Linux only, for the memory figures.
//!
//! `cargo bench --bench webhook -- beside node benches/probot.mjs FOLDER` sends the same to another program too: one that
//! prints its address, and answers at `/webhook`.
#![allow(
    clippy::disallowed_methods,
    reason = "what is measured is started as its users would"
)]

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    net::SocketAddr,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::{
    Router, body::Bytes, extract::DefaultBodyLimit, http::HeaderMap, http::StatusCode,
    routing::post,
};
use hmac::{Hmac, KeyInit as _, Mac as _};
use loopgate::{
    github::{Failed, ReconcileOutcome, ReconcileRequest, Secret},
    server::{PullRequest, Reconciler, Server, ServerConfig, Signatures, Unresolved, stop_signal},
};
use loopgate_core::AppId;
use loopgate_webhook::OwnApp;
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

#[path = "../tests/fixtures/postgres.rs"]
mod postgres;

const SECRET: &str = "bench";
const WARM_UP: Duration = Duration::from_millis(700);
const MEASURE: Duration = Duration::from_secs(4);
/// What Linux counts the times of other processes in.
const TICKS_PER_SECOND: f64 = 100.0;

fn main() {
    let args: Vec<String> = env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("serve") => serve(&args[2], Path::new(&args[3])),
        Some("beside") => {
            let command = args[2..].iter().filter(|arg| *arg != "--bench");
            compare(&command.cloned().collect::<Vec<_>>());
        }
        // `cargo test --all-targets` starts benches too, without this flag.
        _ if args.iter().any(|arg| arg == "--bench") => compare(&[]),
        _ => println!("run it with `cargo bench --bench webhook`"),
    }
}

// ---- the sender ----

/// `beside` is the command of a server that is none of ours, with its arguments; empty for none.
fn compare(beside: &[String]) {
    let opened: Vec<String> = (1..=256)
        .map(|number| pull_request(number).to_string())
        .collect();
    let comments =
        vec![comment("Nice, thanks! I will have a look at the second half tomorrow.").to_string()];
    println!(
        "pull_request payload {} bytes, comment payload {} bytes\n",
        opened[0].len(),
        comments[0].len()
    );
    println!(
        "{:<44}{:>12}{:>14}{:>9}{:>9}{:>9}",
        "64 connections", "per second", "CPU µs each", "p50 ms", "p99 ms", "max ms"
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let measured = |what: &str, server: Served, event: &str, bodies: &[String], ids| {
        let load = server.load(64, event, bodies, ids);
        println!(
            "{what:<44}{:>12.0}{:>14.1}{:>9.2}{:>9.2}{:>9.2}",
            load.per_second,
            load.cpu_us_each,
            load.at(0.50) * 1e3,
            load.at(0.99) * 1e3,
            load.at(1.0) * 1e3
        );
        load
    };
    let wide = |what: &str, mode: &str, event: &str, bodies: &[String], ids| {
        let database = if mode.ends_with("on postgres") {
            Some(runtime.block_on(postgres::schema())?)
        } else {
            None
        };
        let server = Served::start_on(mode, database);
        Some(measured(what, server, event, bodies, ids))
    };
    let (pull, issue) = ("pull_request", "issue_comment");
    let bare = wide(
        "bare axum, HMAC only, nothing stored",
        "bare",
        pull,
        &opened,
        Ids::Timed,
    )
    .unwrap();
    let stored = wide(
        "loopgate, stored, no reconcile ends",
        "blocked",
        pull,
        &opened,
        Ids::Timed,
    )
    .unwrap();
    wide(
        "loopgate, stored and reconciled (at once)",
        "instant",
        pull,
        &opened,
        Ids::Timed,
    );
    wide(
        "loopgate, stored, ids in no order",
        "blocked",
        pull,
        &opened,
        Ids::Random,
    );
    wide(
        "loopgate on PostgreSQL, no reconcile ends",
        "blocked on postgres",
        pull,
        &opened,
        Ids::Timed,
    );
    wide(
        "loopgate on PostgreSQL, reconciled (at once)",
        "instant on postgres",
        pull,
        &opened,
        Ids::Timed,
    );
    let chat = wide(
        "loopgate, irrelevant comment",
        "blocked",
        issue,
        &comments,
        Ids::Timed,
    )
    .unwrap();
    println!(
        "\nstored: {:.2} × the CPU of bare axum; {:.1} deliveries per transaction; {} rows left; memory {} → {} MB",
        stored.cpu_us_each / bare.cpu_us_each,
        stored.answered as f64 / stored.commits.max(1) as f64,
        stored.backlog,
        stored.memory_kib.0 / 1024,
        stored.memory_kib.1 / 1024,
    );
    println!(
        "irrelevant: {} transactions, {} rows",
        chat.commits, chat.backlog
    );
    if let [program, args @ ..] = beside {
        let start = || Served::start_other(program, args);
        println!();
        let other = measured(program, start(), pull, &opened, Ids::Timed);
        let of_chat = measured(
            "  irrelevant comment",
            start(),
            issue,
            &comments,
            Ids::Timed,
        );
        println!(
            "beside {}: stored {:.2} × its CPU and {:.2} × its rate, irrelevant {:.2} × its CPU",
            beside.join(" "),
            stored.cpu_us_each / other.cpu_us_each,
            stored.per_second / other.per_second,
            chat.cpu_us_each / of_chat.cpu_us_each,
        );
    }

    let sync_before = fdatasync_p50();
    let one = Served::start("blocked").load(1, pull, &opened, Ids::Timed);
    let bare_one = Served::start("bare").load(1, pull, &opened, Ids::Timed);
    let sync = (sync_before + fdatasync_p50()) / 2.0;
    println!(
        "\n1 connection: p50 {:.3} ms, fdatasync {:.3} ms, so {:.3} ms above it (bare axum answers in {:.3} ms)",
        one.at(0.5) * 1e3,
        sync * 1e3,
        (one.at(0.5) - sync) * 1e3,
        bare_one.at(0.5) * 1e3
    );
}

/// A server process.
struct Served {
    child: Child,
    /// Where one of ours is asked what it used.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    address: SocketAddr,
    directory: PathBuf,
}

/// What the server process says of itself.
struct Usage {
    cpu_us: f64,
    memory_kib: u64,
    commits: u64,
    backlog: u64,
}

/// What the system says of a process, which is nothing of commits and backlog.
fn used_by(pid: u32) -> Usage {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: f64 = ticks.map(|ticks| ticks.parse::<f64>().unwrap()).sum();
    Usage {
        cpu_us: ticks * 1e6 / TICKS_PER_SECOND,
        memory_kib: resident_kib(&pid.to_string()),
        commits: 0,
        backlog: 0,
    }
}

fn resident_kib(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let memory = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    memory.split_whitespace().next().unwrap().parse().unwrap()
}

struct Load {
    per_second: f64,
    cpu_us_each: f64,
    answered: usize,
    commits: u64,
    backlog: u64,
    memory_kib: (u64, u64),
    /// Seconds, ascending.
    latencies: Vec<f64>,
}

impl Load {
    fn at(&self, part: f64) -> f64 {
        let last = self.latencies.len() - 1;
        self.latencies[(last as f64 * part) as usize]
    }
}

impl Served {
    fn start(mode: &str) -> Self {
        Self::start_on(mode, None)
    }

    fn start_on(mode: &str, database: Option<String>) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("webhook-bench-{}", std::process::id()));
        fs::remove_dir_all(&directory).ok();
        let child = Command::new(env::current_exe().unwrap())
            .args(["serve", mode])
            .envs(database.map(|url| ("DATABASE_URL", url)))
            .arg(&directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self::of(child, directory)
    }

    fn start_other(program: &str, args: &[String]) -> Self {
        let child = Command::new(program)
            .args(args)
            .env("WEBHOOK_SECRET", SECRET)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self::of(child, PathBuf::new())
    }

    fn of(mut child: Child, directory: PathBuf) -> Self {
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let address = line.trim().parse().unwrap();
        Self {
            child,
            input,
            output,
            address,
            directory,
        }
    }

    fn usage(&mut self) -> Usage {
        let Some(input) = &mut self.input else {
            return used_by(self.child.id());
        };
        input.write_all(b"usage\n").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let numbers: Vec<f64> = line
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect();
        Usage {
            cpu_us: numbers[0],
            memory_kib: numbers[1] as u64,
            commits: numbers[2] as u64,
            backlog: numbers[3] as u64,
        }
    }

    fn load(mut self, connections: usize, event: &str, bodies: &[String], ids: Ids) -> Load {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let requests: Vec<_> = bodies
            .iter()
            .map(|body| Request::new(event, body))
            .collect();
        runtime.block_on(send(self.address, connections, &requests, ids, WARM_UP));
        let before = self.usage();
        let begun = Instant::now();
        let mut latencies =
            runtime.block_on(send(self.address, connections, &requests, ids, MEASURE));
        let took = begun.elapsed().as_secs_f64();
        let after = self.usage();
        latencies.sort_unstable_by(f64::total_cmp);
        Load {
            per_second: latencies.len() as f64 / took,
            cpu_us_each: (after.cpu_us - before.cpu_us) / latencies.len() as f64,
            answered: latencies.len(),
            commits: after.commits - before.commits,
            backlog: after.backlog,
            memory_kib: (before.memory_kib, after.memory_kib),
            latencies,
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        fs::remove_dir_all(&self.directory).ok();
    }
}

/// A request as bytes, ready but for its delivery id.
#[derive(Clone)]
struct Request {
    bytes: Vec<u8>,
    id_at: usize,
}

impl Request {
    fn new(event: &str, body: &str) -> Self {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let signature = hex::encode(mac.finalize().into_bytes());
        let before = "POST /webhook HTTP/1.1\r\nhost: localhost\r\nx-github-delivery: ";
        let after = format!(
            "\r\nuser-agent: GitHub-Hookshot/bench\r\naccept: */*\r\ncontent-type: application/json\r\n\
             x-github-event: {event}\r\nx-github-hook-id: 1\r\nx-github-hook-installation-target-id: 42\r\n\
             x-github-hook-installation-target-type: integration\r\nx-hub-signature-256: sha256={signature}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let id_at = before.len();
        Self {
            bytes: format!("{before}{}{after}", "0".repeat(36)).into_bytes(),
            id_at,
        }
    }
}

#[derive(Clone, Copy)]
enum Ids {
    /// UUIDs of version 1, as GitHub sends them.
    Timed,
    /// The hardest for an index.
    Random,
}

/// The bits of a UUID of version 1: low, middle and high part of the time in 100 ns, then who made it.
fn timed(now: Instant) -> u128 {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(Instant::now);
    let ticks = 0x1F0_0000_0000_0000 + now.duration_since(*start).as_nanos() / 100;
    let time =
        (ticks & 0xFFFF_FFFF) << 32 | (ticks >> 32 & 0xFFFF) << 16 | 0x1000 | ticks >> 48 & 0xFFF;
    time << 64 | u128::from(fastrand::u64(..))
}

/// Each connection sends, waits for the answer, and sends again. Returns how long each took, in seconds.
async fn send(
    address: SocketAddr,
    connections: usize,
    requests: &[Request],
    ids: Ids,
    during: Duration,
) -> Vec<f64> {
    let end = Instant::now() + during;
    let one = |n: usize| {
        let mut mine: Vec<_> = requests
            .iter()
            .skip(n % requests.len())
            .step_by(connections)
            .cloned()
            .collect();
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let mut latencies = Vec::new();
            let mut answer = vec![0; 4096];
            for turn in (0..mine.len()).cycle() {
                let begun = Instant::now();
                if begun >= end {
                    return latencies;
                }
                let request = &mut mine[turn];
                let id = uuid::Uuid::from_u128(match ids {
                    Ids::Timed => timed(begun),
                    Ids::Random => fastrand::u128(..) & !0xF000 << 64 | 0x4000 << 64,
                });
                id.hyphenated()
                    .encode_lower(&mut request.bytes[request.id_at..request.id_at + 36]);
                stream.write_all(&request.bytes).await.unwrap();
                let length = stream.read(&mut answer).await.unwrap();
                assert!(
                    answer.starts_with(b"HTTP/1.1 20"),
                    "{}",
                    String::from_utf8_lossy(&answer[..length])
                );
                latencies.push(begun.elapsed().as_secs_f64());
            }
            latencies
        }
    };
    futures::future::join_all((0..connections).map(one))
        .await
        .concat()
}

/// The median of writing and syncing 16 KiB, about what one delivery adds to the write-ahead log.
fn fdatasync_p50() -> f64 {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fdatasync-bench");
    let file = fs::File::create(&path).unwrap();
    file.write_all_at(&vec![1; 4 << 20], 0).unwrap();
    file.sync_all().unwrap();
    let mut times: Vec<f64> = (0..500_u64)
        .map(|n| {
            file.write_all_at(&[n as u8; 16384], n % 256 * 16384)
                .unwrap();
            let begun = Instant::now();
            file.sync_data().unwrap();
            begun.elapsed().as_secs_f64()
        })
        .collect();
    fs::remove_file(path).ok();
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

// ---- the servers ----

#[tokio::main]
async fn serve(mode: &str, directory: &Path) {
    match mode {
        "bare" => {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move { axum::serve(listener, bare()).await });
            answer_questions(address, async || (0, 0)).await;
        }
        _ => {
            let own = OwnApp {
                app_id: AppId::new(42),
                bot: None,
            };
            let instant = mode.starts_with("instant");
            let running = Server::new(config(directory), own)
                .start(Idle { instant })
                .await
                .unwrap();
            let running = Arc::new(running);
            let address = running.public_address;
            answer_questions(address, async || {
                (
                    commits(running.admin_address).await,
                    running.backlog().await.unwrap(),
                )
            })
            .await;
        }
    }
}

/// One line for each line of the standard input; ends with it.
async fn answer_questions(address: SocketAddr, counts: impl AsyncFn() -> (u64, u64)) {
    println!("{address}");
    let (ask, mut asked) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || {
        std::io::stdin()
            .lines()
            .try_for_each(|_| ask.blocking_send(()))
    });
    loop {
        tokio::select! {
            Some(()) = asked.recv() => {}
            _ = stop_signal() => return,
            else => return,
        }
        let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
        let micros =
            |time: nix::sys::time::TimeVal| time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64;
        let cpu = micros(usage.user_time()) + micros(usage.system_time());
        let memory = resident_kib("self");
        let (commits, backlog) = counts().await;
        println!("{cpu} {memory} {commits} {backlog}");
    }
}

fn bare() -> Router {
    let signatures = Arc::new(Signatures::new([&Secret::new(SECRET)]));
    let check = move |headers: HeaderMap, body: Bytes| {
        let signatures = signatures.clone();
        async move {
            let signature = headers
                .get("x-hub-signature-256")
                .map_or(&b""[..], |value| value.as_bytes());
            if signatures.check(signature, &body) {
                StatusCode::ACCEPTED
            } else {
                StatusCode::UNAUTHORIZED
            }
        }
    };
    Router::new()
        .route("/webhook", post(check))
        .layer(DefaultBodyLimit::max(25 << 20))
}

/// Ends every call at once, or none.
struct Idle {
    instant: bool,
}

impl Reconciler for Idle {
    async fn resolve(&self, _: &mut Unresolved) -> Result<Vec<PullRequest>, Failed> {
        Ok(Vec::new())
    }

    async fn reconcile(&self, _: ReconcileRequest) -> Result<ReconcileOutcome, Failed> {
        if !self.instant {
            std::future::pending::<()>().await;
        }
        Ok(ReconcileOutcome::default())
    }

    async fn show_given_up(&self, _: ReconcileRequest, _: u32) -> Result<(), Failed> {
        Ok(())
    }
}

fn config(directory: &Path) -> ServerConfig {
    ServerConfig::from_env(|name| {
        Some(match name {
            "LOOPGATE_APP_ID" => "42".into(),
            "LOOPGATE_PRIVATE_KEY" => {
                include_str!("../src/server/testdata/not-a-secret.pem").into()
            }
            "LOOPGATE_WEBHOOK_SECRET" => SECRET.into(),
            "LOOPGATE_LISTEN" | "LOOPGATE_ADMIN_LISTEN" => "127.0.0.1:0".into(),
            "LOOPGATE_DATA_DIR" => directory.display().to_string(),
            "DATABASE_URL" => env::var("DATABASE_URL").ok()?,
            _ => return None,
        })
    })
    .unwrap()
}

async fn commits(admin: SocketAddr) -> u64 {
    let mut stream = TcpStream::connect(admin).await.unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let name = "loopgate_inbox_commits_total{result=\"done\"} ";
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

// ---- payloads with the shape and size of GitHub's ----

fn urls(base: &str, names: &[&str]) -> serde_json::Map<String, Value> {
    names
        .iter()
        .map(|name| {
            (
                format!("{name}_url"),
                json!(format!("https://api.github.com/{base}/{name}{{/id}}")),
            )
        })
        .collect()
}

fn user(login: &str) -> Value {
    let names = [
        "html",
        "followers",
        "following",
        "gists",
        "starred",
        "subscriptions",
        "organizations",
        "repos",
        "events",
        "received_events",
        "avatar",
    ];
    let mut user = urls(&format!("users/{login}"), &names);
    user.insert("login".into(), json!(login));
    user.insert("id".into(), json!(21_031_067));
    user.insert("node_id".into(), json!("MDQ6VXNlcjIxMDMxMDY3"));
    user.insert("type".into(), json!("User"));
    user.insert("site_admin".into(), json!(false));
    Value::Object(user)
}

fn repository() -> Value {
    let names = [
        "html",
        "forks",
        "keys",
        "collaborators",
        "teams",
        "hooks",
        "issue_events",
        "events",
        "assignees",
        "branches",
        "tags",
        "blobs",
        "git_tags",
        "git_refs",
        "trees",
        "statuses",
        "languages",
        "stargazers",
        "contributors",
        "subscribers",
        "subscription",
        "commits",
        "git_commits",
        "comments",
        "issue_comment",
        "contents",
        "compare",
        "merges",
        "archive",
        "downloads",
        "issues",
        "pulls",
        "milestones",
        "notifications",
        "labels",
        "releases",
        "deployments",
        "git",
        "ssh",
        "clone",
        "svn",
        "mirror",
    ];
    let mut repository = urls("repos/acme/widgets", &names);
    repository.insert("id".into(), json!(186_853_002));
    repository.insert("name".into(), json!("widgets"));
    repository.insert("full_name".into(), json!("acme/widgets"));
    repository.insert("private".into(), json!(false));
    repository.insert("owner".into(), user("acme"));
    repository.insert(
        "description".into(),
        json!("Widgets, and what is needed to make them. \"Quoted\" and ünïcödé."),
    );
    repository.insert("created_at".into(), json!("2019-05-15T15:19:25Z"));
    repository.insert("stargazers_count".into(), json!(80));
    repository.insert("topics".into(), json!(["widgets", "rust", "ci"]));
    repository.insert("default_branch".into(), json!("main"));
    Value::Object(repository)
}

fn pull_request(number: u64) -> Value {
    let sha = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";
    let end = |label: &str| json!({ "label": label, "ref": "changes", "sha": sha, "user": user("acme"), "repo": repository() });
    json!({
        "action": "synchronize",
        "number": number,
        "before": sha,
        "after": sha,
        "pull_request": {
            "id": 279_147_437, "number": number, "state": "open", "title": "Update the README with new information.",
            "user": user("alice"),
            "body": "This is a pretty simple change.\r\n\r\n- [ ] one\r\n- [x] two\r\n\r\n".repeat(84),
            "created_at": "2026-11-20T15:20:33Z", "updated_at": "2026-11-20T15:20:33Z",
            "requested_reviewers": [user("bob"), user("carol")], "labels": [], "draft": false,
            "head": end("acme:changes"), "base": end("acme:main"),
            "author_association": "OWNER", "commits": 1, "additions": 1, "deletions": 1, "changed_files": 1
        },
        "repository": repository(),
        "organization": user("acme"),
        "sender": user("alice"),
        "installation": { "id": 9001, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uOTAwMQ==" }
    })
}

fn comment(text: &str) -> Value {
    json!({
        "action": "created",
        "issue": {
            "number": 12, "title": "Update the README", "user": user("alice"), "state": "open", "labels": [],
            "pull_request": { "url": "https://api.github.com/repos/acme/widgets/pulls/12" },
            "body": "This is a pretty simple change.\r\n".repeat(20)
        },
        "comment": { "id": 492_700_400, "user": user("bob"), "body": text, "updated_at": "2026-11-20T15:20:33Z" },
        "repository": repository(),
        "organization": user("acme"),
        "sender": user("bob"),
        "installation": { "id": 9001 }
    })
}
