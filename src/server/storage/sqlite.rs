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

#[cfg(unix)]
use std::os::unix::fs::MetadataExt;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, RwLock},
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection as _, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{Connection, Query, StoreError, migrator};

/// The steps to the tables of today, oldest first. The database keeps the digest of each that it took, so a released one
/// stays as it is.
const MIGRATIONS: &[(&str, &str)] = &[
    ("inbox", include_str!("../../../migrations/sqlite/0001_inbox.sql")),
    ("healing", include_str!("../../../migrations/sqlite/0002_healing.sql")),
    ("recovery", include_str!("../../../migrations/sqlite/0003_recovery.sql")),
    ("claims", include_str!("../../../migrations/sqlite/0004_claims.sql")),
    ("classes", include_str!("../../../migrations/sqlite/0005_classes.sql")),
    ("open loops", include_str!("../../../migrations/sqlite/0006_open_loops.sql")),
    ("problems", include_str!("../../../migrations/sqlite/0007_problems.sql")),
    ("access tokens", include_str!("../../../migrations/both/access_tokens.sql")),
];

pub(super) const FILE: &str = "inbox.sqlite";
const LOCK: &str = "lock";

/// The file in the data directory: how it is opened, and who reads it.
#[derive(Debug)]
pub(super) struct SqliteFile {
    directory: PathBuf,
    readers: RwLock<SqlitePool>,
    /// The right to use the data directory.
    lock: Mutex<File>,
    /// Which file is open.
    file: Mutex<Option<FileId>>,
    /// The number of this process.
    pub process: i64,
}

/// Device and inode.
type FileId = (u64, u64);

impl SqliteFile {
    /// Takes the right to use `directory`. Readers connect when they are first used, after the writer has created the
    /// file.
    pub fn in_directory(directory: &Path) -> Result<Self, StoreError> {
        let lock = Mutex::new(lock(directory)?);
        let readers = RwLock::new(readers(directory));
        Ok(Self { directory: directory.to_owned(), readers, lock, file: Mutex::default(), process: 0 })
    }

    fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    pub fn readers(&self) -> SqlitePool {
        self.readers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A connection for the writer to the file, created or brought to today's tables first.
    pub async fn connect(&self) -> Result<SqliteConnection, StoreError> {
        self.lock_again()?;
        let mut connection = SqliteConnection::connect_with(&options(&self.directory)).await?;
        migrator(MIGRATIONS).run_direct(None, &mut connection, false).await?;
        let opened = file_id(fs::metadata(self.path()));
        let before = std::mem::replace(&mut *self.file.lock().unwrap_or_else(PoisonError::into_inner), opened);
        if before.is_some() && before != opened {
            *self.readers.write().unwrap_or_else(PoisonError::into_inner) = readers(&self.directory);
        }
        Ok(connection)
    }

    /// Whether the file that is open is the one in the data directory.
    pub fn is_in_place(&self) -> bool {
        file_id(fs::metadata(self.path())) == *self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what an open connection still sees to where the file was: beside it first, since half a file would be taken
    /// for somebody else's.
    pub async fn restore(&self, connection: &mut Connection) -> Result<(), StoreError> {
        self.lock_again()?;
        if file_id(fs::metadata(self.path())).is_none() {
            // What is left of the removed file's log would be taken for the new one's.
            for old in ["-wal", "-shm", "-new"] {
                fs::remove_file(self.directory.join(format!("{FILE}{old}"))).ok();
            }
            let new = self.directory.join(format!("{FILE}-new"));
            Query::new("VACUUM INTO $1").bind(new.display().to_string()).execute(connection.on()).await?;
            fs::rename(new, self.path())
                .map_err(|source| StoreError::Directory { path: self.directory.display().to_string(), source })?;
        }
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
