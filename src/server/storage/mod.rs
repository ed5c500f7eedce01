//! What the server remembers: work not yet done, delivery ids, dead letters and wake-ups. It never holds the truth
//! about a pull request, which is in its repository. If all of it were lost, it would be rebuilt from GitHub, only
//! later.
//!
//! All writes are [`Change`]s, applied in batches by one [`Writer`], each batch one transaction. Everybody else reads
//! through [`Store`]. The embedded SQLite file is the one storage so far.

mod names;
mod sqlite;

use std::{fmt, str::FromStr};

pub(super) use sqlite::{Store, Writer, open};

use super::reconciler::{LookOutcome, Requeue};
use crate::github::{
    DeliveryAttempt, ListedPull, Seen,
    webhook::{Target, Work},
};
use loopgate_core::{InstallationId, RepoName, Timestamp, observed::Hint};

/// Storage that does not do what it must.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use the data directory {path}: {source}")]
    Directory { path: String, source: std::io::Error },
    #[error(
        "another process works with the data directory {path}; stop it first, or give this one a directory of its own"
    )]
    InUse { path: String },
    #[error("the inbox database: {0}")]
    Database(#[from] sqlx::Error),
    #[error("the inbox database cannot be brought to this version's form: {0}")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

/// The `X-GitHub-Delivery` of a delivery: 1 to 100 visible ASCII characters. GitHub sends a UUID, and keeps it when the
/// delivery is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeliveryId(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a delivery id is 1 to 100 visible ASCII characters")]
pub struct BadDeliveryId;

impl FromStr for DeliveryId {
    type Err = BadDeliveryId;
    fn from_str(text: &str) -> Result<Self, BadDeliveryId> {
        if (1..=100).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadDeliveryId)
        }
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the queue is keyed by: one target of one installation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub installation: InstallationId,
    pub target: Target,
}

/// The order of deliveries over all targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seq(pub i64);

/// How soon a target should have its turn among those of its installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    /// After everything else: one of many that a change of configuration, team or installation concerns.
    Spread,
    /// Somebody did something on this very pull request.
    Direct,
}

/// A reason to look at a target, committed and not yet dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrival {
    pub key: Key,
    pub seq: Seq,
    pub urgency: Urgency,
}

/// A delivery that passed all checks and asks for work.
#[derive(Debug, Clone)]
pub(super) struct Delivery {
    pub id: DeliveryId,
    pub event: String,
    pub received_at: Timestamp,
    pub work: Work,
}

/// Where work came from; for logs, and carried on when a commit becomes its pull requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkOrigin {
    /// Empty for a wake-up or a replay.
    pub delivery: String,
    pub event: String,
    pub received_at: Timestamp,
}

/// One write.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Accept(Delivery),
    /// What was covered was worked on, and this is how it went.
    Settle {
        key: Key,
        covered: Covered,
        how: WorkEnd,
        now: Timestamp,
    },
    /// Work on a target begins. What begins and is never settled was under way when the process died.
    Begin(Key),
    /// A person wants a dead letter tried again.
    Replay(Key),
    /// A person wants a look.
    Look {
        key: Key,
        now: Timestamp,
    },
    /// What GitHub's log says of the deliveries that ended since the last time.
    Log {
        /// Of each event the attempt that counts.
        attempts: Vec<DeliveryAttempt>,
        /// Up to when the log is known.
        until: Timestamp,
    },
    /// When another attempt is to be asked for in place of this one; `None`: it has been asked for.
    Redelivery {
        attempt: u64,
        due_at: Option<Timestamp>,
    },
    /// These pull requests of a repository are open.
    Listed {
        installation: InstallationId,
        repository: RepoName,
        pulls: Vec<ListedPull>,
        /// Whether these are all of them.
        is_complete: bool,
        /// When the list was asked for.
        now: Timestamp,
    },
    /// So many of an installation's pull requests of which a look is wanted become work, those that changed last first.
    Resync {
        installation: InstallationId,
        most: usize,
        now: Timestamp,
    },
    /// Wake-ups that are due become work.
    Wake {
        now: Timestamp,
    },
    /// Forgets a bounded number of old ids, and old dead letters.
    Prune {
        now: Timestamp,
    },
    /// Writes a row that means nothing, to see whether writing works.
    Probe {
        now: Timestamp,
    },
}

/// What a job read of its target's row. Whatever came later is the next job's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Covered {
    pub up_to: Seq,
    /// Characters of the column `hints`.
    pub hints: i64,
}

/// How work on a target ended.
#[derive(Debug, Clone)]
pub(super) enum WorkEnd {
    Done(LookOutcome),
    /// Not a pull request itself: these are, and each becomes work with these hints.
    Resolved {
        into: Vec<Key>,
        origin: WorkOrigin,
        hints: Vec<Hint>,
        urgency: Urgency,
    },
    Failed(Trouble),
    /// Given up until somebody replays it or something new happens there.
    Dead {
        trouble: Trouble,
        at: Timestamp,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    /// In a row; those of a GitHub that does not answer are not counted.
    pub failures: u32,
    /// When the first of the failures in a row was, of any kind.
    pub failing_since: Timestamp,
    pub reason: String,
    pub retry_at: Timestamp,
}

/// What a [`Change`] led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Applied {
    /// This is on disk, and new.
    New(Vec<Arrival>),
    /// This delivery was accepted before.
    Duplicate,
    Recorded,
    /// So many ids are gone; call again while there are any.
    Pruned(u64),
}

/// What there is to do on a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TargetWork {
    pub covered: Covered,
    /// Of the newest delivery.
    pub origin: WorkOrigin,
    /// Of all deliveries, oldest first.
    pub hints: Vec<Hint>,
    /// In a row, before this attempt.
    pub failures: u32,
    pub failing_since: Option<Timestamp>,
    /// How often work on it began and the process died before it ended.
    pub begun: u32,
}

/// A stretch of an installation's unfinished targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub pending: Vec<Pending>,
    /// Where the next page starts; `None` after the last one.
    pub next: Option<Cursor>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pending {
    pub target: Target,
    pub newest: Seq,
    pub retry_at: Option<Timestamp>,
}

/// The last target of a page, in the storage's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub repository: String,
    pub what: String,
}

/// How much there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    /// Targets that are not done, those given up not counted.
    pub waiting: u64,
    pub dead: u64,
    /// When the first delivery came that a waiting target is not yet rid of.
    pub oldest: Option<Timestamp>,
}

/// Work that failed ten times in a row and was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    pub key: Key,
    pub failures: u32,
    /// The last failure's.
    pub reason: String,
    pub died_at: Timestamp,
}
