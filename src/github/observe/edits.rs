//! Who edited a comment, if no event named them: the REST API returns only when it was changed. GraphQL knows
//! (<https://docs.github.com/en/graphql/reference/interfaces#comment>, `userContentEdits`).

use std::collections::BTreeSet;

use serde::Deserialize;

use super::conversation::Comments;
use crate::github::{
    Client, Error,
    wire::{GraphqlAccount, Nodes, graphql_nodes},
};
use loopgate_core::{
    CommentId, Timestamp,
    gate::may_speak,
    observed::{Actor, AppIdentity, Comment, Hint},
    state::{LoopState, WordSource},
};

/// Comments asked about in one look, the newest first.
const MOST: usize = 20;
const QUERY: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { databaseId \
                     userContentEdits(first: 50) { nodes { editedAt editor { login ... on User { databaseId } \
                     ... on Bot { databaseId } } } } } } }";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    database_id: Option<CommentId>,
    user_content_edits: Option<Nodes<Edit>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edit {
    edited_at: Timestamp,
    editor: Option<GraphqlAccount>,
}

/// Finds the edits of comments with commands that no event brought. Each comment is asked about once. Where GitHub
/// names no editor, no edit is known, and a comment that closes a gate counts.
pub(super) async fn unheard(
    client: &Client,
    comments: &Comments,
    hints: &[Hint],
    us: &AppIdentity,
    previous: Option<&LoopState>,
) -> Result<Vec<Hint>, Error> {
    let told: BTreeSet<CommentId> = hints
        .iter()
        .filter_map(|hint| if let Hint::CommentEdited { comment, .. } = hint { Some(*comment) } else { None })
        .collect();
    let known = |id| previous.is_some_and(|state| state.edited_words.contains(&WordSource::Comment(id)));
    let unheard = |comment: &&Comment| {
        comment.updated_at.timestamp() != comment.created_at.timestamp()
            && Some(comment.author.id) != us.bot_id
            && !told.contains(&comment.id)
            && !known(comment.id)
            && may_speak(&comment.body)
    };
    let asked = comments.listing.items.iter().rev().filter(unheard).take(MOST);
    let ids: Vec<&str> = asked.filter_map(|comment| comments.nodes.get(&comment.id).map(String::as_str)).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for node in graphql_nodes::<Node>(client, QUERY, &ids).await? {
        let (Some(comment), Some(edits)) = (node.database_id, node.user_content_edits) else { continue };
        let mut editors = BTreeSet::new();
        for Edit { edited_at: at, editor } in edits.nodes.into_iter().flatten() {
            let Some(GraphqlAccount { login, database_id: Some(id) }) = editor else { continue };
            if editors.insert(id) {
                found.push(Hint::CommentEdited { comment, by: Actor { id, login }, at });
            }
        }
    }
    Ok(found)
}
