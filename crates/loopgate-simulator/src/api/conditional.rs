//! ETags and 304.

use axum::{
    body::{Body, to_bytes},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest as _, Sha256};

use crate::Shared;

/// Gives an answer its ETag, or turns it into 304 if the caller has it already. A tag holds for one token: GitHub's
/// answers vary by `Authorization`.
pub async fn answer(
    shared: &Shared,
    key: (String, String),
    (token, condition): (&Option<HeaderValue>, Option<&HeaderValue>),
    response: Response,
) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let token = token.as_ref().map_or(&b""[..], HeaderValue::as_bytes);
    let digest = Sha256::new()
        .chain_update(token)
        .chain_update(&body)
        .finalize();
    let etag = format!("W/\"{}\"", hex::encode(digest));
    // Hex digits in quotes are always a header value.
    parts.headers.extend(
        HeaderValue::from_str(&etag)
            .ok()
            .map(|etag| (header::ETAG, etag)),
    );
    shared.quietly(|world| {
        if world.faults.may_go_stale() {
            world
                .remembered
                .insert(key, (parts.headers.clone(), body.clone()));
        }
    });
    if condition.is_some_and(|condition| names(condition, &etag)) {
        parts.headers.remove(header::CONTENT_TYPE);
        return with_headers(StatusCode::NOT_MODIFIED, parts.headers, Bytes::new());
    }
    with_headers(StatusCode::OK, parts.headers, body)
}

/// Whether `If-None-Match` names the tag; weak and strong tags compare equal (RFC 9110, 13.1.2).
fn names(condition: &HeaderValue, etag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    condition
        .to_str()
        .is_ok_and(|list| list.split(',').any(|tag| bare(tag) == bare(etag)))
}

pub(super) fn with_headers(status: StatusCode, headers: HeaderMap, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
