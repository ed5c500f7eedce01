//! Statements in the SQL that SQLite and PostgreSQL share, and the connections that take them.
//!
//! Parameters are `$1`, `$2` …, columns of the row in conflict are written with their table, and a word in braces
//! stands for what the two write differently ([`WORDS`]).

use std::borrow::Cow;

use futures::TryStreamExt as _;
use sqlx::{
    Arguments as _, AssertSqlSafe, Database as _, Either, FromRow, Postgres, SqlSafeStr as _,
    any::{AnyArguments, AnyRow},
};
use sqlx_core::any::AnyConnectionBackend;

use super::{InstallationId, Key, Timestamp, names};
use loopgate_core::UserId;

/// A connection to either database, that is used for a moment.
pub(super) type On<'c> = &'c mut (dyn AnyConnectionBackend + 'static);

/// A statement and what is bound to it.
pub(super) struct Query {
    sql: Cow<'static, str>,
    values: Vec<Value>,
}

const KEY: &str = "installation = $1 AND repository = $2 AND what = $3";

/// Words of statements, each as SQLite and as PostgreSQL have it.
const WORDS: [[&str; 3]; 7] = [
    // The row of a target: the parameters of `Query::by_key`.
    ["key", KEY, KEY],
    // No other process can be there.
    ["is_alone", "TRUE", "FALSE"],
    // The process that holds the row is dead: its lease has ended.
    [
        "is_gone",
        "NOT EXISTS (SELECT 1 FROM process WHERE id = holder AND alive_until > 0)",
        "NOT EXISTS (SELECT 1 FROM process WHERE id = holder AND alive_until > clock_millis())",
    ],
    // Takes those rows that no other process has taken.
    ["lock_or_skip", "", "FOR UPDATE SKIP LOCKED"],
    // When the lease of a process ends that begins now and does not renew it.
    ["lease", "9223372036854775807", "clock_millis() + 20000"],
    // Where the second text begins in the first, from 1; 0 if it does not stand there.
    ["find", "instr", "strpos"],
    // The texts of the JSON list that is the fifth parameter.
    [
        "listed",
        "SELECT value FROM json_each($5)",
        "SELECT jsonb_array_elements_text(CAST($5 AS jsonb))",
    ],
];

/// The statement with each word as one database has it, which is column `at` of [`WORDS`].
fn with_words(sql: &str, at: usize) -> String {
    let (mut whole, mut rest) = (String::with_capacity(2 * sql.len()), sql);
    while let Some((before, braced)) = rest.split_once('{') {
        let (word, after) = braced.split_once('}').unwrap_or((braced, ""));
        whole.push_str(before);
        whole.push_str(
            WORDS
                .iter()
                .find(|row| row[0] == word)
                .map_or(word, |row| row[at]),
        );
        rest = after;
    }
    whole + rest
}

pub(super) enum Value {
    Number(Option<i64>),
    Text(String),
    Bytes(Vec<u8>),
}

/// What a statement takes, and the value that it is stored as.
macro_rules! values {
    ($($taken:ty: $it:ident => $value:expr;)*) => {
        $(impl From<$taken> for Value {
            fn from($it: $taken) -> Self {
                $value
            }
        })*
    };
}

values! {
    i64: number => Self::Number(Some(number));
    usize: number => i64::try_from(number).unwrap_or(i64::MAX).into();
    InstallationId: id => id.get().cast_signed().into();
    UserId: id => id.get().cast_signed().into();
    Timestamp: time => Some(time).into();
    Option<Timestamp>: time => Self::Number(time.map(|time| time.timestamp_millis()));
    // PostgreSQL's texts hold any character but this one.
    String: text => Self::Text(if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text });
    &str: text => text.to_owned().into();
    Vec<u8>: bytes => Self::Bytes(bytes);
}

impl Query {
    pub fn new(sql: impl Into<Cow<'static, str>>) -> Self {
        Self {
            sql: sql.into(),
            values: Vec::new(),
        }
    }

    /// Binds the key as `$1`, `$2` and `$3`.
    pub fn by_key(sql: &'static str, key: &Key) -> Self {
        Self::new(sql).bind_key(key)
    }

    /// Binds what a target's row is known by.
    pub fn bind_key(self, key: &Key) -> Self {
        let (repository, what) = names::columns(&key.target);
        self.bind(key.installation).bind(repository).bind(what)
    }

    /// Writes the places of so many rows for `{rows}`: `($1,$2),($3,$4)` for two rows of two columns.
    pub fn of_rows(sql: &str, rows: usize, columns: usize) -> Self {
        let mut places = String::with_capacity(6 * rows * columns);
        for place in 0..rows * columns {
            let before = if place % columns == 0 { "),($" } else { ",$" };
            places.extend([before, &(place + 1).to_string()]);
        }
        Self::new(sql.replace("{rows}", &format!("{})", &places[2..])))
    }

    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// The number of rows that were changed.
    pub async fn execute(self, on: On<'_>) -> Result<u64, sqlx::Error> {
        Ok(self.carry_out(on).await?.1)
    }

    /// The rows of the answer.
    pub async fn fetch<T>(self, on: On<'_>) -> Result<Vec<T>, sqlx::Error>
    where
        T: for<'r> FromRow<'r, AnyRow>,
    {
        self.carry_out(on)
            .await?
            .0
            .iter()
            .map(T::from_row)
            .collect()
    }

    async fn carry_out(self, on: On<'_>) -> Result<(Vec<AnyRow>, u64), sqlx::Error> {
        let mut arguments = AnyArguments::default();
        for value in self.values {
            let added = match value {
                Value::Number(number) => arguments.add(number),
                Value::Text(text) => arguments.add(text),
                Value::Bytes(bytes) => arguments.add(bytes),
            };
            added.map_err(sqlx::Error::Encode)?;
        }
        let mut sql = self.sql;
        if sql.contains('{') {
            let at = 1 + usize::from(on.name() == Postgres::NAME);
            sql = with_words(&sql, at).into();
        }
        let sql = AssertSqlSafe(sql).into_sql_str();
        let mut answer = on.fetch_many(sql, true, Some(arguments));
        let (mut rows, mut changed) = (Vec::new(), 0);
        while let Some(part) = answer.try_next().await? {
            match part {
                Either::Left(result) => changed += result.rows_affected(),
                Either::Right(row) => rows.push(row),
            }
        }
        Ok((rows, changed))
    }
}
