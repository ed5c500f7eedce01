//! Reads the document of keys at a server's address.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

/// A server that answers at all answers within this.
const WITHIN: Duration = Duration::from_secs(20);

/// The body at an address, at most so many bytes of it.
///
/// # Errors
/// Why there is none.
pub(super) async fn fetch(address: &str, most: usize) -> Result<Bytes, String> {
    let uri: http::Uri = address.parse().map_err(|_| format!("{address} is no address"))?;
    let is_here = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if uri.scheme_str() != Some("https") && !is_here {
        return Err(format!("{address} is not https: on the way anybody could put keys of their own in place"));
    }
    let connector = HttpsConnectorBuilder::new().with_native_roots().map_err(|error| error.to_string())?;
    let client =
        Client::builder(TokioExecutor::new()).build::<_, Full<Bytes>>(connector.https_or_http().enable_http1().build());
    let read = async {
        let answer = client.get(uri).await.map_err(|error| format!("{address} does not answer: {error}"))?;
        if !answer.status().is_success() {
            return Err(format!("{address} answers {}", answer.status()));
        }
        let body = Limited::new(answer.into_body(), most).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(|error| format!("{address} cannot be read: {error}"))
    };
    tokio::time::timeout(WITHIN, read).await.unwrap_or_else(|_| Err(format!("{address} does not answer in time")))
}
