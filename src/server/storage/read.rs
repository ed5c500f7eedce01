//! Reading.

use std::{future::Future, pin::Pin, sync::Arc};

use super::*;
use crate::github::Fence;

/// A thousand dead letters are more than anybody reads.
const DEAD_LETTERS: i64 = 1000;

/// What is to be done by a time (`$1`) and no other process ($2) works on. One row of each installation is read, and those
/// before its first that is due.
const INSTALLATIONS: &str = "WITH RECURSIVE lane (installation) AS (
         SELECT MIN(installation) FROM work WHERE dead_at IS NULL
         UNION ALL
         SELECT (SELECT MIN(installation) FROM work WHERE dead_at IS NULL AND work.installation > lane.installation)
         FROM lane WHERE installation IS NOT NULL)
     SELECT installation FROM lane WHERE EXISTS (SELECT 1 FROM work
         WHERE work.installation = lane.installation AND dead_at IS NULL
             AND (retry_at IS NULL OR retry_at <= $1) AND (holder IS NULL OR holder = $2 OR {is_gone}))";

/// The order of the index over what is in a lane: by the primary key, a page of a class that has few rows would read those
/// of all others.
pub(super) const PAGE: &str = "SELECT installation, repository, what, newest, retry_at FROM work
     WHERE installation = $1 AND (class, repository, what) > ($6, $2, $3) AND class <= $6 AND dead_at IS NULL
         AND (holder IS NULL OR holder = $5 OR {is_gone})
     ORDER BY class, repository, what LIMIT $4";

const WORK: &str =
    "SELECT newest, delivery, event, received_at, hints, failures, failing_since, begun, fence, waiting_since
     FROM work WHERE {key} AND dead_at IS NULL";

/// Reads.
#[derive(Debug, Clone)]
pub(in crate::server) struct Store {
    pub(super) database: Arc<Database>,
    /// The number of this process.
    pub(super) process: i64,
}

impl Store {
    /// How often to ask for work of other processes; `None` where there are none.
    pub fn poll_every(&self) -> Option<TimeDelta> {
        self.database.is_shared().then_some(POLL)
    }

    /// Completes when another process has stored something new.
    pub async fn notified(&self) {
        match &*self.database {
            Database::Sqlite(_) => std::future::pending().await,
            Database::Postgres(server) => server.incoming.notified().await,
        }
    }

    /// Notifies other processes of new work.
    pub fn notify_others(&self) {
        if let Database::Postgres(server) = &*self.database {
            server.outgoing.notify_one();
        }
    }

    /// What is asked before each request that changes something for this work, or without any for what one process does
    /// for all.
    pub fn fence(&self, work: Option<(&Key, Covered)>) -> Arc<WorkFence> {
        Arc::new(WorkFence {
            store: self.clone(),
            claim: work.map(|(key, covered)| (key.clone(), covered.fence)),
        })
    }

    /// Installations with work that was not given up, is due by then, and is held by no other process.
    pub async fn installations(&self, due_by: Timestamp) -> Result<Vec<InstallationId>> {
        let query = Query::new(INSTALLATIONS).bind(due_by).bind(self.process);
        let found: Vec<(i64,)> = self.database.read(query).await?;
        Ok(found
            .into_iter()
            .map(|(id,)| InstallationId::new(id.cast_unsigned()))
            .collect())
    }

    /// The unfinished targets of an installation and class after `after`, `limit` at most, without those given up.
    pub async fn page(
        &self,
        (installation, class): (InstallationId, WorkClass),
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page> {
        let query = Query::new(PAGE)
            .bind(installation)
            .bind(after.map_or("", |(repository, _)| repository))
            .bind(after.map_or("", |(_, what)| what))
            .bind(limit);
        type Columns = (i64, String, String, i64, Option<i64>);
        let rows: Vec<Columns> = self
            .database
            .read(query.bind(self.process).bind(class as i64))
            .await?;
        let last = rows.last().filter(|_| rows.len() >= limit);
        let next = last.map(|(_, repository, what, ..)| (repository.clone(), what.clone()));
        let pending =
            rows.into_iter()
                .filter_map(|(installation, repository, what, newest, retry_at)| {
                    let target = key((installation, repository, what))?.target;
                    Some(Pending {
                        target,
                        newest: Seq(newest),
                        retry_at: retry_at.map(time),
                    })
                });
        Ok(Page {
            pending: pending.collect(),
            next,
        })
    }

    /// What a job on this target would cover; `None` if there is nothing to do.
    pub async fn load(&self, key: &Key) -> Result<Option<TargetWork>> {
        Ok(self
            .database
            .read(Query::by_key(WORK, key))
            .await?
            .pop()
            .map(target_work))
    }

    pub async fn next_wakeup(&self) -> Result<Option<Timestamp>> {
        let rows: Vec<(Option<i64>,)> = self
            .database
            .read(Query::new("SELECT MIN(due_at) FROM wakeup"))
            .await?;
        Ok(rows.first().and_then(|(due_at,)| *due_at).map(time))
    }

    /// Up to when GitHub's delivery log is known.
    pub async fn log_known_until(&self) -> Result<Option<Timestamp>> {
        let query = Query::new("SELECT at FROM progress WHERE what = $1").bind(LOG);
        let rows: Vec<(i64,)> = self.database.read(query).await?;
        Ok(rows.first().map(|(at,)| time(*at)))
    }

    /// Failed attempts in whose place another is to be asked for, the oldest first, `limit` at most.
    pub async fn redeliveries(&self, now: Timestamp, limit: usize) -> Result<Vec<u64>> {
        let sql =
            "SELECT attempt FROM failed_delivery WHERE due_at <= $1 ORDER BY failed_at LIMIT $2";
        let rows: Vec<(i64,)> = self
            .database
            .read(Query::new(sql).bind(now).bind(limit))
            .await?;
        Ok(rows
            .into_iter()
            .map(|(attempt,)| attempt.cast_unsigned())
            .collect())
    }

    /// The newest thousand.
    pub async fn dead_letters(&self) -> Result<Vec<DeadLetter>> {
        let sql = "SELECT installation, repository, what, failures, reason, dead_at FROM work
                   WHERE dead_at IS NOT NULL ORDER BY dead_at DESC LIMIT $1";
        type Columns = (i64, String, String, i64, String, i64);
        let letter = |(installation, repository, what, failures, reason, died_at): Columns| {
            let key = key((installation, repository, what))?;
            Some(DeadLetter {
                key,
                failures: count(failures),
                reason,
                died_at: time(died_at),
            })
        };
        let rows = self
            .database
            .read(Query::new(sql).bind(DEAD_LETTERS))
            .await?;
        Ok(rows.into_iter().filter_map(letter).collect())
    }

    pub async fn counts(&self) -> Result<Counts> {
        let sql = "SELECT class, COUNT(*), COUNT(dead_at),
                       MIN(CASE WHEN dead_at IS NULL THEN coalesce(waiting_since, received_at) END)
                   FROM work GROUP BY class";
        let rows: Vec<(i64, i64, i64, Option<i64>)> = self.database.read(Query::new(sql)).await?;
        let mut counts = Counts::default();
        for (number, all, dead, oldest) in rows {
            counts.waiting += (all - dead).cast_unsigned();
            counts.dead += dead.cast_unsigned();
            counts.oldest[class(number) as usize] = oldest.map(time);
        }
        Ok(counts)
    }
}

/// What must hold of the database for a request to be sent. Where no other process can be there, it holds always.
pub(in crate::server) struct WorkFence {
    store: Store,
    /// Work that this process has begun, and the fence of that; `None`: what only one of all processes does.
    claim: Option<(Key, Seq)>,
}

impl WorkFence {
    pub async fn holds(&self) -> Result<bool> {
        let Database::Postgres(server) = &*self.store.database else {
            return Ok(true);
        };
        let query = match &self.claim {
            Some((key, fence)) => Query::by_key(
                "SELECT 1 FROM work WHERE {key} AND fence = $4
                     AND EXISTS (SELECT 1 FROM process WHERE id = $5 AND alive_until > clock_millis() + 5000)",
                key,
            )
            .bind(fence.0),
            None => Query::new(
                "SELECT 1 WHERE $1 = (SELECT MIN(id) FROM process WHERE alive_until > clock_millis() + 5000)",
            ),
        };
        Ok(!server
            .read::<()>(query.bind(self.store.process))
            .await?
            .is_empty())
    }
}

impl Fence for WorkFence {
    fn stands(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + '_>> {
        Box::pin(async move {
            match self.holds().await {
                Ok(true) => Ok(()),
                Ok(false) => Err("not sent: another process may do this work by now".to_owned()),
                Err(error) => Err(format!(
                    "not sent: whether this work is still ours cannot be asked: {error}"
                )),
            }
        })
    }
}

/// How the work on a target is read: newest, delivery, event, received_at, hints, failures, failing_since, begun,
/// fence, waiting_since.
pub(super) type WorkColumns = (
    i64,
    String,
    String,
    i64,
    String,
    i64,
    Option<i64>,
    i64,
    i64,
    Option<i64>,
);

pub(super) fn target_work(columns: WorkColumns) -> TargetWork {
    let (
        newest,
        delivery,
        event,
        received_at,
        hints,
        failures,
        failing_since,
        begun,
        fence,
        waiting_since,
    ) = columns;
    let characters = i64::try_from(hints.chars().count()).unwrap_or(i64::MAX);
    // Hints of another version that cannot be read are left out: no decision may depend on a hint being there.
    let hint = |line| {
        serde_json::from_str(line)
            .inspect_err(|error| tracing::warn!(%error, "the inbox holds a hint that this version cannot read"))
            .ok()
    };
    TargetWork {
        covered: Covered {
            up_to: Seq(newest),
            hints: characters,
            fence: Seq(fence),
        },
        origin: WorkOrigin {
            delivery,
            event,
            received_at: time(received_at),
        },
        hints: hints.lines().filter_map(hint).collect(),
        failures: count(failures),
        failing_since: failing_since.map(time),
        begun: count(begun),
        waiting_since: waiting_since.map(time),
    }
}

fn count(number: i64) -> u32 {
    u32::try_from(number).unwrap_or_default()
}
