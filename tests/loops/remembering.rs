//! What a local loop leaves in the debug memory, and `loopgate memory`, which shows it.

use std::process::Command;

use serde_json::Value;

use crate::kit::{LOOPGATE, Project, REPAIRS, Ran};

fn memory(project: &Project, arguments: &[&str]) -> Ran {
    let mut command = Command::new(LOOPGATE);
    command
        .current_dir(project.root())
        .arg("memory")
        .args(arguments);
    Ran::of(command.output().expect("the program"))
}

fn json(project: &Project, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = arguments
        .iter()
        .copied()
        .chain(["--format", "json"])
        .collect();
    serde_json::from_str(&memory(project, &arguments).ended_with(0).out).expect("JSON")
}

#[test]
fn a_repaired_loop_is_remembered_found_forgotten_and_taken_in_again() {
    let project = Project::fixed_by(REPAIRS, "");
    assert!(
        memory(&project, &["query"])
            .ended_with(0)
            .out
            .contains("Nothing like it is remembered.")
    );
    project.begin(&[]);
    project.run(&["run"]).ended_with(0);

    let found = json(&project, &["query", "greatest", "--file", "calc.sh"]);
    let card = &found["cards"][0];
    assert_eq!(
        card["fix"]["description"], "Compare with every number",
        "{found}"
    );
    assert_eq!(
        (
            card["test"].as_str(),
            found["cards"].as_array().map(Vec::len)
        ),
        (Some("finds the greatest"), Some(1))
    );
    let said = memory(&project, &["advise", "calc.sh"]).ended_with(0).out;
    assert!(
        said.contains("fixed by") && said.contains("Compare with every number"),
        "{said}"
    );
    assert!(
        memory(&project, &["query", "elephants"])
            .ended_with(0)
            .out
            .contains("Nothing like it")
    );
    assert_eq!(
        json(&project, &["query", "--since", "2999-01-01"])["cards"],
        serde_json::json!([])
    );
    assert_eq!(
        json(&project, &["query", "--error", "SyntaxError"])["cards"],
        serde_json::json!([])
    );
    let stats = json(&project, &["stats"]);
    assert_eq!(
        (
            stats["cards"].as_u64(),
            stats["offers"]["all"]["gone"].as_u64()
        ),
        (Some(1), Some(2)),
        "{stats}"
    );
    assert!(
        memory(&project, &["stats"])
            .ended_with(0)
            .out
            .contains("Gone in the next attempt")
    );
    assert_eq!(
        json(&project, &["patterns"])["patterns"],
        serde_json::json!([]),
        "one run is no pattern"
    );

    let lines = memory(&project, &["export"]).ended_with(0).out;
    assert_eq!(lines.lines().count(), 3, "{lines}");
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(first["environment"]["framework"].is_string(), "{first}");
    memory(&project, &["clear"]).ended_with(64);
    memory(&project, &["clear", "--yes", "--archive", "kept.jsonl"]).ended_with(0);
    assert_eq!(json(&project, &["stats"])["cards"], 0);
    memory(&project, &["import", "kept.jsonl"]).ended_with(0);
    memory(&project, &["import", "kept.jsonl"]).ended_with(0);
    assert_eq!(
        json(&project, &["stats"]),
        stats,
        "taken in twice, counted once"
    );

    let id = card["id"].as_str().unwrap();
    memory(&project, &["forget", id]).ended_with(0);
    assert_eq!(json(&project, &["query"])["cards"], serde_json::json!([]));
    assert!(
        !memory(&project, &["export"])
            .ended_with(0)
            .out
            .contains("expected 9")
    );
}
