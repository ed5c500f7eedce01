//! The network between the process and GitHub is cut, and comes back; the machine's clock leaps meanwhile.

use std::{fs, path::Path, time::Duration};

use loopgate_simulator::{CheckSpec, Conclusion, Config, PullSpec, Simulator};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::{JUDGED_ELSEWHERE, process::Process};

/// Passes connections on to an address until the network is cut; while it is, they end where they are. Gives its own
/// address.
async fn cable(to: String, is_cut: watch::Receiver<bool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let (to, mut is_cut) = (to.clone(), is_cut.clone());
            tokio::spawn(async move {
                let passed_on = async {
                    let mut far = TcpStream::connect(&to).await?;
                    copy_bidirectional(&mut near, &mut far).await
                };
                tokio::select! {
                    biased;
                    _ = is_cut.wait_for(|cut| *cut) => {}
                    _ = passed_on => {}
                }
            });
        }
    });
    format!("http://{address}")
}

/// A pull request whose check ends while the network is cut. What is done to the machine in the midst of that, a second
/// after the other, is given.
async fn heals_after(environment: &[(&str, &str)], meanwhile: &[&dyn Fn()]) {
    let github = Simulator::start(Config::default()).await.unwrap();
    let repo = github
        .create_repo(
            "acme/widgets",
            &[(".github/loopgate.yml", JUDGED_ELSEWHERE)],
        )
        .unwrap();
    let data = tempfile::tempdir().unwrap();
    let (cut, is_cut) = watch::channel(false);
    let api = github.url();
    let api = cable(
        api.strip_prefix("http://").expect("plain").to_owned(),
        is_cut,
    )
    .await;
    let process = Process::start_through(&github, &api, data.path(), environment);
    github.set_webhook_url(&process.webhooks);

    let spec = PullSpec::new("feat: sign in").file("src/auth/login.rs", "pub fn login() {}\n");
    let pr = github.user("alice").open_pull_request(&repo, spec).unwrap();
    let has_begun = |github: &Simulator| !github.pull_request(&pr).unwrap().check_runs.is_empty();
    github
        .wait_until(has_begun, Duration::from_secs(30))
        .await
        .expect("it begins");
    cut.send_replace(true);
    // What happens meanwhile is told, since webhooks come another way.
    let concluded = CheckSpec::concluded("ci / test", Conclusion::Success);
    github
        .ci("other-ci")
        .check_run(&repo, github.head(&pr).unwrap(), concluded)
        .unwrap();
    for act in meanwhile {
        act();
        let _ = github.wait_until(|_| false, Duration::from_secs(1)).await;
    }
    cut.send_replace(false);

    let done = |github: &Simulator| {
        let pull = github.pull_request(&pr).unwrap();
        let verify = pull
            .check_runs
            .iter()
            .find(|run| run.app == "loopgate" && run.name == "loopgate / verify");
        pull.has_label("needs:security-review")
            && pull.comments.len() >= 2
            && verify.is_some_and(|run| run.conclusion == Some(Conclusion::Success))
    };
    github
        .wait_until(done, Duration::from_secs(60))
        .await
        .expect("it heals within a minute");
    assert!(process.until_idle(&github).await);
    let pull = github.pull_request(&pr).unwrap();
    let starting = |marker: &str| {
        pull.comments
            .iter()
            .filter(|comment| comment.body.starts_with(marker))
            .count()
    };
    assert_eq!(
        (
            starting("<!-- loopgate:status -->"),
            starting("<!-- loopgate:gate:security:1 -->")
        ),
        (1, 1)
    );
    assert_eq!(pull.comments.len(), 2);
    let runs = |name: &str| {
        pull.check_runs
            .iter()
            .filter(|run| run.name == name)
            .count()
    };
    assert_eq!(
        (runs("loopgate / verify"), runs("loopgate / gates")),
        (1, 1)
    );
    process.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_was_cut_in_the_midst_of_a_look_leaves_nothing_undone_or_doubled() {
    let wait: &dyn Fn() = &|| {};
    heals_after(&[], &[wait; 3]).await;
}

/// Needs libfaketime, whose path `LOOPGATE_FAKETIME` gives.
#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_leaps_puts_nothing_off_and_doubles_nothing() {
    let Ok(library) = std::env::var("LOOPGATE_FAKETIME") else {
        eprintln!("left out: LOOPGATE_FAKETIME does not name libfaketimeMT.so.1");
        return;
    };
    assert!(
        Path::new(&library).exists(),
        "LOOPGATE_FAKETIME: {library} is not there"
    );
    let machine = tempfile::tempdir().unwrap();
    let clock = machine.path().join("clock");
    let set = |off: &str| {
        let next = machine.path().join("next");
        fs::write(&next, off).unwrap();
        fs::rename(&next, &clock).unwrap();
    };
    set("+0");
    let environment = [
        ("LD_PRELOAD", library.as_str()),
        ("FAKETIME_TIMESTAMP_FILE", clock.to_str().expect("plain")),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let (forward, back) = (|| set("+2h"), || set("-1h"));
    // Ahead, as the network breaks and what failed is put off; behind, when it is to be tried again.
    heals_after(&environment, &[&forward, &forward, &forward, &back]).await;
    // A day to and fro, and then right.
    let (day_ahead, day_behind, right) = (|| set("+1d"), || set("-1d"), || set("+0"));
    set("+0");
    heals_after(
        &environment,
        &[&day_ahead, &day_behind, &day_ahead, &day_behind, &right],
    )
    .await;
}
