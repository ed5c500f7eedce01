//! A loop whose saved state is damaged goes on with what was confirmed, and with what a person decided.

use std::process::Command;

use serde_json::Value;

use crate::kit::{Project, REPAIRS};

const NAME: &str = "refs/loopgate/task/calc";

/// Edits the configuration, which is not a fixer's to edit.
const MEDDLES: &str = "cat > /dev/null\necho '# more' >> .github/loopgate.yml\n";

/// What is left of the commits before the damaged one.
#[derive(Clone, Copy, Debug)]
enum Left {
    /// All of them.
    Parents,
    /// None: only the history beside the damaged state.
    History,
}

/// Saves `{broken` in the place of the state, and the history with this `sed` script applied to it.
fn damage(project: &Project, left: Left, history: &str) {
    let parent = match left {
        Left::Parents => format!("-p {NAME}"),
        Left::History => String::new(),
    };
    let script = format!(
        "state=$(echo '{{broken' | git hash-object -w --stdin) &&
         history=$(git show {NAME}:history.jsonl | sed '{history}' | git hash-object -w --stdin) &&
         tree=$(git ls-tree {NAME} | sed \"s/blob [0-9a-f]*\\(.loop-state.json\\)$/blob $state\\1/; \
         s/blob [0-9a-f]*\\(.history.jsonl\\)$/blob $history\\1/\" | git mktree) &&
         commit=$(git -c user.name=x -c user.email=x@y commit-tree $tree {parent} -m damaged) &&
         git update-ref {NAME} $commit"
    );
    let damaged = Command::new("sh")
        .current_dir(project.root())
        .args(["-ec", &script])
        .output()
        .expect("a shell");
    assert!(damaged.status.success(), "{damaged:?}");
    assert_eq!(
        project.git(&["show", &format!("{NAME}:loop-state.json")]),
        "{broken"
    );
}

/// The state as it is saved.
fn saved(project: &Project) -> Value {
    loopgate_core::fixtures::run_document(
        &project.git(&["show", &format!("{NAME}:loop-state.json")]),
    )
}

/// How the recovery is told in the history.
fn noted(project: &Project) -> String {
    let ran = project.run(&["history", "calc", "--format", "json"]);
    let document: Value =
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let notes = document["events"].as_array().cloned().unwrap_or_default();
    let mut notes = notes
        .iter()
        .filter_map(|line| line["payload"]["recovered"].as_str());
    notes
        .next_back()
        .expect("a note of the recovery")
        .to_owned()
}

#[test]
fn a_damaged_state_is_rebuilt_and_told() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&[]);
    for _ in 0..3 {
        project.run(&["next"]).ended_with(0);
    }
    damage(&project, Left::Parents, "");
    let ran = project.run(&["run", "calc"]).ended_with(0);
    ran.notes("The state of this loop was damaged");
    ran.notes("rebuilt from");
    assert!(
        noted(&project).contains(", on the state of commit "),
        "{}",
        noted(&project)
    );
}

#[test]
fn what_was_confirmed_is_in_force_after_damage() {
    for left in [Left::Parents, Left::History] {
        let project = Project::fixed_by(REPAIRS, "");
        project.begin(&[
            "--max-iterations=2",
            "--check=own=sh tests/test_calc.sh",
            "--mandatory=own",
            "--threshold-a=0.55",
            "--threshold-b=0.65",
            "--major=warn",
            "--ideal=it adds and compares",
        ]);
        // Up to the second iteration's PRODUCE, after a fix was committed.
        for _ in 0..6 {
            project.run(&["next"]).ended_with(0);
        }
        let (before, status) = (saved(&project), project.status());
        damage(&project, left, "");
        let rebuilt = project.status();
        for field in [
            "run_id",
            "workflow_id",
            "title",
            "task",
            "ideal_result",
            "status",
            "iteration",
            "max_iterations",
            "phase",
            "current_step",
            "attempts",
            "best_attempt",
            "stop",
            "created_at",
        ] {
            // What is derived is derived at the next decision.
            if field == "best_attempt" && matches!(left, Left::History) {
                continue;
            }
            assert_eq!(rebuilt[field], status[field], "{field}, {left:?}");
        }
        project.run(&["next"]).ended_with(0);
        let after = saved(&project);
        for field in ["baseSha", "task", "maxIterations", "title"] {
            assert_eq!(after[field], before[field], "{field}, {left:?}");
        }
        assert_eq!(
            after["reflex"]["settings"], before["reflex"]["settings"],
            "{left:?}"
        );
        assert_eq!(
            after["reflex"]["beganAt"], before["reflex"]["beganAt"],
            "{left:?}"
        );
        assert_eq!(
            after["criteria"]["phase"], before["criteria"]["phase"],
            "{left:?}"
        );
        assert_eq!(
            after["preparedChecks"],
            serde_json::json!(["own"]),
            "{left:?}"
        );
        let told = match left {
            Left::Parents => ", on the state of commit ",
            Left::History => {
                "its limit, thresholds and checks are those that were confirmed when it began"
            }
        };
        assert!(noted(&project).contains(told), "{}", noted(&project));
    }
}

#[test]
fn the_limit_still_ends_a_damaged_loop() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&["--max-iterations=1", "--check=own=sh tests/test_calc.sh"]);
    project.run(&["next"]).ended_with(0);
    damage(&project, Left::History, "");
    project.run(&["resume", "calc"]).ended_with(1);
    let status = project.status();
    assert_eq!(
        (&status["status"], &status["iteration"]),
        (&"stopped".into(), &1.into()),
        "{status}"
    );
    assert_eq!(status["failed_rules"], serde_json::json!(["own"]));
}

#[test]
fn a_history_without_what_was_confirmed_says_so() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&["--max-iterations=2", "--check=own=sh tests/test_calc.sh"]);
    // As the first versions wrote it.
    damage(&project, Left::History, "s/,\"ideal_result\":.*$/}}/");
    let told = "its limit is that of its beginning, its thresholds and checks are those of the configuration";
    let ran = project.run(&["status", "calc"]).ended_with(0);
    ran.notes(told);
    let ran = project.run(&["next", "calc"]).ended_with(0);
    ran.notes(told);
    assert!(noted(&project).contains(told), "{}", noted(&project));
    assert_eq!(project.status()["max_iterations"], 2);

    damage(&project, Left::History, "/run_started/d");
    let ran = project.run(&["next", "calc"]).ended_with(0);
    ran.notes("; its limit, thresholds and checks are those of the configuration");
}

#[test]
fn what_a_person_decided_outlives_damage() {
    for left in [Left::Parents, Left::History] {
        let project = Project::fixed_by(MEDDLES, "");
        project.begin(&[]);
        project.run(&["run", "calc"]).ended_with(2);
        damage(&project, left, "");
        let blocked = project.status();
        assert_eq!(
            (&blocked["status"], &blocked["blocked"]["trigger"]),
            (&"escalated".into(), &"tampering".into())
        );
        project.run(&["run", "calc"]).ended_with(2);

        project
            .run(&["stop", "the requirement has changed", "--alias", "calc"])
            .ended_with(0);
        damage(&project, left, "");
        let stopped = project.status();
        assert_eq!(stopped["status"], "stopped", "{left:?}");
        assert_eq!(
            stopped["stop"]["words"], "the requirement has changed",
            "{left:?}"
        );
        assert_eq!(stopped["stop"]["by"], "alice", "{left:?}");
    }
}
