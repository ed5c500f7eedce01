//! `loopgate inspect state`, of a loop here and of a pull request whose ref was fetched.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::kit::{LOOPGATE, Project, REPAIRS, Ran};

fn inspect(project: &Project, arguments: &[&str], stdin: Stdio) -> Ran {
    let mut command = Command::new(LOOPGATE);
    command.current_dir(project.root()).args(["inspect", "state"]).args(arguments).stdin(stdin);
    Ran::of(command.output().expect("the program"))
}

#[test]
fn a_state_is_shown_from_wherever_it_is() {
    let project = Project::fixed_by(REPAIRS, "");
    let none = inspect(&project, &[], Stdio::null()).ended_with(65);
    assert!(none.err.contains("no loop is active here"), "{}", none.err);
    project.begin(&[]);
    let active = inspect(&project, &[], Stdio::null()).ended_with(0);
    assert!(active.out.contains("calc"), "{}", active.out);
    project.run(&["run"]).ended_with(0);

    // As `git fetch origin 'refs/loopgate/*:refs/loopgate/*'` leaves it.
    project.git(&["update-ref", "refs/loopgate/pr/12", "refs/loopgate/task/calc"]);
    let shown = inspect(&project, &["calc"], Stdio::null()).ended_with(0);
    for what in ["refs/loopgate/task/calc", "refs/loopgate/pr/12", "12"] {
        assert_eq!(inspect(&project, &[what], Stdio::null()).ended_with(0).out, shown.out, "{what}");
    }
    std::fs::write(project.beside("state.json"), project.git(&["show", "refs/loopgate/pr/12:loop-state.json"]))
        .unwrap();
    let file = std::fs::File::open(project.beside("state.json")).unwrap();
    let read = inspect(&project, &["-", "--format", "json"], file.into()).ended_with(0);
    let document: Value = serde_json::from_str(&read.out).unwrap();
    assert_eq!((&document["schema"], &document["status"]), (&json!("loopgate.loop-state/v1"), &json!("completed")));
    assert_eq!(inspect(&project, &["../state.json"], Stdio::null()).ended_with(0).out, shown.out);
}

#[test]
fn what_is_no_state_is_said_to_be_none() {
    let project = Project::with("", "");
    let unknown = inspect(&project, &["99"], Stdio::null()).ended_with(65);
    assert!(unknown.err.contains("no ref refs/loopgate/task/99 or refs/loopgate/pr/99"), "{}", unknown.err);
    project.git(&["update-ref", "refs/loopgate/pr/7", "HEAD"]);
    let empty = inspect(&project, &["7"], Stdio::null()).ended_with(65);
    assert!(empty.err.contains("refs/loopgate/pr/7 holds no loop-state.json"), "{}", empty.err);
    for text in ["", "{", "[]", "{\"schema\": 3}"] {
        project.write("state.json", text);
        let broken = inspect(&project, &["state.json"], Stdio::null()).ended_with(65);
        assert!(broken.err.contains("state.json holds no loop state that can be read"), "{}", broken.err);
    }
}
