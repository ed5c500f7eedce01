//! Code of a change that plants programs in git's settings, and looks for the tokens that are withheld from it: what
//! checks and fixers can do from within, with real git.

use std::{fs, os::unix::process::CommandExt as _};

use serde_json::{Value, json};

use crate::kit::{Project, Ran};

/// Plants a filter for text files; the driver notes that it ran, and with which tokens.
const PLANTS: &str = "\
env | grep TOKEN > ../seen-by-program
printf '#!/bin/sh\\nenv | grep TOKEN >> ../seen-by-driver\\ntouch ../driver-ran\\ncat\\n' > ../driver
chmod +x ../driver
git config filter.evil.clean ../driver
git config filter.evil.smudge ../driver
mkdir -p .git/info
echo '*.txt filter=evil' > .git/info/attributes
";

/// A project whose check is this script, with a file that the filter would be for.
fn checked_by(script: &str) -> Project {
    let project = Project::with("", "");
    project.script("check", script);
    project.write("a.txt", "a\n");
    project.write(
        ".github/loopgate.yml",
        "version: 1\nverify:\n  checks:\n    unit: { kind: test, run: ../check }\n",
    );
    project.commit("A check of its own");
    project
}

fn with_tokens(project: &Project, arguments: &[&str]) -> Ran {
    let mut command = project.loopgate(arguments);
    command
        .env("GITHUB_TOKEN", "TOKEN-not-real")
        .env("GH_TOKEN", "TOKEN-not-real");
    Ran::of(command.output().expect("the program"))
}

fn assert_nothing_ran(project: &Project) {
    assert_eq!(
        fs::read_to_string(project.beside("seen-by-program")).unwrap(),
        ""
    );
    assert!(!project.beside("driver-ran").exists());
    assert!(!project.beside("seen-by-driver").exists());
}

#[test]
fn what_a_check_plants_does_not_run_gets_no_token_and_is_said() {
    let project = checked_by(&format!("{PLANTS}echo changed > a.txt\nexit 1\n"));
    let ran = with_tokens(&project, &["verify"]).ended_with(1);
    let sentence = "While the checks ran, git's settings here got `filter.evil.clean` and `filter.evil.smudge`. \
                    Loopgate's own git leaves that out and has changed nothing";
    ran.notes(sentence);
    // The next process knows too, in the text and in the document that programs read.
    let ran = with_tokens(&project, &["feedback"]).ended_with(1);
    ran.prints(sentence);
    let ran = with_tokens(&project, &["feedback", "--format", "json"]).ended_with(1);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let settings = json!(["filter.evil.clean", "filter.evil.smudge"]);
    let planted = json!([{ "by": "checks", "settings": settings, "left_out": true }]);
    assert_eq!(document["planted"], planted);
    let ran = with_tokens(&project, &["verify", "--format", "json"]).ended_with(1);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(document["planted"][0]["settings"], settings);
    let mut hook = project.loopgate(&["agent-stop", "--for", "claude-code"]);
    let ran = Ran::of(hook.output().expect("the program")).ended_with(0);
    ran.prints("got `filter.evil.clean`");
    assert_nothing_ran(&project);
    assert_eq!(project.git(&["config", "filter.evil.clean"]), "../driver");
    // A person who takes it out hears no more of it.
    project.script("check", "exit 1\n");
    fs::remove_file(project.path(".git/info/attributes")).unwrap();
    project.git(&["config", "--remove-section", "filter.evil"]);
    let ran = with_tokens(&project, &["verify"]).ended_with(1);
    assert!(!ran.err.contains("git's settings"), "{}", ran.err);
}

#[test]
fn what_a_fixer_plants_does_not_run_either() {
    let fixer = format!("{PLANTS}sed -i 's/sum=1/sum=0/' calc.sh\necho b > a.txt\n");
    let project = Project::fixed_by(&fixer, "");
    project.write("a.txt", "a\n");
    project.commit("A text");
    project.begin(&["--max-iterations", "2"]);
    let mut command = project.command(&["run"]);
    command.env("GITHUB_TOKEN", "TOKEN-not-real");
    let ran = Ran::of(command.output().expect("the program"));
    let sentence =
        "While the fixer ran, git's settings here got `filter.evil.clean` and `filter.evil.smudge`";
    assert_eq!(ran.err.matches(sentence).count(), 1, "{}", ran.err);
    assert_nothing_ran(&project);
    let fixed = project.git(&["show", "HEAD:calc.sh"]);
    assert!(
        fixed.contains("sum=0"),
        "its edits count all the same: {fixed}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_check_reads_no_token_from_the_process_that_runs_it() {
    const NOBODY: u32 = 65534;
    let project = checked_by(
        "above=$PPID\n\
         while [ \"$above\" -gt 1 ]; do\n\
         cat /proc/$above/comm >> ../looked-at\n\
         cat /proc/$above/environ >> ../seen-by-program 2>/dev/null\n\
         above=$(cut -d' ' -f4 /proc/$above/stat)\n\
         done\n",
    );
    let mut command = project.loopgate(&["verify"]);
    command.env("GITHUB_TOKEN", "TOKEN-not-real");
    let here = fs::metadata(project.root()).unwrap();
    if std::os::unix::fs::MetadataExt::uid(&here) == 0 {
        // Root reads everything: a check mostly runs as somebody else.
        let owned = std::process::Command::new("chown")
            .args(["-R", &NOBODY.to_string()])
            .arg(project.beside(""))
            .status();
        assert!(owned.unwrap().success());
        command.uid(NOBODY).env("HOME", project.beside(""));
    }
    Ran::of(command.output().expect("the program")).ended_with(0);
    let looked_at = fs::read_to_string(project.beside("looked-at")).unwrap();
    assert!(
        looked_at.lines().any(|name| name == "loopgate"),
        "{looked_at}"
    );
    let seen = fs::read(project.beside("seen-by-program")).unwrap_or_default();
    assert!(!String::from_utf8_lossy(&seen).contains("TOKEN-not-real"));
}
