//! For whom a request is made: what people wait for goes first, here and in the server's queue.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde::Serialize;

loopgate_core::words! {
    /// Who waits for a piece of work, the most urgent first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum WorkClass {
        /// Somebody commented, reviewed or pressed a button.
        Person = "person",
        /// An author or an agent: the verdict on a push.
        Author = "author",
        /// No person waits yet: a check made progress.
        Progress = "progress",
        /// No person waits: one of many that a change elsewhere concerns, or a resync asks for.
        Spread = "spread",
    }
}

/// The class of work under way. It only rises: a person may start to wait for work that began without one.
#[derive(Debug, Clone)]
pub struct Urgency(Arc<AtomicUsize>);

impl Urgency {
    pub fn class(&self) -> WorkClass {
        WorkClass::ALL.get(self.0.load(Ordering::Relaxed)).copied().unwrap_or(WorkClass::Spread)
    }

    /// Somebody of this class waits for it too. All clones know.
    pub fn raise(&self, to: WorkClass) {
        self.0.fetch_min(to as usize, Ordering::Relaxed);
    }
}

impl From<WorkClass> for Urgency {
    fn from(class: WorkClass) -> Self {
        Self(Arc::new(AtomicUsize::new(class as usize)))
    }
}

/// Other targets of an installation, queued or under way, that a person or an author waits for: each needs its check runs
/// before any pull request needs a comment. All clones share one number.
#[derive(Debug, Clone, Default)]
pub struct Behind(Arc<AtomicUsize>);

impl Behind {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub fn set(&self, count: usize) {
        self.0.store(count, Ordering::Relaxed);
    }
}

/// The work that requests are made for.
#[derive(Debug, Clone)]
pub struct Served {
    pub urgency: Urgency,
    pub behind: Behind,
}

impl From<WorkClass> for Served {
    /// No work waits behind it.
    fn from(class: WorkClass) -> Self {
        Self { urgency: class.into(), behind: Behind::default() }
    }
}

tokio::task_local! {
    static SERVED: Served;
}

/// Does some work in whose name its requests are made. It covers what the work awaits, not tasks that it starts.
pub async fn serving<T>(served: impl Into<Served>, work: impl Future<Output = T>) -> T {
    SERVED.scope(served.into(), work).await
}

/// In whose name a request is made now: without a word of it an author's.
pub(super) fn served() -> Served {
    SERVED.try_with(Served::clone).unwrap_or_else(|_| WorkClass::Author.into())
}
