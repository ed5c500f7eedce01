//! `loopgate serve`: receives webhooks, keeps them safe, and sees to it that every pull request they concern is
//! looked at.
//!
//! ```text
//! receive ─► inbox ─► dirty ─► worker ─► Reconciler
//! (verify,   (one     (one     (calls, retries,
//!  route)    fsync     entry    gives up)
//!            for many) per PR)
//! ```
//! A delivery is answered once it is on disk, and leaves the disk once a reconcile that began after it ended well.
//! Everything between is rebuilt from the disk at start, so the process may die at any instant. The room knows
//! nothing of what a reconcile does: that is the [`Reconciler`] it is given.

mod channel;
mod config;
mod dashboard;
mod dirty;
mod examining;
mod github_reconciler;
mod groups;
mod inbox;
mod limiter;
mod listener;
mod metrics;
mod operating;
mod pages;
mod receive;
mod reconciler;
mod recovery;
mod running;
mod setup;
mod signature;
#[cfg(feature = "demo")]
mod simulated;
mod storage;
mod worker;

// What the files of this room work with.
use std::sync::Arc;

use tokio::sync::mpsc;

use self::{
    dashboard::{Live, Visitors},
    dirty::{DirtySet, JobEnd, Start},
    examining::Doctor,
    groups::Groups,
    limiter::{Limiter, site},
    listener::secured,
    metrics::{DeliveryResult, Metrics},
    pages::Readiness,
    receive::Receiver,
    reconciler::Overview,
    recovery::RecoveryRequest,
    storage::{
        Arrival, Change, ChangeOutcome, Counts, Delivery, DeliveryId, Store, TargetWork,
        TokenChange, Trouble, WorkEnd, Writer,
    },
    worker::{Mailbox, Rest, Shared, Worker},
};
use crate::github::{Clock, Github, LoopReader};
pub use config::{DATA_DIR, ServerConfig, ServerConfigError, parse_url};
pub use dirty::Limits;
pub use github_reconciler::{GithubReconciler, own_app};
pub use operating::{GUARD, Replay, ResyncOf};
pub use reconciler::{PullRequest, Reconciler, Unresolved};
pub use running::{Running, Server, Shutdown, StartError, stop_signal, survive_file_size_limit};
pub use setup::{SetupPages, known_setup_token, setup_token};
pub use signature::Signatures;
#[cfg(feature = "demo")]
pub use simulated::{SimulatedClock, serve_simulated, settle_simulated};
pub use storage::{DeadLetter, Key, StoreError};

/// What the parts of a running server share. Clones share everything; the storage's writer ends when the last of them
/// is dropped.
#[derive(Clone)]
struct Services {
    store: Store,
    inbox: inbox::Inbox,
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    /// The GitHub that pages and recovery ask; none in a server that only takes deliveries.
    github: Option<Github>,
}

/// What the admin listener shows.
struct Admin {
    services: Services,
    readiness: Arc<Readiness>,
    overview: Box<dyn Fn() -> Overview + Send + Sync>,
    /// Takes requests for recovery, where there is any.
    recovery: Option<mpsc::Sender<RecoveryRequest>>,
    /// Reads loops for the dashboard's pages.
    loops: Option<LoopReader>,
    doctor: Option<Arc<Doctor>>,
    live: Live,
    /// What forms of the dashboard are known by.
    form_token: String,
}
