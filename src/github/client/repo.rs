//! One repository as an installation sees it.

use std::{fmt, ops::Deref};

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::github::{
    client::objects::GithubObjects,
    client::{
        Client,
        error::{OrAbsent as _, Result},
        path,
        wire::{GitCommit, Repository, nodes},
    },
};
use loopgate_core::{PrNumber, RepoName, Sha};

/// A repository and the client that reads and changes it. It dereferences to the client.
#[derive(Clone, Copy)]
pub struct Repo<'a> {
    pub(in crate::github) client: &'a Client,
    pub name: &'a RepoName,
}

impl Client {
    pub const fn repo<'a>(&'a self, name: &'a RepoName) -> Repo<'a> {
        Repo { client: self, name }
    }

    /// The nodes with these ids, as GitHub answers `query($ids: [ID!]!)`; empty where GitHub refuses.
    ///
    /// # Errors
    /// Every error that is no refusal.
    pub(in crate::github) async fn graphql_nodes(
        &self,
        query: &str,
        ids: &[&str],
    ) -> Result<Vec<Value>> {
        let answer = self
            .graphql(query, json!({ "ids": ids }))
            .await
            .or_refused()?
            .unwrap_or_default();
        Ok(nodes(&answer["data"]).cloned().collect())
    }
}

impl Deref for Repo<'_> {
    type Target = Client;
    fn deref(&self) -> &Client {
        self.client
    }
}

impl Repo<'_> {
    /// Asks whether GitHub shows it.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error); not found where it does not.
    pub(crate) async fn see(&self) -> Result<()> {
        self.get::<IgnoredAny>(&self.root()).await.map(drop)
    }

    /// Whether another name leads here: one that the repository had. GitHub redirects it until a repository takes it
    /// (<https://docs.github.com/en/repositories/creating-and-managing-repositories/renaming-a-repository>).
    ///
    /// # Errors
    /// Every error that is no refusal.
    pub(in crate::github) async fn was_called(&self, name: &RepoName) -> Result<bool> {
        if name == self.name {
            return Ok(true);
        }
        let ask = async |name| {
            let asked = self.get::<Repository>(&path::repo(name)).await.or_refused();
            Ok(asked?.and_then(|answer| answer.node_id))
        };
        let there: Option<String> = ask(name).await?;
        Ok(there.is_some() && there == ask(self.name).await?)
    }

    /// The path of the repository itself: `/repos/{owner}/{name}`. Both parts are plain by construction.
    pub(crate) fn root(&self) -> String {
        format!("/repos/{}", self.name)
    }

    /// The path of what is below the repository, such as `pulls/12`.
    pub(crate) fn path(&self, below: impl fmt::Display) -> String {
        format!("/repos/{}/{below}", self.name)
    }

    /// A text in a commit; none where there is none. What is no UTF-8 is none.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error) but not found;
    /// [`Error::TooLarge`](crate::github::client::error::Error::TooLarge) above `limit` bytes.
    pub(crate) async fn text(
        &self,
        file: &str,
        commit: Sha,
        limit: usize,
    ) -> Result<Option<String>> {
        let path = self.path(format!("contents/{}?ref={commit}", path::escape_path(file)));
        let bytes = self.get_file(&path, limit).await?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
    }

    /// A commit as git has it; none where there is none.
    ///
    /// # Errors
    /// Every kind of [`Error`](crate::github::client::error::Error) but not found.
    pub(in crate::github) async fn git_commit(&self, commit: Sha) -> Result<Option<GitCommit>> {
        self.get_immutable_json(&self.path(format!("git/commits/{commit}")))
            .await
    }

    /// What a query about one pull request answers; nothing where GitHub refuses. The query takes `$owner`, `$name`,
    /// `$number` and, where it is given, a cursor `$before`.
    ///
    /// # Errors
    /// Every error that is no refusal.
    pub(in crate::github) async fn graphql_pull(
        &self,
        number: PrNumber,
        query: &str,
        before: Option<&str>,
    ) -> Result<Option<Value>> {
        let mut variables =
            json!({ "owner": self.name.owner(), "name": self.name.name(), "number": number });
        if let Some(before) = before {
            variables["before"] = before.into();
        }
        let mut answer = self
            .graphql(query, variables)
            .await
            .or_refused()?
            .unwrap_or_default();
        Ok(Some(answer["data"]["repository"]["pullRequest"].take()).filter(|pull| !pull.is_null()))
    }

    /// The git database of the repository.
    pub fn objects(&self) -> GithubObjects {
        GithubObjects::new(self.client.clone(), self.name.clone())
    }
}
