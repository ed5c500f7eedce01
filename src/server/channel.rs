//! Webhooks through a channel, for servers without a public address: a program such as smee.io receives them and
//! forwards them as server-sent events (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).
//!
//! Anyone who knows a channel's address can read it and write to it. A signed payload is trusted. Channels may
//! serialise JSON anew, which breaks the signature: then only the names of the pull requests to reconcile are taken.

use std::{borrow::Cow, sync::Arc, time::Duration};

use axum::http::{Request, header};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Empty};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;
use url::Url;

use super::receive::{LARGEST_BODY, Receiver};

/// A channel that sends nothing for so long has gone: channels send something every half a minute.
const SILENCE: Duration = Duration::from_secs(90);
/// Pauses before another try: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// A payload, once as it is and once in a text.
const LONGEST_EVENT: usize = 3 * LARGEST_BODY;

/// Listens to a channel for ever.
pub(super) async fn listen(url: Url, receiver: Arc<Receiver>) {
    let mut pause = PAUSES[0];
    loop {
        match read(&url, &receiver).await {
            Ok(events) if events > 0 => pause = PAUSES[0],
            Ok(_) => {}
            Err(reason) => tracing::warn!(reason, "the channel of webhooks cannot be read"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES[1]);
    }
}

/// Reads until the channel closes: how many events there were. The channel's address is as good as a key to it, so no
/// error quotes it.
async fn read(url: &Url, receiver: &Receiver) -> Result<usize, String> {
    let connector = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|_| "there is no HTTP client")?;
    let client = Client::builder(TokioExecutor::new())
        .build(connector.https_or_http().enable_http1().build());
    let request = Request::get(url.as_str()).header(header::ACCEPT, "text/event-stream");
    let request = request.header(header::USER_AGENT, "loopgate");
    let request = request
        .body(Empty::<Bytes>::new())
        .map_err(|_| "its address is none")?;
    let answer = timeout(SILENCE, client.request(request)).await;
    let answer = answer
        .map_err(|_| "no answer in time")?
        .map_err(|_| "no connection")?;
    if !answer.status().is_success() {
        return Err(format!("it answers {}", answer.status().as_u16()));
    }
    let (mut body, mut stream, mut events) = (answer.into_body(), EventStream::default(), 0);
    loop {
        let Some(frame) = timeout(SILENCE, body.frame())
            .await
            .map_err(|_| "it has gone silent")?
        else {
            return Ok(events);
        };
        let Ok(data) = frame.map_err(|_| "the connection broke")?.into_data() else {
            continue;
        };
        for event in stream.take(&data)? {
            events += 1;
            receive(&event, receiver).await;
        }
    }
}

/// The data of events, of which any number may come in a piece, and any in pieces.
#[derive(Default)]
struct EventStream {
    line: BytesMut,
    data: BytesMut,
}

impl EventStream {
    /// # Errors
    /// When an event is longer than a webhook can be.
    fn take(&mut self, bytes: &[u8]) -> Result<Vec<Bytes>, String> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + self.data.len() + piece.len() > LONGEST_EVENT {
                return Err("an event is longer than a webhook can be".to_owned());
            }
            self.line.extend_from_slice(piece);
            if !piece.ends_with(b"\n") {
                continue;
            }
            let line = self.line.split();
            match line.trim_ascii_end() {
                b"" if self.data.is_empty() => {}
                b"" => events.push(self.data.split().freeze()),
                line => self
                    .data
                    .extend_from_slice(line.strip_prefix(b"data:").unwrap_or_default()),
            }
        }
        Ok(events)
    }
}

/// A webhook as a channel writes it.
#[derive(Deserialize)]
struct RelayedWebhook<'a> {
    #[serde(rename = "x-github-event")]
    event: Cow<'a, str>,
    #[serde(rename = "x-github-delivery")]
    delivery: Cow<'a, str>,
    #[serde(rename = "x-hub-signature-256")]
    signature: Cow<'a, str>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    /// The bytes that were signed, where the channel keeps them.
    rawbody: Option<String>,
}

impl RelayedWebhook<'_> {
    /// What is sent on, and whether its signature is right; none if it is forged for sure.
    fn checked(&self, is_signed: impl Fn(&[u8], &[u8]) -> bool) -> Option<(&[u8], bool)> {
        let is_right = |body: &str| is_signed(self.signature.as_bytes(), body.as_bytes());
        match (&self.rawbody, self.body) {
            (Some(raw), _) => is_right(raw).then_some((raw.as_bytes(), true)),
            (None, Some(body)) if is_right(body.get()) => Some((body.get().as_bytes(), true)),
            (None, Some(body)) => Some((body.get().as_bytes(), false)),
            (None, None) => None,
        }
    }
}

async fn receive(event: &[u8], receiver: &Receiver) {
    // Greetings and signs of life are no webhooks.
    let Ok(relayed) = serde_json::from_slice::<RelayedWebhook<'_>>(event) else {
        return;
    };
    match relayed.checked(|signature, body| receiver.signatures.check(signature, body)) {
        Some((body, is_signed)) => {
            let received = receiver
                .receive_event(&relayed.event, &relayed.delivery, body, is_signed)
                .await;
            tracing::debug!(delivery = %relayed.delivery, result = received.as_str(), is_signed, "received on the channel");
        }
        None => tracing::warn!("a webhook of the channel has a wrong signature"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&str]) -> Vec<String> {
        let mut stream = EventStream::default();
        let taken = pieces
            .iter()
            .flat_map(|piece| stream.take(piece.as_bytes()).unwrap());
        taken
            .map(|event| String::from_utf8_lossy(&event).trim().to_owned())
            .collect()
    }

    #[test]
    fn events_are_put_together_however_they_are_cut() {
        let text = "event: ready\ndata: {}\n\n: a comment\n\nid: 7\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata: {\"b\"";
        let whole = events(&[text, ":2}\n\n"]);
        assert_eq!(whole, ["{}", "{\"a\": 1}", "{\"b\":2}"]);
        let bytes: Vec<_> = text.split("").chain([":2}\n", "\n"]).collect();
        assert_eq!(events(&bytes), whole);
        let long = "x".repeat(LONGEST_EVENT);
        assert!(
            EventStream::default()
                .take(format!("data: {long}\n").as_bytes())
                .is_err()
        );
    }

    #[test]
    fn without_its_signature_only_the_place_is_believed() {
        let signed = |signature: &[u8], body: &[u8]| signature == b"good" && body == b"{\"n\":1}";
        let believed = |signature: &str, rest: &str| {
            let head = format!(
                "\"x-github-event\":\"push\",\"x-github-delivery\":\"1\",\"x-hub-signature-256\":\"{signature}\""
            );
            let text = format!("{{{head},{rest}}}");
            serde_json::from_str::<RelayedWebhook<'_>>(&text)
                .unwrap()
                .checked(signed)
                .map(|it| it.1)
        };
        for (signature, rest, expected) in [
            ("good", r#""body":{"n":1}"#, Some(true)),
            ("good", r#""body":{ "n": 1 }"#, Some(false)),
            (
                "good",
                r#""body":{ "n": 1 },"rawbody":"{\"n\":1}""#,
                Some(true),
            ),
            ("bad", r#""body":{"n":1}"#, Some(false)),
            ("bad", r#""body":{"n":1},"rawbody":"{\"n\":1}""#, None),
            ("good", r#""timestamp":1"#, None),
        ] {
            assert_eq!(believed(signature, rest), expected, "{signature} {rest}");
        }
    }
}
