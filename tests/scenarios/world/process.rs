//! The command line, as a fixer uses it beside the conversation.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use loopgate_core::{RepoName, Timestamp};
use loopgate_simulator::{Area, Level};
use serde_json::{Value, json};

use super::{GitHub, World, browser::fetched};

/// What a process printed, and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl World {
    /// Runs `loopgate` with somebody's token, or with none.
    pub async fn runs(&self, login: Option<&str>, arguments: &[&str]) -> Ran {
        self.ran(self.program(login.map(|login| self.token(login)), arguments))
            .await
    }

    /// The same in a clone of the repository, with something on its standard input.
    pub async fn runs_in(&self, clone: &Path, login: &str, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.program(Some(self.token(login)), arguments);
        command
            .current_dir(clone)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command
            .spawn()
            .expect("the program that was built for this test");
        process
            .stdin
            .take()
            .expect("piped above")
            .write_all(input.as_bytes())
            .expect("it reads");
        let ended = tokio::task::spawn_blocking(move || process.wait_with_output())
            .await
            .expect("no panic");
        Ran::of(&ended.expect("its end"))
    }

    /// A clone with this commit of the simulator checked out, as a push leaves it.
    pub async fn clones(&self, repo: &RepoName, head: &str) -> tempfile::TempDir {
        let clone = tempfile::tempdir().expect("a folder");
        let git = |arguments: &[&str], input: &str| {
            let mut command = Command::new("git");
            command
                .current_dir(&clone)
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped());
            let mut process = command.spawn().expect("git");
            process
                .stdin
                .take()
                .expect("piped above")
                .write_all(input.as_bytes())
                .expect("it reads");
            let output = process.wait_with_output().expect("its end");
            assert!(output.status.success(), "git {arguments:?}");
            String::from_utf8(output.stdout)
                .expect("text")
                .trim()
                .to_owned()
        };
        let read = async |kind: &str, id: &str| -> Value {
            let address = format!("{}/repos/{repo}/git/{kind}/{id}", self.simulator().url());
            let token = format!("Bearer {}", self.token("alice"));
            let headers = [("authorization", token.as_str()), ("user-agent", "tests")];
            serde_json::from_str(&fetched("GET", &address, &headers, "").await.body).expect("JSON")
        };
        git(&["init", "-q", "-b", "main"], "");
        let commit = read("commits", head).await;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let tree = read(
            "trees",
            &format!("{}?recursive=1", text(&commit["tree"]["sha"])),
        )
        .await;
        for entry in tree["tree"]
            .as_array()
            .expect("entries")
            .iter()
            .filter(|entry| entry["type"] == "blob")
        {
            let blob = read("blobs", &text(&entry["sha"])).await;
            let content: String = text(&blob["content"]).split_whitespace().collect();
            let content =
                String::from_utf8(STANDARD.decode(content).expect("base64")).expect("text");
            let path = clone.path().join(text(&entry["path"]));
            std::fs::create_dir_all(path.parent().expect("in the clone")).expect("a folder");
            std::fs::write(path, content).expect("a file");
        }
        git(&["add", "-A"], "");
        let person = |who: &Value| {
            let at: Timestamp = text(&who["date"]).parse().expect("a time");
            format!(
                "{} <{}> {} +0000",
                text(&who["name"]),
                text(&who["email"]),
                at.timestamp()
            )
        };
        let parents = commit["parents"].as_array().expect("parents").iter();
        let parents: String = parents
            .map(|parent| format!("parent {}\n", text(&parent["sha"])))
            .collect();
        let written = format!(
            "tree {}\n{parents}author {}\ncommitter {}\n\n{}",
            git(&["write-tree"], ""),
            person(&commit["author"]),
            person(&commit["committer"]),
            text(&commit["message"])
        );
        assert_eq!(
            git(&["hash-object", "-t", "commit", "-w", "--stdin"], &written),
            head,
            "{written}"
        );
        // What it is made from is not here, as in a shallow clone.
        std::fs::write(clone.path().join(".git/shallow"), format!("{head}\n")).expect("a file");
        git(&["update-ref", "refs/heads/main", head], "");
        git(&["update-ref", "refs/remotes/origin/topic", head], "");
        git(
            &[
                "remote",
                "add",
                "origin",
                &format!("https://github.com/{repo}.git"),
            ],
            "",
        );
        clone
    }

    /// The same with a token that may not read check runs.
    pub async fn runs_without_checks(
        &self,
        repo: &RepoName,
        login: &str,
        arguments: &[&str],
    ) -> Ran {
        let token = match &self.github {
            GitHub::Simulated(github) => {
                let rights = [
                    (Area::PullRequests, Level::Read),
                    (Area::Contents, Level::Read),
                ]
                .into();
                github.actions_token(repo, Some(rights)).expect("a token")
            }
            GitHub::Emulated(github) => {
                let token = self.token(login);
                github.proxy.keeps_checks_from(&token);
                token
            }
        };
        self.ran(self.program(Some(token), arguments)).await
    }

    async fn ran(&self, mut command: Command) -> Ran {
        let ended = tokio::task::spawn_blocking(move || command.output())
            .await
            .expect("no panic");
        Ran::of(&ended.expect("the program that was built for this test"))
    }

    /// Starts `loopgate`, lets something happen once it has said that it waits, and tells how long it took from then.
    pub async fn runs_until(
        &self,
        login: Option<&str>,
        arguments: &[&str],
        happens: impl AsyncFnOnce(),
    ) -> (Ran, Duration) {
        let mut command = self.program(login.map(|login| self.token(login)), arguments);
        let started = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut process = started.expect("the program that was built for this test");
        let mut said = BufReader::new(process.stderr.take().expect("piped above"));
        let read = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            said.read_line(&mut line).map(|_| line)
        });
        let line = read.await.expect("no panic").expect("a line");
        assert!(line.contains("waiting for"), "{line}");
        happens().await;
        let since = Instant::now();
        let ended = tokio::task::spawn_blocking(move || process.wait_with_output())
            .await
            .expect("no panic");
        (Ran::of(&ended.expect("its end")), since.elapsed())
    }

    fn token(&self, login: &str) -> String {
        match &self.github {
            GitHub::Simulated(github) => github.user(login).token().expect("a token"),
            GitHub::Emulated(github) => github
                .call("token", json!({ "as_": login }))
                .as_str()
                .expect("a token")
                .to_owned(),
        }
    }

    fn program(&self, token: Option<String>, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopgate"));
        command
            .args(arguments)
            .env_clear()
            .current_dir(self.data[0].path());
        command
            .env("LOOPGATE_GITHUB_API_URL", &self.settings[3])
            .env("HOME", self.data[0].path());
        command.envs(token.map(|token| ("GITHUB_TOKEN", token)));
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    }
}

impl Ran {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}
