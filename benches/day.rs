//! One day of an installation that creates as much as GitHub lets it: `cargo bench --bench day`. A part of it, with
//! other pull requests an hour: `cargo bench --bench day -- 2 80` plays two hours with 80. About ten minutes for all.
//!
//! The whole server against the simulated GitHub, which keeps its secondary limits: 900 points a minute, and 80 things
//! created a minute and 500 an hour. Time is simulated. It goes on by twenty seconds once everything that is due is
//! done.
//!
//! Each pull request lives for 25 minutes: it is opened, its check ends three minutes later, every third fails and is
//! mended by a push after ten minutes, and all are merged. Every hour it prints what was created, how long verdicts and
//! status comments took after what they follow, and what was refused.

use std::{collections::VecDeque, time::Duration};

use chrono::TimeDelta;
use loopgate::{
    github::Setup,
    server::{Running, SimulatedClock, serve_simulated},
};
use loopgate_core::{RepoName, Timestamp};
use loopgate_simulator::{
    CheckSpec, Clock, CommitSpec, Conclusion, Config, Pr, PullSpec, PullState, SecondaryLimits,
    Simulator,
};

const CONFIG: &str = "\
version: 1
verify:
  checks:
    build: { kind: build, from: { check: build } }
gates: { architecture: off, database: off, deploy: off, external: off, security: off }
";
/// Pull requests an hour, so that GitHub's 500 creations an hour are nearly used up.
const PULLS_AN_HOUR: i64 = 130;
/// Requests an hour that GitHub lets the installation of a large organisation make.
const RATE_LIMIT: u32 = 12_500;
const STEP: TimeDelta = TimeDelta::seconds(20);
const VERIFY: &str = "loopgate / verify";

/// What happens to a pull request next.
#[derive(Clone, Copy)]
enum Deed {
    Fails,
    Passes,
    Repairs,
    Merges,
}

/// What is waited for on a pull request.
struct Awaited {
    pr: Pr,
    since: Timestamp,
    what: What,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    /// The status comment of a new pull request.
    Comment,
    /// The verdict on a check that ended.
    Verdict,
}

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    if !args.iter().any(|arg| arg == "--bench") {
        println!("run it with `cargo bench --bench day`");
        return;
    }
    let mut numbers = args.iter().filter_map(|arg| arg.parse().ok());
    let (hours, pulls) = (
        numbers.next().unwrap_or(24),
        numbers.next().unwrap_or(PULLS_AN_HOUR),
    );
    Day::start(pulls).await.passes(hours).await;
}

struct Day {
    clock: Clock,
    simulator: Simulator,
    repository: RepoName,
    server: Running,
    pulls_an_hour: i64,
    opened: i64,
    deeds: VecDeque<(Timestamp, Pr, Deed)>,
    awaited: Vec<Awaited>,
    /// Seconds that status comments and verdicts took in this hour.
    took: [Vec<i64>; 2],
    /// What had not come when its pull request was merged, in this hour.
    never: usize,
    _data: tempfile::TempDir,
}

impl Day {
    async fn start(pulls_an_hour: i64) -> Self {
        let clock = Clock::system();
        let config = Config {
            clock: clock.clone(),
            delivery_lanes: 16,
            rate_limit: RATE_LIMIT,
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
        let setup = Setup {
            has_points_limit: true,
            ..Setup::default()
        };
        let server = serve_simulated(
            &simulator,
            data.path(),
            SimulatedClock(clock.clone()),
            setup,
            |_, _| {},
        )
        .await;
        let server = server.expect("the server starts");
        simulator.keep_limits(SecondaryLimits::ALL);
        let (deeds, awaited, took) = (VecDeque::new(), Vec::new(), Default::default());
        Self {
            clock,
            simulator,
            repository,
            server,
            pulls_an_hour,
            opened: 0,
            deeds,
            awaited,
            took,
            never: 0,
            _data: data,
        }
    }

    async fn passes(mut self, hours: i64) {
        let begun = self.clock.now();
        let mut shown = 0;
        while shown < hours {
            let now = self.clock.now();
            let due = (now - begun).num_seconds() * self.pulls_an_hour / 3_600;
            while self.opened < due {
                self.opens(now);
            }
            while self.deeds.front().is_some_and(|(at, ..)| *at <= now) {
                let (_, pr, deed) = self.deeds.pop_front().expect("there is one");
                self.does(&pr, deed, now);
            }
            self.settles().await;
            self.sees();
            self.clock.advance(STEP);
            // Timers that are due wake up.
            tokio::time::sleep(Duration::from_millis(5)).await;
            if (self.clock.now() - begun).num_hours() > shown {
                shown += 1;
                self.account(shown);
            }
        }
        self.server.shutdown().await;
    }

    /// Waits until everything that is due is done. What waits for a limit waits in simulated time: that goes on while
    /// nothing else does.
    async fn settles(&self) {
        let settled = async {
            self.simulator.settle().await;
            self.server.settled().await;
        };
        let mut settled = std::pin::pin!(settled);
        while tokio::time::timeout(Duration::from_millis(100), &mut settled)
            .await
            .is_err()
        {
            self.clock.advance(TimeDelta::seconds(1));
        }
    }

    fn opens(&mut self, now: Timestamp) {
        let nth = self.opened;
        self.opened += 1;
        let file = format!("src/{}/part_{nth}.rs", nth / 50);
        let spec = PullSpec::new(&format!("Part {nth}"))
            .branch(&format!("part-{nth}"))
            .file(&file, "fn part() {}\n");
        let pr = self
            .simulator
            .user("alice")
            .open_pull_request(&self.repository, spec)
            .expect("alice may push");
        let minutes = |minutes| now + TimeDelta::minutes(minutes);
        let deeds = match nth % 3 {
            0 => vec![
                (3, Deed::Fails),
                (10, Deed::Repairs),
                (13, Deed::Passes),
                (25, Deed::Merges),
            ],
            _ => vec![(3, Deed::Passes), (25, Deed::Merges)],
        };
        for (at, deed) in deeds {
            let place = self
                .deeds
                .partition_point(|(other, ..)| *other <= minutes(at));
            self.deeds.insert(place, (minutes(at), pr.clone(), deed));
        }
        self.awaited.push(Awaited {
            pr,
            since: now,
            what: What::Comment,
        });
    }

    fn does(&mut self, pr: &Pr, deed: Deed, now: Timestamp) {
        let conclusion = match deed {
            Deed::Fails => Conclusion::Failure,
            Deed::Passes => Conclusion::Success,
            Deed::Repairs => {
                let branch = self
                    .simulator
                    .pull_request(pr)
                    .expect("it is there")
                    .head_branch;
                let file = format!("src/{}/mended_{}.rs", pr.number.get() / 50, pr.number);
                let commit = CommitSpec::new("Mend").file(&file, "fn mended() {}\n");
                self.simulator
                    .user("alice")
                    .push_to(&self.repository, &branch, commit)
                    .expect("alice may push");
                return;
            }
            Deed::Merges => {
                self.simulator
                    .user("olga")
                    .merge(pr)
                    .expect("olga may merge");
                return;
            }
        };
        let head = self.simulator.head(pr).expect("a head");
        let check = CheckSpec::concluded("build", conclusion);
        self.simulator
            .ci("other-ci")
            .check_run(&self.repository, head, check)
            .expect("it may");
        self.awaited.push(Awaited {
            pr: pr.clone(),
            since: now,
            what: What::Verdict,
        });
    }

    fn sees(&mut self) {
        let (simulator, took, never, now) = (
            &self.simulator,
            &mut self.took,
            &mut self.never,
            self.clock.now(),
        );
        self.awaited.retain(|Awaited { pr, since, what }| {
            let pull = simulator.pull_request(pr).expect("it is there");
            let is_there = match what {
                What::Comment => !pull.comments.is_empty(),
                What::Verdict => pull
                    .check_run(VERIFY)
                    .is_some_and(|run| run.conclusion.is_some()),
            };
            let is_over = !matches!(pull.state, PullState::Open);
            if is_there {
                took[usize::from(*what == What::Verdict)].push((now - *since).num_seconds());
            } else if is_over {
                *never += 1;
            }
            !is_there && !is_over
        });
    }

    /// The figures of the hour that ended.
    fn account(&mut self, hour: i64) {
        let requests = self.simulator.requests();
        let ours = requests.iter().filter(|it| it.actor == "loopgate[bot]");
        let refused = ours
            .clone()
            .filter(|it| it.status.is_some_and(|it| matches!(it.as_u16(), 403 | 429)))
            .count();
        let counts = self.simulator.request_counts();
        let created = ours
            .filter(|it| it.method == "POST" && !it.path.contains("/git/") && it.path != "/graphql")
            .count();
        let figures = self.took.each_mut().map(|took| {
            took.sort_unstable();
            let at = |part: usize| {
                took.get((took.len() * part / 100).min(took.len().saturating_sub(1)))
                    .copied()
            };
            format!(
                "{:?} s (half), {:?} s (99 %)",
                at(50).unwrap_or(-1),
                at(99).unwrap_or(-1)
            )
        });
        println!(
            "hour {hour}: {} opened in all, {created} created, {} requests ({} answered 304), {refused} refused; comments \
             after {}, verdicts after {}; {} awaited, {} not before the merge",
            self.opened,
            counts.total,
            counts.not_modified,
            figures[0],
            figures[1],
            self.awaited.len(),
            std::mem::take(&mut self.never),
        );
        self.simulator.forget_requests();
        self.took = Default::default();
    }
}
