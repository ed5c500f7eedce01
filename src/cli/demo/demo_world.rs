//! What the demo runs on: a simulated GitHub on loopback, and the real server in front of it.

use std::{future::Future, path::PathBuf, pin::Pin, time::Duration};

use chrono::TimeDelta;

use super::DemoError;
use crate::{
    github::{ApiUrl, AppCredentials, Credentials, Github, LoopReader, Setup},
    server::{self, GithubReconciler, Running, Server, ServerConfig, own_app},
};
use loopgate_core::{RepoName, Timestamp};
use loopgate_simulator::{Clock, Config, Simulator};

/// Between two things that people do, this much time passes in the story.
const PACE: TimeDelta = TimeDelta::minutes(7);

/// Whoever writes the second pull request.
pub(super) const AGENT: &str = "mender-agent";

/// Everything that runs during the demo.
pub(super) struct DemoWorld {
    pub github: Simulator,
    pub repo: RepoName,
    server: Running,
    data: PathBuf,
}

/// The story's clock: it moves on with everything people do.
#[derive(Clone)]
struct StoryClock(Clock);

impl crate::github::Clock for StoryClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

impl server::Clock for StoryClock {
    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            while self.0.now() < until {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
    }
}

impl DemoWorld {
    /// With the address of GitHub's pages, where there are any.
    pub async fn open(pages_url: Option<String>) -> Result<Self, DemoError> {
        let clock = Clock::system();
        let config = Config { clock: clock.clone(), pace: PACE, pages_url, ..Config::default() };
        let github = Simulator::start(config).await?;
        let repo = github.create_repo("acme/widgets", super::story::REPOSITORY)?;
        let team = github.admin().add_team("acme/Security", &["bob"])?;
        github.admin().grant_team(&team, &repo, loopgate_simulator::Role::Write)?;
        github.admin().add_user(AGENT)?;
        github.admin().add_collaborator(&repo, AGENT, loopgate_simulator::Role::Write)?;

        let data = std::env::temp_dir().join(format!("loopgate-demo-{}", std::process::id()));
        let config = ServerConfig::from_env(|name| setting(name, &github, &data))?;
        let credentials = AppCredentials::new(config.app_id.clone(), &config.private_key)?;
        let story_clock = clock.clone();
        let now = std::sync::Arc::new(move || story_clock.now());
        let setup = Setup { clock: now.clone(), ..Setup::default() };
        let client = Github::new(ApiUrl::parse(&github.url())?, Credentials::App(credentials), setup)?;
        let own = own_app(&client).await?;
        let now: std::sync::Arc<dyn crate::github::Clock> = now;
        let seal = config.state_seal();
        let loops = LoopReader::new(client.clone(), seal.clone());
        let reconciler = GithubReconciler::new(client, now).sealing(seal);
        let clock = std::sync::Arc::new(StoryClock(clock));
        let server = Server { clock, loops: Some(loops), ..Server::new(config, own) };
        let server = server.start(reconciler).await?;
        github.set_webhook_url(&format!("http://{}/webhook", server.public_address()));
        Ok(Self { github, repo, server, data })
    }

    /// Where the dashboard is.
    pub fn dashboard(&self) -> String {
        format!("http://{}", self.server.admin_address())
    }

    /// Waits until every webhook was delivered, everything it led to was done, and nothing new came of that.
    pub async fn settle(&self) {
        let mut seen = usize::MAX;
        while seen != self.github.deliveries().len() {
            seen = self.github.deliveries().len();
            self.github.settle().await;
            self.server.settled().await;
        }
    }

    pub async fn close(self) {
        self.server.shutdown().await;
        // A directory that is left in the temporary directory does no harm.
        let _ = std::fs::remove_dir_all(self.data);
    }
}

/// The server's environment, as an operator would set it.
fn setting(name: &str, github: &Simulator, data: &std::path::Path) -> Option<String> {
    match name {
        "LOOPGATE_APP_ID" => Some(Config::default().app_id.to_string()),
        "LOOPGATE_PRIVATE_KEY" => Some(github.app_key().private_pem().to_owned()),
        "LOOPGATE_WEBHOOK_SECRET" => Some(github.webhook_secret().to_owned()),
        "LOOPGATE_GITHUB_API_URL" => Some(github.url()),
        "LOOPGATE_LISTEN" | "LOOPGATE_ADMIN_LISTEN" => Some("127.0.0.1:0".to_owned()),
        "LOOPGATE_DATA_DIR" => Some(data.display().to_string()),
        _ => None,
    }
}
