//! What is left of loops that are over: their line, for `loopgate metrics`.

use std::process::Command;

use serde_json::{Value, json};

use crate::kit::{LOOPGATE, Project, REPAIRS, Ran};

fn told(project: &Project, arguments: &[&str]) -> Value {
    let mut command = Command::new(LOOPGATE);
    command
        .current_dir(project.root())
        .args(arguments)
        .args(["--format", "json"]);
    let ran = Ran::of(command.output().expect("the program")).ended_with(0);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn a_loop_leaves_a_line_that_outlives_its_state() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&[]);
    let open = told(&project, &["metrics"]);
    assert_eq!([&open["runs"], &open["open"]], [&json!(1), &json!(1)]);
    project.run(&["run"]).ended_with(0);
    // Two attempts fail, and the third passes.
    let metric = |report: &Value, number: usize| report["metrics"][number]["value"].clone();
    let over = told(&project, &["metrics"]);
    assert_eq!(
        [&over["runs"], &over["open"]],
        [&json!(1), &json!(0)],
        "{over:#}"
    );
    assert_eq!(
        [metric(&over, 0), metric(&over, 1), metric(&over, 2)],
        [json!(0.0), json!(3.0), json!(0.0)]
    );
    assert_eq!(over["checks"]["unit"]["runs"], json!(3), "{over:#}");
    assert_eq!(
        over["by_author"][0]["name"],
        json!("agent"),
        "its fixer wrote the change: {over:#}"
    );

    project.run(&["clean", "--all", "--yes"]);
    let cleaned = told(&project, &["metrics"]);
    assert_eq!(
        (metric(&cleaned, 1), &cleaned["runs"]),
        (json!(3.0), &json!(1))
    );
    assert_eq!(
        project
            .git(&["for-each-ref", "--format=%(refname)", "refs/loopgate/task/"])
            .trim(),
        ""
    );
}
