//! The real server on a simulated GitHub, in one thread, with a time that only the test moves.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::body::Bytes;
use chrono::TimeDelta;
use http::Request;
use http_body_util::Full;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use loopgate::{
    github::{self, Patience, Setup},
    server::{GUARD, Running, serve_simulated},
};
use loopgate_core::Timestamp;
use loopgate_simulator::{Clock, Config, Simulator};

/// The time of everybody. It stands still until the test moves it.
#[derive(Clone)]
pub struct Time {
    clock: Clock,
    moved: tokio::sync::watch::Sender<()>,
    /// Until when those sleep that do.
    sleepers: Arc<Mutex<BTreeMap<u64, Timestamp>>>,
}

impl github::Clock for Time {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn sleep_until(&self, until: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            let mut moved = self.moved.subscribe();
            let _sleeper = Sleeper::begin(&self.sleepers, until);
            while self.clock.now() < until && moved.changed().await.is_ok() {}
        })
    }
}

/// Somebody who sleeps, as long as they do.
struct Sleeper(Arc<Mutex<BTreeMap<u64, Timestamp>>>, u64);

impl Sleeper {
    fn begin(all: &Arc<Mutex<BTreeMap<u64, Timestamp>>>, until: Timestamp) -> Self {
        let mut sleepers = all.lock().unwrap();
        let id = sleepers.last_key_value().map_or(0, |(last, _)| last + 1);
        sleepers.insert(id, until);
        Self(Arc::clone(all), id)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.lock().unwrap().remove(&self.1);
    }
}

/// A GitHub with the server in front of it.
pub struct World {
    pub github: Simulator,
    pub server: Running,
    time: Time,
    _data: tempfile::TempDir,
}

impl World {
    pub async fn begin(seed: u64) -> Self {
        let clock = Clock::fixed("2026-11-20T10:00:00Z".parse().unwrap());
        let time = Time {
            clock: clock.clone(),
            moved: Default::default(),
            sleepers: Arc::default(),
        };
        let pace = TimeDelta::seconds(1);
        let github = Simulator::start(Config {
            clock,
            seed,
            pace,
            ..Config::default()
        })
        .await
        .unwrap();
        // In memory where there is such a folder: nobody waits for a disk.
        let memory = std::path::Path::new("/dev/shm");
        let data = if memory.is_dir() {
            tempfile::tempdir_in(memory)
        } else {
            tempfile::tempdir()
        }
        .unwrap();
        let server = serve(&github, data.path(), &time, seed).await;
        Self {
            github,
            server,
            time,
            _data: data,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.time.clock.now()
    }

    /// So much time goes by, in steps from one thing that is due to the next.
    pub async fn passes(&self, by: TimeDelta) {
        let end = self.now() + by;
        loop {
            self.comes_to_rest().await;
            let (_, stalled_until) = self.github.stalled();
            let sleepers = self.time.sleepers.lock().unwrap().values().copied().min();
            let next = [Some(end), stalled_until, sleepers]
                .into_iter()
                .flatten()
                .min()
                .unwrap_or(end);
            if next > self.now() {
                self.time.clock.advance(next - self.now());
                self.time.moved.send_replace(());
                self.github.time_has_passed();
            } else if self.now() >= end {
                return;
            }
        }
    }

    /// Until nothing goes on before time does.
    pub async fn comes_to_rest(&self) {
        let mut seen = None;
        while seen != Some(self.github.deliveries().len()) {
            seen = Some(self.github.deliveries().len());
            self.github.settle().await;
            tokio::select! {
                () = self.server.idle() => {}
                () = self.is_stalled() => {}
            }
        }
    }

    /// All that goes on waits for GitHub to answer, which it does not before time goes on.
    async fn is_stalled(&self) {
        let stalled = |github: &Simulator| github.stalled().0 > 0;
        let mut quiet = 0;
        let mut before = 0;
        while quiet < 300 {
            self.github
                .wait_until(stalled, Duration::from_secs(600))
                .await
                .unwrap();
            let seen = self.github.requests().len() + self.github.stalled().0;
            quiet = if seen == before { quiet + 1 } else { 0 };
            before = seen;
            tokio::task::yield_now().await;
        }
    }

    /// What an operator asks of the server.
    pub async fn resync(&self) {
        let mut request = Request::post(format!("http://{}/resync", self.server.admin_address));
        for (name, value) in [("content-type", "application/json"), (GUARD, "1")] {
            request = request.header(name, value);
        }
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let answer = client
            .request(request.body(Full::new(Bytes::from_static(b"{}"))).unwrap())
            .await
            .unwrap();
        assert_eq!(answer.status().as_u16(), 202);
        self.server.settled().await;
    }
}

async fn serve(github: &Simulator, data: &std::path::Path, time: &Time, seed: u64) -> Running {
    let patience = Patience {
        pause: Duration::ZERO,
        ..Patience::default()
    };
    let setup = Setup {
        patience,
        ..Setup::default()
    };
    let running = serve_simulated(github, data, time.clone(), setup, |server, _| {
        server.rng = fastrand::Rng::with_seed(seed);
        server.recovers = true;
    })
    .await
    .unwrap();
    running.settled().await;
    running
}
