//! What surrounds every request: faults, authentication, rate limits, conditional requests, the log.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use chrono::TimeDelta;
use futures::stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

use super::{
    call::Reply,
    caller::Caller,
    conditional::{self, with_headers},
    limits,
};
use crate::{
    Shared,
    faults::Harm,
    refused::Refused,
    requests::{Conditional, RequestRecord},
    world::{RepoId, World},
};

/// Lets a request through to its handler, or does to it what a fault says; logs it once it is known how it ended.
pub async fn wrap(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let (visit, harm) = Visit::begin(&shared, &request);
    let (request, sent) = visit.copy_body(request).await;
    let answer = match harm {
        Some(Harm::Drop) => None,
        Some(Harm::Hold) => {
            visit.until_healed_or(None).await;
            Some(visit.carry_out(request, next).await)
        }
        Some(Harm::Hang) => {
            let struck = visit.healings;
            visit.shared.write(|world| world.faults.hangs(struck, None));
            std::future::pending().await
        }
        Some(Harm::Answer {
            status,
            headers,
            body,
        }) => Some(injected(status, &headers, &body)),
        Some(Harm::Stall(time)) => {
            visit.until_healed_or(Some(time)).await;
            None
        }
        Some(Harm::Unchanged) if let Some(etag) = &visit.condition => {
            let headers = HeaderMap::from_iter([(header::ETAG, etag.clone())]);
            Some(with_headers(
                StatusCode::NOT_MODIFIED,
                headers,
                Bytes::new(),
            ))
        }
        Some(Harm::Lag(time)) if visit.method == Method::GET => {
            let mut request = request;
            if let Some(past) = visit
                .shared
                .quietly(|world| world.as_of(world.clock.now() - time))
            {
                request.extensions_mut().insert(past);
            }
            Some(visit.carry_out(request, next).await)
        }
        Some(Harm::Alter(alteration)) => {
            let (mut parts, body) = visit.carry_out(request, next).await.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
            let pieces = alteration(&mut parts, body).into_iter();
            let pieces =
                pieces.map(|piece| piece.ok_or_else(|| std::io::Error::other("cut by a fault")));
            Some(Response::from_parts(
                parts,
                Body::from_stream(stream::iter(pieces)),
            ))
        }
        Some(Harm::Stale) => match visit.remembered() {
            Some((headers, body)) => Some(with_headers(StatusCode::OK, headers, body)),
            None => Some(visit.carry_out(request, next).await),
        },
        Some(Harm::DropAnswer) => {
            visit.carry_out(request, next).await;
            None
        }
        Some(Harm::Delay(time)) => {
            let response = visit.carry_out(request, next).await;
            tokio::time::sleep(time).await;
            Some(response)
        }
        Some(Harm::Lag(_) | Harm::Unchanged) | None => Some(visit.carry_out(request, next).await),
    };
    visit.end(sent, answer).await
}

/// One request on its way through.
struct Visit {
    shared: Arc<Shared>,
    method: Method,
    uri: Uri,
    caller: Result<Caller, Refused>,
    /// The caller as the log names them.
    name: String,
    condition: Option<HeaderValue>,
    /// The credentials, as they were sent.
    token: Option<HeaderValue>,
    /// How often the faults were healed when it arrived.
    healings: u64,
}

impl Visit {
    fn begin(shared: &Arc<Shared>, request: &Request) -> (Self, Option<Harm>) {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let (caller, name, harm, healings) = shared.quietly(|world| {
            let caller = need_user_agent(request.headers())
                .and_then(|()| Caller::identify(world, request.headers()));
            let name = caller
                .as_ref()
                .map_or_else(|_| "anonymous".to_owned(), |caller| caller.name(world));
            (
                caller,
                name,
                world.faults.strike_request(&method, target(&uri)),
                world.faults.healings(),
            )
        });
        let sent = |name| request.headers().get(name).cloned();
        let (condition, token) = (sent(header::IF_NONE_MATCH), sent(header::AUTHORIZATION));
        (
            Self {
                shared: Arc::clone(shared),
                method,
                uri,
                caller,
                name,
                condition,
                token,
                healings,
            },
            harm,
        )
    }

    /// Waits until the faults are healed, or the clock has moved on so far.
    async fn until_healed_or(&self, time: Option<TimeDelta>) {
        let mut changes = self.shared.changes();
        let until = self.shared.write(|world| {
            let until = time.map(|time| world.clock.now() + time);
            world.faults.hangs(self.healings, until);
            until
        });
        let goes_on = |world: &mut World| {
            world.faults.healings() == self.healings
                && until.is_none_or(|until| world.clock.now() < until)
        };
        while self.shared.quietly(goes_on) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn key(&self) -> (String, String) {
        (self.name.clone(), target(&self.uri).to_owned())
    }

    /// How the same GET was answered the last time.
    fn remembered(&self) -> Option<(HeaderMap, Bytes)> {
        let key = self.key();
        self.shared
            .quietly(|world| world.remembered.get(&key).cloned())
            .filter(|_| self.method == Method::GET)
    }

    /// Checks the caller's credentials and rate, then lets the handler answer.
    async fn carry_out(&self, mut request: Request, next: Next) -> Response {
        let admitted = self.caller.clone().and_then(|caller| {
            self.shared.quietly(|world| {
                limits::check(world, &caller, &self.name, (&self.method, self.uri.path()))
            })?;
            Ok(caller)
        });
        let mut response = match admitted {
            Err(refused) => Reply::from(refused).into_response(),
            Ok(caller) => {
                request.extensions_mut().insert(caller);
                if let Some(uri) = self.shared.quietly(|world| absolute(world, &self.uri)) {
                    *request.uri_mut() = uri;
                }
                next.run(request).await
            }
        };
        if self.method == Method::GET && response.status() == StatusCode::OK {
            let condition = self.condition.as_ref();
            response =
                conditional::answer(&self.shared, self.key(), (&self.token, condition), response)
                    .await;
        }
        let free =
            response.status() == StatusCode::NOT_MODIFIED || self.uri.path() == "/rate_limit";
        self.shared.quietly(|world| {
            if !free {
                world.rate_limits.spend(&self.name);
            }
            limits::tell(world, &self.name, &mut response);
        });
        response
    }

    /// The body of the request, if a transcript is kept.
    async fn copy_body(&self, request: Request) -> (Request, Option<Bytes>) {
        if !self.shared.quietly(|world| world.scribe.is_on()) {
            return (request, None);
        }
        let (parts, body) = request.into_parts();
        let body = to_bytes(body, super::MAX_BODY).await.unwrap_or_default();
        (
            Request::from_parts(parts, Body::from(body.clone())),
            Some(body),
        )
    }

    /// Writes the log. No answer closes the connection before anything is sent: its body fails at once.
    async fn end(self, sent: Option<Bytes>, answer: Option<Response>) -> Response {
        let status = answer.as_ref().map(Response::status);
        let (answer, received) = match (answer, &sent) {
            (Some(response), Some(_)) => {
                let (parts, body) = response.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
                (
                    Some(Response::from_parts(parts, Body::from(body.clone()))),
                    body,
                )
            }
            (answer, _) => (answer, Bytes::new()),
        };
        let Self {
            shared,
            method,
            uri,
            name: actor,
            condition,
            ..
        } = self;
        shared.write(|world| {
            if let (Some(sent), Some(status)) = (sent, status) {
                world
                    .scribe
                    .exchange((&method, target(&uri)), &sent, status, &received);
            }
            let conditional = if condition.is_some() {
                Conditional::Yes
            } else {
                Conditional::No
            };
            let (path, query) = (uri.path().to_owned(), uri.query().map(str::to_owned));
            let at = world.clock.now();
            world.requests.0.push(RequestRecord {
                at,
                method,
                path,
                query,
                status,
                conditional,
                actor,
            });
        });
        answer.unwrap_or_else(|| {
            let broken = stream::once(async {
                Err::<Bytes, _>(std::io::Error::other("dropped by a fault"))
            });
            Response::new(Body::from_stream(broken))
        })
    }
}

/// "All API requests must include a valid User-Agent header" (docs.github.com, Getting started with the REST API).
fn need_user_agent(headers: &HeaderMap) -> Result<(), Refused> {
    if headers.contains_key(header::USER_AGENT) {
        return Ok(());
    }
    let message = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header";
    Err(Refused::forbidden(message))
}

/// Path and query.
fn target(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |target| target.as_str())
}

/// The full URL of a request, with `/repositories/ID` written by name and GitHub Enterprise Server's prefix gone.
fn absolute(world: &World, uri: &Uri) -> Option<Uri> {
    let target = target(uri);
    let target = target.strip_prefix("/api/v3").unwrap_or(target);
    let by_name = target.strip_prefix("/repositories/").and_then(|rest| {
        let (id, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let repo = world.repos.get(&RepoId(id.parse().ok()?))?;
        Some(format!("/repos/{}{rest}", world.full_name(repo)))
    });
    format!("{}{}", world.base_url, by_name.as_deref().unwrap_or(target))
        .parse()
        .ok()
}

fn injected(
    status: StatusCode,
    headers: &[(String, String)],
    body: &serde_json::Value,
) -> Response {
    let mut response = match body {
        serde_json::Value::String(text) => (status, text.clone()).into_response(),
        body => Reply::ok(body.clone()).status(status).into_response(),
    };
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (
            name.parse::<header::HeaderName>(),
            HeaderValue::from_str(value),
        ) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
