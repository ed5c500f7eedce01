//! The command line, as whoever repairs uses it beside the conversation.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use loopgate_core::RepoName;
use loopgate_simulator::{Area, Level};
use serde_json::json;

use super::{GitHub, World};

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
        self.ran(self.program(login.map(|login| self.token(login)), arguments)).await
    }

    /// The same with a token that may not read check runs.
    pub async fn runs_without_checks(&self, repo: &RepoName, login: &str, arguments: &[&str]) -> Ran {
        let token = match &self.github {
            GitHub::Simulated(github) => {
                let rights = [(Area::PullRequests, Level::Read), (Area::Contents, Level::Read)].into();
                github.actions_token(repo, Some(rights)).expect("a token")
            }
            GitHub::Emulated(github) => {
                let token = self.token(login);
                github.stacks.keeps_checks_from(&token);
                token
            }
        };
        self.ran(self.program(Some(token), arguments)).await
    }

    async fn ran(&self, mut command: Command) -> Ran {
        let ended = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic");
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
        let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
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
        let ended = tokio::task::spawn_blocking(move || process.wait_with_output()).await.expect("no panic");
        (Ran::of(&ended.expect("its end")), since.elapsed())
    }

    fn token(&self, login: &str) -> String {
        match &self.github {
            GitHub::Simulated(github) => github.user(login).token().expect("a token"),
            GitHub::Emulated(github) => {
                github.call("token", json!({ "as_": login })).as_str().expect("a token").to_owned()
            }
        }
    }

    fn program(&self, token: Option<String>, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loopgate"));
        command.args(arguments).env_clear().current_dir(self.data[0].path());
        command.env("LOOPGATE_GITHUB_API_URL", &self.settings[3]).env("HOME", self.data[0].path());
        command.envs(token.map(|token| ("GITHUB_TOKEN", token)));
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    }
}

impl Ran {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}
