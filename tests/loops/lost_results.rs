//! A check of tests that names its tests, and then passes without naming any.

use crate::kit::Project;

const NAMES: &str = "echo 'ok 1 - adds'; echo 'ok 2 - takes'; echo '1..2'\n";
const SILENT: &str = "echo done\n";
const REUSES: &str = "echo '> Task :test UP-TO-DATE'\n";

/// A project whose one check is a program beside it, which names its tests.
fn tested() -> Project {
    let project = Project::with("", "");
    project.write(
        ".github/loopgate.yml",
        "version: 1\nverify:\n  checks:\n    unit: { kind: test, run: ../check }\n",
    );
    project.commit("A check");
    project.script("check", NAMES);
    assert_eq!(verified(&project), (Some(0), false));
    project
}

/// The exit code of `verify`, and whether it says that results were lost.
fn verified(project: &Project) -> (Option<i32>, bool) {
    let ended = project.loopgate(&["verify"]).output().expect("the program");
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    (ended.status.code(), text.contains("results by test"))
}

#[test]
fn a_pass_without_the_results_that_were_there_fails() {
    let project = tested();
    project.script("check", SILENT);
    assert_eq!(verified(&project), (Some(1), true), "at once");
    project.git(&["checkout", "-q", "-b", "feature"]);
    project.write("calc.sh", "# Nothing.\n");
    project.commit("A change");
    assert_eq!(verified(&project), (Some(1), true), "on a branch of it");
    project.script("check", NAMES);
    assert_eq!(verified(&project), (Some(0), false), "named again");
}

/// Another command is another check.
#[test]
fn another_command_has_lost_nothing() {
    let project = tested();
    project.script("other", SILENT);
    project.write(
        ".github/loopgate.yml",
        "version: 1\nverify:\n  checks:\n    unit: { kind: test, run: ../other }\n",
    );
    assert_eq!(verified(&project).0, Some(0));
}

/// A build tool that says that it ran nothing is believed where nothing changed that it may read.
#[test]
fn results_are_reused_while_no_input_changes() {
    let project = tested();
    project.script("check", REUSES);
    project.write("docs/use.md", "Use it.\n");
    assert_eq!(verified(&project).0, Some(0), "a document");
    project.write("calc.sh", "# Nothing.\n");
    assert_eq!(verified(&project), (Some(1), true), "the program");
}
