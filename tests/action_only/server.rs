//! The App: a server that gets webhooks.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use loopgate::{
    github::{ApiUrl, AppCredentials, Credentials, Github, Patience, Secret, Setup},
    server::{self, GithubReconciler, Running, Server, ServerConfig, own_app},
};
use loopgate_core::Timestamp;
use loopgate_simulator::{Clock, Simulator};

use crate::Keeper;

/// The simulator's time for the server.
#[derive(Clone)]
struct Simulated(Clock);

impl loopgate::github::Clock for Simulated {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

impl server::Clock for Simulated {
    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            while self.0.now() < until {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
    }
}

pub struct App {
    github: Simulator,
    running: Running,
    _data: tempfile::TempDir,
}

impl App {
    pub async fn new(github: &Simulator) -> Self {
        let data = tempfile::tempdir().expect("a directory");
        let folder = data.path().display().to_string();
        let config = ServerConfig::from_env(|name| {
            let value = match name {
                "LOOPGATE_APP_ID" => github.app_id().to_string(),
                "LOOPGATE_PRIVATE_KEY" => github.app_key().private_pem().to_owned(),
                "LOOPGATE_WEBHOOK_SECRET" => github.webhook_secret().to_owned(),
                "LOOPGATE_GITHUB_API_URL" => github.url(),
                "LOOPGATE_LISTEN" | "LOOPGATE_ADMIN_LISTEN" => "127.0.0.1:0".to_owned(),
                "LOOPGATE_DATA_DIR" => folder.clone(),
                _ => return None,
            };
            Some(value)
        });
        let clock = Simulated(github.clock());
        let key = Secret::new(github.app_key().private_pem());
        let credentials = Credentials::App(AppCredentials::new(github.app_id(), &key).expect("a key"));
        let patience = Patience { retries: 2, pause: Duration::ZERO };
        let setup = Setup { clock: Arc::new(clock.clone()), patience, ..Setup::default() };
        let client = Github::new(ApiUrl::parse(&github.url()).expect("an address"), credentials, setup);
        let client = client.expect("a client");
        let own = own_app(&client).await.expect("the App is known");
        let config = config.expect("a configuration");
        let server = Server { clock: Arc::new(clock.clone()), ..Server::new(config, own) };
        let running = server.start(GithubReconciler::new(client, clock)).await.expect("a server");
        github.set_webhook_url(&format!("http://{}/webhook", running.public_address()));
        Self { github: github.clone(), running, _data: data }
    }
}

impl Keeper for App {
    async fn settle(&self) {
        let mut seen = None;
        while seen != Some(self.github.deliveries().len()) {
            seen = Some(self.github.deliveries().len());
            self.github.settle().await;
            self.running.settled().await;
        }
    }
}
