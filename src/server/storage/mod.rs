//! What the server remembers: work not yet done, delivery ids, dead letters and wake-ups. It never holds the truth
//! about a pull request, which is in its repository. If all of it were lost, it would be rebuilt from GitHub, only
//! later.
//!
//! All writes are [`Change`]s, applied in batches by one [`Writer`]. Everybody else reads through [`Store`]. What
//! either does is written once, in SQL that both databases understand: an embedded SQLite file for one process, or a
//! PostgreSQL server for any number of them.

mod access_tokens;
mod budget;
mod index;
mod names;
mod postgres;
mod read;
mod recovery;
mod sql;
mod sqlite;
#[cfg(test)]
mod tests;
mod write;

use std::{fmt, path::Path, str::FromStr, sync::Arc};

use chrono::{DateTime, TimeDelta};
use sha2::{Digest as _, Sha256};
use sqlx::{
    FromRow, SqlSafeStr as _,
    any::AnyRow,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};
use sqlx_core::any::AnyConnectionBackend;
use tokio::task::JoinSet;

#[cfg(test)]
pub(super) use self::tests::sample;
pub(super) use self::{
    access_tokens::{AccessToken, TokenChange, TokenDigest},
    index::{IndexFilter, IndexVersion, Visibility},
    read::Store,
    write::Writer,
};
use self::{
    postgres::{POLL, PostgresServer},
    sql::{On, Query, Value},
    sqlite::SqliteFile,
};
use crate::github::{
    BookingAnswer, BudgetClaim, DeliveryAttempt, ListedPull, ObservedPull, ReconcileOutcome,
    Secret, WorkClass,
};
use loopgate_core::{InstallationId, RepoName, Timestamp, observed::Hint};
use loopgate_webhook::{Target, Work};

/// What the storage answers.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Storage that does not do what it must.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use the data directory {path}: {source}")]
    Directory {
        path: String,
        source: std::io::Error,
    },
    #[error(
        "another process works with the data directory {path}; stop it first, or give this one a directory of its own"
    )]
    InUse { path: String },
    #[error("the inbox database does not answer")]
    Silent,
    #[error("the inbox database is damaged: {0}")]
    Damaged(String),
    #[error("the inbox database: {}", words(.0))]
    Database(#[from] sqlx::Error),
    #[error("the inbox database cannot be brought to this version's form: {}", words_of_step(.0))]
    Migration(#[from] MigrateError),
    #[error(
        "the inbox database has step {found}, and this version knows {known}: a Loopgate more than {STEPS_AHEAD} steps newer \
         wrote it. Start that version again. Or give this one a fresh database (another DATABASE_URL, or move \
         inbox.sqlite* out of the data directory): it is only a queue, and a resync rebuilds it"
    )]
    TooNew { found: i64, known: i64 },
}

impl StoreError {
    /// Whether the database is away, and may come back by itself.
    pub(super) fn is_outage(&self) -> bool {
        let Some(error) = self.cause() else {
            return matches!(self, Self::Silent);
        };
        match error {
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => true,
            // Starting or stopping, or no connection is free
            // (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
            sqlx::Error::Database(error) => error.code().is_some_and(|code| {
                ["08", "53", "57"]
                    .iter()
                    .any(|class| code.starts_with(class))
            }),
            _ => false,
        }
    }

    fn cause(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Database(error)
            | Self::Migration(
                MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _),
            ) => Some(error),
            _ => None,
        }
    }
}

/// What went wrong, without the place in the database's own source that sqlx would add.
fn words(error: &sqlx::Error) -> String {
    error
        .as_database_error()
        .map_or_else(|| error.to_string(), |error| error.message().to_owned())
}

fn words_of_step(error: &MigrateError) -> String {
    match error {
        MigrateError::Execute(error) => words(error),
        MigrateError::ExecuteMigration(error, step) => format!("step {step}: {}", words(error)),
        other => other.to_string(),
    }
}

/// The row of `progress` that holds up to when the delivery log is known.
const LOG: &str = "delivery log";

/// Steps that a database may have and this version does not know: those of the next two versions, which only add.
const STEPS_AHEAD: i64 = 2;

/// Refuses a database that a version wrote which is too new.
async fn check_steps(connection: On<'_>, steps: usize) -> Result<()> {
    let newest = Query::new("SELECT MAX(version) FROM _sqlx_migrations")
        .fetch::<(Option<i64>,)>(connection)
        .await;
    // Before the first step there is no such table.
    let found = newest
        .ok()
        .and_then(|rows| rows.first()?.0)
        .unwrap_or_default();
    let known = i64::try_from(steps).unwrap_or(i64::MAX);
    if found > known + STEPS_AHEAD {
        Err(StoreError::TooNew { found, known })
    } else {
        Ok(())
    }
}

/// The `X-GitHub-Delivery` of a delivery: 1 to 100 visible ASCII characters. GitHub sends a UUID, and keeps it when the
/// delivery is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct DeliveryId(String);

impl FromStr for DeliveryId {
    /// It carries no reason: the caller states the expected form.
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let is_one =
            (1..=100).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_one.then(|| Self(text.to_owned())).ok_or(())
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

/// A reason to look at a target, committed and not yet dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Arrival {
    pub key: Key,
    pub seq: Seq,
    pub class: WorkClass,
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
    /// A delivery is kept, and what it asks for becomes work.
    Accept(Delivery),
    /// What was covered was worked on, and this is how it went.
    Settle {
        key: Key,
        covered: Covered,
        how: Box<WorkEnd>,
        now: Timestamp,
    },
    /// Work on a target begins, unless another process works on it. What begins and is never settled was under way when
    /// the process died.
    Begin(Key, Timestamp),
    /// A person wants a dead letter tried again.
    Replay(Key),
    /// A person wants a look.
    Look(Key, Timestamp),
    /// Deliveries in GitHub's log that ended since the last time, of each event the attempt that counts; and up to when
    /// the log is known.
    Log {
        attempts: Vec<DeliveryAttempt>,
        until: Timestamp,
    },
    /// When another attempt is to be asked for in place of this one; `None`: it has been asked for.
    Redelivery {
        attempt: u64,
        due_at: Option<Timestamp>,
    },
    /// These pull requests of a repository are open.
    Listed(PullList),
    /// So many of an installation's pull requests of which a look is wanted become work, those that changed last first.
    Resync {
        installation: InstallationId,
        most: usize,
        now: Timestamp,
    },
    /// Somebody's tokens change.
    Tokens(TokenChange),
    /// A process books something of an installation's limits.
    Book(BudgetClaim),
    /// Wake-ups that are due become work.
    Wake(Timestamp),
    /// Forgets a bounded number of old ids, and old dead letters.
    Prune(Timestamp),
    /// Writes a row that means nothing, to see whether writing works.
    Probe(Timestamp),
}

impl Change {
    /// Whom it is about, where that is one target.
    const fn key(&self) -> Option<&Key> {
        match self {
            Self::Settle { key, .. }
            | Self::Begin(key, _)
            | Self::Replay(key)
            | Self::Look(key, _) => Some(key),
            _ => None,
        }
    }
}

/// The open pull requests of a repository.
#[derive(Debug, Clone)]
pub(super) struct PullList {
    pub installation: InstallationId,
    pub repository: RepoName,
    pub pulls: Vec<ListedPull>,
    /// Whether these are all of them.
    pub is_complete: bool,
    /// When the list was asked for.
    pub now: Timestamp,
}

/// What a job read of its target's row. Whatever came later is the next job's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Covered {
    pub up_to: Seq,
    /// Characters of the column `hints`.
    pub hints: i64,
    /// Differs for each time that work on the target began.
    pub fence: Seq,
}

/// How work on a target ended.
#[derive(Debug, Clone)]
pub(super) enum WorkEnd {
    /// A look ended well.
    Done(ReconcileOutcome),
    /// Not a pull request itself: these are, and each becomes work with these hints.
    Resolved {
        into: Vec<Key>,
        origin: WorkOrigin,
        hints: Vec<Hint>,
        class: WorkClass,
    },
    /// It is tried again.
    Failed(Trouble),
    /// Given up, at the time of its retry, until somebody replays it or something new happens there.
    Dead(Trouble),
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
pub(super) enum ChangeOutcome {
    /// This is on disk, and new.
    New(Vec<Arrival>),
    /// This delivery was accepted before.
    Duplicate,
    /// What there is to do on the target, which no other job or process may work on now; `None` if there is nothing, or
    /// another does.
    Begun(Option<Box<TargetWork>>),
    Booked(BookingAnswer),
    /// So many rows of the last statement are new, changed or gone. Of ids to forget: call again while there are any.
    Rows(u64),
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
    /// When the oldest delivery came, where that is known.
    pub waiting_since: Option<Timestamp>,
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

/// The last target of a page, in the storage's order: its columns `repository` and `what`.
pub(super) type Cursor = (String, String);

/// How much there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Targets that are not done, those given up not counted.
    pub waiting: u64,
    pub dead: u64,
    /// When the first delivery came that a waiting target is not yet rid of, by [`WorkClass::ALL`].
    pub oldest: [Option<Timestamp>; WorkClass::ALL.len()],
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

/// Opens the PostgreSQL server of that address, or else the file in `directory`, and brings its tables up to date.
///
/// # Errors
/// [`StoreError`] if it cannot be used.
pub(super) async fn open(address: Option<&Secret>, directory: &Path) -> Result<(Store, Writer)> {
    let database = match address {
        Some(address) => Database::Postgres(Box::new(PostgresServer::at(address.expose())?)),
        None => Database::Sqlite(SqliteFile::in_directory(directory)?),
    };
    if let Database::Postgres(server) = &database {
        server.migrate().await?;
    }
    let mut connection = database.connect().await?;
    if !database.is_shared() {
        Query::new("DELETE FROM process")
            .execute(&mut *connection)
            .await?;
    }
    let enter = Query::new("INSERT INTO process (alive_until) VALUES ({lease}) RETURNING id");
    let entered: Vec<(i64,)> = enter.fetch(&mut *connection).await?;
    let process = entered.first().map_or(0, |(id,)| *id);
    let tasks = match &database {
        Database::Sqlite(_) => JoinSet::new(),
        Database::Postgres(server) => server.attend(process),
    };
    let store = Store {
        database: Arc::new(database),
        process,
    };
    Ok((
        store.clone(),
        Writer {
            store,
            connection: Some(connection),
            next_seq: 0,
            tasks,
        },
    ))
}

/// Where it is kept.
#[derive(Debug)]
enum Database {
    Sqlite(SqliteFile),
    Postgres(Box<PostgresServer>),
}

impl Database {
    /// A connection for the writer.
    async fn connect(&self) -> Result<Box<dyn AnyConnectionBackend>> {
        Ok(match self {
            Self::Sqlite(file) => Box::new(file.connect().await?),
            Self::Postgres(server) => Box::new(server.connect().await?),
        })
    }

    /// The answer to a question.
    async fn read<T: for<'r> FromRow<'r, AnyRow>>(&self, query: Query) -> Result<Vec<T>> {
        match self {
            Self::Sqlite(file) => {
                let readers = file.readers.read().clone();
                Ok(query.fetch(&mut *readers.acquire().await?).await?)
            }
            Self::Postgres(server) => server.read(query).await,
        }
    }

    const fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }
}

/// Built here and not by the macro of sqlx, which needs sqlx compiled a second time for the machine that builds. Steps
/// that a newer version has taken are left alone.
fn migrator(steps: &'static [(&str, &str)]) -> Migrator {
    let steps = (1..).zip(steps).map(|(version, (name, sql))| {
        Migration::new(
            version,
            (*name).into(),
            MigrationType::Simple,
            sql.into_sql_str(),
            false,
        )
    });
    let mut migrator = Migrator::with_migrations(steps.collect());
    migrator.set_ignore_missing(true);
    migrator
}

/// How a key is read: installation, repository and what.
type KeyColumns = (i64, String, String);

/// The key in these columns; `None`, and a warning, if this version cannot read it.
fn key((installation, repository, what): KeyColumns) -> Option<Key> {
    let target = names::target(&repository, &what);
    if target.is_none() {
        tracing::warn!(
            repository,
            what,
            "the inbox holds a target that this version cannot read"
        );
    }
    Some(Key {
        installation: InstallationId::new(installation.cast_unsigned()),
        target: target?,
    })
}

/// The class that a number stands for; what a later version may add is not urgent.
fn class(number: i64) -> WorkClass {
    usize::try_from(number)
        .ok()
        .and_then(|at| WorkClass::ALL.get(at).copied())
        .unwrap_or(WorkClass::Spread)
}

fn time(millis: i64) -> Timestamp {
    DateTime::from_timestamp_millis(millis).unwrap_or_default()
}
