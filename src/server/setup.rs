//! `/setup`: the pages on which a person registers the App. They require the set-up token, since the App that is
//! registered here decides whose webhooks are believed.

use std::{fs, io, io::Write as _, path::Path, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Query, State},
    http::{HeaderValue, StatusCode, header},
    middleware::map_response,
    response::{Html, IntoResponse as _, Redirect, Response},
    routing::get,
};
use minijinja::context;
use serde::Deserialize;
use tokio::{
    net::TcpListener,
    sync::{Notify, watch},
};

use super::{
    dashboard,
    listener::{self, secured},
};
use crate::github::{
    Secret,
    registration::{
        AppWish, Arrival, InstallationProgress, Owner, RegisteredApp, Registration, Stage, is_same,
        make_folder, nonce, stored_github,
    },
};
use loopgate_render::setup_page;

/// How long a connection may take over the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long GitHub may take to list where an App is installed.
const PROGRESS_WITHIN: Duration = Duration::from_secs(5);
/// The file of the token in the data directory.
const TOKEN: &str = "setup-token";

/// What the pages are about.
pub struct SetupPages {
    registration: Registration,
    folder: std::path::PathBuf,
    /// What is registered unless the request changes it.
    wish: AppWish,
    /// The address of the page as GitHub sends the browser back to it.
    address: String,
    token: Secret,
    registered: watch::Sender<Option<RegisteredApp>>,
    /// Notified when a page has shown the registered App.
    pub shown: Notify,
}

/// The token that opens the pages of a data directory: made where there is none.
///
/// # Errors
/// When the directory cannot be read or written.
pub fn setup_token(folder: &Path) -> io::Result<Secret> {
    if let Some(token) = known_setup_token(folder) {
        return Ok(token);
    }
    make_folder(folder)?;
    let token = Secret::new(nonce());
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(token.expose().as_bytes())?;
    file.persist(folder.join(TOKEN))
        .map_err(|failed| failed.error)?;
    Ok(token)
}

/// The token of a data directory, if it has one.
pub fn known_setup_token(folder: &Path) -> Option<Secret> {
    let text = fs::read_to_string(folder.join(TOKEN)).ok()?;
    Some(text.trim())
        .filter(|text| text.len() >= 16)
        .map(Secret::new)
}

impl SetupPages {
    /// `origin` is where the pages are reached, without a path.
    pub fn new(folder: &Path, wish: AppWish, origin: &str, token: Secret) -> Self {
        Self {
            registration: Registration::new(folder),
            folder: folder.to_owned(),
            wish,
            address: format!("{}/setup", origin.trim_end_matches('/')),
            token,
            registered: watch::Sender::new(None),
            shown: Notify::new(),
        }
    }

    /// The address to open, with the token in it.
    pub fn link(&self) -> String {
        format!("{}?token={}", self.address, self.token.expose())
    }

    /// Completes once the credentials of an App are on disk.
    pub async fn registered(&self) -> Option<RegisteredApp> {
        let mut registered = self.registered.subscribe();
        registered
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|app| app.clone())
    }

    /// Serves the pages, and to probes that the process is alive, until `stop`.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, stop: watch::Receiver<bool>) {
        let alive = Router::new().route("/healthz", get(|| async { "ok\n" }));
        let pages = routes(self).merge(dashboard::style());
        let app = pages.merge(alive).layer(map_response(secured));
        listener::serve(listener, watch::channel(app).1, HEADER_TIMEOUT, stop).await;
    }
}

/// `GET /setup`.
pub(super) fn routes(pages: Arc<SetupPages>) -> Router {
    Router::new().route("/setup", get(page)).with_state(pages)
}

#[derive(Deserialize)]
struct SetupQuery {
    token: Option<String>,
    code: Option<String>,
    state: Option<String>,
    name: Option<String>,
    organization: Option<String>,
}

async fn page(State(pages): State<Arc<SetupPages>>, Query(asked): Query<SetupQuery>) -> Response {
    if let (Some(code), Some(state)) = (&asked.code, &asked.state) {
        return match pages.registration.finish(code, state).await {
            Ok(app) => {
                pages.registered.send_replace(Some(app));
                // The nonce proves that the browser began the registration, with the token.
                Redirect::to(&pages.link()).into_response()
            }
            Err(error) => {
                tracing::warn!(%error, "no App was registered");
                let problem =
                    format!("{error}. Begin again, or reload this page if GitHub did not answer.");
                shown(
                    StatusCode::BAD_REQUEST,
                    context! { problem, stage => "refused" },
                    None,
                )
            }
        };
    }
    let has_token = asked
        .token
        .as_deref()
        .is_some_and(|token| is_same(pages.token.expose(), token));
    match pages.registration.stage() {
        Err(error) => {
            tracing::warn!(%error, "the data directory cannot be read");
            shown(
                StatusCode::SERVICE_UNAVAILABLE,
                context! { problem => "The data directory cannot be read.", stage => "refused" },
                None,
            )
        }
        Ok(Some(Stage::Registered(_))) if !has_token => StatusCode::NOT_FOUND.into_response(),
        Ok(Some(Stage::Registered(app))) => pages.installing(&app).await,
        Ok(_) if !has_token => shown(StatusCode::OK, context! { stage => "locked" }, None),
        Ok(_) => pages.pending(&asked),
    }
}

impl SetupPages {
    /// Everything is ready but the press of a button.
    fn pending(&self, asked: &SetupQuery) -> Response {
        let owner = match asked.organization.as_deref().map(str::trim) {
            None => Ok(self.wish.owner.clone()),
            Some("") => Ok(Owner::Person),
            Some(login) => login
                .parse()
                .map(Owner::Organization)
                .map_err(|_| "that is no organisation's name".to_owned()),
        };
        let name = asked.name.clone().unwrap_or_else(|| self.wish.name.clone());
        let wish = owner.and_then(|owner| {
            AppWish {
                name,
                owner,
                ..self.wish.clone()
            }
            .checked()
        });
        let problem = wish.as_ref().err().cloned();
        let pending = match self
            .registration
            .begin(wish.unwrap_or_else(|_| self.wish.clone()))
        {
            Ok(Stage::Pending(pending)) => pending,
            Ok(Stage::Registered(_)) => return Redirect::to(&self.link()).into_response(),
            Err(error) => {
                tracing::warn!(%error, "the data directory cannot be written");
                let problem = "The data directory cannot be written.";
                return shown(
                    StatusCode::SERVICE_UNAVAILABLE,
                    context! { problem, stage => "refused" },
                    None,
                );
            }
        };
        let (action, manifest) = pending.form(&self.address);
        let organization = match &pending.wish.owner {
            Owner::Organization(login) => login.to_string(),
            Owner::Person => String::new(),
        };
        let (name, hook, token) = (
            &pending.wish.name,
            pending.wish.arrival.hook(),
            self.token.expose(),
        );
        let polls = pending.wish.arrival == Arrival::Poll;
        let origin = pending.wish.web_url.origin().ascii_serialization();
        let values = context! { stage => "pending", problem, action, manifest, organization, name, hook, polls, token };
        shown(StatusCode::OK, values, Some(&origin))
    }

    async fn installing(&self, app: &RegisteredApp) -> Response {
        let asked = async {
            let github = stored_github(&self.folder).ok().flatten()?;
            InstallationProgress::of(&github.client(None)).await.ok()
        };
        let progress = tokio::time::timeout(PROGRESS_WITHIN, asked)
            .await
            .ok()
            .flatten()
            .unwrap_or_default();
        let names =
            |all: &[loopgate_core::Login]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let asked_by: Vec<_> = progress
            .asked_by
            .iter()
            .map(|(who, on)| (who.to_string(), on.clone()))
            .collect();
        let values = context! {
            stage => "installing", slug => &app.slug, file => app.file.display().to_string(),
            installation_page => app.installation_page(), installed_on => names(&progress.installed_on),
            newest_delivery => progress.newest_delivery, asked_by,
        };
        self.shown.notify_one();
        shown(StatusCode::OK, values, None)
    }
}

/// The page, from which forms go to itself and to GitHub at most.
fn shown(status: StatusCode, values: minijinja::Value, form_to: Option<&str>) -> Response {
    let mut response = (status, Html(setup_page(values))).into_response();
    let policy = format!(
        "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self' {}",
        form_to.unwrap_or_default()
    );
    if let Ok(policy) = HeaderValue::from_str(policy.trim()) {
        response
            .headers_mut()
            .insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}
