//! Signing in with GitHub, and who reads a page of the public listener.
//!
//! GitHub answers who a person is, and which repositories they have access to; that is believed for five minutes. A
//! session is known by a random text in a cookie, of which only the digest is kept, beside the person's token, in the
//! memory of this process: a restart signs everybody out, and of several processes a visitor needs the same.
//!
//! What is under way between our page and GitHub's is in the visitor's own cookie; the state that comes back must be
//! its HMAC, so that no other browser can bring an answer, and counts once. A sign-in always leads to the first page.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRequestParts as _, Query, Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{COOKIE, ORIGIN, SET_COOKIE},
    },
    middleware::Next,
    response::{IntoResponse as _, Redirect, Response},
    routing::{get, post},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use hmac::{Hmac, KeyInit as _, Mac as _};
use parking_lot::Mutex;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{PageError, Reader, Reply, operations::field};
use crate::{
    github::{
        Clock, Error, Secret, SignIn, Visitor,
        registration::{is_same, nonce},
    },
    server::storage::Visibility,
};
use loopgate_core::{Login, RepoName, Timestamp, UserId};
use loopgate_render::{Frame, Notice, Refused};

/// How long GitHub's answer about somebody's repositories is believed.
const BELIEVED: TimeDelta = TimeDelta::minutes(5);
/// How long a sign-in may take.
const UNDER_WAY: TimeDelta = TimeDelta::minutes(10);
/// Sessions at most, of everybody and of one person: beyond that the oldest ends.
const MOST_SESSIONS: usize = 1_000;
const MOST_OF_ONE: usize = 5;
/// States that are remembered as spent, at most.
const MOST_SPENT: usize = 10_000;
/// The cookies of a sign-in that is under way, and of a session.
const BEGUN: &str = "loopgate-sign-in";
const SESSION: &str = "loopgate";
/// Bytes of a form at most.
pub(super) const MOST_BYTES: usize = 1024;

/// Who signed in.
pub(in crate::server) struct Visitors {
    pub sign_in: SignIn,
    clock: Arc<dyn Clock>,
    /// The address of the pages as browsers name it, without a slash at the end.
    pub origin: String,
    /// What the name of a cookie begins with and its line ends with. Over https no other name of the domain can set it
    /// (<https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes>).
    cookie_marks: (&'static str, &'static str),
    /// The key of the states' HMAC; it never leaves this process.
    key: Hmac<Sha256>,
    /// By the digest of the text in the cookie.
    sessions: Mutex<BTreeMap<[u8; 32], Arc<VisitorSession>>>,
    spent: Mutex<BTreeSet<(i64, String)>>,
}

struct VisitorSession {
    user: UserId,
    login: Login,
    token: Secret,
    form_token: String,
    began: Timestamp,
    ends: Timestamp,
    /// The repositories that GitHub returned, and when; asked for again by one request at a time.
    seen: tokio::sync::Mutex<(Timestamp, Arc<BTreeSet<RepoName>>)>,
}

impl Visitors {
    pub fn new(sign_in: SignIn, origin: String, clock: Arc<dyn Clock>) -> Self {
        let key = Hmac::new_from_slice((nonce() + &nonce()).as_bytes())
            .expect("HMAC takes a key of any length");
        let cookie_marks = if origin.starts_with("https:") {
            ("__Host-", "; Secure")
        } else {
            ("", "")
        };
        Self {
            sign_in,
            clock,
            origin,
            cookie_marks,
            key,
            sessions: Mutex::default(),
            spent: Mutex::default(),
        }
    }

    /// What follows from a text for us alone.
    fn sealed(&self, purpose: &str, text: &str) -> String {
        let mut key = self.key.clone();
        key.update(format!("{purpose}:{text}").as_bytes());
        hex::encode(key.finalize().into_bytes())
    }

    fn cookie<'h>(&self, headers: &'h HeaderMap, cookie: &str) -> Option<&'h str> {
        let wanted = format!("{}{cookie}", self.cookie_marks.0);
        let lines = headers
            .get_all(COOKIE)
            .into_iter()
            .filter_map(|line| line.to_str().ok());
        let mut pairs = lines
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| value)
    }

    /// Without a time to live it goes at once.
    fn set(&self, mut answer: Response, cookie: &str, value: &str, lives: TimeDelta) -> Response {
        let ((prefix, secure), seconds) = (self.cookie_marks, lives.num_seconds());
        let line = format!(
            "{prefix}{cookie}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
        );
        answer.headers_mut().extend(
            HeaderValue::from_str(&line)
                .ok()
                .map(|line| (SET_COOKIE, line)),
        );
        answer
    }

    fn session(&self, headers: &HeaderMap) -> Option<([u8; 32], Arc<VisitorSession>)> {
        let id = Sha256::digest(self.cookie(headers, SESSION)?).into();
        let now = self.clock.now();
        let session = self
            .sessions
            .lock()
            .get(&id)
            .filter(|session| now < session.ends)
            .cloned();
        Some((id, session?))
    }

    /// # Errors
    /// When GitHub does not return what they may see: its older answer is not believed any more.
    async fn reader(&self, headers: &HeaderMap) -> Result<Reader, Error> {
        let Some((id, session)) = self.session(headers) else {
            return Ok(Reader::default());
        };
        let mut seen = session.seen.lock().await;
        let now = self.clock.now();
        if !(TimeDelta::zero()..BELIEVED).contains(&(now - seen.0)) {
            *seen = match self.sign_in.repositories(&session.token).await {
                Ok(repositories) => (now, Arc::new(repositories)),
                Err(Error::Unauthorized { .. }) => {
                    self.sessions.lock().remove(&id);
                    return Ok(Reader::default());
                }
                Err(error) => return Err(error),
            };
        }
        let frame = Frame::Visitor {
            login: session.login.to_string(),
            token: session.form_token.clone(),
        };
        let visitor = Some((session.user, session.login.clone()));
        Ok(Reader {
            frame,
            visitor,
            visible: Visibility::These(seen.1.clone()),
        })
    }

    /// Whether a form is of a page that was made for this visitor, and came from there.
    pub fn is_ours(&self, headers: &HeaderMap, form: &str, token: &str) -> bool {
        let is_from_here = headers
            .get(ORIGIN)
            .is_some_and(|origin| origin.as_bytes() == self.origin.as_bytes());
        is_from_here && is_same(token, &field(form, "token").unwrap_or_default())
    }

    /// The text for the cookie of a new session.
    async fn finish(
        &self,
        headers: &HeaderMap,
        back: &SignInAnswer,
    ) -> Result<String, NotSignedIn> {
        const FOREIGN: &str =
            "This sign-in was not begun in this browser, or took too long. Begin again.";
        let state = back.state.as_deref().ok_or(FOREIGN)?;
        let begun = self.cookie(headers, BEGUN).ok_or(FOREIGN)?;
        let at: i64 = begun
            .split_once('.')
            .and_then(|(_, at)| at.parse().ok())
            .ok_or(FOREIGN)?;
        let now = self.clock.now();
        let is_recent = (0..UNDER_WAY.num_seconds()).contains(&now.timestamp().saturating_sub(at));
        if !is_recent || !is_same(&self.sealed("state", begun), state) || !self.spend(at, state) {
            return Err(FOREIGN.into());
        }
        let code = back
            .code
            .as_deref()
            .ok_or("GitHub says that you did not agree.")?;
        let visitor = self
            .sign_in
            .visitor(code, &self.sealed("verifier", begun))
            .await?;
        let visitor =
            visitor.ok_or("GitHub does not take its own answer any more. Begin again.")?;
        let seen = self.sign_in.repositories(&visitor.token).await?;
        if seen.is_empty() {
            return Err(
                "GitHub says that you were given access to no repository where Loopgate is installed."
                    .into(),
            );
        }
        if let Some((id, _)) = self.session(headers) {
            self.sessions.lock().remove(&id);
        }
        let Visitor {
            id: user,
            login,
            token,
            lives,
        } = visitor;
        // 244 random bits.
        let (secret, form_token) = (nonce() + &nonce(), nonce());
        let seen = tokio::sync::Mutex::new((now, Arc::new(seen)));
        let session = VisitorSession {
            user,
            login,
            token,
            form_token,
            began: now,
            ends: now + lives,
            seen,
        };
        let mut sessions = self.sessions.lock();
        sessions.retain(|_, session| now < session.ends);
        sessions.insert(Sha256::digest(&secret).into(), Arc::new(session));
        end_oldest(&mut sessions, MOST_OF_ONE, |it| it.user == user);
        end_oldest(&mut sessions, MOST_SESSIONS, |_| true);
        Ok(secret)
    }

    /// Whether the state was not spent before.
    fn spend(&self, at: i64, state: &str) -> bool {
        let mut spent = self.spent.lock();
        let is_new = spent.insert((at, state.to_owned()));
        if spent.len() > MOST_SPENT {
            spent.pop_first();
        }
        is_new
    }
}

/// Why nobody is signed in.
enum NotSignedIn {
    /// What the visitor is told.
    Refused(&'static str),
    /// GitHub does not answer as it should.
    NotNow(Error),
}

impl From<&'static str> for NotSignedIn {
    fn from(reason: &'static str) -> Self {
        Self::Refused(reason)
    }
}

impl From<Error> for NotSignedIn {
    fn from(error: Error) -> Self {
        Self::NotNow(error)
    }
}

fn end_oldest(
    sessions: &mut BTreeMap<[u8; 32], Arc<VisitorSession>>,
    most: usize,
    counts: impl Fn(&VisitorSession) -> bool,
) {
    let mut counted: Vec<_> = sessions
        .iter()
        .filter(|(_, it)| counts(it))
        .map(|(id, it)| (it.began, *id))
        .collect();
    counted.sort_unstable();
    for (_, id) in counted.iter().rev().skip(most) {
        sessions.remove(id);
    }
}

/// `/login`, where GitHub sends the browser back to, and `/logout`.
pub(super) fn routes(visitors: Arc<Visitors>) -> Router {
    Router::new()
        .route("/login", get(begin))
        .route("/login/callback", get(finish))
        .route("/logout", post(end))
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .with_state(visitors)
}

/// Sets the reader on the request. Strangers get the sign-in page, whatever they request.
pub(super) async fn admit(
    State(visitors): State<Arc<Visitors>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let reply = match Reply::from_request_parts(&mut parts, &()).await {
        Ok(reply) => reply,
        Err(refused) => return refused,
    };
    match visitors.reader(&parts.headers).await {
        Ok(reader) if reader.visitor.is_none() => {
            let status = if parts.uri.path() == "/" {
                StatusCode::OK
            } else {
                StatusCode::UNAUTHORIZED
            };
            reply.with(status, &Notice::refused(Refused::SignIn))
        }
        Ok(reader) => {
            parts.extensions.insert(reader);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(error) => PageError::NotNow(error.to_string()).response(&reply),
    }
}

async fn begin(State(visitors): State<Arc<Visitors>>, reply: Reply) -> Response {
    let begun = format!("{}.{}", nonce(), visitors.clock.now().timestamp());
    let challenge =
        BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(visitors.sealed("verifier", &begun)));
    match visitors
        .sign_in
        .page(&visitors.sealed("state", &begun), &challenge)
        .await
    {
        Ok(page) => visitors.set(
            Redirect::to(&page).into_response(),
            BEGUN,
            &begun,
            UNDER_WAY,
        ),
        Err(error) => PageError::NotNow(error.to_string()).response(&reply),
    }
}

#[derive(Deserialize)]
struct SignInAnswer {
    code: Option<String>,
    state: Option<String>,
}

async fn finish(
    State(visitors): State<Arc<Visitors>>,
    reply: Reply,
    headers: HeaderMap,
    Query(back): Query<SignInAnswer>,
) -> Response {
    let answer = match visitors.finish(&headers, &back).await {
        Ok(secret) => visitors.set(
            Redirect::to("/").into_response(),
            SESSION,
            &secret,
            TimeDelta::hours(8),
        ),
        Err(NotSignedIn::Refused(reason)) => {
            reply.with(StatusCode::FORBIDDEN, &Notice::new("Not signed in", reason))
        }
        Err(NotSignedIn::NotNow(error)) => {
            tracing::warn!(%error, "a sign-in did not succeed");
            // The answer is spent: to load this page again would not help.
            let told = "GitHub does not answer as it should now. Begin again in a minute.";
            reply.with(
                StatusCode::SERVICE_UNAVAILABLE,
                &Notice::new("Not signed in", told),
            )
        }
    };
    visitors.set(answer, BEGUN, "", TimeDelta::zero())
}

async fn end(
    State(visitors): State<Arc<Visitors>>,
    reply: Reply,
    headers: HeaderMap,
    form: String,
) -> Response {
    if let Some((id, session)) = visitors.session(&headers) {
        if !visitors.is_ours(&headers, &form, &session.form_token) {
            return reply.with(
                StatusCode::FORBIDDEN,
                &Notice::refused(Refused::ForeignForm),
            );
        }
        visitors.sessions.lock().remove(&id);
    }
    visitors.set(
        Redirect::to("/").into_response(),
        SESSION,
        "",
        TimeDelta::zero(),
    )
}
