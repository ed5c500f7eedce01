//! What people wrote: comments and reviews.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::github::client::{
    Client,
    error::Result,
    repo::Repo,
    wire::{User, account},
};
use loopgate_core::{
    CommentId, PrNumber, ReviewId, Sha, Timestamp,
    concerns::gates::Reacted,
    observed::{Comment, Listing, Review, ReviewVerdict},
};
use loopgate_webhook::App;

/// Pages of comments and of reviews read at most: 5,000 of each.
const MOST_PAGES: usize = 50;

#[derive(Deserialize)]
struct WireComment {
    id: CommentId,
    node_id: Option<String>,
    user: Option<User>,
    performed_via_github_app: Option<App>,
    body: Option<String>,
    created_at: Timestamp,
    updated_at: Timestamp,
    html_url: String,
    /// Null, or why it is hidden.
    #[serde(default)]
    minimized: Value,
    #[serde(default)]
    reactions: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct WireReview {
    id: ReviewId,
    user: Option<User>,
    state: String,
    body: Option<String>,
    commit_id: Option<Sha>,
    submitted_at: Option<Timestamp>,
    html_url: String,
}

/// Comments, and how often each was given which reaction.
#[derive(Default)]
pub(in crate::github) struct Comments {
    pub listing: Listing<Comment>,
    pub reactions: BTreeMap<Reacted, BTreeMap<String, u64>>,
    /// Their ids in GraphQL.
    pub nodes: BTreeMap<CommentId, String>,
}

pub(in crate::github) async fn comments(repo: Repo<'_>, number: PrNumber) -> Result<Comments> {
    read(
        &repo,
        &repo.path(format!("issues/{number}/comments")),
        Reacted::Comment,
    )
    .await
}

/// Comments on lines of the diff, where the pull request has any.
pub(super) async fn inline(repo: Repo<'_>, number: PrNumber, has_any: bool) -> Result<Comments> {
    if !has_any {
        return Ok(Comments::default());
    }
    read(
        &repo,
        &repo.path(format!("pulls/{number}/comments")),
        Reacted::Inline,
    )
    .await
}

async fn read(client: &Client, path: &str, place: fn(CommentId) -> Reacted) -> Result<Comments> {
    let listing = client
        .list_with_created::<WireComment>(path, MOST_PAGES, |comment| comment.id.get())
        .await?;
    let (mut reactions, mut nodes) = (BTreeMap::new(), BTreeMap::new());
    let mut items = Vec::with_capacity(listing.items.len());
    for mut wire in listing.items {
        nodes.extend(wire.node_id.take().map(|node| (wire.id, node)));
        let counts = wire
            .reactions
            .iter()
            .filter_map(|(kind, count)| Some((kind.clone(), count.as_u64()?)));
        let given: BTreeMap<_, _> = counts
            .filter(|(kind, count)| *count > 0 && kind != "total_count")
            .collect();
        if !given.is_empty() {
            reactions.insert(place(wire.id), given);
        }
        items.push(comment(wire));
    }
    Ok(Comments {
        listing: Listing {
            items,
            is_complete: listing.is_complete,
        },
        reactions,
        nodes,
    })
}

fn comment(wire: WireComment) -> Comment {
    let hidden = !matches!(wire.minimized, Value::Null | Value::Bool(false));
    Comment {
        id: wire.id,
        author: account(wire.user),
        via_app: wire.performed_via_github_app.map(|app| app.id),
        body: wire.body.unwrap_or_default(),
        created_at: wire.created_at,
        updated_at: wire.updated_at,
        is_hidden: hidden,
        url: wire.html_url,
    }
}

pub(super) async fn reviews(repo: Repo<'_>, number: PrNumber) -> Result<Listing<Review>> {
    let path = repo.path(format!("pulls/{number}/reviews"));
    let listing = repo.list::<WireReview>(&path, MOST_PAGES).await?;
    let items = listing.items.into_iter().filter_map(review).collect();
    Ok(Listing {
        items,
        is_complete: listing.is_complete,
    })
}

/// Our own unsubmitted reviews have no time, and are not shown yet.
fn review(wire: WireReview) -> Option<Review> {
    let verdict = match wire.state.to_ascii_uppercase().as_str() {
        "APPROVED" => ReviewVerdict::Approved,
        "CHANGES_REQUESTED" => ReviewVerdict::ChangesRequested,
        "DISMISSED" => ReviewVerdict::Dismissed,
        "PENDING" => ReviewVerdict::Pending,
        _ => ReviewVerdict::Commented,
    };
    Some(Review {
        id: wire.id,
        author: account(wire.user),
        verdict,
        body: wire.body.unwrap_or_default(),
        commit: wire.commit_id,
        submitted_at: wire.submitted_at?,
        url: wire.html_url,
    })
}
