//! Reading.

use std::sync::Arc;

use sqlx::Row;

use super::{super::*, Database, by_key, installation, key, recovery::LOG, time};

/// A thousand dead letters are more than anybody reads.
const DEAD_LETTERS: i64 = 1000;

/// Reads.
#[derive(Debug, Clone)]
pub(in crate::server) struct Store {
    database: Arc<Database>,
}

impl Store {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// Installations that have work which was not given up.
    pub async fn installations(&self) -> Result<Vec<InstallationId>, StoreError> {
        let sql = "SELECT DISTINCT installation FROM work WHERE dead_at IS NULL";
        let rows = sqlx::query(sql).fetch_all(&self.database.readers()).await?;
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
            "SELECT installation, repository, what, newest, retry_at FROM work
             WHERE installation = ?1 AND (repository, what) > (?2, ?3) AND dead_at IS NULL
             ORDER BY repository, what LIMIT ?4",
        )
        .bind(installation.get().cast_signed())
        .bind(after.map_or(String::new(), |cursor| cursor.repository.clone()))
        .bind(after.map_or(String::new(), |cursor| cursor.what.clone()))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(&self.database.readers())
        .await?;
        let mut page = Page { pending: Vec::with_capacity(rows.len()), next: None };
        for row in &rows {
            if let Some(Key { target, .. }) = key(row)? {
                let newest = Seq(row.try_get(3)?);
                page.pending.push(Pending { target, newest, retry_at: time(row.try_get(4)?) });
            }
        }
        if let Some(last) = rows.last().filter(|_| rows.len() >= limit) {
            page.next = Some(Cursor { repository: last.try_get(1)?, what: last.try_get(2)? });
        }
        Ok(page)
    }

    /// What a job on this target covers; `None` if there is nothing to do.
    pub async fn load(&self, key: &Key) -> Result<Option<TargetWork>, StoreError> {
        let row = by_key(
            "SELECT newest, delivery, event, received_at, hints, failures, failing_since, begun FROM work
             WHERE installation = ?1 AND repository = ?2 AND what = ?3 AND dead_at IS NULL",
            key,
        )
        .fetch_optional(&self.database.readers())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let hints: &str = row.try_get(4)?;
        let characters = i64::try_from(hints.chars().count()).unwrap_or(i64::MAX);
        Ok(Some(TargetWork {
            covered: Covered { up_to: Seq(row.try_get(0)?), hints: characters },
            origin: WorkOrigin {
                delivery: row.try_get(1)?,
                event: row.try_get(2)?,
                received_at: time(row.try_get(3)?).unwrap_or_default(),
            },
            hints: read_hints(hints),
            failures: row.try_get(5)?,
            failing_since: time(row.try_get(6)?),
            begun: row.try_get(7)?,
        }))
    }

    pub async fn next_wakeup(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query("SELECT MIN(due_at) FROM wakeup").fetch_one(&self.database.readers()).await?;
        Ok(time(row.try_get(0)?))
    }

    /// Up to when GitHub's delivery log is known.
    pub async fn log_known_until(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query("SELECT at FROM progress WHERE what = ?1").bind(LOG);
        let row = row.fetch_optional(&self.database.readers()).await?;
        Ok(time(row.map(|row| row.try_get(0)).transpose()?))
    }

    /// Failed attempts in whose place another is to be asked for, the oldest first, `limit` at most.
    pub async fn redeliveries(&self, now: Timestamp, limit: usize) -> Result<Vec<u64>, StoreError> {
        let sql = "SELECT attempt FROM failed_delivery WHERE due_at <= ?1 ORDER BY failed_at LIMIT ?2";
        let rows = sqlx::query(sql)
            .bind(now.timestamp_millis())
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&self.database.readers())
            .await?;
        rows.iter().map(|row| Ok(row.try_get::<i64, _>(0)?.cast_unsigned())).collect()
    }

    /// The newest thousand.
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        let rows = sqlx::query(
            "SELECT installation, repository, what, failures, reason, dead_at FROM work
             WHERE dead_at IS NOT NULL ORDER BY dead_at DESC LIMIT ?1",
        )
        .bind(DEAD_LETTERS)
        .fetch_all(&self.database.readers())
        .await?;
        let mut letters = Vec::with_capacity(rows.len());
        for row in &rows {
            if let Some(key) = key(row)? {
                let died_at = time(row.try_get(5)?).unwrap_or_default();
                letters.push(DeadLetter { key, failures: row.try_get(3)?, reason: row.try_get(4)?, died_at });
            }
        }
        Ok(letters)
    }

    pub async fn counts(&self) -> Result<Counts, StoreError> {
        let sql = "SELECT COUNT(*), COUNT(dead_at),
                       MIN(CASE WHEN dead_at IS NULL THEN coalesce(waiting_since, received_at) END) FROM work";
        let row = sqlx::query(sql).fetch_one(&self.database.readers()).await?;
        let (all, dead): (u64, u64) = (row.try_get(0)?, row.try_get(1)?);
        Ok(Counts { waiting: all - dead, dead, oldest: time(row.try_get(2)?) })
    }
}

/// Hints of another version that cannot be read are left out: no decision may depend on a hint being there.
fn read_hints(text: &str) -> Vec<Hint> {
    let read = |line| {
        serde_json::from_str(line)
            .inspect_err(|error| tracing::warn!(%error, "the inbox holds a hint that this version cannot read"))
            .ok()
    };
    text.lines().filter_map(read).collect()
}
