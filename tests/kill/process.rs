//! The real program as a process of its own.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use loopgate_simulator::Simulator;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// The program, or for every second process the one that `LOOPGATE_OTHER_VERSION` names: two versions then share what
/// the test shares.
fn program() -> OsString {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let other = std::env::var_os("LOOPGATE_OTHER_VERSION");
    let nth = STARTED.fetch_add(1, Ordering::Relaxed);
    other
        .filter(|_| nth % 2 == 1)
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_loopgate").into())
}

/// A server process, the address its webhooks go to, and the one of its figures.
pub struct Process {
    child: Child,
    pub webhooks: String,
    admin: String,
}

impl Process {
    /// Starts the real program and waits for the line in which it says where it listens.
    pub fn start(github: &Simulator, data: &Path) -> Self {
        Self::start_on(github, data, None)
    }

    /// The same with the version that `LOOPGATE_OLDER_VERSION` names, where it names one.
    pub fn start_older(github: &Simulator, data: &Path) -> Self {
        match std::env::var_os("LOOPGATE_OLDER_VERSION") {
            Some(older) => Self::run(older, github, &github.url(), data, &[]),
            None => Self::start(github, data),
        }
    }

    /// The same on a PostgreSQL server.
    pub fn start_on(github: &Simulator, data: &Path, database: Option<&str>) -> Self {
        let database: Vec<_> = database
            .map(|url| ("DATABASE_URL", url))
            .into_iter()
            .collect();
        Self::begin(github, &github.url(), data, &database)
    }

    /// The same with another way to GitHub, and with more in its environment.
    pub fn start_through(
        github: &Simulator,
        api: &str,
        data: &Path,
        environment: &[(&str, &str)],
    ) -> Self {
        Self::begin(github, api, data, environment)
    }

    fn begin(github: &Simulator, api: &str, data: &Path, environment: &[(&str, &str)]) -> Self {
        Self::run(program(), github, api, data, environment)
    }

    fn run(
        program: OsString,
        github: &Simulator,
        api: &str,
        data: &Path,
        environment: &[(&str, &str)],
    ) -> Self {
        let mut child = Command::new(program)
            .arg("serve")
            .env("LOOPGATE_APP_ID", github.app_id().to_string())
            .env("LOOPGATE_PRIVATE_KEY", github.app_key().private_pem())
            .env("LOOPGATE_WEBHOOK_SECRET", github.webhook_secret())
            .env("LOOPGATE_GITHUB_API_URL", api)
            .env("LOOPGATE_LISTEN", "127.0.0.1:0")
            .env("LOOPGATE_ADMIN_LISTEN", "127.0.0.1:0")
            .env("LOOPGATE_DATA_DIR", data)
            .envs(environment.iter().copied())
            .env("LOOPGATE_LOG", "info")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program that was built for this test");
        let log = BufReader::new(child.stderr.take().expect("piped above"));
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            // Read to the end, so that the process never waits for somebody to read its log.
            for line in log.lines().map_while(Result::ok) {
                let entry: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
                if entry["message"] == "ready"
                    && let (Some(webhooks), Some(admin)) =
                        (entry["webhooks"].as_str(), entry["admin"].as_str())
                {
                    let _ = tell.send((format!("http://{webhooks}/webhook"), admin.to_owned()));
                }
            }
        });
        let (webhooks, admin) = told
            .recv_timeout(Duration::from_secs(30))
            .expect("it says where it listens");
        Self {
            child,
            webhooks,
            admin,
        }
    }

    /// The most memory that was ever resident, in KiB (`VmHWM` of proc_pid_status(5)).
    #[cfg(target_os = "linux")]
    pub fn peak_memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .expect("a figure");
        line.trim()
            .trim_end_matches(" kB")
            .parse()
            .expect("a number")
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("a process of ours");
        self.child.wait().expect("a process of ours");
    }

    /// Sends the process a signal.
    #[cfg(unix)]
    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let process = nix::unistd::Pid::from_raw(self.child.id().cast_signed());
        nix::sys::signal::kill(process, signal).expect("a process of ours");
    }

    /// Completes once everything that was told to it is done and nothing new comes of that, or one of its requests
    /// hangs. Whether it is idle.
    pub async fn until_idle(&self, github: &Simulator) -> bool {
        let patience = Instant::now() + Duration::from_secs(180);
        loop {
            assert!(
                Instant::now() < patience,
                "it never comes to an end: {}",
                self.figures().await
            );
            github.settle().await;
            if github.hanging() > 0 {
                return false;
            }
            let before = github.deliveries().len();
            let done = self.figures().await.contains("\nloopgate_backlog 0\n");
            if done && github.deliveries().len() == before {
                return true;
            }
            // The process is given the machine meanwhile; a request that hangs ends the wait at once.
            let _ = github
                .wait_until(|github| github.hanging() > 0, Duration::from_millis(10))
                .await;
        }
    }

    /// The text of `/metrics`.
    pub async fn figures(&self) -> String {
        let ask = async {
            let mut stream = TcpStream::connect(&self.admin).await?;
            stream
                .write_all(b"GET /metrics HTTP/1.1\r\nhost: loopgate\r\nconnection: close\r\n\r\n")
                .await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            std::io::Result::Ok(answer)
        };
        ask.await.expect("the process answers")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Where it was killed there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
