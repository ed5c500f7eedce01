//! Who edited a comment, if no event named them: the REST API returns only when it was changed. GraphQL knows
//! (<https://docs.github.com/en/graphql/reference/interfaces#comment>, `userContentEdits`).

use std::collections::BTreeSet;

use super::rest::Reading;
use crate::github::{
    Error,
    wire::{GraphqlAccount, graphql_nodes, nodes},
};
use loopgate_core::{
    CommentId,
    gate::may_speak,
    observed::{Actor, Comment, Hint},
    state::WordSource,
};

/// Comments asked about in one look, the newest first.
const MOST: usize = 20;
const QUERY: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { databaseId \
                     userContentEdits(first: 50) { nodes { editedAt editor { login ... on User { databaseId } \
                     ... on Bot { databaseId } } } } } } }";

impl Reading<'_> {
    /// Finds the edits of comments with commands that no event brought. Each comment is asked about once. Where GitHub
    /// names no editor, no edit is known, and a comment that closes a gate counts.
    pub(super) async fn unheard_edits(&self) -> Result<Vec<Hint>, Error> {
        let Self { repo, facts, hints, previous, .. } = *self;
        let comments = &facts.comments;
        let told: BTreeSet<CommentId> = hints
            .iter()
            .filter_map(|hint| if let Hint::CommentEdited { comment, .. } = hint { Some(*comment) } else { None })
            .collect();
        let known = |id| previous.is_some_and(|state| state.edited_words.contains(&WordSource::Comment(id)));
        let unheard = |comment: &&Comment| {
            comment.updated_at.timestamp() != comment.created_at.timestamp()
                && Some(comment.author.id) != facts.us.bot_id
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
        for node in graphql_nodes(&repo, QUERY, &ids).await? {
            let Some(comment) = node["databaseId"].as_u64().map(CommentId::new) else { continue };
            let mut editors = BTreeSet::new();
            for edit in nodes(&node["userContentEdits"]) {
                let editor = GraphqlAccount::at(&edit["editor"]);
                let Some(GraphqlAccount { login, database_id: Some(id) }) = editor else { continue };
                let Some(at) = edit["editedAt"].as_str().and_then(|at| at.parse().ok()) else { continue };
                if editors.insert(id) {
                    found.push(Hint::CommentEdited { comment, by: Actor { id, login }, at });
                }
            }
        }
        Ok(found)
    }
}
