//! Everything that goes wrong between the server and GitHub.

use axum::body::Bytes;
use chrono::TimeDelta;
use http::{StatusCode, header::CONTENT_TYPE, response::Parts};
use loopgate_core::Timestamp;
use loopgate_simulator::Harm;
use serde_json::{Value, json};

/// A kind of trouble by its name; told when it begins.
pub type Kind = (&'static str, fn(Timestamp) -> Harm);

const PAGE: &str =
    "<html><body>We had issues producing the response to your request.</body></html>";

pub const KINDS: [Kind; 26] = [
    ("500", |_| Harm::status(StatusCode::INTERNAL_SERVER_ERROR)),
    ("502", |_| Harm::status(StatusCode::BAD_GATEWAY)),
    ("503", |_| Harm::status(StatusCode::SERVICE_UNAVAILABLE)),
    ("503 retry-after", |_| {
        answers(503, &[("retry-after", "4")], "Unavailable")
    }),
    ("504", |_| Harm::status(StatusCode::GATEWAY_TIMEOUT)),
    ("html 502", |_| page(502)),
    ("lost answer", |_| Harm::DropAnswer),
    ("dropped before", |_| Harm::Drop),
    ("401", |_| answers(401, &[], "Bad credentials")),
    ("429", |_| {
        answers(429, &[("retry-after", "5")], "Too many requests")
    }),
    ("primary limit", |now| {
        let reset = (now + TimeDelta::seconds(20)).timestamp().to_string();
        let headers = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", reset.as_str()),
        ];
        answers(403, &headers, "API rate limit exceeded for installation.")
    }),
    ("secondary limit", |_| Harm::secondary_limit(5)),
    ("slow bytes", |_| {
        Harm::Alter(|_, body| {
            body.chunks(40)
                .map(|it| Some(Bytes::copy_from_slice(it)))
                .collect()
        })
    }),
    ("cut connection", |_| {
        Harm::Alter(|_, body| vec![Some(half(&body)), None])
    }),
    ("wrong content type", |_| {
        Harm::Alter(|parts, body| {
            parts
                .headers
                .insert(CONTENT_TYPE, "text/html".parse().unwrap());
            vec![Some(body)]
        })
    }),
    ("html 200", |_| page(200)),
    ("html 200 after", |_| {
        Harm::Alter(|parts, _| altered(parts, PAGE.into()))
    }),
    ("stall", |_| Harm::Stall(TimeDelta::seconds(30))),
    ("404", |_| answers(404, &[], "Not Found")),
    ("truncated 200", |_| {
        Harm::Alter(|parts, body| altered(parts, half(&body)))
    }),
    ("empty 200", |_| {
        answers_with(200, &[], Value::String(String::new()))
    }),
    ("empty 200 after", |_| {
        Harm::Alter(|parts, _| altered(parts, Bytes::new()))
    }),
    ("304 lies", |_| Harm::Unchanged),
    ("403", |_| {
        answers(403, &[], "Resource not accessible by integration")
    }),
    ("422", |_| answers(422, &[], "Validation Failed")),
    ("lag of 5 s", |_| Harm::Lag(TimeDelta::seconds(5))),
];

fn answers(status: u16, headers: &[(&str, &str)], message: &str) -> Harm {
    answers_with(status, headers, json!({ "message": message }))
}

fn answers_with(status: u16, headers: &[(&str, &str)], body: Value) -> Harm {
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Harm::Answer {
        status: status.try_into().unwrap(),
        headers,
        body,
    }
}

/// Something in between answers for GitHub.
fn page(status: u16) -> Harm {
    answers_with(status, &[(CONTENT_TYPE.as_str(), "text/html")], PAGE.into())
}

fn half(body: &Bytes) -> Bytes {
    body.slice(..body.len() / 2)
}

/// Only answers that bring something: a length that is not that of the body is no answer to begin with.
fn altered(parts: &mut Parts, body: Bytes) -> Vec<Option<Bytes>> {
    if parts.status == StatusCode::NOT_MODIFIED || parts.status == StatusCode::NO_CONTENT {
        return Vec::new();
    }
    parts.headers.remove(http::header::CONTENT_LENGTH);
    vec![Some(body)]
}
