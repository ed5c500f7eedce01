//! A failure of which somebody says that it is not theirs to mend, and who settles it.

use loopgate_core::RepoName;
use loopgate_simulator::Pr;
use serde_json::{Value, json};

use crate::{
    triggers::{TESTS, calls, fails, goes_on, is_called, opened, passes, pushes, version, watched},
    world::{
        CI,
        Report::{Fails, Passes},
        World,
    },
};

const MESSAGE: &str = "assertion failed: expected 3, got 2";

/// The first failure that the status comment tells of.
fn told(world: &World, pr: &Pr) -> Value {
    let status = world.look(pr).status().to_owned();
    let (_, rest) = status.rsplit_once("```json\n").expect("a document");
    let (document, _) = rest.split_once("\n```").expect("its end");
    let mut document: Value = serde_json::from_str(document).expect("JSON");
    document["failures"][0].take()
}

/// Its id.
fn failure(world: &World, pr: &Pr) -> String {
    told(world, pr)["id"].as_str().expect("an id").to_owned()
}

/// A test fails, in the file of tests.
async fn test_fails(world: &World, pr: &Pr, message: &str) {
    let failure = Fails {
        check: "ci / test",
        path: "tests/sums.rs",
        line: 3,
        message,
    };
    world.ci_reports(pr, &[Passes("ci / build"), failure]).await;
}

/// The author says why, a person is called with both sides, and one word of somebody else lets the loop go on.
pub async fn one_word_settles_it(world: World) {
    let pr = opened(&world, &watched(&world, "disputed", "", "")).await;
    fails(&world, &pr, MESSAGE).await;
    let id = failure(&world, &pr);
    world
        .person("alice")
        .says(
            &pr,
            &format!("/loop dispute {id} sums are rounded down, as agreed"),
        )
        .await;
    let [test, code, neither] =
        ["test", "code", "neither"].map(|word| format!("`/loop settle {id} {word}`"));
    let told = [
        "sums are rounded down, as agreed",
        "Who is right?",
        &test,
        &code,
        &neither,
    ];
    is_called(&world, &pr, "disputed", 1, &told).await;
    world
        .look(&pr)
        .concludes("loopgate / verify", Some("action_required"));
    // It costs no attempt, however often the same fails; and its author does not settle it.
    for nth in 1..=4 {
        pushes(&world, &pr, nth).await;
        fails(&world, &pr, MESSAGE).await;
    }
    world.person("alice").says(&pr, "/loop settle code").await;
    let look = world.look(&pr);
    look.tells("for a maintainer or the people called to settle");
    world.person("alice").says(&pr, "/loop resume").await;
    assert!(
        world.look(&pr).status().contains(&format!("write {test}")),
        "{}",
        world.look(&pr).status()
    );
    assert_eq!(
        (
            world.state(&pr)["failures"]["total"].as_u64(),
            calls(&world.look(&pr)).len()
        ),
        (Some(0), 1)
    );
    world.person("olga").says(&pr, "/loop settle test").await;
    goes_on(&world, &pr);
    let look = world.look(&pr);
    assert!(look.has_label("loop:retry"), "{look:?}");
    look.tells("olga settled it: the test is right.");
    // The same is answered from memory.
    world
        .person("alice")
        .says(&pr, &format!("/loop dispute {id} but really"))
        .await;
    let look = world.look(&pr);
    look.tells("was settled before: olga said that the test is right");
    pushes(&world, &pr, 5).await;
    passes(&world, &pr).await;
    world
        .look(&pr)
        .concludes("loopgate / verify", Some("success"));
}

/// Mending the failure without touching its test ends it, and so does nothing else by itself.
pub async fn a_mended_failure_ends_it(world: World) {
    let pr = opened(&world, &watched(&world, "mended", "", "")).await;
    fails(&world, &pr, MESSAGE).await;
    let id = failure(&world, &pr);
    world
        .person("alice")
        .says(
            &pr,
            &format!("/loop dispute {id} requirement_unclear which way?"),
        )
        .await;
    let looser = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 2);\n}\n";
    world
        .person("alice")
        .pushes(&pr, &[("tests/sums.rs", looser)])
        .await;
    passes(&world, &pr).await;
    let look = world.look(&pr);
    assert_eq!(
        look.concluded("loopgate / verify"),
        Some("action_required"),
        "the test was changed: {look:?}"
    );
    assert!(look.has_label("loop:blocked"), "{look:?}");
}

/// A test that bob wrote is wrong. The agent that works for alice says so from its command line, bob is called, alice
/// cannot settle it, one word of bob's lets the loop go on, and the next pull request that fails so is told.
pub async fn the_author_of_the_test_settles_what_an_agent_disputes(world: World) {
    let repo = watched(&world, "owned", "", "");
    let wrong = TESTS.replace("add(1, 2), 3", "add(1, 2), 4");
    world
        .person("bob")
        .pushes_to(&repo, "main", &[("tests/sums.rs", &wrong)])
        .await;
    let alice = world.person("alice");
    let pr = alice
        .opens(&repo, "feat: sums", &[("src/lib.rs", &version(0))])
        .await;
    test_fails(&world, &pr, MESSAGE).await;
    let id = failure(&world, &pr);
    let of = format!("{repo}#{}", pr.number);
    let said = world
        .runs(
            Some("alice"),
            &[
                "dispute",
                &id,
                &of,
                "--reason",
                "1 and 2 are 3",
                "--format",
                "json",
            ],
        )
        .await;
    assert!(
        said.code == Some(0) && said.out.contains("comment"),
        "{said:?}"
    );
    world.settle().await;
    let call = is_called(
        &world,
        &pr,
        "disputed",
        1,
        &["@bob", "1 and 2 are 3", "the test is wrong"],
    )
    .await;
    assert!(!call.contains("@olga"), "one person is called: {call}");
    alice.says(&pr, "/loop settle code").await;
    let status = world.look(&pr).status().to_owned();
    assert!(
        status.contains("for a maintainer or the people called to settle"),
        "{status}"
    );
    assert!(world.look(&pr).has_label("loop:blocked"));
    let said = world.runs(Some("bob"), &["settle", &of, "both"]).await;
    assert!(
        said.code == Some(64) && said.err.contains("say `test`, `code`, or `neither`"),
        "{said:?}"
    );
    let said = world.runs(Some("bob"), &["settle", &of, "code"]).await;
    assert!(
        said.code == Some(0) && said.out.contains("Settled: http"),
        "{said:?}"
    );
    world.settle().await;
    goes_on(&world, &pr);
    let status = world.look(&pr).status().to_owned();
    assert!(
        status.contains("bob settled it: the code is right."),
        "{status}"
    );
    // The change of the test is now what is asked for.
    alice.pushes(&pr, &[("tests/sums.rs", TESTS)]).await;
    passes(&world, &pr).await;
    crate::memory::is_recorded(&world, &pr).await;
    let look = world.look(&pr);
    look.concludes("loopgate / verify", Some("success"));

    let next = alice
        .opens(&repo, "feat: more sums", &[("src/more.rs", &version(1))])
        .await;
    test_fails(&world, &next, MESSAGE).await;
    let words = format!(
        "bob settled in #{}, where it was disputed, that the code is right",
        pr.number
    );
    let status = world.look(&next).status().to_owned();
    assert!(
        status.contains("where it was disputed, that the code is right"),
        "{status}"
    );
    assert_eq!(told(&world, &next)["settled"], words.as_str());
    let of = format!("{repo}#{}", next.number);
    let read = world.runs(Some("alice"), &["feedback", &of]).await;
    assert!(
        read.code == Some(1) && read.out.contains(&format!("Before: {words}")),
        "{read:?}"
    );
}

/// Three disputes say that what is wanted is unclear.
pub async fn the_third_dispute_calls_a_person(world: World) {
    let pr = opened(&world, &watched(&world, "unclear", "", "")).await;
    for (nth, message) in (0..).zip([
        "expected 1, got 2",
        "index out of bounds",
        "`sum` panicked: overflow",
    ]) {
        if nth > 0 {
            pushes(&world, &pr, nth).await;
        }
        test_fails(&world, &pr, message).await;
        let id = failure(&world, &pr);
        world
            .person("alice")
            .says(
                &pr,
                &format!("/loop dispute {id} requirement_unclear which is it?"),
            )
            .await;
        assert_eq!(
            world.state(&pr)["blocked"]["trigger"],
            "disputed",
            "{nth}: {:?}",
            world.look(&pr)
        );
        world
            .person("olga")
            .says(&pr, &format!("/loop settle {id} test"))
            .await;
    }
    let reason = "3 failures of this run were disputed, so it is unclear what is wanted";
    let state = world.state(&pr);
    assert_eq!(
        state["blocked"]["trigger"],
        "ambiguous_requirement",
        "{:?}",
        world.look(&pr)
    );
    let look = world.look(&pr);
    assert!(
        calls(&look)
            .last()
            .is_some_and(|call| call.contains(reason)),
        "{look:?}"
    );
    world.person("olga").says(&pr, "/loop resume").await;
    goes_on(&world, &pr);
}

/// A repository whose workflow uploads evidence.
fn tested(world: &World, name: &str, files: &[(&str, &str)]) -> RepoName {
    let configuration = format!(
        "version: 1\nlabels: {{ state: true }}\nverify:\n  workflows: [{CI}]\n  checks:\n    build: {{ kind: build, run: make }}\n    unit: {{ kind: \
         test, run: make test }}\ngates: {{ security: off, architecture: off, database: off, external: off, deploy: off }}\n"
    );
    let own = [
        ("src/lib.rs", "// 0\n"),
        (".github/loopgate.yml", configuration.as_str()),
    ];
    world.repository(name, &[&own, files].concat())
}

/// A pull request weakens three tests. Which of them fail on its head as they were before it is in the comment, with
/// both versions; it is a person who says whether that is meant.
pub async fn of_weakened_tests_is_shown_what_they_asked_for(world: World) {
    let paths = ["tests/adds.rs", "tests/takes.rs", "tests/doubles.rs"];
    let test = |asks: &str| {
        format!(
            "#[test]\nfn rounds() {{\n    assert_eq!(round(1.5), {asks});\n    assert!(true);\n}}\n"
        )
    };
    let (asked, weaker) = (test("2"), "#[test]\nfn rounds() {\n    assert!(true);\n}\n");
    let repo = tested(
        &world,
        "weakened",
        &paths.map(|path| (path, asked.as_str())),
    );
    let files = [
        ("src/lib.rs", "// 1\n"),
        (paths[0], weaker),
        (paths[1], weaker),
        (paths[2], weaker),
    ];
    let pr = world
        .person("alice")
        .opens(&repo, "feat: round", &files)
        .await;
    let run = |path: &str, end: &str| {
        let failing: &[&str] = if end == "failed" { &["rounds"] } else { &[] };
        json!({ "file": path, "command": "cargo test", "on_head": end, "failing": failing })
    };
    let runs = [
        run(paths[0], "failed"),
        run(paths[1], "passed"),
        run(paths[2], "failed"),
    ];
    world
        .ci_tests_with(&pr, &[], &["rounds"], &json!({ "base_tests": runs }))
        .await;
    let status = world.look(&pr).status().to_owned();
    let shown = status
        .split("2 of the 3 test files that are edited here fail as they were:")
        .nth(1);
    let shown = shown.unwrap_or_else(|| panic!("{status}"));
    for path in [paths[0], paths[2]] {
        assert!(
            shown.contains(&format!("`{path}`: `rounds` fails (`cargo test`)")),
            "{path}: {status}"
        );
    }
    assert!(!shown.contains(&format!("`{}`: ", paths[1])), "{status}");
    assert!(
        shown.contains("-    assert_eq!(round(1.5), 2);"),
        "both versions: {status}"
    );
    assert_eq!(world.state(&pr)["blocked"]["trigger"], "tampering");
    // The person who is asked to accept it reads beside each how it ends as it was. `assert!(true)` asserts nothing.
    for (path, end) in [
        (paths[0], "it fails here."),
        (paths[1], "it passes here too."),
    ] {
        let line =
            format!("{path}:3: “rounds” asserts less: 1 before, 0 after. As it was before, {end}");
        assert!(status.contains(&line), "{line}: {status}");
    }
}

/// A pull request adds a test that passes and fails on the same commit. The comment names it, once for two jobs that
/// have run it, and nothing is held against the change.
pub async fn a_flaky_new_test_is_named_before_it_is_merged(world: World) {
    let repo = tested(&world, "flaky", &[]);
    let test = ("tests/rounds.rs", "#[test]\nfn rounds() {}\n");
    let pr = world
        .person("alice")
        .opens(&repo, "feat: round", &[("src/lib.rs", "// 1\n"), test])
        .await;
    let run = |test: &str, failed: u32| json!({ "test": test, "file": "tests/rounds.rs", "command": format!("cargo test {test}"), "runs": 5, "failed": failed });
    let runs = [
        run("rounds", 2),
        run("rounds", 2),
        run("steady", 0),
        run("fails", 5),
    ];
    world
        .ci_tests_with(&pr, &[], &["rounds"], &json!({ "burn_in": runs }))
        .await;
    let look = world.look(&pr);
    let status = look.status();
    let named = "The new test `rounds` in `tests/rounds.rs` is flaky: run alone on this commit it failed 2 of 5 times \
                 (`cargo test rounds`).";
    assert_eq!(
        (
            status.matches(named).count(),
            status.matches("is flaky").count()
        ),
        (1, 1),
        "{status}"
    );
    assert_eq!(world.state(&pr)["blocked"], Value::Null, "{status}");
}

/// A client that waits for the verdict has it with the poll after it, and can tell from the exit code what was decided,
/// with a token of their own and without; of however many failures it is one page.
pub async fn what_is_said_is_read_within_a_poll(world: World) {
    let repo = tested(&world, "waited-for", &[]);
    let pr = opened(&world, &repo).await;
    let of = format!("{repo}#{}", pr.number);
    let failing: Vec<String> = (0..500)
        .map(|nth| format!("module_{nth}::rounds_number_{nth}"))
        .collect();
    let failing: Vec<&str> = failing.iter().map(String::as_str).collect();
    let wait = [
        "feedback",
        &of,
        "--wait",
        "--timeout",
        "2m",
        "--format",
        "json",
    ];
    let (read, after) = world
        .runs_until(Some("alice"), &wait, async || {
            world.ci_tests(&pr, &failing, &[]).await
        })
        .await;
    assert_eq!(read.code, Some(1), "{read:?}");
    assert!(after.as_secs() < 15, "{after:?}");
    assert!(read.out.len() <= 16 * 1024, "{}", read.out.len());
    let document: Value = serde_json::from_str(&read.out).expect("JSON");
    assert_eq!(
        (&document["final"], &document["decision"]),
        (&Value::from(true), &Value::from("retry"))
    );
    let unit = document["checks"]
        .as_array()
        .and_then(|checks| checks.iter().find(|check| check["name"] == "unit"));
    assert_eq!(
        unit.map(|unit| &unit["tests"]["failed"]),
        Some(&Value::from(500)),
        "{document:#}"
    );
    assert!(document["failures"][0]["id"].is_string(), "{document:#}");
    // Anybody who has no token reads the same, and the text is no longer.
    let anybody = world.runs(None, &wait).await;
    let mut same: Value = serde_json::from_str(&anybody.out).expect("JSON");
    same["read_from"] = document["read_from"].clone();
    assert_eq!(
        (anybody.code, &same),
        (Some(1), &document),
        "{}",
        anybody.err
    );
    // So does a token that may not read check runs, from the comment.
    let (read_only, mut alone) = (
        world.runs_without_checks(&repo, "bob", &wait).await,
        document.clone(),
    );
    same = serde_json::from_str(&read_only.out).expect("JSON");
    alone["read_from"] = "status_comment".into();
    assert_eq!(
        (read_only.code, &same),
        (Some(1), &alone),
        "{}",
        read_only.err
    );
    let text = world.runs(None, &["feedback", &of]).await;
    assert!(
        text.code == Some(1) && text.out.len() <= 16 * 1024,
        "{}",
        text.out.len()
    );
    let requests = world.requests();
    assert!(
        requests
            .iter()
            .any(|request| request.contains("check-runs")),
        "{requests:?}"
    );
    let logs: Vec<&String> = requests
        .iter()
        .filter(|request| request.ends_with("/logs"))
        .collect();
    assert!(logs.is_empty(), "no log is downloaded: {logs:?}");

    pushes(&world, &pr, 1).await;
    let (read, after) = world
        .runs_until(Some("alice"), &wait, async || {
            world.ci_tests(&pr, &[], &failing).await
        })
        .await;
    assert!(
        read.code == Some(0) && after.as_secs() < 15,
        "{after:?} {read:?}"
    );
}
