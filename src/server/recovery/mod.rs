//! Recovers events that no webhook brought: GitHub sends a delivery once, and may lose some.
//!
//! ```text
//! delivery log ─► deliveries that failed are asked for again ─► receive
//! resync ───────► pull requests that changed in a list become work ─► inbox
//! ```
//! One task does both, in turns. All that it knows is on disk, so that it may end at any instant. Of several processes on
//! one database the one that has lived longest does it, and any that a person asks.

mod delivery_log;
mod resync;

use std::sync::Arc;

use chrono::TimeDelta;
use tokio::sync::{mpsc, oneshot};

use self::resync::Resync;
use super::{clock::Clock, inbox::Inbox, metrics::Metrics, receive::Receiver, storage::Store};
use crate::github::{Error, Github, WorkClass, fenced, serving};
use loopgate_core::Timestamp;

/// What both parts work with.
pub(super) struct Tools {
    pub github: Github,
    pub store: Store,
    pub inbox: Inbox,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
    /// What takes deliveries that are read from the log, where none is meant to arrive.
    pub reads_log: Option<Arc<Receiver>>,
}

/// A process whose turn it is not asks again after this long.
const NOT_MINE: TimeDelta = TimeDelta::seconds(30);

/// What the task is asked from outside.
pub(super) enum RecoveryRequest {
    /// Answers once nothing is due.
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
    log_due: Timestamp,
    resync: Option<Resync>,
    /// Another process does it until then.
    others_until: Timestamp,
}

impl Recovery {
    /// Both begin at once; pull requests are compared `every` so often, or never.
    pub fn new(tools: Tools, every: Option<TimeDelta>) -> Self {
        let now = tools.clock.now();
        Self { log_due: now, resync: every.map(|every| Resync::new(Some(every), now)), others_until: now, tools }
    }

    /// Works until the last sender of requests is gone.
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
                self.others_until = clock.now();
                self.resync.get_or_insert_with(|| Resync::new(None, clock.now())).begin(clock.now());
            }
            let is_asked = matches!(request, Some(RecoveryRequest::Resync));
            while self.due() <= clock.now() {
                let fence = self.tools.store.fence(None);
                if is_asked || fence.holds().await.unwrap_or(false) {
                    let work = serving(WorkClass::Spread, self.work());
                    fenced(if is_asked { None } else { Some(fence) }, work).await;
                } else {
                    self.others_until = clock.now() + NOT_MINE;
                }
            }
            if let Some(RecoveryRequest::Idle(reply)) = request {
                reply.send(()).ok();
            }
        }
    }

    fn due(&self) -> Timestamp {
        let resync_due = self.resync.as_ref().map_or(self.log_due, Resync::due);
        self.log_due.min(resync_due).max(self.others_until)
    }

    async fn work(&mut self) {
        let now = self.tools.clock.now();
        if self.log_due <= now {
            self.log_due = now + delivery_log::pause(&self.tools);
            if let Err(interrupted) = delivery_log::pass(&self.tools, now).await {
                tracing::warn!(reason = %interrupted, "the delivery log was not gone through to its end");
            }
        }
        if let Some(resync) = &mut self.resync
            && resync.due() <= now
        {
            resync.round(&self.tools, now).await;
        }
    }
}
