//! Killed at every boundary and inside every write, interrupted, run twice at once: nothing is lost, nothing doubled.

use std::{collections::BTreeMap, fs, os::unix::process::CommandExt as _, process::Stdio};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use crate::kit::{Project, REPAIRS, Ran, told};

/// A `git` that kills its caller: the first time its arguments contain `$WHEN`, before or after doing the work.
const MURDEROUS_GIT: &str = r#"
case "$*" in
    *"$WHEN"*)
        if [ ! -e "$MARK" ]; then
            : > "$MARK"
            [ "$SIDE" = after ] && "$REAL_GIT" "$@"
            kill -9 $PPID
            exit 137
        fi ;;
esac
exec "$REAL_GIT" "$@"
"#;

/// What is done to one process: where it is killed.
#[derive(Clone, Copy, Debug)]
struct Murder {
    when: &'static str,
    side: &'static str,
}

const fn before(when: &'static str) -> Murder {
    Murder {
        when,
        side: "before",
    }
}

const fn after(when: &'static str) -> Murder {
    Murder {
        when,
        side: "after",
    }
}

/// The end of every save.
const SAVED: &str = "update-ref --no-deref -m loopgate refs/loopgate/task/calc";

/// Runs the loop with one process after another, each killed at the next of these places, until one survives.
fn killed_again_and_again(murders: &[Murder]) -> Project {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&[]);
    fs::create_dir_all(project.beside("bin")).unwrap();
    project.script("bin/git", MURDEROUS_GIT);
    let real = String::from_utf8(
        std::process::Command::new("sh")
            .args(["-c", "command -v git"])
            .output()
            .unwrap()
            .stdout,
    );
    let path = format!(
        "{}:{}",
        project.beside("bin").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut deaths = 0;
    loop {
        assert!(deaths < 200, "no process gets to the end");
        let murder = murders[deaths % murders.len()];
        let mark = project.beside(&format!("mark-{deaths}"));
        let mut command = project.command(&["resume", "calc"]);
        command
            .env("PATH", &path)
            .env("REAL_GIT", real.as_ref().unwrap().trim())
            .env("MARK", &mark);
        command.env("WHEN", murder.when).env("SIDE", murder.side);
        let output = command.output().unwrap();
        if let Some(code) = output.status.code() {
            // The place is not on the way any more: this process lived. Whatever is left is done undisturbed.
            assert!(!mark.exists(), "{murder:?} did not kill: {output:?}");
            if code == 0 {
                break;
            }
            panic!("{murder:?}: {:?}", Ran::of(output));
        }
        deaths += 1;
    }
    assert!(deaths >= murders.len(), "only {deaths} deaths");
    project
}

/// The end is that of a loop nobody disturbed.
fn nothing_is_lost_or_doubled(project: &Project) {
    assert_eq!(project.status()["status"], json!("completed"));
    let log = project.git(&["log", "--format=%s", "main"]);
    assert_eq!(
        log,
        "fix(calc): compare with every number\nfix(calc): begin the sum at 0\nThe project"
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    let mut counted: BTreeMap<(u64, String, String), u32> = BTreeMap::new();
    for line in project.history() {
        *counted.entry(line).or_default() += 1;
    }
    let doubled: Vec<_> = counted.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
    for iteration in 1..=3_u64 {
        for event in [
            "plan_created",
            "artifact_created",
            "checks_prepared",
            "evaluation_done",
        ] {
            let there = counted.contains_key(&(iteration, "A".to_owned(), event.to_owned()));
            assert!(
                there,
                "{event} of iteration {iteration} is missing: {counted:?}"
            );
        }
    }
    for (event, times) in [
        ("refinement_done", 2),
        ("iteration_advanced", 2),
        ("critique_done", 2),
        ("completed", 1),
    ] {
        assert_eq!(
            counted.keys().filter(|(_, _, what)| what == event).count(),
            times,
            "{event}"
        );
    }
    // Nothing that was once written has changed: each history is the beginning of the next.
    let commits = project.git(&["rev-list", "--reverse", "refs/loopgate/task/calc"]);
    let mut before = String::new();
    for commit in commits.lines() {
        let history = project.git(&["show", &format!("{commit}:history.jsonl")]);
        assert!(
            history.starts_with(&before),
            "the history was rewritten in {commit}"
        );
        before = history;
    }
}

#[test]
fn killed_at_every_boundary() {
    // Before a save nothing of the step is there; after it, all of it.
    nothing_is_lost_or_doubled(&killed_again_and_again(&[before(SAVED), after(SAVED)]));
}

#[test]
fn killed_inside_every_write() {
    let inside = [
        before("hash-object"),
        after("hash-object"),
        after("write-tree"),
        after("commit-tree"),
        after(SAVED),
    ];
    nothing_is_lost_or_doubled(&killed_again_and_again(&inside));
}

#[test]
fn killed_around_the_commit_of_a_fix() {
    const ADVANCE: &str = "update-ref -m loopgate: fix HEAD";
    let project = killed_again_and_again(&[
        after("update-index"),
        before(ADVANCE),
        after(ADVANCE),
        before("reset --quiet"),
        before(ADVANCE),
        after("reset --quiet"),
    ]);
    nothing_is_lost_or_doubled(&project);
}

#[test]
fn killed_while_the_fixer_works_its_half_made_edits_are_put_aside() {
    // The first call edits half of it and sees to it that the loop dies.
    let fixer = format!(
        "if [ ! -e ../died ]; then\n    : > ../died\n    echo 'half-made' >> calc.sh; echo new > half.txt\n    \
         kill -9 \"$(sed 's/.*\"pid\":\\([0-9]*\\).*/\\1/' .git/loopgate/calc.lock)\"\n    exit 0\nfi\n{REPAIRS}"
    );
    let project = Project::fixed_by(&fixer, "");
    project.begin(&[]);
    assert_eq!(project.run(&["run"]).code, None, "it was killed");
    assert!(project.read("calc.sh").contains("half-made"));
    assert_eq!(project.status()["current_step"], json!("REFINE"));
    let ran = project.run(&["resume"]).ended_with(0);
    ran.notes("Taking over from process");
    ran.notes("which is gone");
    ran.notes("Half-made edits were put aside");
    assert!(
        project
            .git(&["show", "refs/loopgate/aside/calc"])
            .contains("+half-made")
    );
    nothing_is_lost_or_doubled(&project);
}

#[cfg(target_os = "linux")]
#[test]
fn a_fixer_that_outlives_a_killed_loop_is_ended_by_the_next() {
    let fixer = format!(
        "if [ ! -e ../died ]; then\n    : > ../died; echo $$ > ../pid; exec sleep 600\nfi\n{REPAIRS}"
    );
    let project = Project::fixed_by(&fixer, "");
    project.begin(&[]);
    let pipe = project.pipe("pid");
    let mut running = project
        .command(&["run"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let pid = told("the fixer", pipe);
    running.kill().unwrap();
    running.wait().unwrap();
    // A process that has ended and was not reaped has no command line.
    let lives =
        || fs::read(format!("/proc/{}/cmdline", pid.trim())).is_ok_and(|line| !line.is_empty());
    assert!(lives(), "it was to outlive the loop");
    let ran = project.run(&["resume"]).ended_with(0);
    ran.notes("What the killed loop had left running was ended: ");
    assert!(!lives());
}

#[test]
fn ctrl_c_ends_what_runs_and_the_next_resume_goes_on() {
    for (where_it_waits, step) in [("check", "EVALUATE"), ("fixer", "REFINE")] {
        let waits = "[ -e ../go ] || { : > ../waiting; sleep 600; }\n";
        let project = Project::fixed_by(
            &format!("{}{REPAIRS}", if step == "REFINE" { waits } else { "" }),
            "",
        );
        let check = format!(
            "{}sh tests/test_calc.sh",
            if step == "EVALUATE" {
                waits.replace('\n', "; ")
            } else {
                String::new()
            }
        );
        project.begin(&["--check", &format!("unit={check}")]);
        let mut command = project.command(&["run"]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let waiting = project.pipe("waiting");
        let running = command.spawn().unwrap();
        told(where_it_waits, waiting);
        kill(
            Pid::from_raw(i32::try_from(running.id()).unwrap()),
            Signal::SIGINT,
        )
        .unwrap();
        let ran = Ran::of(running.wait_with_output().unwrap()).ended_with(130);
        ran.notes("loopgate loop resume calc");
        assert_eq!(project.status()["current_step"], json!(step));
        fs::write(project.beside("go"), "").unwrap();
        project.run(&["resume"]).ended_with(0);
        nothing_is_lost_or_doubled(&project);
    }
}

#[test]
fn a_second_process_on_one_loop_is_refused() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&[
        "--check",
        "unit=[ -e ../go ] || { : > ../waiting; while [ ! -e ../go ]; do sleep 0.05; done; }; sh tests/test_calc.sh",
    ]);
    let mut command = project.command(&["run"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let waiting = project.pipe("waiting");
    let first = command.spawn().unwrap();
    told("the first process", waiting);
    let second = project.run(&["run", "calc"]).ended_with(69);
    let said = format!("the loop `calc` is being run by process {} on ", first.id());
    assert!(
        second.err.contains(&said) && second.err.contains(" since "),
        "{}",
        second.err
    );
    second.notes("`loopgate loop stop --alias calc`");
    let cleaned = project.run(&["clean", "calc", "--yes"]).ended_with(65);
    cleaned.notes("is not over");
    // Another loop must not edit the same working tree either.
    let other = project.run(&["new", "another", "--yes"]).ended_with(69);
    other.notes("the loop `calc` is being run by");
    fs::write(project.beside("go"), "").unwrap();
    Ran::of(first.wait_with_output().unwrap()).ended_with(0);
    nothing_is_lost_or_doubled(&project);
}

#[test]
fn stopping_ends_the_process_that_runs_the_loop() {
    let project = Project::fixed_by(REPAIRS, "");
    project.begin(&["--check", "unit=: > ../waiting; sleep 600"]);
    let mut command = project.command(&["run"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let waiting = project.pipe("waiting");
    let running = command.spawn().unwrap();
    told("the process", waiting);
    project.run(&["stop", "enough"]).ended_with(0);
    Ran::of(running.wait_with_output().unwrap()).ended_with(130);
    let status = project.status();
    assert_eq!(
        (&status["stop"]["reason"], &status["stop"]["words"]),
        (&json!("user_stop"), &json!("enough"))
    );
}
