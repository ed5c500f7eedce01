//! One SQLite file in the data directory: WAL, full sync, nothing to install.
//!
//! Races: there is one writer, so changes never meet each other; readers see the last commit, and work is announced to
//! the queue only after its commit, so a job that gets it can read it. A second process is kept out by a lock on the
//! file `lock` beside the database, which the operating system drops with the process.
//!
//! Healing: a writer that failed opens another connection for its next batch, so that it works again as soon as the
//! disk does. A file that was removed while it is open, or whose log was, is written anew from the open one. A file
//! that is damaged is moved aside, and an empty one takes its place: what it held is found again by a resync.
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
    time::Duration,
};

use parking_lot::{Mutex, RwLock};
use sqlx::{
    ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::{On, Query, Result, StoreError, check_steps, migrator};

/// The steps to the tables of today, oldest first. The database keeps the digest of each that it took, so a released
/// one stays as it is.
const MIGRATIONS: &[(&str, &str)] = &[
    (
        "inbox",
        include_str!("../../../migrations/sqlite/0001_inbox.sql"),
    ),
    (
        "healing",
        include_str!("../../../migrations/sqlite/0002_healing.sql"),
    ),
    (
        "recovery",
        include_str!("../../../migrations/sqlite/0003_recovery.sql"),
    ),
    (
        "claims",
        include_str!("../../../migrations/sqlite/0004_claims.sql"),
    ),
    (
        "classes",
        include_str!("../../../migrations/sqlite/0005_classes.sql"),
    ),
    (
        "open loops",
        include_str!("../../../migrations/sqlite/0006_open_loops.sql"),
    ),
    (
        "problems",
        include_str!("../../../migrations/sqlite/0007_problems.sql"),
    ),
    (
        "access tokens",
        include_str!("../../../migrations/both/access_tokens.sql"),
    ),
    (
        "budget",
        include_str!("../../../migrations/both/budget.sql"),
    ),
    ("turns", include_str!("../../../migrations/both/turns.sql")),
    ("lanes", include_str!("../../../migrations/both/lanes.sql")),
];

pub(super) const FILE: &str = "inbox.sqlite";
/// What the names of a database's files end with.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];
const LOCK: &str = "lock";

/// The file in the data directory: how it is opened, and who reads it.
#[derive(Debug)]
pub(super) struct SqliteFile {
    directory: PathBuf,
    pub readers: RwLock<SqlitePool>,
    /// The right to use the data directory.
    lock: Mutex<File>,
    /// Which files are open: the database, its log, and the index of that.
    files: Mutex<[Option<FileId>; PARTS.len()]>,
}

/// Device and inode.
type FileId = (u64, u64);

impl SqliteFile {
    /// Takes the right to use `directory`. Readers connect when they are first used, after the writer has created the
    /// file.
    pub fn in_directory(directory: &Path) -> Result<Self> {
        let (lock, readers) = (
            Mutex::new(lock(directory)?),
            RwLock::new(readers(directory)),
        );
        Ok(Self {
            directory: directory.to_owned(),
            readers,
            lock,
            files: Mutex::default(),
        })
    }

    fn path(&self, part: &str) -> PathBuf {
        self.directory.join(format!("{FILE}{part}"))
    }

    /// A connection for the writer to the file, created or brought to today's tables first.
    pub async fn connect(&self) -> Result<SqliteConnection> {
        self.lock_again()?;
        let connection = match self.try_connect().await {
            Err(error) if is_damage(&error) => {
                self.set_aside(&error)?;
                self.try_connect().await?
            }
            connected => connected?,
        };
        let opened = PARTS.map(|part| file_id(fs::metadata(self.path(part))));
        let before = std::mem::replace(&mut *self.files.lock(), opened);
        if before[0].is_some() && before != opened {
            *self.readers.write() = readers(&self.directory);
        }
        Ok(connection)
    }

    /// A connection to a file that is sound, and of this version's form.
    async fn try_connect(&self) -> Result<SqliteConnection> {
        let mut connection = SqliteConnection::connect_with(&options(&self.directory)).await?;
        let prepared = async {
            let check: Vec<(String,)> = Query::new("PRAGMA quick_check(1)")
                .fetch(&mut connection)
                .await?;
            if let Some((found,)) = check.into_iter().find(|(found,)| found != "ok") {
                return Err(StoreError::Damaged(found));
            }
            check_steps(&mut connection, MIGRATIONS.len()).await?;
            Ok(migrator(MIGRATIONS)
                .run_direct(None, &mut connection, false)
                .await?)
        };
        if let Err(error) = prepared.await {
            // Before anything else is done with the files.
            connection.close().await.ok();
            return Err(error);
        }
        Ok(connection)
    }

    /// Moves a damaged database out of the way, where it can be looked at.
    fn set_aside(&self, error: &StoreError) -> Result<()> {
        let suffix = format!("damaged-{}", chrono::Utc::now().format("%Y%m%dT%H%M%SZ"));
        for part in PARTS {
            let aside = self.directory.join(format!("{FILE}.{suffix}{part}"));
            match fs::rename(self.path(part), aside) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(self.unusable(source));
                }
                _ => {}
            }
        }
        let moved_to = self.directory.join(format!("{FILE}.{suffix}"));
        tracing::error!(%error, moved_to = %moved_to.display(),
            "the inbox is damaged, and is begun anew: a resync finds what it held");
        Ok(())
    }

    /// Whether the files that are open are those in the data directory. The log may appear after the database was
    /// opened.
    pub fn is_in_place(&self) -> bool {
        let mut open = self.files.lock();
        open.iter_mut().zip(PARTS).all(|(open, part)| {
            let there = file_id(fs::metadata(self.path(part)));
            *open = open.or(there);
            there == *open
        })
    }

    /// Writes what an open connection still sees to where the file was: beside it first, since half a file would be
    /// taken for somebody else's.
    pub async fn restore(&self, connection: On<'_>) -> Result<()> {
        self.lock_again()?;
        let there = file_id(fs::metadata(self.path("")));
        let is_ours = there == self.files.lock()[0];
        if there.is_none() || is_ours {
            let new = self.path("-new");
            fs::remove_file(&new).ok();
            Query::new("VACUUM INTO $1")
                .bind(new.display().to_string())
                .execute(connection)
                .await?;
            // What is left of the old file's log would be taken for the new one's.
            for old in &PARTS[1..] {
                fs::remove_file(self.path(old)).ok();
            }
            fs::rename(new, self.path("")).map_err(|source| self.unusable(source))?;
        }
        Ok(())
    }

    fn unusable(&self, source: io::Error) -> StoreError {
        StoreError::Directory {
            path: self.directory.display().to_string(),
            source,
        }
    }

    /// Takes the right to use the directory anew, where the lock was removed too.
    fn lock_again(&self) -> Result<()> {
        let mut held = self.lock.lock();
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
        // Only a person with a database tool can hold the lock; deliveries are refused if it takes longer, before
        // GitHub gives up waiting for their answers.
        .busy_timeout(Duration::from_secs(8))
        .pragma("temp_store", "memory")
        .statement_cache_capacity(256)
        .disable_statement_logging()
}

/// Whether SQLite's error means that the file is no sound database: SQLITE_CORRUPT or SQLITE_NOTADB
/// (<https://www.sqlite.org/rescode.html>).
fn is_damage(error: &StoreError) -> bool {
    let code = || {
        error
            .cause()?
            .as_database_error()?
            .code()?
            .parse::<u32>()
            .ok()
    };
    matches!(error, StoreError::Damaged(_))
        || code().is_some_and(|code| matches!(code & 0xff, 11 | 26))
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

fn lock(directory: &Path) -> Result<File> {
    let path = || directory.display().to_string();
    let attempt = || {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(directory)?;
        File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(directory.join(LOCK))
    };
    let file = attempt().map_err(|source| StoreError::Directory {
        path: path(),
        source,
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(StoreError::InUse { path: path() }),
        Err(fs::TryLockError::Error(source)) => Err(StoreError::Directory {
            path: path(),
            source,
        }),
    }
}
