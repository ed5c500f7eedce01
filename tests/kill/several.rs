//! Several processes on one PostgreSQL server, with a balancer before them as operators have one.
//!
//! `LOOPGATE_OTHER_VERSION` is another version of the program, which every second process runs.
//! `LOOPGATE_DELIVERIES` is how many deliveries there are beside those of the pull requests themselves.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use loopgate_simulator::{
    CheckSpec, Conclusion, Config, Delivery, Harm, Pr, PullSpec, RequestFault, Simulator,
};
use nix::sys::signal::Signal;
use sqlx::Row as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::{JUDGED_ELSEWHERE, postgres, process::Process};

const PULLS: usize = 12;

/// How long things may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// Processes that are killed at least, one after the other, while deliveries come.
const KILLS: usize = 5;

/// Says when two processes work on one target: a trigger sees every claim.
const WITNESS: &str = "
CREATE TABLE worked_by_two (holder BIGINT, next BIGINT);
CREATE FUNCTION witness() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO worked_by_two SELECT OLD.holder, NEW.holder FROM process
        WHERE id = OLD.holder AND alive_until > clock_millis();
    RETURN NEW;
END $$;
CREATE TRIGGER witness BEFORE UPDATE ON work FOR EACH ROW
    WHEN (OLD.holder IS NOT NULL AND NEW.holder IS NOT NULL AND OLD.holder <> NEW.holder) EXECUTE FUNCTION witness();
";

async fn number(database: &mut sqlx::PgConnection, sql: &'static str) -> i64 {
    sqlx::query(sql).fetch_one(database).await.unwrap().get(0)
}

async fn pulls(github: &Simulator, count: usize) -> Vec<Pr> {
    let repo = github
        .create_repo(
            "acme/widgets",
            &[(".github/loopgate.yml", JUDGED_ELSEWHERE)],
        )
        .unwrap();
    let spec = |n| {
        let name: String = format!("feat: sign in {n}");
        PullSpec::new(&name).file("src/auth/login.rs", format!("fn login{n}() {{}}\n"))
    };
    (0..count)
        .map(|n| {
            github
                .user("alice")
                .open_pull_request(&repo, spec(n))
                .unwrap()
        })
        .collect()
}

/// Of comments that begin with the same line there is one on each pull request.
fn assert_nothing_doubled(github: &Simulator, pulls: &[Pr]) {
    for pr in pulls {
        let comments = github.pull_request(pr).unwrap().comments;
        let mut kinds = BTreeMap::<String, usize>::new();
        for comment in &comments {
            *kinds
                .entry(comment.body.lines().next().unwrap_or_default().to_owned())
                .or_default() += 1;
        }
        assert!(
            kinds.values().all(|count| *count == 1),
            "#{}: {kinds:#?}",
            pr.number
        );
        assert!(
            kinds.contains_key("<!-- loopgate:status -->"),
            "#{}: {kinds:#?}",
            pr.number
        );
    }
}

/// Where the processes listen now.
#[derive(Clone, Default)]
struct Balancer(Arc<Mutex<Vec<String>>>);

impl Balancer {
    fn set(&self, processes: &[Process]) {
        *self.0.lock().unwrap() = processes.iter().map(|it| it.webhooks.clone()).collect();
    }

    /// Gives a request to a process, and to another where that does not take it, until one does.
    async fn pass_on(&self, request: &[u8]) -> Vec<u8> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            assert!(Instant::now() < deadline, "nobody takes a delivery");
            let targets = self.0.lock().unwrap().clone();
            let target = targets[fastrand::usize(..targets.len())].clone();
            let asked = tokio::time::timeout(Duration::from_secs(10), ask(&target, request)).await;
            if let Ok(Ok(answer)) = asked
                && answer.starts_with(b"HTTP/1.1 2")
            {
                return answer;
            }
        }
    }

    /// The address of a listener that passes on what it gets.
    async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/webhook", listener.local_addr().unwrap());
        let balancer = self.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let balancer = balancer.clone();
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while !is_whole(&request) {
                        if client.read_buf(&mut request).await.unwrap_or(0) == 0 {
                            return;
                        }
                    }
                    let line = request.iter().position(|byte| *byte == b'\n').unwrap() + 1;
                    request.splice(line..line, *b"connection: close\r\n");
                    client
                        .write_all(&balancer.pass_on(&request).await)
                        .await
                        .ok();
                });
            }
        });
        url
    }
}

fn is_whole(request: &[u8]) -> bool {
    let Some(end) = request.windows(4).position(|at| at == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    request.len() >= end + 4 + length.unwrap_or(0)
}

async fn ask(url: &str, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let address = url
        .trim_start_matches("http://")
        .trim_end_matches("/webhook");
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

/// Until nothing is left to do, on the server or on its way to it.
async fn idle(github: &Simulator, database: &str) {
    let deadline = Instant::now() + PATIENCE;
    let mut connection = postgres::connect(database).await;
    let mut quiet = 0;
    while quiet < 5 {
        assert!(Instant::now() < deadline, "it never comes to an end");
        github.settle().await;
        let before = github.deliveries().len();
        let left = number(
            &mut connection,
            "SELECT COUNT(*) FROM work WHERE dead_at IS NULL",
        )
        .await;
        let _ = github
            .wait_until(|_| false, Duration::from_millis(100))
            .await;
        quiet = if left == 0 && github.deliveries().len() == before {
            quiet + 1
        } else {
            0
        };
    }
}

/// One test restarts the server.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_random_four_processes_lose_and_double_nothing() {
    let _alone = ALONE.lock().await;
    let Some(database) = postgres::schema().await else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let github = Simulator::start(Config::default()).await.unwrap();
    let start = || Process::start_on(&github, data.path(), Some(&database));
    let mut processes: Vec<Process> = (0..4).map(|_| start()).collect();
    let mut connection = postgres::connect(&database).await;
    sqlx::raw_sql(WITNESS)
        .execute(&mut connection)
        .await
        .unwrap();
    let balancer = Balancer::default();
    balancer.set(&processes);
    github.set_webhook_url(&balancer.listen().await);

    let prs = pulls(&github, PULLS).await;
    github.settle().await;
    let is_opened =
        |it: &Delivery| it.event == "pull_request" && it.action.as_deref() == Some("opened");
    let opened: Vec<_> = github.deliveries().into_iter().filter(is_opened).collect();
    assert_eq!(opened.len(), PULLS);
    let wanted = std::env::var("LOOPGATE_DELIVERIES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(600);
    let (is_sent, mut kills) = (AtomicBool::new(false), 0);
    let sent = async {
        // The same events under ids of their own, some of them twice, from eight senders.
        let sender = |first: usize| {
            let (opened, balancer) = (&opened, &balancer);
            async move {
                for nth in (first..wanted).step_by(8) {
                    let it = &opened[nth % opened.len()];
                    let mut request = format!(
                        "POST /webhook HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
                         x-github-event: {}\r\nx-github-delivery: {nth:08x}-0000-4000-8000-000000000000\r\n\
                         x-hub-signature-256: {}\r\ncontent-length: {}\r\n\r\n",
                        it.event, it.signature, it.payload.len()
                    )
                    .into_bytes();
                    request.extend_from_slice(&it.payload);
                    for _ in 0..1 + usize::from(nth % 10 == 0) {
                        balancer.pass_on(&request).await;
                    }
                }
            }
        };
        futures::future::join_all((0..8).map(sender)).await;
        is_sent.store(true, Ordering::Relaxed);
    };
    let disturbed = async {
        while kills < KILLS || !is_sent.load(Ordering::Relaxed) {
            let _ = github.wait_until(|_| false, Duration::from_secs(2)).await;
            let chosen = fastrand::usize(..processes.len());
            processes[chosen].signal(Signal::SIGSTOP);
            // Work that three processes in a row do not survive is given up, so the third one lives.
            if number(&mut connection, "SELECT COUNT(*) FROM work WHERE begun > 2").await > 0 {
                processes[chosen].signal(Signal::SIGCONT);
                continue;
            }
            let dead = processes.swap_remove(chosen);
            balancer.set(&processes);
            dead.kill();
            processes.push(start());
            balancer.set(&processes);
            // What happens meanwhile.
            if kills < KILLS {
                let pr = &prs[kills];
                let concluded = CheckSpec::concluded("ci / test", Conclusion::Success);
                github
                    .ci("other-ci")
                    .check_run(&pr.repo, github.head(pr).unwrap(), concluded)
                    .unwrap();
            }
            kills += 1;
        }
    };
    let begun = Instant::now();
    tokio::join!(sent, disturbed);
    let after = begun.elapsed();
    idle(&github, &database).await;

    // The processes share what may be created within a minute, so the last labels come with a later attempt.
    let is_labelled = |pr: &Pr, github: &Simulator| {
        github
            .pull_request(pr)
            .is_ok_and(|pull| pull.has_label("needs:security-review"))
    };
    let are_labelled = |github: &Simulator| prs.iter().all(|pr| is_labelled(pr, github));
    github
        .wait_until(are_labelled, PATIENCE)
        .await
        .expect("every label comes");
    idle(&github, &database).await;

    let kept = number(&mut connection, "SELECT COUNT(*) FROM seen").await;
    let own = github
        .deliveries()
        .iter()
        .filter(|delivery| delivery.accepted())
        .count();
    assert!(
        kept >= i64::try_from(wanted).unwrap(),
        "{kept} of {wanted} ids and those of {own} events"
    );
    assert_eq!(
        number(&mut connection, "SELECT COUNT(*) FROM worked_by_two").await,
        0
    );
    // What is waiting again is a look that a wake-up asked for meanwhile.
    let dead = "SELECT what || ': ' || reason FROM work WHERE dead_at IS NOT NULL";
    let dead = sqlx::query(dead).fetch_all(&mut connection).await.unwrap();
    assert!(
        dead.is_empty(),
        "{:?}",
        dead.iter()
            .map(|row| row.get::<String, _>(0))
            .collect::<Vec<_>>()
    );
    assert_nothing_doubled(&github, &prs);
    for (nth, pr) in prs.iter().enumerate() {
        let pull = github.pull_request(pr).unwrap();
        let verify = pull
            .check_runs
            .iter()
            .find(|run| run.app == "loopgate" && run.name == "loopgate / verify");
        let is_green = verify.is_some_and(|run| run.conclusion == Some(Conclusion::Success));
        assert_eq!(
            is_green,
            nth < KILLS,
            "#{}: {:?}",
            pr.number,
            pull.check_runs
        );
        assert!(
            pull.has_label("needs:security-review"),
            "#{}: {:?}",
            pr.number,
            pull.labels
        );
    }

    // The database itself goes and comes.
    if postgres::restart() {
        let pr = &prs[KILLS];
        let concluded = CheckSpec::concluded("ci / test", Conclusion::Success);
        github
            .ci("other-ci")
            .check_run(&pr.repo, github.head(pr).unwrap(), concluded)
            .unwrap();
        let is_green = |github: &Simulator| {
            let runs = github.pull_request(pr).unwrap().check_runs;
            runs.iter().any(|run| {
                run.name == "loopgate / verify" && run.conclusion == Some(Conclusion::Success)
            })
        };
        github
            .wait_until(is_green, PATIENCE)
            .await
            .expect("all heals");
        assert_nothing_doubled(&github, &prs);
    }
    println!(
        "{wanted} deliveries in {after:.1?}, {kills} processes killed, {kept} ids kept, nothing lost or doubled"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_stopped_for_too_long_writes_nothing_when_it_wakes() {
    let _alone = ALONE.lock().await;
    let Some(database) = postgres::schema().await else {
        return;
    };
    let data = tempfile::tempdir().unwrap();
    let github = Simulator::start(Config::default()).await.unwrap();
    let first = Process::start_on(&github, data.path(), Some(&database));
    github.set_webhook_url(&first.webhooks);
    // It has read something, and is about to go on from that.
    github
        .add_fault(RequestFault::on("^/repos/acme/widgets/issues/1/comments", Harm::Hold).unwrap());
    let prs = pulls(&github, 1).await;
    let mut connection = postgres::connect(&database).await;
    let is_held = |github: &Simulator| github.hanging() > 0;
    github
        .wait_until(is_held, PATIENCE)
        .await
        .expect("it reads the comments");
    first.signal(Signal::SIGSTOP);
    let second = Process::start_on(&github, data.path(), Some(&database));
    github.set_webhook_url(&second.webhooks);
    github.heal();
    let done = |github: &Simulator| github.pull_request(&prs[0]).unwrap().comments.len() >= 2;
    github
        .wait_until(done, PATIENCE)
        .await
        .expect("another process takes the work over");
    idle(&github, &database).await;
    let writes = |github: &Simulator| {
        let is_write =
            |path: &str, method: &str| method != "GET" && !path.ends_with("/access_tokens");
        github
            .requests()
            .iter()
            .filter(|it| is_write(&it.path, it.method.as_str()))
            .count()
    };
    let before = writes(&github);
    assert_eq!(
        number(&mut connection, "SELECT COUNT(*) FROM process").await,
        2
    );

    first.signal(Signal::SIGCONT);
    let deadline = Instant::now() + PATIENCE;
    while !first.figures().await.contains("\nloopgate_running 0\n") {
        assert!(Instant::now() < deadline, "it never comes to an end");
    }
    idle(&github, &database).await;
    assert_eq!(writes(&github), before);
    assert_nothing_doubled(&github, &prs);
}
