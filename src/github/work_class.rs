//! For whom a request is made: what people wait for goes first, here and in the server's queue.

use std::future::Future;

use serde::Serialize;

loopgate_core::words! {
    /// Who waits for a piece of work, the most urgent first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum WorkClass {
        /// Somebody commented, reviewed or pressed a button.
        Person = "person",
        /// An author or an agent: the verdict on a push.
        Author = "author",
        /// Nobody yet: a check went on.
        Progress = "progress",
        /// Nobody: one of many that a change elsewhere concerns, or a resync asks for.
        Spread = "spread",
    }
}

/// The work that requests are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Served {
    pub class: WorkClass,
    /// Pull requests of the installation that wait for their turn with a person or an author behind them: each needs
    /// its check runs before anybody needs a comment.
    pub behind: usize,
}

tokio::task_local! {
    static SERVED: Served;
}

/// Does some work in whose name its requests are made. It covers what the work awaits, not tasks that it starts.
pub async fn serving<T>(served: Served, work: impl Future<Output = T>) -> T {
    SERVED.scope(served, work).await
}

/// In whose name a request is made now: without a word of it an author's.
pub(super) fn served() -> Served {
    SERVED.try_with(|served| *served).unwrap_or(Served { class: WorkClass::Author, behind: 0 })
}
