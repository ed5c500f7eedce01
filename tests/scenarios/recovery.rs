//! What no webhook told is made up for: from GitHub's log of deliveries, and by comparing lists.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use http::{Method, StatusCode};
use loopgate::github::{
    ApiUrl, AppCredentials, Clock as _, Credentials, Github, Reconcile, ReconcileRequest, Secret,
    Setup, SystemClock,
};
use loopgate_simulator::{
    Attempt, Config, DeliveryFault, Harm, Mishap, Pr, PullSpec, RequestFault, Simulator,
};

use crate::world::{
    Look,
    Report::{Fails, Passes},
    World,
};

const CONFIGURATION: &str = "\
version: 1
labels: { state: true }
verify:
  checks:
    build: { kind: build, from: { check: ci / build, app: other-ci } }
    unit:  { kind: test, from: { check: ci / test, app: other-ci } }
gates:
  security: { approvers: { users: [bob] } }
  deploy: off
";
const GREEN: [crate::world::Report<'static>; 2] = [Passes("ci / build"), Passes("ci / test")];
const RED: [crate::world::Report<'static>; 2] = [
    Passes("ci / build"),
    Fails {
        check: "ci / test",
        path: "src/lib.rs",
        line: 3,
        message: "left: 1, right: 2",
    },
];

/// Pull requests of which each waits for something else.
struct Story {
    world: World,
    pushed: Pr,
    checked: Pr,
    approved: Pr,
    merged: Pr,
}

impl Story {
    async fn begins(resync: Option<&'static str>) -> Self {
        let world = World::quick(resync).await;
        let files = [
            ("src/lib.rs", "// Widgets.\n"),
            (".github/loopgate.yml", CONFIGURATION),
        ];
        let repo = world.repository("widgets", &files);
        let alice = world.person("alice");
        let mut pulls = Vec::new();
        for name in ["pushed", "checked", "approved", "merged"] {
            let folder = if name == "approved" {
                "src/auth"
            } else {
                "src"
            };
            let path = format!("{folder}/{name}.rs");
            pulls.push(
                alice
                    .opens(&repo, &format!("feat: {name}"), &[(&path, "fn new() {}\n")])
                    .await,
            );
        }
        let [pushed, checked, approved, merged] = pulls.try_into().unwrap();
        for pr in [&pushed, &approved, &merged] {
            world.ci_reports(pr, &GREEN).await;
        }
        Self {
            world,
            pushed,
            checked,
            approved,
            merged,
        }
    }

    /// A push, a check's result, an approval, and a merge.
    async fn goes_on(&self) {
        self.world
            .person("alice")
            .pushes(&self.pushed, &[("src/pushed.rs", "// Newer.\n")])
            .await;
        self.world.ci_reports(&self.checked, &RED).await;
        self.world.person("olga").merges(&self.merged).await;
        self.world
            .person("bob")
            .says(&self.approved, "security approved")
            .await;
    }

    fn looks(&self) -> [String; 4] {
        let pulls = [&self.pushed, &self.checked, &self.approved, &self.merged];
        pulls.map(|pr| {
            essence(
                &self.world.look(pr),
                self.world.state(pr)["status"].as_str().unwrap_or_default(),
            )
        })
    }
}

/// What must be the same in two worlds: all but commit ids and times.
fn essence(look: &Look, status: &str) -> String {
    let checks: BTreeSet<_> = look
        .checks
        .iter()
        .map(|it| format!("{} {:?} {}", it.name, it.conclusion, it.title))
        .collect();
    let posts: Vec<_> = look
        .comments
        .iter()
        .filter_map(|body| body.split(':').nth(1))
        .collect();
    format!(
        "{status} {:?} {:?} {checks:#?} {posts:?}",
        look.labels, look.requested
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_that_failed_while_the_server_was_down_are_asked_for_again() {
    let undisturbed = Story::begins(None).await;
    undisturbed.goes_on().await;

    let mut story = Story::begins(Some("off")).await;
    story.world.stops().await;
    story.goes_on().await;
    let down = story.looks();
    // GitHub itself does not answer at first.
    let away = RequestFault::on("/app/hook/", Harm::status(StatusCode::BAD_GATEWAY)).unwrap();
    story.world.simulator().add_fault(away);
    story.world.starts().await;
    story.world.settle().await;
    // What was to be looked at again anyway is right already.
    let away = story.looks();
    for ((expected, down), away) in undisturbed.looks().iter().zip(&down).zip(&away) {
        assert!(away == down || away == expected, "{away}");
    }
    assert_ne!(away, undisturbed.looks());
    story.world.simulator().heal();
    story.world.wait(TimeDelta::minutes(5));
    story.world.settle().await;
    let up = story.looks();
    for ((expected, down), up) in undisturbed.looks().iter().zip(&down).zip(&up) {
        assert_ne!(down, expected, "the outage was felt");
        assert_eq!(up, expected);
    }

    // The server is there, and GitHub does not reach it: for some events, and for a while.
    let github = story.world.simulator();
    github.add_delivery_fault(DeliveryFault::on("pull_request", Mishap::Fail));
    story.world.person("alice").closes(&story.pushed).await;
    assert_eq!(story.looks(), up, "nobody has told");
    github.heal();
    story.world.wait(TimeDelta::minutes(5));
    story.world.settle().await;
    assert_ne!(story.looks()[0], up[0]);
    assert_eq!(story.looks()[1..], up[1..]);
}

/// GitHub does not reach the server when a pull request is opened, but does when it is approved; and then again both
/// come at once. The approval is about what was opened.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_is_worked_before_a_late_opening_counts_once_that_is_heard() {
    let mut world = World::quick(Some("off")).await;
    let files = [
        ("src/lib.rs", "// Widgets.\n"),
        (".github/loopgate.yml", CONFIGURATION),
    ];
    let repo = world.repository("widgets", &files);
    let change = || {
        PullSpec::new("feat: sign in")
            .from_fork()
            .file("src/auth/login.rs", "fn login() {}\n")
    };
    let opened = |world: &World| {
        let pr = world
            .simulator()
            .user("mallory")
            .open_pull_request(&repo, change())
            .unwrap();
        world.wait(TimeDelta::minutes(1));
        pr
    };
    let gates = |world: &World, pr: &Pr| {
        world
            .look(pr)
            .concluded("loopgate / gates")
            .map(str::to_owned)
    };

    // The first look at the log is over, else it may ask for the opening again before bob speaks.
    world.settle().await;
    world
        .simulator()
        .add_delivery_fault(DeliveryFault::on("pull_request", Mishap::Fail));
    let alone = opened(&world);
    world.person("bob").says(&alone, "security approved").await;
    assert_eq!(
        gates(&world, &alone).as_deref(),
        Some("action_required"),
        "nobody knows which commit bob saw"
    );
    world.simulator().heal();
    world.wait(TimeDelta::minutes(5));
    world.settle().await;
    assert_eq!(
        gates(&world, &alone).as_deref(),
        Some("success"),
        "{}",
        world.look(&alone).status()
    );

    world.stops().await;
    let beside = opened(&world);
    world.person("bob").says(&beside, "security approved").await;
    world.starts().await;
    world.settle().await;
    assert_eq!(
        gates(&world, &beside).as_deref(),
        Some("success"),
        "{}",
        world.look(&beside).status()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_is_answered_by_one_further_attempt_at_most_and_ever_more_slowly() {
    let story = Story::begins(Some("off")).await;
    let (world, github) = (&story.world, story.world.simulator());
    let before = github.deliveries().len();
    // Nobody listens there.
    github.set_webhook_url("http://127.0.0.1:9/webhook");
    world.person("alice").closes(&story.merged).await;
    let closing = github.deliveries()[before].guid;
    let attempts = || {
        github
            .deliveries()
            .iter()
            .filter(|it| it.guid == closing)
            .count()
    };
    let mut seen = Vec::new();
    for _ in 0..24 {
        world.wait(TimeDelta::minutes(5));
        world.settle().await;
        seen.push(attempts());
    }
    let asked: Vec<_> = github
        .requests()
        .into_iter()
        .filter(|it| it.path.ends_with("/attempts"))
        .collect();
    let distinct: BTreeSet<_> = asked.iter().map(|it| &it.path).collect();
    assert_eq!(asked.len(), distinct.len(), "{asked:?}");
    let again = github
        .deliveries()
        .iter()
        .filter(|it| it.attempt == Attempt::Redelivery)
        .count();
    assert_eq!(again, asked.len());
    // At once, and then after 5, 10, 20, 40 minutes, by a pass every 5.
    assert_eq!((seen[0], seen[23]), (2, 6), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_lost_for_good_is_found_by_one_resync() {
    let undisturbed = Story::begins(None).await;
    undisturbed.goes_on().await;

    let story = Story::begins(Some("6")).await;
    let github = story.world.simulator();
    github.add_delivery_fault(DeliveryFault::any(Mishap::Lose));
    story.goes_on().await;
    github.heal();
    assert_ne!(story.looks(), undisturbed.looks(), "the loss was felt");
    assert_eq!(story.world.asks("/resync", "{}").await, 202);
    story.world.settle().await;
    for (expected, found) in undisturbed.looks().iter().zip(&story.looks()) {
        assert_eq!(found, expected);
    }
    // What nothing happened on since is left alone, but for the head whose checks have not ended.
    let looks_at = |pr: &Pr| {
        let path = format!("/issues/{}/comments", pr.number);
        github
            .requests()
            .iter()
            .filter(|it| it.method == Method::GET && it.path.ends_with(&path))
            .count()
    };
    let pulls = [
        &story.pushed,
        &story.checked,
        &story.approved,
        &story.merged,
    ];
    let looks = || pulls.map(looks_at);
    story.world.wait(TimeDelta::minutes(1));
    assert_eq!(story.world.asks("/resync", "{}").await, 202);
    story.world.settle().await;
    let before = looks();
    assert_eq!(story.world.asks("/resync", "{}").await, 202);
    story.world.settle().await;
    let [pushed, others @ ..] = before;
    assert_eq!(looks(), [pushed + 1, others[0], others[1], others[2]]);

    // A person asks for one pull request, which needs no list to differ.
    let named = format!(
        r#"{{"repository":"acme/widgets","pull_request":{}}}"#,
        story.approved.number
    );
    assert_eq!(story.world.asks("/resync", &named).await, 202);
    story.world.settle().await;
    assert_eq!(looks_at(&story.approved), others[1] + 1);
    assert_eq!(
        story
            .world
            .asks("/resync", r#"{"repository":"acme/elsewhere"}"#)
            .await,
        404
    );
    assert_eq!(
        story.world.asks("/resync", r#"{"pull_request":1}"#).await,
        400
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_six_hours_a_resync_comes_by_itself() {
    for (resync, is_found) in [("6", true), ("off", false)] {
        let story = Story::begins(Some(resync)).await;
        let github = story.world.simulator();
        github.add_delivery_fault(DeliveryFault::any(Mishap::Lose));
        story.world.person("olga").merges(&story.merged).await;
        github.heal();
        // Only a resync lists the repositories. What is due by time, such as a line of the debug memory, is a look too.
        let is_list = |path: &str| path == "/installation/repositories";
        let lists = || {
            github
                .requests()
                .iter()
                .filter(|it| is_list(&it.path))
                .count()
        };
        let (lost, listed) = (story.looks(), lists());
        story.world.wait(TimeDelta::hours(6));
        story.world.settle().await;
        assert_eq!(lists() > listed, is_found, "{resync}");
        assert!(!is_found || story.looks()[3] != lost[3], "{resync}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_is_told_until_a_look_ends_well() {
    let github = Simulator::start(Config::default()).await.unwrap();
    let key = Secret::new(github.app_key().private_pem());
    let credentials = Credentials::App(AppCredentials::new(github.app_id(), &key).unwrap());
    let client = Github::new(
        ApiUrl::parse(&github.url()).unwrap(),
        credentials,
        Setup::default(),
    )
    .unwrap();
    let reconcile = Reconcile::new(client);
    for (name, configuration) in [
        ("acme/widgets", ".github/loopgate.yml"),
        ("acme/dormant", "README.md"),
    ] {
        let repository = github
            .create_repo(name, &[(configuration, CONFIGURATION)])
            .unwrap();
        let spec = PullSpec::new("feat: sign in").file("src/lib.rs", "// In.\n");
        let pr = github
            .user("alice")
            .open_pull_request(&repository, spec)
            .unwrap();
        let installation = Some(github.installation_id());
        let job = ReconcileRequest {
            installation,
            repository,
            number: pr.number,
            hints: Vec::new(),
        };
        let verify = || {
            let runs = github.pull_request(&pr).unwrap().check_runs;
            let titles = runs
                .into_iter()
                .filter(|run| run.name == "loopgate / verify")
                .map(|run| run.title);
            titles.flatten().collect::<Vec<_>>()
        };
        for _ in 0..2 {
            reconcile.show_given_up(&job, 3).await.unwrap();
        }
        if name == "acme/dormant" {
            assert_eq!(
                verify(),
                [""; 0],
                "nothing is written where nothing is switched on"
            );
            continue;
        }
        assert_eq!(verify(), ["Not looked at any more: the server failed"]);
        reconcile.run(&job, SystemClock.now()).await.unwrap();
        let after = verify();
        assert!(
            after
                .last()
                .is_some_and(|title| title.starts_with("Waiting")),
            "{after:?}"
        );
        // Where it has ended there is nobody to tell.
        github.user("alice").close(&pr).unwrap();
        reconcile.show_given_up(&job, 3).await.unwrap();
        assert_eq!(verify(), after);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resync_folds_what_ended_a_fortnight_ago() {
    let world = World::quick(Some("6")).await;
    let files = [
        ("src/lib.rs", "// Widgets.\n"),
        (".github/loopgate.yml", CONFIGURATION),
    ];
    let repo = world.repository("widgets", &files);
    let alice = world.person("alice");
    let closed = alice
        .opens(&repo, "one", &[("src/one.rs", "fn one() {}\n")])
        .await;
    alice
        .opens(&repo, "two", &[("src/two.rs", "fn two() {}\n")])
        .await;
    let refs = || {
        let all = world.simulator().refs(&repo).unwrap();
        all.into_iter()
            .filter(|name| name.contains("/archive/") || name.contains("/pr/"))
            .collect::<Vec<_>>()
    };
    world.simulator().user("alice").close(&closed).unwrap();
    world.settle().await;
    assert_eq!(refs().len(), 2);
    world.wait(TimeDelta::days(15));
    assert_eq!(world.asks("/resync", "{}").await, 202);
    let is_folded = |_: &Simulator| refs().iter().any(|name| name.contains("/archive/"));
    world
        .simulator()
        .wait_until(is_folded, std::time::Duration::from_secs(60))
        .await
        .unwrap();
    assert!(
        refs().len() == 2 && refs()[1].ends_with("/pr/2"),
        "{:?}",
        refs()
    );
}

/// What makes GitHub show the configuration again, and what is then said to have happened.
type News = fn(&World, &loopgate_core::RepoName, &Pr);

/// The configuration is not found twice, half a minute apart; then it is there again, and one piece of news comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_was_not_found_twice_is_found_with_any_news() {
    let six: [(&str, News); 6] = [
        ("a push to the pull request", |world, _, pr| {
            world
                .simulator()
                .user("alice")
                .push(pr, &[("src/new.rs", "// Newer.\n")], "More")
                .unwrap();
        }),
        ("a command", |world, _, pr| {
            world
                .simulator()
                .user("alice")
                .comment(pr, "/loop status")
                .unwrap();
        }),
        ("another pull request", |world, repo, _| {
            let change = PullSpec::new("feat: other").file("src/other.rs", "fn other() {}\n");
            drop(
                world
                    .simulator()
                    .user("alice")
                    .open_pull_request(repo, change)
                    .unwrap(),
            );
        }),
        ("a push to the base", |world, repo, _| {
            let text = format!("{CONFIGURATION}# Newer.\n");
            let commit = loopgate_simulator::CommitSpec::new("Configure")
                .file(".github/loopgate.yml", text.as_str());
            world
                .simulator()
                .user("olga")
                .push_to(repo, "main", commit)
                .unwrap();
        }),
        ("a resync of the repository", |_, _, _| {}),
        ("time", |world, _, _| world.wait(TimeDelta::minutes(5))),
    ];
    for (name, news) in six {
        let world = World::quick(Some("6")).await;
        let files = [
            ("src/lib.rs", "// Widgets.\n"),
            (".github/loopgate.yml", CONFIGURATION),
        ];
        let repo = world.repository("widgets", &files);
        let alice = world.person("alice");
        let pr = alice
            .opens(&repo, "feat: sign in", &[("src/new.rs", "fn new() {}\n")])
            .await;
        let before = world.look(&pr).status().to_owned();
        let absent = RequestFault::on(
            "contents/.github/loopgate.yml",
            Harm::status(StatusCode::NOT_FOUND),
        )
        .unwrap();
        world.simulator().add_fault(absent);
        // A commit on the base, so that the file is read anew; and another look half a minute later.
        world
            .person("olga")
            .pushes_to(&repo, "main", &[("README.md", "Read me.\n")])
            .await;
        alice
            .pushes(&pr, &[("src/new.rs", "fn newer() {}\n")])
            .await;
        world
            .after(TimeDelta::seconds(31), &pr, name, |_| true)
            .await;
        assert_eq!(
            world.look(&pr).status(),
            before,
            "{name}: nobody knows what governs"
        );
        let (_, metrics) = world.reads("/metrics").await;
        assert!(
            metrics.contains("loopgate_repositories_without_configuration 1\n"),
            "{name}: {metrics}"
        );
        let (_, page) = world.reads("/operations.json").await;
        let page: serde_json::Value = serde_json::from_str(&page).unwrap();
        let row = &page["without_configuration"][0];
        assert!(
            row["had_one"] == true
                && row["repository"] == "acme/widgets"
                && row["next"].is_string(),
            "{row}"
        );

        world.simulator().heal();
        news(&world, &repo, &pr);
        if name == "a resync of the repository" {
            assert_eq!(
                world
                    .asks("/resync", r#"{"repository":"acme/widgets"}"#)
                    .await,
                202
            );
        }
        let is_shown = |look: &Look| {
            look.checks
                .iter()
                .filter(|it| it.name.starts_with("loopgate"))
                .count()
                == 2
        };
        world
            .after(TimeDelta::seconds(15), &pr, name, is_shown)
            .await;
        world.settle().await;
        let (_, metrics) = world.reads("/metrics").await;
        assert!(
            metrics.contains("loopgate_repositories_without_configuration 0\n"),
            "{name}: {metrics}"
        );
    }
}
