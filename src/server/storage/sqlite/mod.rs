//! One SQLite file in the data directory: WAL, full sync, nothing to install.
//!
//! Races: there is one writer, so changes never meet each other; readers see the last commit, and work is announced to
//! the queue only after its commit, so whoever is told of it can read it. A second process is kept out by a lock on the
//! file `lock` beside the database, which the operating system drops with the process.
//!
//! Cost: what a transaction pays for, beside its sync, is the number of pages it touches. So ids are indexed in the
//! order of the time within them, which makes a batch touch the end of the index only; and a target has one row, which
//! later deliveries update, so a busy pull request stays on one page.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
    time::Duration,
};

use chrono::DateTime;
use sqlx::{
    ConnectOptions, Connection, Row, SqlSafeStr as _, Sqlite, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous},
};

pub(in crate::server) use self::{read::Store, write::Writer};
use super::{Key, StoreError, names};
use loopgate_core::{InstallationId, Timestamp};

/// The steps to the tables of today, oldest first. The database keeps the digest of each that it took, so a released one
/// stays as it is.
const MIGRATIONS: [(&str, &str); 1] = [("inbox", include_str!("../../../../migrations/sqlite/0001_inbox.sql"))];

/// The right to use the data directory; lasts as long as somebody holds it.
type Lock = Arc<File>;

/// Opens, and first creates or migrates, `inbox.sqlite` in `directory`.
pub(in crate::server) async fn open(directory: &Path) -> Result<(Store, Writer), StoreError> {
    let lock = Arc::new(lock(directory)?);
    let options = SqliteConnectOptions::new()
        .filename(directory.join("inbox.sqlite"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // Only a person with a database tool can hold the lock; deliveries are refused if it takes longer.
        .busy_timeout(Duration::from_secs(2))
        .pragma("temp_store", "memory")
        .statement_cache_capacity(256)
        .disable_statement_logging();
    let mut connection = SqliteConnection::connect_with(&options).await?;
    migrator().run_direct(None, &mut connection, false).await?;
    let newest = "SELECT MAX(COALESCE((SELECT MAX(newest) FROM work), 0), COALESCE((SELECT MAX(seq) FROM seen), 0))";
    let newest: i64 = sqlx::query(newest).fetch_one(&mut connection).await?.try_get(0)?;
    let readers = SqlitePoolOptions::new().max_connections(2).connect_with(options.read_only(true)).await?;
    Ok((Store::new(readers, lock.clone()), Writer::new(connection, newest + 1, lock)))
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
        File::options().create(true).truncate(false).write(true).open(directory.join("lock"))
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
