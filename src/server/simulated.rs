//! The real server in front of a simulated GitHub on loopback, as the demo, the benches and the tests start it.

use std::{path::Path, sync::Arc, time::Duration};

use futures::future::BoxFuture;

use loopgate_core::Timestamp;
use loopgate_simulator::Simulator;

use super::{GithubReconciler, Running, Server, ServerConfig, StartError, own_app};
use crate::github::{ApiUrl, AppCredentials, Clock, Credentials, Github, LoopReader, Setup};

/// The simulator's time, which goes on with what people do. The server reads it every few milliseconds while it waits.
#[derive(Clone)]
pub struct SimulatedClock(pub loopgate_simulator::Clock);

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn sleep_until(&self, until: Timestamp) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            while self.0.now() < until {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
    }
}

/// Starts the server for the simulator's App with its storage in the folder `data`, and sends the simulator's webhooks
/// to it. `clock` replaces the clock of `setup`. `adjust` may change the server before it starts.
///
/// # Errors
/// When the simulator is gone, no port is free or the folder cannot be written.
pub async fn serve_simulated(
    simulator: &Simulator,
    data: &Path,
    clock: impl Clock,
    setup: Setup,
    adjust: impl FnOnce(&mut Server, &Github),
) -> Result<Running, StartError> {
    let config = ServerConfig::from_env(|name| match name {
        "LOOPGATE_APP_ID" => Some(simulator.app_id().to_string()),
        "LOOPGATE_PRIVATE_KEY" => Some(simulator.app_key().private_pem().to_owned()),
        "LOOPGATE_WEBHOOK_SECRET" => Some(simulator.webhook_secret().to_owned()),
        "LOOPGATE_GITHUB_API_URL" => Some(simulator.url()),
        "LOOPGATE_LISTEN" | "LOOPGATE_ADMIN_LISTEN" => Some("127.0.0.1:0".to_owned()),
        "LOOPGATE_DATA_DIR" => Some(data.display().to_string()),
        "LOOPGATE_RESYNC" => Some("off".to_owned()),
        _ => None,
    })?;
    let credentials = AppCredentials::new(config.app_id.clone(), &config.private_key)?;
    let clock: Arc<dyn Clock> = Arc::new(clock);
    let setup = Setup {
        clock: clock.clone(),
        ..setup
    };
    let client = Github::new(
        ApiUrl::parse(&simulator.url())?,
        Credentials::App(credentials),
        setup,
    )?;
    let own = own_app(&client).await?;
    let seal = config.state_seal();
    let reconciler =
        GithubReconciler::new(client.clone(), clock.clone()).with(|it| it.sealing(seal.clone()));
    let loops = Some(LoopReader::new(client.clone(), seal));
    let mut server = Server {
        clock,
        loops,
        ..Server::new(config, own)
    };
    adjust(&mut server, &client);
    let running = server.start(reconciler).await?;
    simulator.set_webhook_url(&format!("http://{}/webhook", running.public_address));
    Ok(running)
}

/// Waits until every webhook was delivered, all its work was done, and that work sent no new webhook.
pub async fn settle_simulated(simulator: &Simulator, server: &Running) {
    let mut seen = usize::MAX;
    while seen != simulator.deliveries().len() {
        seen = simulator.deliveries().len();
        simulator.settle().await;
        server.settled().await;
    }
}
