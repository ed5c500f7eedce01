//! One HTTP exchange: octocrab carries the bytes, and does nothing else. Its retries repeat POSTs and its token
//! handling sends tokens only to one host name, so both stay off; see [`retry`](crate::github::client::retry) and
//! [`auth`](crate::github::client::auth).

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use octocrab::Octocrab;

use crate::github::client::{
    error::{Error, Result},
    secret::Secret,
};

/// The REST API's version this room is written for
/// (<https://docs.github.com/en/rest/about-the-rest-api/api-versions>).
const API_VERSION: &str = "2022-11-28";

/// Media types asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accept {
    Json,
    /// What the pages outside the API call JSON.
    Plain,
    /// The bytes of a file or archive themselves.
    Raw,
}

impl Accept {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/vnd.github+json",
            Self::Plain => "application/json",
            Self::Raw => "application/vnd.github.raw+json",
        }
    }
}

/// Where the API is: `https://api.github.com`, or `https://HOST/api/v3` of a GitHub Enterprise Server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiUrl(String);

impl ApiUrl {
    /// # Errors
    /// When it is no absolute http or https address.
    pub fn parse(text: &str) -> Result<Self> {
        let text = text.trim().trim_end_matches('/');
        let usable = text.parse::<Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https"))
                && uri.host().is_some()
                && uri.query().is_none()
        });
        if usable {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::Setup(format!("`{text}` is no address of an API")))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ApiUrl {
    fn default() -> Self {
        Self("https://api.github.com".to_owned())
    }
}

/// Where GraphQL is asked.
pub(crate) const GRAPHQL: &str = "/graphql";

/// One request, ready to be sent any number of times.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing<'a> {
    pub method: Method,
    /// Path and query below the API's address, or a whole address of the same API as paging links give it.
    pub target: &'a str,
    pub accept: Accept,
    pub etag: Option<&'a str>,
    pub body: Option<Bytes>,
    /// Bytes of the answer at most.
    pub limit: usize,
    /// A 404 means that it was not made yet, rather than that a server may lag behind.
    pub may_be_absent: bool,
}

impl<'a> Outgoing<'a> {
    /// A plain read.
    pub(crate) const fn read(target: &'a str, accept: Accept, limit: usize) -> Self {
        Self {
            method: Method::GET,
            target,
            accept,
            etag: None,
            body: None,
            limit,
            may_be_absent: false,
        }
    }
}

/// An answer read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Incoming {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Incoming {
    /// A header, as far as it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// How long a connection may take to come about, and a read to bring something.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes that an error answer may have, even where the request's own limit is lower.
const MOST_ERROR_BYTES: usize = 64 << 10;

/// Sends requests to one API.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    octocrab: Octocrab,
    api: ApiUrl,
}

impl Transport {
    pub(crate) fn is_public(&self) -> bool {
        self.api == ApiUrl::default()
    }

    /// Whether GitHub runs it: for everybody, or for one enterprise.
    pub(crate) fn is_hosted(&self) -> bool {
        let host = self
            .api
            .0
            .parse::<Uri>()
            .ok()
            .and_then(|uri| uri.host().map(str::to_owned));
        self.is_public() || host.is_some_and(|host| host.ends_with(".ghe.com"))
    }

    /// Must be called within a tokio runtime.
    pub(crate) fn new(api: ApiUrl) -> Result<Self> {
        // Without a base address: requests carry whole ones, and octocrab would prefix the paths of other hosts' too.
        let octocrab = Octocrab::builder()
            .set_connect_timeout(Some(CONNECT_TIMEOUT))
            .set_read_timeout(Some(READ_TIMEOUT))
            .set_write_timeout(Some(READ_TIMEOUT))
            .build()
            .map_err(|error| Error::Setup(format!("no HTTP client: {error}")))?;
        Ok(Self { octocrab, api })
    }

    /// The whole address of a target.
    ///
    /// # Errors
    /// When a link points outside the API: tokens are sent nowhere else.
    pub(crate) fn address(&self, target: &str) -> Result<String> {
        let api = self.api.as_str();
        // On a server of one's own it stands beside the REST API, not below it
        // (<https://docs.github.com/en/enterprise-server@latest/graphql/guides/managing-enterprise-accounts>).
        if target == GRAPHQL {
            return Ok(format!(
                "{}{target}",
                api.strip_suffix("/v3").unwrap_or(api)
            ));
        }
        if target.starts_with('/') {
            return Ok(format!("{api}{target}"));
        }
        let inside = target
            .strip_prefix(api)
            .is_some_and(|rest| rest.starts_with('/'));
        if inside {
            Ok(target.to_owned())
        } else {
            Err(Error::Unreadable {
                path: target.chars().take(200).collect(),
                message: "not an address of the API".into(),
            })
        }
    }

    /// # Errors
    /// [`Error::Unavailable`] without an answer: the request may or may not have had an effect; and
    /// [`Error::TooLarge`].
    pub(crate) async fn send(
        &self,
        address: &str,
        request: &Outgoing<'_>,
        token: Option<&Secret>,
    ) -> Result<Incoming> {
        let path = request.target;
        let mut builder = Request::builder()
            .method(request.method.clone())
            .uri(address)
            .header(header::ACCEPT, request.accept.as_str())
            .header("x-github-api-version", API_VERSION);
        if let Some(token) = token {
            builder = builder.header(header::AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        if let Some(etag) = request.etag {
            builder = builder.header(header::IF_NONE_MATCH, etag);
        }
        if request.body.is_some() {
            builder = builder.header(header::CONTENT_TYPE, "application/json");
        }
        let mut ready = builder
            .body(request.body.clone().unwrap_or_default())
            .map_err(|error| unavailable(path, &error))?;
        if let Some(authorization) = ready.headers_mut().get_mut(header::AUTHORIZATION) {
            authorization.set_sensitive(true);
        }
        let answer = self
            .octocrab
            .send(ready.map(Into::into))
            .await
            .map_err(|error| unavailable(path, &error))?;
        // The limit is for what was asked for; an error answer must be readable.
        let is_error = !answer.status().is_success();
        let limit = if is_error {
            request.limit.max(MOST_ERROR_BYTES)
        } else {
            request.limit
        };
        let (parts, body) = answer.into_parts();
        match Limited::new(body, limit).collect().await {
            Ok(whole) => Ok(Incoming {
                status: parts.status,
                headers: parts.headers,
                body: whole.to_bytes(),
            }),
            Err(error) if error.is::<LengthLimitError>() => Err(Error::TooLarge {
                path: path.to_owned(),
                limit: request.limit,
            }),
            Err(error) => Err(unavailable(path, error.as_ref())),
        }
    }

    /// Whether an address outside the API may be asked: over https; over http on loopback alone, where the API is there too.
    pub(crate) fn may_be_followed(&self, address: &str) -> bool {
        let is_local = |uri: &Uri| matches!(uri.host(), Some("127.0.0.1" | "localhost" | "[::1]"));
        let Ok(uri) = address.parse::<Uri>() else {
            return false;
        };
        match uri.scheme_str() {
            Some("https") => uri.host().is_some(),
            Some("http") => {
                is_local(&uri) && self.api.0.parse::<Uri>().is_ok_and(|api| is_local(&api))
            }
            _ => false,
        }
    }

    /// Reads an address elsewhere piece by piece, without our token, until its end or until `each` wants no more. Gives
    /// the status, and where it redirects to. Errors name the `path` that led there, and not the address.
    pub(crate) async fn stream_elsewhere(
        &self,
        (address, path): (&str, &str),
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> Result<(StatusCode, Option<String>)> {
        let request = Request::get(address).body(octocrab::OctoBody::empty());
        let request = request.map_err(|error| unavailable(path, &error))?;
        let answer = self
            .octocrab
            .send(request)
            .await
            .map_err(|error| unavailable(path, &error))?;
        let (parts, mut body) = answer.into_parts();
        let location = parts
            .headers
            .get(header::LOCATION)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        while parts.status.is_success() {
            match body.frame().await {
                None => break,
                Some(Err(error)) => return Err(unavailable(path, &error)),
                Some(Ok(frame)) => {
                    if frame.data_ref().is_some_and(|bytes| !each(bytes)) {
                        break;
                    }
                }
            }
        }
        Ok((parts.status, location))
    }
}

/// With the text of the innermost cause, which is the most specific; at most 200 characters of it.
fn unavailable(path: &str, mut cause: &(dyn std::error::Error + 'static)) -> Error {
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let message = cause.to_string().chars().take(200).collect();
    Error::Unavailable {
        path: path.to_owned(),
        message,
        retry_at: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tokens_go_nowhere_but_to_the_api() {
        let transport =
            Transport::new(ApiUrl::parse("https://ghe.example/api/v3/").unwrap()).unwrap();
        assert_eq!(
            transport.address("/repos/a/b").unwrap(),
            "https://ghe.example/api/v3/repos/a/b"
        );
        assert_eq!(
            transport.address(GRAPHQL).unwrap(),
            "https://ghe.example/api/graphql"
        );
        let next = "https://ghe.example/api/v3/repositories/1/issues?page=2";
        assert_eq!(transport.address(next).unwrap(), next);
        for outside in [
            "https://evil.example/x",
            "https://ghe.example/api/v3.evil.example/x",
            "http://ghe.example/api/v3/x",
        ] {
            assert!(transport.address(outside).is_err(), "{outside}");
        }
    }

    #[test]
    fn only_addresses_of_apis_are_taken() {
        assert_eq!(
            ApiUrl::parse("http://127.0.0.1:3000/").unwrap().as_str(),
            "http://127.0.0.1:3000"
        );
        for bad in ["", "api.github.com", "ftp://x", "https://", "https://x/?y"] {
            assert!(ApiUrl::parse(bad).is_err(), "{bad}");
        }
    }
}
