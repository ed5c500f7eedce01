//! What the queue relies on, tested on a real file and on a real server.

use std::fs;

use chrono::TimeDelta;
use uuid::Uuid;

use super::{sqlite::FILE, write::ordered, *};
use crate::github::{BudgetUse, LoopEntry, Need, Want};
use loopgate_core::{CheckRunId, PrNumber, Sha, deciding::Part};
use loopgate_render::{Filter, OpenLoop};

#[path = "../../../tests/fixtures/postgres.rs"]
mod postgres;

/// Runs each of these tests on a file and, where there is one, on a PostgreSQL server.
macro_rules! on_both {
    ($($name:ident,)*) => {
        mod on_sqlite {
            $(#[tokio::test] async fn $name() { super::$name(super::Kept::new().await).await })*
        }
        mod on_postgres {
            $(#[tokio::test] async fn $name() {
                if let Some(address) = super::postgres::schema().await {
                    super::$name(super::Kept::at(Some(super::Secret::new(address))).await).await
                }
            })*
        }
    };
}

mod access_tokens;
mod budget;
mod healing;
mod index;
mod processes;
mod queue;
mod recovery;

/// An open loop as the index holds it.
pub(in crate::server) fn sample(
    title: &str,
    part: Part,
    who: &[&str],
    since: Timestamp,
) -> OpenLoop {
    serde_json::from_value(serde_json::json!({
        "title": title, "url": "https://github.com/acme/widgets/pull/1", "author": "Alice", "author_kind": "agent",
        "head_sha": "0123456789abcdef0123456789abcdef01234567", "agent": "Copilot", "private": true, "part": part,
        "who": who, "icon": "🔁", "verdict": "Attempt 1 of 3 failed: `unit` — Alice pushes a fix",
        "action": "push a fix", "action_url": "https://github.com/acme/widgets/pull/1/checks",
        "stage": "VERIFY", "attempt": 1, "max_attempts": 3, "score": 0.5, "since": since,
    }))
    .expect("an open loop")
}

struct Kept {
    store: Store,
    writer: Writer,
    directory: tempfile::TempDir,
    address: Option<Secret>,
}

impl Kept {
    async fn new() -> Self {
        Self::at(None).await
    }

    async fn at(address: Option<Secret>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (store, writer) = open(address.as_ref(), directory.path()).await.unwrap();
        Self {
            store,
            writer,
            directory,
            address,
        }
    }

    /// Another process on the same database, after this one ended without a word where only one can be there.
    async fn next(mut self) -> (Self, Option<Self>) {
        if let Some(address) = self.address.clone() {
            return (Self::at(Some(address)).await, Some(self));
        }
        let directory = self.directory;
        self.writer.tasks.shutdown().await;
        drop((self.store, self.writer));
        let (store, writer) = open(None, directory.path()).await.unwrap();
        (
            Self {
                store,
                writer,
                directory,
                address: None,
            },
            None,
        )
    }

    const fn is_shared(&self) -> bool {
        self.address.is_some()
    }

    fn connection(&mut self) -> On<'_> {
        &mut **self
            .writer
            .connection
            .as_mut()
            .expect("a writer that just wrote has a connection")
    }

    /// The first column of each row.
    async fn sql(&mut self, sql: &'static str) -> Vec<i64> {
        let rows: Vec<(i64,)> = Query::new(sql).fetch(self.connection()).await.unwrap();
        rows.into_iter().map(|(number,)| number).collect()
    }

    async fn begin(&mut self, number: u64) -> Option<TargetWork> {
        let ChangeOutcome::Begun(begun) = self.one(Change::Begin(key(number), at(0))).await else {
            panic!("an answer to another question")
        };
        begun.map(|begun| *begun)
    }

    async fn one(&mut self, change: Change) -> ChangeOutcome {
        self.writer.apply(&[change]).await.unwrap().remove(0)
    }

    async fn loaded(&self, number: u64) -> Option<TargetWork> {
        self.store.load(&key(number)).await.unwrap()
    }

    async fn counts(&self) -> (u64, u64) {
        let counts = self.store.counts().await.unwrap();
        (counts.waiting, counts.dead)
    }

    /// Settles what is there now.
    async fn settle(&mut self, number: u64, how: WorkEnd) {
        let loaded = self.loaded(number).await.unwrap();
        self.settle_what(number, &loaded, how).await;
    }

    /// Settles what was there when it was loaded.
    async fn settle_what(&mut self, number: u64, loaded: &TargetWork, how: WorkEnd) {
        self.one(Change::Settle {
            key: key(number),
            covered: loaded.covered,
            how: Box::new(how),
            now: at(0),
        })
        .await;
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

fn target(number: u64) -> Target {
    Target::PullRequest {
        repository: "acme/widgets".parse().unwrap(),
        number: PrNumber::new(number),
    }
}

fn key(number: u64) -> Key {
    Key {
        installation: InstallationId::new(u64::MAX),
        target: target(number),
    }
}

fn delivery(id: &str, number: u64, hints: Vec<Hint>) -> Change {
    let work = Work {
        installation: InstallationId::new(u64::MAX),
        targets: vec![target(number)],
        hints,
    };
    Change::Accept(Delivery {
        id: id.parse().unwrap(),
        event: "push".into(),
        received_at: at(0),
        work,
    })
}

fn hint(text: &str) -> Hint {
    let sha = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
    Hint::MergeGroup {
        head: sha,
        base: sha,
        base_ref: text.to_owned(),
        head_ref: None,
    }
}

fn is_fresh(applied: &ChangeOutcome) -> bool {
    matches!(applied, ChangeOutcome::New(arrivals) if !arrivals.is_empty())
}

fn trouble(failures: u32) -> Trouble {
    Trouble {
        failures,
        failing_since: at(0),
        reason: "no".into(),
        retry_at: at(60),
    }
}
