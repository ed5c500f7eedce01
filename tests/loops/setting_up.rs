//! Setting loops up, telling them apart, and clearing away.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::kit::{Project, REPAIRS, Ran};

fn answered(project: &Project, arguments: &[&str], answers: &str) -> Ran {
    let mut command = project.command(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(answers.as_bytes())
        .unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn criteria_and_limit_are_confirmed_or_nothing_is_begun() {
    let project = Project::with("", "");
    let ran = answered(&project, &["new", "fix: the sum"], "").ended_with(64);
    ran.notes("not confirmed");
    assert_eq!(project.git(&["for-each-ref", "refs/loopgate"]), "");
    let ran = answered(&project, &["init", "fix: the sum"], "yes\n2\nyes\nyes\n").ended_with(0);
    ran.notes("Type        bug_fix");
    ran.notes("Checks      unit");
    assert_eq!(
        ran.out,
        "fix-the-sum is set up: at most 2 iterations.\nRun it: loopgate loop run\n"
    );
    let questions = answered(&project, &["new", "better sums"], "refactor\n").ended_with(64);
    questions.notes("There is not enough to go by.");
    project
        .run(&[
            "new",
            "fix: the sum",
            "--alias",
            "tidy",
            "--type",
            "refactor",
            "--yes",
        ])
        .ended_with(0);
    let ran = project.run(&["status", "tidy", "--format", "json"]);
    ran.prints("\"title\": \"refactor: the sum\"");
}

#[test]
fn the_active_loop_is_a_symbolic_ref_that_goes_with_its_end() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&[]);
    assert_eq!(
        project.git(&["symbolic-ref", "refs/loopgate/current"]),
        "refs/loopgate/task/calc"
    );
    let again = project
        .run(&["new", "repair calc", "--alias", "calc", "--yes"])
        .ended_with(65);
    again.notes("is not over");
    project.run(&["new", "repair calc", "--yes"]).ended_with(0);
    project.run(&["new", "repair calc", "--yes"]).ended_with(0);
    let listed: Value =
        serde_json::from_str(&project.run(&["list", "--format", "json"]).out).unwrap();
    assert_eq!(listed["current"], json!("repair-calc-2"));
    assert_eq!(listed["loops"].as_array().map(Vec::len), Some(3));
    let stopped = project.run(&["stop", "no longer wanted"]).ended_with(0);
    assert_eq!(
        stopped.out,
        "repair-calc-2: stopped by a person: “no longer wanted”\n"
    );
    let refused = project.run(&["run"]).ended_with(65);
    refused.notes("no loop is active; name one of calc, repair-calc, repair-calc-2");

    let refused = project.run(&["clean", "calc", "--yes"]).ended_with(65);
    refused.notes("is not over");
    answered(&project, &["clean", "repair-calc-2"], "no\n").ended_with(64);
    project.run(&["clean", "--all", "--yes"]).ended_with(0);
    let left = project.git(&["for-each-ref", "--format=%(refname)", "refs/loopgate/task"]);
    assert_eq!(
        left,
        "refs/loopgate/task/calc\nrefs/loopgate/task/repair-calc"
    );
    project.run(&["run", "calc"]).ended_with(0);
    project.run(&["clean", "calc", "--yes"]).ended_with(0);
    assert_eq!(
        project.git(&["log", "-1", "--format=%s"]),
        "fix(calc): compare with every number",
        "fixes stay"
    );
}

#[test]
fn outside_a_repository_a_loop_says_how_to_start_one() {
    let folder = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(crate::kit::LOOPGATE)
        .current_dir(folder.path())
        .args(["loop", "new", "x", "--yes"])
        .env("GIT_CEILING_DIRECTORIES", folder.path())
        .output()
        .unwrap();
    let ran = Ran::of(output).ended_with(65);
    ran.notes("git init");
}

#[test]
fn what_is_over_is_still_looked_at_without_its_name() {
    let project = Project::fixed_by(REPAIRS, "");
    project.run(&["history"]).ended_with(65);
    project.begin(&[]);
    project.run(&["stop"]).ended_with(0);
    let status = project.run(&["status"]).ended_with(0);
    assert!(
        status.out.contains("calc") && status.err.contains("No loop is active."),
        "{status:?}"
    );
    assert!(
        project
            .run(&["history"])
            .ended_with(0)
            .out
            .contains("stopped")
    );
    let refused = project.run(&["run"]).ended_with(65);
    refused.notes("no loop is active; name one of calc");
    let cleaned = project
        .run(&["clean", "--all", "--yes", "--format", "json"])
        .ended_with(0);
    let document: serde_json::Value = serde_json::from_str(&cleaned.out).unwrap();
    assert_eq!(
        document,
        serde_json::json!({ "schema": "loopgate.cleaned/v1", "deleted": ["calc"], "kept": [] })
    );
}

#[test]
fn what_is_wrong_is_said() {
    let project = Project::with("", "");
    for (arguments, code, said) in [
        (vec!["new", "x", "--alias", "No", "--yes"], 64, "an alias"),
        (
            vec!["new", "x", "--threshold-a", "7", "--yes"],
            64,
            "a score between 0 and 1",
        ),
        (
            vec!["new", "x", "--max-iterations", "11", "--yes"],
            64,
            "11 is not in 1..=10",
        ),
        (
            vec!["new", "x", "--mandatory", "lint", "--yes"],
            65,
            "there is no check `lint`",
        ),
        (
            vec!["new", "x", "--document", "../x", "--yes"],
            65,
            "inside the repository",
        ),
        (vec!["run", "nothing"], 65, "there is no loop `nothing`"),
        (vec!["status"], 65, "there is no loop here"),
    ] {
        let ran = project.run(&arguments).ended_with(code);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
    }
}
