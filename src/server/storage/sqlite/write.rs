//! Writing.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use chrono::TimeDelta;
use sqlx::{Connection, Sqlite, SqliteConnection, Transaction};
use uuid::Uuid;

use super::{super::*, Database, by_key, key};

/// GitHub's delivery log reaches back 3 days, that of GitHub Enterprise Server 7
/// (<https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/viewing-webhook-deliveries>). Ids are
/// remembered longer than that.
const REMEMBER_IDS: TimeDelta = TimeDelta::days(9);

/// How long a dead letter is kept that nobody replays.
const KEEP_DEAD_LETTERS: TimeDelta = TimeDelta::days(30);

/// So many ids, or wake-ups, per change: a few milliseconds of the writer's time.
const SLICE: i64 = 1000;

/// Rows per statement. A statement is prepared once for each number of rows that occurs.
const ROWS: usize = 64;

/// A statement by its number of rows, 1 to [`ROWS`].
type Statements = LazyLock<[String; ROWS]>;

static REMEMBER: Statements = LazyLock::new(|| {
    statements(3, |rows| {
        format!("INSERT INTO seen (seq, delivery, received_at) VALUES {rows} ON CONFLICT (delivery) DO NOTHING")
    })
});

/// A target that was given up starts anew with whatever happens there. A hint that is there already is not kept twice,
/// and hints beyond some 4,000 bytes are let go: so much happens to one target only while nothing can be done, and then
/// its newest state is all that matters.
static ADD: Statements = LazyLock::new(|| {
    statements(9, |rows| {
        format!(
            "INSERT INTO work
                 (installation, repository, what, newest, delivery, event, received_at, waiting_since, hints)
             VALUES {rows}
             ON CONFLICT (installation, repository, what) DO UPDATE SET
                 newest = excluded.newest, delivery = excluded.delivery, event = excluded.event,
                 received_at = excluded.received_at,
                 waiting_since = CASE WHEN dead_at IS NULL THEN waiting_since ELSE excluded.waiting_since END,
                 hints = CASE WHEN instr(hints, excluded.hints) > 0 OR octet_length(hints) > 4000 THEN hints
                     ELSE hints || excluded.hints END,
                 failures = CASE WHEN dead_at IS NULL THEN failures ELSE 0 END,
                 failing_since = CASE WHEN dead_at IS NULL THEN failing_since END,
                 begun = CASE WHEN dead_at IS NULL THEN begun ELSE 0 END, dead_at = NULL"
        )
    })
});

/// Writes.
#[derive(Debug)]
pub(in crate::server) struct Writer {
    database: Arc<Database>,
    /// None after a failure: what a connection is in then cannot be known, so the next batch opens another.
    connection: Option<SqliteConnection>,
    next_seq: i64,
}

impl Writer {
    pub(super) fn new(database: Arc<Database>, connection: SqliteConnection, next_seq: i64) -> Self {
        Self { database, connection: Some(connection), next_seq }
    }

    /// Applies all changes in one transaction, durable when this returns. One answer per change, in order.
    pub async fn apply(&mut self, changes: &[Change]) -> Result<Vec<Applied>, StoreError> {
        self.put_back().await?;
        let applied = self.try_apply(changes).await;
        if applied.is_err() {
            self.connection = None;
        }
        applied
    }

    /// Heals a file that somebody removed or replaced. What we hold open still has everything, and is held until then.
    async fn put_back(&mut self) -> Result<(), StoreError> {
        if let Some(connection) = self.connection.as_mut().filter(|_| !self.database.is_in_place()) {
            self.database.restore(connection).await?;
            self.connection = None;
            tracing::warn!("the inbox was gone from the data directory, and has been put back");
        }
        Ok(())
    }

    async fn try_apply(&mut self, changes: &[Change]) -> Result<Vec<Applied>, StoreError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => {
                let (connection, next_seq) = self.database.connect().await?;
                self.next_seq = next_seq;
                none.insert(connection)
            }
        };
        let transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let mut batch = Batch { transaction, next_seq: self.next_seq };
        let applied = batch.apply(changes).await?;
        let Batch { transaction, next_seq } = batch;
        transaction.commit().await?;
        self.next_seq = next_seq;
        Ok(applied)
    }

    pub async fn close(self) -> Result<(), StoreError> {
        match self.connection {
            Some(connection) => Ok(connection.close().await?),
            None => Ok(()),
        }
    }

    #[cfg(test)]
    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        self.connection.as_mut().expect("a writer that just wrote has a connection")
    }
}

/// One transaction.
pub(super) struct Batch<'c> {
    pub(super) transaction: Transaction<'c, Sqlite>,
    next_seq: i64,
}

/// A row of `work` to be added, or to be merged into the one that is there.
struct Addition {
    key: Key,
    seq: Seq,
    origin: WorkOrigin,
    hints: String,
    urgency: Urgency,
}

impl Batch<'_> {
    async fn apply(&mut self, changes: &[Change]) -> Result<Vec<Applied>, StoreError> {
        let mut accepted = self.accept(changes).await?.into_iter();
        let mut applied = Vec::with_capacity(changes.len());
        for change in changes {
            applied.push(match change {
                Change::Accept(_) => accepted.next().expect("one answer per accepted delivery"),
                Change::Settle { key, covered, how, now } => self.settle(key, *covered, how, *now).await?,
                Change::Begin(key) => self.begin(key).await?,
                Change::Probe { now } => self.probe(*now).await?,
                Change::Replay(key) => self.replay(key).await?,
                Change::Look { key, now } => self.ask([key.clone()], "request", Urgency::Direct, *now).await?,
                Change::Log { attempts, until } => self.log(attempts, *until).await?,
                Change::Redelivery { attempt, due_at } => self.redelivery(*attempt, *due_at).await?,
                Change::Listed { installation, repository, pulls, is_complete, now } => {
                    self.listed((*installation, repository), pulls, *is_complete, *now).await?
                }
                Change::Resync { installation, most, now } => self.resync(*installation, *most, *now).await?,
                Change::Wake { now } => self.wake(*now).await?,
                Change::Prune { now } => self.prune(*now).await?,
            });
        }
        Ok(applied)
    }

    /// All deliveries of the batch together: a few statements however many they are.
    async fn accept(&mut self, changes: &[Change]) -> Result<Vec<Applied>, StoreError> {
        let deliveries =
            changes.iter().filter_map(|change| if let Change::Accept(it) = change { Some(it) } else { None });
        let deliveries: Vec<(Seq, &Delivery)> = deliveries.map(|delivery| (self.take_seq(), delivery)).collect();
        let fresh = self.remember(&deliveries).await?;
        let mut additions = Vec::with_capacity(deliveries.len());
        let mut applied = Vec::with_capacity(deliveries.len());
        for ((seq, delivery), is_fresh) in deliveries.iter().zip(fresh) {
            if !is_fresh {
                applied.push(self.repeated(delivery).await?);
                continue;
            }
            let Delivery { id, event, received_at, work } = delivery;
            let hints = written(&work.hints);
            let key = |target: &Target| Key { installation: work.installation, target: target.clone() };
            let arrival = |target| Arrival { key: key(target), seq: *seq, urgency: Urgency::Direct };
            applied.push(Applied::New(work.targets.iter().map(arrival).collect()));
            additions.extend(work.targets.iter().map(|target| Addition {
                key: key(target),
                seq: *seq,
                origin: WorkOrigin { delivery: id.to_string(), event: event.clone(), received_at: *received_at },
                hints: hints.clone(),
                urgency: Urgency::Direct,
            }));
        }
        self.add(merged(additions)).await?;
        Ok(applied)
    }

    /// Notes the ids. Says which of them were not known; of copies in one batch, the first.
    async fn remember(&mut self, deliveries: &[(Seq, &Delivery)]) -> Result<Vec<bool>, StoreError> {
        let mut noted = 0;
        for (sql, chunk) in chunks(&REMEMBER, deliveries) {
            let mut query = sqlx::query(sql);
            for (seq, delivery) in chunk {
                let at = delivery.received_at.timestamp_millis();
                query = query.bind(seq.0).bind(ordered(&delivery.id)).bind(at);
            }
            noted += query.execute(&mut *self.transaction).await?.rows_affected();
        }
        let mut fresh = vec![true; deliveries.len()];
        if noted == deliveries.len() as u64 {
            return Ok(fresh);
        }
        // Rare: some were known. Those whose own number was noted were not.
        for (is_fresh, (seq, _)) in fresh.iter_mut().zip(deliveries) {
            let row = sqlx::query("SELECT 1 FROM seen WHERE seq = ?1").bind(seq.0);
            *is_fresh = row.fetch_optional(&mut *self.transaction).await?.is_some();
        }
        Ok(fresh)
    }

    /// A delivery that was accepted before changes nothing, unless what it asked for was given up: then it is accepted
    /// again.
    async fn repeated(&mut self, delivery: &Delivery) -> Result<Applied, StoreError> {
        let mut revived = Vec::new();
        for target in &delivery.work.targets {
            let key = Key { installation: delivery.work.installation, target: target.clone() };
            if let Applied::New(arrivals) = self.replay(&key).await? {
                revived.extend(arrivals);
            }
        }
        Ok(if revived.is_empty() { Applied::Duplicate } else { Applied::New(revived) })
    }

    async fn add(&mut self, additions: Vec<Addition>) -> Result<Vec<Arrival>, StoreError> {
        for (sql, chunk) in chunks(&ADD, &additions) {
            let mut query = sqlx::query(sql);
            for Addition { key, seq, origin, hints, .. } in chunk {
                let (repository, what) = names::columns(&key.target);
                query = query
                    .bind(key.installation.get().cast_signed())
                    .bind(repository)
                    .bind(what)
                    .bind(seq.0)
                    .bind(origin.delivery.clone())
                    .bind(origin.event.clone())
                    .bind(origin.received_at.timestamp_millis())
                    .bind(origin.received_at.timestamp_millis())
                    .bind(hints.clone());
            }
            query.execute(&mut *self.transaction).await?;
        }
        let arrival = |Addition { key, seq, urgency, .. }| Arrival { key, seq, urgency };
        Ok(additions.into_iter().map(arrival).collect())
    }

    fn take_seq(&mut self) -> Seq {
        let seq = Seq(self.next_seq);
        self.next_seq += 1;
        seq
    }

    async fn begin(&mut self, key: &Key) -> Result<Applied, StoreError> {
        by_key("UPDATE work SET begun = begun + 1 WHERE installation = ?1 AND repository = ?2 AND what = ?3", key)
            .execute(&mut *self.transaction)
            .await?;
        Ok(Applied::Recorded)
    }

    async fn probe(&mut self, now: Timestamp) -> Result<Applied, StoreError> {
        sqlx::query("INSERT INTO probe (id, at) VALUES (1, ?1) ON CONFLICT (id) DO UPDATE SET at = excluded.at")
            .bind(now.timestamp_millis())
            .execute(&mut *self.transaction)
            .await?;
        Ok(Applied::Recorded)
    }

    async fn settle(
        &mut self,
        key: &Key,
        covered: Covered,
        how: &WorkEnd,
        now: Timestamp,
    ) -> Result<Applied, StoreError> {
        match how {
            WorkEnd::Done(LookOutcome { requeue, seen, .. }) => {
                self.finish(key, covered).await?;
                self.set_wakeup(key, *requeue).await?;
                self.looked(key, *seen, now).await?;
            }
            WorkEnd::Resolved { into, origin, hints, urgency } => {
                self.finish(key, covered).await?;
                let hints = written(hints);
                let addition = |key: &Key| Addition {
                    key: key.clone(),
                    seq: self.take_seq(),
                    origin: origin.clone(),
                    hints: hints.clone(),
                    urgency: *urgency,
                };
                let additions = into.iter().map(addition).collect();
                return Ok(Applied::New(self.add(additions).await?));
            }
            WorkEnd::Failed(trouble) => self.note(key, trouble).await?,
            WorkEnd::Dead { trouble, at } => {
                self.note(key, trouble).await?;
                self.give_up(key, covered, *at).await?;
            }
        }
        Ok(Applied::Recorded)
    }

    /// What was covered is done; what came meanwhile stays, with its own hints.
    async fn finish(&mut self, key: &Key, covered: Covered) -> Result<(), StoreError> {
        let done =
            by_key("DELETE FROM work WHERE installation = ?1 AND repository = ?2 AND what = ?3 AND newest <= ?4", key);
        if done.bind(covered.up_to.0).execute(&mut *self.transaction).await?.rows_affected() > 0 {
            return Ok(());
        }
        by_key(
            "UPDATE work SET failures = 0, failing_since = NULL, begun = 0, reason = '', retry_at = NULL,
                 waiting_since = received_at,
                 hints = substr(hints, ?4 + 1)
             WHERE installation = ?1 AND repository = ?2 AND what = ?3",
            key,
        )
        .bind(covered.hints)
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn set_wakeup(&mut self, key: &Key, again: Requeue) -> Result<(), StoreError> {
        let query = match again {
            Requeue::OnEvent => {
                by_key("DELETE FROM wakeup WHERE installation = ?1 AND repository = ?2 AND what = ?3", key)
            }
            Requeue::At(at) => by_key(
                "INSERT INTO wakeup (installation, repository, what, due_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (installation, repository, what) DO UPDATE SET due_at = excluded.due_at",
                key,
            )
            .bind(at.timestamp_millis()),
        };
        query.execute(&mut *self.transaction).await?;
        Ok(())
    }

    async fn note(&mut self, key: &Key, trouble: &Trouble) -> Result<(), StoreError> {
        by_key(
            "UPDATE work SET failures = ?4, reason = ?5, retry_at = ?6, failing_since = ?7, begun = 0
             WHERE installation = ?1 AND repository = ?2 AND what = ?3",
            key,
        )
        .bind(i64::from(trouble.failures))
        .bind(trouble.reason.clone())
        .bind(trouble.retry_at.timestamp_millis())
        .bind(trouble.failing_since.timestamp_millis())
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    /// Gives a target up, unless something new came meanwhile: that has attempts of its own.
    async fn give_up(&mut self, key: &Key, covered: Covered, at: Timestamp) -> Result<(), StoreError> {
        by_key(
            "UPDATE work SET dead_at = CASE WHEN newest <= ?4 THEN ?5 END,
                 failures = CASE WHEN newest <= ?4 THEN failures ELSE 0 END,
                 failing_since = CASE WHEN newest <= ?4 THEN failing_since END
             WHERE installation = ?1 AND repository = ?2 AND what = ?3",
            key,
        )
        .bind(covered.up_to.0)
        .bind(at.timestamp_millis())
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn replay(&mut self, key: &Key) -> Result<Applied, StoreError> {
        let seq = self.take_seq();
        let revived = by_key(
            "UPDATE work SET dead_at = NULL, failures = 0, failing_since = NULL, begun = 0, retry_at = NULL, newest = ?4
             WHERE installation = ?1 AND repository = ?2 AND what = ?3 AND dead_at IS NOT NULL",
            key,
        )
        .bind(seq.0)
        .execute(&mut *self.transaction)
        .await?;
        let arrival = Arrival { key: key.clone(), seq, urgency: Urgency::Direct };
        Ok(Applied::New(if revived.rows_affected() > 0 { vec![arrival] } else { Vec::new() }))
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
        let mut keys = Vec::with_capacity(due.len());
        for row in due {
            keys.extend(key(&row)?);
        }
        self.ask(keys, "wakeup", Urgency::Direct, now).await
    }

    /// Looks that no delivery asked for.
    pub(super) async fn ask(
        &mut self,
        keys: impl IntoIterator<Item = Key>,
        event: &str,
        urgency: Urgency,
        now: Timestamp,
    ) -> Result<Applied, StoreError> {
        let origin = WorkOrigin { delivery: String::new(), event: event.to_owned(), received_at: now };
        let addition =
            |key| Addition { key, seq: self.take_seq(), origin: origin.clone(), hints: String::new(), urgency };
        let additions = keys.into_iter().map(addition).collect();
        Ok(Applied::New(self.add(additions).await?))
    }

    async fn prune(&mut self, now: Timestamp) -> Result<Applied, StoreError> {
        let ids = sqlx::query(
            "DELETE FROM seen WHERE seq IN (SELECT seq FROM seen ORDER BY seq LIMIT ?2) AND received_at < ?1",
        )
        .bind((now - REMEMBER_IDS).timestamp_millis())
        .bind(SLICE)
        .execute(&mut *self.transaction)
        .await?;
        sqlx::query("DELETE FROM work WHERE dead_at < ?1")
            .bind((now - KEEP_DEAD_LETTERS).timestamp_millis())
            .execute(&mut *self.transaction)
            .await?;
        self.forget_recovered(now).await?;
        Ok(Applied::Pruned(ids.rows_affected()))
    }
}

/// The id as it is indexed. A UUID of version 1, which is what GitHub sends, has the time in it, but its fastest digits
/// first; turned round (as version 6 has it), ids that arrive together lie together. Any other id works as well, at a
/// higher cost.
pub(super) fn ordered(id: &DeliveryId) -> Vec<u8> {
    let Ok(uuid) = Uuid::parse_str(&id.0) else {
        // Longer than any UUID.
        return [id.0.as_bytes(), &[0; 16]].concat();
    };
    let [a, b, c, d, e, f, g, h, rest @ ..] = uuid.into_bytes();
    let time = if uuid.get_version_num() == 1 { [g, h, e, f, a, b, c, d] } else { [a, b, c, d, e, f, g, h] };
    [time, rest].concat()
}

/// Additions to one target are one: the newest, with the hints of all, each once. Order is kept.
fn merged(additions: Vec<Addition>) -> Vec<Addition> {
    let mut places: HashMap<Key, usize> = HashMap::with_capacity(additions.len());
    let mut merged: Vec<Addition> = Vec::with_capacity(additions.len());
    for addition in additions {
        match places.get(&addition.key) {
            Some(&place) => {
                let mut hints = std::mem::take(&mut merged[place].hints);
                if !hints.contains(&addition.hints) {
                    hints.push_str(&addition.hints);
                }
                merged[place] = Addition { hints, ..addition };
            }
            None => {
                places.insert(addition.key.clone(), merged.len());
                merged.push(addition);
            }
        }
    }
    merged
}

fn written(hints: &[Hint]) -> String {
    let line = |hint| serde_json::to_string(hint).expect("hints have string keys and no failing parts") + "\n";
    hints.iter().map(line).collect()
}

/// One statement for each number of rows; `sql` puts their places, `(?,?),(?,?)` for two rows of two columns, into it.
fn statements(columns: usize, sql: impl Fn(&str) -> String) -> [String; ROWS] {
    let row = format!("({})", vec!["?"; columns].join(","));
    std::array::from_fn(|at| sql(&vec![row.as_str(); at + 1].join(",")))
}

/// Slices of `rows`, each with the statement for its length.
fn chunks<'r, T>(statements: &'static Statements, rows: &'r [T]) -> impl Iterator<Item = (&'static str, &'r [T])> {
    rows.chunks(ROWS).map(|chunk| (statements[chunk.len() - 1].as_str(), chunk))
}
