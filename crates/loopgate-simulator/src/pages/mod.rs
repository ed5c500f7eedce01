//! Pages that a visitor can play on: what GitHub's pages would show of the world, and forms that act in it as one of
//! its people. An operation of a visitor is the same as one of a test: its webhooks go out signed, and everything that
//! answers them does so over HTTP.
//!
//! The pages are on loopback, where any page that is open in the visitor's browser could reach them. So they answer to
//! their own address only, and take a form only from themselves. They run no script and load one style sheet.

mod conversation;
mod forms;
mod happened;
mod markdown;

use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock},
    time::Duration,
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, Query, Request, State},
    http::{
        HeaderMap, HeaderValue, Method, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN, REFERRER_POLICY,
            X_CONTENT_TYPE_OPTIONS,
        },
    },
    middleware::{self, Next},
    response::{Html, IntoResponse as _, Redirect, Response},
    routing::get,
};
use minijinja::{
    AutoEscape, Environment, UndefinedBehavior, context,
    value::{Serde, Value},
};
use serde::Deserialize;
use serde_json::json;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::AbortHandle,
};

use self::forms::Form;
use crate::{Pr, Refused, Simulator, world::World};
use loopgate_core::{PrNumber, RepoName, Sha};

/// GitHub takes 65,536 characters of a comment.
const MOST_BYTES: usize = 256 * 1024;
/// How long a visitor waits for the result of an act.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

/// What there is to play with.
pub struct Playbook {
    pub repo: RepoName,
    /// Who a visitor can be, and what each is here. The first is whom they are at first.
    pub people: Vec<(&'static str, &'static str)>,
    /// What they can push.
    pub changes: Vec<Change>,
    /// The dashboard's address.
    pub dashboard: String,
    /// Hears of each act, and says when nothing more comes of it.
    pub acts: mpsc::Sender<Act>,
}

/// A prepared change.
#[derive(Clone, Debug)]
pub struct Change {
    /// Known by this among the others; people read it.
    pub name: &'static str,
    /// The commit's message.
    pub message: &'static str,
    pub files: Vec<(String, String)>,
}

/// A visitor did something on a pull request.
#[derive(Debug)]
pub struct Act {
    pub pr: Pr,
    /// To be told when nothing more comes of it.
    pub answered: oneshot::Sender<()>,
}

/// Pages that are served until this is dropped.
#[derive(Debug)]
pub struct Pages(AbortHandle);

impl Drop for Pages {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Site {
    sim: Simulator,
    playbook: Playbook,
    /// The names of this address: browsers send one with each request.
    hosts: [String; 2],
}

type Shared = Arc<Site>;

impl Simulator {
    /// Serves pages of this world on a listener, whose address its `pages_url` should be.
    pub fn serve_pages(
        &self,
        listener: TcpListener,
        address: SocketAddr,
        playbook: Playbook,
    ) -> Pages {
        let port = address.port();
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let site = Arc::new(Site {
            sim: self.clone(),
            playbook,
            hosts,
        });
        let router = Router::new()
            .route("/", get(home))
            .route(
                "/style.css",
                get(|| async { ([(CONTENT_TYPE, "text/css; charset=utf-8")], STYLE) }),
            )
            .route("/{owner}/{repo}", get(repository))
            .route("/{owner}/{repo}/pulls", get(repository).post(open))
            .route("/{owner}/{repo}/pull/{number}", get(pull).post(act))
            .route("/{owner}/{repo}/pull/{number}/{part}", get(part_of_pull))
            .route("/{owner}/{repo}/runs/{id}", get(check_run))
            .route("/{owner}/{repo}/commit/{sha}", get(commit))
            .route("/{owner}/{repo}/blob/{revision}/{*path}", get(file))
            .fallback(async |State(site): State<Shared>| site.absent())
            .layer(DefaultBodyLimit::max(MOST_BYTES))
            .layer(middleware::from_fn_with_state(Arc::clone(&site), guarded))
            .with_state(site);
        Pages(tokio::spawn(async move { axum::serve(listener, router).await }).abort_handle())
    }
}

async fn guarded(State(site): State<Shared>, request: Request, next: Next) -> Response {
    let mut response = match site.refuses(request.method(), request.headers()) {
        Some((status, why)) => (status, why).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // With `no-referrer` browsers do not tell where a form comes from
    // (<https://fetch.spec.whatwg.org/#append-a-request-origin-header>).
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

impl Site {
    fn refuses(&self, method: &Method, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let host = text(HOST.as_str()).filter(|host| self.hosts.iter().any(|ours| ours == host));
        let Some(host) = host else {
            return Some((
                StatusCode::MISDIRECTED_REQUEST,
                "These pages answer to their own address only.\n",
            ));
        };
        let is_from_here = text(ORIGIN.as_str())
            .is_some_and(|origin| origin == format!("http://{host}"))
            && text("sec-fetch-site").is_none_or(|site| site == "same-origin");
        let changes = !matches!(*method, Method::GET | Method::HEAD);
        (changes && !is_from_here).then_some((
            StatusCode::FORBIDDEN,
            "This form is not from these pages.\n",
        ))
    }

    fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        self.sim.shared.quietly(|world| look(world))
    }

    /// Who a visitor is, by what their request says.
    fn person(&self, wanted: &str) -> &'static str {
        let mut people = self.playbook.people.iter().map(|(login, _)| *login);
        let first = people.clone().next().unwrap_or_default();
        people.find(|login| *login == wanted).unwrap_or(first)
    }

    /// A page with what stands around all of them.
    fn page(&self, template: &str, me: &str, shown: &serde_json::Value) -> Response {
        let book = &self.playbook;
        let (people, me) = (&book.people, self.person(me));
        let changes: Vec<_> = book.changes.iter().map(|change| change.name).collect();
        let around = json!({ "repo": book.repo.to_string(), "people": people, "me": me, "changes": changes, "dashboard": book.dashboard });
        let context = context! { ..Value::from(Serde(shown)), ..Value::from(Serde(&around)) };
        match PAGES
            .get_template(template)
            .and_then(|template| template.render(context))
        {
            Ok(page) => Html(page).into_response(),
            Err(error) => {
                (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}\n")).into_response()
            }
        }
    }

    fn absent(&self) -> Response {
        let page = self.page(
            "notice.html",
            "",
            &json!({ "title": "Not here", "said": "The demo's GitHub has no such page." }),
        );
        (StatusCode::NOT_FOUND, page).into_response()
    }

    /// Waits until nothing more comes of what was done.
    async fn answered(&self, pr: &Pr) {
        let (answered, answer) = oneshot::channel();
        if self
            .playbook
            .acts
            .send(Act {
                pr: pr.clone(),
                answered,
            })
            .await
            .is_ok()
        {
            // Later the page shows what there is by then.
            let _ = tokio::time::timeout(ANSWERED_WITHIN, answer).await;
        }
    }

    fn conversation(
        &self,
        pr: &Pr,
        me: &str,
        seen: Option<usize>,
        refused: Option<&Refused>,
    ) -> Response {
        match self.look(|world| conversation::conversation(world, &pr.repo, pr.number, seen)) {
            Ok(shown) => {
                let refused =
                    refused.map(|refused| (refused.status.as_u16(), refusal_text(refused)));
                self.page(
                    "pull.html",
                    me,
                    &json!({ "pull": shown, "refused": refused, "asked": seen.is_some() }),
                )
            }
            Err(_) => self.absent(),
        }
    }
}

/// GitHub's own words, without the codes around them.
fn refusal_text(refused: &Refused) -> String {
    let details = refused.errors.iter().map(|error| {
        error["message"]
            .as_str()
            .or(error.as_str())
            .unwrap_or_default()
    });
    let details: Vec<_> = details.filter(|detail| !detail.is_empty()).collect();
    if details.is_empty() {
        refused.message.clone()
    } else {
        format!("{}: {}", refused.message, details.join("; "))
    }
}

/// Who looks, and what they have seen.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Visit {
    r#as: String,
    seen: Option<usize>,
}

async fn home(State(site): State<Shared>) -> Redirect {
    Redirect::to(&format!("/{}", site.playbook.repo))
}

fn named(owner: &str, repo: &str) -> Option<RepoName> {
    format!("{owner}/{repo}").parse().ok()
}

fn pr_of((owner, repo, number): &(String, String, String)) -> Option<Pr> {
    Some(Pr {
        repo: named(owner, repo)?,
        number: PrNumber::new(number.parse().ok()?),
    })
}

async fn repository(
    State(site): State<Shared>,
    Path((owner, repo)): Path<(String, String)>,
    Query(visit): Query<Visit>,
) -> Response {
    let listed = named(&owner, &repo)
        .and_then(|name| site.look(|world| conversation::list(world, &name)).ok());
    match listed {
        Some(pulls) => site.page(
            "repository.html",
            &visit.r#as,
            &json!({ "pulls": pulls, "refused": null }),
        ),
        None => site.absent(),
    }
}

async fn open(State(site): State<Shared>, body: Bytes) -> Response {
    let (form, seen) = (Form::read(&body), site.look(|world| world.journal.len()));
    match forms::open(
        &site.sim.user(site.person(form.field("as"))),
        &site.playbook,
        &form,
    ) {
        Ok(pr) => site.done(&pr, &form, seen).await,
        Err(refused) => {
            let pulls = site
                .look(|world| conversation::list(world, &site.playbook.repo))
                .unwrap_or_default();
            let page = site.page(
                "repository.html",
                form.field("as"),
                &json!({ "pulls": pulls, "refused": [refused.status.as_u16(), refusal_text(&refused)] }),
            );
            (refused.status, page).into_response()
        }
    }
}

async fn pull(
    State(site): State<Shared>,
    Path(path): Path<(String, String, String)>,
    Query(visit): Query<Visit>,
) -> Response {
    match pr_of(&path) {
        Some(pr) => site.conversation(&pr, &visit.r#as, visit.seen, None),
        None => site.absent(),
    }
}

async fn act(
    State(site): State<Shared>,
    Path(path): Path<(String, String, String)>,
    body: Bytes,
) -> Response {
    let Some(pr) = pr_of(&path) else {
        return site.absent();
    };
    let (form, seen) = (Form::read(&body), site.look(|world| world.journal.len()));
    match forms::act(
        &site.sim.user(site.person(form.field("as"))),
        &site.playbook,
        &pr,
        &form,
    ) {
        Ok(()) => site.done(&pr, &form, seen).await,
        Err(refused) => (
            refused.status,
            site.conversation(&pr, form.field("as"), None, Some(&refused)),
        )
            .into_response(),
    }
}

impl Site {
    /// Leads to the page that shows the result.
    async fn done(&self, pr: &Pr, form: &Form, seen: usize) -> Response {
        self.answered(pr).await;
        let me = self.person(form.field("as"));
        Redirect::to(&format!(
            "/{}/pull/{}?as={me}&seen={seen}#news",
            pr.repo, pr.number
        ))
        .into_response()
    }
}

/// The parts of GitHub's pages of a pull request are on one page here.
async fn part_of_pull(
    State(site): State<Shared>,
    Path((owner, repo, number, part)): Path<(String, String, String, String)>,
) -> Response {
    match pr_of(&(owner, repo, number)) {
        Some(Pr { repo, number }) => {
            let part = if part == "changes" { "files" } else { &part };
            let known = ["files", "commits", "checks"].contains(&part);
            let place = if known { part } else { "main" };
            Redirect::to(&format!("/{repo}/pull/{number}#{place}")).into_response()
        }
        None => site.absent(),
    }
}

async fn check_run(
    State(site): State<Shared>,
    Path((owner, repo, id)): Path<(String, String, String)>,
) -> Response {
    let place = site.look(|world| {
        let found = world
            .repo(world.repo_named(&named(&owner, &repo)?).ok()?)
            .ok()?;
        let run = found
            .check_runs
            .values()
            .find(|run| run.id.to_string() == id)?;
        let of = found.issues.values().find(|it| {
            it.pull
                .as_ref()
                .is_some_and(|pull| pull.head.sha == run.sha)
        })?;
        Some(format!(
            "/{}/pull/{}#check-{id}",
            world.full_name(found),
            of.number
        ))
    });
    place.map_or_else(
        || site.absent(),
        |place| Redirect::to(&place).into_response(),
    )
}

async fn commit(
    State(site): State<Shared>,
    Path((owner, repo, sha)): Path<(String, String, String)>,
) -> Response {
    let shown = site.look(|world| {
        let found = world
            .repo(world.repo_named(&named(&owner, &repo)?).ok()?)
            .ok()?;
        let (objects, sha) = (world.objects(found), sha.parse::<Sha>().ok()?);
        let commit = objects.commit(sha)?;
        let lines = conversation::lines(objects, [sha]);
        let files = conversation::diff(objects, commit.parents.first().copied(), sha);
        Some(json!({ "lines": lines, "files": files, "message": commit.message }))
    });
    shown.map_or_else(
        || site.absent(),
        |shown| site.page("commit.html", "", &shown),
    )
}

async fn file(
    State(site): State<Shared>,
    Path((owner, repo, revision, path)): Path<(String, String, String, String)>,
) -> Response {
    let shown = site.look(|world| {
        let id = world.repo_named(&named(&owner, &repo)?).ok()?;
        let objects = world.objects(world.repo(id).ok()?);
        let blob = objects.blob(objects.at_path(world.resolve(id, &revision)?, &path)?.sha)?;
        let text = String::from_utf8_lossy(blob).into_owned();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Some(json!({ "path": path, "revision": revision, "lines": lines }))
    });
    shown.map_or_else(|| site.absent(), |shown| site.page("file.html", "", &shown))
}

const STYLE: &str = include_str!("../../templates/style.css");

static PAGES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut pages = Environment::new();
    pages.set_undefined_behavior(UndefinedBehavior::Strict);
    pages.set_auto_escape_callback(|_| AutoEscape::Html);
    for (name, source) in [
        ("base.html", include_str!("../../templates/base.html")),
        ("parts.html", include_str!("../../templates/parts.html")),
        (
            "repository.html",
            include_str!("../../templates/repository.html"),
        ),
        ("pull.html", include_str!("../../templates/pull.html")),
        ("commit.html", include_str!("../../templates/commit.html")),
        ("file.html", include_str!("../../templates/file.html")),
        ("notice.html", include_str!("../../templates/notice.html")),
    ] {
        pages
            .add_template(name, source)
            .expect("embedded templates parse: a test renders each of them");
    }
    pages
});
