//! `/mcp`: the tools for programs that send a token. There are no sessions: each request gets one JSON answer.
//!
//! A token identifies its owner only. The App's own token asks GitHub whether the owner may read a repository. No tool
//! writes to GitHub, and no token is passed on: the tool for disputes returns the comment that the owner has to post.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{
        Method, StatusCode,
        header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE},
        request::Parts,
    },
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use chrono::TimeDelta;
use rmcp::{
    model::Extensions,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::never::NeverSessionManager,
    },
};
use serde_json::Value;
use url::Url;

use super::{as_a_visitor, tokens::PREFIX};
use crate::{
    github::{FeedbackReader, LoopReader, Pacing, WaitEnd},
    mcp::{Answer, Call, Dispute, Place, Refused, Stop, Toolbox, Tools, at_once},
    server::{
        Admin,
        limiter::Limiter,
        storage::{AccessToken, Change, TokenChange, TokenDigest},
    },
};
use loopgate_core::{
    InstallationId, PrNumber, RepoName, UserId, commands::Command, policy::MemoryPolicy,
};
use loopgate_refs::MemoryStore;
use loopgate_render::{Until, dispute_to_say, explanation, memory_found};

/// Bytes of a request at most.
const MOST_BYTES: usize = 64 << 10;
/// When a token was used last is noted to this.
const USE_NOTED_EVERY: TimeDelta = TimeDelta::minutes(5);
/// How long one call waits at most: clients, and what stands between, give up after a minute of silence.
const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(55);

/// Answers for the owners of tokens.
struct AgentTools {
    admin: Arc<Admin>,
    calls: Limiter<UserId>,
}

/// `origin` is where browsers find the pages: requests by other names, and from other pages, are refused
/// (<https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#security-warning>).
pub(super) fn routes(admin: Arc<Admin>, origin: &str) -> Router {
    let tools = Arc::new(AgentTools {
        admin,
        calls: Limiter::default(),
    });
    let url = Url::parse(origin).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let port = url
        .as_ref()
        .and_then(Url::port_or_known_default)
        .unwrap_or_default();
    let scheme = url.as_ref().map_or("https", Url::scheme);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts([host, "localhost", "127.0.0.1", "::1"])
        .with_allowed_origins([format!("{scheme}://{host}:{port}")])
        .with_max_request_body_bytes(MOST_BYTES);
    let shared = tools.clone();
    let service = StreamableHttpService::new(
        move || Ok(Tools(shared.clone())),
        Arc::<NeverSessionManager>::default(),
        config,
    );
    Router::new()
        .route_service("/mcp", service)
        .route_layer(from_fn(understand))
        .route_layer(from_fn_with_state(tools, admit))
}

/// Answers what is no message: the protocol's library has words for it, and no error that a client reads
/// (<https://www.jsonrpc.org/specification>, error object).
async fn understand(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MOST_BYTES).await else {
        let too_long = format!("a message has at most {MOST_BYTES} bytes\n");
        return (StatusCode::PAYLOAD_TOO_LARGE, too_long).into_response();
    };
    match at_once(&body) {
        Err(error) => (StatusCode::BAD_REQUEST, Json(error)).into_response(),
        Ok(Some(answer)) => Json(answer).into_response(),
        Ok(None) => next.run(Request::from_parts(parts, Body::from(body))).await,
    }
}

/// Lets through who shows a token that is good, and leaves with the request whose it is, in the token's place.
async fn admit(State(tools): State<Arc<AgentTools>>, mut request: Request, next: Next) -> Response {
    let shown = request.headers_mut().remove(AUTHORIZATION);
    let shown = shown
        .as_ref()
        .and_then(|line| line.to_str().ok())
        .and_then(|line| line.split_once(' '));
    let token = shown.filter(|(scheme, token)| {
        scheme.eq_ignore_ascii_case("bearer") && token.starts_with(PREFIX)
    });
    let Some((_, token)) = token else {
        return unauthorized("Bearer realm=\"loopgate\"");
    };
    let (AgentTools { admin, calls }, digest) = (&*tools, TokenDigest::of(token));
    let now = admin.services.clock.now();
    let known = match admin.services.store.token(&digest, now).await {
        Ok(Some(known)) => known,
        Ok(None) => return unauthorized("Bearer realm=\"loopgate\", error=\"invalid_token\""),
        Err(error) => {
            tracing::warn!(%error, "a token could not be looked up");
            return (
                StatusCode::SERVICE_UNAVAILABLE,
                [(RETRY_AFTER, "10")],
                "not now\n",
            )
                .into_response();
        }
    };
    if calls.is_exhausted(&known.owner, now) {
        return (
            StatusCode::TOO_MANY_REQUESTS,
            [(RETRY_AFTER, "2")],
            "one request every two seconds\n",
        )
            .into_response();
    }
    calls.count(known.owner, now);
    if known
        .used_at
        .is_none_or(|used| used < now - USE_NOTED_EVERY)
    {
        // Only for people to see.
        admin
            .services
            .inbox
            .apply(Change::Tokens(TokenChange::Use(digest, now)))
            .await
            .ok();
    }
    request.extensions_mut().insert(known);
    next.run(request).await
}

fn unauthorized(challenge: &'static str) -> Response {
    let text = "show a token as `Authorization: Bearer lg_...`; who signs in here makes one under /tokens\n";
    (
        StatusCode::UNAUTHORIZED,
        [(WWW_AUTHENTICATE, challenge)],
        text,
    )
        .into_response()
}

impl Toolbox for AgentTools {
    const PLACE: Place = Place::Server;

    fn answer(self: Arc<Self>, call: Call, from: Extensions, _: Stop) -> Answer {
        Box::pin(async move {
            let owner = from
                .get::<Parts>()
                .and_then(|parts| parts.extensions.get::<AccessToken>());
            let owner = owner.ok_or_else(|| Refused("nobody is signed in".to_owned()))?;
            as_a_visitor(self.answered(owner, &call)).await
        })
    }
}

impl AgentTools {
    async fn answered(&self, owner: &AccessToken, call: &Call) -> Result<Value, Refused> {
        let named = call
            .subject()
            .ok_or_else(|| Refused("there is no working tree here".to_owned()))?;
        let loops = self
            .admin
            .loops
            .as_ref()
            .ok_or_else(|| not_now("this server reads no GitHub"))?;
        let installation = loops
            .installation_for(named.0, (owner.owner, &owner.login))
            .await
            .map_err(not_now)?;
        if let Some(installation) = installation
            && let Some(answer) = self.tool_answer((loops, installation), named, call).await?
        {
            return Ok(answer);
        }
        let what = named.1.map_or_else(
            || named.0.to_string(),
            |number| format!("{}#{number}", named.0),
        );
        let login = &owner.login;
        Err(Refused(format!(
            "there is no {what} that Loopgate looks after, or GitHub does not show it to {login}"
        )))
    }

    /// What a call asks for of a repository that may be shown; none where there is no such thing.
    async fn tool_answer(
        &self,
        (loops, installation): (&LoopReader, InstallationId),
        (repository, number): (&RepoName, Option<PrNumber>),
        call: &Call,
    ) -> Result<Option<Value>, Refused> {
        let number = number.unwrap_or(PrNumber::new(0));
        match call {
            Call::Verify(_) => Ok(None),
            // The feedback once the verdict on another head than `since` is final, or at the end of the time. What is
            // known now is what is known after no time.
            Call::Feedback(_) | Call::Wait(_) => {
                let (since, time) = match call {
                    Call::Wait(input) => (input.since, input.time()?.min(LONGEST_WAIT)),
                    _ => (None, TimeDelta::zero()),
                };
                let waited = async {
                    let client = loops.github.client(Some(installation));
                    let us = loops.github.identity(&client).await?;
                    let reader =
                        FeedbackReader::new(client, repository.clone(), number, Some(us.bot));
                    let clock = &*self.admin.services.clock;
                    reader
                        .wait(
                            (since, Until::Final),
                            (Pacing::WITH_TOKEN, time),
                            clock,
                            |_| (),
                        )
                        .await
                };
                match waited.await {
                    Ok(WaitEnd::Ended(reading) | WaitEnd::TimedOut(Some(reading))) => {
                        Ok(Some(reading.document()))
                    }
                    Ok(WaitEnd::TimedOut(None)) => Err(not_now("GitHub did not tell in time")),
                    Err(error) if error.is_refusal() => Ok(None),
                    Err(error) => Err(not_now(error)),
                }
            }
            Call::Explain(_) => {
                let looked = loops
                    .now(
                        installation,
                        (repository, number),
                        self.admin.services.clock.now(),
                    )
                    .await;
                let Some(it) = looked.map_err(|failed| not_now(failed.reason))? else {
                    return Ok(None);
                };
                Ok(Some(explanation(&it.subject())))
            }
            Call::Memory(input) => {
                let objects = loops.objects(installation, repository);
                let usual = &MemoryPolicy::default();
                let store = MemoryStore::new(&objects, usual, self.admin.services.clock.now());
                let memory = store.load().await.map_err(not_now)?;
                Ok(Some(memory_found(
                    &memory.search(&input.words),
                    &memory.unmended(&input.words),
                )))
            }
            Call::Dispute(Dispute {
                failure,
                kind,
                reason,
                ..
            }) => {
                let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
                if reason.is_empty() {
                    return Err(Refused("a dispute needs a reason".to_owned()));
                }
                let command = Command::Dispute {
                    failure: *failure,
                    kind: *kind,
                    reason,
                };
                Ok(Some(dispute_to_say(&command.arguments().join(" "))))
            }
        }
    }
}

/// The reason may name what only operators know.
fn not_now(reason: impl ToString) -> Refused {
    tracing::warn!(
        reason = reason.to_string(),
        "a tool's call was not answered"
    );
    Refused("GitHub does not answer as it should now. Call again in a minute.".to_owned())
}
