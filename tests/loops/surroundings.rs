//! What surrounds a loop does not steer its git: variables of another repository, hooks, a file system monitor.

use crate::kit::{Project, REPAIRS, Ran};

#[test]
fn a_loop_minds_neither_hooks_nor_variables_of_another_repository() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&[]);
    let trap = format!("touch '{}'\nexit 1\n", project.beside("sprung").display());
    project.script("trap", &trap);
    for hook in [
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "post-index-change",
    ] {
        project.script(&format!("repository/.git/hooks/{hook}"), &trap);
    }
    project.git(&[
        "config",
        "core.fsmonitor",
        &project.beside("trap").display().to_string(),
    ]);
    let mut command = project.command(&["run", "calc"]);
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
    ] {
        command.env(name, project.beside("elsewhere"));
    }
    Ran::of(command.output().expect("the program")).ended_with(0);
    assert!(
        !project.beside("sprung").exists(),
        "a program of the repository ran"
    );
    assert!(!project.beside("elsewhere").exists());
}
