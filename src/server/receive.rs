//! `POST /webhook`: from bytes on a socket to a row on disk.
//!
//! The checks are ordered by their cost, and nothing is believed before the signature. An answer before that names the
//! sender's mistake and nothing about us.

use std::{borrow::Cow, net::IpAddr, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{Extension, Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use parking_lot::RwLock;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

use super::{
    Change, ChangeOutcome, Delivery, DeliveryId, DeliveryResult, Limiter, Services, Signatures,
    TokenChange, site,
};
use crate::github::{LookedHeads, Secret};
use loopgate_webhook::{CheckNews, Irrelevant, OwnApp, Routed, Target, Work};

/// GitHub caps payloads at 25 MB.
pub(super) const LARGEST_BODY: usize = 25 * 1024 * 1024;

/// Bodies up to this size are ordinary: they wait for no other request, and only the number of connections bounds them.
const ORDINARY: usize = 256 * 1024;

/// Larger bodies in memory at once, in KiB: five of the largest. Those of a stranger can hold up other large ones for
/// some seconds, never an ordinary delivery.
const LARGE_BODIES_KIB: usize = 128 * 1024;

/// The limit for addresses of which many requests were refused, in KiB: one of the largest.
const SUSPECT_BODIES_KIB: usize = 32 * 1024;

/// GitHub hangs up after 10 seconds; a later answer would be lost.
const ANSWER_WITHIN: Duration = Duration::from_secs(9);

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub IpAddr);

pub(super) struct Receiver {
    services: Services,
    pub signatures: Signatures,
    /// Whose echoes are left out. The bot's login is learned from GitHub, perhaps only later.
    pub own: RwLock<OwnApp>,
    limiter: Limiter<IpAddr>,
    /// The heads that were looked at a moment ago: news of checks that their configuration does not name is left out.
    /// None where other processes look at pull requests too.
    heads: Option<Arc<LookedHeads>>,
    large_bodies: Semaphore,
    suspect_bodies: Semaphore,
}

/// The outcome, which the status follows from, and the words to the sender.
type WebhookAnswer = (DeliveryResult, Cow<'static, str>);

const TOO_LARGE: WebhookAnswer = (
    DeliveryResult::TooLarge,
    Cow::Borrowed("the body is larger than 25 MB"),
);

/// The sender's log shows it, and the delivery can be sent again.
const NOT_AVAILABLE: WebhookAnswer = (
    DeliveryResult::Unavailable,
    Cow::Borrowed("cannot store the delivery now; send it again"),
);

fn bad_request(text: impl Into<Cow<'static, str>>) -> WebhookAnswer {
    (DeliveryResult::BadRequest, text.into())
}

/// The event, the delivery and the signature, which GitHub's headers name with every delivery.
type Headers<'a> = (&'a str, DeliveryId, &'a [u8]);

pub(super) async fn webhook(
    State(receiver): State<Arc<Receiver>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
) -> Response {
    let now = receiver.services.clock.now();
    let (received, text) = receiver
        .receive(address, request)
        .await
        .unwrap_or_else(|refused| {
            tracing::debug!(%address, result = refused.0.as_str(), "refused");
            receiver.limiter.count(site(address), now);
            refused
        });
    receiver.services.metrics.received(received).add(1);
    let status = match received {
        DeliveryResult::Accepted | DeliveryResult::Duplicate | DeliveryResult::Irrelevant => {
            StatusCode::ACCEPTED
        }
        DeliveryResult::Ping => StatusCode::OK,
        DeliveryResult::BadSignature => StatusCode::UNAUTHORIZED,
        DeliveryResult::BadRequest => StatusCode::BAD_REQUEST,
        DeliveryResult::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        DeliveryResult::WrongType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        DeliveryResult::Timeout => StatusCode::REQUEST_TIMEOUT,
        DeliveryResult::Unavailable => return not_ready(text),
    };
    (status, text).into_response()
}

/// With the seconds after which the sender may try again.
pub(super) fn not_ready(text: impl IntoResponse) -> Response {
    (
        StatusCode::SERVICE_UNAVAILABLE,
        [(RETRY_AFTER, HeaderValue::from_static("10"))],
        text,
    )
        .into_response()
}

impl Receiver {
    pub fn new(
        services: Services,
        secrets: &[Secret],
        own: OwnApp,
        heads: Option<Arc<LookedHeads>>,
    ) -> Self {
        Self {
            services,
            signatures: Signatures::new(secrets),
            own: RwLock::new(own),
            limiter: Limiter::default(),
            heads,
            large_bodies: Semaphore::new(LARGE_BODIES_KIB),
            suspect_bodies: Semaphore::new(SUSPECT_BODIES_KIB),
        }
    }

    /// # Errors
    /// An answer from before the signature was found good, which counts against the address.
    async fn receive(
        &self,
        address: IpAddr,
        request: Request,
    ) -> Result<WebhookAnswer, WebhookAnswer> {
        let deadline = Instant::now() + ANSWER_WITHIN;
        let (parts, body) = request.into_parts();
        let length = parts
            .headers
            .get(CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse().ok());
        let (event, delivery, signature) = match check_headers(&parts.headers, length) {
            Ok(headers) => headers,
            Err(answer) => {
                // A sender that is cut off while it is writing may never see why.
                if length.is_some_and(|length| length <= ORDINARY) {
                    timeout_at(deadline, read(body, ORDINARY)).await.ok();
                }
                return Err(answer);
            }
        };
        let in_memory = async {
            let room = self.room_for(address, length).await;
            (room, read(body, LARGEST_BODY).await)
        };
        let (_room, body) = timeout_at(deadline, in_memory)
            .await
            .map_err(|_| (DeliveryResult::Timeout, "the body came too slowly".into()))?;
        let body = body?;
        if !self.signatures.check(signature, &body) {
            return Err((DeliveryResult::BadSignature, "unauthorized".into()));
        }
        let kept = timeout_at(deadline, self.keep(event, &delivery, &body, true));
        let answer = kept.await.unwrap_or(NOT_AVAILABLE);
        tracing::debug!(%delivery, event, result = answer.0.as_str(), "delivery");
        Ok(answer)
    }

    /// Waits until the body has a place in memory. A body of unknown length takes the place of the largest.
    async fn room_for(
        &self,
        address: IpAddr,
        length: Option<usize>,
    ) -> Option<SemaphorePermit<'_>> {
        let large = Some(length.unwrap_or(LARGEST_BODY)).filter(|&length| length > ORDINARY)?;
        let is_suspect = self
            .limiter
            .is_exhausted(&site(address), self.services.clock.now());
        let bodies = if is_suspect {
            &self.suspect_bodies
        } else {
            &self.large_bodies
        };
        // Never closed, and there is room for the largest; so this waits, and does not fail.
        bodies
            .acquire_many(u32::try_from(large.div_ceil(1024)).unwrap_or(u32::MAX))
            .await
            .ok()
    }

    /// Takes an event that did not come as a request to us.
    pub async fn receive_event(
        &self,
        event: &str,
        delivery: &str,
        body: &[u8],
        is_trusted: bool,
    ) -> DeliveryResult {
        let Ok(delivery) = delivery.parse::<DeliveryId>() else {
            return DeliveryResult::BadRequest;
        };
        let (received, _) = self.keep(event, &delivery, body, is_trusted).await;
        self.services.metrics.received(received).add(1);
        received
    }

    /// Of a payload that neither a signature nor GitHub itself vouches for is believed which pull requests to look at,
    /// and nothing of what happened there.
    async fn keep(
        &self,
        event: &str,
        delivery: &DeliveryId,
        body: &[u8],
        is_trusted: bool,
    ) -> WebhookAnswer {
        let routed =
            loopgate_webhook::route(event, body, &self.own.read(), self.services.clock.now());
        let routed = match (routed, is_trusted) {
            (Ok(Routed::Work(work) | Routed::Check(work, _)), false) => Routed::Work(Work {
                hints: Vec::new(),
                ..work
            }),
            (Ok(routed), _) => routed,
            (Err(misread), _) => return bad_request(misread.to_string()),
        };
        let accept = |work| {
            let (id, event, received_at) = (
                delivery.clone(),
                event.to_owned(),
                self.services.clock.now(),
            );
            Change::Accept(Delivery {
                id,
                event,
                received_at,
                work,
            })
        };
        let change = match routed {
            Routed::Work(work) => {
                // Work that is no news of a check: each look at such a head counts.
                for target in &work.targets {
                    if let (Some(heads), Target::Head { repository, sha }) = (&self.heads, target) {
                        heads.note(repository, *sha, None, self.services.clock.now());
                    }
                }
                accept(work)
            }
            Routed::Check(work, news) if self.concerns(&work, &news) => accept(work),
            Routed::Check(..) => {
                return (
                    DeliveryResult::Irrelevant,
                    Irrelevant::NotConfigured.as_str().into(),
                );
            }
            Routed::Withdrawn(person) => Change::Tokens(TokenChange::RevokeAll(person)),
            Routed::Ping => return (DeliveryResult::Ping, "pong".into()),
            Routed::Irrelevant(why) => {
                if why == Irrelevant::UnknownEvent {
                    self.services.metrics.unknown_events.add(1);
                }
                return (DeliveryResult::Irrelevant, why.as_str().into());
            }
        };
        match self.services.inbox.apply(change).await {
            Ok(ChangeOutcome::Duplicate) => (DeliveryResult::Duplicate, "accepted before".into()),
            Ok(_) => (DeliveryResult::Accepted, "accepted".into()),
            Err(_) => NOT_AVAILABLE,
        }
    }

    /// Whether news of a check may change what was decided on its head, as far as is known.
    fn concerns(&self, work: &Work, news: &CheckNews) -> bool {
        let (Some(heads), [Target::Head { repository, sha }]) = (&self.heads, &*work.targets)
        else {
            return true;
        };
        heads.concerns(repository, *sha, news, self.services.clock.now())
    }
}

fn check_headers(headers: &HeaderMap, length: Option<usize>) -> Result<Headers<'_>, WebhookAnswer> {
    if length.is_some_and(|length| length > LARGEST_BODY) {
        return Err(TOO_LARGE);
    }
    let is_json = |value: &str| {
        let essence = value.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    };
    if !headers
        .get(CONTENT_TYPE)
        .is_some_and(|value| value.to_str().is_ok_and(is_json))
    {
        let text = "only application/json is accepted: set the webhook's content type to it";
        return Err((DeliveryResult::WrongType, text.into()));
    }
    let required = |name: &'static str| {
        headers
            .get(name)
            .ok_or_else(|| bad_request(format!("the header {name} is missing")))
    };
    let signature = required("x-hub-signature-256")?.as_bytes();
    let event = required("x-github-event")?.to_str().ok().filter(|event| {
        let is_part = |byte| matches!(byte, b'a'..=b'z' | b'_' | b'0'..=b'9');
        (1..=64).contains(&event.len()) && event.bytes().all(is_part)
    });
    let event =
        event.ok_or_else(|| bad_request("the header x-github-event is not an event's name"))?;
    let delivery = required("x-github-delivery")?
        .to_str()
        .ok()
        .and_then(|id| id.parse().ok());
    let delivery =
        delivery.ok_or_else(|| bad_request("the header x-github-delivery is not a delivery id"))?;
    Ok((event, delivery, signature))
}

/// The whole body in one piece.
async fn read(body: Body, limit: usize) -> Result<Bytes, WebhookAnswer> {
    match Limited::new(body, limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(TOO_LARGE),
        Err(_) => Err(bad_request("the body could not be read to its end")),
    }
}
