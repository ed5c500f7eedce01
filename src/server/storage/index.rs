//! The index of open loops: a cache for the pages, filled by looks. What goes wrong with it costs a line of a page,
//! never a look or a delivery.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{write::Batch, *};
use crate::github::LoopEntry;
use loopgate_core::{Login, PrNumber, deciding::Part};
use loopgate_render::{Filter, OpenLoop};

/// The repositories whose loops are shown, counted and named. By default none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Visibility {
    Everything,
    These(Arc<BTreeSet<RepoName>>),
}

impl Default for Visibility {
    fn default() -> Self {
        Self::These(Arc::default())
    }
}

/// No repository has this name.
const ALL: &str = r#"["*"]"#;

impl Visibility {
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
#[derive(Debug, Clone, Default)]
pub(in crate::server) struct IndexFilter {
    pub visible: Visibility,
    pub shown: Filter,
}

/// An open loop as the index has it.
pub(in crate::server) type IndexedLoop = (RepoName, PrNumber, OpenLoop);

/// How many loops wait for whom, and since when the oldest does.
pub(in crate::server) type IndexCounts = Vec<(Part, u64, Timestamp)>;

/// Differs once loops of a filter were looked at, began or ended.
pub(in crate::server) type IndexVersion = (i64, i64, Option<i64>);

const WHERE: &str =
    "($1 = '' OR repository = $1) AND ($2 = '' OR author = $2 OR replace(who, ' ' || $2 || ' ', '') <> who)
    AND ($3 = '' OR replace(who, ' ' || $3 || ' ', '') <> who) AND ($4 = '' OR agent = $4)
    AND ($5 = '[\"*\"]' OR repository IN ({listed}))";

const KNOWN: &str = "SELECT installation, repository, what FROM open_loop
     WHERE installation = $1 AND ($2 = '' OR repository = $2)";

/// How many loops each repository has; those with most of them first, 500 at most.
const REPOSITORIES: &str =
    "SELECT repository, COUNT(*) FROM open_loop WHERE {filter} GROUP BY repository
     ORDER BY COUNT(*) DESC, repository LIMIT 500";

const LOOPS: &str =
    "SELECT installation, repository, what, loop FROM open_loop WHERE part = $6 AND {filter}
     ORDER BY since, repository, what LIMIT $7 OFFSET $8";

/// How many loops wait for the same part and names, and since when the oldest does.
const COUNTS: &str =
    "SELECT part, who, COUNT(*), MIN(since) FROM open_loop WHERE {filter} GROUP BY part, who";

const VERSION: &str =
    "SELECT COUNT(*), COUNT(CASE WHEN part = 'nobody' THEN 1 END), MAX(looked_at) FROM open_loop
     WHERE {filter}";

const FOUND: &str =
    "INSERT INTO open_loop (installation, repository, what, part, who, author, agent, since, looked_at, loop, problem,
         problem_since)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $9)
     ON CONFLICT (installation, repository, what) DO UPDATE SET part = excluded.part, who = excluded.who,
         author = excluded.author, agent = excluded.agent, since = excluded.since, looked_at = excluded.looked_at,
         loop = excluded.loop, problem = excluded.problem, problem_since = CASE
             WHEN open_loop.problem = excluded.problem THEN open_loop.problem_since
             ELSE excluded.problem_since END";

impl IndexFilter {
    /// `sql` with these conditions for `{filter}`.
    fn bound(&self, sql: &str) -> Query {
        let lower = |name: &Option<String>| name.as_deref().unwrap_or_default().to_lowercase();
        let Filter {
            repository,
            person,
            me,
            agent,
            ..
        } = &self.shown;
        let query = Query::new(sql.replace("{filter}", WHERE))
            .bind(repository.as_deref().unwrap_or_default());
        query
            .bind(lower(person))
            .bind(lower(me))
            .bind(lower(agent))
            .bind(self.visible.listed())
    }
}

impl Store {
    pub async fn count_loops(&self, filter: &IndexFilter) -> Result<IndexCounts> {
        Ok(self.waited_for(filter, 0).await?.0)
    }

    /// The counts, and people and teams with the number of loops that wait for them: those with most of them first,
    /// `most` at most. Names are in lower case.
    pub async fn waited_for(
        &self,
        filter: &IndexFilter,
        most: usize,
    ) -> Result<(IndexCounts, Vec<(String, u64)>)> {
        let rows: Vec<(String, String, i64, i64)> =
            self.database.read(filter.bound(COUNTS)).await?;
        let mut parts: BTreeMap<Part, (u64, Timestamp)> = BTreeMap::new();
        let mut names: BTreeMap<&str, u64> = BTreeMap::new();
        for (part, who, loops, oldest) in &rows {
            let Some(part) = Part::of_word(part) else {
                continue;
            };
            let (loops, oldest) = (loops.cast_unsigned(), time(*oldest));
            let (count, since) = parts.entry(part).or_insert((0, oldest));
            *count += loops;
            *since = oldest.min(*since);
            for name in who.split_whitespace() {
                *names.entry(name).or_default() += loops;
            }
        }
        let counts = parts.into_iter();
        let counts = counts.map(|(part, (count, since))| (part, count, since));
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by_key(|(_, loops)| Reverse(*loops));
        let names = names.into_iter().take(most);
        let named = names.map(|(name, loops)| (name.to_owned(), loops));
        Ok((counts.collect(), named.collect()))
    }

    /// The loops that wait for a person, those that have waited longest first, `most` at most, and how many there are.
    pub async fn loops_of(
        &self,
        visible: &Visibility,
        person: &Login,
        most: usize,
    ) -> Result<(u64, Vec<IndexedLoop>)> {
        let filter = IndexFilter {
            visible: visible.clone(),
            shown: Filter {
                me: Some(person.to_string()),
                ..Filter::default()
            },
        };
        let (mut total, mut loops) = (0, Vec::new());
        for (part, count, _) in self.count_loops(&filter).await? {
            total += count;
            let most = u32::try_from(most).unwrap_or(u32::MAX);
            loops.extend(self.loops((&filter, part), 0, most).await?);
        }
        loops.sort_by_key(|(.., open)| open.since);
        loops.truncate(most);
        Ok((total, loops))
    }

    pub async fn index_version(&self, filter: &IndexFilter) -> Result<IndexVersion> {
        Ok(self
            .database
            .read(filter.bound(VERSION))
            .await?
            .pop()
            .unwrap_or_default())
    }

    /// Those that have waited longest come first.
    pub async fn loops(
        &self,
        (filter, part): (&IndexFilter, Part),
        from: u32,
        most: u32,
    ) -> Result<Vec<IndexedLoop>> {
        let query = filter
            .bound(LOOPS)
            .bind(part.as_str())
            .bind(i64::from(most))
            .bind(i64::from(from));
        let rows: Vec<(i64, String, String, String)> = self.database.read(query).await?;
        // A row of another version may be one that this cannot read.
        let read = |(installation, repository, what, open): (i64, String, String, String)| {
            let Target::PullRequest { repository, number } =
                key((installation, repository, what))?.target
            else {
                return None;
            };
            Some((repository, number, serde_json::from_str(&open).ok()?))
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// What is wrong with the configuration of which repository, and since when: a hundred at most, the oldest first.
    pub async fn problems(&self) -> Result<Vec<(String, String, Timestamp)>> {
        let sql =
            "SELECT repository, problem, MIN(problem_since) FROM open_loop WHERE problem <> ''
                   GROUP BY repository, problem ORDER BY MIN(problem_since), repository LIMIT 100";
        let rows: Vec<(String, String, i64)> = self.database.read(Query::new(sql)).await?;
        Ok(rows
            .into_iter()
            .map(|(repository, problem, since)| (repository, problem, time(since)))
            .collect())
    }

    /// The repositories that have open loops, with their number; those with most of them first, 500 at most.
    pub async fn repositories(&self, visible: Visibility) -> Result<Vec<(RepoName, u64)>> {
        let filter = IndexFilter {
            visible,
            ..IndexFilter::default()
        };
        let rows: Vec<(String, i64)> = self.database.read(filter.bound(REPOSITORIES)).await?;
        let read = |(name, loops): (String, i64)| Some((name.parse().ok()?, loops.cast_unsigned()));
        Ok(rows.into_iter().filter_map(read).collect())
    }
}

impl Batch<'_> {
    /// The open loops of a repository or installation that GitHub did not list: each has ended, or goes by another name.
    pub(super) async fn unlisted(&mut self, key: &Key, listed: &[Key]) -> Result<Vec<Key>> {
        let repository = match &key.target {
            Target::Installation => String::new(),
            Target::Repository(repository) => repository.to_string(),
            _ => return Ok(Vec::new()),
        };
        let known = Query::new(KNOWN).bind(key.installation).bind(repository);
        let known: Vec<KeyColumns> = known.fetch(self.on()).await?;
        let listed: BTreeSet<&Key> = listed.iter().collect();
        let known = known.into_iter().filter_map(super::key);
        Ok(known.filter(|known| !listed.contains(known)).collect())
    }

    /// Notes how a loop stands. What goes wrong undoes this alone.
    ///
    /// # Errors
    /// Only where the connection is broken, so that the whole batch is tried again.
    pub(super) async fn index(
        &mut self,
        key: &Key,
        entry: &LoopEntry,
        now: Timestamp,
    ) -> Result<ChangeOutcome> {
        match entry {
            LoopEntry::Open(open) => {
                let who: Vec<String> = open.who.iter().map(|name| name.to_lowercase()).collect();
                let agent = open.agent.as_deref().unwrap_or_default().to_lowercase();
                let found = Query::by_key(FOUND, key)
                    .bind(open.part.as_str())
                    .bind(format!(" {} ", who.join("  ")));
                let found = found
                    .bind(open.author.to_lowercase())
                    .bind(agent)
                    .bind(open.since)
                    .bind(now);
                let found = found.bind(serde_json::to_string(open).unwrap_or_default());
                self.or_without(found.bind(open.problem.as_deref().unwrap_or_default()))
                    .await
            }
            LoopEntry::Over => {
                self.or_without(Query::by_key("DELETE FROM open_loop WHERE {key}", key))
                    .await
            }
            LoopEntry::Unchanged => Ok(ChangeOutcome::Rows(0)),
        }
    }

    pub(super) async fn or_without(&mut self, query: Query) -> Result<ChangeOutcome> {
        self.run(Query::new("SAVEPOINT indexing")).await?;
        if let Err(error) = self.run(query).await {
            tracing::warn!(%error, "the index of open loops is not up to date");
            self.run(Query::new("ROLLBACK TO SAVEPOINT indexing"))
                .await?;
        }
        self.run(Query::new("RELEASE SAVEPOINT indexing")).await
    }
}
