//! Reading.

use std::sync::Arc;

use super::{recovery::LOG, *};

/// A thousand dead letters are more than anybody reads.
const DEAD_LETTERS: i64 = 1000;

/// What is to be done by a time (`$1`) and no other process ($2) works on.
const INSTALLATIONS: &str = "SELECT DISTINCT installation FROM work WHERE dead_at IS NULL
         AND (retry_at IS NULL OR retry_at <= $1) AND (holder IS NULL OR holder = $2 OR {is_gone})";

const PAGE: &str = "SELECT installation, repository, what, newest, retry_at FROM work
     WHERE installation = $1 AND (repository, what) > ($2, $3) AND class = $6 AND dead_at IS NULL
         AND (holder IS NULL OR holder = $5 OR {is_gone})
     ORDER BY repository, what LIMIT $4";

const WORK: &str =
    "SELECT newest, delivery, event, received_at, hints, failures, failing_since, begun, fence, waiting_since
     FROM work WHERE {key} AND dead_at IS NULL";

/// Reads.
#[derive(Debug, Clone)]
pub(in crate::server) struct Store {
    pub(super) database: Arc<Database>,
}

impl Store {
    pub(super) const fn new(database: Arc<Database>) -> Self {
        Self { database }
    }

    /// How often to ask for work of other processes; `None` where there are none.
    pub fn poll_every(&self) -> Option<TimeDelta> {
        self.database.is_shared().then_some(POLL)
    }

    /// Completes when another process has stored something new.
    pub async fn told(&self) {
        match &*self.database {
            Database::Sqlite(_) => std::future::pending().await,
            Database::Postgres(server) => server.told.notified().await,
        }
    }

    /// Notifies other processes of new work.
    pub fn tell(&self) {
        if let Database::Postgres(server) = &*self.database {
            server.tell.notify_one();
        }
    }

    /// What is asked before each request that changes something for this work; `None` where no other process can have
    /// taken it over.
    pub fn fence(&self, key: &Key, covered: Covered) -> Option<Arc<dyn Fence>> {
        Some(Arc::new(self.postgres_fence(Some((key.clone(), covered.fence)))?))
    }

    /// The fence of work that one process does for all.
    pub fn fence_of_one(&self) -> Option<Arc<dyn Fence>> {
        Some(Arc::new(self.postgres_fence(None)?))
    }

    /// Whether this process does what one does for all.
    pub async fn is_the_one(&self) -> Result<bool, StoreError> {
        match self.postgres_fence(None) {
            Some(fence) => fence.holds().await,
            None => Ok(true),
        }
    }

    fn postgres_fence(&self, claim: Option<(Key, Seq)>) -> Option<PostgresFence> {
        let Database::Postgres(server) = &*self.database else { return None };
        Some(PostgresFence { server: PostgresServer::clone(server), claim })
    }

    /// Installations with work that was not given up, is due by then, and is held by no other process.
    pub async fn installations(&self, due_by: Timestamp) -> Result<Vec<InstallationId>, StoreError> {
        let query = Query::new(INSTALLATIONS).bind(due_by).bind(self.database.process());
        self.database.read(query).await?.iter().map(installation).collect()
    }

    /// The unfinished targets of an installation and class after `after`, `limit` at most, without those given up.
    pub async fn page(
        &self,
        (installation, class): (InstallationId, WorkClass),
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let query = Query::new(PAGE)
            .bind(installation)
            .bind(after.map_or("", |cursor| &cursor.repository))
            .bind(after.map_or("", |cursor| &cursor.what))
            .bind(limit);
        let rows = self.database.read(query.bind(self.database.process()).bind(class as i64)).await?;
        let mut page = Page { pending: Vec::with_capacity(rows.len()), next: None };
        for row in &rows {
            if let Some(Key { target, .. }) = key(row)? {
                let newest = Seq(row.get(3)?);
                page.pending.push(Pending { target, newest, retry_at: time(row.get(4)?) });
            }
        }
        if let Some(last) = rows.last().filter(|_| rows.len() >= limit) {
            page.next = Some(Cursor { repository: last.get(1)?, what: last.get(2)? });
        }
        Ok(page)
    }

    /// What a job on this target would cover; `None` if there is nothing to do.
    pub async fn load(&self, key: &Key) -> Result<Option<TargetWork>, StoreError> {
        self.database.read(Query::by_key(WORK, key)).await?.first().map(target_work).transpose()
    }

    pub async fn next_wakeup(&self) -> Result<Option<Timestamp>, StoreError> {
        let rows = self.database.read(Query::new("SELECT MIN(due_at) FROM wakeup")).await?;
        Ok(time(rows.first().map_or(Ok(None), |row| row.get(0))?))
    }

    /// Up to when GitHub's delivery log is known.
    pub async fn log_known_until(&self) -> Result<Option<Timestamp>, StoreError> {
        let rows = self.database.read(Query::new("SELECT at FROM progress WHERE what = $1").bind(LOG)).await?;
        Ok(time(rows.first().map(|row| row.get(0)).transpose()?))
    }

    /// Failed attempts in whose place another is to be asked for, the oldest first, `limit` at most.
    pub async fn redeliveries(&self, now: Timestamp, limit: usize) -> Result<Vec<u64>, StoreError> {
        let sql = "SELECT attempt FROM failed_delivery WHERE due_at <= $1 ORDER BY failed_at LIMIT $2";
        let rows = self.database.read(Query::new(sql).bind(now).bind(limit)).await?;
        rows.iter().map(|row| Ok(row.get::<i64>(0)?.cast_unsigned())).collect()
    }

    /// The newest thousand.
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>, StoreError> {
        let sql = "SELECT installation, repository, what, failures, reason, dead_at FROM work
                   WHERE dead_at IS NOT NULL ORDER BY dead_at DESC LIMIT $1";
        let letter = |row: &Row| -> Result<Option<DeadLetter>, StoreError> {
            let Some(key) = key(row)? else { return Ok(None) };
            let died_at = time(row.get(5)?).unwrap_or_default();
            Ok(Some(DeadLetter { key, failures: count(row, 3)?, reason: row.get(4)?, died_at }))
        };
        let rows = self.database.read(Query::new(sql).bind(DEAD_LETTERS)).await?;
        rows.iter().filter_map(|row| letter(row).transpose()).collect()
    }

    pub async fn counts(&self) -> Result<Counts, StoreError> {
        let sql = "SELECT class, COUNT(*), COUNT(dead_at),
                       MIN(CASE WHEN dead_at IS NULL THEN coalesce(waiting_since, received_at) END)
                   FROM work GROUP BY class";
        let mut counts = Counts::default();
        for row in self.database.read(Query::new(sql)).await? {
            let [all, dead] = [row.get::<i64>(1)?, row.get::<i64>(2)?].map(i64::cast_unsigned);
            counts.waiting += all - dead;
            counts.dead += dead;
            counts.oldest[class(row.get(0)?) as usize] = time(row.get(3)?);
        }
        Ok(counts)
    }
}

/// What work there is, in the columns newest, delivery, event, received_at, hints, failures, failing_since, begun, fence,
/// waiting_since.
pub(super) fn target_work(row: &Row) -> Result<TargetWork, StoreError> {
    let hints: &str = row.get(4)?;
    let characters = i64::try_from(hints.chars().count()).unwrap_or(i64::MAX);
    Ok(TargetWork {
        covered: Covered { up_to: Seq(row.get(0)?), hints: characters, fence: Seq(row.get(8)?) },
        origin: WorkOrigin {
            delivery: row.get(1)?,
            event: row.get(2)?,
            received_at: time(row.get(3)?).unwrap_or_default(),
        },
        hints: read_hints(hints),
        failures: count(row, 5)?,
        failing_since: time(row.get(6)?),
        begun: count(row, 7)?,
        waiting_since: time(row.get(9)?),
    })
}

fn count(row: &Row, at: usize) -> Result<u32, StoreError> {
    Ok(u32::try_from(row.get::<i64>(at)?).unwrap_or_default())
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
