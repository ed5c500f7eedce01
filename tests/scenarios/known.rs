//! What is known of tests beside that they pass or fail: that they passed on another try, that they take long, and that
//! they fail on the base too.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use chrono::TimeDelta;
use loopgate_core::RepoName;
use serde_json::{Value, json};

use crate::world::{CI, GitHub, Look, World};

const VERIFY: &str = "loopgate / verify";
/// As pytest with a plug-in that tries failing tests again.
const TRIES: &str = r#"#!/bin/sh
cat <<'END'
============================= test session starts ==============================
collected 1 item

tests/test_sums.py R.                                                     [100%]

========================= 1 passed, 1 rerun in 0.01s ===========================
END
"#;
/// As pytest: the test of sums fails the first time, and passes when it is run again.
const PYTEST: &str = r#"#!/bin/sh
if [ -e .ran ]; then echo '============================== 1 passed in 0.01s ==============================='; exit 0; fi
touch .ran
cat <<'END'
============================= test session starts ==============================
collected 1 item

tests/test_sums.py F                                                      [100%]

=================================== FAILURES ===================================
__________________________________ test_sums ___________________________________

>       assert total() == 3
E       assert 2 == 3

tests/test_sums.py:3: AssertionError
=========================== short test summary info ============================
FAILED tests/test_sums.py::test_sums - assert 2 == 3
============================== 1 failed in 0.01s ===============================
END
exit 1
"#;

/// A repository whose tests are run by `verify` in a workflow, with these settings of the check.
fn configured(settings: &str) -> String {
    format!(
        "version: 1\nverify:\n  workflows: [{CI}]\n  checks:\n    unit: {{ kind: test, run: bin/pytest{settings} }}\n\
         gates: {{ security: off, deploy: off }}\n"
    )
}

/// What the real `verify` says of the checks in a folder with this configuration.
fn verified(configuration: &str, program: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    let files = [
        (".github/loopgate.yml", configuration),
        ("bin/pytest", program),
        (
            "tests/test_sums.py",
            "def test_sums():\n    assert total() == 3\n",
        ),
    ];
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let program = root.join("bin/pytest");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("our own file");
    for words in [
        &["init", "-q"][..],
        &["add", "-A"],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "commit",
            "-qm",
            "All",
        ],
    ] {
        runs(root, "git", words);
    }
    runs(root, env!("CARGO_BIN_EXE_loopgate"), &["verify"]);
    let written = fs::read_to_string(root.join("loopgate-evidence/evidence.json"));
    serde_json::from_str(&written.expect("evidence")).expect("a document")
}

fn runs(folder: &Path, program: &str, words: &[&str]) {
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(folder)
        .output()
        .expect("a program");
}

/// A pull request whose tests pass on another try, under this word.
async fn tried_again(world: &World, word: &str, program: &str, name: &str) -> Look {
    let configuration = configured(&format!(", flaky: {word}"));
    let checks = verified(&configuration, program)["checks"].take();
    let repo = world.repository(name, &[(".github/loopgate.yml", &configuration)]);
    let change = [("src/sums.py", "# In.\n")];
    let pr = world
        .person("alice")
        .opens(&repo, "feat: sums", &change)
        .await;
    let failing: &[&str] = match word {
        "fail" => &["sums"],
        _ => &[],
    };
    let more = json!({ "checks": checks });
    world.ci_tests_with(&pr, failing, &[], &more).await;
    world.look(&pr)
}

/// What the check says of it is what counts, whether the tool or `verify` tried again.
pub async fn a_pass_on_another_try_counts_as_its_check_says(world: World) {
    for (by, program) in [("tool", TRIES), ("verify", PYTEST)] {
        let look = tried_again(&world, "pass", program, &format!("passes-{by}")).await;
        look.concludes(VERIFY, Some("success"));
        assert!(
            !look.status().to_lowercase().contains("flaky: "),
            "{}",
            look.status()
        );
        look.leaves_out("1 flaky");

        let look = tried_again(&world, "warn", program, &format!("warns-{by}")).await;
        look.concludes(VERIFY, Some("success"));
        let named = "⚠️ Flaky: ";
        look.tells(named);
        look.leaves_out("Compared with");

        let look = tried_again(&world, "fail", program, &format!("fails-{by}")).await;
        look.concludes(VERIFY, Some("failure"));
        look.tells("Attempt 1 of 3 failed: unit");
    }
}

/// What the base fails too is nobody's here: it costs no attempt and calls nobody. Under `baseline: new` it holds
/// nothing; else the base is waited for.
pub async fn what_the_base_fails_too_holds_nobody(world: World) {
    let ways = [
        (
            "all",
            "",
            "failure",
            "unit fails on main too — fix it there",
        ),
        (
            "new",
            "loop: { baseline: new }\n",
            "success",
            "All green — ready to merge",
        ),
    ];
    for (name, more, ends, says) in ways {
        let configuration = configured("") + more;
        let repo = world.repository(name, &[(".github/loopgate.yml", &configuration)]);
        world.ci_tests_main(&repo, &["takes"], &["adds"]).await;
        let alice = world.person("alice");
        let pr = alice
            .opens(&repo, "feat: sums", &[("src/sums.py", "# 0\n")])
            .await;
        for nth in 1..=3 {
            let change = format!("# {nth}\n");
            alice.pushes(&pr, &[("src/sums.py", &change)]).await;
            world.ci_tests(&pr, &["takes"], &["adds"]).await;
        }
        let (look, state) = (world.look(&pr), world.state(&pr));
        assert_eq!(look.concluded(VERIFY), Some(ends), "{}", look.status());
        look.tells(says);
        assert_eq!(state["failures"]["total"], json!(0), "{}", look.status());
        assert_eq!(state["blocked"], Value::Null, "{}", look.status());

        // What it breaks itself is its own: the test passed before.
        alice.pushes(&pr, &[("src/sums.py", "# Worse.\n")]).await;
        world.ci_tests(&pr, &["adds", "takes"], &[]).await;
        let look = world.look(&pr);
        let called = "tests that passed before fail now";
        look.tells(called);
        assert_eq!(world.state(&pr)["failures"]["total"], json!(1));
    }
}

/// Merges a pull request whose tests took so long.
async fn takes(world: &World, repo: &RepoName, nth: usize, slowest: &[(String, u64)]) {
    let alice = world.person("alice");
    let file = format!("src/part_{nth}.py");
    let pr = alice
        .opens(repo, "feat: a part", &[(&file, "# In.\n")])
        .await;
    let named = |(test, ms): &(String, u64)| json!({ "test": test, "duration_ms": ms });
    let mut checks = verified(&configured(""), TRIES)["checks"].take();
    checks[0]["slowest_tests"] = slowest.iter().map(named).collect();
    let more = json!({ "checks": checks });
    world.ci_tests_with(&pr, &[], &[], &more).await;
    alice.merges(&pr).await;
}

/// Of each check the twenty slowest tests are known, with how long they took before. The emulator's time is ours, so
/// that nothing was before there.
pub async fn the_slowest_tests_are_listed_with_their_trend(world: World) {
    let repo = world.repository("slow", &[(".github/loopgate.yml", &configured(""))]);
    takes(&world, &repo, 0, &[("sums".to_owned(), 1_000)]).await;
    let is_simulated = matches!(world.github, GitHub::Simulated(_));
    if is_simulated {
        world.wait(TimeDelta::days(31));
    }
    let parts = (1..=24).map(|nth| (format!("part {nth}"), nth * 10));
    let slowest: Vec<(String, u64)> = parts.chain([("sums".to_owned(), 3_000)]).collect();
    takes(&world, &repo, 1, &slowest).await;
    let report = match is_simulated {
        true => {
            let (_, page) = world.reads(&format!("/{repo}/metrics.json")).await;
            let page: Value = serde_json::from_str(&page).expect("a document");
            page["report"].clone()
        }
        false => {
            let words = ["metrics", &repo.to_string(), "--json"];
            let printed = world.runs(Some("alice"), &words).await;
            serde_json::from_str(&printed.out).expect("a document")
        }
    };
    let tests = report["slow_tests"].as_array().expect("tests");
    assert_eq!(tests.len(), 20, "{report:#}");
    let of_sums = ["test", "check", "mean_ms", "before_ms"].map(|key| tests[0][key].clone());
    let expected = match is_simulated {
        true => [json!("sums"), json!("unit"), json!(3_000), json!(1_000)],
        false => [json!("sums"), json!("unit"), json!(2_000), Value::Null],
    };
    assert_eq!(of_sums, expected);
    let trend = tests[0]["trend"].as_array().expect("parts");
    assert_eq!(trend.last(), Some(&expected[2]), "{trend:?}");
}
