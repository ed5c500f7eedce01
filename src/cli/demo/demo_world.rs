//! What the demo runs on: a simulated GitHub on loopback, and the real server in front of it.

use std::path::PathBuf;

use chrono::TimeDelta;

use crate::{
    cli::CliError,
    github::Setup,
    server::{Running, SimulatedClock, serve_simulated, settle_simulated},
};
use loopgate_core::RepoName;
use loopgate_simulator::{Config, Simulator};

/// Between two things that people do, this much time passes in the story.
const PACE: TimeDelta = TimeDelta::minutes(7);

/// The author of the second pull request.
pub(super) const AGENT: &str = "mender-agent";

/// Everything that runs during the demo.
pub(super) struct DemoWorld {
    pub github: Simulator,
    pub repo: RepoName,
    server: Running,
    data: PathBuf,
}

impl DemoWorld {
    /// With the address of GitHub's pages, where there are any.
    pub async fn open(pages_url: Option<String>) -> Result<Self, CliError> {
        let github = Simulator::start(Config { pace: PACE, pages_url, ..Config::default() }).await?;
        let repo = github.create_repo("acme/widgets", super::story::REPOSITORY)?;
        let team = github.admin().add_team("acme/Security", &["bob"])?;
        github.admin().grant_team(&team, &repo, loopgate_simulator::Role::Write)?;
        github.admin().add_user(AGENT)?;
        github.admin().add_collaborator(&repo, AGENT, loopgate_simulator::Role::Write)?;

        let data = std::env::temp_dir().join(format!("loopgate-demo-{}", std::process::id()));
        let clock = SimulatedClock(github.clock());
        let server = serve_simulated(&github, &data, clock, Setup::default(), |_, _| {}).await?;
        Ok(Self { github, repo, server, data })
    }

    /// Where the dashboard is.
    pub fn dashboard(&self) -> String {
        format!("http://{}", self.server.admin_address())
    }

    /// Waits until every webhook was delivered, all its work was done, and that work sent no new webhook.
    pub async fn settle(&self) {
        settle_simulated(&self.github, &self.server).await;
    }

    pub async fn close(self) {
        self.server.shutdown().await;
        // A directory that is left in the temporary directory does no harm.
        let _ = std::fs::remove_dir_all(self.data);
    }
}
