//! The one writer of the storage, and its handle.
//!
//! While one transaction is being made durable, the changes that arrive wait in a channel; the next transaction takes
//! them all. So a lone delivery pays for one sync, and a hundred concurrent ones share a few. The sender of a change
//! gets its answer after the commit, never before.
//!
//! Order: new rows are in the queue before the sender gets its answer. The queue never waits for the writer (its jobs
//! do), so the writer may wait for the queue.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::{Arrival, Change, ChangeOutcome, Metrics, Store, Writer};
use crate::github::{BookingAnswer, BudgetClaim, SharedBudget};

/// More changes than this do not share one transaction, so that the first of them is not kept waiting.
const BATCH: usize = 512;

/// How often a writer that has nothing to do looks whether its files are still there: a log that is gone takes with it
/// all that is not in the database yet, should the process end.
const TEND_EVERY: Duration = Duration::from_secs(1);

/// So many changes wait before callers are made to wait with theirs in hand.
const WAITING: usize = 4096;

/// The storage did not take a change. Nothing of it was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the storage is not available")]
pub(super) struct Unavailable;

/// A handle to the writer. The writer ends when the last one is dropped.
#[derive(Debug, Clone)]
pub(super) struct Inbox(mpsc::Sender<WriteRequest>);

type WriteRequest = (Change, oneshot::Sender<Result<ChangeOutcome, Unavailable>>);

impl Inbox {
    /// Applies a change; durable when this returns.
    pub async fn apply(&self, change: Change) -> Result<ChangeOutcome, Unavailable> {
        let (reply, answer) = oneshot::channel();
        self.0
            .send((change, reply))
            .await
            .map_err(|_| Unavailable)?;
        answer.await.unwrap_or(Err(Unavailable))
    }

    pub fn bookings(&self) -> Bookings {
        Bookings(self.0.downgrade())
    }
}

/// Books in the storage for as long as the server runs: unlike an [`Inbox`], it keeps the writer from nothing.
#[derive(Debug)]
pub(super) struct Bookings(mpsc::WeakSender<WriteRequest>);

impl SharedBudget for Bookings {
    fn book(&self, claim: BudgetClaim) -> BoxFuture<'_, Option<BookingAnswer>> {
        Box::pin(async move {
            match Inbox(self.0.upgrade()?).apply(Change::Book(claim)).await {
                Ok(ChangeOutcome::Booked(answer)) => Some(answer),
                Ok(_) | Err(Unavailable) => None,
            }
        })
    }

    fn note(&self, claim: BudgetClaim) {
        let (reply, _) = oneshot::channel();
        if let Some(inbox) = self.0.upgrade() {
            // Under so much load that this does not fit, it counts from the end of its booking.
            let _ = inbox.try_send((Change::Book(claim), reply));
        }
    }
}

/// The handle, and the writer's loop for a task of its own.
pub(super) fn open(
    mut writer: Writer,
    store: Store,
    queue: mpsc::Sender<Vec<Arrival>>,
    metrics: Arc<Metrics>,
) -> (Inbox, impl Future<Output = ()>) {
    let (sender, mut asks) = mpsc::channel::<WriteRequest>(WAITING);
    let write = async move {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            match timeout(TEND_EVERY, asks.recv_many(&mut batch, BATCH)).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(_) => {
                    if let Err(error) = writer.tend().await {
                        tracing::error!(%error, "the inbox was gone from the data directory, and is not put back yet");
                    }
                    continue;
                }
            }
            let (changes, replies): (Vec<_>, Vec<_>) = batch.drain(..).unzip();
            let answers = match writer.apply(&changes).await {
                Ok(applied) => {
                    metrics.inbox_commits.add(1);
                    metrics.written.send_replace(());
                    let new_rows = |it: &ChangeOutcome| {
                        if let ChangeOutcome::New(rows) = it {
                            rows.clone()
                        } else {
                            Vec::new()
                        }
                    };
                    let arrivals: Vec<Arrival> = applied.iter().flat_map(new_rows).collect();
                    if !arrivals.is_empty() {
                        store.notify_others();
                        // The queue is gone only when the server stops; the rows are found again at the next start.
                        queue.send(arrivals).await.ok();
                    }
                    applied.into_iter().map(Ok).collect()
                }
                Err(error) => {
                    metrics.inbox_failures.add(1);
                    tracing::error!(%error, changes = changes.len(), "the inbox did not take a batch");
                    vec![Err(Unavailable); replies.len()]
                }
            };
            for (reply, answer) in replies.into_iter().zip(answers) {
                // The sender may be gone (a timeout, a closed connection); what was written stays written.
                reply.send(answer).ok();
            }
        }
        if let Err(error) = writer.close().await {
            tracing::warn!(%error, "the inbox was not closed cleanly; nothing is lost");
        }
    };
    (Inbox(sender), write)
}
