//! A PostgreSQL server that any number of processes share.
//!
//! Who works on a target is a claim in its row: the process that holds it and a number, its fence, that no other claim
//! has. A process renews its lease every [`BEAT`]; one that has not done so for 20 seconds holds nothing, and others
//! claim what it had. Before a request that changes something at GitHub the database is asked whether the claim still
//! stands ([`Store::fence`](super::Store::fence)), so a process that was stopped and wakes posts nothing. All of these
//! times are the database's.
//!
//! Races: a process that is stopped between that answer and sending the request still sends it. The answer promises
//! five more seconds, so it takes a stop within some microseconds, longer than that.
//!
//! Wake-ups: a process that stored new work notifies the others, at most every 50 milliseconds and never in the
//! transaction that stored it, since a notification holds a lock over the whole server until its transaction ends. A
//! notification may be lost: every process polls for work every [`POLL`].
//!
//! Healing: a writer that failed connects anew, and so do readers. A session that sits in a transaction is ended by the
//! server, so a stopped process holds up no other for longer than that.

use std::{str::FromStr as _, sync::Arc, time::Duration};

use chrono::TimeDelta;
use sqlx::{
    ConnectOptions as _, Connection as _, FromRow, PgConnection, PgPool,
    any::AnyRow,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{interval, sleep, timeout},
};

use super::{Query, Result, StoreError, check_steps, migrator};

/// As in sqlite.rs. A step only adds what versions before it do without; what they use goes with a step of the release
/// after the one that stopped using it. So two versions work on one database while one replaces the other.
const MIGRATIONS: &[(&str, &str)] = &[
    (
        "inbox",
        include_str!("../../../migrations/postgres/0001_inbox.sql"),
    ),
    (
        "classes",
        include_str!("../../../migrations/postgres/0002_classes.sql"),
    ),
    (
        "open loops",
        include_str!("../../../migrations/postgres/0003_open_loops.sql"),
    ),
    (
        "problems",
        include_str!("../../../migrations/postgres/0004_problems.sql"),
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

/// How often a process renews its lease.
const BEAT: Duration = Duration::from_secs(5);

/// How often a process asks for work whose notification was lost.
pub(super) const POLL: TimeDelta = TimeDelta::seconds(2);

/// The least pause between two notifications of new work.
const NOTIFY_EVERY: Duration = Duration::from_millis(50);

/// A question that takes longer is not answered.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

const READERS: u32 = 6;

const CHANNEL: &str = "loopgate_work";

#[derive(Debug, Clone)]
pub(super) struct PostgresServer {
    options: PgConnectOptions,
    readers: PgPool,
    /// Notified when there is new work for other processes.
    pub outgoing: Arc<Notify>,
    /// Notified when another process has new work.
    pub incoming: Arc<Notify>,
}

impl PostgresServer {
    /// Sends no query yet.
    pub fn at(address: &str) -> Result<Self> {
        // Without plans that read whole tables: what the planner knows of a queue is always old.
        let settings = [
            ("enable_seqscan", "off"),
            ("idle_in_transaction_session_timeout", "5s"),
            ("jit", "off"),
        ];
        let options = PgConnectOptions::from_str(address.trim())?
            .application_name("loopgate")
            .statement_cache_capacity(512)
            .options(settings)
            .disable_statement_logging();
        let pool = PgPoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(ANSWER_WITHIN);
        // A slow database shows in the requests that fail: sqlx need not log it too.
        let pool = pool.acquire_slow_threshold(ANSWER_WITHIN);
        let readers = pool.connect_lazy_with(options.clone());
        Ok(Self {
            options,
            readers,
            outgoing: Arc::default(),
            incoming: Arc::default(),
        })
    }

    pub async fn connect(&self) -> Result<PgConnection> {
        let connecting = timeout(ANSWER_WITHIN, PgConnection::connect_with(&self.options));
        Ok(connecting.await.map_err(|_| StoreError::Silent)??)
    }

    /// Brings the tables up to date; one process at a time.
    pub async fn migrate(&self) -> Result<()> {
        let mut connection = self.connect().await?;
        check_steps(&mut connection, MIGRATIONS.len()).await?;
        migrator(MIGRATIONS)
            .run_direct(None, &mut connection, false)
            .await?;
        Ok(connection.close().await?)
    }

    pub async fn read<T: for<'r> FromRow<'r, AnyRow>>(&self, query: Query) -> Result<Vec<T>> {
        let mut connection = self.readers.acquire().await?;
        match timeout(ANSWER_WITHIN, query.fetch(&mut *connection)).await {
            Ok(rows) => Ok(rows?),
            Err(_) => {
                // What it is in the middle of will not end.
                drop(connection.detach());
                Err(StoreError::Silent)
            }
        }
    }

    /// Starts the tasks of the process of that number: its lease, its notifications, and receiving those of others.
    pub fn attend(&self, process: i64) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let server = self.clone();
        tasks.spawn(async move {
            let mut beats = interval(BEAT);
            loop {
                beats.tick().await;
                let alive = Query::new(
                    "INSERT INTO process (id, alive_until) OVERRIDING SYSTEM VALUE VALUES ($1, clock_millis() + 20000)
                     ON CONFLICT (id) DO UPDATE SET alive_until = excluded.alive_until",
                );
                if let Err(error) = server.read::<()>(alive.bind(process)).await {
                    tracing::warn!(%error, "the lease of this process is not renewed");
                }
            }
        });
        let server = self.clone();
        tasks.spawn(async move {
            loop {
                server.outgoing.notified().await;
                let notify = Query::new("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(process.to_string());
                if let Err(error) = server.read::<()>(notify).await {
                    tracing::debug!(%error, "other processes get no wake-up and find new work by polling");
                }
                sleep(NOTIFY_EVERY).await;
            }
        });
        let server = self.clone();
        tasks.spawn(async move {
            loop {
                if let Err(error) = server.listen(process).await {
                    tracing::debug!(%error, "this process gets no wake-up and finds new work by polling");
                }
                sleep(BEAT).await;
            }
        });
        tasks
    }

    async fn listen(&self, process: i64) -> Result<()> {
        // A connection of its own: it waits for ever.
        let mut listener = PgListener::connect_with(&self.readers).await?;
        listener.listen(CHANNEL).await?;
        loop {
            if listener.recv().await?.payload() != process.to_string() {
                self.incoming.notify_one();
            }
        }
    }
}
