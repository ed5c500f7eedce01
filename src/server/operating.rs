//! What operators ask a running server for, on the admin listener only: dead letters, and looks.
//!
//! A page that an operator has open must not be able to ask for it. A browser sends [`GUARD`] for no form, and to no
//! other origin without asking first, which is never answered; and it sends the origin, which no tool does.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{StatusCode, header::ORIGIN},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Admin, Change, ChangeOutcome, DeadLetter, Key, RecoveryRequest};
use loopgate_core::{PrNumber, RepoName};
use loopgate_webhook::Target;

/// The header that a request for a change must have, with any value.
pub const GUARD: &str = "x-loopgate-operator";

/// Which dead letters are tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Replay {
    Id(String),
    /// Those whose reason contains this.
    Reason(String),
    All,
}

/// What is looked at again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResyncOf {
    /// Without: each pull request that a list shows as changed.
    pub repository: Option<RepoName>,
    /// Without: every open one.
    pub pull_request: Option<PrNumber>,
}

pub(super) fn routes() -> Router<Arc<Admin>> {
    let changes = Router::new()
        .route("/dead-letters/replay", post(replay))
        .route("/resync", post(resync));
    changes
        .route_layer(from_fn(from_tool))
        .route("/dead-letters", get(dead_letters))
}

/// Lets through what comes from a tool, and nothing from a page in somebody's browser.
async fn from_tool(request: Request, next: Next) -> Result<Response, Refusal> {
    let headers = request.headers();
    if headers.contains_key(GUARD) && !headers.contains_key(ORIGIN) {
        return Ok(next.run(request).await);
    }
    Err(Refusal(
        StatusCode::FORBIDDEN,
        format!("the header {GUARD} is missing, or a browser sent this"),
    ))
}

/// Why nothing was done.
pub(super) struct Refusal(pub StatusCode, pub String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

/// Of the storage.
impl<E: std::error::Error> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

async fn dead_letters(State(admin): State<Arc<Admin>>) -> Result<Json<Value>, Refusal> {
    let letters = admin.services.store.dead_letters().await?;
    let shown = |DeadLetter {
                     key,
                     failures,
                     reason,
                     died_at,
                 }: &DeadLetter| {
        json!({
            "id": key.to_string(),
            "installation": key.installation,
            "repository": key.target.repository(),
            "failures": failures,
            "reason": reason,
            "died_at": died_at,
        })
    };
    let letters: Vec<_> = letters.iter().map(shown).collect();
    Ok(Json(
        json!({ "schema": "loopgate.dead-letters/v1", "dead_letters": letters }),
    ))
}

async fn replay(
    State(admin): State<Arc<Admin>>,
    Json(which): Json<Replay>,
) -> Result<Json<Value>, Refusal> {
    let replayed = replayed(&admin, &which).await?;
    match (which, replayed) {
        (Replay::Id(id), 0) => Err(Refusal(
            StatusCode::NOT_FOUND,
            format!("there is no dead letter `{id}`"),
        )),
        _ => Ok(Json(
            json!({ "schema": "loopgate.replay/v1", "replayed": replayed }),
        )),
    }
}

/// Tries dead letters again. Returns how many there were.
pub(super) async fn replayed(admin: &Admin, which: &Replay) -> Result<usize, Refusal> {
    let keys: Vec<Key> = match which {
        Replay::Id(id) => {
            let unknown = |()| {
                Refusal(
                    StatusCode::BAD_REQUEST,
                    format!("`{id}` is no dead letter's id"),
                )
            };
            vec![id.parse().map_err(unknown)?]
        }
        Replay::Reason(_) | Replay::All => {
            let is_meant = |letter: &DeadLetter| {
                if let Replay::Reason(text) = which {
                    letter.reason.contains(text)
                } else {
                    true
                }
            };
            let letters = admin.services.store.dead_letters().await?;
            letters
                .into_iter()
                .filter(is_meant)
                .map(|letter| letter.key)
                .collect()
        }
    };
    let mut replayed = 0;
    for key in keys {
        if let ChangeOutcome::New(arrivals) =
            admin.services.inbox.apply(Change::Replay(key)).await?
        {
            replayed += arrivals.len();
        }
    }
    Ok(replayed)
}

async fn resync(
    State(admin): State<Arc<Admin>>,
    Json(what): Json<ResyncOf>,
) -> Result<(StatusCode, Json<Value>), Refusal> {
    let (Some(recovery), Some(github)) = (&admin.recovery, &admin.services.github) else {
        return Err(Refusal(
            StatusCode::NOT_FOUND,
            "this server does not ask GitHub by itself".to_owned(),
        ));
    };
    match &what {
        ResyncOf {
            repository: None,
            pull_request: None,
        } => {
            let stopping = |_| {
                Refusal(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "the server is stopping".to_owned(),
                )
            };
            recovery
                .send(RecoveryRequest::Resync)
                .await
                .map_err(stopping)?;
        }
        ResyncOf {
            repository: None,
            pull_request: Some(_),
        } => {
            return Err(Refusal(
                StatusCode::BAD_REQUEST,
                "a pull request needs its repository".to_owned(),
            ));
        }
        ResyncOf {
            repository: Some(repository),
            pull_request,
        } => {
            let found = github.client(None).installation_of(repository).await;
            let Some(installation) =
                found.map_err(|error| Refusal(StatusCode::BAD_GATEWAY, error.to_string()))?
            else {
                let reason = format!("the App is not installed on {repository}, or there is none");
                return Err(Refusal(StatusCode::NOT_FOUND, reason));
            };
            let repository = repository.clone();
            let target = match pull_request {
                Some(number) => Target::PullRequest {
                    repository,
                    number: *number,
                },
                None => Target::Repository(repository),
            };
            let now = admin.services.clock.now();
            admin
                .services
                .inbox
                .apply(Change::Look(
                    Key {
                        installation,
                        target,
                    },
                    now,
                ))
                .await?;
        }
    }
    Ok((
        StatusCode::ACCEPTED,
        Json(json!({ "schema": "loopgate.resync/v1", "asked": what })),
    ))
}
