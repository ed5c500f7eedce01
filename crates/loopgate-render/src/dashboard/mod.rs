//! The pages of the dashboard. A page is one document: what programs get as JSON is what its template shows, and
//! `config/schemas/` has the schema of each. Every text in it is plain; the templates escape what they print.

mod loop_page;
mod overview;

use std::{cmp::Reverse, sync::LazyLock};

use minijinja::{
    AutoEscape, Environment, HtmlEscape, UndefinedBehavior, context, escape_formatter,
    value::{Serde, Value},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    address, amounts, block, json_text, line, memory_stats_document, messages::entry,
    messages::happened, short_line, templates::EMBEDDED, word, word_named, words,
};
pub use loop_page::{LoopPage, RecordedLoop, SavedState};
use loopgate_core::{
    RepoName, Timestamp,
    memory::{Card, Memory, Recurring},
    metrics::Report,
};
pub use overview::{Filter, ListedLoop, Mine, OpenLoop, Overview, Repositories, age, shortened};

/// The one style sheet of all pages.
pub const STYLE: &str = include_str!("../../templates/dashboard/style.css");

/// The one script of all pages: they show what is new without being loaded again.
pub const LIVE_SCRIPT: &str = include_str!("../../templates/dashboard/live.js");

/// Who reads a page, as what stands around it shows.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(tag = "reader", rename_all = "snake_case")]
pub enum Frame {
    /// Anyone who reaches the admin's listener. The doctor found so many faults; `None` without a doctor. Forms prove
    /// by the token that they are of a page of this process.
    Operator {
        faults: Option<usize>,
        token: String,
    },
    /// Somebody who signed in; forms prove by the token that they are of this page.
    Visitor { login: String, token: String },
    /// It is unknown who.
    #[default]
    Stranger,
}

/// A page of the dashboard: a document whose `schema`, as `loopgate.loop/v1`, names its template too.
pub trait Page: Serialize + JsonSchema {
    /// As HTML, by its template in `templates/dashboard/`.
    fn html(&self, frame: &Frame) -> String {
        // As programs get it: its texts are plain.
        let document = serde_json::to_value(self).unwrap_or_default();
        let schema = document["schema"].as_str().unwrap_or_default();
        let name = schema
            .trim_start_matches("loopgate.")
            .trim_end_matches("/v1");
        page(
            &format!("dashboard/{name}.html"),
            context! { frame => Serde(frame), ..Serde(&document) },
        )
    }

    /// As JSON, in which nothing is hidden.
    fn json(&self) -> String {
        json_text(&serde_json::to_value(self).unwrap_or_default())
    }
}

impl<T: Serialize + JsonSchema> Page for T {}

/// A page of HTML by its template. The tests render every page, so an error is a defect; the text shows that instead of
/// the server falling over.
pub(super) fn page(template: &str, model: Value) -> String {
    let written = PAGES
        .get_template(template)
        .and_then(|template| template.render(model));
    written.unwrap_or_else(|error| {
        format!(
            "<p>Loopgate could not write this page: {}</p>",
            escaped(&error.to_string())
        )
    })
}

/// The page of the set-up, by what its template shows: always a `stage`.
pub fn setup_page(shown: Value) -> String {
    let frame = Serde(Frame::Stranger);
    page("dashboard/setup.html", context! { frame, ..shown })
}

/// What a server's public address shows where people cannot sign in.
pub fn home_page() -> String {
    let frame = Serde(Frame::Stranger);
    page("dashboard/home.html", context! { frame })
}

static PAGES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut pages = Environment::new();
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    pages.set_auto_escape_callback(|_| AutoEscape::Html);
    // What is printed may come from outside, with invisible characters.
    pages.set_formatter(
        |out, state, value| match value.as_str().filter(|_| !value.is_safe()) {
            Some(text) => Ok(out.write_str(&escaped(text))?),
            None => escape_formatter(out, state, value),
        },
    );
    pages.add_filter("prose", prose);
    pages.add_filter("moment", |at: String| {
        at.parse::<Timestamp>().map_or(at, words::moment)
    });
    pages.add_filter("happened", |line: Value| short_line(&happened(&line), 300));
    pages.add_filter("days", words::days);
    pages.add_filter("word", |variant: String, section: String| {
        word_named(&section, &variant)
    });
    pages.add_filter("short", |text: String| overview::short(&text));
    pages.add_filter("sentence", sentence);
    pages.add_filter("count", |n: u64, one: String| amounts::count(n, &one));
    pages.add_filter("duration", amounts::duration);
    pages.add_filter("date", |at: String, form: String| {
        match at.parse::<Timestamp>() {
            Ok(time) => time.format(&form).to_string(),
            Err(_) => at,
        }
    });
    pages.add_filter("fixed", |number: f64, digits: usize| {
        format!("{number:.digits$}")
    });
    for &(name, source) in EMBEDDED.iter().filter(|(name, _)| name.ends_with(".html")) {
        pages
            .add_template(name, source)
            .expect("embedded templates parse: a test renders each of them");
    }
    pages
});

/// A sentence whose code stands between backticks.
#[expect(clippy::needless_pass_by_value, reason = "as filters are called")]
fn prose(text: String) -> Value {
    let parts: Vec<String> = text.split('`').map(escaped).collect();
    let is_paired = parts.len() % 2 == 1;
    let part = |(at, part): (usize, &String)| {
        if at % 2 == 1 {
            format!("<code>{part}</code>")
        } else {
            part.clone()
        }
    };
    Value::from_safe_string(if is_paired {
        parts.iter().enumerate().map(part).collect()
    } else {
        escaped(&text)
    })
}

/// A text that begins with a capital.
#[expect(clippy::needless_pass_by_value, reason = "as filters are called")]
fn sentence(text: String) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

fn escaped(text: &str) -> String {
    HtmlEscape(&block(text)).to_string()
}

/// A page that there is not, or that cannot be shown now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Notice {
    pub schema: &'static str,
    pub title: &'static str,
    pub error: String,
}

impl Notice {
    pub fn new(title: &'static str, error: impl Into<String>) -> Self {
        Self {
            schema: "loopgate.notice/v1",
            title,
            error: error.into(),
        }
    }

    pub fn absent(what: &str) -> Self {
        Self::new("Not found", format!("There is no {what} here."))
    }

    pub fn not_now(reason: &str) -> Self {
        Self::new("Not now", overview::short(reason))
    }

    pub fn refused(why: Refused) -> Self {
        Self::new(word(entry::NoticeTitle(&why)), word(entry::Notice(&why)))
    }
}

/// Why a page or a form is refused.
#[derive(Clone, Copy, Debug, Serialize)]
pub enum Refused {
    /// Only people who signed in see the pages.
    SignIn,
    /// The page was asked for by a name that a stranger may have registered.
    ForeignName,
    /// The form was sent from elsewhere, or from a page older than this server's start.
    ForeignForm,
    /// The person has as many tokens as one may have.
    TooManyTokens,
}

/// What people make for programs that act for them.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokensPage {
    pub schema: &'static str,
    /// Where a program shows its token.
    pub address: String,
    /// The token that was just made; it is not shown again.
    pub made: Option<String>,
    /// The newest first.
    pub tokens: Vec<TokenRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenRow {
    /// The token's SHA-256.
    pub id: String,
    pub name: String,
    pub made: String,
    /// None where it was never used.
    pub last_used: Option<String>,
    pub ends: String,
}

/// Cards shown.
const MOST_CARDS: usize = 100;

/// What the runs of a repository come to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MetricsPage {
    pub schema: &'static str,
    pub repository: String,
    /// As `loopgate metrics --json`.
    pub report: serde_json::Value,
}

impl MetricsPage {
    pub fn of(repository: &RepoName, report: &Report) -> Self {
        Self {
            schema: "loopgate.metrics-page/v1",
            report: serde_json::to_value(report).unwrap_or_default(),
            repository: repository.to_string(),
        }
    }
}

/// What is remembered of a repository's failures.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryPage {
    pub schema: &'static str,
    pub repository: String,
    /// How much is remembered, and whether telling it helps, as `loopgate memory stats --format json`.
    pub stats: serde_json::Value,
    /// Known fixes, as the memory keeps them; those that worked in most runs first.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub cards: Vec<Card>,
    /// Flaky tests first, then failures without a known fix.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub recurring: Vec<Recurring>,
}

impl MemoryPage {
    pub fn of(repository: &RepoName, memory: &Memory) -> Self {
        let mut cards: Vec<Card> = memory.cards.values().cloned().collect();
        cards.sort_by_key(|card| Reverse(card.mended_in.len()));
        cards.truncate(MOST_CARDS);
        let mut recurring: Vec<Recurring> = memory.unmended("").into_iter().cloned().collect();
        recurring.sort_by_key(|failure| Reverse((failure.flips, failure.occurrences)));
        recurring.truncate(MOST_CARDS);
        Self {
            schema: "loopgate.memory-page/v1",
            repository: repository.to_string(),
            stats: memory_stats_document(memory),
            cards,
            recurring,
        }
    }
}

/// How the server does.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Operations {
    pub schema: &'static str,
    /// What was looked at, and how it is: storage, key, clock.
    pub checks: Vec<Verdict>,
    pub queue: Vec<Queue>,
    pub waiting: u64,
    pub dead: u64,
    pub budgets: Vec<Budget>,
    /// What is wrong with configurations, as looks at open pull requests found it: a hundred at most, the oldest first.
    pub configuration: Vec<ConfigurationRow>,
    /// Repositories whose configuration is not found; a hundred at most, those that had one first.
    pub without_configuration: Vec<DormantRow>,
    /// The newest first, a hundred at most.
    pub dead_letters: Vec<DeadLetterRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Verdict {
    pub name: String,
    pub ok: bool,
    pub said: String,
}

/// The waiting work of one class.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Queue {
    pub class: &'static str,
    /// How long the oldest has waited; none where nothing does.
    pub oldest: Option<String>,
    /// Requests that cost something of the quota, since the server began.
    pub spent: u64,
    /// What was put off for something more urgent.
    pub deferred: u64,
}

/// What an installation may still ask this hour.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Budget {
    pub installation: u64,
    pub limit: u64,
    pub remaining: u64,
    pub reset: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigurationRow {
    pub repository: String,
    /// What, with file, line and column.
    pub problem: String,
    /// For how long it is known.
    pub known: String,
}

/// A repository without `.github/loopgate.yml`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DormantRow {
    pub repository: String,
    /// It had one before, so it may be GitHub that does not show it.
    pub had_one: bool,
    /// For how long it is known.
    pub known: String,
    /// When the file is asked for again without news; none where only an event makes Loopgate ask.
    pub next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DeadLetterRow {
    pub id: String,
    pub failures: u32,
    pub reason: String,
    pub died: String,
}

/// What work of a class is about, by its word.
pub fn work_class(class: &str) -> &'static str {
    word_named("work_class", class)
}

/// What the doctor found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Diagnosis {
    pub schema: &'static str,
    /// No line is a fault.
    pub healthy: bool,
    /// In the order of the checks; those that cannot be made after others failed are left out.
    pub lines: Vec<DoctorLine>,
    /// When; none where nothing was examined yet.
    pub examined: Option<String>,
    pub under_way: bool,
}

/// One check, or one thing that it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoctorLine {
    pub check: &'static str,
    pub outcome: DoctorOutcome,
    /// What is so. It may quote what others wrote.
    pub message: String,
    /// What to do about it; none where nothing is to be done.
    pub remedy: Option<String>,
    /// Where that is done.
    pub link: Option<String>,
}

impl DoctorLine {
    /// A line that no check has yet, without a link. An empty remedy is none.
    pub fn new(
        outcome: DoctorOutcome,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let remedy = Some(remedy.into()).filter(|remedy: &String| !remedy.is_empty());
        Self {
            check: "",
            outcome,
            message: message.into(),
            remedy,
            link: None,
        }
    }

    /// Something that keeps Loopgate from its work.
    pub fn fault(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(DoctorOutcome::Fault, message, remedy)
    }

    /// Something that may be meant.
    pub fn warning(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(DoctorOutcome::Warning, message, remedy)
    }

    /// The same, with the page where the remedy is done.
    pub fn at(self, link: impl Into<String>) -> Self {
        Self {
            link: Some(link.into()),
            ..self
        }
    }
}

/// What a check comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoctorOutcome {
    Healthy,
    /// GitHub does not state it, or nothing shows it yet.
    Unknown,
    /// It may be meant.
    Warning,
    Fault,
}

impl Diagnosis {
    pub fn new(examined: Option<Timestamp>, lines: &[DoctorLine]) -> Self {
        let plain = |it: &DoctorLine| DoctorLine {
            message: line(&it.message),
            link: it.link.as_deref().and_then(address),
            ..it.clone()
        };
        Self {
            schema: "loopgate.doctor/v1",
            healthy: lines
                .iter()
                .all(|line| line.outcome != DoctorOutcome::Fault),
            lines: lines.iter().map(plain).collect(),
            examined: examined.map(words::moment),
            under_way: false,
        }
    }
}

#[cfg(test)]
mod tests;
