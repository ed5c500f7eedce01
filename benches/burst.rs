//! How many at once: `cargo bench --bench burst`, or one of them by name: `cargo bench --bench burst -- opened`.
//!
//! The whole server against the simulated GitHub on loopback, whose every answer takes 100 ms and which refuses what its
//! secondary limits do not allow. Real time, a quarter of an hour for all:
//!
//! - `opened`: 200 pull requests are opened at once. Every verdict is to be there within 180 s.
//! - `events`: 1,000 events on 50 pull requests that nothing is known of. Worked off within 60 s.
//! - `points`: the same with 900 points a minute. Nothing is refused, and 90 % of the points are used.
//! - `base`: the configuration of 500 open pull requests changes, and somebody approves. 2 s more than without.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use loopgate::{
    github::{PointsLimit, Setup, SystemClock},
    server::{Running, serve_simulated},
};
use loopgate_core::RepoName;
use loopgate_simulator::{
    CheckSpec, CommitSpec, Conclusion, Config, Delivery, Harm, Pr, PullSpec, RequestFault, RequestRecord,
    SecondaryLimits, Simulator,
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

/// Whether a part of a path names one of many: a number, a commit, an owner, a repository.
fn is_name(part: &str) -> bool {
    matches!(part, "acme" | "widgets") || part.len() >= 40 || part.bytes().any(|byte| byte.is_ascii_digit())
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    // `cargo test --all-targets` starts benches too, without this flag.
    if !args.iter().any(|arg| arg == "--bench") {
        println!("run it with `cargo bench --bench burst`");
        return;
    }
    let is_wanted = |name: &str| args[1..].iter().all(|arg| arg.starts_with("--") || arg == name);
    if is_wanted("opened") {
        opened().await;
    }
    if is_wanted("events") {
        events(SecondaryLimits::CREATES, PointsLimit::Off).await;
    }
    if is_wanted("points") {
        events(SecondaryLimits::ALL, PointsLimit::On).await;
    }
    if is_wanted("base") {
        base().await;
    }
}

async fn opened() {
    let world = World::start(SecondaryLimits::CREATES, PointsLimit::Off).await;
    let begun = Instant::now();
    let pulls: Vec<Pr> = (0..200).map(|nth| world.open(nth)).collect();
    let took = world.until(begun, &pulls, |world, pr| world.has_verdict(pr)).await;
    let at = |part: usize| took[took.len() * part / 100 - 1].as_secs_f64();
    println!("200 opened at once: verdicts after {:.1} s (half), {:.1} s (all; budget 180)", at(50), at(100));
    world.account(pulls.len());
    world.server.shutdown().await;
}

async fn events(limits: SecondaryLimits, points: PointsLimit) {
    let world = World::start(limits, points).await;
    // The server has been up for a while: what it was told is not there is no longer in doubt.
    world.open(1_000);
    tokio::time::sleep(Duration::from_secs(65)).await;
    world.simulator.forget_requests();
    let begun = Instant::now();
    let pulls: Vec<Pr> = (0..50).map(|nth| world.open(nth)).collect();
    for nth in 0..19 {
        pulls.iter().for_each(|pr| world.check(pr, &format!("other {nth}")));
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
        "{} events on 50 cold pull requests, {points:?}: {accepted} accepted within {:.1} s, verdicts after {:.1} s \
         (half) and {:.1} s (all), drained after {:.1} s",
        deliveries.len(),
        received.as_secs_f64(),
        took[24].as_secs_f64(),
        took[49].as_secs_f64(),
        drained.as_secs_f64(),
    );
    println!("with what time alone brought until the last verdict:");
    world.account(pulls.len());
    if points == PointsLimit::On {
        world.account_of_points();
    }
    world.simulator.forget_requests();
    let begun = Instant::now();
    for nth in 0..20 {
        pulls.iter().for_each(|pr| world.check(pr, &format!("more {nth}")));
    }
    world.simulator.settle().await;
    world.server.settled().await;
    println!("1,000 more: drained after {:.1} s", begun.elapsed().as_secs_f64());
    world.account(pulls.len());
    world.server.shutdown().await;
}

async fn base() {
    let world = World::start(SecondaryLimits::ALL, PointsLimit::On).await;
    let known: Vec<Pr> = (0..2).map(|nth| world.open(nth)).collect();
    world.simulator.settle().await;
    world.server.settled().await;
    let before = world.approve(&known[0]).await;
    world.simulator.set_webhook_url("http://127.0.0.1:9/nobody");
    for nth in 2..500 {
        world.open(nth);
    }
    world.simulator.settle().await;
    world.simulator.set_webhook_url(&format!("http://{}/webhook", world.server.public_address()));
    let config = CommitSpec::new("Another name").file(".github/loopgate.yml", format!("{CONFIG}# More.\n"));
    world.simulator.user("olga").push_to(&world.repository, "main", config).expect("olga may push");
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

struct World {
    simulator: Simulator,
    repository: RepoName,
    server: Running,
    _data: tempfile::TempDir,
}

impl World {
    async fn start(limits: SecondaryLimits, points: PointsLimit) -> Self {
        let config = Config { delivery_lanes: 16, rate_limit: 1_000_000, ..Config::default() };
        let simulator = Simulator::start(config).await.expect("the simulator starts");
        let files = [("README.md", "# Widgets\n"), (".github/loopgate.yml", CONFIG)];
        let repository = simulator.create_repo("acme/widgets", &files).expect("a repository");
        let data = tempfile::tempdir().expect("a temporary directory can be made");
        let setup = Setup { points, ..Setup::default() };
        let server = serve_simulated(&simulator, data.path(), SystemClock, setup, |_, _| {}).await;
        let server = server.expect("the server starts");
        simulator.add_fault(RequestFault::on("", Harm::Delay(API_LATENCY)).expect("a pattern"));
        simulator.keep_limits(limits);
        Self { simulator, repository, server, _data: data }
    }

    fn open(&self, nth: usize) -> Pr {
        let branch = format!("branch-{nth}");
        let spec = PullSpec::new("Sign in").branch(&branch).file(&format!("src/auth/{nth}.rs"), "fn login() {}\n");
        self.simulator.user("alice").open_pull_request(&self.repository, spec).expect("alice may push")
    }

    fn check(&self, pr: &Pr, name: &str) {
        let head = self.simulator.pull_request(pr).expect("it is there").head_sha;
        let spec = CheckSpec::concluded(name, Conclusion::Success);
        self.simulator.ci("other-ci").check_run(&self.repository, head, spec).expect("it may");
    }

    /// The verdict is shown in words.
    fn has_verdict(&self, pr: &Pr) -> bool {
        let pull = self.simulator.pull_request(pr).expect("it is there");
        pull.check_run(VERIFY).is_some_and(|run| run.title.is_some())
    }

    /// How long each took, in ascending order.
    async fn until(&self, begun: Instant, pulls: &[Pr], is_there: impl Fn(&Self, &Pr) -> bool) -> Vec<Duration> {
        let (mut open, mut took): (Vec<&Pr>, _) = (pulls.iter().collect(), Vec::new());
        while !open.is_empty() {
            open.retain(|pr| {
                let there = is_there(self, pr);
                took.extend(there.then(|| begun.elapsed()));
                !there
            });
            assert!(begun.elapsed() < Duration::from_secs(1_200), "{} are not there", open.len());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        took
    }

    /// Until the gate is shown as approved.
    async fn approve(&self, pr: &Pr) -> Duration {
        let begun = Instant::now();
        self.simulator.user("bob").comment(pr, "security approved").expect("bob may comment");
        let is_open =
            |pr: &Pr| self.simulator.pull_request(pr).expect("it is there").has_label("needs:security-review");
        while is_open(pr) {
            assert!(begun.elapsed() < Duration::from_secs(120), "it is not heard");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        begun.elapsed()
    }

    fn account(&self, pulls: usize) {
        let requests = self.simulator.requests();
        let counts = self.simulator.request_counts();
        let is_limited = |it: &&RequestRecord| it.status.is_some_and(|it| matches!(it.as_u16(), 403 | 429));
        let limited =
            requests.iter().filter(is_limited).inspect(|it| println!("  refused: {} {}", it.method, it.path)).count();
        println!(
            "  {:.1} requests a pull request ({} of {} are writes, {} answered 304), {limited} refused by a limit",
            counts.total as f64 / pulls as f64,
            counts.writes,
            counts.total,
            counts.not_modified,
        );
        let mut endpoints: BTreeMap<(String, String), [usize; 2]> = BTreeMap::new();
        for request in &requests {
            let path: Vec<&str> = request.path.split('/').filter(|part| !is_name(part)).skip(1).collect();
            let of = endpoints.entry((path.join("/"), request.method.to_string())).or_default();
            of[usize::from(request.status.is_some_and(|status| status.as_u16() == 304))] += 1;
        }
        for ((path, method), [answered, not_modified]) in endpoints {
            println!("    {answered:5} and {not_modified:5} not modified: {method} {path}");
        }
    }

    /// Of the minutes that were whole.
    fn account_of_points(&self) {
        let requests = self.simulator.requests();
        let (Some(first), Some(last)) = (requests.first(), requests.last()) else { return };
        let ours = requests.iter().filter(|it| it.actor == "loopgate[bot]");
        let spent: Vec<(i64, u64)> =
            ours.map(|it| ((it.at - first.at).num_seconds() / 60, if it.is_write() { 5 } else { 1 })).collect();
        let minutes = (last.at - first.at).num_seconds() / 60;
        for minute in 0..=minutes {
            let points: u64 = spent.iter().filter(|(at, _)| *at == minute).map(|(_, points)| points).sum();
            println!("  minute {}: {points} points", minute + 1);
        }
    }
}
