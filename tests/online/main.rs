//! Subcommands that ask GitHub and write nothing, as processes of their own, against the simulator.
#![allow(
    clippy::disallowed_methods,
    reason = "tests start what their users would"
)]

mod browser;
mod check_config;
mod doctor;
mod explain;
mod feedback;
#[path = "../config/json_schema.rs"]
#[expect(dead_code, reason = "property names are asked for elsewhere")]
mod json_schema;
#[cfg(unix)]
mod mcp;
mod metrics;
mod real_history;
mod setup;
mod try_history;

use std::{path::Path, process::Command};

use loopgate_core::RepoName;
use loopgate_simulator::{Config, Simulator};

/// What a process printed, and how it ended.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

/// With whose rights GitHub is asked.
enum As<'a> {
    App,
    /// A token, such as a workflow's.
    Token(&'a str),
    /// No credentials.
    Nobody,
}

async fn github() -> Simulator {
    Simulator::start(Config::default())
        .await
        .expect("a simulator")
}

/// Runs the real program in a directory.
fn run(github: &Simulator, who: &As<'_>, directory: &Path, arguments: &[&str]) -> Said {
    run_with(github, who, directory, arguments, &[])
}

/// The same, in an environment that has more.
fn run_with(
    github: &Simulator,
    who: &As<'_>,
    directory: &Path,
    arguments: &[&str],
    environment: &[(&str, String)],
) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loopgate"));
    command
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .env("LOOPGATE_GITHUB_API_URL", github.url());
    command.env("HOME", directory);
    // git is asked for the repository's name.
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    match who {
        As::App => {
            let key = github.app_key().private_pem();
            command
                .env("LOOPGATE_APP_ID", github.app_id().to_string())
                .env("LOOPGATE_PRIVATE_KEY", key)
        }
        As::Token(token) => command
            .env("GITHUB_TOKEN", token)
            .env("GITHUB_ACTIONS", "true"),
        As::Nobody => &mut command,
    };
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let output = command
        .output()
        .expect("the program that was built for this test");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said {
        code: output.status.code(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    }
}

/// A command that only asks must have written nothing.
fn assert_nothing_written(github: &Simulator, repo: &RepoName) {
    let prefix = format!("/repos/{repo}/");
    let writes = github
        .requests()
        .into_iter()
        .filter(|request| request.path.starts_with(&prefix));
    let writes: Vec<_> = writes.filter(|request| request.method != "GET").collect();
    assert!(writes.is_empty(), "{writes:?}");
}
