//! Recovers events that no webhook brought: GitHub sends a delivery once, and may lose some.
//!
//! ```text
//! delivery log ─► deliveries that failed are asked for again ─► receive
//! resync ───────► pull requests that changed in a list become work ─► inbox
//! ```
//! One task does both, in turns. All that it knows is on disk, so that it may end at any instant. Of several processes
//! on one database the one that has lived longest does it, and any that a person asks.

mod delivery_log;
mod resync;

use std::sync::Arc;

use chrono::TimeDelta;
use tokio::sync::{mpsc, oneshot};

use self::resync::Resync;
use super::{Services, receive::Receiver};
use crate::github::{Github, WorkClass, fenced, serving};

/// A process whose turn it is not asks again after this long.
const NOT_MINE: TimeDelta = TimeDelta::seconds(30);

/// What the task is asked from outside.
pub(super) enum RecoveryRequest {
    /// Answers once nothing is due.
    Idle(oneshot::Sender<()>),
    /// To read the lists now.
    Resync,
}

/// Works until the last sender of requests is gone. Both parts begin at once; pull requests are compared `every` so
/// often, or when a person asks. Deliveries are read from the log by the receiver, where none is meant to arrive.
pub(super) async fn recover(
    github: Github,
    services: Services,
    receiver: Option<Arc<Receiver>>,
    every: Option<TimeDelta>,
    mut requests: mpsc::Receiver<RecoveryRequest>,
) {
    let Services { store, clock, .. } = &services;
    let begun = clock.now();
    let mut resync = every.map(|every| Resync::new(Some(every), begun));
    let mut log_due = begun;
    // Another process does it until then, unless a person asks this one.
    let (mut others_until, mut is_asked) = (begun, false);
    let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
    loop {
        let due = resync
            .as_ref()
            .map_or(log_due, |resync| resync.due().min(log_due))
            .max(others_until);
        if due > clock.now() {
            is_asked = false;
            for reply in waiting.drain(..) {
                reply.send(()).ok();
            }
        }
        tokio::select! {
            () = clock.sleep_until(due) => {}
            request = requests.recv() => {
                match request {
                    None => return,
                    Some(RecoveryRequest::Idle(reply)) => waiting.push(reply),
                    Some(RecoveryRequest::Resync) => {
                        (others_until, is_asked) = (clock.now(), true);
                        resync.get_or_insert_with(|| Resync::new(None, clock.now())).begin(clock.now());
                    }
                }
                continue;
            }
        }
        let (fence, now) = (store.fence(None), clock.now());
        if !is_asked && !fence.holds().await.unwrap_or(false) {
            others_until = now + NOT_MINE;
            continue;
        }
        let work = async {
            if log_due <= now {
                log_due = now
                    + if receiver.is_some() {
                        delivery_log::EVERY_POLL
                    } else {
                        delivery_log::EVERY
                    };
                if let Err(interrupted) =
                    delivery_log::pass(&github, &services, receiver.as_deref(), now).await
                {
                    tracing::warn!(reason = %interrupted, "the delivery log was not gone through to its end");
                }
            }
            if let Some(resync) = resync.as_mut().filter(|resync| resync.due() <= now) {
                resync.round(&github, &services, now).await;
            }
        };
        fenced(
            if is_asked { None } else { Some(fence) },
            serving(WorkClass::Spread, work),
        )
        .await;
    }
}
