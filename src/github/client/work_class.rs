//! For whom a request is made: what people wait for goes first, here and in the server's queue.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

pub use loopgate_webhook::WorkClass;

/// The work that requests are made for. Its class only rises: a person may start to wait for work that began without
/// one. Clones share everything.
#[derive(Debug, Clone)]
pub struct Served {
    class: Arc<AtomicUsize>,
    /// Other targets of the installation, queued or under way, that a person or an author waits for: each needs its
    /// check runs before any pull request needs a comment.
    pub behind: Arc<AtomicUsize>,
}

impl Served {
    pub fn new(class: WorkClass, behind: Arc<AtomicUsize>) -> Self {
        Self {
            class: Arc::new(AtomicUsize::new(class as usize)),
            behind,
        }
    }

    pub fn class(&self) -> WorkClass {
        WorkClass::ALL
            .get(self.class.load(Ordering::Relaxed))
            .copied()
            .unwrap_or(WorkClass::Spread)
    }

    /// Somebody of this class waits for it too.
    pub fn raise(&self, to: WorkClass) {
        self.class.fetch_min(to as usize, Ordering::Relaxed);
    }
}

impl From<WorkClass> for Served {
    /// No work waits behind it.
    fn from(class: WorkClass) -> Self {
        Self::new(class, Arc::default())
    }
}

tokio::task_local! {
    static SERVED: Served;
}

/// Does some work in whose name its requests are made. It covers what the work awaits, not tasks that it starts.
pub async fn serving<T>(served: impl Into<Served>, work: impl Future<Output = T>) -> T {
    SERVED.scope(served.into(), work).await
}

/// In whose name a request is made now; an author's where none is set.
pub(in crate::github) fn served() -> Served {
    SERVED
        .try_with(Served::clone)
        .unwrap_or_else(|_| WorkClass::Author.into())
}
