//! To whom the addresses of a pull request's commits belong, and which files commits of suggestions change.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use serde::Deserialize;

use super::pull::Changes;
use crate::github::{
    Client, Error, Repo,
    error::OrAbsent as _,
    wire::{CommitFile, CommitFiles, GraphqlAccount, Nodes, graphql_nodes},
};
use loopgate_core::{
    Sha,
    gate::co_authors,
    observed::{Account, AccountKind, Commit, Makers},
};

/// Commits asked about, the newest first; GitHub takes 100 at once.
const MOST_COMMITS: usize = 100;
/// Commits of suggestions whose files are read.
const MOST_SUGGESTIONS: usize = 20;
/// Who commits for everybody who uses GitHub's pages.
const WEB_FLOW: &str = "web-flow";
/// <https://docs.github.com/en/graphql/reference/objects#commit>, `authors`: the author and all co-authors.
const QUERY: &str = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Commit { authors(first: 50) { nodes { email \
                     user { databaseId login } } } } } }";

#[derive(Deserialize)]
struct Node {
    authors: Option<Nodes<Author>>,
}

#[derive(Deserialize)]
struct Author {
    email: Option<String>,
    user: Option<GraphqlAccount>,
}

/// Enters both into what is known of the makers.
pub(super) async fn read(repo: Repo<'_>, Changes { commits, nodes, .. }: &Changes) -> Result<Makers, Error> {
    let co_authored: Vec<&Commit> =
        commits.items.iter().rev().filter(|commit| co_authors(&commit.message).next().is_some()).collect();
    if co_authored.is_empty() {
        return Ok(Makers::default());
    }
    let by_pages = |commit: &&&Commit| commit.committer.as_ref().is_some_and(|by| by.login.as_str() == WEB_FLOW);
    let suggested = co_authored.iter().filter(by_pages).take(MOST_SUGGESTIONS);
    let suggestions = try_join_all(suggested.map(|commit| files(repo, commit.sha)));
    let ids: Vec<&str> =
        co_authored.iter().take(MOST_COMMITS).filter_map(|commit| Some(nodes.get(&commit.sha)?.as_str())).collect();
    let (suggestions, addresses) = futures::try_join!(suggestions, addresses(&repo, &ids))?;
    Ok(Makers { addresses, suggestions: suggestions.into_iter().flatten().collect(), ..Makers::default() })
}

/// The accounts of authors, by their addresses in lower case. Asked once: a commit's trailers do not change.
async fn addresses(client: &Client, ids: &[&str]) -> Result<BTreeMap<String, Account>, Error> {
    let key = format!("/graphql#authors-of-{}", ids.join(","));
    let asked = async || {
        let commits = graphql_nodes::<Node>(client, QUERY, ids).await?.into_iter();
        let authors = commits.filter_map(|commit| commit.authors).flat_map(|authors| authors.nodes).flatten();
        Ok(authors.filter_map(|author| Some((author.email?, author.user?))).collect::<Vec<_>>())
    };
    let found: Vec<(String, GraphqlAccount)> = client.once(&key, |_| true, asked).await?;
    let account = |(address, GraphqlAccount { database_id, login }): (String, GraphqlAccount)| {
        Some((address.to_ascii_lowercase(), Account { id: database_id?, login, kind: AccountKind::User }))
    };
    Ok(found.into_iter().filter_map(account).collect())
}

/// The files that a commit changes, by either name; `None` if they are not all shown.
async fn files(repo: Repo<'_>, commit: Sha) -> Result<Option<(Sha, BTreeSet<String>)>, Error> {
    const PAGE: usize = 100;
    let path = repo.path(format!("commits/{commit}?per_page={PAGE}"));
    let details = repo.get_immutable_json::<CommitFiles>(&path).await.or_refused()?.flatten();
    let details = details.filter(|details| details.files.len() < PAGE);
    let names = |file: CommitFile| [Some(file.filename), file.previous_filename].into_iter().flatten();
    Ok(details.map(|details| (commit, details.files.into_iter().flat_map(names).collect())))
}
