//! The one retry layer: what an answer means for the request that got it.
//!
//! Only requests that may be sent twice are sent twice. No request sleeps through a rate limit: its end is returned,
//! so that the worker can do something else. The rules are those of
//! <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api> and of
//! <https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api>.

use std::time::Duration;

use chrono::TimeDelta;
use http::StatusCode;
use serde_json::Value;

use crate::github::client::{error::Error, transport::Incoming};
use loopgate_core::Timestamp;

/// Whether sending a request a second time does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Reads, deletions, absolute updates, and creations that are named by their content.
    Safe,
    /// A second one would be seen: comments, check runs, annotations.
    Never,
}

/// How often and how patiently a safe request is repeated within one call.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    pub retries: u32,
    /// The first pause; each further one is twice as long, with jitter.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            retries: 2,
            pause: Duration::from_millis(300),
        }
    }
}

impl Patience {
    /// The pause before retry number `retry` (from 0): exponential, at least half of it, at most all of it.
    pub(crate) fn pause_before(&self, retry: u32) -> Duration {
        self.pause
            .saturating_mul(1 << retry.min(6))
            .mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

/// What to do with a request after an answer, or none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    Success,
    /// 401: the token may have been revoked; once, with a new one.
    RenewToken(Error),
    /// Once more after a pause, if the request may be repeated; else it failed with this.
    Again(Error),
    Failed(Error),
}

/// The most a single answer may make us wait, whatever its headers: primary limits reset within the hour.
const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(65);

/// Reads an answer. `strikes` counts the secondary limits met in a row, for the waiting time that GitHub leaves to us.
pub(crate) fn judge(path: &str, answer: &Incoming, strikes: u32, now: Timestamp) -> RetryDecision {
    let (path, status) = (|| path.to_owned(), answer.status);
    if status.is_success() || status == StatusCode::NOT_MODIFIED {
        return RetryDecision::Success;
    }
    let message = message_of(answer);
    match status.as_u16() {
        401 => RetryDecision::RenewToken(Error::Unauthorized { message }),
        403 | 429 => match limited_until(answer, &message, strikes, now) {
            Some(until) => RetryDecision::Failed(Error::RateLimited { until }),
            None => {
                // GitHub names what an endpoint asks for, alternatives separated by `;`.
                let needs = answer
                    .header("x-accepted-github-permissions")
                    .filter(|needs| !needs.is_empty());
                let needs = needs.map(|needs| needs.chars().take(200).collect());
                RetryDecision::Failed(Error::Forbidden {
                    path: path(),
                    needs,
                    message,
                })
            }
        },
        404 | 410 => RetryDecision::Failed(Error::NotFound { path: path() }),
        408 | 500.. => {
            let retry_at = retry_after(answer).map(|wait| now + wait.min(LONGEST_WAIT));
            let error = Error::Unavailable {
                path: path(),
                message: format!("{}: {message}", status.as_u16()),
                retry_at,
            };
            // Somebody who names a time does not want to be asked before it.
            if retry_at.is_some() {
                RetryDecision::Failed(error)
            } else {
                RetryDecision::Again(error)
            }
        }
        status => RetryDecision::Failed(Error::Rejected {
            path: path(),
            status,
            message,
        }),
    }
}

/// When a 403 or 429 is a rate limit: the moment it ends.
fn limited_until(
    answer: &Incoming,
    message: &str,
    strikes: u32,
    now: Timestamp,
) -> Option<Timestamp> {
    let wait = if let Some(wait) = retry_after(answer) {
        wait
    } else if answer.header("x-ratelimit-remaining") == Some("0") {
        let reset = answer.header("x-ratelimit-reset")?.parse().ok()?;
        Timestamp::from_timestamp(reset, 0)? - now
    } else {
        // "Otherwise, wait for at least one minute"; and longer each time it continues. Secondary limits often come
        // without any header; only their message distinguishes them from a missing permission.
        let message = message.to_ascii_lowercase();
        let is_limit = message.contains("rate limit") || message.contains("abuse detection");
        (is_limit || answer.status == StatusCode::TOO_MANY_REQUESTS)
            .then(|| TimeDelta::minutes(1 << strikes.min(4)))?
    };
    Some(now + wait.clamp(TimeDelta::seconds(1), LONGEST_WAIT))
}

fn retry_after(answer: &Incoming) -> Option<TimeDelta> {
    TimeDelta::try_seconds(answer.header("retry-after")?.trim().parse().ok()?)
}

/// GitHub's own words, with the codes of a validation error: `Validation Failed: already_exists (name)`.
fn message_of(answer: &Incoming) -> String {
    let Ok(body @ Value::Object(_)) = serde_json::from_slice(&answer.body) else {
        return answer
            .status
            .canonical_reason()
            .unwrap_or("no message")
            .to_owned();
    };
    let mut text = body["message"].as_str().unwrap_or_default().to_owned();
    for error in body["errors"].as_array().into_iter().flatten().take(3) {
        let part = |key: &str| {
            error
                .get(key)
                .and_then(|value| value.as_str())
                .unwrap_or_default()
        };
        let detail = match error.as_str() {
            Some(detail) => detail.to_owned(),
            None => format!("{} {} {}", part("code"), part("field"), part("message")),
        };
        text = format!(
            "{text}: {}",
            detail.split_whitespace().collect::<Vec<_>>().join(" ")
        );
    }
    text.chars().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_timestamp(1_800_000_000, 0).unwrap()
    }

    fn verdict(
        status: u16,
        headers: &[(&'static str, &str)],
        body: &str,
        strikes: u32,
    ) -> RetryDecision {
        let headers = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect();
        let (status, body) = (
            StatusCode::from_u16(status).unwrap(),
            body.to_owned().into(),
        );
        judge(
            "/x",
            &Incoming {
                status,
                headers,
                body,
            },
            strikes,
            now(),
        )
    }

    fn limited(seconds: i64) -> RetryDecision {
        RetryDecision::Failed(Error::RateLimited {
            until: now() + TimeDelta::seconds(seconds),
        })
    }

    #[test]
    fn rate_limits_are_told_from_missing_permissions() {
        let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
        let abuse = r#"{"message":"You have triggered an abuse detection mechanism."}"#;
        for (status, headers, body, strikes, seconds) in [
            (403, vec![("retry-after", "30")], secondary, 0, 30),
            (429, vec![("retry-after", "5")], "", 0, 5),
            (
                403,
                vec![
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1800000090"),
                ],
                "{}",
                0,
                90,
            ),
            (403, vec![], secondary, 0, 60),
            (
                403,
                vec![("x-ratelimit-remaining", "4000")],
                secondary,
                2,
                240,
            ),
            (403, vec![], abuse, 9, 960),
            (429, vec![], "", 0, 60),
            // Hostile or broken headers neither stop us for ever nor make us send requests without a pause.
            (403, vec![("retry-after", "99999999")], "", 0, 3_900),
            (
                403,
                vec![
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "1700000000"),
                ],
                "",
                0,
                1,
            ),
        ] {
            assert_eq!(
                verdict(status, &headers, body, strikes),
                limited(seconds),
                "{status} {headers:?} {body}"
            );
        }
        let forbidden = verdict(
            403,
            &[
                ("x-accepted-github-permissions", "checks=write"),
                ("x-ratelimit-remaining", "4999"),
            ],
            r#"{"message":"Resource not accessible by integration"}"#,
            0,
        );
        let RetryDecision::Failed(error @ Error::Forbidden { .. }) = forbidden else {
            panic!("{forbidden:?}")
        };
        assert_eq!(
            error.to_string(),
            "not permitted: /x (Resource not accessible by integration) — it needs checks=write"
        );
    }

    #[test]
    fn other_answers() {
        assert_eq!(verdict(204, &[], "", 0), RetryDecision::Success);
        assert_eq!(verdict(304, &[], "", 0), RetryDecision::Success);
        assert!(matches!(
            verdict(401, &[], r#"{"message":"Bad credentials"}"#, 0),
            RetryDecision::RenewToken(_)
        ));
        assert!(matches!(
            verdict(404, &[], "", 0),
            RetryDecision::Failed(Error::NotFound { .. })
        ));
        assert!(matches!(
            verdict(502, &[], "<html>", 0),
            RetryDecision::Again(Error::Unavailable { retry_at: None, .. })
        ));
        let told = verdict(503, &[("retry-after", "10")], "", 0);
        assert!(
            matches!(
                told,
                RetryDecision::Failed(Error::Unavailable {
                    retry_at: Some(_),
                    ..
                })
            ),
            "{told:?}"
        );
    }

    #[test]
    fn a_refusal_carries_githubs_words() {
        let body = r#"{"message":"Validation Failed","errors":[{"resource":"Label","code":"already_exists","field":"name"}]}"#;
        let RetryDecision::Failed(error) = verdict(422, &[], body, 0) else {
            panic!()
        };
        assert_eq!(
            error.to_string(),
            "GitHub refused /x (422: Validation Failed: already_exists name)"
        );
        let RetryDecision::Failed(error) = verdict(
            409,
            &[],
            r#"{"message":"Git Repository is empty.","errors":"x"}"#,
            0,
        ) else {
            panic!()
        };
        assert_eq!(
            error.to_string(),
            "GitHub refused /x (409: Git Repository is empty.)"
        );
    }

    #[test]
    fn pauses_double_with_jitter() {
        let patience = Patience {
            retries: 3,
            pause: Duration::from_secs(1),
        };
        for (retry, least, most) in [(0, 0.5, 1.0), (1, 1.0, 2.0), (2, 2.0, 4.0)] {
            let pause = patience.pause_before(retry).as_secs_f64();
            assert!((least..=most).contains(&pause), "{retry}: {pause}");
        }
    }
}
