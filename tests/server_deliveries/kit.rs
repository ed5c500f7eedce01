//! A server in a directory of its own, a sender, a clock that stands still, and a reconciler that takes notes.

use std::{
    collections::HashMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use chrono::TimeDelta;
use hmac::{Hmac, KeyInit as _, Mac as _};
use loopgate::{
    github::{self, Failed, ReconcileOutcome, ReconcileRequest},
    server::{
        Limits, PullRequest, Reconciler, Running, Server, ServerConfig, StartError, Unresolved,
    },
};
use loopgate_core::{AppId, PrNumber, Timestamp, observed::Hint};
use loopgate_refs::Retry;
use loopgate_webhook::OwnApp;
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Semaphore, watch},
};

pub const SECRET: &str = "s3cret";
pub const OLD_SECRET: &str = "older";
pub const SHA: &str = "0123456789abcdef0123456789abcdef01234567";

/// A clock that moves only when told to.
pub struct StillClock(watch::Sender<Timestamp>);

impl StillClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(
            "2026-11-20T10:00:00Z".parse().unwrap(),
        )))
    }

    pub fn advance(&self, by: TimeDelta) {
        self.0.send_modify(|now| *now += by);
    }
}

impl github::Clock for StillClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let mut now = self.0.subscribe();
        Box::pin(async move {
            now.wait_for(|now| *now >= until).await.ok();
        })
    }
}

type Answer = Result<Option<Timestamp>, Failed>;

/// What the reconciler saw, and what it shall answer.
#[derive(Default)]
pub struct Notes {
    pub jobs: Mutex<Vec<ReconcileRequest>>,
    pub resolved: Mutex<Vec<Unresolved>>,
    pub given_up: Mutex<Vec<(u64, u32)>>,
    answers: Mutex<HashMap<u64, Vec<Answer>>>,
    heads: Mutex<Vec<u64>>,
    running: Mutex<HashMap<(u64, u64), usize>>,
    pub most_at_once: Mutex<usize>,
    seen: watch::Sender<usize>,
}

impl Notes {
    /// The next answers for this pull request; the last one stays. Without: `OnEvent`.
    pub fn answer(&self, number: u64, mut answers: Vec<Answer>) {
        answers.reverse();
        self.answers.lock().unwrap().insert(number, answers);
    }

    /// Which pull requests every commit belongs to.
    pub fn resolve_to(&self, numbers: &[u64]) {
        *self.heads.lock().unwrap() = numbers.to_vec();
    }

    pub fn numbers(&self) -> Vec<u64> {
        self.jobs
            .lock()
            .unwrap()
            .iter()
            .map(|job| job.number.get())
            .collect()
    }

    pub fn hints(&self) -> Vec<Hint> {
        self.jobs
            .lock()
            .unwrap()
            .iter()
            .flat_map(|job| job.hints.clone())
            .collect()
    }

    /// Waits until so many reconciles have begun since the start.
    pub async fn begun(&self, count: usize) {
        self.seen
            .subscribe()
            .wait_for(|seen| *seen >= count)
            .await
            .unwrap();
    }
}

pub struct Fake {
    notes: Arc<Notes>,
    gate: Arc<Semaphore>,
}

impl Reconciler for Fake {
    async fn resolve(&self, work: &mut Unresolved) -> Result<Vec<PullRequest>, Failed> {
        self.notes.resolved.lock().unwrap().push(work.clone());
        let repository = work.target.repository().unwrap().clone();
        let numbers = self.notes.heads.lock().unwrap().clone();
        Ok(numbers
            .into_iter()
            .map(|number| PullRequest {
                repository: repository.clone(),
                number: PrNumber::new(number),
            })
            .collect())
    }

    async fn reconcile(&self, job: ReconcileRequest) -> Result<ReconcileOutcome, Failed> {
        let (installation, number) = (job.installation.map_or(0, |it| it.get()), job.number.get());
        {
            let mut running = self.notes.running.lock().unwrap();
            let same = running.entry((installation, number)).or_default();
            *same += 1;
            assert_eq!(*same, 1, "two reconciles of #{number} at once");
            let all = running
                .iter()
                .filter(|((of, _), _)| *of == installation)
                .map(|(_, n)| n)
                .sum();
            let mut most = self.notes.most_at_once.lock().unwrap();
            *most = (*most).max(all);
        }
        self.notes.jobs.lock().unwrap().push(job);
        self.notes.seen.send_modify(|seen| *seen += 1);
        self.gate.acquire().await.unwrap().forget();
        self.gate.add_permits(1);
        self.notes
            .running
            .lock()
            .unwrap()
            .remove(&(installation, number));
        assert_ne!(number, 666, "the reconciler has a defect");
        let mut answers = self.notes.answers.lock().unwrap();
        let answer = match answers.get_mut(&number) {
            Some(answers) if answers.len() > 1 => answers.pop().unwrap(),
            Some(answers) => answers[0].clone(),
            None => Ok(None),
        };
        answer.map(|revisit_at| ReconcileOutcome {
            revisit_at,
            ..ReconcileOutcome::default()
        })
    }

    async fn show_given_up(&self, job: ReconcileRequest, times: u32) -> Result<(), Failed> {
        self.notes
            .given_up
            .lock()
            .unwrap()
            .push((job.number.get(), times));
        Ok(())
    }
}

pub fn failed(reason: &str) -> Answer {
    Err(Failed {
        retry: Retry::Later,
        reason: reason.to_owned(),
    })
}

/// Everything one test needs. The notes and the directory outlive the server, so that it can be started again.
pub struct Kit {
    pub directory: PathBuf,
    pub clock: Arc<StillClock>,
    pub notes: Arc<Notes>,
    /// Closed (no permits): reconciles begin and do not end.
    pub gate: Arc<Semaphore>,
    pub limits: Limits,
    pub header_timeout: Duration,
    deliveries: AtomicU64,
    _kept: tempfile::TempDir,
}

impl Kit {
    pub fn new() -> Self {
        let kept = tempfile::tempdir().unwrap();
        Self {
            directory: kept.path().join("data"),
            clock: StillClock::new(),
            notes: Arc::default(),
            gate: Arc::new(Semaphore::new(1)),
            limits: Limits::default(),
            header_timeout: Duration::from_secs(10),
            deliveries: AtomicU64::new(1),
            _kept: kept,
        }
    }

    /// For the next server; the last one may have left reconciles behind that never ended.
    pub fn with_fresh_notes(self) -> Self {
        Self {
            notes: Arc::default(),
            ..self
        }
    }

    /// Reconciles begin but do not end until [`open_gate`](Self::open_gate).
    pub fn close_gate(&self) {
        self.gate.try_acquire().unwrap().forget();
    }

    pub fn open_gate(&self) {
        self.gate.add_permits(1);
    }

    pub async fn try_start(&self) -> Result<Running, StartError> {
        let own = OwnApp {
            app_id: AppId::new(42),
            bot: Some("loopgate[bot]".parse().unwrap()),
        };
        let server = Server {
            clock: self.clock.clone(),
            limits: self.limits,
            header_timeout: self.header_timeout,
            rng: fastrand::Rng::with_seed(7),
            ..Server::new(config(&self.directory), own)
        };
        server
            .start(Fake {
                notes: self.notes.clone(),
                gate: self.gate.clone(),
            })
            .await
    }

    pub async fn start(&self) -> Running {
        self.try_start().await.unwrap()
    }

    pub fn next_id(&self) -> String {
        let n = self.deliveries.fetch_add(1, Ordering::Relaxed);
        format!("00000000-0000-4000-8000-{n:012x}")
    }

    /// Delivers `opened` for a pull request, and expects it to be accepted.
    pub async fn opened(&self, server: &Running, number: u64) {
        self.deliver(server, "pull_request", &opened(9001, number))
            .await;
    }

    pub async fn deliver(&self, server: &Running, event: &str, body: &str) {
        let answer = post(server.public_address, &signed(event, &self.next_id(), body)).await;
        assert_eq!(answer.status, 202, "{answer:?}");
    }

    /// A connection to the database beside the server's, as a person with a database tool has it.
    pub async fn database(&self) -> sqlx::SqliteConnection {
        let options =
            sqlx::sqlite::SqliteConnectOptions::new().filename(self.directory.join("inbox.sqlite"));
        sqlx::ConnectOptions::connect(&options).await.unwrap()
    }
}

fn config(directory: &Path) -> ServerConfig {
    ServerConfig::from_env(|name| {
        Some(match name {
            "LOOPGATE_APP_ID" => "42".into(),
            "LOOPGATE_PRIVATE_KEY" => {
                include_str!("../../src/server/testdata/not-a-secret.pem").into()
            }
            "LOOPGATE_WEBHOOK_SECRET" => SECRET.into(),
            "LOOPGATE_WEBHOOK_SECRET_PREVIOUS" => OLD_SECRET.into(),
            "LOOPGATE_LISTEN" | "LOOPGATE_ADMIN_LISTEN" => "127.0.0.1:0".into(),
            "LOOPGATE_DATA_DIR" => directory.display().to_string(),
            _ => return None,
        })
    })
    .unwrap()
}

pub fn opened(installation: u64, number: u64) -> String {
    format!(
        r#"{{"action":"opened","number":{number},"pull_request":{{"number":{number},"updated_at":"2026-11-20T09:59:00Z",
        "head":{{"sha":"{SHA}"}}}},"repository":{{"full_name":"acme/widgets"}},"installation":{{"id":{installation}}},
        "sender":{{"id":7,"login":"alice"}}}}"#
    )
}

pub fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// A request as GitHub sends it.
pub fn signed(event: &str, delivery: &str, body: &str) -> Vec<u8> {
    let signature = signature(SECRET, body.as_bytes());
    let headers = [
        ("content-type", "application/json"),
        ("x-github-event", event),
        ("x-github-delivery", delivery),
        ("x-hub-signature-256", &signature),
    ];
    request(&headers, body)
}

pub fn request(headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let lines: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    format!("POST /webhook HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n{lines}connection: close\r\n\r\n{body}")
        .into_bytes()
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

pub async fn get(address: SocketAddr, path: &str) -> Response {
    post(
        address,
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes(),
    )
    .await
}

/// Sends bytes and reads the answer to its end.
pub async fn post(address: SocketAddr, request: &[u8]) -> Response {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that refuses early may hang up while we are still writing; its answer counts.
    stream.write_all(request).await.ok();
    answer(stream).await
}

pub async fn answer(mut stream: TcpStream) -> Response {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.ok();
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    Response {
        status,
        head: head.to_ascii_lowercase(),
        body: body.to_owned(),
    }
}

/// One number of `/metrics`.
pub async fn metric(server: &Running, name: &str) -> u64 {
    let text = get(server.admin_address, "/metrics").await.body;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}"))
        .parse()
        .unwrap()
}
