//! The index of open loops: a cache for the pages, filled by looks. What goes wrong with it costs a line of a page,
//! never a look or a delivery.

use std::collections::BTreeSet;

use super::{write::Batch, *};
use crate::{render::OpenLoop, server::reconciler::Standing};
use loopgate_core::{PrNumber, deciding::Part};

/// The repositories whose loops are shown, counted and named. Without a word about it: none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Sees {
    Everything,
    These(Arc<BTreeSet<RepoName>>),
}

impl Default for Sees {
    fn default() -> Self {
        Self::These(Arc::default())
    }
}

/// No repository has this name.
const ALL: &str = r#"["*"]"#;

impl Sees {
    pub fn has(&self, repository: &RepoName) -> bool {
        match self {
            Self::Everything => true,
            Self::These(repositories) => repositories.contains(repository),
        }
    }

    fn listed(&self) -> String {
        match self {
            Self::Everything => ALL.to_owned(),
            Self::These(repositories) => {
                let names: Vec<_> = repositories.iter().map(ToString::to_string).collect();
                serde_json::Value::from(names).to_string()
            }
        }
    }
}

/// What the rows of a page have in common. Names are compared in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::server) struct IndexFilter {
    pub sees: Sees,
    pub repository: Option<RepoName>,
    /// It waits for this person or team, or is theirs.
    pub person: Option<String>,
    /// It waits for this person.
    pub waits_for: Option<String>,
    pub agent: Option<String>,
}

/// An open loop as the index has it.
#[derive(Debug, Clone)]
pub(in crate::server) struct IndexedLoop {
    pub repository: RepoName,
    pub number: PrNumber,
    pub open: OpenLoop,
}

/// How many loops wait for whom, and since when the oldest does.
pub(in crate::server) type IndexCounts = Vec<(Part, u64, Timestamp)>;

/// Differs once loops of a filter were looked at, began or ended.
pub(in crate::server) type IndexVersion = (i64, i64, Option<i64>);

const WHERE: &str =
    "($1 = '' OR repository = $1) AND ($2 = '' OR author = $2 OR replace(who, ' ' || $2 || ' ', '') <> who)
    AND ($3 = '' OR replace(who, ' ' || $3 || ' ', '') <> who) AND ($4 = '' OR agent = $4)
    AND ($5 = '[\"*\"]' OR repository IN ({listed}))";

/// How many loops each repository has; those with most of them first, 500 at most.
const REPOSITORIES: &str = "SELECT repository, COUNT(*) FROM open_loop WHERE {filter} GROUP BY repository
     ORDER BY COUNT(*) DESC, repository LIMIT 500";

const LOOPS: &str = "SELECT installation, repository, what, loop FROM open_loop WHERE part = $6 AND {filter}
     ORDER BY since, repository, what LIMIT $7 OFFSET $8";

const VERSION: &str = "SELECT COUNT(*), COUNT(CASE WHEN part = 'nobody' THEN 1 END), MAX(looked_at) FROM open_loop
     WHERE {filter}";

impl IndexFilter {
    /// `sql` with these conditions for `{filter}`.
    fn bound(&self, sql: &str) -> Query {
        let lower = |name: &Option<String>| name.as_deref().unwrap_or_default().to_lowercase();
        Query::new(sql.replace("{filter}", WHERE))
            .bind(self.repository.as_ref().map(ToString::to_string).unwrap_or_default())
            .bind(lower(&self.person))
            .bind(lower(&self.waits_for))
            .bind(lower(&self.agent))
            .bind(self.sees.listed())
    }
}

impl Store {
    pub async fn count_loops(&self, filter: &IndexFilter) -> Result<IndexCounts, StoreError> {
        let rows = self
            .database
            .read(filter.bound("SELECT part, COUNT(*), MIN(since) FROM open_loop WHERE {filter} GROUP BY part"))
            .await?;
        let mut counts = Vec::with_capacity(rows.len());
        for row in &rows {
            let written: &str = row.get(0)?;
            if let Some(part) = Part::ALL.into_iter().find(|part| part.as_str() == written) {
                counts.push((part, row.get::<i64>(1)?.cast_unsigned(), time(row.get(2)?).unwrap_or_default()));
            }
        }
        counts.sort_unstable();
        Ok(counts)
    }

    pub async fn index_version(&self, filter: &IndexFilter) -> Result<IndexVersion, StoreError> {
        let rows = self.database.read(filter.bound(VERSION)).await?;
        rows.first().map_or(Ok((0, 0, None)), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// Those that have waited longest come first.
    pub async fn loops(
        &self,
        (filter, part): (&IndexFilter, Part),
        offset: u32,
        limit: u32,
    ) -> Result<Vec<IndexedLoop>, StoreError> {
        let query = filter.bound(LOOPS).bind(part.as_str()).bind(i64::from(limit)).bind(i64::from(offset));
        let mut loops = Vec::new();
        for row in &self.database.read(query).await? {
            // A row of another version may be one that this cannot read.
            if let (Some(Key { target: Target::PullRequest { repository, number }, .. }), Ok(open)) =
                (key(row)?, serde_json::from_str(row.get(3)?))
            {
                loops.push(IndexedLoop { repository, number, open });
            }
        }
        Ok(loops)
    }

    /// What is wrong with the configuration of which repository, and since when: a hundred at most, the oldest first.
    pub async fn problems(&self) -> Result<Vec<(String, String, Timestamp)>, StoreError> {
        let sql = "SELECT repository, problem, MIN(problem_since) FROM open_loop WHERE problem <> ''
                   GROUP BY repository, problem ORDER BY MIN(problem_since), repository LIMIT 100";
        let rows = self.database.read(Query::new(sql)).await?;
        rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?, time(row.get(2)?).unwrap_or_default()))).collect()
    }

    /// The repositories that have open loops, with their number; those with most of them first, 500 at most.
    pub async fn repositories(&self, sees: Sees) -> Result<Vec<(RepoName, u64)>, StoreError> {
        let filter = IndexFilter { sees, ..IndexFilter::default() };
        let rows = self.database.read(filter.bound(REPOSITORIES)).await?;
        let read = |row: &Row| Ok((row.get::<&str>(0)?.parse().ok(), row.get::<i64>(1)?.cast_unsigned()));
        let read: Result<Vec<(Option<RepoName>, u64)>, StoreError> = rows.iter().map(read).collect();
        Ok(read?.into_iter().filter_map(|(repository, loops)| Some((repository?, loops))).collect())
    }
}

impl Batch<'_> {
    /// Notes how a loop stands. What goes wrong undoes this alone.
    ///
    /// # Errors
    /// Only where the connection is broken, so that the whole batch is tried again.
    pub(super) async fn index(&mut self, key: &Key, standing: &Standing, now: Timestamp) -> Result<(), StoreError> {
        let query = match standing {
            Standing::Open(open) => upsert(key, open, now),
            Standing::Over => Query::by_key("DELETE FROM open_loop WHERE {key}", key),
            Standing::NotSaid => return Ok(()),
        };
        self.or_without(query).await
    }

    pub(super) async fn or_without(&mut self, query: Query) -> Result<(), StoreError> {
        Query::new("SAVEPOINT indexing").execute(self.on()).await?;
        if let Err(error) = query.execute(self.on()).await {
            tracing::warn!(%error, "the index of open loops is not up to date");
            Query::new("ROLLBACK TO SAVEPOINT indexing").execute(self.on()).await?;
        }
        Query::new("RELEASE SAVEPOINT indexing").execute(self.on()).await?;
        Ok(())
    }
}

fn upsert(key: &Key, open: &OpenLoop, now: Timestamp) -> Query {
    let who: Vec<String> = open.who.iter().map(|name| name.to_lowercase()).collect();
    Query::by_key(
        "INSERT INTO open_loop (installation, repository, what, part, who, author, agent, since, looked_at, loop, problem,
             problem_since)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $9)
         ON CONFLICT (installation, repository, what) DO UPDATE SET part = excluded.part, who = excluded.who,
             author = excluded.author, agent = excluded.agent, since = excluded.since, looked_at = excluded.looked_at,
             loop = excluded.loop, problem = excluded.problem, problem_since = CASE
                 WHEN open_loop.problem = excluded.problem THEN open_loop.problem_since
                 ELSE excluded.problem_since END",
        key,
    )
    .bind(open.part.as_str())
    .bind(format!(" {} ", who.join("  ")))
    .bind(open.author.to_lowercase())
    .bind(open.agent.as_deref().unwrap_or_default().to_lowercase())
    .bind(open.since)
    .bind(now)
    .bind(serde_json::to_string(open).unwrap_or_default())
    .bind(open.problem.as_deref().unwrap_or_default())
}

#[cfg(test)]
pub(in crate::server) fn sample(title: &str, part: Part, who: &[&str], since: Timestamp) -> OpenLoop {
    serde_json::from_value(serde_json::json!({
        "title": title, "url": "https://github.com/acme/widgets/pull/1", "author": "Alice", "author_kind": "agent",
        "head_sha": "0123456789abcdef0123456789abcdef01234567", "agent": "Copilot", "private": true, "part": part,
        "who": who, "icon": "🔁", "verdict": "Attempt 1 of 3 failed: `unit` — Alice pushes a fix",
        "action": "push a fix", "action_url": "https://github.com/acme/widgets/pull/1/checks",
        "stage": "VERIFY", "attempt": 1, "max_attempts": 3, "score": 0.5, "since": since,
    }))
    .expect("an open loop")
}
