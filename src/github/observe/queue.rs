//! The place of a pull request in its merge queue. REST does not return it; GraphQL does
//! (<https://docs.github.com/en/graphql/reference/objects#removedfrommergequeueevent>).

use serde_json::Value;

use super::rest::Reading;
use crate::github::{
    Error,
    wire::{GraphqlAccount, graphql_pull, nodes},
};
use loopgate_core::observed::{Hint, Lifecycle, QueueRemoval, QueueStanding, RemovalReason};

const QUERY: &str = "query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { \
                     pullRequest(number: $number) { isInMergeQueue timelineItems(last: 1, itemTypes: \
                     [REMOVED_FROM_MERGE_QUEUE_EVENT]) { nodes { ... on RemovedFromMergeQueueEvent { createdAt reason \
                     actor { login } } } } } } }";

impl Reading<'_> {
    /// Whether it is in the queue, and when and why it left it last. Asked only of an open pull request, when an event is
    /// about the queue, or a group with it is newer than its last departure.
    pub(super) async fn queue(&self) -> Result<Option<QueueStanding>, Error> {
        let Self { repo, facts, hints, previous, .. } = *self;
        let pull_request = &facts.pull.pull_request;
        let has_news = hints.iter().any(|hint| matches!(hint, Hint::Dequeued { .. } | Hint::QueueGroup(_)));
        let is_unsettled = previous.is_some_and(|state| state.queue.is_unsettled());
        if pull_request.lifecycle != Lifecycle::Open || !(has_news || is_unsettled) {
            return Ok(None);
        }
        let queued = graphql_pull::<Value>(repo, pull_request.number, QUERY, None).await?;
        Ok(queued.map(|queued| {
            let removal = nodes(&queued["timelineItems"]).next_back().and_then(|last| {
                Some(QueueRemoval {
                    at: last["createdAt"].as_str()?.parse().ok()?,
                    reason: RemovalReason::from_github(last["reason"].as_str().unwrap_or_default()),
                    by: GraphqlAccount::at(&last["actor"]).map(|actor| actor.login),
                })
            });
            QueueStanding { is_queued: queued["isInMergeQueue"] == true, removal }
        }))
    }
}
