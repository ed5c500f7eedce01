//! The routes of the two listeners.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::{
        HeaderValue, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER},
    },
    middleware::map_response,
    response::{Html, IntoResponse, Response},
    routing::{get, post},
};
use tokio::time::timeout;

use super::{
    listener::secured,
    metrics::Metrics,
    receive::{Receiver, webhook},
    storage::Store,
};

/// How long a readiness check may take.
const CHECK_WITHIN: Duration = Duration::from_secs(5);

const HOME: &str = include_str!("home.html");

/// One question of `/readyz`: `Ok`, or what is wrong in one line.
pub type ReadinessCheck = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// What the admin listener shows.
pub(super) struct Admin {
    pub store: Store,
    pub metrics: Arc<Metrics>,
    /// Asked by `/readyz` in this order, after the storage.
    pub checks: Vec<(&'static str, ReadinessCheck)>,
}

/// `POST /webhook`, `GET /`, `/healthz`.
pub(super) fn public(receiver: Arc<Receiver>) -> Router {
    Router::new()
        .route("/webhook", post(webhook))
        .with_state(receiver)
        .route("/", get(|| async { Html(HOME) }))
        .route("/healthz", get(healthy))
        .layer(map_response(secured))
}

/// `/healthz`, `/readyz`, `/metrics`.
pub(super) fn admin(admin: Arc<Admin>) -> Router {
    Router::new()
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(admin)
        .route("/healthz", get(healthy))
        .layer(map_response(secured))
}

async fn healthy() -> &'static str {
    "ok\n"
}

async fn ready(State(admin): State<Arc<Admin>>) -> Response {
    let store = admin.store.clone();
    let storage: ReadinessCheck = Box::new(move || {
        let store = store.clone();
        Box::pin(async move { store.ping().await.map_err(|error| error.to_string()) })
    });
    let mut status = StatusCode::OK;
    let mut text = String::new();
    for (name, check) in std::iter::once(("storage", &storage)).chain(admin.checks.iter().map(|(name, it)| (*name, it)))
    {
        let answer = timeout(CHECK_WITHIN, check()).await.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        if let Err(problem) = answer {
            status = StatusCode::SERVICE_UNAVAILABLE;
            text.push_str(&format!("{name}: {problem}\n"));
        } else {
            text.push_str(&format!("{name}: ok\n"));
        }
    }
    let mut response = (status, text).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
    }
    response
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    let (backlog, dead) = match admin.store.counts().await {
        Ok(counts) => counts,
        Err(error) => return (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    };
    let text = admin.metrics.text(backlog, dead);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
