//! Jobs of other workflows that a check follows: what they printed is on the page, at the price of two requests a job.

use http::StatusCode;
use loopgate_core::RepoName;
use loopgate_simulator::{Harm, RequestFault};
use serde_json::json;

use crate::world::{Job, World};

const FAILING: &str = "============================= test session starts ==============================\n\
    collected 3 items\n\n\
    tests/test_cart.py .F.                                                   [100%]\n\n\
    =================================== FAILURES ===================================\n\
    _________________________________ test_total __________________________________\n\n    \
    def test_total():\n\
    >       assert total([3, 4]) == 7\n\
    E       assert 12 == 7\n\
    E        +  where 12 = total([3, 4])\n\n\
    tests/test_cart.py:5: AssertionError\n\
    =========================== short test summary info ============================\n\
    FAILED tests/test_cart.py::test_total - assert 12 == 7\n\
    ========================= 1 failed, 2 passed in 0.03s ==========================";

fn following(world: &World, name: &str) -> RepoName {
    let configuration = "version: 1\nverify:\n  checks:\n    unit: { kind: test, from: { check: \"test*\", app: \
                         github-actions } }\ngates: { security: off, architecture: off, database: off, external: off, \
                         deploy: off }\n";
    world.repository(
        name,
        &[
            ("src/cart.py", "# 0\n"),
            (".github/loopgate.yml", configuration),
        ],
    )
}

/// Three jobs of a matrix fail alike: their failure is one card with the lines that say why, and each job's log is read
/// once.
pub async fn the_lines_of_a_followed_job_are_on_the_page(world: World) {
    let repo = following(&world, "followed");
    let pr = world
        .person("alice")
        .opens(&repo, "feat: cart", &[("src/cart.py", "# 1\n")])
        .await;
    let names = ["test (3.11)", "test (3.12)", "test (3.13)"];
    let before = world.requests().len();
    let jobs = world
        .ci_jobs(
            &pr,
            &names.map(|name| Job {
                name,
                prints: FAILING,
                ..Job::default()
            }),
        )
        .await;
    let look = world.look(&pr);
    let (shown, _) = look
        .status()
        .split_once("For agents")
        .expect("a part for people");
    assert_eq!(shown.matches("❌ **").count(), 1, "{shown}");
    assert_eq!(
        shown.matches("```text\nassert 12 == 7\n").count(),
        1,
        "{shown}"
    );
    assert!(shown.contains("2 more fail in the same way"), "{shown}");
    let requests = &world.requests()[before..];
    for job in jobs {
        let paths =
            ["actions/jobs", "check-runs"].map(|list| format!("GET /repos/{repo}/{list}/{job}"));
        let of_job = |request: &&String| {
            let rest = paths
                .iter()
                .find_map(|path| request.strip_prefix(path.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let asked: Vec<&str> = requests
            .iter()
            .filter(of_job)
            .map(|request| request.rsplit('/').next().unwrap_or_default())
            .collect();
        assert_eq!(asked, [job.to_string().as_str(), "logs"]);
    }
}

/// A log that was deleted is not waited for.
pub async fn a_log_that_is_gone_is_not_waited_for(world: World) {
    let repo = following(&world, "gone");
    let pr = world
        .person("alice")
        .opens(&repo, "fix: cart", &[("src/cart.py", "# 2\n")])
        .await;
    world
        .ci_jobs(
            &pr,
            &[Job {
                name: "test",
                prints: FAILING,
                is_gone: true,
                ..Job::default()
            }],
        )
        .await;
    let look = world.look(&pr);
    look.concludes("loopgate / verify", Some("failure"));
    look.leaves_out("assert 12 == 7");
}

/// A log that the App may not read is named, and the check counts without it.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_may_not_be_read_is_named() {
    let world = World::simulated().await;
    let repo = following(&world, "forbidden");
    let forbidden = Harm::Answer {
        status: StatusCode::FORBIDDEN,
        headers: Vec::new(),
        body: json!({ "message": "Resource not accessible by integration" }),
    };
    world
        .simulator()
        .add_fault(RequestFault::on("/logs$", forbidden).expect("an expression"));
    let pr = world
        .person("alice")
        .opens(&repo, "fix: cart", &[("src/cart.py", "# 3\n")])
        .await;
    world
        .ci_jobs(
            &pr,
            &[Job {
                name: "test",
                prints: FAILING,
                ..Job::default()
            }],
        )
        .await;
    let look = world.look(&pr);
    look.concludes("loopgate / verify", Some("failure"));
    look.leaves_out("assert 12 == 7");
    look.tells("the log of test");
}

/// A log that comes late is on the page once it is there: with the next look, and no event leads to that one. Only the
/// simulator's time is ours.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_comes_late_is_read() {
    let world = World::simulated().await;
    let repo = following(&world, "late");
    let pr = world
        .person("alice")
        .opens(&repo, "feat: cart", &[("src/cart.py", "# 1\n")])
        .await;
    world
        .ci_jobs(
            &pr,
            &[Job {
                name: "test",
                prints: FAILING,
                late_seconds: 5,
                ..Job::default()
            }],
        )
        .await;
    assert!(
        !world.look(&pr).status().contains("assert 12 == 7"),
        "{}",
        world.look(&pr).status()
    );
    world
        .after(chrono::TimeDelta::seconds(6), &pr, "its lines", |look| {
            look.status().contains("assert 12 == 7")
        })
        .await;
}
