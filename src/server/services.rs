//! What the parts of a running server share.

use std::sync::Arc;

use super::{clock::Clock, inbox::Inbox, metrics::Metrics, storage::Store};
use crate::github::Github;

/// Clones share everything. The storage's writer ends when the last of them is dropped.
#[derive(Clone)]
pub(super) struct Services {
    pub store: Store,
    pub inbox: Inbox,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
    /// The GitHub that pages and recovery ask; none in a server that only takes deliveries.
    pub github: Option<Github>,
}
