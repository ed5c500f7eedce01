//! The real process is killed between accepting a delivery and acting on it: after a restart the work is done, once.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use loopgate::simulator::{Config, Harm, PullSpec, RequestFault, Simulator};

const CONFIGURATION: &str = "\
version: 1
verify:
  checks:
    build: { kind: build, run: make }
    unit: { kind: test, run: make test }
gates:
  security: { approvers: { users: [bob] } }
  deploy: off
";

/// A server process and the address its webhooks go to.
struct Process {
    child: Child,
    webhooks: String,
}

impl Process {
    /// Starts the real program and waits for the line in which it says where it listens.
    fn start(github: &Simulator, data: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_loopgate"))
            .arg("serve")
            .env("LOOPGATE_APP_ID", github.app_id().to_string())
            .env("LOOPGATE_PRIVATE_KEY", github.app_key().private_pem())
            .env("LOOPGATE_WEBHOOK_SECRET", github.webhook_secret())
            .env("LOOPGATE_GITHUB_API_URL", github.url())
            .env("LOOPGATE_LISTEN", "127.0.0.1:0")
            .env("LOOPGATE_ADMIN_LISTEN", "127.0.0.1:0")
            .env("LOOPGATE_DATA_DIR", data)
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
                if let ("ready", Some(address)) = (entry["message"].as_str().unwrap_or(""), entry["webhooks"].as_str())
                {
                    let _ = tell.send(format!("http://{address}/webhook"));
                }
            }
        });
        let webhooks = told.recv_timeout(Duration::from_secs(30)).expect("the server says where it listens");
        Self { child, webhooks }
    }

    /// `kill -9`.
    fn kill(mut self) {
        self.child.kill().expect("a process of ours");
        self.child.wait().expect("a process of ours");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_between_accepting_and_acting_the_work_is_done_once() {
    let github = Simulator::start(Config::default()).await.unwrap();
    let repo = github.create_repo("acme/widgets", &[(".github/loopgate.yml", CONFIGURATION)]).unwrap();
    let data = tempfile::tempdir().unwrap();

    // Every answer about the repository takes longer than the process will live.
    let slow = Harm::Delay(Duration::from_secs(60));
    github.add_fault(RequestFault::on("^/repos/acme/widgets", slow).unwrap());
    let first = Process::start(&github, data.path());
    github.set_webhook_url(&first.webhooks);
    let spec = PullSpec::new("feat: sign in").file("src/auth/login.rs", "pub fn login() {}\n");
    let pr = github.user("alice").open_pull_request(&repo, spec).unwrap();
    github.settle().await;
    let deliveries = github.deliveries();
    assert!(deliveries.iter().any(|delivery| delivery.event == "pull_request"));
    assert!(deliveries.iter().all(|delivery| delivery.accepted()), "{deliveries:?}");
    first.kill();
    let untouched = github.pull_request(&pr).unwrap();
    assert!(untouched.comments.is_empty() && untouched.check_runs.is_empty(), "{untouched:?}");

    github.heal();
    let second = Process::start(&github, data.path());
    github.set_webhook_url(&second.webhooks);
    let done = |github: &Simulator| {
        let pull = github.pull_request(&pr).unwrap();
        pull.has_label("needs:security-review") && pull.comments.len() >= 2 && pull.check_runs.len() >= 2
    };
    github.wait_until(done, Duration::from_secs(30)).await.expect("the work is taken up again");

    // The events of the server's own deeds arrive too; none of them may lead to a second comment.
    github.settle().await;
    let pull = github.pull_request(&pr).unwrap();
    let starting = |marker: &str| pull.comments.iter().filter(|comment| comment.body.starts_with(marker)).count();
    assert_eq!(starting("<!-- loopgate:status -->"), 1);
    assert_eq!(starting("<!-- loopgate:gate:security:1 -->"), 1);
    assert_eq!(pull.comments.len(), 2);
    let state = github.state_ref(&repo, "refs/loopgate/pr/1").unwrap().expect("a state");
    assert!(state.files.contains_key("loop-state.json"));
    second.kill();
}
