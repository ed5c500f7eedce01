//! The routes of the two listeners.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Json, Router,
    extract::State,
    http::{
        StatusCode,
        header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE},
    },
    middleware::map_response,
    response::{Html, IntoResponse as _, Response},
    routing::{get, post},
};
use chrono::TimeDelta;
use tokio::{sync::Mutex, time::timeout};

use super::{
    Admin, Change, Receiver, Services, SetupPages, dashboard, operating,
    receive::{not_ready, webhook},
    secured, setup,
};
use crate::proof::Keys;
use loopgate_core::Timestamp;
use loopgate_render::home_page;

/// How long a readiness check may take.
const CHECK_WITHIN: Duration = Duration::from_secs(5);

/// How long the writer's answer is good for.
const ANSWER_HOLDS: TimeDelta = TimeDelta::seconds(2);

/// Whether deliveries can be stored, tested by a write.
pub(super) struct Readiness {
    services: Services,
    /// Whether the server is stopping: then it is no longer ready.
    pub is_draining: AtomicBool,
    /// The last answer and its time: anybody may ask, and asking costs a write.
    last: Mutex<Option<(Timestamp, Result<(), &'static str>)>>,
}

impl Readiness {
    pub fn new(services: Services) -> Self {
        Self {
            services,
            is_draining: AtomicBool::new(false),
            last: Mutex::default(),
        }
    }

    async fn ask(&self) -> Result<(), &'static str> {
        if self.is_draining.load(Ordering::Relaxed) {
            return Err("the server is stopping");
        }
        let mut last = self.last.lock().await;
        let now = self.services.clock.now();
        if let Some((asked, answer)) = &*last
            && (TimeDelta::zero()..ANSWER_HOLDS).contains(&(now - *asked))
        {
            return *answer;
        }
        let answer =
            match timeout(CHECK_WITHIN, self.services.inbox.apply(Change::Probe(now))).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(_)) => Err("deliveries cannot be stored now; see the log"),
                Err(_) => Err("no answer in time"),
            };
        *last = Some((now, answer));
        answer
    }
}

impl Admin {
    /// The storage first. The lines beside it are no reason to take the process out of a balancer: an incident at
    /// GitHub concerns all of them.
    pub async fn verdicts(&self) -> Vec<(&'static str, Result<(), String>)> {
        let mut verdicts = vec![("storage", self.readiness.ask().await.map_err(str::to_owned))];
        if let Some(github) = &self.services.github {
            verdicts.extend([
                ("key", github.key_is_taken()),
                ("clock", github.clock_is_right()),
            ]);
        }
        verdicts
    }
}

/// `POST /webhook`, `GET /` or the dashboard after sign-in, `/setup` where there is a token for it, `/healthz`, the
/// keys that check signed statements, and `/readyz` in one word: probes cannot reach the admin's listener.
pub(super) fn public(
    receiver: Arc<Receiver>,
    readiness: Arc<Readiness>,
    setup: Option<Arc<SetupPages>>,
    dashboard: Option<Router>,
    keys: Keys,
) -> Router {
    Router::new()
        .route("/webhook", post(webhook))
        .with_state(receiver)
        .route(
            "/.well-known/loopgate-keys.json",
            get(move || async move { Json(keys) }),
        )
        .route("/readyz", get(is_ready))
        .with_state(readiness)
        .merge(dashboard.unwrap_or_else(|| Router::new().route("/", get(home))))
        .merge(dashboard::style())
        .route("/healthz", get(healthy))
        .merge(setup.map(setup::routes).unwrap_or_default())
        .layer(map_response(secured))
}

/// The first page where people cannot sign in; it loads its style sheet and nothing else.
async fn home() -> Response {
    let policy = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    ([(CONTENT_SECURITY_POLICY, policy)], Html(home_page())).into_response()
}

/// `/healthz`, `/readyz`, `/metrics`, what operators ask for (`/dead-letters`, `/resync`), and the dashboard.
pub(super) fn admin(admin: Arc<Admin>) -> Router {
    Router::new()
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .merge(operating::routes())
        .merge(dashboard::routes(admin.clone()))
        .with_state(admin)
        .route("/healthz", get(healthy))
        .layer(map_response(secured))
}

/// What both listeners answer while the database is away: the process lives, and takes nothing.
pub(super) fn while_waiting() -> Router {
    let away = || async { not_ready("the database is away; send it again\n") };
    Router::new()
        .route("/healthz", get(healthy))
        .fallback(away)
        .layer(map_response(secured))
}

async fn healthy() -> &'static str {
    "ok\n"
}

async fn is_ready(State(readiness): State<Arc<Readiness>>) -> Response {
    match readiness.ask().await {
        Ok(()) => "ready\n".into_response(),
        Err(_) => not_ready("unready\n"),
    }
}

async fn ready(State(admin): State<Arc<Admin>>) -> Response {
    let verdicts = admin.verdicts().await;
    let line = |(name, answer): &(&str, Result<(), String>)| {
        format!(
            "{name}: {}\n",
            answer.as_ref().err().map_or("ok", String::as_str)
        )
    };
    let text: String = verdicts.iter().map(line).collect();
    if verdicts.first().is_some_and(|(_, storage)| storage.is_ok()) {
        text.into_response()
    } else {
        not_ready(text)
    }
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    let Services {
        store,
        metrics,
        clock,
        github,
        ..
    } = &admin.services;
    let counts = match store.counts().await {
        Ok(counts) => counts,
        Err(error) => {
            return (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response();
        }
    };
    let text = metrics.text(counts, &(admin.overview)(), github.as_ref(), clock.now());
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
