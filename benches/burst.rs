//! How many at once: `cargo bench --bench burst`, or one of them by name: `cargo bench --bench burst -- opened`.
//!
//! The whole server against the simulated GitHub on loopback, whose every answer takes 100 ms and which refuses what
//! its secondary limits do not allow. Real time, a quarter of an hour for all:
//!
//! - `opened`: 200 pull requests are opened at once. Every verdict is to be there within 180 s.
//! - `events`: 1,000 events on 50 pull requests that nothing is known of. Worked off within 60 s.
//! - `points`: the same with 900 points a minute. Nothing is refused, and 90 % of the points are used.
//! - `base`: the configuration of 500 open pull requests changes, and somebody approves. 2 s more than without.
//! - `processes`: 200 pull requests are opened at once before four processes on one PostgreSQL server. At most 80 things
//!   are created in each minute. Every verdict within 180 s; without the limit of an hour all gates within 330 s and all
//!   status comments within 540 s. Time is simulated: it goes on by a second whenever nothing is to be done before that.
//! - `waiting`: 100,000 targets of the installation wait, in SQLite and in PostgreSQL. An approval shows within 3 s, the
//!   verdict on a new head within 10 s.

#[path = "../tests/fixtures/postgres.rs"]
mod postgres;

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use chrono::TimeDelta;
use loopgate::{
    github::{Secret, Setup},
    server::{Running, SimulatedClock, serve_simulated},
};
use loopgate_core::{RepoName, Timestamp};
use loopgate_simulator::{
    CheckSpec, Clock, CommitSpec, Conclusion, Config, Delivery, Harm, Pr, PullSpec, PullView,
    RequestFault, RequestRecord, SecondaryLimits, Simulator,
};
use sqlx::Connection as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

const CONFIG: &str = "\
version: 1
verify:
  checks:
    build: { kind: build, from: { check: build } }
gates:
  security: { approvers: { users: [bob] } }
";
const API_LATENCY: Duration = Duration::from_millis(100);
const VERIFY: &str = "loopgate / verify";
const GATES: &str = "loopgate / gates";
const MINUTE: TimeDelta = TimeDelta::minutes(1);

fn ended(name: &str) -> CheckSpec {
    CheckSpec::concluded(name, Conclusion::Success)
}

/// Whether a part of a path names one of many: a number, a commit, an owner, a repository.
fn is_name(part: &str) -> bool {
    matches!(part, "acme" | "widgets")
        || part.len() >= 40
        || part.bytes().any(|byte| byte.is_ascii_digit())
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    // `cargo test --all-targets` starts benches too, without this flag.
    if !args.iter().any(|arg| arg == "--bench") {
        println!("run it with `cargo bench --bench burst`");
        return;
    }
    let is_wanted = |name: &str| {
        args[1..]
            .iter()
            .all(|arg| arg.starts_with("--") || arg == name)
    };
    if is_wanted("opened") {
        opened().await;
    }
    if is_wanted("events") {
        events(SecondaryLimits::CREATES, false).await;
    }
    if is_wanted("points") {
        events(SecondaryLimits::ALL, true).await;
    }
    if is_wanted("base") {
        base().await;
    }
    if is_wanted("processes")
        && let Some(database) = postgres::schema().await
    {
        processes(
            &database,
            SecondaryLimits {
                creates_an_hour: None,
                ..SecondaryLimits::CREATES
            },
        )
        .await;
        let database = postgres::schema().await.expect("there was one");
        processes(&database, SecondaryLimits::CREATES).await;
    }
    if is_wanted("waiting") {
        waiting(None, false).await;
        waiting(None, true).await;
        if let Some(database) = postgres::schema().await {
            waiting(Some(&database), false).await;
        }
    }
}

async fn opened() {
    let world = World::start(SecondaryLimits::CREATES, false).await;
    let begun = Instant::now();
    let pulls: Vec<Pr> = (0..200).map(|nth| world.open(nth)).collect();
    let took = world
        .until(begun, &pulls, |world, pr| world.has_verdict(pr))
        .await;
    let at = |part: usize| took[took.len() * part / 100 - 1].as_secs_f64();
    println!(
        "200 opened at once: verdicts after {:.1} s (half), {:.1} s (all; budget 180)",
        at(50),
        at(100)
    );
    world.account(pulls.len());
    world.server.shutdown().await;
}

async fn events(limits: SecondaryLimits, has_points_limit: bool) {
    let world = World::start(limits, has_points_limit).await;
    // The server has been up for a while: what it was told is not there is no longer in doubt.
    world.open(1_000);
    tokio::time::sleep(Duration::from_secs(65)).await;
    world.simulator.forget_requests();
    let begun = Instant::now();
    let pulls: Vec<Pr> = (0..50).map(|nth| world.open(nth)).collect();
    // GitHub Actions queues the check that the configuration names; the events are another App's.
    pulls
        .iter()
        .for_each(|pr| world.check("github-actions", pr, CheckSpec::in_progress("build")));
    for nth in 0..19 {
        pulls
            .iter()
            .for_each(|pr| world.check("other-ci", pr, ended(&format!("other {nth}"))));
    }
    let verdicts = world.until(begun, &pulls, |world, pr| world.has_verdict(pr));
    let drained = async {
        world.simulator.settle().await;
        let received = begun.elapsed();
        world.server.settled().await;
        let drained = begun.elapsed();
        println!("while it was drained:");
        world.account(pulls.len());
        (received, drained)
    };
    let (took, (received, drained)) = futures::join!(verdicts, drained);
    let deliveries = world.simulator.deliveries();
    let is_accepted = |delivery: &&Delivery| {
        let accepted = delivery.accepted();
        if !accepted {
            println!("  not accepted: {} {:?}", delivery.event, delivery.state);
        }
        accepted
    };
    let accepted = deliveries.iter().filter(is_accepted).count();
    println!(
        "{} events on 50 cold pull requests, points limit {has_points_limit}: {accepted} accepted within {:.1} s, verdicts after {:.1} s \
         (half) and {:.1} s (all), drained after {:.1} s",
        deliveries.len(),
        received.as_secs_f64(),
        took[24].as_secs_f64(),
        took[49].as_secs_f64(),
        drained.as_secs_f64(),
    );
    println!("with what time alone brought until the last verdict:");
    world.account(pulls.len());
    if has_points_limit {
        world.account_of_points();
    }
    world.simulator.forget_requests();
    let begun = Instant::now();
    for nth in 0..20 {
        pulls
            .iter()
            .for_each(|pr| world.check("other-ci", pr, ended(&format!("more {nth}"))));
    }
    world.simulator.settle().await;
    world.server.settled().await;
    println!(
        "1,000 more: drained after {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    world.account(pulls.len());
    world.server.shutdown().await;
}

async fn base() {
    let world = World::start(SecondaryLimits::ALL, true).await;
    let known: Vec<Pr> = (0..2).map(|nth| world.open(nth)).collect();
    world.simulator.settle().await;
    world.server.settled().await;
    let before = world.approve(&known[0]).await;
    world.simulator.set_webhook_url("http://127.0.0.1:9/nobody");
    for nth in 2..500 {
        world.open(nth);
    }
    world.simulator.settle().await;
    world
        .simulator
        .set_webhook_url(&format!("http://{}/webhook", world.server.public_address));
    let config =
        CommitSpec::new("Another name").file(".github/loopgate.yml", format!("{CONFIG}# More.\n"));
    world
        .simulator
        .user("olga")
        .push_to(&world.repository, "main", config)
        .expect("olga may push");
    // Until the minute's points are used up by it.
    tokio::time::sleep(Duration::from_secs(40)).await;
    let meanwhile = world.approve(&known[1]).await;
    println!(
        "an approval shows after {:.2} s, while 500 are looked at after {:.2} s (budget: 2 s more)",
        before.as_secs_f64(),
        meanwhile.as_secs_f64()
    );
    world.account(1);
    world.server.shutdown().await;
}

async fn processes(database: &str, limits: SecondaryLimits) {
    let world = World::start_on(Some(database), limits, false).await;
    let mut servers = vec![&world.server];
    let beside = [(); 3].map(|()| {
        serve(
            &world.simulator,
            &world.clock,
            world.data.path(),
            false,
            Some(database),
        )
    });
    let beside = futures::future::join_all(beside).await;
    servers.extend(&beside);
    balance(&world.simulator, &servers).await;
    let mut connection = postgres::connect(database).await;

    let begun = world.clock.now();
    let pulls: Vec<Pr> = (0..200).map(|nth| world.open(nth)).collect();
    let has_run =
        |pull: &PullView, name| pull.check_run(name).is_some_and(|run| run.title.is_some());
    let mut took = [(); 3].map(|()| vec![None; pulls.len()]);
    // Beyond the hour comments wait for longer than anybody watches.
    let watched = if limits.creates_an_hour.is_some() {
        2
    } else {
        3
    };
    println!("200 opened at once before four processes, {limits:?}:");
    let mut shown = 0;
    while took[..watched].iter().flatten().any(Option::is_none)
        && world.clock.now() - begun < MINUTE * 10
    {
        if (world.clock.now() - begun).num_minutes() > shown {
            shown += 1;
            let [verify, gates, comment] =
                took.each_ref().map(|took| took.iter().flatten().count());
            println!(
                "  minute {shown}: {verify} with verify, {gates} with gates, {comment} with a comment"
            );
        }
        let at = Some((world.clock.now() - begun).num_seconds());
        for (nth, pr) in pulls.iter().enumerate() {
            if took.iter().all(|took| took[nth].is_some()) {
                continue;
            }
            let pull = world.simulator.pull_request(pr).expect("it is there");
            let is_there = [
                has_run(&pull, VERIFY),
                has_run(&pull, GATES),
                !pull.comments.is_empty(),
            ];
            for (took, is_there) in took.iter_mut().zip(is_there) {
                took[nth] = took[nth].or(at.filter(|_| is_there));
            }
        }
        if limits.creates_an_hour.is_none() {
            // What was taken longer than a minute ago no longer counts.
            let old = sqlx::query("DELETE FROM taken WHERE at < $1")
                .bind((world.clock.now() - MINUTE).timestamp_millis());
            old.execute(&mut connection).await.expect("a table");
        }
        world.passes(&servers).await;
    }
    for ((what, budget), took) in [("verify", 180), ("gates", 330), ("comment", 540)]
        .into_iter()
        .zip(&mut took)
    {
        took.sort_unstable_by_key(|took| took.unwrap_or(i64::MAX));
        let there = took.iter().flatten().count();
        println!(
            "  {what}: {there}, after {:?} s (half), {:?} s (all; budget {budget})",
            took[99], took[199]
        );
    }
    world.account(pulls.len());
    world.account_of_creations();
    let lacking = pulls
        .iter()
        .map(|pr| world.simulator.pull_request(pr).expect("it is there"));
    let lacking: Vec<PullView> = lacking.filter(|pull| pull.comments.is_empty()).collect();
    let told = |pull: &&PullView| {
        pull.check_run(VERIFY)
            .is_some_and(|run| run.summary.as_ref().is_some_and(|text| !text.is_empty()))
    };
    let told = lacking.iter().filter(told).count();
    println!(
        "  {} without a comment, {told} of them with a text in their check run",
        lacking.len()
    );
    for server in servers {
        for line in figures(server)
            .await
            .lines()
            .filter(|line| line.starts_with("loopgate_effects_waiting{"))
        {
            println!("  {line}");
        }
    }
    for server in beside.into_iter().chain([world.server]) {
        server.shutdown().await;
    }
}

/// Passes each connection of webhooks on to the next process.
async fn balance(simulator: &Simulator, servers: &[&Running]) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    simulator.set_webhook_url(&format!(
        "http://{}/webhook",
        listener.local_addr().expect("a port")
    ));
    let addresses: Vec<_> = servers.iter().map(|server| server.public_address).collect();
    tokio::spawn(async move {
        for address in addresses.into_iter().cycle() {
            let Ok((mut from, _)) = listener.accept().await else {
                return;
            };
            tokio::spawn(async move {
                if let Ok(mut to) = TcpStream::connect(address).await {
                    tokio::io::copy_bidirectional(&mut from, &mut to).await.ok();
                }
            });
        }
    });
}

/// The text of `/metrics`.
async fn figures(server: &Running) -> String {
    let ask = async {
        let mut stream = TcpStream::connect(server.admin_address).await?;
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nhost: loopgate\r\nconnection: close\r\n\r\n")
            .await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    ask.await.expect("the server answers")
}

/// As many targets as nobody works off soon. Nothing is at GitHub where they point.
const WAITING: &str = "
INSERT INTO work (installation, repository, what, newest, delivery, event, received_at, waiting_since, class)
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
SELECT (SELECT MIN(installation) FROM open_loop), 'acme/widgets', 'pr:' || (n + 1000), n, '', 'wakeup', $1, $1,
    1 + n % 3 FROM numbers";

async fn waiting(database: Option<&str>, has_points_limit: bool) {
    let mut world = World::start_on(database, SecondaryLimits::default(), has_points_limit).await;
    let known: Vec<Pr> = (0..2).map(|nth| world.open(nth)).collect();
    world.simulator.settle().await;
    world.server.settled().await;
    let before = (world.approve(&known[0]).await, world.push(&known[0]).await);
    world.server.settled().await;
    world.server.shutdown().await;
    let now = world.clock.now().timestamp_millis();
    if let Some(database) = database {
        let mut connection = postgres::connect(database).await;
        sqlx::query(WAITING)
            .bind(now)
            .execute(&mut connection)
            .await
            .expect("a table");
    } else {
        let file = format!(
            "sqlite://{}",
            world.data.path().join("inbox.sqlite").display()
        );
        let mut connection = sqlx::SqliteConnection::connect(&file)
            .await
            .expect("the server's file");
        sqlx::query(WAITING)
            .bind(now)
            .execute(&mut connection)
            .await
            .expect("a table");
        connection.close().await.expect("it is written");
    }
    world.server = serve(
        &world.simulator,
        &world.clock,
        world.data.path(),
        has_points_limit,
        database,
    )
    .await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let waiting = world.server.backlog().await.expect("it can be read");
    let meanwhile = (world.approve(&known[1]).await, world.push(&known[1]).await);
    let begun = Instant::now();
    let new = world.open(2);
    let opened = world
        .until(begun, &[new], |world, pr| world.has_verdict(pr))
        .await[0];
    println!(
        "{waiting} targets wait in {}, points limit {has_points_limit}: an approval shows after {:.2} s ({:.2} s without them; budget 3), a \
         new head's verdict after {:.2} s ({:.2} s; budget 10), a new pull request's after {:.2} s; {} wait still",
        if database.is_some() {
            "PostgreSQL"
        } else {
            "SQLite"
        },
        meanwhile.0.as_secs_f64(),
        before.0.as_secs_f64(),
        meanwhile.1.as_secs_f64(),
        before.1.as_secs_f64(),
        opened.as_secs_f64(),
        world.server.backlog().await.expect("it can be read"),
    );
    world.server.shutdown().await;
}

/// A process on this database, or on a file in the folder `data`.
async fn serve(
    simulator: &Simulator,
    clock: &Clock,
    data: &Path,
    has_points_limit: bool,
    database: Option<&str>,
) -> Running {
    let setup = Setup {
        has_points_limit,
        ..Setup::default()
    };
    let clock = SimulatedClock(clock.clone());
    let server = serve_simulated(simulator, data, clock, setup, |server, _| {
        server.config.database_url = database.map(Secret::new);
    });
    server.await.expect("the server starts")
}

struct World {
    clock: Clock,
    simulator: Simulator,
    repository: RepoName,
    server: Running,
    data: tempfile::TempDir,
}

impl World {
    async fn start(limits: SecondaryLimits, has_points_limit: bool) -> Self {
        Self::start_on(None, limits, has_points_limit).await
    }

    async fn start_on(
        database: Option<&str>,
        limits: SecondaryLimits,
        has_points_limit: bool,
    ) -> Self {
        let clock = Clock::system();
        let config = Config {
            clock: clock.clone(),
            delivery_lanes: 16,
            rate_limit: 1_000_000,
            ..Config::default()
        };
        let simulator = Simulator::start(config)
            .await
            .expect("the simulator starts");
        let files = [
            ("README.md", "# Widgets\n"),
            (".github/loopgate.yml", CONFIG),
        ];
        let repository = simulator
            .create_repo("acme/widgets", &files)
            .expect("a repository");
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        let server = serve(&simulator, &clock, data.path(), has_points_limit, database).await;
        simulator.add_fault(RequestFault::on("", Harm::Delay(API_LATENCY)).expect("a pattern"));
        simulator.keep_limits(limits);
        Self {
            clock,
            simulator,
            repository,
            server,
            data,
        }
    }

    /// Time goes on by a second if nothing is to be done before that, and else as it does anyway.
    async fn passes(&self, servers: &[&Running]) {
        let rest = async {
            self.simulator.settle().await;
            futures::future::join_all(servers.iter().map(|server| server.idle())).await;
        };
        if tokio::time::timeout(Duration::from_millis(100), rest)
            .await
            .is_ok()
        {
            self.clock.advance(TimeDelta::seconds(1));
            // Timers that are due wake up.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn open(&self, nth: usize) -> Pr {
        let branch = format!("branch-{nth}");
        let spec = PullSpec::new("Sign in")
            .branch(&branch)
            .file(&format!("src/auth/{nth}.rs"), "fn login() {}\n");
        self.simulator
            .user("alice")
            .open_pull_request(&self.repository, spec)
            .expect("alice may push")
    }

    fn check(&self, app: &str, pr: &Pr, spec: CheckSpec) {
        let head = self
            .simulator
            .pull_request(pr)
            .expect("it is there")
            .head_sha;
        self.simulator
            .ci(app)
            .check_run(&self.repository, head, spec)
            .expect("it may");
    }

    /// The verdict is shown in words.
    fn has_verdict(&self, pr: &Pr) -> bool {
        let pull = self.simulator.pull_request(pr).expect("it is there");
        pull.check_run(VERIFY)
            .is_some_and(|run| run.title.is_some())
    }

    /// How long each took, in ascending order.
    async fn until(
        &self,
        begun: Instant,
        pulls: &[Pr],
        is_there: impl Fn(&Self, &Pr) -> bool,
    ) -> Vec<Duration> {
        let (mut open, mut took): (Vec<&Pr>, _) = (pulls.iter().collect(), Vec::new());
        while !open.is_empty() {
            open.retain(|pr| {
                let there = is_there(self, pr);
                took.extend(there.then(|| begun.elapsed()));
                !there
            });
            assert!(
                begun.elapsed() < Duration::from_secs(1_200),
                "{} are not there",
                open.len()
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        took
    }

    /// Until the gate is shown as approved.
    async fn approve(&self, pr: &Pr) -> Duration {
        let begun = Instant::now();
        self.simulator
            .user("bob")
            .comment(pr, "security approved")
            .expect("bob may comment");
        let is_open = |pr: &Pr| {
            self.simulator
                .pull_request(pr)
                .expect("it is there")
                .has_label("needs:security-review")
        };
        while is_open(pr) {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "it is not heard"
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        begun.elapsed()
    }

    /// Until the verdict on a new head is shown.
    async fn push(&self, pr: &Pr) -> Duration {
        let begun = Instant::now();
        let branch = self
            .simulator
            .pull_request(pr)
            .expect("it is there")
            .head_branch;
        let commit =
            CommitSpec::new("More").file(&format!("src/more_{}.rs", pr.number), "fn more() {}\n");
        self.simulator
            .user("alice")
            .push_to(&self.repository, &branch, commit)
            .expect("alice may push");
        self.until(begun, std::slice::from_ref(pr), |world, pr| {
            world.has_verdict(pr)
        })
        .await[0]
    }

    fn account(&self, pulls: usize) {
        let requests = self.simulator.requests();
        let counts = self.simulator.request_counts();
        let is_limited =
            |it: &&RequestRecord| it.status.is_some_and(|it| matches!(it.as_u16(), 403 | 429));
        let limited = requests
            .iter()
            .filter(is_limited)
            .inspect(|it| println!("  refused: {} {}", it.method, it.path))
            .count();
        println!(
            "  {:.1} requests a pull request ({} of {} are writes, {} answered 304), {limited} refused by a limit",
            counts.total as f64 / pulls as f64,
            counts.writes,
            counts.total,
            counts.not_modified,
        );
        let mut endpoints: BTreeMap<(String, String), [usize; 2]> = BTreeMap::new();
        for request in &requests {
            let path: Vec<&str> = request
                .path
                .split('/')
                .filter(|part| !is_name(part))
                .skip(1)
                .collect();
            let of = endpoints
                .entry((path.join("/"), request.method.to_string()))
                .or_default();
            of[usize::from(request.status.is_some_and(|status| status.as_u16() == 304))] += 1;
        }
        for ((path, method), [answered, not_modified]) in endpoints {
            println!("    {answered:5} and {not_modified:5} not modified: {method} {path}");
        }
    }

    /// What was created in the minute that had the most.
    fn account_of_creations(&self) {
        let is_content = |it: &&RequestRecord| {
            it.actor == "loopgate[bot]"
                && it.method == "POST"
                && !it.path.contains("/git/")
                && it.path != "/graphql"
        };
        let requests = self.simulator.requests();
        let mut created: Vec<Timestamp> =
            requests.iter().filter(is_content).map(|it| it.at).collect();
        created.sort_unstable();
        let within = |nth: usize| {
            created[..=nth]
                .iter()
                .rev()
                .take_while(|at| **at + MINUTE > created[nth])
                .count()
        };
        let most = (0..created.len()).map(within).max();
        println!(
            "  {} created, {most:?} in the fullest minute (80 at most)",
            created.len()
        );
    }

    /// Of the minutes that were whole.
    fn account_of_points(&self) {
        let requests = self.simulator.requests();
        let (Some(first), Some(last)) = (requests.first(), requests.last()) else {
            return;
        };
        let ours = requests.iter().filter(|it| it.actor == "loopgate[bot]");
        let spent: Vec<(i64, u64)> = ours
            .map(|it| {
                (
                    (it.at - first.at).num_seconds() / 60,
                    if it.is_write() { 5 } else { 1 },
                )
            })
            .collect();
        let minutes = (last.at - first.at).num_seconds() / 60;
        for minute in 0..=minutes {
            let points: u64 = spent
                .iter()
                .filter(|(at, _)| *at == minute)
                .map(|(_, points)| points)
                .sum();
            println!("  minute {}: {points} points", minute + 1);
        }
    }
}
