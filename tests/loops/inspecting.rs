//! `loopgate inspect state`, of a loop here and of a pull request whose ref was fetched.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::kit::{LOOPGATE, Project, REPAIRS, Ran};

fn inspect(project: &Project, arguments: &[&str], stdin: Stdio) -> Ran {
    let mut command = Command::new(LOOPGATE);
    command
        .current_dir(project.root())
        .args(["inspect", "state"])
        .args(arguments)
        .stdin(stdin);
    Ran::of(command.output().expect("the program"))
}

#[test]
fn a_state_is_shown_from_wherever_it_is() {
    let project = Project::fixed_by(REPAIRS, "");
    let none = inspect(&project, &[], Stdio::null()).ended_with(65);
    none.notes("no loop is active here");
    project.begin(&[]);
    let active = inspect(&project, &[], Stdio::null()).ended_with(0);
    active.prints("calc");
    project.run(&["run"]).ended_with(0);

    // As `git fetch origin 'refs/loopgate/*:refs/loopgate/*'` leaves it.
    project.git(&[
        "update-ref",
        "refs/loopgate/pr/12",
        "refs/loopgate/task/calc",
    ]);
    let shown = inspect(&project, &["calc"], Stdio::null()).ended_with(0);
    for what in ["refs/loopgate/task/calc", "refs/loopgate/pr/12", "12"] {
        assert_eq!(
            inspect(&project, &[what], Stdio::null()).ended_with(0).out,
            shown.out,
            "{what}"
        );
    }
    std::fs::write(
        project.beside("state.json"),
        project.git(&["show", "refs/loopgate/pr/12:loop-state.json"]),
    )
    .unwrap();
    let file = std::fs::File::open(project.beside("state.json")).unwrap();
    let read = inspect(&project, &["-", "--format", "json"], file.into()).ended_with(0);
    let document: Value = serde_json::from_str(&read.out).unwrap();
    assert_eq!(
        (&document["schema"], &document["status"]),
        (&json!("loopgate.loop-state/v1"), &json!("completed"))
    );
    assert_eq!(
        inspect(&project, &["../state.json"], Stdio::null())
            .ended_with(0)
            .out,
        shown.out
    );

    // And as a server folds it.
    let git = |arguments: &[&str]| project.git(arguments).trim().to_owned();
    let tip = git(&["rev-parse", "refs/loopgate/pr/12"]);
    project.write("entry", &format!("{tip}\n"));
    let blob = git(&["hash-object", "-w", "entry"]);
    git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("100644,{blob},pr/12"),
    ]);
    let fold = git(&[
        "commit-tree",
        &git(&["write-tree"]),
        "-m",
        "ended runs folded: 1",
        "-p",
        &tip,
    ]);
    git(&["update-ref", "refs/loopgate/archive/2026Q4", &fold]);
    git(&["update-ref", "-d", "refs/loopgate/pr/12"]);
    assert_eq!(
        inspect(&project, &["12"], Stdio::null()).ended_with(0).out,
        shown.out
    );
}

#[test]
fn what_is_no_state_is_said_to_be_none() {
    let project = Project::with("", "");
    let unknown = inspect(&project, &["99"], Stdio::null()).ended_with(65);
    unknown.notes("no ref refs/loopgate/task/99 or refs/loopgate/pr/99");
    project.git(&["update-ref", "refs/loopgate/pr/7", "HEAD"]);
    let empty = inspect(&project, &["7"], Stdio::null()).ended_with(65);
    empty.notes("refs/loopgate/pr/7 holds no loop-state.json");
    for text in ["", "{", "[]", "{\"schema\": 3}"] {
        project.write("state.json", text);
        let broken = inspect(&project, &["state.json"], Stdio::null()).ended_with(65);
        broken.notes("state.json holds no loop state that can be read");
    }
}

#[test]
fn a_failure_is_found_at_the_end_of_a_large_log() {
    let project = Project::with("", "");
    let mut log = format!("{}\n", "x".repeat(4_000))
        .repeat(4_500)
        .into_bytes();
    log.extend(b"a stray \xff byte\nsrc/cart.py:7: AssertionError: the total is wrong\n");
    assert!(log.len() > 16 * 1024 * 1024);
    std::fs::write(project.path("log"), log).unwrap();
    let inspect = |file: &str| {
        Ran::of(
            project
                .loopgate(&["inspect", "failure", file])
                .output()
                .expect("the program"),
        )
    };
    let found = inspect("log").ended_with(0);
    found.prints("src/cart.py");
    found.prints("the total is wrong");
    project.write("empty", "\n");
    assert!(
        inspect("empty")
            .ended_with(65)
            .err
            .contains("empty is empty")
    );
    let missing = Ran::of(
        project
            .loopgate(&["inspect", "report", "none.xml"])
            .output()
            .expect("the program"),
    );
    assert!(missing.ended_with(65).err.contains("none.xml is no file"));
}

#[test]
fn where_ci_is_followed_the_usual_checks_run_here() {
    let project = Project::with("", "");
    let followed =
        "version: 1\nverify:\n  checks:\n    unit: { kind: test, from: { check: tests } }\n";
    project.write(".github/loopgate.yml", followed);
    project.write(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    project.write("src/lib.rs", "");
    project.commit("A crate whose CI is followed");
    let verify = project
        .loopgate(&["verify", "--checks", "build"])
        .output()
        .expect("the program");
    let ran = Ran::of(verify).ended_with(0);
    ran.notes("follows it on the pull request");
    ran.notes("Found Rust");
    assert!(!ran.err.contains("loopgate init"), "{}", ran.err);
}
