//! One SQLite file in the data directory: WAL, full sync, nothing to install.
//!
//! Races: there is one writer, so changes never meet each other; readers see the last commit, and a row is announced
//! to the queue only after its commit, so whoever is told of a row can read it. A second process is kept out by a lock
//! on the file `lock` beside the database, which the operating system drops with the process.

use std::{
    collections::HashSet,
    fs::{self, File},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use chrono::{DateTime, TimeDelta};
use sqlx::{
    AssertSqlSafe, Connection, Row, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous},
};

use super::{
    Again, Applied, Arrival, Change, Cursor, DeadLetter, Delivery, Key, Loaded, Origin, Page, Pending, Seq, Settled,
    StoreError, Trouble, Urgency, names,
};
use crate::core::{Hint, InstallationId, Timestamp};

/// GitHub's delivery log reaches back 3 days, and ids must be remembered for 4 at least (server.md, Recovery).
const REMEMBER_IDS: TimeDelta = TimeDelta::days(5);

/// A dead letter that nobody replayed for so long has been healed by many a resync.
const KEEP_DEAD_LETTERS: TimeDelta = TimeDelta::days(30);

/// So many rows of one target are covered by one job; more wait for the next.
const ROWS_PER_JOB: i64 = 1000;

/// So many ids, or wake-ups, per change: a few milliseconds of the writer's time.
const SLICE: i64 = 1000;

/// Multi-row inserts come in these sizes only, so that few prepared statements serve all batches.
const CHUNKS: [usize; 4] = [64, 16, 4, 1];

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("migrations/sqlite");

/// Reads.
#[derive(Debug, Clone)]
pub(in crate::server) struct Store {
    readers: SqlitePool,
    shared: Arc<Shared>,
}

/// Writes.
#[derive(Debug)]
pub(in crate::server) struct Writer {
    connection: SqliteConnection,
    next_seq: i64,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Unfinished rows, kept beside the database because counting them would read them all.
    backlog: AtomicU64,
    /// Dropping it releases the data directory.
    _lock: File,
}

/// Opens, and first creates or migrates, `inbox.sqlite` in `directory`.
pub(in crate::server) async fn open(directory: &Path) -> Result<(Store, Writer), StoreError> {
    let lock = lock(directory)?;
    let options = SqliteConnectOptions::new()
        .filename(directory.join("inbox.sqlite"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // Only a person with a database tool can hold the lock; deliveries are refused if it takes longer.
        .busy_timeout(Duration::from_secs(2))
        .row_buffer_size(512)
        .pragma("temp_store", "memory");
    let mut connection = SqliteConnection::connect_with(&options).await?;
    MIGRATIONS.run_direct(None, &mut connection, false).await?;
    let row = sqlx::query("SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM inbox").fetch_one(&mut connection).await?;
    let backlog = row.try_get::<i64, _>(0)?;
    let next_seq = row.try_get::<i64, _>(1)? + 1;
    let readers = SqlitePoolOptions::new().max_connections(2).connect_with(options.read_only(true)).await?;
    let shared = Arc::new(Shared { backlog: AtomicU64::new(backlog.unsigned_abs()), _lock: lock });
    Ok((Store { readers, shared: shared.clone() }, Writer { connection, next_seq, shared }))
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

impl Writer {
    /// Applies all changes in one transaction, durable when this returns. One answer per change, in order.
    pub async fn apply(&mut self, changes: &[Change]) -> Result<Vec<Applied>, StoreError> {
        let mut batch = Batch {
            transaction: self.connection.begin_with("BEGIN IMMEDIATE").await?,
            next_seq: self.next_seq,
            added: 0,
            removed: 0,
        };
        let applied = batch.apply(changes).await?;
        let Batch { transaction, next_seq, added, removed } = batch;
        transaction.commit().await?;
        self.next_seq = next_seq;
        self.shared.backlog.fetch_add(added, Ordering::Relaxed);
        self.shared.backlog.fetch_sub(removed, Ordering::Relaxed);
        Ok(applied)
    }

    pub async fn close(self) -> Result<(), StoreError> {
        Ok(self.connection.close().await?)
    }
}

/// One transaction.
struct Batch<'c> {
    transaction: Transaction<'c, Sqlite>,
    next_seq: i64,
    added: u64,
    removed: u64,
}

/// A row to be inserted.
struct NewRow<'a> {
    key: Key,
    seq: i64,
    origin: &'a Origin,
    hints: &'a str,
    urgency: Urgency,
}

impl Batch<'_> {
    async fn apply(&mut self, changes: &[Change]) -> Result<Vec<Applied>, StoreError> {
        let mut accepted = self.accept(changes).await?.into_iter();
        let mut applied = Vec::with_capacity(changes.len());
        for change in changes {
            applied.push(match change {
                Change::Accept(_) => accepted.next().expect("one answer per accepted delivery"),
                Change::Settle { key, up_to, how } => self.settle(key, *up_to, how).await?,
                Change::Replay { key, now } => self.replay(key, *now).await?,
                Change::Wake { now } => self.wake(*now).await?,
                Change::Prune { now } => self.prune(*now).await?,
            });
        }
        Ok(applied)
    }

    /// All deliveries of the batch together: two statements however many they are.
    async fn accept(&mut self, changes: &[Change]) -> Result<Vec<Applied>, StoreError> {
        let deliveries: Vec<&Delivery> =
            changes.iter().filter_map(|change| if let Change::Accept(it) = change { Some(it) } else { None }).collect();
        let mut fresh = self.remember(&deliveries).await?;
        // The first of two copies in one batch is the fresh one, as `remember` kept only one.
        let is_fresh: Vec<bool> =
            deliveries.iter().map(|it| it.origin.delivery.as_ref().is_none_or(|id| fresh.remove(&id.0))).collect();
        let hints: Vec<String> = deliveries.iter().map(|delivery| written(&delivery.work.hints)).collect();
        let mut rows = Vec::with_capacity(deliveries.len());
        let mut spans = Vec::with_capacity(deliveries.len());
        for ((delivery, hints), is_fresh) in deliveries.iter().zip(&hints).zip(is_fresh) {
            let start = rows.len();
            if is_fresh {
                let Delivery { origin, work } = delivery;
                for target in &work.targets {
                    let key = Key { installation: work.installation, target: target.clone() };
                    let urgency = Urgency::Direct;
                    rows.push(NewRow { key, seq: self.take_seq(), origin, hints, urgency });
                }
            }
            spans.push(is_fresh.then_some(start..rows.len()));
        }
        let arrivals = self.insert(rows).await?;
        Ok(spans
            .into_iter()
            .map(|span| span.map_or(Applied::Duplicate, |span| Applied::Fresh(arrivals[span].to_vec())))
            .collect())
    }

    /// Notes the ids; returns those that were not known.
    async fn remember(&mut self, deliveries: &[&Delivery]) -> Result<HashSet<String>, StoreError> {
        let ids: Vec<_> =
            deliveries.iter().filter_map(|it| Some((it.origin.delivery.as_ref()?, it.origin.received_at))).collect();
        let mut fresh = HashSet::with_capacity(ids.len());
        for chunk in chunks(&ids) {
            let sql = format!(
                "INSERT INTO seen (delivery, received_at) VALUES {} ON CONFLICT DO NOTHING RETURNING delivery",
                places(2, chunk.len())
            );
            let mut query = sqlx::query(AssertSqlSafe(sql));
            for (id, at) in chunk {
                query = query.bind(id.0.as_str()).bind(at.timestamp_millis());
            }
            for row in query.fetch_all(&mut *self.transaction).await? {
                fresh.insert(row.try_get(0)?);
            }
        }
        Ok(fresh)
    }

    async fn insert(&mut self, rows: Vec<NewRow<'_>>) -> Result<Vec<Arrival>, StoreError> {
        for chunk in chunks(&rows) {
            let sql = format!(
                "INSERT INTO inbox (installation, repository, what, seq, delivery, event, received_at, hints) VALUES {}",
                places(8, chunk.len())
            );
            let mut query = sqlx::query(AssertSqlSafe(sql));
            for row in chunk {
                let (repository, what) = names::columns(&row.key.target);
                query = query
                    .bind(row.key.installation.get().cast_signed())
                    .bind(repository)
                    .bind(what)
                    .bind(row.seq)
                    .bind(row.origin.delivery.as_ref().map_or("", |id| id.0.as_str()))
                    .bind(row.origin.event.as_str())
                    .bind(row.origin.received_at.timestamp_millis())
                    .bind(row.hints);
            }
            self.added += query.execute(&mut *self.transaction).await?.rows_affected();
        }
        Ok(rows.into_iter().map(|row| Arrival { key: row.key, seq: Seq(row.seq), urgency: row.urgency }).collect())
    }

    fn take_seq(&mut self) -> i64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        seq
    }

    async fn settle(&mut self, key: &Key, up_to: Seq, how: &Settled) -> Result<Applied, StoreError> {
        match how {
            Settled::Done(again) => {
                self.finish(key, up_to).await?;
                self.set_wakeup(key, *again).await?;
                Ok(Applied::Settled)
            }
            Settled::Resolved { into, origin, hints, urgency } => {
                self.finish(key, up_to).await?;
                let hints = written(hints);
                let rows = into.iter().map(|key| NewRow {
                    key: key.clone(),
                    seq: self.take_seq(),
                    origin,
                    hints: &hints,
                    urgency: *urgency,
                });
                let rows = rows.collect();
                Ok(Applied::Fresh(self.insert(rows).await?))
            }
            Settled::Failed(trouble) => {
                self.note_trouble(key, trouble, None).await?;
                Ok(Applied::Settled)
            }
            Settled::Dead { trouble, at } => {
                self.note_trouble(key, trouble, Some((*at, up_to))).await?;
                self.forget_ids(key, up_to).await?;
                Ok(Applied::Settled)
            }
        }
    }

    async fn finish(&mut self, key: &Key, up_to: Seq) -> Result<(), StoreError> {
        let done =
            by_key("DELETE FROM inbox WHERE installation = ?1 AND repository = ?2 AND what = ?3 AND seq <= ?4", key);
        self.removed += done.bind(up_to.0).execute(&mut *self.transaction).await?.rows_affected();
        let healed = by_key("DELETE FROM trouble WHERE installation = ?1 AND repository = ?2 AND what = ?3", key);
        healed.execute(&mut *self.transaction).await?;
        Ok(())
    }

    async fn set_wakeup(&mut self, key: &Key, again: Again) -> Result<(), StoreError> {
        let query = match again {
            Again::OnEvent => {
                by_key("DELETE FROM wakeup WHERE installation = ?1 AND repository = ?2 AND what = ?3", key)
            }
            Again::At(at) => by_key(
                "INSERT INTO wakeup (installation, repository, what, due_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (installation, repository, what) DO UPDATE SET due_at = excluded.due_at",
                key,
            )
            .bind(at.timestamp_millis()),
        };
        query.execute(&mut *self.transaction).await?;
        Ok(())
    }

    async fn note_trouble(
        &mut self,
        key: &Key,
        trouble: &Trouble,
        dead: Option<(Timestamp, Seq)>,
    ) -> Result<(), StoreError> {
        by_key(
            "INSERT INTO trouble (installation, repository, what, failures, reason, retry_at, dead_at, dead_up_to)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (installation, repository, what) DO UPDATE SET
                 failures = excluded.failures, reason = excluded.reason, retry_at = excluded.retry_at,
                 dead_at = excluded.dead_at, dead_up_to = excluded.dead_up_to",
            key,
        )
        .bind(i64::from(trouble.failures))
        .bind(trouble.reason.as_str())
        .bind(trouble.retry_at.timestamp_millis())
        .bind(dead.map(|(at, _)| at.timestamp_millis()))
        .bind(dead.map(|(_, up_to)| up_to.0))
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    /// So that a copy of what was given up is accepted again (server.md, Recovery).
    async fn forget_ids(&mut self, key: &Key, up_to: Seq) -> Result<(), StoreError> {
        by_key(
            "DELETE FROM seen WHERE delivery IN (SELECT delivery FROM inbox
             WHERE installation = ?1 AND repository = ?2 AND what = ?3 AND seq <= ?4)",
            key,
        )
        .bind(up_to.0)
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn replay(&mut self, key: &Key, now: Timestamp) -> Result<Applied, StoreError> {
        let removed = by_key(
            "DELETE FROM trouble WHERE installation = ?1 AND repository = ?2 AND what = ?3 AND dead_at IS NOT NULL",
            key,
        )
        .execute(&mut *self.transaction)
        .await?;
        if removed.rows_affected() == 0 {
            return Ok(Applied::Fresh(Vec::new()));
        }
        let origin = Origin { delivery: None, event: "replay".to_owned(), received_at: now };
        let row =
            NewRow { key: key.clone(), seq: self.take_seq(), origin: &origin, hints: "", urgency: Urgency::Direct };
        Ok(Applied::Fresh(self.insert(vec![row]).await?))
    }

    async fn wake(&mut self, now: Timestamp) -> Result<Applied, StoreError> {
        let due = sqlx::query(
            "DELETE FROM wakeup WHERE (installation, repository, what) IN
                 (SELECT installation, repository, what FROM wakeup WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2)
             RETURNING installation, repository, what",
        )
        .bind(now.timestamp_millis())
        .bind(SLICE)
        .fetch_all(&mut *self.transaction)
        .await?;
        let origin = Origin { delivery: None, event: "wakeup".to_owned(), received_at: now };
        let mut rows = Vec::with_capacity(due.len());
        for row in due {
            if let Some(key) = key(&row)? {
                let seq = self.take_seq();
                rows.push(NewRow { key, seq, origin: &origin, hints: "", urgency: Urgency::Direct });
            }
        }
        Ok(Applied::Fresh(self.insert(rows).await?))
    }

    async fn prune(&mut self, now: Timestamp) -> Result<Applied, StoreError> {
        let ids = sqlx::query(
            "DELETE FROM seen WHERE delivery IN
                 (SELECT delivery FROM seen WHERE received_at < ?1 ORDER BY received_at LIMIT ?2)",
        )
        .bind((now - REMEMBER_IDS).timestamp_millis())
        .bind(SLICE)
        .execute(&mut *self.transaction)
        .await?;
        let oldest = (now - KEEP_DEAD_LETTERS).timestamp_millis();
        let rows = sqlx::query(
            "DELETE FROM inbox WHERE EXISTS (SELECT 1 FROM trouble t
                 WHERE t.dead_at < ?1 AND t.installation = inbox.installation AND t.repository = inbox.repository
                     AND t.what = inbox.what AND inbox.seq <= t.dead_up_to)
                 AND installation IN (SELECT installation FROM trouble WHERE dead_at < ?1)",
        )
        .bind(oldest)
        .execute(&mut *self.transaction)
        .await?;
        self.removed += rows.rows_affected();
        sqlx::query("DELETE FROM trouble WHERE dead_at < ?1").bind(oldest).execute(&mut *self.transaction).await?;
        Ok(Applied::Pruned(ids.rows_affected()))
    }
}

impl Store {
    /// Installations that have unfinished rows.
    pub async fn installations(&self) -> Result<Vec<InstallationId>, StoreError> {
        let rows = sqlx::query("SELECT DISTINCT installation FROM inbox").fetch_all(&self.readers).await?;
        rows.iter().map(installation).collect()
    }

    /// The unfinished targets of an installation after `after`, `limit` at most, without those given up.
    pub async fn page(
        &self,
        installation: InstallationId,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let rows = sqlx::query(
            "SELECT installation, repository, what, MAX(seq), retry_at, dead_up_to
             FROM inbox LEFT JOIN trouble USING (installation, repository, what)
             WHERE installation = ?1 AND (repository, what) > (?2, ?3)
             GROUP BY repository, what ORDER BY repository, what LIMIT ?4",
        )
        .bind(installation.get().cast_signed())
        .bind(after.map_or("", |cursor| cursor.repository.as_str()))
        .bind(after.map_or("", |cursor| cursor.what.as_str()))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&self.readers)
        .await?;
        let mut page = Page { pending: Vec::with_capacity(rows.len()), next: None };
        for row in &rows {
            let newest: i64 = row.try_get(3)?;
            let is_dead = row.try_get::<Option<i64>, _>(5)?.is_some_and(|dead_up_to| newest <= dead_up_to);
            if let Some(Key { target, .. }) = key(row)?.filter(|_| !is_dead) {
                page.pending.push(Pending { target, newest: Seq(newest), retry_at: time(row.try_get(4)?) });
            }
        }
        if let Some(last) = rows.last().filter(|_| rows.len() >= limit) {
            page.next = Some(Cursor { repository: last.try_get(1)?, what: last.try_get(2)? });
        }
        Ok(page)
    }

    /// What a job on this target covers; `None` if nothing is left.
    pub async fn load(&self, key: &Key) -> Result<Option<Loaded>, StoreError> {
        let rows = by_key(
            "SELECT seq, delivery, event, received_at, hints FROM inbox
             WHERE installation = ?1 AND repository = ?2 AND what = ?3 ORDER BY seq LIMIT ?4",
            key,
        )
        .bind(ROWS_PER_JOB)
        .fetch_all(&self.readers)
        .await?;
        let Some(newest) = rows.last() else { return Ok(None) };
        let mut hints = Vec::new();
        for row in &rows {
            hints.extend(read_hints(row.try_get(4)?));
        }
        let trouble = by_key(
            "SELECT failures, dead_at FROM trouble WHERE installation = ?1 AND repository = ?2 AND what = ?3",
            key,
        )
        .fetch_optional(&self.readers)
        .await?;
        let failures = match trouble {
            // Given up, and yet here: something new happened, which gets its own ten tries.
            Some(row) if row.try_get::<Option<i64>, _>(1)?.is_none() => row.try_get::<u32, _>(0)?,
            _ => 0,
        };
        let origin = Origin {
            delivery: newest.try_get::<&str, _>(1)?.parse().ok(),
            event: newest.try_get(2)?,
            received_at: time(newest.try_get(3)?).unwrap_or_default(),
        };
        Ok(Some(Loaded { up_to: Seq(newest.try_get(0)?), origin, hints, failures }))
    }

    pub async fn next_wakeup(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query("SELECT MIN(due_at) FROM wakeup").fetch_one(&self.readers).await?;
        Ok(time(row.try_get(0)?))
    }

    /// The newest thousand.
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        let rows = sqlx::query(
            "SELECT installation, repository, what, failures, reason, dead_at FROM trouble
             WHERE dead_at IS NOT NULL ORDER BY dead_at DESC LIMIT ?1",
        )
        .bind(SLICE)
        .fetch_all(&self.readers)
        .await?;
        let mut letters = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(key) = key(row)? {
                letters.push(DeadLetter {
                    key,
                    failures: row.try_get(3)?,
                    reason: row.try_get(4)?,
                    died_at: time(row.try_get(5)?).unwrap_or_default(),
                });
            }
        }
        Ok(letters)
    }

    /// Unfinished rows, dead letters' included.
    pub fn backlog(&self) -> u64 {
        self.shared.backlog.load(Ordering::Relaxed)
    }

    /// Whether the file can be read.
    pub async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1 FROM inbox LIMIT 1").fetch_optional(&self.readers).await?;
        Ok(())
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

fn written(hints: &[Hint]) -> String {
    if hints.is_empty() {
        String::new()
    } else {
        serde_json::to_string(hints).expect("hints have string keys and no failing parts")
    }
}

/// Hints of another version that cannot be read are left out: no decision may depend on a hint being there.
fn read_hints(text: &str) -> Vec<Hint> {
    if text.is_empty() {
        return Vec::new();
    }
    serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::warn!(%error, "the inbox holds hints that this version cannot read");
        Vec::new()
    })
}

/// `(?,?),(?,?)` for two rows of two columns.
fn places(columns: usize, rows: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(","));
    vec![row; rows].join(",")
}

/// Slices of `rows` whose lengths are all in [`CHUNKS`].
fn chunks<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let size = CHUNKS.into_iter().find(|&size| size <= rest.len())?;
        let (chunk, more) = rest.split_at(size);
        rest = more;
        Some(chunk)
    })
}
