//! One SQLite file in the data directory: WAL, full sync, nothing to install.
//!
//! Races: there is one writer, so changes never meet each other; readers see the last commit, and work is announced to
//! the queue only after its commit, so whoever is told of it can read it. A second process is kept out by a lock on the
//! file `lock` beside the database, which the operating system drops with the process.
//!
//! Healing: a writer that failed opens another connection for its next batch, so that it works again as soon as the
//! disk does. A file that was removed while it is open is written anew from the open one.
//!
//! Cost: what a transaction pays for, beside its sync, is the number of pages it touches. So ids are indexed in the
//! order of the time within them, which makes a batch touch the end of the index only; and a target has one row, which
//! later deliveries update, so a busy pull request stays on one page.

mod read;
mod recovery;
#[cfg(test)]
mod tests;
mod write;

#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use chrono::DateTime;
use sqlx::{
    ConnectOptions, Connection, Row, SqlSafeStr as _, Sqlite, SqliteConnection, SqlitePool,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous},
};

pub(in crate::server) use self::{read::Store, write::Writer};
use super::{Key, StoreError, names};
use loopgate_core::{InstallationId, Timestamp};

/// The steps to the tables of today, oldest first. The database keeps the digest of each that it took, so a released one
/// stays as it is.
const MIGRATIONS: [(&str, &str); 3] = [
    ("inbox", include_str!("../../../../migrations/sqlite/0001_inbox.sql")),
    ("healing", include_str!("../../../../migrations/sqlite/0002_healing.sql")),
    ("recovery", include_str!("../../../../migrations/sqlite/0003_recovery.sql")),
];

const FILE: &str = "inbox.sqlite";
const LOCK: &str = "lock";

/// The file in the data directory: how it is opened, and who reads it.
#[derive(Debug)]
struct Database {
    directory: PathBuf,
    readers: RwLock<SqlitePool>,
    /// The right to use the data directory.
    lock: Mutex<File>,
    /// Which file is open.
    file: Mutex<Option<FileId>>,
}

/// Device and inode.
type FileId = (u64, u64);

/// Opens, and first creates or migrates, `inbox.sqlite` in `directory`.
pub(in crate::server) async fn open(directory: &Path) -> Result<(Store, Writer), StoreError> {
    let lock = Mutex::new(lock(directory)?);
    // Readers connect when they are first used, after the writer has created the file.
    let readers = RwLock::new(readers(directory));
    let database = Arc::new(Database { directory: directory.to_owned(), readers, lock, file: Mutex::default() });
    let (connection, next_seq) = database.connect().await?;
    Ok((Store::new(database.clone()), Writer::new(database, connection, next_seq)))
}

impl Database {
    fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    fn readers(&self) -> SqlitePool {
        self.readers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A connection for the writer, and the next number of a delivery.
    async fn connect(&self) -> Result<(SqliteConnection, i64), StoreError> {
        let mut connection = SqliteConnection::connect_with(&options(&self.directory)).await?;
        migrator().run_direct(None, &mut connection, false).await?;
        let newest =
            "SELECT MAX(COALESCE((SELECT MAX(newest) FROM work), 0), COALESCE((SELECT MAX(seq) FROM seen), 0))";
        let newest: i64 = sqlx::query(newest).fetch_one(&mut connection).await?.try_get(0)?;
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file_id(fs::metadata(self.path()));
        Ok((connection, newest + 1))
    }

    /// Whether the file that is open is the one in the data directory.
    fn is_in_place(&self) -> bool {
        file_id(fs::metadata(self.path())) == *self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what an open connection still sees to where the file was: beside it first, since half a file would be taken
    /// for somebody else's.
    async fn restore(&self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        self.lock_again()?;
        if file_id(fs::metadata(self.path())).is_none() {
            // What is left of the removed file's log would be taken for the new one's.
            for old in ["-wal", "-shm", "-new"] {
                fs::remove_file(self.directory.join(format!("{FILE}{old}"))).ok();
            }
            let new = self.directory.join(format!("{FILE}-new"));
            sqlx::query("VACUUM INTO ?1").bind(new.display().to_string()).execute(connection).await?;
            fs::rename(new, self.path())
                .map_err(|source| StoreError::Directory { path: self.directory.display().to_string(), source })?;
        }
        *self.readers.write().unwrap_or_else(PoisonError::into_inner) = readers(&self.directory);
        Ok(())
    }

    /// Takes the right to use the directory anew, where the lock was removed too.
    fn lock_again(&self) -> Result<(), StoreError> {
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if file_id(fs::metadata(self.directory.join(LOCK))) != file_id(held.metadata()) {
            *held = lock(&self.directory)?;
        }
        Ok(())
    }
}

fn options(directory: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(directory.join(FILE))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // Only a person with a database tool can hold the lock; deliveries are refused if it takes longer.
        .busy_timeout(Duration::from_secs(2))
        .pragma("temp_store", "memory")
        .statement_cache_capacity(256)
        .disable_statement_logging()
}

fn readers(directory: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(2)
        .connect_lazy_with(options(directory).create_if_missing(false).read_only(true))
}

#[cfg(unix)]
fn file_id(metadata: io::Result<fs::Metadata>) -> Option<FileId> {
    let metadata = metadata.ok()?;
    Some((MetadataExt::dev(&metadata), MetadataExt::ino(&metadata)))
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
fn file_id(_: io::Result<fs::Metadata>) -> Option<FileId> {
    Some((0, 0))
}

/// Built here and not by the macro of sqlx, which needs sqlx compiled a second time for the machine that builds.
fn migrator() -> Migrator {
    let steps = (1..).zip(MIGRATIONS).map(|(version, (name, sql))| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(steps.collect())
}

fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = || directory.display().to_string();
    let attempt = || {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(directory)?;
        File::options().create(true).truncate(false).write(true).open(directory.join(LOCK))
    };
    let file = attempt().map_err(|source| StoreError::Directory { path: path(), source })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(StoreError::InUse { path: path() }),
        Err(fs::TryLockError::Error(source)) => Err(StoreError::Directory { path: path(), source }),
    }
}

type Query<'q> = sqlx::query::Query<'q, Sqlite, sqlx::sqlite::SqliteArguments>;

/// Binds the key as `?1`, `?2` and `?3`.
fn by_key(sql: &'static str, key: &Key) -> Query<'static> {
    let (repository, what) = names::columns(&key.target);
    sqlx::query(sql).bind(key.installation.get().cast_signed()).bind(repository).bind(what)
}

/// The key in a row's first three columns; `None`, and a warning, if this version cannot read it.
fn key(row: &SqliteRow) -> Result<Option<Key>, StoreError> {
    let (repository, what) = (row.try_get(1)?, row.try_get(2)?);
    let target = names::target(repository, what);
    if target.is_none() {
        tracing::warn!(repository, what, "the inbox holds a target that this version cannot read");
    }
    let installation = installation(row)?;
    Ok(target.map(|target| Key { installation, target }))
}

fn installation(row: &SqliteRow) -> Result<InstallationId, StoreError> {
    Ok(InstallationId::new(row.try_get::<i64, _>(0)?.cast_unsigned()))
}

fn time(millis: Option<i64>) -> Option<Timestamp> {
    DateTime::from_timestamp_millis(millis?)
}
