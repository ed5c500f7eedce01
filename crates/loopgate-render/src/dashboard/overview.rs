//! The first page: who acts next on each open loop, and the one thing to do.

use crate::messages::entry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Frame, Page as _};
use crate::{Subject, address, short_line, verdict::verdict, word, words};
use loopgate_core::{
    PrNumber, RepoName, Score, Timestamp,
    deciding::{Part, WhoActs, who_acts},
    observed::PullRequest,
    policy::ConfigError,
    stage::Stage,
    state::{AuthorKind, LoopState},
};

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
    /// What waits for the visitor; none where the reader is not known, or the list is narrowed.
    pub mine: Option<Mine>,
    /// People and teams by the number of listed loops that wait for them, most first. Names are in lower case.
    pub waited_for: Vec<WaitedFor>,
    pub groups: Vec<Group>,
}

/// The open loops that wait for one person.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Mine {
    pub total: u64,
    /// Those that have waited longest come first.
    pub loops: Vec<ListedLoop>,
}

/// A person or a team, with the number of open loops that wait for them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WaitedFor {
    pub name: String,
    pub loops: u64,
    /// Where these are listed.
    pub page: String,
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
    /// Who acts, in words, where no name is known.
    pub actor: &'static str,
    #[serde(flatten)]
    pub open: OpenLoop,
}

impl ListedLoop {
    pub fn new(repository: &RepoName, number: PrNumber, open: OpenLoop, now: Timestamp) -> Self {
        let page = format!("/{repository}/pull/{number}");
        Self {
            page,
            waits: age(open.since, now),
            actor: word(entry::PartWho(&open.part)),
            repository: repository.to_string(),
            number: number.get(),
            open,
        }
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
            title: word(entry::Part(&part)),
            count,
            oldest: age(oldest, now),
            from,
            loops,
            more: None,
        };
        let groups: Vec<Group> = groups.into_iter().map(group).collect();
        let total = groups.iter().map(|group| group.count).sum();
        let mut overview = Self {
            schema: "loopgate.overview/v1",
            filter,
            total,
            mine: None,
            waited_for: Vec::new(),
            groups,
        };
        overview.link();
        overview
    }

    /// The same page with what waits for the visitor, and with who is waited for.
    #[must_use]
    pub fn with(self, mine: Option<Mine>, waited_for: Vec<(String, u64)>) -> Self {
        let named = |(name, loops): (String, u64)| {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            let query = query.append_pair("me", &name).finish();
            WaitedFor {
                page: format!("/?{query}"),
                name,
                loops,
            }
        };
        Self {
            mine,
            waited_for: waited_for.into_iter().map(named).collect(),
            ..self
        }
    }

    /// Links where each list goes on.
    fn link(&mut self) {
        let query = self.filter.query();
        for group in &mut self.groups {
            let next = u64::from(group.from) + group.loops.len() as u64;
            group.more = (next < group.count)
                .then(|| format!("/?part={}&from={next}{query}", group.part.as_str()));
        }
    }
}

impl Filter {
    /// Whether everything is listed.
    pub const fn is_none(&self) -> bool {
        self.repository.is_none()
            && self.person.is_none()
            && self.me.is_none()
            && self.agent.is_none()
            && self.part.is_none()
    }

    /// The filter as the end of an address, without the part.
    fn query(&self) -> String {
        let named = [
            ("repository", &self.repository),
            ("person", &self.person),
            ("me", &self.me),
            ("agent", &self.agent),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (name, value) in named {
            query.extend_pairs(value.iter().map(|value| (name, value)));
        }
        let query = query.finish();
        if query.is_empty() {
            query
        } else {
            format!("&{query}")
        }
    }
}

/// The list, shortened by the second half of its longest group until its page has at most `limit` bytes.
pub fn shortened(mut overview: Overview, limit: usize, frame: &Frame) -> Overview {
    while overview.html(frame).len() > limit {
        let longest = overview
            .groups
            .iter_mut()
            .max_by_key(|group| group.loops.len());
        // Without a loop it is far below any limit.
        let Some(group) = longest.filter(|group| group.loops.len() > 1) else {
            break;
        };
        group.loops.truncate(group.loops.len() / 2);
        overview.link();
    }
    overview
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
        let row = |(name, open): (RepoName, u64)| RepositoryRow {
            repository: name.to_string(),
            open,
        };
        Self {
            schema: "loopgate.repositories/v1",
            repositories: rows.into_iter().map(row).collect(),
        }
    }
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

/// Characters shown of a title, and of the line on how it stands.
const MOST_CHARACTERS: usize = 140;
/// People and teams kept by name.
const MOST_NAMES: usize = 40;

/// An open loop as lists show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoop {
    pub title: String,
    /// The pull request on GitHub.
    pub url: String,
    pub head_sha: String,
    pub author: String,
    pub author_kind: AuthorKind,
    /// The coding agent that wrote it, by its login where that is all that is known.
    pub agent: Option<String>,
    /// Whether only some may see the repository.
    pub private: bool,
    /// Who acts next.
    pub part: Part,
    /// People and teams among whom they are, where they are known.
    pub who: Vec<String>,
    pub icon: String,
    /// How it stands, as the status comment says it.
    pub verdict: String,
    /// The next action, and where it is done.
    pub action: String,
    pub action_url: String,
    pub stage: Stage,
    pub attempt: u32,
    pub max_attempts: u32,
    #[schemars(with = "f64")]
    pub score: Score,
    /// What is wrong with the configuration on its base branch, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Since when they could.
    #[schemars(with = "String")]
    pub since: Timestamp,
}

impl OpenLoop {
    /// How it stands.
    pub fn of(subject: &Subject<'_>) -> Self {
        let (state, view, pull) = (
            &subject.decision.next,
            &subject.decision.view,
            &subject.snapshot.pull_request,
        );
        let nobody = || WhoActs {
            part: Part::Nobody,
            people: [].into(),
            teams: [].into(),
            since: None,
        };
        let who = who_acts(subject.decision, pull, subject.policy).unwrap_or_else(nobody);
        let names = who
            .people
            .iter()
            .map(ToString::to_string)
            .chain(who.teams.iter().map(ToString::to_string));
        let (icon, words) = verdict(subject);
        let url = address(&pull.url).unwrap_or_default();
        let page = match who.part {
            Part::Author | Part::Agent | Part::Fixer | Part::Ci | Part::Base => "/checks",
            Part::Reviewer => "/files",
            _ => "",
        };
        // What is wrong with the file, and in which line.
        let problem = |ConfigError {
                           file,
                           line,
                           column,
                           message,
                           hint,
                           ..
                       }: &ConfigError| {
            let hint = hint
                .as_ref()
                .map(|hint| format!("; {hint}"))
                .unwrap_or_default();
            short(&format!("{file}:{line}:{column}: {message}{hint}"))
        };
        let seen = state.head.sightings.last().map(|head| head.at);
        Self {
            title: short(&pull.title),
            head_sha: pull.head.sha.to_string(),
            author: pull.author.login.to_string(),
            author_kind: state.run.author.unwrap_or(AuthorKind::Person),
            agent: by_agent(state, pull),
            private: true,
            problem: view.origin.error().map(problem),
            part: who.part,
            who: names.take(MOST_NAMES).collect(),
            icon: icon.to_owned(),
            verdict: short(&words),
            action: words::deed(who.part, &subject.decision.action).to_owned(),
            action_url: format!("{url}{page}"),
            url,
            stage: view.stage,
            attempt: view.attempt,
            max_attempts: view.max_attempts,
            score: view.evaluation.score,
            since: who.since.unwrap_or_else(|| {
                seen.map_or(state.run.stage_entered_at, |at| {
                    at.max(state.run.stage_entered_at)
                })
            }),
        }
    }
}

fn by_agent(state: &LoopState, pull: &PullRequest) -> Option<String> {
    let named = state.run.agent.as_ref().map(|agent| agent.name.as_str());
    let is_agent = state.run.author == Some(AuthorKind::Agent);
    let author = is_agent.then(|| pull.author.login.as_str());
    named.or(author).map(short)
}

/// One line, cut with a sign that it is.
pub(super) fn short(raw: &str) -> String {
    short_line(raw, MOST_CHARACTERS)
}
