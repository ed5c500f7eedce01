//! The first page: who acts next.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Frame, OpenLoop, Page};
use crate::render::{
    fit::{Shorten, fit},
    messages::word,
    words,
};
use loopgate_core::{PrNumber, RepoName, Timestamp, deciding::Part};

/// What the list was narrowed to.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Filter {
    pub repository: Option<String>,
    /// It waits for this person or team, or is theirs.
    pub person: Option<String>,
    /// It waits for this person.
    pub me: Option<String>,
    pub agent: Option<String>,
    pub part: Option<Part>,
}

/// Who acts next on the open loops.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Overview {
    pub schema: &'static str,
    pub filter: Filter,
    /// Open loops that fit the filter.
    pub total: u64,
    pub groups: Vec<Group>,
}

/// The open loops in which the same part acts next.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Group {
    pub part: Part,
    pub title: &'static str,
    pub count: u64,
    /// How long the oldest has waited.
    pub oldest: String,
    /// How many come before those listed.
    pub from: u32,
    /// Those that have waited longest come first.
    pub loops: Vec<ListedLoop>,
    /// Where the list goes on.
    pub more: Option<String>,
}

/// An open loop in the list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedLoop {
    pub repository: String,
    pub number: u64,
    /// Its page here.
    pub page: String,
    /// How long it has waited.
    pub waits: String,
    #[serde(flatten)]
    pub open: OpenLoop,
}

impl ListedLoop {
    pub fn new(repository: &RepoName, number: PrNumber, open: OpenLoop, now: Timestamp) -> Self {
        let page = format!("/{repository}/pull/{number}");
        Self { page, waits: age(open.since, now), repository: repository.to_string(), number: number.get(), open }
    }
}

impl Overview {
    /// A page of each of these groups, from the loop of this number on.
    pub fn new(
        filter: Filter,
        groups: Vec<(Part, u64, Timestamp, Vec<ListedLoop>)>,
        from: u32,
        now: Timestamp,
    ) -> Self {
        let group = |(part, count, oldest, loops)| Group {
            part,
            title: word("part", part.as_str()),
            count,
            oldest: age(oldest, now),
            from,
            loops,
            more: None,
        };
        let groups: Vec<Group> = groups.into_iter().map(group).collect();
        let total = groups.iter().map(|group| group.count).sum();
        let mut overview = Self { schema: "loopgate.overview/v1", filter, total, groups };
        overview.link();
        overview
    }

    /// Says where each list goes on.
    fn link(&mut self) {
        let query = self.filter.query();
        for group in &mut self.groups {
            let next = u64::from(group.from) + group.loops.len() as u64;
            group.more = (next < group.count).then(|| format!("/?part={}&from={next}{query}", group.part.as_str()));
        }
    }
}

impl Filter {
    /// The filter as the end of an address, without the part.
    fn query(&self) -> String {
        let named =
            [("repository", &self.repository), ("person", &self.person), ("me", &self.me), ("agent", &self.agent)];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in named {
            query.extend_pairs(value.iter().map(|value| (name, value)));
        }
        let query = query.finish();
        if query.is_empty() { query } else { format!("&{query}") }
    }
}

impl Shorten for Overview {
    /// Leaves out the second half of the longest list.
    fn shorten(&mut self) -> bool {
        let longest = self.groups.iter_mut().max_by_key(|group| group.loops.len()).filter(|it| it.loops.len() > 1);
        let Some(group) = longest else { return false };
        group.loops.truncate(group.loops.len() / 2);
        self.link();
        true
    }
}

/// The list, shortened until its page has at most `limit` bytes.
pub fn shortened(mut overview: Overview, limit: usize, frame: &Frame) -> Overview {
    // Without a loop it is far below any limit.
    let _ = fit(&mut overview, limit, |page| page.html(frame));
    overview
}

impl Page for Overview {
    const TEMPLATE: &'static str = "dashboard/overview.html";
}

/// The repositories that have open loops.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Repositories {
    pub schema: &'static str,
    pub repositories: Vec<RepositoryRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RepositoryRow {
    pub repository: String,
    pub open: u64,
}

impl Repositories {
    pub fn new(rows: Vec<(RepoName, u64)>) -> Self {
        let row = |(name, open): (RepoName, u64)| RepositoryRow { repository: name.to_string(), open };
        Self { schema: "loopgate.repositories/v1", repositories: rows.into_iter().map(row).collect() }
    }
}

impl Page for Repositories {
    const TEMPLATE: &'static str = "dashboard/repositories.html";
}

/// How long ago, in its largest unit.
pub fn age(since: Timestamp, now: Timestamp) -> String {
    let minutes = (now - since).num_minutes().max(0);
    match (minutes, minutes / 60, minutes / 1_440) {
        (minutes, 0, _) => format!("{minutes} min"),
        (_, hours, 0) => format!("{hours} h"),
        (_, _, days) => words::count(days.unsigned_abs(), "day"),
    }
}
