//! Whether GitHub's webhooks arrive.

use std::collections::BTreeSet;

use super::{
    Finding, Found, Outcome,
    facts::{Arrives, Facts, Redelivered, known},
};

pub(super) fn address(facts: &Facts) -> Found {
    let hook = known(&facts.hook, "where webhooks go")?;
    let mut found = Vec::new();
    match (&facts.expected.hook, hook.url.as_str()) {
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
    if !matches!(hook.content_type.as_str(), "json" | "") {
        found.push(Finding::fault(
            format!("webhooks are sent as `{}`, which is refused", hook.content_type),
            "set the webhook's content type to application/json on the App's settings page",
        ));
    }
    Ok(found.into_iter().map(|finding| finding.at(facts.app.settings(""))).collect())
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

pub(super) fn deliveries(facts: &Facts) -> Found {
    let attempts = known(&facts.attempts, "what it delivered")?;
    let Some(newest) = attempts.first() else {
        let remedy = "open a pull request, or deliver the ping again on the App's settings page, Advanced";
        return Err(Finding::new(Outcome::Unknown, "nothing was delivered in the last three days", remedy));
    };
    if facts.expected.arrives == Arrives::ReadFromLog {
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
            Err(Finding::fault(message, remedy(failure.status_code)).at(facts.app.settings("")))
        }
    }
}

fn read_from_log() -> Finding {
    Finding::new(Outcome::Healthy, "no webhook is meant to arrive: GitHub's log of them is read", "")
}

pub(super) fn redelivery(facts: &Facts) -> Found {
    let unknown = |message, remedy| Finding::new(Outcome::Unknown, message, remedy);
    Err(match &facts.redelivered {
        Redelivered::Answered(status) if (200..300).contains(status) => return Ok(Vec::new()),
        Redelivered::Answered(status) => {
            let message = format!("the newest delivery was sent again, and was {}", answered(*status));
            Finding::fault(message, remedy(*status)).at(facts.app.settings(""))
        }
        Redelivered::NotSeen => unknown(
            "the newest delivery was asked for again, and its log shows nothing yet",
            "look again in some minutes",
        ),
        Redelivered::Refused(reason) => Finding::unknown("whether a delivery arrives", reason),
        Redelivered::NotAsked if facts.expected.arrives == Arrives::ReadFromLog => read_from_log(),
        Redelivered::NotAsked => unknown("there is nothing that could be delivered again", ""),
    })
}
