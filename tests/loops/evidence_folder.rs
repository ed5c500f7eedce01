//! The folder `loopgate verify` writes evidence to is no part of what a loop works on, ignored by git or not.

use std::fs;

use crate::kit::{Project, REPAIRS, Ran};

fn verify(project: &Project, more: &[&str]) -> Ran {
    Ran::of(project.loopgate(&[&["verify"], more].concat()).output().expect("the program"))
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
    assert_eq!(project.git(&["status", "--porcelain"]), "?? loopgate-evidence/");
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
    assert_eq!(project.read("loopgate-evidence/.gitignore"), "!evidence.json\n");
}

#[test]
fn a_folder_that_was_there_stays_as_it_is() {
    let project = Project::fixed_by(REPAIRS, "");
    fs::create_dir(project.path("reports")).expect("a folder");
    for folder in ["reports", "."] {
        verify(&project, &["--evidence", folder]).ended_with(1);
        assert!(!project.path(folder).join(".gitignore").exists(), "{folder}");
    }
}
