//! A followed check that was red and is green, of which nothing but its exit status is known: what made it so is held,
//! named, or no matter.

use crate::{
    triggers::{fails, goes_on, is_called, opened, passes, pushes, watched, watched_with},
    world::World,
};

/// How kinds of packages name the command of their tests, and the command: inline, or on lines of its own.
const PACKAGES: [(&str, &str, &str, &str); 14] = [
    (
        "npm",
        "package.json",
        r#"{ "scripts": { "test": "RUN" } }"#,
        "node --test",
    ),
    (
        "npm-lines",
        "package.json",
        "{\n  \"scripts\": {\n    \"test\":\n      \"RUN\"\n  }\n}\n",
        "node --test",
    ),
    (
        "composer",
        "composer.json",
        "{\n  \"scripts\": {\n    \"test\": [\"RUN\"]\n  }\n}",
        "phpunit tests",
    ),
    (
        "deno",
        "deno.json",
        r#"{ "tasks": { "test": "RUN" } }"#,
        "deno test -A",
    ),
    (
        "poe",
        "pyproject.toml",
        "[tool.poe.tasks]\ntest = { cmd = \"RUN\" }\n",
        "pytest -q",
    ),
    (
        "pdm",
        "pyproject.toml",
        "[tool.pdm.scripts]\ntest = { cmd = [\n  \"RUN\",\n  \"-q\",\n] }\n",
        "pytest",
    ),
    (
        "hatch",
        "pyproject.toml",
        "[tool.hatch.envs.default.scripts]\ntest = [\"RUN\"]\n",
        "pytest tests",
    ),
    (
        "pipenv",
        "Pipfile",
        "[scripts]\ntest = \"RUN\"\n",
        "pytest -q",
    ),
    (
        "pixi",
        "pixi.toml",
        "tasks = { test = \"RUN\" }\n",
        "pytest -q",
    ),
    (
        "task",
        "Taskfile.yml",
        "tasks: { test: { cmds: [RUN] } }\n",
        "./run-all",
    ),
    (
        "tox",
        "tox.ini",
        "[testenv]\ncommands =\n    RUN\n",
        "pytest -q",
    ),
    (
        "cargo",
        ".cargo/config.toml",
        "[alias]\nci = \"RUN\"\n",
        "nextest run",
    ),
    (
        "mix",
        "mix.exs",
        "def aliases, do: [test: [\"ecto.create\", \"RUN\"]]\n",
        "test",
    ),
    ("just", "justfile", "test *args:\n    RUN\n", "./run-all"),
];

pub async fn a_test_command_that_does_nothing_calls_a_person(world: World) {
    are_emptied(&world, &PACKAGES[..4]).await;
}

pub async fn a_test_command_of_python_that_does_nothing_calls_a_person(world: World) {
    are_emptied(&world, &PACKAGES[4..8]).await;
}

pub async fn a_test_command_of_a_task_that_does_nothing_calls_a_person(world: World) {
    are_emptied(&world, &PACKAGES[8..11]).await;
}

pub async fn an_alias_that_does_nothing_calls_a_person(world: World) {
    are_emptied(&world, &PACKAGES[11..]).await;
}

/// A world has few: what they create together is held back in a minute, and labels come last.
async fn are_emptied(world: &World, packages: &[(&str, &str, &str, &str)]) {
    for (kind, path, text, command) in packages {
        let name = format!("emptied-{kind}");
        let tested = text.replace("RUN", command);
        let repo = watched_with(world, &name, "", "", &[(path, &tested)]);
        let alice = world.person("alice");
        let pr = opened(world, &repo).await;
        fails(world, &pr, "expected 3, received 4").await;
        alice
            .pushes(&pr, &[(path, &text.replace("RUN", "true"))])
            .await;
        passes(world, &pr).await;
        is_called(
            world,
            &pr,
            "tampering",
            2,
            &[command, "` is gone or changed"],
        )
        .await;
    }
}

/// The code is mended, and a test added: that calls no person.
pub async fn a_repair_with_a_test_calls_nobody(world: World) {
    let repo = watched(&world, "repaired", "", "");
    let pr = opened(&world, &repo).await;
    fails(&world, &pr, "expected 3, received 4").await;
    let more = format!(
        "{}\n#[test]\nfn halves() {{\n    assert_eq!(half(2), 1);\n}}\n",
        crate::triggers::TESTS
    );
    let alice = world.person("alice");
    alice
        .pushes(
            &pr,
            &[("tests/sums.rs", &more), ("src/lib.rs", "// Mended.\n")],
        )
        .await;
    passes(&world, &pr).await;
    goes_on(&world, &pr);
    assert!(world.look(&pr).has_label("loop:passed"));
}

/// Failures that are ignored call a person when the check turns green by them, and not before.
pub async fn ignored_failures_call_a_person_once_the_check_is_green(world: World) {
    let repo = watched(&world, "ignored", "", "");
    let pr = opened(&world, &repo).await;
    fails(&world, &pr, "expected 3, received 4").await;
    let ignores = "test {\n    ignoreFailures = true\n}\n";
    let alice = world.person("alice");
    alice.pushes(&pr, &[("build.gradle", ignores)]).await;
    fails(&world, &pr, "expected 3, received 5").await;
    goes_on(&world, &pr);
    pushes(&world, &pr, 2).await;
    passes(&world, &pr).await;
    let told = "failures are ignored: `ignoreFailures = true`";
    is_called(&world, &pr, "tampering", 3, &[told]).await;
}
