//! Slack's incoming webhooks: one POST of a text to a secret address.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::json;

use super::{ChannelError, Message};

pub(super) const VARIABLE: &str = "LOOPGATE_SLACK_WEBHOOK_URL";
/// Slack cuts longer texts.
const MOST: usize = 3_000;

pub(super) struct Slack {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// The address is the secret.
    address: http::Uri,
}

impl Slack {
    pub(super) fn from_env(read: impl Fn(&'static str) -> Option<String>) -> Result<Option<Self>, ChannelError> {
        let Some(address) = read(VARIABLE) else { return Ok(None) };
        let malformed = |reason: &str| ChannelError::Malformed { variable: VARIABLE, reason: reason.to_owned() };
        let address: http::Uri = address.parse().map_err(|_| malformed("it is no address"))?;
        if !matches!(address.scheme_str(), Some("https" | "http")) || address.host().is_none() {
            return Err(malformed("it is no http address"));
        }
        let connector =
            HttpsConnectorBuilder::new().with_native_roots().map_err(|_| malformed("there is no HTTP client"))?;
        let connector = connector.https_or_http().enable_http1().build();
        Ok(Some(Self { client: Client::builder(TokioExecutor::new()).build(connector), address }))
    }

    pub(super) async fn send(&self, message: &Message) -> Result<(), ChannelError> {
        let text: String = format!("*{}*\n{}", escaped(&message.subject), escaped(&message.text));
        let body = json!({ "text": text.chars().take(MOST).collect::<String>() }).to_string();
        let request = Request::post(self.address.clone())
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Full::from(body))
            .map_err(|_| ChannelError::Refused("the message could not be written".to_owned()))?;
        // Errors of the client quote the address, which is the secret: only their kind is reported.
        let answer = self.client.request(request).await;
        let answer = answer.map_err(|_| ChannelError::Refused("Slack did not answer".to_owned()))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(ChannelError::Refused(format!("Slack refused the message ({})", status.as_u16()))),
        }
    }
}

/// Slack reads `<…>` as links and mentions (`<!channel>`), unless these three characters are escaped.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
