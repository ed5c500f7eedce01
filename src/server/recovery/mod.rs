//! What brings back what no webhook told: GitHub sends a delivery once, and may lose some.
//!
//! ```text
//! delivery log ─► deliveries that failed are asked for again ─► receive
//! resync ───────► pull requests of which a list says something new become work ─► inbox
//! ```
//! One task does both, in turns. All that it knows is on disk, so that it may end at any instant.

mod delivery_log;
mod resync;

use std::sync::Arc;

use chrono::TimeDelta;
use tokio::sync::{mpsc, oneshot};

use self::{delivery_log::DeliveryLog, resync::Resync};
use super::{clock::Clock, inbox::Inbox, metrics::Metrics, storage::Store};
use crate::github::{Error, Github};
use loopgate_core::Timestamp;

/// What both parts work with.
pub(super) struct Tools {
    pub github: Github,
    pub store: Store,
    pub inbox: Inbox,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
}

/// What the task is asked from outside.
pub(super) enum RecoveryRequest {
    /// To say so once nothing is due.
    Idle(oneshot::Sender<()>),
    /// To read the lists now.
    Resync,
}

/// How others reach the task.
#[derive(Clone)]
pub(super) struct RecoveryHandle {
    pub github: Github,
    pub ask: mpsc::Sender<RecoveryRequest>,
}

/// Why a pass ended early. The next one goes on.
#[derive(Debug, thiserror::Error)]
enum Interrupted {
    #[error(transparent)]
    Github(#[from] Error),
    #[error("the inbox: {0}")]
    Store(#[from] super::storage::StoreError),
    #[error(transparent)]
    Inbox(#[from] super::inbox::Unavailable),
}

pub(super) struct Recovery {
    tools: Tools,
    log: DeliveryLog,
    resync: Option<Resync>,
}

impl Recovery {
    /// Both begin at once; pull requests are compared `every` so often, or never.
    pub fn new(tools: Tools, every: Option<TimeDelta>) -> Self {
        let now = tools.clock.now();
        Self { log: DeliveryLog::new(now), resync: every.map(|every| Resync::new(every, now)), tools }
    }

    /// Works until nobody can ask any more.
    pub async fn run(mut self, mut requests: mpsc::Receiver<RecoveryRequest>) {
        let clock = self.tools.clock.clone();
        loop {
            let request = tokio::select! {
                () = clock.sleep_until(self.due()) => None,
                request = requests.recv() => match request {
                    Some(request) => Some(request),
                    None => return,
                },
            };
            if let Some(RecoveryRequest::Resync) = request {
                self.resync.get_or_insert_with(|| Resync::once(clock.now())).begin(clock.now());
            }
            while self.due() <= clock.now() {
                self.work().await;
            }
            if let Some(RecoveryRequest::Idle(reply)) = request {
                reply.send(()).ok();
            }
        }
    }

    fn due(&self) -> Timestamp {
        self.resync.iter().map(Resync::due).chain([self.log.due()]).min().unwrap_or(self.log.due())
    }

    async fn work(&mut self) {
        let now = self.tools.clock.now();
        if self.log.due() <= now {
            self.log.pass(&self.tools, now).await;
        }
        if let Some(resync) = &mut self.resync
            && resync.due() <= now
        {
            resync.round(&self.tools, now).await;
        }
    }
}
