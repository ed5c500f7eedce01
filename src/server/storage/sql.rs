//! Statements in the SQL that SQLite and PostgreSQL share, and the connections that take them.
//!
//! Parameters are `$1`, `$2` …, columns of the row in conflict are written with their table, and a word in braces stands
//! for what the two write differently ([`WORDS`]).

use std::borrow::Cow;

use sqlx::{
    AssertSqlSafe, Connection as _, Decode, PgConnection, Postgres, Row as _, Sqlite, SqliteConnection, Type,
    postgres::PgRow, sqlite::SqliteRow,
};

use super::{InstallationId, Key, Timestamp, names};

/// A statement and what is bound to it.
pub(super) struct Query {
    sql: Cow<'static, str>,
    values: Vec<Value>,
}

const KEY: &str = "installation = $1 AND repository = $2 AND what = $3";

/// Words of statements, each as SQLite and as PostgreSQL have it.
const WORDS: [[&str; 3]; 7] = [
    // The row of a target: the parameters of `Query::by_key`.
    ["{key}", KEY, KEY],
    // No other process can be there.
    ["{is_alone}", "TRUE", "FALSE"],
    // The process that holds the row is dead: its lease has ended.
    [
        "{is_gone}",
        "NOT EXISTS (SELECT 1 FROM process WHERE id = holder AND alive_until > 0)",
        "NOT EXISTS (SELECT 1 FROM process WHERE id = holder AND alive_until > clock_millis())",
    ],
    // Takes the rows of a selection.
    ["{lock}", "", "FOR UPDATE"],
    // Takes those rows that no other process has taken.
    ["{lock_or_skip}", "", "FOR UPDATE SKIP LOCKED"],
    // When the lease of a process ends that begins now and does not renew it.
    ["{lease}", "9223372036854775807", "clock_millis() + 20000"],
    // The texts of the JSON list that is the fifth parameter.
    ["{listed}", "SELECT value FROM json_each($5)", "SELECT jsonb_array_elements_text(CAST($5 AS jsonb))"],
];

pub(super) enum Value {
    Number(Option<i64>),
    Text(String),
    Bytes(Vec<u8>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(Some(number))
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        i64::try_from(number).unwrap_or(i64::MAX).into()
    }
}

impl From<InstallationId> for Value {
    fn from(id: InstallationId) -> Self {
        id.get().cast_signed().into()
    }
}

impl From<Option<Timestamp>> for Value {
    fn from(time: Option<Timestamp>) -> Self {
        Self::Number(time.map(|time| time.timestamp_millis()))
    }
}

impl From<Timestamp> for Value {
    fn from(time: Timestamp) -> Self {
        Self::Number(Some(time.timestamp_millis()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        // PostgreSQL's texts hold any character but this one.
        Self::Text(if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text })
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// A connection that is used for a moment.
pub(super) enum On<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

/// A connection that is kept.
#[derive(Debug)]
pub(super) enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Connection {
    pub fn on(&mut self) -> On<'_> {
        match self {
            Self::Sqlite(connection) => On::Sqlite(connection),
            Self::Postgres(connection) => On::Postgres(connection),
        }
    }

    pub const fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    pub async fn close(self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(connection) => connection.close().await,
            Self::Postgres(connection) => connection.close().await,
        }
    }
}

macro_rules! bound {
    ($query:expr, $database:expr) => {{
        let Query { sql, values } = $query;
        values.into_iter().fold(sqlx::query(AssertSqlSafe(worded(sql, $database))), |query, value| match value {
            Value::Number(number) => query.bind(number),
            Value::Text(text) => query.bind(text),
            Value::Bytes(bytes) => query.bind(bytes),
        })
    }};
}

/// Places of [`WORDS`].
const SQLITE: usize = 1;
const POSTGRES: usize = 2;

fn worded(sql: Cow<'static, str>, database: usize) -> Cow<'static, str> {
    if !sql.contains('{') {
        return sql;
    }
    WORDS.iter().fold(sql.into_owned(), |sql, words| sql.replace(words[0], words[database])).into()
}

impl Query {
    pub fn new(sql: impl Into<Cow<'static, str>>) -> Self {
        Self { sql: sql.into(), values: Vec::new() }
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
        let row = |row: usize| {
            let places: Vec<_> = (1..=columns).map(|column| format!("${}", row * columns + column)).collect();
            format!("({})", places.join(","))
        };
        Self::new(sql.replace("{rows}", &(0..rows).map(row).collect::<Vec<_>>().join(",")))
    }

    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// The number of rows that were changed.
    pub async fn execute(self, on: On<'_>) -> Result<u64, sqlx::Error> {
        Ok(match on {
            On::Sqlite(connection) => bound!(self, SQLITE).execute(connection).await?.rows_affected(),
            On::Postgres(connection) => bound!(self, POSTGRES).execute(connection).await?.rows_affected(),
        })
    }

    pub async fn fetch_all(self, on: On<'_>) -> Result<Vec<Row>, sqlx::Error> {
        Ok(match on {
            On::Sqlite(connection) => {
                bound!(self, SQLITE).fetch_all(connection).await?.into_iter().map(Row::Sqlite).collect()
            }
            On::Postgres(connection) => {
                bound!(self, POSTGRES).fetch_all(connection).await?.into_iter().map(Row::Postgres).collect()
            }
        })
    }
}

/// A row of an answer.
pub(super) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

impl Row {
    /// The column at this place, from 0.
    pub fn get<'r, T>(&'r self, at: usize) -> Result<T, sqlx::Error>
    where
        T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>,
    {
        match self {
            Self::Sqlite(row) => row.try_get(at),
            Self::Postgres(row) => row.try_get(at),
        }
    }
}
