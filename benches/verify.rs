//! What `verify` costs beyond the commands it runs (the budget: 30 ms, and the time to read the reports).
//!
//! A git repository with a few checks that do nothing; the same commands by `sh -c` beside it, in one run.
//! `cargo bench --bench verify`
#![allow(
    clippy::disallowed_methods,
    reason = "what is measured is started as its users would"
)]

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const ROUNDS: usize = 30;

fn main() {
    for checks in [1, 4, 16] {
        let project = project(checks);
        let bare = median(|| {
            for _ in 0..checks {
                run(Command::new("sh")
                    .args(["-c", "true"])
                    .current_dir(project.path()));
            }
        });
        let arguments = ["verify", "--jobs", "1", "--format", "json"];
        let verify = median(|| {
            run(Command::new(env!("CARGO_BIN_EXE_loopgate"))
                .args(arguments)
                .current_dir(project.path()))
        });
        let over = verify.saturating_sub(bare);
        println!(
            "{checks:>2} checks, one after the other: commands {bare:?}, verify {verify:?}, overhead {over:?}"
        );
    }
    let version = median(|| run(Command::new(env!("CARGO_BIN_EXE_loopgate")).arg("--version")));
    println!("starting the program alone: {version:?}");
}

/// A repository with a thousand files, whose checks do nothing.
fn project(checks: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut text = "version: 1\nverify:\n  checks:\n".to_owned();
    for nth in 0..checks {
        text += &format!("    check{nth}: {{ kind: custom, run: \"true\" }}\n");
    }
    std::fs::create_dir(folder.path().join(".github")).expect("a folder");
    std::fs::write(folder.path().join(".github/loopgate.yml"), text).expect("a file");
    for nth in 0..1000 {
        std::fs::write(folder.path().join(format!("file{nth}")), "x\n").expect("a file");
    }
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.test",
            "commit",
            "--quiet",
            "--message",
            "Begin",
        ],
    ] {
        git(folder.path(), arguments);
    }
    folder
}

fn git(folder: &Path, arguments: &[&str]) {
    run(Command::new("git").args(arguments).current_dir(folder));
}

fn run(command: &mut Command) {
    let status = command
        .env_remove("GITHUB_ACTIONS")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.expect("a program").success(), "{command:?}");
}

fn median(mut what: impl FnMut()) -> Duration {
    what();
    let mut times: Vec<_> = std::iter::repeat_with(|| {
        let begun = Instant::now();
        what();
        begun.elapsed()
    })
    .take(ROUNDS)
    .collect();
    times.sort();
    times[ROUNDS / 2]
}
