//! The dashboard: who acts next, one loop, one repository, and the state of the server for its operator. The admin's
//! listener shows all of it. Where sign-in is configured, the public listener shows to people who signed in with GitHub
//! the repositories that they have access to.
//!
//! A page is a document of [`loopgate_render`]: it is sent as HTML, or as JSON on request, with an ETag of its
//! bytes. Lists come from the index of open loops; everything else is read from GitHub for each request.

mod agents;
mod live;
mod operations;
mod reply;
mod tokens;
mod visitors;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, Query, Request, State},
    http::{StatusCode, header::CONTENT_TYPE},
    middleware::{Next, from_fn_with_state},
    response::Response,
    routing::{get, post},
};
use chrono::{DurationRound as _, TimeDelta};
use serde::Deserialize;

use self::reply::{Reader, Reply, without_suffix};
pub(super) use self::{live::Live, visitors::Visitors};
use super::{
    Admin,
    storage::{IndexFilter, Visibility},
};
use crate::github::{LoopReader, WorkClass, serving};
use loopgate_core::{
    InstallationId, Login, PrNumber, RepoName, Sha,
    deciding::Part,
    metrics::{Report, Window, newest},
    policy::MemoryPolicy,
};
use loopgate_refs::{MemoryStore, RefName, RunLines};
use loopgate_render::{
    DoctorLine, DoctorOutcome, Filter, Frame, LIVE_SCRIPT, ListedLoop, LoopPage, MemoryPage,
    MetricsPage, Mine, Notice, Overview, Page, Repositories, STYLE, shortened,
};

/// Bytes of the list's HTML at most.
const MOST_BYTES: usize = 60_000;
/// Loops listed of each group beside others, and of one alone.
const OF_EACH: u32 = 5;
const OF_ONE: u32 = 50;
/// Loops listed on the first page of those that wait for the visitor.
const OF_MINE: usize = 10;
/// People and teams named on the first page.
const MOST_NAMES: usize = 24;

/// How far back metrics look, and the time before is compared with.
const METRICS_OF: TimeDelta = TimeDelta::days(30);

/// All pages, for the admin's listener.
pub(super) fn routes(admin: Arc<Admin>) -> Router<Arc<Admin>> {
    pages()
        .route("/operations", get(operations::page))
        .route("/operations.json", get(operations::page))
        .route("/operations/replay", post(operations::replay))
        .route("/doctor", get(operations::doctor).post(operations::examine))
        .route("/doctor.json", get(operations::doctor))
        .route_layer(from_fn_with_state(admin, as_operator))
        .merge(style())
        .merge(script())
}

async fn as_operator(
    State(admin): State<Arc<Admin>>,
    mut request: Request,
    next: Next,
) -> Response {
    let is_fault = |line: &&DoctorLine| line.outcome == DoctorOutcome::Fault;
    let faults = admin
        .doctor
        .as_ref()
        .map(|doctor| doctor.last.lock().lines.iter().filter(is_fault).count());
    let frame = Frame::Operator {
        faults,
        token: admin.form_token.clone(),
    };
    request.extensions_mut().insert(Reader {
        frame,
        visitor: None,
        visible: Visibility::Everything,
    });
    next.run(request).await
}

/// The pages of repositories, for people who signed in and may see them.
pub(super) fn published(admin: Arc<Admin>, visitors: &Arc<Visitors>) -> Router {
    let pages = pages()
        .with_state(admin.clone())
        .merge(tokens::routes((admin.clone(), visitors.clone())));
    let pages = pages.route_layer(from_fn_with_state(visitors.clone(), visitors::admit));
    pages
        .merge(visitors::routes(visitors.clone()))
        .merge(agents::routes(admin, &visitors.origin))
        .merge(script())
}

/// The style sheet of all pages, those of the set-up too.
pub(super) fn style<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route(
        "/style.css",
        get(|| async { ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE) }),
    )
}

fn script<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route(
        "/live.js",
        get(|| async {
            (
                [(CONTENT_TYPE, "text/javascript; charset=utf-8")],
                LIVE_SCRIPT,
            )
        }),
    )
}

fn pages() -> Router<Arc<Admin>> {
    Router::new()
        .route("/", get(overview))
        .route("/index.json", get(overview))
        .route("/events", get(live::events))
        .route("/me", get(mine))
        .route("/me.json", get(mine))
        .route("/repositories", get(repositories))
        .route("/repositories.json", get(repositories))
        .route("/{owner}/{repository}/pull/{number}", get(one_loop))
        .route("/{owner}/{repository}/{page}", get(of_repository))
}

/// Why a page is not shown.
enum PageError {
    Absent(&'static str),
    NotNow(String),
}

impl<E: std::error::Error> From<E> for PageError {
    fn from(error: E) -> Self {
        Self::NotNow(error.to_string())
    }
}

impl PageError {
    fn response(self, reply: &Reply) -> Response {
        match self {
            Self::Absent(what) => reply.with(StatusCode::NOT_FOUND, &Notice::absent(what)),
            // The reason may name what only operators know.
            Self::NotNow(reason) if !reply.reader.is_operator() => {
                tracing::warn!(reason, "a page was not shown");
                reply.with(
                    StatusCode::SERVICE_UNAVAILABLE,
                    &Notice::not_now("Load the page again in a minute."),
                )
            }
            Self::NotNow(reason) => {
                reply.with(StatusCode::SERVICE_UNAVAILABLE, &Notice::not_now(&reason))
            }
        }
    }
}

fn reply_with<P: Page>(reply: &Reply, page: Result<P, PageError>) -> Response {
    match page {
        Ok(page) => reply.with(StatusCode::OK, &page),
        Err(refused) => refused.response(reply),
    }
}

/// What the first page may be narrowed to. What an empty field of a form sends is none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OverviewQuery {
    repository: String,
    person: String,
    me: String,
    agent: String,
    part: Option<Part>,
    from: u32,
    /// Whose page [`mine`] is, where it is not the reader's.
    login: Option<String>,
}

async fn overview(
    State(admin): State<Arc<Admin>>,
    reply: Reply,
    Query(asked): Query<OverviewQuery>,
) -> Response {
    reply_with(&reply, listed(&admin, &reply.reader, asked).await)
}

/// What waits for a person.
async fn mine(
    State(admin): State<Arc<Admin>>,
    reply: Reply,
    Query(asked): Query<OverviewQuery>,
) -> Response {
    let given = asked.login.as_deref().and_then(account_name);
    let me = match (
        given.as_deref().map(str::parse::<Login>),
        &reply.reader.visitor,
    ) {
        (Some(Err(_)), _) => return PageError::Absent("account of that name").response(&reply),
        (Some(Ok(login)), _) => login.to_string(),
        (None, Some((_, login))) => login.to_string(),
        (None, None) => String::new(),
    };
    reply_with(
        &reply,
        listed(
            &admin,
            &reply.reader,
            OverviewQuery {
                me,
                ..OverviewQuery::default()
            },
        )
        .await,
    )
}

/// The name of an account or a team as people type it.
fn account_name(typed: &str) -> Option<String> {
    let typed = typed.trim();
    let name = typed.strip_prefix('@').unwrap_or(typed);
    (!name.is_empty()).then(|| name.to_owned())
}

async fn listed(
    admin: &Admin,
    reader: &Reader,
    asked: OverviewQuery,
) -> Result<Overview, PageError> {
    let OverviewQuery {
        repository,
        person,
        me,
        agent,
        part,
        from,
        ..
    } = asked;
    let repository = Some(repository.trim())
        .filter(|name| !name.is_empty())
        .map(|name| seen(reader, name))
        .transpose()?
        .map(|name| name.to_string());
    let shown = Filter {
        repository,
        person: account_name(&person),
        me: account_name(&me),
        agent: account_name(&agent),
        part,
    };
    let filter = IndexFilter {
        visible: reader.visible.clone(),
        shown,
    };
    let now = admin.services.clock.now();
    let store = &admin.services.store;
    let (counts, waited_for) = store.waited_for(&filter, MOST_NAMES).await?;
    let listed = |(repository, number, open)| ListedLoop::new(&repository, number, open, now);
    let mut groups = Vec::with_capacity(counts.len());
    let (from, most) = if part.is_some() {
        (from, OF_ONE)
    } else {
        (0, OF_EACH)
    };
    for (part, count, oldest) in counts
        .into_iter()
        .filter(|(of, ..)| part.is_none_or(|one| one == *of))
    {
        let loops = store.loops((&filter, part), from, most).await?;
        let loops = loops.into_iter().map(listed).collect();
        groups.push((part, count, oldest, loops));
    }
    let mine = match &reader.visitor {
        Some((_, login)) if filter.shown.is_none() => {
            let (total, loops) = store.loops_of(&reader.visible, login, OF_MINE).await?;
            Some(Mine {
                total,
                loops: loops.into_iter().map(listed).collect(),
            })
        }
        _ => None,
    };
    Ok(shortened(
        Overview::new(filter.shown, groups, from, now).with(mine, waited_for),
        MOST_BYTES,
        &reader.frame,
    ))
}

async fn repositories(State(admin): State<Arc<Admin>>, reply: Reply) -> Response {
    let rows = admin
        .services
        .store
        .repositories(reply.reader.visible.clone())
        .await
        .map_err(PageError::from);
    reply_with(&reply, rows.map(Repositories::new))
}

#[derive(Deserialize)]
struct CommitQuery {
    at: Option<Sha>,
}

async fn one_loop(
    State(admin): State<Arc<Admin>>,
    reply: Reply,
    Path((owner, name, number)): Path<(String, String, String)>,
    Query(CommitQuery { at }): Query<CommitQuery>,
) -> Response {
    let read = async {
        let repository = seen(&reply.reader, &format!("{owner}/{name}"))?;
        let number = without_suffix(&number)
            .parse()
            .map_err(|_| PageError::Absent("pull request of that number"))?;
        let (loops, installation) = whose(&admin, &repository).await?;
        let target = (&repository, PrNumber::new(number));
        match at {
            Some(at) => match loops.recorded(installation, target, Some(at)).await? {
                Some(recorded) => Ok(LoopPage::then(&recorded, target.1, &repository)),
                None => Err(PageError::Absent("saved state of this loop with that id")),
            },
            // What GitHub shows now, beside what was saved of it: one of the two is enough for a page.
            None => {
                let now = admin.services.clock.now();
                let recorded = Box::pin(loops.recorded(installation, target, None));
                match futures::join!(loops.now(installation, target, now), recorded) {
                    (Ok(Some(preview)), recorded) => {
                        let note = recorded.as_ref().err().map(ToString::to_string);
                        let page = LoopPage::now(
                            &preview.subject(),
                            recorded.ok().flatten().as_ref(),
                            now,
                        );
                        Ok(LoopPage { note, ..page })
                    }
                    (preview, Ok(Some(recorded))) => {
                        let note = preview.err().map(|failed| failed.reason);
                        Ok(LoopPage {
                            note,
                            ..LoopPage::then(&recorded, target.1, &repository)
                        })
                    }
                    (Err(failed), _) => Err(PageError::NotNow(failed.reason)),
                    (Ok(None), Err(error)) => Err(error.into()),
                    (Ok(None), Ok(None)) => Err(PageError::Absent("loop of that pull request")),
                }
            }
        }
    };
    reply_with(&reply, as_a_visitor(read).await)
}

async fn of_repository(
    State(admin): State<Arc<Admin>>,
    reply: Reply,
    Path((owner, name, page)): Path<(String, String, String)>,
) -> Response {
    let page = without_suffix(&page);
    let read = async {
        let repository = seen(&reply.reader, &format!("{owner}/{name}"))?;
        if !["metrics", "memory"].contains(&page) {
            return Err(PageError::Absent("page of that name"));
        }
        let (loops, installation) = whose(&admin, &repository).await?;
        let objects = loops.objects(installation, &repository);
        if page == "memory" {
            let usual = &MemoryPolicy::default();
            let store = MemoryStore::new(&objects, usual, admin.services.clock.now());
            let memory = store.load().await?;
            return Ok(reply.with(StatusCode::OK, &MemoryPage::of(&repository, &memory)));
        }
        // Up to the last full hour, so that the page is the same for an hour; what ended since is counted all the same.
        let now = admin.services.clock.now();
        let hour = now.duration_trunc(TimeDelta::hours(1)).unwrap_or(now);
        let window = Window::back(hour, METRICS_OF);
        let whole = Window {
            to: now,
            ..window.with_before()
        };
        let lines = RunLines {
            objects: &objects,
            name: RefName::metrics(),
        }
        .read(whole)
        .await?;
        Ok(reply.with(
            StatusCode::OK,
            &MetricsPage::of(&repository, &Report::of(&newest(lines), window)),
        ))
    };
    as_a_visitor(read)
        .await
        .unwrap_or_else(|refused| refused.response(&reply))
}

/// Requests for a page are served after those of people who wait for a look, and before checks and resyncs.
async fn as_a_visitor<T>(read: impl Future<Output = T>) -> T {
    Box::pin(serving(WorkClass::Author, read)).await
}

/// The repository of that name, if it may be shown. The answer is the same where there is none, before anything is
/// asked.
fn seen(reader: &Reader, name: &str) -> Result<RepoName, PageError> {
    let named = name
        .parse()
        .ok()
        .filter(|repository| reader.visible.has(repository));
    named.ok_or(PageError::Absent("repository of that name"))
}

/// Who reads of a repository, if Loopgate is installed there.
async fn whose<'a>(
    admin: &'a Admin,
    repository: &RepoName,
) -> Result<(&'a LoopReader, InstallationId), PageError> {
    let loops = admin
        .loops
        .as_ref()
        .ok_or_else(|| PageError::NotNow("this server reads no GitHub".to_owned()))?;
    let installation = loops
        .github
        .client(None)
        .installation_of(repository)
        .await?;
    Ok((
        loops,
        installation.ok_or(PageError::Absent(
            "repository of that name where Loopgate is installed",
        ))?,
    ))
}

#[cfg(test)]
mod tests;
