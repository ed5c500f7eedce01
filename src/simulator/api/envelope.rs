//! What surrounds every request: faults, authentication, rate limits, conditional requests, the log.

use std::sync::Arc;

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use sha2::{Digest as _, Sha256};

use super::{auth::Caller, call::Reply};
use crate::simulator::{
    Shared,
    faults::Harm,
    refused::Refused,
    requests::{Conditional, RequestRecord},
    world::{World, repo::Repo},
};

pub async fn wrap(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let target = uri.path_and_query().map_or("/", |target| target.as_str()).to_owned();
    let (caller, name, harm) = shared.quietly(|world| {
        let caller = Caller::identify(world, request.headers());
        let name = caller.as_ref().map_or_else(|_| "anonymous".to_owned(), |caller| caller.name(world));
        (caller, name, world.faults.strike_request(&method, &target))
    });
    let condition = request.headers().get(header::IF_NONE_MATCH).cloned();
    let conditional = if condition.is_some() { Conditional::Yes } else { Conditional::No };
    let log =
        Log { shared: Arc::clone(&shared), method: method.clone(), uri: uri.clone(), conditional, actor: name.clone() };

    let mut response = match harm {
        Some(Harm::Drop) => return log.dropped(),
        Some(Harm::Answer { status, headers, body }) => return log.answered(injected(status, &headers, &body)),
        Some(Harm::Stale) if method == Method::GET => {
            match shared.quietly(|world| world.remembered.get(&(name.clone(), target.clone())).cloned()) {
                Some((headers, body)) => with_headers(StatusCode::OK, headers, body),
                None => carry_out(&shared, caller, &name, &mut request, next).await,
            }
        }
        _ => carry_out(&shared, caller, &name, &mut request, next).await,
    };
    if method == Method::GET && response.status() == StatusCode::OK {
        response = tag(&shared, (name.clone(), target), condition, response).await;
    }
    shared.quietly(|world| rate_headers(world, &name, &mut response));
    match harm {
        Some(Harm::DropAnswer) => return log.dropped(),
        Some(Harm::Delay(time)) => tokio::time::sleep(time).await,
        _ => {}
    }
    log.answered(response)
}

/// Checks the caller's credentials and rate, then lets the handler answer.
async fn carry_out(
    shared: &Shared,
    caller: Result<Caller, Refused>,
    name: &str,
    request: &mut Request,
    next: Next,
) -> Response {
    let caller = match caller {
        Ok(caller) => caller,
        Err(refused) => return Reply::from(refused).into_response(),
    };
    if let Some(refused) = shared.quietly(|world| over_limit(world, &caller, name)) {
        return Reply::from(refused).into_response();
    }
    request.extensions_mut().insert(caller);
    let base = shared.quietly(|world| world.base_url.clone());
    if let Some(uri) = absolute(shared, &base, request.uri()) {
        *request.uri_mut() = uri;
    }
    next.run(std::mem::take(request)).await
}

/// The full URL of a request, with `/repositories/ID` written by name.
fn absolute(shared: &Shared, base: &str, uri: &Uri) -> Option<Uri> {
    let target = uri.path_and_query()?.as_str();
    let by_name = target.strip_prefix("/repositories/").and_then(|rest| {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (id, rest) = rest.split_at(end);
        let id = id.parse().ok()?;
        let name = |repo: &Repo, world: &World| world.full_name(repo);
        let name = shared
            .quietly(|world| world.repos.get(&crate::simulator::world::RepoId(id)).map(|repo| name(repo, world)))?;
        Some(format!("/repos/{name}{rest}"))
    });
    format!("{base}{}", by_name.as_deref().unwrap_or(target)).parse().ok()
}

fn over_limit(world: &mut World, caller: &Caller, name: &str) -> Option<Refused> {
    let now = world.clock.now();
    let (used, reset) = world.rate_limits.window(name, now);
    if used < world.rate_limits.per_hour {
        return None;
    }
    let whom = match caller {
        Caller::Installation { id, .. } => format!("installation ID {id}"),
        _ => format!("user {name}"),
    };
    let refused = Refused::forbidden(format!("API rate limit exceeded for {whom}."));
    Some(refused.header("x-ratelimit-reset", reset.timestamp().to_string()))
}

/// Gives an answer its ETag, or 304 if the caller has it already.
async fn tag(shared: &Shared, key: (String, String), condition: Option<HeaderValue>, response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let etag = format!("W/\"{}\"", hex::encode(Sha256::digest(&body)));
    let known = condition.is_some_and(|value| {
        value.to_str().is_ok_and(|list| list.split(',').any(|one| one.trim() == etag || one.trim() == &etag[2..]))
    });
    // The form of the tag is ours, so it is always a header value.
    parts.headers.extend(HeaderValue::from_str(&etag).ok().map(|etag| (header::ETAG, etag)));
    shared.quietly(|world| {
        if world.faults.may_go_stale() {
            world.remembered.insert(key, (parts.headers.clone(), body.clone()));
        }
    });
    if known {
        parts.headers.remove(header::CONTENT_TYPE);
        return with_headers(StatusCode::NOT_MODIFIED, parts.headers, Bytes::new());
    }
    with_headers(StatusCode::OK, parts.headers, body)
}

fn with_headers(status: StatusCode, headers: HeaderMap, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn injected(status: StatusCode, headers: &[(String, String)], body: &serde_json::Value) -> Response {
    let mut response = Reply::ok(body.clone()).status(status).into_response();
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (name.parse::<header::HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// Counts the request, unless it was answered 304: those are free
/// (docs.github.com, Best practices for using the REST API: Use conditional requests).
fn rate_headers(world: &mut World, name: &str, response: &mut Response) {
    let now = world.clock.now();
    let limit = world.rate_limits.per_hour;
    world.rate_limits.window(name, now);
    if response.status() != StatusCode::NOT_MODIFIED {
        world.rate_limits.spend(name);
    }
    let (used, reset) = world.rate_limits.window(name, now);
    let used = used.min(limit);
    for (name, value) in [
        ("x-ratelimit-limit", u64::from(limit)),
        ("x-ratelimit-remaining", u64::from(limit - used)),
        ("x-ratelimit-used", u64::from(used)),
        ("x-ratelimit-reset", reset.timestamp().unsigned_abs()),
    ] {
        response.headers_mut().insert(name, HeaderValue::from(value));
    }
    response.headers_mut().insert("x-ratelimit-resource", HeaderValue::from_static("core"));
    response.headers_mut().insert("x-github-media-type", HeaderValue::from_static("github.v3; format=json"));
    response.headers_mut().insert("x-github-api-version-selected", HeaderValue::from_static("2022-11-28"));
}

/// Writes a request's line in the log, once it is known how it ended.
struct Log {
    shared: Arc<Shared>,
    method: Method,
    uri: Uri,
    conditional: Conditional,
    actor: String,
}

impl Log {
    fn answered(self, response: Response) -> Response {
        self.write(Some(response.status()));
        response
    }

    /// A body that fails at once: the server closes the connection before it has sent anything.
    fn dropped(self) -> Response {
        self.write(None);
        let broken = stream::once(async { Err::<Bytes, _>(std::io::Error::other("dropped by a fault")) });
        Response::new(Body::from_stream(broken))
    }

    fn write(self, status: Option<StatusCode>) {
        let Self { shared, method, uri, conditional, actor } = self;
        shared.write(|world| {
            let at = world.clock.now();
            let (path, query) = (uri.path().to_owned(), uri.query().map(str::to_owned));
            world.requests.0.push(RequestRecord { at, method, path, query, status, conditional, actor });
        });
    }
}
