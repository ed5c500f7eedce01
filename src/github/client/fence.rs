//! A last question before a request that changes something: is the work it belongs to still ours?
//!
//! Where several processes share one queue, one may be stopped for so long that another takes its work over. When it
//! wakes, it must not write. All such requests go through one place of the client, and ask there.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::github::client::error::{Error, Result};

/// Whether the work is ours; else why not, in one line.
pub trait Fence: Send + Sync {
    fn stands(&self) -> BoxFuture<'_, Result<(), String>>;
}

tokio::task_local! {
    static FENCE: Arc<dyn Fence>;
}

/// Does some work, whose requests are sent only while the fence stands. It covers what the work awaits, not tasks that
/// it starts.
pub async fn fenced<T>(fence: Option<Arc<dyn Fence>>, work: impl Future<Output = T>) -> T {
    match fence {
        Some(fence) => FENCE.scope(fence, work).await,
        None => work.await,
    }
}

/// # Errors
/// [`Error::Unavailable`] where the fence does not stand: the process that has the work now does it.
pub(in crate::github) async fn check(path: &str) -> Result<()> {
    let Ok(fence) = FENCE.try_with(Arc::clone) else {
        return Ok(());
    };
    let unavailable = |message| Error::Unavailable {
        path: path.to_owned(),
        message,
        retry_at: None,
    };
    fence.stands().await.map_err(unavailable)
}
