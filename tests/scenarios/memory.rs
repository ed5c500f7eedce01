//! What failed before, and what mended it, over several pull requests.

use chrono::TimeDelta;
use http::{Method, StatusCode};
use loopgate_core::RepoName;
use loopgate_simulator::{Harm, Pr, PullSpec, RequestFault};
use serde_json::{Value, json};

use crate::world::{
    Report::{Fails, Passes},
    World,
};

const CONFIGURATION: &str = ".github/loopgate.yml";
const CHECKS: &str = "\
version: 1
labels: { state: true }
verify:
  checks:
    build: { kind: build, from: { check: ci / build, app: other-ci } }
    unit:  { kind: test, from: { check: ci / test, app: other-ci } }
gates: { security: off, deploy: off }
";

const BROKEN: &str = "// Time.\npub fn seconds(hours: u64) -> u64 {\n    let minutes = hours * 60;\n    minutes\n}\n\n\
                      pub fn days(hours: u64) -> u64 {\n    hours / 24\n}\n";

/// A repository with this configuration.
async fn clock(world: &World, configuration: &str) -> RepoName {
    let repo = world.repository("clock", &[("src/lib.rs", "// Time.\n")]);
    world
        .person("olga")
        .pushes_to(&repo, "main", &[(CONFIGURATION, configuration)])
        .await;
    repo
}

fn fixed() -> String {
    BROKEN.replace("    minutes\n", "    minutes * 60\n")
}

/// What failed is mended, and in the memory two minutes later.
async fn mends(world: &World, who: &str, pr: &Pr) {
    world
        .person(who)
        .pushes(pr, &[("src/lib.rs", &fixed())])
        .await;
    is_mended(world, pr).await;
}

async fn is_mended(world: &World, pr: &Pr) {
    world
        .ci_reports(pr, &[Passes("ci / build"), Passes("ci / test")])
        .await;
    is_recorded(world, pr).await;
}

/// Waits until the last attempt is in the memory.
pub async fn is_recorded(world: &World, pr: &Pr) {
    world
        .after(TimeDelta::minutes(2), pr, "the attempt's line", |_| {
            is_in_memory(world, pr)
        })
        .await;
}

fn is_in_memory(world: &World, pr: &Pr) -> bool {
    let state = world.state(pr);
    let attempt = state["attempts"]
        .as_array()
        .and_then(|all| Some(all.last()?["number"].clone()));
    let week = world
        .clock
        .now()
        .format("refs/loopgate/memory/%G-W%V")
        .to_string();
    let file = format!("failures/{}.jsonl", state["runId"].as_str().expect("an id"));
    let lines = world.kept(&pr.repo, &week, &file).unwrap_or_default();
    lines.lines().any(|line| {
        serde_json::from_str::<Value>(line)
            .is_ok_and(|line| Some(&line["attempt"]) == attempt.as_ref())
    })
}

fn cards(world: &World, repo: &RepoName) -> usize {
    world.cards(repo)["cards"].as_array().map_or(0, Vec::len)
}

async fn fails(world: &World, pr: &Pr) {
    let failure = Fails {
        check: "ci / test",
        path: "src/lib.rs",
        line: 4,
        message: "expected 3600, got 60",
    };
    world.ci_reports(pr, &[Passes("ci / build"), failure]).await;
}

pub async fn what_mended_a_failure_is_told_until_its_place_is_gone(world: World) {
    let repo = clock(&world, CHECKS).await;
    let alice = world.person("alice");

    // The first time nobody knows anything.
    let first = alice
        .opens(&repo, "feat: seconds", &[("src/lib.rs", BROKEN)])
        .await;
    fails(&world, &first).await;
    assert!(
        !world.look(&first).status().contains("**Before:**"),
        "{}",
        world.look(&first).status()
    );
    // Written at most once a minute.
    mends(&world, "alice", &first).await;
    assert_eq!(cards(&world, &repo), 1);
    let mended = world.head(&first);
    // Both heads are kept, the failed one too, and what changed between them.
    let state = world.state(&first);
    let of = |list: &str, field: &str| -> Vec<Value> {
        state[list]
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| entry[field].clone())
            .collect()
    };
    assert_eq!(of("checkpoints", "hash").len(), 2, "{state}");
    assert_eq!(
        of("checkLog", "status"),
        ["passed", "failed", "passed", "passed"],
        "{state}"
    );
    let record = world.kept(
        &repo,
        &format!("refs/loopgate/pr/{}", first.number),
        "attempts/002.json",
    );
    let record: Value = serde_json::from_str(&record.expect("a record")).expect("a document");
    let fix = &record["fix_applied"];
    assert_eq!(
        (&fix["diff_summary"], &fix["files_modified"]),
        (&json!("+1/-1"), &json!(["src/lib.rs"])),
        "{fix}"
    );
    world.person("olga").merges(&first).await;

    // The same failure again: who failed, what mended it, where.
    let second = alice
        .opens(&repo, "feat: minutes", &[("src/lib.rs", BROKEN)])
        .await;
    fails(&world, &second).await;
    let status = world.look(&second).status().to_owned();
    let (short, number) = (&mended[..8], first.number);
    assert!(
        status.contains(&format!("seen in #{number}; fixed there by `{short}`")),
        "{status}"
    );
    assert!(status.contains("+1/-1, `src/lib.rs:4`)"), "{status}");
    let json = status
        .rsplit_once("```json\n")
        .and_then(|(_, rest)| rest.split_once("\n```"))
        .expect("a document")
        .0;
    let document: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let memory = &document["failures"][0]["memory"][0];
    assert_eq!(
        (memory["tier"].as_u64(), memory["commit"].as_str()),
        (Some(1), Some(short)),
        "{document}"
    );
    assert!(
        memory["hunk"]
            .as_str()
            .is_some_and(|hunk| hunk.contains("+    minutes * 60")),
        "{memory}"
    );
    world
        .person("bob")
        .says(&second, "/loop memory minutes")
        .await;
    let status = world.look(&second).status().to_owned();
    assert!(status.contains("What fits “minutes”"), "{status}");
    // Who is called is told, too.
    for nth in 2..4 {
        alice
            .pushes(
                &second,
                &[(
                    "src/lib.rs",
                    &BROKEN.replace("/ 24", &format!("/ 24 / {nth}")),
                )],
            )
            .await;
        fails(&world, &second).await;
    }
    let look = world.look(&second);
    let call = look.marked("<!-- loopgate:escalation:").concat();
    let remembered = call
        .split_once("What is remembered of failures like these")
        .unwrap_or_else(|| panic!("{call}"))
        .1;
    assert!(remembered.contains(short), "{remembered}");
    world
        .person("bob")
        .says(&second, "/loop memory elephants")
        .await;
    assert!(
        world
            .look(&second)
            .status()
            .contains("Nothing is remembered that fits “elephants”")
    );
    alice.closes(&second).await;

    // The file is another: advice about its past would be a guess.
    let rewritten = "pub struct Clock;\nimpl Clock {\n    pub const fn ticks() -> u64 {\n        60\n    }\n}\n";
    world
        .person("olga")
        .pushes_to(&repo, "main", &[("src/lib.rs", "pub struct Clock;\n")])
        .await;
    let third = alice
        .opens(&repo, "feat: ticks", &[("src/lib.rs", rewritten)])
        .await;
    fails(&world, &third).await;
    let status = world.look(&third).status().to_owned();
    assert!(
        status.contains("does not apply: its place was rewritten since"),
        "{status}"
    );
    assert!(
        !status.contains(short) && !status.contains("minutes * 60"),
        "{status}"
    );
}

/// Two servers hear of three pull requests that fail in one moment.
pub async fn writers_at_once_lose_no_line(world: World) {
    let world = world.with_a_server().await;
    let repo = clock(&world, CHECKS).await;
    let mut pulls = Vec::new();
    for who in ["alice", "bob", "alice"] {
        pulls.push(
            world
                .person(who)
                .opens(&repo, "feat: seconds", &[("src/lib.rs", BROKEN)])
                .await,
        );
    }
    futures::future::join_all(pulls.iter().map(|pr| fails(&world, pr))).await;
    let seen = |cards: &Value| cards["recurring"][0]["occurrences"].as_u64();
    world
        .after(TimeDelta::minutes(2), &pulls[0], "three lines", |_| {
            seen(&world.cards(&repo)) == Some(3)
        })
        .await;
    let cards = world.cards(&repo);
    assert_eq!(
        (cards["recurring"].as_array().map(Vec::len), seen(&cards)),
        (Some(1), Some(3)),
        "{cards}"
    );
    let week = format!(
        "refs/loopgate/memory/{}",
        cards["weeks"][0].as_str().expect("a week")
    );
    for pr in &pulls {
        let run = world.state(pr)["runId"].as_str().expect("a run").to_owned();
        let lines = world
            .kept(&repo, &week, &format!("failures/{run}.jsonl"))
            .expect("its lines");
        assert_eq!(lines.lines().count(), 1, "{lines}");
    }
}

pub async fn what_failed_often_is_told_before_anything_fails(world: World) {
    let repo = clock(&world, CHECKS).await;
    for who in ["alice", "bob"] {
        let pr = world
            .person(who)
            .opens(&repo, "feat: seconds", &[("src/lib.rs", BROKEN)])
            .await;
        assert!(
            !world.look(&pr).status().contains("Failed before"),
            "{}",
            world.look(&pr).status()
        );
        fails(&world, &pr).await;
        mends(&world, who, &pr).await;
        world.person(who).closes(&pr).await;
    }
    let third = world
        .person("alice")
        .opens(&repo, "feat: hours", &[("src/lib.rs", BROKEN)])
        .await;
    let status = world.look(&third).status().to_owned();
    assert!(
        status.contains("**Failed before in these files**") && status.contains("`src/lib.rs:4`"),
        "{status}"
    );
    // Then each failure has what is known of it.
    fails(&world, &third).await;
    let status = world.look(&third).status().to_owned();
    assert!(
        !status.contains("Failed before in these files")
            && status.contains("seen twice, last in #2; fixed there by"),
        "{status}"
    );
    let elsewhere = world
        .person("bob")
        .opens(&repo, "docs: clocks", &[("docs/clocks.md", "Clocks.\n")])
        .await;
    assert!(
        !world.look(&elsewhere).status().contains("Failed before"),
        "{}",
        world.look(&elsewhere).status()
    );
}

/// The line in the status comment once the comparison has ended, which no event tells.
async fn compared(world: &World, pr: &Pr, ending: &str) -> String {
    for _ in 0..1_000 {
        world.wait(TimeDelta::seconds(4));
        world.settle().await;
        let status = world.look(pr).status().to_owned();
        let line = status.lines().find(|line| line.starts_with("**What if:**"));
        if let Some(line) = line.filter(|line| line.contains(ending)) {
            return line.to_owned();
        }
    }
    panic!("{}", world.look(pr).status());
}

pub async fn a_proposed_configuration_is_compared_with_the_one_that_governs(world: World) {
    let repo = clock(&world, CHECKS).await;
    let first = world
        .person("alice")
        .opens(&repo, "feat: seconds", &[("src/lib.rs", BROKEN)])
        .await;
    fails(&world, &first).await;
    assert!(!world.look(&first).status().contains("**What if:**"));
    let gates = "gates: { security: off, deploy: off, time: { when: { paths: [\"src/**\"] }, approvers: { users: [carol] } } }";
    let stricter = CHECKS.replace("gates: { security: off, deploy: off }", gates);
    let second = world
        .person("bob")
        .opens(
            &repo,
            "ci: who looks at time",
            &[(CONFIGURATION, &stricter)],
        )
        .await;
    let line = compared(&world, &second, "gate `time`: 1 more").await;
    assert!(
        line.contains("1 pull request of the last 30 days under this file"),
        "{line}"
    );
    // Another version of it is compared anew.
    world
        .person("bob")
        .pushes(
            &second,
            &[(CONFIGURATION, &stricter.replace("src/**", "docs/**"))],
        )
        .await;
    assert!(
        !world.look(&second).status().contains("`time`: 1 more"),
        "{}",
        world.look(&second).status()
    );
    compared(&world, &second, "the same gates open").await;
}

/// What a fork brings is remembered, and is advice once somebody with write has merged it.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_teaches_once_it_is_merged() {
    let world = World::simulated().await;
    let repo = clock(&world, CHECKS).await;
    let spec = PullSpec::new("feat: seconds")
        .from_fork()
        .file("src/lib.rs", BROKEN);
    let fork = world
        .simulator()
        .user("mallory")
        .open_pull_request(&repo, spec)
        .expect("a pull request");
    world.settle().await;
    fails(&world, &fork).await;
    world
        .simulator()
        .user("mallory")
        .push(&fork, &[("src/lib.rs", &fixed())], "Change")
        .expect("a push");
    world.settle().await;
    is_mended(&world, &fork).await;
    assert_eq!(cards(&world, &repo), 0, "no fix that could be remembered");
    let failing = async |who: &str| {
        let pr = world
            .person(who)
            .opens(&repo, "feat: seconds", &[("src/lib.rs", BROKEN)])
            .await;
        fails(&world, &pr).await;
        world.look(&pr).status().to_owned()
    };
    let before = failing("alice").await;
    assert!(before.contains("no fix is known"), "{before}");
    world.person("olga").merges(&fork).await;
    world.wait(TimeDelta::minutes(2));
    let other = world
        .person("bob")
        .opens(&repo, "docs: clocks", &[("docs/clocks.md", "Clocks.\n")])
        .await;
    fails(&world, &other).await;
    assert_eq!(
        world.cards(&repo)["cards"].as_array().map(Vec::len),
        Some(1),
        "{}",
        world.cards(&repo)
    );
    let after = failing("bob").await;
    assert!(
        after.contains("fixed ") && after.contains(" by `"),
        "{after}"
    );
}

/// Verdicts do not wait for the memory, nor do they fail with it; and it is tried again later.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_write_costs_nothing_but_the_memory() {
    let world = World::simulated().await;
    let repo = clock(&world, CHECKS).await;
    let first = world
        .person("alice")
        .opens(&repo, "feat: seconds", &[("src/lib.rs", BROKEN)])
        .await;
    fails(&world, &first).await;
    let occurrences = || world.cards(&repo)["recurring"][0]["occurrences"].as_u64();
    assert_eq!(occurrences(), Some(1));
    let refused = RequestFault::on(
        "/git/refs/loopgate/memory/",
        Harm::status(StatusCode::FORBIDDEN),
    );
    world
        .simulator()
        .add_fault(refused.expect("a pattern").method(Method::PATCH));
    for change in ["minutes + 1", "minutes + 2"] {
        let text = BROKEN.replace("    minutes\n", &format!("    {change}\n"));
        world
            .person("alice")
            .pushes(&first, &[("src/lib.rs", &text)])
            .await;
        fails(&world, &first).await;
        let ended = world
            .look(&first)
            .concluded("loopgate / verify")
            .map(str::to_owned);
        assert!(
            ended.as_deref().is_some_and(|end| end != "success"),
            "{ended:?}"
        );
    }
    assert_eq!(occurrences(), Some(1));
    world.simulator().heal();
    world.wait(TimeDelta::minutes(61));
    let second = world
        .person("bob")
        .opens(&repo, "feat: seconds", &[("src/lib.rs", BROKEN)])
        .await;
    fails(&world, &second).await;
    world
        .after(TimeDelta::minutes(2), &second, "the line", |_| {
            occurrences() > Some(1)
        })
        .await;
}
