//! `POST /webhook`: from bytes on a socket to a row on disk.
//!
//! The checks are ordered by their cost, and nothing is believed before the signature. An answer before that names the
//! sender's mistake and nothing about us.

use std::{
    borrow::Cow,
    net::IpAddr,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

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
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout_at},
};

use super::{
    Applied, Change, Clock, Delivery, DeliveryId, Inbox, Limiter, Metrics, Received, Signatures, TokenChange, site,
};
use crate::github::{
    LookedHeads,
    webhook::{self, CheckNews, Irrelevant, Misread, OwnApp, Routed, Target, Work},
};

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

/// Bodies above this size are hashed and read on a thread of their own, so that they hold up no other request.
const LARGE: usize = 1024 * 1024;

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub IpAddr);

pub(super) struct Receiver {
    pub signatures: Signatures,
    /// Whose echoes are left out. The bot's login is learned from GitHub, perhaps only later.
    pub own: Arc<RwLock<OwnApp>>,
    pub inbox: Inbox,
    pub limiter: Limiter<IpAddr>,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
    /// What was looked at a moment ago; none where other processes look at pull requests too.
    heads: Option<Arc<LookedHeads>>,
    large_bodies: Semaphore,
    suspect_bodies: Semaphore,
}

/// How much of a payload that no signature vouches for is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Believed {
    /// All of it: it comes from GitHub itself.
    Whole,
    /// Which pull requests to look at, and nothing of what happened there.
    Place,
}

/// The answer to the sender, and how it is counted.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    text: Cow<'static, str>,
    counted: Received,
}

impl Answer {
    fn new(status: StatusCode, counted: Received, text: impl Into<Cow<'static, str>>) -> Self {
        Self { status, text: text.into(), counted }
    }

    /// With `Retry-After`, in seconds, where the sender may try again.
    fn into_response(self) -> Response {
        let mut response = (self.status, self.text).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("10"));
        }
        response
    }
}

/// The headers that GitHub sends with every delivery.
struct Headers<'a> {
    event: &'a str,
    delivery: DeliveryId,
    signature: &'a [u8],
}

/// A request refused before its signature was found good: counts against its address.
struct Refused(Answer);

pub(super) async fn webhook(
    State(receiver): State<Arc<Receiver>>,
    Extension(Peer(address)): Extension<Peer>,
    request: Request,
) -> Response {
    let now = receiver.clock.now();
    let answer = match receiver.clone().receive(address, request).await {
        Ok(answer) => answer,
        Err(Refused(answer)) => {
            tracing::debug!(%address, result = answer.counted.as_str(), "refused");
            receiver.limiter.count(site(address), now);
            answer
        }
    };
    receiver.metrics.received(answer.counted).add(1);
    answer.into_response()
}

impl Receiver {
    pub fn new(
        signatures: Signatures,
        own: Arc<RwLock<OwnApp>>,
        inbox: Inbox,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (large_bodies, suspect_bodies) = (Semaphore::new(LARGE_BODIES_KIB), Semaphore::new(SUSPECT_BODIES_KIB));
        let (limiter, heads) = (Limiter::default(), None);
        Self { signatures, own, inbox, limiter, metrics, clock, heads, large_bodies, suspect_bodies }
    }

    /// Leaves out news of checks on these heads that the configuration does not name.
    pub fn knowing(self, heads: Option<Arc<LookedHeads>>) -> Self {
        Self { heads, ..self }
    }

    async fn receive(self: Arc<Self>, address: IpAddr, request: Request) -> Result<Answer, Refused> {
        let deadline = Instant::now() + ANSWER_WITHIN;
        let (parts, body) = request.into_parts();
        let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let headers = match check_headers(&parts.headers, length) {
            Ok(headers) => headers,
            Err(answer) => {
                // A sender that is cut off while it is writing may never see why.
                if length.is_some_and(|length| length <= ORDINARY) {
                    timeout_at(deadline, read(body, ORDINARY)).await.ok();
                }
                return Err(Refused(answer));
            }
        };
        let late = || Refused(Answer::new(StatusCode::REQUEST_TIMEOUT, Received::Timeout, "the body came too slowly"));
        let in_memory = async {
            let room = self.room_for(address, length).await;
            (room, read(body, LARGEST_BODY).await)
        };
        let (_room, body) = timeout_at(deadline, in_memory).await.map_err(|_| late())?;
        let body = body?;
        let routed = if body.len() > LARGE {
            let (receiver, signature, event) = (self.clone(), headers.signature.to_owned(), headers.event.to_owned());
            let reading = move || receiver.check_and_route(&signature, &event, &body);
            tokio::task::spawn_blocking(reading).await.unwrap_or_else(|_| Err(Refused(not_available())))?
        } else {
            self.check_and_route(headers.signature, headers.event, &body)?
        };
        let Headers { event, delivery, .. } = headers;
        let answer = match routed {
            Ok(routed) => timeout_at(deadline, self.keep(event, &delivery, routed)).await.unwrap_or(not_available()),
            Err(misread) => Answer::new(StatusCode::BAD_REQUEST, Received::BadRequest, misread.to_string()),
        };
        tracing::debug!(%delivery, event, result = answer.counted.as_str(), "delivery");
        Ok(answer)
    }

    /// Waits until the body has a place in memory. A body of unknown length takes the place of the largest.
    async fn room_for(&self, address: IpAddr, length: Option<usize>) -> Option<SemaphorePermit<'_>> {
        let large = Some(length.unwrap_or(LARGEST_BODY)).filter(|&length| length > ORDINARY)?;
        let is_suspect = self.limiter.is_exhausted(&site(address), self.clock.now());
        let bodies = if is_suspect { &self.suspect_bodies } else { &self.large_bodies };
        // Never closed, and there is room for the largest; so this waits, and does not fail.
        bodies.acquire_many(u32::try_from(large.div_ceil(1024)).unwrap_or(u32::MAX)).await.ok()
    }

    fn check_and_route(&self, signature: &[u8], event: &str, body: &[u8]) -> Result<Result<Routed, Misread>, Refused> {
        self.signatures
            .check(signature, body)
            .map_err(|_| Refused(Answer::new(StatusCode::UNAUTHORIZED, Received::BadSignature, "unauthorized")))?;
        let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
        Ok(webhook::route(event, body, &own, self.clock.now()))
    }

    /// Takes what came on another way than as a request to us. The answer is as a sender of it would have got.
    pub async fn hear(&self, event: &str, delivery: &str, body: &[u8], believed: Believed) -> StatusCode {
        let Ok(delivery) = delivery.parse::<DeliveryId>() else { return StatusCode::BAD_REQUEST };
        let routed = {
            let own = self.own.read().unwrap_or_else(PoisonError::into_inner);
            webhook::route(event, body, &own, self.clock.now())
        };
        let answer = match (routed, believed) {
            (Ok(Routed::Work(work) | Routed::Check(work, _)), Believed::Place) => {
                self.keep(event, &delivery, Routed::Work(Work { hints: Vec::new(), ..work })).await
            }
            (Ok(routed), _) => self.keep(event, &delivery, routed).await,
            (Err(misread), _) => Answer::new(StatusCode::BAD_REQUEST, Received::BadRequest, misread.to_string()),
        };
        self.metrics.received(answer.counted).add(1);
        answer.status
    }

    async fn keep(&self, event: &str, delivery: &DeliveryId, routed: Routed) -> Answer {
        let accept = |work| {
            let (id, event, received_at) = (delivery.clone(), event.to_owned(), self.clock.now());
            Change::Accept(Delivery { id, event, received_at, work })
        };
        let change = match routed {
            Routed::Work(work) => {
                self.told(&work);
                accept(work)
            }
            Routed::Check(work, news) if self.concerns(&work, &news).await => accept(work),
            Routed::Check(..) => {
                return Answer::new(StatusCode::ACCEPTED, Received::Irrelevant, Irrelevant::NotConfigured.as_str());
            }
            Routed::Withdrawn(person) => Change::Tokens(TokenChange::RevokeAll(person)),
            Routed::Ping => return Answer::new(StatusCode::OK, Received::Ping, "pong"),
            Routed::Irrelevant(why) => {
                if why == Irrelevant::UnknownEvent {
                    self.metrics.unknown_events.add(1);
                }
                return Answer::new(StatusCode::ACCEPTED, Received::Irrelevant, why.as_str());
            }
        };
        match self.inbox.apply(change).await {
            Ok(Applied::Duplicate) => Answer::new(StatusCode::ACCEPTED, Received::Duplicate, "accepted before"),
            Ok(_) => Answer::new(StatusCode::ACCEPTED, Received::Accepted, "accepted"),
            Err(_) => not_available(),
        }
    }

    /// Work that is no news of a check: each look at such a head counts.
    fn told(&self, work: &Work) {
        let Some(heads) = &self.heads else { return };
        for target in &work.targets {
            if let Target::Head { repository, sha } = target {
                heads.told(repository, *sha, self.clock.now());
            }
        }
    }

    /// Whether news of a check may change what was decided on its head, as far as is known.
    async fn concerns(&self, work: &Work, news: &CheckNews) -> bool {
        let (Some(heads), [Target::Head { repository, sha }]) = (&self.heads, &*work.targets) else { return true };
        heads.concerns(repository, *sha, news, self.clock.now()).await
    }
}

/// The sender's log shows it, and the delivery can be sent again.
fn not_available() -> Answer {
    Answer::new(StatusCode::SERVICE_UNAVAILABLE, Received::Unavailable, "cannot store the delivery now; send it again")
}

fn check_headers(headers: &HeaderMap, length: Option<usize>) -> Result<Headers<'_>, Answer> {
    if length.is_some_and(|length| length > LARGEST_BODY) {
        return Err(too_large());
    }
    let is_json = |value: &str| {
        let essence = value.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    };
    if !headers.get(CONTENT_TYPE).is_some_and(|value| value.to_str().is_ok_and(is_json)) {
        let text = "only application/json is accepted: set the webhook's content type to it";
        return Err(Answer::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Received::WrongType, text));
    }
    let required =
        |name: &'static str| headers.get(name).ok_or_else(|| bad_request(format!("the header {name} is missing")));
    let signature = required("x-hub-signature-256")?.as_bytes();
    let event = required("x-github-event")?.to_str().ok().filter(|event| is_event_name(event));
    let event = event.ok_or_else(|| bad_request("the header x-github-event is not an event's name"))?;
    let delivery = required("x-github-delivery")?.to_str().ok().and_then(|id| id.parse().ok());
    let delivery = delivery.ok_or_else(|| bad_request("the header x-github-delivery is not a delivery id"))?;
    Ok(Headers { event, delivery, signature })
}

fn is_event_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'0'..=b'9'))
}

fn bad_request(text: impl Into<Cow<'static, str>>) -> Answer {
    Answer::new(StatusCode::BAD_REQUEST, Received::BadRequest, text)
}

fn too_large() -> Answer {
    Answer::new(StatusCode::PAYLOAD_TOO_LARGE, Received::TooLarge, "the body is larger than 25 MB")
}

/// The whole body in one piece.
async fn read(body: Body, limit: usize) -> Result<Bytes, Refused> {
    match Limited::new(body, limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refused(too_large())),
        Err(_) => Err(Refused(bad_request("the body could not be read to its end"))),
    }
}
