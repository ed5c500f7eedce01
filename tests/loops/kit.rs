//! A small project with two bugs, and ways to run `loopgate` in it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::Value;

/// The program that was built for these tests.
pub const LOOPGATE: &str = env!("CARGO_BIN_EXE_loopgate");

/// Two bugs: a sum that begins at 1, and a greatest number that is the first.
const CALC: &str = "\
total() {
    sum=1
    for number in \"$@\"; do sum=$((sum + number)); done
    echo \"$sum\"
}
greatest() {
    echo \"$1\"
}
";

const TESTS: &str = "\
. ./calc.sh
failed=0
number=0
check() {
    number=$((number + 1))
    if [ \"$2\" = \"$3\" ]; then
        echo \"ok $number - $1\"
    else
        echo \"not ok $number - $1\"
        printf '  ---\\n  message: expected %s, got %s\\n  expected: %s\\n  actual: %s\\n' \"$2\" \"$3\" \"$2\" \"$3\"
        printf '  file: calc.sh\\n  line: 2\\n  ...\\n'
        failed=1
    fi
}
test_adds() { check 'adds all numbers' 6 \"$(total 1 2 3)\"; }
test_first() { check 'the first may be the greatest' 7 \"$(greatest 7 2)\"; }
test_greatest() { check 'finds the greatest' 9 \"$(greatest 1 9 3)\"; }
test_adds
test_first
test_greatest
echo \"1..$number\"
exit $failed
";

/// Repairs one bug a call, the sum first.
pub const REPAIRS: &str = "\
cat > /dev/null
if grep -q 'sum=1' calc.sh; then
    sed -i 's/sum=1/sum=0/' calc.sh
    echo '{\"description\": \"Begin the sum at 0\", \"cause\": \"the sum begins at 1\", \"cost_usd\": 0.25}'
else
    sed -i 's/    echo \"$1\"/    most=$1; for n in \"$@\"; do [ \"$n\" -gt \"$most\" ] \\&\\& most=$n; done; echo \"$most\"/' calc.sh
    echo '{\"description\": \"Compare with every number\", \"cost_usd\": 0.25}'
fi
";

/// Takes the failing tests away.
pub const CHEATS: &str = "sed -i '/test_adds/d; /test_greatest/d' tests/test_calc.sh\n";

pub struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    /// The project, with this fixer and these further lines of configuration.
    pub fn with(fixer: &str, configuration: &str) -> Self {
        let project = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        project.git(&["init", "-q", "-b", "main"]);
        project.write("calc.sh", CALC);
        project.write("tests/test_calc.sh", TESTS);
        project.script("fixer", fixer);
        project.write(
            ".github/loopgate.yml",
            &format!(
                "version: 1\nverify:\n  checks:\n    unit: {{ kind: test, run: sh tests/test_calc.sh }}\n{configuration}"
            ),
        );
        project.commit("The project");
        project
    }

    /// The same with the fixer configured, with its further settings.
    pub fn fixed_by(fixer: &str, settings: &str) -> Self {
        Self::with(
            fixer,
            &format!("fixer:\n  kind: command\n  command: ../fixer\n{settings}"),
        )
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    /// The repository; what stands beside it is no part of it.
    pub fn root(&self) -> PathBuf {
        let root = self.folder.path().join("repository");
        fs::create_dir_all(&root).expect("a folder");
        root
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("inside the repository")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A program beside the repository.
    pub fn script(&self, name: &str, text: &str) {
        let path = self.beside(name);
        fs::write(&path, format!("#!/bin/sh\n{text}")).expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("our own file");
    }

    /// A pipe beside the repository: a script that opens it to write waits for [`told`], which waits for the script.
    pub fn pipe(&self, name: &str) -> PathBuf {
        let path = self.beside(name);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        path
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.root())
            .args(arguments)
            .output()
            .expect("git");
        assert!(
            output.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&[
            "-c",
            "user.name=alice",
            "-c",
            "user.email=alice@example.com",
            "commit",
            "-qm",
            message,
        ]);
    }

    /// `loopgate loop …`, not yet started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.loopgate(&[&["loop"], arguments].concat())
    }

    /// `loopgate …`, not yet started, without the surroundings of the machine that runs the tests.
    pub fn loopgate(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(LOOPGATE);
        command
            .current_dir(self.root())
            .args(arguments)
            .stdin(Stdio::null());
        for name in [
            "GITHUB_ACTIONS",
            "GITHUB_EVENT_PATH",
            "GITHUB_REPOSITORY",
            "GITHUB_ACTOR",
        ] {
            command.env_remove(name);
        }
        command.env("USER", "alice");
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().expect("the program"))
    }

    /// Sets a loop up, without being asked.
    pub fn begin(&self, more: &[&str]) {
        let mut arguments = vec![
            "new",
            "repair calc",
            "--alias",
            "calc",
            "--type",
            "refactor",
            "--yes",
        ];
        arguments.extend(more);
        self.run(&arguments).ended_with(0);
    }

    /// The loop as programs see it.
    pub fn status(&self) -> Value {
        let ran = self.run(&["status", "calc", "--format", "json"]);
        serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }

    /// The history as (iteration, phase, event).
    pub fn history(&self) -> Vec<(u64, String, String)> {
        let ran = self.run(&["history", "calc", "--format", "json"]);
        let document: Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let lines = document["events"].as_array().cloned().unwrap_or_default();
        lines
            .iter()
            .map(|line| {
                (
                    line["iteration"].as_u64().unwrap_or(0),
                    text(&line["phase"]),
                    text(&line["event"]),
                )
            })
            .collect()
    }
}

/// What a process printed, and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        self
    }

    /// Holds that these words stand on standard output.
    #[track_caller]
    pub fn prints(&self, words: &str) {
        assert!(self.out.contains(words), "{}", self.out);
    }

    /// Holds that these words stand on standard error.
    #[track_caller]
    pub fn notes(&self, words: &str) {
        assert!(self.err.contains(words), "{}", self.err);
    }
}

/// What a script writes into a pipe, once it does; gives up after a minute.
pub fn told(what: &str, pipe: PathBuf) -> String {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(fs::read_to_string(pipe)));
    let text = told
        .recv_timeout(Duration::from_secs(60))
        .unwrap_or_else(|_| panic!("{what} never came"));
    text.expect("a pipe")
}
