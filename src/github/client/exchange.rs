//! One exchange with GitHub: credentials, repeats, redirects within the API.

use std::sync::PoisonError;

use bytes::Bytes;
use http::Method;

use super::{
    Client, error_of,
    limits::{Limit, points},
    parse,
    stale::SUSPENDED,
    unavailable, unreadable,
};
use crate::github::{
    Credentials, Error, Secret,
    auth::InstallationToken,
    budget::PointsLimit,
    fence,
    retry::{Repeat, RetryDecision, judge},
    transport::{Accept, Broken, Incoming, Outgoing},
    work_class::served,
};
use loopgate_core::InstallationId;

/// Redirects within the API followed for one request.
const MOST_HOPS: u32 = 3;

impl Client {
    pub(super) async fn exchange(&self, request: &Outgoing<'_>, repeat: Repeat) -> Result<Incoming, Error> {
        let answer = self.asked(request, repeat).await;
        self.note(request, answer.as_ref().map(drop));
        answer
    }

    /// Sends a request until it is answered for good.
    pub(super) async fn asked(&self, request: &Outgoing<'_>, repeat: Repeat) -> Result<Incoming, Error> {
        let (hub, path) = (&self.shared.hub, request.target);
        let mut address = hub.transport.address(path)?;
        let (mut refused, mut retries, mut hops, mut keys_refused) = (None, 0, 0, 0);
        loop {
            self.respect_limit()?;
            self.respect_silence()?;
            let token = self.token(refused.as_ref()).await?;
            if request.method != Method::GET {
                fence::check(path).await?;
            }
            hub.meter.sent(&request.method);
            let outcome = hub.transport.send(&address, request, token.as_ref()).await;
            if let Ok(answer) = &outcome {
                self.shared.budget().told(&answer.headers);
            }
            let failed = match outcome {
                Ok(answer) if answer.is_redirect() => {
                    match answer.header("location").map(|to| hub.transport.address(to)) {
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
                    RetryDecision::RenewToken(_) if refused.is_none() && self.shared.installation.is_some() => {
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
                    RetryDecision::RenewToken(error) | RetryDecision::Again(error) | RetryDecision::Failed(error) => {
                        return Err(error);
                    }
                },
                Err(Broken::Unclear(message)) if repeat == Repeat::Never => return Err(unavailable(path, &message)),
                Err(Broken::TooLarge) => return Err(error_of(Broken::TooLarge, path, request.limit)),
                Err(broken) => error_of(broken, path, request.limit),
            };
            if retries == hub.setup.patience.retries {
                return Err(failed);
            }
            tracing::debug!(path, error = %failed, "asking again");
            self.shared.budget().repeats(points(request), self.now());
            tokio::time::sleep(hub.setup.patience.pause_before(retries)).await;
            retries += 1;
        }
    }

    fn judge(&self, path: &str, answer: &Incoming) -> RetryDecision {
        self.shared.hub.health.answered(answer, self.now());
        self.shared.hub.meter.answered(served().urgency.class(), answer.status);
        let mut limit = self.shared.limit.lock().unwrap_or_else(PoisonError::into_inner);
        let verdict = judge(path, answer, limit.strikes, self.now());
        match &verdict {
            RetryDecision::Failed(Error::RateLimited { until }) => {
                *limit = Limit { until: Some(*until), strikes: limit.strikes + 1 };
                // The hour's requests are not used up: it was a secondary limit, so those are kept here.
                let mut budget = self.shared.budget();
                if budget.quota(self.now()).is_none_or(|quota| quota.remaining > 0) {
                    budget.points = PointsLimit::On;
                }
                tracing::warn!(path, %until, "rate limited");
            }
            // What was under way when the limit was met does not end it.
            RetryDecision::Success if limit.until.is_none_or(|until| until <= self.now()) => *limit = Limit::default(),
            _ => {}
        }
        if let (Credentials::App(_), None) = (&self.shared.hub.credentials, self.shared.installation) {
            match &verdict {
                RetryDecision::Success => self.shared.hub.health.signed(Ok(())),
                RetryDecision::RenewToken(error) => self.shared.hub.health.signed(Err(error.to_string())),
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

    pub(super) async fn token(&self, refused: Option<&Secret>) -> Result<Option<Secret>, Error> {
        let now = self.now();
        match (&self.shared.hub.credentials, &self.shared.app) {
            (Credentials::Nobody(_), _) => Ok(None),
            (Credentials::Token(token) | Credentials::Job { token, .. }, _) => Ok(Some(token.clone())),
            (Credentials::App(app), None) => app.jwt(now).map(Some),
            (Credentials::App(_), Some(app)) => {
                self.shared.token.current(now, refused, async || self.ask_for_token(app).await).await.map(Some)
            }
        }
    }

    /// A token for the installation, asked for by the App itself.
    async fn ask_for_token(&self, app: &Self) -> Result<InstallationToken, Error> {
        let path =
            format!("/app/installations/{}/access_tokens", self.shared.installation.map_or(0, InstallationId::get));
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
                let is_said = error.to_string().contains(SUSPENDED);
                Err(self.silence(error.to_string(), is_said))
            }
            Err(error) => Err(error),
        }
    }
}

impl Incoming {
    pub(super) fn is_redirect(&self) -> bool {
        matches!(self.status.as_u16(), 301 | 302 | 303 | 307 | 308)
    }

    /// An answer that sends elsewhere is none, but for downloads.
    pub(super) fn or_redirected(self, path: &str) -> Result<Self, Error> {
        if self.is_redirect() { Err(unreadable(path, "a redirect away from the API")) } else { Ok(self) }
    }
}
