//! One exchange with GitHub: credentials, repeats, redirects within the API.
//!
//! Job logs and archives are behind a redirect to a link that lives a minute, which is followed by hand and read to its
//! end in bounded memory. Their store gets no token, and is never named.

use bytes::Bytes;
use http::Method;

use super::{
    Client, JSON_LIMIT,
    limits::{Limit, points},
    parse,
    stale::SUSPENDED,
    unreadable,
};
use crate::github::client::{
    auth::Credentials,
    error::{Error, Result},
    fence,
    retry::{Repeat, RetryDecision, judge},
    secret::Secret,
    transport::{Accept, Incoming, Outgoing},
    work_class::served,
};
use loopgate_core::InstallationId;
use loopgate_reports::joblog::LogTail;

/// Redirects within the API followed for one request.
const MOST_HOPS: u32 = 3;
/// Bytes of a log that are read at most.
pub(in crate::github) const LONGEST_LOG: u64 = 256 << 20;
/// Addresses outside the API that are asked for one log.
const MOST_ADDRESSES: usize = 2;

impl Client {
    pub(super) async fn exchange(
        &self,
        request: &Outgoing<'_>,
        repeat: Repeat,
    ) -> Result<Incoming> {
        let answer = self.asked(request, repeat).await;
        self.note(request, answer.as_ref().map(drop));
        answer
    }

    /// Sends a request until it is answered for good.
    pub(super) async fn asked(&self, request: &Outgoing<'_>, repeat: Repeat) -> Result<Incoming> {
        let (hub, path) = (&self.shared.hub, request.target);
        let mut address = hub.transport.address(path)?;
        let (mut refused, mut retries, mut hops, mut keys_refused) = (None, 0, 0, 0);
        loop {
            if let Some(until) = self
                .shared
                .limit
                .lock()
                .until
                .filter(|until| self.now() < *until)
            {
                return Err(Error::RateLimited { until });
            }
            self.respect_silence()?;
            let token = self.token(refused.as_ref()).await?;
            if request.method != Method::GET {
                fence::check(path).await?;
            }
            hub.health.sent(&request.method);
            let outcome = hub.transport.send(&address, request, token.as_ref()).await;
            if let Ok(answer) = &outcome {
                self.shared.budget.lock().update(&answer.headers);
            }
            let failed = match outcome {
                Ok(answer) if answer.is_redirect() => {
                    match answer
                        .header("location")
                        .map(|to| hub.transport.address(to))
                    {
                        // A renamed repository answers with its address by id, which takes the same request.
                        Some(Ok(moved)) if hops < MOST_HOPS => {
                            address = moved;
                            hops += 1;
                            continue;
                        }
                        Some(_) => return Ok(answer),
                        None => return Err(unreadable(path, "a redirect to nowhere")),
                    }
                }
                Ok(answer) => match self.judge(path, &answer) {
                    RetryDecision::Success => return Ok(answer),
                    RetryDecision::RenewToken(_)
                        if refused.is_none() && self.shared.installation.is_some() =>
                    {
                        refused = token;
                        continue;
                    }
                    RetryDecision::RenewToken(_) if self.turns_key(&mut keys_refused) => continue,
                    RetryDecision::Failed(Error::Forbidden { message, .. })
                        if self.shared.installation.is_some() && message.contains(SUSPENDED) =>
                    {
                        return Err(self.silence(message, true));
                    }
                    RetryDecision::Again(error) if repeat == Repeat::Safe => error,
                    RetryDecision::RenewToken(error)
                    | RetryDecision::Again(error)
                    | RetryDecision::Failed(error) => {
                        return Err(error);
                    }
                },
                Err(error @ Error::Unavailable { .. }) if repeat == Repeat::Safe => error,
                Err(error) => return Err(error),
            };
            if retries == hub.setup.patience.retries {
                return Err(failed);
            }
            tracing::debug!(path, error = %failed, "asking again");
            self.shared
                .budget
                .lock()
                .repeats(points(request), self.now());
            tokio::time::sleep(hub.setup.patience.pause_before(retries)).await;
            retries += 1;
        }
    }

    fn judge(&self, path: &str, answer: &Incoming) -> RetryDecision {
        self.shared
            .hub
            .health
            .answered(answer, served().class(), self.now());
        let mut limit = self.shared.limit.lock();
        let verdict = judge(path, answer, limit.strikes, self.now());
        match &verdict {
            RetryDecision::Failed(Error::RateLimited { until }) => {
                *limit = Limit {
                    until: Some(*until),
                    strikes: limit.strikes + 1,
                };
                // The hour's requests are not used up: it was a secondary limit, so those are kept here.
                let mut budget = self.shared.budget.lock();
                if budget
                    .quota(self.now())
                    .is_none_or(|quota| quota.remaining > 0)
                {
                    budget.has_points_limit = true;
                }
                tracing::warn!(path, %until, "rate limited");
            }
            // What was under way when the limit was met does not end it.
            RetryDecision::Success if limit.until.is_none_or(|until| until <= self.now()) => {
                *limit = Limit::default()
            }
            _ => {}
        }
        if let (Credentials::App(_), None) =
            (&self.shared.hub.credentials, self.shared.installation)
        {
            match &verdict {
                RetryDecision::Success => *self.shared.hub.health.key_refused.lock() = None,
                RetryDecision::RenewToken(error) => {
                    *self.shared.hub.health.key_refused.lock() = Some(error.to_string())
                }
                _ => {}
            }
        }
        verdict
    }

    /// Signs with the App's next key, where this client signs by itself and there is one that was not refused.
    fn turns_key(&self, refused: &mut usize) -> bool {
        *refused += 1;
        matches!((&self.shared.hub.credentials, self.shared.installation),
            (Credentials::App(app), None) if app.turn() > *refused)
    }

    /// The token that requests are sent with. The App itself asks for that of an installation.
    pub(super) async fn token(&self, refused: Option<&Secret>) -> Result<Option<Secret>> {
        let now = self.now();
        match (&self.shared.hub.credentials, &self.shared.app) {
            (Credentials::Nobody(_), _) => Ok(None),
            (Credentials::Token(token) | Credentials::Job { token, .. }, _) => {
                Ok(Some(token.clone()))
            }
            (Credentials::App(app), None) => app.jwt(now).map(Some),
            (Credentials::App(_), Some(app)) => {
                let ask = async || {
                    let installation = self.shared.installation.map_or(0, InstallationId::get);
                    let path = format!("/app/installations/{installation}/access_tokens");
                    let request = Outgoing {
                        method: Method::POST,
                        body: Some(Bytes::from_static(b"{}")),
                        ..Outgoing::read(&path, Accept::Json, 1 << 20)
                    };
                    // A second token does no harm, so this may be repeated whatever happened to the first request.
                    match Box::pin(app.asked(&request, Repeat::Safe)).await {
                        Ok(answer) => {
                            self.ask_again();
                            parse(&path, &answer.body)
                        }
                        // Only an installation that is gone or suspended gets no token.
                        Err(error @ (Error::NotFound { .. } | Error::Forbidden { .. })) => {
                            let is_suspended = error.to_string().contains(SUSPENDED);
                            Err(self.silence(error.to_string(), is_suspended))
                        }
                        Err(error) => Err(error),
                    }
                };
                self.shared.token.current(now, refused, ask).await.map(Some)
            }
        }
    }

    /// Reads a log into `kept`; whether it is longer than what is read.
    ///
    /// # Errors
    /// [`Error::NotFound`] while GitHub has none, and when it is gone; every other kind of [`Error`].
    pub(crate) async fn read_log(&self, path: &str, kept: &mut LogTail) -> Result<bool> {
        let mut read = 0_u64;
        let each = |bytes: &[u8]| {
            read += bytes.len() as u64;
            kept.push(bytes);
            read <= LONGEST_LOG
        };
        self.stream(path, JSON_LIMIT, each).await?;
        Ok(read > LONGEST_LOG)
    }

    /// Reads an archive.
    ///
    /// # Errors
    /// Every kind of [`Error`]; [`Error::TooLarge`] above `limit` bytes.
    pub(crate) async fn download(&self, path: &str, limit: usize) -> Result<Bytes> {
        let mut archive = Vec::new();
        let each = |bytes: &[u8]| {
            archive.extend_from_slice(bytes);
            archive.len() <= limit
        };
        self.stream(path, limit, each).await?;
        if archive.len() > limit {
            return Err(Error::TooLarge {
                path: path.to_owned(),
                limit,
            });
        }
        Ok(archive.into_boxed_slice().into())
    }

    /// Reads what a path redirects to piece by piece, until its end or until `each` wants no more. What the API answers
    /// itself has at most `limit` bytes.
    async fn stream(
        &self,
        path: &str,
        limit: usize,
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> Result<()> {
        let answer = self
            .read(&Outgoing::read(path, Accept::Json, limit))
            .await?;
        if !answer.is_redirect() {
            each(&answer.body);
            return Ok(());
        }
        let mut address = answer
            .header("location")
            .ok_or_else(|| unreadable(path, "a redirect to nowhere"))?
            .to_owned();
        for _ in 0..MOST_ADDRESSES {
            if !self.shared.hub.transport.may_be_followed(&address) {
                return Err(unreadable(
                    path,
                    "a redirect to an address that is not https",
                ));
            }
            self.shared.hub.health.sent(&Method::GET);
            match self
                .shared
                .hub
                .transport
                .stream_elsewhere((&address, path), &mut each)
                .await?
            {
                (status, _) if status.is_success() => return Ok(()),
                (status, Some(next)) if status.is_redirection() => address = next,
                (status, _) => {
                    let message = format!("its store answered {}", status.as_u16());
                    return Err(Error::Unavailable {
                        path: path.to_owned(),
                        message,
                        retry_at: None,
                    });
                }
            }
        }
        Err(unreadable(path, "more redirects than are followed"))
    }
}

impl Incoming {
    pub(super) fn is_redirect(&self) -> bool {
        matches!(self.status.as_u16(), 301 | 302 | 303 | 307 | 308)
    }

    /// An answer that sends elsewhere is none, but for downloads.
    pub(super) fn or_redirected(self, path: &str) -> Result<Self> {
        if self.is_redirect() {
            Err(unreadable(path, "a redirect away from the API"))
        } else {
            Ok(self)
        }
    }
}
