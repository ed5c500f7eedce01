//! Statements in the SQL that SQLite and PostgreSQL share, and the connections that take them.
//!
//! Parameters are `$1`, `$2` …, columns of the row in conflict are written with their table, and whatever the two differ
//! in has a statement for each.

use sqlx::{
    Connection as _, Decode, PgConnection, Postgres, Row as _, Sqlite, SqliteConnection, Type, postgres::PgRow,
    sqlite::SqliteRow,
};

use super::{Key, names};

/// A statement and what is bound to it.
pub(super) struct Query {
    sql: &'static str,
    values: Vec<Value>,
}

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

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Number(number)
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

/// A statement that the two databases have in different words.
pub(super) struct PerDatabase {
    sqlite: String,
    postgres: String,
}

impl PerDatabase {
    /// `{is_alone}`: no other process can be there. `{is_gone}`: the process that holds the row is dead, or was not heard
    /// of for too long. `{lock}` takes the rows of a selection; `{lock_or_skip}` leaves out what somebody else has taken.
    /// `{listed}` selects the texts of the JSON list that is the fifth parameter.
    pub fn new(sql: &str) -> Self {
        let written = |words: [&str; 7]| {
            let [is_alone, is_gone, lock, lock_or_skip, lease, numbers, listed] = words;
            sql.replace("{is_alone}", is_alone)
                .replace("{is_gone}", is_gone)
                .replace("{lock}", lock)
                .replace("{lock_or_skip}", lock_or_skip)
                .replace("{lease}", lease)
                .replace("{numbers}", numbers)
                .replace("{listed}", listed)
        };
        Self {
            sqlite: written([
                "TRUE",
                "NOT EXISTS (SELECT 1 FROM process WHERE id = holder AND alive_until > 0)",
                "",
                "",
                "9223372036854775807",
                "SELECT 1 + MAX(COALESCE((SELECT MAX(MAX(newest, fence)) FROM work), 0),
                     COALESCE((SELECT MAX(seq) FROM seen), 0))",
                "SELECT value FROM json_each($5)",
            ]),
            postgres: written([
                "FALSE",
                "NOT EXISTS (SELECT 1 FROM process WHERE id = holder AND alive_until > clock_millis())",
                "FOR UPDATE",
                "FOR UPDATE SKIP LOCKED",
                "clock_millis() + 20000",
                "SELECT nextval('numbers')",
                "SELECT jsonb_array_elements_text(CAST($5 AS jsonb))",
            ]),
        }
    }

    pub fn of(&'static self, connection: &Connection) -> &'static str {
        self.written(connection.is_postgres())
    }

    pub fn written(&'static self, for_postgres: bool) -> &'static str {
        if for_postgres { &self.postgres } else { &self.sqlite }
    }
}

macro_rules! bound {
    ($query:expr) => {
        $query.values.into_iter().fold(sqlx::query($query.sql), |query, value| match value {
            Value::Number(number) => query.bind(number),
            Value::Text(text) => query.bind(text),
            Value::Bytes(bytes) => query.bind(bytes),
        })
    };
}

impl Query {
    pub const fn new(sql: &'static str) -> Self {
        Self { sql, values: Vec::new() }
    }

    /// Binds the key as `$1`, `$2` and `$3`.
    pub fn by_key(sql: &'static str, key: &Key) -> Self {
        let (repository, what) = names::columns(&key.target);
        Self::new(sql).bind(key.installation.get().cast_signed()).bind(repository).bind(what)
    }

    pub fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    /// The number of rows that were changed.
    pub async fn execute(self, on: On<'_>) -> Result<u64, sqlx::Error> {
        Ok(match on {
            On::Sqlite(connection) => bound!(self).execute(connection).await?.rows_affected(),
            On::Postgres(connection) => bound!(self).execute(connection).await?.rows_affected(),
        })
    }

    pub async fn fetch_all(self, on: On<'_>) -> Result<Vec<Row>, sqlx::Error> {
        Ok(match on {
            On::Sqlite(connection) => bound!(self).fetch_all(connection).await?.into_iter().map(Row::Sqlite).collect(),
            On::Postgres(connection) => {
                bound!(self).fetch_all(connection).await?.into_iter().map(Row::Postgres).collect()
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
