//! Writing.
//!
//! Several processes write. A row's number must rise whichever process raises it. All take rows in one order, so that
//! they do not deadlock: the deliveries of a batch first, then its other changes, each in the order of their targets.

use std::{collections::HashSet, time::Duration};

use chrono::TimeDelta;
use indexmap::IndexMap;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use super::*;
use crate::github::COUNTS_FOR;
use loopgate_core::deciding::Part;
use loopgate_webhook::class_of;

/// GitHub's delivery log reaches back 3 days, that of GitHub Enterprise Server 7
/// (<https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/viewing-webhook-deliveries>). Ids are
/// remembered longer than that.
const REMEMBER_IDS: TimeDelta = TimeDelta::days(9);

/// How long a dead letter is kept that is not replayed.
const KEEP_DEAD_LETTERS: TimeDelta = TimeDelta::days(30);

/// GitHub keeps its log for three days, GitHub Enterprise Server for seven.
const KEEP_FAILED: TimeDelta = TimeDelta::days(7);

/// A pull request that was not seen open for so long has ended, or is somewhere else.
const KEEP_PULLS: TimeDelta = TimeDelta::days(7);

/// So many ids, or wake-ups, per change: a few milliseconds of the writer's time.
const SLICE: i64 = 1000;

/// Rows per statement. A statement is prepared once for each number of rows that occurs.
const ROWS: usize = 64;

/// A batch that a database in another process did not take in this time is refused, before its senders hang up.
const ANSWER_WITHIN: Duration = Duration::from_secs(8);

/// Before a batch is tried again on another connection.
const PAUSE: Duration = Duration::from_millis(100);

const ATTEMPTS: usize = 3;

/// Days, each a part of the ids: those in which ids are remembered, today, and tomorrow's, which is emptied. As in
/// migrations/postgres.
const PARTS: i64 = 11;

// PostgreSQL keeps ids by day, and makes one unique within a day only: all days are searched.
const KNOWN: &str = "SELECT delivery FROM seen WHERE delivery IN ({rows})";
const REMEMBER: &str = "INSERT INTO seen (seq, delivery, received_at) VALUES {rows}";
const REMEMBER_IN_PARTS: &str = "INSERT INTO seen (part, delivery) VALUES {rows}";

/// A target that was given up starts anew with whatever happens there. A hint that is there already is not kept twice,
/// and hints beyond some 4,000 bytes are let go: so much happens to one target only while nothing can be done, and then
/// its newest state is all that matters.
const ADD: &str = "INSERT INTO work
         (installation, repository, what, newest, delivery, event, received_at, waiting_since, hints, class)
     VALUES {rows}
     ON CONFLICT (installation, repository, what) DO UPDATE SET
         newest = CASE WHEN excluded.newest > work.newest THEN excluded.newest ELSE work.newest + 1 END,
         delivery = excluded.delivery, event = excluded.event, received_at = excluded.received_at,
         waiting_since = CASE WHEN work.dead_at IS NULL THEN work.waiting_since ELSE excluded.waiting_since END,
         hints = CASE WHEN {find}(work.hints, excluded.hints) > 0
             OR octet_length(work.hints) > 4000 THEN work.hints ELSE work.hints || excluded.hints END,
         failures = CASE WHEN work.dead_at IS NULL THEN work.failures ELSE 0 END,
         failing_since = CASE WHEN work.dead_at IS NULL THEN work.failing_since END,
         begun = CASE WHEN work.dead_at IS NULL THEN work.begun ELSE 0 END,
         class = CASE WHEN work.dead_at IS NULL AND work.class < excluded.class THEN work.class
             ELSE excluded.class END, dead_at = NULL";

/// Work begins if no other process works on it. What this process holds already is not begun once more: it could not
/// record how it ended.
pub(super) const CLAIM: &str = "UPDATE work SET fence = $5, begun = begun + CASE WHEN holder = $4 THEN 0 ELSE 1 END, holder = $4
     WHERE {key} AND EXISTS
         (SELECT 1 FROM work WHERE {key} AND dead_at IS NULL AND (retry_at IS NULL OR retry_at <= $6 OR {is_alone})
              AND (holder IS NULL OR holder = $4 OR {is_gone}) {lock_or_skip})
     RETURNING newest, delivery, event, received_at, hints, failures, failing_since, begun - 1, fence, waiting_since";

const DONE: &str = "DELETE FROM work WHERE {key} AND fence = $4 AND newest <= $5";
/// What was covered is done, and the rest begins anew.
const BEGIN_ANEW: &str =
    "UPDATE work SET failures = 0, failing_since = NULL, begun = 0, holder = NULL, reason = '', retry_at = NULL,
         waiting_since = received_at, hints = substr(hints, CAST($5 + 1 AS INTEGER))
     WHERE {key} AND fence = $4 RETURNING newest, class";
const NOTE: &str =
    "UPDATE work SET failures = $5, reason = $6, retry_at = $7, failing_since = $8, begun = 0, holder = NULL
     WHERE {key} AND fence = $4";
/// Gives a target up, unless something new came meanwhile: that has attempts of its own.
const GIVE_UP: &str = "UPDATE work SET dead_at = CASE WHEN newest <= $4 THEN $5 END,
         failures = CASE WHEN newest <= $4 THEN failures ELSE 0 END,
         failing_since = CASE WHEN newest <= $4 THEN failing_since END
     WHERE {key}";
const REVIVE: &str = "UPDATE work SET dead_at = NULL, failures = 0, failing_since = NULL, begun = 0, retry_at = NULL,
         newest = CASE WHEN newest < $4 THEN $4 ELSE newest + 1 END
     WHERE {key} AND dead_at IS NOT NULL";
/// Loops of pull requests that were not seen open for as long as these are remembered.
const UNSEEN: &str = "DELETE FROM open_loop WHERE looked_at < $1 AND NOT EXISTS (SELECT 1 FROM open_pull
         WHERE open_pull.installation = open_loop.installation AND open_pull.repository = open_loop.repository
             AND open_pull.what = open_loop.what)";
const FORGET: &str = "DELETE FROM seen WHERE seq IN (SELECT seq FROM seen ORDER BY seq LIMIT $2) AND received_at < $1";
const PROBE: &str =
    "INSERT INTO probe (id, at) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET at = excluded.at";
const WAKE_AT: &str =
    "INSERT INTO wakeup (installation, repository, what, due_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (installation, repository, what) DO UPDATE SET due_at = excluded.due_at";
const WAKE: &str = "DELETE FROM wakeup WHERE (installation, repository, what) IN
         (SELECT installation, repository, what FROM wakeup WHERE due_at <= $1 ORDER BY due_at LIMIT $2 {lock_or_skip})
     RETURNING installation, repository, what";

/// The next number after all that the file holds.
const NEXT_NUMBER: &str = "SELECT 1 + MAX(COALESCE((SELECT MAX(MAX(newest, fence)) FROM work), 0),
         COALESCE((SELECT MAX(seq) FROM seen), 0))";

/// A block of the server's numbers.
const BLOCK_OF_NUMBERS: &str = "SELECT nextval('numbers')";

/// Writes.
#[derive(Debug)]
pub(in crate::server) struct Writer {
    pub(super) store: Store,
    /// None after a failure: what a connection is in then cannot be known, so the next batch opens another.
    pub(super) connection: Option<Box<dyn AnyConnectionBackend>>,
    pub(super) next_seq: i64,
    /// They end with the writer.
    pub(super) tasks: JoinSet<()>,
}

impl Writer {
    /// Applies all changes, durable when this returns. One answer per change, in order. Nothing of a batch is kept if
    /// this fails, or, with several processes, at most its deliveries.
    pub async fn apply(&mut self, changes: &[Change]) -> Result<Vec<ChangeOutcome>> {
        let applied = if self.store.database.is_shared() {
            timeout(ANSWER_WITHIN, self.apply_beside_others(changes))
                .await
                .unwrap_or(Err(StoreError::Silent))
        } else {
            self.tend().await?;
            self.try_apply(changes.iter()).await
        };
        if applied.is_err() {
            self.connection = None;
        }
        applied
    }

    /// A connection that broke is replaced. Whether what it was sent became durable need not be known: none of it does
    /// more the second time, and work that was not announced is found by polling.
    async fn apply_beside_others(&mut self, changes: &[Change]) -> Result<Vec<ChangeOutcome>> {
        let mut order: Vec<(usize, &Change)> = changes.iter().enumerate().collect();
        let is_other = |change: &Change| !matches!(change, Change::Accept(_));
        order.sort_by_key(|(_, change)| (is_other(change), change.key()));
        let (deliveries, others) =
            order.split_at(order.partition_point(|(_, change)| !is_other(change)));
        let mut applied = vec![ChangeOutcome::Rows(0); changes.len()];
        for part in [deliveries, others] {
            let mut attempt = 1;
            let answers = loop {
                match self.try_apply(part.iter().map(|(_, change)| *change)).await {
                    Err(error) if attempt < ATTEMPTS => {
                        tracing::warn!(%error, attempt, "the inbox is tried again")
                    }
                    answers => break answers?,
                }
                self.connection = None;
                attempt += 1;
                sleep(PAUSE).await;
            };
            for ((at, _), answer) in part.iter().zip(answers) {
                applied[*at] = answer;
            }
        }
        Ok(applied)
    }

    /// Heals a file that somebody removed or replaced, also between batches. What we hold open still has everything,
    /// and is held until then.
    pub async fn tend(&mut self) -> Result<()> {
        let database = self.store.database.clone();
        let Database::Sqlite(file) = &*database else {
            return Ok(());
        };
        if let Some(connection) = self.connection.as_mut().filter(|_| !file.is_in_place()) {
            file.restore(&mut **connection).await?;
            // Closed before another is opened: its end removes the log by its name.
            if let Some(old) = self.connection.take() {
                old.close().await.ok();
            }
            tracing::warn!(
                "the inbox, or its log, was gone from the data directory, and has been put back"
            );
        }
        Ok(())
    }

    async fn try_apply<'a>(
        &mut self,
        changes: impl ExactSizeIterator<Item = &'a Change> + Clone,
    ) -> Result<Vec<ChangeOutcome>> {
        if changes.len() == 0 {
            return Ok(Vec::new());
        }
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => {
                self.next_seq = 0;
                none.insert(self.store.database.connect().await?)
            }
        };
        let is_shared = self.store.database.is_shared();
        Query::new(if is_shared {
            "BEGIN"
        } else {
            "BEGIN IMMEDIATE"
        })
        .execute(&mut **connection)
        .await?;
        if self.next_seq == 0 || is_shared {
            let numbers = Query::new(if is_shared {
                BLOCK_OF_NUMBERS
            } else {
                NEXT_NUMBER
            });
            self.next_seq = numbers
                .fetch(&mut **connection)
                .await?
                .first()
                .map_or(1, |(number,)| *number);
        }
        let (next_seq, process) = (self.next_seq, self.store.process);
        let mut batch = Batch {
            connection: &mut **connection,
            is_shared,
            next_seq,
            process,
        };
        let applied = batch.apply(changes).await?;
        self.next_seq = batch.next_seq;
        Query::new("COMMIT").execute(&mut **connection).await?;
        Ok(applied)
    }

    /// Gives back what this process holds, and closes.
    pub async fn close(mut self) -> Result<()> {
        self.tasks.shutdown().await;
        let Some(mut connection) = self.connection else {
            return Ok(());
        };
        let gone = Query::new("DELETE FROM process WHERE id = $1").bind(self.store.process);
        gone.execute(&mut *connection).await?;
        Ok(connection.close().await?)
    }
}

/// One transaction.
pub(super) struct Batch<'c> {
    connection: On<'c>,
    /// Whether several processes share the database.
    pub(super) is_shared: bool,
    next_seq: i64,
    process: i64,
}

/// A row of `work` to be added, or to be merged into the one that is there.
struct Addition {
    arrival: Arrival,
    origin: WorkOrigin,
    hints: String,
}

impl Batch<'_> {
    pub(super) fn on(&mut self) -> On<'_> {
        &mut *self.connection
    }

    /// Carries out a statement of which nothing is asked but that it is.
    pub(super) async fn run(&mut self, query: Query) -> Result<ChangeOutcome> {
        Ok(ChangeOutcome::Rows(query.execute(self.on()).await?))
    }

    async fn apply<'a>(
        &mut self,
        changes: impl ExactSizeIterator<Item = &'a Change> + Clone,
    ) -> Result<Vec<ChangeOutcome>> {
        let mut accepted = self.accept(changes.clone()).await?.into_iter();
        let mut applied = Vec::with_capacity(changes.len());
        for change in changes {
            applied.push(match change {
                Change::Accept(_) => accepted.next().expect("one answer per accepted delivery"),
                Change::Settle {
                    key,
                    covered,
                    how,
                    now,
                } => self.settle(key, *covered, how, *now).await?,
                Change::Begin(key, now) => {
                    let fence = self.take_seq();
                    let claim = Query::by_key(CLAIM, key)
                        .bind(self.process)
                        .bind(fence.0)
                        .bind(*now);
                    let begun = claim.fetch(self.on()).await?.pop().map(read::target_work);
                    ChangeOutcome::Begun(begun.map(Box::new))
                }
                Change::Probe(now) => self.run(Query::new(PROBE).bind(*now)).await?,
                Change::Replay(key) => self.replay(key).await?,
                Change::Look(key, now) => {
                    self.ask([key.clone()], "request", WorkClass::Author, *now)
                        .await?
                }
                Change::Log { attempts, until } => self.log(attempts, *until).await?,
                Change::Redelivery { attempt, due_at } => {
                    self.redelivery(*attempt, *due_at).await?
                }
                Change::Listed(list) => self.listed(list).await?,
                Change::Resync {
                    installation,
                    most,
                    now,
                } => self.resync(*installation, *most, *now).await?,
                Change::Book(claim) => self.book(*claim).await?,
                Change::Tokens(change) => self.change_tokens(change).await?,
                Change::Wake(now) => {
                    let due = Query::new(WAKE).bind(*now).bind(SLICE);
                    let due: Vec<KeyColumns> = due.fetch(self.on()).await?;
                    self.ask(
                        due.into_iter().filter_map(super::key),
                        "wakeup",
                        WorkClass::Author,
                        *now,
                    )
                    .await?
                }
                Change::Prune(now) => self.prune(*now).await?,
            });
        }
        Ok(applied)
    }

    /// All deliveries of the batch together: a few statements however many they are.
    async fn accept<'a>(
        &mut self,
        changes: impl Iterator<Item = &'a Change>,
    ) -> Result<Vec<ChangeOutcome>> {
        let deliveries = changes.filter_map(|change| {
            if let Change::Accept(it) = change {
                Some(it)
            } else {
                None
            }
        });
        let deliveries: Vec<(Seq, &Delivery)> = deliveries
            .map(|delivery| (self.take_seq(), delivery))
            .collect();
        let fresh = self.remember(&deliveries).await?;
        let mut additions = Vec::with_capacity(deliveries.len());
        let mut applied = Vec::with_capacity(deliveries.len());
        for ((seq, delivery), is_fresh) in deliveries.iter().zip(fresh) {
            if !is_fresh {
                applied.push(self.repeated(delivery).await?);
                continue;
            }
            let Delivery {
                id,
                event,
                received_at,
                work,
            } = delivery;
            let (hints, class) = (written(&work.hints), class_of(event, &work.hints));
            let key = |target: &Target| Key {
                installation: work.installation,
                target: target.clone(),
            };
            let arrivals = work.targets.iter().map(|target| Arrival {
                key: key(target),
                seq: *seq,
                class,
            });
            let arrivals: Vec<Arrival> = arrivals.collect();
            let origin = WorkOrigin {
                delivery: id.to_string(),
                event: event.clone(),
                received_at: *received_at,
            };
            let addition = |arrival| Addition {
                arrival,
                origin: origin.clone(),
                hints: hints.clone(),
            };
            additions.extend(arrivals.iter().cloned().map(addition));
            applied.push(ChangeOutcome::New(arrivals));
        }
        self.add(merged(additions).collect()).await?;
        Ok(applied)
    }

    /// Notes the ids. Returns for each whether it is new; of copies in one batch, the first is.
    ///
    /// # Errors
    /// Another process notes one of them at this moment: the batch is tried again, and finds it.
    async fn remember(&mut self, deliveries: &[(Seq, &Delivery)]) -> Result<Vec<bool>> {
        let ids: Vec<Vec<u8>> = deliveries
            .iter()
            .map(|(_, delivery)| ordered(&delivery.id))
            .collect();
        let mut known = HashSet::with_capacity(ids.len());
        for chunk in ids.chunks(ROWS) {
            let query = chunk
                .iter()
                .fold(Query::of_rows(KNOWN, chunk.len(), 1), |query, id| {
                    query.bind(id.clone())
                });
            known.extend(
                query
                    .fetch::<(Vec<u8>,)>(self.on())
                    .await?
                    .into_iter()
                    .map(|(id,)| id),
            );
        }
        let is_new: Vec<bool> = ids.iter().map(|id| known.insert(id.clone())).collect();
        let new = ids
            .into_iter()
            .zip(deliveries)
            .zip(&is_new)
            .filter_map(|(noted, is_new)| is_new.then_some(noted));
        let mut new: Vec<_> = new.collect();
        // In one order for all processes.
        new.sort_by(|(id, _), (other, _)| id.cmp(other));
        for chunk in new.chunks(ROWS) {
            let (sql, columns) = if self.is_shared {
                (REMEMBER_IN_PARTS, 2)
            } else {
                (REMEMBER, 3)
            };
            let mut query = Query::of_rows(sql, chunk.len(), columns);
            for (id, (seq, Delivery { received_at, .. })) in chunk {
                query = match self.is_shared {
                    true => query.bind(part_of(*received_at)).bind(id.clone()),
                    false => query.bind(seq.0).bind(id.clone()).bind(*received_at),
                };
            }
            query.execute(self.on()).await?;
        }
        Ok(is_new)
    }

    /// A delivery that was accepted before changes nothing, unless what it asked for was given up: then it is accepted
    /// again.
    async fn repeated(&mut self, delivery: &Delivery) -> Result<ChangeOutcome> {
        let mut revived = Vec::new();
        for target in &delivery.work.targets {
            let key = Key {
                installation: delivery.work.installation,
                target: target.clone(),
            };
            if let ChangeOutcome::New(arrivals) = self.replay(&key).await? {
                revived.extend(arrivals);
            }
        }
        Ok(if revived.is_empty() {
            ChangeOutcome::Duplicate
        } else {
            ChangeOutcome::New(revived)
        })
    }

    async fn add(&mut self, additions: Vec<Addition>) -> Result<Vec<Arrival>> {
        let mut sorted: Vec<&Addition> = additions.iter().collect();
        sorted.sort_by_key(|addition| &addition.arrival.key);
        for chunk in sorted.chunks(ROWS) {
            let mut query = Query::of_rows(ADD, chunk.len(), 10);
            for Addition {
                arrival: Arrival { key, seq, class },
                origin,
                hints,
            } in chunk.iter().copied()
            {
                let WorkOrigin {
                    delivery,
                    event,
                    received_at,
                } = origin;
                query = query
                    .bind_key(key)
                    .bind(seq.0)
                    .bind(delivery.as_str())
                    .bind(event.as_str());
                query = query
                    .bind(*received_at)
                    .bind(*received_at)
                    .bind(hints.as_str())
                    .bind(*class as i64);
            }
            query.execute(self.on()).await?;
        }
        Ok(additions
            .into_iter()
            .map(|addition| addition.arrival)
            .collect())
    }

    fn take_seq(&mut self) -> Seq {
        let seq = Seq(self.next_seq);
        self.next_seq += 1;
        seq
    }

    async fn settle(
        &mut self,
        key: &Key,
        covered: Covered,
        how: &WorkEnd,
        now: Timestamp,
    ) -> Result<ChangeOutcome> {
        let left = match how {
            WorkEnd::Done(_) | WorkEnd::Resolved { .. } => self.finish(key, covered).await?,
            WorkEnd::Failed(trouble) | WorkEnd::Dead(trouble) => {
                self.note(key, covered, trouble).await?
            }
        };
        let Some(mut left) = left else {
            tracing::warn!(%key, "another process has taken this work over; how it ended here is not noted");
            return Ok(ChangeOutcome::Rows(0));
        };
        match how {
            WorkEnd::Done(ReconcileOutcome {
                revisit_at,
                seen,
                entry,
                ..
            }) => {
                self.run(match revisit_at {
                    None => Query::by_key("DELETE FROM wakeup WHERE {key}", key),
                    Some(at) => Query::by_key(WAKE_AT, key).bind(*at),
                })
                .await?;
                self.looked(key, *seen, now).await?;
                self.index(key, entry, now).await?;
            }
            WorkEnd::Resolved {
                into,
                origin,
                hints,
                class,
            } => {
                let unlisted = self.unlisted(key, into).await?;
                let (hints, class) = (written(hints), *class);
                let addition = |key: &Key| Addition {
                    arrival: Arrival {
                        key: key.clone(),
                        seq: self.take_seq(),
                        class,
                    },
                    origin: origin.clone(),
                    hints: hints.clone(),
                };
                let additions = into.iter().chain(&unlisted).map(addition).collect();
                left.extend(self.add(additions).await?);
            }
            WorkEnd::Failed(_) => {}
            WorkEnd::Dead(trouble) => {
                self.run(
                    Query::by_key(GIVE_UP, key)
                        .bind(covered.up_to.0)
                        .bind(trouble.retry_at),
                )
                .await?;
                // What was given up waits for no one.
                let sql = "UPDATE open_loop SET part = $4 WHERE {key}";
                self.or_without(Query::by_key(sql, key).bind(Part::Nobody.as_str()))
                    .await?;
            }
        }
        Ok(ChangeOutcome::New(left))
    }

    /// What was covered is done; what came meanwhile stays, with its own hints, and has arrived. `None`: the work is
    /// another process's.
    async fn finish(&mut self, key: &Key, covered: Covered) -> Result<Option<Vec<Arrival>>> {
        let Covered {
            up_to,
            hints,
            fence,
        } = covered;
        if Query::by_key(DONE, key)
            .bind(fence.0)
            .bind(up_to.0)
            .execute(self.on())
            .await?
            > 0
        {
            return Ok(Some(Vec::new()));
        }
        let left: Vec<(i64, i64)> = Query::by_key(BEGIN_ANEW, key)
            .bind(fence.0)
            .bind(hints)
            .fetch(self.on())
            .await?;
        let arrival = |(seq, class): &_| Arrival {
            key: key.clone(),
            seq: Seq(*seq),
            class: super::class(*class),
        };
        Ok(left.first().map(|left| vec![arrival(left)]))
    }

    /// `None`: the work is another process's.
    async fn note(
        &mut self,
        key: &Key,
        covered: Covered,
        trouble: &Trouble,
    ) -> Result<Option<Vec<Arrival>>> {
        let Trouble {
            failures,
            failing_since,
            reason,
            retry_at,
        } = trouble;
        let noted = Query::by_key(NOTE, key)
            .bind(covered.fence.0)
            .bind(i64::from(*failures))
            .bind(reason.as_str());
        let noted = noted
            .bind(*retry_at)
            .bind(*failing_since)
            .execute(self.on())
            .await?;
        Ok((noted > 0).then(Vec::new))
    }

    async fn replay(&mut self, key: &Key) -> Result<ChangeOutcome> {
        let seq = self.take_seq();
        let revived = Query::by_key(REVIVE, key)
            .bind(seq.0)
            .execute(self.on())
            .await?;
        let arrival = Arrival {
            key: key.clone(),
            seq,
            class: WorkClass::Author,
        };
        Ok(ChangeOutcome::New(if revived > 0 {
            vec![arrival]
        } else {
            Vec::new()
        }))
    }

    /// Looks that no delivery asked for.
    pub(super) async fn ask(
        &mut self,
        keys: impl IntoIterator<Item = Key>,
        event: &str,
        class: WorkClass,
        now: Timestamp,
    ) -> Result<ChangeOutcome> {
        let origin = WorkOrigin {
            delivery: String::new(),
            event: event.to_owned(),
            received_at: now,
        };
        let addition = |key| {
            let arrival = Arrival {
                key,
                seq: self.take_seq(),
                class,
            };
            Addition {
                arrival,
                origin: origin.clone(),
                hints: String::new(),
            }
        };
        let additions = keys.into_iter().map(addition).collect();
        Ok(ChangeOutcome::New(self.add(additions).await?))
    }

    async fn prune(&mut self, now: Timestamp) -> Result<ChangeOutcome> {
        let ids = if self.is_shared {
            Query::new("DELETE FROM process WHERE alive_until < clock_millis() - 86400000")
                .execute(self.on())
                .await?;
            let tomorrow = part_of(now + TimeDelta::days(1));
            Query::new("SELECT empty_part($1)")
                .bind(tomorrow)
                .execute(self.on())
                .await?;
            0
        } else {
            Query::new(FORGET)
                .bind(now - REMEMBER_IDS)
                .bind(SLICE)
                .execute(self.on())
                .await?
        };
        for (old, before) in [
            (
                "DELETE FROM work WHERE dead_at < $1",
                now - KEEP_DEAD_LETTERS,
            ),
            (
                "DELETE FROM failed_delivery WHERE failed_at < $1",
                now - KEEP_FAILED,
            ),
            (
                "DELETE FROM open_pull WHERE listed_at < $1",
                now - KEEP_PULLS,
            ),
            (UNSEEN, now - KEEP_PULLS),
            ("DELETE FROM access_token WHERE ends_at <= $1", now),
            ("DELETE FROM taken WHERE at < $1", now - COUNTS_FOR),
            ("DELETE FROM turn WHERE at < $1", now - COUNTS_FOR),
        ] {
            self.run(Query::new(old).bind(before)).await?;
        }
        Ok(ChangeOutcome::Rows(ids))
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
    let time = if uuid.get_version_num() == 1 {
        [g, h, e, f, a, b, c, d]
    } else {
        [a, b, c, d, e, f, g, h]
    };
    [time, rest].concat()
}

/// Where ids of that day are.
fn part_of(at: Timestamp) -> i64 {
    at.timestamp().div_euclid(86_400).rem_euclid(PARTS)
}

/// Additions to one target are one: the newest, with the hints of all, each once. Order is kept.
fn merged(additions: Vec<Addition>) -> impl Iterator<Item = Addition> {
    let mut merged: IndexMap<Key, Addition> = IndexMap::with_capacity(additions.len());
    for mut addition in additions {
        if let Some(before) = merged.get(&addition.arrival.key) {
            addition.arrival.class = before.arrival.class.min(addition.arrival.class);
            if before.hints.contains(&addition.hints) {
                addition.hints = before.hints.clone();
            } else {
                addition.hints.insert_str(0, &before.hints);
            }
        }
        merged.insert(addition.arrival.key.clone(), addition);
    }
    merged.into_values()
}

fn written(hints: &[Hint]) -> String {
    let line = |hint| {
        serde_json::to_string(hint).expect("hints have string keys and no failing parts") + "\n"
    };
    hints.iter().map(line).collect()
}
