//! `loopgate export`: a run in the shape of the executable feedback schema.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    json_schema::misfits,
    kit::{LOOPGATE, Project, REPAIRS, Ran},
};

/// The constraints of the schema of that name, version 1: what it requires, its enumerations, bounds and patterns.
const SCHEMA: &str = include_str!("../fixtures/executable_feedback.schema.json");

fn export(project: &Project, arguments: &[&str]) -> Ran {
    let mut command = Command::new(LOOPGATE);
    command
        .current_dir(project.root())
        .arg("export")
        .args(arguments);
    Ran::of(command.output().expect("the program"))
}

fn exported(project: &Project, run: &str) -> Value {
    let ran = export(
        project,
        &["--schema", "executable-feedback", run, "--format", "json"],
    )
    .ended_with(0);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        misfits(&serde_json::from_str(SCHEMA).unwrap(), &document),
        Vec::<String>::new(),
        "{document:#}"
    );
    document
}

#[test]
fn a_loop_that_was_repaired_in_two_steps_is_exported() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&[]);
    let new = exported(&project, "calc");
    assert_eq!(
        new["loop_state"],
        json!({ "phase": "execute_tests", "attempt_number": 1, "status": "in_progress", "attempts": [] })
    );

    project.run(&["run"]).ended_with(0);
    let document = exported(&project, "calc");
    let state = &document["loop_state"];
    assert_eq!(
        [&state["phase"], &state["status"], &state["attempt_number"]],
        [&json!("complete"), &json!("passed"), &json!(3)]
    );
    let counts = |attempt: usize| {
        let results = &state["attempts"][attempt]["test_results"];
        ["total", "passed", "failed"].map(|name| results[name].as_u64().unwrap())
    };
    assert_eq!(
        [counts(0), counts(1), counts(2)],
        [[3, 1, 2], [3, 2, 1], [3, 3, 0]]
    );
    assert_eq!(state["test_results"], state["attempts"][2]["test_results"]);
    let first = &state["attempts"][0];
    assert_eq!(first["failures"][0]["test_name"], json!("adds all numbers"));
    assert!(
        first["analysis"]["root_cause"].is_string()
            && first["analysis"]["patterns_matched"].is_null()
    );
    assert_eq!(
        state["attempts"][1]["fix_applied"]["diff_summary"],
        json!("+1/-1")
    );
    assert_eq!(document["retry_policy"]["max_attempts"], json!(4));
    let notes: Vec<&str> = document["notes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(
        notes.contains(&"loop_state.status: completed here"),
        "{notes:?}"
    );
    assert_eq!(document["agent"]["name"], json!("fixer"), "{notes:?}");

    let yaml = export(&project, &["calc"]).ended_with(0);
    assert_eq!(serde_yaml::from_str::<Value>(&yaml.out).unwrap(), document);
}

#[test]
fn what_cannot_be_exported_is_said() {
    let project = Project::with("", "");
    let none = export(&project, &["12"]).ended_with(65);
    none.notes("there is no ref refs/loopgate/pr/12, and nothing archived");
    let malformed = export(&project, &["No Alias"]).ended_with(64);
    malformed.notes("write OWNER/REPO#N, the number of a pull request, or an alias");
    project.git(&["update-ref", "refs/loopgate/pr/7", "HEAD"]);
    let broken = export(&project, &["7"]).ended_with(65);
    broken.notes("refs/loopgate/pr/7 holds no loop state that can be read");
}
