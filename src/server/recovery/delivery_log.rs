//! GitHub's log of deliveries: which failed, and asking for those again.
//!
//! A delivery comes again under its id, so one that had reached us after all changes nothing. An attempt is answered by
//! at most one further attempt: what was asked for is noted before it is asked. A process that dies in between leaves
//! that delivery to the resync.

use std::error;

use chrono::TimeDelta;
use indexmap::IndexMap;

use crate::{
    github::{Client, DeliveryAttempt, Error, Github, LoggedDelivery},
    server::{Services, metrics::DeliveryResult, receive::Receiver, storage::Change},
};
use loopgate_core::Timestamp;

pub(super) const EVERY: TimeDelta = TimeDelta::minutes(5);

/// The pause where the log is the only source. With [`REDELIVERIES`] that is as many requests as an App has in an hour.
pub(super) const EVERY_POLL: TimeDelta = TimeDelta::minutes(1);

/// Pages of the delivery log read at once: 10,000 attempts. What lies beyond is left to a resync.
const LOG_PAGES: usize = 100;
/// How far back the log goes (GitHub Enterprise Server keeps it longer; the older pull requests are the resync's).
const REACH: TimeDelta = TimeDelta::days(3);

/// Attempts may be listed late, or by a clock that differs from ours.
const OVERLAP: TimeDelta = TimeDelta::minutes(15);

/// Deliveries asked for again in one pass: fewer than the platform takes creating requests in a minute.
const REDELIVERIES: usize = 60;

/// Goes through the log once. Failed deliveries are read from it by the receiver, if one is given; else GitHub is asked
/// to send them again. The next pass goes on where this one ended early.
pub(super) async fn pass(
    github: &Github,
    Services {
        store,
        inbox,
        metrics,
        ..
    }: &Services,
    receiver: Option<&Receiver>,
    now: Timestamp,
) -> Result<(), Box<dyn error::Error + Send + Sync>> {
    let client = github.client(None);
    let known_until = store
        .log_known_until()
        .await?
        .map_or(now - REACH, |known| known - OVERLAP);
    let since = known_until.max(now - REACH);
    let is_known = |it: &DeliveryAttempt| it.delivered_at < since;
    let log = client
        .list_until("/app/hook/deliveries", LOG_PAGES, is_known)
        .await?;
    if !log.is_complete {
        tracing::warn!(
            "the delivery log is longer than what is read of it; the rest is the resync's"
        );
    }
    // By GitHub's clock if the log has an entry.
    let until = log.items.first().map_or(now, |newest| newest.delivered_at);
    inbox
        .apply(Change::Log {
            attempts: decisive(log.items),
            until,
        })
        .await?;
    for attempt in store.redeliveries(now, REDELIVERIES).await? {
        inbox
            .apply(Change::Redelivery {
                attempt,
                due_at: None,
            })
            .await?;
        let asked = match receiver {
            Some(receiver) => take(&client, receiver, attempt).await,
            None => client.redeliver(attempt).await,
        };
        match asked.map_err(Error::refusal) {
            Ok(()) => {
                metrics.redelivered.add(1);
                tracing::info!(
                    attempt,
                    "a delivery that failed is asked for again, or read"
                );
            }
            // It is no longer kept.
            Err(Ok(refusal)) => {
                tracing::warn!(attempt, reason = %refusal, "a delivery is not sent again")
            }
            Err(Err(error)) => {
                // If it was asked for after all, the log shows another attempt by the next pass.
                inbox
                    .apply(Change::Redelivery {
                        attempt,
                        due_at: Some(now),
                    })
                    .await?;
                return Err(error.into());
            }
        }
    }
    Ok(())
}

/// Reads a delivery from the log. GitHub vouches for it: the log is asked for with the App's own token.
async fn take(client: &Client, receiver: &Receiver, attempt: u64) -> Result<(), Error> {
    let delivery: LoggedDelivery = client
        .fetch(&format!("/app/hook/deliveries/{attempt}"))
        .await?;
    let payload = delivery.request.payload.get().as_bytes();
    let received = receiver
        .receive_event(&delivery.event, &delivery.guid, payload, true)
        .await;
    if received == DeliveryResult::Unavailable {
        let (path, message) = (
            format!("delivery {attempt}"),
            "it could not be stored".to_owned(),
        );
        return Err(Error::Unavailable {
            path,
            message,
            retry_at: None,
        });
    }
    Ok(())
}

/// Of each event the attempt that was accepted, or the newest. Oldest first.
fn decisive(newest_first: Vec<DeliveryAttempt>) -> Vec<DeliveryAttempt> {
    let mut decisive: IndexMap<String, DeliveryAttempt> = IndexMap::new();
    for attempt in newest_first {
        if attempt.is_accepted() || !decisive.contains_key(&attempt.guid) {
            decisive.insert(attempt.guid.clone(), attempt);
        }
    }
    decisive.into_values().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_was_accepted_once_has_not_failed() {
        let attempt = |id, guid: &str, status_code| DeliveryAttempt {
            id,
            guid: guid.to_owned(),
            delivered_at: Timestamp::from_timestamp(i64::try_from(id).unwrap(), 0).unwrap(),
            status_code,
        };
        let log = vec![
            attempt(6, "later", 202),
            attempt(5, "earlier", 0),
            attempt(4, "never", 503),
            attempt(3, "earlier", 200),
            attempt(2, "later", 502),
            attempt(1, "never", 0),
        ];
        let ids: Vec<_> = decisive(log)
            .iter()
            .map(|it| (it.id, it.is_accepted()))
            .collect();
        assert_eq!(ids, [(4, false), (3, true), (6, true)]);
    }
}
