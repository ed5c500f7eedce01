//! A page in the form that the request asks for: HTML or JSON, and only if it has changed.
//!
//! Every request to the admin's listener sees everything. Another site's page that an operator has open could reach it,
//! too, if that site's name began to lead here; so requests by a name that anybody can register get no answer. On the
//! public listener a person who signed in sees what GitHub shows them. Others see nothing.

use std::net::IpAddr;

use axum::{
    extract::FromRequestParts,
    http::{
        HeaderValue, StatusCode,
        header::{
            ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HOST,
            IF_NONE_MATCH, REFERRER_POLICY, VARY,
        },
        request::Parts,
    },
    response::{IntoResponse as _, Response},
};
use sha2::{Digest as _, Sha256};

use crate::server::storage::Visibility;
use loopgate_core::{Login, UserId};
use loopgate_render::{Frame, Notice, Page, Refused};

/// The pages load one style sheet and run one script, which asks only here, as their forms do; no page may frame them.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; \
     frame-ancestors 'none'; base-uri 'none'",
);

/// The reader, as the listener set it on the request; a stranger, who sees nothing, where it set none.
#[derive(Debug, Clone, Default)]
pub(super) struct Reader {
    pub frame: Frame,
    /// Who signed in.
    pub visitor: Option<(UserId, Login)>,
    /// A repository that is not theirs to see is answered for like one that there is not.
    pub visible: Visibility,
}

impl Reader {
    pub const fn is_operator(&self) -> bool {
        matches!(self.frame, Frame::Operator { .. })
    }
}

/// How a request wants to be answered.
pub(super) struct Reply {
    pub reader: Reader,
    /// As JSON; else as a page.
    is_json: bool,
    /// The ETags of what it has.
    known: String,
}

impl<S: Sync> FromRequestParts<S> for Reply {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response> {
        let text = |name| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
        };
        let accept = text(&ACCEPT);
        let asks = accept.contains("application/json") && !accept.contains("text/html");
        let is_json = asks || parts.uri.path().ends_with(".json");
        let reader = parts.extensions.get().cloned().unwrap_or_default();
        let reply = Self {
            reader,
            is_json,
            known: text(&IF_NONE_MATCH).to_owned(),
        };
        if !reply.reader.is_operator() || is_ours_alone(text(&HOST)) {
            Ok(reply)
        } else {
            Err(reply.with(
                StatusCode::MISDIRECTED_REQUEST,
                &Notice::refused(Refused::ForeignName),
            ))
        }
    }
}

/// Whether no stranger can have a name lead here: an address, a name without a dot, or one of a private network's.
fn is_ours_alone(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(
        host,
        |(name, port)| if port.contains(']') { host } else { name },
    );
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let private = [
        ".localhost",
        ".internal",
        ".local",
        ".svc",
        ".lan",
        ".home.arpa",
    ];
    bare.parse::<IpAddr>().is_ok()
        || !name.contains('.')
        || private.iter().any(|end| name.ends_with(end))
}

impl Reply {
    pub fn with(&self, status: StatusCode, page: &impl Page) -> Response {
        let (kind, body) = match self.is_json {
            false => ("text/html; charset=utf-8", page.html(&self.reader.frame)),
            true => ("application/json", page.json()),
        };
        let tag = format!("\"{}\"", &hex::encode(Sha256::digest(&body))[..32]);
        let is_known =
            status == StatusCode::OK && self.known.split(',').any(|known| known.trim() == tag);
        let mut response = if is_known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            (status, body).into_response()
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept, cookie"));
        // With `no-referrer` browsers send no origin with a form
        // (<https://fetch.spec.whatwg.org/#append-a-request-origin-header>).
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        headers.insert(CONTENT_SECURITY_POLICY, POLICY);
        headers.extend(HeaderValue::from_str(&tag).ok().map(|tag| (ETAG, tag)));
        response
    }
}

/// The last part of an address without what asks for JSON.
pub(super) fn without_suffix(part: &str) -> &str {
    part.strip_suffix(".json").unwrap_or(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_anybody_can_register_is_not_answered_to() {
        for ours in [
            "",
            "127.0.0.1:9090",
            "[::1]:9090",
            "[::1]",
            "localhost:9090",
            "loopgate",
            "ci.example.internal:80",
        ] {
            assert!(is_ours_alone(ours), "{ours}");
        }
        for foreign in [
            "rebound.example.com:9090",
            "example.com",
            "127.0.0.1.example.com",
            "internal.example.com",
        ] {
            assert!(!is_ours_alone(foreign), "{foreign}");
        }
    }
}
