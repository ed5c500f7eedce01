//! A page as whoever asks wants it: HTML or JSON, and only if it has changed.

use std::convert::Infallible;

use axum::{
    extract::FromRequestParts,
    http::{
        HeaderValue, StatusCode,
        header::{ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY},
        request::Parts,
    },
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::render::Page;

/// The pages load one style sheet, run nothing, send their forms here, and are framed by nobody.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    Json,
}

/// How a request wants to be answered.
pub(super) struct Reply {
    pub format: Format,
    /// The ETags of what it has.
    known: String,
}

impl<S: Sync> FromRequestParts<S> for Reply {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let accept = text(&ACCEPT);
        let asks = accept.contains("application/json") && !accept.contains("text/html");
        let format = if asks || parts.uri.path().ends_with(".json") { Format::Json } else { Format::Html };
        Ok(Self { format, known: text(&IF_NONE_MATCH).to_owned() })
    }
}

impl Reply {
    pub fn with(&self, status: StatusCode, page: &impl Page) -> Response {
        let (kind, body) = match self.format {
            Format::Html => ("text/html; charset=utf-8", page.html()),
            Format::Json => ("application/json", page.json()),
        };
        let tag = format!("\"{}\"", &hex::encode(Sha256::digest(&body))[..32]);
        let is_known = status == StatusCode::OK && self.known.split(',').any(|known| known.trim() == tag);
        let mut response =
            if is_known { StatusCode::NOT_MODIFIED.into_response() } else { (status, body).into_response() };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept"));
        headers.insert(CONTENT_SECURITY_POLICY, POLICY);
        headers.extend(HeaderValue::from_str(&tag).ok().map(|tag| (ETAG, tag)));
        response
    }
}

/// The last part of an address without what asks for JSON.
pub(super) fn without_suffix(part: &str) -> &str {
    part.strip_suffix(".json").unwrap_or(part)
}
