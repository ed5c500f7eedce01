//! The App: a server that gets webhooks.

use std::time::Duration;

use loopgate::{
    github::{Patience, Setup},
    server::{Running, SimulatedClock, serve_simulated, settle_simulated},
};
use loopgate_simulator::Simulator;

use crate::Keeper;

pub struct App {
    github: Simulator,
    running: Running,
    _data: tempfile::TempDir,
}

impl App {
    pub async fn new(github: &Simulator) -> Self {
        let data = tempfile::tempdir().expect("a directory");
        let setup = Setup {
            patience: Patience {
                retries: 2,
                pause: Duration::ZERO,
            },
            ..Setup::default()
        };
        let running = serve_simulated(
            github,
            data.path(),
            SimulatedClock(github.clock()),
            setup,
            |_, _| {},
        )
        .await;
        Self {
            github: github.clone(),
            running: running.expect("a server"),
            _data: data,
        }
    }
}

impl Keeper for App {
    async fn settle(&self) {
        settle_simulated(&self.github, &self.running).await;
    }
}
