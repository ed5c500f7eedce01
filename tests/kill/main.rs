//! The real process is killed, with `kill -9`, at every request it makes: after a restart the work is done, once. So it
//! is where several processes share a database, and any of them is killed or stopped at any time, and where the network
//! to GitHub is cut.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start what their users would"
)]

mod every_request;
#[cfg(target_os = "linux")]
mod memory;
mod network;
#[path = "../fixtures/postgres.rs"]
mod postgres;
mod process;
#[cfg(unix)]
mod several;
#[path = "../fixtures/unpacked.rs"]
mod unpacked;

use std::time::Duration;

use loopgate_simulator::{Config, Harm, PullSpec, RequestFault, Simulator};

use crate::process::Process;

const CONFIGURATION: &str = include_str!("../fixtures/small.loopgate.yml");

/// A repository whose check another App reports.
const JUDGED_ELSEWHERE: &str = "\
version: 1
verify:
  checks:
    unit: { kind: test, from: { check: ci / test, app: other-ci } }
gates: { security: { approvers: { users: [bob] } }, architecture: off, database: off, external: off, deploy: off }
";

#[tokio::test(flavor = "multi_thread")]
async fn killed_between_accepting_and_acting_the_work_is_done_once() {
    let github = Simulator::start(Config::default()).await.unwrap();
    let repo = github
        .create_repo("acme/widgets", &[(".github/loopgate.yml", CONFIGURATION)])
        .unwrap();
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
    assert!(
        deliveries
            .iter()
            .any(|delivery| delivery.event == "pull_request")
    );
    assert!(
        deliveries.iter().all(|delivery| delivery.accepted()),
        "{deliveries:?}"
    );
    first.kill();
    let untouched = github.pull_request(&pr).unwrap();
    assert!(
        untouched.comments.is_empty() && untouched.check_runs.is_empty(),
        "{untouched:?}"
    );

    github.heal();
    let second = Process::start(&github, data.path());
    github.set_webhook_url(&second.webhooks);
    let done = |github: &Simulator| {
        let pull = github.pull_request(&pr).unwrap();
        pull.has_label("needs:security-review")
            && pull.comments.len() >= 2
            && pull.check_runs.len() >= 2
    };
    github
        .wait_until(done, Duration::from_secs(30))
        .await
        .expect("the work is taken up again");

    // Events that the server itself causes arrive too; none of them may lead to a second comment.
    github.settle().await;
    let pull = github.pull_request(&pr).unwrap();
    let starting = |marker: &str| {
        pull.comments
            .iter()
            .filter(|comment| comment.body.starts_with(marker))
            .count()
    };
    assert_eq!(starting("<!-- loopgate:status -->"), 1);
    assert_eq!(starting("<!-- loopgate:gate:security:1 -->"), 1);
    assert_eq!(pull.comments.len(), 2);
    let state = github
        .state_ref(&repo, "refs/loopgate/pr/1")
        .unwrap()
        .expect("a state");
    assert!(state.files.contains_key("loop-state.json"));
    second.kill();
}

/// A limit on the size of files (`ulimit -f`) is an error of one write and no end of the process.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn the_signal_of_a_file_that_grew_too_large_ends_nothing() {
    let github = Simulator::start(Config::default()).await.unwrap();
    let data = tempfile::tempdir().unwrap();
    let process = Process::start(&github, data.path());
    process.signal(nix::sys::signal::Signal::SIGXFSZ);
    assert!(process.figures().await.contains("loopgate_backlog 0"));
}
