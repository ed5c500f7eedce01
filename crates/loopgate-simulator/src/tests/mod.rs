//! The simulator driven over real HTTP, as the server under test drives it.

mod access;
mod checks;
mod client;
mod conversation;
mod faults;
mod git;
mod octocrab;
mod pulls;
mod registration;
mod routes;
mod sign_in;
mod webhooks;

use chrono::TimeDelta;

use self::client::Client;
use super::{Clock, Config, Simulator, Transcript};
use loopgate_core::RepoName;

/// A simulator whose clock stands at a fixed time and moves a second with everything people do.
async fn start() -> Simulator {
    let clock = Clock::fixed("2026-11-20T10:00:00Z".parse().unwrap());
    // For a check of every answer against GitHub's own API description.
    let transcript = std::env::var_os("LOOPGATE_SIMULATOR_TRANSCRIPT");
    let transcript = transcript.map_or(Transcript::Off, |path| Transcript::Appended(path.into()));
    let config = Config {
        clock,
        pace: TimeDelta::seconds(1),
        transcript,
        ..Config::default()
    };
    Simulator::start(config).await.unwrap()
}

/// That, with a repository `acme/widgets`, and the App as a client.
async fn start_with_repo() -> (Simulator, RepoName, Client) {
    let sim = start().await;
    let files = [
        ("README.md", "# Widgets\n"),
        ("src/lib.rs", "fn one() {\n    1\n}\n"),
    ];
    let repo = sim.create_repo("acme/widgets", &files).unwrap();
    let client = Client::installation(&sim);
    (sim, repo, client)
}
