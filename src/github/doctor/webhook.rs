//! Whether GitHub's webhooks arrive.

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize as _;
use serde_json::Value;

use super::{Expected, Finding, Found, Outcome, app::App, asked};
use crate::github::{Client, DeliveryAttempt, registration::Arrival};

/// How long a delivery that is asked for again may take to show in the log.
const SHOWS_WITHIN: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// By `GET /app/hook/config` (<https://docs.github.com/en/rest/apps/webhooks>).
pub(super) async fn address(client: &Client, expected: &Expected, app: &App) -> Found {
    let hook = asked("where webhooks go", client.fetch::<Value>("/app/hook/config").await)?;
    let (url, content_type) =
        (hook["url"].as_str().unwrap_or_default(), hook["content_type"].as_str().unwrap_or_default());
    let mut found = Vec::new();
    match (expected.arrival.as_ref().map(Arrival::hook), url) {
        (_, "") => found.push(Finding::fault(
            "the App has no webhook: no event reaches it",
            "set the webhook URL on the App's settings page, and tick Active",
        )),
        (Some(expected), actual) if expected != actual => found.push(Finding::fault(
            format!("webhooks go to {actual}, and this server is at {expected}"),
            format!("set the webhook URL to {expected} on the App's settings page, or correct LOOPGATE_PUBLIC_URL"),
        )),
        _ => {}
    }
    if !matches!(content_type, "json" | "") {
        found.push(Finding::fault(
            format!("webhooks are sent as `{content_type}`, which is refused"),
            "set the webhook's content type to application/json on the App's settings page",
        ));
    }
    Ok(found.into_iter().map(|finding| finding.at(app.settings(""))).collect())
}

/// What an answer other than "accepted" comes of.
fn remedy(status: u16) -> &'static str {
    match status {
        0 => {
            "nothing answers there: start `loopgate serve`, let TLS and the firewall pass it on, and open the address from \
             outside"
        }
        401 | 403 => {
            "the signature is refused: set the webhook's secret on the App's settings page to that of \
             LOOPGATE_WEBHOOK_SECRET"
        }
        404 | 405 => {
            "somebody else answers there, or the path is not /webhook: correct the address, or what stands before it"
        }
        408 | 413 | 415 => {
            "what stands before the server changes or cuts requests: it passes on bodies of 25 MB, unchanged"
        }
        300..=399 => "the address redirects, and GitHub follows no redirect: set the webhook URL to where it leads",
        _ => {
            "the server cannot store what comes, or what stands before it is in trouble: see /readyz on its admin address"
        }
    }
}

fn answered(status: u16) -> String {
    if status == 0 { "not answered at all".to_owned() } else { format!("answered with {status}") }
}

pub(super) fn deliveries(attempts: &Result<Vec<DeliveryAttempt>, Finding>, expected: &Expected, app: &App) -> Found {
    let attempts = attempts.as_ref().map_err(Clone::clone)?;
    let Some(newest) = attempts.first() else {
        let remedy = "open a pull request, or deliver the ping again on the App's settings page, Advanced";
        return Err(Finding::new(Outcome::Unknown, "nothing was delivered in the last three days", remedy));
    };
    if expected.arrival == Some(Arrival::Poll) {
        return Err(read_from_log());
    }
    // What failed first and arrived then is no loss.
    let arrived: BTreeSet<&str> = attempts.iter().filter(|it| it.is_accepted()).map(|it| it.guid.as_str()).collect();
    let failed: Vec<_> = attempts.iter().filter(|attempt| !arrived.contains(attempt.guid.as_str())).collect();
    let (failures, all) = (failed.len(), attempts.len());
    match failed.first() {
        None => Ok(Vec::new()),
        Some(failure) if newest.is_accepted() => {
            let message = format!(
                "{failures} of the last {all} deliveries failed, the newest of them {}; later ones arrived",
                answered(failure.status_code)
            );
            let remedy =
                format!("the server asks for them again by itself. If it goes on: {}", remedy(failure.status_code));
            Err(Finding::warning(message, remedy))
        }
        Some(failure) => {
            let message = format!(
                "{failures} of the last {all} deliveries failed: the newest was {}",
                answered(failure.status_code)
            );
            Err(Finding::fault(message, remedy(failure.status_code)).at(app.settings("")))
        }
    }
}

fn read_from_log() -> Finding {
    Finding::new(Outcome::Healthy, "no webhook is meant to arrive: GitHub's log of them is read", "")
}

/// Asks for the newest delivery again, which changes nothing where it had arrived, and looks how that is answered.
pub(super) async fn redelivery(
    client: &Client,
    attempts: &Result<Vec<DeliveryAttempt>, Finding>,
    expected: &Expected,
    app: &App,
) -> Found {
    let unknown = |message, remedy| Err(Finding::new(Outcome::Unknown, message, remedy));
    if expected.arrival == Some(Arrival::Poll) {
        return Err(read_from_log());
    }
    let Ok([newest, ..]) = attempts.as_deref() else {
        return unknown("there is nothing that could be delivered again", "");
    };
    asked("whether a delivery arrives", client.redeliver(newest.id).await)?;
    let until = tokio::time::Instant::now() + SHOWS_WITHIN;
    loop {
        let log = client.fetch::<Vec<Value>>("/app/hook/deliveries?per_page=30").await.unwrap_or_default();
        let ended = log.into_iter().filter(|it| it["status"] != "pending");
        let mut ended = ended.filter_map(|it| DeliveryAttempt::deserialize(it).ok());
        match ended.find(|it| it.guid == newest.guid && it.id > newest.id) {
            Some(again) if again.is_accepted() => return Ok(Vec::new()),
            Some(DeliveryAttempt { status_code: status, .. }) => {
                let message = format!("the newest delivery was sent again, and was {}", answered(status));
                return Err(Finding::fault(message, remedy(status)).at(app.settings("")));
            }
            None if tokio::time::Instant::now() > until => {
                let message = "the newest delivery was asked for again, and its log shows nothing yet";
                return unknown(message, "look again in some minutes");
            }
            None => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}
