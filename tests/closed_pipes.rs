//! The reader of a command's output may stop at once, as `head` does: the command ends quietly, with the exit code
//! it has when everything is read.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start what their users would"
)]
#![cfg(unix)]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

const LOOPGATE: &str = env!("CARGO_BIN_EXE_loopgate");

/// A project whose one check passes.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let git = |arguments: &[&str]| {
        let identity = [
            "-c",
            "user.name=alice",
            "-c",
            "user.email=alice@example.com",
        ];
        let ended = Command::new("git")
            .current_dir(folder.path())
            .args(identity)
            .args(arguments)
            .status();
        assert!(ended.expect("git").success());
    };
    git(&["init", "-q", "-b", "main"]);
    fs::create_dir(folder.path().join(".github")).expect("a folder");
    let configuration = "version: 1\nverify:\n  checks:\n    unit: { kind: custom, run: 'true' }\n";
    fs::write(folder.path().join(".github/loopgate.yml"), configuration).expect("a file");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "The project"]);
    folder
}

fn command(here: &Path, arguments: &str) -> Command {
    let mut command = Command::new(LOOPGATE);
    command
        .current_dir(here)
        .args(arguments.split(' '))
        .stdin(Stdio::null());
    for name in [
        "GITHUB_ACTIONS",
        "GITHUB_EVENT_PATH",
        "GITHUB_REPOSITORY",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_OUTPUT",
    ] {
        command.env_remove(name);
    }
    command
}

/// A pipe that nobody reads any more.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

const COMMANDS: &[&str] = &[
    "verify",
    "verify --format json",
    "inspect config .github/loopgate.yml",
    "explain --help",
    "completions bash",
    "init --dry-run",
    "check-config",
    "check-config nowhere.yml",
    "loop list",
    "nonsense",
];

#[cfg(feature = "demo")]
#[test]
fn the_demo_is_played_to_its_end_unread() {
    let folder = tempfile::tempdir().expect("a folder");
    let unread = command(folder.path(), "demo --json")
        .stdout(closed())
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&unread.stderr);
    assert_eq!((unread.status.code(), &*said), (Some(0), ""));
}

#[test]
fn a_reader_who_stops_changes_nothing() {
    let project = project();
    for arguments in COMMANDS {
        let read = command(project.path(), arguments)
            .output()
            .expect("the program");
        let unread = command(project.path(), arguments)
            .stdout(closed())
            .output()
            .expect("the program");
        let said = String::from_utf8_lossy(&unread.stderr);
        assert!(
            !said.contains("panicked") && !said.contains("Broken pipe"),
            "{arguments}: {said}"
        );
        assert_eq!(
            unread.status.code(),
            read.status.code(),
            "{arguments}: {said}"
        );
        let unheard = command(project.path(), arguments)
            .stdout(closed())
            .stderr(closed())
            .status();
        assert_eq!(
            unheard.expect("the program").code(),
            read.status.code(),
            "{arguments}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn results_that_a_full_disk_swallows_are_missed() {
    let project = project();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("Linux has one");
    let ended = command(project.path(), "verify --format json")
        .stdout(full)
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(69), "{said}");
    assert!(said.contains("the results cannot be written"), "{said}");
}
