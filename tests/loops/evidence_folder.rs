//! The folder `loopgate verify` writes evidence to is no part of what a loop works on, ignored by git or not.

use std::{fs, os::unix::process::CommandExt as _, process::Stdio};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::kit::{Project, REPAIRS, Ran, told};

fn verify(project: &Project, more: &[&str]) -> Ran {
    Ran::of(
        project
            .loopgate(&[&["verify"], more].concat())
            .output()
            .expect("the program"),
    )
}

#[test]
fn a_working_tree_that_passes_is_pushed_next_and_merged_by_nobody() {
    let project = Project::with("", "");
    project.write(
        "calc.sh",
        "total() { echo $(($1 + $2 + $3)); }\ngreatest() { printf '%s\\n' \"$@\" | sort -n | tail -1; }\n",
    );
    verify(&project, &[]).ended_with(0);
    let mut feedback = project.loopgate(&["feedback"]);
    let said = Ran::of(feedback.output().expect("the program")).ended_with(0);
    said.prints("Next: author: push it, and open a pull request");
    assert!(!said.out.contains("merge"), "{}", said.out);
}

#[test]
fn a_loop_runs_where_git_ignores_the_evidence() {
    let project = Project::fixed_by(REPAIRS, "");
    project.write(".gitignore", "loopgate-evidence/\n");
    project.write("loopgate-evidence/evidence.json", "{}\n");
    project.commit("Ignore the evidence");
    project.begin(&[]);
    project.run(&["run", "calc"]).ended_with(0);
    assert_eq!(project.git(&["ls-files", "loopgate-evidence"]), "");
}

#[test]
fn a_loop_leaves_evidence_out_that_git_does_not_ignore() {
    let project = Project::fixed_by(REPAIRS, "");
    project.write("loopgate-evidence/evidence.json", "{}\n");
    project.begin(&[]);
    project.run(&["run", "calc"]).ended_with(0);
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        "?? loopgate-evidence/"
    );
}

#[test]
fn a_folder_that_verify_makes_is_ignored() {
    let project = Project::fixed_by(REPAIRS, "");
    verify(&project, &[]).ended_with(1);
    assert_eq!(project.read("loopgate-evidence/.gitignore"), "*\n");
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    project.begin(&[]);
    project.run(&["run", "calc"]).ended_with(0);
    // What people write there stays.
    project.write("loopgate-evidence/.gitignore", "!evidence.json\n");
    verify(&project, &[]).ended_with(0);
    assert_eq!(
        project.read("loopgate-evidence/.gitignore"),
        "!evidence.json\n"
    );
}

#[test]
fn a_folder_that_was_there_stays_as_it_is() {
    let project = Project::fixed_by(REPAIRS, "");
    fs::create_dir(project.path("reports")).expect("a folder");
    for folder in ["reports", "."] {
        verify(&project, &["--evidence", folder]).ended_with(1);
        assert!(
            !project.path(folder).join(".gitignore").exists(),
            "{folder}"
        );
    }
}

/// What is left of a verification that did not end says so, also where it could not say anything any more. What an
/// older one had written is not there to be taken for it.
#[test]
fn a_verification_that_is_ended_from_outside_leaves_evidence_that_says_so() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let project = Project::fixed_by(REPAIRS, "");
        verify(&project, &[]).ended_with(1);
        // It ends with the project's folder, for nothing else ends what a killed process started.
        project.write(
            "tests/test_calc.sh",
            "[ -e ../go ] || { : > ../waiting; while [ -e ../waiting ]; do sleep 0.1; done; }\n",
        );
        let mut command = project.loopgate(&["verify"]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let waiting = project.pipe("waiting");
        let running = command.spawn().expect("the program");
        told("the check", waiting);
        kill(
            Pid::from_raw(i32::try_from(running.id()).expect("an id")),
            signal,
        )
        .expect("a signal");
        let ran = running.wait_with_output().expect("an end");
        assert!(!ran.status.success());
        let left: serde_json::Value =
            serde_json::from_str(&project.read("loopgate-evidence/evidence.json"))
                .expect("a document");
        assert_eq!(left["extent"], "interrupted", "{signal}: {left}");
        let outcomes: Vec<_> = left["checks"]
            .as_array()
            .expect("checks")
            .iter()
            .map(|it| &it["outcome"])
            .collect();
        assert!(
            !outcomes.is_empty() && outcomes.iter().all(|it| **it == "cancelled"),
            "{signal}: {outcomes:?}"
        );
        fs::write(project.beside("go"), "").expect("a file");
        verify(&project, &[]);
        let whole: serde_json::Value =
            serde_json::from_str(&project.read("loopgate-evidence/evidence.json"))
                .expect("a document");
        assert_eq!(whole["extent"], serde_json::Value::Null, "{whole}");
    }
}
