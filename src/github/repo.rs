//! One repository as an installation sees it.

use std::{fmt, ops::Deref};

use super::{Client, Error, GithubObjects, path, wire::GitCommit};
use loopgate_core::{RepoName, Sha};

/// A repository and the client that reads and changes it. It dereferences to the client.
#[derive(Clone, Copy)]
pub struct Repo<'a> {
    pub(super) client: &'a Client,
    pub name: &'a RepoName,
}

impl Client {
    pub const fn repo<'a>(&'a self, name: &'a RepoName) -> Repo<'a> {
        Repo { client: self, name }
    }
}

impl Deref for Repo<'_> {
    type Target = Client;
    fn deref(&self) -> &Client {
        self.client
    }
}

impl Repo<'_> {
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
    /// Every kind of [`Error`] but not found; [`Error::TooLarge`] above `limit` bytes.
    pub(crate) async fn text(&self, file: &str, commit: Sha, limit: usize) -> Result<Option<String>, Error> {
        let path = self.path(format!("contents/{}?ref={commit}", path::escape_path(file)));
        let bytes = self.get_file(&path, limit).await?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok()))
    }

    /// A commit as git has it; none where there is none.
    ///
    /// # Errors
    /// Every kind of [`Error`] but not found.
    pub(super) async fn git_commit(&self, commit: Sha) -> Result<Option<GitCommit>, Error> {
        self.get_immutable_json(&self.path(format!("git/commits/{commit}"))).await
    }

    /// The git database of the repository.
    pub fn objects(&self) -> GithubObjects {
        GithubObjects::new(self.client.clone(), self.name.clone())
    }
}
